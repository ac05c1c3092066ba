// What one particle does in the moving-particle semi-implicit method. Equation numbers: H = Hong
// 2009 as corrected in the method's page (mps.md); KO = Koshizuka & Oka 1996.
//
// Conventions: d = x_i - x_j, w(r) = r_e/r - 1 inside r_e. Every particle stands for the same
// volume, one cell of the lattice; a sample of a wall stands for `weight` of one.
#pragma once

#include "data/pairs.h"

#ifdef __CUDACC__
#define MPS_INLINE KP_FN
#else
#define MPS_INLINE KP_WIDE_FN
#endif

#define MPS_NO_J(X)
#define MPS_WEIGHT_J(X) X(weight)
#define MPS_MOTION_J(X)                                                                            \
  X(vx)                                                                                            \
  X(vy)                                                                                            \
  X(vz)
#define MPS_WALL_MOTION_J(X)                                                                       \
  X(vx)                                                                                            \
  X(vy)                                                                                            \
  X(vz)                                                                                            \
  X(weight)
#define MPS_P_J(X) X(p)
#define MPS_WALL_P_J(X)                                                                            \
  X(p)                                                                                             \
  X(weight)

// ---- the weight function ------------------------------------------------------------------------

typedef struct mps_law {
  kp_real reach;   // r_e [m]
  kp_real reach2;  // r_e^2
  kp_real shift;   // 1: zero at r_e; 0: as printed (H L416), with a jump there
  kp_real near2;   // nearer counts as this far: the function has no bound
  kp_real self2;   // nearer is the particle itself
} mps_law;

// w(r), zero for the particle itself and outside; r2 becomes the bounded square.
MPS_INLINE kp_w mps_weight(kp_w *r2, const mps_law *law) {
  kp_wmask inside =
      kp_w_and(kp_w_less(kp_w_splat(law->self2), *r2), kp_w_less(*r2, kp_w_splat(law->reach2)));
  *r2 = kp_w_max(*r2, kp_w_splat(law->near2));
  kp_w w = law->reach / kp_w_sqrt(*r2) - law->shift;
  return kp_w_select(inside, w, kp_w_splat((kp_real)0));
}

// ---- number density: n_i = sum_j w(r_ij) (H 2.30, KO 3) -----------------------------------------

typedef struct mps_count_args {
  mps_law law;
  int32_t add;
  const kp_real *j_weight;  // of walls
  kp_real *n;
} mps_count_args;

typedef struct mps_count_i {
  kp_real before;
} mps_count_i;

typedef struct mps_count_acc {
  kp_w sum;
} mps_count_acc;

KP_PAIR_J(mps_count, MPS_NO_J)

MPS_INLINE void mps_count_load(int64_t i, const mps_count_args *a, mps_count_i *self,
                               mps_count_acc *acc) {
  self->before = a->add ? a->n[i] : (kp_real)0;
  acc->sum = kp_w_splat((kp_real)0);
}

MPS_INLINE void mps_count_pair(mps_count_acc *acc, const mps_count_i *self, const mps_count_j *j,
                               kp_w dx, kp_w dy, kp_w dz, kp_w r2, const mps_count_args *a) {
  (void)self, (void)j, (void)dx, (void)dy, (void)dz;
  acc->sum += mps_weight(&r2, &a->law);
}

MPS_INLINE void mps_count_store(int64_t i, const mps_count_acc *acc, const mps_count_i *self,
                                const mps_count_args *a) {
  a->n[i] = self->before + kp_w_sum(acc->sum);
}

typedef mps_count_args mps_count_wall_args;
typedef mps_count_i mps_count_wall_i;
typedef mps_count_acc mps_count_wall_acc;
KP_PAIR_J(mps_count_wall, MPS_WEIGHT_J)

MPS_INLINE void mps_count_wall_load(int64_t i, const mps_count_args *a, mps_count_i *self,
                                    mps_count_acc *acc) {
  mps_count_load(i, a, self, acc);
}

MPS_INLINE void mps_count_wall_pair(mps_count_acc *acc, const mps_count_i *self,
                                    const mps_count_wall_j *j, kp_w dx, kp_w dy, kp_w dz, kp_w r2,
                                    const mps_count_args *a) {
  (void)self, (void)dx, (void)dy, (void)dz;
  acc->sum += j->weight * mps_weight(&r2, &a->law);
}

