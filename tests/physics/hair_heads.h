// The size of the heads of test_hair_heads.c: small in the normal run, as published in the long
// one.
#pragma once

#include <stdbool.h>
#include <stdint.h>

typedef struct kp_hair_heads_size {
  int64_t count, segments;  // of the larger head
  int64_t steps;            // sub-steps that are measured
  bool is_whole;
  const char *cost_claim;
} kp_hair_heads_size;

extern const kp_hair_heads_size kp_hair_heads;
