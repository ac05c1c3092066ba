// Symmetric 3 x 3 matrices: eigenvalues and the pseudo-inverse.
#pragma once

#include "kelpie/vec.h"

// One rotation in the plane of axes p and q that makes m[p][q] zero (Jacobi 1846).
KP_FN void kp_symmetric3_rotate(kp_mat3 *m, kp_mat3 *v, int p, int q) {
  double off = m->m[p][q];
  if (off == 0.0) {
    return;
  }
  double theta = (m->m[q][q] - m->m[p][p]) / (2.0 * off);
  double t = (theta < 0.0 ? -1.0 : 1.0) / (fabs(theta) + sqrt(theta * theta + 1.0));
  double c = 1.0 / sqrt(t * t + 1.0);
  double s = t * c;
  m->m[p][p] -= t * off;
  m->m[q][q] += t * off;
  m->m[p][q] = m->m[q][p] = 0.0;
  int r = 3 - p - q;
  double rp = m->m[r][p];
  double rq = m->m[r][q];
  m->m[r][p] = m->m[p][r] = c * rp - s * rq;
  m->m[r][q] = m->m[q][r] = s * rp + c * rq;
  for (int k = 0; k < 3; ++k) {
    double vp = v->m[k][p];
    double vq = v->m[k][q];
    v->m[k][p] = c * vp - s * vq;
    v->m[k][q] = s * vp + c * vq;
  }
}

// a = sum values[k] v_k v_k^T, v_k the columns of `vectors`, in no order, after so many sweeps of
// cyclic rotations. They converge quadratically: six reach the last bit.
KP_FN void kp_symmetric3_turn(const kp_mat3 *a, int sweeps, double values[3], kp_mat3 *vectors) {
  kp_mat3 m = *a;
  for (int k = 0; k < 9; ++k) {
    vectors->m[k / 3][k % 3] = k % 4 == 0 ? 1.0 : 0.0;
  }
  for (int sweep = 0; sweep < sweeps; ++sweep) {
    kp_symmetric3_rotate(&m, vectors, 0, 1);
    kp_symmetric3_rotate(&m, vectors, 0, 2);
    kp_symmetric3_rotate(&m, vectors, 1, 2);
  }
  for (int k = 0; k < 3; ++k) {
    values[k] = m.m[k][k];
  }
}

// The same with as many as are ever needed.
void kp_symmetric3_eigen(const kp_mat3 *a, double values[3], kp_mat3 *vectors);

// x = a^+ b: of all x with the smallest |a x - b| the shortest. Eigenvalues below `cut` times the
// largest count as zero; so a singular a, even a = 0, has an answer.
kp_vec3 kp_symmetric3_solve(const kp_mat3 *a, kp_vec3 b, double cut);
