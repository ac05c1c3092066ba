#include "methods/level_set/pls_kernels.h"
#include "par/kernel_cuda.cuh"

PLS_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_NO_PAIR)
