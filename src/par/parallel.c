#include "par/parallel.h"

#include <omp.h>

#include "base/assert.h"

// What a thread knows about loops: how many workers its own may use, and which worker it is itself
// while it runs someone's loop body.
static _Thread_local struct {
  int n_threads;  // 0: the machine's number
  int worker;
  bool is_inside;
} here;

void kp_parallel_set_threads(int n_threads) {
  KP_ASSERT(n_threads >= 0);
  here.n_threads = n_threads;
}

int kp_parallel_threads(void) {
  return here.n_threads > 0 ? here.n_threads : omp_get_max_threads();
}

int kp_parallel_worker(void) {
  return here.worker;
}

static void run_chunk(int64_t n, int64_t chunk, int64_t c, kp_parallel_fn fn, void *context) {
  int64_t begin = c * chunk;
  int64_t end = n - begin > chunk ? begin + chunk : n;
  fn(begin, end, context);
}

// Always the whole team, even for two chunks: a team that changes its size ends threads and starts
// others (libgomp), which takes far longer than a small loop.
static void run_parallel(int64_t n, int64_t chunk, int n_threads, kp_parallel_fn fn,
                         void *context) {
  int64_t n_chunks = (n - 1) / chunk + 1;
#pragma omp parallel num_threads(n_threads)
  {
    here.worker = omp_get_thread_num();
    here.is_inside = true;
#pragma omp for schedule(dynamic, 1)
    for (int64_t c = 0; c < n_chunks; ++c) {
      run_chunk(n, chunk, c, fn, context);
    }
    here.worker = 0;
    here.is_inside = false;
  }
}

void kp_parallel_for(int64_t n, int64_t chunk, kp_parallel_fn fn, void *context) {
  KP_ASSERT(chunk > 0);
  if (n <= 0) {
    return;
  }
  int64_t n_chunks = (n - 1) / chunk + 1;
  int n_threads = kp_parallel_threads();

  if (n_threads > 1 && n_chunks > 1 && !here.is_inside) {
    run_parallel(n, chunk, n_threads, fn, context);
    return;
  }
  // the same chunks, so that what is computed per chunk keeps its bits
  for (int64_t c = 0; c < n_chunks; ++c) {
    run_chunk(n, chunk, c, fn, context);
  }
}
