// What tests of gases on grids look at.
#pragma once

#include "methods/smoke/smoke.h"

#include "support/worlds.h"

// The first gas of a world.
kp_gas *kp_test_gas(kp_world *world);

// Sums over the fluid cells of a box, each times the volume of a cell (in 2D: its area).
typedef struct kp_test_swirl {
  double enstrophy;  // integral of |omega|^2
  double energy;     // integral of |u|^2 / 2
} kp_test_swirl;

kp_test_swirl kp_test_swirl_of(kp_flow *flow, kp_aabb box);
