#include "methods/deform/deform_levels.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "methods/deform/deform_levels_kernels.h"
#include "par/kernel_define.h"

DEFORM_LEVELS_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define PITCH 1.9      // of the first cells, in links
#define FEWEST 4       // cells of a level that is worth it
#define STIFFNESS 2.5  // of a cell's function, in what its rows have times (link/pitch)^2
#define REACH 4.0      // of a step, in pitches, from which on a level is worth it
#define MOST_LEVELS 24

// ---- life ---------------------------------------------------------------------------------------

static void each_buffer(kp_level *l, kp_buffer *out[10]) {
  kp_buffer *all[10] = { &l->down_start, &l->down, &l->down_w,  &l->up_start, &l->up,
                         &l->up_w,       &l->sum,  &l->inverse, &l->residual, &l->change };
  memcpy(out, all, sizeof all);
}

void kp_levels_free(kp_levels *levels) {
  for (size_t k = 0; k < levels->list.count; ++k) {
    kp_buffer *all[10];
    each_buffer(&levels->list.data[k], all);
    for (int b = 0; b < 10; ++b) {
      kp_buffer_free(all[b]);
    }
  }
  kp_array_free(&levels->list);
  kp_buffer_free(&levels->cell);
  kp_buffer_free(&levels->record);
  kp_buffer_free(&levels->slices);
}

// ---- cells --------------------------------------------------------------------------------------

typedef struct cell {
  int32_t part;
  int32_t at[3];
} cell;

typedef struct cell_list {
  KP_ARRAY(cell) list;  // sorted, each once
} cell_list;

static int compare_cells(const void *left, const void *right) {
  const cell *l = left, *r = right;
  if (l->part != r->part) {
    return l->part < r->part ? -1 : 1;
  }
  for (int c = 2; c >= 0; --c) {
    if (l->at[c] != r->at[c]) {
      return l->at[c] < r->at[c] ? -1 : 1;
    }
  }
  return 0;
}

static void sort_cells(cell_list *cells) {
  if (cells->list.count == 0) {
    return;
  }
  qsort(cells->list.data, cells->list.count, sizeof(cell), compare_cells);
  size_t n = 1;
  for (size_t k = 1; k < cells->list.count; ++k) {
    if (compare_cells(&cells->list.data[k], &cells->list.data[n - 1]) != 0) {
      cells->list.data[n++] = cells->list.data[k];
    }
  }
  cells->list.count = n;
}

static int32_t find_cell(const cell_list *cells, const cell *c) {
  const cell *found = bsearch(c, cells->list.data, cells->list.count, sizeof(cell), compare_cells);
  return found != NULL ? (int32_t)(found - cells->list.data) : -1;
}

// A link from an item below to a cell above.
typedef struct transfer {
  int32_t below, above;
  double weight;
} transfer;

typedef struct transfers {
  KP_ARRAY(transfer) list;  // by `below`
} transfers;

static int32_t halved(int32_t v) {
  return v >= 0 ? v / 2 : -((1 - v) / 2);
}

// To the cells around the middle of cell `from`, 3/4 and 1/4 along each axis, as far as they are
// there; weights sum to 1.
static kp_result transfer_cell(const cell *from, int32_t below, const cell_list *above,
                               transfers *out) {
  transfer some[8];
  int n = 0;
  double sum = 0.0;
  for (int k = 0; k < 8; ++k) {
    cell to = { .part = from->part };
    double weight = 1.0;
    for (int c = 0; c < 3; ++c) {
      int32_t main = halved(from->at[c]);
      int32_t side = from->at[c] - 2 * main == 1 ? 1 : -1;
      to.at[c] = k >> c & 1 ? main + side : main;
      weight *= k >> c & 1 ? 0.25 : 0.75;
    }
    int32_t at = find_cell(above, &to);
    if (at >= 0) {
      some[n++] = (transfer){ below, at, weight };
      sum += weight;
    }
  }
  for (int k = 0; k < n; ++k) {
    some[k].weight /= sum;
    KP_TRY(kp_array_push(&out->list, some[k]));
  }
  return KP_OK;
}