MPS_INLINE void mps_count_wall_store(int64_t i, const mps_count_acc *acc, const mps_count_i *self,
                                     const mps_count_args *a) {
  mps_count_store(i, acc, self, a);
}

// ---- explicit part: viscosity and collisions of what is too close -------------------------------
//
// a_i = nu (2 d / (lambda n_0)) sum_j (v_j - v_i) w             (H 2.32, KO 11)
//     - ((1 + e) / dt) (m_j / (m_i + m_j)) sum_j (v_ij . d) d / r^2  over r < r_c with v_ij . d < 0
// Walls do the same with infinite mass; the samples of moving ones get the opposite force.

typedef struct mps_explicit_args {
  mps_law law;
  kp_real viscosity;  // nu 2 d / (lambda n_0)
  kp_real hit;        // (1 + e) / dt times the share of the other's mass
  kp_real hit2;       // r_c^2
  kp_real mass;       // kg, of a particle: reaction alone
  int32_t add;
  kp_real gx, gy, gz;  // gravity, where nothing is added to
  const kp_real *vx, *vy, *vz, *weight;
  const kp_real *j_vx, *j_vy, *j_vz, *j_weight;
  kp_real *ax, *ay, *az;  // m/s^2, or N on a sample
} mps_explicit_args;

typedef struct mps_explicit_i {
  kp_real vx, vy, vz, weight;
  kp_real ax, ay, az;
} mps_explicit_i;

typedef struct mps_explicit_acc {
  kp_w x, y, z;
} mps_explicit_acc;

KP_PAIR_J(mps_explicit, MPS_MOTION_J)

MPS_INLINE void mps_explicit_load(int64_t i, const mps_explicit_args *a, mps_explicit_i *self,
                                  mps_explicit_acc *acc) {
  self->vx = a->vx[i];
  self->vy = a->vy[i];
  self->vz = a->vz[i];
  self->weight = (kp_real)1;
  self->ax = a->add ? a->ax[i] : a->gx;
  self->ay = a->add ? a->ay[i] : a->gy;
  self->az = a->add ? a->az[i] : a->gz;
  acc->x = acc->y = acc->z = kp_w_splat((kp_real)0);
}

// Where the other one is and how it moves: d = x_i - x_j, u = v_i - v_j
typedef struct mps_meeting {
  kp_w x, y, z, r2;
  kp_w ux, uy, uz;
} mps_meeting;

// `viscous` is the viscosity times what the other one stands for
MPS_INLINE void mps_explicit_body(mps_explicit_acc *acc, const mps_meeting *m, kp_w viscous,
                                  const mps_explicit_args *a) {
  kp_wmask close =
      kp_w_and(kp_w_less(kp_w_splat(a->law.self2), m->r2), kp_w_less(m->r2, kp_w_splat(a->hit2)));
  kp_w r2 = m->r2;
  kp_w f = viscous * mps_weight(&r2, &a->law);
  kp_w zero = kp_w_splat((kp_real)0);
  kp_w approach = kp_w_min(m->ux * m->x + m->uy * m->y + m->uz * m->z, zero);
  kp_w k = kp_w_select(close, a->hit * approach / kp_w_max(m->r2, kp_w_splat(a->law.self2)), zero);
  acc->x -= f * m->ux + k * m->x;
  acc->y -= f * m->uy + k * m->y;
  acc->z -= f * m->uz + k * m->z;
}

MPS_INLINE void mps_explicit_pair(mps_explicit_acc *acc, const mps_explicit_i *self,
                                  const mps_explicit_j *j, kp_w dx, kp_w dy, kp_w dz, kp_w r2,
                                  const mps_explicit_args *a) {
  const mps_meeting m = { dx, dy, dz, r2, self->vx - j->vx, self->vy - j->vy, self->vz - j->vz };
  mps_explicit_body(acc, &m, kp_w_splat(a->viscosity), a);
}

