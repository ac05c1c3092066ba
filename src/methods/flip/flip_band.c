// The narrow band: which cells are deep, particles that come and go, what is owed.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/call.h"
#include "methods/flip/flip.h"
#include "methods/flip/flip_band_kernels.h"
#include "par/kernel_define.h"

FLIP_BAND_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define ROUND_NUMBERS 8    // random numbers of an element in a step
#define MOST_CHANGE 0.125  // particles of a full cell that come or go to even out what is owed

static kp_result clear(kp_buffer *values) {
  void *memory;
  KP_TRY(kp_buffer_get(values, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &memory));
  return kp_fill(values->backend, memory, 0, values->used);
}

enum { STATE_WHOLE, STATE_LAST, STATE_OWED, STATE_INSIDE, STATE_ROUND, STATE_N };

// ---- life ---------------------------------------------------------------------------------------

static kp_buffer *depth_of(kp_flip_band *band) {
  return &band->depth->buffers[0];
}

// Their rows, and all values 0.
static kp_result create_blocks(kp_flip_band *band, kp_mac *mac) {
  flip_blocks b = flip_blocks_of(&mac->view);
  kp_buffer_init(&band->block_rows, mac->backend);
  for (int k = 0; k < 3; ++k) {
    kp_buffer *values = &band->blocks[k];
    kp_buffer_init(values, mac->backend);
    values->type = KP_TYPE_REAL;
    values->tag = KP_MEMORY_GRID;
    KP_TRY(kp_buffer_resize(values, (size_t)b.slab * (size_t)(b.n[2] + 2) * sizeof(kp_real)));
    KP_TRY(clear(values));
  }
  KP_TRY(kp_buffer_resize(&band->block_rows, (size_t)(b.n[1] * b.n[2]) * sizeof(kp_row_segment)));
  kp_row_segment *row;
  KP_TRY(kp_buffer_get(&band->block_rows, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&row));
  for (int32_t k = 0; k < b.n[2]; ++k) {
    for (int32_t j = 0; j < b.n[1]; ++j) {
      *row++ = (kp_row_segment){ .j = j, .k = k, .i0 = 0, .i1 = b.n[0] };
    }
  }
  return KP_OK;
}

kp_result kp_flip_band_create(kp_flip *flip, kp_env *env) {
  kp_flip_band *band = &flip->band;
  kp_mac *mac = flip->flow.mac;
  const kp_liquid_def *liquid = &flip->liquids.data[0].def;
  if (flip->liquids.count > 1) {
    return kp_fail(KP_ERROR_SCENE,
                   "flip.band is %g cells, but the grid has %d liquids: below a band nobody knows "
                   "whose the liquid is",
                   flip->def.band, (int)flip->liquids.count);
  }
  if (env->scenery.n_sinks > 0) {
    return kp_fail(KP_ERROR_SCENE,
                   "flip.band is %g cells, but sink \"%s\" takes particles alone; below a band "
                   "there are none",
                   flip->def.band, env->scenery.sinks[0].name);
  }
  const kp_field_desc depth = { "depth", KP_TYPE_REAL, 1, "cells", KP_FIELD_SAVE, 0.0 };
  const kp_field_desc inner = { "inner_velocity", KP_TYPE_REAL, 3, "m/s", KP_FIELD_SAVE, 0.0 };
  const kp_field_desc numbers = { "numbers", KP_TYPE_F64, STATE_N, "", KP_FIELD_SAVE, 0.0 };
  KP_TRY(kp_mac_add_field(mac, &depth, &band->depth));
  KP_TRY(kp_mac_add_field(mac, &inner, &band->inner));
  kp_buffer *reals[] = { &band->deep, &band->lack, &band->layer[0], &band->layer[1] };
  for (int k = 0; k < 4; ++k) {
    KP_TRY(kp_mac_scratch(mac, KP_TYPE_REAL, reals[k]));
  }
  KP_TRY(kp_mac_scratch(mac, KP_TYPE_U32, &band->counts));
  KP_TRY(kp_mac_scratch(mac, KP_TYPE_U32, &band->places));
  KP_TRY(create_blocks(band, mac));
  // the sum comes behind the last cell
  KP_TRY(kp_buffer_resize(&band->places, band->places.used + sizeof(uint32_t)));
  char name[KP_NAME_SIZE];
  (void)snprintf(name, sizeof name, "%.36s.band", liquid->name);
  KP_TRY(kp_registry_add_space(env->registry, name, KP_SPACE_GLOBAL, &band->state));
  KP_TRY(kp_space_add_fields(band->state, &numbers, 1));
  KP_TRY(kp_space_append(band->state, 1, NULL, 0));
  band->seed = kp_hash_bytes(liquid->name, strlen(liquid->name), (uint64_t)env->simulation.seed);
  band->per_cell = pow(mac->view.cell / liquid->spacing, mac->view.dimension);
  band->is_there = true;
  return KP_OK;
}

