#include "data/cells.h"

#include <stdatomic.h>
#include <string.h>

#include "base/assert.h"
#include "data/call.h"
#include "data/cells_kernels.h"
#include "par/kernel_define.h"
#include "par/parallel.h"

CELLS_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

// The dense form is taken below either of these.
#define DENSE_CELLS_PER_ELEMENT 8
#define DENSE_CELLS ((int64_t)1 << 18)  // a box of so few cells is always dense

// Slots per chunk of the work list; items end at chunks, so the list does not depend on threads.
#define WORK_CHUNK ((int64_t)1 << 16)
// Neighbouring cells are put together up to this many elements and cells: bringing candidates
// together costs the same for one element as for many, but a long item has more candidates.
#define WORK_MERGE_ELEMENTS 16
#define WORK_MERGE_CELLS 4

static void init_buffer(kp_buffer *buffer, kp_backend *backend) {
  kp_buffer_init(buffer, backend);
  buffer->tag = KP_MEMORY_GRID;
}

kp_result kp_cells_create(kp_set *set, double edge, kp_cells **out) {
  KP_ASSERT(edge > 0.0);
  kp_cells *c = kp_alloc_zero(sizeof *c, KP_MEMORY_GRID);
  if (c == NULL) {
    return KP_ERROR_MEMORY;
  }
  c->set = set;
  c->edge = edge;
  c->dense_cells = DENSE_CELLS;
  c->bounds = kp_aabb_empty();
  kp_backend *backend = set->space->backend;
  init_buffer(&c->keys, backend);
  init_buffer(&c->order, backend);
  init_buffer(&c->cell_start, backend);
  init_buffer(&c->row_start, backend);
  init_buffer(&c->row_lo, backend);
  init_buffer(&c->row_key, backend);
  init_buffer(&c->row_of, backend);
  init_buffer(&c->wide, backend);
  init_buffer(&c->work, backend);
  init_buffer(&c->kept.places, backend);
  init_buffer(&c->kept.halo, backend);
  init_buffer(&c->kept.near, backend);
  init_buffer(&c->kept.lists, backend);
  init_buffer(&c->kept.counts, backend);
  if (set->cells == NULL) {
    set->cells = c;
  }
  *out = c;
  return KP_OK;
}

void kp_cells_destroy(kp_cells **cells) {
  kp_cells *c = *cells;
  if (c == NULL) {
    return;
  }
  if (c->set->cells == c) {
    c->set->cells = NULL;
  }
  kp_buffer_free(&c->keys);
  kp_buffer_free(&c->order);
  kp_buffer_free(&c->cell_start);
  kp_buffer_free(&c->row_start);
  kp_buffer_free(&c->row_lo);
  kp_buffer_free(&c->row_key);
  kp_buffer_free(&c->row_of);
  kp_buffer_free(&c->wide);
  kp_buffer_free(&c->work);
  kp_buffer_free(&c->kept.places);
  kp_buffer_free(&c->kept.halo);
  kp_buffer_free(&c->kept.near);
  kp_buffer_free(&c->kept.lists);
  kp_buffer_free(&c->kept.counts);
  kp_array_free(&c->work_counts);
  kp_free(c);
  *cells = NULL;
}

// --- the box -------------------------------------------------------------------------------------

static kp_result measure_bounds(kp_cells *c, kp_aabb *bounds) {
  kp_set *set = c->set;
  double v[7];
  cells_bounds_args a;
  kp_call call;
  kp_call_init(&call, &cells_bounds_kernel, &a);
  KP_BIND3(&call, &a, , set->position, KP_ACCESS_READ);
  KP_TRY(kp_call_reduce(set->space->backend, &call, set->space->n, v));
  if (v[6] > 0.0) {
    return kp_fail(KP_ERROR_PHYSICS, "%.0f of the %lld elements of %s have no finite position",
                   v[6], (long long)set->space->n, set->space->name);
  }
  bounds->min = kp_vec3_make(v[0], v[1], v[2]);
  bounds->max = kp_vec3_make(v[3], v[4], v[5]);
  return KP_OK;
}

