// Baseline: the dynamic grid of Lyes 2015, section 6.4.2 (L13, Listing 6.5). The cell size is
// fixed, the extents follow the particles each step; growing only, or growing and shrinking (needed
// with wind). The sorted cell grid of data/cells.h always does the latter; this one is there to
// compare memory and size over time.
#pragma once

#include "data/baselines/brute_force.h"
#include "kelpie/vec.h"

typedef enum kp_dynamic_grid_mode {
  KP_DYNAMIC_GRID_GROW,         // keeps the old extents
  KP_DYNAMIC_GRID_GROW_SHRINK,  // measures them afresh each step
  KP_DYNAMIC_GRID_MODE_COUNT
} kp_dynamic_grid_mode;

typedef struct kp_dynamic_grid {
  kp_dynamic_grid_mode mode;
  double edge;  // of a cell
  int64_t
      max_cells;  // what is allocated; extents that would need more are cut and outliers counted
  kp_aabb bounds;
  int32_t dims[3];  // one more cell on each side, so that the largest coordinate has an upper node
  int64_t n_cells;
  int64_t n_grown, n_shrunk;  // steps in which the grid changed so
  int64_t n_outside;          // particles beyond the cut grid in the last step
} kp_dynamic_grid;

kp_dynamic_grid kp_dynamic_grid_make(kp_dynamic_grid_mode mode, double edge, int64_t max_cells);
void kp_dynamic_grid_update(kp_dynamic_grid *grid, const kp_points *points);
