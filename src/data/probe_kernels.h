// Kernels of probes; see data/probe.h.
#pragma once

#include "data/pairs.h"

#ifdef __CUDACC__
#define PROBE_INLINE KP_FN
#else
#define PROBE_INLINE KP_WIDE_FN
#endif

#define PROBE_J(X)                                                                                 \
  X(vx)                                                                                            \
  X(vy)                                                                                            \
  X(vz)

typedef struct probe_args {
  kp_real radius2;
  int32_t dimension;
  const kp_real *j_vx, *j_vy, *j_vz;
  kp_real *count;
  kp_real *vx, *vy, *vz;
  kp_real *cx, *cy, *cz;  // from the elements around it to the point, in the mean
  kp_real *speed;
} probe_args;

typedef struct probe_i {
  kp_real d[3], v[3];  // what `mean` found
} probe_i;

// ---- mean: every element within the radius counts alike -----------------------------------------

typedef probe_args probe_mean_args;
typedef probe_i probe_mean_i;

typedef struct probe_mean_acc {
  kp_w n, x, y, z, vx, vy, vz, speed;
} probe_mean_acc;

KP_PAIR_J(probe_mean, PROBE_J)

PROBE_INLINE void probe_mean_load(int64_t i, const probe_args *a, probe_i *self,
                                  probe_mean_acc *acc) {
  (void)i;
  (void)a;
  (void)self;
  acc->n = acc->x = acc->y = acc->z = kp_w_splat((kp_real)0);
  acc->vx = acc->vy = acc->vz = acc->speed = kp_w_splat((kp_real)0);
}

PROBE_INLINE void probe_mean_pair(probe_mean_acc *acc, const probe_i *self, const probe_mean_j *j,
                                  kp_w dx, kp_w dy, kp_w dz, kp_w r2, const probe_args *a) {
  (void)self;
  kp_w zero = kp_w_splat((kp_real)0);
  kp_wmask is_far = kp_w_less(kp_w_splat(a->radius2), r2);
  kp_w one = kp_w_select(is_far, zero, kp_w_splat((kp_real)1));
  acc->n += one;
  // lanes without an element come with huge d
  acc->x += kp_w_select(is_far, zero, dx);
  acc->y += kp_w_select(is_far, zero, dy);
  acc->z += kp_w_select(is_far, zero, dz);
  acc->vx += one * j->vx;
  acc->vy += one * j->vy;
  acc->vz += one * j->vz;
  acc->speed += one * kp_w_sqrt(j->vx * j->vx + j->vy * j->vy + j->vz * j->vz);
}

PROBE_INLINE void probe_mean_store(int64_t i, const probe_mean_acc *acc, const probe_i *self,
                                   const probe_args *a) {
  (void)self;
  kp_real n = kp_w_sum(acc->n);
  kp_real share = n > (kp_real)0 ? (kp_real)1 / n : (kp_real)0;
  a->count[i] = n;
  a->cx[i] = share * kp_w_sum(acc->x);
  a->cy[i] = share * kp_w_sum(acc->y);
  a->cz[i] = share * kp_w_sum(acc->z);
  a->vx[i] = share * kp_w_sum(acc->vx);
  a->vy[i] = share * kp_w_sum(acc->vy);
  a->vz[i] = share * kp_w_sum(acc->vz);
  a->speed[i] = share * kp_w_sum(acc->speed);
}

// ---- fit: the value at the centre of the linear field nearest to the elements around it ---------
//
// Sums are taken about the mean place and the mean velocity, which `mean` must have found before:
// where all elements lie to one side of the point, sums about the point itself are large numbers
// whose small difference is the answer.

typedef probe_args probe_fit_args;
typedef probe_i probe_fit_i;

// Weighted sums of 1, d, d d and of v, v d, about the means; w = (1 - r^2/R^2)^2.
typedef struct probe_fit_acc {
  kp_w n, w, x, y, z, xx, xy, xz, yy, yz, zz;
  kp_w u, ux, uy, uz, v, vx, vy, vz, o, ox, oy, oz;
  kp_w speed;
} probe_fit_acc;

KP_PAIR_J(probe_fit, PROBE_J)

