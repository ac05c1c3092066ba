#include "methods/flip/flip_band_kernels.h"
#include "par/kernel_cuda.cuh"

FLIP_BAND_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_NO_PAIR)