MPS_INLINE void mps_explicit_store(int64_t i, const mps_explicit_acc *acc,
                                   const mps_explicit_i *self, const mps_explicit_args *a) {
  a->ax[i] = self->ax + kp_w_sum(acc->x);
  a->ay[i] = self->ay + kp_w_sum(acc->y);
  a->az[i] = self->az + kp_w_sum(acc->z);
}

KP_PAIR_J(mps_explicit_wall, MPS_WALL_MOTION_J)
typedef mps_explicit_args mps_explicit_wall_args;
typedef mps_explicit_i mps_explicit_wall_i;
typedef mps_explicit_acc mps_explicit_wall_acc;

MPS_INLINE void mps_explicit_wall_load(int64_t i, const mps_explicit_args *a, mps_explicit_i *self,
                                       mps_explicit_acc *acc) {
  mps_explicit_load(i, a, self, acc);
}

MPS_INLINE void mps_explicit_wall_pair(mps_explicit_acc *acc, const mps_explicit_i *self,
                                       const mps_explicit_wall_j *j, kp_w dx, kp_w dy, kp_w dz,
                                       kp_w r2, const mps_explicit_args *a) {
  const mps_meeting m = { dx, dy, dz, r2, self->vx - j->vx, self->vy - j->vy, self->vz - j->vz };
  mps_explicit_body(acc, &m, a->viscosity * j->weight, a);
}

MPS_INLINE void mps_explicit_wall_store(int64_t i, const mps_explicit_acc *acc,
                                        const mps_explicit_i *self, const mps_explicit_args *a) {
  mps_explicit_store(i, acc, self, a);
}

// The same pairs seen from the sample: force on it, in N.
typedef mps_explicit_args mps_explicit_react_args;
typedef mps_explicit_i mps_explicit_react_i;
typedef mps_explicit_acc mps_explicit_react_acc;
KP_PAIR_J(mps_explicit_react, MPS_MOTION_J)

MPS_INLINE void mps_explicit_react_load(int64_t i, const mps_explicit_args *a, mps_explicit_i *self,
                                        mps_explicit_acc *acc) {
  mps_explicit_load(i, a, self, acc);
  self->weight = a->weight[i];
}

MPS_INLINE void mps_explicit_react_pair(mps_explicit_acc *acc, const mps_explicit_i *self,
                                        const mps_explicit_react_j *j, kp_w dx, kp_w dy, kp_w dz,
                                        kp_w r2, const mps_explicit_args *a) {
  const mps_meeting m = { dx, dy, dz, r2, self->vx - j->vx, self->vy - j->vy, self->vz - j->vz };
  mps_explicit_body(acc, &m, kp_w_splat(a->viscosity * self->weight), a);
}

MPS_INLINE void mps_explicit_react_store(int64_t i, const mps_explicit_acc *acc,
                                         const mps_explicit_i *self, const mps_explicit_args *a) {
  a->ax[i] = self->ax + a->mass * kp_w_sum(acc->x);
  a->ay[i] = self->ay + a->mass * kp_w_sum(acc->y);
  a->az[i] = self->az + a->mass * kp_w_sum(acc->z);
}

// ---- divergence of u*: (d / n_0) sum_j (u_j - u_i).(x_j - x_i) / r^2 w (of H 2.31) --------------

typedef struct mps_divergence_args {
  mps_law law;
  kp_real scale;  // d / n_0
  int32_t add;
  const kp_real *vx, *vy, *vz;
  const kp_real *j_vx, *j_vy, *j_vz, *j_weight;
  kp_real *divergence;
} mps_divergence_args;

typedef struct mps_divergence_i {
  kp_real vx, vy, vz, before;
} mps_divergence_i;

typedef struct mps_divergence_acc {
  kp_w sum;
} mps_divergence_acc;

KP_PAIR_J(mps_divergence, MPS_MOTION_J)

MPS_INLINE void mps_divergence_load(int64_t i, const mps_divergence_args *a, mps_divergence_i *self,
                                    mps_divergence_acc *acc) {
  self->vx = a->vx[i];
  self->vy = a->vy[i];
  self->vz = a->vz[i];
  self->before = a->add ? a->divergence[i] : (kp_real)0;
  acc->sum = kp_w_splat((kp_real)0);
}

