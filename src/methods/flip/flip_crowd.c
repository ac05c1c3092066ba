// Crowds of particles. In steps of several cells a front runs into a wall or into other water
// before the pressure knows of it, and hundreds of particles can meet in a cell; the volume
// correction of the next step pushes them apart by half a cell. What a cell has beyond
// KP_FLIP_MOST_CROWD of its share, and in long steps beyond KP_FLIP_LONG_CROWD, goes to the nearest
// cells with room at once: whole cells further, with its velocity, so that volume and momentum are
// what they were. This ends a step, so that what is seen of it has no crowds.
#include <math.h>
#include <string.h>

#include "data/call.h"
#include "data/cells_kernels.h"
#include "methods/flip/flip.h"
#include "methods/flip/flip_kernels.h"
#include "par/kernel_define.h"

FLIP_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

#define EACH(liquid, flip)                                                                         \
  for (kp_flip_liquid *liquid = (flip)->liquids.data;                                              \
       liquid < (flip)->liquids.data + (flip)->liquids.count; ++liquid)

void kp_flip_crowds_free(kp_flip_crowds *crowds) {
  kp_array_free(&crowds->counts);
  kp_array_free(&crowds->room);
  kp_array_free(&crowds->seen);
  kp_array_free(&crowds->queue);
}

// Of the host, for one liquid at a time; counts and room are those of all of them.
typedef struct parting {
  const kp_mac_view *g;
  kp_flip_crowds *crowds;
  uint32_t most;
  const uint32_t *start;
  cells_ties_args slots;  // the liquid's particles by cells: order and what it takes to find ties
  kp_pos *x[3];
} parting;

// The cells beside one that are open and that nobody has looked at join the queue.
static kp_result look_around(parting *p, const kp_flip_stop *from) {
  const kp_mac_view *g = p->g;
  kp_flip_crowds *crowds = p->crowds;
  KP_TRY(kp_array_reserve(&crowds->queue, crowds->queue.count + 6));
  for (int side = 0; side < 2 * g->dimension; ++side) {
    int axis = side / 2;
    int32_t old = from->cell[axis];
    int32_t next = (int32_t)flip_wrap(g, axis, old + (side % 2 == 0 ? -1 : 1));
    int64_t at = from->at + (next - old) * kp_mac_stride(g, axis);
    if (crowds->room.data[at] != KP_FLIP_NO_WAY && crowds->seen.data[at] != crowds->mark) {
      crowds->seen.data[at] = crowds->mark;
      kp_flip_stop *stop = &crowds->queue.data[crowds->queue.count++];
      *stop = *from;
      stop->at = at;
      stop->cell[axis] = next;
    }
  }
  return KP_OK;
}

// A particle goes from one cell to another, where it has the same place unless rounding would put
// it into the next one.
static void shift(parting *p, uint32_t particle, const int32_t from[3], const int32_t to[3]) {
  const kp_mac_view *g = p->g;
  for (int c = 0; c < g->dimension; ++c) {
    if (to[c] == from[c]) {
      continue;
    }
    kp_real fraction;
    int is_out = 0;
    double x = p->x[c][particle] + g->cell * (double)(to[c] - from[c]);
    bool is_there = flip_locate_axis(g, c, x, &fraction, &is_out) == to[c] && is_out == 0;
    p->x[c][particle] = is_there ? x : g->lo[c] + g->cell * ((double)to[c] + 0.5);
  }
}

// The youngest of a cell beyond its share, to whatever open cells come first.
static kp_result part_cell(parting *p, int64_t at) {
  kp_flip_crowds *crowds = p->crowds;
  uint32_t *counts = crowds->counts.data;
  int64_t begin = p->start[at];
  int64_t end = p->start[at + 1];
  int64_t s = end - (int64_t)(counts[at] - p->most);
  s = s > begin ? s : begin;
  // they lie anywhere, so all are asked for before the first is needed
  for (int64_t q = begin; q < end; ++q) {
    __builtin_prefetch(&p->slots.id[p->slots.order[q]]);
  }
  cells_ties(begin, &p->slots);
  for (int64_t q = s; q < end; ++q) {
    for (int c = 0; c < p->g->dimension; ++c) {
      __builtin_prefetch(&p->x[c][p->slots.order[q]]);
    }
  }
  int64_t cell[3];
  kp_mac_cell_of(p->g, at, cell);
  kp_flip_stop from = { at, { (int32_t)cell[0], (int32_t)cell[1], (int32_t)cell[2] } };
  crowds->queue.count = 0;
  crowds->seen.data[at] = ++crowds->mark;
  KP_TRY(look_around(p, &from));
  for (size_t q = 0; q < crowds->queue.count && s < end; ++q) {
    const kp_flip_stop to = crowds->queue.data[q];
    int32_t *room = &crowds->room.data[to.at];
    while (*room > 0 && s < end) {
      shift(p, p->slots.order[s++], from.cell, to.cell);
      --*room;
      ++counts[to.at];
      --counts[at];
    }
    KP_TRY(look_around(p, &to));
  }
  return KP_OK;
}

// Those of one liquid where all together are too many.
static kp_result part_liquid(parting *p, kp_flip_liquid *liquid) {
  kp_set *set = liquid->medium.set;
  kp_flip_sorted *sorted = &liquid->sorted;
  p->slots.n = set->space->n;
  KP_TRY(kp_buffer_get(&sorted->start, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&p->start));
  KP_TRY(kp_buffer_get(&sorted->keys, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&p->slots.keys));
  KP_TRY(kp_buffer_get(&sorted->order, KP_SIDE_HOST, KP_ACCESS_WRITE, (void **)&p->slots.order));
  KP_TRY(kp_buffer_get(&set->id->buffers[0], KP_SIDE_HOST, KP_ACCESS_READ, (void **)&p->slots.id));
  for (int c = 0; c < p->g->dimension; ++c) {
    KP_TRY(kp_buffer_get(&set->position->buffers[c], KP_SIDE_HOST, KP_ACCESS_WRITE,
                         (void **)&p->x[c]));
  }
  for (size_t at = 0; at < p->crowds->counts.count; ++at) {
    if (p->crowds->counts.data[at] > p->most && p->start[at + 1] > p->start[at]) {
      KP_TRY(part_cell(p, (int64_t)at));
    }
  }
  return KP_OK;
}

