// Signed distance of the shapes that have a formula, for the host and for kernels alike. Meshes
// have none: kernels ask a baked grid (geom/distance_grid.h), the host a tree (geom/mesh_query.h).
#pragma once

#include <math.h>

#include "geom/frame.h"
#include "kelpie/shape.h"

// What the formulas need of a shape.
typedef struct kp_shape_view {
  int32_t kind;       // kp_shape_kind, not KP_SHAPE_MESH
  int32_t dimension;  // 2: the section by z = 0
  int32_t is_flat;    // box: unbounded in z
  int32_t invert;
  kp_vec3 p, q;  // box: min, max; sphere: centre; cylinder, capsule: a, b; plane: point, normal
  double radius;
  double shell;  // thickness of a hollow one, 0: solid
} kp_shape_view;

// Each function gives the distance of the solid that is not inverted, and its gradient.

KP_FN double kp_shape_view_box(const kp_shape_view *s, kp_vec3 p, kp_vec3 *normal) {
  kp_vec3 middle = kp_vec3_scale(kp_vec3_add(s->p, s->q), 0.5);
  kp_vec3 half = kp_vec3_scale(kp_vec3_sub(s->q, s->p), 0.5);
  kp_vec3 d = kp_vec3_sub(p, middle);
  double q[3] = { fabs(d.x) - half.x, fabs(d.y) - half.y, fabs(d.z) - half.z };
  double side[3] = { copysign(1.0, d.x), copysign(1.0, d.y), copysign(1.0, d.z) };
  double n[3] = { 0.0, 0.0, 0.0 };
  int n_axes = s->is_flat ? 2 : 3;
  int nearest = 0;
  double outside2 = 0.0;
  for (int i = 0; i < n_axes; ++i) {
    nearest = q[i] > q[nearest] ? i : nearest;
    outside2 += q[i] > 0.0 ? q[i] * q[i] : 0.0;
  }
  double distance = outside2 > 0.0 ? sqrt(outside2) : q[nearest];
  if (outside2 > 0.0) {
    for (int i = 0; i < n_axes; ++i) {
      n[i] = q[i] > 0.0 ? side[i] * q[i] / distance : 0.0;
    }
  } else {
    n[nearest] = side[nearest];
  }
  *normal = kp_vec3_make(n[0], n[1], n[2]);
  return distance;
}

// Distance to a point, and the direction away from it; any direction at the point itself.
KP_FN double kp_shape_view_point(kp_vec3 d, kp_vec3 *direction) {
  double length = kp_vec3_length(d);
  *direction = length > 0.0 ? kp_vec3_scale(d, 1.0 / length) : kp_vec3_make(0.0, 1.0, 0.0);
  return length;
}

KP_FN double kp_shape_view_sphere(const kp_shape_view *s, kp_vec3 p, kp_vec3 *normal) {
  kp_vec3 d = kp_vec3_sub(p, s->p);
  if (s->dimension == 2) {
    d.z = 0.0;
  }
  return kp_shape_view_point(d, normal) - s->radius;
}

// In the half plane (distance from axis, height) the cylinder is a rectangle.
KP_FN double kp_shape_view_cylinder(const kp_shape_view *s, kp_vec3 p, kp_vec3 *normal) {
  kp_vec3 w = kp_vec3_sub(s->q, s->p);
  double half_length = 0.5 * kp_vec3_length(w);
  w = kp_vec3_scale(w, 0.5 / half_length);
  kp_vec3 d = kp_vec3_sub(p, kp_vec3_scale(kp_vec3_add(s->p, s->q), 0.5));
  double height = kp_vec3_dot(d, w);
  kp_vec3 away = kp_vec3_madd(d, -height, w);
  double rho = kp_vec3_length(away);
  kp_vec3 v;
  if (rho > 0.0) {
    away = kp_vec3_scale(away, 1.0 / rho);
  } else {
    kp_frame_make(w, &away, &v);
  }
  kp_vec3 up = kp_vec3_scale(w, copysign(1.0, height));
  double q_side = rho - s->radius;
  double q_end = fabs(height) - half_length;
  if (q_side > 0.0 && q_end > 0.0) {
    double distance = sqrt(q_side * q_side + q_end * q_end);
    *normal = kp_vec3_madd(kp_vec3_scale(away, q_side / distance), q_end / distance, up);
    return distance;
  }
  *normal = q_side > q_end ? away : up;
  return q_side > q_end ? q_side : q_end;
}

KP_FN double kp_shape_view_capsule(const kp_shape_view *s, kp_vec3 p, kp_vec3 *normal) {
  kp_vec3 axis = kp_vec3_sub(s->q, s->p);
  double t = kp_vec3_dot(kp_vec3_sub(p, s->p), axis) / kp_vec3_dot(axis, axis);
  t = t < 0.0 ? 0.0 : (t > 1.0 ? 1.0 : t);
  kp_vec3 d = kp_vec3_sub(p, kp_vec3_madd(s->p, t, axis));
  return kp_shape_view_point(d, normal) - s->radius;
}

KP_FN double kp_shape_view_plane(const kp_shape_view *s, kp_vec3 p, kp_vec3 *normal) {
  *normal = s->q;
  return kp_vec3_dot(kp_vec3_sub(p, s->p), s->q);
}

KP_FN double kp_shape_view_query(const kp_shape_view *s, kp_vec3 p, kp_vec3 *normal) {
  kp_vec3 n = { 0.0, 0.0, 0.0 };
  double distance = 0.0;
  switch (s->kind) {
  case KP_SHAPE_BOX:
    distance = kp_shape_view_box(s, p, &n);
    break;
  case KP_SHAPE_SPHERE:
    distance = kp_shape_view_sphere(s, p, &n);
    break;
  case KP_SHAPE_CYLINDER:
    distance = kp_shape_view_cylinder(s, p, &n);
    break;
  case KP_SHAPE_CAPSULE:
    distance = kp_shape_view_capsule(s, p, &n);
    break;
  default:
    distance = kp_shape_view_plane(s, p, &n);
    break;
  }
  if (s->shell > 0.0) {
    *normal = kp_vec3_scale(n, copysign(1.0, distance));
    return fabs(distance) - 0.5 * s->shell;
  }
  if (s->dimension == 2) {
    // the gradient inside the plane
    n.z = 0.0;
    n = kp_vec3_normalize(n);
  }
  *normal = s->invert ? kp_vec3_scale(n, -1.0) : n;
  return s->invert ? -distance : distance;
}
