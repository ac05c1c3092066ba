// What walls do to a particle beside keeping it out: they hold it (adhesion), drag it, and remember
// that it touched them. Equation numbers: B = Bayraktar 2010; signs as corrected in sph.md.
#pragma once

#include "methods/sph/sph_kernels.h"

// ---- pressure over density squared, negative ones too -------------------------------------------

typedef struct sph_cling_args {
  sph_state_args state;
  kp_real floor;  // of the density
  const kp_real *density;
  kp_real *cling;
} sph_cling_args;

KP_FN void sph_cling(int64_t i, const sph_cling_args *a) {
  const sph_state_args *s = &a->state;
  kp_real rho = a->density[i] > a->floor ? a->density[i] : a->floor;
  kp_real p = s->tait
                  ? s->stiffness * sph_power_minus_one((rho - s->rest_density) / s->rest_density, s)
                  : s->stiffness * (rho - s->rest_density);
  a->cling[i] = p / (rho * rho);
}

// ---- adhesion (B 5.4): a_i = K rho_0 sum_b V_b s grad W, s from p_i/rho_i^2 + p_b/rho_b^2
// --------
//
//   attract  the magnitude: never repels
//   paper    as printed: repels wherever pressures are negative, as in a film
//   tension  only negative pressures pull

typedef enum sph_adhesion_mode {
  SPH_ADHESION_ATTRACT,
  SPH_ADHESION_PAPER,
  SPH_ADHESION_TENSION
} sph_adhesion_mode;

typedef struct sph_adhesion_law {
  kp_smooth g;       // spiky
  kp_real strength;  // K rho_0
  kp_real p_wall;    // factor on the sample's term: its density counts in units of this liquid's
  int32_t mode;
} sph_adhesion_law;

// The factor on d = x_i - x_b in the acceleration of the particle; negative: towards the wall.
SPH_INLINE kp_w sph_adhesion_term(const sph_adhesion_law *l, kp_w cling, kp_w wall_cling,
                                  kp_w volume, kp_w r2) {
  kp_w s = cling + l->p_wall * wall_cling;
  kp_w zero = kp_w_splat((kp_real)0);
  if (l->mode == SPH_ADHESION_ATTRACT) {
    s = kp_w_max(s, -s);
  } else if (l->mode == SPH_ADHESION_TENSION) {
    s = kp_w_max(-s, zero);
  }
  return l->strength * volume * s * kp_smooth_g(KP_SMOOTH_SPIKY, r2, &l->g);
}

#define SPH_ADHESION_J(X)                                                                          \
  X(cling)                                                                                         \
  X(volume)

typedef struct sph_adhesion_args {
  sph_adhesion_law law;
  const kp_real *cling;
  const kp_real *j_cling, *j_volume;
  kp_real *ax, *ay, *az;
} sph_adhesion_args;

typedef struct sph_adhesion_i {
  kp_real cling;
} sph_adhesion_i;

typedef sph_wall_force_acc sph_adhesion_acc;

KP_PAIR_J(sph_adhesion, SPH_ADHESION_J)

SPH_INLINE void sph_adhesion_load(int64_t i, const sph_adhesion_args *a, sph_adhesion_i *self,
                                  sph_adhesion_acc *acc) {
  self->cling = a->cling[i];
  acc->x = acc->y = acc->z = kp_w_splat((kp_real)0);
}

SPH_INLINE void sph_adhesion_pair(sph_adhesion_acc *acc, const sph_adhesion_i *self,
                                  const sph_adhesion_j *j, kp_w dx, kp_w dy, kp_w dz, kp_w r2,
                                  const sph_adhesion_args *a) {
  kp_w s = sph_adhesion_term(&a->law, kp_w_splat(self->cling), j->cling, j->volume, r2);
  acc->x += s * dx;
  acc->y += s * dy;
  acc->z += s * dz;
}

SPH_INLINE void sph_adhesion_store(int64_t i, const sph_adhesion_acc *acc,
                                   const sph_adhesion_i *self, const sph_adhesion_args *a) {
  (void)self;
  a->ax[i] += kp_w_sum(acc->x);
  a->ay[i] += kp_w_sum(acc->y);
  a->az[i] += kp_w_sum(acc->z);
}

