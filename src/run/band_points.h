// The liquid below a narrow band of FLIP (methods/flip/flip_band.c), which is cells of the grid and
// no particles, as points where particles would be: a surface around the particles alone would go
// around both sides of the band.
#pragma once

#include "data/mac.h"

typedef struct kp_band_points {
  int64_t n, capacity;
  double *x[3];       // m
  kp_real *speed[3];  // m/s
} kp_band_points;

// In the cells of `mac` whose depth [cells to the air] is at least `least`, so many metres apart.
// Start from a zeroed struct.
KP_NODISCARD kp_result kp_band_points_find(kp_band_points *points, const kp_mac *mac,
                                           kp_field *depth, double least, double spacing);
void kp_band_points_free(kp_band_points *points);
