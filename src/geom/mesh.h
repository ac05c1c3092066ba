// Triangle meshes: vertices in metres, triangles as three vertex indices, counter-clockwise seen
// from outside. A mesh owns its arrays. Everything here is serial and deterministic; positions are
// double.
#pragma once

#include "base/result.h"
#include "kelpie/vec.h"

typedef struct kp_triangle {
  kp_index v[3];
} kp_triangle;

typedef struct kp_mesh {
  kp_vec3 *vertices;
  kp_triangle *triangles;
  kp_index n_vertices;
  kp_index n_triangles;
} kp_mesh;

// What a rigid body of density 1 kg/m^3 needs: multiply volume and inertia by the density.
typedef struct kp_mass_properties {
  double volume;    // [m^3]
  kp_vec3 center;   // centre of mass [m]
  kp_mat3 inertia;  // about the centre, axes of the world [m^5]
} kp_mass_properties;

// Allocate arrays that the caller fills. On failure *mesh is empty.
KP_NODISCARD kp_result kp_mesh_create(kp_index n_vertices, kp_index n_triangles, kp_mesh *mesh);
KP_NODISCARD kp_result kp_mesh_copy(const kp_mesh *mesh, kp_mesh *copy);

// Free the arrays and leave an empty mesh; an empty mesh is fine.
void kp_mesh_destroy(kp_mesh *mesh);

// The box around all vertices; kp_aabb_empty() when there are none.
kp_aabb kp_mesh_bounds(const kp_mesh *mesh);

// Succeeds when every edge is shared by exactly two triangles that run through it in opposite
// directions, so that the mesh encloses a volume. Otherwise KP_ERROR_FORMAT with a sentence that
// names the first offending edge by its vertex numbers (from 0).
KP_NODISCARD kp_result kp_mesh_check_closed(const kp_mesh *mesh);

double kp_mesh_area(const kp_mesh *mesh);

// Signed volume, volume centroid and inertia of a closed mesh, from signed tetrahedra.
// An inside-out mesh has a negative volume.
double kp_mesh_volume(const kp_mesh *mesh);
kp_vec3 kp_mesh_centroid(const kp_mesh *mesh);
kp_mass_properties kp_mesh_mass_properties(const kp_mesh *mesh);

// The same of a thin wall along a mesh, open or closed, of a thickness [m].
kp_mass_properties kp_mesh_surface_mass_properties(const kp_mesh *mesh, double thickness);

// x -> linear x + translate. A mirroring matrix also turns the triangles, so outside stays outside.
void kp_mesh_transform(kp_mesh *mesh, const kp_mat3 *linear, kp_vec3 translate);

// Turn every triangle over.
void kp_mesh_flip(kp_mesh *mesh);

// Join vertices at exactly the same place (texture seams, triangle soups) and drop triangles that
// lose an edge by it. The first of equal vertices stays; order is kept.
KP_NODISCARD kp_result kp_mesh_weld(kp_mesh *mesh);

// Leave out vertices of no triangle; order is kept.
KP_NODISCARD kp_result kp_mesh_drop_unused(kp_mesh *mesh);

// Unit normal of a triangle; zero for a degenerate one.
kp_vec3 kp_mesh_triangle_normal(const kp_mesh *mesh, kp_index triangle);

// Unit vertex normals weighted by the corner angles (Thuermer and Wuethrich 1998); n_vertices
// values.
void kp_mesh_vertex_normals(const kp_mesh *mesh, kp_vec3 *normals);
