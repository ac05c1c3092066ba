// Fire: flames of particles that are born, rise, fade and die (Lyes 2015, sections 4.1 and 6.2).
// Also what else such particles can be: an explosion (nobody is born again) and rain (born at the
// top, dead at the floor).
#pragma once

#include "methods/common/medium.h"
#include "methods/fire/fire_kernels.h"

typedef struct kp_flame {
  kp_fire_def def;
  kp_medium medium;
  kp_field *lift;    // m/s^2
  kp_field *life;    // 1 at birth, dead at 0
  kp_field *decay;   // 1/s
  kp_field *alpha;   // for pictures: life, 0 to 1
  kp_field *color;   // linear RGB
  kp_field *births;  // how often it was born again
  double wind_time;  // s: runs while the wind blows
  kp_space *clock;   // GLOBAL: wind_time
} kp_flame;

typedef struct kp_fire {
  KP_ARRAY(kp_flame) flames;
} kp_fire;

KP_NODISCARD kp_result kp_fire_create(kp_env *env, const kp_fire_def *defs, size_t n,
                                      kp_fire **out);

extern const kp_method kp_fire_method;
