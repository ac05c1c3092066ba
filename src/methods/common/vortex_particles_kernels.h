// Vortex particles (Selle, Rasmussen & Fedkiw 2005; Selle 2008, section 3.4): what one of them does
// to the grid, and the grid to it.
//
// The grid gathers: a row of cells walks over the particles near it, in the order of their sorted
// cells, so sums do not depend on threads or on where a row is cut.
#pragma once

#include "data/cells.h"
#include "data/mac_sample.h"
#include "geom/random_points.h"
#include "par/kernel.h"

#define VORTEX_KERNELS(POINT, REDUCE, ROW, PAIR)                                                   \
  ROW(vortex, force)                                                                               \
  ROW(vortex, spread)                                                                              \
  ROW(vortex, amount)                                                                              \
  ROW(vortex, differ)                                                                              \
  ROW(vortex, drive)                                                                               \
  POINT(vortex, birth)                                                                             \
  POINT(vortex, attenuate)                                                                         \
  POINT(vortex, turn)                                                                              \
  POINT(vortex, move)                                                                              \
  POINT(vortex, keep)

// ---- kernels of space (S22)

typedef enum vortex_shape { VORTEX_GAUSSIAN, VORTEX_TENT, VORTEX_TENT_UNIT } vortex_shape;

// exp(-q / 2) for 0 <= q <= 1, as the eighth power of a short series: relative error below 1e-11
// and no call, so that rows vectorise.
KP_FN kp_real vortex_bell(kp_real q) {
  kp_real t = q * (kp_real)-0.0625;
  kp_real e =
      (kp_real)1 +
      t * ((kp_real)1 + t * ((kp_real)0.5 +
                             t * ((kp_real)(1.0 / 6.0) +
                                  t * ((kp_real)(1.0 / 24.0) + t * ((kp_real)(1.0 / 120.0) +
                                                                    t * (kp_real)(1.0 / 720.0))))));
  e = e * e;
  e = e * e;
  return e * e;
}

// Factor of the kernel: of the Gaussian cut off at r, or of a tent of unit integral.
KP_FN double vortex_norm(int shape, double r, int dimension) {
  const double pi = 3.14159265358979323846;
  double r2 = r * r;
  if (shape == VORTEX_GAUSSIAN) {
    return dimension == 2 ? 1.0 / (2.0 * pi * r2) : 1.0 / (r2 * r * pow(2.0 * pi, 1.5));
  }
  if (shape == VORTEX_TENT) {
    return 1.0;
  }
  return dimension == 2 ? 3.0 / (pi * r2) : 3.0 / (pi * r2 * r);
}

// ---- particles to grid

typedef struct vortex_force_args {
  kp_mac_view grid;
  kp_cells_view cells;
  int32_t shape;   // vortex_shape
  double largest;  // m, radius
  double period[3];
  const kp_real *wx, *wy, *wz;  // vorticity that acts
  const kp_real *radius, *strength, *norm;
  kp_real *ox, *oy, *oz;  // added to; amount: ox alone
} vortex_force_args;

typedef vortex_force_args vortex_spread_args;
typedef vortex_force_args vortex_amount_args;

typedef enum vortex_mode {
  VORTEX_FORCE,   // eps (N x xi w), N towards the particle
  VORTEX_VECTOR,  // xi w
  VORTEX_AMOUNT   // xi |w|
} vortex_mode;

