#include "methods/flip/flip_crowd_kernels.h"
#include "par/kernel_cuda.cuh"

CROWD_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_NO_PAIR)
