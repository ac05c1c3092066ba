// Kernels behind the sorted cell grid (Bayraktar 2010, section 5.5, Algorithm 1: keys, sort, cell
// starts; Lyes 2015, section 5.1). The neighbour look-up is in data/cells.h and the pair drivers.
#pragma once

#include "data/cells.h"

#define CELLS_BOUNDS_OPS                                                                           \
  KP_REDUCE_MIN, KP_REDUCE_MIN, KP_REDUCE_MIN, KP_REDUCE_MAX, KP_REDUCE_MAX, KP_REDUCE_MAX,        \
      KP_REDUCE_SUM

#define CELLS_KERNELS(POINT, REDUCE, ROW, PAIR)                                                    \
  REDUCE(cells, bounds, CELLS_BOUNDS_OPS)                                                          \
  POINT(cells, keys)                                                                               \
  POINT(cells, sparse_x)                                                                           \
  POINT(cells, sparse_row)                                                                         \
  POINT(cells, sparse_cut)                                                                         \
  POINT(cells, sparse_pieces)                                                                      \
  POINT(cells, sparse_lengths)                                                                     \
  POINT(cells, sparse_keys)                                                                        \
  POINT(cells, ties)                                                                               \
  POINT(cells, starts)

// Smallest and largest coordinates, and the number of elements that are nowhere (NaN or infinite).
typedef struct cells_bounds_args {
  const kp_pos *x, *y, *z;
} cells_bounds_args;

KP_FN void cells_bounds(int64_t i, const cells_bounds_args *a, double *v) {
  double x = a->x[i];
  double y = a->y[i];
  double z = a->z[i];
  v[0] = v[3] = x;
  v[1] = v[4] = y;
  v[2] = v[5] = z;
  // infinity minus itself is NaN
  v[6] = (x - x) + (y - y) + (z - z) == 0.0 ? 0.0 : 1.0;
}

// The box of cells that holds the set.
typedef struct cells_box {
  double inverse_edge;
  int32_t lo[3];
  int32_t dims[3];
} cells_box;

// Dense: the number of the cell, x fastest (Bayraktar Eq 5.17).
typedef struct cells_keys_args {
  const kp_pos *x, *y, *z;
  uint32_t *keys, *order;
  cells_box box;
} cells_keys_args;

KP_FN uint32_t cells_inside(const cells_box *b, int axis, double x) {
  int32_t c = kp_cells_coordinate(x, b->inverse_edge) - b->lo[axis];
  c = c < b->dims[axis] ? c : b->dims[axis] - 1;
  return c > 0 ? (uint32_t)c : 0u;
}

KP_FN void cells_keys(int64_t i, const cells_keys_args *a) {
  const cells_box *b = &a->box;
  uint32_t x = cells_inside(b, 0, a->x[i]);
  uint32_t y = cells_inside(b, 1, a->y[i]);
  uint32_t z = cells_inside(b, 2, a->z[i]);
  a->keys[i] = (z * (uint32_t)b->dims[1] + y) * (uint32_t)b->dims[0] + x;
  a->order[i] = (uint32_t)i;
}

// Sparse, in two stable sorts, because three coordinates may need more than 64 bits: first by x,
// ...
typedef struct cells_sparse_x_args {
  const kp_pos *x;
  uint32_t *keys, *order;
  cells_box box;
} cells_sparse_x_args;

KP_FN void cells_sparse_x(int64_t i, const cells_sparse_x_args *a) {
  int32_t x = kp_cells_coordinate(a->x[i], a->box.inverse_edge);
  a->keys[i] = (uint32_t)(x - a->box.lo[0]);
  a->order[i] = (uint32_t)i;
}

// ... then by row.
typedef struct cells_sparse_row_args {
  const kp_pos *y, *z;
  const uint32_t *order;
  uint64_t *rows;
  cells_box box;
  int32_t y_bits;
} cells_sparse_row_args;

KP_FN void cells_sparse_row(int64_t s, const cells_sparse_row_args *a) {
  uint32_t e = a->order[s];
  int32_t y = kp_cells_coordinate(a->y[e], a->box.inverse_edge) - a->box.lo[1];
  int32_t z = kp_cells_coordinate(a->z[e], a->box.inverse_edge) - a->box.lo[2];
  a->rows[s] = (uint64_t)(uint32_t)z << a->y_bits | (uint64_t)(uint32_t)y;
}

// What the later steps of the sparse build read: slots sorted by row, then x.
typedef struct cells_sparse {
  const kp_pos *x;
  const uint32_t *order;
  const uint64_t *rows;
  int64_t n;
  cells_box box;
  int32_t y_bits;
} cells_sparse;

KP_FN int32_t cells_sparse_x_of(const cells_sparse *c, int64_t s) {
  return kp_cells_coordinate(c->x[c->order[s]], c->box.inverse_edge);
}

// 1 where a new piece of a row begins.
typedef struct cells_sparse_cut_args {
  cells_sparse sorted;
  uint32_t *is_cut;
} cells_sparse_cut_args;

KP_FN void cells_sparse_cut(int64_t s, const cells_sparse_cut_args *a) {
  const cells_sparse *c = &a->sorted;
  a->is_cut[s] = s == 0 || c->rows[s] != c->rows[s - 1] ||
                 cells_sparse_x_of(c, s) - cells_sparse_x_of(c, s - 1) > KP_CELLS_GAP + 1;
}

