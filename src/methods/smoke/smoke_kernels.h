// What one row of cells of a gas does: buoyancy (Selle 2008, section 3.2), fading, cooling, burning
// and expansion (after Feldman, O'Brien & Arikan 2003).
#pragma once

#include "data/mac_sample.h"
#include "par/kernel.h"

#define SMOKE_KERNELS(POINT, REDUCE, ROW, PAIR)                                                    \
  ROW(smoke, lift)                                                                                 \
  ROW(smoke, fade)                                                                                 \
  ROW(smoke, radiate)                                                                              \
  ROW(smoke, burn)                                                                                 \
  ROW(smoke, dilute)                                                                               \
  ROW(smoke, scale)                                                                                \
  REDUCE(smoke, sums, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM)                                 \
  REDUCE(smoke, leak, KP_REDUCE_SUM)                                                               \
  REDUCE(smoke, amounts, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM)               \
  REDUCE(smoke, room, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM)                                 \
  ROW(smoke, settle)

// u += dt (beta (T - T_ambient) - alpha density) up, on the faces across the up axis
typedef struct smoke_lift_args {
  kp_mac_view grid;
  int32_t axis;
  kp_real weight, lift;  // alpha, beta times dt, with the sign of the axis
  kp_real ambient;
  const kp_real *density, *temperature;
  kp_real *values;
} smoke_lift_args;

KP_FN void smoke_lift(int64_t j, int64_t k, int64_t i0, int64_t i1, const smoke_lift_args *a) {
  const kp_mac_view *g = &a->grid;
  int64_t row = kp_mac_at(g, 0, j, k);
  for (int64_t i = i0; i < i1; ++i) {
    kp_real heat = kp_mac_mean(g, a->temperature, a->axis, row + i) - a->ambient;
    kp_real smoke = kp_mac_mean(g, a->density, a->axis, row + i);
    a->values[row + i] += a->lift * heat - a->weight * smoke;
  }
}

// Shares of the smoke and of the excess temperature that are left after a step
typedef struct smoke_fade_args {
  kp_mac_view grid;
  kp_real density_left, heat_left;
  kp_real ambient;
  kp_real *density, *temperature;
} smoke_fade_args;

KP_FN void smoke_fade(int64_t j, int64_t k, int64_t i0, int64_t i1, const smoke_fade_args *a) {
  int64_t row = kp_mac_at(&a->grid, 0, j, k);
  kp_real *density = a->density;
  kp_real *temperature = a->temperature;
  for (int64_t i = i0; i < i1; ++i) {
    density[row + i] *= a->density_left;
    temperature[row + i] = a->ambient + a->heat_left * (temperature[row + i] - a->ambient);
  }
}

// Excess s = (T - T_ambient) / (T_hottest - T_ambient) with ds/dt = -c s^4: solved exactly, so no
// step is too long
typedef struct smoke_radiate_args {
  kp_mac_view grid;
  kp_real triple;  // 3 c dt
  kp_real ambient, range;
  kp_real *temperature;
} smoke_radiate_args;

KP_FN void smoke_radiate(int64_t j, int64_t k, int64_t i0, int64_t i1,
                         const smoke_radiate_args *a) {
  int64_t row = kp_mac_at(&a->grid, 0, j, k);
  for (int64_t i = i0; i < i1; ++i) {
    double s = (double)((a->temperature[row + i] - a->ambient) / a->range);
    double left = s > 0.0 ? s / cbrt(1.0 + (double)a->triple * s * s * s) : s;
    a->temperature[row + i] = a->ambient + a->range * (kp_real)left;
  }
}

// Fuel burns at a constant rate where it is hot enough, and gives heat, smoke and volume
typedef struct smoke_burn_args {
  kp_mac_view grid;
  kp_real most;  // fuel a step can burn
  kp_real inverse_dt;
  kp_real ignition, heat, soot;
  kp_real swelling;  // expansion - 1
  const uint8_t *flags;
  kp_real *fuel, *temperature, *density;
  kp_real *flame;       // 1/s: fuel burnt
  kp_real *divergence;  // 1/s, added to
} smoke_burn_args;

KP_FN void smoke_burn(int64_t j, int64_t k, int64_t i0, int64_t i1, const smoke_burn_args *a) {
  int64_t row = kp_mac_at(&a->grid, 0, j, k);
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = row + i;
    kp_real fuel = a->fuel[at];
    kp_real burnt = fuel < a->most ? fuel : a->most;
    bool burns = a->temperature[at] >= a->ignition && fuel > 0 &&
                 (a->flags[at] & KP_CELL_KIND) == KP_CELL_FLUID;
    burnt = burns ? burnt : (kp_real)0;
    a->fuel[at] = fuel - burnt;
    a->temperature[at] += a->heat * burnt;
    a->density[at] += a->soot * burnt;
    a->flame[at] = burnt * a->inverse_dt;
    a->divergence[at] += a->swelling * burnt * a->inverse_dt;
  }
}

