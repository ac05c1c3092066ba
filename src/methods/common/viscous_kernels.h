// Implicit viscosity of a flow, one component at a time: (1/dt - div nu grad) u = u/dt on the faces
// across one axis. Unknowns are the open faces of fluid cells. A closed side or a solid gives its
// own velocity where fluid sticks to it and nothing where it slips; air takes no stress.
#pragma once

#include "data/mac.h"
#include "methods/common/flow_sides.h"
#include "par/kernel.h"

#define VISCOUS_KERNELS(POINT, REDUCE, ROW, PAIR)                                                  \
  ROW(viscous, unknowns)                                                                           \
  ROW(viscous, couple)                                                                             \
  ROW(viscous, right)                                                                              \
  ROW(viscous, take)

typedef struct viscous_unknowns_args {
  kp_mac_view grid;
  flow_sides sides;
  int32_t axis;  // of the component
  const uint8_t *flags;
  const kp_real *fraction;  // NULL: all open
  uint8_t *unknown;         // KP_CELL_FLUID: sought; KP_CELL_SOLID: given; KP_CELL_AIR: none
} viscous_unknowns_args;

KP_FN void viscous_unknowns(int64_t j, int64_t k, int64_t i0, int64_t i1,
                            const viscous_unknowns_args *a) {
  const kp_mac_view *g = &a->grid;
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(g, i, j, k);
    int64_t along = a->axis == 0 ? i : (a->axis == 1 ? j : k);
    int64_t before = kp_mac_before(g, a->axis, along, at);
    int is_wet = (a->flags[before] & KP_CELL_KIND) == KP_CELL_FLUID ||
                 (a->flags[at] & KP_CELL_KIND) == KP_CELL_FLUID;
    int is_shut = flow_side_of(g, &a->sides, a->axis, along) >= 0 ||
                  (a->fraction != NULL && !(a->fraction[at] > 0));
    a->unknown[at] = (uint8_t)(is_shut ? KP_CELL_SOLID : (is_wet ? KP_CELL_FLUID : KP_CELL_AIR));
  }
}

// nu between each face and the one before it along `along`; at corners, so that both ends of every
// line are there.
typedef struct viscous_couple_args {
  kp_mac_view grid;
  int32_t axis, along;
  int32_t sticks[2];  // fluid sticks to the lower and the upper side across `along`
  int32_t sticks_to_solids;
  kp_real viscosity;  // m^2/s
  kp_real inverse_density;
  const kp_real *per_cell;  // Pa s; NULL: the number
  const uint8_t *unknown;
  kp_real *couple;
} viscous_couple_args;

// Viscosity between item `at` of the component and the one before it: that of the cell between
// along its own axis, else the mean around the edge.
KP_FN kp_real viscous_nu(const viscous_couple_args *a, int64_t at) {
  if (a->per_cell == NULL) {
    return a->viscosity;
  }
  int64_t own = kp_mac_stride(&a->grid, a->axis);
  int64_t step = kp_mac_stride(&a->grid, a->along);
  const kp_real *mu = a->per_cell;
  kp_real sum =
      a->axis == a->along
          ? mu[at - own]
          : (kp_real)0.25 * ((mu[at] + mu[at - own]) + (mu[at - step] + mu[at - step - own]));
  return sum * a->inverse_density;
}

KP_FN void viscous_couple(int64_t j, int64_t k, int64_t i0, int64_t i1,
                          const viscous_couple_args *a) {
  const kp_mac_view *g = &a->grid;
  int64_t step = kp_mac_stride(g, a->along);
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(g, i, j, k);
    int64_t place = a->along == 0 ? i : (a->along == 1 ? j : k);
    int is_wall =
        a->axis != a->along && !g->is_periodic[a->along] && (place == 0 || place == g->n[a->along]);
    int64_t before = at - step;
    int64_t here = at;
    if (g->is_periodic[a->along]) {
      before = kp_mac_before(g, a->along, place, at);
      here = place == g->n[a->along] ? at - place * step : at;
    }
    int left = a->unknown[before];
    int right = a->unknown[here];
    int is_sought = left == KP_CELL_FLUID || right == KP_CELL_FLUID;
    int is_solid = left == KP_CELL_SOLID || right == KP_CELL_SOLID;
    int is_air = left == KP_CELL_AIR || right == KP_CELL_AIR;
    // a wall lies half a step from the item: twice the slope
    kp_real share = is_wall ? (kp_real)(a->sticks[place == 0 ? 0 : 1] ? 2 : 0) : (kp_real)1;
    share = is_solid && a->axis != a->along && !a->sticks_to_solids ? (kp_real)0 : share;
    share = is_air && !is_wall ? (kp_real)0 : share;
    a->couple[at] = is_sought ? share * viscous_nu(a, at) : (kp_real)0;
  }
}

typedef struct viscous_right_args {
  kp_mac_view grid;
  int32_t axis;
  kp_real inverse_dt;
  kp_real wall[3][2];  // m/s of the component at the sides
  const uint8_t *unknown;
  const kp_real *couple_x, *couple_y, *couple_z;
  const kp_real *velocity;
  kp_real *right, *extra, *answer;
} viscous_right_args;

// Velocity given by the item beside an unknown, 0 where it is sought too.
KP_FN kp_real viscous_given(const viscous_right_args *a, int axis, int64_t place, int64_t at) {
  const kp_mac_view *g = &a->grid;
  if (axis != a->axis && !g->is_periodic[axis]) {
    if (place < 0) {
      return a->wall[axis][0];
    }
    if (place >= g->n[axis]) {
      return a->wall[axis][1];
    }
  }
  return a->unknown[at] == KP_CELL_SOLID ? a->velocity[at] : (kp_real)0;
}

KP_FN void viscous_right(int64_t j, int64_t k, int64_t i0, int64_t i1,
                         const viscous_right_args *a) {
  const kp_mac_view *g = &a->grid;
  const kp_real *couple[3] = { a->couple_x, a->couple_y, a->couple_z };
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(g, i, j, k);
    const int64_t place[3] = { i, j, k };
    int is_sought = a->unknown[at] == KP_CELL_FLUID;
    kp_real sum = 0;
    for (int c = 0; c < g->dimension && is_sought; ++c) {
      int64_t step = kp_mac_stride(g, c);
      sum += couple[c][at] * viscous_given(a, c, place[c] - 1, at - step);
      sum += couple[c][at + step] * viscous_given(a, c, place[c] + 1, at + step);
    }
    a->right[at] = is_sought ? a->velocity[at] * a->inverse_dt + sum * g->inverse_h * g->inverse_h
                             : (kp_real)0;
    a->extra[at] = a->inverse_dt;
    a->answer[at] = is_sought ? a->velocity[at] : (kp_real)0;
  }
}

typedef struct viscous_take_args {
  kp_mac_view grid;
  const uint8_t *unknown;
  const kp_real *answer;
  kp_real *velocity;
} viscous_take_args;

KP_FN void viscous_take(int64_t j, int64_t k, int64_t i0, int64_t i1, const viscous_take_args *a) {
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = kp_mac_at(&a->grid, i, j, k);
    a->velocity[at] = a->unknown[at] == KP_CELL_FLUID ? a->answer[at] : a->velocity[at];
  }
}
