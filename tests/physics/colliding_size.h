// How many seeds the comparison of colliding flows takes: in the suite, or as the claims ask (label
// long).
#pragma once

#include <stdbool.h>

typedef struct colliding_size {
  int n_seeds;
  int n_seeds_3d;  // 0: left out
  bool claims;     // this size is the one that counts
} colliding_size;

extern const colliding_size colliding_size_chosen;
