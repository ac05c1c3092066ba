// One V-cycle of multigrid for the operator of poisson_kernels.h, row by row (see multigrid.h).
// Products are rounded before they are added, so that hosts and cards smooth to the same bits where
// residuals cancel.
// Colours: an item is red when i + j + k is even, black otherwise.
#pragma once

#include "linalg/poisson_kernels.h"

#define MULTIGRID_KERNELS(POINT, REDUCE, ROW, PAIR)                                                \
  POINT(multigrid, trim)                                                                           \
  ROW(multigrid, coarsen)                                                                          \
  ROW(multigrid, invert)                                                                           \
  ROW(multigrid, first)                                                                            \
  ROW(multigrid, relax)                                                                            \
  ROW(multigrid, restrict)                                                                         \
  ROW(multigrid, restrict_all)                                                                     \
  ROW(multigrid, collect)                                                                          \
  ROW(multigrid, prolong)

// A level as kernels see it: (A x)_i = scale sum c (x_i - x_j) + own x_i where inverse > 0.
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
  kp_real half[3];          // how much further the middle of a coarse item is from a given value
                            // than that of its child, across each axis: 1/2 or 0
  kp_real mean_half;        // the same of ties whose place is not known any more
  const kp_real *fine_own;  // what the diagonal has beside coefficients; may be NULL
  const kp_real *mass;      // part of `own` that is of volume, not of distance; may be NULL
  kp_real *cx, *cy, *cz;    // coarse, of unit scale
  kp_real *own;
  kp_real *coarse_mass;  // NULL with mass
} multigrid_coarsen_args;

KP_FN kp_real multigrid_larger(kp_real a, kp_real b) {
  return a > b ? a : b;
}

// What an unknown of the fine level is coupled with across one axis.
typedef struct multigrid_sides {
  kp_real coupled[2];  // below and above, to unknowns
  kp_real held[2];     // to given values
} multigrid_sides;

KP_FN multigrid_sides multigrid_look(const multigrid_coarsen_args *a, const int64_t cell[3],
                                     int axis) {
  const poisson_grid *g = &a->fine.grid;
  const int64_t stride[3] = { 1, g->row, g->slab };
  const kp_real *c = axis == 0 ? a->fine.cx : (axis == 1 ? a->fine.cy : a->fine.cz);
  int64_t at = poisson_at(g, cell[0], cell[1], cell[2]);
  int64_t up = stride[axis];
  int64_t around = (int64_t)(g->n[axis] - 1) * up;  // from the first item to the image of its lower
  bool is_first = a->is_periodic[axis] && cell[axis] == 0;
  bool is_last = a->is_periodic[axis] && cell[axis] == g->n[axis] - 1;
  kp_real lower = a->fine.scale * c[at];
  kp_real upper = a->fine.scale * c[at + up];
  bool has_lower = a->fine.inverse[is_first ? at + around : at - up] > 0;
  bool has_upper = a->fine.inverse[is_last ? at - around : at + up] > 0;
  multigrid_sides s = { { 0, 0 }, { 0, 0 } };
  s.coupled[0] = has_lower ? lower : (kp_real)0;
  s.coupled[1] = has_upper ? upper : (kp_real)0;
  s.held[0] = has_lower ? (kp_real)0 : lower;
  s.held[1] = has_upper ? (kp_real)0 : upper;
  return s;
}

// A tie g to a given value seen from `half` a distance further away, through what couples the
// item with others: resistances in series.
KP_FN kp_real multigrid_further(kp_real g, kp_real half, kp_real coupling) {
  return coupling > 0 ? g / (1 + half * g / coupling) : g;
}

