// How many seeds the comparison of colliding flows takes: in the suite, or as the claims ask (label
// long), which records them.
#pragma once

typedef struct colliding_size {
  int n_seeds;
  int n_seeds_3d;  // 0: left out
} colliding_size;

extern const colliding_size colliding_size_chosen;
