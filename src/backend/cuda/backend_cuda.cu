// The cuda backend: one card, one stream, plain device memory.
//
// cudaFree waits for the whole device, so small blocks are kept for the next request instead; since
// all work is ordered on one stream, a block may be handed on while kernels that used it still run.
// Large blocks go back at once: they are rare (arrays grow geometrically) and too dear to hoard.
#include <string.h>

#include "backend/cuda/backend_cuda.h"
#include "backend/cuda/pairs_cuda.h"
extern "C" {
#include "base/memory.h"
}

namespace {

constexpr size_t KEPT_SIZE = (size_t)16 << 20;  // blocks above are not kept
constexpr size_t STAGE_SIZE = (size_t)64 << 10;
constexpr size_t SMALLEST_BLOCK = 512;

struct block {
  void *memory;
  size_t size;       // of the allocation
  size_t used_size;  // asked for; 0 while the block is kept for later
};

// The private part of the backend.
struct cuda_self {
  cudaStream_t stream;
  void *stage;  // pinned host memory for small copies to the host
  block *blocks;
  size_t n_blocks, capacity;
};

cuda_self *self_of(const kp_backend *backend) {
  return (cuda_self *)backend->self;
}

void close_cuda(kp_backend *backend) {
  cuda_self *self = self_of(backend);
  // failures while giving things back leave nothing to do
  for (size_t k = 0; k < self->n_blocks; ++k) {
    (void)cudaFree(self->blocks[k].memory);
  }
  if (self->stage != nullptr) {
    (void)cudaFreeHost(self->stage);
  }
  if (self->stream != nullptr) {
    (void)cudaStreamDestroy(self->stream);
  }
  kp_free(self->blocks);
  kp_free(self);
  backend->self = nullptr;
}

kp_result open_parts(cuda_self *self) {
  KP_CUDA_TRY(cudaSetDevice(0));
  KP_CUDA_TRY(cudaStreamCreateWithFlags(&self->stream, cudaStreamNonBlocking));
  KP_CUDA_TRY(cudaMallocHost(&self->stage, STAGE_SIZE));
  return KP_OK;
}

kp_result open_cuda(kp_backend *backend) {
  int n_devices = 0;
  cudaError_t code = cudaGetDeviceCount(&n_devices);
  if (code != cudaSuccess || n_devices == 0) {
    return kp_fail(KP_ERROR_BACKEND, "no CUDA device was found (%s)",
                   cudaGetErrorString(code != cudaSuccess ? code : cudaErrorNoDevice));
  }
  cuda_self *self = (cuda_self *)kp_alloc_zero(sizeof *self, KP_MEMORY_DEVICE);
  if (self == nullptr) {
    return KP_ERROR_MEMORY;
  }
  backend->self = self;
  kp_result result = open_parts(self);
  if (result != KP_OK) {
    close_cuda(backend);
  }
  return result;
}

// The smallest kept block that fits and wastes at most half of itself.
block *find_kept(cuda_self *self, size_t size) {
  block *best = nullptr;
  for (size_t k = 0; k < self->n_blocks; ++k) {
    block *b = &self->blocks[k];
    bool fits = b->used_size == 0 && b->size >= size && b->size / 2 <= size;
    if (fits && (best == nullptr || b->size < best->size)) {
      best = b;
    }
  }
  return best;
}

void drop_block(cuda_self *self, block *b) {
  (void)cudaFree(b->memory);
  *b = self->blocks[--self->n_blocks];
}

void drop_kept(cuda_self *self) {
  for (size_t k = self->n_blocks; k > 0; --k) {
    if (self->blocks[k - 1].used_size == 0) {
      drop_block(self, &self->blocks[k - 1]);
    }
  }
}

// A new entry of the table, with no memory yet.
block *add_block(cuda_self *self) {
  if (self->n_blocks == self->capacity) {
    size_t capacity = self->capacity > 0 ? 2 * self->capacity : 64;
    void *grown = kp_realloc(self->blocks, capacity * sizeof(block), KP_MEMORY_DEVICE);
    if (grown == nullptr) {
      return nullptr;
    }
    self->blocks = (block *)grown;
    self->capacity = capacity;
  }
  return &self->blocks[self->n_blocks];
}

void *alloc_cuda(kp_backend *backend, size_t size) {
  cuda_self *self = self_of(backend);
  size_t used_size = size > 0 ? size : 1;
  size_t block_size = used_size > SMALLEST_BLOCK ? used_size : SMALLEST_BLOCK;
  block *b = find_kept(self, block_size);
  if (b == nullptr) {
    void *memory = nullptr;
    cudaError_t code = cudaMalloc(&memory, block_size);
    if (code == cudaErrorMemoryAllocation) {
      (void)cudaGetLastError();
      drop_kept(self);
      code = cudaMalloc(&memory, block_size);
    }
    if (code != cudaSuccess) {
      (void)cudaGetLastError();
      (void)kp_fail(KP_ERROR_MEMORY, "cudaMalloc of %zu bytes: %s", block_size,
                    cudaGetErrorString(code));
      return nullptr;
    }
    b = add_block(self);
    if (b == nullptr) {
      (void)cudaFree(memory);
      return nullptr;
    }
    ++self->n_blocks;
    b->memory = memory;
    b->size = block_size;
  }
  b->used_size = used_size;
  backend->counters.device_bytes += (int64_t)used_size;
  return b->memory;
}

void free_cuda(kp_backend *backend, void *memory) {
  cuda_self *self = self_of(backend);
  for (size_t k = 0; k < self->n_blocks; ++k) {
    block *b = &self->blocks[k];
    if (b->memory == memory) {
      backend->counters.device_bytes -= (int64_t)b->used_size;
      b->used_size = 0;
      if (b->size > KEPT_SIZE) {
        drop_block(self, b);
      }
      return;
    }
  }
}

kp_result copy_in_cuda(kp_backend *backend, void *device, const void *host, size_t size) {
  // from pageable memory: the call returns when the host's bytes have been read
  KP_CUDA_TRY(cudaMemcpyAsync(device, host, size, cudaMemcpyHostToDevice, kp_cuda_stream(backend)));
  return KP_OK;
}

kp_result copy_out_cuda(kp_backend *backend, void *host, const void *device, size_t size) {
  cuda_self *self = self_of(backend);
  bool is_small = size <= STAGE_SIZE;
  void *to = is_small ? self->stage : host;
  KP_CUDA_TRY(cudaMemcpyAsync(to, device, size, cudaMemcpyDeviceToHost, self->stream));
  KP_CUDA_TRY(cudaStreamSynchronize(self->stream));
  if (is_small) {
    memcpy(host, self->stage, size);
  }
  return KP_OK;
}

kp_result copy_cuda(kp_backend *backend, void *to, const void *from, size_t size) {
  KP_CUDA_TRY(cudaMemcpyAsync(to, from, size, cudaMemcpyDeviceToDevice, kp_cuda_stream(backend)));
  return KP_OK;
}

kp_result fill_cuda(kp_backend *backend, void *memory, int byte, size_t size) {
  KP_CUDA_TRY(cudaMemsetAsync(memory, byte, size, kp_cuda_stream(backend)));
  return KP_OK;
}

kp_result launch_cuda(kp_backend *backend, const kp_kernel *kernel, int64_t n, const void *args) {
  int code = kernel->cuda(n, args, nullptr, kp_cuda_stream(backend));
  return kp_cuda_result((cudaError_t)code, kernel->name);
}

kp_result rows_cuda(kp_backend *backend, const kp_kernel *kernel, const kp_row_segment *segments,
                    int64_t n, const void *args) {
  int code = kernel->cuda(n, args, (void *)segments, kp_cuda_stream(backend));
  return kp_cuda_result((cudaError_t)code, kernel->name);
}

kp_result team_cuda(kp_backend *backend, const kp_kernel *kernel, int64_t n_tiles,
                    const void *args) {
  int code = kernel->cuda(n_tiles, args, nullptr, kp_cuda_stream(backend));
  return kp_cuda_result((cudaError_t)code, kernel->name);
}

kp_result wait_cuda(kp_backend *backend) {
  KP_CUDA_TRY(cudaStreamSynchronize(kp_cuda_stream(backend)));
  return KP_OK;
}

}  // namespace

cudaStream_t kp_cuda_stream(const kp_backend *backend) {
  return self_of(backend)->stream;
}

kp_result kp_cuda_result(cudaError_t code, const char *call) {
  if (code == cudaSuccess) {
    return KP_OK;
  }
  // a failed launch would otherwise be reported again by the next call
  (void)cudaGetLastError();
  return kp_fail(KP_ERROR_BACKEND, "%s: %s (%s)", call, cudaGetErrorString(code),
                 cudaGetErrorName(code));
}

extern "C" const kp_backend_class kp_backend_cuda = {
  /* name */ "cuda",
  /* kind */ KP_BACKEND_CUDA,
  /* shares_host_memory */ false,
  open_cuda,
  close_cuda,
  alloc_cuda,
  free_cuda,
  copy_in_cuda,
  copy_out_cuda,
  copy_cuda,
  fill_cuda,
  launch_cuda,
  kp_cuda_reduce,
  rows_cuda,
  kp_cuda_pairs,
  team_cuda,
  kp_cuda_scan,
  kp_cuda_sort32,
  kp_cuda_sort64,
  wait_cuda,
};
