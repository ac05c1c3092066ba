// Crowds of particles. In steps of several cells a front runs into a wall or into other water
// before the pressure knows of it, and hundreds of particles can meet in a cell; the volume
// correction of the next step pushes them apart by half a cell. What a cell has beyond
// KP_FLIP_MOST_CROWD of its share, and in long steps beyond KP_FLIP_LONG_CROWD, goes to the nearest
// cells with room at once: whole cells further, with its velocity, so that volume and momentum are
// what they were. This ends a step, so that what is seen of it has no crowds.
#include <math.h>

#include "data/call.h"
#include "methods/flip/flip.h"
#include "methods/flip/flip_crowd_kernels.h"
#include "methods/flip/flip_kernels.h"
#include "par/kernel_define.h"

FLIP_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)
CROWD_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

// Cells that the flood goes in the first round, and later while anybody finds room.
#define FIRST_REACH 2
#define MOST_REACH 16

#define EACH(liquid, flip)                                                                         \
  for (kp_flip_liquid *liquid = (flip)->liquids.data;                                              \
       liquid < (flip)->liquids.data + (flip)->liquids.count; ++liquid)

#define N_BUFFERS 13

static void buffers_of(kp_flip_crowds *crowds, kp_buffer *out[N_BUFFERS]) {
  kp_buffer *all[N_BUFFERS] = {
    &crowds->counts,   &crowds->excess,   &crowds->first,  &crowds->marks, &crowds->particle,
    &crowds->from,     &crowds->who[0],   &crowds->who[1], &crowds->at,    &crowds->slot,
    &crowds->level[0], &crowds->level[1], &crowds->ways,
  };
  for (int b = 0; b < N_BUFFERS; ++b) {
    out[b] = all[b];
  }
}

void kp_flip_crowds_init(kp_flip_crowds *crowds, kp_backend *backend) {
  kp_buffer *all[N_BUFFERS];
  buffers_of(crowds, all);
  for (int b = 0; b < N_BUFFERS; ++b) {
    bool is_byte =
        all[b] == &crowds->ways || all[b] == &crowds->level[0] || all[b] == &crowds->level[1];
    kp_buffer_init(all[b], backend);
    all[b]->type = is_byte ? KP_TYPE_U8 : KP_TYPE_U32;
    all[b]->tag = KP_MEMORY_GRID;
  }
}

void kp_flip_crowds_free(kp_flip_crowds *crowds) {
  kp_buffer *all[N_BUFFERS];
  buffers_of(crowds, all);
  for (int b = 0; b < N_BUFFERS; ++b) {
    kp_buffer_free(all[b]);
  }
}

// Scanned in place; the sum is what lies behind the last.
static kp_result scan(kp_backend *backend, kp_buffer *values, int64_t n, int64_t *sum) {
  uint32_t *v;
  uint32_t last;
  KP_TRY(kp_buffer_get(values, KP_SIDE_DEVICE, KP_ACCESS_WRITE, (void **)&v));
  KP_TRY(kp_scan(backend, v, v, n));
  KP_TRY(kp_copy_out(backend, &last, v + n, sizeof last));
  *sum = (int64_t)last;
  return KP_OK;
}

static kp_result fill(kp_buffer *bytes, size_t size, int byte) {
  void *memory;
  KP_TRY(kp_buffer_resize(bytes, size));
  KP_TRY(kp_buffer_get(bytes, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &memory));
  return kp_fill(bytes->backend, memory, byte, size);
}

// ---- cells --------------------------------------------------------------------------------------

