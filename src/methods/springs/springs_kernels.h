// What one sphere does in spring-mass water (Lyes 2015, sections 4.2 and 6.5.1; signs as corrected
// in springs.md): spheres push each other apart where they overlap, rub and lose relative speed.
//
// Conventions: d = x_i - x_j, e = d/r, u = v_j - v_i, r_0 the distance at which two spheres touch.
#pragma once

#include "data/pairs.h"

#ifdef __CUDACC__
#define SPRINGS_INLINE KP_FN
#else
#define SPRINGS_INLINE KP_WIDE_FN
#endif

// The law between two spheres. The second half is that of the general set (section 4.2); water has
// zeros there.
typedef struct springs_law {
  kp_real stiffness;  // k_s [N/m]
  kp_real touch;      // r_0 [m]
  kp_real shear;      // k_sh [N s/m]
  kp_real damping;    // k_d [N s/m]
  kp_real tension;    // k_t [N/m]: pull of spheres that have just parted
  kp_real reach;      // m: where it ends
  kp_real gravity;    // G m_i m_j [N m^2]: attraction ...
  kp_real horizon;    // m: ... and where it ends
} springs_law;

// A gap seen from one side: unit vector from j to i, zero for the sphere itself.
typedef struct springs_gap {
  kp_w x, y, z, r;
} springs_gap;

// Spheres at the very same place part along x, each knowing by its lot on which side it is.
SPRINGS_INLINE springs_gap springs_gap_of(kp_w dx, kp_w dy, kp_w dz, kp_w r2, kp_w lot_i,
                                          kp_w lot_j) {
  kp_w zero = kp_w_splat((kp_real)0);
  kp_w one = kp_w_splat((kp_real)1);
  kp_wmask apart = kp_w_less(zero, r2);
  kp_w r = kp_w_sqrt(r2);
  kp_w inverse = one / kp_w_select(apart, r, one);
  kp_w side =
      kp_w_select(kp_w_less(lot_i, lot_j), -one, kp_w_select(kp_w_less(lot_j, lot_i), one, zero));
  springs_gap gap = { kp_w_select(apart, dx * inverse, side), dy * inverse, dz * inverse, r };
  return gap;
}

SPRINGS_INLINE kp_w springs_if_less(kp_w a, kp_w b) {
  return kp_w_select(kp_w_less(a, b), kp_w_splat((kp_real)1), kp_w_splat((kp_real)0));
}

// Force along e of two spheres at distance r, > 0 apart:
//   k_s (r_0 - r)                                r < r_0                        (Alg. 11)
//   -k_t min(r - r_0, reach - r)                 r_0 < r < reach                (Eq. 4.1, bounded)
//   -G m_i m_j / max(r, r_0)^2                   r < horizon                    (Eq. 4.5)
SPRINGS_INLINE kp_w springs_push(int general, kp_w r, const springs_law *law) {
  kp_w zero = kp_w_splat((kp_real)0);
  kp_w f = law->stiffness * kp_w_max(law->touch - r, zero);
  if (general) {
    kp_w pull = kp_w_max(kp_w_min(r - law->touch, law->reach - r), zero);
    kp_w far = kp_w_max(r, kp_w_splat(law->touch));
    kp_w near = springs_if_less(r, kp_w_splat(law->horizon));
    f -= law->tension * pull + near * law->gravity / (far * far);
  }
  return f;
}

