// Signed distance of a solid baked on a small grid in the solid's own coordinates, so that kernels
// can ask a moving body for its distance at the cost of one interpolation.
#pragma once

#include "data/buffer.h"
#include "geom/shape.h"

// What kernels see of it.
typedef struct kp_distance_view {
  const kp_real *values;  // at corners, x fastest [m]
  int32_t n[3];           // corners; n[2] == 1 in 2D
  double lo[3];           // m
  double cell;            // m
} kp_distance_view;

typedef struct kp_distance_grid {
  kp_buffer values;
  kp_distance_view view;
} kp_distance_grid;

// Corners `cell` apart over the shape's bounds grown by `margin` (over `room` where the shape has
// no bounds), coarser where that would be more than KP_DISTANCE_CORNERS along an axis.
#define KP_DISTANCE_CORNERS 160
KP_NODISCARD kp_result kp_distance_grid_bake(kp_distance_grid *grid, kp_backend *backend,
                                             const kp_shape *shape, double cell, double margin,
                                             const kp_aabb *room);
void kp_distance_grid_free(kp_distance_grid *grid);

// Distance at a point of the solid's coordinates; beyond the grid, that of the nearest point of its
// rim plus the way to it.
KP_FN double kp_distance_sample(const kp_distance_view *d, double x, double y, double z) {
  const double p[3] = { x, y, z };
  int32_t base[3];
  double t[3];
  double beyond = 0.0;
  for (int c = 0; c < 3; ++c) {
    double g = (p[c] - d->lo[c]) / d->cell;
    double last = (double)(d->n[c] - 1);
    double inside = g < 0.0 ? 0.0 : (g > last ? last : g);
    double off = d->n[c] > 1 ? (g - inside) * d->cell : 0.0;
    beyond += off * off;
    base[c] = (int32_t)inside;
    base[c] = base[c] > d->n[c] - 2 ? (d->n[c] > 1 ? d->n[c] - 2 : 0) : base[c];
    t[c] = d->n[c] > 1 ? inside - (double)base[c] : 0.0;
  }
  int64_t row = d->n[0];
  int64_t slab = row * d->n[1];
  const kp_real *v = d->values + base[0] + row * base[1] + slab * base[2];
  int64_t dz = d->n[2] > 1 ? slab : 0;
  double layer[2];
  for (int l = 0; l < 2; ++l) {
    const kp_real *q = v + l * dz;
    double a = (double)q[0] + t[0] * ((double)q[1] - (double)q[0]);
    double b = (double)q[row] + t[0] * ((double)q[row + 1] - (double)q[row]);
    layer[l] = a + t[1] * (b - a);
  }
  return layer[0] + t[2] * (layer[1] - layer[0]) + sqrt(beyond);
}
