// How fine the discs of test_zalesak are: in the suite, or as the claim asks (label long).
#pragma once

#include <stdint.h>

typedef struct zalesak_size {
  int64_t nodes[4];  // along a side of 100, each twice as many cells as the one before
  int first;         // place of nodes[0] in the list 101, 201, 401, 801 of the tables
  int n_upwind;      // sizes for upwind blocks,
  int n_coarse;      // for traces at CFL 0.75, the finest of them 401 nodes in the long run
  int n_long;        // and at CFL 1.75, where steps are longer
} zalesak_size;

extern const zalesak_size zalesak_size_chosen;
