#include "methods/sph/sph_implicit_kernels.h"
#include "par/kernel_cpu.h"

SPH_IMPLICIT_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE)
