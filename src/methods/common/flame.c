#include "methods/common/flame.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/call.h"
#include "data/curve.h"
#include "par/kernel_define.h"

FLAME_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

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
  kp_field_desc born = { "born", KP_TYPE_U8, 1, "", 0, 0.0 };
  kp_field_desc radius = { "radius", KP_TYPE_REAL, 1, "m", shown, flame->def.sprite_radius };
  kp_field *unused;
  if (flame->medium.integrates) {
    KP_TRY(kp_space_add_field(space, &lift, &flame->lift));
  }
  KP_TRY(kp_space_add_field(space, &life, &flame->life));
  KP_TRY(kp_space_add_field(space, &decay, &flame->decay));
  KP_TRY(kp_space_add_field(space, &alpha, &flame->alpha));
  KP_TRY(kp_space_add_field(space, &color, &flame->color));
  KP_TRY(kp_space_add_field(space, &births, &flame->births));
  KP_TRY(kp_space_add_field(space, &born, &flame->born));
  return kp_space_add_field(space, &radius, &unused);
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
  return kp_flame_age(flame, env, 0.0, true);
}

kp_result kp_flame_create(kp_flame *flame, kp_env *env, const kp_fire_def *def, int integrator) {
  *flame = (kp_flame){
    .def = *def, .room = { { -HUGE_VAL, -HUGE_VAL, -HUGE_VAL }, { HUGE_VAL, HUGE_VAL, HUGE_VAL } }
  };
  KP_TRY(check_def(def, env));
  kp_medium_def how = {
    .word = "fire", .name = def->name, .spacing = 2.0 * def->sprite_radius, .integrator = integrator
  };
  KP_TRY(kp_medium_create(&flame->medium, env, &how));
  flame->medium.mass = def->mass;
  KP_TRY(add_fields(flame));
  KP_TRY(create_clock(flame, env->registry));
  KP_TRY(add_particles(flame, env));
  return kp_medium_store(&flame->medium);
}

void kp_flame_free(kp_flame *flame) {
  kp_medium_free(&flame->medium);
}

// ---- birth and death ----------------------------------------------------------------------------

static void put(double out[3], kp_vec3 v) {
  out[0] = v.x;
  out[1] = v.y;
  out[2] = v.z;
}