// Numbers of the view that follow from the bounds.
static kp_result shape_box(kp_cells *c) {
  const kp_set *set = c->set;
  const double lo[3] = { c->bounds.min.x, c->bounds.min.y, c->bounds.min.z };
  const double hi[3] = { c->bounds.max.x, c->bounds.max.y, c->bounds.max.z };
  kp_cells_view *v = &c->shape;
  *v = (kp_cells_view){ .edge = c->edge, .inverse_edge = 1.0 / c->edge, .n = set->space->n };
  double n_cells = 1.0;
  for (int d = 0; d < 3; ++d) {
    double farthest = fabs(lo[d]) > fabs(hi[d]) ? fabs(lo[d]) : fabs(hi[d]);
    if (!(farthest * v->inverse_edge < KP_CELLS_LIMIT)) {
      return kp_fail(KP_ERROR_PHYSICS, "an element of %s is %g m away, too far for cells of %g m",
                     set->space->name, farthest, c->edge);
    }
    v->lo[d] = kp_cells_coordinate(lo[d], v->inverse_edge);
    v->dims[d] = kp_cells_coordinate(hi[d], v->inverse_edge) - v->lo[d] + 1;
    n_cells *= (double)v->dims[d];
  }
  v->sparse =
      n_cells > (double)DENSE_CELLS_PER_ELEMENT * (double)v->n && n_cells > (double)c->dense_cells;
  v->sparse |= n_cells >= 4294967295.0;
  if (!v->sparse) {
    c->n_cells = (int64_t)n_cells;
    v->n_rows = v->dims[1] * v->dims[2];
  }
  return KP_OK;
}

static cells_box box_of(const kp_cells *c) {
  const kp_cells_view *v = &c->shape;
  return (cells_box){ v->inverse_edge,
                      { v->lo[0], v->lo[1], v->lo[2] },
                      { v->dims[0], v->dims[1], v->dims[2] } };
}

static int bits_of(uint64_t largest) {
  int bits = 1;
  while (bits < 64 && largest >> bits != 0) {
    ++bits;
  }
  return bits;
}

// --- sorting -------------------------------------------------------------------------------------

static bool is_host(const kp_cells *c) {
  return c->set->space->backend->vt->kind != KP_BACKEND_CUDA;
}

static bool is_ascending(const uint32_t *keys, int64_t n) {
  for (int64_t i = 1; i < n; ++i) {
    if (keys[i - 1] > keys[i]) {
      return false;
    }
  }
  return true;
}

static kp_result sort_dense(kp_cells *c) {
  kp_set *set = c->set;
  kp_backend *backend = set->space->backend;
  cells_keys_args a = { .box = box_of(c) };
  kp_call call;
  kp_call_init(&call, &cells_keys_kernel, &a);
  KP_BIND3(&call, &a, , set->position, KP_ACCESS_READ);
  KP_BIND(&call, &a, keys, &c->keys, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, order, &c->order, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(backend, &call, c->shape.n));
  uint32_t *keys = kp_buffer_device(&c->keys, KP_ACCESS_WRITE);
  uint32_t *order = kp_buffer_device(&c->order, KP_ACCESS_WRITE);
  if (keys == NULL || order == NULL) {
    return KP_ERROR_MEMORY;
  }
  if (is_host(c) && is_ascending(keys, c->shape.n)) {
    return KP_OK;
  }
  return kp_sort32(backend, keys, order, c->shape.n, bits_of((uint64_t)c->n_cells - 1));
}

