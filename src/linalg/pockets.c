#include "linalg/pockets.h"

#include <string.h>

#include "linalg/pockets_kernels.h"
#include "par/kernel_define.h"

POCKETS_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_NO_PAIR)

#define N_ARRAYS 9

static void each(kp_pockets *p, kp_buffer *out[N_ARRAYS]) {
  kp_buffer *all[N_ARRAYS] = { &p->labels, &p->changes, &p->marks, &p->regions, &p->items,
                               &p->starts, &p->chunks,  &p->sums,  &p->means };
  memcpy(out, all, sizeof all);
}

void kp_pockets_init(kp_pockets *p, kp_backend *backend) {
  *p = (kp_pockets){ .backend = backend };
  kp_buffer *all[N_ARRAYS];
  each(p, all);
  for (int k = 0; k < N_ARRAYS; ++k) {
    kp_buffer_init(all[k], backend);
    all[k]->type = k == 0 ? KP_TYPE_I32 : (k < 7 ? KP_TYPE_U32 : KP_TYPE_F64);
  }
}

void kp_pockets_free(kp_pockets *p) {
  kp_buffer *all[N_ARRAYS];
  each(p, all);
  for (int k = 0; k < N_ARRAYS; ++k) {
    kp_buffer_free(all[k]);
  }
}

double kp_pockets_bytes(const kp_pockets *p) {
  kp_buffer *all[N_ARRAYS];
  double bytes = 0.0;
  each((kp_pockets *)p, all);
  for (int k = 0; k < N_ARRAYS; ++k) {
    bytes += (double)all[k]->capacity;
  }
  return bytes;
}

static kp_result resize(kp_buffer *buffer, int64_t n) {
  return kp_buffer_resize(buffer, (size_t)n * kp_type_size((kp_type)buffer->type));
}

// ---- flood fill

static void bind_matrix(kp_call *call, pockets_matrix *m, const kp_pockets_system *s) {
  char *args = call->args;
  m->grid = s->box;
  for (int c = 0; c < 3; ++c) {
    m->is_periodic[c] = s->is_periodic[c];
  }
  kp_call_bind(call, (size_t)((char *)&m->flags - args), s->flags, KP_ACCESS_READ);
  kp_call_bind(call, (size_t)((char *)&m->cx - args), s->faces[0], KP_ACCESS_READ);
  kp_call_bind(call, (size_t)((char *)&m->cy - args), s->faces[1], KP_ACCESS_READ);
  kp_call_bind(call, (size_t)((char *)&m->cz - args), s->box.slab ? s->faces[2] : NULL,
               KP_ACCESS_READ);
  kp_call_bind(call, (size_t)((char *)&m->extra - args), s->extra, KP_ACCESS_READ);
}

// Outside the window and in ghosts all bits are 0: held, never counted.
static kp_result label(kp_pockets *p, const kp_pockets_system *s) {
  size_t before = p->labels.used;
  KP_TRY(resize(&p->labels, s->length));
  if (before != p->labels.used || p->first != s->first || p->n_flat != s->n) {
    void *memory;
    KP_TRY(kp_buffer_get(&p->labels, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &memory));
    KP_TRY(kp_fill(p->backend, memory, 0, p->labels.used));
  }
  p->first = s->first;
  p->n_flat = s->n;
  pockets_label_args a = { .lo = { s->lo[0], s->lo[1], s->lo[2] } };
  kp_call call;
  kp_call_init(&call, &pockets_label_kernel, &a);
  bind_matrix(&call, &a.m, s);
  KP_BIND(&call, &a, labels, &p->labels, KP_ACCESS_WRITE);
  return kp_call_rows(p->backend, &call, s->segments, s->n_segments);
}

// How many lines changed, and how many have items that nothing holds yet.
static kp_result sweep(kp_pockets *p, const kp_pockets_system *s, int axis, double v[2]) {
  const int32_t *n = s->box.n;
  int64_t n_lines = (int64_t)n[0] * n[1] * n[2] / n[axis];
  KP_TRY(resize(&p->changes, n_lines));
  pockets_sweep_args a = { .axis = axis };
  kp_call call;
  kp_call_init(&call, &pockets_sweep_kernel, &a);
  bind_matrix(&call, &a.m, s);
  KP_BIND(&call, &a, labels, &p->labels, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, changes, &p->changes, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(p->backend, &call, n_lines));
  pockets_changes_args c = { 0 };
  kp_call_init(&call, &pockets_changes_kernel, &c);
  KP_BIND(&call, &c, changes, &p->changes, KP_ACCESS_READ);
  return kp_call_reduce(p->backend, &call, n_lines, v);
}

