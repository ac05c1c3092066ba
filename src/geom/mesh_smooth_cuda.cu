#include "geom/mesh_smooth_kernels.h"
#include "par/kernel_cuda.cuh"

MESH_SMOOTH_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_NO_PAIR)
