#include "par/kernel_cuda.cuh"
#include "render/yarn_kernels.h"

YARN_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_NO_PAIR)