// Until every axis in turn has nothing to change, or everything is held. Most liquids have their
// air above them, so the first axis is the second.
static kp_result spread(kp_pockets *p, const kp_pockets_system *s, bool *has_open) {
  int n_axes = s->box.slab ? 3 : 2;
  int n_quiet = 0;
  p->rounds = 0;
  *has_open = true;
  for (int axis = 1; n_quiet < n_axes && *has_open; axis = (axis + 1) % n_axes) {
    double v[2];
    KP_TRY(sweep(p, s, axis, v));
    *has_open = v[1] > 0.0;
    // once to and fro settles a line, but not a ring
    int n_settled = s->is_periodic[axis] ? 0 : 1;
    n_quiet = v[0] > 0.0 ? n_settled : n_quiet + 1;
    p->rounds += axis == 0 ? 1 : 0;
  }
  return KP_OK;
}

// ---- the list of several regions

static kp_result list_items(kp_pockets *p) {
  KP_TRY(resize(&p->marks, p->n_flat + 1));
  pockets_mark_args m = { .first = p->first };
  kp_call call;
  kp_call_init(&call, &pockets_mark_kernel, &m);
  KP_BIND(&call, &m, labels, &p->labels, KP_ACCESS_READ);
  KP_BIND(&call, &m, marks, &p->marks, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(p->backend, &call, p->n_flat));
  uint32_t *marks;
  KP_TRY(kp_buffer_get(&p->marks, KP_SIDE_DEVICE, KP_ACCESS_WRITE, (void **)&marks));
  KP_TRY(kp_scan(p->backend, marks, marks, p->n_flat));
  KP_TRY(resize(&p->regions, p->n_items));
  KP_TRY(resize(&p->items, p->n_items));
  pockets_list_args l = { .first = p->first };
  kp_call_init(&call, &pockets_list_kernel, &l);
  KP_BIND(&call, &l, labels, &p->labels, KP_ACCESS_READ);
  KP_BIND(&call, &l, places, &p->marks, KP_ACCESS_READ);
  KP_BIND(&call, &l, regions, &p->regions, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &l, items, &p->items, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(p->backend, &call, p->n_flat));
  uint32_t *regions;
  uint32_t *items;
  KP_TRY(kp_buffer_get(&p->regions, KP_SIDE_DEVICE, KP_ACCESS_WRITE, (void **)&regions));
  KP_TRY(kp_buffer_get(&p->items, KP_SIDE_DEVICE, KP_ACCESS_WRITE, (void **)&items));
  return kp_sort32(p->backend, regions, items, p->n_items, 32);
}

// Numbers of regions in place of their labels, where they begin and how they are cut.
static kp_result cut_regions(kp_pockets *p) {
  pockets_begin_args b = { 0 };
  kp_call call;
  kp_call_init(&call, &pockets_begin_kernel, &b);
  KP_BIND(&call, &b, regions, &p->regions, KP_ACCESS_READ);
  KP_BIND(&call, &b, marks, &p->marks, KP_ACCESS_WRITE);
  KP_TRY(kp_call_run(p->backend, &call, p->n_items));
  uint32_t *counts;
  KP_TRY(kp_buffer_get(&p->marks, KP_SIDE_DEVICE, KP_ACCESS_WRITE, (void **)&counts));
  KP_TRY(kp_scan(p->backend, counts, counts, p->n_items));
  KP_TRY(resize(&p->starts, p->n + 1));
  KP_TRY(resize(&p->chunks, p->n + 1));
  pockets_region_args r = { .n = p->n_items, .n_regions = p->n };
  kp_call_init(&call, &pockets_region_kernel, &r);
  KP_BIND(&call, &r, places, &p->marks, KP_ACCESS_READ);
  KP_BIND(&call, &r, regions, &p->regions, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &r, starts, &p->starts, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(p->backend, &call, p->n_items));
  pockets_chunk_args c = { 0 };
  kp_call_init(&call, &pockets_chunk_kernel, &c);
  KP_BIND(&call, &c, starts, &p->starts, KP_ACCESS_READ);
  KP_BIND(&call, &c, counts, &p->chunks, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(p->backend, &call, p->n));
  KP_TRY(kp_buffer_get(&p->chunks, KP_SIDE_DEVICE, KP_ACCESS_WRITE, (void **)&counts));
  KP_TRY(kp_scan(p->backend, counts, counts, p->n));
  // how many chunks there are is known on the device alone; this many at most
  KP_TRY(resize(&p->sums, p->n_items / POCKETS_CHUNK + p->n));
  return resize(&p->means, p->n);
}

