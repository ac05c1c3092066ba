// Springs between particles and what they remember.
#include <stdio.h>
#include <string.h>

#include "data/call.h"
#include "math/fractional.h"
#include "methods/stf/stf.h"
#include "methods/stf/stf_kernels.h"
#include "par/kernel_define.h"

STF_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_NO_PAIR)

enum { STATE_T0, STATE_T1, STATE_CURRENT, STATE_DT, STATE_N };

// ---- create -------------------------------------------------------------------------------------

static kp_result create_state(kp_stf *stf, kp_registry *registry) {
  static const kp_field_desc fields[] = {
    { .name = "start", .type = KP_TYPE_F64, .components = 1, .unit = "s", .flags = KP_FIELD_SAVE },
    { .name = "end", .type = KP_TYPE_F64, .components = 1, .unit = "s", .flags = KP_FIELD_SAVE },
    { .name = "level", .type = KP_TYPE_I32, .components = 1, .unit = "", .flags = KP_FIELD_SAVE },
    { .name = "numbers", .type = KP_TYPE_F64, .components = STATE_N, .flags = KP_FIELD_SAVE },
  };
  char name[KP_NAME_SIZE];
  snprintf(name, sizeof name, "%.36s.memory", stf->medium.name);
  KP_TRY(kp_registry_add_space(registry, name, KP_SPACE_GLOBAL, &stf->state));
  KP_TRY(kp_space_add_fields(stf->state, fields, sizeof fields / sizeof fields[0]));
  return kp_space_append(stf->state, KP_STF_SLOTS, NULL, 0);
}

// Arrays of the blocks, by slot, with names of their own in each channel.
static kp_result add_memory_fields(kp_stf *stf, int channel) {
  kp_space *space = stf->springs->space;
  char name[KP_NAME_SIZE];
  for (int f = 0; f < KP_STF_BLOCK_FIELDS; ++f) {
    snprintf(name, sizeof name, "past_%d_%d", channel, f);
    kp_field_desc desc = { name, KP_TYPE_REAL, 9, "m/s", KP_FIELD_SAVE, 0.0 };
    KP_TRY(kp_space_add_field(space, &desc, &stf->past[channel][f]));
  }
  snprintf(name, sizeof name, "tail_%d", channel);
  kp_field_desc tail = { name, KP_TYPE_REAL, KP_STF_TAILS, "m/s^q", KP_FIELD_SAVE, 0.0 };
  KP_TRY(kp_space_add_field(space, &tail, &stf->tail[channel]));
  snprintf(name, sizeof name, "sum_%d", channel);
  kp_field_desc sum = { name, KP_TYPE_REAL, 1, "m/s^q", 0, 0.0 };
  return kp_space_add_field(space, &sum, &stf->sum[channel]);
}

_Static_assert(KP_STF_SLOTS <= 9 * KP_STF_BLOCK_FIELDS, "every slot needs an array");

kp_result kp_stf_springs_create(kp_stf *stf, kp_env *env) {
  const kp_stf_def *def = &stf->def;
  kp_field_desc rest = { "rest_length", KP_TYPE_REAL, 1, "m", KP_FIELD_SAVE, 0.0 };
  char name[KP_NAME_SIZE];
  snprintf(name, sizeof name, "%.36s.springs", stf->medium.name);
  kp_pair_rows_def rows = { .name = name, .set = stf->medium.set, .values = &rest, .n_values = 1 };
  KP_TRY(kp_pair_rows_create(env->registry, &rows, &stf->springs));
  stf->rest_length = kp_space_find(stf->springs->space, "rest_length");
  static const int channels[] = { 0, 1, 3 };  // by kp_stf_history
  stf->n_channels = channels[def->history];
  for (int c = 0; c < stf->n_channels; ++c) {
    KP_TRY(add_memory_fields(stf, c));
  }
  kp_stf_memory_init(&stf->memory, def->order, def->memory);
  double full = def->reference_speed * kp_frac_gain(def->order, def->memory);
  stf->history_gain = def->thickening * def->spring_stiffness / full;
  return create_state(stf, env->registry);
}

// ---- state --------------------------------------------------------------------------------------

static kp_result host_of(kp_stf *stf, const char *field, int component, kp_access access,
                         void **out) {
  kp_buffer *buffer = &kp_space_find(stf->state, field)->buffers[component];
  return kp_buffer_get(buffer, KP_SIDE_HOST, access, out);
}

