#include "methods/sph/sph_viscous_kernels.h"
#include "par/kernel_cpu.h"

SPH_VISCOUS_KERNELS(KP_CPU_POINT)
