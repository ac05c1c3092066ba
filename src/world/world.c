#include "world/world.h"

#include <math.h>
#include <string.h>

#include "base/text.h"
#include "geom/morph.h"
#include "methods/common/force_field.h"
#include "world/build.h"
#include "world/cookie.h"
#include "world/step.h"

// ---- what callers may get wrong

#define NO_WORLD "the world is NULL: it was never made, or is destroyed"
#define FAILED_BUILD "the world could not be built and can only be destroyed"

kp_result kp_world_need_built(const kp_world *world) {
  if (world == NULL || world->failed) {
    return kp_fail(KP_ERROR_ARGUMENT, world == NULL ? NO_WORLD : FAILED_BUILD);
  }
  return world->built
             ? KP_OK
             : kp_fail(KP_ERROR_ARGUMENT, "the world is not built: kp_world_build comes first");
}

static kp_result need(const void *pointer, const char *what) {
  return pointer != NULL ? KP_OK : kp_fail(KP_ERROR_ARGUMENT, "%s is NULL", what);
}

static kp_result need_open(const kp_world *world) {
  if (world == NULL || world->failed) {
    return kp_fail(KP_ERROR_ARGUMENT, world == NULL ? NO_WORLD : FAILED_BUILD);
  }
  return world->built ? kp_fail(KP_ERROR_ARGUMENT, "the world is built: its defs are fixed")
                      : KP_OK;
}

static kp_result check_cookie(uint32_t cookie, const char *word) {
  return cookie == KP_DEF_COOKIE
             ? KP_OK
             : kp_fail(KP_ERROR_ARGUMENT, "%s: the def was not made by kp_default_%s_def", word,
                       word);
}

// ---- life
// -------------------------------------------------------------------------------------------------

