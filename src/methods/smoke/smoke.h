// Smoke and fire: a gas on a staggered grid that carries smoke, heat and fuel (Selle 2008, chapter
// 3), rises by buoyancy, burns, swells, and is fed by sources. See smoke.md.
#pragma once

#include "methods/common/flow.h"
#include "methods/common/grid_source.h"
#include "methods/common/vortex_particles.h"

// What a fire has taken in and given away so far, each times the volume of a cell [m^3, in 2D
// m^2].
typedef enum kp_smoke_account {
  KP_SMOKE_EMITTED,  // fuel of the start and of sources
  KP_SMOKE_BURNT,
  KP_SMOKE_GONE,    // through open sides
  KP_SMOKE_OPENED,  // integral of the divergence of the velocity over space and time
  KP_SMOKE_DRIFT,   // fuel that transport would have made (or lost, negative) without correction
  KP_SMOKE_ACCOUNT_COUNT
} kp_smoke_account;

// What is carried along and has a sum [times m^3, in 2D m^2].
typedef enum kp_smoke_amount {
  KP_SMOKE_SMOKE,
  KP_SMOKE_HEAT,  // of the temperature above the surroundings
  KP_SMOKE_FUEL,
  KP_SMOKE_AMOUNT_COUNT
} kp_smoke_amount;

typedef struct kp_gas {
  kp_smoke_def def;
  kp_flow flow;
  kp_advect_def how;
  kp_field *density, *temperature;
  kp_field *fuel, *flame;  // NULL unless something burns
  kp_field *divergence;    // 1/s that the velocity has; NULL unless the gas swells
  kp_grid_sources sources;
  kp_vorticity vorticity;
  kp_vortex_particles vortices;
  bool has_vorticity;
  kp_space *account;  // GLOBAL: kp_smoke_account
  double books[KP_SMOKE_ACCOUNT_COUNT];
  double kept[KP_SMOKE_AMOUNT_COUNT];  // what the coming transport must leave
} kp_gas;

typedef struct kp_smoke {
  KP_ARRAY(kp_gas) gases;
} kp_smoke;

KP_NODISCARD kp_result kp_smoke_create(kp_env *env, const kp_grid_def *grid,
                                       const kp_smoke_def *defs, size_t n, kp_smoke **out);

// ---- sums (smoke_sums.c)

// 2 of gases without fuel.
int kp_smoke_n_amounts(const kp_gas *gas);
// The array of an amount and its value where there is none.
kp_buffer *kp_smoke_values(kp_gas *gas, int amount, double *rest);
KP_NODISCARD kp_result kp_smoke_amounts(kp_gas *gas, double amounts[KP_SMOKE_AMOUNT_COUNT]);
// Before solids move; before fields are carried along, along the velocity they will be; after it.
KP_NODISCARD kp_result kp_smoke_count_kept(kp_gas *gas);
KP_NODISCARD kp_result kp_smoke_count_gone(kp_gas *gas, kp_env *env);
KP_NODISCARD kp_result kp_smoke_conserve(kp_gas *gas, kp_env *env);

// ---- fire (smoke_fire.c)

KP_NODISCARD kp_result kp_smoke_fire_create(kp_gas *gas, kp_env *env);
// Before fields are carried along: what swells thins out.
KP_NODISCARD kp_result kp_smoke_fire_dilute(kp_gas *gas, kp_env *env);
KP_NODISCARD kp_result kp_smoke_fire_burn(kp_gas *gas, kp_env *env);
// After the projection.
KP_NODISCARD kp_result kp_smoke_fire_count(kp_gas *gas, kp_env *env);
KP_NODISCARD kp_result kp_smoke_fire_store(kp_gas *gas);
KP_NODISCARD kp_result kp_smoke_fire_loaded(kp_gas *gas);

extern const kp_method kp_smoke_method;