PROBE_INLINE void probe_fit_load(int64_t i, const probe_args *a, probe_i *self,
                                 probe_fit_acc *acc) {
  const probe_i means = { { a->cx[i], a->cy[i], a->cz[i] }, { a->vx[i], a->vy[i], a->vz[i] } };
  *self = means;
  kp_w zero = kp_w_splat((kp_real)0);
  acc->n = acc->w = acc->x = acc->y = acc->z = zero;
  acc->xx = acc->xy = acc->xz = acc->yy = acc->yz = acc->zz = zero;
  acc->u = acc->ux = acc->uy = acc->uz = zero;
  acc->v = acc->vx = acc->vy = acc->vz = zero;
  acc->o = acc->ox = acc->oy = acc->oz = zero;
  acc->speed = zero;
}

PROBE_INLINE void probe_fit_pair(probe_fit_acc *acc, const probe_i *self, const probe_fit_j *j,
                                 kp_w dx, kp_w dy, kp_w dz, kp_w r2, const probe_args *a) {
  kp_w zero = kp_w_splat((kp_real)0);
  kp_w inside = kp_w_max(kp_w_splat((kp_real)1) - r2 / a->radius2, zero);
  // lanes without an element come with huge d
  kp_wmask near = kp_w_less(r2, kp_w_splat(a->radius2));
  dx = kp_w_select(near, dx - self->d[0], zero);
  dy = kp_w_select(near, dy - self->d[1], zero);
  dz = kp_w_select(near, dz - self->d[2], zero);
  kp_w u = j->vx - self->v[0];
  kp_w v = j->vy - self->v[1];
  kp_w o = j->vz - self->v[2];
  kp_w w = inside * inside;
  acc->n += kp_w_select(near, kp_w_splat((kp_real)1), zero);
  acc->w += w;
  acc->x += w * dx;
  acc->y += w * dy;
  acc->z += w * dz;
  acc->xx += w * dx * dx;
  acc->xy += w * dx * dy;
  acc->xz += w * dx * dz;
  acc->yy += w * dy * dy;
  acc->yz += w * dy * dz;
  acc->zz += w * dz * dz;
  acc->u += w * u;
  acc->ux += w * u * dx;
  acc->uy += w * u * dy;
  acc->uz += w * u * dz;
  acc->v += w * v;
  acc->vx += w * v * dx;
  acc->vy += w * v * dy;
  acc->vz += w * v * dz;
  acc->o += w * o;
  acc->ox += w * o * dx;
  acc->oy += w * o * dy;
  acc->oz += w * o * dz;
  acc->speed += w * kp_w_sqrt(j->vx * j->vx + j->vy * j->vy + j->vz * j->vz);
}

// Solves m c = b for three right sides at once by elimination on the symmetric matrix, whose
// diagonal is positive; false when the elements do not span the space.
KP_FN int probe_solve(double m[4][4], double b[4][3], int n) {
  for (int k = 0; k < n; ++k) {
    if (!(m[k][k] > 0.0)) {
      return 0;
    }
    for (int r = k + 1; r < n; ++r) {
      double f = m[r][k] / m[k][k];
      double before = m[r][r];
      for (int c = k; c < n; ++c) {
        m[r][c] -= f * m[k][c];
      }
      for (int c = 0; c < 3; ++c) {
        b[r][c] -= f * b[k][c];
      }
      if (m[r][r] < 1e-3 * before) {
        return 0;
      }
    }
  }
  for (int k = n - 1; k >= 0; --k) {
    for (int c = 0; c < 3; ++c) {
      for (int r = k + 1; r < n; ++r) {
        b[k][c] -= m[k][r] * b[r][c];
      }
      b[k][c] /= m[k][k];
    }
  }
  return 1;
}

