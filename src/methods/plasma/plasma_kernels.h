// What one charge does in a plasma of softened, truncated Coulomb forces (Lyes 2015, section 6.3).
//
// With d = x_i - x_j, r = |d| and l = r + s, s the softening length, r_I the influence radius:
//   F_i = k q_i q_j d / l^3   where l < r_I, else 0            (Listing 6.3; Eq. 6.5 lacks the
//   sign) U   = k q_i q_j (u(l) - u(r_I)),  u(l) = 1/l - s/(2 l^2)   (its integral)
#pragma once

#include "data/pairs.h"

#ifdef __CUDACC__
#define PLASMA_INLINE KP_FN
#else
#define PLASMA_INLINE KP_WIDE_FN
#endif

typedef struct plasma_law {
  kp_real strength;   // k [N m^2/C^2]
  kp_real softening;  // s [m]
  kp_real influence;  // r_I [m]
} plasma_law;

// 1 where two charges act on each other, else 0.
PLASMA_INLINE kp_w plasma_within(kp_w l, const plasma_law *law) {
  return kp_w_select(kp_w_less(l, kp_w_splat(law->influence)), kp_w_splat((kp_real)1),
                     kp_w_splat((kp_real)0));
}

// ---- forces -------------------------------------------------------------------------------------

#define PLASMA_FORCE_J(X) X(charge)

typedef struct plasma_force_args {
  plasma_law law;
  kp_real inverse_mass;
  kp_real damping;     // 1/s
  int32_t add;         // 1: add to what other sets gave
  kp_real gx, gy, gz;  // gravity, where nothing is added to
  const kp_real *vx, *vy, *vz, *charge;
  const kp_real *j_charge;
  kp_real *ax, *ay, *az;
} plasma_force_args;

typedef struct plasma_force_i {
  kp_real factor;  // k q_i / m
  kp_real ax, ay, az;
} plasma_force_i;

typedef struct plasma_force_acc {
  kp_w x, y, z;
} plasma_force_acc;

KP_PAIR_J(plasma_force, PLASMA_FORCE_J)

// also for the search that stops short, whose arguments begin with these
PLASMA_INLINE void plasma_begin(int64_t i, const plasma_force_args *a, plasma_force_i *self,
                                plasma_force_acc *acc) {
  self->factor = a->law.strength * a->charge[i] * a->inverse_mass;
  self->ax = a->add ? a->ax[i] : a->gx - a->damping * a->vx[i];
  self->ay = a->add ? a->ay[i] : a->gy - a->damping * a->vy[i];
  self->az = a->add ? a->az[i] : a->gz - a->damping * a->vz[i];
  acc->x = acc->y = acc->z = kp_w_splat((kp_real)0);
}

PLASMA_INLINE void plasma_end(int64_t i, const plasma_force_acc *acc, const plasma_force_i *self,
                              const plasma_force_args *a) {
  a->ax[i] = self->ax + self->factor * kp_w_sum(acc->x);
  a->ay[i] = self->ay + self->factor * kp_w_sum(acc->y);
  a->az[i] = self->az + self->factor * kp_w_sum(acc->z);
}

PLASMA_INLINE void plasma_force_load(int64_t i, const plasma_force_args *a, plasma_force_i *self,
                                     plasma_force_acc *acc) {
  plasma_begin(i, a, self, acc);
}

PLASMA_INLINE void plasma_force_store(int64_t i, const plasma_force_acc *acc,
                                      const plasma_force_i *self, const plasma_force_args *a) {
  plasma_end(i, acc, self, a);
}

// The charge itself has d = 0 and gives nothing.
PLASMA_INLINE void plasma_force_pair(plasma_force_acc *acc, const plasma_force_i *self,
                                     const plasma_force_j *j, kp_w dx, kp_w dy, kp_w dz, kp_w r2,
                                     const plasma_force_args *a) {
  (void)self;
  kp_w l = kp_w_sqrt(r2) + a->law.softening;
  kp_w f = plasma_within(l, &a->law) * j->charge / (l * l * l);
  acc->x += f * dx;
  acc->y += f * dy;
  acc->z += f * dz;
}