static kp_result store_memory(kp_stf *stf) {
  void *start;
  void *end;
  void *level;
  KP_TRY(host_of(stf, "start", 0, KP_ACCESS_OVERWRITE, &start));
  KP_TRY(host_of(stf, "end", 0, KP_ACCESS_OVERWRITE, &end));
  KP_TRY(host_of(stf, "level", 0, KP_ACCESS_OVERWRITE, &level));
  for (int k = 0; k < KP_STF_SLOTS; ++k) {
    const kp_stf_block *b = &stf->memory.blocks[k];
    ((double *)start)[k] = b->start;
    ((double *)end)[k] = b->end;
    ((int32_t *)level)[k] = b->level;
  }
  const double numbers[STATE_N] = { stf->memory.tail_t0, stf->memory.tail_t1,
                                    (double)stf->memory.current, stf->dt_last };
  for (int c = 0; c < STATE_N; ++c) {
    void *to;
    KP_TRY(host_of(stf, "numbers", c, KP_ACCESS_WRITE, &to));
    *(double *)to = numbers[c];
  }
  return KP_OK;
}

kp_result kp_stf_springs_load(kp_stf *stf) {
  void *start;
  void *end;
  void *level;
  KP_TRY(host_of(stf, "start", 0, KP_ACCESS_READ, &start));
  KP_TRY(host_of(stf, "end", 0, KP_ACCESS_READ, &end));
  KP_TRY(host_of(stf, "level", 0, KP_ACCESS_READ, &level));
  for (int k = 0; k < KP_STF_SLOTS; ++k) {
    stf->memory.blocks[k] = (kp_stf_block){ ((const double *)start)[k], ((const double *)end)[k],
                                            ((const int32_t *)level)[k] };
  }
  double numbers[STATE_N];
  for (int c = 0; c < STATE_N; ++c) {
    void *from;
    KP_TRY(host_of(stf, "numbers", c, KP_ACCESS_READ, &from));
    numbers[c] = *(const double *)from;
  }
  stf->memory.tail_t0 = numbers[STATE_T0];
  stf->memory.tail_t1 = numbers[STATE_T1];
  stf->memory.current = (int)numbers[STATE_CURRENT];
  stf->dt_last = numbers[STATE_DT];
  return kp_pair_rows_loaded(stf->springs);
}

// ---- passes -------------------------------------------------------------------------------------

static kp_buffer *slot_of(kp_stf *stf, int channel, int slot) {
  return &stf->past[channel][slot / 9]->buffers[slot % 9];
}

static kp_result recall(kp_stf *stf, kp_env *env, int channel, const kp_stf_update *update) {
  stf_recall_args a = { .n = update->n_coarse };
  kp_call call;
  kp_call_init(&call, &stf_recall_kernel, &a);
  for (int k = 0; k < update->n_coarse; ++k) {
    for (int p = 0; p < KP_STF_TAILS; ++p) {
      a.weight[p][k] = (kp_real)update->tail_weight[p][k];
    }
    KP_BIND(&call, &a, block[k], slot_of(stf, channel, update->coarse[k]), KP_ACCESS_READ);
  }
  for (int p = 0; p < KP_STF_TAILS; ++p) {
    KP_BIND(&call, &a, tail[p], &stf->tail[channel]->buffers[p], KP_ACCESS_OVERWRITE);
  }
  return kp_call_run(env->backend, &call, stf->springs->space->n);
}

