// Grains in an SPH liquid, from both sides: drag, and the force with which the liquid around a
// grain would have moved the liquid in its place (pressure gradient and buoyancy). (Maxey & Riley
// 1983; Robinson, Ramaioli & Luding 2014; Schiller & Naumann 1933.) On grain g from particle f:
//
//   F_gf = k_g V_f W (v_f - v_g) + b_g m_f W (a_f - gravity)
//
// with b_g = V_g / sum V_f W, and a_f the acceleration of f with the grains' reaction to the second
// term in it: a_f = (a + phi gravity) / (1 + phi), phi = sum b_g W. So buoyancy is the weight of
// the liquid in the grain's place however densely grains lie, and what one side gains the other
// loses.
#pragma once

#include "data/pairs.h"
#include "math/smoothing.h"

#ifdef __CUDACC__
#define SOAK_INLINE KP_FN
#else
#define SOAK_INLINE KP_WIDE_FN
#endif

KP_FN void soak_put(kp_real *to, int64_t i, kp_real value, int add) {
  to[i] = (add ? to[i] : (kp_real)0) + value;
}

// ---- what a grain sees of the liquid ------------------------------------------------------------

#define SOAK_SEE_J(X)                                                                              \
  X(vx)                                                                                            \
  X(vy)                                                                                            \
  X(vz)                                                                                            \
  X(inverse)

typedef struct soak_see_args {
  kp_smooth w;
  kp_real mass;                     // of a particle
  kp_real rest_density, viscosity;  // of the liquid
  int32_t add;                      // 1: to what other liquids gave
  const kp_real *j_vx, *j_vy, *j_vz, *j_inverse;
  kp_real *share, *ux, *uy, *uz, *density, *thickness;
} soak_see_args;

typedef struct soak_see_i {
  char unused;
} soak_see_i;

typedef struct soak_see_acc {
  kp_w share, ux, uy, uz;
} soak_see_acc;

KP_PAIR_J(soak_see, SOAK_SEE_J)

SOAK_INLINE void soak_see_load(int64_t i, const soak_see_args *a, soak_see_i *self,
                               soak_see_acc *acc) {
  (void)i;
  (void)a;
  (void)self;
  acc->share = acc->ux = acc->uy = acc->uz = kp_w_splat((kp_real)0);
}

// Padded lanes have no inverse density, so no volume either.
SOAK_INLINE void soak_see_pair(soak_see_acc *acc, const soak_see_i *self, const soak_see_j *j,
                               kp_w dx, kp_w dy, kp_w dz, kp_w r2, const soak_see_args *a) {
  (void)self;
  (void)dx;
  (void)dy;
  (void)dz;
  kp_w w = a->mass * j->inverse * kp_smooth_w(KP_SMOOTH_WENDLAND, r2, &a->w);
  acc->share += w;
  acc->ux += w * j->vx;
  acc->uy += w * j->vy;
  acc->uz += w * j->vz;
}

SOAK_INLINE void soak_see_store(int64_t i, const soak_see_acc *acc, const soak_see_i *self,
                                const soak_see_args *a) {
  (void)self;
  kp_real share = kp_w_sum(acc->share);
  soak_put(a->share, i, share, a->add);
  soak_put(a->ux, i, kp_w_sum(acc->ux), a->add);
  soak_put(a->uy, i, kp_w_sum(acc->uy), a->add);
  soak_put(a->uz, i, kp_w_sum(acc->uz), a->add);
  soak_put(a->density, i, share * a->rest_density, a->add);
  soak_put(a->thickness, i, share * a->viscosity, a->add);
}

// ---- its factors --------------------------------------------------------------------------------

typedef struct soak_drag_args {
  double dt;
  int32_t dimension;
  const kp_real *radius, *mass, *vx, *vy, *vz;
  const kp_real *share, *ux, *uy, *uz, *density, *thickness;
  kp_real *factor;  // k_g
  kp_real *lift;    // b_g
} soak_drag_args;

