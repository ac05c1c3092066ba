// Free bodies in the liquid: the pressure pushes them, they push the liquid. Both happen within one
// step: the projection is repeated until the velocity it gives a body is the one it was told, so
// that light bodies do not shake.
#include <math.h>

#include "methods/common/release.h"
#include "methods/common/thrust.h"
#include "methods/flip/flip.h"

#define MOST_ROUNDS 8
#define CLOSE_ENOUGH 1e-3  // of g dt and of the speed
#define FIRST_SHARE 0.5    // of the first correction

kp_result kp_flip_find_bodies(kp_flip *flip, kp_env *env) {
  kp_bodies *bodies = env->bodies;
  for (kp_index b = 0; b < (kp_index)bodies->models.count; ++b) {
    if (bodies->models.data[b].kind == KP_BODY_FREE) {
      kp_flip_floater floater = { .body = b };
      KP_TRY(kp_array_push(&flip->floaters, floater));
    }
  }
  KP_TRY(kp_array_resize(&flip->bodies, flip->floaters.count));
  return kp_array_resize(&flip->thrusts, flip->floaters.count);
}

// Force and torque of the pressure on all floaters.
static kp_result find_thrust(kp_flip *flip, kp_env *env) {
  for (size_t f = 0; f < flip->floaters.count; ++f) {
    flip->bodies.data[f] = flip->floaters.data[f].body;
  }
  KP_TRY(kp_thrust_find(&flip->flow, env, flip->bodies.data, flip->floaters.count,
                        flip->thrusts.data));
  for (size_t f = 0; f < flip->floaters.count; ++f) {
    flip->floaters.data[f].force = flip->thrusts.data[f].force;
    flip->floaters.data[f].torque = flip->thrusts.data[f].torque;
  }
  return KP_OK;
}

static kp_vec3 turned(kp_quat q, const kp_mat3 *m, kp_vec3 v) {
  kp_vec3 local = kp_quat_rotate(kp_quat_conjugate(q), v);
  return kp_quat_rotate(q, kp_mat3_mul_vec3(m, local));
}

// Where the body's velocity goes under this pressure, less where it was thought to go. Turning
// counts as the speed it gives at the radius of gyration.
static void find_miss(kp_flip_floater *f, const kp_env *env, double miss[6]) {
  const kp_body *model = &env->bodies->models.data[f->body];
  kp_vec3 push = kp_vec3_add(f->force, env->bodies->forces.data[f->body]);
  kp_vec3 twist = kp_vec3_add(f->torque, env->bodies->torques.data[f->body]);
  kp_vec3 a = kp_vec3_madd(env->simulation.gravity, model->inverse_mass, push);
  kp_vec3 spin = turned(f->start.orientation, &model->inverse_inertia, twist);
  kp_vec3 v = kp_vec3_madd(f->start.velocity, env->dt, a);
  kp_vec3 w = kp_vec3_madd(f->start.angular_velocity, env->dt, spin);
  kp_vec3 dv = kp_vec3_sub(v, f->velocity);
  kp_vec3 dw = kp_vec3_scale(kp_vec3_sub(w, f->angular_velocity), f->radius);
  miss[0] = dv.x;
  miss[1] = dv.y;
  miss[2] = dv.z;
  miss[3] = dw.x;
  miss[4] = dw.y;
  miss[5] = dw.z;
}

static void start_floater(kp_flip_floater *f, kp_env *env) {
  const kp_body *model = &env->bodies->models.data[f->body];
  const double(*m)[3] = model->inertia.m;
  f->start = kp_bodies_frame(env->bodies, f->body);
  f->velocity = f->start.velocity;
  f->angular_velocity = f->start.angular_velocity;
  f->radius = sqrt((m[0][0] + m[1][1] + m[2][2]) / 3.0 * model->inverse_mass);
  f->share = FIRST_SHARE;
}

