// Reader of PLY meshes: ASCII and binary of either byte order, properties in any order and of any
// type. Reads x, y, z of `vertex` and the list vertex_indices (or vertex_index) of `face`; polygons
// become fans of triangles; all other elements and properties are skipped.
#pragma once

#include "geom/mesh.h"

// Create *mesh from a file, or from n bytes called `name` in messages. Fails with KP_ERROR_IO or
// KP_ERROR_FORMAT and a sentence that names file, line or element, and what is wrong; *mesh is then
// empty.
KP_NODISCARD kp_result kp_ply_read(const char *path, kp_mesh *mesh);
KP_NODISCARD kp_result kp_ply_parse(const void *bytes, size_t n_bytes, const char *name,
                                    kp_mesh *mesh);
