#include "data/pair_cuda.cuh"
#include "methods/vortex_fire/vortex_fire_kernels.h"
#include "par/kernel_cuda.cuh"

VORTON_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_CUDA_PAIR)
