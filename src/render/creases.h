// Closed meshes with sharp edges: their vertices are doubled where faces meet at a crease, so that
// each side has normals of its own. One mean of both sides would round the edges of drums, beams
// and dice as if they had a light of their own. Open sheets such as cloth are left as they are.
#pragma once

#include "base/result.h"
#include "kelpie/vec.h"

typedef struct kp_creases {
  uint64_t n;           // vertices; as many as before: there is no crease
  uint32_t *from;       // the vertex each was
  uint32_t *triangles;  // three per triangle
  float *normals;       // three per vertex
} kp_creases;

// Start from a zeroed struct. The first of the vertices that one became keeps its place.
KP_NODISCARD kp_result kp_creases_find(kp_creases *c, const kp_vec3 *vertices, uint64_t n_vertices,
                                       const uint32_t *triangles, uint64_t n_triangles);
void kp_creases_free(kp_creases *c);
