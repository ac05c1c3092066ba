// Scenes C and F: a dam break in a closed box of 2 x 1 x 1 m, R x R/2 x R/2 cells, FLIP 0.97 with
// eight particles per cell, pressure to 1e-3; in a narrow band of three cells by steps of 1/24 s
// (C), and everywhere by steps of 1/120 s (F). The pressure is solved for once in a step, as the
// codes that these scenes are compared with do it: walls hold the water. Room is made to 3 %, which
// the next step sees to.
#include <stdio.h>

#include "cases/cases.h"

static kp_result build(kp_world *world, int64_t size, double dt, double band) {
  double cell = 2.0 / (double)size;
  kp_domain_def domain = kp_default_domain_def();
  domain.max = kp_vec3_make(2.0, 1.0, 1.0);
  KP_TRY(kp_world_set_domain(world, &domain));
  kp_simulation_def simulation = kp_default_simulation_def();
  simulation.policy = KP_POLICY_STOP;
  simulation.dt = dt;
  KP_TRY(kp_world_set_simulation(world, &simulation));
  kp_grid_def grid = kp_default_grid_def();
  grid.cell = cell;
  grid.tolerance = 1e-3;
  grid.advection = KP_ADVECT_SEMI_LAGRANGIAN;
  KP_TRY(kp_world_set_grid(world, &grid));
  kp_flip_def flip = kp_default_flip_def();
  flip.band = band;
  flip.lets_go = false;
  flip.volume_tolerance = 0.03;
  KP_TRY(kp_world_set_flip(world, &flip));
  kp_liquid_def water = kp_default_liquid_def();
  (void)snprintf(water.name, sizeof water.name, "water");
  water.method = KP_LIQUID_FLIP;
  water.spacing = 0.5 * cell;
  water.viscosity = 0.0;
  water.shape.kind = KP_SHAPE_BOX;
  water.shape.min = kp_vec3_make(0.0, 0.0, 0.0);
  water.shape.max = kp_vec3_make(0.8, 0.6, 1.0);
  return kp_world_add_liquid(world, &water);
}

kp_result kp_case_flip_c(kp_world *world, int64_t size) {
  return build(world, size, 1.0 / 24.0, 3.0);
}

kp_result kp_case_flip_f(kp_world *world, int64_t size) {
  return build(world, size, 1.0 / 120.0, 0.0);
}
