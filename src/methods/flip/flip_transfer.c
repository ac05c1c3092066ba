// Particles to faces and back.
#include <math.h>

#include "data/call.h"
#include "data/cells_kernels.h"
#include "methods/flip/flip.h"
#include "methods/flip/flip_kernels.h"
#include "par/kernel_define.h"

CELLS_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)
FLIP_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

#define RUN 2048  // particles that one call looks at

// ---- sorting ------------------------------------------------------------------------------------

void kp_flip_sorted_init(kp_flip_sorted *sorted, kp_backend *backend) {
  kp_buffer_init(&sorted->runs, backend);
  kp_buffer *all[] = { &sorted->keys,  &sorted->order,    &sorted->start,
                       &sorted->marks, &sorted->spare[0], &sorted->spare[1] };
  for (int b = 0; b < 6; ++b) {
    kp_buffer_init(all[b], backend);
    all[b]->type = KP_TYPE_U32;
    all[b]->tag = KP_MEMORY_GRID;
  }
}

void kp_flip_sorted_free(kp_flip_sorted *sorted) {
  kp_buffer_free(&sorted->keys);
  kp_buffer_free(&sorted->order);
  kp_buffer_free(&sorted->start);
  kp_buffer_free(&sorted->marks);
  kp_buffer_free(&sorted->spare[0]);
  kp_buffer_free(&sorted->spare[1]);
  kp_buffer_free(&sorted->runs);
}

static int bits_of(uint64_t largest) {
  int bits = 1;
  while (bits < 64 && largest >> bits != 0) {
    ++bits;
  }
  return bits;
}

static kp_result thin(kp_flip_sorted *sorted, kp_mac *mac, kp_set *set,
                      const kp_flip_going *going) {
  flip_thin_args a = {
    .grid = mac->view, .seed = going->seed, .round = going->round, .share = going->share
  };
  kp_call call;
  kp_call_init(&call, &flip_thin_kernel, &a);
  KP_BIND(&call, &a, depth, going->depth, KP_ACCESS_READ);
  KP_BIND(&call, &a, id, &set->id->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, keys, &sorted->keys, KP_ACCESS_WRITE);
  return kp_call_run(mac->backend, &call, set->space->n);
}

static kp_result count_unsorted(kp_flip_sorted *sorted, kp_mac *mac, kp_set *set, double *count) {
  flip_unsorted_args a = { .end = (uint32_t)mac->view.count };
  kp_call call;
  kp_call_init(&call, &flip_unsorted_kernel, &a);
  KP_BIND(&call, &a, keys, &sorted->keys, KP_ACCESS_READ);
  KP_BIND(&call, &a, id, &set->id->buffers[0], KP_ACCESS_READ);
  *count = 0.0;
  return set->space->n > 1 ? kp_call_reduce(mac->backend, &call, set->space->n - 1, count) : KP_OK;
}

static kp_result reserve(kp_flip_sorted *sorted, kp_mac *mac, int64_t n) {
  KP_TRY(kp_buffer_resize(&sorted->keys, (size_t)n * sizeof(uint32_t)));
  KP_TRY(kp_buffer_resize(&sorted->order, (size_t)n * sizeof(uint32_t)));
  return kp_buffer_resize(&sorted->start, (size_t)(mac->view.count + 3) * sizeof(uint32_t));
}

// By cells alone; tells whether they are in order already, with their ids.
static kp_result sort_keys(kp_flip_sorted *sorted, kp_mac *mac, kp_set *set,
                           const kp_flip_going *going) {
  int64_t n = set->space->n;
  kp_call call;
  flip_keys_args a = { .grid = mac->view };
  KP_TRY(reserve(sorted, mac, n));
  kp_call_init(&call, &flip_keys_kernel, &a);
  KP_BIND(&call, &a, deep, going != NULL ? going->deep : NULL, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , set->position, KP_ACCESS_READ);
  KP_BIND(&call, &a, keys, &sorted->keys, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, order, &sorted->order, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(mac->backend, &call, n));
  if (going != NULL) {
    KP_TRY(thin(sorted, mac, set, going));
  }
  double n_unsorted = 1.0;
  if (sorted->is_settled) {
    KP_TRY(count_unsorted(sorted, mac, set, &n_unsorted));
  }
  sorted->is_settled = n_unsorted == 0.0;
  if (sorted->is_settled) {
    return KP_OK;
  }
  void *keys;
  void *order;
  KP_TRY(kp_buffer_get(&sorted->keys, KP_SIDE_DEVICE, KP_ACCESS_WRITE, &keys));
  KP_TRY(kp_buffer_get(&sorted->order, KP_SIDE_DEVICE, KP_ACCESS_WRITE, &order));
  return kp_sort32(mac->backend, keys, order, n, bits_of((uint64_t)mac->view.count + 1));
}

