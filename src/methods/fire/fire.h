// Fire: flames of particles that are born, rise, fade and die alone (Lyes 2015, sections 4.1
// and 6.2). Also what else such particles can be: an explosion (nobody is born again) and rain
// (born at the top, dead at the floor).
#pragma once

#include "methods/common/flame.h"
#include "methods/fire/fire_kernels.h"

typedef struct kp_fire {
  KP_ARRAY(kp_flame) flames;
} kp_fire;

KP_NODISCARD kp_result kp_fire_create(kp_env *env, const kp_fire_def *defs, size_t n,
                                      kp_fire **out);

extern const kp_method kp_fire_method;
