// What particles and cells do in FLIP: transfers between particles and faces (Zhu & Bridson 2005;
// Jiang et al. 2015 for the affine one), how full cells are, and the correction that keeps the
// volume (after Kugelstadt, Longva, Thuerey & Bender 2019).
//
// Particles are sorted by the cells of the grid, so the particles of a run of cells along x are one
// run in memory. Places are a cell and a fraction 0..1 of it along each axis.
#pragma once

#include <string.h>

#include "base/random.h"
#include "data/cells_kernels.h"
#include "data/mac_sample.h"
#include "data/mac_spot.h"
#include "math/wide.h"
#include "methods/flip/flip_ahead_kernels.h"
#include "methods/flip/flip_carry_kernels.h"
#include "par/kernel.h"

#define FLIP_KERNELS(POINT, REDUCE, ROW, PAIR)                                                     \
  POINT(flip, keys)                                                                                \
  POINT(flip, thin)                                                                                \
  POINT(flip, ties)                                                                                \
  POINT(flip, crowd)                                                                               \
  POINT(flip, part)                                                                                \
  POINT(flip, place)                                                                               \
  POINT(flip, carry_single)                                                                        \
  POINT(flip, carry_affine)                                                                        \
  POINT(flip, leave_solids)                                                                        \
  POINT(flip, blend)                                                                               \
  POINT(flip, look_ahead)                                                                          \
  POINT(flip, join_ahead)                                                                          \
  POINT(flip, add)                                                                                 \
  ROW(flip, carry)                                                                                 \
  ROW(flip, gather)                                                                                \
  ROW(flip, gather_affine)                                                                         \
  ROW(flip, open)                                                                                  \
  ROW(flip, room)                                                                                  \
  ROW(flip, mark)                                                                                  \
  ROW(flip, bend)                                                                                  \
  ROW(flip, excess)                                                                                \
  ROW(flip, smooth)                                                                                \
  ROW(flip, jump)                                                                                  \
  ROW(flip, spread)                                                                                \
  REDUCE(flip, unsorted, KP_REDUCE_SUM)                                                            \
  REDUCE(flip, fullest, KP_REDUCE_MAX)                                                             \
  REDUCE(flip, report, FLIP_REPORT_OPS)

// ---- where particles are ------------------------------------------------------------------------

// The item of the particle's cell; what is beyond the grid comes after all cells, and last of all
// what is to go: particles of deep cells (flip_band_kernels.h).
typedef struct flip_keys_args {
  kp_mac_view grid;
  const kp_pos *x, *y, *z;
  const kp_real *deep;  // NULL: nothing goes
  uint32_t *keys, *order;
} flip_keys_args;

KP_FN void flip_keys(int64_t p, const flip_keys_args *a) {
  const kp_mac_view *g = &a->grid;
  int is_out = 0;
  kp_real f;
  int32_t at = g->start + flip_locate_axis(g, 0, a->x[p], &f, &is_out) +
               flip_locate_axis(g, 1, a->y[p], &f, &is_out) * g->row;
  at += g->dimension == 3 ? flip_locate_axis(g, 2, a->z[p], &f, &is_out) * g->slab : 0;
  int32_t beyond = (int32_t)g->count;
  int goes = a->deep != NULL ? a->deep[at] > 0 : 0;
  int32_t key = goes ? beyond + 1 : at;
  a->keys[p] = (uint32_t)(is_out ? beyond : key);
  a->order[p] = (uint32_t)p;
}

// Some of those below the surface go too where there are too many.
typedef struct flip_thin_args {
  kp_mac_view grid;
  const kp_real *depth;  // cells
  const uint64_t *id;
  uint64_t seed, round;
  double share;  // of the particles below the surface that goes
  uint32_t *keys;
} flip_thin_args;

#define FLIP_INSIDE 1.5  // cells below the surface: what is deeper is full by right

KP_FN void flip_thin(int64_t p, const flip_thin_args *a) {
  int64_t at = a->keys[p];
  if (a->share > 0.0 && at < a->grid.count && a->depth[at] >= (kp_real)FLIP_INSIDE &&
      kp_rng_uniform(a->seed, KP_RNG_FLIP, a->id[p], a->round) < a->share) {
    a->keys[p] = (uint32_t)(a->grid.count + 1);
  }
}

// Particles whose next one should come before them. Ids count in cells alone: what is beyond the
// grid or is to go is a crowd under one key, of which nobody wants to know in which order it is.
typedef struct flip_unsorted_args {
  uint32_t end;  // the first key that is no cell
  const uint32_t *keys;
  const uint64_t *id;
} flip_unsorted_args;

