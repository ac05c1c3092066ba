#include "data/pair_cuda.cuh"
#include "methods/sph/sph_adhesion_kernels.h"
#include "par/kernel_cuda.cuh"

SPH_ADHESION_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_CUDA_PAIR)
