// Marching squares: the lines on which samples of one layer of a lattice have a given value, as
// directed pieces with shared vertices; what is lower lies to their left. Squares with two corners
// inside across from each other are cut so that these corners stay apart, as marching cubes cuts
// faces. Lines are closed loops unless they meet the rim of the lattice.
#pragma once

#include "geom/marching_cubes.h"

// Arrays that grow and are kept for the next lines; start from a zeroed struct.
typedef struct kp_isolines {
  int64_t n_vertices, n_pieces;
  kp_vec3 *vertices;  // m, in the plane of the layer
  uint32_t *pieces;   // from, to
  uint32_t *numbers;  // of the vertices on edges along x and y
} kp_isolines;

// Of layer k of the lattice. Values that are not finite lie outside.
KP_NODISCARD kp_result kp_marching_squares(const kp_lattice *lattice, int32_t k, float level,
                                           kp_isolines *out);
// What the loops enclose [m^2]; loops around holes count against it.
double kp_isolines_area(const kp_isolines *lines);
void kp_isolines_free(kp_isolines *lines);
