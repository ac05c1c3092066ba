#include "methods/grains/grains.h"

#include <math.h>

#include "data/call.h"
#include "data/data_kernels.h"
#include "par/kernel_define.h"

GRAINS_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)
DATA_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

// ---- life ---------------------------------------------------------------------------------------

static void free_walls(kp_grains_walls *walls) {
  kp_cells_destroy(&walls->cells);
  kp_buffer_free(&walls->discs);
  kp_array_free(&walls->extents);
}

static void grains_destroy(void **self) {
  kp_grains *grains = *self;
  if (grains == NULL) {
    return;
  }
  for (size_t l = 0; l < grains->links.count; ++l) {
    kp_pair_rows_destroy(&grains->links.data[l].rows);
  }
  for (size_t t = 0; t < grains->touches.count; ++t) {
    kp_grains_touch *touch = &grains->touches.data[t];
    kp_pair_rows_destroy(&touch->rows);
    kp_buffer_free(&touch->keys);
    kp_buffer_free(&touch->entries);
    kp_buffer_free(&touch->starts);
  }
  for (size_t s = 0; s < grains->sets.count; ++s) {
    kp_buffer_free(&grains->sets.data[s].records);
    kp_medium_free(&grains->sets.data[s].medium);
  }
  free_walls(&grains->walls[0]);
  free_walls(&grains->walls[1]);
  kp_array_free(&grains->sets);
  kp_array_free(&grains->links);
  kp_array_free(&grains->touches);
  kp_free(grains);
  *self = NULL;
}

kp_result kp_grains_create(kp_env *env, const kp_dem_def *def, const kp_grains_def *defs, size_t n,
                           kp_grains **out) {
  *out = NULL;
  kp_grains *grains = kp_alloc_zero(sizeof *grains, KP_MEMORY_WORLD);
  if (grains == NULL) {
    return KP_ERROR_MEMORY;
  }
  grains->def = *def;
  grains->inertia = env->dimension == 3 ? 0.4 : 0.5;
  kp_result result = kp_grains_setup(grains, env, defs, n);
  if (result != KP_OK) {
    void *self = grains;
    grains_destroy(&self);
    return result;
  }
  kp_grains_set_laws(grains, env);
  *out = grains;
  return KP_OK;
}

// ---- population and space -----------------------------------------------------------------------

static kp_result grains_population(void *self, kp_env *env) {
  kp_grains *grains = self;
  for (size_t s = 0; s < grains->sets.count; ++s) {
    kp_grains_set *set = &grains->sets.data[s];
    KP_TRY(kp_medium_population(&set->medium, env));
    KP_TRY(kp_grains_born(grains, env, set, set->medium.first_new, true));
  }
  return KP_OK;
}

static bool is_due(const kp_grains *grains, const kp_pair_rows *rows) {
  return !kp_pair_rows_is_current(rows) || rows->travelled >= grains->skin;
}

static bool any_is_due(const kp_grains *grains) {
  bool is_any = grains->sorts_always;
  for (size_t l = 0; l < grains->links.count; ++l) {
    is_any = is_any || is_due(grains, grains->links.data[l].rows);
  }
  for (size_t t = 0; t < grains->touches.count; ++t) {
    is_any = is_any || is_due(grains, grains->touches.data[t].rows);
  }
  return is_any;
}

static kp_result build_link(kp_grains *grains, kp_grains_link *link) {
  kp_grains_set *i = &grains->sets.data[link->i];
  kp_grains_set *j = &grains->sets.data[link->j];
  kp_pair_rows_search search = { .cells = i->medium.cells,
                                 .partner_cells = j->medium.cells,
                                 .images = j->medium.ghosts,
                                 .image_cells = j->medium.ghost_cells,
                                 .radius = i->largest + j->largest + grains->skin };
  return kp_pair_rows_build(link->rows, &search);
}

