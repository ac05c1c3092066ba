// Viscosity of fractional order in SPH: Ozgen 2013, Eq. 4.6, and its use only where flows collide
// (section 4.4). See sph.md.
//
// Where every pair takes the mean past velocities, the plain force kernels are run with those in
// place of the velocities and nothing here is needed. These are for what else there is: where only
// some pairs do, and where the density needs the velocities (continuity form).
#pragma once

#include "methods/sph/sph_kernels.h"

// ---- viscous acceleration, past or present velocities -------------------------------------------

#define SPH_MEMORY_J(X)                                                                            \
  X(vx)                                                                                            \
  X(vy)                                                                                            \
  X(vz)                                                                                            \
  X(mx)                                                                                            \
  X(my)                                                                                            \
  X(mz)                                                                                            \
  X(flag)                                                                                          \
  X(inverse)

typedef struct sph_memory_args {
  kp_smooth g;
  kp_real mass;       // of a j particle
  kp_real viscosity;  // [Pa s]
  const kp_real *vx, *vy, *vz, *mx, *my, *mz, *flag, *inverse;
  const kp_real *j_vx, *j_vy, *j_vz, *j_mx, *j_my, *j_mz, *j_flag, *j_inverse;
  kp_real *ax, *ay, *az;
} sph_memory_args;

typedef struct sph_memory_i {
  kp_real vx, vy, vz, mx, my, mz, flag, inverse;
} sph_memory_i;

typedef struct sph_memory_acc {
  kp_w x, y, z;
} sph_memory_acc;

KP_PAIR_J(sph_memory, SPH_MEMORY_J)

SPH_INLINE void sph_memory_load(int64_t i, const sph_memory_args *a, sph_memory_i *self,
                                sph_memory_acc *acc) {
  self->vx = a->vx[i];
  self->vy = a->vy[i];
  self->vz = a->vz[i];
  self->mx = a->mx[i];
  self->my = a->my[i];
  self->mz = a->mz[i];
  self->flag = a->flag[i];
  self->inverse = a->inverse[i];
  acc->x = acc->y = acc->z = kp_w_splat((kp_real)0);
}

SPH_INLINE void sph_memory_store(int64_t i, const sph_memory_acc *acc, const sph_memory_i *self,
                                 const sph_memory_args *a) {
  (void)self;
  a->ax[i] += a->mass * kp_w_sum(acc->x);
  a->ay[i] += a->mass * kp_w_sum(acc->y);
  a->az[i] += a->mass * kp_w_sum(acc->z);
}

// a_i = sum_j m_j mu u Lap W / (rho_i rho_j) with u the difference of the mean past velocities m if
// one of the two is flagged, of the present velocities v otherwise: the same for both of a pair, so
// that momentum is kept.
SPH_INLINE void sph_memory_body(int gk, sph_memory_acc *acc, const sph_memory_i *self,
                                const sph_memory_j *j, kp_w r2, const sph_memory_args *a) {
  kp_w g = kp_smooth_g(gk, r2, &a->g);
  kp_w s = (a->viscosity * self->inverse) * j->inverse * kp_smooth_lap(gk, r2, g, &a->g);
  kp_w past = kp_w_max(kp_w_splat(self->flag), j->flag);
  kp_w now = (kp_real)1 - past;
  acc->x -= s * (now * (self->vx - j->vx) + past * (self->mx - j->mx));
  acc->y -= s * (now * (self->vy - j->vy) + past * (self->my - j->my));
  acc->z -= s * (now * (self->vz - j->vz) + past * (self->mz - j->mz));
}

#define SPH_MEMORY_VARIANT(name, gk)                                                               \
  KP_PAIR_VARIANT(sph_memory_##name, sph_memory)                                                   \
  SPH_INLINE void sph_memory_##name##_pair(sph_memory_acc *acc, const sph_memory_i *self,          \
                                           const sph_memory_j *j, kp_w dx, kp_w dy, kp_w dz,       \
                                           kp_w r2, const sph_memory_args *a) {                    \
    (void)dx, (void)dy, (void)dz;                                                                  \
    sph_memory_body(gk, acc, self, j, r2, a);                                                      \
  }