KP_FN void multigrid_coarsen_cell(const multigrid_coarsen_args *a, int64_t i, int64_t j,
                                  int64_t k) {
  const poisson_grid *g = &a->fine.grid;
  int n_axes = g->slab ? 3 : 2;
  kp_real below[3] = { 0, 0, 0 };
  kp_real own = 0;
  kp_real mass = 0;
  for (int32_t child = 0; child < 8; ++child) {
    const int64_t in[3] = { child & 1, child >> 1 & 1, child >> 2 };
    const int64_t cell[3] = { i * a->ratio[0] + in[0], j * a->ratio[1] + in[1],
                              k * a->ratio[2] + in[2] };
    bool is_there = in[0] < a->ratio[0] && in[1] < a->ratio[1] && in[2] < a->ratio[2] &&
                    cell[0] < g->n[0] && cell[1] < g->n[1] && cell[2] < g->n[2];
    int64_t at = poisson_at(g, cell[0], cell[1], cell[2]);
    if (!is_there || !(a->fine.inverse[at] > 0)) {
      continue;
    }
    multigrid_sides sides[3] = { { { 0, 0 }, { 0, 0 } } };
    kp_real coupling = 0;
    for (int axis = 0; axis < n_axes; ++axis) {
      sides[axis] = multigrid_look(a, cell, axis);
      coupling = multigrid_larger(coupling,
                                  multigrid_larger(sides[axis].coupled[0], sides[axis].coupled[1]));
      bool is_between = cell[axis] % a->ratio[axis] == 0 && a->grid.n[axis] > 1;
      below[axis] += is_between ? sides[axis].coupled[0] : (kp_real)0;
    }
    for (int axis = 0; axis < n_axes; ++axis) {
      // a tie across the outside of the pair is further away from the middle of both
      bool is_upper = cell[axis] % a->ratio[axis] == 1;
      bool is_pair = sides[axis].coupled[is_upper ? 0 : 1] > 0;
      kp_real half = is_pair ? a->half[axis] : (kp_real)0;
      own += multigrid_further(sides[axis].held[0], is_upper ? (kp_real)0 : half, coupling) +
             multigrid_further(sides[axis].held[1], is_upper ? half : (kp_real)0, coupling);
    }
    kp_real volume = a->mass ? a->mass[at] : (kp_real)0;
    kp_real held = (a->fine_own ? a->fine_own[at] : (kp_real)0) - volume;
    own += volume + multigrid_further(held, a->mean_half, coupling);
    mass += volume;
  }
  int64_t at = poisson_at(&a->grid, i, j, k);
  a->cx[at] = a->weight[0] * below[0];
  a->cy[at] = a->weight[1] * below[1];
  if (g->slab) {
    a->cz[at] = a->weight[2] * below[2];
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

// 1 over the diagonal of a coarse level, and the weights of its interpolation.
typedef struct multigrid_invert_args {
  poisson_grid grid;
  int32_t is_periodic[3];
  const kp_real *cx, *cy, *cz, *own;
  kp_real *inverse;
  kp_real *share;  // of multigrid_weights
} multigrid_invert_args;

KP_FN void multigrid_invert(int64_t j, int64_t k, int64_t i0, int64_t i1,
                            const multigrid_invert_args *a) {
  int64_t row = a->grid.row;
  int64_t slab = a->grid.slab;
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = poisson_at(&a->grid, i, j, k);
    kp_real sum = a->cx[at] + a->cx[at + 1] + a->cy[at] + a->cy[at + row] + a->own[at];
    kp_real most = multigrid_larger(multigrid_larger(a->cx[at], a->cx[at + 1]),
                                    multigrid_larger(a->cy[at], a->cy[at + row]));
    if (slab) {
      sum += a->cz[at] + a->cz[at + slab];
      most = multigrid_larger(most, multigrid_larger(a->cz[at], a->cz[at + slab]));
    }
    const kp_real *const c[3] = { a->cx, a->cy, a->cz };
    const int64_t cell[3] = { i, j, k };
    sum += poisson_seam(&a->grid, a->is_periodic, cell, c);
    a->inverse[at] = sum > 0 ? 1 / sum : (kp_real)0;
    a->share[at] = most > 0 ? (kp_real)0.25 / most : (kp_real)0;
  }
}

// ---- where unknowns are

// Of each row of a level the run from its first unknown to its last, a whole number of registers
// where there is room: a liquid fills a part of its grid, and everything outside its runs is 0 and
// stays so.
#define MULTIGRID_RUN 16

typedef struct multigrid_trim_args {
  poisson_grid grid;
  const kp_row_segment *rows;
  const kp_real *inverse;  // 0: no unknown
  kp_row_segment *runs;
} multigrid_trim_args;

KP_FN void multigrid_trim(int64_t s, const multigrid_trim_args *a) {
  kp_row_segment run = a->rows[s];
  const kp_real *inverse = a->inverse + poisson_at(&a->grid, 0, run.j, run.k);
  int32_t first = run.i0;
  int32_t last = run.i1;
  while (first < last && !(inverse[first] > 0)) {
    ++first;
  }
  while (last > first && !(inverse[last - 1] > 0)) {
    --last;
  }
  int32_t start = first - (first - run.i0) % MULTIGRID_RUN;
  int32_t n_runs = (last - start + MULTIGRID_RUN - 1) / MULTIGRID_RUN;
  int32_t end = start + n_runs * MULTIGRID_RUN;
  bool is_empty = first == last;
  run.i1 = is_empty ? run.i0 : (end < run.i1 ? end : run.i1);
  run.i0 = is_empty ? run.i0 : start;
  a->runs[s] = run;
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
  int32_t odd = (int32_t)(j + k);
  kp_real *x = a->x + at;
  if (slab == 0) {
    KP_INDEPENDENT
    for (int64_t i = i0; i < i1; ++i) {
      kp_real sum = kp_product(cx[i], b[i - 1] * d[i - 1]) +
                    kp_product(cx[i + 1], b[i + 1] * d[i + 1]) +
                    kp_product(cy[i], b[i - row] * d[i - row]) +
                    kp_product(cy[i + row], b[i + row] * d[i + row]);
      bool is_black = ((int32_t)i ^ odd) & 1;
      x[i] = d[i] * (b[i] + (is_black ? kp_product(scale, sum) : (kp_real)0));
    }
    return;
  }
  const kp_real *cz = a->m.cz + at;
  KP_INDEPENDENT
  for (int64_t i = i0; i < i1; ++i) {
    kp_real sum = kp_product(cx[i], b[i - 1] * d[i - 1]) +
                  kp_product(cx[i + 1], b[i + 1] * d[i + 1]) +
                  kp_product(cy[i], b[i - row] * d[i - row]) +
                  kp_product(cy[i + row], b[i + row] * d[i + row]) +
                  kp_product(cz[i], b[i - slab] * d[i - slab]) +
                  kp_product(cz[i + slab], b[i + slab] * d[i + slab]);
    bool is_black = ((int32_t)i ^ odd) & 1;
    x[i] = d[i] * (b[i] + (is_black ? kp_product(scale, sum) : (kp_real)0));
  }
}

// One colour of Gauss-Seidel: reads the other one alone, so the order of items does not matter.
typedef struct multigrid_relax_args {
  multigrid_matrix m;
  int32_t colour;  // 0 red, 1 black
  const kp_real *b;
  const kp_real *from;  // x again: a name of its own tells compilers that nothing read is written
  kp_real *x;
} multigrid_relax_args;

// Vectors have no holes: on a host items of the other colour are written too, with the value they
// have, while other threads read them. Nothing changes by it, but the thread sanitizer cannot know;
// for it they are passed over.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define MULTIGRID_PASSES_OVER(is_meant) (!(is_meant))
#endif
#endif
#ifndef MULTIGRID_PASSES_OVER
#define MULTIGRID_PASSES_OVER(is_meant) false
#endif

// x_i for one colour; the other one stays.
KP_FN void multigrid_store(kp_real *x, kp_real value, kp_real old, bool is_meant) {
#ifdef __CUDA_ARCH__
  (void)old;
  if (is_meant) {
    *x = value;
  }
#else
  *x = is_meant ? value : old;
#endif
}

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
  int32_t other = (int32_t)(j + k) ^ a->colour;  // its last bit is that of the items to relax
  const kp_real *x = a->from + at;
  kp_real *out = a->x + at;
  if (slab == 0) {
    KP_INDEPENDENT
    for (int64_t i = i0; i < i1; ++i) {
      bool is_meant = (((int32_t)i ^ other) & 1) == 0;
      if (MULTIGRID_PASSES_OVER(is_meant)) {
        continue;
      }
      kp_real sum = kp_product(cx[i], x[i - 1]) + kp_product(cx[i + 1], x[i + 1]) +
                    kp_product(cy[i], x[i - row]) + kp_product(cy[i + row], x[i + row]);
      kp_real value = d[i] * (b[i] + kp_product(scale, sum));
      multigrid_store(&out[i], value, x[i], is_meant);
    }
    return;
  }
  const kp_real *cz = a->m.cz + at;
  KP_INDEPENDENT
  for (int64_t i = i0; i < i1; ++i) {
    bool is_meant = (((int32_t)i ^ other) & 1) == 0;
    if (MULTIGRID_PASSES_OVER(is_meant)) {
      continue;
    }
    kp_real sum = kp_product(cx[i], x[i - 1]) + kp_product(cx[i + 1], x[i + 1]) +
                  kp_product(cy[i], x[i - row]) + kp_product(cy[i + row], x[i + row]) +
                  kp_product(cz[i], x[i - slab]) + kp_product(cz[i + slab], x[i + slab]);
    kp_real value = d[i] * (b[i] + kp_product(scale, sum));
    multigrid_store(&out[i], value, x[i], is_meant);
  }
}

