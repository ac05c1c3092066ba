// Grains in SPH liquids, both ways: grains are dragged and lifted by the liquid around them, and
// the liquid loses what they gain, particle by particle. The first test is that balance, the second
// the speed at which a grain sinks.
//
// In stage forces, after both methods: grains look at the liquid within reach, the liquid at the
// grains within its reach and yields to them, then grains get what it gave. One exchange per
// sub-step, no iteration.
#pragma once

#include "methods/grains/grains.h"
#include "methods/sph/sph.h"

typedef struct kp_soaked_grains {
  kp_grains_set *grains;
  kp_field *flow;           // REAL x 6, sums: share, velocity, density, viscosity
  kp_field *factor, *lift;  // REAL: of drag and of what the liquid in its place would get
} kp_soaked_grains;

typedef struct kp_soaked_fluid {
  kp_sph_fluid *fluid;
  kp_field *seen;  // REAL x 4, sums: share of grains, drag
  kp_field *rest;  // REAL x 3: acceleration without gravity
} kp_soaked_fluid;

typedef struct kp_fluid_grains {
  kp_smooth w;
  double reach;  // m
  KP_ARRAY(kp_soaked_grains) sets;
  KP_ARRAY(kp_soaked_fluid) fluids;
} kp_fluid_grains;

extern const kp_method kp_fluid_grains_method;

// Both live longer than the coupling.
KP_NODISCARD kp_result kp_fluid_grains_create(kp_env *env, kp_sph *sph, kp_grains *grains,
                                              kp_fluid_grains **out);
