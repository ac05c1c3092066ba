#include "methods/sph/sph_confined_kernels.h"
#include "par/kernel_cuda.cuh"

SPH_CONFINED_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE)
