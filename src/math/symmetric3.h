// Symmetric 3 x 3 matrices: eigenvalues and the pseudo-inverse.
#pragma once

#include "kelpie/vec.h"

// a = sum values[k] v_k v_k^T, v_k the columns of `vectors`; in no order (cyclic Jacobi).
void kp_symmetric3_eigen(const kp_mat3 *a, double values[3], kp_mat3 *vectors);

// x = a^+ b: of all x with the smallest |a x - b| the shortest. Eigenvalues below `cut` times the
// largest count as zero; so a singular a, even a = 0, has an answer.
kp_vec3 kp_symmetric3_solve(const kp_mat3 *a, kp_vec3 b, double cut);
