#include "data/pair_cuda.cuh"
#include "data/probe_kernels.h"
#include "par/kernel_cuda.cuh"

PROBE_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_CUDA_PAIR)
