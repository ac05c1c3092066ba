// The integrator service: explicit time integration of a particle set whose method gives
// accelerations.
//
//   euler            x += dt v, v += dt a                                     order 1
//   symplectic       v += dt a, x += dt v (Euler-Cromer)                      order 1, energy
//   bounded leapfrog         half-step velocities, with the half-step start           order 2,
//   energy bounded velocity_verlet  x += dt v + dt^2/2 a, then v by the mean acceleration    order
//   2, energy bounded position_verlet  x_{n+1} = 2 x_n - x_{n-1} + dt^2 a order 2, energy bounded
//   rk2, rk4         midpoint and classical Runge-Kutta                       orders 2, 4
//   rkf45            Fehlberg 4(5) with an error estimate for adaptive steps  order 5
//   rk4_doubling     two half steps of rk4 against a whole one, likewise      order 5
//
// A sub-step is `stages` times: begin (positions to where forces are wanted), the method's
// evaluation of accelerations, end. Stage arrays are fields of the set, so the sort between stages
// takes them along. After the last stage the set holds position and velocity at the new time;
// leapfrog and position Verlet predict that velocity from the half-step one. Particles added
// between steps need no care.
//
// Leapfrog and position Verlet carry motion from step to step in fields of their own. Whoever
// changes a position or velocity by hand (walls, contacts) sets `fresh` of that particle to 1: it
// then starts anew from what it has. dt_last is state that the method keeps with its own. (Lyes
// 2015 sections 2.5 and 5.2; Bayraktar 2010 section 5.6. The printed leapfrog listing 5.7 and the
// printed k_x4 of Eq. 2.13 are wrong; tests show how.)
#pragma once

#include "data/set.h"
#include "kelpie/types.h"
#include "methods/common/integrate_kernels.h"

// Only through the service, not in scenes.
#define KP_INTEGRATOR_RKF45 KP_INTEGRATOR_COUNT
#define KP_INTEGRATOR_RK4_DOUBLING (KP_INTEGRATOR_COUNT + 1)

typedef struct kp_integrate {
  int kind;
  kp_set *set;
  kp_field *acceleration;  // REAL x 3, written by the method
  kp_field *half;          // leapfrog
  kp_field *last;          // position Verlet
  kp_field *fresh;         // leapfrog and both Verlets: 1 until the first step of a particle
  kp_field *x0, *v0;       // Runge-Kutta: state at the start
  kp_field *k_x[INTEGRATE_RK_STAGES], *k_v[INTEGRATE_RK_STAGES];
  double dt_last;  // s, of the step before; 0 at the start
} kp_integrate;

extern const char *const kp_integrator_names[];  // NULL terminated, in the order of kp_integrator

// Adds the fields the scheme needs (and "acceleration") to the set.
KP_NODISCARD kp_result kp_integrate_create(kp_integrate *service, kp_set *set, int kind);

int kp_integrate_stages(const kp_integrate *service);
// When within the step stage s evaluates, as a share of dt.
double kp_integrate_offset(const kp_integrate *service, int s);

// Before the first step: the acceleration field holds what belongs to the present positions.
// Velocity Verlet then starts with it; without this call its first step is one of second order all
// the same. The other schemes have no use for it.
KP_NODISCARD kp_result kp_integrate_know_acceleration(kp_integrate *service);

// Stage s of a step of dt seconds: before and after the evaluation of accelerations.
KP_NODISCARD kp_result kp_integrate_begin(kp_integrate *service, int s, double dt);
KP_NODISCARD kp_result kp_integrate_end(kp_integrate *service, int s, double dt);

// After the last stage of rkf45 or rk4_doubling: the largest difference of positions and of
// velocities between the result, of fifth order, and its partner of fourth, over all elements and
// on the host.
KP_NODISCARD kp_result kp_integrate_error(kp_integrate *service, double dt, double *x_error,
                                          double *v_error);
// The next step for an error of the last one, of a scheme whose estimate goes with the fifth power:
// 0.9 dt (tolerance/error)^(1/5), and no change by more than a fifth or fourfold. A step whose
// error is above the tolerance is to be taken again.
double kp_integrate_next(double dt, double error, double tolerance);
