// Files of tetrahedra: Medit (.mesh) and TetGen (.node with .ele), text both.
#pragma once

#include "geom/tet_file.h"

// Parsers of bytes in memory, for files of any origin. `name` is for messages.
KP_NODISCARD kp_result kp_medit_parse(const void *bytes, size_t n_bytes, const char *name,
                                      kp_tet_mesh *mesh);
KP_NODISCARD kp_result kp_tetgen_parse(const void *nodes, size_t n_nodes, const void *elements,
                                       size_t n_elements, const char *name, kp_tet_mesh *mesh);

// Writes what kp_tet_mesh_read reads back exactly; the ending of the path says which format.
KP_NODISCARD kp_result kp_tet_mesh_write(const char *path, const kp_tet_mesh *mesh);
