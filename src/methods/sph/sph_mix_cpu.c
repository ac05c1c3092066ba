#include "data/pair_cpu.h"
#include "methods/sph/sph_mix_kernels.h"
#include "par/kernel_cpu.h"

SPH_MIX_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_CPU_PAIR)
