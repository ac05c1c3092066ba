// Schemes: how an inner step of deform->dt turns velocities and positions into the next ones. See
// kp_scheme in deform.h for what happens between predict and finish.
#include <math.h>

#include "methods/deform/fabric.h"

extern const kp_kernel deform_middle_kernel, deform_extrapolate_kernel, deform_copy_kernel;

static kp_buffer *velocity(kp_deform *d) {
  return d->set->velocity->buffers;
}

static kp_buffer *position(kp_deform *d) {
  return d->set->position->buffers;
}

// ---- kernels over a group -----------------------------------------------------------------------

static kp_result middle(kp_deform *d, kp_env *env, const kp_deform_group *group) {
  deform_middle_args a = { .first = group->nodes.first };
  kp_call call;
  kp_call_init(&call, &deform_middle_kernel, &a);
  KP_BIND_VECTOR3(&call, &a, o, &d->old, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, m, &d->middle, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, group->nodes.n);
}

// moving = velocity + (moving - velocity)/share, moving that after a share of the step
static kp_result extrapolate(kp_deform *d, kp_env *env, const kp_deform_group *group,
                             double share) {
  deform_extrapolate_args a = { .first = group->nodes.first, .whole = (kp_real)(1.0 / share) };
  kp_call call;
  kp_call_init(&call, &deform_extrapolate_kernel, &a);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, d->set->velocity, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, w, &d->moving, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, group->nodes.n);
}

