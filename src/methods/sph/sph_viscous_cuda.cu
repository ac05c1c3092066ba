#include "methods/sph/sph_viscous_kernels.h"
#include "par/kernel_cuda.cuh"

SPH_VISCOUS_KERNELS(KP_CUDA_POINT)
