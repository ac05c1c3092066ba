// The size of the heads of test_hair_heads.c: small in the normal run, as published in the long
// one.
#pragma once

#include <stdint.h>

typedef struct kp_hair_heads_size {
  int64_t count, segments;  // of the larger head
  int64_t steps;            // sub-steps that are measured
  double frames;            // of 1/24 s, that the larger head runs
} kp_hair_heads_size;

extern const kp_hair_heads_size kp_hair_heads;
