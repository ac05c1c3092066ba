// Particle level sets: what a cell, a face or a particle does.
#pragma once

#include "base/random.h"
#include "data/cells.h"
#include "data/mac.h"
#include "data/mac_sample.h"
#include "geom/level_set_kernels.h"
#include "methods/common/region_view.h"
#include "par/kernel.h"

// shares of cells, momentum x 3, kinetic energy, height along gravity
#define PLS_SUMS                                                                                   \
  KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM

#define PLS_KERNELS(POINT, REDUCE, ROW, PAIR)                                                      \
  ROW(pls, flags)                                                                                  \
  ROW(pls, into_solid)                                                                             \
  ROW(pls, pour)                                                                                   \
  ROW(pls, drain)                                                                                  \
  POINT(pls, strike)                                                                               \
  ROW(pls, push)                                                                                   \
  ROW(pls, start)                                                                                  \
  ROW(pls, jump)                                                                                   \
  POINT(pls, move)                                                                                 \
  POINT(pls, escape)                                                                               \
  POINT(pls, list)                                                                                 \
  ROW(pls, correct)                                                                                \
  POINT(pls, fit)                                                                                  \
  POINT(pls, keep)                                                                                 \
  ROW(pls, count)                                                                                  \
  ROW(pls, seed)                                                                                   \
  ROW(pls, swell)                                                                                  \
  ROW(pls, balance)                                                                                \
  ROW(pls, flux)                                                                                   \
  ROW(pls, carry)                                                                                  \
  POINT(pls, fall)                                                                                 \
  ROW(pls, spread)                                                                                 \
  POINT(pls, forget)                                                                               \
  REDUCE(pls, total, KP_REDUCE_SUM)                                                                \
  REDUCE(pls, pass, KP_REDUCE_SUM, KP_REDUCE_SUM)                                                  \
  REDUCE(pls, volume, KP_REDUCE_SUM)                                                               \
  REDUCE(pls, sums, PLS_SUMS)

#define PLS_RADIUS_MIN 0.1  // cells (Enright et al. 2002)
#define PLS_RADIUS_MAX 0.5

// ---- cells

typedef struct pls_flags_args {
  kp_mac_view grid;
  kp_real near;  // m: cells this near to the surface keep first order; 0: none
  const kp_real *phi;
  uint8_t *flags;
} pls_flags_args;

KP_FN void pls_flags(int64_t j, int64_t k, int64_t i0, int64_t i1, const pls_flags_args *a) {
  int64_t at = kp_mac_at(&a->grid, 0, j, k);
  const kp_real *phi = a->phi;
  uint8_t *flags = a->flags;
  kp_real near = a->near;
  for (int64_t i = at + i0; i < at + i1; ++i) {
    int old = flags[i];
    int is_solid = (old & KP_CELL_KIND) == KP_CELL_SOLID;
    int kind = phi[i] < 0 ? KP_CELL_FLUID : KP_CELL_AIR;
    int mark = phi[i] < near && phi[i] > -near ? KP_CELL_NEAR_SOLID : 0;
    flags[i] = (uint8_t)(is_solid ? old : ((old & ~KP_CELL_KIND) | kind | mark));
  }
}

typedef struct pls_into_solid_args {
  kp_mac_view grid;
  int32_t layer;  // from 1
  const uint8_t *flags;
  const kp_real *solid;  // distance at corners
  kp_real *phi;
  const kp_real *reached_in;  // 0: not yet
  kp_real *reached;
} pls_into_solid_args;

// How deep the centre of a cell lies in a solid.
KP_FN kp_real pls_depth(const kp_mac_view *g, const kp_real *solid, int64_t at) {
  int64_t slab = g->dimension == 3 ? g->slab : 0;
  kp_real sum = 0;
  for (int corner = 0; corner < 8; ++corner) {
    sum += solid[at + (corner & 1) + (corner >> 1 & 1) * g->row + (corner >> 2) * slab];
  }
  return -sum / 8;
}

// One layer of solid cells goes on in a straight line from the cells around that have a value: a
// level surface meets a slope as it is, not at a right angle.
KP_FN void pls_into_solid(int64_t j, int64_t k, int64_t i0, int64_t i1,
                          const pls_into_solid_args *a) {
  const kp_mac_view *g = &a->grid;
  int64_t at = kp_mac_at(g, 0, j, k);
  for (int64_t i = at + i0; i < at + i1; ++i) {
    int is_solid = (a->flags[i] & KP_CELL_KIND) == KP_CELL_SOLID;
    if (a->layer == 0) {
      a->reached[i] = (kp_real)!is_solid;
      continue;
    }
    kp_real done = a->reached_in[i];
    if (done == 0) {
      kp_real sum = 0;
      kp_real n = 0;
      for (int c = 0; c < g->dimension; ++c) {
        for (int s = -1; s <= 1; s += 2) {
          int64_t other = i + s * kp_mac_stride(g, c);
          int64_t beyond = other + s * kp_mac_stride(g, c);
          if (a->reached_in[other] != 0) {
            kp_real value = a->phi[other];
            sum += a->reached_in[beyond] != 0 ? 2 * value - a->phi[beyond] : value;
            n += 1;
          }
        }
      }
      if (n > 0) {
        // what is let go ends at the solid
        kp_real depth = a->flags[i] & KP_CELL_RELEASED ? pls_depth(g, a->solid, i) : sum / n;
        a->phi[i] = level_set_max(sum / n, depth);
        done = 1;
      }
    }
    a->reached[i] = done;
  }
}