// the other side: i sample, j fluid
#define SPH_ADHESION_REACT_J(X) X(cling)

typedef struct sph_adhesion_react_args {
  sph_adhesion_law law;
  kp_real mass;
  const kp_real *cling, *volume;
  const kp_real *j_cling;
  kp_real *fx, *fy, *fz;
} sph_adhesion_react_args;

typedef struct sph_adhesion_react_i {
  kp_real cling, volume;
} sph_adhesion_react_i;

typedef sph_wall_force_acc sph_adhesion_react_acc;

KP_PAIR_J(sph_adhesion_react, SPH_ADHESION_REACT_J)

SPH_INLINE void sph_adhesion_react_load(int64_t i, const sph_adhesion_react_args *a,
                                        sph_adhesion_react_i *self, sph_adhesion_react_acc *acc) {
  self->cling = a->cling[i];
  self->volume = a->volume[i];
  acc->x = acc->y = acc->z = kp_w_splat((kp_real)0);
}

SPH_INLINE void sph_adhesion_react_pair(sph_adhesion_react_acc *acc,
                                        const sph_adhesion_react_i *self,
                                        const sph_adhesion_react_j *j, kp_w dx, kp_w dy, kp_w dz,
                                        kp_w r2, const sph_adhesion_react_args *a) {
  kp_w s =
      sph_adhesion_term(&a->law, j->cling, kp_w_splat(self->cling), kp_w_splat(self->volume), r2);
  acc->x += s * dx;
  acc->y += s * dy;
  acc->z += s * dz;
}

// d runs from the fluid to the sample here, so the sum is already minus what the fluid feels
SPH_INLINE void sph_adhesion_react_store(int64_t i, const sph_adhesion_react_acc *acc,
                                         const sph_adhesion_react_i *self,
                                         const sph_adhesion_react_args *a) {
  (void)self;
  a->fx[i] += a->mass * kp_w_sum(acc->x);
  a->fy[i] += a->mass * kp_w_sum(acc->y);
  a->fz[i] += a->mass * kp_w_sum(acc->z);
}

// ---- velocity of samples, interpolated from the fluid (B 5.2 with its missing 1/rho)
// -------------

#define SPH_WALL_VELOCITY_J(X)                                                                     \
  X(vx)                                                                                            \
  X(vy)                                                                                            \
  X(vz)                                                                                            \
  X(inverse)

typedef struct sph_wall_velocity_args {
  kp_smooth w;  // spiky: Desbrun's
  kp_real mass;
  int32_t add;
  const kp_real *j_vx, *j_vy, *j_vz, *j_inverse;
  kp_real *vx, *vy, *vz;
} sph_wall_velocity_args;

typedef struct sph_wall_velocity_i {
  kp_real x, y, z;
} sph_wall_velocity_i;

typedef sph_wall_force_acc sph_wall_velocity_acc;

KP_PAIR_J(sph_wall_velocity, SPH_WALL_VELOCITY_J)

SPH_INLINE void sph_wall_velocity_load(int64_t i, const sph_wall_velocity_args *a,
                                       sph_wall_velocity_i *self, sph_wall_velocity_acc *acc) {
  self->x = a->add ? a->vx[i] : (kp_real)0;
  self->y = a->add ? a->vy[i] : (kp_real)0;
  self->z = a->add ? a->vz[i] : (kp_real)0;
  acc->x = acc->y = acc->z = kp_w_splat((kp_real)0);
}

SPH_INLINE void sph_wall_velocity_pair(sph_wall_velocity_acc *acc, const sph_wall_velocity_i *self,
                                       const sph_wall_velocity_j *j, kp_w dx, kp_w dy, kp_w dz,
                                       kp_w r2, const sph_wall_velocity_args *a) {
  (void)self, (void)dx, (void)dy, (void)dz;
  kp_w w = j->inverse * kp_smooth_w(KP_SMOOTH_SPIKY, r2, &a->w);
  acc->x += w * j->vx;
  acc->y += w * j->vy;
  acc->z += w * j->vz;
}

