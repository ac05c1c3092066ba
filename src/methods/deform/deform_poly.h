// Conjugate gradients with a polynomial of the matrix as the preconditioner, in one launch
// (deform_poly_kernels.h): for cards, where the sweeps of deform_sweep.h are bound by launches.
#pragma once

#include "methods/deform/deform.h"

typedef struct kp_poly {
  bool is_used;
  int32_t n_hubs;
  int64_t n_tiles;                              // of rows and of shares of hubs
  kp_buffer hub, hub_row, hub_start, hub_tile;  // I32, see poly_solve_args
  kp_buffer sums, hub_sums, report;             // F64
} kp_poly;

void kp_poly_init(kp_poly *poly, kp_backend *backend);
void kp_poly_free(kp_poly *poly);
// Whether a system is to be solved so, and its tables if it is; its rows and shares are known.
KP_NODISCARD kp_result kp_poly_make(kp_deform *deform, kp_sweep *sweep, kp_backend *backend);

// out = x as far as nodes are free to move; may be x.
KP_NODISCARD kp_result kp_poly_take(kp_deform *deform, kp_sweep *sweep, kp_buffer *x,
                                    kp_buffer *out);
// sweep->change from zero to what leaves `tolerance` times `length` of sweep->right, which is lost.
// In deform->pcg.report: iterations and residual, over `length`.
KP_NODISCARD kp_result kp_poly_solve(kp_deform *deform, kp_sweep *sweep, double tolerance,
                                     double length, int max_iterations);
