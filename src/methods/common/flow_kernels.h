// One incompressible flow on a MAC grid: coefficients and right side of the pressure equation,
// correction of the velocity, extrapolation, forces, sums.
//
// Flux through a face that a solid covers in part: A u + (1 - A) u_solid with A the open share; in
// a cell these fluxes balance, since a rigid solid keeps its own volume (Ng, Min & Gibou 2009).
#pragma once

#include <string.h>

#include "data/mac.h"
#include "data/mac_sample.h"
#include "methods/common/flow_sides.h"
#include "methods/common/force_field_kernels.h"
#include "par/kernel.h"

// largest sum of speeds along the axes, largest speed squared, broken items
#define FLOW_REPORT KP_REDUCE_MAX, KP_REDUCE_MAX, KP_REDUCE_SUM
// fluid cells, momentum x 3, kinetic energy, height above 0 along gravity, all over rho h^3
#define FLOW_SUMS                                                                                  \
  KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM

// lowest and highest cell where something is going on, per axis
#define FLOW_ACTIVE                                                                                \
  KP_REDUCE_MIN, KP_REDUCE_MIN, KP_REDUCE_MIN, KP_REDUCE_MAX, KP_REDUCE_MAX, KP_REDUCE_MAX

#define FLOW_KERNELS(POINT, REDUCE, ROW, PAIR)                                                     \
  ROW(flow, coefficients)                                                                          \
  ROW(flow, right)                                                                                 \
  ROW(flow, correct)                                                                               \
  ROW(flow, known)                                                                                 \
  ROW(flow, spread)                                                                                \
  ROW(flow, constrain)                                                                             \
  ROW(flow, force)                                                                                 \
  POINT(flow, quiet)                                                                               \
  REDUCE(flow, active, FLOW_ACTIVE)                                                                \
  REDUCE(flow, report, FLOW_REPORT)                                                                \
  REDUCE(flow, sums, FLOW_SUMS)                                                                    \
  REDUCE(flow, residual, KP_REDUCE_MAX)

#define KP_FLOW_WATCHED 3

// Smallest share of the way to the surface: beyond it a cell is as good as at the surface.
#define FLOW_THETA ((kp_real)1e-3)

KP_FN int flow_kind(const uint8_t *flags, int64_t at) {
  return flags[at] & KP_CELL_KIND;
}

KP_FN int64_t flow_along(int axis, int64_t i, int64_t j, int64_t k) {
  return axis == 0 ? i : (axis == 1 ? j : k);
}

// Share of the way from the fluid cell to the surface between two centres.
KP_FN kp_real flow_theta(kp_real inside, kp_real outside) {
  kp_real a = inside < 0 ? -inside : (kp_real)0;
  kp_real b = outside > 0 ? outside : (kp_real)0;
  kp_real theta = a + b > 0 ? a / (a + b) : (kp_real)1;
  return theta > FLOW_THETA ? theta : FLOW_THETA;
}

// ---- pressure equation

// c of the faces across one axis.
typedef struct flow_coefficients_args {
  kp_mac_view grid;
  flow_sides sides;
  int32_t axis;
  kp_real inverse_density;  // m^3/kg
  const uint8_t *flags;
  const kp_real *fraction;       // NULL: all open
  const kp_real *distance;       // at centres; NULL: no free surface
  const kp_real *inverse_field;  // m^3/kg at the faces; NULL: the number
  kp_real *coefficient;
} flow_coefficients_args;

