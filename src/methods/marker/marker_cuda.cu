#include "methods/marker/marker_kernels.h"
#include "par/kernel_cuda.cuh"

MARKER_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_NO_PAIR)
