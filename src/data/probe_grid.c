#include "data/probe_grid.h"

#include <math.h>

#include "data/mac_sample.h"
#include "data/probe_kernels.h"

kp_probe_grid kp_probe_grid_of(kp_mac *mac) {
  kp_probe_grid grid = { .mac = mac,
                         .velocity = kp_space_find(mac->space, "velocity"),
                         .flags = kp_space_find(mac->space, "flags"),
                         .distance = kp_space_find(mac->space, "distance"),
                         .depth = kp_space_find(mac->space, "depth") };
  for (int w = 0; w < KP_PROBE_WATCHED; ++w) {
    grid.watched[w] = kp_space_find(mac->space, kp_probe_watched[w]);
  }
  return grid;
}

// The arrays on the host.
typedef struct grid_arrays {
  kp_mac_view view;
  kp_mac_velocity velocity;
  const uint8_t *flags;
  const kp_real *watched[KP_PROBE_WATCHED];  // NULL: there is none
} grid_arrays;

static kp_result read_grid(const kp_probe_grid *grid, grid_arrays *out) {
  kp_buffer *v = grid->velocity->buffers;
  bool flat = grid->mac->view.dimension == 2;
  *out = (grid_arrays){ .view = grid->mac->view };
  out->velocity.u = kp_buffer_host(&v[0], KP_ACCESS_READ);
  out->velocity.v = kp_buffer_host(&v[1], KP_ACCESS_READ);
  out->velocity.w = flat ? NULL : kp_buffer_host(&v[2], KP_ACCESS_READ);
  out->flags = kp_buffer_host(&grid->flags->buffers[0], KP_ACCESS_READ);
  bool all = out->velocity.u != NULL && out->velocity.v != NULL && out->flags != NULL &&
             (flat || out->velocity.w != NULL);
  for (int w = 0; w < KP_PROBE_WATCHED; ++w) {
    if (grid->watched[w] != NULL) {
      out->watched[w] = kp_buffer_host(&grid->watched[w]->buffers[0], KP_ACCESS_READ);
      all = all && out->watched[w] != NULL;
    }
  }
  return all ? KP_OK : KP_ERROR_MEMORY;
}

// Moments of weighted cells about the point: of 1 and d, and with velocity and what is watched.
typedef struct grid_sums {
  double n, weight, speed;
  double m[4][4];
  double velocity[4][3], watched[4][3];
} grid_sums;

static void add_cell(const grid_arrays *a, int64_t at, const double d[3], double weight,
                     grid_sums *s) {
  kp_real v[3];
  kp_mac_velocity_of_cell(&a->view, a->velocity, at, v);
  const double one[4] = { 1.0, d[0], d[1], d[2] };
  s->n += 1.0;
  s->weight += weight;
  s->speed += weight * kp_vec3_length(kp_vec3_make((double)v[0], (double)v[1], (double)v[2]));
  for (int r = 0; r < 4; ++r) {
    for (int c = 0; c < 4; ++c) {
      s->m[r][c] += weight * one[r] * one[c];
    }
    for (int c = 0; c < 3; ++c) {
      double value = a->watched[c] != NULL ? (double)a->watched[c][at] : 0.0;
      s->velocity[r][c] += weight * one[r] * (double)v[c];
      s->watched[r][c] += weight * one[r] * value;
    }
  }
}

static void cells_around(const kp_mac_view *g, kp_vec3 p, double radius, int64_t lo[3],
                         int64_t hi[3]) {
  const double x[3] = { p.x, p.y, p.z };
  for (int c = 0; c < 3; ++c) {
    bool is_flat = c == 2 && g->dimension == 2;
    double first = is_flat ? 0.0 : floor((x[c] - radius - g->lo[c]) / g->cell);
    double last = is_flat ? 0.0 : floor((x[c] + radius - g->lo[c]) / g->cell);
    lo[c] = (int64_t)fmin(fmax(first, 0.0), (double)g->n[c]);
    hi[c] = (int64_t)fmax(fmin(last, (double)g->n[c] - 1.0), -1.0);
  }
}

static void add_around(const grid_arrays *a, kp_probe_kind kind, kp_vec3 p, double radius,
                       grid_sums *s) {
  const kp_mac_view *g = &a->view;
  int64_t lo[3];
  int64_t hi[3];
  cells_around(g, p, radius, lo, hi);
  for (int64_t k = lo[2]; k <= hi[2]; ++k) {
    for (int64_t j = lo[1]; j <= hi[1]; ++j) {
      for (int64_t i = lo[0]; i <= hi[0]; ++i) {
        int64_t at = kp_mac_at(g, i, j, k);
        double x[3];
        kp_mac_place(g, KP_MAC_CELL, i, j, k, x);
        const double d[3] = { x[0] - p.x, x[1] - p.y, g->dimension == 2 ? 0.0 : x[2] - p.z };
        double near = 1.0 - (d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) / (radius * radius);
        if (near >= 0.0 && (a->flags[at] & KP_CELL_KIND) == KP_CELL_FLUID) {
          add_cell(a, at, d, kind == KP_PROBE_FIT ? near * near : 1.0, s);
        }
      }
    }
  }
}

// The value at the point itself; without enough cells around it, or for a mean, the mean.
static void solve(const grid_sums *s, int n, double sums[4][3], double out[3]) {
  double m[4][4];
  double b[4][3];
  memcpy(m, s->m, sizeof m);
  memcpy(b, sums, sizeof b);
  bool is_solved = n > 1 && s->weight > 0.0 && probe_solve(m, b, n) != 0;
  for (int c = 0; c < 3; ++c) {
    double mean = s->weight > 0.0 ? sums[0][c] / s->weight : 0.0;
    out[c] = is_solved ? b[0][c] : mean;
  }
}

kp_result kp_probe_grid_look(const kp_probe_grid *grid, kp_probe_kind kind, double radius,
                             kp_probe_value *values, int64_t n) {
  grid_arrays a;
  KP_TRY(read_grid(grid, &a));
  // so that wherever the point lies, cells are within reach: for a fit on both sides of it
  radius = fmax(radius, (kind == KP_PROBE_FIT ? 2.0 : 1.0) * a.view.cell);
  int unknowns = kind == KP_PROBE_FIT ? a.view.dimension + 1 : 1;
  for (int64_t i = 0; i < n; ++i) {
    grid_sums s = { 0 };
    double v[3];
    double watched[KP_PROBE_WATCHED];
    add_around(&a, kind, values[i].position, radius, &s);
    solve(&s, unknowns, s.velocity, v);
    solve(&s, unknowns, s.watched, watched);
    for (int w = 0; w < KP_PROBE_WATCHED; ++w) {
      watched[w] = a.watched[w] != NULL && s.n > 0.0 ? watched[w] : (double)NAN;
    }
    values[i].velocity = kp_vec3_make(v[0], v[1], v[2]);
    values[i].speed = s.weight > 0.0 ? s.speed / s.weight : 0.0;
    values[i].count = s.n;
    kp_probe_put(watched, &values[i]);
  }
  return KP_OK;
}
