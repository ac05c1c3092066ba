// Steps that are implicit at the price of explicit ones (Bayraktar 2010, section 5.4.4), and
// position Verlet.
//
//   kang      Kang's approximation: the system of backward Euler with the Hessian taken for k in
//             every direction, one Jacobi step from its diagonal. Damps much.
//   desbrun   the same system solved whole. Its inverse is the precomputed filter of Desbrun,
//             Schroeder and Barr (1999); here it is solved anew in every step by conjugate
//             gradients, so step, mass and stiffness may change and memory stays O(n). As the
//             filter it forgets the angular momentum that its isotropic springs take.
//   verlet    x' = 2x - x_old + a dt^2 (Eq. 6.2 of Ozgen 2013) kept as v = (x - x_old)/dt. Damped
//             by `viscosity`: (2 - e) x - (1 - e) x_old with e = viscosity dt, which does not pull
//             to the origin as a changed factor 2 alone would.
//   pece      a predictor-corrector for springs and water that remember (Diethelm, Ford and Freed
//             2002, which Ozgen 2013 names in section 3.3). With D[v] the fractional derivative
//             whose newest sample is v:
//
//               p = v + h a(x, v, D[v])                            predict
//               x' = x + h/2 (v + p)
//               v' = v + h/2 (a(x, v, D[v]) + a(x', p, D'[p]))     correct
//
//             Of second order for a motion that is smooth, since the product trapezoid of D is. At
//             rest from damping it is velocity Verlet: stable to h omega = 2.
#include "methods/deform/fabric.h"
#include "methods/deform/fabric_kernels.h"

extern const kp_kernel fabric_foresee_kernel, fabric_kang_kernel, fabric_filter_kernel,
    fabric_stiff_kernel, fabric_verlet_kernel, fabric_mean_kernel;

static kp_buffer *velocity(kp_deform *d) {
  return d->set->velocity->buffers;
}

#define BIND_WEB(call, args, deform)                                                               \
  (KP_BIND(call, args, web.start, &(deform)->springs.start, KP_ACCESS_READ),                       \
   KP_BIND(call, args, web.refs, &(deform)->springs.refs, KP_ACCESS_READ),                         \
   KP_BIND(call, args, web.a, &(deform)->springs.a, KP_ACCESS_READ),                               \
   KP_BIND(call, args, web.b, &(deform)->springs.b, KP_ACCESS_READ),                               \
   KP_BIND(call, args, web.stiffness, &(deform)->springs.stiffness, KP_ACCESS_READ),               \
   KP_BIND(call, args, web.rest, &(deform)->springs.rest, KP_ACCESS_READ))

// right = h f~, and the diagonal of the system.
static kp_result foresee(kp_deform *d, kp_env *env, const kp_deform_group *group) {
  KP_TRY(kp_deform_evaluate(d, group, d->set->position->buffers, 0.0));
  KP_TRY(kp_deform_impulse(d, env, group, velocity(d), d->dt, false));
  fabric_foresee_args a = { .first = group->nodes.first, .n = group->nodes.n, .h = (kp_real)d->dt };
  kp_call call;
  kp_call_init(&call, &fabric_foresee_kernel, &a);
  BIND_WEB(&call, &a, d);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, d->set->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, b, &d->right, KP_ACCESS_WRITE);
  KP_TRY(kp_call_run(env->backend, &call, group->nodes.n));
  fabric_stiff_args s = { .first = group->nodes.first, .n = group->nodes.n, .h = (kp_real)d->dt };
  kp_call_init(&call, &fabric_stiff_kernel, &s);
  BIND_WEB(&call, &s, d);
  KP_BIND(&call, &s, mass, &d->mass, KP_ACCESS_READ);
  KP_BIND(&call, &s, stiff, &d->fabric->stiff, KP_ACCESS_WRITE);
  KP_BIND(&call, &s, inverse, &d->inverse, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, group->nodes.n);
}

kp_result kp_kang_predict(kp_deform *d, kp_env *env, const kp_deform_group *group) {
  KP_TRY(foresee(d, env, group));
  fabric_kang_args a = { .first = group->nodes.first, .n = group->nodes.n, .h = (kp_real)d->dt };
  kp_call call;
  kp_call_init(&call, &fabric_kang_kernel, &a);
  BIND_WEB(&call, &a, d);
  KP_BIND(&call, &a, mass, &d->mass, KP_ACCESS_READ);
  KP_BIND(&call, &a, stiff, &d->fabric->stiff, KP_ACCESS_READ);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND(&call, &a, b, &d->right, KP_ACCESS_READ);
  KP_BIND(&call, &a, change, &d->change, KP_ACCESS_WRITE);
  KP_TRY(kp_call_run(env->backend, &call, group->nodes.n));
  return kp_deform_kick(d, group, velocity(d), &d->change, d->moving.c);
}