KP_FN void flip_unsorted(int64_t p, const flip_unsorted_args *a, double *v) {
  uint32_t key = a->keys[p];
  uint32_t next = a->keys[p + 1];
  int is_tie = (key == next) & (key < a->end) & (a->id[p] > a->id[p + 1]);
  v[0] = (key > next) | is_tie ? 1.0 : 0.0;
}

// Those of a cell by ascending id.
typedef struct flip_ties_args {
  cells_ties_args cells;
  uint32_t end;
} flip_ties_args;

KP_FN void flip_ties(int64_t s, const flip_ties_args *a) {
  if (a->cells.keys[s] < a->end) {
    cells_ties(s, &a->cells);
  }
}

// Particles of the item that has most.
typedef struct flip_fullest_args {
  const uint32_t *start;
} flip_fullest_args;

KP_FN void flip_fullest(int64_t at, const flip_fullest_args *a, double *v) {
  v[0] = (double)(a->start[at + 1] - a->start[at]);
}

// In sorted order: which particles a cell has beyond so many, the youngest of it.
typedef struct flip_crowd_args {
  kp_mac_view grid;
  uint32_t most;
  uint32_t most_full;    // in cells that are full by right
  kp_real full;          // cells: what is deeper is
  const kp_real *depth;  // cells
  const uint32_t *keys, *start;
  uint32_t *marks;
} flip_crowd_args;

KP_FN void flip_crowd(int64_t s, const flip_crowd_args *a) {
  uint32_t key = a->keys[s];
  uint32_t is_marked = 0;
  if (key < (uint32_t)a->grid.count) {
    uint32_t most = a->depth[key] >= a->full ? a->most_full : a->most;
    is_marked = (uint32_t)s - a->start[key] >= most ? 1 : 0;
  }
  a->marks[s] = is_marked;
}

// Those come behind all others; everybody else keeps the order.
typedef struct flip_part_args {
  kp_mac_view grid;
  int64_t n, n_kept;
  const uint32_t *marks;  // scanned: marked ones before, n + 1 of them
  const uint32_t *keys, *order;
  uint32_t *new_keys, *new_order;
} flip_part_args;

KP_FN void flip_part(int64_t s, const flip_part_args *a) {
  int is_marked = a->marks[s + 1] != a->marks[s];
  int64_t before = a->marks[s];
  int64_t to = is_marked ? a->n_kept + before : s - before;
  a->new_keys[to] = is_marked ? (uint32_t)(a->grid.count + 1) : a->keys[s];
  a->new_order[to] = a->order[s];
}

typedef struct flip_place_args {
  kp_mac_view grid;
  const kp_pos *x, *y, *z;
  kp_real *fx, *fy, *fz;
} flip_place_args;

KP_FN void flip_place(int64_t p, const flip_place_args *a) {
  int32_t item[3];
  kp_real f[3];
  (void)flip_locate(&a->grid, a->x[p], a->y[p], a->z[p], item, f);
  a->fx[p] = f[0];
  a->fy[p] = f[1];
  a->fz[p] = f[2];
}

// ---- particles to faces -------------------------------------------------------------------------

// Sums of w and of w u over the particles around each lower face, w the product of tents one cell
// wide to either side; and of w around each centre. The faces of the last cells are items of the
// ghost cells, so the rows are those of corners.
typedef struct flip_gather_args {
  kp_mac_view grid;
  int32_t is_first, is_last;  // of the liquids
  const uint32_t *start;      // first particle of each item, and one more
  const kp_real *fx, *fy, *fz;
  const kp_real *vx, *vy, *vz;
  const kp_real *c[9];  // affine: du_a/dx_b times the cell [m/s]; item 3 a + b
  kp_real volume;       // of a particle, in cells
  kp_real per_volume;   // 1 over it
  kp_real *velocity[3];
  kp_real *weight[3];  // NULL with a single liquid
  kp_real *fill;       // volume of particles around the centre, in cells
  kp_real *count;      // particles in the cell
  // with a narrow band: what a cell lacks of particles, in cells, and the velocity of that liquid
  const kp_real *lack;  // NULL: nothing
  const kp_real *inner[3];
} flip_gather_args;

// Weights and weighted velocities of the faces and of the centre at one place of the row.
typedef struct flip_sums {
  kp_real w[3], m[3], fill;
} flip_sums;

// The same of every sixteenth particle of a cell, a register of such sums at a time.
typedef struct flip_wide_sums {
  kp_w w[3], m[3], fill;
} flip_wide_sums;

// The row of cells that particles are in, seen from that whose faces are gathered.
typedef struct flip_row {
  int64_t first;  // its item 0
  int32_t dy, dz;
} flip_row;

