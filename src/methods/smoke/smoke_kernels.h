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
  REDUCE(smoke, leak, KP_REDUCE_SUM)

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

typedef struct smoke_scale_args {
  kp_mac_view grid;
  kp_real factor;
  kp_real *values;
} smoke_scale_args;

KP_FN void smoke_scale(int64_t j, int64_t k, int64_t i0, int64_t i1, const smoke_scale_args *a) {
  int64_t row = kp_mac_at(&a->grid, 0, j, k);
  for (int64_t i = i0; i < i1; ++i) {
    a->values[row + i] *= a->factor;
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

// What leaves through the two sides across an axis [1/s of cells]: element n is a line of cells
typedef struct smoke_leak_args {
  kp_mac_view grid;
  int32_t axis;
  int32_t is_open[2];
  const kp_real *speed;  // on the faces across the axis
  const kp_real *values;
} smoke_leak_args;

KP_FN void smoke_leak(int64_t n, const smoke_leak_args *a, double *v) {
  const kp_mac_view *g = &a->grid;
  int inner = a->axis == 0 ? 1 : 0;
  int outer = a->axis == 2 ? 1 : 2;
  int64_t first = g->start + n % g->n[inner] * kp_mac_stride(g, inner) +
                  n / g->n[inner] * kp_mac_stride(g, outer);
  int64_t up = kp_mac_stride(g, a->axis);
  int64_t last = first + (g->n[a->axis] - 1) * up;
  double out_lo = -(double)a->speed[first] * (double)g->inverse_h;
  double out_hi = (double)a->speed[last + up] * (double)g->inverse_h;
  v[0] = a->is_open[0] && out_lo > 0.0 ? out_lo * (double)a->values[first] : 0.0;
  v[0] += a->is_open[1] && out_hi > 0.0 ? out_hi * (double)a->values[last] : 0.0;
}
