#include "methods/fire/fire.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/call.h"
#include "data/curve.h"
#include "par/kernel_define.h"

FIRE_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define STEPS_PER_PERIOD 20.0  // of the wind
#define STEPS_PER_LIFE 50.0

// ---- set-up -------------------------------------------------------------------------------------

static kp_result add_fields(kp_flame *flame) {
  kp_space *space = flame->medium.set->space;
  uint32_t kept = KP_FIELD_STATE;
  uint32_t shown = KP_FIELD_STATE | KP_FIELD_EXPORT;
  kp_field_desc lift = { "lift", KP_TYPE_REAL, 3, "m/s^2", kept, 0.0 };
  kp_field_desc life = { "life", KP_TYPE_REAL, 1, "", shown, 1.0 };
  kp_field_desc decay = { "decay", KP_TYPE_REAL, 1, "1/s", kept, 1.0 };
  kp_field_desc alpha = { "alpha", KP_TYPE_REAL, 1, "", shown, 1.0 };
  kp_field_desc color = { "color", KP_TYPE_REAL, 3, "", shown, 1.0 };
  kp_field_desc births = { "births", KP_TYPE_U32, 1, "", kept, 0.0 };
  kp_field_desc radius = { "radius", KP_TYPE_REAL, 1, "m", shown, flame->def.sprite_radius };
  kp_field *unused;
  KP_TRY(kp_space_add_field(space, &lift, &flame->lift));
  KP_TRY(kp_space_add_field(space, &life, &flame->life));
  KP_TRY(kp_space_add_field(space, &decay, &flame->decay));
  KP_TRY(kp_space_add_field(space, &alpha, &flame->alpha));
  KP_TRY(kp_space_add_field(space, &color, &flame->color));
  KP_TRY(kp_space_add_field(space, &births, &flame->births));
  return kp_space_add_field(space, &radius, &unused);
}

static void put(double out[3], kp_vec3 v) {
  out[0] = v.x;
  out[1] = v.y;
  out[2] = v.z;
}

// The name is part of the seed: two flames are not alike.
static fire_birth birth_of(const kp_flame *flame, const kp_env *env, double time) {
  const kp_fire_def *def = &flame->def;
  fire_birth b = { .seed =
                       kp_hash_bytes(def->name, strlen(def->name), (uint64_t)env->simulation.seed),
                   .emitter = def->emitter,
                   .up = kp_env_up_axis(env),
                   .dimension = env->dimension,
                   .radius = def->radius,
                   .burst = def->burst,
                   .decay_center = def->decay_center,
                   .decay_rim = def->decay_rim,
                   .life_spread = def->life_spread };
  kp_curve_at(&def->position, time, b.center, NULL);
  put(b.size, def->size);
  put(b.velocity, def->velocity);
  put(b.velocity_spread, def->velocity_spread);
  put(b.acceleration, def->acceleration);
  put(b.acceleration_spread, def->acceleration_spread);
  put(b.color, def->color);
  put(b.color_spread, def->color_spread);
  put(b.color_rim, def->color_rim);
  return b;
}

