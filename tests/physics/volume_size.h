// How large test_flip_volume is: in the suite, or as the issue asks (label long).
#pragma once

#include <stdbool.h>

typedef struct volume_size {
  int cells_3d;  // along the box
  double depth;  // m, of the box of 1 m
  double seconds_2d, seconds_3d;
  bool settles;    // within those seconds: the level is asked for too
  int long_steps;  // cells along the box of scene C
} volume_size;

extern const volume_size volume_size_chosen;
