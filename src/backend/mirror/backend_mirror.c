// The mirror backend: a "device" whose memory is apart from the host's but whose kernels run on the
// CPU. Code that forgets to copy, or uses device memory it gave back, fails here on any machine.
//
// Its loops run backwards, one element, one cell, one work item at a time. A kernel that reads what
// another element of the same launch writes gives what the order of the elements happens to make of
// it: a race on a card, hidden by loops that always run forward. Here it gives other bits than on
// the cpu, which every test that compares the two then tells.
//
// In a build with KELPIE_FUSED the mirror runs kernels whose products are fused into sums, as a
// card does, while the cpu rounds each of them: `kelpie bench kernels --backend mirror` then shows
// which kernels decide something by the last bit, on a machine without a card.
#include <string.h>

#include "backend/cpu/backend_cpu.h"
#include "base/memory.h"
#include "data/pairs.h"
#include "par/parallel.h"
#include "par/team.h"

#define POINT_CHUNK 1024
#define ROW_CHUNK 16
#define ITEM_CHUNK 64

// NaN as a real, -1 or a huge number as an integer.
#define POISON 0xff

static kp_result open_mirror(kp_backend *backend) {
  (void)backend;
  return KP_OK;
}

static void close_mirror(kp_backend *backend) {
  (void)backend;
}

static void *alloc_mirror(kp_backend *backend, size_t size) {
  void *memory = kp_alloc(size, KP_MEMORY_DEVICE);
  if (memory != NULL) {
    memset(memory, POISON, size);
    backend->counters.device_bytes += (int64_t)size;
  }
  return memory;
}

static void free_mirror(kp_backend *backend, void *memory) {
  size_t size = kp_alloc_size(memory);
  backend->counters.device_bytes -= (int64_t)size;
  memset(memory, POISON, size);
  kp_free(memory);
}

static kp_isa instruction_set(void) {
#ifdef KP_WITH_FUSED
  return KP_ISA_V3;
#else
  return kp_isa_current();
#endif
}

// One launch; `last` is the number of its last element, segment or work item.
typedef struct mirror_job {
  kp_point_fn point;
  kp_row_fn row;
  kp_pair_fn pair;
  const kp_row_segment *segments;
  const kp_pair_job *pairs;
  const void *args;
  int64_t last;
} mirror_job;

static void point_chunk(int64_t begin, int64_t end, void *context) {
  const mirror_job *job = context;
  for (int64_t k = begin; k < end; ++k) {
    int64_t i = job->last - k;
    job->point(i, i + 1, job->args);
  }
}

static kp_result launch_mirror(kp_backend *backend, const kp_kernel *kernel, int64_t n,
                               const void *args) {
  (void)backend;
  mirror_job job = { .point = kernel->point[instruction_set()], .args = args, .last = n - 1 };
  kp_parallel_for(n, POINT_CHUNK, point_chunk, &job);
  return KP_OK;
}

static void row_chunk(int64_t begin, int64_t end, void *context) {
  const mirror_job *job = context;
  for (int64_t k = begin; k < end; ++k) {
    kp_row_segment run = job->segments[job->last - k];
    for (int32_t i = run.i1 - 1; i >= run.i0; --i) {
      kp_row_segment cell = { run.j, run.k, i, i + 1 };
      job->row(&cell, 0, 1, job->args);
    }
  }
}

static kp_result rows_mirror(kp_backend *backend, const kp_kernel *kernel,
                             const kp_row_segment *segments, int64_t n, const void *args) {
  (void)backend;
  mirror_job job = {
    .row = kernel->row[instruction_set()], .segments = segments, .args = args, .last = n - 1
  };
  kp_parallel_for(n, ROW_CHUNK, row_chunk, &job);
  return KP_OK;
}

static void pair_chunk(int64_t begin, int64_t end, void *context) {
  const mirror_job *job = context;
  for (int64_t k = begin; k < end; ++k) {
    int64_t w = job->last - k;
    job->pair(job->pairs, w, w + 1, job->args);
  }
}

static kp_result pairs_mirror(kp_backend *backend, const kp_kernel *kernel,
                              const kp_pair_job *pairs, const void *args) {
  (void)backend;
  mirror_job job = {
    .pair = kernel->pair[instruction_set()], .pairs = pairs, .args = args, .last = pairs->n_work - 1
  };
  kp_parallel_for(pairs->n_work, ITEM_CHUNK, pair_chunk, &job);
  return KP_OK;
}

static kp_result team_mirror(kp_backend *backend, const kp_kernel *kernel, int64_t n_tiles,
                             const void *args) {
  (void)backend;
  (void)n_tiles;
  kp_team team = { .is_backward = true };
  kernel->team[instruction_set()](&team, args);
  return KP_OK;
}

const kp_backend_class kp_backend_mirror = {
  .name = "mirror",
  .kind = KP_BACKEND_MIRROR,
  .shares_host_memory = false,
  .open = open_mirror,
  .close = close_mirror,
  .alloc = alloc_mirror,
  .free = free_mirror,
  .copy_in = kp_cpu_copy,
  .copy_out = kp_cpu_copy,
  .copy = kp_cpu_copy,
  .fill = kp_cpu_fill,
  .launch = launch_mirror,
  .reduce = kp_cpu_reduce,
  .rows = rows_mirror,
  .pairs = pairs_mirror,
  .team = team_mirror,
  .scan = kp_cpu_scan,
  .sort32 = kp_cpu_sort32,
  .sort64 = kp_cpu_sort64,
  .wait = kp_cpu_wait,
};
