// One incompressible flow on a MAC grid: coefficients and right side of the pressure equation,
// correction of the velocity, extrapolation, forces, sums.
//
// Flux through a face that a solid covers in part: A u + (1 - A) u_solid with A the open share; in
// a cell these fluxes balance, since a rigid solid keeps its own volume (Ng, Min & Gibou 2009).
#pragma once

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
  ROW(flow, wet)                                                                                   \
  ROW(flow, spread)                                                                                \
  ROW(flow, constrain)                                                                             \
  ROW(flow, force)                                                                                 \
  POINT(flow, quiet)                                                                               \
  POINT(flow, pressure)                                                                            \
  REDUCE(flow, box, FLOW_ACTIVE)                                                                   \
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

// Share of the way from the fluid cell to the surface between two centres. Nothing is worked out
// in a branch, here and in the loops over faces below, so that they are vectorised.
KP_FN kp_real flow_theta(kp_real inside, kp_real outside) {
  kp_real a = inside < 0 ? -inside : (kp_real)0;
  kp_real b = outside > 0 ? outside : (kp_real)0;
  kp_real whole = a + b;
  kp_real theta = (whole > 0 ? a : (kp_real)1) / (whole > 0 ? whole : (kp_real)1);
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

// Where pressure acts: between two cells of which one is fluid and none solid.
KP_FN void flow_coefficients_open(const flow_coefficients_args *a, int64_t first, int64_t n,
                                  int64_t before) {
  const uint8_t *left = a->flags + first + before;
  const uint8_t *right = a->flags + first;
  const kp_real *fraction = a->fraction != NULL ? a->fraction + first : NULL;
  const kp_real *field = a->inverse_field != NULL ? a->inverse_field + first : NULL;
  kp_real *out = a->coefficient + first;
  kp_real inverse_density = a->inverse_density;
  KP_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    int l = left[i] & KP_CELL_KIND;
    int r = right[i] & KP_CELL_KIND;
    int is_wet = (l == KP_CELL_FLUID) | (r == KP_CELL_FLUID);
    int is_shut = (l == KP_CELL_SOLID) | (r == KP_CELL_SOLID);
    out[i] = (is_wet & !is_shut) ? inverse_density : (kp_real)0;
  }
  if (field != NULL) {
    KP_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      kp_real c = field[i];
      out[i] = out[i] > 0 ? c : (kp_real)0;
    }
  }
  if (fraction != NULL) {
    KP_INDEPENDENT
    for (int64_t i = 0; i < n; ++i) {
      out[i] *= fraction[i];
    }
  }
}

// The surface is nearer than the next centre: c over the share of the way.
KP_FN void flow_coefficients_surface(const flow_coefficients_args *a, int64_t first, int64_t n,
                                     int64_t before) {
  const uint8_t *left = a->flags + first + before;
  const uint8_t *right = a->flags + first;
  const kp_real *low = a->distance + first + before;
  const kp_real *high = a->distance + first;
  kp_real *out = a->coefficient + first;
  KP_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    int l = left[i] & KP_CELL_KIND;
    int r = right[i] & KP_CELL_KIND;
    kp_real d0 = low[i];
    kp_real d1 = high[i];
    kp_real in = l == KP_CELL_FLUID ? d0 : d1;
    kp_real beyond = l == KP_CELL_FLUID ? d1 : d0;
    // without a surface between them: 1
    in = l == r ? (kp_real)-1 : in;
    beyond = l == r ? (kp_real)0 : beyond;
    out[i] /= flow_theta(in, beyond);
  }
}

// The parts of a run of faces that lie in the sides of the domain across `axis`.
KP_FN int flow_is_side(const kp_mac_view *g, const flow_sides *s, int axis, int64_t i, int64_t j,
                       int64_t k) {
  return flow_side_of(g, s, axis, flow_along(axis, i, j, k)) >= 0;
}