MPS_INLINE void mps_divergence_pair(mps_divergence_acc *acc, const mps_divergence_i *self,
                                    const mps_divergence_j *j, kp_w dx, kp_w dy, kp_w dz, kp_w r2,
                                    const mps_divergence_args *a) {
  kp_w w = mps_weight(&r2, &a->law);
  kp_w ud = (self->vx - j->vx) * dx + (self->vy - j->vy) * dy + (self->vz - j->vz) * dz;
  acc->sum += w * ud / r2;
}

MPS_INLINE void mps_divergence_store(int64_t i, const mps_divergence_acc *acc,
                                     const mps_divergence_i *self, const mps_divergence_args *a) {
  a->divergence[i] = self->before + a->scale * kp_w_sum(acc->sum);
}

typedef mps_divergence_args mps_divergence_wall_args;
typedef mps_divergence_i mps_divergence_wall_i;
typedef mps_divergence_acc mps_divergence_wall_acc;
KP_PAIR_J(mps_divergence_wall, MPS_WALL_MOTION_J)

MPS_INLINE void mps_divergence_wall_load(int64_t i, const mps_divergence_args *a,
                                         mps_divergence_i *self, mps_divergence_acc *acc) {
  mps_divergence_load(i, a, self, acc);
}

MPS_INLINE void mps_divergence_wall_pair(mps_divergence_acc *acc, const mps_divergence_i *self,
                                         const mps_divergence_wall_j *j, kp_w dx, kp_w dy, kp_w dz,
                                         kp_w r2, const mps_divergence_args *a) {
  kp_w w = j->weight * mps_weight(&r2, &a->law);
  kp_w ud = (self->vx - j->vx) * dx + (self->vy - j->vy) * dy + (self->vz - j->vz) * dz;
  acc->sum += w * ud / r2;
}

MPS_INLINE void mps_divergence_wall_store(int64_t i, const mps_divergence_acc *acc,
                                          const mps_divergence_i *self,
                                          const mps_divergence_args *a) {
  mps_divergence_store(i, acc, self, a);
}

// ---- lowest pressure around a particle, its own included ----------------------------------------

typedef struct mps_lowest_args {
  kp_real reach2;
  int32_t add;
  const kp_real *p, *j_p;
  kp_real *low;
} mps_lowest_args;

typedef struct mps_lowest_i {
  kp_real before;
} mps_lowest_i;

typedef struct mps_lowest_acc {
  kp_w top;  // of the negative pressures
} mps_lowest_acc;

KP_PAIR_J(mps_lowest, MPS_P_J)

MPS_INLINE void mps_lowest_merge(mps_lowest_acc *a, const mps_lowest_acc *b) {
  a->top = kp_w_max(a->top, b->top);
}

MPS_INLINE void mps_lowest_load(int64_t i, const mps_lowest_args *a, mps_lowest_i *self,
                                mps_lowest_acc *acc) {
  self->before = a->add ? a->low[i] : a->p[i];
  acc->top = kp_w_splat(-self->before);
}

MPS_INLINE void mps_lowest_pair(mps_lowest_acc *acc, const mps_lowest_i *self,
                                const mps_lowest_j *j, kp_w dx, kp_w dy, kp_w dz, kp_w r2,
                                const mps_lowest_args *a) {
  (void)dx, (void)dy, (void)dz;
  kp_wmask inside = kp_w_less(r2, kp_w_splat(a->reach2));
  acc->top = kp_w_max(acc->top, kp_w_select(inside, -j->p, kp_w_splat(-self->before)));
}

MPS_INLINE void mps_lowest_store(int64_t i, const mps_lowest_acc *acc, const mps_lowest_i *self,
                                 const mps_lowest_args *a) {
  (void)self;
  a->low[i] = -kp_w_largest(acc->top);
}

// ---- pressure gradient --------------------------------------------------------------------------
//
// a_i = -(1/rho) (d / n_0) sum_j (q_j + b_i) (x_j - x_i) / r^2 w   (H 2.31 with the square and the
// direction) with
//   minimum    q = p_j,          b = -low_i        (KO 12: nobody is pulled)
//   plain      q = p_j,          b = -p_i          (H 2.31)
//   symmetric  q = p_j,          b = p_i           (pairs push each other alike: momentum stays)