// One particle, seen from the row (j, k) at (x0 + i h, dy, dz): x0, dy and dz are what leads from
// cell 0 of the row to it.
KP_FN void vortex_add(const vortex_force_args *a, int mode, uint32_t p, const kp_real d[3],
                      int64_t row, const int64_t run[2]) {
  const kp_real r = a->radius[p];
  const kp_real inverse_r2 = (kp_real)1 / (r * r);
  const kp_real h = a->grid.h;
  // closer than 1e-4 of a cell there is no direction
  const kp_real nearest = (kp_real)1e-8 * h * h;
  const kp_real scale = a->norm[p] * (mode == VORTEX_FORCE ? a->strength[p] : (kp_real)1);
  const kp_real wx = scale * a->wx[p];
  const kp_real wy = scale * a->wy[p];
  const kp_real wz = scale * a->wz[p];
  const kp_real amount = kp_root(wx * wx + wy * wy + wz * wz);
  const kp_real flat = d[1] * d[1] + d[2] * d[2];
  const int is_bell = a->shape == VORTEX_GAUSSIAN;
  for (int64_t i = run[0]; i < run[1]; ++i) {
    kp_real dx = d[0] - (kp_real)i * h;
    kp_real d2 = dx * dx + flat;
    kp_real q = d2 * inverse_r2;
    int is_in = q <= (kp_real)1;
    q = is_in ? q : (kp_real)1;
    kp_real xi = is_bell ? vortex_bell(q) : (kp_real)1 - kp_root(q);
    xi = is_in ? xi : (kp_real)0;
    if (mode == VORTEX_FORCE) {
      xi = d2 > nearest ? xi / kp_root(d2) : (kp_real)0;
      a->ox[row + i] += xi * (d[1] * wz - d[2] * wy);
      a->oy[row + i] += xi * (d[2] * wx - dx * wz);
      a->oz[row + i] += xi * (dx * wy - d[1] * wx);
    } else if (mode == VORTEX_VECTOR) {
      a->ox[row + i] += xi * wx;
      a->oy[row + i] += xi * wy;
      a->oz[row + i] += xi * wz;
    } else {
      a->ox[row + i] += xi * amount;
    }
  }
}

// The particles of one (y, z) row of search cells, which lie `shift` away from where they are kept.
KP_FN void vortex_walk(const vortex_force_args *a, int mode, uint32_t begin, uint32_t end,
                       const double place[3], int64_t row, const int64_t run[2]) {
  double h = a->grid.cell;
  for (uint32_t p = begin; p < end; ++p) {
    const double d[3] = { a->cells.x[p] - place[0], a->cells.y[p] - place[1],
                          a->grid.dimension == 2 ? 0.0 : a->cells.z[p] - place[2] };
    double r = (double)a->radius[p];
    double half = r * r - d[1] * d[1] - d[2] * d[2];
    if (half < 0.0) {
      continue;
    }
    half = sqrt(half);
    double lo = ceil((d[0] - half) / h);
    double hi = floor((d[0] + half) / h) + 1.0;
    const int64_t part[2] = { lo > (double)run[0] ? (int64_t)lo : run[0],
                              hi < (double)run[1] ? (int64_t)hi : run[1] };
    const kp_real near[3] = { (kp_real)d[0], (kp_real)d[1], (kp_real)d[2] };
    if (part[0] < part[1]) {
      vortex_add(a, mode, p, near, row, part);
    }
  }
}

KP_FN void vortex_gather(int64_t j, int64_t k, int64_t i0, int64_t i1, const vortex_force_args *a,
                         int mode) {
  const kp_mac_view *g = &a->grid;
  const int64_t row = kp_mac_at(g, 0, j, k);
  const int64_t run[2] = { i0, i1 };
  const int images[3] = { g->is_periodic[0], g->is_periodic[1], g->is_periodic[2] };
  for (int image = 0; image < 27; ++image) {
    const int s[3] = { image % 3 - 1, image / 3 % 3 - 1, image / 9 - 1 };
    if ((s[0] != 0 && !images[0]) || (s[1] != 0 && !images[1]) || (s[2] != 0 && !images[2])) {
      continue;
    }
    // the centre of cell 0 of the row, as particles of this image see it
    const double place[3] = { g->lo[0] + 0.5 * g->cell + s[0] * a->period[0],
                              g->lo[1] + ((double)j + 0.5) * g->cell + s[1] * a->period[1],
                              g->dimension == 2
                                  ? 0.0
                                  : g->lo[2] + ((double)k + 0.5) * g->cell + s[2] * a->period[2] };
    const double reach = a->largest * (1.0 + 1e-6);
    const double inverse = a->cells.inverse_edge;
    const int32_t x0 = kp_cells_coordinate(place[0] + (double)i0 * g->cell - reach, inverse);
    const int32_t x1 = kp_cells_coordinate(place[0] + (double)(i1 - 1) * g->cell + reach, inverse);
    const int32_t y0 = kp_cells_coordinate(place[1] - reach, inverse);
    const int32_t y1 = kp_cells_coordinate(place[1] + reach, inverse);
    const int32_t z0 = kp_cells_coordinate(place[2] - reach, inverse);
    const int32_t z1 = kp_cells_coordinate(place[2] + reach, inverse);
    for (int32_t z = z0; z <= z1; ++z) {
      for (int32_t y = y0; y <= y1; ++y) {
        uint32_t begin;
        uint32_t end;
        kp_cells_range(&a->cells, x0, x1, y, z, &begin, &end);
        vortex_walk(a, mode, begin, end, place, row, run);
      }
    }
  }
}

