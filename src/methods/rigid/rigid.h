// Rigid bodies: scripted ones are put to their place, free ones move under gravity, what fluids do
// to their samples, and penalty contact with the domain's faces and with other bodies. Contact here
// keeps bodies apart without explosions; stacking with friction belongs to the contact module of
// the solids.
#pragma once

#include "geom/shape.h"
#include "methods/method.h"

typedef struct kp_rigid_shape {
  const kp_shape *shape;  // in shape coordinates; owned by the world
  kp_index body;
  bool is_free;
} kp_rigid_shape;

typedef struct kp_rigid {
  KP_ARRAY(kp_rigid_shape) shapes;
} kp_rigid;

extern const kp_method kp_rigid_method;

KP_NODISCARD kp_result kp_rigid_create(kp_env *env, const kp_rigid_shape *shapes, size_t n,
                                       kp_rigid **out);
