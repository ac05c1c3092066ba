// Set-ups of soft bodies.
#include <math.h>
#include <stdio.h>

#include "cases/cases.h"

kp_result kp_case_tets(kp_world *world, int64_t nodes) {
  kp_domain_def domain = kp_default_domain_def();
  domain.min = kp_vec3_make(-2.0, -2.0, -2.0);
  domain.max = kp_vec3_make(2.0, 2.0, 2.0);
  kp_simulation_def simulation = kp_default_simulation_def();
  simulation.dt = 1.0 / 60.0;
  simulation.dt_max = 1.0;
  kp_solids_def solids = kp_default_solids_def();
  solids.dt = 1.0 / 60.0;
  kp_soft_def block = kp_default_soft_def();
  snprintf(block.name, sizeof block.name, "block");
  block.shape = (kp_shape_def){ .kind = KP_SHAPE_BOX,
                                .min = kp_vec3_make(0.0, 0.0, 0.0),
                                .max = kp_vec3_make(1.0, 1.0, 1.0) };
  block.spacing = 1.0 / fmax(floor(cbrt((double)nodes) + 0.5) - 1.0, 1.0);
  block.young = 1e5;
  block.self = false;
  kp_pin_def wall = kp_default_pin_def();
  snprintf(wall.name, sizeof wall.name, "wall");
  wall.shape = (kp_shape_def){ .kind = KP_SHAPE_BOX,
                               .min = kp_vec3_make(-0.01, -1.0, -1.0),
                               .max = kp_vec3_make(0.001, 2.0, 2.0) };
  KP_TRY(kp_world_set_domain(world, &domain));
  KP_TRY(kp_world_set_simulation(world, &simulation));
  KP_TRY(kp_world_set_solids(world, &solids));
  KP_TRY(kp_world_add_soft(world, &block));
  return kp_world_add_pin(world, &wall);
}
