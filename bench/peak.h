// The multiply-add loop behind kp_roof_measure, for files compiled per instruction set with KP_PEAK
// as the name of the function. The chains are independent, and enough of them to hide the latency.
#pragma once

#include "math/wide.h"

#include "bench/roof.h"

#define CHAINS 10

kp_real KP_PEAK(int64_t n_rounds, int64_t *n_operations) {
  kp_w chain[CHAINS];
  for (int c = 0; c < CHAINS; ++c) {
    chain[c] = kp_w_splat((kp_real)c);
  }
  kp_w factor = kp_w_splat((kp_real)0.999);
  kp_w addend = kp_w_splat((kp_real)0.001);
  for (int64_t k = 0; k < n_rounds; ++k) {
    for (int c = 0; c < CHAINS; ++c) {
      chain[c] = chain[c] * factor + addend;
    }
  }
  kp_w sum = chain[0];
  for (int c = 1; c < CHAINS; ++c) {
    sum += chain[c];
  }
  *n_operations = n_rounds * CHAINS * 2 * (int64_t)(sizeof(kp_w) / sizeof(kp_real));
  // what is returned keeps the compiler from dropping the loop
  kp_real total = (kp_real)0;
  for (size_t l = 0; l < sizeof(kp_w) / sizeof(kp_real); ++l) {
    total += sum[l];
  }
  return total;
}
