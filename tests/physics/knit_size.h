// How fine the folded sheets of test_fabric_knit are.
#pragma once

#include <stdint.h>

typedef struct kp_knit_sizes {
  int64_t cells[4];  // along a side
  int64_t widest;    // up to this many also with particles as wide as the cells
} kp_knit_sizes;

extern const kp_knit_sizes kp_knit_size;
