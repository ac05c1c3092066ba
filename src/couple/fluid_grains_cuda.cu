#include "couple/fluid_grains_kernels.h"
#include "data/pair_cuda.cuh"
#include "par/kernel_cuda.cuh"

SOAK_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_CUDA_PAIR)