KP_FN kp_w flip_tent(kp_w t) {
  kp_w one = kp_w_splat(1);
  return kp_w_max(kp_w_min(one - t, one + t), kp_w_splat(0));
}

// What the first n particles from p give, n at most KP_W_LANES: those of column c of cells give to
// the places c-1 (near[0]), c and c+1.
KP_WIDE_FN void flip_give(const flip_gather_args *a, int is_affine, flip_row r, uint32_t p, int n,
                          flip_wide_sums near[3]) {
  kp_w half = kp_w_splat((kp_real)0.5);
  kp_w zero = kp_w_splat(0);
  kp_w one = kp_w_splat(1);
  int is_solid = a->grid.dimension == 3;
  kp_w fx = kp_w_some(a->fx + p, n);
  kp_w ly = kp_w_some(a->fy + p, n) + kp_w_splat((kp_real)r.dy);
  kp_w lz = kp_w_some(a->fz + p, n) + kp_w_splat((kp_real)r.dz);
  kp_w ty = ly - half;
  kp_w tz = is_solid ? lz - half : zero;
  kp_w there = kp_w_first(n);
  kp_w yc = flip_tent(ty) * there;
  kp_w zc = is_solid ? flip_tent(tz) : one;
  kp_w u = kp_w_some(a->vx + p, n);
  kp_w slope = zero;
  if (is_affine) {
    u -= kp_w_some(a->c[1] + p, n) * ty + kp_w_some(a->c[2] + p, n) * tz;
    slope = kp_w_some(a->c[0] + p, n);
  }
  // across x: faces at the cell's own ends
  kp_w upper = yc * zc * fx;
  kp_w lower = yc * zc - upper;
  near[1].w[0] += lower;
  near[1].m[0] += lower * (is_affine ? u - slope * fx : u);
  near[2].w[0] += upper;
  near[2].m[0] += upper * (is_affine ? u + slope * (one - fx) : u);
  // everything else lies in the middle of cells: of this one and the nearer neighbour
  kp_w side[3];
  side[0] = kp_w_max(half - fx, zero);
  side[2] = kp_w_max(fx - half, zero);
  side[1] = one - side[0] - side[2];
  for (int k = 0; k < 3; ++k) {
    near[k].fill += side[k] * (yc * zc);
  }
  // the tents around lower faces end where the cells above begin
  if (r.dy <= 0) {
    kp_w v = kp_w_some(a->vy + p, n);
    kp_w weight = flip_tent(ly) * there * zc;
    if (is_affine) {
      v -= kp_w_some(a->c[4] + p, n) * ly + kp_w_some(a->c[5] + p, n) * tz;
      slope = kp_w_some(a->c[3] + p, n);
    }
    for (int k = 0; k < 3; ++k) {
      kp_w part = side[k] * weight;
      kp_w dx = kp_w_splat((kp_real)k - (kp_real)0.5) - fx;
      near[k].w[1] += part;
      near[k].m[1] += part * (is_affine ? v + slope * dx : v);
    }
  }
  if (r.dz <= 0 && is_solid) {
    kp_w w = kp_w_some(a->vz + p, n);
    kp_w weight = yc * flip_tent(lz);
    if (is_affine) {
      w -= kp_w_some(a->c[7] + p, n) * ty + kp_w_some(a->c[8] + p, n) * lz;
      slope = kp_w_some(a->c[6] + p, n);
    }
    for (int k = 0; k < 3; ++k) {
      kp_w part = side[k] * weight;
      kp_w dx = kp_w_splat((kp_real)k - (kp_real)0.5) - fx;
      near[k].w[2] += part;
      near[k].m[2] += part * (is_affine ? w + slope * dx : w);
    }
  }
}

KP_WIDE_FN void flip_clear(flip_wide_sums *s) {
  s->fill = kp_w_splat(0);
  for (int c = 0; c < 3; ++c) {
    s->w[c] = kp_w_splat(0);
    s->m[c] = kp_w_splat(0);
  }
}

// Index i of a line of n cells, brought around where it is periodic.
KP_FN int64_t flip_wrap(const kp_mac_view *g, int axis, int64_t i) {
  int64_t n = g->n[axis];
  if (!g->is_periodic[axis]) {
    return i;
  }
  i = i < 0 ? i + n : i;
  return i >= n ? i - n : i;
}

// Places of a run whose sums wait to be stored together, a register at a time; a card has runs of
// one.
#ifdef __CUDACC__
#define FLIP_PLACES 1
#else
#define FLIP_PLACES 64
#endif

