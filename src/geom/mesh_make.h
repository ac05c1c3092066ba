// Closed, outward oriented meshes of simple solids: for pictures, tests and rigid bodies.
// Each function creates *mesh; the caller destroys it.
#pragma once

#include "geom/mesh.h"

KP_NODISCARD kp_result kp_mesh_make_box(kp_aabb box, kp_mesh *mesh);

// Twenty-sided solid, each triangle split into four `levels` times and pushed out to the sphere:
// 20 * 4^levels triangles; levels 0 to 9.
KP_NODISCARD kp_result kp_mesh_make_icosphere(kp_vec3 center, double radius, int levels,
                                              kp_mesh *mesh);

// A solid of revolution about the axis a -> b: a polyline of (distance from the axis, distance
// from a along it), from a point on the axis to a point on the axis, outward with the axis up.
typedef struct kp_profile_point {
  double radius, height;
} kp_profile_point;

KP_NODISCARD kp_result kp_mesh_make_lathe(kp_vec3 a, kp_vec3 b, const kp_profile_point *profile,
                                          int n_profile, int n_around, kp_mesh *mesh);

// Axis end points a and b, `n_around` corners.
KP_NODISCARD kp_result kp_mesh_make_cylinder(kp_vec3 a, kp_vec3 b, double radius, int n_around,
                                             kp_mesh *mesh);
KP_NODISCARD kp_result kp_mesh_make_capsule(kp_vec3 a, kp_vec3 b, double radius, int n_around,
                                            kp_mesh *mesh);
