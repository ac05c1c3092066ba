// Vorticity confinement (Fedkiw, Stam & Jensen 2001; Selle 2008, section 3.2.1) at the centres of
// cells: omega = curl u, N = grad |omega| / |grad |omega||, f = eps dx (N x omega). Also how forces
// at centres reach the faces.
#pragma once

#include "data/mac_sample.h"
#include "par/kernel.h"

#define VORTICITY_KERNELS(POINT, REDUCE, ROW, PAIR)                                                \
  ROW(vorticity, magnitude)                                                                        \
  ROW(vorticity, confine)                                                                          \
  ROW(vorticity, push)

// |curl u| of each cell, 0 in solids
typedef struct vorticity_magnitude_args {
  kp_mac_view grid;
  const kp_real *u, *v, *w;
  const uint8_t *flags;
  kp_real *magnitude;
} vorticity_magnitude_args;

KP_FN void vorticity_magnitude(int64_t j, int64_t k, int64_t i0, int64_t i1,
                               const vorticity_magnitude_args *a) {
  const kp_mac_view *g = &a->grid;
  const kp_mac_velocity f = { a->u, a->v, a->w };
  int64_t row = kp_mac_at(g, 0, j, k);
  for (int64_t i = i0; i < i1; ++i) {
    kp_real w[3];
    kp_mac_curl(g, f, row + i, w);
    kp_real size = kp_root(w[0] * w[0] + w[1] * w[1] + w[2] * w[2]);
    a->magnitude[row + i] = (a->flags[row + i] & KP_CELL_KIND) == KP_CELL_FLUID ? size : (kp_real)0;
  }
}

// f += (eps + eps(x)) dx (N x omega)
typedef struct vorticity_confine_args {
  kp_mac_view grid;
  kp_real strength;          // eps dx
  const kp_real *strengths;  // eps(x), instead; NULL: none
  const kp_real *u, *v, *w;
  const kp_real *magnitude;
  kp_real *fx, *fy, *fz;
} vorticity_confine_args;

KP_FN void vorticity_confine(int64_t j, int64_t k, int64_t i0, int64_t i1,
                             const vorticity_confine_args *a) {
  const kp_mac_view *g = &a->grid;
  const kp_mac_velocity f = { a->u, a->v, a->w };
  int64_t row = kp_mac_at(g, 0, j, k);
  for (int64_t i = i0; i < i1; ++i) {
    int64_t at = row + i;
    kp_real w[3];
    kp_real n[3];
    kp_mac_curl(g, f, at, w);
    kp_mac_gradient(g, a->magnitude, at, n);
    kp_real size = kp_root(n[0] * n[0] + n[1] * n[1] + n[2] * n[2]);
    kp_real eps = a->strengths != NULL ? a->strengths[at] * g->h : a->strength;
    // where |omega| is even there is no direction to push in
    kp_real scale = size > (kp_real)1e-12 ? eps / size : (kp_real)0;
    a->fx[at] += scale * (n[1] * w[2] - n[2] * w[1]);
    a->fy[at] += scale * (n[2] * w[0] - n[0] * w[2]);
    a->fz[at] += scale * (n[0] * w[1] - n[1] * w[0]);
  }
}

// u += dt f, from the two cells beside each face
typedef struct vorticity_push_args {
  kp_mac_view grid;
  int32_t axis;
  kp_real dt;
  const kp_real *force;
  kp_real *values;
} vorticity_push_args;

KP_FN void vorticity_push(int64_t j, int64_t k, int64_t i0, int64_t i1,
                          const vorticity_push_args *a) {
  const kp_mac_view *g = &a->grid;
  int64_t row = kp_mac_at(g, 0, j, k);
  for (int64_t i = i0; i < i1; ++i) {
    a->values[row + i] += a->dt * kp_mac_mean(g, a->force, a->axis, row + i);
  }
}