typedef struct mps_push_args {
  mps_law law;
  kp_real scale;         // d / (rho n_0); reaction: volume d / n_0
  kp_real of_p, of_low;  // b = of_p p + of_low low
  int32_t add;
  const kp_real *p, *low;  // of the i side
  const kp_real *weight;   // of a sample
  const kp_real *j_p, *j_weight;
  kp_real *ax, *ay, *az;
} mps_push_args;

typedef struct mps_push_i {
  kp_real base;
  kp_real ax, ay, az;
} mps_push_i;

typedef struct mps_push_acc {
  kp_w x, y, z;
} mps_push_acc;

KP_PAIR_J(mps_push, MPS_P_J)

MPS_INLINE void mps_push_before(int64_t i, const mps_push_args *a, mps_push_i *self,
                                mps_push_acc *acc) {
  self->ax = a->add ? a->ax[i] : (kp_real)0;
  self->ay = a->add ? a->ay[i] : (kp_real)0;
  self->az = a->add ? a->az[i] : (kp_real)0;
  acc->x = acc->y = acc->z = kp_w_splat((kp_real)0);
}

MPS_INLINE void mps_push_load(int64_t i, const mps_push_args *a, mps_push_i *self,
                              mps_push_acc *acc) {
  mps_push_before(i, a, self, acc);
  self->base = a->of_p * a->p[i] + a->of_low * a->low[i];
}

MPS_INLINE void mps_push_body(mps_push_acc *acc, kp_w q, kp_w dx, kp_w dy, kp_w dz, kp_w r2,
                              const mps_law *law) {
  kp_w w = mps_weight(&r2, law);
  kp_w f = q * w / r2;
  acc->x += f * dx;
  acc->y += f * dy;
  acc->z += f * dz;
}

MPS_INLINE void mps_push_pair(mps_push_acc *acc, const mps_push_i *self, const mps_push_j *j,
                              kp_w dx, kp_w dy, kp_w dz, kp_w r2, const mps_push_args *a) {
  mps_push_body(acc, j->p + self->base, dx, dy, dz, r2, &a->law);
}

MPS_INLINE void mps_push_store(int64_t i, const mps_push_acc *acc, const mps_push_i *self,
                               const mps_push_args *a) {
  a->ax[i] = self->ax + a->scale * kp_w_sum(acc->x);
  a->ay[i] = self->ay + a->scale * kp_w_sum(acc->y);
  a->az[i] = self->az + a->scale * kp_w_sum(acc->z);
}

typedef mps_push_args mps_push_wall_args;
typedef mps_push_i mps_push_wall_i;
typedef mps_push_acc mps_push_wall_acc;
KP_PAIR_J(mps_push_wall, MPS_WALL_P_J)

MPS_INLINE void mps_push_wall_load(int64_t i, const mps_push_args *a, mps_push_i *self,
                                   mps_push_acc *acc) {
  mps_push_load(i, a, self, acc);
}

MPS_INLINE void mps_push_wall_pair(mps_push_acc *acc, const mps_push_i *self,
                                   const mps_push_wall_j *j, kp_w dx, kp_w dy, kp_w dz, kp_w r2,
                                   const mps_push_args *a) {
  mps_push_body(acc, j->weight * (j->p + self->base), dx, dy, dz, r2, &a->law);
}

MPS_INLINE void mps_push_wall_store(int64_t i, const mps_push_acc *acc, const mps_push_i *self,
                                    const mps_push_args *a) {
  mps_push_store(i, acc, self, a);
}

// The same pairs seen from the sample, in N, in the symmetric form whatever the liquid takes: a
// body feels pressures, not their excess over the lowest around. With the symmetric gradient it is
// the exact opposite of what the liquid gets.
typedef mps_push_args mps_push_react_args;
typedef mps_push_i mps_push_react_i;
typedef mps_push_acc mps_push_react_acc;
KP_PAIR_J(mps_push_react, MPS_P_J)

MPS_INLINE void mps_push_react_load(int64_t i, const mps_push_args *a, mps_push_i *self,
                                    mps_push_acc *acc) {
  mps_push_before(i, a, self, acc);
  self->base = a->p[i];
}

