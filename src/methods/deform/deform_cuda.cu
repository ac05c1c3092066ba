#include "methods/deform/deform_kernels.h"
#include "methods/deform/deform_membrane_kernels.h"
#include "methods/deform/deform_steps_kernels.h"
#include "methods/deform/deform_tets_kernels.h"
#include "par/kernel_cuda.cuh"

DEFORM_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_CUDA_PAIR)
DEFORM_TETS_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_CUDA_PAIR)
DEFORM_MEMBRANE_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_CUDA_PAIR)
DEFORM_STEPS_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_CUDA_PAIR)