// Variant B, S20: F += eps (N x xi w)
KP_FN void vortex_force(int64_t j, int64_t k, int64_t i0, int64_t i1, const vortex_force_args *a) {
  vortex_gather(j, k, i0, i1, a, VORTEX_FORCE);
}

// sum of xi w
KP_FN void vortex_spread(int64_t j, int64_t k, int64_t i0, int64_t i1,
                         const vortex_spread_args *a) {
  vortex_gather(j, k, i0, i1, a, VORTEX_VECTOR);
}

// Variant A, S19: eps(x) = sum of xi |w|
KP_FN void vortex_amount(int64_t j, int64_t k, int64_t i0, int64_t i1,
                         const vortex_amount_args *a) {
  vortex_gather(j, k, i0, i1, a, VORTEX_AMOUNT);
}

// Variant D, S21: W = sum of xi w - omega, and |W|
typedef struct vortex_differ_args {
  kp_mac_view grid;
  const kp_real *u, *v, *w;
  const uint8_t *flags;
  kp_real *wx, *wy, *wz;
  kp_real *magnitude;
} vortex_differ_args;

KP_FN void vortex_differ(int64_t j, int64_t k, int64_t i0, int64_t i1,
                         const vortex_differ_args *a) {
  const kp_mac_view *g = &a->grid;
  const kp_mac_velocity f = { a->u, a->v, a->w };
  int64_t row = kp_mac_at(g, 0, j, k);
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = row + i;
    kp_real omega[3];
    kp_mac_curl(g, f, at, omega);
    kp_real x = a->wx[at] - omega[0];
    kp_real y = a->wy[at] - omega[1];
    kp_real z = a->wz[at] - omega[2];
    a->wx[at] = x;
    a->wy[at] = y;
    a->wz[at] = z;
    a->magnitude[at] = (a->flags[at] & KP_CELL_KIND) == KP_CELL_FLUID
                           ? kp_root(x * x + y * y + z * z)
                           : (kp_real)0;
  }
}

// f += eps dx (grad |W| / |grad |W|| x W)
typedef struct vortex_drive_args {
  kp_mac_view grid;
  kp_real strength;  // eps dx
  const kp_real *wx, *wy, *wz, *magnitude;
  kp_real *fx, *fy, *fz;
} vortex_drive_args;

KP_FN void vortex_drive(int64_t j, int64_t k, int64_t i0, int64_t i1, const vortex_drive_args *a) {
  const kp_mac_view *g = &a->grid;
  int64_t row = kp_mac_at(g, 0, j, k);
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = row + i;
    kp_real n[3];
    kp_mac_gradient(g, a->magnitude, at, n);
    kp_real size = kp_root(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    kp_real scale = size > (kp_real)1e-12 ? a->strength / size : (kp_real)0;
    a->fx[at] += scale * (n[1] * a->wz[at] - n[2] * a->wy[at]);
    a->fy[at] += scale * (n[2] * a->wx[at] - n[0] * a->wz[at]);
    a->fz[at] += scale * (n[0] * a->wy[at] - n[1] * a->wx[at]);
  }
}

// ---- grid to particles

