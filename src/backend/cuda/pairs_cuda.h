// The pair driver of the cuda backend. Included from CUDA C++ only.
#pragma once

#include "backend/cuda/backend_cuda.h"

extern "C" kp_result kp_cuda_pairs(kp_backend *backend, const kp_kernel *kernel,
                                   const struct kp_pair_job *job, const void *args);
