// Device loops of the kernels of par/kernel.h. For x_cuda.cu files:
//
//   #include "methods/toy/toy_kernels.h"
//   #include "par/kernel_cuda.cuh"
//
//   TOY_KERNELS(KP_CUDA_POINT, KP_CUDA_REDUCE, KP_CUDA_ROW, KP_NO_PAIR)
//
// makes the launchers toy_name_cuda, with C linkage. Arguments go to the device by value, as a
// constant of the grid. Each launcher returns CUDA's code of the launch.
#pragma once

#include <cuda_runtime.h>

#include "par/kernel.h"

#define KP_CUDA_THREADS 256
#define KP_CUDA_WARP 32

// One thread per element.
#define KP_CUDA_POINT(mod, name)                                                                   \
  static __global__ void __launch_bounds__(KP_CUDA_THREADS)                                        \
      mod##_##name##_device(int64_t n, const __grid_constant__ mod##_##name##_args a) {            \
    int64_t i = (int64_t)blockIdx.x * KP_CUDA_THREADS + threadIdx.x;                               \
    if (i < n) {                                                                                   \
      mod##_##name(i, &a);                                                                         \
    }                                                                                              \
  }                                                                                                \
  extern "C" int mod##_##name##_cuda(int64_t n, const void *args, void *, void *stream) {          \
    int64_t n_blocks = (n + KP_CUDA_THREADS - 1) / KP_CUDA_THREADS;                                \
    mod##_##name##_device<<<(unsigned)n_blocks, KP_CUDA_THREADS, 0, (cudaStream_t)stream>>>(       \
        n, *(const mod##_##name##_args *)args);                                                    \
    return (int)cudaGetLastError();                                                                \
  }

// Combine `total` of all threads of a block in one fixed tree: lanes of a warp by halves, then the
// warps in order. Thread 0 writes the row.
template <int N>
static __device__ __forceinline__ void
kp_cuda_combine_block(double (&total)[N], const kp_reduce_op (&ops)[N], double *row) {
  constexpr int n_warps = KP_CUDA_THREADS / KP_CUDA_WARP;
  __shared__ double warps[n_warps][N];
#pragma unroll
  for (int k = 0; k < N; ++k) {
    for (int half = KP_CUDA_WARP / 2; half > 0; half /= 2) {
      double other = __shfl_down_sync(0xffffffffu, total[k], (unsigned)half);
      total[k] = kp_reduce_combine(ops[k], total[k], other);
    }
    if (threadIdx.x % KP_CUDA_WARP == 0) {
      warps[threadIdx.x / KP_CUDA_WARP][k] = total[k];
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) {
#pragma unroll
    for (int k = 0; k < N; ++k) {
      double sum = warps[0][k];
      for (int w = 1; w < n_warps; ++w) {
        sum = kp_reduce_combine(ops[k], sum, warps[w][k]);
      }
      row[k] = sum;
    }
  }
}

// One block of threads per KP_REDUCE_BLOCK elements; each thread takes every KP_CUDA_THREADS-th, in
// order. The tree is the same in every run.
#define KP_CUDA_REDUCE(mod, name, ...)                                                             \
  static __global__ void __launch_bounds__(KP_CUDA_THREADS) mod##_##name##_device(                 \
      int64_t n, const __grid_constant__ mod##_##name##_args a, double *partials) {                \
    constexpr kp_reduce_op ops[] = { __VA_ARGS__ };                                                \
    constexpr int n_values = (int)(sizeof ops / sizeof ops[0]);                                    \
    double total[n_values];                                                                        \
    _Pragma("unroll") for (int k = 0; k < n_values; ++k) {                                         \
      total[k] = kp_reduce_neutral(ops[k]);                                                        \
    }                                                                                              \
    int64_t begin = (int64_t)blockIdx.x * KP_REDUCE_BLOCK;                                         \
    int64_t end = n < begin + KP_REDUCE_BLOCK ? n : begin + KP_REDUCE_BLOCK;                       \
    for (int64_t i = begin + threadIdx.x; i < end; i += KP_CUDA_THREADS) {                         \
      double v[n_values];                                                                          \
      mod##_##name(i, &a, v);                                                                      \
      _Pragma("unroll") for (int k = 0; k < n_values; ++k) {                                       \
        total[k] = kp_reduce_combine(ops[k], total[k], v[k]);                                      \
      }                                                                                            \
    }                                                                                              \
    kp_cuda_combine_block(total, ops, partials + (int64_t)blockIdx.x * n_values);                  \
  }                                                                                                \
  extern "C" int mod##_##name##_cuda(int64_t n, const void *args, void *extra, void *stream) {     \
    int64_t n_blocks = (n + KP_REDUCE_BLOCK - 1) / KP_REDUCE_BLOCK;                                \
    mod##_##name##_device<<<(unsigned)n_blocks, KP_CUDA_THREADS, 0, (cudaStream_t)stream>>>(       \
        n, *(const mod##_##name##_args *)args, (double *)extra);                                   \
    return (int)cudaGetLastError();                                                                \
  }