typedef struct flip_places {
  kp_real w[3][FLIP_PLACES], m[3][FLIP_PLACES], fill[FLIP_PLACES];
} flip_places;

// The share of a component that a liquid without particles has, and the mean over both.
KP_FN void flip_store_component(const flip_gather_args *a, int c, int64_t at, int n, kp_real *w,
                                kp_real *m) {
  if (!a->is_first) {
    for (int i = 0; i < n; ++i) {
      w[i] += a->weight[c][at + i];
      m[i] += a->velocity[c][at + i];
    }
  }
  if (a->lack != NULL && (c < 2 || a->grid.dimension == 3)) {
    KP_INDEPENDENT
    for (int i = 0; i < n; ++i) {
      kp_real more = kp_mac_mean(&a->grid, a->lack, c, at + i) * a->per_volume;
      kp_real inner = a->inner[c][at + i];
      w[i] += more;
      m[i] += more * (more > 0 ? inner : (kp_real)0);
    }
  }
  if (a->weight[c] != NULL) {
    memcpy(a->weight[c] + at, w, (size_t)n * sizeof *w);
  }
  kp_real *out = a->velocity[c] + at;
  int is_last = a->is_last;
  KP_INDEPENDENT
  for (int i = 0; i < n; ++i) {
    kp_real whole = (w[i] > 0) & is_last ? w[i] : (kp_real)1;
    kp_real share = ((w[i] > 0) | !is_last) ? m[i] : (kp_real)0;
    out[i] = share / whole;
  }
}

KP_FN void flip_store(const flip_gather_args *a, int64_t at, int n, flip_places *s) {
  kp_real keep = a->is_first ? (kp_real)0 : (kp_real)1;
  KP_INDEPENDENT
  for (int i = 0; i < n; ++i) {
    kp_real count = (kp_real)(int32_t)(a->start[at + i + 1] - a->start[at + i]);
    kp_real fill = keep > 0 ? a->fill[at + i] : (kp_real)0;
    kp_real others = keep > 0 ? a->count[at + i] : (kp_real)0;
    a->fill[at + i] = fill + a->volume * s->fill[i];
    a->count[at + i] = others + count;
  }
  for (int c = 0; c < 3; ++c) {
    flip_store_component(a, c, at, n, s->w[c], s->m[c]);
  }
}

// The sums of place 0 over the lanes of all registers, halves folded onto each other.
KP_WIDE_FN flip_sums flip_fold(flip_wide_sums near[KP_W_PARTS][3]) {
  flip_wide_sums all[KP_W_PARTS];
  for (int q = 0; q < KP_W_PARTS; ++q) {
    all[q] = near[q][0];
  }
  for (int half = KP_W_PARTS / 2; half > 0; half /= 2) {
    for (int q = 0; q < half; ++q) {
      all[q].fill += all[q + half].fill;
      for (int c = 0; c < 3; ++c) {
        all[q].w[c] += all[q + half].w[c];
        all[q].m[c] += all[q + half].m[c];
      }
    }
  }
  flip_sums sums;
  sums.fill = kp_w_sum(all[0].fill);
  for (int c = 0; c < 3; ++c) {
    sums.w[c] = kp_w_sum(all[0].w[c]);
    sums.m[c] = kp_w_sum(all[0].m[c]);
  }
  return sums;
}

// Rows of cells around those of row (j, k) that hold particles.
KP_FN int flip_rows(const flip_gather_args *a, int64_t j, int64_t k, flip_row rows[9]) {
  const kp_mac_view *g = &a->grid;
  int32_t thick = g->dimension == 3 ? 1 : 0;
  int n_rows = 0;
  for (int32_t dz = -thick; dz <= thick; ++dz) {
    for (int32_t dy = -1; dy <= 1; ++dy) {
      int64_t first = kp_mac_at(g, 0, flip_wrap(g, 1, j + dy), flip_wrap(g, 2, k + dz));
      if (a->start[first + g->n[0]] > a->start[first]) {
        rows[n_rows++] = (flip_row){ .first = first, .dy = dy, .dz = dz };
      }
    }
  }
  return n_rows;
}

// What the particles of a column of cells in these rows give; false: there are none.
KP_WIDE_FN int flip_give_column(const flip_gather_args *a, int is_affine, const flip_row *rows,
                                int n_rows, int64_t column, flip_wide_sums near[KP_W_PARTS][3]) {
  int has_any = 0;
  for (int r = 0; r < n_rows; ++r) {
    uint32_t end = a->start[rows[r].first + column + 1];
    uint32_t p = a->start[rows[r].first + column];
    has_any |= p < end;
    while (p < end) {
      for (int q = 0; q < KP_W_PARTS && p < end; ++q) {
        int n = end - p < KP_W_LANES ? (int)(end - p) : KP_W_LANES;
        flip_give(a, is_affine, rows[r], p, n, near[q]);
        p += (uint32_t)n;
      }
    }
  }
  return has_any;
}

