// Small kernels of every kind whose answers are known: they hold the loop macros and the backends
// to their contracts.
#pragma once

#include "par/kernel.h"

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

#define TOY_KERNELS(POINT, REDUCE, ROW, PAIR)                                                      \
  POINT(toy, scale)                                                                                \
  POINT(toy, mix)                                                                                  \
  POINT(toy, lean)                                                                                 \
  REDUCE(toy, norm, TOY_NORM_OPS)                                                                  \
  REDUCE(toy, many, TOY_MANY_OPS)                                                                  \
  ROW(toy, laplace)
