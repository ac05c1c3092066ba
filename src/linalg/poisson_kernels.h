// The Poisson operator of poisson.h, row by row. All vectors are 0 in items that are no unknowns,
// ghosts included, except images across periodic axes, which the operator reads.
#pragma once

#include <math.h>

#include "data/mac.h"
#include "math/rounding.h"
#include "par/kernel.h"

#define POISSON_SUM2 KP_REDUCE_SUM, KP_REDUCE_SUM
#define POISSON_WORST KP_REDUCE_MAX

#define POISSON_KERNELS(POINT, REDUCE, ROW, PAIR)                                                  \
  ROW(poisson, apply)                                                                              \
  ROW(poisson, residual)                                                                           \
  ROW(poisson, diagonal)                                                                           \
  ROW(poisson, mask)                                                                               \
  POINT(poisson, border)                                                                           \
  ROW(poisson, join)                                                                               \
  REDUCE(poisson, measure, POISSON_SUM2)                                                           \
  REDUCE(poisson, pattern, POISSON_SUM2)                                                           \
  REDUCE(poisson, worst, POISSON_WORST)

// Where the items of a lattice lie: that of a MAC grid, or of a coarser level.
typedef struct poisson_grid {
  int32_t n[3];  // items along the axes
  int32_t row, slab, start;
} poisson_grid;

KP_FN int64_t poisson_at(const poisson_grid *g, int64_t i, int64_t j, int64_t k) {
  return g->start + i + j * g->row + k * g->slab;
}

KP_FN bool poisson_is_unknown(uint8_t flag) {
  return (flag & KP_CELL_KIND) == KP_CELL_FLUID;
}

// y = A x
typedef struct poisson_apply_args {
  poisson_grid grid;
  kp_real scale;  // 1/h^2
  const uint8_t *flags;
  const kp_real *cx, *cy, *cz;
  const kp_real *extra;  // may be NULL
  const kp_real *x;
  kp_real *y;
} poisson_apply_args;

KP_FN void poisson_apply(int64_t j, int64_t k, int64_t i0, int64_t i1,
                         const poisson_apply_args *a) {
  int64_t row = a->grid.row;
  int64_t slab = a->grid.slab;
  int64_t at = poisson_at(&a->grid, 0, j, k);
  const uint8_t *flags = a->flags + at;
  const kp_real *cx = a->cx + at;
  const kp_real *cy = a->cy + at;
  const kp_real *x = a->x + at;
  const kp_real *extra = a->extra ? a->extra + at : x;
  kp_real weight = a->extra ? (kp_real)1 : (kp_real)0;
  kp_real scale = a->scale;
  kp_real *y = a->y + at;
  if (slab == 0) {
    KP_INDEPENDENT
    for (int64_t i = i0; i < i1; ++i) {
      kp_real p = x[i];
      kp_real sum = cx[i] * (p - x[i - 1]) + cx[i + 1] * (p - x[i + 1]) + cy[i] * (p - x[i - row]) +
                    cy[i + row] * (p - x[i + row]);
      sum = scale * sum + weight * extra[i] * p;
      y[i] = poisson_is_unknown(flags[i]) ? sum : (kp_real)0;
    }
    return;
  }
  const kp_real *cz = a->cz + at;
  KP_INDEPENDENT
  for (int64_t i = i0; i < i1; ++i) {
    kp_real p = x[i];
    kp_real sum = cx[i] * (p - x[i - 1]) + cx[i + 1] * (p - x[i + 1]) + cy[i] * (p - x[i - row]) +
                  cy[i + row] * (p - x[i + row]) + cz[i] * (p - x[i - slab]) +
                  cz[i + slab] * (p - x[i + slab]);
    sum = scale * sum + weight * extra[i] * p;
    y[i] = poisson_is_unknown(flags[i]) ? sum : (kp_real)0;
  }
}

// r = b - A (x + low), summed in double: the residual of an answer in two parts is known beyond
// what one kp_real can hold, whatever cancels.
typedef struct poisson_residual_args {
  poisson_grid grid;
  kp_real scale;
  const uint8_t *flags;
  const kp_real *cx, *cy, *cz;
  const kp_real *extra;  // may be NULL
  const kp_real *b, *x, *low;
  kp_real *r;
} poisson_residual_args;

// (x + low) here less that at i + step
KP_FN double poisson_drop(const kp_real *x, const kp_real *low, int64_t i, int64_t step) {
  return ((double)x[i] - (double)x[i + step]) + ((double)low[i] - (double)low[i + step]);
}