// What liquid comes from: a disc with a length along its axis, or the inside of a shape.
typedef struct pls_inlet {
  int32_t is_region;
  kp_region_view region;
  double center[3], axis[3];  // of the middle of the disc; the axis has length 1
  double radius, half;        // m
  // of what comes out [m/s], with the turn [rad/s] of the inlet about its origin [m]
  double velocity[3], spin[3], origin[3];
} pls_inlet;

KP_FN double pls_nozzle_distance(const pls_inlet *n, const double x[3]) {
  double along = 0.0;
  double square = 0.0;
  for (int c = 0; c < 3; ++c) {
    along += (x[c] - n->center[c]) * n->axis[c];
  }
  for (int c = 0; c < 3; ++c) {
    double off = x[c] - n->center[c] - along * n->axis[c];
    square += off * off;
  }
  double across = sqrt(square) - n->radius;
  double beyond = fabs(along) - n->half;
  double ox = across > 0.0 ? across : 0.0;
  double oy = beyond > 0.0 ? beyond : 0.0;
  double inner = across > beyond ? across : beyond;
  return sqrt(ox * ox + oy * oy) + (inner < 0.0 ? inner : 0.0);
}

// Distance to it, negative inside. `values` are those of a mesh.
KP_FN double pls_inlet_distance(const pls_inlet *n, const kp_real *values, const double x[3]) {
  return n->is_region ? kp_region_distance(&n->region, values, x[0], x[1], x[2])
                      : pls_nozzle_distance(n, x);
}

typedef struct pls_pour_args {
  kp_mac_view grid;
  pls_inlet inlet;
  const kp_real *values;
  kp_real *phi;
} pls_pour_args;

KP_FN void pls_pour(int64_t j, int64_t k, int64_t i0, int64_t i1, const pls_pour_args *a) {
  const kp_mac_view *g = &a->grid;
  for (int64_t i = i0; i < i1; ++i) {
    double x[3];
    kp_mac_place(g, KP_MAC_CELL, i, j, k, x);
    kp_real d = (kp_real)pls_inlet_distance(&a->inlet, a->values, x);
    int64_t at = kp_mac_at(g, i, j, k);
    a->phi[at] = level_set_min(a->phi[at], d);
  }
}

typedef struct pls_drain_args {
  kp_mac_view grid;
  kp_region_view sink;
  const kp_real *values;
  kp_real *phi;
} pls_drain_args;

KP_FN void pls_drain(int64_t j, int64_t k, int64_t i0, int64_t i1, const pls_drain_args *a) {
  const kp_mac_view *g = &a->grid;
  for (int64_t i = i0; i < i1; ++i) {
    double x[3];
    kp_mac_place(g, KP_MAC_CELL, i, j, k, x);
    double d = kp_region_distance(&a->sink, a->values, x[0], x[1], x[2]);
    int64_t at = kp_mac_at(g, i, j, k);
    // never nearer to the surface than the sink's own: outside of it nothing changes
    a->phi[at] = d < 0.0 ? level_set_max(a->phi[at], (kp_real)-d) : a->phi[at];
  }
}

typedef struct pls_strike_args {
  kp_region_view sink;
  const kp_real *values;
  const kp_pos *x, *y, *z;
  int32_t *sign;
} pls_strike_args;

// Particles of what is drained would bring it back: they are struck out.
KP_FN void pls_strike(int64_t i, const pls_strike_args *a) {
  double d = kp_region_distance(&a->sink, a->values, a->x[i], a->y[i], a->z[i]);
  a->sign[i] = d < 0.0 ? 0 : a->sign[i];
}

typedef struct pls_push_args {
  kp_mac_view grid;
  int32_t axis;
  pls_inlet inlet;
  const kp_real *values;
  kp_real *velocity;
} pls_push_args;

KP_FN void pls_push(int64_t j, int64_t k, int64_t i0, int64_t i1, const pls_push_args *a) {
  const kp_mac_view *g = &a->grid;
  const pls_inlet *n = &a->inlet;
  int c = a->axis, d = (c + 1) % 3, e = (c + 2) % 3;
  for (int64_t i = i0; i < i1; ++i) {
    double x[3];
    kp_mac_place(g, a->axis, i, j, k, x);
    if (pls_inlet_distance(n, a->values, x) < 0.5 * g->cell) {
      double turn = n->spin[d] * (x[e] - n->origin[e]) - n->spin[e] * (x[d] - n->origin[d]);
      a->velocity[kp_mac_at(g, i, j, k)] = (kp_real)(n->velocity[c] + turn);
    }
  }
}

// The velocity a shape starts with, at the faces of its cells.
typedef struct pls_start_args {
  kp_mac_view grid;
  int32_t axis;
  const kp_real *phi;
  const kp_real *values;
  kp_real *velocity;
} pls_start_args;

KP_FN void pls_start(int64_t j, int64_t k, int64_t i0, int64_t i1, const pls_start_args *a) {
  const kp_mac_view *g = &a->grid;
  int64_t at = kp_mac_at(g, 0, j, k);
  for (int64_t i = at + i0; i < at + i1; ++i) {
    a->velocity[i] = kp_mac_mean(g, a->phi, a->axis, i) < g->h ? a->values[i] : a->velocity[i];
  }
}

// sigma kappa: the pressure of the liquid at its surface.
typedef struct pls_jump_args {
  kp_mac_view grid;
  kp_real tension;  // N/m
  kp_real *jump;    // the curvature on its way in
} pls_jump_args;

KP_FN void pls_jump(int64_t j, int64_t k, int64_t i0, int64_t i1, const pls_jump_args *a) {
  int64_t at = kp_mac_at(&a->grid, 0, j, k);
  for (int64_t i = at + i0; i < at + i1; ++i) {
    a->jump[i] *= a->tension;
  }
}

// ---- particles

