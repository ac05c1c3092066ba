#include "methods/deform/deform_poly_kernels.h"
#include "par/kernel_cpu.h"

DEFORM_POLY_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_CPU_PAIR)
DEFORM_POLY_TEAM_KERNELS(KP_CPU_TEAM)