typedef struct filter_of {
  kp_deform *deform;
  const kp_deform_group *group;
} filter_of;

static kp_result apply(void *self, kp_buffer *x, kp_buffer *y) {
  const filter_of *s = self;
  kp_deform *d = s->deform;
  fabric_filter_args a = { .first = s->group->nodes.first,
                           .n = s->group->nodes.n,
                           .h = (kp_real)d->dt };
  kp_call call;
  kp_call_init(&call, &fabric_filter_kernel, &a);
  BIND_WEB(&call, &a, d);
  KP_BIND(&call, &a, mass, &d->mass, KP_ACCESS_READ);
  KP_BIND(&call, &a, hold, &d->hold, KP_ACCESS_READ);
  KP_BIND(&call, &a, u, x, KP_ACCESS_READ);
  KP_BIND(&call, &a, y, y, KP_ACCESS_WRITE);
  return kp_call_run(d->set->space->backend, &call, s->group->nodes.n);
}

kp_result kp_desbrun_predict(kp_deform *d, kp_env *env, const kp_deform_group *group) {
  KP_TRY(foresee(d, env, group));
  KP_TRY(kp_vector_fill(3 * group->nodes.n, 0.0, &d->change));
  filter_of s = { d, group };
  kp_pcg_def how = kp_default_pcg_def();
  how.name = "filter";
  how.n = 3 * group->nodes.n;
  how.apply = apply;
  how.apply_self = &s;
  how.inverse_diagonal = &d->inverse;
  how.tolerance = d->def.tolerance;
  how.max_iterations = (int)d->def.iterations;
  KP_TRY(kp_pcg_solve(&d->pcg, &how, &d->right, &d->change));
  d->iterations += d->pcg.report.iterations;
  return kp_deform_kick(d, group, velocity(d), &d->change, d->moving.c);
}

// ---- position Verlet ----------------------------------------------------------------------------

kp_result kp_position_verlet_predict(kp_deform *d, kp_env *env, const kp_deform_group *group) {
  KP_TRY(kp_deform_evaluate(d, group, d->set->position->buffers, 0.0));
  KP_TRY(kp_deform_explicit(d, env, group, velocity(d), kp_deform_kick_time(d), d->moving.c));
  return kp_fabric_limit(d, env, group);
}

kp_result kp_position_verlet_finish(kp_deform *d, kp_env *env, const kp_deform_group *group) {
  fabric_verlet_args a = { .first = group->nodes.first, .inverse_dt = 1.0 / d->dt };
  kp_call call;
  kp_call_init(&call, &fabric_verlet_kernel, &a);
  KP_BIND_VECTOR3(&call, &a, o, &d->old, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , d->set->position, KP_ACCESS_READ);
  KP_BIND_VECTOR3(&call, &a, l, &d->fabric->lag, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, d->set->velocity, KP_ACCESS_WRITE);
  KP_TRY(kp_call_run(env->backend, &call, group->nodes.n));
  return kp_fabric_watch(d, env);
}

// ---- predictor-corrector ------------------------------------------------------------------------

// w = (v + w)/2
static kp_result mean(kp_env *env, const kp_deform_group *group, kp_buffer v[3], kp_buffer w[3]) {
  fabric_mean_args a = { .first = group->nodes.first };
  kp_call call;
  kp_call_init(&call, &fabric_mean_kernel, &a);
  KP_BIND(&call, &a, vx, &v[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, vy, &v[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, vz, &v[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, wx, &w[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, wy, &w[1], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, wz, &w[2], KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, group->nodes.n);
}

kp_result kp_pece_predict(kp_deform *d, kp_env *env, const kp_deform_group *group) {
  KP_TRY(kp_deform_evaluate(d, group, d->set->position->buffers, 0.0));
  KP_TRY(kp_deform_explicit(d, env, group, velocity(d), d->dt, d->moving.c));
  return mean(env, group, velocity(d), d->moving.c);
}

// Bodies may have changed v since it was predicted from: p is made anew.
kp_result kp_pece_finish(kp_deform *d, kp_env *env, const kp_deform_group *group) {
  kp_fabric *f = d->fabric;
  KP_TRY(kp_deform_evaluate(d, group, d->old.c, 0.0));
  KP_TRY(kp_deform_explicit(d, env, group, velocity(d), d->dt, d->moving.c));
  KP_TRY(mean(env, group, d->moving.c, velocity(d)));
  for (size_t k = 0; k < f->waters.count; ++k) {
    KP_TRY(kp_immersion_foresee(f->waters.data[k], d, env, group, d->moving.c));
  }
  KP_TRY(kp_deform_evaluate(d, group, d->set->position->buffers, 0.0));
  KP_TRY(kp_deform_impulse(d, env, group, d->moving.c, 0.5 * d->dt, true));
  return kp_deform_kick(d, group, velocity(d), &d->right, velocity(d));
}
