// A flow by itself for the kernel check: images across a periodic axis, a ball that moves, a force
// field, viscosity of both kinds, part of the pressure taken along.
#include <math.h>
#include <stdio.h>

#include "geom/grid_surface.h"
#include "geom/level_set.h"
#include "methods/common/flow.h"
#include "render/live.h"
#include "world/world.h"

#include "bench/kernels.h"

// A world holds something, if only a drop.
static kp_result add_surroundings(kp_world *world) {
  static const double path[6] = { 0, 0, 0, 0.3, 0.1, 0.05 };
  kp_domain_def domain = kp_default_domain_def();
  domain.boundary_x = KP_BOUNDARY_PERIODIC;
  domain.open_top = true;
  kp_liquid_def drop = kp_default_liquid_def();
  drop.shape.kind = KP_SHAPE_BOX;
  drop.shape.max = kp_vec3_make(0.1, 0.1, 0.1);
  drop.spacing = 0.05;
  snprintf(drop.name, sizeof drop.name, "drop");
  kp_collider_def ball = kp_default_collider_def();
  ball.shape.kind = KP_SHAPE_SPHERE;
  ball.shape.center = kp_vec3_make(0.43, 0.52, 0.47);
  ball.shape.radius = 0.21;
  ball.position = (kp_curve){ .components = 3, .n = 2, .interval = 1.0, .samples = path };
  snprintf(ball.name, sizeof ball.name, "ball");
  kp_force_def wind = kp_default_force_def();
  wind.acceleration.constant[0] = 3.0;
  snprintf(wind.name, sizeof wind.name, "wind");
  KP_TRY(kp_world_set_domain(world, &domain));
  KP_TRY(kp_world_add_liquid(world, &drop));
  KP_TRY(kp_world_add_collider(world, &ball));
  KP_TRY(kp_world_add_force(world, &wind));
  return kp_world_build(world);
}

static kp_result step(kp_flow *flow, kp_env *env, kp_buffer *thickness) {
  kp_population_stats stats;
  double worst;
  const kp_flow_watch watch = { &flow->pressure->buffers[0], 0.0, 1e-3 };
  KP_TRY(kp_flow_follow(flow, &(kp_flow_activity){ .watches = &watch, .n_watches = 1 }));
  KP_TRY(kp_flow_solids(flow, env, KP_CELL_FLUID));
  KP_TRY(kp_flow_advect(flow, env));
  KP_TRY(kp_flow_forces(flow, env, 1.0));
  KP_TRY(kp_flow_viscosity(flow, env, 0.01, NULL));
  KP_TRY(kp_flow_viscosity(flow, env, 0.0, thickness));
  KP_TRY(kp_flow_project(flow, env, NULL));
  KP_TRY(kp_flow_divergence(flow, NULL, &worst));
  KP_TRY(kp_flow_extrapolate(flow, 2));
  KP_TRY(kp_flow_check(flow, env));
  return kp_flow_stats(flow, env, &stats);
}

// What no method asks a level set for, and a band in a window that leaves something out.
static kp_result measure(kp_mac *mac, kp_buffer *phi) {
  kp_level_set set;
  kp_level_set_sums sums;
  kp_result result = kp_level_set_init(&set, mac);
  if (result == KP_OK) {
    result = kp_level_set_measure(&set, phi, NULL, &sums);
  }
  const int32_t lo[3] = { 0, 0, 0 };
  const int32_t hi[3] = { 1, 1, 1 };
  result = result == KP_OK ? kp_mac_set_window(mac, lo, hi, 0) : result;
  result = result == KP_OK ? kp_level_set_band(&set, phi, 3.0) : result;
  kp_level_set_free(&set);
  return result;
}