static kp_result sort_ties(kp_flip_sorted *sorted, kp_mac *mac, kp_set *set) {
  flip_ties_args a = { .cells = { .n = set->space->n }, .end = (uint32_t)mac->view.count };
  kp_call call;
  kp_call_init(&call, &flip_ties_kernel, &a);
  KP_BIND(&call, &a, cells.keys, &sorted->keys, KP_ACCESS_READ);
  KP_BIND(&call, &a, cells.id, &set->id->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, cells.order, &sorted->order, KP_ACCESS_WRITE);
  return sorted->is_settled ? KP_OK : kp_call_run(mac->backend, &call, set->space->n);
}

// What was to go lies behind all others.
static kp_result cut(kp_flip_sorted *sorted, kp_mac *mac, kp_set *set) {
  const uint32_t *start;
  uint32_t n;
  KP_TRY(kp_buffer_get(&sorted->start, KP_SIDE_DEVICE, KP_ACCESS_READ, (void **)&start));
  KP_TRY(kp_copy_out(mac->backend, &n, start + mac->view.count + 1, sizeof n));
  return kp_space_keep_first(set->space, (int64_t)n);
}

static kp_result find_starts(kp_flip_sorted *sorted, kp_mac *mac, int64_t n) {
  kp_call call;
  cells_starts_args starts = { .n = n, .n_cells = mac->view.count + 2 };
  kp_call_init(&call, &cells_starts_kernel, &starts);
  KP_BIND(&call, &starts, keys, &sorted->keys, KP_ACCESS_READ);
  KP_BIND(&call, &starts, cell_start, &sorted->start, KP_ACCESS_OVERWRITE);
  return kp_call_run(mac->backend, &call, n + 1);
}

// Marks of crowds, scanned: how many there are.
static kp_result mark_crowds(kp_flip_sorted *sorted, kp_mac *mac, int64_t n,
                             const kp_flip_going *going, uint32_t *n_marked) {
  KP_TRY(kp_buffer_resize(&sorted->marks, (size_t)(n + 1) * sizeof(uint32_t)));
  flip_crowd_args a = { .grid = mac->view,
                        .most = going->most,
                        .most_full = going->most_full,
                        .full = (kp_real)going->full };
  kp_call call;
  kp_call_init(&call, &flip_crowd_kernel, &a);
  KP_BIND(&call, &a, keys, &sorted->keys, KP_ACCESS_READ);
  KP_BIND(&call, &a, start, &sorted->start, KP_ACCESS_READ);
  KP_BIND(&call, &a, depth, going->depth, KP_ACCESS_READ);
  KP_BIND(&call, &a, marks, &sorted->marks, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(mac->backend, &call, n));
  uint32_t *marks;
  KP_TRY(kp_buffer_get(&sorted->marks, KP_SIDE_DEVICE, KP_ACCESS_WRITE, (void **)&marks));
  KP_TRY(kp_scan(mac->backend, marks, marks, n));
  return kp_copy_out(mac->backend, n_marked, marks + n, sizeof *n_marked);
}

// What cells have beyond `most` comes last, as what is to go.
static kp_result part_crowds(kp_flip_sorted *sorted, kp_mac *mac, int64_t n,
                             const kp_flip_going *going, uint32_t *n_marked) {
  KP_TRY(mark_crowds(sorted, mac, n, going, n_marked));
  KP_TRY(kp_buffer_resize(&sorted->spare[0], (size_t)n * sizeof(uint32_t)));
  KP_TRY(kp_buffer_resize(&sorted->spare[1], (size_t)n * sizeof(uint32_t)));
  flip_part_args a = { .grid = mac->view, .n = n, .n_kept = n - (int64_t)*n_marked };
  kp_call call;
  kp_call_init(&call, &flip_part_kernel, &a);
  KP_BIND(&call, &a, marks, &sorted->marks, KP_ACCESS_READ);
  KP_BIND(&call, &a, keys, &sorted->keys, KP_ACCESS_READ);
  KP_BIND(&call, &a, order, &sorted->order, KP_ACCESS_READ);
  KP_BIND(&call, &a, new_keys, &sorted->spare[0], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, new_order, &sorted->spare[1], KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(mac->backend, &call, n));
  kp_buffer_swap_device(&sorted->keys, &sorted->spare[0]);
  kp_buffer_swap_device(&sorted->order, &sorted->spare[1]);
  return find_starts(sorted, mac, n);
}