// ---- between levels

// Prolongation is linear: a child lies a quarter of the way from its parent's centre towards those
// of the three neighbours on its side, e_child = e + sum over axes of (e_neighbour - e) / 4. The
// quarter is scaled down where the coupling to that neighbour is weak beside the others, so nothing
// is carried through walls. Restriction is the transpose, in two steps: sums of the residuals of
// the children, all and those on the lower side of each axis; then what neighbours give and take.

typedef struct multigrid_restrict_args {
  multigrid_matrix m;  // fine
  poisson_grid grid;   // coarse
  int32_t ratio[3];
  const kp_real *x;
  const kp_real *b, *own;                      // fine, read by restrict_all; own may be NULL
  kp_real *sum, *lower_x, *lower_y, *lower_z;  // coarse; lower_z is NULL in 2D
} multigrid_restrict_args;

// The sum of c x over the neighbours of item i, 0 where there is no unknown.
KP_FN kp_real multigrid_inflow(const multigrid_matrix *m, const kp_real *x, int64_t i,
                               bool is_flat) {
  int64_t row = m->grid.row;
  int64_t slab = m->grid.slab;
  kp_real sum = kp_product(m->cx[i], x[i - 1]) + kp_product(m->cx[i + 1], x[i + 1]) +
                kp_product(m->cy[i], x[i - row]) + kp_product(m->cy[i + row], x[i + row]);
  if (!is_flat) {
    sum += kp_product(m->cz[i], x[i - slab]) + kp_product(m->cz[i + slab], x[i + slab]);
  }
  return m->inverse[i] > 0 ? kp_product(m->scale, sum) : (kp_real)0;
}