KP_WIDE_FN void flip_shift(flip_wide_sums near[KP_W_PARTS][3]) {
  for (int q = 0; q < KP_W_PARTS; ++q) {
    near[q][0] = near[q][1];
    near[q][1] = near[q][2];
    flip_clear(&near[q][2]);
  }
}

// All columns of cells from i0 - 1 to i1, each giving to three places; a place is done with the
// last column that reaches it. Which lane a particle falls into depends on its rank in the cell
// alone, so the order in which a place is summed does not depend on where the row was cut, nor on
// how wide registers are.
KP_WIDE_FN void flip_gather_row(int64_t j, int64_t k, int64_t i0, int64_t i1,
                                const flip_gather_args *a, int is_affine) {
  flip_row rows[9];
  int n_rows = flip_rows(a, j, k, rows);
  int64_t here = kp_mac_at(&a->grid, 0, j, k);
  flip_wide_sums near[KP_W_PARTS][3];
  flip_places done;
  int n_done = 0;
  for (int q = 0; q < KP_W_PARTS; ++q) {
    for (int b = 0; b < 3; ++b) {
      flip_clear(&near[q][b]);
    }
  }
  int64_t last = i0 - 4;  // column that had particles
  for (int64_t c = i0 - 1; c <= i1; ++c) {
    int64_t column = flip_wrap(&a->grid, 0, c);
    last = flip_give_column(a, is_affine, rows, n_rows, column, near) ? c : last;
    int has_any = c - last < 3;
    if (c > i0) {
      flip_sums sums = { { 0, 0, 0 }, { 0, 0, 0 }, 0 };
      if (has_any) {
        sums = flip_fold(near);
      }
      done.fill[n_done] = sums.fill;
      for (int axis = 0; axis < 3; ++axis) {
        done.w[axis][n_done] = sums.w[axis];
        done.m[axis][n_done] = sums.m[axis];
      }
      ++n_done;
      if (n_done == FLIP_PLACES || c == i1) {
        flip_store(a, here + c - n_done, n_done, &done);
        n_done = 0;
      }
    }
    if (has_any) {
      flip_shift(near);
    }
  }
}

KP_FN void flip_gather(int64_t j, int64_t k, int64_t i0, int64_t i1, const flip_gather_args *a) {
  flip_gather_row(j, k, i0, i1, a, 0);
}

typedef flip_gather_args flip_gather_affine_args;

KP_FN void flip_gather_affine(int64_t j, int64_t k, int64_t i0, int64_t i1,
                              const flip_gather_affine_args *a) {
  flip_gather_row(j, k, i0, i1, a, 1);
}

// ---- how full cells are -------------------------------------------------------------------------

// The share of each cell that solids leave open, from the distance at its corners.
typedef struct flip_open_args {
  kp_mac_view grid;
  const kp_real *distance;  // m at corners, negative inside; NULL: no solids
  kp_real *open;
} flip_open_args;

KP_FN void flip_open(int64_t j, int64_t k, int64_t i0, int64_t i1, const flip_open_args *a) {
  const kp_mac_view *g = &a->grid;
  const kp_real *d = a->distance;
  int64_t row = g->row;
  int64_t slab = g->dimension == 3 ? g->slab : 0;
  for (int64_t at = kp_mac_at(g, i0, j, k); at < kp_mac_at(g, i1, j, k); ++at) {
    kp_real mean = 1;
    if (d != NULL) {
      kp_real low = d[at] + d[at + 1] + d[at + row] + d[at + row + 1];
      kp_real high = d[at + slab] + d[at + slab + 1] + d[at + slab + row] + d[at + slab + row + 1];
      mean = (low + high) * (kp_real)0.125 * g->inverse_h + (kp_real)0.5;
    }
    mean = mean > 0 ? mean : (kp_real)0;
    a->open[at] = mean < 1 ? mean : (kp_real)1;
  }
}

// What the tent around a centre sees of the open share: a quadratic spline over 27 cells.
typedef struct flip_room_args {
  kp_mac_view grid;
  const kp_real *open;  // ghosts filled: 0 behind walls
  kp_real *room;
} flip_room_args;

KP_FN kp_real flip_spline(const kp_real *v, int64_t at, int64_t step) {
  return (kp_real)0.125 * (v[at - step] + v[at + step]) + (kp_real)0.75 * v[at];
}

