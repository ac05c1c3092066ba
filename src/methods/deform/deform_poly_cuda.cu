#include "methods/deform/deform_poly_kernels.h"
#include "par/kernel_cuda.cuh"

DEFORM_POLY_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_CUDA_PAIR)
DEFORM_POLY_TEAM_KERNELS(KP_CUDA_TEAM)