// Adds the red residuals of one row of children to those of their parents; the first row begins.
KP_FN void multigrid_restrict_row(const multigrid_restrict_args *a, int64_t from, int64_t to,
                                  const int64_t run[2], const int32_t side[3], bool is_flat) {
  const multigrid_matrix m = a->m;
  const kp_real *x = a->x;
  kp_real *sum = a->sum + to;
  kp_real *lower_x = a->lower_x + to;
  kp_real *lower_y = a->lower_y + to;
  kp_real *lower_z = is_flat ? lower_y : a->lower_z + to;
  kp_real is_lower_x = side[0] == 0 ? (kp_real)1 : (kp_real)0;
  kp_real is_lower_y = side[1] == 0 ? (kp_real)1 : (kp_real)0;
  kp_real is_lower_z = side[2] == 0 ? (kp_real)1 : (kp_real)0;
  kp_real keep = side[1] + side[2] > 0 ? (kp_real)1 : (kp_real)0;
  KP_INDEPENDENT
  for (int64_t i = run[0]; i < run[1]; ++i) {
    kp_real r = multigrid_inflow(&m, x, from + 2 * i, is_flat);
    sum[i] = keep * sum[i] + r;
    lower_x[i] = keep * lower_x[i] + is_lower_x * r;
    lower_y[i] = keep * lower_y[i] + is_lower_y * r;
    if (!is_flat) {
      lower_z[i] = keep * lower_z[i] + is_lower_z * r;
    }
  }
}

