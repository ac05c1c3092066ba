#include "methods/common/release_kernels.h"
#include "par/kernel_cuda.cuh"

RELEASE_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_CUDA_PAIR)