// What is counted per volume thins out where the gas swells: value / (1 + dt div u)
typedef struct smoke_dilute_args {
  kp_mac_view grid;
  kp_real dt;
  const kp_real *divergence;
  kp_real *values;
} smoke_dilute_args;

KP_FN void smoke_dilute(int64_t j, int64_t k, int64_t i0, int64_t i1, const smoke_dilute_args *a) {
  int64_t row = kp_mac_at(&a->grid, 0, j, k);
  for (int64_t i = i0; i < i1; ++i) {
    a->values[row + i] /= (kp_real)1 + a->dt * a->divergence[row + i];
  }
}

// Sums over fluid cells: fuel, fuel burnt per second, divergence of the velocity
typedef struct smoke_sums_args {
  int64_t first;
  kp_mac_view grid;
  const kp_real *u, *v, *w;
  const kp_real *fuel, *flame;
  const uint8_t *flags;
} smoke_sums_args;

KP_FN void smoke_sums(int64_t n, const smoke_sums_args *a, double *v) {
  const kp_mac_velocity f = { a->u, a->v, a->w };
  int64_t at = a->first + n;
  bool is_fluid = (a->flags[at] & KP_CELL_KIND) == KP_CELL_FLUID;
  v[0] = is_fluid ? (double)a->fuel[at] : 0.0;
  v[1] = is_fluid ? (double)a->flame[at] : 0.0;
  v[2] = is_fluid ? (double)kp_mac_divergence(&a->grid, f, at) : 0.0;
}

// ---- sums that transport keeps

// Sums over fluid cells of what lies above a rest value, and of what swelling adds to the heat
typedef struct smoke_amounts_args {
  int64_t first;
  const uint8_t *flags;
  const kp_real *density, *temperature, *fuel;  // fuel NULL: none
  const kp_real *divergence;                    // NULL: nothing swells
  kp_real ambient;
} smoke_amounts_args;

KP_FN void smoke_amounts(int64_t n, const smoke_amounts_args *a, double *v) {
  int64_t at = a->first + n;
  v[0] = v[1] = v[2] = v[3] = 0.0;
  if ((a->flags[at] & KP_CELL_KIND) == KP_CELL_FLUID) {
    v[0] = (double)a->density[at];
    v[1] = (double)a->temperature[at] - (double)a->ambient;
    v[2] = a->fuel != NULL ? (double)a->fuel[at] : 0.0;
    v[3] = a->divergence != NULL ? v[1] * (double)a->divergence[at] : 0.0;
  }
}

// What leaves through the two sides across an axis in a step [cells]: element n is a line of cells.
// A cell gives the share of it that its two faces carry across the side.
typedef struct smoke_leak_args {
  kp_mac_view grid;
  int32_t axis;
  int32_t is_open[2];
  double shift;  // dt / h
  double dt;
  kp_real rest;
  int32_t lo[3], hi[3];  // the window
  const uint8_t *flags;
  const kp_real *speed;       // on the faces across the axis
  const kp_real *divergence;  // 1/s; NULL: nothing swells
  const kp_real *values;
} smoke_leak_args;

// Cell number m from a side whose faces, the outer one first, move out by these many cells.
KP_FN double smoke_leak_share(int64_t m, double outer, double inner) {
  double top = outer - (double)m;
  double bottom = inner - (double)m - 1.0;
  return bottom >= 0.0 ? 1.0 : top / (top - bottom);
}

KP_FN double smoke_leak_side(const smoke_leak_args *a, int64_t line, int side) {
  const kp_mac_view *g = &a->grid;
  int64_t up = kp_mac_stride(g, a->axis);
  double sign = side == 0 ? -a->shift : a->shift;
  double sum = 0.0;
  for (int64_t m = 0; m < g->n[a->axis]; ++m) {
    int64_t at = line + (side == 0 ? m : g->n[a->axis] - 1 - m) * up;
    double outer = sign * (double)a->speed[side == 0 ? at : at + up];
    double inner = sign * (double)a->speed[side == 0 ? at + up : at];
    if (outer <= (double)m || (a->flags[at] & KP_CELL_KIND) != KP_CELL_FLUID) {
      break;
    }
    double swells = a->divergence != NULL ? 1.0 + a->dt * (double)a->divergence[at] : 1.0;
    sum += smoke_leak_share(m, outer, inner) * swells * (double)(a->values[at] - a->rest);
  }
  return sum;
}

