#include "geom/grid_surface_kernels.h"
#include "par/kernel_cuda.cuh"

GRID_SURFACE_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_NO_PAIR)