// Lists of n items by one end of transfers, the other ends in their order.
static kp_result write_lists(const transfers *t, bool by_above, int64_t n, kp_buffer *starts,
                             kp_buffer *items, kp_buffer *weights) {
  int32_t *start, *item;
  kp_real *weight;
  KP_TRY(kp_buffer_room(starts, KP_TYPE_I32, n + 1, &start));
  KP_TRY(kp_buffer_room(items, KP_TYPE_I32, (int64_t)t->list.count, &item));
  KP_TRY(kp_buffer_room(weights, KP_TYPE_REAL, (int64_t)t->list.count, &weight));
  memset(start, 0, (size_t)(n + 1) * sizeof *start);
  for (size_t k = 0; k < t->list.count; ++k) {
    const transfer *one = &t->list.data[k];
    ++start[(by_above ? one->above : one->below) + 1];
  }
  for (int64_t i = 0; i < n; ++i) {
    start[i + 1] += start[i];
  }
  for (size_t k = 0; k < t->list.count; ++k) {
    const transfer *one = &t->list.data[k];
    int32_t at = start[by_above ? one->above : one->below]++;
    item[at] = by_above ? one->below : one->above;
    weight[at] = (kp_real)one->weight;
  }
  for (int64_t i = n; i > 0; --i) {
    start[i] = start[i - 1];
  }
  start[0] = 0;
  return KP_OK;
}

// ---- set-up -------------------------------------------------------------------------------------

static kp_result add_level(kp_levels *levels, kp_backend *backend, int64_t n, double share) {
  kp_level level = { .n = n, .share = share };
  kp_buffer *all[10];
  each_buffer(&level, all);
  for (int b = 0; b < 10; ++b) {
    kp_buffer_init(all[b], backend);
  }
  KP_TRY(kp_array_push(&levels->list, level));
  kp_level *l = &levels->list.data[levels->list.count - 1];
  KP_TRY(kp_vector_resize(&l->sum, LEVELS_BLOCK * n));
  KP_TRY(kp_vector_resize(&l->inverse, LEVELS_BLOCK * n));
  KP_TRY(kp_vector_resize(&l->residual, KP_RECORD * n));
  return kp_vector_resize(&l->change, KP_RECORD * n);
}

static kp_index part_of(const kp_deform *d, int64_t node) {
  size_t p = 0;
  while (p + 1 < d->parts.count &&
         !(node >= d->parts.data[p].nodes.first &&
           node < d->parts.data[p].nodes.first + d->parts.data[p].nodes.n)) {
    ++p;
  }
  return (kp_index)p;
}

// The cell of every row, `of`; rows without a node are in the first one and in no list.
static kp_result place_rows(kp_deform *d, const kp_levels_rows *rows, cell_list *of) {
  const double *x[3];
  for (int c = 0; c < 3; ++c) {
    KP_TRY(
        kp_buffer_get(&d->set->position->buffers[c], KP_SIDE_HOST, KP_ACCESS_READ, (void **)&x[c]));
  }
  for (int64_t r = 0; r < rows->rows; ++r) {
    int64_t i = rows->node[r];
    cell at = { .part = -1 };
    if (i >= 0) {
      at.part = part_of(d, i);
      double pitch = PITCH * sqrt(rows->mean2[at.part]);
      int64_t first = d->parts.data[at.part].nodes.first;
      for (int c = 0; c < 3; ++c) {
        double where = pitch > 0.0 ? (x[c][i] - x[c][first]) / pitch + 0.25 : 0.0;
        at.at[c] = (int32_t)floor(fmin(fmax(where, -1e9), 1e9));
      }
    }
    KP_TRY(kp_array_push(&of->list, at));
  }
  return KP_OK;
}

static kp_result make_first(const cell_list *of, cell_list *cells, transfers *t, kp_levels *levels,
                            kp_backend *backend) {
  for (size_t r = 0; r < of->list.count; ++r) {
    if (of->list.data[r].part >= 0) {
      KP_TRY(kp_array_push(&cells->list, of->list.data[r]));
    }
  }
  sort_cells(cells);
  int32_t *cell_of;
  KP_TRY(kp_buffer_room(&levels->cell, KP_TYPE_I32, levels->rows, &cell_of));
  for (int32_t r = 0; r < (int32_t)of->list.count; ++r) {
    int32_t at = of->list.data[r].part >= 0 ? find_cell(cells, &of->list.data[r]) : -1;
    cell_of[r] = at >= 0 ? at : 0;
    if (at >= 0) {
      transfer one = { r, at, 1.0 };
      KP_TRY(kp_array_push(&t->list, one));
    }
  }
  int64_t n = (int64_t)cells->list.count;
  KP_TRY(add_level(levels, backend, n, STIFFNESS / (PITCH * PITCH)));
  kp_level *l = &levels->list.data[0];
  return write_lists(t, true, n, &l->down_start, &l->down, &l->down_w);
}

