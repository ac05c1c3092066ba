// Where something of the scene is that moves as functions of time say, with a body, or both:
// emitters, sinks and sources.
#pragma once

#include "methods/method.h"

typedef struct kp_motion {
  kp_body path;     // its curves alone
  kp_index body;    // that carries it; -1: none
  kp_frame3 start;  // of that body
  bool moves;
} kp_motion;

// `body` names a collider or free body, or is empty; `what` is told where there is none. Curves of
// rotations may have no components.
KP_NODISCARD kp_result kp_motion_create(const kp_env *env, const kp_curve *position,
                                        const kp_curve *rotation_deg, const char *body,
                                        const char *what, const char *name, kp_motion *out);

// The origin of its axes, their turn and how fast both are, at a time of this sub-step. Where a
// free body was before now is told by how fast it is.
kp_frame3 kp_motion_frame(const kp_motion *motion, const kp_env *env, double time);

// The fastest it is at any time by its curves, `reach` [m] from the origin of its axes [m/s].
double kp_motion_fastest(const kp_motion *motion, double reach);

// A box around a shape whose axes are `at`; without end where the shape has none.
kp_aabb kp_motion_box(const kp_shape *shape, const kp_frame3 *at);

static inline kp_vec3 kp_frame3_place(const kp_frame3 *frame, kp_vec3 local) {
  return kp_vec3_add(frame->position, kp_quat_rotate(frame->orientation, local));
}

static inline kp_vec3 kp_frame3_local(const kp_frame3 *frame, kp_vec3 p) {
  return kp_quat_rotate(kp_quat_conjugate(frame->orientation), kp_vec3_sub(p, frame->position));
}

// Of what is carried along at p.
static inline kp_vec3 kp_frame3_velocity(const kp_frame3 *frame, kp_vec3 p) {
  kp_vec3 arm = kp_vec3_sub(p, frame->position);
  return kp_vec3_add(frame->velocity, kp_vec3_cross(frame->angular_velocity, arm));
}
