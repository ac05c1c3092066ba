// Set-ups of gases on grids.
#include <stdio.h>

#include "cases/cases.h"

kp_result kp_case_smoke_d(kp_world *world, int64_t size) {
  kp_domain_def domain = kp_default_domain_def();
  domain.max = kp_vec3_make(1.0, 1.0, 2.0);
  domain.boundary_x = KP_BOUNDARY_OPEN;
  domain.boundary_y = KP_BOUNDARY_OPEN;
  domain.open_top = true;
  kp_simulation_def simulation = kp_default_simulation_def();
  simulation.gravity = kp_vec3_make(0.0, 0.0, -9.81);
  simulation.dt = 1.0 / 24.0;
  simulation.dt_max = 1.0;
  kp_grid_def grid = kp_default_grid_def();
  grid.cell = 2.0 / (double)size;
  grid.tolerance = 1e-3;
  grid.trace = KP_ADVECT_EULER;
  kp_smoke_def plume = kp_default_smoke_def();
  snprintf(plume.name, sizeof plume.name, "plume");
  plume.empty = true;
  plume.lift = 1.0;  // m/s^2 of the source's one kelvin
  kp_source_def source = kp_default_source_def();
  snprintf(source.name, sizeof source.name, "inflow");
  snprintf(source.into, sizeof source.into, "plume");
  source.shape = (kp_shape_def){ .kind = KP_SHAPE_SPHERE,
                                 .center = kp_vec3_make(0.5, 0.5, 0.25),
                                 .radius = 0.12 };
  source.density = 1.0;
  source.temperature = plume.ambient + 1.0;
  KP_TRY(kp_world_set_domain(world, &domain));
  KP_TRY(kp_world_set_simulation(world, &simulation));
  KP_TRY(kp_world_set_grid(world, &grid));
  KP_TRY(kp_world_add_smoke(world, &plume));
  return kp_world_add_source(world, &source);
}
