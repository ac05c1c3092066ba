// A cloth that is a material: triangles of a membrane, and angles at edges that resist bending as a
// plate does.
#pragma once

#include "methods/deform/grid_links.h"
#include "methods/deform/part.h"

// N/m and N m, as the def names them or as its Young's modulus and thickness give them.
double kp_cloth_modulus(const kp_cloth_def *def);
double kp_cloth_bending(const kp_cloth_def *def);

// Add the elements to a part whose nodes, masses and triangles are known: what stretches, and what
// bends, of nodes in rows (node (i, j) has number j columns + i) or of any triangles.
KP_NODISCARD kp_result kp_cloth_add_membrane(const kp_cloth_def *def, kp_part *part);
KP_NODISCARD kp_result kp_cloth_bend_rows(const kp_cloth_def *def, const kp_grid_shape *grid,
                                          kp_part *part);
KP_NODISCARD kp_result kp_cloth_bend_triangles(const kp_cloth_def *def, kp_part *part);