KP_FN void flow_coefficients(int64_t j, int64_t k, int64_t i0, int64_t i1,
                             const flow_coefficients_args *a) {
  const kp_mac_view *g = &a->grid;
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(g, i, j, k);
    int64_t along = flow_along(a->axis, i, j, k);
    int64_t before = kp_mac_before(g, a->axis, along, at);
    int left = flow_kind(a->flags, before);
    int right = flow_kind(a->flags, at);
    int is_side = flow_side_of(g, &a->sides, a->axis, along) >= 0;
    int is_wet = left == KP_CELL_FLUID || right == KP_CELL_FLUID;
    int is_shut = left == KP_CELL_SOLID || right == KP_CELL_SOLID || is_side;
    kp_real c = a->inverse_field != NULL ? a->inverse_field[at] : a->inverse_density;
    c *= a->fraction != NULL ? a->fraction[at] : (kp_real)1;
    if (a->distance != NULL && left != right) {
      kp_real in = left == KP_CELL_FLUID ? a->distance[before] : a->distance[at];
      kp_real out = left == KP_CELL_FLUID ? a->distance[at] : a->distance[before];
      c /= flow_theta(in, out);
    }
    a->coefficient[at] = is_wet && !is_shut ? c : (kp_real)0;
  }
}

typedef struct flow_right_args {
  kp_mac_view grid;
  flow_sides sides;
  kp_real inverse_dt;
  const uint8_t *flags;
  const kp_real *u, *v, *w;
  const kp_real *fraction_x, *fraction_y, *fraction_z;  // NULL: all open
  const kp_real *solid_x, *solid_y, *solid_z;           // m/s; NULL: solids stand still
  const kp_real *source;                                // 1/s; NULL: none
  const kp_real *distance, *jump;                       // m, Pa at centres; jump NULL: none
  const kp_real *coefficient_x, *coefficient_y, *coefficient_z;  // with jump
  kp_real *right;
} flow_right_args;

// Pressure of the surface between a fluid cell and an air cell.
KP_FN kp_real flow_jump(const kp_real *jump, const kp_real *distance, int64_t in, int64_t out) {
  kp_real theta = flow_theta(distance[in], distance[out]);
  return jump[in] + theta * (jump[out] - jump[in]);
}

// Volume per area and time through the lower face of cell `at` across an axis.
KP_FN kp_real flow_flux(const flow_right_args *a, int axis, int64_t along, int64_t at) {
  const kp_real *velocity[3] = { a->u, a->v, a->w };
  const kp_real *fraction[3] = { a->fraction_x, a->fraction_y, a->fraction_z };
  const kp_real *solid[3] = { a->solid_x, a->solid_y, a->solid_z };
  int side = flow_side_of(&a->grid, &a->sides, axis, along);
  if (side >= 0) {
    return a->sides.speed[axis][side];
  }
  kp_real open = fraction[axis] != NULL ? fraction[axis][at] : (kp_real)1;
  kp_real shut = solid[axis] != NULL ? solid[axis][at] : (kp_real)0;
  return open * velocity[axis][at] + (1 - open) * shut;
}

KP_FN kp_real flow_outflow(const flow_right_args *a, int64_t i, int64_t j, int64_t k, int64_t at) {
  const kp_mac_view *g = &a->grid;
  kp_real sum = (flow_flux(a, 0, i + 1, at + 1) - flow_flux(a, 0, i, at)) +
                (flow_flux(a, 1, j + 1, at + g->row) - flow_flux(a, 1, j, at));
  if (g->dimension == 3) {
    sum += flow_flux(a, 2, k + 1, at + g->slab) - flow_flux(a, 2, k, at);
  }
  return sum * g->inverse_h;
}

// What the surface pressure around a fluid cell adds to its equation.
KP_FN kp_real flow_jumps(const flow_right_args *a, const int64_t cell[3], int64_t at) {
  const kp_mac_view *g = &a->grid;
  const kp_real *coefficient[3] = { a->coefficient_x, a->coefficient_y, a->coefficient_z };
  kp_real sum = 0;
  for (int axis = 0; axis < g->dimension; ++axis) {
    int64_t before = kp_mac_before(g, axis, cell[axis], at);
    int64_t behind = kp_mac_behind(g, axis, cell[axis], at);
    if (flow_kind(a->flags, before) == KP_CELL_AIR) {
      sum += coefficient[axis][at] * flow_jump(a->jump, a->distance, at, before);
    }
    if (flow_kind(a->flags, behind) == KP_CELL_AIR) {
      sum += coefficient[axis][at + kp_mac_stride(g, axis)] *
             flow_jump(a->jump, a->distance, at, behind);
    }
  }
  return sum * g->inverse_h * g->inverse_h;
}