// ---- the search that stops at the 27 cells around a charge --------------------------------------
//
// With an influence radius larger than the cells it misses pairs, and the force then knows where
// the cells are: the defect of Lyes 2015, Fig. 6.2, on purpose.

#define PLASMA_NEAR_J(X)                                                                           \
  X(charge)                                                                                        \
  X(cx)                                                                                            \
  X(cy)                                                                                            \
  X(cz)

typedef struct plasma_near_args {
  plasma_force_args force;
  const kp_real *cx, *cy, *cz;  // cell of a charge
  const kp_real *j_charge, *j_cx, *j_cy, *j_cz;
} plasma_near_args;

typedef struct plasma_near_i {
  plasma_force_i force;
  kp_real cx, cy, cz;
} plasma_near_i;

typedef plasma_force_acc plasma_near_acc;

KP_PAIR_J(plasma_near, PLASMA_NEAR_J)

PLASMA_INLINE void plasma_near_load(int64_t i, const plasma_near_args *a, plasma_near_i *self,
                                    plasma_near_acc *acc) {
  plasma_begin(i, &a->force, &self->force, acc);
  self->cx = a->cx[i];
  self->cy = a->cy[i];
  self->cz = a->cz[i];
}

PLASMA_INLINE void plasma_near_store(int64_t i, const plasma_near_acc *acc,
                                     const plasma_near_i *self, const plasma_near_args *a) {
  plasma_end(i, acc, &self->force, &a->force);
}

PLASMA_INLINE void plasma_near_pair(plasma_near_acc *acc, const plasma_near_i *self,
                                    const plasma_near_j *j, kp_w dx, kp_w dy, kp_w dz, kp_w r2,
                                    const plasma_near_args *a) {
  kp_w bx = (self->cx - j->cx) * (self->cx - j->cx);
  kp_w by = (self->cy - j->cy) * (self->cy - j->cy);
  kp_w bz = (self->cz - j->cz) * (self->cz - j->cz);
  kp_w far = kp_w_max(bx, kp_w_max(by, bz));
  kp_w seen = kp_w_select(kp_w_less(far, kp_w_splat((kp_real)1.5)), kp_w_splat((kp_real)1),
                          kp_w_splat((kp_real)0));
  kp_w l = kp_w_sqrt(r2) + a->force.law.softening;
  kp_w f = seen * plasma_within(l, &a->force.law) * j->charge / (l * l * l);
  acc->x += f * dx;
  acc->y += f * dy;
  acc->z += f * dz;
}

// ---- energy: half of each pair to each of the two -----------------------------------------------

typedef struct plasma_energy_args {
  plasma_law law;
  kp_real at_end;  // u(r_I)
  int32_t add;
  const kp_real *charge, *j_charge;
  kp_real *energy;
} plasma_energy_args;

typedef struct plasma_energy_i {
  kp_real factor, before;
} plasma_energy_i;

typedef struct plasma_energy_acc {
  kp_w sum;
} plasma_energy_acc;

KP_PAIR_J(plasma_energy, PLASMA_FORCE_J)

PLASMA_INLINE void plasma_energy_load(int64_t i, const plasma_energy_args *a, plasma_energy_i *self,
                                      plasma_energy_acc *acc) {
  self->factor = (kp_real)0.5 * a->law.strength * a->charge[i];
  self->before = a->add ? a->energy[i] : (kp_real)0;
  acc->sum = kp_w_splat((kp_real)0);
}

PLASMA_INLINE void plasma_energy_store(int64_t i, const plasma_energy_acc *acc,
                                       const plasma_energy_i *self, const plasma_energy_args *a) {
  a->energy[i] = self->before + self->factor * kp_w_sum(acc->sum);
}

