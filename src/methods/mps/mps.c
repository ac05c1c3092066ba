#include "methods/mps/mps.h"

#include <math.h>

#include "data/call.h"
#include "methods/mps/mps_kernels.h"
#include "par/kernel_define.h"

MPS_POINT_KERNELS(KP_DECLARE_POINT)

// ---- life ---------------------------------------------------------------------------------------

static void mps_destroy(void **self) {
  kp_mps *mps = *self;
  if (mps == NULL) {
    return;
  }
  for (size_t k = 0; k < mps->blocks.count; ++k) {
    kp_pair_lists_free(&mps->blocks.data[k].lists);
    kp_buffer_free(&mps->blocks.data[k].coefficients);
  }
  for (size_t l = 0; l < mps->liquids.count; ++l) {
    kp_medium_free(&mps->liquids.data[l].medium);
  }
  for (int w = 0; w < 2; ++w) {
    kp_mps_wall *wall = &mps->walls[w];
    kp_cells_destroy(&wall->skin.ghost_cells);
    kp_ghosts_destroy(&wall->skin.ghosts);
    kp_cells_destroy(&wall->skin.cells);
    kp_set_destroy(&wall->skin.set);
    kp_buffer_free(&wall->index);
    kp_cells_destroy(&wall->cells);
  }
  kp_buffer *all[] = { &mps->x, &mps->b, &mps->active, &mps->diagonal, &mps->inverse };
  for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
    kp_buffer_free(all[k]);
  }
  kp_pcg_free(&mps->pcg);
  kp_array_free(&mps->blocks);
  kp_array_free(&mps->groups);
  kp_array_free(&mps->liquids);
  kp_free(mps);
  *self = NULL;
}

kp_result kp_mps_create(kp_env *env, const kp_mps_setup *setup, kp_mps **out) {
  kp_mps *mps = kp_alloc_zero(sizeof *mps, KP_MEMORY_WORLD);
  if (mps == NULL) {
    return KP_ERROR_MEMORY;
  }
  mps->def = *setup->def;
  kp_pcg_init(&mps->pcg, env->backend);
  kp_buffer *all[] = { &mps->x, &mps->b, &mps->active, &mps->diagonal, &mps->inverse };
  for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
    kp_buffer_init(all[k], env->backend);
  }
  kp_buffer_init(&mps->walls[0].index, env->backend);
  kp_buffer_init(&mps->walls[1].index, env->backend);
  kp_result result = kp_mps_setup_all(mps, env, setup);
  if (result != KP_OK) {
    void *self = mps;
    mps_destroy(&self);
    return result;
  }
  *out = mps;
  return KP_OK;
}

// ---- stages -------------------------------------------------------------------------------------

#define EACH(liquid, mps)                                                                          \
  for (kp_mps_liquid *liquid = (mps)->liquids.data;                                                \
       liquid < (mps)->liquids.data + (mps)->liquids.count; ++liquid)

static kp_result mps_population(void *self, kp_env *env) {
  EACH(liquid, (kp_mps *)self) {
    KP_TRY(kp_medium_population(&liquid->medium, env));
  }
  return KP_OK;
}

static kp_result mps_space(void *self, kp_env *env) {
  kp_mps *mps = self;
  EACH(liquid, mps) {
    KP_TRY(kp_medium_space(&liquid->medium, env));
  }
  return kp_mps_place_skins(mps);
}

static kp_result mps_predict_stage(void *self, kp_env *env) {
  EACH(liquid, (kp_mps *)self) {
    if (env->evaluation > 0) {
      continue;
    }
    mps_predict_args a = { .dt = env->dt };
    kp_call call;
    kp_call_init(&call, &mps_predict_kernel, &a);
    KP_BIND3(&call, &a, a, liquid->medium.integrate.acceleration, KP_ACCESS_READ);
    KP_BIND3(&call, &a, v, liquid->medium.set->velocity, KP_ACCESS_WRITE);
    KP_BIND3(&call, &a, , liquid->medium.set->position, KP_ACCESS_WRITE);
    KP_TRY(kp_call_run(env->backend, &call, liquid->medium.set->space->n));
  }
  return KP_OK;
}

