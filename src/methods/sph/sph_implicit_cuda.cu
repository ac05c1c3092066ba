#include "methods/sph/sph_implicit_kernels.h"
#include "par/kernel_cuda.cuh"

SPH_IMPLICIT_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE)
