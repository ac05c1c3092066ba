// One V-cycle of multigrid for the operator of poisson_kernels.h, row by row (see multigrid.h).
// Colours: an item is red when i + j + k is even, black otherwise.
#pragma once

#include "linalg/poisson_kernels.h"

#define MULTIGRID_KERNELS(POINT, REDUCE, ROW, PAIR)                                                \
  ROW(multigrid, coarsen)                                                                          \
  ROW(multigrid, invert)                                                                           \
  ROW(multigrid, first)                                                                            \
  ROW(multigrid, relax)                                                                            \
  ROW(multigrid, restrict)                                                                         \
  ROW(multigrid, restrict_all)                                                                     \
  ROW(multigrid, prolong)

// A level as kernels see it: (A x)_i = x_i / inverse_i - scale sum c x_j for items with inverse > 0.
typedef struct multigrid_matrix {
  poisson_grid grid;
  kp_real scale;
  const kp_real *cx, *cy, *cz;  // cz is NULL in 2D
  const kp_real *inverse;       // 1 over the diagonal; 0: no unknown
} multigrid_matrix;

// ---- coarser levels

// Coefficients of a level from those of the finer one; element (i, j, k) is coarse.
typedef struct multigrid_coarsen_args {
  multigrid_matrix fine;
  poisson_grid grid;        // coarse
  int32_t is_periodic[3];   // of the fine level
  int32_t ratio[3];         // fine items per coarse one along each axis: 1 or 2
  kp_real weight[3];        // of sums of coefficients across each axis
  kp_real held_weight;      // of what holds items beside `mass`
  const kp_real *fine_own;  // what the diagonal has beside coefficients; may be NULL
  const kp_real *mass;      // part of `own` that is of volume, not of distance; may be NULL
  kp_real *cx, *cy, *cz;    // coarse, of unit scale
  kp_real *own;
  kp_real *coarse_mass;     // NULL with mass
} multigrid_coarsen_args;

// What item (i, j, k) of the fine level, an unknown, gives to its parent across one axis: what
// couples it with the parent below, and what ties it to given values.
KP_FN void multigrid_gather(const multigrid_coarsen_args *a, const int64_t cell[3], int axis,
                            kp_real *below, kp_real *held) {
  const poisson_grid *g = &a->fine.grid;
  const int64_t stride[3] = { 1, g->row, g->slab };
  const kp_real *c = axis == 0 ? a->fine.cx : (axis == 1 ? a->fine.cy : a->fine.cz);
  int64_t at = poisson_at(g, cell[0], cell[1], cell[2]);
  int64_t up = stride[axis];
  int64_t around = (int64_t)(g->n[axis] - 1) * up;  // from the first item to the image of its lower
  bool is_first = a->is_periodic[axis] && cell[axis] == 0;
  bool is_last = a->is_periodic[axis] && cell[axis] == g->n[axis] - 1;
  kp_real lower = c[at];
  kp_real upper = c[at + up];
  bool has_lower = a->fine.inverse[is_first ? at + around : at - up] > 0;
  bool has_upper = a->fine.inverse[is_last ? at - around : at + up] > 0;
  *held += (has_lower ? (kp_real)0 : lower) + (has_upper ? (kp_real)0 : upper);
  bool is_between = cell[axis] % a->ratio[axis] == 0 && a->grid.n[axis] > 1;
  *below += has_lower && is_between ? lower : (kp_real)0;
}

KP_FN void multigrid_coarsen_cell(const multigrid_coarsen_args *a, int64_t i, int64_t j,
                                  int64_t k) {
  const poisson_grid *g = &a->fine.grid;
  kp_real below[3] = { 0, 0, 0 };
  kp_real own = 0;
  kp_real mass = 0;
  for (int32_t child = 0; child < 8; ++child) {
    const int64_t in[3] = { child & 1, child >> 1 & 1, child >> 2 };
    const int64_t cell[3] = { i * a->ratio[0] + in[0], j * a->ratio[1] + in[1],
                              k * a->ratio[2] + in[2] };
    bool is_there = in[0] < a->ratio[0] && in[1] < a->ratio[1] && in[2] < a->ratio[2] &&
                    cell[0] < g->n[0] && cell[1] < g->n[1] && cell[2] < g->n[2];
    if (!is_there || !(a->fine.inverse[poisson_at(g, cell[0], cell[1], cell[2])] > 0)) {
      continue;
    }
    int64_t at = poisson_at(g, cell[0], cell[1], cell[2]);
    kp_real volume = a->mass ? a->mass[at] : (kp_real)0;
    own += volume + a->held_weight * ((a->fine_own ? a->fine_own[at] : (kp_real)0) - volume);
    mass += volume;
    for (int axis = 0; axis < (g->slab ? 3 : 2); ++axis) {
      kp_real held = 0;
      multigrid_gather(a, cell, axis, &below[axis], &held);
      own += a->weight[axis] * a->fine.scale * held;
    }
  }
  int64_t at = poisson_at(&a->grid, i, j, k);
  a->cx[at] = a->weight[0] * a->fine.scale * below[0];
  a->cy[at] = a->weight[1] * a->fine.scale * below[1];
  if (g->slab) {
    a->cz[at] = a->weight[2] * a->fine.scale * below[2];
  }
  a->own[at] = own;
  if (a->coarse_mass) {
    a->coarse_mass[at] = mass;
  }
}

