// What kernels know of a MAC grid: where items lie and how large cells are.
#pragma once

#include <string.h>

#include "kelpie/config.h"
#include "kelpie/vec.h"

#define KP_MAC_GHOSTS 2  // layers around the domain: the reach of a cubic interpolant
#define KP_MAC_WORD 16   // flags that are looked at together
#define KP_MAC_BLOCK 16  // cells: the window moves in these steps

// The kinds of places that items stand for. A face across an axis has the number of the axis.
typedef enum kp_mac_kind {
  KP_MAC_FACE_X,
  KP_MAC_FACE_Y,
  KP_MAC_FACE_Z,
  KP_MAC_CELL,
  KP_MAC_NODE,
  KP_MAC_KIND_COUNT
} kp_mac_kind;

// Flags of a cell, one byte. The kind is in the low bits.
enum {
  KP_CELL_AIR = 0,    // pressure is given: open air, or outside the window or the domain
  KP_CELL_FLUID = 1,  // pressure is sought
  KP_CELL_SOLID = 2,  // nothing flows
  KP_CELL_KIND = 3,
  KP_CELL_OCCLUDED = 4,    // a thin shell cuts what is visible from here: see mac_sample.h
  KP_CELL_NEAR_SOLID = 8,  // a solid or a wall is within reach of a trace
  KP_CELL_RELEASED = 16,   // water lets go of a solid near here: see methods/common/release.h
  KP_CELL_LOOSE = 32       // water in this cell lets go of the walls of the domain beside it
};

typedef struct kp_mac_view {
  int32_t n[3];  // cells of the domain
  int32_t is_periodic[3];
  int32_t dimension;  // 2: n[2] == 1, no ghosts across z
  int32_t row, slab;  // items from (i, j, k) to (i, j+1, k) and to (i, j, k+1)
  int32_t start;      // item (0, 0, 0); all items are below 2^31, which keeps gathers short
  int64_t count;      // items of an array
  double lo[3];       // m, lower corner of cell (0, 0, 0)
  double cell;        // m
  kp_real h, inverse_h;
  // one byte per cell, flags with KP_CELL_OCCLUDED; NULL while the scene has no thin shells, which
  // takes the test out of the loops
  const uint8_t *occluded;
} kp_mac_view;

KP_FN int64_t kp_mac_at(const kp_mac_view *g, int64_t i, int64_t j, int64_t k) {
  return g->start + i + j * g->row + k * g->slab;
}

// The coordinates of an item, ghosts counted below 0.
KP_FN void kp_mac_cell_of(const kp_mac_view *g, int64_t at, int64_t cell[3]) {
  cell[0] = at % g->row - KP_MAC_GHOSTS;
  cell[1] = (g->dimension == 2 ? at : at % g->slab) / g->row - KP_MAC_GHOSTS;
  cell[2] = g->dimension == 2 ? 0 : at / g->slab - KP_MAC_GHOSTS;
}

// Where item (i, j, k) of a kind of place (kp_mac_kind) lies [m]; in the plane z = 0 in 2D.
KP_FN void kp_mac_place(const kp_mac_view *g, int kind, int64_t i, int64_t j, int64_t k,
                        double x[3]) {
  const double item[3] = { (double)i, (double)j, (double)k };
  for (int c = 0; c < 3; ++c) {
    x[c] = g->lo[c] + g->cell * (item[c] + (kind == c || kind == KP_MAC_NODE ? 0.0 : 0.5));
  }
  x[2] = g->dimension == 2 ? 0.0 : x[2];
}

// From one item to the next along an axis.
KP_FN int32_t kp_mac_stride(const kp_mac_view *g, int axis) {
  return axis == 0 ? 1 : (axis == 1 ? g->row : g->slab);
}

// The cell before, or behind, cell `at` along an axis, around a periodic one; `along` is its
// coordinate. Flags of ghosts are never those of fluid, images included, so that sums over flat
// ranges see every cell once.
KP_FN int64_t kp_mac_before(const kp_mac_view *g, int axis, int64_t along, int64_t at) {
  int64_t step = kp_mac_stride(g, axis);
  return g->is_periodic[axis] && along == 0 ? at + (g->n[axis] - 1) * step : at - step;
}

KP_FN int64_t kp_mac_behind(const kp_mac_view *g, int axis, int64_t along, int64_t at) {
  int64_t step = kp_mac_stride(g, axis);
  return g->is_periodic[axis] && along == g->n[axis] - 1 ? at - along * step : at + step;
}

// A piece of a row of faces across an axis in all of which the cell before a face is as many items
// away, so that loops over it have no branches: along a periodic x the first face is one of its
// own.
typedef struct kp_mac_piece {
  int64_t i0, i1;
  int64_t before;  // items from the cell behind a face to the one before it
} kp_mac_piece;

// Sixteen cells of either run are air.
KP_FN int kp_mac_is_air(const uint8_t *a, const uint8_t *b) {
  const uint64_t kinds = 0x0101010101010101u * KP_CELL_KIND;
  uint64_t words[4];
  memcpy(words, a, KP_MAC_WORD);
  memcpy(words + 2, b, KP_MAC_WORD);
  return ((words[0] | words[1] | words[2] | words[3]) & kinds) == 0;
}

// The next part of two runs of n flags with anything but air, from *from on, where *from moves to;
// returns its end. Grids of liquid are mostly air, which loops need not visit.
KP_FN int64_t kp_mac_wet_part(const uint8_t *a, const uint8_t *b, int64_t n, int64_t *from) {
  int64_t i = *from;
  while (i + KP_MAC_WORD <= n && kp_mac_is_air(a + i, b + i)) {
    i += KP_MAC_WORD;
  }
  *from = i;
  while (i < n && !(i + KP_MAC_WORD <= n && kp_mac_is_air(a + i, b + i))) {
    i += KP_MAC_WORD;
  }
  return i < n ? i : n;
}

// That of the row (j, k) which begins at i0 and ends at i1 or sooner.
KP_FN kp_mac_piece kp_mac_piece_of(const kp_mac_view *g, int axis, int64_t j, int64_t k, int64_t i0,
                                   int64_t i1) {
  int64_t along = axis == 0 ? i0 : (axis == 1 ? j : k);
  int is_seam = axis == 0 && g->is_periodic[0] && i0 == 0;
  kp_mac_piece p = { i0, is_seam ? 1 : i1, kp_mac_before(g, axis, along, 0) };
  return p;
}