MPS_INLINE void mps_push_react_pair(mps_push_acc *acc, const mps_push_i *self,
                                    const mps_push_react_j *j, kp_w dx, kp_w dy, kp_w dz, kp_w r2,
                                    const mps_push_args *a) {
  mps_push_body(acc, self->base + j->p, dx, dy, dz, r2, &a->law);
}

MPS_INLINE void mps_push_react_store(int64_t i, const mps_push_acc *acc, const mps_push_i *self,
                                     const mps_push_args *a) {
  kp_real scale = a->scale * a->weight[i];
  a->ax[i] = self->ax + scale * kp_w_sum(acc->x);
  a->ay[i] = self->ay + scale * kp_w_sum(acc->y);
  a->az[i] = self->az + scale * kp_w_sum(acc->z);
}

// ---- points -------------------------------------------------------------------------------------

// u* = u + dt a, x* = x + dt u*  (H step 1)
typedef struct mps_predict_args {
  double dt;
  const kp_real *ax, *ay, *az;
  kp_real *vx, *vy, *vz;
  kp_pos *x, *y, *z;
} mps_predict_args;

KP_FN void mps_predict(int64_t i, const mps_predict_args *a) {
  kp_real dt = (kp_real)a->dt;
  kp_real vx = a->vx[i] + dt * a->ax[i];
  kp_real vy = a->vy[i] + dt * a->ay[i];
  kp_real vz = a->vz[i] + dt * a->az[i];
  a->vx[i] = vx;
  a->vy[i] = vy;
  a->vz[i] = vz;
  a->x[i] += a->dt * (double)vx;
  a->y[i] += a->dt * (double)vy;
  a->z[i] += a->dt * (double)vz;
}

// u = u* + dt a, x = x* + dt^2 a  (H step 4); the acceleration becomes the whole one, for reports.
typedef struct mps_correct_args {
  double dt;
  kp_real gx, gy, gz;
  kp_real *ax, *ay, *az;
  kp_real *vx, *vy, *vz;
  kp_pos *x, *y, *z;
} mps_correct_args;

KP_FN void mps_correct(int64_t i, const mps_correct_args *a) {
  kp_real dt = (kp_real)a->dt;
  kp_real ux = dt * a->ax[i];
  kp_real uy = dt * a->ay[i];
  kp_real uz = dt * a->az[i];
  a->vx[i] += ux;
  a->vy[i] += uy;
  a->vz[i] += uz;
  a->x[i] += a->dt * (double)ux;
  a->y[i] += a->dt * (double)uy;
  a->z[i] += a->dt * (double)uz;
  a->ax[i] += a->gx;
  a->ay[i] += a->gy;
  a->az[i] += a->gz;
}

// Who is at the surface (n* < beta n_0), the right side and the first guess.
//   density  b = (gamma / dt^2) (n* - n_0) / n_0                     (H 2.36)
//   mixed    b = -(1/dt) div u* + (gamma / dt^2) (n* - n_0) / n_0    (Tanaka & Masunaga 2010)
// for A p = b with A = -div (1/rho) grad.
typedef struct mps_source_args {
  kp_real n0, least;      // beta n_0
  kp_real of_density;     // gamma / dt^2
  kp_real of_divergence;  // 1 / dt, or 0
  int32_t suction;        // 0: too low a density is no source
  int64_t first;          // unknown of element 0
  const kp_real *n, *divergence, *pressure;
  const kp_real *weight;  // of samples, whose rows are scaled by it; NULL
  const kp_real *dry;     // of samples: the part of n that no liquid gives; NULL
  kp_real *surface, *b, *guess, *active;
} mps_source_args;

KP_FN void mps_source(int64_t i, const mps_source_args *a) {
  kp_real n = a->n[i];
  // samples that meet only each other would be a system without an answer
  int wet = !a->dry || n - a->dry[i] > (kp_real)0.01 * a->n0;
  int inner = wet && n >= a->least;
  kp_real deviation = (n - a->n0) / a->n0;
  // squeezed between a body and a wall it could be anything; a flow has a few per cent
  deviation = deviation > (kp_real)0.1 ? (kp_real)0.1 : deviation;
  deviation = !a->suction && deviation < (kp_real)0 ? (kp_real)0 : deviation;
  kp_real b = a->of_density * deviation;
  if (a->divergence) {
    b -= a->of_divergence * a->divergence[i];
  }
  b *= a->weight ? a->weight[i] : (kp_real)1;
  a->surface[i] = inner ? (kp_real)0 : (kp_real)1;
  a->active[a->first + i] = inner ? (kp_real)1 : (kp_real)0;
  a->b[a->first + i] = inner ? b : (kp_real)0;
  a->guess[a->first + i] = inner ? a->pressure[i] : (kp_real)0;
}

