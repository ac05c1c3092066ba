// The baselines that go item by item, each from what the last one left: incomplete Cholesky and
// successive over-relaxation. Element 0 does all the work, on one thread, so these kernels have no
// order to choose and are not for cards.
#pragma once

#include "linalg/poisson_kernels.h"

#define RELAXED_KERNELS(POINT, REDUCE, ROW, PAIR)                                                  \
  POINT(relaxed, factor)                                                                           \
  POINT(relaxed, precondition)                                                                     \
  POINT(relaxed, sweep)

typedef struct relaxed_matrix {
  poisson_grid grid;  // of the window: items 0..n-1 along each axis
  int32_t is_periodic[3];
  kp_real scale;
  const uint8_t *flags;
  const kp_real *cx, *cy, *cz;
  const kp_real *extra;  // may be NULL
} relaxed_matrix;

KP_FN const kp_real *relaxed_coefficients(const relaxed_matrix *m, int axis) {
  return axis == 0 ? m->cx : (axis == 1 ? m->cy : m->cz);
}

// Item number t of the window, x fastest, as its place along the axes and in the arrays.
KP_FN int64_t relaxed_item(const relaxed_matrix *m, int64_t t, int64_t cell[3]) {
  const int32_t *n = m->grid.n;
  cell[0] = t % n[0];
  cell[1] = t / n[0] % n[1];
  cell[2] = t / ((int64_t)n[0] * n[1]);
  return poisson_at(&m->grid, cell[0], cell[1], cell[2]);
}

KP_FN int64_t relaxed_count(const relaxed_matrix *m) {
  return (int64_t)m->grid.n[0] * m->grid.n[1] * m->grid.n[2];
}

KP_FN int relaxed_axes(const relaxed_matrix *m) {
  return m->grid.slab ? 3 : 2;
}

// ---- incomplete Cholesky without fill: A = L L' on the entries of A (Meijerink & van der Vorst
// 1977). Only the diagonal of L has to be kept: L_ij = -c_ij / L_jj. Couplings across periodic sides
// are left out.

typedef struct relaxed_factor_args {
  relaxed_matrix m;
  kp_real *inverse;  // 1 / L_ii, 0 where there is no unknown
} relaxed_factor_args;

KP_FN void relaxed_factor(int64_t element, const relaxed_factor_args *a) {
  const relaxed_matrix *m = &a->m;
  const int64_t stride[3] = { 1, m->grid.row, m->grid.slab };
  for (int64_t t = element; t < relaxed_count(m); ++t) {
    int64_t cell[3];
    int64_t i = relaxed_item(m, t, cell);
    double d = m->extra ? (double)m->extra[i] : 0.0;
    for (int axis = 0; axis < relaxed_axes(m); ++axis) {
      const kp_real *c = relaxed_coefficients(m, axis);
      double lower = (double)m->scale * (double)c[i];
      d += lower + (double)m->scale * (double)c[i + stride[axis]];
      // what is not there has an inverse of 0
      double l = cell[axis] > 0 ? lower * (double)a->inverse[i - stride[axis]] : 0.0;
      d -= l * l;
    }
    bool is_unknown = poisson_is_unknown(m->flags[i]);
    a->inverse[i] = is_unknown && d > 0.0 ? (kp_real)(1.0 / sqrt(d)) : (kp_real)0;
  }
}

// L q = r, then L' u = q.
typedef struct relaxed_precondition_args {
  relaxed_matrix m;
  const kp_real *inverse, *r;
  kp_real *u;
} relaxed_precondition_args;

KP_FN void relaxed_precondition(int64_t element, const relaxed_precondition_args *a) {
  const relaxed_matrix *m = &a->m;
  const int64_t stride[3] = { 1, m->grid.row, m->grid.slab };
  int64_t cell[3];
  for (int64_t t = element; t < relaxed_count(m); ++t) {
    int64_t i = relaxed_item(m, t, cell);
    kp_real sum = a->r[i];
    for (int axis = 0; axis < relaxed_axes(m); ++axis) {
      int64_t j = i - stride[axis];
      kp_real l = m->scale * relaxed_coefficients(m, axis)[i];
      sum += cell[axis] > 0 ? l * a->inverse[j] * a->u[j] : (kp_real)0;
    }
    a->u[i] = sum * a->inverse[i];
  }
  for (int64_t t = relaxed_count(m) - 1; t >= element; --t) {
    int64_t i = relaxed_item(m, t, cell);
    kp_real sum = a->u[i];
    for (int axis = 0; axis < relaxed_axes(m); ++axis) {
      int64_t j = i + stride[axis];
      kp_real l = m->scale * relaxed_coefficients(m, axis)[j] * a->inverse[i];
      sum += cell[axis] < m->grid.n[axis] - 1 ? l * a->u[j] : (kp_real)0;
    }
    a->u[i] = sum * a->inverse[i];
  }
}

// ---- successive over-relaxation in the order of Foster & Metaxas (1996): the divergence of each
// cell in turn is met by its own pressure, overdone by omega.

typedef struct relaxed_sweep_args {
  relaxed_matrix m;
  kp_real omega;
  int32_t n_sweeps;
  const kp_real *inverse;  // 1 over the diagonal
  const kp_real *b;
  kp_real *x;
} relaxed_sweep_args;

// c (x_i - x_j) across both sides of an axis.
KP_FN kp_real relaxed_flux(const relaxed_sweep_args *a, const int64_t cell[3], int64_t i, int axis) {
  const relaxed_matrix *m = &a->m;
  const int64_t stride[3] = { 1, m->grid.row, m->grid.slab };
  const kp_real *c = relaxed_coefficients(m, axis);
  int64_t up = stride[axis];
  int64_t around = (int64_t)(m->grid.n[axis] - 1) * up;
  bool is_first = m->is_periodic[axis] && cell[axis] == 0;
  bool is_last = m->is_periodic[axis] && cell[axis] == m->grid.n[axis] - 1;
  kp_real lower = a->x[is_first ? i + around : i - up];
  kp_real upper = a->x[is_last ? i - around : i + up];
  return c[i] * (a->x[i] - lower) + c[i + up] * (a->x[i] - upper);
}

KP_FN void relaxed_sweep(int64_t element, const relaxed_sweep_args *a) {
  const relaxed_matrix *m = &a->m;
  for (int32_t sweep = 0; sweep < a->n_sweeps; ++sweep) {
    for (int64_t t = element; t < relaxed_count(m); ++t) {
      int64_t cell[3];
      int64_t i = relaxed_item(m, t, cell);
      kp_real sum = 0;
      for (int axis = 0; axis < relaxed_axes(m); ++axis) {
        sum += relaxed_flux(a, cell, i, axis);
      }
      sum *= m->scale;
      sum += m->extra ? m->extra[i] * a->x[i] : (kp_real)0;
      a->x[i] += a->omega * a->inverse[i] * (a->b[i] - sum);
    }
  }
}