kp_result kp_world_create(const char *backend, kp_world **out) {
  kp_backend_kind kind;
  KP_TRY(need(out, "the place of the world"));
  *out = NULL;
  KP_TRY(need(backend, "the backend's name"));
  KP_TRY(kp_backend_parse(backend, &kind));
  kp_world *world = kp_alloc_zero(sizeof *world, KP_MEMORY_WORLD);
  if (world == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_spec_init(&world->spec);
  world->dt_scale = 1.0;
  kp_result result = kp_backend_create(kind, &world->backend);
  if (result == KP_OK) {
    result = kp_registry_create(world->backend, &world->registry);
  }
  if (result != KP_OK) {
    kp_world_destroy(&world);
    return result;
  }
  *out = world;
  return KP_OK;
}

void kp_world_destroy(kp_world **world_pointer) {
  kp_world *world = world_pointer != NULL ? *world_pointer : NULL;
  if (world == NULL) {
    return;
  }
  kp_snapshot_free(&world->snapshot);
  kp_world_probes_free(world);
  for (size_t s = 0; s < world->systems.count; ++s) {
    kp_system *system = &world->systems.data[s];
    if (system->method->destroy != NULL) {
      system->method->destroy(&system->self);
    }
  }
  for (size_t s = 0; s < world->shapes.count; ++s) {
    kp_shape_destroy(&world->shapes.data[s].shape);
    kp_morph_destroy(&world->shapes.data[s].morph);
  }
  kp_array_free(&world->systems);
  kp_array_free(&world->shapes);
  kp_array_free(&world->solids);
  kp_array_free(&world->env.grids);
  kp_env_free_parts(&world->env);
  kp_loads_destroy(&world->env.loads);
  kp_interface_destroy(&world->walls);
  kp_interface_destroy(&world->movers);
  kp_bodies_destroy(&world->bodies);
  kp_force_fields_destroy(&world->fields);
  kp_registry_destroy(&world->registry);
  kp_backend_destroy(&world->backend);
  kp_spec_free(&world->spec);
  kp_free(world);
  *world_pointer = NULL;
}

// ---- the spec
// -------------------------------------------------------------------------------------------------

#define SET_DEF(member, type, table)                                                               \
  kp_result kp_world_set_##member(kp_world *world, const type *def) {                              \
    KP_TRY(need_open(world));                                                                      \
    KP_TRY(need(def, "the def"));                                                                  \
    KP_TRY(check_cookie(def->cookie, #member));                                                    \
    KP_TRY(kp_params_check(&table, def, #member));                                                 \
    world->spec.member = *def;                                                                     \
    return KP_OK;                                                                                  \
  }

SET_DEF(domain, kp_domain_def, kp_domain_params)
SET_DEF(simulation, kp_simulation_def, kp_simulation_params)
#define SET_BLOCK(word) SET_DEF(word, kp_##word##_def, kp_##word##_params)
KP_SPEC_BLOCKS(SET_BLOCK)

#define ADD_DEF(kind, plural)                                                                      \
  kp_result kp_world_add_##kind(kp_world *world, const kp_##kind##_def *def) {                     \
    KP_TRY(need_open(world));                                                                      \
    KP_TRY(need(def, "the def"));                                                                  \
    return kp_spec_add_##kind(&world->spec, def);                                                  \
  }

KP_SPEC_ENTITIES(ADD_DEF)

kp_result kp_world_set_folder(kp_world *world, const char *folder) {
  KP_TRY(need_open(world));
  KP_TRY(need(folder, "the folder"));
  if (strlen(folder) >= sizeof world->spec.folder) {
    return kp_fail(KP_ERROR_ARGUMENT, "the folder's name is too long");
  }
  kp_text_copy(world->spec.folder, sizeof world->spec.folder, folder);
  return KP_OK;
}

kp_result kp_world_set_spec(kp_world *world, const kp_spec *spec) {
  KP_TRY(need_open(world));
  kp_spec_free(&world->spec);
  return kp_spec_copy(&world->spec, spec);
}

kp_result kp_world_build(kp_world *world) {
  KP_TRY(need_open(world));
  KP_TRY(kp_spec_check(&world->spec));
  kp_result result = kp_world_build_all(world);
  if (result == KP_OK) {
    result = kp_world_store_clock(world);
  }
  world->built = result == KP_OK;
  world->failed = result != KP_OK;
  return result;
}

// ---- reading
// -------------------------------------------------------------------------------------------------

double kp_world_time(const kp_world *world) {
  return world != NULL ? world->env.time : 0.0;
}

int64_t kp_world_steps(const kp_world *world) {
  return world != NULL ? world->n_steps : 0;
}

int64_t kp_world_count(const kp_world *world, const char *set) {
  const kp_space *space =
      world != NULL && set != NULL ? kp_registry_find(world->registry, set) : NULL;
  return space != NULL ? space->n : -1;
}

static double item_as_double(const void *data, kp_type type, int64_t i) {
  switch (type) {
  case KP_TYPE_REAL:
    return (double)((const kp_real *)data)[i];
  case KP_TYPE_F32:
    return (double)((const float *)data)[i];
  case KP_TYPE_POS:
  case KP_TYPE_F64:
    return ((const double *)data)[i];
  case KP_TYPE_U8:
    return ((const uint8_t *)data)[i];
  case KP_TYPE_I32:
    return ((const int32_t *)data)[i];
  case KP_TYPE_U32:
    return ((const uint32_t *)data)[i];
  default:
    return (double)((const uint64_t *)data)[i];
  }
}

kp_result kp_world_show(kp_world *world) {
  for (size_t s = 0; s < world->systems.count; ++s) {
    const kp_system *system = &world->systems.data[s];
    if (system->method->show != NULL) {
      KP_TRY(system->method->show(system->self, &world->env));
    }
  }
  return KP_OK;
}

kp_result kp_world_read(kp_world *world, const char *set, const char *field, int component,
                        double *out, int64_t n) {
  KP_TRY(kp_world_need_built(world));
  KP_TRY(need(set, "the set's name"));
  KP_TRY(need(field, "the field's name"));
  KP_TRY(n > 0 ? need(out, "the array to copy to") : KP_OK);
  kp_space *space = kp_registry_find(world->registry, set);
  if (space == NULL) {
    return kp_fail(KP_ERROR_ARGUMENT, "there is no set \"%s\"", set);
  }
  kp_field *f = kp_space_find(space, field);
  if (f == NULL || component < 0 || component >= f->components) {
    return kp_fail(KP_ERROR_ARGUMENT, "set \"%s\" has no field \"%s\" component %d", set, field,
                   component);
  }
  KP_TRY(kp_world_show(world));
  const void *data = kp_buffer_host(&f->buffers[component], KP_ACCESS_READ);
  if (data == NULL && space->n > 0) {
    return KP_ERROR_MEMORY;
  }
  for (int64_t i = 0; i < space->n && i < n; ++i) {
    out[i] = item_as_double(data, f->type, i);
  }
  return KP_OK;
}

kp_result kp_world_hash(kp_world *world, uint64_t *out) {
  KP_TRY(kp_world_need_built(world));
  KP_TRY(need(out, "the place of the hash"));
  return kp_registry_hash(world->registry, out);
}

void kp_world_set_force(kp_world *world, kp_force_fn fn, void *user) {
  if (world != NULL) {
    world->env.force = fn;
    world->env.force_user = user;
  }
}

// ---- the clock
// -------------------------------------------------------------------------------------------------

static double *clock_item(kp_world *world, int component, kp_access access) {
  return kp_buffer_host(&kp_space_find(world->clock, "numbers")->buffers[component], access);
}

kp_result kp_world_store_clock(kp_world *world) {
  const double values[3] = { world->env.time, (double)world->n_steps, world->dt_scale };
  for (int c = 0; c < 3; ++c) {
    *clock_item(world, c, KP_ACCESS_WRITE) = values[c];
  }
  return KP_OK;
}

kp_result kp_world_load_clock(kp_world *world) {
  world->env.time = *clock_item(world, 0, KP_ACCESS_READ);
  world->n_steps = (int64_t)*clock_item(world, 1, KP_ACCESS_READ);
  world->dt_scale = *clock_item(world, 2, KP_ACCESS_READ);
  return KP_OK;
}

kp_result kp_world_after_load(kp_world *world) {
  KP_TRY(kp_world_load_clock(world));
  for (size_t s = 0; s < world->systems.count; ++s) {
    kp_system *system = &world->systems.data[s];
    if (system->method->loaded != NULL) {
      KP_TRY(system->method->loaded(system->self));
    }
  }
  return KP_OK;
}

// ---- reports
// -------------------------------------------------------------------------------------------------

static kp_result schedule_group(const kp_world *world, int group, kp_text *out) {
  for (int stage = 0; stage < KP_STAGE_COUNT; ++stage) {
    KP_TRY(kp_text_add(out, "%2d  %-11s", stage + 2, kp_stage_names[stage]));
    for (size_t s = 0; s < world->systems.count; ++s) {
      const kp_system *system = &world->systems.data[s];
      if (system->group == group && system->method->stages[stage] != NULL) {
        KP_TRY(kp_text_add(out, " %s", system->name));
      }
    }
    KP_TRY(kp_text_add(out, "\n"));
  }
  return KP_OK;
}

void *kp_world_system(const kp_world *world, const kp_method *method) {
  for (size_t s = 0; s < world->systems.count; ++s) {
    if (world->systems.data[s].method == method) {
      return world->systems.data[s].self;
    }
  }
  return NULL;
}

kp_result kp_world_schedule(const kp_world *world, kp_text *out) {
  for (int group = 0; group < world->n_groups; ++group) {
    if (world->n_groups > 1) {
      KP_TRY(kp_text_add(out, "group %d\n", group));
    }
    KP_TRY(kp_text_add(out, " 1  %-11s smallest limit of the group\n", "dt"));
    KP_TRY(schedule_group(world, group, out));
  }
  return KP_OK;
}

int kp_world_n_populations(const kp_world *world) {
  int n = 0;
  for (size_t s = 0; s < world->systems.count; ++s) {
    const kp_system *system = &world->systems.data[s];
    n += system->method->n_populations != NULL ? system->method->n_populations(system->self) : 0;
  }
  return n;
}

kp_result kp_world_stats(kp_world *world, int population, kp_population_stats *out) {
  for (size_t s = 0; s < world->systems.count; ++s) {
    kp_system *system = &world->systems.data[s];
    int n = system->method->n_populations != NULL ? system->method->n_populations(system->self) : 0;
    if (population < n) {
      return system->method->stats(system->self, &world->env, population, out);
    }
    population -= n;
  }
  return kp_fail(KP_ERROR_ARGUMENT, "there is no such population");
}