// Force over relative velocity: 6 pi mu R (1 + 0.15 Re^0.687) up to Re = 1000, then that of C_d =
// 0.44; Re = 2 R rho |u| / mu. A disc is taken for a sphere's cross-section, 1 m deep.
KP_FN double soak_coefficient(double radius, double density, double viscosity, double speed,
                              int dimension) {
  double pi = 3.14159265358979323846;
  double mu = viscosity > 1e-12 ? viscosity : 1e-12;
  double re = 2.0 * radius * density * speed / mu;
  double sphere = re < 1000.0 ? 6.0 * pi * mu * radius * (1.0 + 0.15 * pow(re, 0.687))
                              : 0.22 * density * pi * radius * radius * speed;
  return dimension == 3 ? sphere : sphere * 2.0 / (pi * radius);
}

KP_FN void soak_drag(int64_t i, const soak_drag_args *a) {
  double share = (double)a->share[i];
  a->factor[i] = a->lift[i] = (kp_real)0;
  if (share < 1e-6) {
    return;
  }
  double radius = (double)a->radius[i];
  double area = 3.14159265358979323846 * radius * radius;
  double volume = a->dimension == 3 ? 4.0 / 3.0 * area * radius : area;
  double ux = (double)a->ux[i] / share - (double)a->vx[i];
  double uy = (double)a->uy[i] / share - (double)a->vy[i];
  double uz = (double)a->uz[i] / share - (double)a->vz[i];
  double speed = sqrt(ux * ux + uy * uy + uz * uz);
  double beta = soak_coefficient(radius, (double)a->density[i] / share,
                                 (double)a->thickness[i] / share, speed, a->dimension);
  // a grain at the surface is wet by as much as it sees; the step is implicit in its own velocity
  double wet = share < 0.8 ? 1.25 * share : 1.0;
  beta = wet * beta / (1.0 + wet * a->dt * beta / (double)a->mass[i]);
  a->factor[i] = (kp_real)(beta / share);
  a->lift[i] = (kp_real)(wet * volume / share);
}

// ---- what the liquid sees of grains -------------------------------------------------------------

#define SOAK_REACT_J(X)                                                                            \
  X(vx)                                                                                            \
  X(vy)                                                                                            \
  X(vz)                                                                                            \
  X(factor)                                                                                        \
  X(lift)

typedef struct soak_react_args {
  kp_smooth w;
  int32_t add;
  const kp_real *vx, *vy, *vz;
  const kp_real *j_vx, *j_vy, *j_vz, *j_factor, *j_lift;
  kp_real *phi, *dx, *dy, *dz;  // sums of b W and of k W (v_f - v_g)
} soak_react_args;

typedef struct soak_react_i {
  kp_real vx, vy, vz;
} soak_react_i;

typedef struct soak_react_acc {
  kp_w phi, x, y, z;
} soak_react_acc;

KP_PAIR_J(soak_react, SOAK_REACT_J)

SOAK_INLINE void soak_react_load(int64_t i, const soak_react_args *a, soak_react_i *self,
                                 soak_react_acc *acc) {
  self->vx = a->vx[i];
  self->vy = a->vy[i];
  self->vz = a->vz[i];
  acc->phi = acc->x = acc->y = acc->z = kp_w_splat((kp_real)0);
}

SOAK_INLINE void soak_react_pair(soak_react_acc *acc, const soak_react_i *self,
                                 const soak_react_j *j, kp_w dx, kp_w dy, kp_w dz, kp_w r2,
                                 const soak_react_args *a) {
  (void)dx;
  (void)dy;
  (void)dz;
  kp_w w = kp_smooth_w(KP_SMOOTH_WENDLAND, r2, &a->w);
  kp_w drag = j->factor * w;
  acc->phi += j->lift * w;
  acc->x += drag * (self->vx - j->vx);
  acc->y += drag * (self->vy - j->vy);
  acc->z += drag * (self->vz - j->vz);
}

SOAK_INLINE void soak_react_store(int64_t i, const soak_react_acc *acc, const soak_react_i *self,
                                  const soak_react_args *a) {
  (void)self;
  soak_put(a->phi, i, kp_w_sum(acc->phi), a->add);
  soak_put(a->dx, i, kp_w_sum(acc->x), a->add);
  soak_put(a->dy, i, kp_w_sum(acc->y), a->add);
  soak_put(a->dz, i, kp_w_sum(acc->z), a->add);
}