// Right after multigrid_first, where no axis has images: black residuals are 0, and a red one is
// the sum over its black neighbours. Of each pair along x one is red, the same of all pairs of a
// row.
KP_FN void multigrid_restrict(int64_t j, int64_t k, int64_t i0, int64_t i1,
                              const multigrid_restrict_args *a) {
  int64_t to = poisson_at(&a->grid, 0, j, k);
  const int64_t run[2] = { i0, i1 };
  for (int32_t dk = 0; dk < a->ratio[2]; ++dk) {
    for (int32_t dj = 0; dj < a->ratio[1]; ++dj) {
      int64_t fine_j = j * a->ratio[1] + dj;
      int64_t fine_k = k * a->ratio[2] + dk;
      // the last pair of an odd number has one child; behind the other the arrays may end
      if (fine_j >= a->m.grid.n[1] || fine_k >= a->m.grid.n[2]) {
        continue;
      }
      int32_t parity = (int32_t)((fine_j + fine_k) & 1);
      int64_t from = poisson_at(&a->m.grid, parity, fine_j, fine_k);
      const int32_t side[3] = { parity, dj, dk };
      if (a->m.grid.slab) {
        multigrid_restrict_row(a, from, to, run, side, false);
      } else {
        multigrid_restrict_row(a, from, to, run, side, true);
      }
    }
  }
}

// The same of any x.
typedef multigrid_restrict_args multigrid_restrict_all_args;

KP_FN kp_real multigrid_left_over(const multigrid_restrict_args *a, int64_t i) {
  int64_t row = a->m.grid.row;
  int64_t slab = a->m.grid.slab;
  if (!(a->m.inverse[i] > 0)) {
    return 0;
  }
  kp_real sum = a->m.cx[i] + a->m.cx[i + 1] + a->m.cy[i] + a->m.cy[i + row];
  if (slab) {
    sum += a->m.cz[i] + a->m.cz[i + slab];
  }
  kp_real diagonal = kp_product(a->m.scale, sum) + (a->own ? a->own[i] : (kp_real)0);
  return a->b[i] + multigrid_inflow(&a->m, a->x, i, slab == 0) - kp_product(diagonal, a->x[i]);
}

KP_FN void multigrid_restrict_all(int64_t j, int64_t k, int64_t i0, int64_t i1,
                                  const multigrid_restrict_all_args *a) {
  for (int64_t i = i0; i < i1; ++i) {
    kp_real sum = 0;
    kp_real lower[3] = { 0, 0, 0 };
    for (int64_t dk = 0; dk < a->ratio[2]; ++dk) {
      for (int64_t dj = 0; dj < a->ratio[1]; ++dj) {
        int64_t at = poisson_at(&a->m.grid, 0, j * a->ratio[1] + dj, k * a->ratio[2] + dk);
        for (int64_t di = 0; di < a->ratio[0]; ++di) {
          kp_real r = multigrid_left_over(a, at + i * a->ratio[0] + di);
          sum += r;
          lower[0] += di == 0 ? r : (kp_real)0;
          lower[1] += dj == 0 ? r : (kp_real)0;
          lower[2] += dk == 0 ? r : (kp_real)0;
        }
      }
    }
    int64_t out = poisson_at(&a->grid, i, j, k);
    a->sum[out] = sum;
    a->lower_x[out] = lower[0];
    a->lower_y[out] = lower[1];
    if (a->lower_z) {
      a->lower_z[out] = lower[2];
    }
  }
}

// Weights of the interpolation: how much a child on one side takes from the neighbour there.
typedef struct multigrid_weights {
  const kp_real *cx, *cy, *cz;  // coarse coefficients
  const kp_real *share;         // 1/4 over the largest of an item's coefficients
  kp_real is_joined[3];         // 0 along axes that were not coarsened
} multigrid_weights;

// b = what children left over, spread to parents.
typedef struct multigrid_collect_args {
  poisson_grid grid;  // coarse
  multigrid_weights w;
  const kp_real *sum, *lower_x, *lower_y, *lower_z;
  kp_real *b;
} multigrid_collect_args;

