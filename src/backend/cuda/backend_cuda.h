// What the files of the cuda backend share. Included from CUDA C++ only.
#pragma once

#include <math.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cuda_runtime.h>

extern "C" {
#include "par/backend.h"

// The one stream of the backend; everything is ordered on it.
cudaStream_t kp_cuda_stream(const kp_backend *backend);

// KP_OK, or the failure of `call` with CUDA's own words.
kp_result kp_cuda_result(cudaError_t code, const char *call);

kp_result kp_cuda_reduce(kp_backend *backend, const kp_kernel *kernel, int64_t n, const void *args,
                         double *values);
kp_result kp_cuda_scan(kp_backend *backend, const uint32_t *in, uint32_t *out, int64_t n);
kp_result kp_cuda_sort32(kp_backend *backend, uint32_t *keys, uint32_t *values, int64_t n,
                         int bits);
kp_result kp_cuda_sort64(kp_backend *backend, uint64_t *keys, uint32_t *values, int64_t n,
                         int bits);
}

// Leave the function when a CUDA call fails; the sentence names the call.
#define KP_CUDA_TRY(call) KP_TRY(kp_cuda_result((call), #call))
