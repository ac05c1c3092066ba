// Fluid on rigid bodies: the forces that fluids left on the samples of moving bodies become force
// and torque of the owners. What the samples gain the fluid has lost: both sides evaluate the same
// pair law.
#pragma once

#include "methods/method.h"

extern const kp_method kp_fluid_rigid;