// Merges, the running block, and the sum over all blocks but the coarse ones.
static kp_result remember(kp_stf *stf, kp_env *env, int channel, const kp_stf_update *update) {
  stf_remember_args a = { .component = stf->n_channels == 1 ? 3 : channel,
                          .n_merges = update->n_merges,
                          .n_fine = update->n_fine,
                          .adds = update->current >= 0,
                          .ratio = (kp_real)update->ratio,
                          .now_weight = (kp_real)update->now_weight,
                          .before_weight = (kp_real)update->before_weight };
  kp_call call;
  kp_call_init(&call, &stf_remember_kernel, &a);
  KP_BIND(&call, &a, begin, &stf->springs->begin->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, count, &stf->springs->count->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, partner, &stf->springs->partner->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, stf->medium.set->velocity, KP_ACCESS_READ);
  for (int m = 0; m < a.n_merges; ++m) {
    a.share[m] = (kp_real)update->share[m];
    KP_BIND(&call, &a, into[m], slot_of(stf, channel, update->into[m]), KP_ACCESS_WRITE);
    KP_BIND(&call, &a, from[m], slot_of(stf, channel, update->from[m]), KP_ACCESS_READ);
  }
  for (int k = 0; k < a.n_fine; ++k) {
    a.weight[k] = (kp_real)update->weight[k];
    KP_BIND(&call, &a, fine[k], slot_of(stf, channel, update->fine[k]), KP_ACCESS_READ);
  }
  if (a.adds) {
    KP_BIND(&call, &a, current, slot_of(stf, channel, update->current), KP_ACCESS_WRITE);
  }
  KP_BIND(&call, &a, sum, &stf->sum[channel]->buffers[0], KP_ACCESS_OVERWRITE);
  return kp_call_run(env->backend, &call, stf->medium.set->space->n);
}

static kp_result bring_memory_up(kp_stf *stf, kp_env *env) {
  // the velocities of now held over the step that led here
  kp_stf_update update = kp_stf_memory_advance(&stf->memory, env->time, stf->dt_last);
  for (int c = 0; c < stf->n_channels; ++c) {
    KP_TRY(remember(stf, env, c, &update));
    if (update.recall) {
      KP_TRY(recall(stf, env, c, &update));
    }
  }
  memcpy(stf->tail_share, update.tail_share, sizeof stf->tail_share);
  stf->dt_last = env->dt;
  return store_memory(stf);
}

static kp_result move_springs(kp_stf *stf, kp_env *env) {
  const kp_stf_def *def = &stf->def;
  double birth = def->spring_reach * stf->support;
  stf_spring_args a = { .dt = (kp_real)env->dt,
                        .birth = (kp_real)birth,
                        .closest = (kp_real)(0.1 * stf->support),
                        .removal = (kp_real)(def->spring_removal * birth),
                        .birth_length = (kp_real)(def->birth == KP_STF_CLAVET ? birth : 0.0),
                        .inverse = (kp_real)(1.0 / birth),
                        .creep = (kp_real)def->plasticity,
                        .yield = (kp_real)def->yield,
                        .stiffness = (kp_real)def->spring_stiffness,
                        .history = (kp_real)stf->history_gain,
                        .mass = (kp_real)stf->medium.mass,
                        .n_channels = stf->n_channels };
  kp_stf_periods(env, a.rows.length);
  kp_call call;
  kp_call_init(&call, &stf_spring_kernel, &a);
  KP_STF_BIND_ROWS(&call, &a, stf->springs);
  KP_BIND3(&call, &a, , stf->medium.set->position, KP_ACCESS_READ);
  for (int c = 0; c < stf->n_channels; ++c) {
    KP_BIND(&call, &a, sum[c], &stf->sum[c]->buffers[0], KP_ACCESS_READ);
    for (int p = 0; p < KP_STF_TAILS; ++p) {
      a.tail_share[p] = (kp_real)stf->tail_share[p];
      KP_BIND(&call, &a, tail[c][p], &stf->tail[c]->buffers[p], KP_ACCESS_READ);
    }
  }
  KP_BIND(&call, &a, links, &stf->links->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, rest, &stf->rest_length->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, links_out, &stf->links_new->buffers[0], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, stiffening, &stf->stiffening->buffers[0], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, energy, &stf->energy->buffers[0], KP_ACCESS_OVERWRITE);
  KP_BIND3(&call, &a, s, stf->shift, KP_ACCESS_WRITE);
  KP_TRY(kp_call_run(env->backend, &call, stf->medium.set->space->n));
  return kp_buffer_copy(&stf->links->buffers[0], &stf->links_new->buffers[0]);
}

kp_result kp_stf_springs_pass(kp_stf *stf, kp_env *env) {
  if (stf->n_channels > 0) {
    double start = kp_time_now();
    KP_TRY(bring_memory_up(stf, env));
    int slot = kp_profile_slot(env->profile, "history");
    kp_profile_add(env->profile, slot, kp_time_now() - start);
  }
  return move_springs(stf, env);
}