static kp_result sort_sparse(kp_cells *c, int y_bits) {
  kp_set *set = c->set;
  kp_backend *backend = set->space->backend;
  int64_t n = c->shape.n;
  kp_call call;
  cells_sparse_x_args x = { .box = box_of(c) };
  kp_call_init(&call, &cells_sparse_x_kernel, &x);
  KP_BIND(&call, &x, x, &set->position->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &x, keys, &c->keys, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &x, order, &c->order, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(backend, &call, n));
  uint32_t *keys = kp_buffer_device(&c->keys, KP_ACCESS_WRITE);
  uint32_t *order = kp_buffer_device(&c->order, KP_ACCESS_WRITE);
  if (keys == NULL || order == NULL) {
    return KP_ERROR_MEMORY;
  }
  KP_TRY(kp_sort32(backend, keys, order, n, bits_of((uint64_t)c->shape.dims[0])));

  cells_sparse_row_args row = { .box = box_of(c), .y_bits = y_bits };
  kp_call_init(&call, &cells_sparse_row_kernel, &row);
  KP_BIND(&call, &row, y, &set->position->buffers[1], KP_ACCESS_READ);
  KP_BIND(&call, &row, z, &set->position->buffers[2], KP_ACCESS_READ);
  KP_BIND(&call, &row, order, &c->order, KP_ACCESS_READ);
  KP_BIND(&call, &row, rows, &c->wide, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(backend, &call, n));
  uint64_t *rows = kp_buffer_device(&c->wide, KP_ACCESS_WRITE);
  order = kp_buffer_device(&c->order, KP_ACCESS_WRITE);
  if (rows == NULL || order == NULL) {
    return KP_ERROR_MEMORY;
  }
  return kp_sort64(backend, rows, order, n, y_bits + bits_of((uint64_t)c->shape.dims[2]));
}

static void bind_sparse(kp_cells *c, kp_call *call, cells_sparse *a, int y_bits) {
  *a = (cells_sparse){ .n = c->shape.n, .box = box_of(c), .y_bits = y_bits };
  char *args = call->args;
  size_t at = (size_t)((char *)a - args);
  kp_call_bind(call, at + offsetof(cells_sparse, x), &c->set->position->buffers[0], KP_ACCESS_READ);
  kp_call_bind(call, at + offsetof(cells_sparse, order), &c->order, KP_ACCESS_READ);
  kp_call_bind(call, at + offsetof(cells_sparse, rows), &c->wide, KP_ACCESS_READ);
}

// One number of a device array: the sum at the end of a scan.
static kp_result read_last(kp_buffer *buffer, int64_t index, uint32_t *out) {
  const uint32_t *device = kp_buffer_device(buffer, KP_ACCESS_READ);
  if (device == NULL) {
    return KP_ERROR_MEMORY;
  }
  return kp_copy_out(buffer->backend, out, device + index, sizeof *out);
}

static kp_result scan_in_place(kp_buffer *buffer, int64_t n) {
  uint32_t *device = kp_buffer_device(buffer, KP_ACCESS_WRITE);
  return device == NULL ? KP_ERROR_MEMORY : kp_scan(buffer->backend, device, device, n);
}

// Cuts the sorted slots into pieces of rows: row_of becomes the scan of the cuts.
static kp_result cut_rows(kp_cells *c, int y_bits) {
  int64_t n = c->shape.n;
  kp_call call;
  cells_sparse_cut_args cut;
  kp_call_init(&call, &cells_sparse_cut_kernel, &cut);
  bind_sparse(c, &call, &cut.sorted, y_bits);
  KP_BIND(&call, &cut, is_cut, &c->row_of, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(c->keys.backend, &call, n));
  KP_TRY(scan_in_place(&c->row_of, n));
  uint32_t n_rows;
  KP_TRY(read_last(&c->row_of, n, &n_rows));
  c->shape.n_rows = (int32_t)n_rows;
  KP_TRY(kp_buffer_resize(&c->row_key, n_rows * sizeof(uint64_t)));
  KP_TRY(kp_buffer_resize(&c->row_lo, n_rows * sizeof(int32_t)));
  return kp_buffer_resize(&c->row_start, (n_rows + 1) * sizeof(uint32_t));
}

