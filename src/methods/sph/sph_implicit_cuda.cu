#include "data/pair_cuda.cuh"
#include "methods/sph/sph_implicit_kernels.h"
#include "par/kernel_cuda.cuh"

SPH_IMPLICIT_POINT_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE)
SPH_IMPLICIT_PAIR_KERNELS(KP_CUDA_PAIR)