// The moments about the point from those about the means d and v:
// sum w (p + d)(q + e) = sum w p q + e sum w p + d sum w q + d e sum w.
KP_FN void probe_shift(const double d[3], const double v[3], double m[4][4], double b[4][3]) {
  double w = m[0][0];
  for (int r = 1; r < 4; ++r) {
    for (int c = 0; c < 3; ++c) {
      b[r][c] += v[c] * m[0][r] + d[r - 1] * b[0][c] + d[r - 1] * v[c] * w;
    }
    for (int c = 1; c < 4; ++c) {
      m[r][c] += d[c - 1] * m[0][r] + d[r - 1] * m[0][c] + d[r - 1] * d[c - 1] * w;
    }
  }
  for (int r = 1; r < 4; ++r) {
    m[0][r] += d[r - 1] * w;
    m[r][0] = m[0][r];
    b[0][r - 1] += v[r - 1] * w;
  }
}

PROBE_INLINE void probe_fit_store(int64_t i, const probe_fit_acc *acc, const probe_i *self,
                                  const probe_args *a) {
  double w = (double)kp_w_sum(acc->w);
  double x = (double)kp_w_sum(acc->x);
  double y = (double)kp_w_sum(acc->y);
  double z = (double)kp_w_sum(acc->z);
  double xy = (double)kp_w_sum(acc->xy);
  double xz = (double)kp_w_sum(acc->xz);
  double yz = (double)kp_w_sum(acc->yz);
  double m[4][4] = { { w, x, y, z },
                     { x, (double)kp_w_sum(acc->xx), xy, xz },
                     { y, xy, (double)kp_w_sum(acc->yy), yz },
                     { z, xz, yz, (double)kp_w_sum(acc->zz) } };
  double b[4][3] = {
    { (double)kp_w_sum(acc->u), (double)kp_w_sum(acc->v), (double)kp_w_sum(acc->o) },
    { (double)kp_w_sum(acc->ux), (double)kp_w_sum(acc->vx), (double)kp_w_sum(acc->ox) },
    { (double)kp_w_sum(acc->uy), (double)kp_w_sum(acc->vy), (double)kp_w_sum(acc->oy) },
    { (double)kp_w_sum(acc->uz), (double)kp_w_sum(acc->vz), (double)kp_w_sum(acc->oz) }
  };
  const double d[3] = { (double)self->d[0], (double)self->d[1], (double)self->d[2] };
  const double v[3] = { (double)self->v[0], (double)self->v[1], (double)self->v[2] };
  probe_shift(d, v, m, b);
  double share = w > 0.0 ? 1.0 / w : 0.0;
  const double mean[3] = { share * b[0][0], share * b[0][1], share * b[0][2] };
  // with too few around it the weighted mean is all there is
  int solved = probe_solve(m, b, a->dimension + 1);
  a->count[i] = kp_w_sum(acc->n);
  a->vx[i] = (kp_real)(solved ? b[0][0] : mean[0]);
  a->vy[i] = (kp_real)(solved ? b[0][1] : mean[1]);
  a->vz[i] = (kp_real)(solved ? b[0][2] : mean[2]);
  a->speed[i] = (kp_real)(share * (double)kp_w_sum(acc->speed));
}

// ---- track: one element by its id, or the mean of all -------------------------------------------

typedef struct probe_track_args {
  int32_t all;
  uint64_t wanted;
  const uint64_t *id;
  const kp_pos *x, *y, *z;
  const kp_real *vx, *vy, *vz;
} probe_track_args;

#define PROBE_TRACK_OPS                                                                            \
  KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM, KP_REDUCE_SUM,        \
      KP_REDUCE_SUM, KP_REDUCE_SUM

KP_FN void probe_track(int64_t i, const probe_track_args *a, double *v) {
  double one = a->all || a->id[i] == a->wanted ? 1.0 : 0.0;
  double ux = (double)a->vx[i];
  double uy = (double)a->vy[i];
  double uz = (double)a->vz[i];
  v[0] = one;
  v[1] = one * a->x[i];
  v[2] = one * a->y[i];
  v[3] = one * a->z[i];
  v[4] = one * ux;
  v[5] = one * uy;
  v[6] = one * uz;
  v[7] = one * sqrt(ux * ux + uy * uy + uz * uz);
}

#define PROBE_KERNELS(POINT, REDUCE, ROW, PAIR)                                                    \
  REDUCE(probe, track, PROBE_TRACK_OPS)                                                            \
  PAIR(probe, mean, probe_mean_args, PROBE_J)                                                      \
  PAIR(probe, fit, probe_fit_args, PROBE_J)