// The level above the last one, from its cells; `cells` are then those of the new one.
static kp_result make_next(cell_list *cells, transfers *t, kp_levels *levels, kp_backend *backend) {
  cell_list above = { 0 };
  kp_result result = kp_array_reserve(&above.list, cells->list.count);
  for (size_t k = 0; result == KP_OK && k < cells->list.count; ++k) {
    cell up = cells->list.data[k];
    for (int c = 0; c < 3; ++c) {
      up.at[c] = halved(up.at[c]);
    }
    result = kp_array_push(&above.list, up);
  }
  sort_cells(&above);
  t->list.count = 0;
  for (size_t k = 0; result == KP_OK && k < cells->list.count; ++k) {
    result = transfer_cell(&cells->list.data[k], (int32_t)k, &above, t);
  }
  int64_t n = (int64_t)above.list.count, below = (int64_t)cells->list.count;
  kp_array_free(&cells->list);
  *cells = above;
  KP_TRY(result);
  KP_TRY(add_level(levels, backend, n, levels->list.data[levels->list.count - 1].share / 4.0));
  kp_level *l = &levels->list.data[levels->list.count - 1];
  KP_TRY(write_lists(t, true, n, &l->down_start, &l->down, &l->down_w));
  return write_lists(t, false, below, &l[-1].up_start, &l[-1].up, &l[-1].up_w);
}

static kp_result list_slices(kp_levels *levels) {
  int64_t n = levels->rows / SWEEP_SLICE;
  kp_row_segment *runs;
  KP_TRY(kp_buffer_resize(&levels->slices, (size_t)n * sizeof *runs));
  KP_TRY(kp_buffer_get(&levels->slices, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&runs));
  for (int64_t j = 0; j < n; ++j) {
    runs[j] = (kp_row_segment){ .j = (int32_t)j,
                                .i0 = (int32_t)(j * SWEEP_SLICE),
                                .i1 = (int32_t)((j + 1) * SWEEP_SLICE) };
  }
  return KP_OK;
}

typedef struct draft {
  cell_list of, cells;
  transfers links;
} draft;

static kp_result make(kp_deform *d, const kp_levels_rows *rows, kp_backend *backend,
                      kp_levels *levels, draft *m) {
  KP_TRY(place_rows(d, rows, &m->of));
  KP_TRY(make_first(&m->of, &m->cells, &m->links, levels, backend));
  while (m->cells.list.count >= 4 * FEWEST && levels->list.count < MOST_LEVELS) {
    size_t before = m->cells.list.count;
    KP_TRY(make_next(&m->cells, &m->links, levels, backend));
    if (m->cells.list.count == before) {
      break;  // parts of one cell each
    }
  }
  KP_TRY(kp_vector_resize(&levels->record, KP_RECORD * levels->rows));
  KP_TRY(kp_vector_fill(KP_RECORD * levels->rows, 0.0, &levels->record));
  return list_slices(levels);
}

kp_result kp_levels_make(kp_deform *d, const kp_levels_rows *rows, kp_backend *backend,
                         kp_levels *levels) {
  *levels = (kp_levels){ .rows = rows->rows };
  kp_buffer_init(&levels->cell, backend);
  kp_buffer_init(&levels->record, backend);
  kp_buffer_init(&levels->slices, backend);
  draft m = { 0 };
  kp_result result = make(d, rows, backend, levels, &m);
  kp_array_free(&m.of.list);
  kp_array_free(&m.cells.list);
  kp_array_free(&m.links.list);
  return result;
}

// ---- blocks -------------------------------------------------------------------------------------

static kp_result join(kp_levels *levels, kp_backend *backend, kp_buffer *block, kp_buffer *own) {
  kp_level *l = &levels->list.data[0];
  levels_join_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &levels_join_kernel, &a);
  KP_BIND(&call, &a, start, &l->down_start, KP_ACCESS_READ);
  KP_BIND(&call, &a, item, &l->down, KP_ACCESS_READ);
  KP_BIND(&call, &a, block, block, KP_ACCESS_READ);
  KP_BIND(&call, &a, own, own, KP_ACCESS_READ);
  KP_BIND(&call, &a, sum, &l->sum, KP_ACCESS_OVERWRITE);
  return kp_call_run(backend, &call, l->n);
}

static kp_result merge(kp_level *l, kp_backend *backend) {
  levels_merge_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &levels_merge_kernel, &a);
  KP_BIND(&call, &a, start, &l->down_start, KP_ACCESS_READ);
  KP_BIND(&call, &a, item, &l->down, KP_ACCESS_READ);
  KP_BIND(&call, &a, weight, &l->down_w, KP_ACCESS_READ);
  KP_BIND(&call, &a, below, &l[-1].sum, KP_ACCESS_READ);
  KP_BIND(&call, &a, sum, &l->sum, KP_ACCESS_OVERWRITE);
  return kp_call_run(backend, &call, l->n);
}

