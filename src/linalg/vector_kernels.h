// Vectors of a linear system: what element i does. Sums are in double whatever kp_real is.
#pragma once

#include "kelpie/config.h"
#include "math/rounding.h"
#include "par/kernel.h"

#define VECTOR_SUM1 KP_REDUCE_SUM
#define VECTOR_SUM2 KP_REDUCE_SUM, KP_REDUCE_SUM
#define VECTOR_SUM3 KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM
#define VECTOR_SUM4 KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM

#define VECTOR_KERNELS(POINT, REDUCE, ROW, PAIR)                                                   \
  POINT(vector, fill)                                                                              \
  POINT(vector, scale)                                                                             \
  POINT(vector, axpy)                                                                              \
  POINT(vector, xpay)                                                                              \
  POINT(vector, multiply)                                                                          \
  POINT(vector, residual)                                                                          \
  POINT(vector, cg_step)                                                                           \
  REDUCE(vector, dot, VECTOR_SUM1)                                                                 \
  REDUCE(vector, cg_begin, VECTOR_SUM3)                                                            \
  REDUCE(vector, cg_true, VECTOR_SUM2)                                                             \
  REDUCE(vector, cg_sums, VECTOR_SUM4)                                                             \
  REDUCE(vector, cg_sums_packed, VECTOR_SUM3)                                                      \
  REDUCE(vector, cg_sums_runs, VECTOR_SUM3)                                                        \
  ROW(vector, cg_step_runs)                                                                        \
  ROW(vector, copy_runs)

// y = a
typedef struct vector_fill_args {
  kp_real a;
  kp_real *y;
} vector_fill_args;

KP_FN void vector_fill(int64_t i, const vector_fill_args *a) {
  a->y[i] = a->a;
}

// y = a y
typedef struct vector_scale_args {
  kp_real a;
  kp_real *y;
} vector_scale_args;

KP_FN void vector_scale(int64_t i, const vector_scale_args *a) {
  a->y[i] *= a->a;
}

// y += a x
typedef struct vector_axpy_args {
  kp_real a;
  const kp_real *x;
  kp_real *y;
} vector_axpy_args;

KP_FN void vector_axpy(int64_t i, const vector_axpy_args *a) {
  a->y[i] += a->a * a->x[i];
}

// y = x + a y
typedef struct vector_xpay_args {
  kp_real a;
  const kp_real *x;
  kp_real *y;
} vector_xpay_args;

KP_FN void vector_xpay(int64_t i, const vector_xpay_args *a) {
  a->y[i] = a->x[i] + a->a * a->y[i];
}

// z = d x, item by item
typedef struct vector_multiply_args {
  const kp_real *d, *x;
  kp_real *z;
} vector_multiply_args;

KP_FN void vector_multiply(int64_t i, const vector_multiply_args *a) {
  a->z[i] = a->d[i] * a->x[i];
}

// r = b - q - drop v, and u = m r where the preconditioner is a diagonal (or nothing: m = 1)
typedef struct vector_residual_args {
  int64_t first;  // item of element 0
  kp_real drop;
  int32_t has_diagonal;  // 1: u is written
  const kp_real *b, *q;  // q may be NULL
  const kp_real *v;      // null vector, may be NULL
  const kp_real *m;      // inverse diagonal, may be NULL
  kp_real *r, *u;
} vector_residual_args;

KP_FN void vector_residual(int64_t element, const vector_residual_args *a) {
  int64_t i = a->first + element;
  kp_real r = a->b[i] - (a->q ? a->q[i] : (kp_real)0) - (a->v ? a->drop * a->v[i] : (kp_real)0);
  a->r[i] = r;
  if (a->has_diagonal) {
    a->u[i] = a->m ? a->m[i] * r : r;
  }
}

// The five updates of one iteration in one pass (see pcg.h).
typedef struct vector_cg_step_args {
  int64_t first;  // item of element 0
  kp_real alpha, beta, drop;
  int32_t is_first;      // p and s hold nothing yet
  int32_t has_diagonal;  // 1: u = m r is written too
  const kp_real *w, *v, *m;
  kp_real *p, *s, *x, *r, *u;
} vector_cg_step_args;