KP_FN kp_real flip_spline2(const kp_real *v, int64_t at, int64_t row) {
  return (kp_real)0.125 * (flip_spline(v, at - row, 1) + flip_spline(v, at + row, 1)) +
         (kp_real)0.75 * flip_spline(v, at, 1);
}

// What a tent around the centre of a cell sees of values that are even in each cell.
KP_FN kp_real flip_tent_mean(const kp_mac_view *g, const kp_real *v, int64_t at) {
  kp_real sum = flip_spline2(v, at, g->row);
  if (g->dimension == 3) {
    sum = (kp_real)0.125 *
              (flip_spline2(v, at - g->slab, g->row) + flip_spline2(v, at + g->slab, g->row)) +
          (kp_real)0.75 * sum;
  }
  return sum;
}

KP_FN void flip_room(int64_t j, int64_t k, int64_t i0, int64_t i1, const flip_room_args *a) {
  int64_t end = kp_mac_at(&a->grid, i1, j, k);
  for (int64_t at = kp_mac_at(&a->grid, i0, j, k); at < end; ++at) {
    a->room[at] = flip_tent_mean(&a->grid, a->open, at);
  }
}

// A cell is liquid when it holds particles or is more than half full. How full it is tells how far
// away a flat surface would be, since a tent across it sees (1 - d)^2 / 2 of it at the distance d:
// this is the distance of the ghost fluid.
typedef struct flip_mark_args {
  kp_mac_view grid;
  const kp_real *room, *count;
  kp_real *fill;  // becomes a share of the room
  uint8_t *flags;
  kp_real *distance;  // m, negative in the liquid
} flip_mark_args;

#define FLIP_LEAST_ROOM 0.125     // of the tent: below it nobody can tell how full a cell is
#define FLIP_LEAST_DISTANCE 0.02  // cells: a centre is not closer to the surface than this

KP_FN kp_real flip_distance(kp_real fill) {
  kp_real two = 2;
  kp_real f = fill < 1 ? fill : (kp_real)1;
  return fill < (kp_real)0.5 ? 1 - kp_root(two * f) : kp_root(two * (1 - f)) - 1;
}

KP_FN void flip_mark(int64_t j, int64_t k, int64_t i0, int64_t i1, const flip_mark_args *a) {
  const kp_mac_view *g = &a->grid;
  for (int64_t at = kp_mac_at(g, i0, j, k); at < kp_mac_at(g, i1, j, k); ++at) {
    kp_real room = a->room[at];
    room = room > (kp_real)FLIP_LEAST_ROOM ? room : (kp_real)FLIP_LEAST_ROOM;
    kp_real fill = a->fill[at] / room;
    kp_real d = flip_distance(fill);
    int is_wet = a->count[at] > 0 || fill > (kp_real)0.5;
    kp_real least = (kp_real)FLIP_LEAST_DISTANCE;
    d = is_wet ? (d < -least ? d : -least) : (d > least ? d : least);
    uint8_t flag = a->flags[at];
    if ((flag & KP_CELL_KIND) != KP_CELL_SOLID) {
      a->flags[at] = (uint8_t)((flag & ~KP_CELL_KIND) | (is_wet ? KP_CELL_FLUID : KP_CELL_AIR));
    }
    a->fill[at] = fill;
    a->distance[at] = d * g->h;
  }
}

// ---- tension ------------------------------------------------------------------------------------

typedef struct flip_smooth_args {
  kp_mac_view grid;
  const kp_real *in;  // ghosts filled
  kp_real *out;
} flip_smooth_args;

KP_FN void flip_smooth(int64_t j, int64_t k, int64_t i0, int64_t i1, const flip_smooth_args *a) {
  int64_t end = kp_mac_at(&a->grid, i1, j, k);
  for (int64_t at = kp_mac_at(&a->grid, i0, j, k); at < end; ++at) {
    a->out[at] = flip_tent_mean(&a->grid, a->in, at);
  }
}

// The pressure at the surface (Laplace).
typedef struct flip_jump_args {
  kp_mac_view grid;
  kp_real sigma;  // N/m
  kp_real *jump;  // the curvature on its way in [1/m]
} flip_jump_args;

KP_FN void flip_jump(int64_t j, int64_t k, int64_t i0, int64_t i1, const flip_jump_args *a) {
  int64_t end = kp_mac_at(&a->grid, i1, j, k);
  for (int64_t at = kp_mac_at(&a->grid, i0, j, k); at < end; ++at) {
    a->jump[at] *= a->sigma;
  }
}