// A warp per segment, a lane per cell: a row kernel must give the same wherever its run is cut.
// KP_CUDA_ROW_DEVICE is the kernel alone, so made that `blocks` blocks fit a multiprocessor.
#define KP_CUDA_ROW_DEVICE(device, run_row, args_type, blocks)                                     \
  static __global__ void __launch_bounds__(KP_CUDA_THREADS, blocks)                                \
      device(int64_t n, const __grid_constant__ args_type a, const kp_row_segment *segments) {     \
    int64_t thread = (int64_t)blockIdx.x * KP_CUDA_THREADS + threadIdx.x;                          \
    int64_t s = thread / KP_CUDA_WARP;                                                             \
    if (s < n) {                                                                                   \
      kp_row_segment run = segments[s];                                                            \
      for (int64_t i = run.i0 + thread % KP_CUDA_WARP; i < run.i1; i += KP_CUDA_WARP) {            \
        run_row(run.j, run.k, i, i + 1, &a);                                                       \
      }                                                                                            \
    }                                                                                              \
  }

static inline unsigned kp_cuda_row_blocks(int64_t n) {
  return (unsigned)((n * KP_CUDA_WARP + KP_CUDA_THREADS - 1) / KP_CUDA_THREADS);
}

#define KP_CUDA_ROW(mod, name)                                                                     \
  KP_CUDA_ROW_DEVICE(mod##_##name##_device, mod##_##name, mod##_##name##_args, 1)                  \
  extern "C" int mod##_##name##_cuda(int64_t n, const void *args, void *extra, void *stream) {     \
    mod##_##name##_device<<<kp_cuda_row_blocks(n), KP_CUDA_THREADS, 0, (cudaStream_t)stream>>>(    \
        n, *(const mod##_##name##_args *)args, (const kp_row_segment *)extra);                     \
    return (int)cudaGetLastError();                                                                \
  }

// As many blocks as there are tiles, but no more than can be resident at once: they wait for each
// other. With par/team.h.
#define KP_CUDA_TEAM(mod, name)                                                                    \
  static __global__ void __launch_bounds__(KP_TEAM_TILE)                                           \
      mod##_##name##_device(const __grid_constant__ mod##_##name##_args a) {                       \
    const kp_team team = { (int64_t)blockIdx.x, (int64_t)gridDim.x };                              \
    mod##_##name(&team, &a);                                                                       \
  }                                                                                                \
  extern "C" int mod##_##name##_cuda(int64_t n, const void *args, void *, void *stream) {          \
    int64_t n_resident = 0;                                                                        \
    cudaError_t code =                                                                             \
        kp_cuda_resident((const void *)mod##_##name##_device, KP_TEAM_TILE, &n_resident);          \
    if (code != cudaSuccess) {                                                                     \
      return (int)code;                                                                            \
    }                                                                                              \
    void *parameters[] = { (void *)args };                                                         \
    return (int)cudaLaunchCooperativeKernel(                                                       \
        (const void *)mod##_##name##_device, dim3((unsigned)(n < n_resident ? n : n_resident)),    \
        dim3(KP_TEAM_TILE), parameters, 0, (cudaStream_t)stream);                                  \
  }

// Blocks of a kernel that the card holds at once.
static inline cudaError_t kp_cuda_resident(const void *kernel, int n_threads, int64_t *out) {
  int device = 0, n_processors = 0, n_each = 0;
  cudaError_t code = cudaGetDevice(&device);
  if (code == cudaSuccess) {
    code = cudaDeviceGetAttribute(&n_processors, cudaDevAttrMultiProcessorCount, device);
  }
  if (code == cudaSuccess) {
    code = cudaOccupancyMaxActiveBlocksPerMultiprocessor(&n_each, kernel, n_threads, 0);
  }
  *out = (int64_t)n_processors * n_each;
  return code;
}