// b = -(div u - source) / dt
KP_FN void flow_right(int64_t j, int64_t k, int64_t i0, int64_t i1, const flow_right_args *a) {
  const kp_mac_view *g = &a->grid;
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(g, i, j, k);
    kp_real b = 0;
    if (flow_kind(a->flags, at) == KP_CELL_FLUID) {
      kp_real wanted = a->source != NULL ? a->source[at] : (kp_real)0;
      b = (wanted - flow_outflow(a, i, j, k, at)) * a->inverse_dt;
      const int64_t cell[3] = { i, j, k };
      b += a->jump != NULL ? flow_jumps(a, cell, at) : (kp_real)0;
    }
    a->right[at] = b;
  }
}

// u -= dt c / A (p - p_before) / h
typedef struct flow_correct_args {
  kp_mac_view grid;
  int32_t axis;
  kp_real dt;
  const uint8_t *flags;
  const kp_real *coefficient;
  const kp_real *fraction;  // NULL: all open
  const kp_real *pressure, *rest;
  const kp_real *distance, *jump;  // jump NULL: none
  kp_real *velocity;
} flow_correct_args;

KP_FN void flow_correct(int64_t j, int64_t k, int64_t i0, int64_t i1, const flow_correct_args *a) {
  const kp_mac_view *g = &a->grid;
  kp_real scale = a->dt * g->inverse_h;
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(g, i, j, k);
    int64_t before = kp_mac_before(g, a->axis, flow_along(a->axis, i, j, k), at);
    kp_real c = a->coefficient[at];
    kp_real open = a->fraction != NULL ? a->fraction[at] : (kp_real)1;
    int is_left = flow_kind(a->flags, before) == KP_CELL_FLUID;
    int is_right = flow_kind(a->flags, at) == KP_CELL_FLUID;
    kp_real left = is_left ? a->pressure[before] : (kp_real)0;
    kp_real right = is_right ? a->pressure[at] : (kp_real)0;
    if (a->jump != NULL && is_left != is_right) {
      kp_real surface =
          flow_jump(a->jump, a->distance, is_left ? before : at, is_left ? at : before);
      left = is_left ? left : surface;
      right = is_right ? right : surface;
    }
    kp_real step = right - left;
    // what the pressure itself cannot hold (kp_poisson_rest)
    step += (is_right ? a->rest[at] : (kp_real)0) - (is_left ? a->rest[before] : (kp_real)0);
    a->velocity[at] -= open > 0 ? scale * c / open * step : (kp_real)0;
  }
}

// ---- velocity beyond the fluid

// Faces whose velocity is known: those of fluid cells that are open.
typedef struct flow_known_args {
  kp_mac_view grid;
  flow_sides sides;
  int32_t axis;
  const uint8_t *flags;
  const kp_real *fraction;  // NULL: all open
  uint8_t *known;
} flow_known_args;

KP_FN void flow_known(int64_t j, int64_t k, int64_t i0, int64_t i1, const flow_known_args *a) {
  const kp_mac_view *g = &a->grid;
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(g, i, j, k);
    int64_t along = flow_along(a->axis, i, j, k);
    int64_t before = kp_mac_before(g, a->axis, along, at);
    int is_wet =
        flow_kind(a->flags, before) == KP_CELL_FLUID || flow_kind(a->flags, at) == KP_CELL_FLUID;
    int is_open = a->fraction == NULL || a->fraction[at] > 0;
    int is_side = flow_side_of(g, &a->sides, a->axis, along) >= 0;
    a->known[at] = is_wet && (is_open || is_side);
  }
}