KP_FN double pls_wrap(double x, double lo, double hi) {
  double width = hi - lo;
  x = x < lo ? x + width : x;
  return x >= hi ? x - width : x;
}

typedef struct pls_move_args {
  kp_mac_view grid;
  double dt;
  double lo[3], hi[3];  // of the domain
  int32_t is_closed[3][2];
  const kp_real *u, *v, *w;
  const kp_real *solid;  // distance at corners; NULL: none
  kp_pos *x, *y, *z;
} pls_move_args;

// Out of solids and closed sides, along the gradient of the solid's distance.
KP_FN void pls_leave_solids(const pls_move_args *a, double x[3]) {
  const kp_mac_view *g = &a->grid;
  const double gap = PLS_RADIUS_MIN * g->cell;
  if (a->solid != NULL) {
    double d =
        (double)kp_mac_linear(g, a->solid, kp_mac_point_at(g, KP_MAC_NODE, x[0], x[1], x[2]));
    if (d < gap) {
      double n[3] = { 0.0, 0.0, 0.0 };
      double square = 0.0;
      for (int c = 0; c < g->dimension; ++c) {
        double p[3] = { x[0], x[1], x[2] };
        p[c] = x[c] + 0.5 * g->cell;
        n[c] =
            (double)kp_mac_linear(g, a->solid, kp_mac_point_at(g, KP_MAC_NODE, p[0], p[1], p[2]));
        p[c] = x[c] - 0.5 * g->cell;
        n[c] -=
            (double)kp_mac_linear(g, a->solid, kp_mac_point_at(g, KP_MAC_NODE, p[0], p[1], p[2]));
        square += n[c] * n[c];
      }
      double scale = square > 0.0 ? (gap - d) / sqrt(square) : 0.0;
      for (int c = 0; c < g->dimension; ++c) {
        x[c] += scale * n[c];
      }
    }
  }
  for (int c = 0; c < g->dimension; ++c) {
    double lo = a->lo[c] + 1e-3 * g->cell;
    double hi = a->hi[c] - 1e-3 * g->cell;
    x[c] = a->is_closed[c][0] && x[c] < lo ? lo : x[c];
    x[c] = a->is_closed[c][1] && x[c] > hi ? hi : x[c];
    x[c] = g->is_periodic[c] ? pls_wrap(x[c], a->lo[c], a->hi[c]) : x[c];
  }
}

// Midpoint rule along the velocity as it is.
KP_FN void pls_move(int64_t i, const pls_move_args *a) {
  const kp_mac_view *g = &a->grid;
  kp_mac_velocity f = { a->u, a->v, a->w };
  double x[3] = { a->x[i], a->y[i], a->z[i] };
  double half[3];
  kp_real v[3];
  kp_mac_velocity_at(g, f, x[0], x[1], x[2], v);
  for (int c = 0; c < 3; ++c) {
    half[c] = x[c] + 0.5 * a->dt * (double)v[c];
    half[c] = g->is_periodic[c] ? pls_wrap(half[c], a->lo[c], a->hi[c]) : half[c];
  }
  kp_mac_velocity_at(g, f, half[0], half[1], half[2], v);
  for (int c = 0; c < 3; ++c) {
    x[c] += a->dt * (double)v[c];
  }
  pls_leave_solids(a, x);
  a->x[i] = x[0];
  a->y[i] = x[1];
  a->z[i] = g->dimension == 2 ? 0.0 : x[2];
}

KP_FN kp_real pls_phi_at(const kp_mac_view *g, const kp_real *phi, double x, double y, double z) {
  return kp_mac_linear(g, phi, kp_mac_point_at(g, KP_MAC_CELL, x, y, z));
}

// Escaped: on the wrong side by more than its radius.
typedef struct pls_escape_args {
  kp_mac_view grid;
  const kp_real *phi;
  const kp_pos *x, *y, *z;
  const int32_t *sign;
  const kp_real *radius;
  uint32_t *mark;
} pls_escape_args;

KP_FN void pls_escape(int64_t i, const pls_escape_args *a) {
  kp_real phi = pls_phi_at(&a->grid, a->phi, a->x[i], a->y[i], a->z[i]);
  a->mark[i] = (kp_real)a->sign[i] * phi < -a->radius[i] ? 1u : 0u;
}

typedef struct pls_list_args {
  const uint32_t *mark, *first;
  uint32_t *list;
} pls_list_args;

// Every marked particle has a place of its own in the list.
KP_FN void pls_list(int64_t i, const pls_list_args *a) {
  if (a->mark[i]) {
    a->list[a->first[i]] = (uint32_t)i;
  }
}

typedef struct pls_correct_args {
  kp_mac_view grid;
  kp_real reach;        // m: beyond it the distance says nothing
  kp_cells_view cells;  // dense; its pointers are not set
  const uint32_t *cell_start;
  const uint32_t *first, *list;
  const kp_pos *x, *y, *z;
  const int32_t *sign;
  const kp_real *radius;
  kp_real *phi;
} pls_correct_args;

