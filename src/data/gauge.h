// Wave gauges: how high the free surface of a liquid stands in a column.
//
// Particles: the highest place from which they fill half of what is around it, by the kernel of
// Wendland (C2) with their volumes. That is the surface of a lattice to a few hundredths of its
// spacing, and a drop by itself is none. Closed faces of the domain mirror, so that a column beside
// a wall reads as one far from it; solids inside the domain do not.
// Grids: the highest crossing of the distance along the column.
#pragma once

#include "data/probe_grid.h"
#include "data/set.h"

typedef struct kp_gauge {
  int dimension;
  int up;         // axis against gravity
  double radius;  // m, of the kernel
  double volume;  // m^3 (in 2D m^2) of a particle
  kp_aabb box;    // the domain
  bool closed[3][2];
} kp_gauge;

// Regions are columns: of values[r].position the coordinates across `up` are read, and all of the
// rest is written. Without liquid the height is that of the floor, and the count 0.
KP_NODISCARD kp_result kp_gauge_particles(const kp_gauge *gauge, kp_space *space,
                                          kp_probe_value *values, int64_t n);
KP_NODISCARD kp_result kp_gauge_grid(const kp_gauge *gauge, const kp_probe_grid *grid,
                                     kp_probe_value *values, int64_t n);