KP_FN void vector_cg_step_item(int64_t i, const vector_cg_step_args *a) {
  kp_real p = a->is_first ? a->u[i] : a->u[i] + kp_product(a->beta, a->p[i]);
  kp_real s = a->is_first ? a->w[i] : a->w[i] + kp_product(a->beta, a->s[i]);
  kp_real r =
      a->r[i] - kp_product(a->alpha, s) - (a->v ? kp_product(a->drop, a->v[i]) : (kp_real)0);
  a->p[i] = p;
  a->s[i] = s;
  a->x[i] += a->alpha * p;
  a->r[i] = r;
  if (a->has_diagonal) {
    a->u[i] = a->m ? a->m[i] * r : r;
  }
}

KP_FN void vector_cg_step(int64_t element, const vector_cg_step_args *a) {
  vector_cg_step_item(a->first + element, a);
}

// Where the items of rows of a grid are.
typedef struct vector_rows {
  int64_t start, row, slab;
} vector_rows;

KP_FN int64_t vector_at(const vector_rows *g, int64_t i, int64_t j, int64_t k) {
  return g->start + i + j * g->row + k * g->slab;
}

// The updates over parts of rows.
typedef struct vector_cg_step_runs_args {
  vector_rows grid;
  vector_cg_step_args step;
} vector_cg_step_runs_args;

KP_FN void vector_cg_step_runs(int64_t j, int64_t k, int64_t i0, int64_t i1,
                               const vector_cg_step_runs_args *a) {
  const vector_cg_step_args step = a->step;
  int64_t end = vector_at(&a->grid, i1, j, k);
  KP_INDEPENDENT
  for (int64_t i = vector_at(&a->grid, i0, j, k); i < end; ++i) {
    vector_cg_step_item(i, &step);
  }
}

// y = x over parts of rows.
typedef struct vector_copy_runs_args {
  vector_rows grid;
  const kp_real *x;
  kp_real *y;
} vector_copy_runs_args;

KP_FN void vector_copy_runs(int64_t j, int64_t k, int64_t i0, int64_t i1,
                            const vector_copy_runs_args *a) {
  int64_t end = vector_at(&a->grid, i1, j, k);
  KP_INDEPENDENT
  for (int64_t i = vector_at(&a->grid, i0, j, k); i < end; ++i) {
    a->y[i] = a->x[i];
  }
}

// x.y
typedef struct vector_dot_args {
  const kp_real *x, *y;
} vector_dot_args;

KP_FN void vector_dot(int64_t i, const vector_dot_args *a, double *v) {
  v[0] = (double)a->x[i] * (double)a->y[i];
}

// b.b, v.b, v.v
typedef struct vector_cg_begin_args {
  int64_t first;  // item of element 0
  const kp_real *b, *v;
} vector_cg_begin_args;

KP_FN void vector_cg_begin(int64_t element, const vector_cg_begin_args *a, double *v) {
  int64_t i = a->first + element;
  double b = (double)a->b[i];
  double n = a->v ? (double)a->v[i] : 0.0;
  v[0] = b * b;
  v[1] = n * b;
  v[2] = n * n;
}

// r.r, v.r
typedef struct vector_cg_true_args {
  int64_t first;  // item of element 0
  const kp_real *r, *v;
} vector_cg_true_args;

KP_FN void vector_cg_true(int64_t element, const vector_cg_true_args *a, double *v) {
  int64_t i = a->first + element;
  double r = (double)a->r[i];
  v[0] = r * r;
  v[1] = a->v ? (double)a->v[i] * r : 0.0;
}

// r.u, w.u, r.r, v.r: all an iteration asks for
typedef struct vector_cg_sums_args {
  int64_t first;  // item of element 0
  const kp_real *r, *u, *w, *v;
} vector_cg_sums_args;

KP_FN void vector_cg_sums(int64_t element, const vector_cg_sums_args *a, double *v) {
  int64_t i = a->first + element;
  double r = (double)a->r[i];
  double u = (double)a->u[i];
  v[0] = r * u;
  v[1] = (double)a->w[i] * u;
  v[2] = r * r;
  v[3] = a->v ? (double)a->v[i] * r : 0.0;
}

