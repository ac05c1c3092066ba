#include "methods/common/advect_kernels.h"
#include "par/kernel_cuda.cuh"

// Sweeps wait for gathers, so a card has to have many of them under way, and registers say how many
// that may be. A kernel that knows of images, shells, flat grids and stages of a trace asks for up
// to 128 registers, the plain case for 40: 14 and 36 thousand million values per second on an H200.
#define ADVECT_BLOCKS (sizeof(kp_real) == 4 ? 4 : 2)
#define ADVECT_PLAIN_BLOCKS (sizeof(kp_real) == 4 ? 6 : 3)

#define ADVECT_CUDA_ROW(mod, name)                                                                 \
  KP_CUDA_ROW_DEVICE(mod##_##name##_device, mod##_##name, advect_args, ADVECT_BLOCKS)              \
  KP_CUDA_ROW_DEVICE(mod##_##name##_plain_device, mod##_##name##_plain, advect_args,               \
                     ADVECT_PLAIN_BLOCKS)                                                          \
  extern "C" int mod##_##name##_cuda(int64_t n, const void *args, void *extra, void *stream) {     \
    const advect_args *a = (const advect_args *)args;                                              \
    auto *device = advect_is_plain(a) ? mod##_##name##_plain_device : mod##_##name##_device;       \
    device<<<kp_cuda_row_blocks(n), KP_CUDA_THREADS, 0, (cudaStream_t)stream>>>(                   \
        n, *a, (const kp_row_segment *)extra);                                                     \
    return (int)cudaGetLastError();                                                                \
  }

ADVECT_LINEAR_SWEEPS(ADVECT_CUDA_ROW)
ADVECT_OTHERS(KP_CUDA_ROW)