// Particles of every item, of all liquids. Ghosts are no way, and stay it.
static kp_result count_all(kp_flip *flip) {
  kp_flip_crowds *crowds = &flip->crowds;
  size_t n_items = (size_t)flip->flow.mac->view.count;
  if (crowds->counts.count != n_items || crowds->mark > UINT32_MAX / 2) {
    KP_TRY(kp_array_resize(&crowds->counts, n_items));
    KP_TRY(kp_array_resize(&crowds->room, n_items));
    KP_TRY(kp_array_resize(&crowds->seen, n_items));
    memset(crowds->seen.data, 0, n_items * sizeof *crowds->seen.data);
    for (size_t at = 0; at < n_items; ++at) {
      crowds->room.data[at] = KP_FLIP_NO_WAY;
    }
    crowds->mark = 0;
  }
  memset(crowds->counts.data, 0, n_items * sizeof *crowds->counts.data);
  EACH(liquid, flip) {
    const uint32_t *start;
    KP_TRY(kp_buffer_get(&liquid->sorted.start, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&start));
    for (size_t at = 0; at < n_items; ++at) {
      crowds->counts.data[at] += start[at + 1] - start[at];
    }
  }
  return KP_OK;
}

// What cells are looked at for.
typedef struct openness {
  const uint8_t *flags;
  const kp_real *open;
  const kp_real *depth;  // cells, of a narrow band; NULL: none
  kp_real full;          // cells: what is deeper is full by right
} openness;

// How many particles the cells of a row can take.
static void find_row(kp_flip_crowds *crowds, const openness *o, int32_t most, int64_t first,
                     int64_t end) {
  const uint32_t *counts = crowds->counts.data;
  int32_t *room = crowds->room.data;
  KP_INDEPENDENT
  for (int64_t at = first; at < end; ++at) {
    uint8_t flag = o->flags[at];
    int is_way = ((flag & KP_CELL_KIND) != KP_CELL_SOLID) & !(flag & KP_CELL_OCCLUDED) &
                 (o->open[at] > (kp_real)0.5);
    int is_full = o->depth != NULL ? o->depth[at] >= o->full : 0;
    int32_t left = most - (int32_t)counts[at];
    left = (left > 0) & !is_full ? left : 0;
    room[at] = is_way ? left : KP_FLIP_NO_WAY;
  }
}

static kp_result find_room(kp_flip *flip, uint32_t most) {
  const kp_mac_view *g = &flip->flow.mac->view;
  openness o = { .full = 0 };
  KP_TRY(kp_buffer_get(&flip->flow.flags->buffers[0], KP_SIDE_HOST, KP_ACCESS_READ,
                       (void **)&o.flags));
  KP_TRY(kp_buffer_get(&flip->open, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&o.open));
  if (flip->band.is_there) {
    o.full = (kp_real)kp_flip_band_full(flip);
    KP_TRY(kp_buffer_get(&flip->band.depth->buffers[0], KP_SIDE_HOST, KP_ACCESS_READ,
                         (void **)&o.depth));
  }
  for (int32_t k = 0; k < (g->dimension == 3 ? g->n[2] : 1); ++k) {
    for (int32_t j = 0; j < g->n[1]; ++j) {
      int64_t first = kp_mac_at(g, 0, j, k);
      find_row(&flip->crowds, &o, (int32_t)most, first, first + g->n[0]);
    }
  }
  return KP_OK;
}

static kp_result part_all(kp_flip *flip, uint32_t most) {
  parting p = { .g = &flip->flow.mac->view, .crowds = &flip->crowds, .most = most };
  KP_TRY(count_all(flip));
  KP_TRY(find_room(flip, most));
  EACH(liquid, flip) {
    KP_TRY(part_liquid(&p, liquid));
  }
  return KP_OK;
}

// Not less than what the fullest cell holds; with one liquid it is just that.
static kp_result find_fullest(kp_flip *flip, double *fullest) {
  kp_mac *mac = flip->flow.mac;
  *fullest = 0.0;
  EACH(liquid, flip) {
    double most;
    flip_fullest_args a = { 0 };
    kp_call call;
    kp_call_init(&call, &flip_fullest_kernel, &a);
    KP_BIND(&call, &a, start, &liquid->sorted.start, KP_ACCESS_READ);
    KP_TRY(kp_call_reduce(mac->backend, &call, mac->view.count, &most));
    *fullest += most;
  }
  return KP_OK;
}

kp_result kp_flip_part_crowds(kp_flip *flip, double share) {
  kp_mac *mac = flip->flow.mac;
  double per_cell = pow(mac->view.cell / flip->liquids.data[0].def.spacing, mac->view.dimension);
  uint32_t most = (uint32_t)fmax(share * per_cell, 2.0);
  double fullest;
  EACH(liquid, flip) {
    KP_TRY(kp_flip_rank(&liquid->sorted, mac, liquid->medium.set));
  }
  KP_TRY(find_fullest(flip, &fullest));
  if (fullest > (double)most) {
    return part_all(flip, most);
  }
  EACH(liquid, flip) {
    KP_TRY(kp_flip_settle(&liquid->sorted, mac, liquid->medium.set));
  }
  return KP_OK;
}
