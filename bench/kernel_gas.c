// A gas for the kernel check that does everything gases can: burns, swells, cools, fades, is
// confined, blown at and stirred by vortex particles of every kind.
#include <math.h>
#include <stdio.h>

#include "bench/kernels.h"

static kp_shape_def box(kp_vec3 lo, kp_vec3 hi) {
  return (kp_shape_def){ .kind = KP_SHAPE_BOX, .min = lo, .max = hi };
}

static kp_result add_swarms(kp_world *world) {
  for (int forcing = 0; forcing <= KP_VORTICES_DIFFERENCE; ++forcing) {
    kp_vortices_def swarm = kp_default_vortices_def();
    snprintf(swarm.name, sizeof swarm.name, "swarm-%d", forcing);
    snprintf(swarm.into, sizeof swarm.into, "gas");
    swarm.shape = box(kp_vec3_make(0.2, 0.2, 0.2), kp_vec3_make(0.8, 0.8, 0.8));
    swarm.rate = 2000.0;
    swarm.limit = 200;
    swarm.magnitude = 0.01;
    swarm.forcing = forcing;
    swarm.rule = forcing;
    swarm.kernel = forcing % 3;
    swarm.solids = forcing % 2;
    swarm.threshold = 0.0;
    KP_TRY(kp_world_add_vortices(world, &swarm));
  }
  return KP_OK;
}

static kp_result add_sources(kp_world *world) {
  kp_source_def burner = kp_default_source_def();
  snprintf(burner.name, sizeof burner.name, "burner");
  snprintf(burner.into, sizeof burner.into, "gas");
  burner.shape = box(kp_vec3_make(0.3, 0.0, 0.3), kp_vec3_make(0.7, 0.2, 0.7));
  burner.density = 1.0;
  burner.temperature = 1200.0;
  burner.fuel_rate = 5.0;
  burner.noise = 0.3;
  kp_source_def blast = burner;
  snprintf(blast.name, sizeof blast.name, "blast");
  blast.shape = box(kp_vec3_make(0.1, 0.4, 0.1), kp_vec3_make(0.3, 0.6, 0.3));
  blast.divergence = kp_curve_constant(2.0);
  blast.velocity = kp_vec3_make(1.0, 0.0, 0.0);
  KP_TRY(kp_world_add_source(world, &burner));
  return kp_world_add_source(world, &blast);
}

kp_result kp_kernel_add_gas(kp_world *world, int64_t particles) {
  kp_domain_def domain = kp_default_domain_def();
  domain.max = kp_vec3_make(1, 1, 1);
  domain.boundary_x = KP_BOUNDARY_OPEN;
  domain.open_top = true;
  kp_grid_def grid = kp_default_grid_def();
  grid.cell = 1.0 / fmax(round(cbrt((double)particles)), 8.0);
  kp_smoke_def gas = kp_default_smoke_def();
  snprintf(gas.name, sizeof gas.name, "gas");
  gas.empty = true;
  gas.confinement = 0.5;
  gas.dissipation = 0.1;
  gas.cooling = 0.1;
  gas.radiation = 1000.0;
  gas.burn_rate = 4.0;
  gas.expansion = 3.0;
  kp_smoke_def plain = gas;  // its fuel is kept by a factor alone
  snprintf(plain.name, sizeof plain.name, "plain");
  plain.conserve = false;
  plain.empty = false;
  plain.fuel = 1.0;
  plain.velocity = kp_vec3_make(1.0, 0.5, 0.0);
  plain.shape = box(kp_vec3_make(0.2, 0.2, 0.2), kp_vec3_make(0.5, 0.5, 0.5));
  kp_collider_def ball = kp_default_collider_def();
  snprintf(ball.name, sizeof ball.name, "ball");
  ball.shape = (kp_shape_def){ .kind = KP_SHAPE_SPHERE,
                               .center = kp_vec3_make(0.6, 0.6, 0.5),
                               .radius = 0.15 };
  KP_TRY(kp_world_set_domain(world, &domain));
  KP_TRY(kp_world_set_grid(world, &grid));
  KP_TRY(kp_world_add_smoke(world, &gas));
  KP_TRY(kp_world_add_smoke(world, &plain));
  KP_TRY(kp_world_add_collider(world, &ball));
  KP_TRY(add_sources(world));
  return add_swarms(world);
}
