#include "math/symmetric3.h"

void kp_symmetric3_eigen(const kp_mat3 *a, double values[3], kp_mat3 *vectors) {
  kp_symmetric3_turn(a, 12, values, vectors);
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
