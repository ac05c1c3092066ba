#include "data/pair_cpu.h"
#include "methods/sph/sph_fractional_kernels.h"
#include "methods/sph/sph_kernels.h"
#include "par/kernel_cpu.h"

SPH_POINT_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE)
SPH_PAIR_KERNELS(KP_CPU_PAIR)
SPH_FRACTIONAL_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_CPU_PAIR)
