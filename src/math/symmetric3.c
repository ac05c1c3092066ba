#include "math/symmetric3.h"

// One rotation in the plane of axes p and q that makes m[p][q] zero.
static void rotate(kp_mat3 *m, kp_mat3 *v, int p, int q) {
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

void kp_symmetric3_eigen(const kp_mat3 *a, double values[3], kp_mat3 *vectors) {
  kp_mat3 m = *a;
  *vectors = (kp_mat3){ { { 1.0, 0.0, 0.0 }, { 0.0, 1.0, 0.0 }, { 0.0, 0.0, 1.0 } } };
  // converges quadratically: six sweeps reach the last bit
  for (int sweep = 0; sweep < 12; ++sweep) {
    rotate(&m, vectors, 0, 1);
    rotate(&m, vectors, 0, 2);
    rotate(&m, vectors, 1, 2);
  }
  for (int k = 0; k < 3; ++k) {
    values[k] = m.m[k][k];
  }
}

kp_vec3 kp_symmetric3_solve(const kp_mat3 *a, kp_vec3 b, double cut) {
  double values[3];
  kp_mat3 v;
  kp_symmetric3_eigen(a, values, &v);
  double largest = fmax(fabs(values[0]), fmax(fabs(values[1]), fabs(values[2])));
  kp_vec3 x = { 0.0, 0.0, 0.0 };
  for (int k = 0; k < 3; ++k) {
    kp_vec3 e = kp_vec3_make(v.m[0][k], v.m[1][k], v.m[2][k]);
    if (fabs(values[k]) > cut * largest) {
      x = kp_vec3_madd(x, kp_vec3_dot(e, b) / values[k], e);
    }
  }
  return x;
}