// Derivatives of the velocity du_a / dx_b at a point: trilinear between those at the centres.
KP_FN void vortex_slopes(const kp_mac_view *g, kp_mac_velocity f, const double x[3],
                         kp_real out[3][3]) {
  kp_mac_point p = kp_mac_point_at(g, 3, x[0], x[1], x[2]);
  int64_t at = kp_mac_item(g, p);
  int n_corners = g->dimension == 2 ? 4 : 8;
  for (int e = 0; e < 9; ++e) {
    out[e / 3][e % 3] = 0;
  }
  for (int c = 0; c < n_corners; ++c) {
    kp_real weight = (c & 1 ? p.x : (kp_real)1 - p.x) * (c >> 1 & 1 ? p.y : (kp_real)1 - p.y);
    weight *= g->dimension == 2 ? (kp_real)1 : (c >> 2 ? p.z : (kp_real)1 - p.z);
    int64_t corner = at + (c & 1) + (c >> 1 & 1) * g->row + (c >> 2) * (int64_t)g->slab;
    for (int e = 0; e < 9; ++e) {
      out[e / 3][e % 3] += weight * kp_mac_velocity_slope(g, f, e / 3, e % 3, corner);
    }
  }
}

KP_FN void vortex_curl_at(const kp_mac_view *g, kp_mac_velocity f, const double x[3],
                          kp_real out[3]) {
  kp_real slope[3][3];
  vortex_slopes(g, f, x, slope);
  out[0] = slope[2][1] - slope[1][2];
  out[1] = slope[0][2] - slope[2][0];
  out[2] = slope[1][0] - slope[0][1];
}

// Where a newborn's axis points
typedef enum vortex_rule { VORTEX_RANDOM, VORTEX_RING, VORTEX_UPRIGHT, VORTEX_GRID } vortex_rule;

typedef struct vortex_birth_args {
  kp_mac_view grid;
  int64_t first;
  uint64_t seed;
  int32_t rule;
  int32_t up;
  double center[3];  // of the ring
  double magnitude, radius, radius_spread, strength;
  double threshold;  // 1/s, of the grid's vorticity
  int32_t shape;
  const kp_real *u, *v, *w;
  const kp_pos *x, *y, *z;
  const uint64_t *id;
  kp_real *wx, *wy, *wz;
  kp_real *size, *r, *eps, *norm;
} vortex_birth_args;

KP_FN void vortex_axis(const vortex_birth_args *a, int64_t i, double axis[3]) {
  kp_sampler_key key = { a->seed, KP_RNG_VORTEX, a->id[i], 1 };
  double sign = kp_sampler_uniform(key, 3) < 0.5 ? -1.0 : 1.0;
  const double x[3] = { a->x[i], a->y[i], a->z[i] };
  if (a->rule == VORTEX_GRID) {
    const kp_mac_velocity f = { a->u, a->v, a->w };
    kp_real omega[3];
    vortex_curl_at(&a->grid, f, x, omega);
    double size = sqrt((double)(omega[0] * omega[0] + omega[1] * omega[1] + omega[2] * omega[2]));
    double scale = size > a->threshold && size > 0.0 ? 1.0 / size : 0.0;
    for (int c = 0; c < 3; ++c) {
      axis[c] = scale * (double)omega[c];
    }
    return;
  }
  if (a->rule == VORTEX_RING) {
    // up x (x - c), tangent to the upright cylinder around the centre
    int up = a->up;
    int p = (up + 1) % 3;
    int q = (up + 2) % 3;
    double dp = x[p] - a->center[p];
    double dq = x[q] - a->center[q];
    double size = sqrt(dp * dp + dq * dq);
    double scale = size > 0.0 ? 1.0 / size : 0.0;
    axis[up] = 0.0;
    axis[p] = -dq * scale;
    axis[q] = dp * scale;
    return;
  }
  kp_vec3 way = kp_sampler_direction(key);
  bool is_upright = a->rule == VORTEX_UPRIGHT || a->grid.dimension == 2;
  int along = a->grid.dimension == 2 ? 2 : a->up;
  axis[0] = is_upright ? (along == 0 ? sign : 0.0) : way.x;
  axis[1] = is_upright ? (along == 1 ? sign : 0.0) : way.y;
  axis[2] = is_upright ? (along == 2 ? sign : 0.0) : way.z;
}