typedef struct soak_yield_args {
  kp_real gx, gy, gz;
  const kp_real *inverse, *phi, *dx, *dy, *dz;
  kp_real *rx, *ry, *rz;  // a_f - gravity
  kp_real *ax, *ay, *az;
} soak_yield_args;

KP_FN void soak_yield(int64_t i, const soak_yield_args *a) {
  kp_real share = (kp_real)1 / ((kp_real)1 + a->phi[i]);
  a->rx[i] = (a->ax[i] - a->gx) * share;
  a->ry[i] = (a->ay[i] - a->gy) * share;
  a->rz[i] = (a->az[i] - a->gz) * share;
  a->ax[i] = a->gx + a->rx[i] - a->inverse[i] * a->dx[i];
  a->ay[i] = a->gy + a->ry[i] - a->inverse[i] * a->dy[i];
  a->az[i] = a->gz + a->rz[i] - a->inverse[i] * a->dz[i];
}

// ---- what the grain gets ------------------------------------------------------------------------

#define SOAK_LIFT_J(X)                                                                             \
  X(vx)                                                                                            \
  X(vy)                                                                                            \
  X(vz)                                                                                            \
  X(inverse)                                                                                       \
  X(rx)                                                                                            \
  X(ry)                                                                                            \
  X(rz)

typedef struct soak_lift_args {
  kp_smooth w;
  kp_real fluid_mass;
  const kp_real *mass, *vx, *vy, *vz, *factor, *lift;
  const kp_real *j_vx, *j_vy, *j_vz, *j_inverse, *j_rx, *j_ry, *j_rz;
  kp_real *ax, *ay, *az;
} soak_lift_args;

typedef struct soak_lift_i {
  kp_real vx, vy, vz, factor, lift;
} soak_lift_i;

typedef struct soak_lift_acc {
  kp_w x, y, z;
} soak_lift_acc;

KP_PAIR_J(soak_lift, SOAK_LIFT_J)

SOAK_INLINE void soak_lift_load(int64_t i, const soak_lift_args *a, soak_lift_i *self,
                                soak_lift_acc *acc) {
  self->vx = a->vx[i];
  self->vy = a->vy[i];
  self->vz = a->vz[i];
  self->factor = a->factor[i];
  self->lift = a->lift[i];
  acc->x = acc->y = acc->z = kp_w_splat((kp_real)0);
}

SOAK_INLINE void soak_lift_pair(soak_lift_acc *acc, const soak_lift_i *self, const soak_lift_j *j,
                                kp_w dx, kp_w dy, kp_w dz, kp_w r2, const soak_lift_args *a) {
  (void)dx;
  (void)dy;
  (void)dz;
  kp_w w = kp_smooth_w(KP_SMOOTH_WENDLAND, r2, &a->w);
  kp_w drag = self->factor * j->inverse * w;
  kp_w lift = self->lift * w;
  acc->x += drag * (j->vx - self->vx) + lift * j->rx;
  acc->y += drag * (j->vy - self->vy) + lift * j->ry;
  acc->z += drag * (j->vz - self->vz) + lift * j->rz;
}

SOAK_INLINE void soak_lift_store(int64_t i, const soak_lift_acc *acc, const soak_lift_i *self,
                                 const soak_lift_args *a) {
  (void)self;
  kp_real scale = a->fluid_mass / a->mass[i];
  a->ax[i] += scale * kp_w_sum(acc->x);
  a->ay[i] += scale * kp_w_sum(acc->y);
  a->az[i] += scale * kp_w_sum(acc->z);
}

#define SOAK_KERNELS(POINT, REDUCE, ROW, PAIR)                                                     \
  PAIR(soak, see, soak_see_args, SOAK_SEE_J)                                                       \
  POINT(soak, drag)                                                                                \
  PAIR(soak, react, soak_react_args, SOAK_REACT_J)                                                 \
  POINT(soak, yield)                                                                               \
  PAIR(soak, lift, soak_lift_args, SOAK_LIFT_J)
