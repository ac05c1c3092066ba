// What smoothing does at one vertex, for the loops of the host (mesh_smooth.c) and for kernels
// (mesh_smooth_kernels.h): both add up in the same order, so meshes have the same bits.
#pragma once

#include "geom/mesh_smooth.h"

#define KP_SMOOTH_REACH 1000000  // cells from the origin: so far a mesh may be smoothed

// A vertex on a face of the box moves along it.
KP_FN double kp_smooth_keep_on(double from, double to, double lo, double hi, double near) {
  double kept = to > lo ? to : lo;
  kept = kept < hi ? kept : hi;
  return fabs(from - lo) < near || fabs(from - hi) < near ? from : kept;
}

KP_FN kp_vec3 kp_smooth_keep(const kp_mesh_smoother_def *how, kp_vec3 from, kp_vec3 to) {
  const kp_aabb *b = &how->box;
  return kp_vec3_make(kp_smooth_keep_on(from.x, to.x, b->min.x, b->max.x, how->near),
                      kp_smooth_keep_on(from.y, to.y, b->min.y, b->max.y, how->near),
                      kp_smooth_keep_on(from.z, to.z, b->min.z, b->max.z, how->near));
}

// ---- means within a radius

typedef struct kp_smooth_sum {
  kp_vec3 way, normal;  // from the vertex, and of all that count
  double count;
} kp_smooth_sum;

KP_FN void kp_smooth_add(kp_smooth_sum *s, double square, kp_vec3 p, kp_vec3 other,
                         const float *normal) {
  kp_vec3 d = kp_vec3_sub(other, p);
  if (kp_vec3_dot(d, d) <= square) {
    s->way = kp_vec3_add(s->way, d);
    s->normal = kp_vec3_add(s->normal,
                            kp_vec3_make((double)normal[0], (double)normal[1], (double)normal[2]));
    s->count += 1.0;
  }
}

// Where the vertex goes, and its normal, which was `own`.
KP_FN kp_vec3 kp_smooth_mean(const kp_mesh_smoother_def *how, const kp_smooth_sum *s, kp_vec3 p,
                             const float *own, float *normal) {
  double length = kp_vec3_length(s->normal);
  kp_vec3 way = s->way;
  if (how->kind == KP_MESH_SMOOTHING_NORMAL) {
    double along = length > 0.0 ? kp_vec3_dot(way, s->normal) / (length * length) : 0.0;
    way = kp_vec3_scale(s->normal, along);
  }
  const double n[3] = { s->normal.x, s->normal.y, s->normal.z };
  for (int c = 0; c < 3; ++c) {
    normal[c] = length > 1e-6 * s->count ? (float)(n[c] / length) : own[c];
  }
  return kp_smooth_keep(how, p, kp_vec3_madd(p, 1.0 / s->count, way));
}

// ---- steps along edges

#define KP_SMOOTH_LAMBDA 0.5
#define KP_SMOOTH_MU (-0.53)  // waves with 1/lambda + 1/mu = 0.11 of the highest frequency pass

// The vertex that follows at side `i` of the triangles.
KP_FN uint32_t kp_smooth_next(const uint32_t *triangles, int64_t i) {
  return triangles[i % 3 == 2 ? i - 2 : i + 1];
}

// Adds the normal of a triangle by its area, in units of the mesh, so that small triangles do not
// vanish in floats.
KP_FN void kp_smooth_add_normal(const kp_vec3 *vertices, const uint32_t *t, float *m) {
  kp_vec3 a = vertices[t[0]];
  kp_vec3 n = kp_vec3_cross(kp_vec3_sub(vertices[t[1]], a), kp_vec3_sub(vertices[t[2]], a));
  double square = kp_vec3_dot(n, n);
  double scale = square > 0.0 ? 1.0 / sqrt(sqrt(square)) : 0.0;
  m[0] += (float)(n.x * scale);
  m[1] += (float)(n.y * scale);
  m[2] += (float)(n.z * scale);
}

KP_FN void kp_smooth_unit_normal(float *m) {
  float length = sqrtf(m[0] * m[0] + m[1] * m[1] + m[2] * m[2]);
  for (int c = 0; c < 3; ++c) {
    m[c] = length > 0.0f ? m[c] / length : (c == 2 ? 1.0f : 0.0f);
  }
}
