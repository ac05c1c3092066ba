#include "methods/common/motion.h"

#include <math.h>
#include <string.h>

#include "data/curve.h"

static kp_result find_body(const kp_env *env, const char *body, const char *what, const char *name,
                           kp_index *out) {
  *out = -1;
  for (size_t b = 0; body[0] != '\0' && b < env->bodies->models.count; ++b) {
    *out = strcmp(env->bodies->models.data[b].name, body) == 0 ? (kp_index)b : *out;
  }
  return body[0] == '\0' || *out >= 0
             ? KP_OK
             : kp_fail(KP_ERROR_SCENE, "%s \"%s\": there is no body or collider \"%s\"", what, name,
                       body);
}

kp_result kp_motion_create(const kp_env *env, const kp_curve *position,
                           const kp_curve *rotation_deg, const char *body, const char *what,
                           const char *name, kp_motion *out) {
  *out = (kp_motion){ .path = { .position = *position, .rotation_deg = *rotation_deg } };
  KP_TRY(find_body(env, body, what, name, &out->body));
  bool is_carried = false;
  if (out->body >= 0) {
    out->start = kp_bodies_frame(env->bodies, out->body);
    is_carried = env->bodies->models.data[out->body].kind != KP_BODY_STATIC;
  }
  out->moves = is_carried || position->n > 1 || rotation_deg->n > 1;
  return KP_OK;
}

// A frame that turned and went on as fast as it is.
static kp_frame3 at_other_time(kp_frame3 frame, double seconds) {
  double speed = kp_vec3_length(frame.angular_velocity);
  if (speed > 0.0) {
    double half = 0.5 * speed * seconds;
    kp_vec3 axis = kp_vec3_scale(frame.angular_velocity, sin(half) / speed);
    kp_quat turn = kp_quat_make(cos(half), axis.x, axis.y, axis.z);
    frame.orientation = kp_quat_mul(turn, frame.orientation);
  }
  frame.position = kp_vec3_madd(frame.position, seconds, frame.velocity);
  return frame;
}

static kp_frame3 body_frame(const kp_motion *motion, const kp_env *env, double time) {
  const kp_body *model = &env->bodies->models.data[motion->body];
  if (model->kind == KP_BODY_SCRIPTED) {
    return kp_body_scripted_frame(model, time);
  }
  kp_frame3 now = kp_bodies_frame(env->bodies, motion->body);
  return model->kind == KP_BODY_FREE ? at_other_time(now, time - env->time) : now;
}

kp_frame3 kp_motion_frame(const kp_motion *motion, const kp_env *env, double time) {
  kp_frame3 own = kp_body_scripted_frame(&motion->path, time);
  if (env->dimension == 2) {
    own.position.z = own.velocity.z = 0.0;
  }
  if (motion->body < 0) {
    return own;
  }
  // x = X + Q Q_0^-1 (x_own - X_0), with X, Q of the body now and X_0, Q_0 of it at the start
  kp_frame3 body = body_frame(motion, env, time);
  kp_quat turn = kp_quat_mul(body.orientation, kp_quat_conjugate(motion->start.orientation));
  kp_vec3 arm = kp_quat_rotate(turn, kp_vec3_sub(own.position, motion->start.position));
  kp_frame3 frame = { .position = kp_vec3_add(body.position, arm),
                      .orientation = kp_quat_mul(turn, own.orientation) };
  frame.velocity =
      kp_vec3_add(kp_frame3_velocity(&body, frame.position), kp_quat_rotate(turn, own.velocity));
  frame.angular_velocity =
      kp_vec3_add(body.angular_velocity, kp_quat_rotate(turn, own.angular_velocity));
  return frame;
}

double kp_motion_fastest(const kp_motion *motion, double reach) {
  const kp_curve *curves[2] = { &motion->path.position, &motion->path.rotation_deg };
  double fastest = 0.0;
  for (int c = 0; c < 2; ++c) {
    for (int32_t k = 0; k < curves[c]->n; ++k) {
      double time = curves[c]->start + curves[c]->interval * (double)k;
      kp_frame3 frame = kp_body_scripted_frame(&motion->path, time);
      double speed =
          kp_vec3_length(frame.velocity) + reach * kp_vec3_length(frame.angular_velocity);
      fastest = fmax(fastest, speed);
    }
  }
  return fastest;
}

kp_aabb kp_motion_box(const kp_shape *shape, const kp_frame3 *at) {
  kp_aabb own = kp_shape_bounds(shape);
  kp_aabb box = kp_aabb_empty();
  double far = HUGE_VAL;
  if (!kp_shape_is_bounded(shape)) {
    return (kp_aabb){ { -far, -far, -far }, { far, far, far } };
  }
  for (int corner = 0; corner < 8; ++corner) {
    // sections in 2D have no end along z
    double z = shape->dimension == 2 ? 0.0 : (corner & 4 ? own.max.z : own.min.z);
    kp_vec3 p =
        kp_vec3_make(corner & 1 ? own.max.x : own.min.x, corner & 2 ? own.max.y : own.min.y, z);
    box = kp_aabb_grow(box, kp_frame3_place(at, p));
  }
  return box;
}
