// Three floats in view space: enough for pixels, because view space starts at the eye.
#pragma once

#include <math.h>

#include "kelpie/config.h"

typedef struct kp_f3 {
  float x, y, z;
} kp_f3;

KP_FN kp_f3 kp_f3_make(float x, float y, float z) {
  kp_f3 v;
  v.x = x;
  v.y = y;
  v.z = z;
  return v;
}

KP_FN kp_f3 kp_f3_add(kp_f3 a, kp_f3 b) {
  return kp_f3_make(a.x + b.x, a.y + b.y, a.z + b.z);
}

KP_FN kp_f3 kp_f3_sub(kp_f3 a, kp_f3 b) {
  return kp_f3_make(a.x - b.x, a.y - b.y, a.z - b.z);
}

KP_FN kp_f3 kp_f3_scale(kp_f3 a, float s) {
  return kp_f3_make(a.x * s, a.y * s, a.z * s);
}

// a + s b
KP_FN kp_f3 kp_f3_madd(kp_f3 a, float s, kp_f3 b) {
  return kp_f3_make(a.x + s * b.x, a.y + s * b.y, a.z + s * b.z);
}

KP_FN float kp_f3_dot(kp_f3 a, kp_f3 b) {
  return a.x * b.x + a.y * b.y + a.z * b.z;
}

KP_FN kp_f3 kp_f3_cross(kp_f3 a, kp_f3 b) {
  return kp_f3_make(a.y * b.z - a.z * b.y, a.z * b.x - a.x * b.z, a.x * b.y - a.y * b.x);
}

// Unit vector along a; the zero vector stays zero.
KP_FN kp_f3 kp_f3_normalize(kp_f3 a) {
  float n = sqrtf(kp_f3_dot(a, a));
  return n > 0.0f ? kp_f3_scale(a, 1.0f / n) : a;
}

// As fminf without its care for NaN, which costs a call in inner loops.
KP_FN float kp_minf(float a, float b) {
  return a < b ? a : b;
}

KP_FN float kp_maxf(float a, float b) {
  return a > b ? a : b;
}

KP_FN float kp_clampf(float v, float low, float high) {
  return v < low ? low : v > high ? high : v;
}
