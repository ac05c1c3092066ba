#include "methods/fire/fire.h"

#include <math.h>

#include "data/call.h"
#include "par/kernel_define.h"

FIRE_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

// ---- set-up -------------------------------------------------------------------------------------

static void fire_destroy(void **self) {
  kp_fire *fire = *self;
  if (fire == NULL) {
    return;
  }
  for (size_t f = 0; f < fire->flames.count; ++f) {
    kp_flame_free(&fire->flames.data[f]);
  }
  kp_array_free(&fire->flames);
  kp_free(fire);
  *self = NULL;
}

static kp_result setup(kp_fire *fire, kp_env *env, const kp_fire_def *defs, size_t n) {
  KP_TRY(kp_array_reserve(&fire->flames, n));
  for (size_t f = 0; f < n; ++f) {
    kp_flame *flame = &fire->flames.data[fire->flames.count++];
    KP_TRY(kp_flame_create(flame, env, &defs[f], defs[f].integrator));
  }
  return KP_OK;
}

kp_result kp_fire_create(kp_env *env, const kp_fire_def *defs, size_t n, kp_fire **out) {
  kp_fire *fire = kp_alloc_zero(sizeof *fire, KP_MEMORY_WORLD);
  if (fire == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_result result = setup(fire, env, defs, n);
  if (result != KP_OK) {
    void *self = fire;
    fire_destroy(&self);
    return result;
  }
  *out = fire;
  return KP_OK;
}

// ---- stages -------------------------------------------------------------------------------------

#define FOR_EACH_FLAME(fire, flame)                                                                \
  for (kp_flame *flame = (fire)->flames.data, *end_ = flame + (fire)->flames.count; flame < end_;  \
       ++flame)

static int fire_evaluations(const void *self) {
  const kp_fire *fire = self;
  int most = 1;
  for (size_t f = 0; f < fire->flames.count; ++f) {
    int n = kp_integrate_stages(&fire->flames.data[f].medium.integrate);
    most = n > most ? n : most;
  }
  return most;
}

static kp_result fire_population(void *self, kp_env *env) {
  kp_fire *fire = self;
  FOR_EACH_FLAME(fire, flame) {
    KP_TRY(kp_flame_population(flame, env));
  }
  return KP_OK;
}

static kp_result fire_begin(void *self, kp_env *env) {
  kp_fire *fire = self;
  FOR_EACH_FLAME(fire, flame) {
    KP_TRY(kp_medium_begin(&flame->medium, env));
  }
  return KP_OK;
}

// The wind's clock at the start of the step, for all evaluations of it.
static void set_wind(const kp_flame *flame, const kp_env *env, fire_lift_args *a) {
  double strength = kp_flame_wind_strength(flame, env->time);
  for (int axis = 0; axis < 3; ++axis) {
    double period = kp_flame_wind_period(flame, env, axis);
    a->is_windy[axis] = strength != 0.0 && period > 0.0;
    a->wind[axis] =
        period > 0.0 ? strength * sin(KP_SAMPLER_TURN * flame->wind_time / period) : 0.0;
  }
}

static kp_result fire_forces(void *self, kp_env *env) {
  kp_fire *fire = self;
  FOR_EACH_FLAME(fire, flame) {
    fire_lift_args a = { 0 };
    set_wind(flame, env, &a);
    kp_call call;
    kp_call_init(&call, &fire_lift_kernel, &a);
    KP_BIND3(&call, &a, l, flame->lift, KP_ACCESS_READ);
    KP_BIND3(&call, &a, a, flame->medium.integrate.acceleration, KP_ACCESS_OVERWRITE);
    KP_TRY(kp_call_run(env->backend, &call, flame->medium.set->space->n));
    KP_TRY(kp_medium_outer_forces(&flame->medium, env));
  }
  return KP_OK;
}

static kp_result fire_predict(void *self, kp_env *env) {
  kp_fire *fire = self;
  FOR_EACH_FLAME(fire, flame) {
    KP_TRY(kp_medium_end(&flame->medium, env));
  }
  return KP_OK;
}

// Life goes on at the end of a step, so that nobody is ever seen outside the domain.
static kp_result fire_correct(void *self, kp_env *env) {
  kp_fire *fire = self;
  FOR_EACH_FLAME(fire, flame) {
    KP_TRY(kp_flame_age(flame, env, env->dt, false));
    kp_flame_wind_blow(flame, env);
  }
  return KP_OK;
}

static kp_result fire_check(void *self, kp_env *env) {
  kp_fire *fire = self;
  FOR_EACH_FLAME(fire, flame) {
    KP_TRY(kp_flame_check(flame, env, HUGE_VAL));
  }
  return KP_OK;
}

// Nobody meets anybody: only the wind and the length of a life are to be resolved.
static double fire_max_dt(void *self, kp_env *env) {
  kp_fire *fire = self;
  double dt = HUGE_VAL;
  FOR_EACH_FLAME(fire, flame) {
    dt = fmin(dt, kp_flame_max_dt(flame, env));
  }
  return dt;
}

static int fire_n_populations(const void *self) {
  return (int)((const kp_fire *)self)->flames.count;
}

static kp_result fire_stats(void *self, kp_env *env, int population, kp_population_stats *out) {
  kp_fire *fire = self;
  return kp_flame_stats(&fire->flames.data[population], env, out);
}

static kp_result fire_loaded(void *self) {
  kp_fire *fire = self;
  FOR_EACH_FLAME(fire, flame) {
    KP_TRY(kp_flame_loaded(flame));
  }
  return KP_OK;
}

const kp_method kp_fire_method = {
  .name = "fire",
  .text = "Flames of particles that are born, fade and die.",
  .is_alone = true,
  .stages = { [KP_STAGE_POPULATION] = fire_population,
              [KP_STAGE_FORCES] = fire_forces,
              [KP_STAGE_PREDICT] = fire_predict,
              [KP_STAGE_CORRECT] = fire_correct,
              [KP_STAGE_CHECK] = fire_check },
  .evaluations = fire_evaluations,
  .begin = fire_begin,
  .max_dt = fire_max_dt,
  .n_populations = fire_n_populations,
  .stats = fire_stats,
  .loaded = fire_loaded,
  .destroy = fire_destroy,
};
