// Small dense decompositions for elements: eigenvalues of a symmetric 3x3 matrix and the singular
// values of any, by Jacobi rotations, in double. Row major: a[3 row + column].
#pragma once

#include <math.h>

#include "kelpie/config.h"
#include "math/rounding.h"

#define KP_EIGEN3_SWEEPS 12  // far more than ever needed; it converges quadratically

// One rotation in the plane of rows and columns p, q that makes a[p][q] zero; v gathers them.
KP_FN void kp_eigen3_rotate(double a[9], double v[9], int p, int q) {
  double off = a[3 * p + q];
  if (off == 0.0) {
    return;
  }
  double theta = (a[3 * q + q] - a[3 * p + p]) / (2.0 * off);
  double t = (theta >= 0.0 ? 1.0 : -1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
  double c = 1.0 / sqrt(t * t + 1.0), s = t * c, minus = -s;
  KP_HIDDEN(minus);  // or bits depend on the instruction set
  for (int k = 0; k < 3; ++k) {
    double x = a[3 * k + p], y = a[3 * k + q];
    a[3 * k + p] = c * x + minus * y;
    a[3 * k + q] = s * x + c * y;
  }
  for (int k = 0; k < 3; ++k) {
    double x = a[3 * p + k], y = a[3 * q + k];
    a[3 * p + k] = c * x + minus * y;
    a[3 * q + k] = s * x + c * y;
  }
  for (int k = 0; k < 3; ++k) {
    double x = v[3 * k + p], y = v[3 * k + q];
    v[3 * k + p] = c * x + minus * y;
    v[3 * k + q] = s * x + c * y;
  }
}

// a = v diag(d) v^T for a symmetric a, which is overwritten; v is a rotation. Not sorted.
KP_FN void kp_eigen3(double a[9], double d[3], double v[9]) {
  for (int k = 0; k < 9; ++k) {
    v[k] = k % 4 == 0 ? 1.0 : 0.0;
  }
  for (int sweep = 0; sweep < KP_EIGEN3_SWEEPS; ++sweep) {
    double off = a[1] * a[1] + a[2] * a[2] + a[5] * a[5];
    double on = a[0] * a[0] + a[4] * a[4] + a[8] * a[8];
    if (!(off > 1e-32 * on)) {
      break;
    }
    kp_eigen3_rotate(a, v, 0, 1);
    kp_eigen3_rotate(a, v, 0, 2);
    kp_eigen3_rotate(a, v, 1, 2);
  }
  d[0] = a[0];
  d[1] = a[4];
  d[2] = a[8];
}

// a = u diag(s) v^T with rotations u and v: s[0] >= s[1] >= |s[2]|, and s[2] is negative where a
// turns space inside out.
KP_FN void kp_svd3(const double a[9], double u[9], double s[3], double v[9]) {
  double square[9], d[3], w[9];
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      square[3 * i + j] = a[i] * a[j] + a[3 + i] * a[3 + j] + a[6 + i] * a[6 + j];
    }
  }
  kp_eigen3(square, d, w);
  int order[3] = { 0, 1, 2 };
  for (int k = 0; k < 3; ++k) {
    int at = k == 1 ? 1 : 0;  // three compares sort three
    if (d[order[at]] < d[order[at + 1]]) {
      int swap = order[at];
      order[at] = order[at + 1];
      order[at + 1] = swap;
    }
  }
  for (int r = 0; r < 3; ++r) {
    v[3 * r] = w[3 * r + order[0]];
    v[3 * r + 1] = w[3 * r + order[1]];
  }
  // the third column makes a rotation of it
  v[2] = v[3] * v[7] - v[6] * v[4];
  v[5] = v[6] * v[1] - v[0] * v[7];
  v[8] = v[0] * v[4] - v[3] * v[1];

  double b[9];  // a v = u diag(s)
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      b[3 * i + j] = a[3 * i] * v[j] + a[3 * i + 1] * v[3 + j] + a[3 * i + 2] * v[6 + j];
    }
  }
  double p[3] = { b[0], b[3], b[6] }, q[3] = { b[1], b[4], b[7] };
  s[0] = sqrt(p[0] * p[0] + p[1] * p[1] + p[2] * p[2]);
  for (int k = 0; k < 3; ++k) {
    p[k] = s[0] > 0.0 ? p[k] / s[0] : (k == 0 ? 1.0 : 0.0);
  }
  double along = p[0] * q[0] + p[1] * q[1] + p[2] * q[2];
  for (int k = 0; k < 3; ++k) {
    q[k] -= along * p[k];
  }
  s[1] = sqrt(q[0] * q[0] + q[1] * q[1] + q[2] * q[2]);
  if (s[1] > 1e-14 * s[0]) {
    for (int k = 0; k < 3; ++k) {
      q[k] /= s[1];
    }
  } else {  // any direction across the first
    int least = fabs(p[0]) <= fabs(p[1]) ? (fabs(p[0]) <= fabs(p[2]) ? 0 : 2)
                                         : (fabs(p[1]) <= fabs(p[2]) ? 1 : 2);
    double length = sqrt(1.0 - p[least] * p[least]);
    for (int k = 0; k < 3; ++k) {
      q[k] = ((k == least ? 1.0 : 0.0) - p[least] * p[k]) / length;
    }
  }
  for (int k = 0; k < 3; ++k) {
    int m = (k + 1) % 3, n = (k + 2) % 3;
    u[3 * k] = p[k];
    u[3 * k + 1] = q[k];
    u[3 * k + 2] = p[m] * q[n] - p[n] * q[m];
  }
  s[2] = u[2] * b[2] + u[5] * b[5] + u[8] * b[8];
}
