#include "data/pair_cuda.cuh"
#include "methods/mps/mps_kernels.h"
#include "par/kernel_cuda.cuh"

MPS_POINT_KERNELS(KP_CUDA_POINT)
MPS_PAIR_KERNELS(KP_CUDA_PAIR)
