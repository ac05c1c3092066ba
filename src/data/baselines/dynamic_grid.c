#include "data/baselines/dynamic_grid.h"

kp_dynamic_grid kp_dynamic_grid_make(kp_dynamic_grid_mode mode, double edge, int64_t max_cells) {
  return (kp_dynamic_grid){
    .mode = mode, .edge = edge, .max_cells = max_cells, .bounds = kp_aabb_empty()
  };
}

// Extents in cells: floor(size / edge) + 1, and the padding.
static void set_dims(kp_dynamic_grid *g) {
  const double size[3] = { g->bounds.max.x - g->bounds.min.x, g->bounds.max.y - g->bounds.min.y,
                           g->bounds.max.z - g->bounds.min.z };
  g->n_cells = 1;
  for (int d = 0; d < 3; ++d) {
    g->dims[d] = (int32_t)(size[d] / g->edge) + 3;
    g->n_cells *= g->dims[d];
  }
}

// Halves the longest axis from its upper end until the grid fits.
static void cut_to_fit(kp_dynamic_grid *g) {
  while (g->n_cells > g->max_cells) {
    double *min[3] = { &g->bounds.min.x, &g->bounds.min.y, &g->bounds.min.z };
    double *max[3] = { &g->bounds.max.x, &g->bounds.max.y, &g->bounds.max.z };
    int longest = g->dims[1] > g->dims[0] ? 1 : 0;
    longest = g->dims[2] > g->dims[longest] ? 2 : longest;
    if (g->dims[longest] <= 3) {
      return;
    }
    *max[longest] = 0.5 * (*min[longest] + *max[longest]);
    set_dims(g);
  }
}

void kp_dynamic_grid_update(kp_dynamic_grid *g, const kp_points *points) {
  if (points->n == 0) {
    return;
  }
  int64_t n_before = g->n_cells;
  kp_aabb bounds = g->mode == KP_DYNAMIC_GRID_GROW ? g->bounds : kp_aabb_empty();
  for (int64_t i = 0; i < points->n; ++i) {
    bounds = kp_aabb_grow(bounds, kp_vec3_make(points->x[i], points->y[i], points->z[i]));
  }
  g->bounds = bounds;
  set_dims(g);
  cut_to_fit(g);
  g->n_outside = 0;
  for (int64_t i = 0; i < points->n; ++i) {
    kp_vec3 p = kp_vec3_make(points->x[i], points->y[i], points->z[i]);
    g->n_outside += !kp_aabb_holds(g->bounds, p);
  }
  g->n_grown += g->n_cells > n_before;
  g->n_shrunk += g->n_cells < n_before;
}
