// Small kernels of every kind whose answers are known: they hold the loop macros and the backends
// to their contracts.
#pragma once

#include "par/kernel.h"
#include "par/team.h"

// y[i] = factor * x[i] + i
typedef struct toy_scale_args {
  const kp_real *x;
  kp_real *y;
  kp_real factor;
} toy_scale_args;

KP_FN void toy_scale(int64_t i, const toy_scale_args *a) {
  a->y[i] = a->factor * a->x[i] + (kp_real)i;
}

// Many operations whose order matters: bits differ if any backend or instruction set contracts or
// reorders them.
typedef struct toy_mix_args {
  const kp_real *x;
  const kp_real *y;
  kp_real *z;
} toy_mix_args;

KP_FN void toy_mix(int64_t i, const toy_mix_args *a) {
  kp_real x = a->x[i];
  kp_real y = a->y[i];
  kp_real s = 0;
  for (int k = 1; k <= 7; ++k) {
    s = s * x + y / (kp_real)k - x * y;
  }
  a->z[i] = s + x * x + y * y;
}

// A kernel that breaks its contract: it reads what the element before it writes.
typedef struct toy_lean_args {
  kp_real *x;
} toy_lean_args;

KP_FN void toy_lean(int64_t i, const toy_lean_args *a) {
  a->x[i] = i > 0 ? a->x[i - 1] + (kp_real)1 : a->x[i];
}

// sum x, sum x^2, min x, max x, count
typedef struct toy_norm_args {
  const kp_real *x;
} toy_norm_args;

#define TOY_NORM_OPS KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_MIN, KP_REDUCE_MAX, KP_REDUCE_SUM

KP_FN void toy_norm(int64_t i, const toy_norm_args *a, double *v) {
  double x = (double)a->x[i];
  v[0] = x;
  v[1] = x * x;
  v[2] = x;
  v[3] = x;
  v[4] = 1.0;
}

// The largest number of values a reduction may have: value k is the sum of (i mod (k + 2)).
typedef struct toy_many_args {
  int64_t first;
} toy_many_args;

#define TOY_SUM8                                                                                   \
  KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM,        \
      KP_REDUCE_SUM, KP_REDUCE_SUM
#define TOY_MANY_OPS TOY_SUM8, TOY_SUM8, TOY_SUM8

KP_FN void toy_many(int64_t i, const toy_many_args *a, double *v) {
  for (int k = 0; k < KP_REDUCE_VALUES; ++k) {
    v[k] = (double)((i + a->first) % (k + 2));
  }
}

// Five-point Laplacian in a plane of nx cells per row, one layer per k.
typedef struct toy_laplace_args {
  const kp_real *u;
  kp_real *out;
  int64_t nx, ny;
} toy_laplace_args;

KP_FN void toy_laplace(int64_t j, int64_t k, int64_t i0, int64_t i1, const toy_laplace_args *a) {
  const kp_real *u = a->u + (k * a->ny + j) * a->nx;
  kp_real *out = a->out + (k * a->ny + j) * a->nx;
  for (int64_t i = i0; i < i1; ++i) {
    out[i] = u[i - 1] + u[i + 1] + u[i - a->nx] + u[i + a->nx] - (kp_real)4 * u[i];
  }
}

// x = the mean of its neighbours on a ring, n_passes times, then without its own mean.
typedef struct toy_ring_args {
  int64_t n;
  int32_t n_passes;
  kp_real *x[2];
  double *sums;  // of tiles
} toy_ring_args;

KP_FN void toy_ring(const kp_team *team, const toy_ring_args *a) {
  int64_t n_tiles = kp_team_tiles(a->n);
  for (int32_t pass = 0; pass < a->n_passes; ++pass) {
    const kp_real *from = a->x[pass % 2];
    kp_real *to = a->x[(pass + 1) % 2];
    KP_TEAM_TILES(team, tile, n_tiles) {
      double v[1] = { 0.0 };
      int64_t end = kp_team_end(tile, a->n);
      for (int64_t i = tile * KP_TEAM_TILE + kp_team_lane(); i < end; i += kp_team_lanes()) {
        to[i] = (from[(i + a->n - 1) % a->n] + from[(i + 1) % a->n]) / 2;
        v[0] += (double)to[i];
      }
      kp_team_tile_sum(v, 1, tile, a->sums);
    }
    kp_team_barrier(team);
  }
  double total[1];
  kp_team_total(a->sums, n_tiles, 1, total);
  KP_TEAM_TILES(team, tile, n_tiles) {
    int64_t end = kp_team_end(tile, a->n);
    for (int64_t i = tile * KP_TEAM_TILE + kp_team_lane(); i < end; i += kp_team_lanes()) {
      a->x[a->n_passes % 2][i] -= (kp_real)(total[0] / (double)a->n);
    }
  }
}

#define TOY_TEAM_KERNELS(TEAM) TEAM(toy, ring)

#define TOY_KERNELS(POINT, REDUCE, ROW, PAIR)                                                      \
  POINT(toy, scale)                                                                                \
  POINT(toy, mix)                                                                                  \
  POINT(toy, lean)                                                                                 \
  REDUCE(toy, norm, TOY_NORM_OPS)                                                                  \
  REDUCE(toy, many, TOY_MANY_OPS)                                                                  \
  ROW(toy, laplace)
