// Scan, sort and the second level of reductions on the device. Scan and sort are CUB's; both give
// the same result in every run.
#include <thrust/iterator/counting_iterator.h>
#include <thrust/iterator/transform_iterator.h>

#include <cub/device/device_radix_sort.cuh>
#include <cub/device/device_scan.cuh>

#include "backend/cuda/backend_cuda.h"
#include "par/kernel_cuda.cuh"

namespace {

constexpr size_t ALIGNMENT = 256;

size_t round_up(size_t size) {
  return (size + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

kp_result no_scratch(const char *what) {
  return kp_fail_in(KP_ERROR_MEMORY, "%s", what);
}

struct reduce_ops {
  kp_reduce_op op[KP_REDUCE_VALUES];
};

// Rows of partial results to one row: a block of threads per value, each thread every
// KP_CUDA_THREADS-th row in order, then the fixed tree of a block.
__global__ void __launch_bounds__(KP_CUDA_THREADS)
    combine_rows(const double *partials, int64_t n_rows, const __grid_constant__ reduce_ops ops,
                 double *values) {
  int k = (int)blockIdx.x;
  int n_values = (int)gridDim.x;
  const kp_reduce_op op[1] = { ops.op[k] };
  double total[1] = { kp_reduce_neutral(op[0]) };
  for (int64_t row = threadIdx.x; row < n_rows; row += KP_CUDA_THREADS) {
    total[0] = kp_reduce_combine(op[0], total[0], partials[row * n_values + k]);
  }
  kp_cuda_combine_block(total, op, values + k);
}

// Elements past the end are zero, so that the scan of n + 1 elements ends with the total.
struct padded_input {
  const uint32_t *in;
  int64_t n;
  __host__ __device__ uint32_t operator()(int64_t i) const {
    return i < n ? in[i] : 0u;
  }
};

// CUB sorts between two pairs of buffers; the result is copied back where it ends in scratch.
template <typename Key>
kp_result sort_pairs(kp_backend *backend, Key *keys, uint32_t *values, int64_t n, int bits) {
  cudaStream_t stream = kp_cuda_stream(backend);
  cub::DoubleBuffer<Key> key_buffers(keys, nullptr);
  cub::DoubleBuffer<uint32_t> value_buffers(values, nullptr);
  size_t temporary_size = 0;
  KP_CUDA_TRY(cub::DeviceRadixSort::SortPairs(nullptr, temporary_size, key_buffers, value_buffers,
                                              n, 0, bits, stream));

  size_t keys_size = round_up((size_t)n * sizeof(Key));
  size_t values_size = round_up((size_t)n * sizeof(uint32_t));
  char *scratch = (char *)kp_backend_scratch(backend, keys_size + values_size + temporary_size);
  if (scratch == nullptr) {
    return no_scratch("sort");
  }
  key_buffers = cub::DoubleBuffer<Key>(keys, (Key *)scratch);
  value_buffers = cub::DoubleBuffer<uint32_t>(values, (uint32_t *)(scratch + keys_size));
  KP_CUDA_TRY(cub::DeviceRadixSort::SortPairs(scratch + keys_size + values_size, temporary_size,
                                              key_buffers, value_buffers, n, 0, bits, stream));
  if (key_buffers.Current() != keys) {
    KP_TRY(kp_copy(backend, keys, key_buffers.Current(), (size_t)n * sizeof(Key)));
  }
  if (value_buffers.Current() != values) {
    KP_TRY(kp_copy(backend, values, value_buffers.Current(), (size_t)n * sizeof(uint32_t)));
  }
  return KP_OK;
}

}  // namespace

kp_result kp_cuda_reduce(kp_backend *backend, const kp_kernel *kernel, int64_t n, const void *args,
                         double *values) {
  cudaStream_t stream = kp_cuda_stream(backend);
  int64_t n_rows = (n - 1) / KP_REDUCE_BLOCK + 1;
  size_t row_size = (size_t)kernel->n_values * sizeof(double);
  double *partials = (double *)kp_backend_scratch(backend, ((size_t)n_rows + 1) * row_size);
  if (partials == nullptr) {
    return no_scratch(kernel->name);
  }
  double *total = partials + n_rows * kernel->n_values;
  int code = kernel->cuda(n, args, partials, stream);
  KP_TRY(kp_cuda_result((cudaError_t)code, kernel->name));

  reduce_ops ops = {};
  for (int k = 0; k < kernel->n_values; ++k) {
    ops.op[k] = kernel->ops[k];
  }
  combine_rows<<<(unsigned)kernel->n_values, KP_CUDA_THREADS, 0, stream>>>(partials, n_rows, ops,
                                                                           total);
  KP_TRY(kp_cuda_result(cudaGetLastError(), "combine_rows"));
  return kp_copy_out(backend, values, total, row_size);
}

kp_result kp_cuda_scan(kp_backend *backend, const uint32_t *in, uint32_t *out, int64_t n) {
  cudaStream_t stream = kp_cuda_stream(backend);
  auto input =
      thrust::make_transform_iterator(thrust::counting_iterator<int64_t>(0), padded_input{ in, n });
  size_t temporary_size = 0;
  KP_CUDA_TRY(cub::DeviceScan::ExclusiveSum(nullptr, temporary_size, input, out, n + 1, stream));
  void *temporary = kp_backend_scratch(backend, temporary_size);
  if (temporary == nullptr) {
    return no_scratch("scan");
  }
  KP_CUDA_TRY(cub::DeviceScan::ExclusiveSum(temporary, temporary_size, input, out, n + 1, stream));
  return KP_OK;
}

kp_result kp_cuda_sort32(kp_backend *backend, uint32_t *keys, uint32_t *values, int64_t n,
                         int bits) {
  return sort_pairs(backend, keys, values, n, bits);
}

kp_result kp_cuda_sort64(kp_backend *backend, uint64_t *keys, uint32_t *values, int64_t n,
                         int bits) {
  return sort_pairs(backend, keys, values, n, bits);
}
