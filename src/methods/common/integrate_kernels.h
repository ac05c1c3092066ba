// Kernels of the integrator service; see methods/common/integrate.h for the schemes.
//
// Every kernel reads and writes element i of the arrays it names. Positions are kp_pos, the rest
// kp_real. Two-dimensional sets have z = vz = az = 0, which every formula below keeps exactly.
#pragma once

#include "kelpie/config.h"

#define INTEGRATE_RK_STAGES 11

#define INTEGRATE_XVA                                                                              \
  double dt;                                                                                       \
  kp_pos *x, *y, *z;                                                                               \
  kp_real *vx, *vy, *vz;                                                                           \
  const kp_real *ax, *ay, *az

KP_FN void integrate_add(kp_real *v, double s, kp_real a) {
  *v = (kp_real)((double)*v + s * (double)a);
}

typedef struct integrate_euler_args {
  INTEGRATE_XVA;
} integrate_euler_args;

// x += dt v (old v), v += dt a
KP_FN void integrate_euler(int64_t i, const integrate_euler_args *a) {
  a->x[i] += a->dt * (double)a->vx[i];
  a->y[i] += a->dt * (double)a->vy[i];
  a->z[i] += a->dt * (double)a->vz[i];
  integrate_add(&a->vx[i], a->dt, a->ax[i]);
  integrate_add(&a->vy[i], a->dt, a->ay[i]);
  integrate_add(&a->vz[i], a->dt, a->az[i]);
}

typedef struct integrate_symplectic_args {
  INTEGRATE_XVA;
} integrate_symplectic_args;

// v += dt a, x += dt v (new v): Euler-Cromer
KP_FN void integrate_symplectic(int64_t i, const integrate_symplectic_args *a) {
  integrate_add(&a->vx[i], a->dt, a->ax[i]);
  integrate_add(&a->vy[i], a->dt, a->ay[i]);
  integrate_add(&a->vz[i], a->dt, a->az[i]);
  a->x[i] += a->dt * (double)a->vx[i];
  a->y[i] += a->dt * (double)a->vy[i];
  a->z[i] += a->dt * (double)a->vz[i];
}

typedef struct integrate_drift_args {
  INTEGRATE_XVA;
  uint8_t *fresh;  // 1: has no acceleration yet
} integrate_drift_args;

// first half of velocity Verlet: x += dt v + dt^2/2 a, v += dt/2 a
KP_FN void integrate_drift(int64_t i, const integrate_drift_args *a) {
  // what is not known yet is made good by the kick
  double h = a->fresh[i] ? 0.0 : 0.5 * a->dt;
  a->x[i] += a->dt * ((double)a->vx[i] + h * (double)a->ax[i]);
  a->y[i] += a->dt * ((double)a->vy[i] + h * (double)a->ay[i]);
  a->z[i] += a->dt * ((double)a->vz[i] + h * (double)a->az[i]);
  integrate_add(&a->vx[i], h, a->ax[i]);
  integrate_add(&a->vy[i], h, a->ay[i]);
  integrate_add(&a->vz[i], h, a->az[i]);
}

typedef struct integrate_kick_args {
  INTEGRATE_XVA;
  uint8_t *fresh;
} integrate_kick_args;

// second half: v += dt/2 a. A newborn takes the acceleration at the end for that at the start, too:
// exact for a constant one, and of second order for any.
KP_FN void integrate_kick(int64_t i, const integrate_kick_args *a) {
  double h = 0.5 * a->dt;
  if (a->fresh[i]) {
    a->x[i] += a->dt * h * (double)a->ax[i];
    a->y[i] += a->dt * h * (double)a->ay[i];
    a->z[i] += a->dt * h * (double)a->az[i];
    a->fresh[i] = 0;
    h = a->dt;
  }
  integrate_add(&a->vx[i], h, a->ax[i]);
  integrate_add(&a->vy[i], h, a->ay[i]);
  integrate_add(&a->vz[i], h, a->az[i]);
}

typedef struct integrate_leapfrog_args {
  INTEGRATE_XVA;
  double dt_last;         // of the step before: kicks reach from mid-step to mid-step
  kp_real *hx, *hy, *hz;  // v_{n-1/2} -> v_{n+1/2}
  uint8_t *fresh;         // 1: has no half-step velocity yet
} integrate_leapfrog_args;

KP_FN void integrate_leapfrog_axis(double dt, double kick, kp_pos *x, kp_real *v, kp_real *half,
                                   kp_real a) {
  integrate_add(half, kick, a);
  *x += dt * (double)*half;
  // velocity-dependent forces of the next step see this prediction of v_{n+1}
  *v = (kp_real)((double)*half + 0.5 * dt * (double)a);
}

