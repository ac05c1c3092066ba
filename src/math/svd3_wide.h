// The decompositions of svd3.h for KP_W_LANES matrices at once and in kp_real: a fixed number of
// rotations and no branches, so that a matrix gets the same bits in whatever lane it lies. Row
// major; symmetric matrices are (xx yy zz xy xz yz).
#pragma once

#include "math/wide.h"

#ifdef KELPIE_DOUBLE
#define KP_W_EIGEN3_SWEEPS 5
#define KP_W_SVD3_THIN ((kp_real)1e-9)  // of the largest stretch: less has no direction of its own
#else
#define KP_W_EIGEN3_SWEEPS 4
#define KP_W_SVD3_THIN ((kp_real)1e-4)
#endif

KP_WIDE_FN kp_w kp_w_dot3(const kp_w a[3], const kp_w b[3]) {
  return a[0] * b[0] + a[1] * b[1] + a[2] * b[2];
}

// The rotation in the plane of axes p and q that makes their entry `pq` of a zero, the third axis
// being r; v gathers them.
KP_WIDE_FN void kp_w_eigen3_rotate(kp_w *pp, kp_w *qq, kp_w *pq, kp_w *rp, kp_w *rq, kp_w *vp,
                                   kp_w *vq) {
  kp_w zero = kp_w_splat(0), one = kp_w_splat(1), off = *pq;
  kp_w gap = *qq - *pp, twice = off + off;
  kp_w size = kp_w_max(gap, -gap) + kp_w_sqrt(gap * gap + twice * twice);
  kp_w t = kp_w_select(kp_w_less(zero, size), twice / size, zero);
  t = kp_w_select(kp_w_less(gap, zero), -t, t);
  kp_w c = one / kp_w_sqrt(t * t + one), s = t * c;
  *pp = *pp - t * off;
  *qq = *qq + t * off;
  *pq = zero;
  kp_w x = *rp, y = *rq;
  *rp = c * x - s * y;
  *rq = s * x + c * y;
  for (int k = 0; k < 9; k += 3) {
    x = vp[k];
    y = vq[k];
    vp[k] = c * x - s * y;
    vq[k] = s * x + c * y;
  }
}

// a = v diag(a[0..2]) v^T, the rest of a becomes small; v is a rotation.
KP_WIDE_FN void kp_w_eigen3(kp_w a[6], kp_w v[9]) {
  for (int k = 0; k < 9; ++k) {
    v[k] = kp_w_splat(k % 4 == 0 ? (kp_real)1 : (kp_real)0);
  }
  for (int sweep = 0; sweep < KP_W_EIGEN3_SWEEPS; ++sweep) {
    kp_w_eigen3_rotate(a, a + 1, a + 3, a + 4, a + 5, v, v + 1);
    kp_w_eigen3_rotate(a, a + 2, a + 4, a + 3, a + 5, v, v + 2);
    kp_w_eigen3_rotate(a + 1, a + 2, a + 5, a + 3, a + 4, v + 1, v + 2);
  }
}

// Columns p and q of w change places where d[p] is less than d[q].
KP_WIDE_FN void kp_w_svd3_order(kp_w d[3], kp_w w[9], int p, int q) {
  kp_wmask less = kp_w_less(d[p], d[q]);
  kp_w larger = kp_w_select(less, d[q], d[p]);
  d[q] = kp_w_select(less, d[p], d[q]);
  d[p] = larger;
  for (int k = 0; k < 9; k += 3) {
    kp_w x = w[k + p], y = w[k + q];
    w[k + p] = kp_w_select(less, y, x);
    w[k + q] = kp_w_select(less, x, y);
  }
}

// A unit vector across p, which has unit length.
KP_WIDE_FN void kp_w_svd3_across(const kp_w p[3], kp_w out[3]) {
  kp_w one = kp_w_splat(1), zero = kp_w_splat(0), square[3];
  for (int k = 0; k < 3; ++k) {
    square[k] = p[k] * p[k];
  }
  kp_wmask y_before_x = kp_w_less(square[1], square[0]);
  kp_w least = kp_w_select(y_before_x, square[1], square[0]);
  kp_wmask is_z = kp_w_less(square[2], least);
  kp_w axis[3] = { kp_w_select(is_z, zero, kp_w_select(y_before_x, zero, one)),
                   kp_w_select(is_z, zero, kp_w_select(y_before_x, one, zero)),
                   kp_w_select(is_z, one, zero) };
  kp_w along = kp_w_dot3(p, axis), scale = one / kp_w_sqrt(one - along * along);
  for (int k = 0; k < 3; ++k) {
    out[k] = (axis[k] - along * p[k]) * scale;
  }
}

// a = u diag(s) v^T with rotations u and v: s[0] >= s[1] >= |s[2]|, and s[2] is negative where a
// turns space inside out.
KP_WIDE_FN void kp_w_svd3(const kp_w a[9], kp_w u[9], kp_w s[3], kp_w v[9]) {
  kp_w zero = kp_w_splat(0), one = kp_w_splat(1), square[6];
  const int row[6] = { 0, 1, 2, 0, 0, 1 }, column[6] = { 0, 1, 2, 1, 2, 2 };
  for (int k = 0; k < 6; ++k) {
    int i = row[k], j = column[k];
    square[k] = a[i] * a[j] + a[3 + i] * a[3 + j] + a[6 + i] * a[6 + j];
  }
  kp_w_eigen3(square, v);
  kp_w_svd3_order(square, v, 0, 1);
  kp_w_svd3_order(square, v, 1, 2);
  kp_w_svd3_order(square, v, 0, 1);
  // the third column makes a rotation of it
  v[2] = v[3] * v[7] - v[6] * v[4];
  v[5] = v[6] * v[1] - v[0] * v[7];
  v[8] = v[0] * v[4] - v[3] * v[1];

  kp_w b[3][3];  // columns of a v = u diag(s)
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      b[j][i] = a[3 * i] * v[j] + a[3 * i + 1] * v[3 + j] + a[3 * i + 2] * v[6 + j];
    }
  }
  kp_w *p = b[0], *q = b[1], across[3];
  s[0] = kp_w_sqrt(kp_w_dot3(p, p));
  kp_wmask is_there = kp_w_less(zero, s[0]);
  for (int k = 0; k < 3; ++k) {
    p[k] = kp_w_select(is_there, p[k] / s[0], k == 0 ? one : zero);
  }
  kp_w along = kp_w_dot3(p, q);
  for (int k = 0; k < 3; ++k) {
    q[k] -= along * p[k];
  }
  s[1] = kp_w_sqrt(kp_w_dot3(q, q));
  kp_wmask is_wide = kp_w_less(kp_w_splat(KP_W_SVD3_THIN) * s[0], s[1]);
  kp_w_svd3_across(p, across);
  for (int k = 0; k < 3; ++k) {
    q[k] = kp_w_select(is_wide, q[k] / s[1], across[k]);
  }
  for (int k = 0; k < 3; ++k) {
    int m = (k + 1) % 3, n = (k + 2) % 3;
    u[3 * k] = p[k];
    u[3 * k + 1] = q[k];
    u[3 * k + 2] = p[m] * q[n] - p[n] * q[m];
  }
  s[2] = u[2] * b[2][0] + u[5] * b[2][1] + u[8] * b[2][2];
}
