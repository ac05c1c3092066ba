// Making model and state from the spec.
#pragma once

#include "world/world.h"

KP_NODISCARD kp_result kp_world_build_all(kp_world *world);

// Copies everything, curve samples too; `out` is overwritten.
KP_NODISCARD kp_result kp_spec_copy(kp_spec *out, const kp_spec *spec);
