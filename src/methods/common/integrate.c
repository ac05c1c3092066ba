#include "methods/common/integrate.h"

#include <math.h>
#include <stdio.h>

#include "data/call.h"
#include "par/kernel_define.h"

INTEGRATE_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

const char *const kp_integrator_names[] = {
  "euler", "symplectic", "leapfrog", "velocity_verlet", "position_verlet", "rk2", "rk4", NULL
};

// Butcher tableaus of the explicit Runge-Kutta schemes: a[s] leads to stage s, b to the end of the
// step.
typedef struct tableau {
  int stages;
  double a[INTEGRATE_RK_STAGES][INTEGRATE_RK_STAGES];
  double b[INTEGRATE_RK_STAGES];
  double b_low[INTEGRATE_RK_STAGES];  // of the embedded lower order
} tableau;

static const tableau rk2 = { 2, { { 0 }, { 0.5 } }, { 0.0, 1.0 }, { 0 } };

static const tableau rk4 = { 4,
                             { { 0 }, { 0.5 }, { 0.0, 0.5 }, { 0.0, 0.0, 1.0 } },
                             { 1.0 / 6.0, 1.0 / 3.0, 1.0 / 3.0, 1.0 / 6.0 },
                             { 0 } };

// Fehlberg 1969, formula RK4(5)
static const tableau rkf45 = {
  6,
  { { 0 },
    { 1.0 / 4.0 },
    { 3.0 / 32.0, 9.0 / 32.0 },
    { 1932.0 / 2197.0, -7200.0 / 2197.0, 7296.0 / 2197.0 },
    { 439.0 / 216.0, -8.0, 3680.0 / 513.0, -845.0 / 4104.0 },
    { -8.0 / 27.0, 2.0, -3544.0 / 2565.0, 1859.0 / 4104.0, -11.0 / 40.0 } },
  { 16.0 / 135.0, 0.0, 6656.0 / 12825.0, 28561.0 / 56430.0, -9.0 / 50.0, 2.0 / 55.0 },
  { 25.0 / 216.0, 0.0, 1408.0 / 2565.0, 2197.0 / 4104.0, -1.0 / 5.0, 0.0 },
};

// Step doubling: stages 0 to 3 are those of rk4 over the first half, 4 to 7 over the second, and 8
// to 10 with 0 over the whole step. The error of two half steps is a fifteenth of their difference
// d from the whole one, so half steps + d/15 is of fifth order (Press et al. 1992, section 16.2).
#define HALF1 1.0 / 12.0, 1.0 / 6.0, 1.0 / 6.0, 1.0 / 12.0
static const tableau rk4_doubling = {
  11,
  { { 0 },
    { 0.25 },
    { 0.0, 0.25 },
    { 0.0, 0.0, 0.5 },
    { HALF1 },
    { HALF1, 0.25 },
    { HALF1, 0.0, 0.25 },
    { HALF1, 0.0, 0.0, 0.5 },
    { 0.5 },
    { 0, 0, 0, 0, 0, 0, 0, 0, 0.5 },
    { 0, 0, 0, 0, 0, 0, 0, 0, 0.0, 1.0 } },
  { 7.0 / 90.0, 8.0 / 45.0, 8.0 / 45.0, 4.0 / 45.0, 4.0 / 45.0, 8.0 / 45.0, 8.0 / 45.0, 4.0 / 45.0,
    -1.0 / 45.0, -1.0 / 45.0, -1.0 / 90.0 },
  { HALF1, HALF1 },
};

static const tableau *tableau_of(int kind) {
  switch (kind) {
  case KP_INTEGRATOR_RK2:
    return &rk2;
  case KP_INTEGRATOR_RK4:
    return &rk4;
  case KP_INTEGRATOR_RKF45:
    return &rkf45;
  case KP_INTEGRATOR_RK4_DOUBLING:
    return &rk4_doubling;
  default:
    return NULL;
  }
}

static kp_result add_vector(kp_set *set, const char *name, kp_type type, uint32_t flags,
                            kp_field **out) {
  kp_field_desc desc = { name, type, 3, "", flags, 0.0 };
  return kp_space_add_field(set->space, &desc, out);
}

static kp_result add_runge_kutta_fields(kp_integrate *s, const tableau *t) {
  // stage arrays live inside a sub-step only: sorted with the particles, never saved
  KP_TRY(add_vector(s->set, "rk_x0", KP_TYPE_POS, KP_FIELD_SORT, &s->x0));
  KP_TRY(add_vector(s->set, "rk_v0", KP_TYPE_REAL, KP_FIELD_SORT, &s->v0));
  for (int k = 0; k < t->stages; ++k) {
    char name[16];
    snprintf(name, sizeof name, "rk_kx%d", k);
    KP_TRY(add_vector(s->set, name, KP_TYPE_REAL, KP_FIELD_SORT, &s->k_x[k]));
    snprintf(name, sizeof name, "rk_kv%d", k);
    KP_TRY(add_vector(s->set, name, KP_TYPE_REAL, KP_FIELD_SORT, &s->k_v[k]));
  }
  return KP_OK;
}