// phi+ = max(s (r - d)) over escaped + particles around the centre, phi- = min over the - ones,
// both from phi itself; the smaller of the two wins (Enright et al. 2002). A particle speaks to the
// 2^d centres around it.
KP_FN void pls_correct_cell(const pls_correct_args *a, const kp_cells_view *cells,
                            const double c[3], int64_t at) {
  const kp_mac_view *g = &a->grid;
  double h = g->cell;
  kp_real plus = a->phi[at];
  kp_real minus = plus;
  int is_flat = g->dimension == 2;
  int32_t x0 = kp_cells_coordinate(c[0] - h, cells->inverse_edge);
  int32_t x1 = kp_cells_coordinate(c[0] + h, cells->inverse_edge);
  int32_t y0 = kp_cells_coordinate(c[1] - h, cells->inverse_edge);
  int32_t y1 = kp_cells_coordinate(c[1] + h, cells->inverse_edge);
  int32_t z0 = is_flat ? 0 : kp_cells_coordinate(c[2] - h, cells->inverse_edge);
  int32_t z1 = is_flat ? 0 : kp_cells_coordinate(c[2] + h, cells->inverse_edge);
  for (int32_t z = z0; z <= z1; ++z) {
    for (int32_t y = y0; y <= y1; ++y) {
      uint32_t begin;
      uint32_t end;
      kp_cells_range(cells, x0, x1, y, z, &begin, &end);
      for (uint32_t e = a->first[begin]; e < a->first[end]; ++e) {
        uint32_t p = a->list[e];
        double dx = a->x[p] - c[0];
        double dy = a->y[p] - c[1];
        double dz = is_flat ? 0.0 : a->z[p] - c[2];
        if (fabs(dx) < h && fabs(dy) < h && fabs(dz) < h) {
          kp_real d = (kp_real)sqrt(dx * dx + dy * dy + dz * dz);
          kp_real value = (kp_real)a->sign[p] * (a->radius[p] - d);
          plus = a->sign[p] > 0 ? level_set_max(plus, value) : plus;
          minus = a->sign[p] < 0 ? level_set_min(minus, value) : minus;
        }
      }
    }
  }
  kp_real up = plus < 0 ? -plus : plus;
  kp_real down = minus < 0 ? -minus : minus;
  a->phi[at] = up < down ? plus : minus;
}

KP_FN void pls_correct(int64_t j, int64_t k, int64_t i0, int64_t i1, const pls_correct_args *a) {
  const kp_mac_view *g = &a->grid;
  kp_cells_view cells = a->cells;
  cells.cell_start = a->cell_start;
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(g, i, j, k);
    if (a->phi[at] < a->reach && a->phi[at] > -a->reach) {
      double c[3];
      kp_mac_place(g, KP_MAC_CELL, i, j, k, c);
      pls_correct_cell(a, &cells, c, at);
    }
  }
}

typedef struct pls_fit_args {
  kp_mac_view grid;
  const kp_real *phi;
  const kp_pos *x, *y, *z;
  int32_t *sign;
  kp_real *radius;
} pls_fit_args;

// Between the bounds of Enright et al.
KP_FN kp_real pls_radius(const kp_mac_view *g, kp_real inside) {
  kp_real least = (kp_real)PLS_RADIUS_MIN * g->h;
  kp_real most = (kp_real)PLS_RADIUS_MAX * g->h;
  return inside < least ? least : (inside > most ? most : inside);
}

// r = s phi(x) between its bounds (Hong 2009, 2.47 with what the print lost). Air that the
// correction could not bring back is finer than the grid: its particle is struck out.
KP_FN void pls_fit(int64_t i, const pls_fit_args *a) {
  kp_real phi = pls_phi_at(&a->grid, a->phi, a->x[i], a->y[i], a->z[i]);
  kp_real inside = (kp_real)a->sign[i] * phi;
  int is_lost = a->sign[i] > 0 && inside < -a->radius[i];
  a->sign[i] = is_lost ? 0 : a->sign[i];
  a->radius[i] = pls_radius(&a->grid, inside);
}

// Before seeding: only what has escaped, within the band and the domain, stays.
typedef struct pls_keep_args {
  kp_mac_view grid;
  double lo[3], hi[3];
  kp_real reach;      // m
  int32_t only_lost;  // 1: no seeding; all but those that left the domain stay
  const kp_real *phi;
  const kp_pos *x, *y, *z;
  const int32_t *sign;
  const kp_real *radius;
  uint32_t *keep;
} pls_keep_args;

KP_FN void pls_keep(int64_t i, const pls_keep_args *a) {
  const double x[3] = { a->x[i], a->y[i], a->z[i] };
  int is_in = 1;
  for (int c = 0; c < a->grid.dimension; ++c) {
    is_in = is_in && x[c] >= a->lo[c] && x[c] <= a->hi[c];
  }
  kp_real phi = pls_phi_at(&a->grid, a->phi, x[0], x[1], x[2]);
  kp_real off = phi < 0 ? -phi : phi;
  int has_escaped = (kp_real)a->sign[i] * phi < -a->radius[i] && off < a->reach;
  a->keep[i] = is_in && (a->only_lost || has_escaped) ? 1u : 0u;
}

typedef struct pls_grow {
  uint64_t seed, round;
  int32_t per_cell;
  int32_t in_air;  // 1: particles of both signs
  kp_real reach;   // m
} pls_grow;

// Candidate n of cell `at`: a random place in it, and phi there; 0 when none may be.
KP_FN kp_real pls_candidate(const kp_mac_view *g, const pls_grow *how, const kp_real *phi,
                            int64_t at, int32_t n, double x[3]) {
  uint64_t counter = (how->round * (uint64_t)how->per_cell + (uint64_t)n) * 3;
  int64_t cell[3];
  kp_mac_cell_of(g, at, cell);
  for (int c = 0; c < 3; ++c) {
    double share = kp_rng_uniform(how->seed, KP_RNG_LEVEL_SET, (uint64_t)at, counter + (uint64_t)c);
    x[c] = g->lo[c] + g->cell * ((double)cell[c] + share);
  }
  x[2] = g->dimension == 2 ? 0.0 : x[2];
  kp_real value = pls_phi_at(g, phi, x[0], x[1], x[2]);
  kp_real off = value < 0 ? -value : value;
  int may_be = value < 0 || how->in_air;
  return may_be && off < how->reach && off >= (kp_real)PLS_RADIUS_MIN * g->h ? value : (kp_real)0;
}