KP_FN void multigrid_coarsen(int64_t j, int64_t k, int64_t i0, int64_t i1,
                             const multigrid_coarsen_args *a) {
  for (int64_t i = i0; i < i1; ++i) {
    multigrid_coarsen_cell(a, i, j, k);
  }
}

// 1 over the diagonal of a coarse level, whose coefficients couple unknowns alone.
typedef struct multigrid_invert_args {
  poisson_grid grid;
  const kp_real *cx, *cy, *cz, *own;
  kp_real *inverse;
} multigrid_invert_args;

KP_FN void multigrid_invert(int64_t j, int64_t k, int64_t i0, int64_t i1,
                            const multigrid_invert_args *a) {
  int64_t row = a->grid.row;
  int64_t slab = a->grid.slab;
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = poisson_at(&a->grid, i, j, k);
    kp_real sum = a->cx[at] + a->cx[at + 1] + a->cy[at] + a->cy[at + row] + a->own[at];
    if (slab) {
      sum += a->cz[at] + a->cz[at + slab];
    }
    a->inverse[at] = sum > 0 ? 1 / sum : (kp_real)0;
  }
}

// ---- smoothing

// Red, then black, from x = 0 in one pass: red items are b over the diagonal, which black ones work
// out for themselves.
typedef struct multigrid_first_args {
  multigrid_matrix m;
  const kp_real *b;
  kp_real *x;
} multigrid_first_args;

KP_FN void multigrid_first(int64_t j, int64_t k, int64_t i0, int64_t i1,
                           const multigrid_first_args *a) {
  int64_t row = a->m.grid.row;
  int64_t slab = a->m.grid.slab;
  int64_t at = poisson_at(&a->m.grid, 0, j, k);
  const kp_real *cx = a->m.cx + at;
  const kp_real *cy = a->m.cy + at;
  const kp_real *d = a->m.inverse + at;
  const kp_real *b = a->b + at;
  kp_real scale = a->m.scale;
  kp_real *x = a->x + at;
  if (slab == 0) {
    for (int64_t i = i0; i < i1; ++i) {
      kp_real sum = cx[i] * (b[i - 1] * d[i - 1]) + cx[i + 1] * (b[i + 1] * d[i + 1]) +
                    cy[i] * (b[i - row] * d[i - row]) + cy[i + row] * (b[i + row] * d[i + row]);
      bool is_black = (i + j + k) & 1;
      x[i] = d[i] * (b[i] + (is_black ? scale * sum : (kp_real)0));
    }
    return;
  }
  const kp_real *cz = a->m.cz + at;
  for (int64_t i = i0; i < i1; ++i) {
    kp_real sum = cx[i] * (b[i - 1] * d[i - 1]) + cx[i + 1] * (b[i + 1] * d[i + 1]) +
                  cy[i] * (b[i - row] * d[i - row]) + cy[i + row] * (b[i + row] * d[i + row]) +
                  cz[i] * (b[i - slab] * d[i - slab]) +
                  cz[i + slab] * (b[i + slab] * d[i + slab]);
    bool is_black = (i + j + k) & 1;
    x[i] = d[i] * (b[i] + (is_black ? scale * sum : (kp_real)0));
  }
}

// One colour of Gauss-Seidel: reads the other one alone, so the order of items does not matter.
typedef struct multigrid_relax_args {
  multigrid_matrix m;
  int32_t colour;  // 0 red, 1 black
  const kp_real *b;
  kp_real *x;
} multigrid_relax_args;

KP_FN void multigrid_relax(int64_t j, int64_t k, int64_t i0, int64_t i1,
                           const multigrid_relax_args *a) {
  int64_t row = a->m.grid.row;
  int64_t slab = a->m.grid.slab;
  int64_t at = poisson_at(&a->m.grid, 0, j, k);
  const kp_real *cx = a->m.cx + at;
  const kp_real *cy = a->m.cy + at;
  const kp_real *d = a->m.inverse + at;
  const kp_real *b = a->b + at;
  kp_real scale = a->m.scale;
  int64_t colour = a->colour;
  kp_real *x = a->x + at;
  if (slab == 0) {
    KP_INDEPENDENT
    for (int64_t i = i0; i < i1; ++i) {
      kp_real sum =
          cx[i] * x[i - 1] + cx[i + 1] * x[i + 1] + cy[i] * x[i - row] + cy[i + row] * x[i + row];
      kp_real value = d[i] * (b[i] + scale * sum);
      if (((i + j + k) & 1) == colour) {
        x[i] = value;
      }
    }
    return;
  }
  const kp_real *cz = a->m.cz + at;
  KP_INDEPENDENT
  for (int64_t i = i0; i < i1; ++i) {
    kp_real sum = cx[i] * x[i - 1] + cx[i + 1] * x[i + 1] + cy[i] * x[i - row] +
                  cy[i + row] * x[i + row] + cz[i] * x[i - slab] + cz[i + slab] * x[i + slab];
    kp_real value = d[i] * (b[i] + scale * sum);
    if (((i + j + k) & 1) == colour) {
      x[i] = value;
    }
  }
}

