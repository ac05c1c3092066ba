#include "par/kernel_cuda.cuh"

#include "kernels/toy_kernels.h"

TOY_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_NO_PAIR)
TOY_TEAM_KERNELS(KP_CUDA_TEAM)
