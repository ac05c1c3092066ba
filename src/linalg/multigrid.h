// One V-cycle of geometric multigrid as a preconditioner for the equation of poisson.h.
//
// A coarse item is two by two by two items of the finer level (any number of items; along an axis
// of one item none are joined, and never across z in 2D). It is an unknown where one of them is.
// Its coefficients are sums over the faces of its children, halved because distances double: what
// discretising anew with the open share of the faces gives. Cut faces, thin solids and variable
// densities go through as they are; ties to given values (open air, ghost fluid with any theta) are
// carried as resistances in series with the longer way to the middle of the coarse item.
// Prolongation is linear as far as the coefficients let through (multigrid_kernels.h), restriction
// its transpose. Smoothing is one red-black Gauss-Seidel sweep before and one black-red after,
// equal for any number of threads. The coarsest level is one item.
//
// The V-cycle is symmetric and positive on the unknowns, so conjugate gradients may use it
// (McAdams, Sifakis & Teran 2010; on halved coefficients Braess 1995).
#pragma once

#include "data/call.h"
#include "linalg/poisson_kernels.h"

typedef struct kp_multigrid kp_multigrid;

// The finest level, which belongs to the caller.
typedef struct kp_multigrid_fine {
  poisson_grid grid;
  int32_t lo[3], hi[3];  // items inside the window
  uint64_t revision;     // of the window
  bool is_periodic[3];
  kp_real scale;
  kp_buffer *faces[3];  // [2] is NULL in 2D
  kp_buffer *extra;     // may be NULL
  kp_buffer *inverse;   // 1 over the diagonal, 0 where there is no unknown and in ghosts
  kp_buffer *segments;  // rows of the window
  int64_t n_segments;
} kp_multigrid_fine;

KP_NODISCARD kp_result kp_multigrid_create(kp_backend *backend, kp_multigrid **out);
void kp_multigrid_destroy(kp_multigrid **multigrid);
// Coefficients of all levels. Nothing is allocated while sizes and the window stay.
KP_NODISCARD kp_result kp_multigrid_build(kp_multigrid *multigrid, const kp_multigrid_fine *fine);
// x = M b
// Of the finest level, as many as rows were given: the part of each that holds unknowns. Vectors
// are 0 outside.
kp_buffer *kp_multigrid_runs(kp_multigrid *multigrid);
KP_NODISCARD kp_result kp_multigrid_cycle(kp_multigrid *multigrid, kp_buffer *b, kp_buffer *x);
int kp_multigrid_n_levels(const kp_multigrid *multigrid);  // the finest included
double kp_multigrid_bytes(const kp_multigrid *multigrid);  // of the coarse levels