// The potential of that force, zero where it has ended.
SPRINGS_INLINE kp_w springs_potential(kp_w r, const springs_law *law) {
  kp_w zero = kp_w_splat((kp_real)0);
  kp_w half = kp_w_splat((kp_real)0.5);
  kp_w c = kp_w_max(law->touch - r, zero);
  kp_w energy = half * law->stiffness * c * c;
  // the pull rises to the middle of its reach and falls again: -k_t w^2 in all
  kp_w w = half * (law->reach - law->touch) + zero;
  kp_w out = kp_w_max(law->reach - r, zero);
  kp_w in = kp_w_max(r - law->touch, zero);
  kp_w left = kp_w_select(kp_w_less(in, w), w * w - half * in * in, half * out * out);
  energy -= law->tension * left;
  // constant pull inside the touching distance
  kp_w far = kp_w_max(r, kp_w_splat(law->touch));
  kp_w near = springs_if_less(r, kp_w_splat(law->horizon));
  kp_w well = (kp_real)1 / far - (kp_real)1 / law->horizon + c / (far * far);
  return energy - near * law->gravity * well;
}

// ---- spheres of liquids -------------------------------------------------------------------------

#define SPRINGS_FORCE_J(X)                                                                         \
  X(vx)                                                                                            \
  X(vy)                                                                                            \
  X(vz)                                                                                            \
  X(lot)

typedef struct springs_force_args {
  springs_law law;
  kp_real inverse_mass;  // 1/m_i
  kp_real drag;          // of the air on a sphere, over its mass [1/s]
  int32_t add;           // 1: add to what other sets gave
  kp_real gx, gy, gz;    // gravity, where nothing is added to
  const kp_real *vx, *vy, *vz, *lot;
  const kp_real *j_vx, *j_vy, *j_vz, *j_lot;
  kp_real *ax, *ay, *az;
} springs_force_args;

typedef struct springs_force_i {
  kp_real vx, vy, vz, lot;
  kp_real ax, ay, az;
} springs_force_i;

typedef struct springs_force_acc {
  kp_w x, y, z;
} springs_force_acc;

KP_PAIR_J(springs_force, SPRINGS_FORCE_J)

// The first pass also takes gravity and drag -k v (Eq. 4.3).
SPRINGS_INLINE void springs_force_load(int64_t i, const springs_force_args *a,
                                       springs_force_i *self, springs_force_acc *acc) {
  self->vx = a->vx[i];
  self->vy = a->vy[i];
  self->vz = a->vz[i];
  self->lot = a->lot[i];
  self->ax = a->add ? a->ax[i] : a->gx - a->drag * self->vx;
  self->ay = a->add ? a->ay[i] : a->gy - a->drag * self->vy;
  self->az = a->add ? a->az[i] : a->gz - a->drag * self->vz;
  acc->x = acc->y = acc->z = kp_w_splat((kp_real)0);
}

SPRINGS_INLINE void springs_force_store(int64_t i, const springs_force_acc *acc,
                                        const springs_force_i *self, const springs_force_args *a) {
  a->ax[i] = self->ax + a->inverse_mass * kp_w_sum(acc->x);
  a->ay[i] = self->ay + a->inverse_mass * kp_w_sum(acc->y);
  a->az[i] = self->az + a->inverse_mass * kp_w_sum(acc->z);
}

// The force on i, sphere or sample; the other side has the same numbers with the other sign:
// F_i = f e + k_sh u_t + k_d u where they touch, u_t = u - (u.e) e. Both terms oppose the relative
// motion (Alg. 11; Eq. 4.4 as printed has the other sign).
SPRINGS_INLINE void springs_touch(int general, springs_force_acc *acc, const kp_real own[3],
                                  const kp_w other[3], const springs_gap *e,
                                  const springs_law *law) {
  kp_w ux = other[0] - own[0];
  kp_w uy = other[1] - own[1];
  kp_w uz = other[2] - own[2];
  kp_w touch = springs_if_less(e->r, kp_w_splat(law->touch));
  kp_w along = ux * e->x + uy * e->y + uz * e->z;
  kp_w f = springs_push(general, e->r, law) - touch * law->shear * along;
  kp_w t = touch * (law->shear + law->damping);
  acc->x += f * e->x + t * ux;
  acc->y += f * e->y + t * uy;
  acc->z += f * e->z + t * uz;
}

