#include "geom/grid_surface_kernels.h"
#include "par/kernel_cpu.h"

GRID_SURFACE_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_NO_PAIR)
