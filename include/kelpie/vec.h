// Small vectors for geometry and parameters, always double. Kernels work on kp_real components.
#pragma once

#include <math.h>

#include "kelpie/config.h"

typedef struct kp_vec3 {
  double x, y, z;
} kp_vec3;

typedef struct kp_mat3 {
  double m[3][3];  // row major: m[row][column]
} kp_mat3;

typedef struct kp_quat {
  double w, x, y, z;
} kp_quat;

typedef struct kp_aabb {
  kp_vec3 min, max;
} kp_aabb;

KP_FN kp_vec3 kp_vec3_make(double x, double y, double z) {
  kp_vec3 v;
  v.x = x;
  v.y = y;
  v.z = z;
  return v;
}

KP_FN kp_vec3 kp_vec3_add(kp_vec3 a, kp_vec3 b) {
  return kp_vec3_make(a.x + b.x, a.y + b.y, a.z + b.z);
}

KP_FN kp_vec3 kp_vec3_sub(kp_vec3 a, kp_vec3 b) {
  return kp_vec3_make(a.x - b.x, a.y - b.y, a.z - b.z);
}

KP_FN kp_vec3 kp_vec3_scale(kp_vec3 a, double s) {
  return kp_vec3_make(a.x * s, a.y * s, a.z * s);
}