// Entries by sample, so that each sample can add up what pushes it.
static kp_result sort_by_sample(kp_grains *grains, kp_grains_touch *touch) {
  kp_backend *backend = touch->keys.backend;
  int64_t n = touch->rows->space->n;
  int64_t n_samples = grains->walls[touch->walls].interface->set->space->n;
  KP_TRY(kp_buffer_resize(&touch->keys, (size_t)n * sizeof(uint32_t)));
  KP_TRY(kp_buffer_resize(&touch->entries, (size_t)n * sizeof(uint32_t)));
  KP_TRY(kp_buffer_resize(&touch->starts, (size_t)(n_samples + 1) * sizeof(uint32_t)));
  KP_TRY(kp_buffer_copy(&touch->keys, &touch->rows->partner->buffers[0]));
  data_iota_args iota = { 0 };
  kp_call call;
  kp_call_init(&call, &data_iota_kernel, &iota);
  KP_BIND(&call, &iota, out, &touch->entries, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(backend, &call, n));
  void *keys;
  void *entries;
  KP_TRY(kp_buffer_get(&touch->keys, KP_SIDE_DEVICE, KP_ACCESS_WRITE, &keys));
  KP_TRY(kp_buffer_get(&touch->entries, KP_SIDE_DEVICE, KP_ACCESS_WRITE, &entries));
  KP_TRY(kp_sort32(backend, keys, entries, n, 32));
  grains_starts_args a = { .n = n };
  kp_call_init(&call, &grains_starts_kernel, &a);
  KP_BIND(&call, &a, keys, &touch->keys, KP_ACCESS_READ);
  KP_BIND(&call, &a, start, &touch->starts, KP_ACCESS_OVERWRITE);
  return kp_call_run(backend, &call, n_samples + 1);
}

static kp_result build_touch(kp_grains *grains, kp_grains_touch *touch) {
  kp_grains_set *set = &grains->sets.data[touch->set];
  kp_grains_walls *walls = &grains->walls[touch->walls];
  // a disc reaches out from its sample, which lies half a spacing below it
  double disc = walls->largest_disc;
  double out = set->largest + disc;
  kp_pair_rows_search search = { .cells = set->medium.cells,
                                 .partner_cells = walls->cells,
                                 .radius = sqrt(out * out + disc * disc) + grains->skin };
  KP_TRY(kp_pair_rows_build(touch->rows, &search));
  return touch->push != NULL ? sort_by_sample(grains, touch) : KP_OK;
}

// Sorts and builds rows only when something may have travelled a skin, or somebody came or went.
static kp_result grains_space(void *self, kp_env *env) {
  kp_grains *grains = self;
  if (env->evaluation > 0 || !any_is_due(grains)) {
    return KP_OK;
  }
  for (size_t s = 0; s < grains->sets.count; ++s) {
    KP_TRY(kp_medium_space(&grains->sets.data[s].medium, env));
  }
  for (int w = 0; w < 2; ++w) {
    kp_grains_walls *walls = &grains->walls[w];
    if (walls->largest_disc > 0.0) {
      KP_TRY(kp_cells_build(walls->cells, NULL));
    }
  }
  for (size_t l = 0; l < grains->links.count; ++l) {
    KP_TRY(build_link(grains, &grains->links.data[l]));
  }
  for (size_t t = 0; t < grains->touches.count; ++t) {
    KP_TRY(build_touch(grains, &grains->touches.data[t]));
  }
  return KP_OK;
}

// ---- forces and motion --------------------------------------------------------------------------

static kp_result grains_forces(void *self, kp_env *env) {
  kp_grains *grains = self;
  if (env->evaluation > 0) {
    return KP_OK;
  }
  KP_TRY(kp_grains_forces(grains, env));
  for (size_t s = 0; s < grains->sets.count; ++s) {
    if (!grains->sets.data[s].def.frozen) {
      KP_TRY(kp_medium_outer_forces(&grains->sets.data[s].medium, env));
    }
  }
  return KP_OK;
}

static kp_result move(kp_grains_set *set, kp_env *env) {
  kp_set *s = set->medium.set;
  grains_move_args a = { .dt = (kp_real)env->dt };
  kp_call call;
  kp_call_init(&call, &grains_move_kernel, &a);
  KP_BIND3(&call, &a, , s->position, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, v, s->velocity, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, w, set->spin, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, a, set->medium.integrate.acceleration, KP_ACCESS_READ);
  KP_BIND3(&call, &a, b, set->turn, KP_ACCESS_READ);
  return kp_call_run(env->backend, &call, s->space->n);
}

static kp_result grains_predict(void *self, kp_env *env) {
  kp_grains *grains = self;
  for (size_t s = 0; s < grains->sets.count && env->evaluation == 0; ++s) {
    if (!grains->sets.data[s].def.frozen) {
      KP_TRY(move(&grains->sets.data[s], env));
    }
  }
  return KP_OK;
}

// ---- check --------------------------------------------------------------------------------------

