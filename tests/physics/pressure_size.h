// How large test_pressure is: in the suite, or as the issue asks (label long).
#pragma once

#include <stdint.h>

typedef struct pressure_size {
  int64_t most_3d, most_2d;  // cells along a side
} pressure_size;

extern const pressure_size pressure_size_chosen;