SPRINGS_INLINE void springs_force_pair(springs_force_acc *acc, const springs_force_i *self,
                                       const springs_force_j *j, kp_w dx, kp_w dy, kp_w dz, kp_w r2,
                                       const springs_force_args *a) {
  springs_gap e = springs_gap_of(dx, dy, dz, r2, kp_w_splat(self->lot), j->lot);
  const kp_real own[3] = { self->vx, self->vy, self->vz };
  const kp_w other[3] = { j->vx, j->vy, j->vz };
  springs_touch(0, acc, own, other, &e, &a->law);
}

KP_PAIR_VARIANT(springs_general, springs_force)

SPRINGS_INLINE void springs_general_pair(springs_force_acc *acc, const springs_force_i *self,
                                         const springs_force_j *j, kp_w dx, kp_w dy, kp_w dz,
                                         kp_w r2, const springs_force_args *a) {
  springs_gap e = springs_gap_of(dx, dy, dz, r2, kp_w_splat(self->lot), j->lot);
  const kp_real own[3] = { self->vx, self->vy, self->vz };
  const kp_w other[3] = { j->vx, j->vy, j->vz };
  springs_touch(1, acc, own, other, &e, &a->law);
}

// ---- energy of the springs: half of each pair to each of the two --------------------------------

#define SPRINGS_ENERGY_J(X) X(lot)

typedef struct springs_energy_args {
  springs_law law;
  int32_t add;
  const kp_real *lot, *j_lot;
  kp_real *energy;
} springs_energy_args;

typedef struct springs_energy_i {
  kp_real lot, before;
} springs_energy_i;

typedef struct springs_energy_acc {
  kp_w sum;
} springs_energy_acc;

KP_PAIR_J(springs_energy, SPRINGS_ENERGY_J)

SPRINGS_INLINE void springs_energy_load(int64_t i, const springs_energy_args *a,
                                        springs_energy_i *self, springs_energy_acc *acc) {
  self->lot = a->lot[i];
  self->before = a->add ? a->energy[i] : (kp_real)0;
  acc->sum = kp_w_splat((kp_real)0);
}

SPRINGS_INLINE void springs_energy_store(int64_t i, const springs_energy_acc *acc,
                                         const springs_energy_i *self,
                                         const springs_energy_args *a) {
  a->energy[i] = self->before + (kp_real)0.5 * kp_w_sum(acc->sum);
}

SPRINGS_INLINE void springs_energy_pair(springs_energy_acc *acc, const springs_energy_i *self,
                                        const springs_energy_j *j, kp_w dx, kp_w dy, kp_w dz,
                                        kp_w r2, const springs_energy_args *a) {
  springs_gap e = springs_gap_of(dx, dy, dz, r2, kp_w_splat(self->lot), j->lot);
  // the sphere itself has no direction
  kp_w other = springs_if_less(kp_w_splat((kp_real)0), e.x * e.x + e.y * e.y + e.z * e.z);
  acc->sum += other * springs_potential(e.r, &a->law);
}

// ---- samples of solids: spheres of the same size that belong to a body --------------------------

#define SPRINGS_WALL_J(X)                                                                          \
  X(vx)                                                                                            \
  X(vy)                                                                                            \
  X(vz)

typedef struct springs_wall_args {
  springs_law law;
  kp_real inverse_mass;
  const kp_real *vx, *vy, *vz;
  const kp_real *j_vx, *j_vy, *j_vz;
  kp_real *ax, *ay, *az;
} springs_wall_args;

typedef struct springs_wall_i {
  kp_real vx, vy, vz;
} springs_wall_i;

typedef springs_force_acc springs_wall_acc;

KP_PAIR_J(springs_wall, SPRINGS_WALL_J)

SPRINGS_INLINE void springs_wall_load(int64_t i, const springs_wall_args *a, springs_wall_i *self,
                                      springs_wall_acc *acc) {
  self->vx = a->vx[i];
  self->vy = a->vy[i];
  self->vz = a->vz[i];
  acc->x = acc->y = acc->z = kp_w_splat((kp_real)0);
}

