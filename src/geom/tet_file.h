// Loading a mesh of tetrahedra by file name. Declared here so that soft bodies can ask for one; the
// readers live in the layer io, which implements this function (src/io/tet_file.c).
#pragma once

#include "geom/tetrahedra.h"

// Medit (.mesh, text) or TetGen (.node and .ele beside each other; either name), told apart by the
// ending. Tetrahedra are turned to positive volume, vertices that none of them uses are left out.
// Fails with a sentence that names file, line and what is wrong; *mesh is then empty.
KP_NODISCARD kp_result kp_tet_mesh_read(const char *path, kp_tet_mesh *mesh);