kp_result kp_integrate_create(kp_integrate *service, kp_set *set, int kind) {
  *service = (kp_integrate){ .kind = kind, .set = set };
  // velocity Verlet starts a step with the acceleration of the last one: state. For the others it
  // is scratch that needs no sort, since every evaluation writes it whole.
  bool is_velocity_verlet = kind == KP_INTEGRATOR_VELOCITY_VERLET;
  uint32_t flags = is_velocity_verlet ? KP_FIELD_STATE : 0;
  KP_TRY(add_vector(set, "acceleration", KP_TYPE_REAL, flags, &service->acceleration));
  const tableau *t = tableau_of(kind);
  if (t != NULL) {
    return add_runge_kutta_fields(service, t);
  }
  if (kind == KP_INTEGRATOR_LEAPFROG) {
    KP_TRY(add_vector(set, "half_velocity", KP_TYPE_REAL, KP_FIELD_STATE, &service->half));
  }
  if (kind == KP_INTEGRATOR_POSITION_VERLET) {
    KP_TRY(add_vector(set, "last_position", KP_TYPE_POS, KP_FIELD_STATE, &service->last));
  }
  if (service->half != NULL || service->last != NULL || is_velocity_verlet) {
    kp_field_desc fresh = { "fresh", KP_TYPE_U8, 1, "", KP_FIELD_STATE, 1.0 };
    KP_TRY(kp_space_add_field(set->space, &fresh, &service->fresh));
  }
  return KP_OK;
}

int kp_integrate_stages(const kp_integrate *service) {
  const tableau *t = tableau_of(service->kind);
  return t != NULL ? t->stages : 1;
}

double kp_integrate_offset(const kp_integrate *service, int s) {
  const tableau *t = tableau_of(service->kind);
  double offset = 0.0;
  for (int k = 0; t != NULL && k < s; ++k) {
    offset += t->a[s][k];
  }
  return offset;
}

kp_result kp_integrate_know_acceleration(kp_integrate *service) {
  if (service->kind != KP_INTEGRATOR_VELOCITY_VERLET) {
    return KP_OK;
  }
  kp_buffer *fresh = &service->fresh->buffers[0];
  void *device = kp_buffer_device(fresh, KP_ACCESS_OVERWRITE);
  if (device == NULL) {
    return KP_ERROR_MEMORY;
  }
  return kp_fill(fresh->backend, device, 0, fresh->used);
}

// Whole component arrays on the device: to = from.
static kp_result copy_field(kp_field *to, kp_field *from) {
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_buffer_copy(&to->buffers[c], &from->buffers[c]));
  }
  return KP_OK;
}

// x and v = start + dt sum of weights times the rates of the first n stages
static kp_result combine(kp_integrate *s, double dt, const double *weights, int n) {
  for (int c = 0; c < 3; ++c) {
    integrate_rk_args a = { .dt = dt };
    kp_call call;
    kp_call_init(&call, &integrate_rk_kernel, &a);
    KP_BIND(&call, &a, x0, &s->x0->buffers[c], KP_ACCESS_READ);
    KP_BIND(&call, &a, v0, &s->v0->buffers[c], KP_ACCESS_READ);
    KP_BIND(&call, &a, x, &s->set->position->buffers[c], KP_ACCESS_OVERWRITE);
    KP_BIND(&call, &a, v, &s->set->velocity->buffers[c], KP_ACCESS_OVERWRITE);
    for (int k = 0; k < n; ++k) {
      if (weights[k] != 0.0) {
        a.weights[a.n] = weights[k];
        KP_BIND(&call, &a, k_x[a.n], &s->k_x[k]->buffers[c], KP_ACCESS_READ);
        KP_BIND(&call, &a, k_v[a.n], &s->k_v[k]->buffers[c], KP_ACCESS_READ);
        ++a.n;
      }
    }
    KP_TRY(kp_call_run(s->set->space->backend, &call, s->set->space->n));
  }
  return KP_OK;
}

// Kernels whose arguments are INTEGRATE_XVA.
static kp_result run_xva(kp_integrate *s, const kp_kernel *kernel, double dt) {
  integrate_euler_args a = { .dt = dt };
  kp_call call;
  kp_call_init(&call, kernel, &a);
  KP_BIND3(&call, &a, , s->set->position, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, v, s->set->velocity, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, a, s->acceleration, KP_ACCESS_READ);
  return kp_call_run(s->set->space->backend, &call, s->set->space->n);
}

// The two halves of velocity Verlet, which have the same arguments.
static kp_result run_velocity_verlet(kp_integrate *s, const kp_kernel *kernel, double dt) {
  integrate_kick_args a = { .dt = dt };
  kp_call call;
  kp_call_init(&call, kernel, &a);
  KP_BIND3(&call, &a, , s->set->position, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, v, s->set->velocity, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, a, s->acceleration, KP_ACCESS_READ);
  KP_BIND(&call, &a, fresh, &s->fresh->buffers[0], KP_ACCESS_WRITE);
  return kp_call_run(s->set->space->backend, &call, s->set->space->n);
}

