// Normals for meshes that bring none: faces around a vertex are averaged by area, but not across
// creases, so that cloth is smooth and a crate has edges.
#pragma once

#include "base/array.h"
#include "io/export.h"
#include "kelpie/vec.h"

typedef struct kp_mesh_normals {
  KP_ARRAY(kp_vec3) normals;  // unit: one per vertex, then those of corners beside creases
  uint32_t *indices;          // 3 per triangle
} kp_mesh_normals;

// Faces that meet at more than crease_deg are not averaged. Free with kp_mesh_normals_free, also
// after a failure.
KP_NODISCARD kp_result kp_mesh_normals_make(const kp_export_object *mesh, double crease_deg,
                                            kp_mesh_normals *out);
void kp_mesh_normals_free(kp_mesh_normals *normals);
