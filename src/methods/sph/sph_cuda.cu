#include "data/pair_cuda.cuh"
#include "methods/sph/sph_fractional_kernels.h"
#include "methods/sph/sph_kernels.h"
#include "par/kernel_cuda.cuh"

SPH_POINT_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE)
SPH_PAIR_KERNELS(KP_CUDA_PAIR)
SPH_FRACTIONAL_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_CUDA_PAIR)
