// Flood fill of the regions of a Poisson system and sums over them (see pockets.h).
//
// Labels: POCKETS_NONE where there is no unknown, 0 in regions that are held by something, and in
// all others the lowest item of the region, plus one. Whatever the order of the work, the lowest
// label of a region is the same.
#pragma once

#include "linalg/poisson_kernels.h"

#define POCKETS_NONE INT32_MAX
#define POCKETS_CHUNK 1024  // items of a partial sum

#define POCKETS_SUM1 KP_REDUCE_SUM
#define POCKETS_SUM2 KP_REDUCE_SUM, KP_REDUCE_SUM

#define POCKETS_KERNELS(POINT, REDUCE, ROW, PAIR)                                                  \
  ROW(pockets, label)                                                                              \
  POINT(pockets, sweep)                                                                            \
  REDUCE(pockets, changes, POCKETS_SUM2)                                                           \
  REDUCE(pockets, count, POCKETS_SUM2)                                                             \
  REDUCE(pockets, total, POCKETS_SUM1)                                                             \
  POINT(pockets, take_off)                                                                         \
  POINT(pockets, mark)                                                                             \
  POINT(pockets, list)                                                                             \
  POINT(pockets, begin)                                                                            \
  POINT(pockets, region)                                                                           \
  POINT(pockets, chunk)                                                                            \
  POINT(pockets, partial)                                                                          \
  POINT(pockets, mean)                                                                             \
  POINT(pockets, subtract)

// The matrix as far as it says what is connected.
typedef struct pockets_matrix {
  poisson_grid grid;  // inside the window: items 0..n-1 along each axis
  int32_t is_periodic[3];
  const uint8_t *flags;
  const kp_real *cx, *cy, *cz;
  const kp_real *extra;  // may be NULL
} pockets_matrix;

KP_FN const kp_real *pockets_coefficients(const pockets_matrix *m, int axis) {
  return axis == 0 ? m->cx : (axis == 1 ? m->cy : m->cz);
}

// ---- labels

typedef struct pockets_label_args {
  pockets_matrix m;
  int32_t lo[3];  // first items of the window; rows count from the domain's
  int32_t *labels;
} pockets_label_args;

KP_FN bool pockets_is_held(const pockets_matrix *m, const int64_t cell[3], int64_t at) {
  const int64_t stride[3] = { 1, m->grid.row, m->grid.slab };
  bool is_held = m->extra && m->extra[at] > 0;
  for (int axis = 0; axis < (m->grid.slab ? 3 : 2); ++axis) {
    const kp_real *c = pockets_coefficients(m, axis);
    int64_t up = stride[axis];
    int64_t around = (int64_t)(m->grid.n[axis] - 1) * up;
    bool is_first = m->is_periodic[axis] && cell[axis] == 0;
    bool is_last = m->is_periodic[axis] && cell[axis] == m->grid.n[axis] - 1;
    bool has_lower = poisson_is_unknown(m->flags[is_first ? at + around : at - up]);
    bool has_upper = poisson_is_unknown(m->flags[is_last ? at - around : at + up]);
    is_held = is_held || (!has_lower && c[at] > 0) || (!has_upper && c[at + up] > 0);
  }
  return is_held;
}

KP_FN void pockets_label_part(int64_t j, int64_t k, int64_t i0, int64_t i1,
                              const pockets_label_args *a) {
  for (int64_t i = i0; i < i1; ++i) {
    const int64_t cell[3] = { i - a->lo[0], j - a->lo[1], k - a->lo[2] };
    int64_t at = poisson_at(&a->m.grid, cell[0], cell[1], cell[2]);
    int32_t label = pockets_is_held(&a->m, cell, at) ? 0 : (int32_t)at + 1;
    a->labels[at] = poisson_is_unknown(a->m.flags[at]) ? label : POCKETS_NONE;
  }
}

KP_FN void pockets_label(int64_t j, int64_t k, int64_t i0, int64_t i1,
                         const pockets_label_args *a) {
  int64_t first = poisson_at(&a->m.grid, i0 - a->lo[0], j - a->lo[1], k - a->lo[2]);
  const uint8_t *flags = a->m.flags + first;
  int64_t done = 0;
  for (int64_t from = 0; from < i1 - i0;) {
    int64_t end = kp_mac_wet_part(flags, flags, i1 - i0, &from);
    for (int64_t i = done; i < from; ++i) {
      a->labels[first + i] = POCKETS_NONE;
    }
    pockets_label_part(j, k, i0 + from, i0 + end, a);
    done = from = end;
  }
}