// by gradient kernel
SPH_MEMORY_VARIANT(spiky, KP_SMOOTH_SPIKY)
SPH_MEMORY_VARIANT(cubic, KP_SMOOTH_CUBIC)
SPH_MEMORY_VARIANT(wendland, KP_SMOOTH_WENDLAND)
SPH_MEMORY_VARIANT(poly6, KP_SMOOTH_POLY6)

// ---- where flows collide ------------------------------------------------------------------------

#define SPH_COLLIDE_J(X)                                                                           \
  X(vx)                                                                                            \
  X(vy)                                                                                            \
  X(vz)                                                                                            \
  X(inverse)

typedef struct sph_collide_args {
  kp_smooth w;
  kp_real mass;
  int32_t add;
  const kp_real *vx, *vy, *vz;
  const kp_real *j_vx, *j_vy, *j_vz, *j_inverse;
  kp_real *approach;      // sum of V_j W (speed at which j comes nearer)
  kp_real *sx, *sy, *sz;  // sum of V_j W v_j
  kp_real *speed;         // sum of V_j W |v_j|
} sph_collide_args;

typedef struct sph_collide_i {
  kp_real vx, vy, vz;
} sph_collide_i;

typedef struct sph_collide_acc {
  kp_w approach, x, y, z, speed;
} sph_collide_acc;

KP_PAIR_J(sph_collide, SPH_COLLIDE_J)

SPH_INLINE void sph_collide_load(int64_t i, const sph_collide_args *a, sph_collide_i *self,
                                 sph_collide_acc *acc) {
  self->vx = a->vx[i];
  self->vy = a->vy[i];
  self->vz = a->vz[i];
  acc->approach = acc->x = acc->y = acc->z = acc->speed = kp_w_splat((kp_real)0);
}

SPH_INLINE void sph_collide_store(int64_t i, const sph_collide_acc *acc, const sph_collide_i *self,
                                  const sph_collide_args *a) {
  (void)self;
  kp_real *const out[5] = { a->approach, a->sx, a->sy, a->sz, a->speed };
  const kp_real sum[5] = { kp_w_sum(acc->approach), kp_w_sum(acc->x), kp_w_sum(acc->y),
                           kp_w_sum(acc->z), kp_w_sum(acc->speed) };
  for (int k = 0; k < 5; ++k) {
    out[k][i] = (a->add ? out[k][i] : (kp_real)0) + a->mass * sum[k];
  }
}

SPH_INLINE void sph_collide_body(int wk, sph_collide_acc *acc, const sph_collide_i *self,
                                 const sph_collide_j *j, const sph_gap *d,
                                 const sph_collide_args *a) {
  kp_w share = j->inverse * kp_smooth_w(wk, d->r2, &a->w);
  kp_w ud = (self->vx - j->vx) * d->x + (self->vy - j->vy) * d->y + (self->vz - j->vz) * d->z;
  kp_w r = kp_w_max(kp_w_sqrt(d->r2), kp_w_splat(a->w.tiny));
  acc->approach += share * kp_smooth_positive(-ud) / r;
  acc->x += share * j->vx;
  acc->y += share * j->vy;
  acc->z += share * j->vz;
  acc->speed += share * kp_w_sqrt(j->vx * j->vx + j->vy * j->vy + j->vz * j->vz);
}

#define SPH_COLLIDE_VARIANT(name, wk)                                                              \
  KP_PAIR_VARIANT(sph_collide_##name, sph_collide)                                                 \
  SPH_INLINE void sph_collide_##name##_pair(sph_collide_acc *acc, const sph_collide_i *self,       \
                                            const sph_collide_j *j, kp_w dx, kp_w dy, kp_w dz,     \
                                            kp_w r2, const sph_collide_args *a) {                  \
    const sph_gap d = { dx, dy, dz, r2 };                                                          \
    sph_collide_body(wk, acc, self, j, &d, a);                                                     \
  }