SPRINGS_INLINE void springs_wall_store(int64_t i, const springs_wall_acc *acc,
                                       const springs_wall_i *self, const springs_wall_args *a) {
  (void)self;
  a->ax[i] += a->inverse_mass * kp_w_sum(acc->x);
  a->ay[i] += a->inverse_mass * kp_w_sum(acc->y);
  a->az[i] += a->inverse_mass * kp_w_sum(acc->z);
}

SPRINGS_INLINE void springs_wall_pair(springs_wall_acc *acc, const springs_wall_i *self,
                                      const springs_wall_j *j, kp_w dx, kp_w dy, kp_w dz, kp_w r2,
                                      const springs_wall_args *a) {
  kp_w zero = kp_w_splat((kp_real)0);
  springs_gap e = springs_gap_of(dx, dy, dz, r2, zero, zero);
  const kp_real own[3] = { self->vx, self->vy, self->vz };
  const kp_w other[3] = { j->vx, j->vy, j->vz };
  springs_touch(0, acc, own, other, &e, &a->law);
}

// i sample, j sphere: the force on the sample
typedef struct springs_react_args {
  springs_law law;
  const kp_real *vx, *vy, *vz;
  const kp_real *j_vx, *j_vy, *j_vz;
  kp_real *fx, *fy, *fz;
} springs_react_args;

typedef springs_wall_i springs_react_i;
typedef springs_force_acc springs_react_acc;

KP_PAIR_J(springs_react, SPRINGS_WALL_J)

SPRINGS_INLINE void springs_react_load(int64_t i, const springs_react_args *a,
                                       springs_react_i *self, springs_react_acc *acc) {
  self->vx = a->vx[i];
  self->vy = a->vy[i];
  self->vz = a->vz[i];
  acc->x = acc->y = acc->z = kp_w_splat((kp_real)0);
}

SPRINGS_INLINE void springs_react_store(int64_t i, const springs_react_acc *acc,
                                        const springs_react_i *self, const springs_react_args *a) {
  (void)self;
  a->fx[i] += kp_w_sum(acc->x);
  a->fy[i] += kp_w_sum(acc->y);
  a->fz[i] += kp_w_sum(acc->z);
}

SPRINGS_INLINE void springs_react_pair(springs_react_acc *acc, const springs_react_i *self,
                                       const springs_react_j *j, kp_w dx, kp_w dy, kp_w dz, kp_w r2,
                                       const springs_react_args *a) {
  kp_w zero = kp_w_splat((kp_real)0);
  springs_gap e = springs_gap_of(dx, dy, dz, r2, zero, zero);
  const kp_real own[3] = { self->vx, self->vy, self->vz };
  const kp_w other[3] = { j->vx, j->vy, j->vz };
  springs_touch(0, acc, own, other, &e, &a->law);
}

// energy of spheres pressed against samples, all of it to the sphere
typedef struct springs_wall_energy_args {
  springs_law law;
  kp_real *energy;
} springs_wall_energy_args;

typedef struct springs_wall_energy_i {
  kp_real before;
} springs_wall_energy_i;

typedef springs_energy_acc springs_wall_energy_acc;

#define SPRINGS_NO_J(X)

KP_PAIR_J(springs_wall_energy, SPRINGS_NO_J)

SPRINGS_INLINE void springs_wall_energy_load(int64_t i, const springs_wall_energy_args *a,
                                             springs_wall_energy_i *self,
                                             springs_wall_energy_acc *acc) {
  self->before = a->energy[i];
  acc->sum = kp_w_splat((kp_real)0);
}

SPRINGS_INLINE void springs_wall_energy_store(int64_t i, const springs_wall_energy_acc *acc,
                                              const springs_wall_energy_i *self,
                                              const springs_wall_energy_args *a) {
  a->energy[i] = self->before + kp_w_sum(acc->sum);
}

