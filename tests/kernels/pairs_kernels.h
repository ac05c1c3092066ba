// Pair kernels for the tests of the drivers: a weighted sum and a largest value, which between them
// use every piece of the contract of data/pairs.h.
#pragma once

#include "data/pairs.h"

#define PROBE_SUM_J(X)                                                                             \
  X(weight)                                                                                        \
  X(speed)
#define PROBE_FARTHEST_J(X)

#define PROBE_KERNELS(POINT, REDUCE, ROW, PAIR)                                                    \
  PAIR(probe, sum, probe_sum_args, PROBE_SUM_J)                                                    \
  PAIR(probe, sum_twice, probe_sum_args, PROBE_SUM_J)                                              \
  PAIR(probe, farthest, probe_farthest_args, PROBE_FARTHEST_J, probe_farthest_merge)

// out = sum over j of weight_j (1 - r / radius) (speed_i - speed_j + d), by component, and of the
// pairs' number
typedef struct probe_sum_args {
  const kp_real *j_weight, *j_speed;
  const kp_real *speed;
  kp_real *x, *y, *z, *n;
  kp_real radius;
} probe_sum_args;

typedef struct probe_sum_i {
  kp_real speed;
} probe_sum_i;

typedef struct probe_sum_acc {
  kp_w x, y, z, n;
} probe_sum_acc;

KP_PAIR_J(probe_sum, PROBE_SUM_J)

KP_FN void probe_sum_load(int64_t i, const probe_sum_args *a, probe_sum_i *self,
                          probe_sum_acc *acc) {
  self->speed = a->speed[i];
  acc->x = acc->y = acc->z = acc->n = kp_w_splat(0);
}

KP_FN void probe_sum_pair(probe_sum_acc *acc, const probe_sum_i *self, const probe_sum_j *j,
                          kp_w dx, kp_w dy, kp_w dz, kp_w r2, const probe_sum_args *a) {
  kp_w zero = kp_w_splat(0);
  kp_w one = kp_w_splat(1);
  kp_w u = kp_w_max(one - kp_w_sqrt(r2) / a->radius, zero);
  kp_w s = u * j->weight;
  kp_w v = self->speed - j->speed;
  acc->x += s * (v + dx);
  acc->y += s * (v + dy);
  acc->z += s * (v + dz);
  acc->n += kp_w_select(kp_w_less(zero, u), one, zero);
}

KP_FN void probe_sum_store(int64_t i, const probe_sum_acc *acc, const probe_sum_i *self,
                           const probe_sum_args *a) {
  (void)self;
  a->x[i] = kp_w_sum(acc->x);
  a->y[i] = kp_w_sum(acc->y);
  a->z[i] = kp_w_sum(acc->z);
  a->n[i] = kp_w_sum(acc->n);
}

// A variant of the family: the same with double weights.
KP_PAIR_VARIANT(probe_sum_twice, probe_sum)

KP_FN void probe_sum_twice_pair(probe_sum_acc *acc, const probe_sum_i *self, const probe_sum_j *j,
                                kp_w dx, kp_w dy, kp_w dz, kp_w r2, const probe_sum_args *a) {
  probe_sum_j heavy = *j;
  heavy.weight = j->weight + j->weight;
  probe_sum_pair(acc, self, &heavy, dx, dy, dz, r2, a);
}

// Largest squared distance within the radius: an accumulator that is no sum.
typedef struct probe_farthest_args {
  kp_real *r2;
  kp_real radius2;
} probe_farthest_args;

typedef struct probe_farthest_i {
  kp_real unused;
} probe_farthest_i;

typedef struct probe_farthest_acc {
  kp_w top;
} probe_farthest_acc;

KP_PAIR_J(probe_farthest, PROBE_FARTHEST_J)

KP_FN void probe_farthest_load(int64_t i, const probe_farthest_args *a, probe_farthest_i *self,
                               probe_farthest_acc *acc) {
  (void)i;
  (void)a;
  self->unused = 0;
  acc->top = kp_w_splat(-1);
}

KP_FN void probe_farthest_pair(probe_farthest_acc *acc, const probe_farthest_i *self,
                               const probe_farthest_j *j, kp_w dx, kp_w dy, kp_w dz, kp_w r2,
                               const probe_farthest_args *a) {
  (void)self;
  (void)j;
  (void)dx;
  (void)dy;
  (void)dz;
  kp_wmask is_near = kp_w_less(r2, kp_w_splat(a->radius2));
  acc->top = kp_w_max(acc->top, kp_w_select(is_near, r2, acc->top));
}

KP_FN void probe_farthest_merge(probe_farthest_acc *a, const probe_farthest_acc *b) {
  a->top = kp_w_max(a->top, b->top);
}

KP_FN void probe_farthest_store(int64_t i, const probe_farthest_acc *acc,
                                const probe_farthest_i *self, const probe_farthest_args *a) {
  (void)self;
  a->r2[i] = kp_w_largest(acc->top);
}