// Rows of the sparse form, and keys that number the cells of all rows.
static kp_result index_rows(kp_cells *c, int y_bits) {
  kp_backend *backend = c->keys.backend;
  int64_t n = c->shape.n;
  KP_TRY(cut_rows(c, y_bits));

  kp_call call;
  cells_sparse_pieces_args pieces;
  kp_call_init(&call, &cells_sparse_pieces_kernel, &pieces);
  bind_sparse(c, &call, &pieces.sorted, y_bits);
  KP_BIND(&call, &pieces, piece, &c->row_of, KP_ACCESS_READ);
  KP_BIND(&call, &pieces, row_key, &c->row_key, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &pieces, row_lo, &c->row_lo, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &pieces, row_hi, &c->row_start, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(backend, &call, n));

  cells_sparse_lengths_args lengths;
  kp_call_init(&call, &cells_sparse_lengths_kernel, &lengths);
  KP_BIND(&call, &lengths, row_lo, &c->row_lo, KP_ACCESS_READ);
  KP_BIND(&call, &lengths, row_length, &c->row_start, KP_ACCESS_WRITE);
  KP_TRY(kp_call_run(backend, &call, c->shape.n_rows));
  KP_TRY(scan_in_place(&c->row_start, c->shape.n_rows));
  uint32_t n_cells;
  KP_TRY(read_last(&c->row_start, c->shape.n_rows, &n_cells));
  c->n_cells = n_cells;

  cells_sparse_keys_args keys;
  kp_call_init(&call, &cells_sparse_keys_kernel, &keys);
  bind_sparse(c, &call, &keys.sorted, y_bits);
  KP_BIND(&call, &keys, piece, &c->row_of, KP_ACCESS_READ);
  KP_BIND(&call, &keys, row_start, &c->row_start, KP_ACCESS_READ);
  KP_BIND(&call, &keys, row_lo, &c->row_lo, KP_ACCESS_READ);
  KP_BIND(&call, &keys, keys, &c->keys, KP_ACCESS_OVERWRITE);
  return kp_call_run(backend, &call, n);
}

static kp_result sort_ties(kp_cells *c) {
  cells_ties_args a = { .n = c->shape.n };
  kp_call call;
  kp_call_init(&call, &cells_ties_kernel, &a);
  KP_BIND(&call, &a, keys, &c->keys, KP_ACCESS_READ);
  KP_BIND(&call, &a, id, &c->set->id->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, order, &c->order, KP_ACCESS_WRITE);
  return kp_call_run(c->keys.backend, &call, c->shape.n);
}

static kp_result index_cells(kp_cells *c) {
  KP_TRY(kp_buffer_resize(&c->cell_start, (size_t)(c->n_cells + 1) * sizeof(uint32_t)));
  cells_starts_args a = { .n = c->shape.n, .n_cells = c->n_cells };
  kp_call call;
  kp_call_init(&call, &cells_starts_kernel, &a);
  KP_BIND(&call, &a, keys, &c->keys, KP_ACCESS_READ);
  KP_BIND(&call, &a, cell_start, &c->cell_start, KP_ACCESS_OVERWRITE);
  return kp_call_run(c->keys.backend, &call, c->shape.n + 1);
}

// --- work items of the host pair driver ----------------------------------------------------------

typedef struct work_list {
  const uint32_t *keys, *row_of, *row_start;
  const kp_cells_view *shape;
  uint32_t *work;
  uint32_t *counts;  // per chunk: items, occupied cells
} work_list;

// Number of the cell after the last one of the row that slot s lies in.
static uint32_t row_end(const work_list *l, int64_t s) {
  if (l->shape->sparse) {
    return l->row_start[l->row_of[s + 1]];
  }
  uint32_t width = (uint32_t)l->shape->dims[0];
  return (l->keys[s] / width + 1) * width;
}

static int64_t cell_end(const work_list *l, int64_t s, int64_t end) {
  uint32_t key = l->keys[s];
  while (s < end && l->keys[s] == key) {
    ++s;
  }
  return s;
}

