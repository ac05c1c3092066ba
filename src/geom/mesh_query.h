// Closest point, winding number and signed distance of a triangle mesh, through a tree.
//
// The sign comes from the generalised winding number (Jacobson et al. 2013), summed over the tree
// with far nodes replaced by one dipole (Barill et al. 2018): robust for closed meshes, also those
// with overlapping parts. After kp_mesh_query_create every function is read-only and may run from
// any thread.
#pragma once

#include "geom/bvh.h"
#include "geom/mesh.h"

typedef struct kp_mesh_query kp_mesh_query;

typedef struct kp_mesh_hit {
  kp_vec3 point;      // on the mesh
  double distance;    // not negative
  kp_index triangle;  // -1 in an empty mesh
  double weights[3];  // barycentric weights of the point in the triangle
} kp_mesh_hit;

// Takes the mesh over on success (the caller's struct becomes empty); on failure the caller keeps
// it.
KP_NODISCARD kp_result kp_mesh_query_create(kp_mesh *mesh, kp_mesh_query **query);
void kp_mesh_query_destroy(kp_mesh_query **query);
const kp_mesh *kp_mesh_query_mesh(const kp_mesh_query *query);
const kp_bvh *kp_mesh_query_bvh(const kp_mesh_query *query);

kp_mesh_hit kp_mesh_query_closest(const kp_mesh_query *query, kp_vec3 p);

// 1 inside, 0 outside of a closed mesh; more where closed parts overlap.
double kp_mesh_query_winding(const kp_mesh_query *query, kp_vec3 p);

// Signed distance, negative inside; `normal` (may be NULL) gets the unit direction in which it
// grows.
double kp_mesh_query_distance(const kp_mesh_query *query, kp_vec3 p, kp_vec3 *normal);

// Closest point of one triangle (Ericson 2005, section 5.1.5) with its barycentric weights.
kp_vec3 kp_triangle_closest(kp_vec3 a, kp_vec3 b, kp_vec3 c, kp_vec3 p, double weights[3]);
