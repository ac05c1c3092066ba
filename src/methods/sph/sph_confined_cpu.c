#include "methods/sph/sph_confined_kernels.h"
#include "par/kernel_cpu.h"

SPH_CONFINED_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE)
