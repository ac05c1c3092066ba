// Random places instead of a lattice, for populations whose places are meant to be random.
#pragma once

#include "methods/common/medium.h"

// n particles spread evenly over a shape, as many as are asked for: places in solids or outside the
// domain are drawn again. The same for any number of threads; depends on the seed of the scene.
KP_NODISCARD kp_result kp_scatter_fill(kp_medium *medium, kp_env *env, const kp_shape_def *shape,
                                       int64_t n);
