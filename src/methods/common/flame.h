// A flame: one medium whose particles are born at an emitter, fade, die and are born again (Lyes
// 2015, sections 4.1 and 6.2). What they do between birth and death is the method's business.
//
//   kp_flame_create       the medium, its fields, everybody's first birth
//   stage population      kp_flame_population
//   end of stage correct  kp_flame_age, then the wind's clock
//   stage check           kp_flame_check
#pragma once

#include "methods/common/flame_kernels.h"
#include "methods/common/medium.h"

typedef struct kp_flame {
  kp_fire_def def;
  kp_medium medium;
  kp_field *lift;    // m/s^2; NULL where the method moves particles by itself
  kp_field *life;    // 1 at birth, dead at 0
  kp_field *decay;   // 1/s
  kp_field *alpha;   // for pictures: life, 0 to 1
  kp_field *color;   // linear RGB
  kp_field *births;  // how often it was born again
  kp_field *born;    // u8, scratch: born by the last kp_flame_age
  kp_aabb room;      // whoever leaves it dies, as does who leaves the domain; all of space at first
  double wind_time;  // s: runs while the wind blows
  kp_space *clock;   // GLOBAL: wind_time
} kp_flame;

// Clears *flame first; on failure kp_flame_free is still to be called. `integrator`: as in
// kp_medium_def.
KP_NODISCARD kp_result kp_flame_create(kp_flame *flame, kp_env *env, const kp_fire_def *def,
                                       int integrator);
void kp_flame_free(kp_flame *flame);

// Everybody grows older by dt; whoever dies or has left is born again where the def says so.
// `first`: everyone is born.
KP_NODISCARD kp_result kp_flame_age(kp_flame *flame, kp_env *env, double dt, bool first);
// Emission and removal as of any medium, and the dead who are not born again.
KP_NODISCARD kp_result kp_flame_population(kp_flame *flame, kp_env *env);
KP_NODISCARD kp_result kp_flame_check(kp_flame *flame, kp_env *env, double longest);
KP_NODISCARD kp_result kp_flame_stats(kp_flame *flame, kp_env *env, kp_population_stats *out);
KP_NODISCARD kp_result kp_flame_loaded(kp_flame *flame);

// The wind: A sin(2 pi t/T) along the two axes across up, each with a period of its own.
double kp_flame_wind_strength(const kp_flame *flame, double time);  // A [m/s^2]
// Its period along an axis [s]; 0 along up and where the space has no such axis.
double kp_flame_wind_period(const kp_flame *flame, const kp_env *env, int axis);
void kp_flame_wind_blow(kp_flame *flame, const kp_env *env);

// The longest step that resolves lives and the wind [s].
double kp_flame_max_dt(const kp_flame *flame, const kp_env *env);
