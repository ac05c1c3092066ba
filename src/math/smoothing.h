// Smoothing kernels of SPH, all with support radius H: zero for r >= H, integral 1.
//
//   poly6     c (H^2 - r^2)^3                 Mueller et al. 2003; Bayraktar 2010 Eq. 3.39
//   spiky     c (H - r)^3                     Desbrun & Gascuel 1996 (H = 2h), Mueller;
//   Eq. 3.34-3.36 cubic     B-spline with h = H/2           Monaghan & Lattanzio 1985; Eq. 3.33
//   (norm corrected) wendland  C2, (1 - r/H)^4 (1 + 4 r/H)     Wendland 1995
//
// The viscosity kernel of Mueller 2003 is known only by its Laplacian, c (H - r); its value is
// infinite at r = 0 and never used. Two and three dimensions differ in the constants alone. In
// float the constants of poly6 need H > 0.1 mm.
//
//   w(r2)    the kernel
//   g(r2)    W'(r) / r, so that grad W = g d with d = x_i - x_j; never positive
//   lap(r2)  a positive Laplacian weight for viscous forces: the viscosity kernel's for poly6 and
//            spiky, -2 g for cubic and wendland (Morris et al. 1997, Brookshaw 1985)
#pragma once

#include "math/wide.h"

#define KP_SMOOTH_PI 3.14159265358979323846

typedef enum kp_smooth_kind {
  KP_SMOOTH_POLY6,
  KP_SMOOTH_SPIKY,
  KP_SMOOTH_CUBIC,
  KP_SMOOTH_WENDLAND,
  KP_SMOOTH_KIND_COUNT
} kp_smooth_kind;

// Constants of one support radius and dimension, made once on the host.
typedef struct kp_smooth {
  kp_real support, support2;  // H, H^2
  kp_real inverse;            // 1/H
  kp_real tiny;               // floor of r where a direction is needed
  kp_real w_scale, g_scale, lap_scale;
} kp_smooth;

kp_smooth kp_smooth_make(kp_smooth_kind kind, double support, int dimension);

// Scalar reference in double, for tests and set-up.
double kp_smooth_value(kp_smooth_kind kind, double r, double support, int dimension);

#ifdef __CUDACC__
#define KP_SMOOTH_FN KP_FN
#else
#define KP_SMOOTH_FN KP_WIDE_FN
#endif

KP_SMOOTH_FN kp_w kp_smooth_positive(kp_w a) {
  return kp_w_max(a, kp_w_splat((kp_real)0));
}

// `kind` is a compile-time constant at every call: the branches fold away.
KP_SMOOTH_FN kp_w kp_smooth_w(int kind, kp_w r2, const kp_smooth *s) {
  if (kind == KP_SMOOTH_POLY6) {
    kp_w t = kp_smooth_positive(s->support2 - r2);
    return s->w_scale * (t * t * t);
  }
  kp_w r = kp_w_sqrt(r2);
  if (kind == KP_SMOOTH_SPIKY) {
    kp_w t = kp_smooth_positive(s->support - r);
    return s->w_scale * (t * t * t);
  }
  kp_w u = r * s->inverse;
  if (kind == KP_SMOOTH_CUBIC) {
    // with q = r/h = 2u: (2-q)^3/4 - (1-q)^3 = 2 (1-u)^3 - 8 (1/2-u)^3, each part cut at zero
    kp_w a = kp_smooth_positive((kp_real)1 - u);
    kp_w b = kp_smooth_positive((kp_real)0.5 - u);
    return s->w_scale * ((a * a * a) - (kp_real)4 * (b * b * b));
  }
  kp_w a = kp_smooth_positive((kp_real)1 - u);
  kp_w a2 = a * a;
  return s->w_scale * (a2 * a2 * ((kp_real)1 + (kp_real)4 * u));
}

KP_SMOOTH_FN kp_w kp_smooth_g(int kind, kp_w r2, const kp_smooth *s) {
  if (kind == KP_SMOOTH_POLY6) {
    kp_w t = kp_smooth_positive(s->support2 - r2);
    return s->g_scale * (t * t);
  }
  kp_w r = kp_w_sqrt(r2);
  if (kind == KP_SMOOTH_SPIKY) {
    kp_w t = kp_smooth_positive(s->support - r);
    return s->g_scale * (t * t) / kp_w_max(r, kp_w_splat(s->tiny));
  }
  kp_w u = r * s->inverse;
  kp_w a = kp_smooth_positive((kp_real)1 - u);
  if (kind == KP_SMOOTH_CUBIC) {
    // ((1-u)^2 - 4 (1/2-u)^2) / u, in a form that does not cancel near zero
    kp_w half = kp_w_splat((kp_real)0.5);
    kp_w inner = (kp_real)2 - (kp_real)3 * u;
    kp_w outer = a * a / kp_w_max(u, half);
    return s->g_scale * kp_w_select(kp_w_less(u, half), inner, outer);
  }
  return s->g_scale * (a * a * a);
}

// g is what kp_smooth_g gave for the same pair.
KP_SMOOTH_FN kp_w kp_smooth_lap(int kind, kp_w r2, kp_w g, const kp_smooth *s) {
  if (kind == KP_SMOOTH_POLY6 || kind == KP_SMOOTH_SPIKY) {
    return s->lap_scale * kp_smooth_positive(s->support - kp_w_sqrt(r2));
  }
  return (kp_real)-2 * g;
}