// Key and ends of each piece; `piece` is the scan of the cuts, so slot s is in piece[s + 1] - 1.
typedef struct cells_sparse_pieces_args {
  cells_sparse sorted;
  const uint32_t *piece;
  uint64_t *row_key;
  int32_t *row_lo;
  uint32_t *row_hi;
} cells_sparse_pieces_args;

KP_FN void cells_sparse_pieces(int64_t s, const cells_sparse_pieces_args *a) {
  const cells_sparse *c = &a->sorted;
  uint32_t r = a->piece[s + 1] - 1;
  if (a->piece[s] != a->piece[s + 1]) {
    uint64_t y = c->rows[s] & (((uint64_t)1 << c->y_bits) - 1);
    a->row_key[r] = (c->rows[s] >> c->y_bits) << 32 | y;
    a->row_lo[r] = cells_sparse_x_of(c, s);
  }
  if (s + 1 == c->n || a->piece[s + 2] != a->piece[s + 1]) {
    a->row_hi[r] = (uint32_t)cells_sparse_x_of(c, s);
  }
}

// Cells of each piece, in place of its last coordinate.
typedef struct cells_sparse_lengths_args {
  const int32_t *row_lo;
  uint32_t *row_length;
} cells_sparse_lengths_args;

KP_FN void cells_sparse_lengths(int64_t r, const cells_sparse_lengths_args *a) {
  a->row_length[r] = (uint32_t)((int32_t)a->row_length[r] - a->row_lo[r]) + 1u;
}

// Number of the cell among those of all pieces.
typedef struct cells_sparse_keys_args {
  cells_sparse sorted;
  const uint32_t *piece, *row_start;
  const int32_t *row_lo;
  uint32_t *keys;
} cells_sparse_keys_args;

KP_FN void cells_sparse_keys(int64_t s, const cells_sparse_keys_args *a) {
  uint32_t r = a->piece[s + 1] - 1;
  a->keys[s] = a->row_start[r] + (uint32_t)(cells_sparse_x_of(&a->sorted, s) - a->row_lo[r]);
}

// Slots of one cell by ascending id. The first slot of a cell does the work of the cell, so that
// any number of elements may share one.
typedef struct cells_ties_args {
  const uint32_t *keys;
  const kp_gid *id;
  uint32_t *order;
  int64_t n;
} cells_ties_args;

// By id; images of one element share its id and stay in the order they came in.
KP_FN bool cells_is_before(const kp_gid *id, uint32_t a, uint32_t b) {
  return id[a] < id[b] || (id[a] == id[b] && a < b);
}

// Moves order[root] down until no child comes after it.
KP_FN void cells_sift(uint32_t *order, const kp_gid *id, int64_t root, int64_t n) {
  uint32_t e = order[root];
  for (int64_t child = 2 * root + 1; child < n; child = 2 * root + 1) {
    if (child + 1 < n && cells_is_before(id, order[child], order[child + 1])) {
      ++child;
    }
    if (!cells_is_before(id, e, order[child])) {
      break;
    }
    order[root] = order[child];
    root = child;
  }
  order[root] = e;
}

KP_FN void cells_heap_sort(uint32_t *order, const kp_gid *id, int64_t n) {
  for (int64_t root = n / 2 - 1; root >= 0; --root) {
    cells_sift(order, id, root, n);
  }
  for (int64_t last = n - 1; last > 0; --last) {
    uint32_t largest = order[0];
    order[0] = order[last];
    order[last] = largest;
    cells_sift(order, id, 0, last);
  }
}

KP_FN void cells_ties(int64_t s, const cells_ties_args *a) {
  uint32_t key = a->keys[s];
  if (s + 1 >= a->n || a->keys[s + 1] != key || (s > 0 && a->keys[s - 1] == key)) {
    return;
  }
  // ids mostly ascend already: elements that stayed kept their order
  kp_gid last = a->id[a->order[s]];
  bool is_sorted = true;
  int64_t end = s + 1;
  for (; end < a->n && a->keys[end] == key; ++end) {
    kp_gid id = a->id[a->order[end]];
    is_sorted = is_sorted && last < id;
    last = id;
  }
  if (is_sorted) {
    return;
  }
  uint32_t *order = a->order + s;
  int64_t n = end - s;
  if (n > 48) {
    cells_heap_sort(order, a->id, n);
    return;
  }
  for (int64_t k = 1; k < n; ++k) {
    uint32_t e = order[k];
    int64_t m = k;
    for (; m > 0 && cells_is_before(a->id, e, order[m - 1]); --m) {
      order[m] = order[m - 1];
    }
    order[m] = e;
  }
}

// First slot of each cell. Each slot fills the gap since its predecessor's cell, one beyond the
// last slot fills the tail: empty cells cost one write and no scan.
typedef struct cells_starts_args {
  const uint32_t *keys;
  uint32_t *cell_start;
  int64_t n, n_cells;
} cells_starts_args;

KP_FN void cells_starts(int64_t s, const cells_starts_args *a) {
  int64_t first = s > 0 ? (int64_t)a->keys[s - 1] + 1 : 0;
  int64_t last = s < a->n ? (int64_t)a->keys[s] : a->n_cells;
  for (int64_t c = first; c <= last; ++c) {
    a->cell_start[c] = (uint32_t)s;
  }
}