// The next guess, by Aitken's rule from the last two misses.
static void guess(kp_flip_floater *f, const double miss[6], bool is_first) {
  double top = 0.0;
  double size = 0.0;
  for (int c = 0; c < 6; ++c) {
    double change = miss[c] - f->miss[c];
    top += f->miss[c] * change;
    size += change * change;
    f->miss[c] = miss[c];
  }
  if (!is_first && size > 0.0) {
    f->share = fmin(fmax(-f->share * top / size, 0.05), 1.0);
  }
  f->velocity = kp_vec3_madd(f->velocity, f->share, kp_vec3_make(miss[0], miss[1], miss[2]));
  f->angular_velocity = kp_vec3_madd(f->angular_velocity, f->share / fmax(f->radius, 1e-12),
                                     kp_vec3_make(miss[3], miss[4], miss[5]));
}

static bool is_close(const kp_flip_floater *f, const kp_env *env, const double miss[6]) {
  double speed = kp_vec3_length(f->velocity) + f->radius * kp_vec3_length(f->angular_velocity);
  double scale = speed + kp_vec3_length(env->simulation.gravity) * env->dt;
  double size = 0.0;
  for (int c = 0; c < 6; ++c) {
    size = fmax(size, fabs(miss[c]));
  }
  return size <= CLOSE_ENOUGH * scale;
}

static void set_velocity(kp_flip_floater *f, kp_env *env, kp_vec3 v, kp_vec3 w) {
  kp_frame3 frame = f->start;
  frame.velocity = v;
  frame.angular_velocity = w;
  kp_bodies_set_frame(env->bodies, f->body, &frame);
}

#define EACH(f, flip)                                                                              \
  for (kp_flip_floater *f = (flip)->floaters.data;                                                 \
       f < (flip)->floaters.data + (flip)->floaters.count; ++f)

kp_result kp_flip_project(kp_flip *flip, kp_env *env, const kp_flow_projection *how) {
  kp_flow *flow = &flip->flow;
  if (flip->floaters.count == 0) {
    return kp_flow_project(flow, env, how);
  }
  // the shift is free until the volume is looked after
  for (int c = 0; c < flow->mac->view.dimension; ++c) {
    KP_TRY(kp_buffer_copy(&flip->shift[c], &flow->velocity->buffers[c]));
  }
  EACH(f, flip) {
    start_floater(f, env);
  }
  bool is_done = false;
  for (int round = 0; round < MOST_ROUNDS && !is_done; ++round) {
    if (round > 0) {
      for (int c = 0; c < flow->mac->view.dimension; ++c) {
        KP_TRY(kp_buffer_copy(&flow->velocity->buffers[c], &flip->shift[c]));
      }
      KP_TRY(kp_release_finish(flow));
      KP_TRY(kp_grid_solids_speeds(&flow->solids, env));
    }
    KP_TRY(kp_flow_project(flow, env, how));
    KP_TRY(find_thrust(flip, env));
    is_done = true;
    EACH(f, flip) {
      double miss[6];
      find_miss(f, env, miss);
      is_done = is_done && is_close(f, env, miss);
      guess(f, miss, round == 0);
      set_velocity(f, env, f->velocity, f->angular_velocity);
    }
    flip->totals.rounds += 1;
  }
  // the body itself moves when all of its forces are known
  EACH(f, flip) {
    set_velocity(f, env, f->start.velocity, f->start.angular_velocity);
  }
  return KP_OK;
}

kp_result kp_flip_push_bodies(kp_flip *flip, kp_env *env) {
  KP_TRY(find_thrust(flip, env));
  EACH(f, flip) {
    kp_vec3 *force = &env->bodies->forces.data[f->body];
    kp_vec3 *torque = &env->bodies->torques.data[f->body];
    *force = kp_vec3_add(*force, f->force);
    *torque = kp_vec3_add(*torque, f->torque);
  }
  return KP_OK;
}