// Row i of the matrix from its list: coefficients c w(r) / rho, and columns as unknowns.
typedef struct mps_row_args {
  double reach, shift, nearest;  // of the wide weight function
  double scale;                  // 2 d / (lambda n_0 rho)
  int64_t row, column;           // unknowns of element 0 of both sets
  int32_t dimension;
  const uint32_t *start;
  uint32_t *indices;       // in: elements of the other set; out: unknowns
  const uint32_t *source;  // of periodic images: element of the owner; NULL
  const kp_pos *x, *y, *z;
  const kp_pos *jx, *jy, *jz;
  const kp_real *weight, *j_weight;  // of samples; NULL
  kp_real *coefficients;
} mps_row_args;

KP_FN void mps_row(int64_t i, const mps_row_args *a) {
  double scale = a->scale * (a->weight ? (double)a->weight[i] : 1.0);
  for (uint32_t k = a->start[i]; k < a->start[i + 1]; ++k) {
    uint32_t j = a->indices[k];
    double dx = a->x[i] - a->jx[j];
    double dy = a->y[i] - a->jy[j];
    double dz = a->z[i] - a->jz[j];
    double r = sqrt(a->dimension == 3 ? dx * dx + dy * dy + dz * dz : dx * dx + dy * dy);
    r = r < a->nearest ? a->nearest : r;
    double w = (a->reach / r - a->shift) * (a->j_weight ? (double)a->j_weight[j] : 1.0);
    kp_real c = (kp_real)(w > 0.0 ? scale * w : 0.0);
    a->coefficients[k] = c;
    a->indices[k] = (uint32_t)(a->column + (int64_t)(a->source ? a->source[j] : j));
  }
}

// Its sum, to the diagonal.
typedef struct mps_sum_args {
  int64_t row;
  int32_t add;
  const uint32_t *start;
  const kp_real *coefficients;
  kp_real *diagonal;
} mps_sum_args;

KP_FN void mps_sum(int64_t i, const mps_sum_args *a) {
  double sum = 0.0;
  for (uint32_t k = a->start[i]; k < a->start[i + 1]; ++k) {
    sum += (double)a->coefficients[k];
  }
  int64_t row = a->row + i;
  a->diagonal[row] = (a->add ? a->diagonal[row] : (kp_real)0) + (kp_real)sum;
}

// The diagonal of inner rows, inverted.
typedef struct mps_diagonal_args {
  kp_real extra;  // compressibility / dt^2
  int64_t first;
  const kp_real *diagonal, *active;
  kp_real *inverse;
} mps_diagonal_args;

KP_FN void mps_diagonal(int64_t i, const mps_diagonal_args *a) {
  int64_t row = a->first + i;
  kp_real d = a->diagonal[row] + a->extra;
  a->inverse[row] = a->active[row] != (kp_real)0 && d > (kp_real)0 ? (kp_real)1 / d : (kp_real)0;
}

// y = A x: y_i = sum_j c_ij (x_i - x_j) + extra x_i on inner rows; x is zero on all others. The
// differences keep what the two large terms of a row would lose in float.
typedef struct mps_apply_args {
  kp_real extra;
  int64_t row;
  int32_t add;
  const uint32_t *start, *columns;
  const kp_real *coefficients, *active, *x;
  kp_real *y;
} mps_apply_args;