// The first three of them, VECTOR_PACK items to an element in VECTOR_WAYS sums that do not wait for
// each other: short vectors are summed by one thread anyway.
#define VECTOR_PACK 64
#define VECTOR_WAYS 8

typedef struct vector_cg_sums_packed_args {
  int64_t first, n;
  const kp_real *r, *u, *w;
} vector_cg_sums_packed_args;

#ifdef __CUDACC__

KP_FN int64_t vector_cg_sums_ways(int64_t i, int64_t end, const vector_cg_sums_packed_args *a,
                                  double sum[3][VECTOR_WAYS]) {
  for (; i + VECTOR_WAYS <= end; i += VECTOR_WAYS) {
    for (int l = 0; l < VECTOR_WAYS; ++l) {
      double r = (double)a->r[i + l], u = (double)a->u[i + l], w = (double)a->w[i + l];
      sum[0][l] += r * u;
      sum[1][l] += w * u;
      sum[2][l] += r * r;
    }
  }
  return i;
}

#else

typedef double vector_ways __attribute__((vector_size(VECTOR_WAYS * sizeof(double))));
typedef kp_real vector_reals __attribute__((vector_size(VECTOR_WAYS * sizeof(kp_real)),
                                            aligned(sizeof(kp_real)), may_alias));

// gcc keeps an array of sums in memory, and each would wait for the last store.
KP_FN int64_t vector_cg_sums_ways(int64_t i, int64_t end, const vector_cg_sums_packed_args *a,
                                  double sum[3][VECTOR_WAYS]) {
  vector_ways total[3] = { { 0.0 }, { 0.0 }, { 0.0 } };
  for (; i + VECTOR_WAYS <= end; i += VECTOR_WAYS) {
    vector_ways r = __builtin_convertvector(*(const vector_reals *)(a->r + i), vector_ways);
    vector_ways u = __builtin_convertvector(*(const vector_reals *)(a->u + i), vector_ways);
    vector_ways w = __builtin_convertvector(*(const vector_reals *)(a->w + i), vector_ways);
    total[0] += r * u;
    total[1] += w * u;
    total[2] += r * r;
  }
  for (int l = 0; l < VECTOR_WAYS; ++l) {
    sum[0][l] = total[0][l];
    sum[1][l] = total[1][l];
    sum[2][l] = total[2][l];
  }
  return i;
}

#endif

KP_FN void vector_cg_sums_between(int64_t i, int64_t end, const vector_cg_sums_packed_args *a,
                                  double *v) {
  double sum[3][VECTOR_WAYS] = { { 0.0 } };
  i = vector_cg_sums_ways(i, end, a, sum);
  for (int l = 0; i + l < end; ++l) {
    double r = (double)a->r[i + l], u = (double)a->u[i + l], w = (double)a->w[i + l];
    sum[0][l] += r * u;
    sum[1][l] += w * u;
    sum[2][l] += r * r;
  }
  for (int k = 0; k < 3; ++k) {
    const double *s = sum[k];
    v[k] = ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]));
  }
}

KP_FN void vector_cg_sums_packed(int64_t element, const vector_cg_sums_packed_args *a, double *v) {
  int64_t i = a->first + element * VECTOR_PACK, end = a->first + a->n;
  end = end < i + VECTOR_PACK ? end : i + VECTOR_PACK;
  vector_cg_sums_between(i, end, a, v);
}

// The same over parts of rows, each an element.
typedef struct vector_cg_sums_runs_args {
  vector_rows grid;
  const kp_row_segment *runs;
  vector_cg_sums_packed_args of;
} vector_cg_sums_runs_args;

KP_FN void vector_cg_sums_runs(int64_t element, const vector_cg_sums_runs_args *a, double *v) {
  kp_row_segment run = a->runs[element];
  vector_cg_sums_between(vector_at(&a->grid, run.i0, run.j, run.k),
                         vector_at(&a->grid, run.i1, run.j, run.k), &a->of, v);
}