// ---- between levels

// Coarse b = sum of the residuals of the children, right after multigrid_first on an axis without
// images: black residuals are then 0, and a red one is the sum over its black neighbours.
typedef struct multigrid_restrict_args {
  multigrid_matrix m;  // fine
  poisson_grid grid;   // coarse
  int32_t ratio[3];
  const kp_real *b;  // fine, read by restrict_all
  const kp_real *x;
  kp_real *coarse_b;
} multigrid_restrict_args;

// The sum of c x over the neighbours of item i of a row, 0 where there is no unknown.
KP_FN kp_real multigrid_inflow(const multigrid_restrict_args *a, int64_t i) {
  int64_t row = a->m.grid.row;
  int64_t slab = a->m.grid.slab;
  const kp_real *x = a->x + i;
  kp_real sum = a->m.cx[i] * x[-1] + a->m.cx[i + 1] * x[1] + a->m.cy[i] * x[-row] +
                a->m.cy[i + row] * x[row];
  if (slab) {
    sum += a->m.cz[i] * x[-slab] + a->m.cz[i + slab] * x[slab];
  }
  return a->m.inverse[i] > 0 ? a->m.scale * sum : (kp_real)0;
}

KP_FN void multigrid_restrict(int64_t j, int64_t k, int64_t i0, int64_t i1,
                              const multigrid_restrict_args *a) {
  kp_real *out = a->coarse_b + poisson_at(&a->grid, 0, j, k);
  for (int64_t i = i0; i < i1; ++i) {
    out[i] = 0;
  }
  for (int64_t dk = 0; dk < a->ratio[2]; ++dk) {
    for (int64_t dj = 0; dj < a->ratio[1]; ++dj) {
      int64_t fine_j = j * a->ratio[1] + dj;
      int64_t fine_k = k * a->ratio[2] + dk;
      int64_t parity = (fine_j + fine_k) & 1;
      int64_t at = poisson_at(&a->m.grid, 0, fine_j, fine_k);
      if (a->ratio[0] == 2) {
        // of each pair one is red, the same of all pairs of a row
        for (int64_t i = i0; i < i1; ++i) {
          out[i] += multigrid_inflow(a, at + 2 * i + parity);
        }
      } else {
        for (int64_t i = i0; i < i1; ++i) {
          out[i] += ((i + parity) & 1) ? (kp_real)0 : multigrid_inflow(a, at + i);
        }
      }
    }
  }
}

// The same of any x.
typedef multigrid_restrict_args multigrid_restrict_all_args;

KP_FN kp_real multigrid_left_over(const multigrid_restrict_args *a, int64_t i) {
  // the diagonal again, from its inverse: what is restricted need not be exact
  kp_real inverse = a->m.inverse[i];
  return inverse > 0 ? a->b[i] + multigrid_inflow(a, i) - a->x[i] / inverse : (kp_real)0;
}

KP_FN void multigrid_restrict_all(int64_t j, int64_t k, int64_t i0, int64_t i1,
                                  const multigrid_restrict_all_args *a) {
  kp_real *out = a->coarse_b + poisson_at(&a->grid, 0, j, k);
  for (int64_t i = i0; i < i1; ++i) {
    kp_real sum = 0;
    for (int64_t dk = 0; dk < a->ratio[2]; ++dk) {
      for (int64_t dj = 0; dj < a->ratio[1]; ++dj) {
        int64_t at = poisson_at(&a->m.grid, 0, j * a->ratio[1] + dj, k * a->ratio[2] + dk);
        for (int64_t di = 0; di < a->ratio[0]; ++di) {
          sum += multigrid_left_over(a, at + i * a->ratio[0] + di);
        }
      }
    }
    out[i] = sum;
  }
}

// x += that of the parent, in unknowns of the fine level.
typedef struct multigrid_prolong_args {
  poisson_grid grid;         // fine
  poisson_grid coarse_grid;
  int32_t ratio[3];
  const kp_real *inverse;  // fine
  const kp_real *coarse;
  kp_real *x;
} multigrid_prolong_args;

KP_FN void multigrid_prolong(int64_t j, int64_t k, int64_t i0, int64_t i1,
                             const multigrid_prolong_args *a) {
  int64_t at = poisson_at(&a->grid, 0, j, k);
  const kp_real *from =
      a->coarse + poisson_at(&a->coarse_grid, 0, j / a->ratio[1], k / a->ratio[2]);
  const kp_real *inverse = a->inverse + at;
  kp_real *x = a->x + at;
  int64_t shift = a->ratio[0] - 1;
  for (int64_t i = i0; i < i1; ++i) {
    x[i] += inverse[i] > 0 ? from[i >> shift] : (kp_real)0;
  }
}