static kp_result find_ways(kp_flip *flip) {
  kp_flip_crowds *crowds = &flip->crowds;
  kp_mac *mac = flip->flow.mac;
  size_t n_items = (size_t)mac->view.count;
  // what is beyond the window is no way
  KP_TRY(fill(&crowds->ways, n_items, CROWD_NO_WAY));
  KP_TRY(fill(&crowds->level[0], n_items, CROWD_CLOSED));
  KP_TRY(fill(&crowds->level[1], n_items, CROWD_CLOSED));
  crowd_ways_args a = { .grid = mac->view };
  kp_call call;
  kp_call_init(&call, &crowd_ways_kernel, &a);
  KP_BIND(&call, &a, flags, &flip->flow.flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, open, &flip->open, KP_ACCESS_READ);
  if (flip->band.is_there) {
    a.full = (kp_real)kp_flip_band_full(flip);
    KP_BIND(&call, &a, depth, &flip->band.depth->buffers[0], KP_ACCESS_READ);
  }
  KP_BIND(&call, &a, ways, &crowds->ways, KP_ACCESS_WRITE);
  return kp_mac_rows(mac, KP_MAC_CELL, &call);
}

static kp_result count_all(kp_flip *flip) {
  kp_flip_crowds *crowds = &flip->crowds;
  kp_mac *mac = flip->flow.mac;
  size_t n_items = (size_t)mac->view.count;
  KP_TRY(kp_buffer_resize(&crowds->counts, n_items * sizeof(uint32_t)));
  KP_TRY(kp_buffer_resize(&crowds->first, n_items * sizeof(uint32_t)));
  KP_TRY(kp_buffer_resize(&crowds->excess, (n_items + 1) * sizeof(uint32_t)));
  EACH(liquid, flip) {
    bool is_first = liquid == flip->liquids.data;
    crowd_count_args a = { .is_first = is_first };
    kp_call call;
    kp_call_init(&call, &crowd_count_kernel, &a);
    KP_BIND(&call, &a, start, &liquid->sorted.start, KP_ACCESS_READ);
    KP_BIND(&call, &a, counts, &crowds->counts, is_first ? KP_ACCESS_OVERWRITE : KP_ACCESS_WRITE);
    KP_TRY(kp_call_run(mac->backend, &call, mac->view.count));
  }
  return KP_OK;
}

// ---- who goes -----------------------------------------------------------------------------------

static kp_result list_all(kp_flip *flip, kp_flip_sorted *sorted, uint32_t most, int64_t *n) {
  kp_flip_crowds *crowds = &flip->crowds;
  kp_mac *mac = flip->flow.mac;
  kp_call call;
  crowd_excess_args a = { .most = most };
  kp_call_init(&call, &crowd_excess_kernel, &a);
  KP_BIND(&call, &a, start, &sorted->start, KP_ACCESS_READ);
  KP_BIND(&call, &a, counts, &crowds->counts, KP_ACCESS_READ);
  KP_BIND(&call, &a, excess, &crowds->excess, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(mac->backend, &call, mac->view.count));
  KP_TRY(scan(mac->backend, &crowds->excess, mac->view.count, n));
  size_t size = (size_t)*n * sizeof(uint32_t);
  KP_TRY(kp_buffer_resize(&crowds->particle, size));
  KP_TRY(kp_buffer_resize(&crowds->from, size));
  KP_TRY(kp_buffer_resize(&crowds->marks, size + sizeof(uint32_t)));
  KP_TRY(kp_buffer_resize(&crowds->who[0], size));
  KP_TRY(kp_buffer_resize(&crowds->who[1], size));
  KP_TRY(kp_buffer_resize(&crowds->at, size));
  KP_TRY(kp_buffer_resize(&crowds->slot, size));
  crowd_list_args b = { 0 };
  kp_call_init(&call, &crowd_list_kernel, &b);
  KP_BIND(&call, &b, start, &sorted->start, KP_ACCESS_READ);
  KP_BIND(&call, &b, order, &sorted->order, KP_ACCESS_READ);
  KP_BIND(&call, &b, excess, &crowds->excess, KP_ACCESS_READ);
  KP_BIND(&call, &b, counts, &crowds->counts, KP_ACCESS_WRITE);
  KP_BIND(&call, &b, particle, &crowds->particle, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &b, from, &crowds->from, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &b, who, &crowds->who[0], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &b, at, &crowds->at, KP_ACCESS_OVERWRITE);
  return kp_call_run(mac->backend, &call, *n > 0 ? mac->view.count : 0);
}

