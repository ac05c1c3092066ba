#include "data/pair_cuda.cuh"

#include "kernels/pairs_kernels.h"

PROBE_KERNELS(KP_NO_POINT, KP_NO_REDUCE, KP_NO_ROW, KP_CUDA_PAIR)