static void bind_life(kp_call *call, fire_life_args *a, kp_flame *flame) {
  kp_set *set = flame->medium.set;
  kp_field *fresh = flame->medium.integrate.fresh;
  KP_BIND3(call, a, , set->position, KP_ACCESS_WRITE);
  KP_BIND3(call, a, v, set->velocity, KP_ACCESS_WRITE);
  KP_BIND3(call, a, l, flame->lift, KP_ACCESS_WRITE);
  KP_BIND(call, a, life, &flame->life->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(call, a, decay, &flame->decay->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(call, a, alpha, &flame->alpha->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(call, a, red, &flame->color->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(call, a, green, &flame->color->buffers[1], KP_ACCESS_WRITE);
  KP_BIND(call, a, blue, &flame->color->buffers[2], KP_ACCESS_WRITE);
  KP_BIND(call, a, births, &flame->births->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(call, a, id, &set->id->buffers[0], KP_ACCESS_READ);
  KP_BIND(call, a, fresh, fresh != NULL ? &fresh->buffers[0] : NULL, KP_ACCESS_WRITE);
}

// Ages everyone by dt; `first`: everyone is born.
static kp_result age(kp_flame *flame, kp_env *env, double dt, bool first) {
  fire_life_args a = { .birth = birth_of(flame, env, env->time + dt),
                       .dt = dt,
                       .respawn = flame->def.respawn == KP_FIRE_ALWAYS,
                       .first = first,
                       .stagger = first && flame->def.stagger };
  for (int axis = 0; axis < 3; ++axis) {
    kp_faces faces = kp_env_faces(env, axis);
    bool ends = axis < env->dimension && !faces.periodic;
    a.lo[axis] = ends ? faces.lo : -HUGE_VAL;
    a.hi[axis] = ends ? faces.hi : HUGE_VAL;
  }
  int up = kp_env_up_axis(env);
  a.lo[up] = isnan(flame->def.floor) ? a.lo[up] : fmax(a.lo[up], flame->def.floor);
  kp_call call;
  kp_call_init(&call, &fire_life_kernel, &a);
  bind_life(&call, &a, flame);
  return kp_call_run(env->backend, &call, flame->medium.set->space->n);
}

static double *clock_of(kp_flame *flame, kp_access access) {
  return kp_buffer_host(&kp_space_find(flame->clock, "wind")->buffers[0], access);
}

static kp_result create_clock(kp_flame *flame, kp_registry *registry) {
  char name[KP_NAME_SIZE];
  kp_field_desc wind = { "wind", KP_TYPE_F64, 1, "s", KP_FIELD_SAVE, 0.0 };
  kp_field *field;
  snprintf(name, sizeof name, "%.36s.clock", flame->def.name);
  KP_TRY(kp_registry_add_space(registry, name, KP_SPACE_GLOBAL, &flame->clock));
  KP_TRY(kp_space_add_field(flame->clock, &wind, &field));
  return kp_space_append(flame->clock, 1, NULL, 0);
}

static kp_result check_def(const kp_fire_def *def, const kp_env *env) {
  int up = kp_env_up_axis(env);
  const double size[3] = { def->size.x, def->size.y, def->size.z };
  if (def->emitter == KP_FIRE_BLOCK && !(size[(up + 1) % 3] > 0.0 || size[(up + 2) % 3] > 0.0)) {
    return kp_fail(KP_ERROR_SCENE, "fire \"%s\": emitter 'block' needs a size across the up axis",
                   def->name);
  }
  return KP_OK;
}

// Everybody at one place, then born.
static kp_result add_particles(kp_flame *flame, kp_env *env) {
  size_t n = (size_t)flame->def.particles;
  kp_vec3 *points = kp_alloc_zero(n * sizeof *points, KP_MEMORY_SCRATCH);
  if (points == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_result result = kp_medium_add(&flame->medium, (int64_t)n, points, NULL);
  kp_free(points);
  KP_TRY(result);
  return age(flame, env, 0.0, true);
}

static kp_result setup_flame(kp_flame *flame, kp_env *env) {
  const kp_fire_def *def = &flame->def;
  KP_TRY(check_def(def, env));
  kp_medium_def how = { .word = "fire",
                        .name = def->name,
                        .spacing = 2.0 * def->sprite_radius,
                        .integrator = def->integrator };
  KP_TRY(kp_medium_create(&flame->medium, env, &how));
  flame->medium.mass = def->mass;
  KP_TRY(add_fields(flame));
  KP_TRY(create_clock(flame, env->registry));
  KP_TRY(add_particles(flame, env));
  return kp_medium_store(&flame->medium);
}

static void fire_destroy(void **self) {
  kp_fire *fire = *self;
  if (fire == NULL) {
    return;
  }
  for (size_t f = 0; f < fire->flames.count; ++f) {
    kp_medium_free(&fire->flames.data[f].medium);
  }
  kp_array_free(&fire->flames);
  kp_free(fire);
  *self = NULL;
}

static kp_result setup(kp_fire *fire, kp_env *env, const kp_fire_def *defs, size_t n) {
  KP_TRY(kp_array_reserve(&fire->flames, n));
  for (size_t f = 0; f < n; ++f) {
    kp_flame *flame = &fire->flames.data[fire->flames.count++];
    *flame = (kp_flame){ .def = defs[f] };
    KP_TRY(setup_flame(flame, env));
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

// ---- wind ---------------------------------------------------------------------------------------

static double wind_strength(const kp_flame *flame, double time) {
  double strength;
  kp_curve_at(&flame->def.wind, time, &strength, NULL);
  return strength;
}

// A sin(2 pi t/T) along the two axes across up, each with a period of its own; t is the wind's
// clock at the start of the step, for all evaluations of it.
static void set_wind(const kp_flame *flame, const kp_env *env, fire_lift_args *a) {
  double strength = wind_strength(flame, env->time);
  const double periods[2] = { flame->def.wind_period_a, flame->def.wind_period_b };
  int up = kp_env_up_axis(env);
  int side = 0;
  for (int axis = 0; axis < 3; ++axis) {
    if (axis != up) {
      double period = periods[side++];
      a->is_windy[axis] = strength != 0.0 && axis < env->dimension;
      a->wind[axis] = strength * sin(KP_SAMPLER_TURN * flame->wind_time / period);
    }
  }
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

// Those who died and are not born again.
static kp_result remove_dead(kp_flame *flame, kp_env *env) {
  kp_medium *medium = &flame->medium;
  int64_t before = medium->set->space->n;
  fire_keep_args a = { 0 };
  KP_TRY(kp_buffer_resize(&medium->keep, (size_t)before * sizeof(uint32_t)));
  kp_call call;
  kp_call_init(&call, &fire_keep_kernel, &a);
  KP_BIND(&call, &a, life, &flame->life->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, keep, &medium->keep, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(env->backend, &call, before));
  KP_TRY(kp_space_remove(medium->set->space, &medium->keep));
  env->report.n_removed += before - medium->set->space->n;
  return KP_OK;
}

static kp_result fire_population(void *self, kp_env *env) {
  kp_fire *fire = self;
  FOR_EACH_FLAME(fire, flame) {
    KP_TRY(kp_medium_population(&flame->medium, env));
    if (flame->def.respawn == KP_FIRE_NEVER && flame->medium.set->space->n > 0) {
      KP_TRY(remove_dead(flame, env));
    }
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
    KP_TRY(age(flame, env, env->dt, false));
    flame->wind_time += wind_strength(flame, env->time) != 0.0 ? env->dt : 0.0;
    *clock_of(flame, KP_ACCESS_WRITE) = flame->wind_time;
  }
  return KP_OK;
}

static kp_result fire_check(void *self, kp_env *env) {
  kp_fire *fire = self;
  FOR_EACH_FLAME(fire, flame) {
    // the dead of an explosion may have left; they are taken away before the next step
    int64_t escaped = env->report.n_escaped;
    KP_TRY(kp_medium_check(&flame->medium, env, HUGE_VAL));
    env->report.n_escaped = flame->def.respawn == KP_FIRE_NEVER ? escaped : env->report.n_escaped;
  }
  return KP_OK;
}

// Nobody meets anybody: only the wind and the length of a life are to be resolved.
static double fire_max_dt(void *self, kp_env *env) {
  kp_fire *fire = self;
  double dt = HUGE_VAL;
  FOR_EACH_FLAME(fire, flame) {
    const kp_fire_def *def = &flame->def;
    double fastest = fmax(def->decay_center, def->decay_rim);
    dt = fastest > 0.0 ? fmin(dt, 1.0 / (STEPS_PER_LIFE * fastest)) : dt;
    if (wind_strength(flame, env->time) != 0.0) {
      dt = fmin(dt, fmin(def->wind_period_a, def->wind_period_b) / STEPS_PER_PERIOD);
    }
  }
  return dt;
}

static int fire_n_populations(const void *self) {
  return (int)((const kp_fire *)self)->flames.count;
}

static kp_result fire_stats(void *self, kp_env *env, int population, kp_population_stats *out) {
  kp_fire *fire = self;
  KP_TRY(kp_medium_stats(&fire->flames.data[population].medium, env, out));
  out->internal_energy = 0.0;  // particles that do not meet have none
  return KP_OK;
}

static kp_result fire_loaded(void *self) {
  kp_fire *fire = self;
  FOR_EACH_FLAME(fire, flame) {
    KP_TRY(kp_medium_loaded(&flame->medium));
    flame->wind_time = *clock_of(flame, KP_ACCESS_READ);
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