kp_result kp_flip_rank(kp_flip_sorted *sorted, kp_mac *mac, kp_set *set) {
  KP_TRY(sort_keys(sorted, mac, set, NULL));
  return find_starts(sorted, mac, set->space->n);
}

kp_result kp_flip_settle(kp_flip_sorted *sorted, kp_mac *mac, kp_set *set) {
  KP_TRY(sort_ties(sorted, mac, set));
  if (!sorted->is_settled) {
    KP_TRY(kp_space_permute(set->space, &sorted->order));
  }
  sorted->is_settled = true;
  return KP_OK;
}

kp_result kp_flip_sort(kp_flip_sorted *sorted, kp_mac *mac, kp_set *set, kp_field *fraction,
                       const kp_flip_going *going) {
  int64_t n = set->space->n;
  uint32_t n_marked = 0;
  KP_TRY(sort_keys(sorted, mac, set, going));
  KP_TRY(sort_ties(sorted, mac, set));
  KP_TRY(find_starts(sorted, mac, n));
  if (going != NULL && n > 0) {
    KP_TRY(part_crowds(sorted, mac, n, going, &n_marked));
  }
  if (!sorted->is_settled || n_marked > 0) {
    KP_TRY(kp_space_permute(set->space, &sorted->order));
  }
  sorted->is_settled = true;
  if (going != NULL) {
    KP_TRY(cut(sorted, mac, set));
  }
  if (fraction == NULL) {
    return KP_OK;
  }
  kp_call call;
  flip_place_args a = { .grid = mac->view };
  kp_call_init(&call, &flip_place_kernel, &a);
  KP_BIND3(&call, &a, , set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, f, fraction, KP_ACCESS_OVERWRITE);
  return kp_call_run(mac->backend, &call, set->space->n);
}

// ---- particles to faces -------------------------------------------------------------------------

kp_result kp_flip_gather(kp_mac *mac, const kp_flip_gathering *g) {
  flip_gather_args a = {
    .grid = mac->view,
    .is_first = g->is_first,
    .is_last = g->is_last,
    .volume = (kp_real)g->volume,
    .per_volume = (kp_real)(1.0 / g->volume),
  };
  kp_call call;
  kp_call_init(&call, g->affine != NULL ? &flip_gather_affine_kernel : &flip_gather_kernel, &a);
  KP_BIND(&call, &a, start, &g->sorted->start, KP_ACCESS_READ);
  KP_BIND3(&call, &a, f, g->fraction, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, g->set->velocity, KP_ACCESS_READ);
  for (int c = 0; c < 9; ++c) {
    KP_BIND(&call, &a, c[c], g->affine != NULL ? &g->affine->buffers[c] : NULL, KP_ACCESS_READ);
  }
  bool is_alone = g->is_first && g->is_last;
  for (int c = 0; c < 3; ++c) {
    KP_BIND(&call, &a, velocity[c], &g->velocity->buffers[c], KP_ACCESS_WRITE);
    KP_BIND(&call, &a, weight[c], is_alone ? NULL : &g->weight[c], KP_ACCESS_WRITE);
  }
  KP_BIND(&call, &a, fill, g->fill, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, count, g->count, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, lack, g->lack, KP_ACCESS_READ);
  for (int c = 0; c < 3 && g->lack != NULL; ++c) {
    KP_BIND(&call, &a, inner[c], &g->inner->buffers[c], KP_ACCESS_READ);
  }
  return kp_mac_rows(mac, KP_MAC_NODE, &call);
}

// Ghosts of a velocity that came from particles: the nearest value, also beyond walls, whose own
// faces keep what the particles brought.
kp_result kp_flip_fill(kp_mac *mac, kp_field *velocity) {
  kp_mac open = *mac;
  for (int side = 0; side < 6; ++side) {
    kp_mac_side *s = &open.sides[side / 2][side % 2];
    s->kind = s->kind == KP_MAC_PERIODIC ? KP_MAC_PERIODIC : KP_MAC_OPEN;
  }
  return kp_mac_fill_velocity(&open, velocity);
}

// ---- faces to particles -------------------------------------------------------------------------