KP_FN void smoke_leak(int64_t n, const smoke_leak_args *a, double *v) {
  const kp_mac_view *g = &a->grid;
  int inner = a->axis == 0 ? 1 : 0;
  int outer = a->axis == 2 ? 1 : 2;
  int64_t p = n % g->n[inner];
  int64_t q = n / g->n[inner];
  int64_t line = g->start + p * kp_mac_stride(g, inner) + q * kp_mac_stride(g, outer);
  bool is_inside = p >= a->lo[inner] && p < a->hi[inner] && q >= a->lo[outer] && q < a->hi[outer];
  v[0] = is_inside && a->is_open[0] ? smoke_leak_side(a, line, 0) : 0.0;
  v[0] += is_inside && a->is_open[1] ? smoke_leak_side(a, line, 1) : 0.0;
}

// Room of the values of a gas: how far up and down a cell may go without leaving the range of the
// fluid cells beside it, times the share of a cell that the flow crosses in a step, at most 1.
typedef struct smoke_room_args {
  int64_t first;
  kp_mac_view grid;
  kp_real shift;  // dt / h; 0: everywhere alike
  kp_real rest;
  kp_real share;  // of the room that is taken: upwards, or downwards when negative
  int32_t lo[3], hi[3];  // the window: beyond it flags are those of some earlier one
  const uint8_t *flags;
  const kp_real *u, *v, *w;
  const kp_real *values;
  kp_real *out;
} smoke_room_args;

typedef smoke_room_args smoke_settle_args;

KP_FN void smoke_room_of(const smoke_room_args *a, const int64_t cell[3], int64_t at, kp_real *up,
                         kp_real *down) {
  const kp_mac_view *g = &a->grid;
  kp_real value = a->values[at];
  kp_real least = value;
  kp_real most = value;
  for (int axis = 0; axis < g->dimension; ++axis) {
    const int64_t beside[2] = { kp_mac_before(g, axis, cell[axis], at),
                                kp_mac_behind(g, axis, cell[axis], at) };
    const bool is_edge[2] = { cell[axis] == a->lo[axis] && a->lo[axis] > 0,
                              cell[axis] == a->hi[axis] - 1 && a->hi[axis] < g->n[axis] };
    for (int s = 0; s < 2; ++s) {
      if (!is_edge[s] && (a->flags[beside[s]] & KP_CELL_KIND) == KP_CELL_FLUID) {
        kp_mac_widen(a->values[beside[s]], &least, &most);
      }
    }
  }
  kp_real weight = 1;
  if (a->shift > 0) {
    const kp_mac_velocity f = { a->u, a->v, a->w };
    kp_real speed[3];
    kp_mac_velocity_of_cell(g, f, at, speed);
    kp_real sum = 0;
    for (int c = 0; c < 3; ++c) {
      sum += speed[c] < 0 ? -speed[c] : speed[c];
    }
    sum *= a->shift;
    weight = sum < 1 ? sum : (kp_real)1;
  }
  *up = weight * (most - value);
  *down = weight * (value - least);
}

// Sums over fluid cells: values above rest, room up, room down
KP_FN void smoke_room(int64_t n, const smoke_room_args *a, double *v) {
  int64_t at = a->first + n;
  v[0] = v[1] = v[2] = 0.0;
  if ((a->flags[at] & KP_CELL_KIND) == KP_CELL_FLUID) {
    int64_t cell[3];
    kp_real up;
    kp_real down;
    kp_mac_cell_of(&a->grid, at, cell);
    smoke_room_of(a, cell, at, &up, &down);
    v[0] = (double)a->values[at] - (double)a->rest;
    v[1] = (double)up;
    v[2] = (double)down;
  }
}

KP_FN void smoke_settle(int64_t j, int64_t k, int64_t i0, int64_t i1, const smoke_settle_args *a) {
  for (int64_t i = i0; i < i1; ++i) {
    const int64_t cell[3] = { i, j, k };
    int64_t at = kp_mac_at(&a->grid, i, j, k);
    kp_real room[2] = { 0, 0 };
    if ((a->flags[at] & KP_CELL_KIND) == KP_CELL_FLUID) {
      smoke_room_of(a, cell, at, &room[0], &room[1]);
    }
    a->out[at] = a->values[at] + kp_product(a->share, a->share > 0 ? room[0] : room[1]);
  }
}

typedef struct smoke_scale_args {
  kp_mac_view grid;
  kp_real factor, rest;
  kp_real *values;
} smoke_scale_args;

KP_FN void smoke_scale(int64_t j, int64_t k, int64_t i0, int64_t i1, const smoke_scale_args *a) {
  int64_t row = kp_mac_at(&a->grid, 0, j, k);
  for (int64_t i = i0; i < i1; ++i) {
    a->values[row + i] = a->rest + kp_product(a->factor, a->values[row + i] - a->rest);
  }
}
