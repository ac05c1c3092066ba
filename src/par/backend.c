#include "par/backend.h"

#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/text.h"

static const kp_backend_class *const classes[] = {
  [KP_BACKEND_CPU] = &kp_backend_cpu,
  [KP_BACKEND_MIRROR] = &kp_backend_mirror,
  [KP_BACKEND_CUDA] = &kp_backend_cuda,
};

#define N_CLASSES (sizeof classes / sizeof classes[0])

kp_result kp_backend_create(kp_backend_kind kind, kp_backend **out) {
  *out = NULL;
  KP_ASSERT((unsigned)kind < N_CLASSES);

  kp_backend *backend = kp_alloc_zero(sizeof *backend, KP_MEMORY_BASE);
  if (backend == NULL) {
    return KP_ERROR_MEMORY;
  }
  backend->vt = classes[kind];
  kp_result result = backend->vt->open(backend);
  if (result != KP_OK) {
    kp_free(backend);
    return result;
  }
  *out = backend;
  return KP_OK;
}

void kp_backend_destroy(kp_backend **backend) {
  kp_backend *b = *backend;
  if (b != NULL) {
    kp_device_free(b, b->scratch);
    b->vt->close(b);
    kp_free(b);
    *backend = NULL;
  }
}

kp_result kp_backend_parse(const char *name, kp_backend_kind *out) {
  const char *names[N_CLASSES];
  for (size_t k = 0; k < N_CLASSES; ++k) {
    names[k] = classes[k]->name;
    if (strcmp(name, names[k]) == 0) {
      *out = classes[k]->kind;
      return KP_OK;
    }
  }
  const char *nearest = kp_text_nearest(name, names, N_CLASSES);
  if (nearest != NULL) {
    return kp_fail(KP_ERROR_ARGUMENT, "unknown backend \"%s\"; did you mean \"%s\"?", name,
                   nearest);
  }
  return kp_fail(KP_ERROR_ARGUMENT, "unknown backend \"%s\"; known are cpu, mirror, cuda", name);
}

void *kp_device_alloc(kp_backend *b, size_t size) {
  void *memory = b->vt->alloc(b, size);
  if (memory != NULL) {
    ++b->counters.device_allocations;
  }
  return memory;
}

void kp_device_free(kp_backend *b, void *memory) {
  if (memory != NULL) {
    b->vt->free(b, memory);
  }
}

kp_result kp_copy_in(kp_backend *b, void *device, const void *host, size_t size) {
  // on the cpu backend both sides are often the same memory: nothing moves, nothing counts
  if (size == 0 || device == host) {
    return KP_OK;
  }
  b->counters.bytes_in += (int64_t)size;
  ++b->counters.copies;
  return b->vt->copy_in(b, device, host, size);
}

kp_result kp_copy_out(kp_backend *b, void *host, const void *device, size_t size) {
  if (size == 0 || device == host) {
    return KP_OK;
  }
  b->counters.bytes_out += (int64_t)size;
  ++b->counters.copies;
  return b->vt->copy_out(b, host, device, size);
}

kp_result kp_copy(kp_backend *b, void *to, const void *from, size_t size) {
  return size == 0 || to == from ? KP_OK : b->vt->copy(b, to, from, size);
}

kp_result kp_fill(kp_backend *b, void *memory, int byte, size_t size) {
  return size == 0 ? KP_OK : b->vt->fill(b, memory, byte, size);
}

kp_result kp_launch(kp_backend *b, const kp_kernel *kernel, int64_t n, const void *args) {
  KP_ASSERT(kernel->kind == KP_KERNEL_POINT);
  if (n <= 0) {
    return KP_OK;
  }
  ++b->counters.launches;
  return b->vt->launch(b, kernel, n, args);
}

kp_result kp_reduce(kp_backend *b, const kp_kernel *kernel, int64_t n, const void *args,
                    double *values) {
  KP_ASSERT(kernel->kind == KP_KERNEL_REDUCE);
  if (n <= 0) {
    for (int k = 0; k < kernel->n_values; ++k) {
      values[k] = kp_reduce_neutral(kernel->ops[k]);
    }
    return KP_OK;
  }
  ++b->counters.launches;
  return b->vt->reduce(b, kernel, n, args, values);
}

kp_result kp_rows(kp_backend *b, const kp_kernel *kernel, const kp_row_segment *segments, int64_t n,
                  const void *args) {
  KP_ASSERT(kernel->kind == KP_KERNEL_ROW);
  if (n <= 0) {
    return KP_OK;
  }
  ++b->counters.launches;
  return b->vt->rows(b, kernel, segments, n, args);
}

kp_result kp_pairs(kp_backend *b, const kp_kernel *kernel, const struct kp_pair_job *job,
                   const void *args) {
  KP_ASSERT(kernel->kind == KP_KERNEL_PAIR);
  ++b->counters.launches;
  return b->vt->pairs(b, kernel, job, args);
}

kp_result kp_team_launch(kp_backend *b, const kp_kernel *kernel, int64_t n_tiles,
                         const void *args) {
  KP_ASSERT(kernel->kind == KP_KERNEL_TEAM);
  if (n_tiles <= 0) {
    return KP_OK;
  }
  ++b->counters.launches;
  return b->vt->team(b, kernel, n_tiles, args);
}

kp_result kp_scan(kp_backend *b, const uint32_t *in, uint32_t *out, int64_t n) {
  ++b->counters.launches;
  return b->vt->scan(b, in, out, n);
}

kp_result kp_sort32(kp_backend *b, uint32_t *keys, uint32_t *values, int64_t n, int bits) {
  KP_ASSERT(bits >= 0 && bits <= 32);
  if (n <= 1 || bits == 0) {
    return KP_OK;
  }
  ++b->counters.launches;
  return b->vt->sort32(b, keys, values, n, bits);
}

kp_result kp_sort64(kp_backend *b, uint64_t *keys, uint32_t *values, int64_t n, int bits) {
  KP_ASSERT(bits >= 0 && bits <= 64);
  if (n <= 1 || bits == 0) {
    return KP_OK;
  }
  ++b->counters.launches;
  return b->vt->sort64(b, keys, values, n, bits);
}

kp_result kp_wait(kp_backend *b) {
  return b->vt->wait(b);
}

void *kp_backend_scratch(kp_backend *b, size_t size) {
  if (size <= b->scratch_size) {
    return b->scratch;
  }
  size_t grown = b->scratch_size + b->scratch_size / 2;
  grown = grown > size ? grown : size;
  kp_device_free(b, b->scratch);
  b->scratch = kp_device_alloc(b, grown);
  b->scratch_size = b->scratch != NULL ? grown : 0;
  return b->scratch;
}