void kp_flip_band_free(kp_flip_band *band) {
  kp_buffer *all[] = { &band->deep,      &band->lack,      &band->layer[0],  &band->layer[1],
                       &band->counts,    &band->places,    &band->blocks[0], &band->blocks[1],
                       &band->blocks[2], &band->block_rows };
  for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
    kp_buffer_free(all[k]);
  }
}

double kp_flip_band_full(const kp_flip *flip) {
  return flip->def.band - 0.5;
}

static double *number_of(kp_flip_band *band, int which, kp_access access) {
  return kp_buffer_host(&band->state->fields.data[0]->buffers[which], access);
}

kp_result kp_flip_band_store(kp_flip_band *band) {
  *number_of(band, STATE_WHOLE, KP_ACCESS_WRITE) = band->whole;
  *number_of(band, STATE_LAST, KP_ACCESS_WRITE) = (double)band->n_last;
  *number_of(band, STATE_INSIDE, KP_ACCESS_WRITE) = band->inside;
  *number_of(band, STATE_OWED, KP_ACCESS_WRITE) = band->owed;
  *number_of(band, STATE_ROUND, KP_ACCESS_WRITE) = (double)band->round;
  return KP_OK;
}

void kp_flip_band_loaded(kp_flip_band *band) {
  band->whole = *number_of(band, STATE_WHOLE, KP_ACCESS_READ);
  band->n_last = (int64_t)*number_of(band, STATE_LAST, KP_ACCESS_READ);
  band->inside = *number_of(band, STATE_INSIDE, KP_ACCESS_READ);
  band->owed = *number_of(band, STATE_OWED, KP_ACCESS_READ);
  band->round = (uint64_t)*number_of(band, STATE_ROUND, KP_ACCESS_READ);
}

// ---- particles that go --------------------------------------------------------------------------

// Cells deeper than the band, as they are now.
static kp_result find_deep(kp_flip *flip) {
  kp_flip_band *band = &flip->band;
  kp_mac *mac = flip->flow.mac;
  flip_band_deep_args a = { .grid = mac->view, .least = (kp_real)(flip->def.band + 0.5) };
  kp_call call;
  kp_call_init(&call, &flip_band_deep_kernel, &a);
  KP_BIND(&call, &a, depth, depth_of(band), KP_ACCESS_READ);
  KP_BIND(&call, &a, open, &flip->open, KP_ACCESS_READ);
  KP_BIND(&call, &a, flags, &flip->flow.flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, deep, &band->deep, KP_ACCESS_WRITE);
  return kp_mac_rows(mac, KP_MAC_CELL, &call);
}

// What is owed over what the band holds below the surface, as far as a step evens it out.
static double share_of(const kp_flip_band *band, double owed) {
  double share = band->inside > 0.0 ? owed / band->inside : 0.0;
  return fmin(fmax(share, 0.0), MOST_CHANGE);
}

kp_result kp_flip_band_sort(kp_flip *flip, kp_flip_liquid *liquid) {
  kp_flip_band *band = &flip->band;
  kp_set *set = liquid->medium.set;
  // what was poured in, or left through open sides
  band->whole += (double)(set->space->n - band->n_last);
  KP_TRY(find_deep(flip));
  kp_flip_going going = { .deep = &band->deep,
                          .depth = depth_of(band),
                          .seed = band->seed,
                          .round = band->round,
                          .share = share_of(band, -band->owed),
                          .most = (uint32_t)(KP_FLIP_MOST_CROWD * band->per_cell),
                          .most_full = (uint32_t)ceil(band->per_cell),
                          .full = kp_flip_band_full(flip) };
  return kp_flip_sort(&liquid->sorted, flip->flow.mac, set, liquid->fraction, &going);
}