// Everything the pressure needs lies at the predicted places: sort again, then solve and push.
static kp_result mps_solve(void *self, kp_env *env) {
  kp_mps *mps = self;
  EACH(liquid, mps) {
    liquid->medium.bounds_known = false;
    KP_TRY(kp_medium_space(&liquid->medium, env));
  }
  KP_TRY(kp_mps_number_density(mps));
  if (mps->def.source == KP_MPS_SOURCE_MIXED) {
    KP_TRY(kp_mps_divergence(mps));
  }
  KP_TRY(kp_mps_pressure(mps, env));
  return kp_mps_push(mps, env);
}

static kp_result mps_correct_stage(void *self, kp_env *env) {
  kp_vec3 g = env->simulation.gravity;
  EACH(liquid, (kp_mps *)self) {
    mps_correct_args a = { .dt = env->dt,
                           .gx = (kp_real)g.x,
                           .gy = (kp_real)g.y,
                           .gz = (kp_real)(env->dimension == 2 ? 0.0 : g.z) };
    kp_call call;
    kp_call_init(&call, &mps_correct_kernel, &a);
    KP_BIND3(&call, &a, a, liquid->medium.integrate.acceleration, KP_ACCESS_WRITE);
    KP_BIND3(&call, &a, v, liquid->medium.set->velocity, KP_ACCESS_WRITE);
    KP_BIND3(&call, &a, , liquid->medium.set->position, KP_ACCESS_WRITE);
    KP_TRY(kp_call_run(env->backend, &call, liquid->medium.set->space->n));
    KP_TRY(kp_medium_domain(&liquid->medium, env));
  }
  return KP_OK;
}

static kp_result mps_check(void *self, kp_env *env) {
  kp_mps *mps = self;
  EACH(liquid, mps) {
    KP_TRY(kp_medium_check(&liquid->medium, env, mps->reach));
  }
  return KP_OK;
}

// dt <= cfl l0 / |v|, the explicit limit of viscosity, and a step of gravity that moves a liquid at
// rest by half a per cent of the spacing at the default cfl (see mps.md)
static double mps_max_dt(void *self, kp_env *env) {
  const kp_mps *mps = self;
  double l0 = mps->spacing;
  double speed = kp_medium_fastest_body(env);
  double nu = 0.0;
  for (size_t l = 0; l < mps->liquids.count; ++l) {
    const kp_mps_liquid *liquid = &mps->liquids.data[l];
    speed = fmax(speed, liquid->medium.max_speed);
    nu = fmax(nu, liquid->def.viscosity / liquid->def.rest_density);
  }
  double g = kp_vec3_length(env->simulation.gravity);
  double dt = HUGE_VAL;
  dt = speed > 0.0 ? fmin(dt, mps->def.cfl * l0 / speed) : dt;
  dt = g > 0.0 ? fmin(dt, 0.35 * mps->def.cfl * sqrt(l0 / g)) : dt;
  dt = nu > 0.0 ? fmin(dt, 0.25 * mps->lambda / (mps->dimension * nu)) : dt;
  return dt;
}

static int mps_n_populations(const void *self) {
  return (int)((const kp_mps *)self)->liquids.count;
}

static kp_result mps_stats(void *self, kp_env *env, int population, kp_population_stats *out) {
  kp_mps *mps = self;
  return kp_medium_stats(&mps->liquids.data[population].medium, env, out);
}

static kp_result mps_loaded(void *self) {
  EACH(liquid, (kp_mps *)self) {
    KP_TRY(kp_medium_loaded(&liquid->medium));
  }
  return KP_OK;
}

const kp_method kp_mps_method = {
  .name = "mps",
  .text = "Moving-particle semi-implicit method: incompressible by a pressure solve on particles.",
  .stages = { [KP_STAGE_POPULATION] = mps_population,
              [KP_STAGE_SPACE] = mps_space,
              [KP_STAGE_FORCES] = kp_mps_forces,
              [KP_STAGE_PREDICT] = mps_predict_stage,
              [KP_STAGE_SOLVE] = mps_solve,
              [KP_STAGE_CORRECT] = mps_correct_stage,
              [KP_STAGE_CHECK] = mps_check },
  .max_dt = mps_max_dt,
  .n_populations = mps_n_populations,
  .stats = mps_stats,
  .loaded = mps_loaded,
  .destroy = mps_destroy,
};