// Items of the slots of one chunk, written from the chunk's own first place on.
static void list_chunk(int64_t begin, int64_t end, void *context) {
  const work_list *l = context;
  uint32_t *work = l->work + begin;
  uint32_t n_items = 0;
  uint32_t n_occupied = 0;
  for (int64_t s = begin; s < end;) {
    int64_t stop = cell_end(l, s, end);
    // a cell that a chunk cuts counts where it begins
    n_occupied += s == 0 || l->keys[s - 1] != l->keys[s];
    // take in the next cells of the row while both are small
    uint32_t limit = stop - s < WORK_MERGE_ELEMENTS ? row_end(l, s) : 0;
    while (stop < end && l->keys[stop] < limit && l->keys[stop] - l->keys[s] < WORK_MERGE_CELLS) {
      int64_t next = cell_end(l, stop, end);
      if (next - s > WORK_MERGE_ELEMENTS) {
        break;
      }
      stop = next;
      ++n_occupied;
    }
    // cut a full cell into even pieces
    int64_t n_pieces = (stop - s + KP_CELLS_ITEM - 1) / KP_CELLS_ITEM;
    for (int64_t p = 0; p < n_pieces; ++p) {
      work[n_items++] = (uint32_t)(s + (stop - s) * p / n_pieces);
    }
    s = stop;
  }
  l->counts[2 * (begin / WORK_CHUNK)] = n_items;
  l->counts[2 * (begin / WORK_CHUNK) + 1] = n_occupied;
}

static kp_result list_work(kp_cells *c) {
  int64_t n = c->shape.n;
  int64_t n_chunks = (n + WORK_CHUNK - 1) / WORK_CHUNK;
  KP_TRY(kp_buffer_resize(&c->work, (size_t)(n + 1) * sizeof(uint32_t)));
  KP_TRY(kp_array_resize(&c->work_counts, (size_t)(2 * n_chunks)));
  work_list l = { .keys = kp_buffer_device(&c->keys, KP_ACCESS_READ),
                  .row_of = kp_buffer_device(&c->row_of, KP_ACCESS_READ),
                  .row_start = kp_buffer_device(&c->row_start, KP_ACCESS_READ),
                  .shape = &c->shape,
                  .work = kp_buffer_device(&c->work, KP_ACCESS_OVERWRITE),
                  .counts = c->work_counts.data };
  if (l.keys == NULL || l.row_of == NULL || l.row_start == NULL || l.work == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_parallel_for(n, WORK_CHUNK, list_chunk, &l);
  c->n_items = 0;
  c->n_occupied = 0;
  for (int64_t k = 0; k < n_chunks; ++k) {
    memmove(l.work + c->n_items, l.work + k * WORK_CHUNK, l.counts[2 * k] * sizeof(uint32_t));
    c->n_items += l.counts[2 * k];
    c->n_occupied += l.counts[2 * k + 1];
  }
  l.work[c->n_items] = (uint32_t)n;
  return KP_OK;
}

// --- build ---------------------------------------------------------------------------------------

static bool is_identity(const uint32_t *order, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    if (order[i] != (uint32_t)i) {
      return false;
    }
  }
  return true;
}

// Brings the elements of a free set into the order of the cells; skipped when none has moved.
static kp_result apply_order(kp_cells *c) {
  const uint32_t *order = kp_buffer_device(&c->order, KP_ACCESS_READ);
  if (order == NULL) {
    return KP_ERROR_MEMORY;
  }
  c->is_moved = !is_host(c) || !is_identity(order, c->shape.n);
  if (c->is_moved && c->set->kind != KP_SET_TIED) {
    KP_TRY(kp_space_permute(c->set->space, &c->order));
  }
  return KP_OK;
}