KP_FN bool pockets_is_in(int32_t label) {
  return label > 0 && label != POCKETS_NONE;
}

// Lower labels along a line of items, to and fro. Element t is a line along the axis.
typedef struct pockets_sweep_args {
  pockets_matrix m;
  int32_t axis;
  int32_t *labels;
  uint32_t *changes;  // of each line: 1 where a label changed, and 2 where one is still above 0
} pockets_sweep_args;

// The lower label of two neighbours for both; true where one changed.
KP_FN bool pockets_join(int32_t *a, int32_t *b, bool is_open) {
  if (!is_open || *a == POCKETS_NONE || *b == POCKETS_NONE || *a == *b) {
    return false;
  }
  int32_t low = *a < *b ? *a : *b;
  *a = low;
  *b = low;
  return true;
}

KP_FN void pockets_sweep(int64_t t, const pockets_sweep_args *a) {
  const poisson_grid *g = &a->m.grid;
  const int64_t stride[3] = { 1, g->row, g->slab };
  int inner = a->axis == 0 ? 1 : 0;
  int outer = a->axis == 2 ? 1 : 2;
  int64_t at = g->start + t % g->n[inner] * stride[inner] + t / g->n[inner] * stride[outer];
  const kp_real *c = pockets_coefficients(&a->m, a->axis) + at;
  int32_t *line = a->labels + at;
  int64_t up = stride[a->axis];
  int64_t n = g->n[a->axis];
  bool is_changed = false;
  if (a->m.is_periodic[a->axis]) {
    is_changed = pockets_join(&line[0], &line[(n - 1) * up], c[0] > 0);
  }
  for (int64_t i = 1; i < n; ++i) {
    is_changed = pockets_join(&line[(i - 1) * up], &line[i * up], c[i * up] > 0) || is_changed;
  }
  bool is_open = pockets_is_in(line[(n - 1) * up]);
  for (int64_t i = n - 1; i > 0; --i) {
    is_changed = pockets_join(&line[(i - 1) * up], &line[i * up], c[i * up] > 0) || is_changed;
    is_open = pockets_is_in(line[i * up]) || pockets_is_in(line[(i - 1) * up]) || is_open;
  }
  a->changes[t] = (is_changed ? 1u : 0u) + (is_open ? 2u : 0u);
}

typedef struct pockets_changes_args {
  const uint32_t *changes;
} pockets_changes_args;

KP_FN void pockets_changes(int64_t i, const pockets_changes_args *a, double *v) {
  v[0] = (double)(a->changes[i] & 1);
  v[1] = (double)(a->changes[i] >> 1);
}

// Regions that nothing holds, and their items.
typedef struct pockets_count_args {
  int64_t first;
  const int32_t *labels;
} pockets_count_args;

KP_FN void pockets_count(int64_t element, const pockets_count_args *a, double *v) {
  int64_t i = a->first + element;
  v[0] = a->labels[i] == (int32_t)i + 1 ? 1.0 : 0.0;
  v[1] = pockets_is_in(a->labels[i]) ? 1.0 : 0.0;
}

// ---- one region: a masked sum

typedef struct pockets_total_args {
  int64_t first;
  const int32_t *labels;
  const kp_real *values, *low;  // low may be NULL
} pockets_total_args;

KP_FN void pockets_total(int64_t element, const pockets_total_args *a, double *v) {
  int64_t i = a->first + element;
  double value = (double)a->values[i] + (a->low ? (double)a->low[i] : 0.0);
  v[0] = pockets_is_in(a->labels[i]) ? value : 0.0;
}

// values + low less the mean; what rounding takes from values goes to low.
KP_FN void pockets_lower(kp_real *value, kp_real *low, double mean) {
  kp_real change = (kp_real)-mean;
  kp_real rest = change;
  poisson_two_sum(value, &rest);
  if (low) {
    *low += rest;
  }
}

typedef struct pockets_take_off_args {
  int64_t first;
  double mean;
  const int32_t *labels;
  kp_real *values, *low;  // low may be NULL
} pockets_take_off_args;

KP_FN void pockets_take_off(int64_t element, const pockets_take_off_args *a) {
  int64_t i = a->first + element;
  if (pockets_is_in(a->labels[i])) {
    pockets_lower(&a->values[i], a->low ? &a->low[i] : NULL, a->mean);
  }
}

// ---- several: a list of their items, sorted by region, cut into chunks

typedef struct pockets_mark_args {
  int64_t first;
  const int32_t *labels;
  uint32_t *marks;
} pockets_mark_args;