// One layer outwards: the mean of what is known around.
typedef struct flow_spread_args {
  kp_mac_view grid;
  const uint8_t *known;
  uint8_t *known_next;
  kp_real *velocity;
} flow_spread_args;

// Eight bytes of 0 and 1 at once.
#define FLOW_EIGHT 8
#define FLOW_ALL_KNOWN 0x0101010101010101u

KP_FN uint64_t flow_eight(const uint8_t *known, int64_t at) {
  uint64_t word;
  memcpy(&word, known + at, sizeof word);
  return word;
}

// Nothing changes at the eight faces from `at` on: all are known, or none is and none beside them.
KP_FN int flow_stays(const kp_mac_view *g, const uint8_t *known, int64_t at) {
  uint64_t word = flow_eight(known, at);
  if (word == FLOW_ALL_KNOWN) {
    return 1;
  }
  for (int axis = 0; axis < g->dimension; ++axis) {
    int64_t up = kp_mac_stride(g, axis);
    word |= flow_eight(known, at - up) | flow_eight(known, at + up);
  }
  return word == 0;
}

KP_FN void flow_spread_one(const flow_spread_args *a, int64_t at) {
  const kp_mac_view *g = &a->grid;
  int is_known = a->known[at];
  kp_real sum = 0;
  int n = 0;
  for (int axis = 0; axis < g->dimension && !is_known; ++axis) {
    int64_t up = kp_mac_stride(g, axis);
    for (int s = -1; s <= 1; s += 2) {
      if (a->known[at + s * up]) {
        sum += a->velocity[at + s * up];
        ++n;
      }
    }
  }
  if (n > 0) {
    a->velocity[at] = sum / (kp_real)n;
  }
  a->known_next[at] = (uint8_t)(is_known || n > 0);
}

KP_FN void flow_spread(int64_t j, int64_t k, int64_t i0, int64_t i1, const flow_spread_args *a) {
  int64_t end = kp_mac_at(&a->grid, i1, j, k);
  int64_t at = kp_mac_at(&a->grid, i0, j, k);
  while (at < end) {
    if (end - at >= FLOW_EIGHT && flow_stays(&a->grid, a->known, at)) {
      memcpy(a->known_next + at, a->known + at, FLOW_EIGHT);
      at += FLOW_EIGHT;
    } else {
      flow_spread_one(a, at++);
    }
  }
}

// Closed faces inside solids: what was spread there without its part into the solid (free slip), or
// the solid's own velocity (no-slip).
typedef struct flow_constrain_args {
  kp_mac_view grid;
  int32_t axis;
  int32_t no_slip;
  const kp_real *u, *v, *w;  // as spread
  const kp_real *fraction;
  const kp_real *distance;                     // of the solid, at corners
  const kp_real *solid_x, *solid_y, *solid_z;  // NULL: solids stand still
  kp_real *out;
} flow_constrain_args;

// Gradient of the solid's distance at the middle of a face, not normalised: differences of the
// means of the corners of the cells before and behind, and across.
KP_FN void flow_solid_normal(const flow_constrain_args *a, int64_t at, kp_real n[3]) {
  const kp_mac_view *g = &a->grid;
  int64_t own = kp_mac_stride(g, a->axis);
  kp_real length = 0;
  for (int c = 0; c < 3; ++c) {
    n[c] = 0;
    if (c == 2 && g->dimension == 2) {
      continue;
    }
    int64_t step = kp_mac_stride(g, c);
    // the third axis, along which corners are only averaged
    for (int corner = 0; corner < (g->dimension == 2 ? 2 : 4); ++corner) {
      int64_t shift = 0;
      int bit = 0;
      for (int b = 0; b < g->dimension; ++b) {
        if (b != a->axis && b != c) {
          shift += ((corner >> bit++) & 1) * kp_mac_stride(g, b);
        }
      }
      if (c == a->axis) {
        n[c] += a->distance[at + own + shift] - a->distance[at - own + shift];
      } else {
        n[c] += 2 * (a->distance[at + step + shift] - a->distance[at + shift]);
      }
    }
    length += n[c] * n[c];
  }
  length = length > 0 ? 1 / kp_root(length) : (kp_real)0;
  for (int c = 0; c < 3; ++c) {
    n[c] *= length;
  }
}

