#include "methods/deform/deform_levels_kernels.h"
#include "par/kernel_cuda.cuh"

DEFORM_LEVELS_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_CUDA_PAIR)
