// Which primitives touch which tile: a counting sort in fixed chunks, so that each tile lists its
// primitives in index order whatever the number of threads.
#pragma once

#include "base/result.h"

// Tiles touched by a primitive, inclusive; x1 < x0 touches none.
typedef struct kp_bin_rect {
  int16_t x0, y0, x1, y1;
} kp_bin_rect;

typedef struct kp_bins {
  int64_t *offsets;  // per tile, n_tiles + 1
  uint32_t *items;   // primitive indices, tile after tile
  int64_t *counts;   // per chunk and tile
  int64_t items_capacity, counts_capacity, offsets_capacity;
} kp_bins;

// Memory grows and is kept between calls.
KP_NODISCARD kp_result kp_bins_build(kp_bins *bins, const kp_bin_rect *rects, int64_t n,
                                     int tiles_x, int tiles_y);
void kp_bins_free(kp_bins *bins);

// The tiles a pixel box touches, clipped to the picture. Bounds in pixels, may be far outside or
// NaN.
kp_bin_rect kp_bins_rect(float x0, float y0, float x1, float y1, int width, int height);