SPH_INLINE void sph_wall_velocity_store(int64_t i, const sph_wall_velocity_acc *acc,
                                        const sph_wall_velocity_i *self,
                                        const sph_wall_velocity_args *a) {
  a->vx[i] = self->x + a->mass * kp_w_sum(acc->x);
  a->vy[i] = self->y + a->mass * kp_w_sum(acc->y);
  a->vz[i] = self->z + a->mass * kp_w_sum(acc->z);
}

// ---- drag of walls (B 5.2): a_i = mu/rho_i sum_b V_b (v_b - v_i) Lap W, whatever the wall law
// ----

#define SPH_WALL_DRAG_J(X)                                                                         \
  X(vx)                                                                                            \
  X(vy)                                                                                            \
  X(vz)                                                                                            \
  X(volume)

typedef struct sph_wall_drag_args {
  kp_smooth w;        // the viscosity kernel's Laplacian
  kp_real viscosity;  // (1 - slip) mu, doubled where the wall mirrors velocities
  const kp_real *vx, *vy, *vz, *inverse;
  const kp_real *j_vx, *j_vy, *j_vz, *j_volume;
  kp_real *ax, *ay, *az;
} sph_wall_drag_args;

typedef struct sph_wall_drag_i {
  kp_real vx, vy, vz, inverse;
} sph_wall_drag_i;

typedef sph_wall_force_acc sph_wall_drag_acc;

KP_PAIR_J(sph_wall_drag, SPH_WALL_DRAG_J)

SPH_INLINE void sph_wall_drag_load(int64_t i, const sph_wall_drag_args *a, sph_wall_drag_i *self,
                                   sph_wall_drag_acc *acc) {
  self->vx = a->vx[i];
  self->vy = a->vy[i];
  self->vz = a->vz[i];
  self->inverse = a->inverse[i];
  acc->x = acc->y = acc->z = kp_w_splat((kp_real)0);
}

SPH_INLINE void sph_wall_drag_pair(sph_wall_drag_acc *acc, const sph_wall_drag_i *self,
                                   const sph_wall_drag_j *j, kp_w dx, kp_w dy, kp_w dz, kp_w r2,
                                   const sph_wall_drag_args *a) {
  (void)dx, (void)dy, (void)dz;
  kp_w t = j->volume * kp_smooth_lap(KP_SMOOTH_SPIKY, r2, kp_w_splat((kp_real)0), &a->w);
  acc->x += t * (j->vx - self->vx);
  acc->y += t * (j->vy - self->vy);
  acc->z += t * (j->vz - self->vz);
}

SPH_INLINE void sph_wall_drag_store(int64_t i, const sph_wall_drag_acc *acc,
                                    const sph_wall_drag_i *self, const sph_wall_drag_args *a) {
  kp_real scale = a->viscosity * self->inverse;
  a->ax[i] += scale * kp_w_sum(acc->x);
  a->ay[i] += scale * kp_w_sum(acc->y);
  a->az[i] += scale * kp_w_sum(acc->z);
}

// the other side: i sample, j fluid
typedef struct sph_wall_drag_react_args {
  kp_smooth w;
  kp_real viscosity;
  kp_real mass;
  const kp_real *vx, *vy, *vz, *volume;
  const kp_real *j_vx, *j_vy, *j_vz, *j_inverse;
  kp_real *fx, *fy, *fz;
} sph_wall_drag_react_args;

typedef struct sph_wall_drag_react_i {
  kp_real vx, vy, vz, volume;
} sph_wall_drag_react_i;

typedef sph_wall_force_acc sph_wall_drag_react_acc;

KP_PAIR_J(sph_wall_drag_react, SPH_WALL_VELOCITY_J)

SPH_INLINE void sph_wall_drag_react_load(int64_t i, const sph_wall_drag_react_args *a,
                                         sph_wall_drag_react_i *self,
                                         sph_wall_drag_react_acc *acc) {
  self->vx = a->vx[i];
  self->vy = a->vy[i];
  self->vz = a->vz[i];
  self->volume = a->volume[i];
  acc->x = acc->y = acc->z = kp_w_splat((kp_real)0);
}

