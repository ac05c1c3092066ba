// Crowds of particles where no band may take any away. In steps of several cells a front runs into
// a wall or into other water before the pressure knows of it, and hundreds of particles can meet in
// a cell; the volume correction pushes them apart by half a cell a step. What a cell has beyond
// KP_FLIP_MOST_CROWD of its share goes to the nearest cells with room at once: whole cells further,
// with its velocity, so that volume and momentum are what they were.
#include <math.h>

#include "data/call.h"
#include "methods/flip/flip.h"
#include "methods/flip/flip_kernels.h"
#include "par/kernel_define.h"

FLIP_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

#define MOST_ROUNDS 3  // rounding may put a particle at the side of a cell into the next one

void kp_flip_crowds_free(kp_flip_crowds *crowds) {
  kp_array_free(&crowds->counts);
  kp_array_free(&crowds->seen);
  kp_array_free(&crowds->queue);
}

// Of the host, for one liquid.
typedef struct parting {
  const kp_mac_view *g;
  kp_flip_crowds *crowds;
  uint32_t most, mark;
  const uint32_t *start;
  const uint8_t *flags;
  const kp_real *open;
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

// Particle s goes from one cell to another.
static void shift(parting *p, int64_t s, const int64_t from[3], const int64_t to[3]) {
  for (int c = 0; c < p->g->dimension; ++c) {
    p->x[c][s] += p->g->cell * (double)(to[c] - from[c]);
  }
}

// The youngest of a cell beyond its share, to whatever open cells come first.
static kp_result part_cell(parting *p, int64_t at) {
  uint32_t *counts = p->crowds->counts.data;
  int64_t s = (int64_t)p->start[at] + p->most;
  int64_t end = p->start[at + 1];
  int64_t from[3];
  kp_mac_cell_of(p->g, at, from);
  if (!is_way(p, at)) {
    return KP_OK;
  }
  p->crowds->queue.count = 0;
  p->crowds->seen.data[at] = ++p->mark;
  KP_TRY(look_around(p, from));
  for (size_t q = 0; q < p->crowds->queue.count && s < end; ++q) {
    int64_t to[3];
    int64_t there = p->crowds->queue.data[q];
    kp_mac_cell_of(p->g, there, to);
    for (; s < end && counts[there] < p->most; ++s) {
      shift(p, s, from, to);
      ++counts[there];
      --counts[at];
    }
    KP_TRY(look_around(p, to));
  }
  return KP_OK;
}

static kp_result part_all(kp_flip *flip, kp_flip_liquid *liquid, uint32_t most) {
  kp_flip_crowds *crowds = &flip->crowds;
  kp_mac *mac = flip->flow.mac;
  size_t n_items = (size_t)mac->view.count;
  parting p = { .g = &mac->view, .crowds = crowds, .most = most };
  KP_TRY(kp_buffer_get(&liquid->sorted.start, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&p.start));
  KP_TRY(kp_buffer_get(&flip->flow.flags->buffers[0], KP_SIDE_HOST, KP_ACCESS_READ,
                       (void **)&p.flags));
  KP_TRY(kp_buffer_get(&flip->open, KP_SIDE_HOST, KP_ACCESS_READ, (void **)&p.open));
  for (int c = 0; c < mac->view.dimension; ++c) {
    KP_TRY(kp_buffer_get(&liquid->medium.set->position->buffers[c], KP_SIDE_HOST, KP_ACCESS_WRITE,
                         (void **)&p.x[c]));
  }
  KP_TRY(kp_array_resize(&crowds->counts, n_items));
  KP_TRY(kp_array_resize(&crowds->seen, n_items));
  for (size_t at = 0; at < n_items; ++at) {
    crowds->counts.data[at] = p.start[at + 1] - p.start[at];
    crowds->seen.data[at] = 0;
  }
  for (size_t at = 0; at < n_items; ++at) {
    if (p.start[at + 1] - p.start[at] > most) {
      KP_TRY(part_cell(&p, (int64_t)at));
    }
  }
  return KP_OK;
}

static kp_result find_fullest(kp_flip *flip, kp_flip_liquid *liquid, double *fullest) {
  kp_mac *mac = flip->flow.mac;
  flip_fullest_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &flip_fullest_kernel, &a);
  KP_BIND(&call, &a, start, &liquid->sorted.start, KP_ACCESS_READ);
  return kp_call_reduce(mac->backend, &call, mac->view.count, fullest);
}

kp_result kp_flip_part_crowds(kp_flip *flip, kp_flip_liquid *liquid) {
  kp_mac *mac = flip->flow.mac;
  double per_cell = pow(mac->view.cell / liquid->def.spacing, mac->view.dimension);
  uint32_t most = (uint32_t)fmax(KP_FLIP_MOST_CROWD * per_cell, 2.0);
  for (int round = 0; round < MOST_ROUNDS; ++round) {
    double fullest;
    KP_TRY(find_fullest(flip, liquid, &fullest));
    if (fullest <= (double)most) {
      return KP_OK;
    }
    KP_TRY(part_all(flip, liquid, most));
    KP_TRY(kp_flip_sort(&liquid->sorted, mac, liquid->medium.set, liquid->fraction, NULL));
  }
  return KP_OK;
}
