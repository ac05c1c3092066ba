// Advection of any field of a MAC grid, cell-centred or staggered, along a velocity of its faces
// (Selle 2008, chapter 2; Selle et al. 2008). See advect.md.
//
//   upwind           first order differences, CFL below 1
//   semi_lagrangian  one trace back, one interpolation
//   bfecc            three sweeps
//   maccormack       two sweeps: h1 = A(p), h0 = AR(h1), p' = h1 + (p - h0) / 2, then the limiter
//
// Where the second sweep could read another medium (cells with KP_CELL_NEAR_SOLID, and traces that
// leave the domain or the window) the first-order value is kept.
#pragma once

#include "data/mac.h"
#include "kelpie/types.h"

typedef struct kp_advect_def {
  int scheme;         // kp_advect_scheme
  int limiter;        // kp_advect_limiter
  int trace;          // kp_advect_trace
  int interpolation;  // kp_advect_interpolation
} kp_advect_def;

// maccormack, revert, euler, linear
kp_advect_def kp_default_advect_def(void);

// Scratch of the sweeps, shared by all fields of a grid; made when a scheme first needs it.
typedef struct kp_advect {
  kp_mac *mac;
  kp_field first, second, answer;  // outside the registry; only their buffers are used
} kp_advect;

KP_NODISCARD kp_result kp_advect_init(kp_advect *advect, kp_mac *mac);
void kp_advect_free(kp_advect *advect);

// One array at the places of `kind`, over dt, along `velocity` (its ghosts are filled; it does not
// change here, and may hold `values` itself only in kp_advect_velocity). `outside` fills the ghosts
// of cells at open sides (NaN: the nearest value). flags: u8 per cell, NULL: no solids. The answer
// is in `values`, ghosts too; what has solid all around, by `flags`, keeps its value.
KP_NODISCARD kp_result kp_advect_values(kp_advect *advect, const kp_advect_def *def,
                                        kp_mac_kind kind, kp_buffer *values, kp_field *velocity,
                                        kp_buffer *flags, double outside, double dt);

typedef struct kp_advect_item {
  kp_buffer *values;
  double outside;
} kp_advect_item;

// Several arrays at the same places: they share the traces, which makes the second one and those
// after it cheaper. The answers are those of kp_advect_values, bit by bit.
KP_NODISCARD kp_result kp_advect_items(kp_advect *advect, const kp_advect_def *def,
                                       kp_mac_kind kind, const kp_advect_item *items, int n_items,
                                       kp_field *velocity, kp_buffer *flags, double dt);

// The three components along themselves: all traces see the velocity as it was.
KP_NODISCARD kp_result kp_advect_velocity(kp_advect *advect, const kp_advect_def *def,
                                          kp_field *velocity, kp_buffer *flags, double dt);