SPRINGS_INLINE void springs_wall_energy_pair(springs_wall_energy_acc *acc,
                                             const springs_wall_energy_i *self,
                                             const springs_wall_energy_j *j, kp_w dx, kp_w dy,
                                             kp_w dz, kp_w r2, const springs_wall_energy_args *a) {
  (void)self, (void)j, (void)dx, (void)dy, (void)dz;
  kp_w c = kp_w_max(a->law.touch - kp_w_sqrt(r2), kp_w_splat((kp_real)0));
  acc->sum += (kp_real)0.5 * a->law.stiffness * c * c;
}

// ---- point kernels ------------------------------------------------------------------------------

// A number of each sphere that no other has within reach.
typedef struct springs_lot_args {
  const uint64_t *id;
  kp_real *lot;
} springs_lot_args;

KP_FN void springs_lot(int64_t i, const springs_lot_args *a) {
  a->lot[i] = (kp_real)(a->id[i] & 0xffffffu);
}

// Closed faces of the domain as springs: a sphere that overlaps a face is pushed back by k_w depth
// and loses normal speed at the rate c_w.
typedef struct springs_box_args {
  double lo[3], hi[3];  // where centres touch the faces; infinite where there is none
  double stiffness;     // k_w / m [1/s^2]
  double damping;       // c_w / m [1/s]
  const kp_pos *x, *y, *z;
  const kp_real *vx, *vy, *vz;
  kp_real *ax, *ay, *az;
} springs_box_args;

KP_FN double springs_depth(double lo, double hi, double x) {
  double below = lo - x;
  double above = x - hi;
  return below > 0.0 ? below : (above > 0.0 ? -above : 0.0);
}

KP_FN void springs_box_axis(int axis, const springs_box_args *a, double x, kp_real v,
                            kp_real *out) {
  double depth = springs_depth(a->lo[axis], a->hi[axis], x);
  if (depth != 0.0) {
    *out += (kp_real)(a->stiffness * depth - a->damping * (double)v);
  }
}

KP_FN void springs_box(int64_t i, const springs_box_args *a) {
  springs_box_axis(0, a, a->x[i], a->vx[i], &a->ax[i]);
  springs_box_axis(1, a, a->y[i], a->vy[i], &a->ay[i]);
  springs_box_axis(2, a, a->z[i], a->vz[i], &a->az[i]);
}

// All of it in double: pairs as summed before, and the springs of the faces.
typedef struct springs_total_args {
  double lo[3], hi[3];
  double stiffness;  // k_w [N/m]
  const kp_pos *x, *y, *z;
  const kp_real *energy;
} springs_total_args;

#define SPRINGS_TOTAL_OPS KP_REDUCE_SUM

KP_FN void springs_total(int64_t i, const springs_total_args *a, double *v) {
  double dx = springs_depth(a->lo[0], a->hi[0], a->x[i]);
  double dy = springs_depth(a->lo[1], a->hi[1], a->y[i]);
  double dz = springs_depth(a->lo[2], a->hi[2], a->z[i]);
  v[0] = (double)a->energy[i] + 0.5 * a->stiffness * (dx * dx + dy * dy + dz * dz);
}

#define SPRINGS_KERNELS(POINT, REDUCE, ROW, PAIR)                                                  \
  POINT(springs, lot)                                                                              \
  POINT(springs, box)                                                                              \
  REDUCE(springs, total, SPRINGS_TOTAL_OPS)                                                        \
  PAIR(springs, force, springs_force_args, SPRINGS_FORCE_J)                                        \
  PAIR(springs, general, springs_force_args, SPRINGS_FORCE_J)                                      \
  PAIR(springs, energy, springs_energy_args, SPRINGS_ENERGY_J)                                     \
  PAIR(springs, wall, springs_wall_args, SPRINGS_WALL_J)                                           \
  PAIR(springs, react, springs_react_args, SPRINGS_WALL_J)                                         \
  PAIR(springs, wall_energy, springs_wall_energy_args, SPRINGS_NO_J)