// ---- particles that come ------------------------------------------------------------------------

// Of the grid without what is to come as particles, and of the band below the surface.
static kp_result find_held(kp_flip *flip, kp_flip_liquid *liquid) {
  kp_flip_band *band = &flip->band;
  kp_mac *mac = flip->flow.mac;
  flip_band_held_args a = { .grid = mac->view,
                            .per_cell = (kp_real)band->per_cell,
                            .full = (kp_real)kp_flip_band_full(flip) };
  double v[2];
  kp_call call;
  kp_call_init(&call, &flip_band_held_kernel, &a);
  KP_BIND(&call, &a, counts, &band->counts, KP_ACCESS_READ);
  KP_BIND(&call, &a, lack, &band->lack, KP_ACCESS_READ);
  KP_BIND(&call, &a, deep, &band->deep, KP_ACCESS_READ);
  KP_BIND(&call, &a, depth, depth_of(band), KP_ACCESS_READ);
  KP_BIND(&call, &a, open, &flip->open, KP_ACCESS_READ);
  KP_BIND(&call, &a, start, &liquid->sorted.start, KP_ACCESS_READ);
  KP_TRY(KP_MAC_REDUCE(mac, &call, &a, v));
  band->held = v[0] * band->per_cell;
  band->inside = v[1] * band->per_cell;
  return KP_OK;
}

kp_result kp_flip_band_count(kp_flip *flip, kp_flip_liquid *liquid) {
  kp_flip_band *band = &flip->band;
  kp_mac *mac = flip->flow.mac;
  flip_band_count_args a = { .grid = mac->view,
                             .grow = { .seed = band->seed,
                                       .round = band->round,
                                       .per_cell = (kp_real)band->per_cell,
                                       .share = share_of(band, band->owed) * band->per_cell },
                             .full = (kp_real)kp_flip_band_full(flip) };
  kp_call call;
  kp_call_init(&call, &flip_band_count_kernel, &a);
  KP_BIND(&call, &a, start, &liquid->sorted.start, KP_ACCESS_READ);
  KP_BIND(&call, &a, deep, &band->deep, KP_ACCESS_READ);
  KP_BIND(&call, &a, depth, depth_of(band), KP_ACCESS_READ);
  KP_BIND(&call, &a, open, &flip->open, KP_ACCESS_READ);
  KP_BIND(&call, &a, flags, &flip->flow.flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, counts, &band->counts, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, lack, &band->lack, KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(mac, KP_MAC_CELL, &call));
  KP_TRY(find_held(flip, liquid));
  return kp_flip_fill_open(mac, &band->lack);
}

