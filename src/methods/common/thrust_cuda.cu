#include "methods/common/thrust_kernels.h"
#include "par/kernel_cuda.cuh"

THRUST_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_CUDA_PAIR)
