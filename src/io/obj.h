// Reader of Wavefront OBJ meshes: vertices (v) and polygons (f) with indices in any of the forms i,
// i/t, i//n, i/t/n, counted from 1 or backwards from -1. Polygons become fans of triangles, which
// is right for convex ones; triangles that use a vertex twice are dropped. Everything else OBJ
// knows is skipped.
#pragma once

#include "geom/mesh.h"

// Create *mesh from a file, or from n bytes called `name` in messages. Fails with KP_ERROR_IO or
// KP_ERROR_FORMAT and a sentence that names file, line and what is wrong; *mesh is then empty.
KP_NODISCARD kp_result kp_obj_read(const char *path, kp_mesh *mesh);
KP_NODISCARD kp_result kp_obj_parse(const void *bytes, size_t n_bytes, const char *name,
                                    kp_mesh *mesh);