KP_FN int pls_grows(const pls_grow *how, const uint8_t *flags, const kp_real *phi, kp_real h,
                    int64_t at) {
  kp_real far = how->reach + h;
  return (flags[at] & KP_CELL_KIND) != KP_CELL_SOLID && phi[at] < far && phi[at] > -far;
}

typedef struct pls_count_args {
  kp_mac_view grid;
  pls_grow grow;
  const uint8_t *flags;
  const kp_real *phi;
  uint32_t *counts;
} pls_count_args;

KP_FN void pls_count(int64_t j, int64_t k, int64_t i0, int64_t i1, const pls_count_args *a) {
  const kp_mac_view *g = &a->grid;
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(g, i, j, k);
    uint32_t count = 0;
    if (pls_grows(&a->grow, a->flags, a->phi, g->h, at)) {
      for (int32_t n = 0; n < a->grow.per_cell; ++n) {
        double x[3];
        count += pls_candidate(g, &a->grow, a->phi, at, n, x) != 0 ? 1u : 0u;
      }
    }
    a->counts[at] = count;
  }
}

typedef struct pls_seed_args {
  kp_mac_view grid;
  pls_grow grow;
  int64_t old;  // particles there were before
  uint64_t next_id;
  const uint8_t *flags;
  const kp_real *phi;
  const uint32_t *places;
  kp_pos *x, *y, *z;
  uint64_t *id;
  int32_t *sign;
  kp_real *radius;
} pls_seed_args;

// Every cell writes the particles between its place and that of the next one.
KP_FN void pls_seed(int64_t j, int64_t k, int64_t i0, int64_t i1, const pls_seed_args *a) {
  const kp_mac_view *g = &a->grid;
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(g, i, j, k);
    int64_t place = a->places[at];
    if (!pls_grows(&a->grow, a->flags, a->phi, g->h, at)) {
      continue;
    }
    for (int32_t n = 0; n < a->grow.per_cell; ++n) {
      double x[3];
      kp_real phi = pls_candidate(g, &a->grow, a->phi, at, n, x);
      if (phi != 0) {
        int64_t p = a->old + place;
        a->x[p] = x[0];
        a->y[p] = x[1];
        a->z[p] = x[2];
        a->id[p] = a->next_id + (uint64_t)place;
        a->sign[p] = phi < 0 ? -1 : 1;
        a->radius[p] = pls_radius(g, phi < 0 ? -phi : phi);
        ++place;
      }
    }
  }
}

// ---- volume

#define PLS_SHARES 1048576.0  // parts of a cell that its volume is counted in
#define PLS_LONGEST_WAY 8  // cells in a step that are sampled by halves; beyond that more coarsely

// What the shares of cells are counted from.
typedef struct pls_wet {
  const uint8_t *flags;
  const kp_real *phi;
  const kp_real *solid;  // distance at corners; NULL: none
} pls_wet;

// Share of a cell that is not solid, from the depth of its centre: exact for faces along the axes.
KP_FN double pls_open_share(const kp_mac_view *g, const kp_real *solid, int64_t at) {
  if (solid == NULL) {
    return 1.0;
  }
  double share = 0.5 - (double)pls_depth(g, solid, at) / g->cell;
  return share < 0.0 ? 0.0 : (share > 1.0 ? 1.0 : share);
}

// Share of a cell that the distance says is liquid.
KP_FN double pls_wet_share(const kp_mac_view *g, const kp_real *phi, int64_t at) {
  // beyond them no plane through the cell cuts it, whatever its slope within reason
  const kp_real most = 2 * g->h;
  if (phi[at] >= most || phi[at] <= -most) {
    return phi[at] < 0 ? 1.0 : 0.0;
  }
  return level_set_share_at(g, phi, at);
}

typedef struct pls_volume_args {
  int64_t first;
  kp_mac_view grid;
  pls_wet wet;
} pls_volume_args;

// Liquid of a cell in whole parts: their sum is exact, so any order of summing gives the same bits.
KP_FN void pls_volume(int64_t t, const pls_volume_args *a, double *out) {
  const kp_mac_view *g = &a->grid;
  int64_t at = a->first + t;
  int64_t cell[3];
  out[0] = 0.0;
  if (level_set_cell(g, at, cell) && a->wet.phi[at] < 2 * g->h) {
    double share = pls_wet_share(g, a->wet.phi, at) * pls_open_share(g, a->wet.solid, at);
    out[0] = floor(PLS_SHARES * share + 0.5);
  }
}

// Liquid that leaves through open sides in a step, and what inflows bring, in whole parts of cells.
// The cell beside the side says how much of the face is wet.
typedef struct pls_pass_args {
  int64_t first;
  kp_mac_view grid;
  int32_t is_open[3][2], is_inflow[3][2];
  double shift;  // dt / h
  const uint8_t *flags;
  const kp_real *phi;
  const kp_real *u, *v, *w;
} pls_pass_args;

KP_FN void pls_pass(int64_t t, const pls_pass_args *a, double *out) {
  const kp_mac_view *g = &a->grid;
  const kp_real *velocity[3] = { a->u, a->v, a->w };
  int64_t at = a->first + t;
  int64_t cell[3];
  out[0] = out[1] = 0.0;
  if (!level_set_cell(g, at, cell) || (a->flags[at] & KP_CELL_KIND) == KP_CELL_SOLID ||
      !(a->phi[at] < g->h)) {
    return;
  }
  for (int c = 0; c < g->dimension; ++c) {
    for (int s = 0; s < 2; ++s) {
      if (cell[c] != (s == 0 ? 0 : g->n[c] - 1) || !(a->is_open[c][s] || a->is_inflow[c][s])) {
        continue;
      }
      double speed = (double)velocity[c][at + s * kp_mac_stride(g, c)];
      double outwards = s == 0 ? -speed : speed;
      double way = a->is_open[c][s] ? fmax(outwards, 0.0) : fmax(-outwards, 0.0);
      double parts = level_set_share_at(g, a->phi, at) * a->shift * way;
      out[a->is_open[c][s] ? 0 : 1] += floor(PLS_SHARES * parts + 0.5);
    }
  }
}

