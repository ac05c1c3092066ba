// Crowds of particles. In steps of several cells a front runs into a wall or into other water
// before the pressure knows of it, and hundreds of particles can meet in a cell; the volume
// correction of the next step pushes them apart by half a cell. What a cell has beyond
// KP_FLIP_MOST_CROWD of its share, and in long steps beyond KP_FLIP_LONG_CROWD, goes to the nearest
// cells with room at once: whole cells further, with its velocity, so that volume and momentum are
// what they were. This ends a step, so that what is seen of it has no crowds.
#include <math.h>
#include <string.h>

#include "data/call.h"
#include "methods/flip/flip.h"
#include "methods/flip/flip_kernels.h"
#include "par/kernel_define.h"

FLIP_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

#define EACH(liquid, flip)                                                                         \
  for (kp_flip_liquid *liquid = (flip)->liquids.data;                                              \
       liquid < (flip)->liquids.data + (flip)->liquids.count; ++liquid)

void kp_flip_crowds_free(kp_flip_crowds *crowds) {
  kp_array_free(&crowds->counts);
  kp_array_free(&crowds->seen);
  kp_array_free(&crowds->queue);
}

// Of the host, for one liquid at a time; the counts are those of all of them.
typedef struct parting {
  const kp_mac_view *g;
  kp_flip_crowds *crowds;
  uint32_t most, mark;
  const uint32_t *start;
  const uint8_t *flags;
  const kp_real *open;
  const kp_real *depth;  // cells, of a narrow band; NULL: none
  kp_real full;          // cells: what is deeper is full by right
  kp_pos *x[3];
} parting;

static bool is_way(const parting *p, int64_t at) {
  uint8_t flag = p->flags[at];
  return (flag & KP_CELL_KIND) != KP_CELL_SOLID && !(flag & KP_CELL_OCCLUDED) && p->open[at] > 0.5;
}

// The cells beside one that were not yet looked at join the queue.
static kp_result look_around(parting *p, const int64_t cell[3]) {
  const kp_mac_view *g = p->g;
  for (int side = 0; side < 2 * g->dimension; ++side) {
    int axis = side / 2;
    int64_t next[3] = { cell[0], cell[1], cell[2] };
    next[axis] = flip_wrap(g, axis, cell[axis] + (side % 2 == 0 ? -1 : 1));
    if (next[axis] < 0 || next[axis] >= g->n[axis]) {
      continue;
    }
    int64_t at = kp_mac_at(g, next[0], next[1], next[2]);
    if (p->crowds->seen.data[at] != p->mark && is_way(p, at)) {
      p->crowds->seen.data[at] = p->mark;
      KP_TRY(kp_array_push(&p->crowds->queue, (int32_t)at));
    }
  }
  return KP_OK;
}

static bool has_room(const parting *p, int64_t at) {
  bool is_full = p->depth != NULL && p->depth[at] >= p->full;
  return !is_full && p->crowds->counts.data[at] < p->most;
}

// Particle s goes from one cell to another, where it has the same place unless rounding would put
// it into the next one.
static void shift(parting *p, int64_t s, const int64_t from[3], const int64_t to[3]) {
  const kp_mac_view *g = p->g;
  for (int c = 0; c < g->dimension; ++c) {
    kp_real fraction;
    int is_out = 0;
    double x = p->x[c][s] + g->cell * (double)(to[c] - from[c]);
    bool is_there = flip_locate_axis(g, c, x, &fraction, &is_out) == (int32_t)to[c] && is_out == 0;
    p->x[c][s] = is_there ? x : g->lo[c] + g->cell * ((double)to[c] + 0.5);
  }
}

// The youngest of a cell beyond its share, to whatever open cells come first.
static kp_result part_cell(parting *p, int64_t at) {
  uint32_t *counts = p->crowds->counts.data;
  int64_t end = p->start[at + 1];
  int64_t s = end - (int64_t)(counts[at] - p->most);
  int64_t from[3];
  kp_mac_cell_of(p->g, at, from);
  s = s > (int64_t)p->start[at] ? s : (int64_t)p->start[at];
  p->crowds->queue.count = 0;
  p->crowds->seen.data[at] = ++p->mark;
  KP_TRY(look_around(p, from));
  for (size_t q = 0; q < p->crowds->queue.count && s < end; ++q) {
    int64_t to[3];
    int64_t there = p->crowds->queue.data[q];
    kp_mac_cell_of(p->g, there, to);
    for (; s < end && has_room(p, there); ++s) {
      shift(p, s, from, to);
      ++counts[there];
      --counts[at];
    }
    KP_TRY(look_around(p, to));
  }
  return KP_OK;
}

// Those of one liquid where all together are too many.
static kp_result part_liquid(parting *p, kp_flip_liquid *liquid) {
  KP_TRY(kp_buffer_get(&liquid->sorted.start, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&p->start));
  for (int c = 0; c < p->g->dimension; ++c) {
    KP_TRY(kp_buffer_get(&liquid->medium.set->position->buffers[c], KP_SIDE_HOST, KP_ACCESS_WRITE,
                         (void **)&p->x[c]));
  }
  for (size_t at = 0; at < p->crowds->counts.count; ++at) {
    if (p->crowds->counts.data[at] > p->most && p->start[at + 1] > p->start[at]) {
      KP_TRY(part_cell(p, (int64_t)at));
    }
  }
  return KP_OK;
}

// Particles of every item, of all liquids.
static kp_result count_all(kp_flip *flip) {
  kp_flip_crowds *crowds = &flip->crowds;
  size_t n_items = (size_t)flip->flow.mac->view.count;
  KP_TRY(kp_array_resize(&crowds->counts, n_items));
  KP_TRY(kp_array_resize(&crowds->seen, n_items));
  memset(crowds->counts.data, 0, n_items * sizeof *crowds->counts.data);
  memset(crowds->seen.data, 0, n_items * sizeof *crowds->seen.data);
  EACH(liquid, flip) {
    const uint32_t *start;
    KP_TRY(kp_buffer_get(&liquid->sorted.start, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&start));
    for (size_t at = 0; at < n_items; ++at) {
      crowds->counts.data[at] += start[at + 1] - start[at];
    }
  }
  return KP_OK;
}

static kp_result part_all(kp_flip *flip, uint32_t most) {
  kp_mac *mac = flip->flow.mac;
  parting p = { .g = &mac->view, .crowds = &flip->crowds, .most = most };
  KP_TRY(kp_buffer_get(&flip->flow.flags->buffers[0], KP_SIDE_HOST, KP_ACCESS_READ,
                       (void **)&p.flags));
  KP_TRY(kp_buffer_get(&flip->open, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&p.open));
  if (flip->band.is_there) {
    p.full = (kp_real)kp_flip_band_full(flip);
    KP_TRY(kp_buffer_get(&flip->band.depth->buffers[0], KP_SIDE_HOST, KP_ACCESS_READ,
                         (void **)&p.depth));
  }
  KP_TRY(count_all(flip));
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
    KP_TRY(kp_flip_sort(&liquid->sorted, mac, liquid->medium.set, NULL, NULL));
  }
  KP_TRY(find_fullest(flip, &fullest));
  return fullest > (double)most ? part_all(flip, most) : KP_OK;
}
