// The sorted cell grid. Cells are cubes of side `edge` on a lattice anchored at the origin of the
// world; a particle's cell is floor(x / edge). Elements are ordered by cell, x fastest, then y,
// then z, ties by id, so for every (y, z) row the candidates in adjacent x-cells are one contiguous
// range of slots.
//
//   dense    cell offsets for the whole box around the particles
//   sparse   rows compacted: the occupied (z, y) rows sorted, cell offsets only inside each row; a
//            gap of more than KP_CELLS_GAP empty cells cuts a row, so that memory follows the
//            particles; chosen when the box would hold more than 8 cells per particle (and more
//            than 2^18 cells)
//
// The box follows the particles each build; nothing limits where they are, or how many share a
// cell. (Bayraktar 2010 section 5.5, Algorithm 1; Lyes 2015 section 5.1.)
#pragma once

#include "data/set.h"

#define KP_CELLS_GAP 8            // empty cells a sparse row may hold in one piece
#define KP_CELLS_LIMIT (1 << 29)  // largest cell coordinate: 5,000 km of centimetre cells
#define KP_CELLS_ITEM 32          // most elements of one work item of the pair driver

// Plain data, handed to kernels by value. Pointers are device pointers.
typedef struct kp_cells_view {
  double edge, inverse_edge;
  int64_t n;        // slots
  int32_t lo[3];    // coordinates of the first cell of the box
  int32_t dims[3];  // cells per axis of the box
  int32_t n_rows;   // dense: dims[1] dims[2]; sparse: pieces of occupied rows
  int32_t sparse;
  const uint32_t *cell_start;  // [cells + 1] first slot of each cell, x fastest inside a row
  const uint32_t *row_start;   // sparse: [rows + 1] first cell of each row
  const int32_t *row_lo;       // sparse: x coordinate of the row's first cell
  const uint64_t *row_key;     // sparse: sorted keys ((uint64_t)(z - lo[2]) << 32 | (y - lo[1]))
  const uint32_t *order;       // slot -> element; NULL when the set is physically sorted
  const kp_pos *x, *y, *z;     // positions by element
} kp_cells_view;

// The cell coordinate of a position on one axis. Monotone in x, so a range of positions maps to a
// range of cells without thought for rounding. |x| inverse_edge must be below KP_CELLS_LIMIT.
KP_FN int32_t kp_cells_coordinate(double x, double inverse_edge) {
  double t = x * inverse_edge;
  int32_t c = (int32_t)t;
  return c - (t < (double)c ? 1 : 0);
}

// First row at or after the cell (key, x): rows are ordered by key, then by x.
KP_FN int32_t kp_cells_find_row(const kp_cells_view *c, uint64_t key, int32_t x) {
  int32_t a = 0;
  int32_t b = c->n_rows;
  while (a < b) {
    int32_t m = a + (b - a) / 2;
    int32_t last = c->row_lo[m] + (int32_t)(c->row_start[m + 1] - c->row_start[m]) - 1;
    if (c->row_key[m] < key || (c->row_key[m] == key && last < x)) {
      a = m + 1;
    } else {
      b = m;
    }
  }
  return a;
}

KP_FN void kp_cells_sparse_range(const kp_cells_view *c, int32_t x0, int32_t x1, uint64_t key,
                                 uint32_t *begin, uint32_t *end) {
  int32_t r = kp_cells_find_row(c, key, x0);
  if (r == c->n_rows || c->row_key[r] != key || c->row_lo[r] > x1) {
    return;
  }
  *begin = c->cell_start[c->row_start[r] + (uint32_t)(x0 > c->row_lo[r] ? x0 - c->row_lo[r] : 0)];
  // the pieces of a cut row follow each other in memory
  while (r + 1 < c->n_rows && c->row_key[r + 1] == key && c->row_lo[r + 1] <= x1) {
    ++r;
  }
  uint32_t count = c->row_start[r + 1] - c->row_start[r];
  uint32_t wanted = (uint32_t)(x1 - c->row_lo[r]) + 1;
  *end = c->cell_start[c->row_start[r] + (wanted < count ? wanted : count)];
}

