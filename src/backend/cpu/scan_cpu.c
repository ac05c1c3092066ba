// Exclusive scan: sums of fixed chunks, their running total, then each chunk on its own. Two passes
// are faster than one even on one thread (measured).
#include "backend/cpu/backend_cpu.h"
#include "par/parallel.h"

#define SCAN_CHUNK 32768

typedef struct scan_job {
  const uint32_t *in;
  uint32_t *out;
  uint32_t *chunk_sums;  // after the middle step: what comes before each chunk
} scan_job;

static uint32_t scan_range(const uint32_t *in, uint32_t *out, int64_t n, uint32_t before) {
  for (int64_t i = 0; i < n; ++i) {
    uint32_t value = in[i];
    out[i] = before;
    before += value;
  }
  return before;
}

static void sum_chunk(int64_t begin, int64_t end, void *context) {
  const scan_job *job = context;
  uint32_t sum = 0;
  for (int64_t i = begin; i < end; ++i) {
    sum += job->in[i];
  }
  job->chunk_sums[begin / SCAN_CHUNK] = sum;
}

static void scan_chunk(int64_t begin, int64_t end, void *context) {
  const scan_job *job = context;
  (void)scan_range(job->in + begin, job->out + begin, end - begin,
                   job->chunk_sums[begin / SCAN_CHUNK]);
}

kp_result kp_cpu_scan(kp_backend *backend, const uint32_t *in, uint32_t *out, int64_t n) {
  if (n <= SCAN_CHUNK) {
    uint32_t total = scan_range(in, out, n, 0);
    out[n] = total;
    return KP_OK;
  }
  int64_t n_chunks = (n - 1) / SCAN_CHUNK + 1;
  scan_job job = { in, out, kp_backend_scratch(backend, (size_t)n_chunks * sizeof(uint32_t)) };
  if (job.chunk_sums == NULL) {
    return kp_fail_in(KP_ERROR_MEMORY, "scan");
  }
  kp_parallel_for(n, SCAN_CHUNK, sum_chunk, &job);
  uint32_t total = scan_range(job.chunk_sums, job.chunk_sums, n_chunks, 0);
  kp_parallel_for(n, SCAN_CHUNK, scan_chunk, &job);
  out[n] = total;
  return KP_OK;
}