KP_FN void pockets_mark(int64_t element, const pockets_mark_args *a) {
  a->marks[element] = pockets_is_in(a->labels[a->first + element]) ? 1 : 0;
}

typedef struct pockets_list_args {
  int64_t first;
  const int32_t *labels;
  const uint32_t *places;  // scan of the marks
  uint32_t *regions, *items;
} pockets_list_args;

KP_FN void pockets_list(int64_t element, const pockets_list_args *a) {
  int64_t i = a->first + element;
  if (pockets_is_in(a->labels[i])) {
    a->regions[a->places[element]] = (uint32_t)a->labels[i];
    a->items[a->places[element]] = (uint32_t)i;
  }
}

// 1 where an entry of the sorted list begins a region.
typedef struct pockets_begin_args {
  const uint32_t *regions;
  uint32_t *marks;
} pockets_begin_args;

KP_FN void pockets_begin(int64_t i, const pockets_begin_args *a) {
  a->marks[i] = i == 0 || a->regions[i] != a->regions[i - 1] ? 1 : 0;
}

// Entries get the number of their region, regions the place of their first entry.
typedef struct pockets_region_args {
  int64_t n;
  int64_t n_regions;
  const uint32_t *places;  // scan of the marks: n + 1
  uint32_t *regions;       // of entries
  uint32_t *starts;        // of regions: n_regions + 1
} pockets_region_args;

KP_FN void pockets_region(int64_t i, const pockets_region_args *a) {
  bool is_begin = a->places[i + 1] != a->places[i];
  uint32_t region = a->places[i + 1] - 1;
  a->regions[i] = region;
  if (is_begin) {
    a->starts[region] = (uint32_t)i;
  }
  if (i == a->n - 1) {
    a->starts[a->n_regions] = (uint32_t)a->n;
  }
}

// Chunks a region is cut into.
typedef struct pockets_chunk_args {
  const uint32_t *starts;
  uint32_t *counts;
} pockets_chunk_args;

KP_FN void pockets_chunk(int64_t region, const pockets_chunk_args *a) {
  uint32_t n = a->starts[region + 1] - a->starts[region];
  a->counts[region] = (n + POCKETS_CHUNK - 1) / POCKETS_CHUNK;
}

typedef struct pockets_partial_args {
  int64_t n_regions;
  const uint32_t *starts, *chunks;  // first entry and first chunk of regions
  const uint32_t *items;
  const kp_real *values, *low;  // low may be NULL
  double *sums;                 // of chunks
} pockets_partial_args;

KP_FN void pockets_partial(int64_t chunk, const pockets_partial_args *a) {
  if (chunk >= (int64_t)a->chunks[a->n_regions]) {
    a->sums[chunk] = 0.0;
    return;
  }
  // the last region that begins at this chunk or before
  int64_t low = 0;
  int64_t high = a->n_regions - 1;
  while (low < high) {
    int64_t middle = (low + high + 1) / 2;
    bool is_before = (int64_t)a->chunks[middle] <= chunk;
    low = is_before ? middle : low;
    high = is_before ? high : middle - 1;
  }
  int64_t begin = a->starts[low] + (chunk - a->chunks[low]) * POCKETS_CHUNK;
  int64_t end = begin + POCKETS_CHUNK;
  end = end < (int64_t)a->starts[low + 1] ? end : (int64_t)a->starts[low + 1];
  double sum = 0.0;
  for (int64_t i = begin; i < end; ++i) {
    sum += (double)a->values[a->items[i]] + (a->low ? (double)a->low[a->items[i]] : 0.0);
  }
  a->sums[chunk] = sum;
}

typedef struct pockets_mean_args {
  const uint32_t *starts, *chunks;
  const double *sums;
  double *means;
} pockets_mean_args;

KP_FN void pockets_mean(int64_t region, const pockets_mean_args *a) {
  double sum = 0.0;
  for (uint32_t c = a->chunks[region]; c < a->chunks[region + 1]; ++c) {
    sum += a->sums[c];
  }
  a->means[region] = sum / (double)(a->starts[region + 1] - a->starts[region]);
}

typedef struct pockets_subtract_args {
  const uint32_t *regions, *items;
  const double *means;
  kp_real *values, *low;  // low may be NULL
} pockets_subtract_args;

KP_FN void pockets_subtract(int64_t i, const pockets_subtract_args *a) {
  uint32_t item = a->items[i];
  pockets_lower(&a->values[item], a->low ? &a->low[item] : NULL, a->means[a->regions[i]]);
}