// ---- keeping the volume -------------------------------------------------------------------------

// Share of a cell that must leave it: what is beyond full; what is missing, only where no neighbour
// is less than half full, since a surface has less by right.
typedef struct flip_excess_args {
  kp_mac_view grid;
  kp_real share, most;  // of one step
  const uint8_t *flags;
  const kp_real *fill;   // ghosts filled
  const kp_real *depth;  // cells, of a narrow band; NULL: none
  kp_real full;          // cells: what is deeper is full by right
  kp_real *excess;
} flip_excess_args;

#define FLIP_CROWD 0.5  // cells: what cells that are full by right may hold too much

KP_FN kp_real flip_least(const kp_real *fill, const uint8_t *flags, int64_t at, kp_real least) {
  kp_real own = fill[at];
  kp_real f = (flags[at] & KP_CELL_KIND) == KP_CELL_SOLID ? (kp_real)1 : own;
  return f < least ? f : least;
}

KP_FN void flip_excess_part(int64_t first, int64_t end, const flip_excess_args *a) {
  const kp_mac_view *g = &a->grid;
  KP_INDEPENDENT
  for (int64_t at = first; at < end; ++at) {
    kp_real least = 1;
    least = flip_least(a->fill, a->flags, at - 1, least);
    least = flip_least(a->fill, a->flags, at + 1, least);
    least = flip_least(a->fill, a->flags, at - g->row, least);
    least = flip_least(a->fill, a->flags, at + g->row, least);
    if (g->dimension == 3) {
      least = flip_least(a->fill, a->flags, at - g->slab, least);
      least = flip_least(a->fill, a->flags, at + g->slab, least);
    }
    kp_real e = a->share * (a->fill[at] - 1);
    e = ((e < 0) & (least < (kp_real)0.5)) ? (kp_real)0 : e;
    // rounding is no excess: a solver cannot do anything about it
    e = e * e < (kp_real)1e-8 ? (kp_real)0 : e;
    // by right: only a crowd counts
    int is_full = a->depth != NULL ? a->depth[at] >= a->full : 0;
    kp_real crowd = e - a->share * (kp_real)FLIP_CROWD;
    e = is_full ? (crowd > 0 ? crowd : (kp_real)0) : e;
    e = e < a->most ? e : a->most;
    e = e > -a->most ? e : -a->most;
    a->excess[at] = (a->flags[at] & KP_CELL_KIND) == KP_CELL_FLUID ? e : (kp_real)0;
  }
}

KP_FN void flip_excess(int64_t j, int64_t k, int64_t i0, int64_t i1, const flip_excess_args *a) {
  int64_t first = kp_mac_at(&a->grid, i0, j, k);
  const uint8_t *flags = a->flags + first;
  int64_t done = 0;
  for (int64_t from = 0; from < i1 - i0;) {
    int64_t end = kp_mac_wet_part(flags, flags, i1 - i0, &from);
    memset(a->excess + first + done, 0, (size_t)(from - done) * sizeof *a->excess);
    flip_excess_part(first + from, first + end, a);
    done = from = end;
  }
}

// The shift that makes room.
typedef struct flip_spread_args {
  kp_mac_view grid;
  int32_t axis;
  kp_real most;  // m
  const uint8_t *flags;
  const kp_real *coefficient;  // of the face in the pressure, with its open share
  const kp_real *fraction;     // open share; NULL: 1
  const kp_real *push;         // the answer of the solver
  kp_real *shift;              // m
} flip_spread_args;

KP_FN void flip_spread_part(int64_t first, int64_t n, int64_t before, const flip_spread_args *a) {
  const kp_mac_view *g = &a->grid;
  const kp_real *fraction = a->fraction != NULL ? a->fraction + first : NULL;
  const uint8_t *left = a->flags + first + before;
  const uint8_t *right = a->flags + first;
  kp_real most = a->most;
  KP_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    kp_real open = fraction != NULL ? fraction[i] : (kp_real)1;
    kp_real shift = -a->coefficient[first + i] * kp_mac_slope(g, a->push, a->axis, first + i);
    int is_open = open > (kp_real)0.01;
    shift /= is_open ? open : (kp_real)1;
    shift = shift < most ? shift : most;
    shift = shift > -most ? shift : -most;
    int is_wet =
        ((left[i] & KP_CELL_KIND) == KP_CELL_FLUID) | ((right[i] & KP_CELL_KIND) == KP_CELL_FLUID);
    a->shift[first + i] = is_wet & is_open ? shift : (kp_real)0;
  }
}

