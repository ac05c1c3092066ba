// The baselines that go item by item, each from what the last one left, on the host and one thread:
//
// Incomplete Cholesky without fill (Meijerink & van der Vorst 1977): A is near L L' on the entries
// of A. Only the diagonal of L has to be kept, L_ij = -c_ij / L_jj; couplings across periodic sides
// are left out.
//
// Successive over-relaxation in the order of Foster & Metaxas (1996): the divergence of each cell
// in turn, x fastest, is met by its own pressure, overdone by omega.
//
// Arrays are those of poisson.h with their layout.
#pragma once

#include "linalg/poisson_kernels.h"

typedef struct kp_relaxed_matrix {
  poisson_grid grid;  // of the window: items 0..n-1 along each axis
  int32_t is_periodic[3];
  kp_real scale;
  const uint8_t *flags;
  const kp_real *cx, *cy, *cz;
  const kp_real *extra;  // may be NULL
} kp_relaxed_matrix;

// 1 / L_ii, 0 where there is no unknown.
void kp_relaxed_factor(const kp_relaxed_matrix *m, kp_real *inverse);
// L q = r, then L' u = q.
void kp_relaxed_precondition(const kp_relaxed_matrix *m, const kp_real *inverse, const kp_real *r,
                             kp_real *u);
// One sweep on A x = b; inverse is 1 over the diagonal.
void kp_relaxed_sweep(const kp_relaxed_matrix *m, kp_real omega, const kp_real *inverse,
                      const kp_real *b, kp_real *x);