KP_FN void poisson_residual_row(const poisson_residual_args *a, int64_t at, const int64_t run[2],
                                bool is_flat, bool has_extra) {
  int64_t row = a->grid.row;
  int64_t slab = a->grid.slab;
  const uint8_t *flags = a->flags + at;
  const kp_real *cx = a->cx + at;
  const kp_real *cy = a->cy + at;
  const kp_real *cz = is_flat ? cx : a->cz + at;
  const kp_real *extra = has_extra ? a->extra + at : cx;
  const kp_real *x = a->x + at;
  const kp_real *low = a->low + at;
  const kp_real *b = a->b + at;
  double scale = (double)a->scale;
  kp_real *r = a->r + at;
  KP_INDEPENDENT
  for (int64_t i = run[0]; i < run[1]; ++i) {
    double sum = kp_product64(cx[i], poisson_drop(x, low, i, -1)) +
                 kp_product64(cx[i + 1], poisson_drop(x, low, i, 1)) +
                 kp_product64(cy[i], poisson_drop(x, low, i, -row)) +
                 kp_product64(cy[i + row], poisson_drop(x, low, i, row));
    if (!is_flat) {
      sum += kp_product64(cz[i], poisson_drop(x, low, i, -slab)) +
             kp_product64(cz[i + slab], poisson_drop(x, low, i, slab));
    }
    sum = kp_product64(sum, scale);
    if (has_extra) {
      sum += kp_product64(extra[i], (double)x[i] + (double)low[i]);
    }
    r[i] = (kp_real)((double)b[i] - sum);
  }
  // a loop of its own, or no compiler would vectorise the first
  for (int64_t i = run[0]; i < run[1]; ++i) {
    r[i] = poisson_is_unknown(flags[i]) ? r[i] : (kp_real)0;
  }
}

KP_FN void poisson_residual(int64_t j, int64_t k, int64_t i0, int64_t i1,
                            const poisson_residual_args *a) {
  int64_t at = poisson_at(&a->grid, 0, j, k);
  const int64_t run[2] = { i0, i1 };
  if (a->grid.slab == 0) {
    poisson_residual_row(a, at, run, true, a->extra != NULL);
  } else if (a->extra != NULL) {
    poisson_residual_row(a, at, run, false, true);
  } else {
    poisson_residual_row(a, at, run, false, false);
  }
}

// What couples item (i, j, k) with images across periodic sides. Smoothing leaves these couplings
// out, or behind, and has to be careful with as much.
KP_FN kp_real poisson_seam(const poisson_grid *g, const int32_t is_periodic[3],
                           const int64_t cell[3], const kp_real *const c[3]) {
  const int64_t stride[3] = { 1, g->row, g->slab };
  int64_t at = poisson_at(g, cell[0], cell[1], cell[2]);
  kp_real sum = 0;
  for (int axis = 0; axis < 3; ++axis) {
    if (is_periodic[axis] && cell[axis] == 0) {
      sum += c[axis][at];
    }
    if (is_periodic[axis] && cell[axis] == g->n[axis] - 1) {
      sum += c[axis][at + stride[axis]];
    }
  }
  return sum;
}

// 1 over the diagonal, 0 where there is no unknown or nothing holds it; of smoothing, with the
// couplings across periodic sides twice.
typedef struct poisson_diagonal_args {
  poisson_grid grid;
  int32_t is_periodic[3];
  kp_real scale;
  const uint8_t *flags;
  const kp_real *cx, *cy, *cz;
  const kp_real *extra;  // may be NULL
  kp_real *inverse;
} poisson_diagonal_args;

KP_FN void poisson_diagonal(int64_t j, int64_t k, int64_t i0, int64_t i1,
                            const poisson_diagonal_args *a) {
  int64_t row = a->grid.row;
  int64_t slab = a->grid.slab;
  int64_t at = poisson_at(&a->grid, 0, j, k);
  const uint8_t *flags = a->flags + at;
  const kp_real *cx = a->cx + at;
  const kp_real *cy = a->cy + at;
  const kp_real *cz = slab ? a->cz + at : NULL;
  const kp_real *extra = a->extra ? a->extra + at : NULL;
  kp_real *inverse = a->inverse + at;
  bool is_periodic = a->is_periodic[0] || a->is_periodic[1] || a->is_periodic[2];
  for (int64_t i = i0; i < i1; ++i) {
    kp_real sum = cx[i] + cx[i + 1] + cy[i] + cy[i + row];
    if (cz != NULL) {
      sum += cz[i] + cz[i + slab];
    }
    if (is_periodic) {
      const kp_real *const c[3] = { a->cx, a->cy, a->cz };
      const int64_t cell[3] = { i, j, k };
      sum += poisson_seam(&a->grid, a->is_periodic, cell, c);
    }
    sum *= a->scale;
    if (extra != NULL) {
      sum += extra[i];
    }
    bool is_held = poisson_is_unknown(flags[i]) && sum > 0;
    inverse[i] = is_held ? 1 / sum : (kp_real)0;
  }
}

// values = 0 where there is no unknown
typedef struct poisson_mask_args {
  poisson_grid grid;
  const uint8_t *flags;
  kp_real *values;
} poisson_mask_args;

