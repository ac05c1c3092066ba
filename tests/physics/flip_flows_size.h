// How large test_flip_flows is: in the suite, or as the claims ask (label long).
#pragma once

#include <stdbool.h>

typedef struct flip_flows_size {
  int vortex_cells;      // along the box of the vortex
  double block_spacing;  // m, of a block of 0.56 m whose pressure is timed
  bool is_full;          // also drops in 3D, and the vortex by steps of CFL 1/4
} flip_flows_size;

extern const flip_flows_size flip_flows_size_chosen;