kp_result kp_pockets_find(kp_pockets *p, const kp_pockets_system *s) {
  KP_TRY(label(p, s));
  bool has_open;
  KP_TRY(spread(p, s, &has_open));
  p->n = p->n_items = 0;
  if (!has_open) {
    return KP_OK;
  }
  pockets_count_args a = { .first = p->first };
  kp_call call;
  kp_call_init(&call, &pockets_count_kernel, &a);
  KP_BIND(&call, &a, labels, &p->labels, KP_ACCESS_READ);
  double v[2];
  KP_TRY(kp_call_reduce(p->backend, &call, p->n_flat, v));
  p->n = (int64_t)v[0];
  p->n_items = (int64_t)v[1];
  if (p->n > 1) {
    KP_TRY(list_items(p));
    KP_TRY(cut_regions(p));
  }
  return KP_OK;
}

// ---- means

static kp_result project_one(kp_pockets *p, kp_buffer *values, kp_buffer *low) {
  pockets_total_args t = { .first = p->first };
  kp_call call;
  kp_call_init(&call, &pockets_total_kernel, &t);
  KP_BIND(&call, &t, labels, &p->labels, KP_ACCESS_READ);
  KP_BIND(&call, &t, values, values, KP_ACCESS_READ);
  KP_BIND(&call, &t, low, low, KP_ACCESS_READ);
  double total;
  KP_TRY(kp_call_reduce(p->backend, &call, p->n_flat, &total));
  pockets_take_off_args a = { .first = p->first, .mean = total / (double)p->n_items };
  kp_call_init(&call, &pockets_take_off_kernel, &a);
  KP_BIND(&call, &a, labels, &p->labels, KP_ACCESS_READ);
  KP_BIND(&call, &a, values, values, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, low, low, KP_ACCESS_WRITE);
  return kp_call_run(p->backend, &call, p->n_flat);
}

static kp_result project_several(kp_pockets *p, kp_buffer *values, kp_buffer *low) {
  pockets_partial_args s = { .n_regions = p->n };
  kp_call call;
  kp_call_init(&call, &pockets_partial_kernel, &s);
  KP_BIND(&call, &s, starts, &p->starts, KP_ACCESS_READ);
  KP_BIND(&call, &s, chunks, &p->chunks, KP_ACCESS_READ);
  KP_BIND(&call, &s, items, &p->items, KP_ACCESS_READ);
  KP_BIND(&call, &s, values, values, KP_ACCESS_READ);
  KP_BIND(&call, &s, low, low, KP_ACCESS_READ);
  KP_BIND(&call, &s, sums, &p->sums, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(p->backend, &call, p->n_items / POCKETS_CHUNK + p->n));
  pockets_mean_args m = { 0 };
  kp_call_init(&call, &pockets_mean_kernel, &m);
  KP_BIND(&call, &m, starts, &p->starts, KP_ACCESS_READ);
  KP_BIND(&call, &m, chunks, &p->chunks, KP_ACCESS_READ);
  KP_BIND(&call, &m, sums, &p->sums, KP_ACCESS_READ);
  KP_BIND(&call, &m, means, &p->means, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(p->backend, &call, p->n));
  pockets_subtract_args a = { 0 };
  kp_call_init(&call, &pockets_subtract_kernel, &a);
  KP_BIND(&call, &a, regions, &p->regions, KP_ACCESS_READ);
  KP_BIND(&call, &a, items, &p->items, KP_ACCESS_READ);
  KP_BIND(&call, &a, means, &p->means, KP_ACCESS_READ);
  KP_BIND(&call, &a, values, values, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, low, low, KP_ACCESS_WRITE);
  return kp_call_run(p->backend, &call, p->n_items);
}

kp_result kp_pockets_project(kp_pockets *p, kp_buffer *values, kp_buffer *low) {
  if (p->n == 0) {
    return KP_OK;
  }
  return p->n == 1 ? project_one(p, values, low) : project_several(p, values, low);
}
