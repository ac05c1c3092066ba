// What particles and cells do in FLIP: transfers between particles and faces (Zhu & Bridson 2005;
// Jiang et al. 2015 for the affine one), how full cells are, and the correction that keeps the
// volume (after Kugelstadt, Longva, Thuerey & Bender 2019).
//
// Particles are sorted by the cells of the grid, so the particles of a run of cells along x are one
// run in memory. Places are a cell and a fraction 0..1 of it along each axis.
#pragma once

#include "base/random.h"
#include "data/mac_sample.h"
#include "par/kernel.h"

#define FLIP_KERNELS(POINT, REDUCE, ROW, PAIR)                                                     \
  POINT(flip, keys)                                                                                \
  POINT(flip, place)                                                                               \
  POINT(flip, carry)                                                                               \
  POINT(flip, carry_affine)                                                                        \
  POINT(flip, leave_solids)                                                                        \
  POINT(flip, join)                                                                                \
  POINT(flip, blend)                                                                               \
  ROW(flip, gather)                                                                                \
  ROW(flip, gather_affine)                                                                         \
  ROW(flip, open)                                                                                  \
  ROW(flip, room)                                                                                  \
  ROW(flip, mark)                                                                                  \
  ROW(flip, excess)                                                                                \
  ROW(flip, smooth)                                                                                \
  ROW(flip, jump)                                                                                  \
  ROW(flip, spread)                                                                                \
  REDUCE(flip, thrust, FLIP_THRUST_OPS)                                                            \
  REDUCE(flip, report, FLIP_REPORT_OPS)

// ---- where particles are ------------------------------------------------------------------------

// The cell of a point along one axis and how far the point is across it. Beyond the grid it is the
// nearest cell, with a fraction of 0 or 1; is_out tells.
KP_FN int32_t flip_locate_axis(const kp_mac_view *g, int axis, double x, kp_real *fraction,
                               int *is_out) {
  double t = (x - g->lo[axis]) / g->cell;
  double n = (double)g->n[axis];
  *is_out |= !(t >= 0.0 && t <= n);
  t = t > 0.0 ? t : 0.0;  // NaN becomes 0
  t = t < n ? t : n;
  int32_t i = (int32_t)t;
  i = i < g->n[axis] ? i : g->n[axis] - 1;
  *fraction = (kp_real)(t - (double)i);
  return i;
}

// False for a point beyond the grid.
KP_FN int flip_locate(const kp_mac_view *g, double x, double y, double z, int32_t item[3],
                      kp_real f[3]) {
  int is_out = 0;
  item[0] = flip_locate_axis(g, 0, x, &f[0], &is_out);
  item[1] = flip_locate_axis(g, 1, y, &f[1], &is_out);
  item[2] = 0;
  f[2] = (kp_real)0.5;
  if (g->dimension == 3) {
    item[2] = flip_locate_axis(g, 2, z, &f[2], &is_out);
  }
  return !is_out;
}

// The item of the particle's cell; what is beyond the grid comes after all cells, and last of all
// what is to go: particles of deep cells (flip_band_kernels.h), and some of those near them when
// there are too many.
typedef struct flip_keys_args {
  kp_mac_view grid;
  const kp_pos *x, *y, *z;
  const kp_real *deep;   // NULL: nothing goes
  const kp_real *depth;  // cells
  const uint64_t *id;
  uint64_t seed, round;
  double share;  // of the particles below the surface that goes
  uint32_t *keys, *order;
} flip_keys_args;

#define FLIP_INSIDE 1.5  // cells below the surface: what is deeper is full by right

KP_FN int flip_goes(const flip_keys_args *a, int64_t p, int64_t at) {
  if (a->deep == NULL) {
    return 0;
  }
  return a->deep[at] > 0 || (a->depth[at] >= (kp_real)FLIP_INSIDE && a->share > 0.0 &&
                             kp_rng_uniform(a->seed, KP_RNG_FLIP, a->id[p], a->round) < a->share);
}