KP_FN void flow_coefficients(int64_t j, int64_t k, int64_t i0, int64_t i1,
                             const flow_coefficients_args *a) {
  const kp_mac_view *g = &a->grid;
  for (int64_t i = i0; i < i1;) {
    kp_mac_piece p = kp_mac_piece_of(g, a->axis, j, k, i, i1);
    int64_t first = kp_mac_at(g, p.i0, j, k);
    int64_t n = p.i1 - p.i0;
    int64_t done = 0;
    for (int64_t from = 0; from < n;) {
      int64_t end = kp_mac_wet_part(a->flags + first + p.before, a->flags + first, n, &from);
      memset(a->coefficient + first + done, 0, (size_t)(from - done) * sizeof *a->coefficient);
      flow_coefficients_open(a, first + from, end - from, p.before);
      if (a->distance != NULL) {
        flow_coefficients_surface(a, first + from, end - from, p.before);
      }
      done = from = end;
    }
    i = p.i1;
  }
  // across y and z all faces of a row lie in a side or none does, across x its ends may
  int64_t step = a->axis == 0 && i1 - i0 > 1 ? i1 - i0 - 1 : 1;
  for (int64_t i = i0; i < i1; i += step) {
    if (flow_is_side(g, &a->sides, a->axis, i, j, k)) {
      a->coefficient[kp_mac_at(g, i, j, k)] = 0;
    }
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

// The pressure at particles: between the cells around, of which air has none. Solids and what lies
// outside the domain are left out, so that a particle beside a wall has that of the cell beside it.
typedef struct flow_pressure_args {
  kp_mac_view grid;
  const uint8_t *flags;
  const kp_real *pressure;
  const kp_pos *x, *y, *z;
  kp_real *out;
} flow_pressure_args;

// Corner `step` of what is around a coordinate: inside the domain, or -1.
KP_FN int64_t flow_corner(const kp_mac_view *g, int axis, int32_t at, int step) {
  int64_t c = (int64_t)at + step;
  int64_t n = g->n[axis];
  c += g->is_periodic[axis] ? (c < 0 ? n : (c >= n ? -n : 0)) : 0;
  return c >= 0 && c < n ? c : -1;
}

KP_FN void flow_pressure(int64_t i, const flow_pressure_args *a) {
  const kp_mac_view *g = &a->grid;
  kp_mac_point p = kp_mac_point_at(g, KP_MAC_CELL, a->x[i], a->y[i], a->z[i]);
  int flat = g->dimension == 2;
  kp_real sum = 0;
  kp_real weights = 0;
  for (int corner = 0; corner < (flat ? 4 : 8); ++corner) {
    int sx = corner & 1;
    int sy = (corner >> 1) & 1;
    int sz = corner >> 2;
    int64_t x = flow_corner(g, 0, p.i, sx);
    int64_t y = flow_corner(g, 1, p.j, sy);
    int64_t z = flat ? 0 : flow_corner(g, 2, p.k, sz);
    kp_real w = (sx ? p.x : (kp_real)1 - p.x) * (sy ? p.y : (kp_real)1 - p.y);
    w *= flat ? (kp_real)1 : (sz ? p.z : (kp_real)1 - p.z);
    if (x >= 0 && y >= 0 && z >= 0) {
      int64_t at = kp_mac_at(g, x, y, z);
      int kind = flow_kind(a->flags, at);
      weights += kind == KP_CELL_SOLID ? (kp_real)0 : w;
      sum += kind == KP_CELL_FLUID ? w * a->pressure[at] : (kp_real)0;
    }
  }
  a->out[i] = weights > 0 ? sum / weights : (kp_real)0;
}

// b = -(div u - source) / dt
KP_FN void flow_right_part(int64_t j, int64_t k, int64_t i0, int64_t i1, const flow_right_args *a) {
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

KP_FN void flow_right(int64_t j, int64_t k, int64_t i0, int64_t i1, const flow_right_args *a) {
  int64_t first = kp_mac_at(&a->grid, i0, j, k);
  const uint8_t *flags = a->flags + first;
  int64_t done = 0;
  for (int64_t from = 0; from < i1 - i0;) {
    int64_t end = kp_mac_wet_part(flags, flags, i1 - i0, &from);
    memset(a->right + first + done, 0, (size_t)(from - done) * sizeof *a->right);
    flow_right_part(j, k, i0 + from, i0 + end, a);
    done = from = end;
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

// With a pressure at the surface.
KP_FN void flow_correct_jump(const flow_correct_args *a, int64_t at, int64_t before) {
  kp_real scale = a->dt * a->grid.inverse_h;
  kp_real open = a->fraction != NULL ? a->fraction[at] : (kp_real)1;
  int is_left = flow_kind(a->flags, before) == KP_CELL_FLUID;
  int is_right = flow_kind(a->flags, at) == KP_CELL_FLUID;
  kp_real left = is_left ? a->pressure[before] : (kp_real)0;
  kp_real right = is_right ? a->pressure[at] : (kp_real)0;
  if (is_left != is_right) {
    kp_real surface = flow_jump(a->jump, a->distance, is_left ? before : at, is_left ? at : before);
    left = is_left ? left : surface;
    right = is_right ? right : surface;
  }
  kp_real step = right - left;
  step += (is_right ? a->rest[at] : (kp_real)0) - (is_left ? a->rest[before] : (kp_real)0);
  a->velocity[at] -= open > 0 ? scale * a->coefficient[at] / open * step : (kp_real)0;
}

// Without: the air has none.
KP_FN void flow_correct_piece(const flow_correct_args *a, int64_t first, int64_t n,
                              int64_t before) {
  const uint8_t *left = a->flags + first + before;
  const uint8_t *right = a->flags + first;
  const kp_real *low = a->pressure + first + before;
  const kp_real *high = a->pressure + first;
  const kp_real *low_rest = a->rest + first + before;
  const kp_real *high_rest = a->rest + first;
  const kp_real *c = a->coefficient + first;
  const kp_real *fraction = a->fraction != NULL ? a->fraction + first : NULL;
  kp_real *velocity = a->velocity + first;
  kp_real scale = a->dt * a->grid.inverse_h;
  KP_INDEPENDENT
  for (int64_t i = 0; i < n; ++i) {
    int is_left = (left[i] & KP_CELL_KIND) == KP_CELL_FLUID;
    int is_right = (right[i] & KP_CELL_KIND) == KP_CELL_FLUID;
    kp_real p0 = low[i];
    kp_real p1 = high[i];
    kp_real r0 = low_rest[i];
    kp_real r1 = high_rest[i];
    kp_real step = (is_right ? p1 : (kp_real)0) - (is_left ? p0 : (kp_real)0);
    // what the pressure itself cannot hold (kp_poisson_rest)
    step += (is_right ? r1 : (kp_real)0) - (is_left ? r0 : (kp_real)0);
    kp_real open = fraction != NULL ? fraction[i] : (kp_real)1;
    kp_real share = open > 0 ? c[i] : (kp_real)0;
    velocity[i] -= scale * share / (open > 0 ? open : (kp_real)1) * step;
  }
}

KP_FN void flow_correct(int64_t j, int64_t k, int64_t i0, int64_t i1, const flow_correct_args *a) {
  const kp_mac_view *g = &a->grid;
  for (int64_t i = i0; i < i1;) {
    kp_mac_piece p = kp_mac_piece_of(g, a->axis, j, k, i, i1);
    int64_t first = kp_mac_at(g, p.i0, j, k);
    for (int64_t from = 0; a->jump == NULL && from < p.i1 - p.i0;) {
      int64_t end =
          kp_mac_wet_part(a->flags + first + p.before, a->flags + first, p.i1 - p.i0, &from);
      flow_correct_piece(a, first + from, end - from, p.before);
      from = end;
    }
    for (int64_t at = first; a->jump != NULL && at < first + p.i1 - p.i0; ++at) {
      flow_correct_jump(a, at, at + p.before);
    }
    i = p.i1;
  }
}

// ---- velocity beyond the fluid

// Faces whose velocity is known: those of fluid cells that are open.
typedef struct flow_known_args {
  kp_mac_view grid;
  flow_sides sides;
  int32_t axis;
  int32_t without_sides;  // faces in walls and inflows are not known either
  const uint8_t *flags;
  const kp_real *fraction;  // NULL: all open
  uint8_t *known;
} flow_known_args;

// A face in a wall that the water beside it lets go of, or in any side when these are not known.
KP_FN int flow_is_loose(const flow_known_args *a, int64_t i, int64_t j, int64_t k) {
  const kp_mac_view *g = &a->grid;
  int64_t along = flow_along(a->axis, i, j, k);
  int side = flow_side_of(g, &a->sides, a->axis, along);
  if (side < 0 || !a->sides.is_wall[a->axis][side]) {
    return side >= 0 && a->without_sides;
  }
  int64_t cell = kp_mac_at(g, i, j, k) - (side == 1 ? kp_mac_stride(g, a->axis) : 0);
  return a->without_sides || (a->flags[cell] & KP_CELL_LOOSE) != 0;
}

KP_FN void flow_known(int64_t j, int64_t k, int64_t i0, int64_t i1, const flow_known_args *a) {
  const kp_mac_view *g = &a->grid;
  for (int64_t i = i0; i < i1;) {
    kp_mac_piece p = kp_mac_piece_of(g, a->axis, j, k, i, i1);
    int64_t first = kp_mac_at(g, p.i0, j, k);
    const uint8_t *left = a->flags + first + p.before;
    const uint8_t *right = a->flags + first;
    uint8_t *known = a->known + first;
    KP_INDEPENDENT
    for (int64_t n = 0; n < p.i1 - p.i0; ++n) {
      uint8_t l = left[n] & KP_CELL_KIND;
      uint8_t r = right[n] & KP_CELL_KIND;
      known[n] = (uint8_t)((l == KP_CELL_FLUID) | (r == KP_CELL_FLUID));
    }
    for (int64_t n = 0; a->fraction != NULL && n < p.i1 - p.i0; ++n) {
      int is_open =
          a->fraction[first + n] > 0 || flow_is_side(g, &a->sides, a->axis, p.i0 + n, j, k);
      known[n] = is_open ? known[n] : (uint8_t)0;
    }
    i = p.i1;
  }
  // what lets go of a wall leaves it as fast as the water before it goes
  int64_t step = a->axis == 0 && i1 - i0 > 1 ? i1 - i0 - 1 : 1;
  for (int64_t i = i0; i < i1; i += step) {
    if (flow_is_loose(a, i, j, k)) {
      a->known[kp_mac_at(g, i, j, k)] = 0;
    }
  }
}

// Cells that hold fluid.
typedef struct flow_wet_args {
  kp_mac_view grid;
  const uint8_t *flags;
  uint8_t *known;
} flow_wet_args;

KP_FN void flow_wet(int64_t j, int64_t k, int64_t i0, int64_t i1, const flow_wet_args *a) {
  int64_t row = kp_mac_at(&a->grid, 0, j, k);
  const uint8_t *flags = a->flags + row;
  uint8_t *known = a->known + row;
  KP_INDEPENDENT
  for (int64_t i = i0; i < i1; ++i) {
    known[i] = (uint8_t)((flags[i] & KP_CELL_KIND) == KP_CELL_FLUID);
  }
}

// One layer outwards: the mean of what is known around.
typedef struct flow_spread_args {
  kp_mac_view grid;
  const uint8_t *known;
  uint8_t *known_next;
  kp_real *velocity;
} flow_spread_args;

// Faces of a run at most: whole registers of the bytes that say what is known. A card has runs of
// one.
#ifdef __CUDACC__
#define FLOW_MANY 1
#else
#define FLOW_MANY 32
#endif

// Nothing changes at the faces from `at` on: none that is not known has a known one beside it.
KP_FN int flow_stays(const kp_mac_view *g, const uint8_t *known, int64_t at, int many) {
  int64_t slab = g->dimension == 3 ? g->slab : 0;
  uint8_t changes = 0;
  for (int64_t i = at; i < at + many; ++i) {
    uint8_t beside = known[i - 1] | known[i + 1] | known[i - g->row] | known[i + g->row];
    changes |= (uint8_t)((beside | known[i - slab] | known[i + slab]) & (known[i] ^ 1));
  }
  return !changes;
}

// Up to FLOW_MANY faces in lanes: the mean of what is known around; what is not adds 0.
KP_FN void flow_spread_many(const flow_spread_args *a, int64_t at, int many) {
  const kp_mac_view *g = &a->grid;
  kp_real sum[FLOW_MANY];
  int32_t n[FLOW_MANY];
  for (int i = 0; i < many; ++i) {
    sum[i] = 0;
    n[i] = 0;
  }
  for (int axis = 0; axis < g->dimension; ++axis) {
    for (int s = -1; s <= 1; s += 2) {
      const uint8_t *known = a->known + at + s * kp_mac_stride(g, axis);
      const kp_real *velocity = a->velocity + at + s * kp_mac_stride(g, axis);
      KP_INDEPENDENT
      for (int i = 0; i < many; ++i) {
        kp_real v = velocity[i];
        sum[i] += known[i] ? v : (kp_real)0;
        n[i] += known[i];
      }
    }
  }
  uint8_t is_new[FLOW_MANY];
  KP_INDEPENDENT
  for (int i = 0; i < many; ++i) {
    int32_t has_any = n[i] < 1 ? n[i] : 1;
    int32_t is_known = a->known[at + i];
    sum[i] /= (kp_real)(n[i] + 1 - has_any);
    is_new[i] = (uint8_t)(has_any & ~is_known);
    a->known_next[at + i] = (uint8_t)(has_any | is_known);
  }
  // faces that others read meanwhile are not written
  for (int i = 0; i < many; ++i) {
    if (is_new[i]) {
      a->velocity[at + i] = sum[i];
    }
  }
}

KP_FN void flow_spread(int64_t j, int64_t k, int64_t i0, int64_t i1, const flow_spread_args *a) {
  int64_t end = kp_mac_at(&a->grid, i1, j, k);
  for (int64_t at = kp_mac_at(&a->grid, i0, j, k); at < end; at += FLOW_MANY) {
    int many = end - at < FLOW_MANY ? (int)(end - at) : FLOW_MANY;
    if (!flow_stays(&a->grid, a->known, at, many)) {
      flow_spread_many(a, at, many);
      continue;
    }
    KP_INDEPENDENT
    for (int64_t i = at; i < at + many; ++i) {
      a->known_next[i] = a->known[i];
    }
  }
}

// Closed faces inside solids: what was spread there without its part across the solid's surface
// (free slip), or the solid's own velocity (no-slip). Where water lets go, it may leave, not enter.
typedef struct flow_constrain_args {
  kp_mac_view grid;
  int32_t axis;
  int32_t no_slip;
  const uint8_t *flags;
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
  int64_t own_step = kp_mac_stride(g, a->axis);
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
      int is_released = (a->flags[at] | a->flags[at - own_step]) & KP_CELL_RELEASED;
      into = is_released && into > 0 ? (kp_real)0 : into;
      value = a->no_slip && !is_released ? s[a->axis] : v[a->axis] - into * n[a->axis];
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

typedef struct flow_box_args {
  const kp_pos *x, *y, *z;
} flow_box_args;

KP_FN void flow_box(int64_t i, const flow_box_args *a, double *out) {
  out[0] = out[3] = a->x[i];
  out[1] = out[4] = a->y[i];
  out[2] = out[5] = a->z[i];
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
