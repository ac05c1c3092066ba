// Coarser levels for the sweeps (deform_sweep.h). A step of h couples nodes over the way h c that
// stretch travels in it, 70 spacings of scene E at 200 x 200 vertices; sweeps carry news over a few
// spacings each, so that their iterations grow with the resolution. Levels carry it over any
// distance: to the preconditioner D of the swept system come sums over cells, cells of cells, ...
// (Bramble, Pasciak & Xu 1990),
//
//   u' = D r' + sum over levels Z' E^-1 Z'^T r',
//
// Z the functions of the cells of a level and E^-1 a block for each of them: (M + s D)^-1 of the
// sums over the cell's rows, s D what is left of their stiffness at its size (in a sheet a bump of
// any width is as stiff), less (M + D)^-1, since what is nearly free D solves already. In the
// variables of the sweeps, x' = (D + L^T) x, a smooth x is x' = H x, H_i the mass of a node and its
// springs to earlier colours; so is Z' = H Z, at the price of one more product with blocks and no
// sweep.
//
// Nodes lie in cells by their places when the world begins and by their part: bits depend on
// nothing else. Only speed does: the answer is the sweeps' to their tolerance.
#pragma once

#include "methods/deform/deform.h"

typedef struct kp_level {
  int64_t n;                           // cells
  double share;                        // of the stiffness of rows in E
  kp_buffer down_start, down, down_w;  // items of the level below, or rows
  kp_buffer up_start, up, up_w;        // cells of the level above
  kp_buffer sum, inverse;              // LEVELS_BLOCK numbers each
  kp_buffer residual, change;          // records
} kp_level;

typedef struct kp_levels {
  int64_t rows;
  int n_used;  // of the system at hand
  KP_ARRAY(kp_level) list;
  kp_buffer cell;    // I32, of rows
  kp_buffer record;  // of rows
  kp_buffer slices;  // kp_row_segment: all rows
} kp_levels;

// Rows of the nodes `node` (-1: none), whose links are `mean2` long on average, squared, in each
// part of the deform.
typedef struct kp_levels_rows {
  int64_t rows;
  const int32_t *node;
  const double *mean2;  // m^2, by part
} kp_levels_rows;

KP_NODISCARD kp_result kp_levels_make(kp_deform *deform, const kp_levels_rows *rows,
                                      kp_backend *backend, kp_levels *levels);
void kp_levels_free(kp_levels *levels);

// E of the levels that a step of `reach` times the shortest stable one needs, from D (`block`) and
// masses (`own`) of the rows.
KP_NODISCARD kp_result kp_levels_factor(kp_levels *levels, kp_backend *backend, double reach,
                                        kp_buffer *block, kp_buffer *own);

// u = D r + sum over levels
KP_NODISCARD kp_result kp_levels_weigh(kp_levels *levels, kp_backend *backend, kp_buffer *block,
                                       kp_buffer *half, kp_buffer *r, kp_buffer *u);