static kp_result run_leapfrog(kp_integrate *s, double dt) {
  integrate_leapfrog_args a = { .dt = dt, .dt_last = s->dt_last };
  kp_call call;
  kp_call_init(&call, &integrate_leapfrog_kernel, &a);
  KP_BIND3(&call, &a, , s->set->position, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, v, s->set->velocity, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, a, s->acceleration, KP_ACCESS_READ);
  KP_BIND3(&call, &a, h, s->half, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, fresh, &s->fresh->buffers[0], KP_ACCESS_WRITE);
  return kp_call_run(s->set->space->backend, &call, s->set->space->n);
}

static kp_result run_position_verlet(kp_integrate *s, double dt) {
  // before the first step no chord exists; every particle is fresh then and brings its own
  double dt_last = s->dt_last > 0.0 ? s->dt_last : dt;
  integrate_position_verlet_args a = { .dt = dt, .dt_last = dt_last };
  kp_call call;
  kp_call_init(&call, &integrate_position_verlet_kernel, &a);
  KP_BIND3(&call, &a, , s->set->position, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, v, s->set->velocity, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, a, s->acceleration, KP_ACCESS_READ);
  KP_BIND3(&call, &a, last, s->last, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, fresh, &s->fresh->buffers[0], KP_ACCESS_WRITE);
  return kp_call_run(s->set->space->backend, &call, s->set->space->n);
}

// Rates of the stages before this one go with the particles through the sort to come; later ones
// hold nothing yet, and moving them would cost six arrays each.
static void mark_live_stages(kp_integrate *service, const tableau *t, int s) {
  for (int k = 0; k < t->stages; ++k) {
    uint32_t flags = k < s ? (uint32_t)KP_FIELD_SORT : 0u;
    service->k_x[k]->flags = flags;
    service->k_v[k]->flags = flags;
  }
}

kp_result kp_integrate_begin(kp_integrate *service, int s, double dt) {
  const tableau *t = tableau_of(service->kind);
  if (t != NULL) {
    mark_live_stages(service, t, s);
    if (s == 0) {
      KP_TRY(copy_field(service->x0, service->set->position));
      return copy_field(service->v0, service->set->velocity);
    }
    return combine(service, dt, t->a[s], s);
  }
  if (service->kind == KP_INTEGRATOR_VELOCITY_VERLET) {
    return run_velocity_verlet(service, &integrate_drift_kernel, dt);
  }
  return KP_OK;
}

kp_result kp_integrate_end(kp_integrate *service, int s, double dt) {
  const tableau *t = tableau_of(service->kind);
  if (t != NULL) {
    KP_TRY(copy_field(service->k_x[s], service->set->velocity));
    KP_TRY(copy_field(service->k_v[s], service->acceleration));
    return s + 1 < t->stages ? KP_OK : combine(service, dt, t->b, t->stages);
  }
  kp_result result = KP_OK;
  switch (service->kind) {
  case KP_INTEGRATOR_EULER:
    result = run_xva(service, &integrate_euler_kernel, dt);
    break;
  case KP_INTEGRATOR_LEAPFROG:
    result = run_leapfrog(service, dt);
    break;
  case KP_INTEGRATOR_VELOCITY_VERLET:
    result = run_velocity_verlet(service, &integrate_kick_kernel, dt);
    break;
  case KP_INTEGRATOR_POSITION_VERLET:
    result = run_position_verlet(service, dt);
    break;
  default:
    result = run_xva(service, &integrate_symplectic_kernel, dt);
    break;
  }
  service->dt_last = dt;
  return result;
}

kp_result kp_integrate_error(kp_integrate *service, double dt, double *x_error, double *v_error) {
  const tableau *t = tableau_of(service->kind);
  *x_error = 0.0;
  *v_error = 0.0;
  for (int c = 0; c < 3; ++c) {
    const kp_real *kx[INTEGRATE_RK_STAGES] = { 0 };
    const kp_real *kv[INTEGRATE_RK_STAGES] = { 0 };
    for (int k = 0; k < t->stages; ++k) {
      kx[k] = kp_buffer_host(&service->k_x[k]->buffers[c], KP_ACCESS_READ);
      kv[k] = kp_buffer_host(&service->k_v[k]->buffers[c], KP_ACCESS_READ);
      if (kx[k] == NULL || kv[k] == NULL) {
        return KP_ERROR_MEMORY;
      }
    }
    for (int64_t i = 0; i < service->set->space->n; ++i) {
      double ex = 0.0;
      double ev = 0.0;
      for (int k = 0; k < t->stages; ++k) {
        ex += (t->b[k] - t->b_low[k]) * (double)kx[k][i];
        ev += (t->b[k] - t->b_low[k]) * (double)kv[k][i];
      }
      *x_error = fmax(*x_error, fabs(dt * ex));
      *v_error = fmax(*v_error, fabs(dt * ev));
    }
  }
  return KP_OK;
}

double kp_integrate_next(double dt, double error, double tolerance) {
  double factor = error > 0.0 ? 0.9 * pow(tolerance / error, 0.2) : 4.0;
  return dt * fmin(fmax(factor, 0.2), 4.0);
}