static kp_result resize_slots(kp_cells *c) {
  size_t n = (size_t)c->shape.n;
  KP_TRY(kp_buffer_resize(&c->keys, n * sizeof(uint32_t)));
  KP_TRY(kp_buffer_resize(&c->order, n * sizeof(uint32_t)));
  if (c->shape.sparse) {
    KP_TRY(kp_buffer_resize(&c->row_of, (n + 1) * sizeof(uint32_t)));
    KP_TRY(kp_buffer_resize(&c->wide, n * sizeof(uint64_t)));
  }
  return KP_OK;
}

static kp_result build_empty(kp_cells *c) {
  c->shape = (kp_cells_view){ .edge = c->edge, .inverse_edge = 1.0 / c->edge };
  c->n_items = 0;
  c->n_occupied = 0;
  c->n_cells = 0;
  c->bounds = kp_aabb_empty();
  c->is_moved = false;
  return KP_OK;
}

// Given bounds are taken as they are, since measuring costs a pass and, on a device, a wait; keys
// are kept inside the box, so wrong bounds lose pairs but never memory.
static kp_result choose_bounds(kp_cells *c, const kp_aabb *bounds) {
  if (bounds == NULL) {
    return measure_bounds(c, &c->bounds);
  }
#ifdef KP_VALIDATE
  KP_TRY(measure_bounds(c, &c->bounds));
  if (!kp_aabb_holds(*bounds, c->bounds.min) || !kp_aabb_holds(*bounds, c->bounds.max)) {
    return kp_fail(KP_ERROR_PHYSICS, "elements of %s are outside the given bounds",
                   c->set->space->name);
  }
#endif
  c->bounds = *bounds;
  return KP_OK;
}

static uint64_t next_stamp(void) {
  static atomic_uint_fast64_t last;
  return atomic_fetch_add(&last, 1) + 1;
}

kp_result kp_cells_build(kp_cells *c, const kp_aabb *bounds) {
  ++c->revision;
  c->stamp = next_stamp();
  c->built_for = c->set->space->revision;
  if (c->set->space->n == 0) {
    return build_empty(c);
  }
  KP_TRY(choose_bounds(c, bounds));
  KP_TRY(shape_box(c));
  KP_TRY(resize_slots(c));
  if (c->shape.sparse) {
    int y_bits = bits_of((uint64_t)c->shape.dims[1]);
    KP_TRY(sort_sparse(c, y_bits));
    KP_TRY(index_rows(c, y_bits));
  } else {
    KP_TRY(sort_dense(c));
  }
  KP_TRY(sort_ties(c));
  KP_TRY(apply_order(c));
  KP_TRY(index_cells(c));
  if (is_host(c)) {
    KP_TRY(list_work(c));
  }
  c->built_for = c->set->space->revision;
  return KP_OK;
}

static kp_result view_buffer(kp_buffer *buffer, const void *member) {
  void *device;
  KP_TRY(kp_buffer_get(buffer, KP_SIDE_DEVICE, KP_ACCESS_READ, &device));
  memcpy((void *)(uintptr_t)member, &device, sizeof device);
  return KP_OK;
}

kp_result kp_cells_view_of(kp_cells *c, kp_cells_view *out) {
  kp_set *set = c->set;
  if (c->revision == 0 || c->built_for != set->space->revision) {
    return kp_fail(KP_ERROR_INTERNAL, "the cells of %s are older than its elements",
                   set->space->name);
  }
  *out = c->shape;
  KP_TRY(view_buffer(&c->cell_start, &out->cell_start));
  if (out->sparse) {
    KP_TRY(view_buffer(&c->row_start, &out->row_start));
    KP_TRY(view_buffer(&c->row_lo, &out->row_lo));
    KP_TRY(view_buffer(&c->row_key, &out->row_key));
  }
  if (set->kind == KP_SET_TIED) {
    KP_TRY(view_buffer(&c->order, &out->order));
  }
  KP_TRY(view_buffer(&set->position->buffers[0], &out->x));
  KP_TRY(view_buffer(&set->position->buffers[1], &out->y));
  return view_buffer(&set->position->buffers[2], &out->z);
}
