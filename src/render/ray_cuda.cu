#include "par/kernel_cuda.cuh"
#include "render/ray_kernels.h"

RAY_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_NO_PAIR)