PLASMA_INLINE void plasma_energy_pair(plasma_energy_acc *acc, const plasma_energy_i *self,
                                      const plasma_energy_j *j, kp_w dx, kp_w dy, kp_w dz, kp_w r2,
                                      const plasma_energy_args *a) {
  (void)self, (void)dx, (void)dy, (void)dz;
  kp_w zero = kp_w_splat((kp_real)0);
  kp_w l = kp_w_sqrt(r2) + a->law.softening;
  kp_w u = (kp_real)1 / l - (kp_real)0.5 * a->law.softening / (l * l) - a->at_end;
  kp_w other = kp_w_select(kp_w_less(zero, r2), kp_w_splat((kp_real)1), zero);
  acc->sum += other * plasma_within(l, &a->law) * j->charge * u;
}

// ---- point kernels ------------------------------------------------------------------------------

// Charges by id: the places are random, so taking turns gives equal totals.
typedef struct plasma_charge_args {
  kp_real charge;
  int32_t is_balanced;  // 0: all positive
  const uint64_t *id;
  kp_real *out;
} plasma_charge_args;

KP_FN void plasma_charge(int64_t i, const plasma_charge_args *a) {
  a->out[i] = a->is_balanced && (a->id[i] & 1u) != 0u ? -a->charge : a->charge;
}

typedef struct plasma_cell_args {
  double inverse_edge;
  const kp_pos *x, *y, *z;
  kp_real *cx, *cy, *cz;
} plasma_cell_args;

KP_FN void plasma_cell(int64_t i, const plasma_cell_args *a) {
  a->cx[i] = (kp_real)kp_cells_coordinate(a->x[i], a->inverse_edge);
  a->cy[i] = (kp_real)kp_cells_coordinate(a->y[i], a->inverse_edge);
  a->cz[i] = (kp_real)kp_cells_coordinate(a->z[i], a->inverse_edge);
}

// The bounding sphere: who is past it comes back, with its normal speed reflected.
typedef struct plasma_contain_args {
  double cx, cy, cz;
  double radius;       // where centres may be [m]
  double restitution;  // share of the normal speed that is kept
  kp_pos *x, *y, *z;
  kp_real *vx, *vy, *vz;
  uint8_t *fresh;  // of integrators that carry motion in fields of their own; else NULL
} plasma_contain_args;

KP_FN void plasma_contain(int64_t i, const plasma_contain_args *a) {
  double dx = a->x[i] - a->cx;
  double dy = a->y[i] - a->cy;
  double dz = a->z[i] - a->cz;
  double r2 = dx * dx + dy * dy + dz * dz;
  if (r2 <= a->radius * a->radius) {
    return;
  }
  double inverse = 1.0 / sqrt(r2);
  double nx = dx * inverse;
  double ny = dy * inverse;
  double nz = dz * inverse;
  a->x[i] = a->cx + a->radius * nx;
  a->y[i] = a->cy + a->radius * ny;
  a->z[i] = a->cz + a->radius * nz;
  double out = (double)a->vx[i] * nx + (double)a->vy[i] * ny + (double)a->vz[i] * nz;
  double turn = out > 0.0 ? (1.0 + a->restitution) * out : 0.0;
  a->vx[i] = (kp_real)((double)a->vx[i] - turn * nx);
  a->vy[i] = (kp_real)((double)a->vy[i] - turn * ny);
  a->vz[i] = (kp_real)((double)a->vz[i] - turn * nz);
  if (a->fresh) {
    a->fresh[i] = 1;
  }
}

typedef struct plasma_total_args {
  const kp_real *energy;
} plasma_total_args;

#define PLASMA_TOTAL_OPS KP_REDUCE_SUM

KP_FN void plasma_total(int64_t i, const plasma_total_args *a, double *v) {
  v[0] = (double)a->energy[i];
}

#define PLASMA_KERNELS(POINT, REDUCE, ROW, PAIR)                                                   \
  POINT(plasma, charge)                                                                            \
  POINT(plasma, cell)                                                                              \
  POINT(plasma, contain)                                                                           \
  REDUCE(plasma, total, PLASMA_TOTAL_OPS)                                                          \
  PAIR(plasma, force, plasma_force_args, PLASMA_FORCE_J)                                           \
  PAIR(plasma, near, plasma_near_args, PLASMA_NEAR_J)                                              \
  PAIR(plasma, energy, plasma_energy_args, PLASMA_FORCE_J)