// v_{n+1/2} = v_{n-1/2} + dt a_n, x_{n+1} = x_n + dt v_{n+1/2} (Lyes 2015 Eq. 2.16), started with
// v_{-1/2} = v_0 - dt/2 a_0: without that the method is of first order.
KP_FN void integrate_leapfrog(int64_t i, const integrate_leapfrog_args *a) {
  double kick = 0.5 * (a->dt + a->dt_last);
  if (a->fresh[i]) {
    a->hx[i] = a->vx[i];
    a->hy[i] = a->vy[i];
    a->hz[i] = a->vz[i];
    a->fresh[i] = 0;
    kick = 0.5 * a->dt;
  }
  integrate_leapfrog_axis(a->dt, kick, &a->x[i], &a->vx[i], &a->hx[i], a->ax[i]);
  integrate_leapfrog_axis(a->dt, kick, &a->y[i], &a->vy[i], &a->hy[i], a->ay[i]);
  integrate_leapfrog_axis(a->dt, kick, &a->z[i], &a->vz[i], &a->hz[i], a->az[i]);
}

typedef struct integrate_position_verlet_args {
  INTEGRATE_XVA;
  double dt_last;
  kp_pos *lastx, *lasty, *lastz;  // x_{n-1}
  uint8_t *fresh;
} integrate_position_verlet_args;

KP_FN void integrate_position_verlet_axis(double dt, double dt_last, kp_pos *x, kp_real *v,
                                          kp_pos *last, kp_real a) {
  double now = *x;
  double before = *last;
  // with equal steps 2 x_n - x_{n-1} + dt^2 a; unequal steps scale the chord
  double next = now + (now - before) * (dt / dt_last) + 0.5 * dt * (dt + dt_last) * (double)a;
  *last = now;
  *x = next;
  // the new chord is v_{n+1/2}; half a kick brings it to the new time for forces and output
  *v = (kp_real)((next - now) / dt + 0.5 * dt * (double)a);
}

// x_{n+1} = 2 x_n - x_{n-1} + dt^2 a_n (Bayraktar 2010 Eq. 5.23; the velocity of Eq. 5.24 is that
// of t_n)
KP_FN void integrate_position_verlet(int64_t i, const integrate_position_verlet_args *a) {
  double dt_last = a->dt_last;
  if (a->fresh[i]) {
    double h = 0.5 * a->dt * a->dt;
    a->lastx[i] = a->x[i] - a->dt * (double)a->vx[i] + h * (double)a->ax[i];
    a->lasty[i] = a->y[i] - a->dt * (double)a->vy[i] + h * (double)a->ay[i];
    a->lastz[i] = a->z[i] - a->dt * (double)a->vz[i] + h * (double)a->az[i];
    a->fresh[i] = 0;
    dt_last = a->dt;
  }
  integrate_position_verlet_axis(a->dt, dt_last, &a->x[i], &a->vx[i], &a->lastx[i], a->ax[i]);
  integrate_position_verlet_axis(a->dt, dt_last, &a->y[i], &a->vy[i], &a->lasty[i], a->ay[i]);
  integrate_position_verlet_axis(a->dt, dt_last, &a->z[i], &a->vz[i], &a->lastz[i], a->az[i]);
}

// One component of an explicit Runge-Kutta scheme: stages keep the velocity (rate of x) and the
// acceleration (rate of v) they were evaluated at.
typedef struct integrate_rk_args {
  double dt;
  double weights[INTEGRATE_RK_STAGES];
  int32_t n;         // stages used
  const kp_pos *x0;  // state at the start of the step
  const kp_real *v0;
  const kp_real *k_x[INTEGRATE_RK_STAGES];
  const kp_real *k_v[INTEGRATE_RK_STAGES];
  kp_pos *x;
  kp_real *v;
} integrate_rk_args;

// x = x_0 + dt sum_s w_s k_x,s and v likewise
KP_FN void integrate_rk(int64_t i, const integrate_rk_args *a) {
  double x = 0.0;
  double v = 0.0;
  for (int32_t s = 0; s < a->n; ++s) {
    x += a->weights[s] * (double)a->k_x[s][i];
    v += a->weights[s] * (double)a->k_v[s][i];
  }
  a->x[i] = a->x0[i] + a->dt * x;
  a->v[i] = (kp_real)((double)a->v0[i] + a->dt * v);
}

#define INTEGRATE_KERNELS(POINT, REDUCE, ROW, PAIR)                                                \
  POINT(integrate, euler)                                                                          \
  POINT(integrate, symplectic)                                                                     \
  POINT(integrate, drift)                                                                          \
  POINT(integrate, kick)                                                                           \
  POINT(integrate, leapfrog)                                                                       \
  POINT(integrate, position_verlet)                                                                \
  POINT(integrate, rk)
