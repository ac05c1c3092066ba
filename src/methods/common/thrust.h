// What the pressure of a grid does to bodies: each cell of fluid presses on the solid in it, so the
// force is the sum of p over the cut faces. Viscous stresses are left out.
#pragma once

#include "methods/common/flow.h"

// Force and torque about the centre of mass of each body, of the pressure as it is.
KP_NODISCARD kp_result kp_thrust_find(kp_flow *flow, kp_env *env, const kp_index *bodies, size_t n,
                                      kp_load *out);

// Tells env->loads what the pressure does to the bodies that are watched.
KP_NODISCARD kp_result kp_thrust_tell(kp_flow *flow, kp_env *env);
