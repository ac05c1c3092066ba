// Orthonormal frames around an axis.
#pragma once

#include "kelpie/vec.h"

// u, v with u x v = w for a unit w (Duff et al. 2017). Along a coordinate axis, u and v are
// coordinate axes too, up to sign.
KP_FN void kp_frame_make(kp_vec3 w, kp_vec3 *u, kp_vec3 *v) {
  double sign = copysign(1.0, w.z);
  double a = -1.0 / (sign + w.z);
  double b = w.x * w.y * a;
  *u = kp_vec3_make(1.0 + sign * w.x * w.x * a, sign * b, -sign * w.x);
  *v = kp_vec3_make(b, sign + w.y * w.y * a, -w.y);
}

// c + x u + y v + z w
KP_FN kp_vec3 kp_frame_point(kp_vec3 c, const kp_vec3 axes[3], double x, double y, double z) {
  return kp_vec3_madd(kp_vec3_madd(kp_vec3_madd(c, x, axes[0]), y, axes[1]), z, axes[2]);
}
