#include "data/pair_cpu.h"
#include "methods/sph/sph_tension_kernels.h"
#include "par/kernel_cpu.h"

SPH_TENSION_POINT_KERNELS(KP_CPU_POINT)
SPH_TENSION_PAIR_KERNELS(KP_CPU_PAIR)