KP_FN void flip_spread(int64_t j, int64_t k, int64_t i0, int64_t i1, const flip_spread_args *a) {
  const kp_mac_view *g = &a->grid;
  for (int64_t from = i0; from < i1;) {
    kp_mac_piece p = kp_mac_piece_of(g, a->axis, j, k, from, i1);
    int64_t first = kp_mac_at(g, p.i0, j, k);
    // elsewhere it is 0
    for (int64_t i = 0; i < p.i1 - p.i0;) {
      int64_t end = kp_mac_wet_part(a->flags + first + p.before, a->flags + first, p.i1 - p.i0, &i);
      flip_spread_part(first + i, end - i, p.before, a);
      i = end;
    }
    from = p.i1;
  }
}

// ---- faces to particles -------------------------------------------------------------------------

// alpha (u_p + I(u - u_old)) + (1 - alpha) I(u) = alpha u_p - I(alpha u_old) + I(u) (Hong 2009,
// M5): what particles leave behind. Over all items, ghosts too.
typedef struct flip_blend_args {
  kp_real ratio;
  kp_real *before;
} flip_blend_args;

KP_FN void flip_blend(int64_t i, const flip_blend_args *a) {
  a->before[i] = a->ratio * a->before[i];
}

// ---- solids -------------------------------------------------------------------------------------

// A particle in a solid goes back along the distance and loses the speed at which it went in.
typedef struct flip_leave_solids_args {
  kp_mac_view grid;
  kp_real margin;           // m, from the solid
  const kp_real *distance;  // m at corners
  const uint8_t *flags;
  kp_pos *x, *y, *z;
} flip_leave_solids_args;

KP_FN kp_real flip_distance_at(const flip_leave_solids_args *a, const int32_t item[3],
                               const kp_real f[3], int axis, kp_real shift) {
  kp_real d[3] = { f[0], f[1], a->grid.dimension == 3 ? f[2] : (kp_real)0 };
  d[axis] += shift;
  return kp_mac_linear(&a->grid, a->distance,
                       kp_mac_move(&a->grid, 4, item[0], item[1], item[2], d[0], d[1], d[2]));
}

KP_FN void flip_leave_solids(int64_t p, const flip_leave_solids_args *a) {
  const kp_mac_view *g = &a->grid;
  int32_t item[3];
  kp_real f[3];
  if (!flip_locate(g, a->x[p], a->y[p], a->z[p], item, f)) {
    return;
  }
  if (!(a->flags[kp_mac_at(g, item[0], item[1], item[2])] & (KP_CELL_NEAR_SOLID | KP_CELL_SOLID))) {
    return;
  }
  kp_real depth = a->margin - flip_distance_at(a, item, f, 0, 0);
  if (!(depth > 0)) {
    return;
  }
  kp_real slope[3];
  kp_real length2 = 0;
  for (int c = 0; c < 3; ++c) {
    const kp_real quarter = (kp_real)0.25;
    slope[c] = c == 2 && g->dimension == 2 ? (kp_real)0
                                           : flip_distance_at(a, item, f, c, quarter) -
                                                 flip_distance_at(a, item, f, c, -quarter);
    length2 += slope[c] * slope[c];
  }
  if (length2 > 0) {
    kp_real scale = depth / kp_root(length2);
    a->x[p] += (double)(scale * slope[0]);
    a->y[p] += (double)(scale * slope[1]);
    a->z[p] += (double)(scale * slope[2]);
  }
}

// ---- reports ------------------------------------------------------------------------------------

// The number of liquid cells, the volume that cells hold (in cells: tents share every particle out,
// so a thin sheet counts for what it is; what is beyond full is lost), the worst fill and the most
// particles of a cell.
typedef struct flip_report_args {
  int64_t first;
  kp_mac_view grid;
  const uint8_t *flags;
  const kp_real *fill, *open, *count;
} flip_report_args;

#define FLIP_REPORT_OPS KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_MAX, KP_REDUCE_MAX

KP_FN void flip_report(int64_t n, const flip_report_args *a, double *v) {
  int64_t at = a->first + n;
  int is_wet = (a->flags[at] & KP_CELL_KIND) == KP_CELL_FLUID;
  double share = (double)a->fill[at];
  int64_t cell[3];
  kp_mac_cell_of(&a->grid, at, cell);
  for (int c = 0; c < 3; ++c) {
    share = cell[c] >= 0 && cell[c] < a->grid.n[c] ? share : 0.0;
  }
  v[0] = is_wet ? 1.0 : 0.0;
  v[1] = (share < 1.0 ? share : 1.0) * (double)a->open[at];
  v[2] = is_wet ? (double)a->fill[at] : 0.0;
  v[3] = (double)a->count[at];
}
