#include "linalg/relaxed.h"

#include <math.h>

static const kp_real *coefficients(const kp_relaxed_matrix *m, int axis) {
  return axis == 0 ? m->cx : (axis == 1 ? m->cy : m->cz);
}

// Item number t of the window, x fastest, as its place along the axes and in the arrays.
static int64_t item(const kp_relaxed_matrix *m, int64_t t, int64_t cell[3]) {
  const int32_t *n = m->grid.n;
  cell[0] = t % n[0];
  cell[1] = t / n[0] % n[1];
  cell[2] = t / ((int64_t)n[0] * n[1]);
  return poisson_at(&m->grid, cell[0], cell[1], cell[2]);
}

static int64_t count(const kp_relaxed_matrix *m) {
  return (int64_t)m->grid.n[0] * m->grid.n[1] * m->grid.n[2];
}

static int axes(const kp_relaxed_matrix *m) {
  return m->grid.slab ? 3 : 2;
}

// ---- incomplete Cholesky

void kp_relaxed_factor(const kp_relaxed_matrix *m, kp_real *inverse) {
  const int64_t stride[3] = { 1, m->grid.row, m->grid.slab };
  for (int64_t t = 0; t < count(m); ++t) {
    int64_t cell[3];
    int64_t i = item(m, t, cell);
    double d = m->extra ? (double)m->extra[i] : 0.0;
    for (int axis = 0; axis < axes(m); ++axis) {
      const kp_real *c = coefficients(m, axis);
      double lower = (double)m->scale * (double)c[i];
      d += lower + (double)m->scale * (double)c[i + stride[axis]];
      // what is not there has an inverse of 0
      double l = cell[axis] > 0 ? lower * (double)inverse[i - stride[axis]] : 0.0;
      d -= l * l;
    }
    bool is_unknown = poisson_is_unknown(m->flags[i]);
    inverse[i] = is_unknown && d > 0.0 ? (kp_real)(1.0 / sqrt(d)) : (kp_real)0;
  }
}

// L q = r, then L' u = q.
void kp_relaxed_precondition(const kp_relaxed_matrix *m, const kp_real *inverse, const kp_real *r,
                             kp_real *u) {
  const int64_t stride[3] = { 1, m->grid.row, m->grid.slab };
  int64_t cell[3];
  for (int64_t t = 0; t < count(m); ++t) {
    int64_t i = item(m, t, cell);
    kp_real sum = r[i];
    for (int axis = 0; axis < axes(m); ++axis) {
      int64_t j = i - stride[axis];
      kp_real l = m->scale * coefficients(m, axis)[i];
      sum += cell[axis] > 0 ? l * inverse[j] * u[j] : (kp_real)0;
    }
    u[i] = sum * inverse[i];
  }
  for (int64_t t = count(m) - 1; t >= 0; --t) {
    int64_t i = item(m, t, cell);
    kp_real sum = u[i];
    for (int axis = 0; axis < axes(m); ++axis) {
      int64_t j = i + stride[axis];
      kp_real l = m->scale * coefficients(m, axis)[j] * inverse[i];
      sum += cell[axis] < m->grid.n[axis] - 1 ? l * u[j] : (kp_real)0;
    }
    u[i] = sum * inverse[i];
  }
}

// ---- over-relaxation

// c (x_i - x_j) across both sides of an axis.
static kp_real flux(const kp_relaxed_matrix *m, const kp_real *x, const int64_t cell[3], int64_t i,
                    int axis) {
  const int64_t stride[3] = { 1, m->grid.row, m->grid.slab };
  const kp_real *c = coefficients(m, axis);
  int64_t up = stride[axis];
  int64_t around = (int64_t)(m->grid.n[axis] - 1) * up;
  bool is_first = m->is_periodic[axis] && cell[axis] == 0;
  bool is_last = m->is_periodic[axis] && cell[axis] == m->grid.n[axis] - 1;
  kp_real lower = x[is_first ? i + around : i - up];
  kp_real upper = x[is_last ? i - around : i + up];
  return c[i] * (x[i] - lower) + c[i + up] * (x[i] - upper);
}

void kp_relaxed_sweep(const kp_relaxed_matrix *m, kp_real omega, const kp_real *inverse,
                      const kp_real *b, kp_real *x) {
  for (int64_t t = 0; t < count(m); ++t) {
    int64_t cell[3];
    int64_t i = item(m, t, cell);
    kp_real sum = 0;
    for (int axis = 0; axis < axes(m); ++axis) {
      sum += flux(m, x, cell, i, axis);
    }
    sum *= m->scale;
    sum += m->extra ? m->extra[i] * x[i] : (kp_real)0;
    x[i] += omega * inverse[i] * (b[i] - sum);
  }
}