KP_FN void flip_keys(int64_t p, const flip_keys_args *a) {
  const kp_mac_view *g = &a->grid;
  int32_t item[3];
  kp_real f[3];
  int is_in = flip_locate(g, a->x[p], a->y[p], a->z[p], item, f);
  int64_t at = kp_mac_at(g, item[0], item[1], item[2]);
  a->keys[p] = (uint32_t)(!is_in ? g->count : (flip_goes(a, p, at) ? g->count + 1 : at));
  a->order[p] = (uint32_t)p;
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

// What one particle gives: relative to the cell whose faces are gathered it is at (., ty, tz) from
// the centre and (., ly, lz) from the lowest corner.
typedef struct flip_offsets {
  kp_real ty, tz, ly, lz;
} flip_offsets;

KP_FN kp_real flip_tent(kp_real t) {
  kp_real w = (kp_real)1 - (t < 0 ? -t : t);
  return w > 0 ? w : (kp_real)0;
}

// Column c of cells gives to the places c-1 (near[0]), c and c+1.
KP_FN void flip_give(const flip_gather_args *a, int is_affine, uint32_t p, flip_offsets o,
                     flip_sums near[3]) {
  const kp_real half = (kp_real)0.5;
  kp_real fx = a->fx[p];
  kp_real yc = flip_tent(o.ty);
  kp_real yl = flip_tent(o.ly);
  kp_real zc = 1;
  kp_real zl = 0;
  if (a->grid.dimension == 3) {
    zc = flip_tent(o.tz);
    zl = flip_tent(o.lz);
  }
  kp_real u = a->vx[p];
  kp_real v = a->vy[p];
  kp_real w = a->vz[p];
  kp_real slope[3] = { 0, 0, 0 };
  if (is_affine) {
    u -= a->c[1][p] * o.ty + a->c[2][p] * o.tz;
    v -= a->c[4][p] * o.ly + a->c[5][p] * o.tz;
    w -= a->c[7][p] * o.ty + a->c[8][p] * o.lz;
    slope[0] = a->c[0][p];
    slope[1] = a->c[3][p];
    slope[2] = a->c[6][p];
  }
  // across x: faces at the cell's own ends
  kp_real upper = yc * zc * fx;
  kp_real lower = yc * zc - upper;
  near[1].w[0] += lower;
  near[1].m[0] += lower * (u - slope[0] * fx);
  near[2].w[0] += upper;
  near[2].m[0] += upper * (u + slope[0] * ((kp_real)1 - fx));
  // everything else lies in the middle of cells: of this one and the nearer neighbour
  kp_real side[3];
  side[0] = fx < half ? half - fx : (kp_real)0;
  side[2] = fx < half ? (kp_real)0 : fx - half;
  side[1] = (kp_real)1 - side[0] - side[2];
  for (int n = 0; n < 3; ++n) {
    kp_real dx = (kp_real)n - half - fx;
    kp_real wv = side[n] * (yl * zc);
    kp_real ww = side[n] * (yc * zl);
    near[n].w[1] += wv;
    near[n].m[1] += wv * (v + slope[1] * dx);
    near[n].w[2] += ww;
    near[n].m[2] += ww * (w + slope[2] * dx);
    near[n].fill += side[n] * (yc * zc);
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

KP_FN void flip_store(const flip_gather_args *a, int64_t at, const flip_sums *s) {
  kp_real count = (kp_real)(a->start[at + 1] - a->start[at]);
  a->fill[at] = (a->is_first ? (kp_real)0 : a->fill[at]) + a->volume * s->fill;
  a->count[at] = (a->is_first ? (kp_real)0 : a->count[at]) + count;
  for (int c = 0; c < 3; ++c) {
    kp_real w = s->w[c];
    kp_real m = s->m[c];
    if (!a->is_first) {
      w += a->weight[c][at];
      m += a->velocity[c][at];
    }
    if (a->lack != NULL && (c < 2 || a->grid.dimension == 3)) {
      kp_real more = kp_mac_mean(&a->grid, a->lack, c, at) / a->volume;
      w += more;
      m += more > 0 ? more * a->inner[c][at] : (kp_real)0;
    }
    if (a->is_last) {
      m = w > (kp_real)0 ? m / w : (kp_real)0;
    }
    if (a->weight[c] != NULL) {
      a->weight[c][at] = w;
    }
    a->velocity[c][at] = m;
  }
}

// All columns of cells from i0 - 1 to i1, each giving to three places; a place is stored when the
// last column that reaches it is done. The order in which a place is summed does not depend on
// where the row was cut.
KP_FN void flip_gather_row(int64_t j, int64_t k, int64_t i0, int64_t i1, const flip_gather_args *a,
                           int is_affine) {
  const kp_mac_view *g = &a->grid;
  const kp_real half = (kp_real)0.5;
  int64_t rows[9];
  kp_real dy[9];
  kp_real dz[9];
  int n_rows = 0;
  for (int64_t dk = g->dimension == 3 ? -1 : 0; dk <= (g->dimension == 3 ? 1 : 0); ++dk) {
    for (int64_t dj = -1; dj <= 1; ++dj) {
      rows[n_rows] = kp_mac_at(g, 0, flip_wrap(g, 1, j + dj), flip_wrap(g, 2, k + dk));
      dy[n_rows] = (kp_real)dj;
      dz[n_rows] = (kp_real)dk;
      ++n_rows;
    }
  }
  int64_t here = kp_mac_at(g, 0, j, k);
  flip_sums near[3] = { { { 0, 0, 0 }, { 0, 0, 0 }, 0 },
                        { { 0, 0, 0 }, { 0, 0, 0 }, 0 },
                        { { 0, 0, 0 }, { 0, 0, 0 }, 0 } };
  for (int64_t c = i0 - 1; c <= i1; ++c) {
    int64_t column = flip_wrap(g, 0, c);
    for (int r = 0; r < n_rows; ++r) {
      uint32_t end = a->start[rows[r] + column + 1];
      for (uint32_t p = a->start[rows[r] + column]; p < end; ++p) {
        flip_offsets o;
        o.ly = a->fy[p] + dy[r];
        o.lz = a->fz[p] + dz[r];
        o.ty = o.ly - half;
        o.tz = g->dimension == 3 ? o.lz - half : (kp_real)0;
        flip_give(a, is_affine, p, o, near);
      }
    }
    if (c > i0) {
      flip_store(a, here + c - 1, &near[0]);
    }
    near[0] = near[1];
    near[1] = near[2];
    near[2].fill = 0;
    for (int b = 0; b < 3; ++b) {
      near[2].w[b] = 0;
      near[2].m[b] = 0;
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
  const kp_real *fill;  // ghosts filled
  kp_real *excess;
} flip_excess_args;

KP_FN kp_real flip_least(const kp_real *fill, const uint8_t *flags, int64_t at, kp_real least) {
  kp_real f = (flags[at] & KP_CELL_KIND) == KP_CELL_SOLID ? (kp_real)1 : fill[at];
  return f < least ? f : least;
}

KP_FN void flip_excess(int64_t j, int64_t k, int64_t i0, int64_t i1, const flip_excess_args *a) {
  const kp_mac_view *g = &a->grid;
  for (int64_t at = kp_mac_at(g, i0, j, k); at < kp_mac_at(g, i1, j, k); ++at) {
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
    e = e < 0 && least < (kp_real)0.5 ? (kp_real)0 : e;
    // rounding is no excess: a solver cannot do anything about it
    e = e * e < (kp_real)1e-8 ? (kp_real)0 : e;
    e = e < a->most ? e : a->most;
    e = e > -a->most ? e : -a->most;
    a->excess[at] = (a->flags[at] & KP_CELL_KIND) == KP_CELL_FLUID ? e : (kp_real)0;
  }
}

// The shift that makes room, as a velocity of this step.
typedef struct flip_spread_args {
  kp_mac_view grid;
  int32_t axis;
  kp_real per_dt;  // 1/s
  kp_real most;    // m
  const uint8_t *flags;
  const kp_real *coefficient;  // of the face in the pressure, with its open share
  const kp_real *fraction;     // open share; NULL: 1
  const kp_real *push;         // the answer of the solver
  kp_real *carrier;
} flip_spread_args;

KP_FN void flip_spread(int64_t j, int64_t k, int64_t i0, int64_t i1, const flip_spread_args *a) {
  const kp_mac_view *g = &a->grid;
  int64_t first = kp_mac_at(g, 0, j, k);
  int64_t along = a->axis == 0 ? 0 : (a->axis == 1 ? j : k);
  for (int64_t at = first + i0; at < first + i1; ++at) {
    kp_real open = a->fraction != NULL ? a->fraction[at] : (kp_real)1;
    kp_real shift = -a->coefficient[at] * kp_mac_slope(g, a->push, a->axis, at);
    shift = open > (kp_real)0.01 ? shift / open : (kp_real)0;
    shift = shift < a->most ? shift : a->most;
    shift = shift > -a->most ? shift : -a->most;
    int64_t before = kp_mac_before(g, a->axis, along + (a->axis == 0 ? at - first : 0), at);
    int is_wet = (a->flags[at] & KP_CELL_KIND) == KP_CELL_FLUID ||
                 (a->flags[before] & KP_CELL_KIND) == KP_CELL_FLUID;
    a->carrier[at] = is_wet ? shift * a->per_dt : (kp_real)0;
  }
}

// What carries particles: the flow and that shift.
typedef struct flip_join_args {
  const kp_real *velocity;
  kp_real *carrier;
} flip_join_args;

KP_FN void flip_join(int64_t i, const flip_join_args *a) {
  a->carrier[i] += a->velocity[i];
}

// ---- faces to particles -------------------------------------------------------------------------

// alpha (u_p + I(u - u_old)) + (1 - alpha) I(u) = alpha u_p + I(u - alpha u_old) (Hong 2009, M5):
// u_old becomes what the particles take. Over all items, ghosts too.
typedef struct flip_blend_args {
  kp_real ratio;
  const kp_real *velocity;
  kp_real *before;
} flip_blend_args;

KP_FN void flip_blend(int64_t i, const flip_blend_args *a) {
  a->before[i] = a->velocity[i] - a->ratio * a->before[i];
}

#define FLIP_STRETCH 2.0        // cells that a particle goes between two looks at the velocity
#define FLIP_MOST_STRETCHES 64  // of a step; the last is as long as it must be

typedef struct flip_carry_args {
  kp_mac_view grid;
  double dt;
  kp_real ratio;
  int32_t trace;             // kp_advect_trace
  kp_real gravity[3];        // m/s^2, for what is beyond the grid
  double lo[3], hi[3];       // m, where particles may be
  kp_mac_velocity taken;     // what particles take over; not read by the affine transfer
  kp_mac_velocity velocity;  // of the flow; read by the affine transfer alone
  kp_mac_velocity carrier;   // along which they go
  kp_real *c[9];             // affine
  kp_pos *x, *y, *z;
  kp_real *vx, *vy, *vz;
} flip_carry_args;

// Among the faces across c, a point of the grid that is known by its cell and the fractions: no
// clamping is needed, since ghosts hold what lies beyond.
KP_MAC_READER kp_mac_point flip_point(const kp_mac_view *g, int c, const int32_t item[3],
                                      const kp_real f[3]) {
  const kp_real half = (kp_real)0.5;
  int32_t at[3];
  kp_real t[3];
  for (int b = 0; b < 3; ++b) {
    kp_real d = b == c ? f[b] : f[b] - half;
    int32_t back = d < 0 ? 1 : 0;
    at[b] = item[b] - back;
    t[b] = d + (kp_real)back;
  }
  kp_mac_point p = { at[0], at[1], at[2], t[0], t[1], t[2] };
  if (g->dimension == 2) {
    p.k = 0;
    p.z = 0;
  }
  return p;
}

// Velocity of the faces at that point.
KP_MAC_READER void flip_read(const kp_mac_view *g, kp_mac_velocity v, const int32_t item[3],
                             const kp_real f[3], kp_real out[3]) {
  out[0] = kp_mac_linear(g, v.u, flip_point(g, 0, item, f));
  out[1] = kp_mac_linear(g, v.v, flip_point(g, 1, item, f));
  out[2] = g->dimension == 3 ? kp_mac_linear(g, v.w, flip_point(g, 2, item, f)) : (kp_real)0;
}

// Velocity of the carrier at f cells from the lowest corner of a cell; the first reading of a
// particle is in the cell itself and needs no limits.
KP_MAC_READER void flip_read_at(const flip_carry_args *a, int is_inside, const int32_t item[3],
                                const kp_real f[3], kp_real out[3]) {
  if (is_inside) {
    flip_read(&a->grid, a->carrier, item, f, out);
  } else {
    kp_mac_velocity_near(&a->grid, a->carrier, 4, item, f, out);
  }
}

// Mean velocity over a stretch of time [cells per m/s], k1 that at its start: Euler, the midpoint
// rule, or Ralston's third order (1962).
KP_MAC_READER void flip_mean(const flip_carry_args *a, kp_real stretch, const int32_t item[3],
                             const kp_real f[3], const kp_real k1[3], kp_real mean[3]) {
  kp_real k2[3];
  kp_real k3[3];
  kp_real at[3];
  for (int c = 0; c < 3; ++c) {
    mean[c] = k1[c];
    at[c] = f[c] + (kp_real)0.5 * stretch * k1[c];
  }
  if (a->trace == 0) {
    return;
  }
  kp_mac_velocity_near(&a->grid, a->carrier, 4, item, at, k2);
  for (int c = 0; c < 3; ++c) {
    mean[c] = k2[c];
    at[c] = f[c] + (kp_real)0.75 * stretch * k2[c];
  }
  if (a->trace == 1) {
    return;
  }
  kp_mac_velocity_near(&a->grid, a->carrier, 4, item, at, k3);
  for (int c = 0; c < 3; ++c) {
    mean[c] = (2 * k1[c] + 3 * k2[c] + 4 * k3[c]) * ((kp_real)1 / 9);
  }
}

// The way of a particle over dt through the carrier [m], in stretches of a cell: the midpoint of a
// longer one can lie in other water, and a fast drop whose midpoint is in a pool at rest would
// hover above it and fall ever faster.
KP_MAC_READER void flip_way(const flip_carry_args *a, const int32_t item[3], const kp_real f[3],
                            kp_real way[3]) {
  const kp_mac_view *g = &a->grid;
  kp_real left = (kp_real)a->dt * g->inverse_h;  // cells per m/s
  kp_real turn = left < 0 ? (kp_real)-1 : (kp_real)1;
  left *= turn;
  kp_real at[3] = { f[0], f[1], f[2] };
  kp_real gone[3] = { 0, 0, 0 };
  for (int n = 0; n < FLIP_MOST_STRETCHES && left > 0; ++n) {
    kp_real k1[3];
    kp_real mean[3];
    flip_read_at(a, n == 0, item, at, k1);
    kp_real fastest = 0;
    for (int c = 0; c < 3; ++c) {
      kp_real speed = k1[c] < 0 ? -k1[c] : k1[c];
      fastest = speed > fastest ? speed : fastest;
    }
    kp_real stretch = left;
    if (fastest * left > (kp_real)FLIP_STRETCH && n + 1 < FLIP_MOST_STRETCHES) {
      stretch = -left / kp_floor(-fastest * left * (kp_real)(1.0 / FLIP_STRETCH));
    }
    flip_mean(a, turn * stretch, item, at, k1, mean);
    for (int c = 0; c < 3; ++c) {
      gone[c] += turn * stretch * mean[c];
      at[c] = f[c] + gone[c];
    }
    left -= stretch;
  }
  for (int c = 0; c < 3; ++c) {
    way[c] = gone[c] * g->h;
  }
}

// Around periodic axes, and not closer to closed sides than a particle is wide.
KP_FN double flip_around(const flip_carry_args *a, int axis, double x) {
  const kp_mac_view *g = &a->grid;
  double length = g->n[axis] * g->cell;
  if (!g->is_periodic[axis]) {
    x = x > a->lo[axis] ? x : a->lo[axis];
    return x < a->hi[axis] ? x : a->hi[axis];
  }
  x = x < g->lo[axis] ? x + length : x;
  return x >= g->lo[axis] + length ? x - length : x;
}

KP_FN void flip_move(int64_t p, const flip_carry_args *a, const kp_real way[3]) {
  a->x[p] = flip_around(a, 0, a->x[p] + (double)way[0]);
  a->y[p] = flip_around(a, 1, a->y[p] + (double)way[1]);
  if (a->grid.dimension == 3) {
    a->z[p] = flip_around(a, 2, a->z[p] + (double)way[2]);
  }
}

// Beyond the grid nothing but gravity acts.
KP_FN void flip_fly(int64_t p, const flip_carry_args *a) {
  kp_real dt = (kp_real)a->dt;
  a->vx[p] += dt * a->gravity[0];
  a->vy[p] += dt * a->gravity[1];
  kp_real way[3] = { dt * a->vx[p], dt * a->vy[p], 0 };
  if (a->grid.dimension == 3) {
    a->vz[p] += dt * a->gravity[2];
    way[2] = dt * a->vz[p];
  }
  flip_move(p, a, way);
}

KP_FN void flip_carry(int64_t p, const flip_carry_args *a) {
  const kp_mac_view *g = &a->grid;
  int32_t item[3];
  kp_real f[3];
  if (!flip_locate(g, a->x[p], a->y[p], a->z[p], item, f)) {
    flip_fly(p, a);
    return;
  }
  kp_real taken[3];
  kp_real way[3];
  flip_read(g, a->taken, item, f, taken);
  flip_way(a, item, f, way);
  a->vx[p] = a->ratio * a->vx[p] + taken[0];
  a->vy[p] = a->ratio * a->vy[p] + taken[1];
  a->vz[p] = a->ratio * a->vz[p] + taken[2];
  flip_move(p, a, way);
}

typedef flip_carry_args flip_carry_affine_args;

// Velocity and slopes of the trilinear interpolant (Jiang et al. 2015, Eq. 8 on the faces of each
// component); slopes are per cell [m/s].
KP_FN void flip_take_affine(const kp_mac_view *g, const kp_real *values, kp_mac_point p,
                            kp_real *value, kp_real slope[3]) {
  int32_t at = kp_mac_item(g, p);
  kp_real v[2][2][2];
  for (int c = 0; c < (g->dimension == 3 ? 8 : 4); ++c) {
    v[c >> 2][c >> 1 & 1][c & 1] =
        values[at + (c & 1) + (c >> 1 & 1) * g->row + (c >> 2) * g->slab];
  }
  for (int b = 0; b < 2 && g->dimension == 2; ++b) {
    v[1][b][0] = v[0][b][0];
    v[1][b][1] = v[0][b][1];
  }
  kp_real along[2][2];
  kp_real step[2][2];
  for (int b = 0; b < 4; ++b) {
    kp_real lo = v[b >> 1][b & 1][0];
    kp_real hi = v[b >> 1][b & 1][1];
    along[b >> 1][b & 1] = kp_mac_lerp(lo, hi, p.x);
    step[b >> 1][b & 1] = hi - lo;
  }
  kp_real low = kp_mac_lerp(along[0][0], along[0][1], p.y);
  kp_real high = kp_mac_lerp(along[1][0], along[1][1], p.y);
  *value = kp_mac_lerp(low, high, p.z);
  slope[0] = kp_mac_lerp(kp_mac_lerp(step[0][0], step[0][1], p.y),
                         kp_mac_lerp(step[1][0], step[1][1], p.y), p.z);
  slope[1] = kp_mac_lerp(along[0][1] - along[0][0], along[1][1] - along[1][0], p.z);
  slope[2] = high - low;
}

KP_FN void flip_carry_affine(int64_t p, const flip_carry_affine_args *a) {
  const kp_mac_view *g = &a->grid;
  const kp_real *component[3] = { a->velocity.u, a->velocity.v, a->velocity.w };
  int32_t item[3];
  kp_real f[3];
  if (!flip_locate(g, a->x[p], a->y[p], a->z[p], item, f)) {
    for (int c = 0; c < 9; ++c) {
      a->c[c][p] = 0;
    }
    flip_fly(p, a);
    return;
  }
  kp_real way[3];
  flip_way(a, item, f, way);
  kp_real v[3] = { 0, 0, 0 };
  for (int c = 0; c < g->dimension; ++c) {
    kp_real slope[3];
    kp_real d[3];
    for (int b = 0; b < 3; ++b) {
      d[b] = f[b] - (b == c ? (kp_real)0 : (kp_real)0.5);
    }
    kp_mac_point at = kp_mac_move(g, c, item[0], item[1], item[2], d[0], d[1], d[2]);
    flip_take_affine(g, component[c], at, &v[c], slope);
    for (int b = 0; b < 3; ++b) {
      a->c[3 * c + b][p] = slope[b];
    }
  }
  a->vx[p] = v[0];
  a->vy[p] = v[1];
  a->vz[p] = v[2];
  flip_move(p, a, way);
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

// ---- thrust -------------------------------------------------------------------------------------

// What the pressure does to bodies: a cell presses with p on the area of solid in it, which is what
// its open faces leave unbalanced; the solid is that of the nearest body at its corners.
#define FLIP_THRUSTS 4  // bodies per look

typedef struct flip_thrust_args {
  int64_t first;
  kp_mac_view grid;
  int32_t bodies[FLIP_THRUSTS];
  double centers[FLIP_THRUSTS][3];
  const uint8_t *flags;
  const kp_real *pressure;
  const kp_real *fraction[3];  // [2] NULL in 2D
  const kp_real *distance;     // at corners
  const int32_t *body;         // at corners
} flip_thrust_args;

#define FLIP_SUM6                                                                                  \
  KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM
#define FLIP_THRUST_OPS FLIP_SUM6, FLIP_SUM6, FLIP_SUM6, FLIP_SUM6

KP_FN int32_t flip_body_of(const flip_thrust_args *a, int64_t at) {
  const kp_mac_view *g = &a->grid;
  kp_real nearest = a->distance[at];
  int32_t body = a->body[at];
  for (int c = 1; c < (g->dimension == 3 ? 8 : 4); ++c) {
    int64_t corner = at + (c & 1) + (c >> 1 & 1) * g->row + (c >> 2) * g->slab;
    if (a->distance[corner] < nearest) {
      nearest = a->distance[corner];
      body = a->body[corner];
    }
  }
  return body;
}

KP_FN void flip_thrust(int64_t n, const flip_thrust_args *a, double *v) {
  const kp_mac_view *g = &a->grid;
  int64_t at = a->first + n;
  double area[3] = { 0.0, 0.0, 0.0 };
  for (int k = 0; k < 6 * FLIP_THRUSTS; ++k) {
    v[k] = 0.0;
  }
  if ((a->flags[at] & KP_CELL_KIND) != KP_CELL_FLUID) {
    return;
  }
  int64_t cell[3];
  kp_mac_cell_of(g, at, cell);
  for (int c = 0; c < g->dimension; ++c) {
    const kp_real *f = a->fraction[c];
    // what presses on a side of the domain presses on no body
    int is_lowest = !g->is_periodic[c] && cell[c] == 0;
    int is_last = !g->is_periodic[c] && cell[c] == g->n[c] - 1;
    area[c] =
        (is_lowest ? 1.0 : (double)f[at]) - (is_last ? 1.0 : (double)f[at + kp_mac_stride(g, c)]);
  }
  if (area[0] == 0.0 && area[1] == 0.0 && area[2] == 0.0) {
    return;
  }
  int32_t body = flip_body_of(a, at);
  double push = (double)a->pressure[at] * (g->dimension == 3 ? g->cell * g->cell : g->cell);
  for (int b = 0; b < FLIP_THRUSTS; ++b) {
    if (a->bodies[b] != body) {
      continue;
    }
    double arm[3];
    kp_mac_place(g, KP_MAC_CELL, cell[0], cell[1], cell[2], arm);
    for (int c = 0; c < g->dimension; ++c) {
      arm[c] -= a->centers[b][c];
    }
    for (int c = 0; c < 3; ++c) {
      int d = (c + 1) % 3;
      int e = (c + 2) % 3;
      v[6 * b + c] = push * area[c];
      v[6 * b + 3 + c] = push * (arm[d] * area[e] - arm[e] * area[d]);
    }
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