KP_FN void mps_apply(int64_t i, const mps_apply_args *a) {
  int64_t row = a->row + i;
  kp_real s0 = (kp_real)0;
  kp_real s1 = (kp_real)0;
  kp_real s2 = (kp_real)0;
  kp_real s3 = (kp_real)0;
  if (a->active[row] == (kp_real)0) {
    a->y[row] = (kp_real)0;
    return;
  }
  kp_real x = a->x[row];
  uint32_t k = a->start[i];
  uint32_t end = a->start[i + 1];
  // four sums: one alone would wait for itself
  for (; k + 4 <= end; k += 4) {
    s0 += a->coefficients[k] * (x - a->x[a->columns[k]]);
    s1 += a->coefficients[k + 1] * (x - a->x[a->columns[k + 1]]);
    s2 += a->coefficients[k + 2] * (x - a->x[a->columns[k + 2]]);
    s3 += a->coefficients[k + 3] * (x - a->x[a->columns[k + 3]]);
  }
  for (; k < end; ++k) {
    s0 += a->coefficients[k] * (x - a->x[a->columns[k]]);
  }
  kp_real before = a->add ? a->y[row] : a->extra * x;
  a->y[row] = before + ((s0 + s1) + (s2 + s3));
}

// The answer to the particles.
typedef struct mps_answer_args {
  int64_t first;
  int32_t clamp;  // no tension
  const kp_real *x;
  kp_real *pressure;
} mps_answer_args;

KP_FN void mps_answer(int64_t i, const mps_answer_args *a) {
  kp_real p = a->x[a->first + i];
  a->pressure[i] = a->clamp && p < (kp_real)0 ? (kp_real)0 : p;
}

// Samples of the skin go where their bodies carry them ...
typedef struct mps_follow_args {
  const uint32_t *index;
  const kp_pos *from_x, *from_y, *from_z;
  const kp_real *from_vx, *from_vy, *from_vz;
  kp_pos *x, *y, *z;
  kp_real *vx, *vy, *vz;
} mps_follow_args;

KP_FN void mps_follow(int64_t i, const mps_follow_args *a) {
  uint32_t k = a->index[i];
  a->x[i] = a->from_x[k];
  a->y[i] = a->from_y[k];
  a->z[i] = a->from_z[k];
  a->vx[i] = a->from_vx[k];
  a->vy[i] = a->from_vy[k];
  a->vz[i] = a->from_vz[k];
}

// ... and hand them the force they got. No two share a sample.
typedef struct mps_give_args {
  const uint32_t *index;
  const kp_real *fx, *fy, *fz;
  kp_real *to_x, *to_y, *to_z;
} mps_give_args;

KP_FN void mps_give(int64_t i, const mps_give_args *a) {
  uint32_t k = a->index[i];
  a->to_x[k] += a->fx[i];
  a->to_y[k] += a->fy[i];
  a->to_z[k] += a->fz[i];
}

// ---- the list -----------------------------------------------------------------------------------

#define MPS_POINT_KERNELS(POINT)                                                                   \
  POINT(mps, predict)                                                                              \
  POINT(mps, correct)                                                                              \
  POINT(mps, source)                                                                               \
  POINT(mps, row)                                                                                  \
  POINT(mps, sum)                                                                                  \
  POINT(mps, diagonal)                                                                             \
  POINT(mps, apply)                                                                                \
  POINT(mps, answer)                                                                               \
  POINT(mps, follow)                                                                               \
  POINT(mps, give)

#define MPS_PAIR_KERNELS(PAIR)                                                                     \
  PAIR(mps, count, mps_count_args, MPS_NO_J)                                                       \
  PAIR(mps, count_wall, mps_count_args, MPS_WEIGHT_J)                                              \
  PAIR(mps, explicit, mps_explicit_args, MPS_MOTION_J)                                             \
  PAIR(mps, explicit_wall, mps_explicit_args, MPS_WALL_MOTION_J)                                   \
  PAIR(mps, explicit_react, mps_explicit_args, MPS_MOTION_J)                                       \
  PAIR(mps, divergence, mps_divergence_args, MPS_MOTION_J)                                         \
  PAIR(mps, divergence_wall, mps_divergence_args, MPS_WALL_MOTION_J)                               \
  PAIR(mps, lowest, mps_lowest_args, MPS_P_J, mps_lowest_merge)                                    \
  PAIR(mps, push, mps_push_args, MPS_P_J)                                                          \
  PAIR(mps, push_wall, mps_push_args, MPS_WALL_P_J)                                                \
  PAIR(mps, push_react, mps_push_args, MPS_P_J)
