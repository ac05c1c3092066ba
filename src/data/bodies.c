#include "data/bodies.h"

#include "data/curve.h"

static const kp_field_desc body_fields[] = {
  { "position", KP_TYPE_F64, 3, "m", KP_FIELD_SAVE | KP_FIELD_EXPORT, 0.0 },
  { "orientation", KP_TYPE_F64, 4, "", KP_FIELD_SAVE | KP_FIELD_EXPORT, 0.0 },
  { "velocity", KP_TYPE_F64, 3, "m/s", KP_FIELD_SAVE | KP_FIELD_EXPORT, 0.0 },
  { "angular_velocity", KP_TYPE_F64, 3, "1/s", KP_FIELD_SAVE | KP_FIELD_EXPORT, 0.0 },
};

kp_result kp_bodies_create(kp_registry *registry, kp_bodies **out) {
  kp_bodies *bodies = kp_alloc_zero(sizeof *bodies, KP_MEMORY_WORLD);
  if (bodies == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_result result = kp_registry_add_space(registry, "bodies", KP_SPACE_BODIES, &bodies->space);
  if (result == KP_OK) {
    result = kp_space_add_fields(bodies->space, body_fields, 4);
  }
  if (result != KP_OK) {
    kp_registry_remove_space(registry, &bodies->space);
    kp_bodies_destroy(&bodies);
    return result;
  }
  bodies->position = kp_space_find(bodies->space, "position");
  bodies->orientation = kp_space_find(bodies->space, "orientation");
  bodies->velocity = kp_space_find(bodies->space, "velocity");
  bodies->angular_velocity = kp_space_find(bodies->space, "angular_velocity");
  *out = bodies;
  return KP_OK;
}

void kp_bodies_destroy(kp_bodies **bodies) {
  if (*bodies != NULL) {
    kp_array_free(&(*bodies)->models);
    kp_array_free(&(*bodies)->slides);
    kp_array_free(&(*bodies)->forces);
    kp_array_free(&(*bodies)->torques);
    kp_free(*bodies);
    *bodies = NULL;
  }
}

// A model made by hand may have no curve at all.
static kp_vec3 slide_at(const kp_body *model, double time) {
  double v[3] = { 0 };
  if (model->surface_velocity.components == 3) {
    kp_curve_at(&model->surface_velocity, time, v, NULL);
  }
  return kp_vec3_make(v[0], v[1], v[2]);
}

kp_result kp_bodies_add(kp_bodies *bodies, const kp_body *model, const kp_frame3 *frame,
                        kp_index *index) {
  kp_vec3 p = frame->position;
  kp_quat q = frame->orientation;
  kp_vec3 v = frame->velocity;
  kp_vec3 w = frame->angular_velocity;
  const kp_append_value values[] = {
    { bodies->position, { &p.x, &p.y, &p.z } },
    { bodies->orientation, { &q.w, &q.x, &q.y, &q.z } },
    { bodies->velocity, { &v.x, &v.y, &v.z } },
    { bodies->angular_velocity, { &w.x, &w.y, &w.z } },
  };
  // memory first: a failure leaves all lists of the same length
  size_t n = bodies->models.count;
  KP_TRY(kp_array_reserve(&bodies->models, n + 1));
  KP_TRY(kp_array_reserve(&bodies->slides, n + 1));
  KP_TRY(kp_array_reserve(&bodies->forces, n + 1));
  KP_TRY(kp_array_reserve(&bodies->torques, n + 1));
  KP_TRY(kp_space_append(bodies->space, 1, values, 4));
  bodies->models.data[bodies->models.count++] = *model;
  bodies->slides.data[bodies->slides.count++] = slide_at(model, 0.0);
  bodies->forces.data[bodies->forces.count++] = kp_vec3_make(0, 0, 0);
  bodies->torques.data[bodies->torques.count++] = kp_vec3_make(0, 0, 0);
  *index = (kp_index)n;
  return KP_OK;
}

static double *item(kp_field *field, int component, kp_index i, kp_access access) {
  double *data = kp_buffer_host(&field->buffers[component], access);
  return data + i;
}

static kp_vec3 read3(kp_field *field, kp_index i) {
  return kp_vec3_make(*item(field, 0, i, KP_ACCESS_READ), *item(field, 1, i, KP_ACCESS_READ),
                      *item(field, 2, i, KP_ACCESS_READ));
}

static void write3(kp_field *field, kp_index i, kp_vec3 v) {
  *item(field, 0, i, KP_ACCESS_WRITE) = v.x;
  *item(field, 1, i, KP_ACCESS_WRITE) = v.y;
  *item(field, 2, i, KP_ACCESS_WRITE) = v.z;
}

kp_frame3 kp_bodies_frame(kp_bodies *bodies, kp_index body) {
  kp_field *q = bodies->orientation;
  return (kp_frame3){
    .position = read3(bodies->position, body),
    .orientation =
        kp_quat_make(*item(q, 0, body, KP_ACCESS_READ), *item(q, 1, body, KP_ACCESS_READ),
                     *item(q, 2, body, KP_ACCESS_READ), *item(q, 3, body, KP_ACCESS_READ)),
    .velocity = read3(bodies->velocity, body),
    .angular_velocity = read3(bodies->angular_velocity, body),
  };
}

void kp_bodies_set_frame(kp_bodies *bodies, kp_index body, const kp_frame3 *frame) {
  const double q[4] = { frame->orientation.w, frame->orientation.x, frame->orientation.y,
                        frame->orientation.z };
  write3(bodies->position, body, frame->position);
  for (int c = 0; c < 4; ++c) {
    *item(bodies->orientation, c, body, KP_ACCESS_WRITE) = q[c];
  }
  write3(bodies->velocity, body, frame->velocity);
  write3(bodies->angular_velocity, body, frame->angular_velocity);
}

#define RADIANS (3.14159265358979323846 / 180.0)

kp_quat kp_quat_from_euler_deg(kp_vec3 deg) {
  kp_quat x = kp_quat_from_axis_angle(kp_vec3_make(1, 0, 0), deg.x * RADIANS);
  kp_quat y = kp_quat_from_axis_angle(kp_vec3_make(0, 1, 0), deg.y * RADIANS);
  kp_quat z = kp_quat_from_axis_angle(kp_vec3_make(0, 0, 1), deg.z * RADIANS);
  return kp_quat_mul(z, kp_quat_mul(y, x));
}

// Angular velocity of that turn: each rate about its axis, carried by the turns that follow it.
static kp_vec3 euler_rate_deg(const double deg[3], const double rate[3]) {
  kp_quat y = kp_quat_from_axis_angle(kp_vec3_make(0, 1, 0), deg[1] * RADIANS);
  kp_quat z = kp_quat_from_axis_angle(kp_vec3_make(0, 0, 1), deg[2] * RADIANS);
  kp_vec3 omega = kp_quat_rotate(y, kp_vec3_make(rate[0] * RADIANS, 0, 0));
  omega = kp_quat_rotate(z, kp_vec3_add(omega, kp_vec3_make(0, rate[1] * RADIANS, 0)));
  return kp_vec3_add(omega, kp_vec3_make(0, 0, rate[2] * RADIANS));
}

kp_frame3 kp_body_scripted_frame(const kp_body *model, double time) {
  double place[3] = { 0 };
  double rate[3] = { 0 };
  double turn[3] = { 0 };
  double turn_rate[3] = { 0 };
  kp_curve_at(&model->position, time, place, rate);
  kp_curve_at(&model->rotation_deg, time, turn, turn_rate);
  kp_quat q = kp_quat_from_euler_deg(kp_vec3_make(turn[0], turn[1], turn[2]));
  kp_vec3 omega = euler_rate_deg(turn, turn_rate);
  // the curve moves the shape's origin; the frame is that of the centre of mass
  kp_vec3 arm = kp_quat_rotate(q, model->center);
  kp_vec3 origin_velocity = kp_vec3_make(rate[0], rate[1], rate[2]);
  return (kp_frame3){
    .position = kp_vec3_add(kp_vec3_make(place[0], place[1], place[2]), arm),
    .orientation = q,
    .velocity = kp_vec3_add(origin_velocity, kp_vec3_cross(omega, arm)),
    .angular_velocity = omega,
  };
}

double kp_body_friction_at(const kp_body *model, double time) {
  double scale = 1.0;
  if (model->friction_scale.components > 0) {
    kp_curve_at(&model->friction_scale, time, &scale, NULL);
  }
  return model->friction * fmax(scale, 0.0);  // a cubic may overshoot
}

void kp_bodies_script(kp_bodies *bodies, double time) {
  for (kp_index b = 0; b < (kp_index)bodies->models.count; ++b) {
    const kp_body *model = &bodies->models.data[b];
    if (model->kind == KP_BODY_SCRIPTED) {
      kp_frame3 frame = kp_body_scripted_frame(model, time);
      kp_bodies_set_frame(bodies, b, &frame);
      bodies->slides.data[b] = slide_at(model, time);
    }
  }
}

// World-axes product R A R^T v without forming it.
static kp_vec3 rotated_mul(kp_quat q, const kp_mat3 *a, kp_vec3 v) {
  kp_vec3 local = kp_quat_rotate(kp_quat_conjugate(q), v);
  return kp_quat_rotate(q, kp_mat3_mul_vec3(a, local));
}

// P_m = P_0 + dt/2 P_m x w_m with w_m = I^-1 P_m, by Newton.
static kp_vec3 middle_momentum(const kp_body *model, kp_vec3 p0, double dt) {
  kp_vec3 p = p0;
  double goal = 1e-30 * kp_vec3_dot(p0, p0);
  for (int k = 0; k < 12; ++k) {
    kp_vec3 w = kp_mat3_mul_vec3(&model->inverse_inertia, p);
    kp_vec3 f = kp_vec3_madd(kp_vec3_sub(p, p0), -0.5 * dt, kp_vec3_cross(p, w));
    if (kp_vec3_dot(f, f) <= goal) {
      break;
    }
    kp_mat3 jacobian;
    for (int c = 0; c < 3; ++c) {
      kp_vec3 e = kp_vec3_make(c == 0 ? 1 : 0, c == 1 ? 1 : 0, c == 2 ? 1 : 0);
      kp_vec3 dw = kp_mat3_mul_vec3(&model->inverse_inertia, e);
      kp_vec3 d = kp_vec3_add(kp_vec3_cross(e, w), kp_vec3_cross(p, dw));
      d = kp_vec3_madd(e, -0.5 * dt, d);
      jacobian.m[0][c] = d.x;
      jacobian.m[1][c] = d.y;
      jacobian.m[2][c] = d.z;
    }
    kp_mat3 inverse = kp_mat3_inverse(&jacobian);
    p = kp_vec3_sub(p, kp_mat3_mul_vec3(&inverse, f));
  }
  return p;
}

void kp_body_turn(const kp_body *model, kp_quat *q, kp_vec3 *angular_velocity, double dt) {
  kp_vec3 w0 = kp_quat_rotate(kp_quat_conjugate(*q), *angular_velocity);
  if (w0.x == 0.0 && w0.y == 0.0 && w0.z == 0.0) {
    return;
  }
  // any step keeps what it keeps; this one makes the angle of a steady spin exact as well
  double half = 0.5 * dt * kp_vec3_length(w0);
  dt *= half > 1e-6 && half < 1.4 ? tan(half) / half : 1.0;
  kp_vec3 p0 = kp_mat3_mul_vec3(&model->inertia, w0);
  kp_vec3 w = kp_mat3_mul_vec3(&model->inverse_inertia, middle_momentum(model, p0, dt));
  kp_vec3 momentum = kp_quat_rotate(*q, p0);  // stays in space
  kp_quat by = kp_quat_make(1.0, 0.5 * dt * w.x, 0.5 * dt * w.y, 0.5 * dt * w.z);
  *q = kp_quat_normalize(kp_quat_mul(*q, by));
  *angular_velocity = rotated_mul(*q, &model->inverse_inertia, momentum);
}

static kp_frame3 advance_free(const kp_body *model, kp_frame3 f, kp_vec3 acceleration,
                              kp_vec3 torque, double dt) {
  f.velocity = kp_vec3_madd(f.velocity, dt, acceleration);
  f.position = kp_vec3_madd(f.position, dt, f.velocity);
  kp_vec3 push = rotated_mul(f.orientation, &model->inverse_inertia, torque);
  f.angular_velocity = kp_vec3_madd(f.angular_velocity, dt, push);
  kp_body_turn(model, &f.orientation, &f.angular_velocity, dt);
  return f;
}

void kp_bodies_integrate(kp_bodies *bodies, kp_vec3 gravity, double dt) {
  for (kp_index b = 0; b < (kp_index)bodies->models.count; ++b) {
    const kp_body *model = &bodies->models.data[b];
    if (model->kind == KP_BODY_FREE) {
      kp_vec3 a = kp_vec3_madd(gravity, model->inverse_mass, bodies->forces.data[b]);
      kp_frame3 f = kp_bodies_frame(bodies, b);
      f = advance_free(model, f, a, bodies->torques.data[b], dt);
      kp_bodies_set_frame(bodies, b, &f);
    }
  }
}

void kp_bodies_clear_forces(kp_bodies *bodies) {
  for (size_t b = 0; b < bodies->forces.count; ++b) {
    bodies->forces.data[b] = kp_vec3_make(0, 0, 0);
    bodies->torques.data[b] = kp_vec3_make(0, 0, 0);
  }
}

// ---- for those who touch bodies -----------------------------------------------------------------

kp_vec3 kp_body_to_shape(const kp_body *model, const kp_frame3 *frame, kp_vec3 p) {
  kp_quat back = kp_quat_conjugate(frame->orientation);
  return kp_vec3_add(kp_quat_rotate(back, kp_vec3_sub(p, frame->position)), model->center);
}

kp_vec3 kp_bodies_velocity_at(kp_bodies *bodies, kp_index body, kp_vec3 p) {
  kp_frame3 f = kp_bodies_frame(bodies, body);
  kp_vec3 arm = kp_vec3_sub(p, f.position);
  kp_vec3 v = kp_vec3_add(f.velocity, kp_vec3_cross(f.angular_velocity, arm));
  return kp_vec3_add(v, kp_quat_rotate(f.orientation, bodies->slides.data[body]));
}

kp_mat3 kp_bodies_mobility(kp_bodies *bodies, kp_index body, kp_vec3 p) {
  const kp_body *model = &bodies->models.data[body];
  kp_mat3 k = { 0 };
  if (model->kind != KP_BODY_FREE) {
    return k;
  }
  kp_frame3 f = kp_bodies_frame(bodies, body);
  kp_vec3 arm = kp_vec3_sub(p, f.position);
  for (int c = 0; c < 3; ++c) {
    kp_vec3 unit = kp_vec3_make(c == 0 ? 1 : 0, c == 1 ? 1 : 0, c == 2 ? 1 : 0);
    kp_vec3 spin = rotated_mul(f.orientation, &model->inverse_inertia, kp_vec3_cross(arm, unit));
    kp_vec3 v = kp_vec3_madd(kp_vec3_cross(spin, arm), model->inverse_mass, unit);
    k.m[0][c] = v.x;
    k.m[1][c] = v.y;
    k.m[2][c] = v.z;
  }
  return k;
}

void kp_bodies_add_impulse(kp_bodies *bodies, kp_index body, kp_vec3 p, kp_vec3 impulse) {
  const kp_body *model = &bodies->models.data[body];
  if (model->kind == KP_BODY_FREE) {
    kp_frame3 f = kp_bodies_frame(bodies, body);
    kp_vec3 moment = kp_vec3_cross(kp_vec3_sub(p, f.position), impulse);
    f.velocity = kp_vec3_madd(f.velocity, model->inverse_mass, impulse);
    f.angular_velocity = kp_vec3_add(f.angular_velocity,
                                     rotated_mul(f.orientation, &model->inverse_inertia, moment));
    kp_bodies_set_frame(bodies, body, &f);
  }
}

void kp_bodies_add_force(kp_bodies *bodies, kp_index body, kp_vec3 p, kp_vec3 force) {
  kp_vec3 arm = kp_vec3_sub(p, kp_bodies_frame(bodies, body).position);
  kp_vec3 *f = &bodies->forces.data[body];
  kp_vec3 *t = &bodies->torques.data[body];
  *f = kp_vec3_add(*f, force);
  *t = kp_vec3_add(*t, kp_vec3_cross(arm, force));
}