SPH_INLINE void sph_wall_drag_react_pair(sph_wall_drag_react_acc *acc,
                                         const sph_wall_drag_react_i *self,
                                         const sph_wall_drag_react_j *j, kp_w dx, kp_w dy, kp_w dz,
                                         kp_w r2, const sph_wall_drag_react_args *a) {
  (void)dx, (void)dy, (void)dz;
  kp_w t = j->inverse * kp_smooth_lap(KP_SMOOTH_SPIKY, r2, kp_w_splat((kp_real)0), &a->w);
  acc->x += t * (j->vx - self->vx);
  acc->y += t * (j->vy - self->vy);
  acc->z += t * (j->vz - self->vz);
}

SPH_INLINE void sph_wall_drag_react_store(int64_t i, const sph_wall_drag_react_acc *acc,
                                          const sph_wall_drag_react_i *self,
                                          const sph_wall_drag_react_args *a) {
  kp_real scale = a->mass * a->viscosity * self->volume;
  a->fx[i] += scale * kp_w_sum(acc->x);
  a->fy[i] += scale * kp_w_sum(acc->y);
  a->fz[i] += scale * kp_w_sum(acc->z);
}

// ---- who has touched a wall (Hong 2009, figure 5)
// ------------------------------------------------

typedef struct sph_touch_args {
  kp_real reach2;
  uint8_t *touched;
} sph_touch_args;

typedef struct sph_touch_i {
  char unused;
} sph_touch_i;

typedef struct sph_touch_acc {
  kp_w count;
} sph_touch_acc;

KP_PAIR_J(sph_touch, SPH_NO_J)

SPH_INLINE void sph_touch_load(int64_t i, const sph_touch_args *a, sph_touch_i *self,
                               sph_touch_acc *acc) {
  (void)i, (void)a;
  self->unused = 0;
  acc->count = kp_w_splat((kp_real)0);
}

SPH_INLINE void sph_touch_pair(sph_touch_acc *acc, const sph_touch_i *self, const sph_touch_j *j,
                               kp_w dx, kp_w dy, kp_w dz, kp_w r2, const sph_touch_args *a) {
  (void)self, (void)j, (void)dx, (void)dy, (void)dz;
  acc->count += kp_w_select(kp_w_less(r2, kp_w_splat(a->reach2)), kp_w_splat((kp_real)1),
                            kp_w_splat((kp_real)0));
}

SPH_INLINE void sph_touch_store(int64_t i, const sph_touch_acc *acc, const sph_touch_i *self,
                                const sph_touch_args *a) {
  (void)self;
  a->touched[i] = a->touched[i] || kp_w_sum(acc->count) > (kp_real)0 ? 1 : 0;
}

// ---- drag of the surroundings: a = -c v ---------------------------------------------------------

typedef struct sph_drag_args {
  kp_real rate;
  const kp_real *vx, *vy, *vz;
  kp_real *ax, *ay, *az;
} sph_drag_args;

KP_FN void sph_drag(int64_t i, const sph_drag_args *a) {
  a->ax[i] -= a->rate * a->vx[i];
  a->ay[i] -= a->rate * a->vy[i];
  a->az[i] -= a->rate * a->vz[i];
}

#define SPH_ADHESION_KERNELS(POINT, REDUCE, ROW, PAIR)                                             \
  POINT(sph, cling)                                                                                \
  POINT(sph, drag)                                                                                 \
  PAIR(sph, adhesion, sph_adhesion_args, SPH_ADHESION_J)                                           \
  PAIR(sph, adhesion_react, sph_adhesion_react_args, SPH_ADHESION_REACT_J)                         \
  PAIR(sph, wall_velocity, sph_wall_velocity_args, SPH_WALL_VELOCITY_J)                            \
  PAIR(sph, wall_drag, sph_wall_drag_args, SPH_WALL_DRAG_J)                                        \
  PAIR(sph, wall_drag_react, sph_wall_drag_react_args, SPH_WALL_VELOCITY_J)                        \
  PAIR(sph, touch, sph_touch_args, SPH_NO_J)
