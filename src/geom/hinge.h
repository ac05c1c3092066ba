// The angle between two triangles that share an edge.
#pragma once

#include "kelpie/vec.h"

// Angle of a hinge between the triangles (c, d, a) and (d, c, b), 0 when flat, and its slopes: the
// corners are a, b across from the edge and c, d on it (Bridson et al. 2003, section 4).
KP_FN double kp_hinge_angle(const kp_vec3 x[4], kp_vec3 g[4]) {
  kp_vec3 e = kp_vec3_sub(x[3], x[2]);
  kp_vec3 ac = kp_vec3_sub(x[0], x[2]), ad = kp_vec3_sub(x[0], x[3]);
  kp_vec3 bc = kp_vec3_sub(x[1], x[2]), bd = kp_vec3_sub(x[1], x[3]);
  kp_vec3 m = kp_vec3_cross(ac, ad), n = kp_vec3_cross(bd, bc);
  double m2 = kp_vec3_dot(m, m), n2 = kp_vec3_dot(n, n), length = kp_vec3_length(e);
  if (!(m2 > 0.0) || !(n2 > 0.0) || !(length > 0.0)) {
    for (int c = 0; c < 4; ++c) {
      g[c] = kp_vec3_make(0.0, 0.0, 0.0);
    }
    return 0.0;
  }
  kp_vec3 over_m = kp_vec3_scale(m, 1.0 / m2), over_n = kp_vec3_scale(n, 1.0 / n2);
  g[0] = kp_vec3_scale(over_m, length);
  g[1] = kp_vec3_scale(over_n, length);
  g[2] = kp_vec3_madd(kp_vec3_scale(over_m, kp_vec3_dot(ad, e) / length),
                      kp_vec3_dot(bd, e) / length, over_n);
  g[3] = kp_vec3_madd(kp_vec3_scale(over_m, -kp_vec3_dot(ac, e) / length),
                      -kp_vec3_dot(bc, e) / length, over_n);
  double sine = kp_vec3_dot(kp_vec3_cross(n, m), e) / length;
  return atan2(sine, kp_vec3_dot(m, n));
}