// The name is part of the seed: two flames are not alike.
static flame_birth birth_of(const kp_flame *flame, const kp_env *env, double time) {
  const kp_fire_def *def = &flame->def;
  flame_birth b = { .seed =
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

static void bind_life(kp_call *call, flame_life_args *a, kp_flame *flame) {
  kp_set *set = flame->medium.set;
  kp_field *fresh = flame->medium.integrate.fresh;
  KP_BIND3(call, a, , set->position, KP_ACCESS_WRITE);
  KP_BIND3(call, a, v, set->velocity, KP_ACCESS_WRITE);
  if (flame->lift != NULL) {
    KP_BIND3(call, a, l, flame->lift, KP_ACCESS_WRITE);
  }
  KP_BIND(call, a, life, &flame->life->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(call, a, decay, &flame->decay->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(call, a, alpha, &flame->alpha->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(call, a, red, &flame->color->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(call, a, green, &flame->color->buffers[1], KP_ACCESS_WRITE);
  KP_BIND(call, a, blue, &flame->color->buffers[2], KP_ACCESS_WRITE);
  KP_BIND(call, a, births, &flame->births->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(call, a, id, &set->id->buffers[0], KP_ACCESS_READ);
  KP_BIND(call, a, fresh, fresh != NULL ? &fresh->buffers[0] : NULL, KP_ACCESS_WRITE);
  KP_BIND(call, a, born, &flame->born->buffers[0], KP_ACCESS_OVERWRITE);
}

kp_result kp_flame_age(kp_flame *flame, kp_env *env, double dt, bool first) {
  flame_life_args a = { .birth = birth_of(flame, env, env->time + dt),
                        .dt = dt,
                        .respawn = flame->def.respawn == KP_FIRE_ALWAYS,
                        .first = first,
                        .stagger = first && flame->def.stagger };
  double lo[3];
  double hi[3];
  put(lo, flame->room.min);
  put(hi, flame->room.max);
  for (int axis = 0; axis < 3; ++axis) {
    kp_faces faces = kp_env_faces(env, axis);
    bool ends = axis < env->dimension && !faces.periodic;
    a.lo[axis] = ends ? fmax(faces.lo, lo[axis]) : lo[axis];
    a.hi[axis] = ends ? fmin(faces.hi, hi[axis]) : hi[axis];
  }
  int up = kp_env_up_axis(env);
  a.lo[up] = isnan(flame->def.floor) ? a.lo[up] : fmax(a.lo[up], flame->def.floor);
  kp_call call;
  kp_call_init(&call, &flame_life_kernel, &a);
  bind_life(&call, &a, flame);
  return kp_call_run(env->backend, &call, flame->medium.set->space->n);
}

// Those who died and are not born again.
static kp_result remove_dead(kp_flame *flame, kp_env *env) {
  kp_medium *medium = &flame->medium;
  int64_t before = medium->set->space->n;
  flame_keep_args a = { 0 };
  KP_TRY(kp_buffer_resize(&medium->keep, (size_t)before * sizeof(uint32_t)));
  kp_call call;
  kp_call_init(&call, &flame_keep_kernel, &a);
  KP_BIND(&call, &a, life, &flame->life->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, keep, &medium->keep, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(env->backend, &call, before));
  KP_TRY(kp_space_remove(medium->set->space, &medium->keep));
  env->report.n_removed += before - medium->set->space->n;
  return KP_OK;
}

kp_result kp_flame_population(kp_flame *flame, kp_env *env) {
  KP_TRY(kp_medium_population(&flame->medium, env));
  if (flame->def.respawn == KP_FIRE_NEVER && flame->medium.set->space->n > 0) {
    KP_TRY(remove_dead(flame, env));
  }
  return KP_OK;
}

// ---- wind ---------------------------------------------------------------------------------------

double kp_flame_wind_strength(const kp_flame *flame, double time) {
  double strength;
  kp_curve_at(&flame->def.wind, time, &strength, NULL);
  return strength;
}

double kp_flame_wind_period(const kp_flame *flame, const kp_env *env, int axis) {
  int up = kp_env_up_axis(env);
  if (axis == up || axis >= env->dimension) {
    return 0.0;
  }
  bool is_first = axis == (up == 0 ? 1 : 0);
  return is_first ? flame->def.wind_period_a : flame->def.wind_period_b;
}

void kp_flame_wind_blow(kp_flame *flame, const kp_env *env) {
  flame->wind_time += kp_flame_wind_strength(flame, env->time) != 0.0 ? env->dt : 0.0;
  *clock_of(flame, KP_ACCESS_WRITE) = flame->wind_time;
}

double kp_flame_max_dt(const kp_flame *flame, const kp_env *env) {
  const kp_fire_def *def = &flame->def;
  double fastest = fmax(def->decay_center, def->decay_rim);
  double dt = fastest > 0.0 ? 1.0 / (STEPS_PER_LIFE * fastest) : HUGE_VAL;
  if (kp_flame_wind_strength(flame, env->time) != 0.0) {
    dt = fmin(dt, fmin(def->wind_period_a, def->wind_period_b) / STEPS_PER_PERIOD);
  }
  return dt;
}

// ---- reports ------------------------------------------------------------------------------------

kp_result kp_flame_check(kp_flame *flame, kp_env *env, double longest) {
  // the dead of an explosion may have left; they are taken away before the next step
  int64_t escaped = env->report.n_escaped;
  KP_TRY(kp_medium_check(&flame->medium, env, longest));
  env->report.n_escaped = flame->def.respawn == KP_FIRE_NEVER ? escaped : env->report.n_escaped;
  return KP_OK;
}

kp_result kp_flame_stats(kp_flame *flame, kp_env *env, kp_population_stats *out) {
  KP_TRY(kp_medium_stats(&flame->medium, env, out));
  out->internal_energy = 0.0;  // nothing is stored between the particles of a flame
  return KP_OK;
}

kp_result kp_flame_loaded(kp_flame *flame) {
  KP_TRY(kp_medium_loaded(&flame->medium));
  flame->wind_time = *clock_of(flame, KP_ACCESS_READ);
  return KP_OK;
}