// The divergence that brings the volume back: of every cell what it lacks, and one for all. The
// line where a surface meets a solid creeps through cut cells, which answer as far as they are
// open.
typedef struct pls_swell_args {
  kp_mac_view grid;
  kp_real rate;   // 1/s: for all
  kp_real share;  // 1/s: of what a cell lacks
  kp_real most;   // 1/s: for one cell
  const uint8_t *flags;
  const kp_real *solid;  // distance at corners; NULL: none
  const kp_real *deficit;
  kp_real *source;
} pls_swell_args;

KP_FN void pls_swell(int64_t j, int64_t k, int64_t i0, int64_t i1, const pls_swell_args *a) {
  int64_t at = kp_mac_at(&a->grid, 0, j, k);
  for (int64_t i = at + i0; i < at + i1; ++i) {
    int is_water = (a->flags[i] & KP_CELL_KIND) == KP_CELL_FLUID;
    kp_real open = (kp_real)pls_open_share(&a->grid, a->solid, i);
    kp_real own = open * a->share * a->deficit[i];
    own = own < -a->most ? -a->most : (own > a->most ? a->most : own);
    a->source[i] = is_water ? own + a->rate : (kp_real)0;
  }
}

// ---- the balance of every cell

typedef enum pls_balance_mode {
  PLS_BALANCE_BEGIN,    // fraction = what phi says
  PLS_BALANCE_MEASURE,  // deficit = fraction - what phi says
  PLS_BALANCE_KEEP      // fraction = what phi says + deficit
} pls_balance_mode;

typedef struct pls_balance_args {
  kp_mac_view grid;
  int32_t mode;
  kp_real reach;  // m: beside solids that move phi is believed
  pls_wet wet;
  const kp_real *still;  // distance of the solids that stay, at corners; NULL: none moves
  kp_real *fraction;
  kp_real *deficit;
} pls_balance_args;

// Beside a solid that moves fluxes through open faces do not add up to what it covers in a step.
KP_FN int pls_is_swept(const pls_balance_args *a, int64_t at) {
  if (a->still == NULL) {
    return 0;
  }
  kp_real nearest = -pls_depth(&a->grid, a->wet.solid, at);
  return nearest < a->reach && nearest < -pls_depth(&a->grid, a->still, at);
}

KP_FN void pls_balance(int64_t j, int64_t k, int64_t i0, int64_t i1, const pls_balance_args *a) {
  const kp_mac_view *g = &a->grid;
  int64_t first = kp_mac_at(g, 0, j, k);
  for (int64_t at = first + i0; at < first + i1; ++at) {
    if (a->wet.phi[at] >= 2 * g->h && a->fraction[at] == 0) {
      a->deficit[at] = 0;
      continue;
    }
    double open = pls_open_share(g, a->wet.solid, at);
    double share = pls_wet_share(g, a->wet.phi, at);
    kp_real held = (kp_real)(share * open);
    kp_real off = a->mode == PLS_BALANCE_MEASURE ? a->fraction[at] - held : (kp_real)0;
    if (a->mode == PLS_BALANCE_KEEP) {
      // what is drained takes its part along
      kp_real before = a->fraction[at] - a->deficit[at];
      off = held < before ? a->deficit[at] * (held / before) : a->deficit[at];
    }
    int is_solid = (a->wet.flags[at] & KP_CELL_KIND) == KP_CELL_SOLID;
    int is_lost = is_solid || pls_is_swept(a, at);
    off = is_lost ? (kp_real)0 : off;
    if (is_lost || a->mode != PLS_BALANCE_MEASURE) {
      a->fraction[at] = held + off;
    }
    a->deficit[at] = off;
  }
}

typedef struct pls_flux_args {
  kp_mac_view grid;
  int32_t axis;
  int32_t is_wall[2], is_open[2];  // the sides across the axis
  kp_real shift;                   // dt / h
  kp_real reach;                   // m: beyond it is air
  const kp_real *phi;
  const kp_real *deficit;
  const kp_real *fraction;  // open shares of faces; NULL: all open
  const kp_real *u, *v, *w;
  kp_real *flux;  // cells in a step
} pls_flux_args;

// The cell around a point.
KP_FN int64_t pls_cell_around(const kp_mac_view *g, kp_mac_point p) {
  int64_t at = kp_mac_item(g, p);
  at += p.x < (kp_real)0.5 ? 0 : 1;
  at += p.y < (kp_real)0.5 ? 0 : g->row;
  return at + (g->dimension == 2 || p.z < (kp_real)0.5 ? 0 : g->slab);
}

