#include "backend/cpu/pairs_cpu.h"

#include "data/pairs.h"
#include "par/parallel.h"

// Work items per chunk: some hundred elements, so that a chunk costs some ten microseconds at
// least.
#define ITEM_CHUNK 64

typedef struct pair_loop {
  kp_pair_fn fn;
  const kp_pair_job *job;
  const void *args;
} pair_loop;

static void pair_chunk(int64_t begin, int64_t end, void *context) {
  const pair_loop *loop = context;
  loop->fn(loop->job, begin, end, loop->args);
}

kp_result kp_cpu_pairs(kp_backend *backend, const kp_kernel *kernel, const struct kp_pair_job *job,
                       const void *args) {
  (void)backend;
  pair_loop loop = { kernel->pair[kp_isa_current()], job, args };
  kp_parallel_for(job->n_work, ITEM_CHUNK, pair_chunk, &loop);
  return KP_OK;
}