KP_FN void flow_constrain(int64_t j, int64_t k, int64_t i0, int64_t i1,
                          const flow_constrain_args *a) {
  const kp_mac_view *g = &a->grid;
  kp_mac_velocity flow = { a->u, a->v, a->w };
  kp_mac_velocity solid = { a->solid_x, a->solid_y, a->solid_z };
  const kp_real *own = a->axis == 0 ? a->u : (a->axis == 1 ? a->v : a->w);
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(g, i, j, k);
    kp_real value = own[at];
    if (!(a->fraction[at] > 0)) {
      kp_real v[3];
      kp_real s[3] = { 0, 0, 0 };
      kp_real n[3];
      kp_mac_velocity_of_face(g, flow, a->axis, at, v);
      if (a->solid_x != NULL) {
        kp_mac_velocity_of_face(g, solid, a->axis, at, s);
      }
      flow_solid_normal(a, at, n);
      kp_real into = n[0] * (v[0] - s[0]) + n[1] * (v[1] - s[1]) + n[2] * (v[2] - s[2]);
      value = a->no_slip ? s[a->axis] : v[a->axis] - into * n[a->axis];
    }
    a->out[at] = value;
  }
}

// ---- forces and sums

typedef struct flow_force_args {
  kp_mac_view grid;
  int32_t axis, n_fields;
  kp_real change;  // m/s by gravity
  double dt;
  const double *records;  // of force fields, FORCE_FIELD_RECORD numbers each
  kp_real *velocity;
} flow_force_args;

KP_FN void flow_force(int64_t j, int64_t k, int64_t i0, int64_t i1, const flow_force_args *a) {
  const kp_mac_view *g = &a->grid;
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(g, i, j, k);
    kp_real value = a->velocity[at] + a->change;
    for (int32_t f = 0; f < a->n_fields; ++f) {
      const double *r = a->records + (int64_t)FORCE_FIELD_RECORD * f;
      double x[3];
      kp_mac_place(g, a->axis, i, j, k, x);
      value += (kp_real)(force_field_holds(r, x[0], x[1], x[2]) ? a->dt * r[7 + a->axis] : 0.0);
    }
    a->velocity[at] = value;
  }
}

typedef struct flow_report_args {
  int64_t first;
  kp_mac_view grid;
  const uint8_t *flags;
  const kp_real *u, *v, *w;
} flow_report_args;

KP_FN void flow_report(int64_t i, const flow_report_args *a, double *out) {
  const kp_mac_view *g = &a->grid;
  int64_t at = a->first + i;
  out[0] = out[1] = out[2] = 0.0;
  if (flow_kind(a->flags, at) != KP_CELL_FLUID) {
    return;
  }
  const kp_real *component[3] = { a->u, a->v, a->w };
  double sum = 0.0;
  double square = 0.0;
  for (int c = 0; c < g->dimension; ++c) {
    double lo = fabs((double)component[c][at]);
    double hi = fabs((double)component[c][at + kp_mac_stride(g, c)]);
    double speed = lo > hi ? lo : hi;
    sum += speed;
    square += 0.25 * (lo + hi) * (lo + hi);
    out[2] += lo + hi < 1e30 ? 0.0 : 1.0;
  }
  out[0] = sum;
  out[1] = square;
}

typedef struct flow_sums_args {
  int64_t first;
  kp_mac_view grid;
  double up[3];  // gravity's direction reversed, times g
  const uint8_t *flags;
  const kp_real *u, *v, *w;
} flow_sums_args;

