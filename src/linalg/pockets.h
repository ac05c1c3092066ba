// Regions of a Poisson system that nothing holds: no given pressure next to them, no extra
// diagonal. Each adds a constant to the null space, so its right side must have mean zero and its
// answer is fixed by the same.
//
// They are found by flood fill: labels run along whole lines of items, axis by axis, until none
// changes, which takes as many rounds as a region has bends, and one for a box. Sums over several
// regions go by a list of items sorted by region and cut into chunks of fixed length, so they are
// equal for any number of threads.
#pragma once

#include "data/call.h"
#include "linalg/poisson_kernels.h"

typedef struct kp_pockets_system {
  poisson_grid box;  // items inside the window
  int32_t lo[3];     // first of them
  bool is_periodic[3];
  int64_t first, n;  // flat range that holds them
  int64_t length;    // items of the arrays
  kp_buffer *flags, *faces[3], *extra;
  kp_buffer *segments;  // rows of the window
  int64_t n_segments;
} kp_pockets_system;

typedef struct kp_pockets {
  kp_backend *backend;
  int64_t n;        // regions that nothing holds
  int64_t n_items;  // unknowns in them
  int rounds;       // the flood fill took
  int64_t first, n_flat;
  kp_buffer labels, changes;
  // of several regions
  kp_buffer marks, regions, items, starts, chunks, sums, means;
} kp_pockets;

void kp_pockets_init(kp_pockets *pockets, kp_backend *backend);
void kp_pockets_free(kp_pockets *pockets);
KP_NODISCARD kp_result kp_pockets_find(kp_pockets *pockets, const kp_pockets_system *system);
// values (+ low, which may be NULL) with mean zero in each of the regions.
KP_NODISCARD kp_result kp_pockets_project(kp_pockets *pockets, kp_buffer *values, kp_buffer *low);
double kp_pockets_bytes(const kp_pockets *pockets);
