// What the sub-step needs of the world's other files.
#pragma once

#include "world/world.h"

// Time, step count and step scale into the state, and back after a load.
KP_NODISCARD kp_result kp_world_store_clock(kp_world *world);
KP_NODISCARD kp_result kp_world_load_clock(kp_world *world);

// The longest sub-step any group would take now.
double kp_world_step_limit(kp_world *world);