// ---- a round ------------------------------------------------------------------------------------

// Levels of all cells within so many cells of room, an even number; they end in level[0].
static kp_result flood(kp_flip *flip, uint32_t most, int reach) {
  kp_flip_crowds *crowds = &flip->crowds;
  kp_mac *mac = flip->flow.mac;
  kp_call call;
  crowd_flood_args a = { .most = most };
  kp_call_init(&call, &crowd_flood_kernel, &a);
  KP_BIND(&call, &a, ways, &crowds->ways, KP_ACCESS_READ);
  KP_BIND(&call, &a, counts, &crowds->counts, KP_ACCESS_READ);
  KP_BIND(&call, &a, level, &crowds->level[0], KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(mac->backend, &call, mac->view.count));
  for (int sweep = 0; sweep < reach; ++sweep) {
    crowd_sweep_args b = { .grid = mac->view };
    kp_call_init(&call, &crowd_sweep_kernel, &b);
    KP_BIND(&call, &b, level, &crowds->level[sweep % 2], KP_ACCESS_READ);
    KP_BIND(&call, &b, next, &crowds->level[(sweep + 1) % 2], KP_ACCESS_WRITE);
    KP_TRY(kp_mac_rows(mac, KP_MAC_CELL, &call));
  }
  return KP_OK;
}

static kp_result find_heads(kp_flip *flip, int64_t n) {
  kp_flip_crowds *crowds = &flip->crowds;
  crowd_heads_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &crowd_heads_kernel, &a);
  KP_BIND(&call, &a, at, &crowds->at, KP_ACCESS_READ);
  KP_BIND(&call, &a, first, &crowds->first, KP_ACCESS_WRITE);
  return kp_call_run(flip->flow.mac->backend, &call, n);
}

