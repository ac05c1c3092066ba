// What the machine can do, measured: the two roofs a result is held against.
#pragma once

#include "par/backend.h"

typedef struct kp_roof {
  double copy_gbs;    // large copies, bytes read + written, GB/s
  double fma_gflops;  // multiply-adds of kp_real, two operations each; 0 on a device
} kp_roof;

// With the threads the calling thread's loops use now.
KP_NODISCARD kp_result kp_roof_measure(const char *backend, kp_roof *out);

// Rounds of independent multiply-adds on one thread, one function per instruction set; the number
// of operations comes back in *n_operations.
kp_real kp_peak_base(int64_t n_rounds, int64_t *n_operations);
kp_real kp_peak_v3(int64_t n_rounds, int64_t *n_operations);
kp_real kp_peak_v4(int64_t n_rounds, int64_t *n_operations);
