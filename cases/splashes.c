#include "cases/splashes.h"

#include <stdio.h>
#include <string.h>

#include "methods/level_set/pls.h"
#include "world/world.h"

const char *const kp_splash_names[KP_SPLASH_VARIANTS] = { "first", "clamp", "revert", "near",
                                                          "unlimited" };

#define FRAME (1.0 / 24.0)  // s

static kp_result add_water(kp_world *world, const char *name, const kp_shape_def *shape) {
  kp_liquid_def water = kp_default_liquid_def();
  snprintf(water.name, sizeof water.name, "%s", name);
  water.method = KP_LIQUID_LEVEL_SET;
  water.shape = *shape;
  water.viscosity = 0.0;
  return kp_world_add_liquid(world, &water);
}

static kp_result set_variant(kp_world *world, const kp_splash_def *def) {
  kp_grid_def grid = kp_default_grid_def();
  kp_level_set_def level = kp_default_level_set_def();
  bool clamps = def->variant == KP_SPLASH_CLAMP || def->variant == KP_SPLASH_NEAR;
  bool is_first = def->variant == KP_SPLASH_FIRST;
  grid.cell = 1.0 / (double)def->cells;
  grid.cfl = 1.75;
  grid.advection = is_first ? KP_ADVECT_SEMI_LAGRANGIAN : KP_ADVECT_MACCORMACK;
  grid.limiter = clamps ? KP_ADVECT_CLAMP : KP_ADVECT_REVERT;
  if (def->variant == KP_SPLASH_UNLIMITED) {
    grid.limiter = KP_ADVECT_NO_LIMITER;
  }
  if (def->variant == KP_SPLASH_NEAR) {
    level.near_surface = KP_LEVEL_SET_NEAR_FIRST;
  }
  level.volume = def->drifts ? 0.0 : level.volume;
  KP_TRY(kp_world_set_grid(world, &grid));
  return kp_world_set_level_set(world, &level);
}

static kp_result fill_world(kp_world *world, const kp_splash_def *def) {
  double depth = def->dimension == 3 ? 1.0 : 0.0;
  kp_domain_def domain = kp_default_domain_def();
  kp_simulation_def simulation = kp_default_simulation_def();
  kp_shape_def drop = kp_default_liquid_def().shape;
  kp_shape_def pool = drop;
  domain.dimension = def->dimension;
  domain.min = kp_vec3_make(0, 0, 0);
  domain.max = kp_vec3_make(1, 1.5, depth);
  simulation.gravity = kp_vec3_make(0, -9.8, 0);
  drop.kind = KP_SHAPE_SPHERE;
  drop.center = kp_vec3_make(0.5, 0.75, 0.5 * depth);
  drop.radius = 0.2;
  pool.kind = KP_SHAPE_BOX;
  pool.min = kp_vec3_make(-1, -1, -1);
  pool.max = kp_vec3_make(2, 0.412134, 2);
  KP_TRY(kp_world_set_domain(world, &domain));
  KP_TRY(kp_world_set_simulation(world, &simulation));
  KP_TRY(set_variant(world, def));
  KP_TRY(add_water(world, "drop", &drop));
  KP_TRY(add_water(world, "pool", &pool));
  return kp_world_build(world);
}

static kp_result look(kp_world *world, kp_splash_frame *out) {
  kp_population_stats stats;
  kp_level_set_sums sums;
  KP_TRY(kp_pls_measure(kp_world_system(world, &kp_pls_method), &sums));
  KP_TRY(kp_world_stats(world, 0, &stats));
  out->kinetic = stats.kinetic_energy;
  out->potential = stats.potential_energy;
  out->volume = sums.volume;
  out->area = sums.area;
  out->fastest = stats.max_speed;
  return KP_OK;
}

static kp_result watch(kp_world *world, const kp_splash_def *def, kp_splash_frame *out,
                       int64_t *reached) {
  KP_TRY(look(world, &out[0]));
  for (int64_t frame = 1; frame <= def->frames; ++frame) {
    kp_step_report report;
    if (kp_world_advance(world, FRAME, &report) != KP_OK) {
      return KP_OK;
    }
    KP_TRY(look(world, &out[frame]));
    out[frame].steps = report.steps;
    *reached = frame;
  }
  return KP_OK;
}

kp_result kp_splash_run(const kp_splash_def *def, kp_splash_frame *out, int64_t *reached) {
  kp_world *world = NULL;
  *reached = 0;
  memset(out, 0, (size_t)(def->frames + 1) * sizeof *out);
  KP_TRY(kp_world_create(def->backend, &world));
  kp_result result = fill_world(world, def);
  if (result == KP_OK) {
    result = watch(world, def, out, reached);
  }
  kp_world_destroy(&world);
  return result;
}
