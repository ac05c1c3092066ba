#include "data/pair_cpu.h"
#include "methods/sph/sph_implicit_kernels.h"
#include "par/kernel_cpu.h"

SPH_IMPLICIT_POINT_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE)
SPH_IMPLICIT_PAIR_KERNELS(KP_CPU_PAIR)