// To the cells with room, and everybody in the order of these.
static kp_result walk(kp_flip *flip, uint32_t most, int64_t n) {
  kp_flip_crowds *crowds = &flip->crowds;
  kp_mac *mac = flip->flow.mac;
  kp_call call;
  KP_TRY(find_heads(flip, n));
  crowd_walk_args a = { .grid = mac->view, .most = most };
  kp_call_init(&call, &crowd_walk_kernel, &a);
  KP_BIND(&call, &a, ways, &crowds->ways, KP_ACCESS_READ);
  KP_BIND(&call, &a, level, &crowds->level[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, counts, &crowds->counts, KP_ACCESS_READ);
  KP_BIND(&call, &a, first, &crowds->first, KP_ACCESS_READ);
  KP_BIND(&call, &a, at, &crowds->at, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, slot, &crowds->slot, KP_ACCESS_WRITE);
  KP_TRY(kp_call_run(mac->backend, &call, n));
  void *at;
  void *slot;
  int bits = 1;
  while (mac->view.count >> bits != 0) {
    ++bits;
  }
  KP_TRY(kp_buffer_get(&crowds->at, KP_SIDE_DEVICE, KP_ACCESS_WRITE, &at));
  KP_TRY(kp_buffer_get(&crowds->slot, KP_SIDE_DEVICE, KP_ACCESS_WRITE, &slot));
  KP_TRY(kp_sort32(mac->backend, at, slot, n, bits));
  return find_heads(flip, n);
}

static kp_result grant(kp_flip *flip, kp_set *set, uint32_t most, int64_t n) {
  kp_flip_crowds *crowds = &flip->crowds;
  kp_mac *mac = flip->flow.mac;
  kp_call call;
  crowd_grant_args a = { .grid = mac->view, .most = most };
  kp_call_init(&call, &crowd_grant_kernel, &a);
  KP_BIND(&call, &a, ways, &crowds->ways, KP_ACCESS_READ);
  KP_BIND(&call, &a, counts, &crowds->counts, KP_ACCESS_READ);
  KP_BIND(&call, &a, first, &crowds->first, KP_ACCESS_READ);
  KP_BIND(&call, &a, particle, &crowds->particle, KP_ACCESS_READ);
  KP_BIND(&call, &a, from, &crowds->from, KP_ACCESS_READ);
  KP_BIND(&call, &a, who, &crowds->who[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, at, &crowds->at, KP_ACCESS_READ);
  KP_BIND(&call, &a, slot, &crowds->slot, KP_ACCESS_READ);
  KP_BIND(&call, &a, marks, &crowds->marks, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, , set->position, KP_ACCESS_WRITE);
  KP_TRY(kp_call_run(mac->backend, &call, n));
  crowd_settle_args b = { .n = n, .most = most };
  kp_call_init(&call, &crowd_settle_kernel, &b);
  KP_BIND(&call, &b, ways, &crowds->ways, KP_ACCESS_READ);
  KP_BIND(&call, &b, at, &crowds->at, KP_ACCESS_READ);
  KP_BIND(&call, &b, first, &crowds->first, KP_ACCESS_READ);
  KP_BIND(&call, &b, counts, &crowds->counts, KP_ACCESS_WRITE);
  return kp_call_run(mac->backend, &call, n);
}

// Those who did not get in.
static kp_result keep_rest(kp_flip *flip, int64_t n, int64_t *n_left) {
  kp_flip_crowds *crowds = &flip->crowds;
  kp_backend *backend = flip->flow.mac->backend;
  KP_TRY(scan(backend, &crowds->marks, n, n_left));
  crowd_rest_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &crowd_rest_kernel, &a);
  KP_BIND(&call, &a, marks, &crowds->marks, KP_ACCESS_READ);
  KP_BIND(&call, &a, who, &crowds->who[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, from, &crowds->from, KP_ACCESS_READ);
  KP_BIND(&call, &a, next_who, &crowds->who[1], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, at, &crowds->at, KP_ACCESS_WRITE);
  KP_TRY(kp_call_run(backend, &call, *n_left > 0 ? n : 0));
  kp_buffer_swap_device(&crowds->who[0], &crowds->who[1]);
  return KP_OK;
}

// How far the flood of the next round goes: on while most find no room, up to a limit while anybody
// does.
static int next_reach(int reach, int64_t n, int64_t n_left) {
  bool goes_on = n_left == n || (2 * n_left > n && reach < MOST_REACH);
  return goes_on ? 2 * reach : reach;
}

// Those of one liquid where all together are too many; who is shut in stays. A flood is good for
// two rounds: who finds a cell filled goes on through others.
static kp_result part_liquid(kp_flip *flip, kp_flip_liquid *liquid, uint32_t most) {
  const kp_mac_view *g = &flip->flow.mac->view;
  int64_t farthest = (int64_t)g->n[0] + g->n[1] + g->n[2];
  farthest = farthest < CROWD_UNSEEN ? farthest : CROWD_UNSEEN;
  int64_t n;
  KP_TRY(list_all(flip, &liquid->sorted, most, &n));
  for (int reach = FIRST_REACH, round = 0; n > 0; ++round) {
    int64_t n_left;
    if (round % 2 == 0) {
      KP_TRY(flood(flip, most, reach));
    }
    KP_TRY(walk(flip, most, n));
    KP_TRY(grant(flip, liquid->medium.set, most, n));
    KP_TRY(keep_rest(flip, n, &n_left));
    if (n_left == n && reach >= farthest) {
      break;
    }
    reach = round % 2 == 1 ? next_reach(reach, n, n_left) : reach;
    n = n_left;
  }
  return KP_OK;
}

static kp_result part_all(kp_flip *flip, uint32_t most) {
  KP_TRY(count_all(flip));
  KP_TRY(find_ways(flip));
  EACH(liquid, flip) {
    KP_TRY(part_liquid(flip, liquid, most));
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