KP_FN void poisson_mask(int64_t j, int64_t k, int64_t i0, int64_t i1, const poisson_mask_args *a) {
  int64_t at = poisson_at(&a->grid, 0, j, k);
  const uint8_t *flags = a->flags + at;
  kp_real *values = a->values + at;
  for (int64_t i = i0; i < i1; ++i) {
    values[i] = poisson_is_unknown(flags[i]) ? values[i] : (kp_real)0;
  }
}

// One layer around the lattice across an axis. Element t is a line along the axis.
typedef enum poisson_border_kind {
  POISSON_BORDER_ZERO,   // nothing is there
  POISSON_BORDER_IMAGE,  // across a periodic axis
  POISSON_BORDER_UPPER,  // the same above alone: coefficients belong to lower faces
  POISSON_BORDER_BOTH    // the image and the item beside it, added: for smoothing
} poisson_border_kind;

typedef struct poisson_border_args {
  poisson_grid grid;
  int32_t axis;
  int32_t kind;  // poisson_border_kind
  kp_real *values;
} poisson_border_args;

KP_FN void poisson_border(int64_t t, const poisson_border_args *a) {
  const poisson_grid *g = &a->grid;
  const int64_t stride[3] = { 1, g->row, g->slab };
  int inner = a->axis == 0 ? 1 : 0;
  int outer = a->axis == 2 ? 1 : 2;
  kp_real *line =
      a->values + g->start + t % g->n[inner] * stride[inner] + t / g->n[inner] * stride[outer];
  int64_t up = stride[a->axis];
  int64_t n = g->n[a->axis];
  kp_real first = a->kind == POISSON_BORDER_ZERO ? (kp_real)0 : line[0];
  kp_real last = a->kind == POISSON_BORDER_ZERO ? (kp_real)0 : line[(n - 1) * up];
  bool is_both = a->kind == POISSON_BORDER_BOTH;
  line[n * up] = is_both ? first + last : first;
  if (a->kind != POISSON_BORDER_UPPER) {
    line[-up] = is_both ? first + last : last;
  }
}

// x + low as two parts: x the nearest kp_real to the sum, low what it leaves (two-sum, Knuth 1969).
KP_FN void poisson_two_sum(kp_real *x, kp_real *low) {
  kp_real sum = *x + *low;
  kp_real part = sum - *x;
  *low = (*x - (sum - part)) + (*low - part);
  *x = sum;
}

typedef struct poisson_join_args {
  poisson_grid grid;
  kp_real *x, *low;
} poisson_join_args;

KP_FN void poisson_join(int64_t j, int64_t k, int64_t i0, int64_t i1, const poisson_join_args *a) {
  int64_t end = poisson_at(&a->grid, i1, j, k);
  KP_INDEPENDENT
  for (int64_t at = poisson_at(&a->grid, i0, j, k); at < end; ++at) {
    poisson_two_sum(&a->x[at], &a->low[at]);
  }
}

// b.b and the number of unknowns.
typedef struct poisson_measure_args {
  int64_t first;
  const uint8_t *flags;
  const kp_real *b;
} poisson_measure_args;

KP_FN void poisson_measure(int64_t element, const poisson_measure_args *a, double *v) {
  int64_t i = a->first + element;
  bool is_unknown = poisson_is_unknown(a->flags[i]);
  double b = is_unknown ? (double)a->b[i] : 0.0;
  v[0] = b * b;
  v[1] = is_unknown ? 1.0 : 0.0;
}

// What is connected with what, as two sums of whole numbers that no order of adding changes: where
// they are the same, so are the regions (but for one chance in 2^44).
typedef struct poisson_pattern_args {
  poisson_grid grid;
  int64_t first;
  const uint8_t *flags;
  const kp_real *cx, *cy, *cz;
  const kp_real *extra;  // may be NULL
} poisson_pattern_args;

KP_FN void poisson_pattern(int64_t element, const poisson_pattern_args *a, double *v) {
  int64_t i = a->first + element;
  uint64_t bits = poisson_is_unknown(a->flags[i]) ? 1 : 0;
  bits |= a->cx[i] > 0 ? 2 : 0;
  bits |= a->cy[i] > 0 ? 4 : 0;
  bits |= a->grid.slab && a->cz[i] > 0 ? 8 : 0;
  bits |= a->extra && a->extra[i] > 0 ? 16 : 0;
  // the finaliser of MurmurHash3
  uint64_t h = (uint64_t)i * 32 + bits;
  h = (h ^ h >> 33) * 0xff51afd7ed558ccdu;
  h = (h ^ h >> 33) * 0xc4ceb9fe1a85ec53u;
  v[0] = (double)(h >> 42);
  v[1] = (double)(h >> 20 & 0x3fffff);
}

// Largest |r|.
typedef struct poisson_worst_args {
  int64_t first;
  const kp_real *r;
} poisson_worst_args;

KP_FN void poisson_worst(int64_t element, const poisson_worst_args *a, double *v) {
  v[0] = fabs((double)a->r[a->first + element]);
}
