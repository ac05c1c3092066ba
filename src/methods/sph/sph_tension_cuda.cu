#include "data/pair_cuda.cuh"
#include "methods/sph/sph_tension_kernels.h"
#include "par/kernel_cuda.cuh"

SPH_TENSION_POINT_KERNELS(KP_CUDA_POINT)
SPH_TENSION_PAIR_KERNELS(KP_CUDA_PAIR)