// The fastest sample of what moves.
static double fastest_sample(const kp_grains_walls *walls, kp_env *env) {
  double fastest = 0.0;
  for (size_t r = 0; r < walls->interface->ranges.count; ++r) {
    kp_frame3 frame = kp_bodies_frame(env->bodies, walls->interface->ranges.data[r].body);
    double speed = kp_vec3_length(frame.velocity) +
                   kp_vec3_length(frame.angular_velocity) * walls->extents.data[r];
    fastest = fmax(fastest, speed);
  }
  return fastest;
}

// How far two sides may have come towards each other. A body that is pushed may gain speed within
// the step, so it is given one and a half of what it has.
static kp_result count_travel(kp_grains *grains, kp_env *env) {
  for (size_t l = 0; l < grains->links.count; ++l) {
    kp_grains_link *link = &grains->links.data[l];
    double speed =
        grains->sets.data[link->i].medium.max_speed + grains->sets.data[link->j].medium.max_speed;
    KP_TRY(kp_pair_rows_travel(link->rows, speed * env->dt));
  }
  for (size_t t = 0; t < grains->touches.count; ++t) {
    kp_grains_touch *touch = &grains->touches.data[t];
    double speed = grains->sets.data[touch->set].medium.max_speed;
    if (touch->walls == 1) {
      speed += 1.5 * fastest_sample(&grains->walls[1], env);
    }
    KP_TRY(kp_pair_rows_travel(touch->rows, speed * env->dt));
  }
  return KP_OK;
}

static kp_result grains_check(void *self, kp_env *env) {
  kp_grains *grains = self;
  for (size_t s = 0; s < grains->sets.count; ++s) {
    kp_grains_set *set = &grains->sets.data[s];
    KP_TRY(kp_medium_check(&set->medium, env, set->smallest));
  }
  return count_travel(grains, env);
}

// Several steps per hit, and no grain moves more than a fifth of its radius at once.
static double grains_max_dt(void *self, kp_env *env) {
  const kp_grains *grains = self;
  double dt = grains->longest_step;
  double bodies = fastest_sample(&grains->walls[1], env);
  for (size_t s = 0; s < grains->sets.count; ++s) {
    const kp_grains_set *set = &grains->sets.data[s];
    double speed = set->medium.max_speed + bodies;
    if (!set->def.frozen && speed > 0.0) {
      dt = fmin(dt, 0.2 * set->smallest / speed);
    }
  }
  return dt;
}

static int grains_n_populations(const void *self) {
  return (int)((const kp_grains *)self)->sets.count;
}

static kp_result grains_stats(void *self, kp_env *env, int population, kp_population_stats *out) {
  kp_grains *grains = self;
  double springs;
  double rotation;
  KP_TRY(kp_medium_stats(&grains->sets.data[population].medium, env, out));
  KP_TRY(kp_grains_energy(grains, env, population, &springs, &rotation));
  out->kinetic_energy += rotation;
  out->internal_energy = springs;
  return KP_OK;
}

static kp_result grains_loaded(void *self) {
  kp_grains *grains = self;
  for (size_t s = 0; s < grains->sets.count; ++s) {
    KP_TRY(kp_medium_loaded(&grains->sets.data[s].medium));
  }
  for (size_t l = 0; l < grains->links.count; ++l) {
    KP_TRY(kp_pair_rows_loaded(grains->links.data[l].rows));
  }
  for (size_t t = 0; t < grains->touches.count; ++t) {
    kp_grains_touch *touch = &grains->touches.data[t];
    KP_TRY(kp_pair_rows_loaded(touch->rows));
    if (touch->push != NULL && kp_pair_rows_is_current(touch->rows)) {
      KP_TRY(sort_by_sample(grains, touch));
    }
  }
  return KP_OK;
}

const kp_method kp_grains_method = {
  .name = "grains",
  .text = "Grains that touch, rub, roll and stick (discrete element method).",
  .stages = { [KP_STAGE_POPULATION] = grains_population,
              [KP_STAGE_SPACE] = grains_space,
              [KP_STAGE_FORCES] = grains_forces,
              [KP_STAGE_PREDICT] = grains_predict,
              [KP_STAGE_CHECK] = grains_check },
  .max_dt = grains_max_dt,
  .n_populations = grains_n_populations,
  .stats = grains_stats,
  .loaded = grains_loaded,
  .destroy = grains_destroy,
};
