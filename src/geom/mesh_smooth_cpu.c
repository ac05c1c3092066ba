#include "geom/mesh_smooth_kernels.h"
#include "par/kernel_cpu.h"

MESH_SMOOTH_KERNELS(KP_CPU_POINT, KP_CPU_REDUCE, KP_CPU_ROW, KP_NO_PAIR)