// What lies on the way that ends at a face, as a mean: that much passes it in a step.
KP_FN kp_real pls_upstream(const pls_flux_args *a, int64_t i, int64_t j, int64_t k,
                           const kp_real d[3]) {
  const kp_mac_view *g = &a->grid;
  kp_real longest = 0;
  for (int c = 0; c < 3; ++c) {
    longest = level_set_max(longest, d[c] < 0 ? -d[c] : d[c]);
  }
  // a sample for each half of a cell
  int n = longest < PLS_LONGEST_WAY ? 1 + (int)(2 * longest) : 1 + (int)(2 * PLS_LONGEST_WAY);
  // so far from the surface all of the way is wet, or dry
  int64_t at = kp_mac_at(g, i, j, k);
  kp_real one = a->phi[at];
  kp_real other = a->phi[at - kp_mac_stride(g, a->axis)];
  kp_real clear = (2 * longest + (kp_real)1.5) * g->h;
  int is_deep = one < -clear && other < -clear;
  int is_sure = is_deep || (one > clear && other > clear);
  kp_real sum = is_deep ? (kp_real)n : (kp_real)0;
  for (int s = 0; s < n; ++s) {
    kp_real t = ((kp_real)s + (kp_real)0.5) / (kp_real)n;
    kp_real x[3];
    for (int c = 0; c < 3; ++c) {
      x[c] = -t * d[c] - (c == a->axis ? (kp_real)0.5 : (kp_real)0);
    }
    kp_mac_point p =
        kp_mac_move(g, KP_MAC_CELL, (int32_t)i, (int32_t)j, (int32_t)k, x[0], x[1], x[2]);
    if (!is_sure) {
      // the surface is smeared over half a cell
      kp_real wet = (kp_real)0.5 - 2 * g->inverse_h * kp_mac_linear(g, a->phi, p);
      sum += wet < 0 ? (kp_real)0 : (wet > 1 ? (kp_real)1 : wet);
    }
    sum += a->deficit[pls_cell_around(g, p)];
  }
  return sum / (kp_real)n;
}

KP_FN kp_real pls_flux_of(const pls_flux_args *a, int64_t i, int64_t j, int64_t k, int64_t at) {
  const kp_mac_view *g = &a->grid;
  int64_t along = a->axis == 0 ? i : (a->axis == 1 ? j : k);
  int64_t before = at - kp_mac_stride(g, a->axis);
  if (a->phi[at] > a->reach && a->phi[before] > a->reach) {
    return 0;
  }
  const kp_mac_velocity f = { a->u, a->v, a->w };
  kp_real d[3];
  kp_mac_velocity_of_face(g, f, a->axis, at, d);
  for (int c = 0; c < 3; ++c) {
    d[c] = c < g->dimension ? d[c] * a->shift : (kp_real)0;
  }
  kp_real own = d[a->axis];
  int is_end = !g->is_periodic[a->axis] && (along == 0 || along == g->n[a->axis]);
  kp_real open = a->fraction != NULL && !is_end ? a->fraction[at] : (kp_real)1;
  if (is_end) {
    int side = along == 0 ? 0 : 1;
    int is_inwards = side == 0 ? own > 0 : own < 0;
    open = a->is_wall[side] || (a->is_open[side] && is_inwards) ? (kp_real)0 : open;
  }
  return open * own != 0 ? open * own * pls_upstream(a, i, j, k, d) : (kp_real)0;
}

KP_FN void pls_flux(int64_t j, int64_t k, int64_t i0, int64_t i1, const pls_flux_args *a) {
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(&a->grid, i, j, k);
    a->flux[at] = pls_flux_of(a, i, j, k, at);
  }
}

typedef struct pls_carry_args {
  kp_mac_view grid;
  const kp_real *x, *y, *z;  // fluxes; z is NULL in 2D
  kp_real *fraction;
} pls_carry_args;

KP_FN void pls_carry(int64_t j, int64_t k, int64_t i0, int64_t i1, const pls_carry_args *a) {
  const kp_mac_view *g = &a->grid;
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(g, i, j, k);
    kp_real out = a->x[kp_mac_behind(g, 0, i, at)] - a->x[at];
    out += a->y[kp_mac_behind(g, 1, j, at)] - a->y[at];
    out += a->z != NULL ? a->z[kp_mac_behind(g, 2, k, at)] - a->z[at] : (kp_real)0;
    a->fraction[at] -= out;
  }
}

typedef struct pls_spread_args {
  kp_mac_view grid;
  int32_t lo[3], hi[3];  // cells of the window
  const uint8_t *flags;
  const kp_real *phi;
  const kp_real *solid;    // distance at corners; NULL: none
  const kp_real *open[3];  // shares of faces; NULL: all open
  const kp_real *in;
  kp_real *out;
  kp_real *fraction;
} pls_spread_args;

// What cell `from` gives of its deficit to its neighbour `to` in a pass. Water shares with water;
// what lies in the air goes to where the distance is smaller, what lies in a solid out of it. A cut
// cell takes as much as it is open, so that cells come to lack the same of what they may hold.
KP_FN kp_real pls_gives(const pls_spread_args *a, int64_t from, int64_t to) {
  int is_dry = !(a->phi[from] < 0) || (a->flags[from] & KP_CELL_KIND) == KP_CELL_SOLID;
  int is_solid = (a->flags[to] & KP_CELL_KIND) == KP_CELL_SOLID;
  int is_down = a->phi[to] < 0 || (is_dry && a->phi[to] < a->phi[from]);
  kp_real share = is_dry && a->phi[to] < 0 ? (kp_real)0.75 : (kp_real)0.5;
  if (!is_down || is_solid || a->in[from] == 0) {
    return 0;
  }
  share *= (kp_real)pls_open_share(&a->grid, a->solid, to);
  return share / (kp_real)a->grid.dimension;
}

