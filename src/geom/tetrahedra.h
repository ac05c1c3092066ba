// Meshes of tetrahedra: corners a, b, c, d with (b - a).((c - a) x (d - a)) > 0. A mesh owns its
// arrays. Everything here is serial and deterministic; positions are double.
//
// Solids are filled from a lattice whose tetrahedra are all alike (BCC: two cubic lattices, one
// shifted by half a cell), conformed to the surface by isosurface stuffing (Labelle and Shewchuk
// 2007): lattice points near the surface move onto it, and what still sticks out is cut off with a
// handful of stencils. Dihedral angles then lie between 10.7 and 164.8 degrees whatever the solid.
// Tetrahedra may grow with depth: away from the surface the lattice is that of an octree.
#pragma once

#include "geom/mesh.h"
#include "geom/shape.h"

typedef struct kp_tetrahedron {
  kp_index v[4];
} kp_tetrahedron;

typedef struct kp_tet_mesh {
  kp_vec3 *vertices;
  kp_tetrahedron *tets;
  kp_index n_vertices;
  kp_index n_tets;
} kp_tet_mesh;

typedef struct kp_tet_quality {
  double volume;     // m^3
  double smallest;   // m^3, of a tetrahedron; negative where one is inside out
  double angle_min;  // dihedral angles [degrees]
  double angle_max;
} kp_tet_quality;

KP_NODISCARD kp_result kp_tet_mesh_create(kp_index n_vertices, kp_index n_tets, kp_tet_mesh *mesh);
void kp_tet_mesh_destroy(kp_tet_mesh *mesh);

kp_tet_quality kp_tet_mesh_quality(const kp_tet_mesh *mesh);
// Widen a range by the dihedral angles of one tetrahedron [rad].
void kp_tet_angles(const kp_vec3 x[4], double *smallest, double *largest);
double kp_tet_volume(const kp_tet_mesh *mesh, kp_index tet);

// Turns tetrahedra of negative volume over. KP_ERROR_FORMAT with a sentence for corners that are
// not there, flat tetrahedra and vertices of none.
KP_NODISCARD kp_result kp_tet_mesh_check(kp_tet_mesh *mesh, const char *name);

// Pieces that share no vertex. `smallest` gets the number of vertices of the smallest one; it may
// be NULL.
KP_NODISCARD kp_result kp_tet_mesh_count_pieces(const kp_tet_mesh *mesh, kp_index *count,
                                                kp_index *smallest);

// The faces that belong to one tetrahedron only, counter-clockwise from outside, over all vertices
// of the mesh.
KP_NODISCARD kp_result kp_tet_mesh_surface(const kp_tet_mesh *mesh, kp_mesh *surface);

// Signed distance, negative inside, slope at most one.
typedef double (*kp_distance_fn)(const void *self, kp_vec3 p);

typedef struct kp_tet_size {
  double spacing;  // m, of the cubic lattices at the surface
  double grade;    // what a cell at depth d may be wider [m]: grade d. 0: all are alike
} kp_tet_size;

// The solid inside `bounds` where the distance is negative.
KP_NODISCARD kp_result kp_tet_mesh_stuff(kp_distance_fn distance, const void *self, kp_aabb bounds,
                                         kp_tet_size size, kp_tet_mesh *mesh);

// Boxes as cells of about `spacing`, five tetrahedra each, mirrored from cell to cell: exact.
KP_NODISCARD kp_result kp_tet_mesh_box(kp_aabb box, double spacing, kp_tet_mesh *mesh);

// Any bounded shape: boxes of one size exact, others stuffed.
KP_NODISCARD kp_result kp_tet_mesh_from_shape(const kp_shape *shape, kp_tet_size size,
                                              kp_tet_mesh *mesh);
