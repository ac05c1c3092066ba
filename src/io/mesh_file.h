// What the mesh readers share.
#pragma once

#include "geom/mesh.h"

typedef kp_result (*kp_mesh_parse_fn)(const void *bytes, size_t n_bytes, const char *name,
                                      kp_mesh *mesh);

// Read the whole file and parse it.
KP_NODISCARD kp_result kp_mesh_read_with(kp_mesh_parse_fn parse, const char *path, kp_mesh *mesh);

// Three different vertices.
KP_FN bool kp_triangle_is_proper(const kp_triangle *t) {
  return t->v[0] != t->v[1] && t->v[1] != t->v[2] && t->v[2] != t->v[0];
}
