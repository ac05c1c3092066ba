#include "linalg/stream_kernels.h"
#include "par/kernel_cuda.cuh"

STREAM_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_NO_PAIR)
