#include "methods/deform/deform_levels_kernels.h"
#include "par/kernel_cpu.h"

DEFORM_LEVELS_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_CPU_PAIR)
