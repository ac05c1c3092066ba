// What every mesh reader must keep: a refused file leaves a sentence and nothing else; an accepted
// one is a mesh that every function of geom can take. Whether it was read.
#pragma once

#include <stdlib.h>

#include "geom/mesh.h"
#include "io/mesh_file.h"

static inline bool fuzz_mesh(kp_mesh_parse_fn parse, const uint8_t *bytes, size_t n_bytes) {
  kp_mesh mesh;
  int64_t held = kp_memory_bytes();
  bool is_read = parse(bytes, n_bytes, "fuzz", &mesh) == KP_OK;
  if (!is_read) {
    if (kp_last_error()[0] == '\0' || mesh.vertices != NULL) {
      abort();
    }
  } else {
    for (kp_index i = 0; i < 3 * mesh.n_triangles; ++i) {
      kp_index v = mesh.triangles[i / 3].v[i % 3];
      if (v < 0 || v >= mesh.n_vertices) {
        abort();
      }
    }
    (void)kp_mesh_mass_properties(&mesh);
    (void)!kp_mesh_check_closed(&mesh);
    (void)!kp_mesh_weld(&mesh);
    kp_mesh_destroy(&mesh);
  }
  if (kp_memory_bytes() != held) {
    abort();
  }
  return is_read;
}
