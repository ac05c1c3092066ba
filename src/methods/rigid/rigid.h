// Rigid bodies: scripted ones are put to their place, free ones move under gravity, what fluids do
// to their samples, impulses of whatever else touches them, and contact with friction and
// restitution among themselves, with colliders and with the closed faces of the domain.
//
// Contacts are found once per step (broad phase by a tree, manifolds of geom/contact_manifold.h)
// and solved in sub-steps (rigid_solver.c); what they remember is the registry's space "contacts".
// See rigid.md.
#pragma once

#include "geom/shape.h"
#include "methods/method.h"

typedef struct kp_rigid_shape {
  const kp_shape *shape;  // in shape coordinates; owned by the world
  kp_index body;
  bool is_free;
} kp_rigid_shape;

typedef struct kp_rigid kp_rigid;

extern const kp_method kp_rigid_method;

// One shape per body, in the order of bodies.
KP_NODISCARD kp_result kp_rigid_create(kp_env *env, const kp_rigid_def *def,
                                       const kp_rigid_shape *shapes, size_t n, kp_rigid **out);
