// Fire of vortex particles: vortons that turn each other through a velocity grid, stretch, share
// their vorticity, rise and curl around solids (Lyes 2015, sections 4.4 and 6.4).
#pragma once

#include "linalg/stream.h"
#include "methods/common/flame.h"
#include "methods/vortex_fire/vortex_fire_kernels.h"

// The velocity grid: samples in the middle of cells, in a box that follows the flame. The lattice
// is anchored at the origin of the world, so moving the box moves no sample. All of it is made anew
// from the vortons each step.
typedef struct kp_vorton_grid {
  kp_registry *registry;  // of its own: nothing here is state
  kp_set *nodes;          // TIED; velocity [m/s] is the set's
  kp_cells *cells;        // blocks of samples, for the pair driver
  kp_field *density;      // vortons per cell, smoothed
  kp_field *slopes;       // 9, du_a/dx_b [1/s]
  kp_field *torque;       // 1/s^2
  vorton_grid shape;
} kp_vorton_grid;

KP_NODISCARD kp_result kp_vorton_grid_create(kp_vorton_grid *grid, kp_backend *backend,
                                             double cell);
void kp_vorton_grid_free(kp_vorton_grid *grid);

// The samples that everything in the box [m] needs, rounded outwards; `also` (lo and hi, cells, hi
// exclusive) is kept in when lo < hi. Gives the number of samples, which may exceed all memory.
double kp_vorton_grid_span(double cell, const kp_aabb *box, const int32_t also[6], int32_t out[6]);
// Makes it so: places samples where they were not.
KP_NODISCARD kp_result kp_vorton_grid_fit(kp_vorton_grid *grid, const int32_t span[6]);

// Cells: radius of the ball that turns its middle as fast as the spline of a vorton on the grid,
// which is near the Gaussian of spread 1/sqrt(3): R^3 = 3 sqrt(pi/2) 3^(-3/2).
#define KP_VORTON_IN_CELL_CORE 0.898

typedef struct kp_vortex_flame {
  kp_flame flame;
  kp_vorton_grid grid;
  kp_stream *stream;          // of gather = "grid"; NULL while there was no need
  double cell, core, volume;  // m, m, m^3
  kp_stream_report solved;    // of the last step
  kp_field *vorticity;        // 1/s
  kp_field *rise;             // m/s, the buoyant part of the velocity
  kp_field *target;           // m/s that it goes to
  kp_field *density;          // vortons per cell around
  kp_field *exchanged;        // vorticity after the exchange, which then changes places with it
  kp_field *neighbours;
  // of the last sub-step, kept in `state`
  double max_vorticity, max_neighbours;
  int32_t span[6];  // of the grid, for one that only grows
  kp_space *state;
} kp_vortex_flame;

typedef struct kp_vortex_fire {
  kp_vortex_fire_def def;
  KP_ARRAY(kp_distance_grid) solids;  // one per solid of the scenery; empty for spheres
  KP_ARRAY(kp_vortex_flame) flames;
} kp_vortex_fire;

KP_NODISCARD kp_result kp_vortex_fire_create(kp_env *env, const kp_vortex_fire_def *def,
                                             const kp_fire_def *fires, size_t n,
                                             kp_vortex_fire **out);

// The passes, for tests: grid to the vortons, velocity and its slopes on the grid, one exchange.
KP_NODISCARD kp_result kp_vortex_fire_induce(kp_vortex_fire *fire, kp_vortex_flame *flame,
                                             kp_env *env);
KP_NODISCARD kp_result kp_vortex_fire_exchange(kp_vortex_fire *fire, kp_vortex_flame *flame,
                                               kp_env *env);

extern const kp_method kp_vortex_fire_method;
