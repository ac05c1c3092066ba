// The inside of a shape that may move, as kernels see it: shapes with a formula by the formula,
// meshes by a grid of distances in their own axes.
#pragma once

#include "geom/distance_grid.h"
#include "geom/shape_kernels.h"

typedef struct kp_region_view {
  kp_shape_view shape;
  kp_distance_view baked;  // where is_baked
  int32_t is_baked;
  double origin[3];   // of the shape in the world [m]
  double axes[3][3];  // of the shape in the world, as rows
} kp_region_view;

// Signed distance at a point of the world, negative inside. `values` are those of the grid.
KP_FN double kp_region_distance(const kp_region_view *r, const kp_real *values, double x, double y,
                                double z) {
  double local[3];
  for (int c = 0; c < 3; ++c) {
    local[c] = r->axes[c][0] * (x - r->origin[0]) + r->axes[c][1] * (y - r->origin[1]) +
               r->axes[c][2] * (z - r->origin[2]);
  }
  if (r->is_baked) {
    kp_distance_view baked = r->baked;
    baked.values = values;
    return kp_distance_sample(&baked, local[0], local[1], local[2]);
  }
  kp_vec3 normal;
  return kp_shape_view_query(&r->shape, kp_vec3_make(local[0], local[1], local[2]), &normal);
}
