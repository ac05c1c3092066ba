// Parallel loops on the host with fixed chunks: chunk boundaries depend on n and chunk alone, never
// on the number of threads, so anything computed per chunk is the same for any thread count.
#pragma once

#include "kelpie/config.h"

typedef void (*kp_parallel_fn)(int64_t begin, int64_t end, void *context);

// Calls fn for [0, chunk), [chunk, 2 chunk), ... up to n, in any order, from the worker threads.
// Nested calls run serially.
void kp_parallel_for(int64_t n, int64_t chunk, kp_parallel_fn fn, void *context);

// Worker threads of the calling thread's loops: 0 restores the machine's number.
void kp_parallel_set_threads(int n_threads);
int kp_parallel_threads(void);

// Index of the calling worker inside a loop body, 0 outside. For scratch memory only, never for
// results.
int kp_parallel_worker(void);