kp_result kp_flip_blend(kp_mac *mac, kp_buffer before[3], double ratio) {
  for (int c = 0; c < mac->view.dimension; ++c) {
    flip_blend_args a = { .ratio = (kp_real)ratio };
    kp_call call;
    kp_call_init(&call, &flip_blend_kernel, &a);
    KP_BIND(&call, &a, before, &before[c], KP_ACCESS_WRITE);
    KP_TRY(kp_call_run(mac->backend, &call, mac->view.count));
  }
  return KP_OK;
}

// Three arrays into the members u, v, w of a kp_mac_velocity.
#define BIND_FACES(call, args, member, arrays)                                                     \
  (KP_BIND(call, args, member.u, &(arrays)[0], KP_ACCESS_READ),                                    \
   KP_BIND(call, args, member.v, &(arrays)[1], KP_ACCESS_READ),                                    \
   KP_BIND(call, args, member.w, &(arrays)[2], KP_ACCESS_READ))

// Lanes go the midpoint rule on solid grids alone.
static bool has_lanes(const kp_mac *mac, const kp_flip_carrying *c) {
  return c->runs != NULL && c->affine == NULL && c->trace == KP_ADVECT_RK2 &&
         mac->view.dimension == 3 && mac->view.occluded == NULL;
}

static int64_t n_runs(int64_t n) {
  return (n + RUN - 1) / RUN;
}

// Particles side by side, a row of one grid for kernels that look at many.
static kp_result list_runs(kp_buffer *runs, int64_t n) {
  KP_TRY(kp_buffer_resize(runs, (size_t)n_runs(n) * sizeof(kp_row_segment)));
  kp_row_segment *s;
  KP_TRY(kp_buffer_get(runs, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&s));
  for (int64_t p = 0; p < n; p += RUN) {
    *s++ = (kp_row_segment){ .i0 = (int32_t)p, .i1 = (int32_t)(p + RUN < n ? p + RUN : n) };
  }
  return KP_OK;
}

static kp_result carry(kp_mac *mac, const kp_flip_carrying *c, flip_carry_args *a,
                       const kp_kernel *kernel) {
  kp_call call;
  kp_call_init(&call, kernel, a);
  kp_buffer *velocity = c->velocity->buffers;
  BIND_FACES(&call, a, taken, c->taken);
  BIND_FACES(&call, a, velocity, velocity);
  BIND_FACES(&call, a, shift, c->shift != NULL ? c->shift : velocity);
  for (int k = 0; k < 9; ++k) {
    KP_BIND(&call, a, c[k], c->affine != NULL ? &c->affine->buffers[k] : NULL, KP_ACCESS_WRITE);
  }
  KP_BIND3(&call, a, , c->set->position, KP_ACCESS_WRITE);
  KP_BIND3(&call, a, v, c->set->velocity, KP_ACCESS_WRITE);
  int64_t n = c->set->space->n;
  return kernel->kind == KP_KERNEL_ROW ? kp_call_rows(mac->backend, &call, c->runs, n_runs(n))
                                       : kp_call_run(mac->backend, &call, n);
}

kp_result kp_flip_carry(kp_mac *mac, const kp_flip_carrying *c) {
  flip_carry_args a = { .grid = mac->view,
                        .dt = c->dt,
                        .ratio = (kp_real)c->ratio,
                        .trace = c->trace,
                        .per_shift = c->shift != NULL ? mac->view.inverse_h : (kp_real)0,
                        .gravity = { (kp_real)c->gravity.x, (kp_real)c->gravity.y,
                                     (kp_real)c->gravity.z } };
  for (int axis = 0; axis < 3; ++axis) {
    const kp_mac_side *side = mac->sides[axis];
    double end = mac->view.lo[axis] + mac->view.n[axis] * mac->view.cell;
    bool is_flat = axis >= mac->view.dimension;
    a.lo[axis] =
        side[0].kind == KP_MAC_WALL && !is_flat ? mac->view.lo[axis] + c->margin : -HUGE_VAL;
    a.hi[axis] = side[1].kind == KP_MAC_WALL && !is_flat ? end - c->margin : HUGE_VAL;
  }
  if (c->affine != NULL) {
    return carry(mac, c, &a, &flip_carry_affine_kernel);
  }
  if (has_lanes(mac, c)) {
    KP_TRY(list_runs(c->runs, c->set->space->n));
    return carry(mac, c, &a, &flip_carry_kernel);
  }
  return carry(mac, c, &a, &flip_carry_single_kernel);
}