// Samples of the pressure as those of a level set, and the velocity at three places.
static kp_result sample_surface(kp_flow *flow, kp_backend *backend) {
  static const kp_vec3 places[3] = { { 0.1, 0.2, 0.3 }, { 0.7, 0.1, 0.2 }, { 0.4, 0.9, 0.6 } };
  kp_grid_surface surface;
  kp_buffer points;
  float speeds[3][3], *const out[3] = { speeds[0], speeds[1], speeds[2] };
  kp_grid_surface_init(&surface, backend);
  kp_buffer_init(&points, backend);
  points.type = KP_TYPE_F64;
  kp_result result = kp_buffer_append(&points, places, sizeof places);
  result = result == KP_OK ? kp_grid_surface_take(&surface, flow->mac, flow->pressure) : result;
  if (result == KP_OK) {
    result = kp_grid_surface_velocity(&surface, flow->mac, &points, 3, out);
  }
  kp_buffer_free(&points);
  kp_grid_surface_free(&surface);
  return result;
}

// A look at the flow as water and as smoke.
static kp_result look(kp_flow *flow, kp_backend *backend) {
  kp_camera camera = { { 0.5, 0.7, 3.0 }, { 0.5, 0.5, 0.5 }, { 0, 1, 0 }, 35.0 };
  kp_buffer *pressure = &flow->pressure->buffers[0];
  kp_live_water water = { .mac = flow->mac, .distance = pressure, .sun = { 0, 1, 0 } };
  water.bright = kp_vec3_make(1, 1, 1);
  kp_live_smoke smoke = { .mac = flow->mac, .density = pressure, .heat = pressure };
  smoke.to = smoke.strength = 1.0;
  smoke.color = smoke.glow = kp_vec3_make(0.5, 0.5, 0.5);
  const uint32_t *pixels;
  kp_live live;
  kp_live_init(&live, backend);
  kp_result result = kp_live_begin(&live, &camera, 96, 54);
  result = result == KP_OK ? kp_live_add_water(&live, &water) : result;
  result = result == KP_OK ? kp_live_add_smoke(&live, &smoke) : result;
  result = result == KP_OK ? kp_live_read(&live, &pixels) : result;
  kp_live_free(&live);
  return result;
}

// The box around some particles.
static kp_result surround(kp_flow *flow, kp_env *env) {
  static const kp_vec3 places[3] = { { 0.1, 0.2, 0.3 }, { 0.7, 0.1, 0.2 }, { 0.4, 0.9, 0.6 } };
  kp_set *set = NULL;
  kp_aabb box;
  KP_TRY(kp_set_create(env->registry, "dots", KP_SET_FREE, 3, &set));
  kp_result result = kp_set_add(set, 3, places, NULL);
  result = result == KP_OK ? kp_flow_box(flow, set, &box) : result;
  kp_set_destroy(&set);
  return result;
}

kp_result kp_kernel_flow(kp_world *world, int64_t cells) {
  KP_TRY(add_surroundings(world));
  kp_env *env = &world->env;
  kp_grid_def grid = kp_default_grid_def();
  // the window is made of blocks, and a grid of one block has nothing outside of it
  grid.cell = 1.0 / fmin(fmax(KP_MAC_BLOCK + 4.0, round(cbrt((double)cells))), 48.0);
  grid.centering = 0.55;
  grid.no_slip = true;
  grid.follow = true;
  // every kernel is compared on its own: a few iterations tell as much as many
  grid.iterations = 3;
  kp_flow_def def = { .word = "gas",
                      .name = "gas",
                      .cell = KP_AUTO,
                      .density = 1.0,
                      .velocity = { 0.5, 0.25, 0.125 },
                      .grid = &grid };
  kp_flow flow;
  kp_buffer thickness = { 0 };
  kp_result result = kp_flow_create(&flow, env, &def);
  if (result == KP_OK) {
    result = kp_mac_scratch(flow.mac, KP_TYPE_REAL, &thickness);
  }
  for (int s = 0; s < 3 && result == KP_OK; ++s) {
    env->dt = 0.01;
    env->time = 0.01 * s;
    kp_bodies_script(env->bodies, env->time);
    result = step(&flow, env, &thickness);
  }
  if (result == KP_OK) {
    result = surround(&flow, env);
  }
  if (result == KP_OK) {
    result = sample_surface(&flow, world->backend);
  }
  if (result == KP_OK) {
    result = look(&flow, world->backend);
  }
  if (result == KP_OK) {
    result = measure(flow.mac, &flow.pressure->buffers[0]);
  }
  kp_buffer_free(&thickness);
  kp_flow_free(&flow);
  return result;
}