// to = from
static kp_result copy(kp_env *env, const kp_deform_group *group, kp_buffer from[3],
                      kp_buffer to[3]) {
  deform_copy_args a = { .first = group->nodes.first };
  kp_call call;
  kp_call_init(&call, &deform_copy_kernel, &a);
  KP_BIND(&call, &a, vx, &from[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, vy, &from[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, vz, &from[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, wx, &to[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, wy, &to[1], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, wz, &to[2], KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, group->nodes.n);
}

// The first solve of Newmark's variant ends after half a step; springs that look no further ahead
// are neutrally stable at any step, and turns of springs, which are explicit, make energy.
double kp_deform_look_ahead(const kp_deform *d, const kp_deform_group *group) {
  bool is_implicit = group->scheme == KP_SCHEME_BACKWARD_EULER || d->def.implicit;
  double ahead = group->scheme == KP_SCHEME_NEWMARK ? d->def.ahead : 1.0;
  return is_implicit ? ahead * d->dt : 0.0;
}

// moving = velocity + dv, implicit over a time h, with the forces at x.
static kp_result solve(kp_deform *d, kp_env *env, const kp_deform_group *group, kp_buffer x[3],
                       double h, int which) {
  kp_deform_stage stage = { .x = x,
                            .v = velocity(d),
                            .out = d->moving.c,
                            .h = h,
                            .implicit = kp_deform_look_ahead(d, group),
                            .which = which };
  return kp_deform_solve(d, env, group, &stage);
}

// ---- Newmark's variant (Selle 2008, section 5.4) ------------------------------------------------
//
//   v(n+1/2) = v(n) + dt/2 a(x(n), v(n+1/2))           implicit in v
//   x(n+1)   = x(n) + dt v(n+1/2)
//   v(n+1/2) = v(n) + dt/2 a(x(n+1/2), v(n+1/2))       anew from v(n)
//   v(n+1)   = 2 v(n+1/2) - v(n)
//
// Implicit springs add dt/2 k/l0 to the damping of both solves: the position at the end of a half
// step is x + dt/2 v.
//
// With hair the second solve ends after the share g = `ahead` of the step instead of a half:
//
//   v(n+g)   = v(n) + g dt a(x(n+1/2), v(n+g))
//   v(n+1)   = v(n) + (v(n+g) - v(n))/g
//
// Let c be what a spring adds to the damping of a node of mass m, and z = dt c/m. A change of v(n)
// along it is (1 - (1 - g) z)/(1 + g z) times as large in v(n+1): (1 - z/2)/(1 + z/2) by halves,
// which is -1 + 4/z where z is large. At the tip of a hair z is some hundreds, so that whatever
// hits it, links that are solved to a tolerance above all, turned its velocity round in every step
// and added up to 20 m/s. With g it dies out by (1 - g)/g, 0.67, per step; forces that do not
// depend on velocities act as before, and g = 1 is the backward Euler step that section 7.4 offers
// here.

static kp_result newmark_predict(kp_deform *d, kp_env *env, const kp_deform_group *group) {
  return solve(d, env, group, position(d), 0.5 * d->dt, 0);
}

static kp_result newmark_finish(kp_deform *d, kp_env *env, const kp_deform_group *group) {
  double share = d->hair.locks[group->scheme].n > 0 ? d->def.ahead : 0.5, h = share * d->dt;
  KP_TRY(middle(d, env, group));
  KP_TRY(solve(d, env, group, d->middle.c, h, 1));
  KP_TRY(kp_hair_pull_bodies(d, env, group, d->middle.c, h));
  KP_TRY(kp_deform_recover(d, env, group, d->middle.c, h));
  KP_TRY(extrapolate(d, env, group, share));
  return copy(env, group, d->moving.c, velocity(d));
}

// ---- backward Euler -----------------------------------------------------------------------------

static kp_result backward_predict(kp_deform *d, kp_env *env, const kp_deform_group *group) {
  KP_TRY(solve(d, env, group, position(d), d->dt, 0));
  return kp_hair_pull_bodies(d, env, group, position(d), d->dt);
}

// The velocity that moved the nodes is the new one, unless bodies are in the way: the solve did not
// know of them.
static kp_result backward_finish(kp_deform *d, kp_env *env, const kp_deform_group *group) {
  if (d->bodies.n_contacts > 0) {
    KP_TRY(solve(d, env, group, d->old.c, d->dt, 1));
    KP_TRY(kp_deform_recover(d, env, group, d->old.c, d->dt));
  }
  return copy(env, group, d->moving.c, velocity(d));
}

static kp_result keep_moving(kp_deform *d, kp_env *env, const kp_deform_group *group) {
  return copy(env, group, d->moving.c, velocity(d));
}

// ---- explicit -----------------------------------------------------------------------------------

// Velocities that move positions over a step are those of its middle, so a kick reaches from the
// middle of the last step to that of this one: v += (dt_last + dt)/2 a. With dt instead every
// change of the step would leave (dt - dt_last)/2 a too much or too little in v, which adds up to
// energy without bound. Where stiffness has just grown a kick is no longer than a step may be.
double kp_deform_kick_time(const kp_deform *d) {
  double last = d->dt_last > 0.0 ? d->dt_last : d->dt;
  return fmin(0.5 * (last + d->dt), fmax(d->dt, d->bears));
}

static kp_result symplectic_predict(kp_deform *d, kp_env *env, const kp_deform_group *group) {
  KP_TRY(kp_deform_evaluate(d, group, position(d), 0.0));
  return kp_deform_explicit(d, env, group, velocity(d), kp_deform_kick_time(d), d->moving.c);
}

// The position moves with the old velocity, and forces are those of the old position.
static kp_result euler_predict(kp_deform *d, kp_env *env, const kp_deform_group *group) {
  return copy(env, group, velocity(d), d->moving.c);
}

static kp_result euler_finish(kp_deform *d, kp_env *env, const kp_deform_group *group) {
  KP_TRY(kp_deform_evaluate(d, group, d->old.c, 0.0));
  return kp_deform_explicit(d, env, group, velocity(d), d->dt, velocity(d));
}

// v(n+1/2) = v + dt/2 a(x), x += dt v(n+1/2), v = v(n+1/2) + dt/2 a(x): the first half is kept in
// `moving`.
static kp_result verlet_predict(kp_deform *d, kp_env *env, const kp_deform_group *group) {
  KP_TRY(kp_deform_evaluate(d, group, position(d), 0.0));
  return kp_deform_explicit(d, env, group, velocity(d), 0.5 * d->dt, d->moving.c);
}

static kp_result verlet_finish(kp_deform *d, kp_env *env, const kp_deform_group *group) {
  KP_TRY(kp_deform_evaluate(d, group, position(d), 0.0));
  return kp_deform_explicit(d, env, group, d->moving.c, 0.5 * d->dt, velocity(d));
}

const kp_scheme kp_schemes[KP_SCHEME_COUNT] = {
  [KP_SCHEME_NEWMARK] = { "newmark", newmark_predict, newmark_finish, true, false },
  [KP_SCHEME_BACKWARD_EULER] = { "backward_euler", backward_predict, backward_finish, true, false },
  [KP_SCHEME_EULER] = { "euler", euler_predict, euler_finish, false, false },
  [KP_SCHEME_SYMPLECTIC] = { "symplectic", symplectic_predict, keep_moving, false, true },
  [KP_SCHEME_VELOCITY_VERLET] = { "velocity_verlet", verlet_predict, verlet_finish, false, false },
  [KP_SCHEME_POSITION_VERLET] = { "position_verlet", kp_position_verlet_predict,
                                  kp_position_verlet_finish, false, true },
  [KP_SCHEME_KANG] = { "kang", kp_kang_predict, keep_moving, true, false },
  [KP_SCHEME_DESBRUN] = { "desbrun", kp_desbrun_predict, keep_moving, true, false },
  [KP_SCHEME_PECE] = { "predictor_corrector", kp_pece_predict, kp_pece_finish, false, false },
};
