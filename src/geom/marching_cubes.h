// Marching cubes (Lorensen and Cline 1987): the surface on which samples of a lattice have a given
// value, as triangles with shared vertices.
//
// Most of a lattice is far from the surface, so the work is done on bits: one per sample tells
// whether it lies below the level, and 64 cells at a time are passed over where all bits agree. The
// vertex on an edge is found by counting bits before it in its row; no table of edges is kept. What
// is made depends on the samples alone, in an order that is fixed for any number of threads.
//
// Faces with two corners inside across from each other are cut so that these corners stay apart, by
// both cells beside the face alike; so the surface has no holes, and it is closed unless it meets
// the rim of the lattice. Every edge of a closed surface belongs to two triangles.
#pragma once

#include "base/result.h"
#include "kelpie/vec.h"

// Sample (i, j, k) is values[i + j row + k slab], at origin + spacing (i, j, k).
typedef struct kp_lattice {
  const float *values;
  int32_t n[3];
  int64_t row, slab;
  kp_vec3 origin;  // m
  double spacing;  // m
} kp_lattice;

// Arrays that grow and are kept for the next surface; start from a zeroed struct.
typedef struct kp_isosurface {
  int64_t n_vertices, n_triangles;
  kp_vec3 *vertices;    // m
  float *normals;       // 3 per vertex, unit, towards higher values
  uint32_t *triangles;  // 3 per triangle, counter-clockwise seen from higher values
  void *scratch;
  void *block_scratch;  // of kp_marching_blocks
} kp_isosurface;

// The surface where values cross `level`; what is lower is inside. Values that are not finite lie
// outside. Fails without memory, and when there are more vertices than 32 bits can number.
KP_NODISCARD kp_result kp_marching_cubes(const kp_lattice *lattice, float level,
                                         kp_isosurface *out);
// Room for n_vertices and n_triangles; what the arrays held may be gone.
KP_NODISCARD kp_result kp_isosurface_reserve(kp_isosurface *surface);
void kp_isosurface_free(kp_isosurface *surface);
void kp_marching_blocks_free(void *block_scratch);
