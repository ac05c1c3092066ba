// A backend: where state lives and kernels run.
//
//   cpu      device memory is host memory; OpenMP loops
//   mirror   a CPU "device" with memory of its own: finds missing copies on machines without a card
//   cuda     one NVIDIA card
//
// All pointers given to launches and primitives are device pointers of that backend. Calls are
// asynchronous on cuda, in order on one stream; results read by the host come through copy_out or a
// reduce, which wait. Bits do not depend on the number of threads.
#pragma once

#include "base/result.h"
#include "par/kernel.h"

typedef enum kp_backend_kind { KP_BACKEND_CPU, KP_BACKEND_MIRROR, KP_BACKEND_CUDA } kp_backend_kind;

typedef struct kp_backend kp_backend;

typedef struct kp_backend_counters {
  int64_t bytes_in;   // host to device
  int64_t bytes_out;  // device to host
  int64_t copies;     // number of either
  int64_t launches;
  int64_t device_bytes;  // now held
  int64_t device_allocations;
} kp_backend_counters;

// Everything a backend implements. One constant table per backend (src/backend/<name>).
typedef struct kp_backend_class {
  const char *name;
  kp_backend_kind kind;
  bool shares_host_memory;
  kp_result (*open)(kp_backend *backend);
  void (*close)(kp_backend *backend);
  void *(*alloc)(kp_backend *backend, size_t size);  // NULL with an error recorded
  void (*free)(kp_backend *backend, void *memory);
  kp_result (*copy_in)(kp_backend *backend, void *device, const void *host, size_t size);
  kp_result (*copy_out)(kp_backend *backend, void *host, const void *device, size_t size);
  kp_result (*copy)(kp_backend *backend, void *to, const void *from, size_t size);
  kp_result (*fill)(kp_backend *backend, void *memory, int byte, size_t size);
  kp_result (*launch)(kp_backend *backend, const kp_kernel *kernel, int64_t n, const void *args);
  kp_result (*reduce)(kp_backend *backend, const kp_kernel *kernel, int64_t n, const void *args,
                      double *values);
  kp_result (*rows)(kp_backend *backend, const kp_kernel *kernel, const kp_row_segment *segments,
                    int64_t n, const void *args);
  kp_result (*pairs)(kp_backend *backend, const kp_kernel *kernel, const struct kp_pair_job *job,
                     const void *args);
  kp_result (*team)(kp_backend *backend, const kp_kernel *kernel, int64_t n_tiles,
                    const void *args);
  // out[0] = 0, out[i] = in[0] + ... + in[i-1] for i <= n: out has n + 1 elements and may be in.
  kp_result (*scan)(kp_backend *backend, const uint32_t *in, uint32_t *out, int64_t n);
  // Stable sort by the low `bits` bits of the key; values follow. In place.
  kp_result (*sort32)(kp_backend *backend, uint32_t *keys, uint32_t *values, int64_t n, int bits);
  kp_result (*sort64)(kp_backend *backend, uint64_t *keys, uint32_t *values, int64_t n, int bits);
  kp_result (*wait)(kp_backend *backend);
} kp_backend_class;

struct kp_backend {
  const kp_backend_class *vt;
  kp_backend_counters counters;
  void *scratch;  // device scratch of the primitives, grown geometrically
  size_t scratch_size;
  void *self;                         // private part
  struct kp_call_observer *observer;  // sees every call (data/call.h); NULL
};

// Open a backend. KP_ERROR_BACKEND with a sentence when it is not built in or no device is there.
KP_NODISCARD kp_result kp_backend_create(kp_backend_kind kind, kp_backend **out);
void kp_backend_destroy(kp_backend **backend);
KP_NODISCARD kp_result kp_backend_parse(const char *name, kp_backend_kind *out);

// Thin calls that also count; launches with n == 0 do nothing.
void *kp_device_alloc(kp_backend *b, size_t size);
void kp_device_free(kp_backend *b, void *memory);
KP_NODISCARD kp_result kp_copy_in(kp_backend *b, void *device, const void *host, size_t size);
KP_NODISCARD kp_result kp_copy_out(kp_backend *b, void *host, const void *device, size_t size);
// On the device.
KP_NODISCARD kp_result kp_copy(kp_backend *b, void *to, const void *from, size_t size);
KP_NODISCARD kp_result kp_fill(kp_backend *b, void *memory, int byte, size_t size);
KP_NODISCARD kp_result kp_launch(kp_backend *b, const kp_kernel *kernel, int64_t n,
                                 const void *args);
KP_NODISCARD kp_result kp_rows(kp_backend *b, const kp_kernel *kernel,
                               const kp_row_segment *segments, int64_t n, const void *args);
KP_NODISCARD kp_result kp_pairs(kp_backend *b, const kp_kernel *kernel,
                                const struct kp_pair_job *job, const void *args);
// A TEAM kernel, whose passes have at most so many tiles (par/team.h).
KP_NODISCARD kp_result kp_team_launch(kp_backend *b, const kp_kernel *kernel, int64_t n_tiles,
                                      const void *args);
// values[0..n_values) combined over 0..n-1 in the fixed tree: blocks of KP_REDUCE_BLOCK in order,
// then the blocks in order. With n == 0 a sum is 0, a min +inf, a max -inf. Waits for the result.
KP_NODISCARD kp_result kp_reduce(kp_backend *b, const kp_kernel *kernel, int64_t n,
                                 const void *args, double *values);
KP_NODISCARD kp_result kp_scan(kp_backend *b, const uint32_t *in, uint32_t *out, int64_t n);
KP_NODISCARD kp_result kp_sort32(kp_backend *b, uint32_t *keys, uint32_t *values, int64_t n,
                                 int bits);
KP_NODISCARD kp_result kp_sort64(kp_backend *b, uint64_t *keys, uint32_t *values, int64_t n,
                                 int bits);
KP_NODISCARD kp_result kp_wait(kp_backend *b);
// At least `size` bytes of device scratch, valid until the next call that wants more.
void *kp_backend_scratch(kp_backend *b, size_t size);

extern const kp_backend_class kp_backend_cpu;
extern const kp_backend_class kp_backend_mirror;
// In a build without CUDA its open fails with a sentence.
extern const kp_backend_class kp_backend_cuda;