static kp_result invert(kp_level *l, kp_backend *backend) {
  levels_invert_args a = { .share = (kp_real)l->share };
  kp_call call;
  kp_call_init(&call, &levels_invert_kernel, &a);
  KP_BIND(&call, &a, sum, &l->sum, KP_ACCESS_READ);
  KP_BIND(&call, &a, inverse, &l->inverse, KP_ACCESS_WRITE);
  return kp_call_run(backend, &call, l->n);
}

kp_result kp_levels_factor(kp_levels *levels, kp_backend *backend, double reach, kp_buffer *block,
                           kp_buffer *own) {
  levels->n_used = 0;
  double pitch = PITCH;
  while (levels->n_used < (int)levels->list.count && REACH * pitch <= reach &&
         levels->list.data[levels->n_used].n >= FEWEST) {
    kp_level *l = &levels->list.data[levels->n_used];
    KP_TRY(levels->n_used == 0 ? join(levels, backend, block, own) : merge(l, backend));
    KP_TRY(invert(l, backend));
    ++levels->n_used;
    pitch *= 2.0;
  }
  return KP_OK;
}

// ---- application --------------------------------------------------------------------------------

static kp_result down(kp_level *l, kp_backend *backend, bool is_first, kp_buffer *below) {
  levels_down_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &levels_down_kernel, &a);
  KP_BIND(&call, &a, start, &l->down_start, KP_ACCESS_READ);
  KP_BIND(&call, &a, item, &l->down, KP_ACCESS_READ);
  KP_BIND(&call, &a, weight, is_first ? NULL : &l->down_w, KP_ACCESS_READ);
  KP_BIND(&call, &a, below, below, KP_ACCESS_READ);
  KP_BIND(&call, &a, sum, &l->residual, KP_ACCESS_OVERWRITE);
  return kp_call_run(backend, &call, l->n);
}

static kp_result up(kp_level *l, kp_backend *backend, bool is_last) {
  levels_up_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &levels_up_kernel, &a);
  KP_BIND(&call, &a, start, is_last ? NULL : &l->up_start, KP_ACCESS_READ);
  KP_BIND(&call, &a, item, is_last ? NULL : &l->up, KP_ACCESS_READ);
  KP_BIND(&call, &a, weight, is_last ? NULL : &l->up_w, KP_ACCESS_READ);
  KP_BIND(&call, &a, above, is_last ? NULL : &l[1].change, KP_ACCESS_READ);
  KP_BIND(&call, &a, inverse, &l->inverse, KP_ACCESS_READ);
  KP_BIND(&call, &a, sum, &l->residual, KP_ACCESS_READ);
  KP_BIND(&call, &a, change, &l->change, KP_ACCESS_OVERWRITE);
  return kp_call_run(backend, &call, l->n);
}

kp_result kp_levels_weigh(kp_levels *levels, kp_backend *backend, kp_buffer *block, kp_buffer *half,
                          kp_buffer *r, kp_buffer *u) {
  levels_halve_args h = { 0 };
  kp_call call;
  kp_call_init(&call, &levels_halve_kernel, &h);
  KP_BIND(&call, &h, half, half, KP_ACCESS_READ);
  KP_BIND(&call, &h, r, r, KP_ACCESS_READ);
  KP_BIND(&call, &h, y, &levels->record, KP_ACCESS_WRITE);
  KP_TRY(kp_call_rows(backend, &call, &levels->slices, levels->rows / SWEEP_SLICE));
  kp_level *l = levels->list.data;
  for (int k = 0; k < levels->n_used; ++k) {
    KP_TRY(down(&l[k], backend, k == 0, k == 0 ? &levels->record : &l[k - 1].residual));
  }
  for (int k = levels->n_used - 1; k >= 0; --k) {
    KP_TRY(up(&l[k], backend, k == levels->n_used - 1));
  }
  levels_weigh_args a = { 0 };
  kp_call_init(&call, &levels_weigh_kernel, &a);
  KP_BIND(&call, &a, cell, &levels->cell, KP_ACCESS_READ);
  KP_BIND(&call, &a, block, block, KP_ACCESS_READ);
  KP_BIND(&call, &a, half, half, KP_ACCESS_READ);
  KP_BIND(&call, &a, r, r, KP_ACCESS_READ);
  KP_BIND(&call, &a, e, &l[0].change, KP_ACCESS_READ);
  KP_BIND(&call, &a, u, u, KP_ACCESS_WRITE);
  return kp_call_rows(backend, &call, &levels->slices, levels->rows / SWEEP_SLICE);
}