KP_FN void vortex_birth(int64_t n, const vortex_birth_args *a) {
  int64_t i = a->first + n;
  double axis[3];
  vortex_axis(a, i, axis);
  // in the plane there is one axis to turn about
  axis[0] = a->grid.dimension == 2 ? 0.0 : axis[0];
  axis[1] = a->grid.dimension == 2 ? 0.0 : axis[1];
  double size = sqrt(axis[0] * axis[0] + axis[1] * axis[1] + axis[2] * axis[2]);
  kp_sampler_key key = { a->seed, KP_RNG_VORTEX, a->id[i], 2 };
  double r = a->radius * (1.0 + a->radius_spread * (2.0 * kp_sampler_uniform(key, 0) - 1.0));
  double scale = size > 0.0 ? a->magnitude / size : 0.0;
  a->wx[i] = (kp_real)(scale * axis[0]);
  a->wy[i] = (kp_real)(scale * axis[1]);
  a->wz[i] = (kp_real)(scale * axis[2]);
  a->size[i] = (kp_real)(size > 0.0 ? a->magnitude : 0.0);  // 0: not born after all
  a->r[i] = (kp_real)r;
  a->eps[i] = (kp_real)a->strength;
  a->norm[i] = (kp_real)vortex_norm(a->shape, r, a->grid.dimension);
}

// Variant C, S21: what the grid already has is taken off; where that turns a component around
// nothing is left of it.
typedef struct vortex_attenuate_args {
  kp_mac_view grid;
  const kp_real *u, *v, *w;
  const kp_pos *x, *y, *z;
  const kp_real *wx, *wy, *wz, *norm;
  kp_real *ox, *oy, *oz;
} vortex_attenuate_args;

KP_FN kp_real vortex_less(kp_real own, kp_real grid) {
  kp_real rest = own - grid;
  return rest * own > 0 ? rest : (kp_real)0;
}

KP_FN void vortex_attenuate(int64_t i, const vortex_attenuate_args *a) {
  const kp_mac_velocity f = { a->u, a->v, a->w };
  const double x[3] = { a->x[i], a->y[i], a->z[i] };
  kp_real omega[3];
  vortex_curl_at(&a->grid, f, x, omega);
  // the grid's vorticity in the particle's measure: what its kernel makes of w at its centre
  kp_real scale = (kp_real)1 / a->norm[i];
  a->ox[i] = vortex_less(a->wx[i], scale * omega[0]);
  a->oy[i] = vortex_less(a->wy[i], scale * omega[1]);
  a->oz[i] = vortex_less(a->wz[i], scale * omega[2]);
}

// Stretching and tilting (S18): w' = w + dt (w . grad) u, then what becomes of its length
typedef enum vortex_stretch {
  VORTEX_PRESERVE,
  VORTEX_FREE,
  VORTEX_CLAMP,
  VORTEX_DECREASE_ONLY
} vortex_stretch;

typedef struct vortex_turn_args {
  kp_mac_view grid;
  int32_t stretch;
  double dt;
  double most;  // clamp: times the length at birth
  const kp_real *u, *v, *w;
  const kp_pos *x, *y, *z;
  const kp_real *size;  // at birth
  kp_real *wx, *wy, *wz;
} vortex_turn_args;

KP_FN void vortex_turn(int64_t i, const vortex_turn_args *a) {
  const kp_mac_velocity f = { a->u, a->v, a->w };
  const double x[3] = { a->x[i], a->y[i], a->z[i] };
  const double old[3] = { (double)a->wx[i], (double)a->wy[i], (double)a->wz[i] };
  kp_real slope[3][3];
  double now[3];
  vortex_slopes(&a->grid, f, x, slope);
  for (int c = 0; c < 3; ++c) {
    now[c] = old[c] + a->dt * ((double)slope[c][0] * old[0] + (double)slope[c][1] * old[1] +
                               (double)slope[c][2] * old[2]);
  }
  double size = sqrt(now[0] * now[0] + now[1] * now[1] + now[2] * now[2]);
  double before = sqrt(old[0] * old[0] + old[1] * old[1] + old[2] * old[2]);
  double born = (double)a->size[i];
  double wanted = size;
  if (a->stretch == VORTEX_PRESERVE) {
    wanted = born;  // not that of the last step: rounding would walk away
  } else if (a->stretch == VORTEX_CLAMP) {
    wanted = size < a->most * born ? size : a->most * born;
  } else if (a->stretch == VORTEX_DECREASE_ONLY) {
    wanted = size < before ? size : before;
  }
  double scale = size > 0.0 ? wanted / size : 0.0;
  a->wx[i] = (kp_real)(scale * now[0]);
  a->wy[i] = (kp_real)(scale * now[1]);
  a->wz[i] = (kp_real)(scale * now[2]);
}

