// Wave gauges: how high a liquid stands in a column, by one of two readings.
//
// Wetted: the floor and the length of the column that is in liquid, which is what a wire of
// resistance or capacitance tells, and what solvers with volume fractions sum along a line. Sheets
// and drops above the water count with their own thickness.
//   Particles: each is a cube of its volume, and the column a product of tents across it; lattices
//   come out exactly, wherever the column stands. Cells of a narrow band that are full by right are
//   cubes too, in the place of the particles in them.
//   Grids: the distance, linear between centres and on to the floor and the lid; what is in solids
//   is dry.
// Surface: the highest place of the liquid, sheets included.
//   Particles: the highest place from which they fill half of what is around it, by the kernel of
//   Wendland (C2) with their volumes. That is the surface of a lattice to a few hundredths of its
//   spacing, and a drop by itself is none.
//   Grids: the highest crossing of the distance along the column.
//
// Closed faces of the domain mirror, so that a column beside a wall reads as one far from it;
// solids inside the domain do not.
#pragma once

#include "data/probe_grid.h"
#include "data/set.h"

typedef enum kp_gauge_reading { KP_GAUGE_WETTED, KP_GAUGE_SURFACE } kp_gauge_reading;

// Distance of a point to the nearest solid, negative inside; m.
typedef double (*kp_gauge_solid_fn)(const void *solids, kp_vec3 at);

typedef struct kp_gauge {
  kp_gauge_reading reading;
  int dimension;
  int up;         // axis against gravity
  double radius;  // m, of the kernel or the tents
  double volume;  // m^3 (in 2D m^2) of a particle
  kp_aabb box;    // the domain
  bool closed[3][2];
  bool periodic[3];         // regarded by the wetted length alone
  double full;              // cells this deep in a narrow band are full by right; 0: none is
  kp_gauge_solid_fn solid;  // NULL: there are none
  const void *solids;
} kp_gauge;

// Regions are columns: of values[r].position the coordinates across `up` are read, and all of the
// rest is written. Without liquid the height is that of the floor, and the count 0. `band` is the
// grid behind the particles, read where gauge->full is given.
KP_NODISCARD kp_result kp_gauge_particles(const kp_gauge *gauge, kp_space *space,
                                          const kp_probe_grid *band, kp_probe_value *values,
                                          int64_t n);
KP_NODISCARD kp_result kp_gauge_grid(const kp_gauge *gauge, const kp_probe_grid *grid,
                                     kp_probe_value *values, int64_t n);