KP_FN kp_real pls_gain(const pls_spread_args *a, const int64_t cell[3], int64_t at) {
  const kp_mac_view *g = &a->grid;
  const kp_real *in = a->in;
  kp_real gain = 0;
  for (int c = 0; c < g->dimension; ++c) {
    int64_t behind = kp_mac_behind(g, c, cell[c], at);
    int64_t before = kp_mac_before(g, c, cell[c], at);
    int has_behind = g->is_periodic[c] || cell[c] + 1 < a->hi[c];
    int has_before = g->is_periodic[c] || cell[c] > a->lo[c];
    has_behind = has_behind && (in[at] != 0 || in[behind] != 0);
    has_before = has_before && (in[at] != 0 || in[before] != 0);
    if (has_behind && (a->open[c] == NULL || a->open[c][behind] > 0)) {
      gain += pls_gives(a, behind, at) * in[behind] - pls_gives(a, at, behind) * in[at];
    }
    if (has_before && (a->open[c] == NULL || a->open[c][at] > 0)) {
      gain += pls_gives(a, before, at) * in[before] - pls_gives(a, at, before) * in[at];
    }
  }
  return gain;
}

KP_FN void pls_spread(int64_t j, int64_t k, int64_t i0, int64_t i1, const pls_spread_args *a) {
  for (int64_t i = i0; i < i1; ++i) {
    const int64_t cell[3] = { i, j, k };
    int64_t at = kp_mac_at(&a->grid, i, j, k);
    kp_real gain = pls_gain(a, cell, at);
    a->out[at] = a->in[at] + gain;
    a->fraction[at] += gain;
  }
}

typedef struct pls_fall_args {
  kp_mac_view grid;
  int32_t lo[3], hi[3];  // cells of the window
  int32_t axis, way;     // of gravity: along it or against it
  kp_real far;           // m
  const uint8_t *flags;
  const kp_real *phi;
  kp_real *deficit;
  kp_real *fraction;
} pls_fall_args;

KP_FN void pls_give(const pls_fall_args *a, int64_t at, kp_real amount) {
  a->deficit[at] += amount;
  a->fraction[at] += amount;
}

// A column: what lies far from any liquid, spray finer than the grid, falls to where some is near,
// or onto a solid, at once.
KP_FN void pls_fall(int64_t t, const pls_fall_args *a) {
  int b = a->axis == 0 ? 1 : 0;
  int c = a->axis == 2 ? 1 : 2;
  int64_t width = a->hi[b] - a->lo[b];
  int64_t cell[3];
  cell[b] = a->lo[b] + t % width;
  cell[c] = a->lo[c] + t / width;
  cell[a->axis] = a->way > 0 ? a->lo[a->axis] : a->hi[a->axis] - 1;
  int64_t at = kp_mac_at(&a->grid, cell[0], cell[1], cell[2]);
  int64_t step = a->way * kp_mac_stride(&a->grid, a->axis);
  int64_t n = a->hi[a->axis] - a->lo[a->axis];
  int64_t last = at;
  kp_real falling = 0;
  for (int64_t i = 0; i < n; ++i, at += step) {
    int is_solid = (a->flags[at] & KP_CELL_KIND) == KP_CELL_SOLID;
    if (!is_solid && a->phi[at] >= a->far) {
      kp_real own = a->deficit[at];
      falling += own;
      pls_give(a, at, -own);
      last = at;
    } else if (falling != 0) {
      pls_give(a, is_solid ? last : at, falling);
      falling = 0;
    }
  }
  if (falling != 0) {
    pls_give(a, last, falling);
  }
}

// Cells that the window has left hold nothing.
typedef struct pls_forget_args {
  kp_mac_view grid;
  int32_t lo[3], hi[3];
  kp_real *fraction;
} pls_forget_args;

KP_FN void pls_forget(int64_t at, const pls_forget_args *a) {
  int64_t cell[3];
  int is_in = 1;
  kp_mac_cell_of(&a->grid, at, cell);
  for (int c = 0; c < 3; ++c) {
    is_in = is_in && cell[c] >= a->lo[c] && cell[c] < a->hi[c];
  }
  a->fraction[at] = is_in ? a->fraction[at] : (kp_real)0;
}

typedef struct pls_total_args {
  int64_t first;
  kp_mac_view grid;
  const kp_real *fraction;
} pls_total_args;

KP_FN void pls_total(int64_t t, const pls_total_args *a, double *out) {
  int64_t cell[3];
  int is_in = level_set_cell(&a->grid, a->first + t, cell);
  out[0] = is_in ? floor(PLS_SHARES * (double)a->fraction[a->first + t] + 0.5) : 0.0;
}

// ---- sums

typedef struct pls_sums_args {
  int64_t first;
  kp_mac_view grid;
  double up[3];  // gravity's direction reversed, times g
  const uint8_t *flags;
  const kp_real *phi;
  const kp_real *u, *v, *w;
} pls_sums_args;

// Cells count by the share that is liquid.
KP_FN void pls_sums(int64_t t, const pls_sums_args *a, double *out) {
  const kp_mac_view *g = &a->grid;
  int64_t at = a->first + t;
  int64_t cell[3];
  int is_in = 1;
  kp_mac_cell_of(g, at, cell);
  for (int c = 0; c < 6; ++c) {
    out[c] = 0.0;
    is_in = is_in && (c >= 3 || (cell[c] >= 0 && cell[c] < g->n[c]));
  }
  if (!is_in || (a->flags[at] & KP_CELL_KIND) == KP_CELL_SOLID || a->phi[at] > g->h) {
    return;
  }
  kp_mac_velocity velocity = { a->u, a->v, a->w };
  kp_real v[3];
  double share = level_set_share_at(g, a->phi, at);
  kp_mac_velocity_of_cell(g, velocity, at, v);
  double x[3];
  kp_mac_place(g, KP_MAC_CELL, cell[0], cell[1], cell[2], x);
  out[0] = share;
  for (int c = 0; c < g->dimension; ++c) {
    out[1 + c] = share * (double)v[c];
    out[4] += share * 0.5 * (double)v[c] * (double)v[c];
    out[5] += share * a->up[c] * x[c];
  }
}
