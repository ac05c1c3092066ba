// Coarser levels of the sweeps' preconditioner (deform_levels.h): cells of nodes, cells of cells.
//
// What a cell holds of a vector is a record (math/records.h). Lists of a level: the items of the
// level below that a cell takes from, and the cells of the level above that it is given by, which
// is the transpose.
#pragma once

#include "methods/deform/deform_sweep_kernels.h"

#define LEVELS_BLOCK 8  // of a cell: a symmetric block as in the sweeps, its mass, and one not used

// ---- blocks of cells

// Of the first level, from its rows.
typedef struct levels_join_args {
  const int32_t *start, *item;
  const kp_real *block, *own;
  kp_real *sum;
} levels_join_args;

KP_FN void levels_join(int64_t c, const levels_join_args *g) {
  kp_real sum[LEVELS_BLOCK] = { 0, 0, 0, 0, 0, 0, 0, 0 };
  for (int32_t k = g->start[c]; k < g->start[c + 1]; ++k) {
    int64_t r = g->item[k];
    const kp_real *block = g->block + sweep_at(SWEEP_BLOCK, r);
    for (int b = 0; b < SWEEP_BLOCK; ++b) {
      sum[b] += block[b * SWEEP_SLICE];
    }
    sum[SWEEP_BLOCK] += g->own[sweep_at(SWEEP_OWN, r)];
  }
  for (int b = 0; b < LEVELS_BLOCK; ++b) {
    g->sum[LEVELS_BLOCK * c + b] = sum[b];
  }
}

// Of the others, from the cells below.
typedef struct levels_merge_args {
  const int32_t *start, *item;
  const kp_real *weight;
  const kp_real *below;
  kp_real *sum;
} levels_merge_args;

KP_FN void levels_merge(int64_t c, const levels_merge_args *g) {
  kp_real sum[LEVELS_BLOCK] = { 0, 0, 0, 0, 0, 0, 0, 0 };
  for (int32_t k = g->start[c]; k < g->start[c + 1]; ++k) {
    const kp_real *from = g->below + LEVELS_BLOCK * (int64_t)g->item[k];
    for (int b = 0; b < LEVELS_BLOCK; ++b) {
      sum[b] += g->weight[k] * from[b];
    }
  }
  for (int b = 0; b < LEVELS_BLOCK; ++b) {
    g->sum[LEVELS_BLOCK * c + b] = sum[b];
  }
}

// inverse = (mass + share block)^-1 - (mass + block)^-1: what is nearly free D solves already.
typedef struct levels_invert_args {
  kp_real share;  // below 1
  const kp_real *sum;
  kp_real *inverse;
} levels_invert_args;

KP_FN void levels_invert(int64_t c, const levels_invert_args *g) {
  const kp_real *sum = g->sum + LEVELS_BLOCK * c;
  double soft[6], stiff[6], out[6], less[6];
  for (int b = 0; b < SWEEP_BLOCK; ++b) {
    double mass = b < 3 ? (double)sum[SWEEP_BLOCK] : 0.0;
    soft[b] = mass + (double)g->share * (double)sum[b];
    stiff[b] = mass + (double)sum[b];
  }
  sweep_invert(soft, out);
  sweep_invert(stiff, less);
  for (int b = 0; b < SWEEP_BLOCK; ++b) {
    g->inverse[LEVELS_BLOCK * c + b] = (kp_real)(out[b] - less[b]);
  }
}

// ---- vectors

// y = H r as records, H the half block of a row.
typedef struct levels_halve_args {
  const kp_real *half, *r;
  kp_real *y;
} levels_halve_args;

KP_FN void levels_halve(int64_t j, int64_t k, int64_t i0, int64_t i1, const levels_halve_args *g) {
  (void)k;
  int64_t i = sweep_first(j, i0);
  kp_lanes v[3], out[3];
  sweep_get(g->r, i, v);
  sweep_times(g->half, i, v, out);
  sweep_put_records(g->y, i, i0, i1, out);
}

// sum = what a cell takes from records below; weight NULL: 1.
typedef struct levels_down_args {
  const int32_t *start, *item;
  const kp_real *weight;
  const kp_real *below;
  kp_real *sum;
} levels_down_args;

KP_FN void levels_down(int64_t c, const levels_down_args *g) {
  kp_record sum = kp_record_make(0, 0, 0);
  const int32_t *item = g->item;
  const kp_real *below = g->below, *weight = g->weight;
  int32_t k = g->start[c], end = g->start[c + 1];
  for (; weight == NULL && k < end; ++k) {
    kp_record_add(&sum, 1, below + KP_RECORD * (int64_t)item[k]);
  }
  for (; k < end; ++k) {
    kp_record_add(&sum, weight[k], below + KP_RECORD * (int64_t)item[k]);
  }
  kp_record_store(g->sum + KP_RECORD * c, &sum);
}

// change = inverse sum + what the cells above give
typedef struct levels_up_args {
  const int32_t *start, *item;  // of cells above; NULL: there are none
  const kp_real *weight;
  const kp_real *above;
  const kp_real *inverse, *sum;
  kp_real *change;
} levels_up_args;

KP_FN void levels_up(int64_t c, const levels_up_args *g) {
  const kp_real *m = g->inverse + LEVELS_BLOCK * c, *v = g->sum + KP_RECORD * c;
  kp_record out = kp_record_make(m[0] * v[0] + m[3] * v[1] + m[4] * v[2],
                                 m[3] * v[0] + m[1] * v[1] + m[5] * v[2],
                                 m[4] * v[0] + m[5] * v[1] + m[2] * v[2]);
  if (g->start != NULL) {
    for (int32_t k = g->start[c]; k < g->start[c + 1]; ++k) {
      kp_record_add(&out, g->weight[k], g->above + KP_RECORD * (int64_t)g->item[k]);
    }
  }
  kp_record_store(g->change + KP_RECORD * c, &out);
}

// u = D r + H e, e the change of the row's cell.
typedef struct levels_weigh_args {
  const int32_t *cell;
  const kp_real *block, *half, *r, *e;
  kp_real *u;
} levels_weigh_args;

KP_FN void levels_weigh(int64_t j, int64_t k, int64_t i0, int64_t i1, const levels_weigh_args *g) {
  (void)k;
  int64_t i = sweep_first(j, i0);
  kp_lanes v[3], e[3], own[3], coarse[3];
  sweep_get(g->r, i, v);
  kp_records_gather(g->e, g->cell + i, e);
  sweep_times(g->block, i, v, own);
  sweep_times(g->half, i, e, coarse);
  for (int c = 0; c < 3; ++c) {
    own[c] += coarse[c];
  }
  sweep_put(g->u, i, i0, i1, own);
}

#define DEFORM_LEVELS_KERNELS(POINT, REDUCE, ROW, PAIR)                                            \
  POINT(levels, join)                                                                              \
  POINT(levels, merge)                                                                             \
  POINT(levels, invert)                                                                            \
  ROW(levels, halve)                                                                               \
  POINT(levels, down)                                                                              \
  POINT(levels, up)                                                                                \
  ROW(levels, weigh)
