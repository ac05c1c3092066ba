// Set-ups of hair.
#include <stdio.h>

#include "cases/cases.h"

enum { SEGMENTS = 10 };

kp_result kp_case_hair_e(kp_world *world, int64_t strands) {
  kp_domain_def domain = kp_default_domain_def();
  domain.min = kp_vec3_make(-2.0, -2.0, -2.0);
  domain.max = kp_vec3_make(2.0, 2.0, 2.0);
  kp_simulation_def simulation = kp_default_simulation_def();
  simulation.dt = 1.0 / 24.0;
  simulation.dt_max = 1.0;
  kp_solids_def solids = kp_default_solids_def();
  solids.dt = 1.0 / 120.0;
  solids.inner = 5;
  solids.contact = false;
  solids.bodies = false;
  kp_collider_def ball = kp_default_collider_def();
  snprintf(ball.name, sizeof ball.name, "ball");
  ball.shape = (kp_shape_def){ .kind = KP_SHAPE_SPHERE, .radius = 0.5 };
  ball.spacing = 0.1;
  kp_hair_def hair = kp_default_hair_def();
  snprintf(hair.name, sizeof hair.name, "strands");
  snprintf(hair.on, sizeof hair.on, "ball");
  hair.count = strands;
  hair.segments = SEGMENTS;
  hair.length = 0.5;
  hair.scheme = KP_SCHEME_BACKWARD_EULER;
  KP_TRY(kp_world_set_domain(world, &domain));
  KP_TRY(kp_world_set_simulation(world, &simulation));
  KP_TRY(kp_world_set_solids(world, &solids));
  KP_TRY(kp_world_add_collider(world, &ball));
  return kp_world_add_hair(world, &hair);
}

// Of the 2 s + 1 nodes of a strand the s extra ones are no points of it.
int64_t kp_case_hair_e_extras(int64_t nodes) {
  return -(nodes * SEGMENTS / (2 * SEGMENTS + 1));
}