// Along the flow, by the midpoint rule
typedef struct vortex_move_args {
  kp_mac_view grid;
  double dt;
  double period[3];
  const kp_real *u, *v, *w;
  kp_pos *x, *y, *z;
  kp_real *vx, *vy, *vz;
} vortex_move_args;

KP_FN double vortex_wrap(const kp_mac_view *g, int axis, double x, double period) {
  if (!g->is_periodic[axis]) {
    return x;
  }
  return x < g->lo[axis] ? x + period : (x >= g->lo[axis] + period ? x - period : x);
}

KP_FN void vortex_move(int64_t i, const vortex_move_args *a) {
  const kp_mac_view *g = &a->grid;
  const kp_mac_velocity f = { a->u, a->v, a->w };
  kp_real u[3];
  kp_real m[3];
  double half = 0.5 * a->dt;
  kp_mac_velocity_at(g, f, a->x[i], a->y[i], a->z[i], u);
  kp_mac_velocity_at(g, f, a->x[i] + half * (double)u[0], a->y[i] + half * (double)u[1],
                     a->z[i] + half * (double)u[2], m);
  a->x[i] = vortex_wrap(g, 0, a->x[i] + a->dt * (double)m[0], a->period[0]);
  a->y[i] = vortex_wrap(g, 1, a->y[i] + a->dt * (double)m[1], a->period[1]);
  if (g->dimension == 3) {
    a->z[i] = vortex_wrap(g, 2, a->z[i] + a->dt * (double)m[2], a->period[2]);
  }
  a->vx[i] = m[0];
  a->vy[i] = m[1];
  a->vz[i] = m[2];
}

// Who stays: inside the domain and the liquid, and outside solids, which may push instead
typedef struct vortex_keep_args {
  kp_mac_view grid;
  int32_t pushes;
  const kp_real *solid;   // m at corners; NULL: none
  const kp_real *liquid;  // m at centres, negative inside; NULL: everywhere
  const kp_real *size;
  kp_pos *x, *y, *z;
  uint32_t *keep;
} vortex_keep_args;

KP_FN double vortex_solid(const vortex_keep_args *a, const double x[3]) {
  return (double)kp_mac_linear(&a->grid, a->solid, kp_mac_point_at(&a->grid, 4, x[0], x[1], x[2]));
}

// To the surface, along the slope of the distance.
KP_FN void vortex_push_out(const vortex_keep_args *a, double distance, double x[3]) {
  const double h = a->grid.cell;
  double n[3] = { 0.0, 0.0, 0.0 };
  double square = 0.0;
  for (int c = 0; c < a->grid.dimension; ++c) {
    double hi[3] = { x[0], x[1], x[2] };
    double lo[3] = { x[0], x[1], x[2] };
    hi[c] += 0.5 * h;
    lo[c] -= 0.5 * h;
    n[c] = vortex_solid(a, hi) - vortex_solid(a, lo);
    square += n[c] * n[c];
  }
  double scale = square > 0.0 ? (1e-3 * h - distance) / sqrt(square) : 0.0;
  for (int c = 0; c < 3; ++c) {
    x[c] += scale * n[c];
  }
}

KP_FN void vortex_keep(int64_t i, const vortex_keep_args *a) {
  const kp_mac_view *g = &a->grid;
  double x[3] = { a->x[i], a->y[i], a->z[i] };
  int stays = a->size[i] > (kp_real)0;
  if (a->solid != NULL) {
    double distance = vortex_solid(a, x);
    if (distance < 0.0 && a->pushes) {
      vortex_push_out(a, distance, x);
      a->x[i] = x[0];
      a->y[i] = x[1];
      a->z[i] = x[2];
    } else {
      stays = stays && distance >= 0.0;
    }
  }
  for (int c = 0; c < g->dimension; ++c) {
    stays = stays && x[c] >= g->lo[c] && x[c] <= g->lo[c] + g->cell * g->n[c];
  }
  if (a->liquid != NULL && stays) {
    stays = kp_mac_linear(g, a->liquid, kp_mac_point_at(g, 3, x[0], x[1], x[2])) <= (kp_real)0;
  }
  a->keep[i] = stays ? 1u : 0u;
}