// by density kernel
SPH_COLLIDE_VARIANT(spiky, KP_SMOOTH_SPIKY)
SPH_COLLIDE_VARIANT(cubic, KP_SMOOTH_CUBIC)
SPH_COLLIDE_VARIANT(wendland, KP_SMOOTH_WENDLAND)
SPH_COLLIDE_VARIANT(poly6, KP_SMOOTH_POLY6)

// Flag 1 where neighbours come nearer at more than a share of the speed of the whole liquid, or
// where their directions spread and they are not at rest.
typedef struct sph_collides_args {
  kp_real threshold;
  kp_real rms;   // speed of the liquid [m/s]
  kp_real slow;  // speed below which a direction means nothing [m/s]
  const kp_real *approach, *sx, *sy, *sz, *speed;
  kp_real *flag;
} sph_collides_args;

KP_FN void sph_collides(int64_t i, const sph_collides_args *a) {
  kp_real mean2 = a->sx[i] * a->sx[i] + a->sy[i] * a->sy[i] + a->sz[i] * a->sz[i];
  kp_real mean = (kp_real)sqrt((double)mean2);
  int meets = a->approach[i] > a->threshold * a->rms;
  int spreads = a->speed[i] > a->slow && a->speed[i] - mean > a->threshold * a->speed[i];
  a->flag[i] = meets || spreads ? (kp_real)1 : (kp_real)0;
}

typedef struct sph_speed2_args {
  const kp_real *vx, *vy, *vz;
} sph_speed2_args;

#define SPH_SPEED2_OPS KP_REDUCE_SUM

KP_FN void sph_speed2(int64_t i, const sph_speed2_args *a, double *v) {
  double x = (double)a->vx[i];
  double y = (double)a->vy[i];
  double z = (double)a->vz[i];
  v[0] = x * x + y * y + z * z;
}

typedef struct sph_flagged_args {
  const kp_real *flag;
} sph_flagged_args;

#define SPH_FLAGGED_OPS KP_REDUCE_SUM

KP_FN void sph_flagged(int64_t i, const sph_flagged_args *a, double *v) {
  v[0] = (double)a->flag[i];
}

// What walls see of a particle in the hybrid form: the past where it is flagged.
typedef struct sph_blend_args {
  const kp_real *flag;
  const kp_real *vx, *vy, *vz;
  const kp_real *mx, *my, *mz;
  kp_real *x, *y, *z;
} sph_blend_args;

KP_FN void sph_blend(int64_t i, const sph_blend_args *a) {
  int past = a->flag[i] != (kp_real)0;
  a->x[i] = past ? a->mx[i] : a->vx[i];
  a->y[i] = past ? a->my[i] : a->vy[i];
  a->z[i] = past ? a->mz[i] : a->vz[i];
}

// ---- the list -----------------------------------------------------------------------------------

#define SPH_FRACTIONAL_KERNELS(POINT, REDUCE, ROW, PAIR)                                           \
  POINT(sph, collides)                                                                             \
  POINT(sph, blend)                                                                                \
  REDUCE(sph, speed2, SPH_SPEED2_OPS)                                                              \
  REDUCE(sph, flagged, SPH_FLAGGED_OPS)                                                            \
  PAIR(sph, memory_spiky, sph_memory_args, SPH_MEMORY_J)                                           \
  PAIR(sph, memory_cubic, sph_memory_args, SPH_MEMORY_J)                                           \
  PAIR(sph, memory_wendland, sph_memory_args, SPH_MEMORY_J)                                        \
  PAIR(sph, memory_poly6, sph_memory_args, SPH_MEMORY_J)                                           \
  PAIR(sph, collide_spiky, sph_collide_args, SPH_COLLIDE_J)                                        \
  PAIR(sph, collide_cubic, sph_collide_args, SPH_COLLIDE_J)                                        \
  PAIR(sph, collide_wendland, sph_collide_args, SPH_COLLIDE_J)                                     \
  PAIR(sph, collide_poly6, sph_collide_args, SPH_COLLIDE_J)