kp_result kp_flip_band_seed(kp_flip *flip, kp_flip_liquid *liquid) {
  kp_flip_band *band = &flip->band;
  kp_mac *mac = flip->flow.mac;
  kp_set *set = liquid->medium.set;
  uint32_t *in;
  uint32_t *out;
  uint32_t total;
  KP_TRY(kp_buffer_get(&band->counts, KP_SIDE_DEVICE, KP_ACCESS_READ, (void **)&in));
  KP_TRY(kp_buffer_get(&band->places, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, (void **)&out));
  KP_TRY(kp_scan(mac->backend, in, out, mac->view.count));
  KP_TRY(kp_copy_out(mac->backend, &total, out + mac->view.count, sizeof total));
  flip_band_seed_args a = {
    .grid = mac->view,
    .grow = { .seed = band->seed, .round = band->round, .per_cell = (kp_real)band->per_cell },
    .full = (kp_real)kp_flip_band_full(flip),
    .old = set->space->n,
    .next_id = set->next_id
  };
  KP_TRY(kp_space_append(set->space, (int64_t)total, NULL, 0));
  set->next_id += (kp_gid)total;
  band->n_last = set->space->n;
  band->owed = band->whole - band->held - (double)band->n_last;
  band->round += ROUND_NUMBERS;
  kp_buffer *velocity = flip->flow.velocity->buffers;
  kp_call call;
  kp_call_init(&call, &flip_band_seed_kernel, &a);
  KP_BIND(&call, &a, counts, &band->counts, KP_ACCESS_READ);
  KP_BIND(&call, &a, places, &band->places, KP_ACCESS_READ);
  KP_BIND(&call, &a, velocity.u, &velocity[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, velocity.v, &velocity[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, velocity.w, &velocity[2], KP_ACCESS_READ);
  KP_BIND3(&call, &a, , set->position, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, v, set->velocity, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, id, &set->id->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, start, &liquid->sorted.start, KP_ACCESS_READ);
  KP_BIND3(&call, &a, f, liquid->fraction, KP_ACCESS_READ);
  KP_BIND(&call, &a, deep, &band->deep, KP_ACCESS_READ);
  KP_BIND(&call, &a, depth, depth_of(band), KP_ACCESS_READ);
  KP_BIND(&call, &a, open, &flip->open, KP_ACCESS_READ);
  KP_BIND(&call, &a, lack, &band->lack, KP_ACCESS_WRITE);
  return kp_mac_rows(mac, KP_MAC_CELL, &call);
}

kp_result kp_flip_band_fill(kp_flip *flip) {
  kp_flip_band *band = &flip->band;
  flip_band_fill_args a = { .grid = flip->flow.mac->view, .per_cell = (kp_real)band->per_cell };
  kp_call call;
  kp_call_init(&call, &flip_band_fill_kernel, &a);
  KP_BIND(&call, &a, lack, &band->lack, KP_ACCESS_READ);
  KP_BIND(&call, &a, fill, &flip->fill, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, count, &flip->count, KP_ACCESS_WRITE);
  return kp_mac_rows(flip->flow.mac, KP_MAC_CELL, &call);
}

// ---- depth --------------------------------------------------------------------------------------

// Into band->layer[*last], ghosts too.
static kp_result measure_depth(kp_flip *flip, int *last) {
  kp_flip_band *band = &flip->band;
  kp_mac *mac = flip->flow.mac;
  // two more than the band: what is traced lies between cells
  int most = (int)ceil(flip->def.band) + 2;
  flip_band_start_args s = { .grid = mac->view, .most = (kp_real)most };
  kp_call call;
  kp_call_init(&call, &flip_band_start_kernel, &s);
  KP_BIND(&call, &s, flags, &flip->flow.flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &s, depth, &band->layer[0], KP_ACCESS_WRITE);
  KP_TRY(kp_mac_rows(mac, KP_MAC_CELL, &call));
  KP_TRY(kp_mac_fill_cells(mac, &band->layer[0], 0.0));
  *last = 0;
  for (int pass = 1; pass < most; ++pass) {
    flip_band_deepen_args a = { .grid = mac->view, .most = (kp_real)most };
    kp_call_init(&call, &flip_band_deepen_kernel, &a);
    KP_BIND(&call, &a, in, &band->layer[*last], KP_ACCESS_READ);
    KP_BIND(&call, &a, out, &band->layer[1 - *last], KP_ACCESS_WRITE);
    KP_TRY(kp_mac_rows(mac, KP_MAC_CELL, &call));
    *last = 1 - *last;
    KP_TRY(kp_mac_fill_cells(mac, &band->layer[*last], 0.0));
  }
  return KP_OK;
}

// A band has one liquid, so the weights of several are free: the ways of the cells.
static kp_buffer *ways_of(kp_flip *flip) {
  return flip->weight;
}

// Only the midpoint rule in solid grids passes over blocks, and only between walls: what leaves
// through a periodic side comes back far away.
static bool has_blocks(const kp_flip *flip) {
  const kp_mac_view *g = &flip->flow.mac->view;
  bool is_periodic = g->is_periodic[0] || g->is_periodic[1] || g->is_periodic[2];
  return flip->flow.grid.trace == KP_ADVECT_RK2 && g->dimension == 3 && !is_periodic;
}

static kp_result find_calm(kp_flip *flip, double dt, kp_buffer *depth) {
  kp_flip_band *band = &flip->band;
  kp_mac *mac = flip->flow.mac;
  kp_buffer *velocity = flip->flow.velocity->buffers;
  flip_blocks blocks = flip_blocks_of(&mac->view);
  int64_t n_rows = (int64_t)blocks.n[1] * blocks.n[2];
  flip_band_speed_args s = { .grid = mac->view,
                             .scale = (kp_real)(dt / mac->view.cell),
                             .shift = (kp_real)KP_FLIP_MOST_SHIFT };
  kp_call call;
  kp_call_init(&call, &flip_band_speed_kernel, &s);
  KP_BIND(&call, &s, depth, depth, KP_ACCESS_READ);
  KP_BIND(&call, &s, velocity.u, &velocity[0], KP_ACCESS_READ);
  KP_BIND(&call, &s, velocity.v, &velocity[1], KP_ACCESS_READ);
  KP_BIND(&call, &s, velocity.w, &velocity[2], KP_ACCESS_READ);
  KP_BIND(&call, &s, speed, &band->blocks[1], KP_ACCESS_WRITE);
  KP_TRY(kp_call_rows(mac->backend, &call, &band->block_rows, n_rows));
  KP_TRY(clear(&band->blocks[0]));
  for (int round = 0; round <= FLIP_BLOCK_ROUNDS; ++round) {
    flip_band_calm_args a = { .blocks = blocks, .most = (kp_real)(round * FLIP_BLOCK) };
    kp_call_init(&call, &flip_band_calm_kernel, &a);
    KP_BIND(&call, &a, in, &band->blocks[1 + round % 2], KP_ACCESS_READ);
    KP_BIND(&call, &a, out, &band->blocks[2 - round % 2], KP_ACCESS_WRITE);
    KP_BIND(&call, &a, calm, &band->blocks[0], KP_ACCESS_WRITE);
    KP_TRY(kp_call_rows(mac->backend, &call, &band->block_rows, n_rows));
  }
  return KP_OK;
}

static kp_result trace_depth(kp_flip *flip, kp_env *env, kp_buffer *from) {
  kp_flow *flow = &flip->flow;
  bool has_shift = flip->def.volume > 0.0;
  kp_buffer *velocity = flow->velocity->buffers;
  kp_buffer *shift = has_shift ? flip->shift : velocity;
  flip_band_trace_args a = { .carry = { .grid = flow->mac->view,
                                        .dt = -env->dt,
                                        .trace = flow->grid.trace,
                                        .per_shift =
                                            has_shift ? flow->mac->view.inverse_h : (kp_real)0 },
                             .has_lanes = flow->grid.trace == KP_ADVECT_RK2 };
  kp_call call;
  kp_call_init(&call, &flip_band_trace_kernel, &a);
  KP_BIND(&call, &a, carry.velocity.u, &velocity[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, carry.velocity.v, &velocity[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, carry.velocity.w, &velocity[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, carry.shift.u, &shift[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, carry.shift.v, &shift[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, carry.shift.w, &shift[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, in, from, KP_ACCESS_READ);
  KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, out, depth_of(&flip->band), KP_ACCESS_WRITE);
  KP_BIND(&call, &a, calm, has_blocks(flip) ? &flip->band.blocks[0] : NULL, KP_ACCESS_READ);
  for (int c = 0; c < 3; ++c) {
    KP_BIND(&call, &a, way[c], &ways_of(flip)[c], KP_ACCESS_WRITE);
  }
  KP_TRY(kp_mac_rows(flow->mac, KP_MAC_CELL, &call));
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_mac_fill_periodic(flow->mac, &ways_of(flip)[c]));
  }
  return KP_OK;
}

// Along the ways of the cells: only where the liquid is deep.
static kp_result carry_deep(kp_flip *flip, int axis, kp_buffer *values) {
  kp_mac *mac = flip->flow.mac;
  flip_band_carry_args a = { .grid = mac->view, .axis = axis };
  kp_call call;
  kp_call_init(&call, &flip_band_carry_kernel, &a);
  KP_BIND(&call, &a, depth, depth_of(&flip->band), KP_ACCESS_READ);
  for (int c = 0; c < 3; ++c) {
    KP_BIND(&call, &a, way[c], &ways_of(flip)[c], KP_ACCESS_READ);
  }
  KP_BIND(&call, &a, values, values, KP_ACCESS_READ);
  KP_BIND(&call, &a, out, &flip->band.inner->buffers[axis], KP_ACCESS_WRITE);
  return kp_mac_rows(mac, (kp_mac_kind)axis, &call);
}

// The velocity of the liquid that the grid holds goes along itself, with what turns it ahead.
static kp_result carry_velocity(kp_flip *flip, kp_env *env) {
  kp_flow *flow = &flip->flow;
  kp_advect_def how = { .scheme = flow->grid.advection,
                        .limiter = flow->grid.limiter,
                        .trace = flow->grid.trace,
                        .interpolation = flow->grid.interpolation };
  kp_buffer *values = flow->velocity->buffers;
  if (kp_flip_is_centred(flip)) {
    KP_TRY(kp_flip_ahead_add(flip, flip->before));
    values = flip->before;
  }
  for (int axis = 0; axis < flow->mac->view.dimension; ++axis) {
    kp_buffer *inner = &flip->band.inner->buffers[axis];
    if (how.scheme == KP_ADVECT_SEMI_LAGRANGIAN) {
      KP_TRY(carry_deep(flip, axis, &values[axis]));
      continue;
    }
    KP_TRY(kp_buffer_copy(inner, &values[axis]));
    KP_TRY(kp_advect_values(&flow->advect, &how, (kp_mac_kind)axis, inner, flow->velocity,
                            &flow->flags->buffers[0], NAN, env->dt));
  }
  return KP_OK;
}

kp_result kp_flip_band_move(kp_flip *flip, kp_env *env) {
  int last;
  KP_TRY(measure_depth(flip, &last));
  if (has_blocks(flip)) {
    KP_TRY(find_calm(flip, env->dt, &flip->band.layer[last]));
  }
  KP_TRY(trace_depth(flip, env, &flip->band.layer[last]));
  KP_TRY(kp_mac_fill_periodic(flip->flow.mac, depth_of(&flip->band)));
  return carry_velocity(flip, env);
}

// ---- sums ---------------------------------------------------------------------------------------

// The deep liquid has no particles.
static kp_result include_deep(const kp_flip *flip, kp_aabb *bounds) {
  const kp_mac *mac = flip->flow.mac;
  const kp_mac_view *g = &mac->view;
  const kp_real *deep = kp_buffer_host((kp_buffer *)(uintptr_t)&flip->band.deep, KP_ACCESS_READ);
  if (deep == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (int64_t k = 0; k < g->n[2]; ++k) {
    for (int64_t j = 0; j < g->n[1]; ++j) {
      for (int64_t i = 0; i < g->n[0]; ++i) {
        double x[3];
        kp_mac_place(g, KP_MAC_CELL, i, j, k, x);
        if (deep[kp_mac_at(g, i, j, k)] > 0) {
          double h = 0.5 * g->cell;
          kp_vec3 half = kp_vec3_make(h, h, g->dimension == 2 ? 0.0 : h);
          kp_vec3 p = kp_vec3_make(x[0], x[1], x[2]);
          bounds->min = kp_vec3_min(bounds->min, kp_vec3_sub(p, half));
          bounds->max = kp_vec3_max(bounds->max, kp_vec3_add(p, half));
        }
      }
    }
  }
  return KP_OK;
}

kp_result kp_flip_band_stats(kp_flip *flip, kp_env *env, kp_population_stats *out) {
  kp_flow *flow = &flip->flow;
  kp_vec3 g = env->simulation.gravity;
  flip_band_sums_args a = { .grid = flow->mac->view,
                            .up = { -g.x, -g.y, -g.z },
                            .per_cell = (kp_real)flip->band.per_cell };
  kp_call call;
  kp_call_init(&call, &flip_band_sums_kernel, &a);
  KP_BIND(&call, &a, counts, &flip->band.counts, KP_ACCESS_READ);
  KP_BIND(&call, &a, lack, &flip->band.lack, KP_ACCESS_READ);
  KP_BIND(&call, &a, velocity.u, &flow->velocity->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, velocity.v, &flow->velocity->buffers[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, velocity.w, &flow->velocity->buffers[2], KP_ACCESS_READ);
  double v[6];
  KP_TRY(KP_MAC_REDUCE(flow->mac, &call, &a, v));
  double mass = flow->density * pow(flow->mac->view.cell, flow->mac->view.dimension);
  out->mass += mass * v[0];
  out->momentum = kp_vec3_madd(out->momentum, mass, kp_vec3_make(v[1], v[2], v[3]));
  out->kinetic_energy += mass * v[4];
  out->potential_energy += mass * v[5];
  out->max_speed = fmax(out->max_speed, flow->max_speed);
  return include_deep(flip, &out->bounds);
}
