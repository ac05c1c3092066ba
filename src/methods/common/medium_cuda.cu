#include "methods/common/medium_kernels.h"
#include "par/kernel_cuda.cuh"

MEDIUM_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_CUDA_PAIR)
