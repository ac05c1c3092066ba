// Velocity of a vorticity in free space by its stream function, the vortex-in-cell way
// (Christiansen 1973; Cottet & Koumoutsakos 2000, ch. 8):
//
//   laplace psi = -w,   psi -> 0 far away,   u = curl psi
//
// Vorticity and psi live on the edges of cells, each component on the edges along its own axis, and
// u on their faces, where its divergence is that of rounding whatever psi is. psi around the box is
// the sum over all vorticity, by a tree of blocks with their moments up to the second; inside, the
// solver of poisson.h finds it, to fourth order away from the vorticity (stream_kernels.h).
//
// Work per cell of the box does not depend on their number; the layer around takes some hundred
// blocks per item.
#pragma once

#include "data/mac.h"

typedef struct kp_stream kp_stream;

typedef struct kp_stream_report {
  int iterations;  // of all solves together
  bool is_converged;
  double residual;  // worst of the last solves, |b - A p| / |b|
} kp_stream_report;

KP_NODISCARD kp_result kp_stream_create(kp_backend *backend, kp_stream **out);
void kp_stream_destroy(kp_stream **stream);
// A box of n cells. What the arrays held is lost when it changes.
KP_NODISCARD kp_result kp_stream_fit(kp_stream *stream, const int32_t n[3]);
// The vorticity along an axis, for the caller to write before each solve: w h^2 [m^2/s] of the edge
// at the lower sides of each cell, x fastest, h the edge of a cell.
kp_buffer *kp_stream_vorticity(kp_stream *stream, int axis);
// psi and the flow through faces, per area.
KP_NODISCARD kp_result kp_stream_solve(kp_stream *stream, double cell, kp_stream_report *report);
// Velocity in the middle of the cells, x fastest [m/s].
KP_NODISCARD kp_result kp_stream_center(kp_stream *stream, kp_buffer *out[3]);
// psi [m^2/s], with one layer around the grid.
kp_buffer *kp_stream_function(kp_stream *stream, int axis);
// Velocity on faces [m/s] and the grid that they belong to: cell (0, 0, 0) of the box is cell
// (pad, pad, pad) of that.
kp_buffer *kp_stream_faces(kp_stream *stream, int axis);
const kp_mac *kp_stream_grid(const kp_stream *stream, int32_t *pad);
// Bytes per cell of the box of all that it holds.
double kp_stream_bytes_per_cell(const kp_stream *stream);