KP_FN void flow_sums(int64_t i, const flow_sums_args *a, double *out) {
  const kp_mac_view *g = &a->grid;
  int64_t at = a->first + i;
  for (int v = 0; v < 6; ++v) {
    out[v] = 0.0;
  }
  if (flow_kind(a->flags, at) != KP_CELL_FLUID) {
    return;
  }
  int64_t cell[3];
  kp_mac_cell_of(g, at, cell);
  kp_mac_velocity velocity = { a->u, a->v, a->w };
  kp_real v[3];
  kp_mac_velocity_of_cell(g, velocity, at, v);
  double x[3];
  kp_mac_place(g, KP_MAC_CELL, cell[0], cell[1], cell[2], x);
  out[0] = 1.0;
  for (int c = 0; c < g->dimension; ++c) {
    out[1 + c] = (double)v[c];
    out[4] += 0.5 * (double)v[c] * (double)v[c];
    out[5] += a->up[c] * x[c];
  }
}

// Largest imbalance of a fluid cell [1/s]; the arguments of flow_right with `first`.
typedef struct flow_residual_args {
  int64_t first;
  flow_right_args cell;
} flow_residual_args;

KP_FN void flow_residual(int64_t t, const flow_residual_args *a, double *out) {
  const kp_mac_view *g = &a->cell.grid;
  int64_t at = a->first + t;
  out[0] = 0.0;
  if (flow_kind(a->cell.flags, at) != KP_CELL_FLUID) {
    return;
  }
  int64_t cell[3];
  kp_mac_cell_of(g, at, cell);
  double sum = (double)flow_outflow(&a->cell, cell[0], cell[1], cell[2], at);
  double off = sum - (a->cell.source != NULL ? (double)a->cell.source[at] : 0.0);
  out[0] = off < 0.0 ? -off : off;
}

// ---- the window

// Where a value differs from what it is in quiet surroundings, over all cells of the domain.
typedef struct flow_active_args {
  kp_mac_view grid;
  kp_real rest[KP_FLOW_WATCHED], tolerance[KP_FLOW_WATCHED];
  const kp_real *first, *second, *third;  // NULL: not watched
} flow_active_args;

KP_FN void flow_active(int64_t at, const flow_active_args *a, double *out) {
  const kp_mac_view *g = &a->grid;
  const kp_real *watched[KP_FLOW_WATCHED] = { a->first, a->second, a->third };
  int64_t cell[3];
  kp_mac_cell_of(g, at, cell);
  int is_active = 0;
  for (int w = 0; w < KP_FLOW_WATCHED; ++w) {
    if (watched[w] != NULL) {
      kp_real off = watched[w][at] - a->rest[w];
      is_active = is_active || off > a->tolerance[w] || -off > a->tolerance[w];
    }
  }
  for (int c = 0; c < 3; ++c) {
    is_active = is_active && cell[c] >= 0 && cell[c] < g->n[c];
  }
  for (int c = 0; c < 3; ++c) {
    out[c] = is_active ? (double)cell[c] : HUGE_VAL;
    out[3 + c] = is_active ? (double)cell[c] : -HUGE_VAL;
  }
}

// What lies outside the window is still air.
typedef struct flow_quiet_args {
  kp_mac_view grid;
  int32_t lo[3], hi[3];  // cells of the window
  uint8_t *flags;
  kp_real *pressure;
  kp_real *u, *v, *w;
} flow_quiet_args;

KP_FN void flow_quiet(int64_t at, const flow_quiet_args *a) {
  int64_t cell[3];
  kp_mac_cell_of(&a->grid, at, cell);
  int is_cell = 1;
  int is_face = 1;
  for (int c = 0; c < 3; ++c) {
    is_cell = is_cell && cell[c] >= a->lo[c] && cell[c] < a->hi[c];
    is_face = is_face && cell[c] >= a->lo[c] && cell[c] <= a->hi[c];
  }
  if (!is_cell) {
    a->flags[at] = KP_CELL_AIR;
    a->pressure[at] = 0;
  }
  if (!is_face) {
    a->u[at] = 0;
    a->v[at] = 0;
    a->w[at] = 0;
  }
}
