// The cpu backend: device memory is host memory, kernels run in fixed chunks on the worker threads.
#include "backend/cpu/backend_cpu.h"

#include <string.h>

#include "backend/cpu/pairs_cpu.h"
#include "base/memory.h"
#include "par/parallel.h"
#include "par/team.h"

// Elements per chunk: long enough that handing one out costs nothing beside it, short enough that a
// hundred thousand elements still feed a dozen threads.
#define POINT_CHUNK 8192
// Row segments per chunk; a segment is some tens to hundreds of cells.
#define ROW_CHUNK 16
// Bytes per chunk of large copies.
#define COPY_CHUNK ((int64_t)1 << 20)

static kp_result open_cpu(kp_backend *backend) {
  (void)backend;
  return KP_OK;
}

static void close_cpu(kp_backend *backend) {
  (void)backend;
}

static void *alloc_cpu(kp_backend *backend, size_t size) {
  void *memory = kp_alloc(size, KP_MEMORY_DEVICE);
  if (memory != NULL) {
    backend->counters.device_bytes += (int64_t)size;
  }
  return memory;
}

static void free_cpu(kp_backend *backend, void *memory) {
  backend->counters.device_bytes -= (int64_t)kp_alloc_size(memory);
  kp_free(memory);
}

typedef struct copy_job {
  char *to;
  const char *from;
} copy_job;

static void copy_chunk(int64_t begin, int64_t end, void *context) {
  const copy_job *job = context;
  memcpy(job->to + begin, job->from + begin, (size_t)(end - begin));
}

kp_result kp_cpu_copy(kp_backend *backend, void *to, const void *from, size_t size) {
  (void)backend;
  copy_job job = { to, from };
  kp_parallel_for((int64_t)size, COPY_CHUNK, copy_chunk, &job);
  return KP_OK;
}

kp_result kp_cpu_fill(kp_backend *backend, void *memory, int byte, size_t size) {
  (void)backend;
  memset(memory, byte, size);
  return KP_OK;
}

kp_result kp_cpu_wait(kp_backend *backend) {
  (void)backend;
  return KP_OK;
}

// One launch, as its chunks see it.
typedef struct kernel_job {
  kp_point_fn point;
  kp_reduce_fn reduce;
  kp_row_fn row;
  const kp_row_segment *segments;
  const void *args;
  double *partials;
  int n_values;
} kernel_job;

static void point_chunk(int64_t begin, int64_t end, void *context) {
  const kernel_job *job = context;
  job->point(begin, end, job->args);
}

kp_result kp_cpu_launch(kp_backend *backend, const kp_kernel *kernel, int64_t n, const void *args) {
  (void)backend;
  kernel_job job = { .point = kernel->point[kp_isa_current()], .args = args };
  kp_parallel_for(n, POINT_CHUNK, point_chunk, &job);
  return KP_OK;
}

static void row_chunk(int64_t begin, int64_t end, void *context) {
  const kernel_job *job = context;
  job->row(job->segments, begin, end, job->args);
}

kp_result kp_cpu_rows(kp_backend *backend, const kp_kernel *kernel, const kp_row_segment *segments,
                      int64_t n, const void *args) {
  (void)backend;
  kernel_job job = { .row = kernel->row[kp_isa_current()], .segments = segments, .args = args };
  kp_parallel_for(n, ROW_CHUNK, row_chunk, &job);
  return KP_OK;
}

static kp_result team_cpu(kp_backend *backend, const kp_kernel *kernel, int64_t n_tiles,
                          const void *args) {
  (void)backend;
  (void)n_tiles;
  kp_team team = { .is_backward = false };
  kernel->team[kp_isa_current()](&team, args);
  return KP_OK;
}

// A chunk is one block of the fixed tree and fills one row of the partial results.
static void reduce_chunk(int64_t begin, int64_t end, void *context) {
  const kernel_job *job = context;
  int64_t block = begin / KP_REDUCE_BLOCK;
  job->reduce(begin, end, job->args, job->partials + block * job->n_values);
}

kp_result kp_cpu_reduce(kp_backend *backend, const kp_kernel *kernel, int64_t n, const void *args,
                        double *values) {
  int64_t n_blocks = (n - 1) / KP_REDUCE_BLOCK + 1;
  int n_values = kernel->n_values;
  double *partials =
      kp_backend_scratch(backend, (size_t)n_blocks * (size_t)n_values * sizeof *partials);
  if (partials == NULL) {
    return kp_fail_in(KP_ERROR_MEMORY, "%s", kernel->name);
  }
  kernel_job job = {
    .reduce = kernel->reduce[kp_isa_current()],
    .args = args,
    .partials = partials,
    .n_values = n_values,
  };
  kp_parallel_for(n, KP_REDUCE_BLOCK, reduce_chunk, &job);

  // the second level of the tree: blocks in order
  for (int k = 0; k < n_values; ++k) {
    double total = kp_reduce_neutral(kernel->ops[k]);
    for (int64_t block = 0; block < n_blocks; ++block) {
      total = kp_reduce_combine(kernel->ops[k], total, partials[block * n_values + k]);
    }
    values[k] = total;
  }
  return KP_OK;
}

const kp_backend_class kp_backend_cpu = {
  .name = "cpu",
  .kind = KP_BACKEND_CPU,
  .shares_host_memory = true,
  .open = open_cpu,
  .close = close_cpu,
  .alloc = alloc_cpu,
  .free = free_cpu,
  .copy_in = kp_cpu_copy,
  .copy_out = kp_cpu_copy,
  .copy = kp_cpu_copy,
  .fill = kp_cpu_fill,
  .launch = kp_cpu_launch,
  .reduce = kp_cpu_reduce,
  .rows = kp_cpu_rows,
  .pairs = kp_cpu_pairs,
  .team = team_cpu,
  .scan = kp_cpu_scan,
  .sort32 = kp_cpu_sort32,
  .sort64 = kp_cpu_sort64,
  .wait = kp_cpu_wait,
};