// a + s b
KP_FN kp_vec3 kp_vec3_madd(kp_vec3 a, double s, kp_vec3 b) {
  return kp_vec3_make(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}

KP_FN double kp_vec3_dot(kp_vec3 a, kp_vec3 b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}

KP_FN kp_vec3 kp_vec3_cross(kp_vec3 a, kp_vec3 b) {
  return kp_vec3_make(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

KP_FN double kp_vec3_length(kp_vec3 a) {
  return sqrt(kp_vec3_dot(a, a));
}

// Unit vector along a; the zero vector stays zero.
KP_FN kp_vec3 kp_vec3_normalize(kp_vec3 a) {
  double length = kp_vec3_length(a);
  return length > 0.0 ? kp_vec3_scale(a, 1.0 / length) : a;
}

KP_FN kp_vec3 kp_vec3_min(kp_vec3 a, kp_vec3 b) {
  return kp_vec3_make(a.x < b.x ? a.x : b.x, a.y < b.y ? a.y : b.y, a.z < b.z ? a.z : b.z);
}

KP_FN kp_vec3 kp_vec3_max(kp_vec3 a, kp_vec3 b) {
  return kp_vec3_make(a.x > b.x ? a.x : b.x, a.y > b.y ? a.y : b.y, a.z > b.z ? a.z : b.z);
}

KP_FN kp_vec3 kp_mat3_mul_vec3(const kp_mat3 *a, kp_vec3 v) {
  return kp_vec3_make(a->m[0][0] * v.x + a->m[0][1] * v.y + a->m[0][2] * v.z,
                      a->m[1][0] * v.x + a->m[1][1] * v.y + a->m[1][2] * v.z,
                      a->m[2][0] * v.x + a->m[2][1] * v.y + a->m[2][2] * v.z);
}

// The inverse, for a matrix that has one.
KP_FN kp_mat3 kp_mat3_inverse(const kp_mat3 *a) {
  kp_mat3 r;
  for (int i = 0; i < 3; ++i) {
    for (int j = 0; j < 3; ++j) {
      int i1 = (i + 1) % 3, i2 = (i + 2) % 3, j1 = (j + 1) % 3, j2 = (j + 2) % 3;
      r.m[j][i] = a->m[i1][j1] * a->m[i2][j2] - a->m[i1][j2] * a->m[i2][j1];
    }
  }
  double det = a->m[0][0] * r.m[0][0] + a->m[0][1] * r.m[1][0] + a->m[0][2] * r.m[2][0];
  for (int i = 0; i < 9; ++i) {
    r.m[i / 3][i % 3] /= det;
  }
  return r;
}

KP_FN kp_vec3 kp_mat3_transpose_mul_vec3(const kp_mat3 *a, kp_vec3 v) {
  return kp_vec3_make(a->m[0][0] * v.x + a->m[1][0] * v.y + a->m[2][0] * v.z,
                      a->m[0][1] * v.x + a->m[1][1] * v.y + a->m[2][1] * v.z,
                      a->m[0][2] * v.x + a->m[1][2] * v.y + a->m[2][2] * v.z);
}

KP_FN kp_quat kp_quat_make(double w, double x, double y, double z) {
  kp_quat q;
  q.w = w;
  q.x = x;
  q.y = y;
  q.z = z;
  return q;
}

KP_FN kp_quat kp_quat_identity(void) {
  return kp_quat_make(1.0, 0.0, 0.0, 0.0);
}

KP_FN kp_quat kp_quat_mul(kp_quat a, kp_quat b) {
  return kp_quat_make(
      a.w * b.w - a.x * b.x - a.y * b.y - a.z * b.z, a.w * b.x + a.x * b.w + a.y * b.z - a.z * b.y,
      a.w * b.y - a.x * b.z + a.y * b.w + a.z * b.x, a.w * b.z + a.x * b.y - a.y * b.x + a.z * b.w);
}

KP_FN kp_quat kp_quat_conjugate(kp_quat q) {
  return kp_quat_make(q.w, -q.x, -q.y, -q.z);
}

KP_FN kp_quat kp_quat_normalize(kp_quat q) {
  double n = sqrt(q.w * q.w + q.x * q.x + q.y * q.y + q.z * q.z);
  double s = n > 0.0 ? 1.0 / n : 0.0;
  return n > 0.0 ? kp_quat_make(q.w * s, q.x * s, q.y * s, q.z * s) : kp_quat_identity();
}

KP_FN kp_quat kp_quat_from_axis_angle(kp_vec3 unit_axis, double radians) {
  double s = sin(0.5 * radians);
  return kp_quat_make(cos(0.5 * radians), s * unit_axis.x, s * unit_axis.y, s * unit_axis.z);
}

KP_FN kp_vec3 kp_quat_rotate(kp_quat q, kp_vec3 v) {
  kp_vec3 u = kp_vec3_make(q.x, q.y, q.z);
  kp_vec3 t = kp_vec3_scale(kp_vec3_cross(u, v), 2.0);
  return kp_vec3_add(kp_vec3_madd(v, q.w, t), kp_vec3_cross(u, t));
}

KP_FN kp_mat3 kp_quat_to_mat3(kp_quat q) {
  kp_mat3 r;
  r.m[0][0] = 1.0 - 2.0 * (q.y * q.y + q.z * q.z);
  r.m[0][1] = 2.0 * (q.x * q.y - q.w * q.z);
  r.m[0][2] = 2.0 * (q.x * q.z + q.w * q.y);
  r.m[1][0] = 2.0 * (q.x * q.y + q.w * q.z);
  r.m[1][1] = 1.0 - 2.0 * (q.x * q.x + q.z * q.z);
  r.m[1][2] = 2.0 * (q.y * q.z - q.w * q.x);
  r.m[2][0] = 2.0 * (q.x * q.z - q.w * q.y);
  r.m[2][1] = 2.0 * (q.y * q.z + q.w * q.x);
  r.m[2][2] = 1.0 - 2.0 * (q.x * q.x + q.y * q.y);
  return r;
}

// The box that holds nothing: growing it by a point gives that point.
KP_FN kp_aabb kp_aabb_empty(void) {
  kp_aabb b;
  b.min = kp_vec3_make(HUGE_VAL, HUGE_VAL, HUGE_VAL);
  b.max = kp_vec3_make(-HUGE_VAL, -HUGE_VAL, -HUGE_VAL);
  return b;
}

KP_FN kp_aabb kp_aabb_grow(kp_aabb b, kp_vec3 p) {
  b.min = kp_vec3_min(b.min, p);
  b.max = kp_vec3_max(b.max, p);
  return b;
}

KP_FN bool kp_aabb_holds(kp_aabb b, kp_vec3 p) {
  return p.x >= b.min.x && p.x <= b.max.x && p.y >= b.min.y && p.y <= b.max.y && p.z >= b.min.z &&
         p.z <= b.max.z;
}