// Half-open slot range of the cells x0..x1 (inclusive, may lie outside) of row (y, z).
KP_FN void kp_cells_range(const kp_cells_view *c, int32_t x0, int32_t x1, int32_t y, int32_t z,
                          uint32_t *begin, uint32_t *end) {
  *begin = 0;
  *end = 0;
  int32_t ry = y - c->lo[1];
  int32_t rz = z - c->lo[2];
  if (ry < 0 || rz < 0 || ry >= c->dims[1] || rz >= c->dims[2]) {
    return;
  }
  if (c->sparse) {
    kp_cells_sparse_range(c, x0, x1, (uint64_t)rz << 32 | (uint64_t)ry, begin, end);
    return;
  }
  int64_t first = ((int64_t)rz * c->dims[1] + ry) * c->dims[0];
  int32_t lo = c->lo[0];
  int32_t count = c->dims[0];
  int32_t i0 = x0 < lo ? 0 : x0 - lo;
  int32_t i1 = x1 - lo >= count ? count - 1 : x1 - lo;
  if (i0 <= i1) {
    *begin = c->cell_start[first + i0];
    *end = c->cell_start[first + i1 + 1];
  }
}

// Cells within `radius` of a position on one axis; at most one cell beyond the box on either side.
KP_FN void kp_cells_reach(const kp_cells_view *c, int axis, double x, double radius, int32_t *first,
                          int32_t *last) {
  double reach = radius * (1.0 + 1e-9) + 2e-15 * fabs(x);
  double lo = (double)c->lo[axis] - 1.0;
  double hi = lo + (double)c->dims[axis] + 1.0;
  double a = (x - reach) * c->inverse_edge;
  double b = (x + reach) * c->inverse_edge;
  a = a < lo ? lo : (a > hi ? hi : a);
  b = b < lo ? lo : (b > hi ? hi : b);
  *first = kp_cells_coordinate(a, 1.0);
  *last = kp_cells_coordinate(b, 1.0);
}

// What the cuda pair driver keeps between passes, and what it was made from.
typedef struct kp_cells_kept {
  kp_buffer places;  // of the elements by slot
  uint64_t placed_stamp, placed_writes;
  int32_t placed_bits, placed_reach;
  kp_buffer halo;  // u8 per cell
  uint64_t halo_stamp;
  int32_t halo_reach;
  kp_buffer near;  // u32: elements of another set with a mark in their cell, behind their number
  uint64_t near_stamp, near_writes;
  kp_buffer lists, counts;  // neighbours of this set's elements
  uint64_t list_stamp[2], list_writes[2];
  double list_radius;
  int32_t list_capacity;
} kp_cells_kept;

typedef struct kp_cells {
  kp_set *set;
  double edge;
  int64_t dense_cells;  // boxes of up to so many cells are dense however few their elements are
  kp_aabb bounds;       // of the last build
  uint64_t revision;    // grows with each build
  uint64_t built_for;   // revision of the space after the last build
  uint64_t stamp;       // of the last build, among those of all cells
  int64_t n_items;      // host backends: work items of the pair driver
  int64_t n_occupied;   // host backends: occupied cells
  int64_t n_cells;
  kp_cells_view shape;  // numbers only; pointers are filled by kp_cells_view_of
  bool is_moved;        // the last build changed the order of the elements
  kp_buffer keys, order, cell_start, row_start, row_lo, row_key;
  kp_buffer row_of, wide;  // scratch of the sparse form
  // u32 [n_items + 1]: first slot of each work item, then n. An item is a run of at most
  // KP_CELLS_ITEM slots of one row: a cell, a few neighbouring cells that hold little, or a piece
  // of a full one.
  kp_buffer work;
  KP_ARRAY(uint32_t) work_counts;
  kp_cells_kept kept;
} kp_cells;

KP_NODISCARD kp_result kp_cells_create(kp_set *set, double edge, kp_cells **out);
void kp_cells_destroy(kp_cells **cells);

// Sort and index. Free sets are permuted, tied sets get an order. `bounds` may be NULL: then it is
// measured (one reduce); otherwise it must hold all particles. Non-finite positions are an error
// (KP_ERROR_PHYSICS).
KP_NODISCARD kp_result kp_cells_build(kp_cells *cells, const kp_aabb *bounds);

// Device view for kernels; freshens the buffers for reading.
KP_NODISCARD kp_result kp_cells_view_of(kp_cells *cells, kp_cells_view *out);