// What item i gets and gives across an axis.
KP_FN kp_real multigrid_exchange(const kp_real *c, const kp_real *share, const kp_real *sum,
                                 const kp_real *lower, int64_t i, int64_t up) {
  kp_real from_below = share[i - up] * (sum[i - up] - lower[i - up]) - share[i] * lower[i];
  kp_real from_above = share[i + up] * lower[i + up] - share[i] * (sum[i] - lower[i]);
  return c[i] * from_below + c[i + up] * from_above;
}

KP_FN void multigrid_collect(int64_t j, int64_t k, int64_t i0, int64_t i1,
                             const multigrid_collect_args *a) {
  int64_t at = poisson_at(&a->grid, 0, j, k);
  int64_t row = a->grid.row;
  int64_t slab = a->grid.slab;
  const kp_real *sum = a->sum + at;
  const kp_real *share = a->w.share + at;
  kp_real *b = a->b + at;
  KP_INDEPENDENT
  for (int64_t i = i0; i < i1; ++i) {
    kp_real x = multigrid_exchange(a->w.cx + at, share, sum, a->lower_x + at, i, 1);
    kp_real y = multigrid_exchange(a->w.cy + at, share, sum, a->lower_y + at, i, row);
    b[i] = sum[i] + a->w.is_joined[0] * x + a->w.is_joined[1] * y;
  }
  if (slab) {
    KP_INDEPENDENT
    for (int64_t i = i0; i < i1; ++i) {
      b[i] += a->w.is_joined[2] *
              multigrid_exchange(a->w.cz + at, share, sum, a->lower_z + at, i, slab);
    }
  }
}

// x += what the parents say, in unknowns of the fine level; (i, j, k) is coarse and writes its own
// children.
typedef struct multigrid_prolong_args {
  poisson_grid grid;  // coarse
  poisson_grid fine_grid;
  int32_t ratio[3];
  multigrid_weights w;
  const kp_real *inverse;  // fine
  const kp_real *coarse;
  kp_real *x;
} multigrid_prolong_args;

KP_FN void multigrid_prolong(int64_t j, int64_t k, int64_t i0, int64_t i1,
                             const multigrid_prolong_args *a) {
  int64_t row = a->grid.row;
  int64_t slab = a->grid.slab;
  int64_t from = poisson_at(&a->grid, 0, j, k);
  const kp_real *cx = a->w.cx + from;
  const kp_real *cy = a->w.cy + from;
  const kp_real *cz = slab ? a->w.cz + from : cx;
  const kp_real *share = a->w.share + from;
  const kp_real *e = a->coarse + from;
  for (int64_t dk = 0; dk < a->ratio[2]; ++dk) {
    for (int64_t dj = 0; dj < a->ratio[1]; ++dj) {
      int64_t at = poisson_at(&a->fine_grid, 0, j * a->ratio[1] + dj, k * a->ratio[2] + dk);
      const kp_real *inverse = a->inverse + at;
      kp_real *x = a->x + at;
      int64_t y = dj == 0 ? -row : row;
      int64_t z = dk == 0 ? -slab : slab;
      int64_t face_y = dj == 0 ? 0 : row;
      int64_t face_z = dk == 0 ? 0 : slab;
      kp_real joined_y = a->w.is_joined[1];
      kp_real joined_z = a->w.is_joined[2];
      if (a->ratio[0] == 2) {
        KP_INDEPENDENT
        for (int64_t i = i0; i < i1; ++i) {
          kp_real mid = e[i] + share[i] * (joined_y * cy[i + face_y] * (e[i + y] - e[i]) +
                                           joined_z * cz[i + face_z] * (e[i + z] - e[i]));
          kp_real below = mid + share[i] * cx[i] * (e[i - 1] - e[i]);
          kp_real above = mid + share[i] * cx[i + 1] * (e[i + 1] - e[i]);
          x[2 * i] += inverse[2 * i] > 0 ? below : (kp_real)0;
          x[2 * i + 1] += inverse[2 * i + 1] > 0 ? above : (kp_real)0;
        }
      } else {
        for (int64_t i = i0; i < i1; ++i) {
          kp_real mid = e[i] + share[i] * (joined_y * cy[i + face_y] * (e[i + y] - e[i]) +
                                           joined_z * cz[i + face_z] * (e[i + z] - e[i]));
          x[i] += inverse[i] > 0 ? mid : (kp_real)0;
        }
      }
    }
  }
}
