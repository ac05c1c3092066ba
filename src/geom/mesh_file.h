// Loading a mesh by file name. Declared here so that shapes can ask for a mesh; the readers live in
// the layer io, which implements this function (src/io/mesh_file.c).
#pragma once

#include "geom/mesh.h"

// Read an OBJ or PLY file, told apart by the first bytes. Fails with a sentence that names file,
// line (or element) and what is wrong; *mesh is then empty.
KP_NODISCARD kp_result kp_mesh_read(const char *path, kp_mesh *mesh);
