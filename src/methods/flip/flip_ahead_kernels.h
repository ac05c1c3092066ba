// What turns a flow in the middle of a step, for particles to take along (flip_ahead.c).
#pragma once

#include "data/mac_sample.h"
#include "par/kernel.h"

// Where u is divergence-free, div (u . grad u) = tr (grad u)^2, which the pressure balances:
// -div (1/rho grad p) = tr (grad u)^2. Slopes of a component along itself lie at centres, those
// along others at edges, the products of which are averaged.
typedef struct flip_bend_args {
  kp_mac_view grid;
  const uint8_t *flags;
  const kp_real *open;  // share of each cell without solids
  const kp_real *velocity[3];
  kp_real *bend;  // 1/s^2
} flip_bend_args;

// All cells around are liquid: what particles of spray do has no slopes. Beyond closed and open
// sides there is nothing to ask.
KP_FN int flip_is_deep(const flip_bend_args *a, int64_t i, int64_t j, int64_t k) {
  const kp_mac_view *g = &a->grid;
  const int64_t cell[3] = { i, j, k };
  int64_t step[3][3] = { { 0, 0, 0 }, { 0, 0, 0 }, { 0, 0, 0 } };
  for (int c = 0; c < g->dimension; ++c) {
    int is_first = !g->is_periodic[c] && cell[c] == 0;
    int is_last = !g->is_periodic[c] && cell[c] == g->n[c] - 1;
    step[c][0] = is_first ? 0 : kp_mac_before(g, c, cell[c], 0);
    step[c][2] = is_last ? 0 : kp_mac_behind(g, c, cell[c], 0);
  }
  int64_t at = kp_mac_at(g, i, j, k);
  int is_deep = a->open[at] >= 1;
  for (int n = 0; n < (g->dimension == 3 ? 27 : 9) && is_deep; ++n) {
    int64_t near = at + step[0][n % 3] + step[1][n / 3 % 3] + step[2][n / 9];
    is_deep = (a->flags[near] & KP_CELL_KIND) == KP_CELL_FLUID;
  }
  return is_deep;
}

// du_a/dx_b du_b/dx_a h^2, the mean over the four edges of the cell along the third axis. Edges are
// added in pairs, so that a flow in a mirror has the same bits.
KP_FN kp_real flip_shears(const flip_bend_args *args, int64_t at, int a, int b) {
  const kp_real *u = args->velocity[a];
  const kp_real *v = args->velocity[b];
  int64_t along = kp_mac_stride(&args->grid, a);
  int64_t across = kp_mac_stride(&args->grid, b);
  kp_real sum[2];
  for (int s = 0; s < 2; ++s) {
    int64_t low = at + s * along;
    int64_t high = low + across;
    sum[s] = (u[low] - u[low - across]) * (v[low] - v[low - along]) +
             (u[high] - u[high - across]) * (v[high] - v[high - along]);
  }
  return (kp_real)0.25 * (sum[0] + sum[1]);
}

KP_FN void flip_bend(int64_t j, int64_t k, int64_t i0, int64_t i1, const flip_bend_args *a) {
  const kp_mac_view *g = &a->grid;
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(g, i, j, k);
    kp_real sum = 0;
    if (flip_is_deep(a, i, j, k)) {
      for (int c = 0; c < g->dimension; ++c) {
        kp_real along = a->velocity[c][at + kp_mac_stride(g, c)] - a->velocity[c][at];
        sum += along * along;
      }
      sum += 2 * flip_shears(a, at, 0, 1);
      if (g->dimension == 3) {
        sum += 2 * (flip_shears(a, at, 0, 2) + flip_shears(a, at, 1, 2));
      }
    }
    a->bend[at] = sum * g->inverse_h * g->inverse_h;
  }
}

// values += share * more
typedef struct flip_add_args {
  kp_real share;
  const kp_real *more;
  kp_real *values;
} flip_add_args;

KP_FN void flip_add(int64_t i, const flip_add_args *a) {
  a->values[i] += a->share * a->more[i];
}

// Of a push at faces, where a particle is; none beyond the grid, where nothing else acts either.
typedef struct flip_look_ahead_args {
  kp_mac_view grid;
  kp_mac_velocity push;
  const kp_pos *x, *y, *z;
  kp_real *ax, *ay, *az;
} flip_look_ahead_args;

KP_FN void flip_look_ahead(int64_t i, const flip_look_ahead_args *a) {
  const kp_mac_view *g = &a->grid;
  const double x[3] = { a->x[i], a->y[i], a->z[i] };
  int is_in = 1;
  for (int c = 0; c < g->dimension; ++c) {
    double cells = (x[c] - g->lo[c]) / g->cell;
    is_in = is_in && cells >= 0.0 && cells <= (double)g->n[c];
  }
  kp_real v[3] = { 0, 0, 0 };
  if (is_in) {
    kp_mac_velocity_at(g, a->push, x[0], x[1], x[2], v);
  }
  a->ax[i] = v[0];
  a->ay[i] = v[1];
  a->az[i] = g->dimension == 2 ? (kp_real)0 : v[2];
}

typedef struct flip_join_ahead_args {
  const kp_real *ax, *ay, *az;
  kp_real *vx, *vy, *vz;
} flip_join_ahead_args;

KP_FN void flip_join_ahead(int64_t i, const flip_join_ahead_args *a) {
  a->vx[i] += a->ax[i];
  a->vy[i] += a->ay[i];
  a->vz[i] += a->az[i];
}
