// How particles and cells go along the velocity of the faces, and what particles take over from it:
// one at a time, or side by side in lanes.
#pragma once

#include "data/mac_lanes.h"
#include "data/mac_spot.h"
#include "math/rounding.h"
#include "par/kernel.h"

// ---- where particles are ------------------------------------------------------------------------

// The cell of a point along one axis and how far the point is across it. Beyond the grid it is the
// nearest cell, with a fraction of 0 or 1; is_out tells.
KP_FN int32_t flip_locate_axis(const kp_mac_view *g, int axis, double x, kp_real *fraction,
                               int *is_out) {
  double t = (x - g->lo[axis]) / g->cell;
  double n = (double)g->n[axis];
  *is_out |= !((t >= 0.0) & (t <= n));
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

// ---- ways ---------------------------------------------------------------------------------------

#define FLIP_STRETCH 2.0        // cells that a particle goes between two looks at the velocity
#define FLIP_LONG 8.0           // the same where the velocity hardly changes
#define FLIP_BEND 0.5           // cells between the ends of Euler's step and of the one taken
#define FLIP_CAUTION 0.8        // share of it that the next stretch is made for
#define FLIP_ANY 1e9            // cells: as long as it comes
#define FLIP_MOST_STRETCHES 64  // of a step; the last is as long as it must be

typedef struct flip_carry_args {
  kp_mac_view grid;
  double dt;
  kp_real ratio;
  int32_t trace;             // kp_advect_trace
  kp_real gravity[3];        // m/s^2, for what is beyond the grid
  double lo[3], hi[3];       // m, where particles may be
  kp_mac_velocity taken;     // what particles leave behind; what affine slopes are of
  kp_mac_velocity velocity;  // of the flow, along which they go
  kp_mac_velocity shift;     // m, before they go
  kp_real per_shift;         // 1/m: cells per metre of it; 0 where there is none
  kp_real *c[9];             // affine
  kp_pos *x, *y, *z;
  kp_real *vx, *vy, *vz;
} flip_carry_args;

// Velocity of faces at f cells from the lowest corner of a cell.
KP_MAC_READER void flip_read(const kp_mac_view *g, kp_mac_velocity v, const int32_t item[3],
                             const kp_real f[3], kp_real out[3]) {
  kp_mac_spot spot;
  kp_mac_spot_near(g, item, f, &spot);
  kp_mac_velocity_spot(g, v, &spot, out);
}

// Mean velocity over a stretch of time [cells per m/s], k1 that at its start: Euler, the midpoint
// rule, or Ralston's third order (1962).
KP_MAC_READER void flip_mean(const kp_mac_view *g, const flip_carry_args *a, kp_real stretch,
                             const int32_t item[3], const kp_real f[3], const kp_real k1[3],
                             kp_real mean[3]) {
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
  flip_read(g, a->velocity, item, at, k2);
  for (int c = 0; c < 3; ++c) {
    mean[c] = k2[c];
    at[c] = f[c] + (kp_real)0.75 * stretch * k2[c];
  }
  if (a->trace == 1) {
    return;
  }
  flip_read(g, a->velocity, item, at, k3);
  for (int c = 0; c < 3; ++c) {
    mean[c] = (2 * k1[c] + 3 * k2[c] + 4 * k3[c]) * ((kp_real)1 / 9);
  }
}

// Where a particle that makes room goes before it moves [cells].
KP_MAC_READER void flip_shift_of(const kp_mac_view *g, const flip_carry_args *a,
                                 const kp_mac_spot *spot, kp_real out[3]) {
  kp_mac_velocity_spot(g, a->shift, spot, out);
  for (int c = 0; c < 3; ++c) {
    out[c] *= a->per_shift;
  }
}

// What is left of a way in equal stretches of at most so many cells: the length of the first.
KP_FN kp_real flip_cut(kp_real left, kp_real fastest, kp_real most) {
  kp_real cells = fastest * left;
  kp_real parts = -kp_floor(-cells / most);
  return left / (cells > most ? parts : (kp_real)1);
}

KP_FN kp_real flip_largest(const kp_real v[3]) {
  kp_real most = 0;
  for (int c = 0; c < 3; ++c) {
    kp_real size = v[c] < 0 ? -v[c] : v[c];
    most = size > most ? size : most;
  }
  return most;
}

// A stretch that is too long, `bend` between the velocity at its start and the mean of it.
KP_FN int flip_is_far(kp_real stretch, kp_real fastest, kp_real bend) {
  return (stretch * fastest > (kp_real)(1.001 * FLIP_LONG)) |
         ((stretch * fastest > (kp_real)FLIP_STRETCH) & (stretch * bend > (kp_real)FLIP_BEND));
}

// Cells that a stretch may have, from one of so many cells whose mean velocity ends `bend` cells
// off Euler's: that grows with the square of the stretch, and half a cell is allowed.
KP_FN kp_real flip_reach(kp_real cells, kp_real bend) {
  const kp_real most = (kp_real)FLIP_LONG;
  const kp_real least = (kp_real)FLIP_STRETCH;
  kp_real some = bend > (kp_real)1e-30 ? bend : (kp_real)1e-30;
  kp_real reach = cells * kp_root((kp_real)(FLIP_CAUTION * FLIP_BEND) / some);
  reach = reach < most ? reach : most;
  return reach > least ? reach : least;
}

// The way of a particle over dt along the velocity [cells], on top of what it has gone before.
// First all of it is tried; where that is too far it goes in stretches of at least two cells: the
// midpoint of a longer one can lie in other water, and a fast drop whose midpoint is in a pool at
// rest would hover above it and fall ever faster. Where Euler's step and the one taken end within
// half a cell of each other the water is the same, and a stretch may be longer. k1 is the velocity
// at its start.
KP_MAC_READER void flip_way(const kp_mac_view *g, const flip_carry_args *a, const int32_t item[3],
                            const kp_real f[3], kp_real k1[3], kp_real gone[3]) {
  kp_real left = (kp_real)a->dt * g->inverse_h;  // cells per m/s
  kp_real turn = left < 0 ? (kp_real)-1 : (kp_real)1;
  left *= turn;
  kp_real at[3] = { f[0] + gone[0], f[1] + gone[1], f[2] + gone[2] };
  kp_real reach = (kp_real)FLIP_ANY;
  for (int n = 0; n < FLIP_MOST_STRETCHES && left > 0; ++n) {
    kp_real mean[3];
    if (n > 0) {
      flip_read(g, a->velocity, item, at, k1);
    }
    kp_real fastest = flip_largest(k1);
    kp_real stretch =
        flip_cut(left, fastest, n + 1 < FLIP_MOST_STRETCHES ? reach : (kp_real)FLIP_ANY);
    flip_mean(g, a, turn * stretch, item, at, k1, mean);
    const kp_real bend[3] = { mean[0] - k1[0], mean[1] - k1[1], mean[2] - k1[2] };
    reach = flip_reach(stretch * fastest, stretch * flip_largest(bend));
    if (flip_is_far(stretch, fastest, flip_largest(bend)) && n + 1 < FLIP_MOST_STRETCHES) {
      stretch = flip_cut(left, fastest, reach);
      flip_mean(g, a, turn * stretch, item, at, k1, mean);
      const kp_real less[3] = { mean[0] - k1[0], mean[1] - k1[1], mean[2] - k1[2] };
      reach = flip_reach(stretch * fastest, stretch * flip_largest(less));
    }
    for (int c = 0; c < 3; ++c) {
      gone[c] += turn * stretch * mean[c];
      at[c] = f[c] + gone[c];
    }
    left -= stretch;
  }
}

// Those of a group that are on such a way, side by side.
typedef struct flip_walkers {
  int32_t who[KP_MAC_GROUP];  // of the group
  kp_mac_items item;
  kp_mac_vectors from;  // cells from its lowest corner
  kp_mac_vectors gone;
  kp_real left[KP_MAC_GROUP];   // cells per m/s
  kp_real reach[KP_MAC_GROUP];  // cells; less than 0: the next stretch is taken as it comes
  kp_mac_vectors way;           // of who has arrived
} flip_walkers;

KP_MAC_READER void flip_walkers_add(flip_walkers *w, int n, int who, const int32_t item[3],
                                    const kp_real f[3], const kp_real gone[3], kp_real reach) {
  w->who[n] = who;
  w->reach[n] = reach;
  for (int c = 0; c < 3; ++c) {
    w->item.c[c][n] = item[c];
    w->from.c[c][n] = f[c];
    w->gone.c[c][n] = gone[c];
  }
}

// One stretch of each, or a shorter one the next time.
KP_FN void flip_walkers_step(flip_walkers *w, int n, const kp_mac_view *g, kp_mac_velocity velocity,
                             kp_real turn) {
  const kp_real half = (kp_real)0.5;
  kp_mac_spots spots;
  kp_mac_vectors at;
  kp_mac_vectors k1;
  kp_mac_vectors k2;
  kp_real stretch[KP_MAC_GROUP];
  for (int c = 0; c < 3; ++c) {
    for (int i = 0; i < n; ++i) {
      at.c[c][i] = w->from.c[c][i] + w->gone.c[c][i];
    }
  }
  kp_mac_lanes_near(g, n, &w->item, &at, &spots);
  kp_mac_lanes_velocity(g, velocity, n, &spots, &k1);
  KP_INDEPENDENT
  for (int i = 0; i < n; ++i) {
    const kp_real v[3] = { k1.c[0][i], k1.c[1][i], k1.c[2][i] };
    kp_real reach = w->reach[i];
    stretch[i] = flip_cut(w->left[i], flip_largest(v), reach < 0 ? -reach : reach);
    at.c[0][i] += half * (turn * stretch[i]) * v[0];
    at.c[1][i] += half * (turn * stretch[i]) * v[1];
    at.c[2][i] += half * (turn * stretch[i]) * v[2];
  }
  kp_mac_lanes_near(g, n, &w->item, &at, &spots);
  kp_mac_lanes_velocity(g, velocity, n, &spots, &k2);
  KP_INDEPENDENT
  for (int i = 0; i < n; ++i) {
    const kp_real v[3] = { k1.c[0][i], k1.c[1][i], k1.c[2][i] };
    const kp_real bend[3] = { k2.c[0][i] - v[0], k2.c[1][i] - v[1], k2.c[2][i] - v[2] };
    kp_real fastest = flip_largest(v);
    kp_real next = flip_reach(stretch[i] * fastest, stretch[i] * flip_largest(bend));
    int is_far = flip_is_far(stretch[i], fastest, flip_largest(bend)) & (w->reach[i] >= 0);
    kp_real goes = is_far ? (kp_real)0 : stretch[i];
    w->gone.c[0][i] += turn * goes * k2.c[0][i];
    w->gone.c[1][i] += turn * goes * k2.c[1][i];
    w->gone.c[2][i] += turn * goes * k2.c[2][i];
    w->left[i] -= goes;
    w->reach[i] = is_far ? -next : next;
  }
}

// Those that have arrived leave; how many are left?
KP_MAC_READER int flip_walkers_leave(flip_walkers *w, int n) {
  int n_left = 0;
  for (int i = 0; i < n; ++i) {
    if (w->left[i] > 0 && n_left == i) {
      ++n_left;
    } else if (w->left[i] > 0) {
      w->who[n_left] = w->who[i];
      w->left[n_left] = w->left[i];
      w->reach[n_left] = w->reach[i];
      for (int c = 0; c < 3; ++c) {
        w->item.c[c][n_left] = w->item.c[c][i];
        w->from.c[c][n_left] = w->from.c[c][i];
        w->gone.c[c][n_left] = w->gone.c[c][i];
      }
      ++n_left;
    } else {
      for (int c = 0; c < 3; ++c) {
        w->way.c[c][w->who[i]] = w->gone.c[c][i];
      }
    }
  }
  return n_left;
}

// The ways of the first n; the same bits as flip_way has, by lanes.
KP_MAC_READER void flip_walk(flip_walkers *w, int n, const kp_mac_view *g,
                             const flip_carry_args *a) {
  kp_real left = (kp_real)a->dt * g->inverse_h;
  kp_real turn = left < 0 ? (kp_real)-1 : (kp_real)1;
  for (int i = 0; i < n; ++i) {
    w->left[i] = left * turn;
  }
  // a stretch that is found too long comes again
  for (int round = 0; n > 0; ++round) {
    int n_lanes = kp_mac_n_lanes(n);
    for (int i = n; i < n_lanes; ++i) {
      for (int c = 0; c < 3; ++c) {
        w->item.c[c][i] = w->item.c[c][0];
        w->from.c[c][i] = w->gone.c[c][i] = 0;
      }
      w->left[i] = 0;
      w->reach[i] = (kp_real)FLIP_LONG;
    }
    for (int i = 0; i < n && round >= 2 * FLIP_MOST_STRETCHES; ++i) {
      w->reach[i] = -(kp_real)FLIP_ANY;
    }
    flip_walkers_step(w, n_lanes, g, a->velocity, turn);
    n = flip_walkers_leave(w, n);
  }
}

// Around periodic axes, and not closer to closed sides than a particle is wide. Sums stand for
// branches, so that loops over particles are vectorised.
KP_FN double flip_around(const flip_carry_args *a, int axis, double x) {
  const kp_mac_view *g = &a->grid;
  double length = g->n[axis] * g->cell;
  double around = g->is_periodic[axis] ? length : 0.0;
  x += x < g->lo[axis] ? around : 0.0;
  x -= x >= g->lo[axis] + length ? around : 0.0;
  x = x > a->lo[axis] ? x : a->lo[axis];
  return x < a->hi[axis] ? x : a->hi[axis];
}

// way [m]
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

// Most grids are solid and without shells: a view that says so takes the tests out of the loop.
KP_MAC_READER kp_mac_view flip_plain_view(const kp_mac_view *g) {
  kp_mac_view plain = *g;
  plain.dimension = 3;
  plain.occluded = NULL;
  return plain;
}

// Particles of a group on their way.
typedef struct flip_group {
  int32_t is_out[KP_MAC_GROUP];  // beyond the grid
  kp_mac_items item;
  kp_mac_vectors f;      // cells from its lowest corner
  kp_mac_vectors shift;  // cells
  kp_mac_vectors taken;
  kp_mac_vectors k1, k2;        // m/s, at the start and in the middle of the way
  kp_mac_vectors way;           // cells, with the shift
  kp_real first[KP_MAC_GROUP];  // minus the cells of the first stretch; 0: the way is done in one
} flip_group;

// Where they are; the last register is filled up with a place that exists.
KP_FN void flip_group_locate(flip_group *s, int64_t p, int n, const kp_mac_view *g,
                             const flip_carry_args *a) {
  const kp_pos *x[3] = { a->x + p, a->y + p, a->z + p };
  for (int i = 0; i < n; ++i) {
    s->is_out[i] = 0;
  }
  for (int c = 0; c < 3; ++c) {
    const kp_pos *along = x[c];
    KP_INDEPENDENT
    for (int i = 0; i < n; ++i) {
      int is_out = 0;
      s->item.c[c][i] = flip_locate_axis(g, c, along[i], &s->f.c[c][i], &is_out);
      s->is_out[i] |= is_out;
    }
    for (int i = n; i < kp_mac_n_lanes(n); ++i) {
      s->item.c[c][i] = 0;
      s->f.c[c][i] = 0;
    }
  }
}

// What they read: what they leave behind, the shift, and the velocity at the start and in the
// middle.
KP_FN void flip_group_read(flip_group *s, int n, const kp_mac_view *g, const flip_carry_args *a) {
  const kp_real left = (kp_real)a->dt * g->inverse_h;  // cells per m/s
  const kp_real per_shift = a->per_shift;
  kp_mac_vectors at;
  kp_mac_spots spots;
  kp_mac_lanes_near(g, n, &s->item, &s->f, &spots);
  kp_mac_lanes_velocity(g, a->taken, n, &spots, &s->taken);
  kp_mac_lanes_velocity(g, a->shift, n, &spots, &s->shift);
  for (int c = 0; c < 3; ++c) {
    for (int i = 0; i < n; ++i) {
      s->shift.c[c][i] *= per_shift;
      at.c[c][i] = s->f.c[c][i] + s->shift.c[c][i];
    }
  }
  kp_mac_lanes_near(g, n, &s->item, &at, &spots);
  kp_mac_lanes_velocity(g, a->velocity, n, &spots, &s->k1);
  for (int c = 0; c < 3; ++c) {
    for (int i = 0; i < n; ++i) {
      at.c[c][i] = at.c[c][i] + (kp_real)0.5 * left * s->k1.c[c][i];
    }
  }
  kp_mac_lanes_near(g, n, &s->item, &at, &spots);
  kp_mac_lanes_velocity(g, a->velocity, n, &spots, &s->k2);
}

// Ways by the midpoint rule; of those for whom it will not do the first stretch.
KP_FN void flip_group_near(flip_group *s, int n, const kp_mac_view *g, const flip_carry_args *a) {
  const kp_real left = (kp_real)a->dt * g->inverse_h;
  KP_INDEPENDENT
  for (int i = 0; i < n; ++i) {
    const kp_real v[3] = { s->k1.c[0][i], s->k1.c[1][i], s->k1.c[2][i] };
    const kp_real bend[3] = { s->k2.c[0][i] - v[0], s->k2.c[1][i] - v[1], s->k2.c[2][i] - v[2] };
    kp_real fastest = flip_largest(v);
    int is_far = flip_is_far(left, fastest, flip_largest(bend));
    kp_real reach = flip_reach(left * fastest, left * flip_largest(bend));
    s->first[i] = (is_far & !s->is_out[i]) ? -reach : (kp_real)0;
  }
  for (int c = 0; c < 3; ++c) {
    for (int i = 0; i < n; ++i) {
      s->way.c[c][i] = s->shift.c[c][i] + left * s->k2.c[c][i];
    }
  }
}

// The ways of those, in stretches.
KP_FN void flip_group_far(flip_group *s, int n, const kp_mac_view *g, const flip_carry_args *a) {
  flip_walkers w;
  int n_far = 0;
  for (int i = 0; i < n; ++i) {
    if (s->first[i] < 0) {
      const int32_t item[3] = { s->item.c[0][i], s->item.c[1][i], s->item.c[2][i] };
      const kp_real f[3] = { s->f.c[0][i], s->f.c[1][i], s->f.c[2][i] };
      const kp_real shift[3] = { s->shift.c[0][i], s->shift.c[1][i], s->shift.c[2][i] };
      flip_walkers_add(&w, n_far++, i, item, f, shift, s->first[i]);
    }
  }
  if (n_far == 0) {
    return;
  }
  flip_walk(&w, n_far, g, a);
  for (int c = 0; c < 3; ++c) {
    for (int i = 0; i < n; ++i) {
      s->way.c[c][i] = s->first[i] < 0 ? w.way.c[c][i] : s->way.c[c][i];
    }
  }
}

// Velocities are taken over and ways gone; beyond the grid particles fly.
KP_FN void flip_group_move(const flip_group *s, int64_t p, int n, const kp_mac_view *g,
                           const flip_carry_args *a) {
  kp_pos *x[3] = { a->x + p, a->y + p, a->z + p };
  kp_real *v[3] = { a->vx + p, a->vy + p, a->vz + p };
  int32_t n_out = 0;
  for (int i = 0; i < n; ++i) {
    n_out += s->is_out[i];
  }
  for (int c = 0; c < 3; ++c) {
    KP_INDEPENDENT
    for (int i = 0; i < n; ++i) {
      kp_real takes = s->is_out[i] ? (kp_real)0 : (kp_real)1;
      kp_real ratio = s->is_out[i] ? (kp_real)1 : a->ratio;
      v[c][i] = ratio * v[c][i] + takes * (s->k1.c[c][i] - s->taken.c[c][i]);
    }
    KP_INDEPENDENT
    for (int i = 0; i < n; ++i) {
      double old = x[c][i];
      double to = flip_around(a, c, old + (double)(s->way.c[c][i] * g->h));
      x[c][i] = s->is_out[i] ? old : to;
    }
  }
  for (int i = 0; i < n && n_out > 0; ++i) {
    if (s->is_out[i]) {
      flip_fly(p + i, a);
    }
  }
}

// A run of particles, by groups.
KP_FN void flip_carry(int64_t j, int64_t k, int64_t i0, int64_t i1, const flip_carry_args *args) {
  const flip_carry_args copy = *args;
  const flip_carry_args *a = &copy;
  kp_mac_view plain = flip_plain_view(&a->grid);
  (void)j;
  (void)k;
  for (int64_t p = i0; p < i1; p += KP_MAC_GROUP) {
    flip_group s;
    int n = (int)(i1 - p < KP_MAC_GROUP ? i1 - p : KP_MAC_GROUP);
    flip_group_locate(&s, p, n, &plain, a);
    flip_group_read(&s, kp_mac_n_lanes(n), &plain, a);
    flip_group_near(&s, n, &plain, a);
    flip_group_far(&s, n, &plain, a);
    flip_group_move(&s, p, n, &plain, a);
  }
}

typedef flip_carry_args flip_carry_single_args;

KP_MAC_READER void flip_carry_one(int64_t p, const kp_mac_view *g, const flip_carry_args *a) {
  int32_t item[3];
  kp_real f[3];
  if (!flip_locate(g, a->x[p], a->y[p], a->z[p], item, f)) {
    flip_fly(p, a);
    return;
  }
  kp_real start[3];
  kp_real way[3];
  kp_real taken[3];
  kp_mac_spot spot;
  kp_mac_spot_near(g, item, f, &spot);
  kp_mac_velocity_spot(g, a->taken, &spot, taken);
  flip_shift_of(g, a, &spot, way);
  const kp_real at[3] = { f[0] + way[0], f[1] + way[1], f[2] + way[2] };
  flip_read(g, a->velocity, item, at, start);
  a->vx[p] = a->ratio * a->vx[p] + (start[0] - taken[0]);
  a->vy[p] = a->ratio * a->vy[p] + (start[1] - taken[1]);
  a->vz[p] = a->ratio * a->vz[p] + (start[2] - taken[2]);
  flip_way(g, a, item, f, start, way);
  for (int c = 0; c < 3; ++c) {
    way[c] *= g->h;
  }
  flip_move(p, a, way);
}

KP_MAC_READER void flip_carry_single(int64_t p, const flip_carry_single_args *a) {
  if (a->grid.dimension == 3 && a->grid.occluded == NULL) {
    kp_mac_view plain = flip_plain_view(&a->grid);
    flip_carry_one(p, &plain, a);
  } else {
    flip_carry_one(p, &a->grid, a);
  }
}

typedef flip_carry_args flip_carry_affine_args;

// Slopes of the trilinear interpolant (Jiang et al. 2015, Eq. 8 on the faces of each
// component); slopes are per cell [m/s].
KP_FN void flip_take_affine(const kp_mac_view *g, const kp_real *values, kp_mac_point p,
                            kp_real slope[3]) {
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
  slope[0] = kp_mac_lerp(kp_mac_lerp(step[0][0], step[0][1], p.y),
                         kp_mac_lerp(step[1][0], step[1][1], p.y), p.z);
  slope[1] = kp_mac_lerp(along[0][1] - along[0][0], along[1][1] - along[1][0], p.z);
  slope[2] = high - low;
}

KP_FN void flip_carry_affine(int64_t p, const flip_carry_affine_args *a) {
  const kp_mac_view *g = &a->grid;
  const kp_real *component[3] = { a->taken.u, a->taken.v, a->taken.w };
  int32_t item[3];
  kp_real f[3];
  if (!flip_locate(g, a->x[p], a->y[p], a->z[p], item, f)) {
    for (int c = 0; c < 9; ++c) {
      a->c[c][p] = 0;
    }
    flip_fly(p, a);
    return;
  }
  kp_real start[3];
  kp_real way[3];
  kp_mac_spot spot;
  kp_mac_spot_near(g, item, f, &spot);
  flip_shift_of(g, a, &spot, way);
  const kp_real begin[3] = { f[0] + way[0], f[1] + way[1], f[2] + way[2] };
  flip_read(g, a->velocity, item, begin, start);
  flip_way(g, a, item, f, start, way);
  for (int c = 0; c < g->dimension; ++c) {
    kp_real slope[3];
    kp_real d[3];
    for (int b = 0; b < 3; ++b) {
      d[b] = begin[b] - (b == c ? (kp_real)0 : (kp_real)0.5);
    }
    kp_mac_point at = kp_mac_move(g, c, item[0], item[1], item[2], d[0], d[1], d[2]);
    flip_take_affine(g, component[c], at, slope);
    for (int b = 0; b < 3; ++b) {
      a->c[3 * c + b][p] = slope[b];
    }
  }
  a->vx[p] = start[0];
  a->vy[p] = start[1];
  a->vz[p] = g->dimension == 3 ? start[2] : (kp_real)0;
  for (int c = 0; c < 3; ++c) {
    way[c] *= g->h;
  }
  flip_move(p, a, way);
}
