// How large the experiments of test_lyes_claims are: in the suite, or as the claims ask (label
// long).
#pragma once

#include <stdint.h>

typedef struct claims_size {
  double gas_time;
  int n_gas_steps;            // of the list 0.2, 0.1, 0.025, 0.05
  double tries[9], try_time;  // steps of which the largest stable one is sought
  int n_tries;
  int64_t plasma_particles;  // 1000 steps
  int64_t water_particles;
  int64_t stray_particles, stray_steps;
} claims_size;

extern const claims_size claims_size_chosen;
