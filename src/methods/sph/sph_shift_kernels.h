// Kernels of particle shifting; see methods/sph/sph_shift.h.
#pragma once

#include "methods/sph/sph_kernels.h"

// ---- gradient of the concentration: sum_j V_j grad W --------------------------------------------

#define SPH_SHIFT_J(X) X(share)

typedef struct sph_shift_args {
  kp_smooth g;
  kp_real scale;  // volume of a j per unit of its share
  int32_t add;
  const kp_real *j_share;  // one over density of liquids, volume of samples
  kp_real *x, *y, *z;
} sph_shift_args;

typedef struct sph_shift_i {
  kp_real x, y, z;
} sph_shift_i;

typedef struct sph_shift_acc {
  kp_w x, y, z;
} sph_shift_acc;

KP_PAIR_J(sph_shift, SPH_SHIFT_J)

SPH_INLINE void sph_shift_load(int64_t i, const sph_shift_args *a, sph_shift_i *self,
                               sph_shift_acc *acc) {
  self->x = a->add ? a->x[i] : (kp_real)0;
  self->y = a->add ? a->y[i] : (kp_real)0;
  self->z = a->add ? a->z[i] : (kp_real)0;
  acc->x = acc->y = acc->z = kp_w_splat((kp_real)0);
}

SPH_INLINE void sph_shift_store(int64_t i, const sph_shift_acc *acc, const sph_shift_i *self,
                                const sph_shift_args *a) {
  a->x[i] = self->x + a->scale * kp_w_sum(acc->x);
  a->y[i] = self->y + a->scale * kp_w_sum(acc->y);
  a->z[i] = self->z + a->scale * kp_w_sum(acc->z);
}

#define SPH_SHIFT_VARIANT(name, kind)                                                              \
  KP_PAIR_VARIANT(sph_shift_##name, sph_shift)                                                     \
  SPH_INLINE void sph_shift_##name##_pair(sph_shift_acc *acc, const sph_shift_i *self,             \
                                          const sph_shift_j *j, kp_w dx, kp_w dy, kp_w dz,         \
                                          kp_w r2, const sph_shift_args *a) {                      \
    (void)self;                                                                                    \
    kp_w s = j->share * kp_smooth_g(kind, r2, &a->g);                                              \
    acc->x += s * dx;                                                                              \
    acc->y += s * dy;                                                                              \
    acc->z += s * dz;                                                                              \
  }

SPH_SHIFT_VARIANT(spiky, KP_SMOOTH_SPIKY)
SPH_SHIFT_VARIANT(cubic, KP_SMOOTH_CUBIC)
SPH_SHIFT_VARIANT(wendland, KP_SMOOTH_WENDLAND)
SPH_SHIFT_VARIANT(poly6, KP_SMOOTH_POLY6)

// ---- the shift ----------------------------------------------------------------------------------

typedef struct sph_shift_move_args {
  double diffusion;  // D dt [m^2]
  double steepest2;  // square of the gradient beyond which there is a free surface [1/m^2]
  const kp_real *gx, *gy, *gz;
  kp_pos *x, *y, *z;
} sph_shift_move_args;

// x_i -= D dt grad C, but for particles at a free surface
KP_FN void sph_shift_move(int64_t i, const sph_shift_move_args *a) {
  double gx = (double)a->gx[i];
  double gy = (double)a->gy[i];
  double gz = (double)a->gz[i];
  if (gx * gx + gy * gy + gz * gz < a->steepest2) {
    a->x[i] -= a->diffusion * gx;
    a->y[i] -= a->diffusion * gy;
    a->z[i] -= a->diffusion * gz;
  }
}

#define SPH_SHIFT_KERNELS(POINT, REDUCE, ROW, PAIR)                                                \
  POINT(sph, shift_move)                                                                           \
  PAIR(sph, shift_spiky, sph_shift_args, SPH_SHIFT_J)                                              \
  PAIR(sph, shift_cubic, sph_shift_args, SPH_SHIFT_J)                                              \
  PAIR(sph, shift_wendland, sph_shift_args, SPH_SHIFT_J)                                           \
  PAIR(sph, shift_poly6, sph_shift_args, SPH_SHIFT_J)
