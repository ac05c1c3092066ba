#include "bench/roof.h"

#include <math.h>

#include "base/memory.h"
#include "base/timer.h"
#include "par/parallel.h"

#define COPY_BYTES ((size_t)128 << 20)
#define COPY_TURNS 6
#define PEAK_ROUNDS ((int64_t)1 << 21)
#define PEAK_TURNS 4

typedef kp_real (*peak_fn)(int64_t n_rounds, int64_t *n_operations);

static peak_fn peak_of_isa(void) {
  switch (kp_isa_current()) {
#ifdef KP_WITH_ISA_V4
  case KP_ISA_V4:
    return kp_peak_v4;
#endif
#ifdef KP_WITH_ISA_V3
  case KP_ISA_V3:
    return kp_peak_v3;
#endif
  default:
    return kp_peak_base;
  }
}

typedef struct peak_job {
  peak_fn fn;
  kp_real *results;  // one per thread, read by nobody
} peak_job;

static void peak_chunk(int64_t begin, int64_t end, void *context) {
  const peak_job *job = context;
  for (int64_t k = begin; k < end; ++k) {
    int64_t n_operations;
    job->results[k] = job->fn(PEAK_ROUNDS, &n_operations);
  }
}

static kp_result measure_fma(double *gflops) {
  int threads = kp_parallel_threads();
  peak_job job = { peak_of_isa(), kp_alloc((size_t)threads * sizeof(kp_real), KP_MEMORY_BASE) };
  if (job.results == NULL) {
    return KP_ERROR_MEMORY;
  }
  int64_t n_operations;
  job.results[0] = job.fn(PEAK_ROUNDS, &n_operations);
  double best = HUGE_VAL;
  for (int turn = 0; turn < PEAK_TURNS; ++turn) {
    double begin = kp_time_now();
    kp_parallel_for(threads, 1, peak_chunk, &job);
    best = fmin(best, kp_time_now() - begin);
  }
  kp_free(job.results);
  *gflops = (double)threads * (double)n_operations / best / 1e9;
  return KP_OK;
}

static kp_result time_copies(kp_backend *backend, void *to, void *from, double *best) {
  KP_TRY(kp_fill(backend, to, 0, COPY_BYTES));
  KP_TRY(kp_fill(backend, from, 1, COPY_BYTES));
  for (int turn = 0; turn < COPY_TURNS; ++turn) {
    KP_TRY(kp_wait(backend));
    double begin = kp_time_now();
    KP_TRY(kp_copy(backend, to, from, COPY_BYTES));
    KP_TRY(kp_wait(backend));
    *best = fmin(*best, kp_time_now() - begin);
  }
  return KP_OK;
}

static kp_result measure_copy(kp_backend *backend, double *gbs) {
  void *to = kp_device_alloc(backend, COPY_BYTES);
  void *from = to != NULL ? kp_device_alloc(backend, COPY_BYTES) : NULL;
  double best = HUGE_VAL;
  kp_result result = from != NULL ? time_copies(backend, to, from, &best) : KP_ERROR_MEMORY;
  kp_device_free(backend, from);
  kp_device_free(backend, to);
  *gbs = 2.0 * (double)COPY_BYTES / best / 1e9;
  return result;
}

kp_result kp_roof_measure(const char *name, kp_roof *out) {
  kp_backend_kind kind;
  kp_backend *backend = NULL;
  *out = (kp_roof){ 0 };
  KP_TRY(kp_backend_parse(name, &kind));
  KP_TRY(kp_backend_create(kind, &backend));
  kp_result result = measure_copy(backend, &out->copy_gbs);
  kp_backend_destroy(&backend);
  if (result == KP_OK && kind != KP_BACKEND_CUDA) {
    result = measure_fma(&out->fma_gflops);
  }
  return result;
}
