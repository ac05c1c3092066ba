// Sets, fields, links and samples of a world of grains.
#include <math.h>
#include <stdio.h>

#include "data/call.h"
#include "data/size_classes.h"
#include "methods/grains/grains.h"
#include "par/kernel_define.h"

GRAINS_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

#define PI 3.14159265358979323846
#define STATE (KP_FIELD_STATE | KP_FIELD_GHOST)

// ---- sets ---------------------------------------------------------------------------------------

static double radius_of(const kp_grains_def *def) {
  return isnan(def->radius) ? 0.5 * def->spacing : def->radius;
}

static kp_result add_fields(kp_grains *grains, kp_grains_set *set) {
  static const kp_field_desc descs[] = {
    { .name = "radius",
      .type = KP_TYPE_REAL,
      .components = 1,
      .unit = "m",
      .flags = STATE | KP_FIELD_EXPORT },
    { .name = "mass", .type = KP_TYPE_REAL, .components = 1, .unit = "kg", .flags = STATE },
    { .name = "angular_velocity",
      .type = KP_TYPE_REAL,
      .components = 3,
      .unit = "rad/s",
      .flags = STATE | KP_FIELD_EXPORT },
    { .name = "angular_acceleration", .type = KP_TYPE_REAL, .components = 3, .unit = "rad/s^2" },
    { .name = "face_slide",
      .type = KP_TYPE_REAL,
      .components = 9,
      .unit = "m",
      .flags = KP_FIELD_STATE },
    { .name = "face_roll",
      .type = KP_TYPE_REAL,
      .components = 9,
      .unit = "m",
      .flags = KP_FIELD_STATE },
  };
  kp_space *space = set->medium.set->space;
  KP_TRY(kp_space_add_fields(space, descs, grains->has_rolling ? 6 : 5));
  set->radius = kp_space_find(space, "radius");
  set->spin = kp_space_find(space, "angular_velocity");
  set->turn = kp_space_find(space, "angular_acceleration");
  set->face_slide = kp_space_find(space, "face_slide");
  set->face_roll = kp_space_find(space, "face_roll");
  set->medium.mass_field = kp_space_find(space, "mass");
  return KP_OK;
}

// Class k of a population holds the radii down to largest / 2^(k+1); the first one, which is named
// like the population, the largest.
static kp_result add_set(kp_grains *grains, kp_env *env, const kp_grains_def *def, int k,
                         int n_classes) {
  double largest = radius_of(def);
  double smallest = def->size_ratio * largest;
  kp_grains_set empty = { .def = *def, .is_carrier = k == 0 };
  KP_TRY(kp_array_push(&grains->sets, empty));
  kp_grains_set *set = &grains->sets.data[grains->sets.count - 1];
  set->largest = ldexp(largest, -k);
  set->smallest = k + 1 == n_classes ? smallest : fmax(smallest, 0.5 * set->largest);
  set->unit_mass = def->density * (env->dimension == 3 ? 4.0 / 3.0 * PI : PI);
  char name[KP_NAME_SIZE];
  if (k == 0) {
    snprintf(name, sizeof name, "%.40s", def->name);
  } else {
    snprintf(name, sizeof name, "%.36s.%d", def->name, k);
  }
  kp_medium_def medium = { .word = "grains",
                           .name = name,
                           .spacing = def->spacing,
                           .jitter = isnan(def->jitter) ? 0.0 : def->jitter,
                           .velocity = def->velocity,
                           .velocity_at = def->velocity_at,
                           .integrator = KP_INTEGRATOR_COUNT,
                           .is_granular = true };
  kp_buffer_init(&set->records, env->backend);
  KP_TRY(kp_medium_create(&set->medium, env, &medium));
  return add_fields(grains, set);
}

static kp_result add_population(kp_grains *grains, kp_env *env, const kp_grains_def *def,
                                int number) {
  double largest = radius_of(def);
  int n_classes = kp_size_classes_count(def->size_ratio * largest, largest);
  size_t first = grains->sets.count;
  for (int k = 0; k < n_classes; ++k) {
    KP_TRY(add_set(grains, env, def, k, n_classes));
    grains->sets.data[grains->sets.count - 1].population = number;
  }
  kp_grains_set *carrier = &grains->sets.data[first];
  if (!def->empty) {
    KP_TRY(kp_medium_fill(&carrier->medium, env, &def->shape));
  }
  return kp_grains_born(grains, env, carrier, 0, false);
}

// ---- birth --------------------------------------------------------------------------------------

static grains_sizes sizes_of(const kp_grains_set *set, const kp_env *env) {
  double largest = radius_of(&set->def);
  return (grains_sizes){ .seed = (uint64_t)env->simulation.seed,
                         .smallest = set->def.size_ratio * largest,
                         .largest = largest,
                         .by_mass = set->def.sizes == KP_GRAIN_SIZES_MASS,
                         .dimension = env->dimension };
}

static kp_result run_born(kp_env *env, kp_grains_set *set, const grains_sizes *sizes, int64_t first,
                          double scatter) {
  kp_vec3 spin = set->def.spin;
  grains_born_args a = { .sizes = *sizes,
                         .first = first,
                         .unit_mass = set->unit_mass,
                         .scatter = scatter,
                         .spin = { (kp_real)spin.x, (kp_real)spin.y, (kp_real)spin.z } };
  kp_set *s = set->medium.set;
  kp_call call;
  kp_call_init(&call, &grains_born_kernel, &a);
  KP_BIND(&call, &a, id, &s->id->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, radius, &set->radius->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, mass, &set->medium.mass_field->buffers[0], KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, w, set->spin, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, , s->position, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, s->space->n - first);
}

// Newcomers of the carrier on the host.
typedef struct newcomers {
  const kp_pos *x[3];
  const kp_real *v[3];
  const kp_real *radius;
  uint32_t *keep;
  int64_t first, n;
} newcomers;

static kp_result look_at(kp_grains_set *carrier, int64_t first, newcomers *out) {
  kp_set *s = carrier->medium.set;
  *out = (newcomers){ .first = first, .n = s->space->n };
  KP_TRY(kp_buffer_resize(&carrier->medium.keep, (size_t)out->n * sizeof(uint32_t)));
  for (int c = 0; c < 3; ++c) {
    out->x[c] = kp_buffer_host(&s->position->buffers[c], KP_ACCESS_READ);
    out->v[c] = kp_buffer_host(&s->velocity->buffers[c], KP_ACCESS_READ);
  }
  out->radius = kp_buffer_host(&carrier->radius->buffers[0], KP_ACCESS_READ);
  out->keep = kp_buffer_host(&carrier->medium.keep, KP_ACCESS_OVERWRITE);
  bool is_there = out->x[2] != NULL && out->v[2] != NULL && out->radius != NULL;
  if (!is_there || out->keep == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (int64_t i = 0; i < out->n; ++i) {
    out->keep[i] = 1;
  }
  return KP_OK;
}

// Those of one class move over to its set, with the radius they have.
static kp_result hand_over(kp_env *env, kp_grains_set *to, const newcomers *all) {
  KP_ARRAY(kp_vec3) x = { 0 };
  KP_ARRAY(kp_vec3) v = { 0 };
  KP_ARRAY(kp_real) radii = { 0 };
  kp_result result = KP_OK;
  for (int64_t i = all->first; i < all->n && result == KP_OK; ++i) {
    double r = (double)all->radius[i];
    // classes meet at their ends: the upper end belongs to the larger one
    if (r < to->largest && (r >= to->smallest || to->smallest <= (1.0 + 1e-6) * r)) {
      all->keep[i] = 0;
      KP_TRY_GOTO(result, kp_array_push(&x, kp_vec3_make(all->x[0][i], all->x[1][i], all->x[2][i])),
                  done);
      KP_TRY_GOTO(result,
                  kp_array_push(&v, kp_vec3_make((double)all->v[0][i], (double)all->v[1][i],
                                                 (double)all->v[2][i])),
                  done);
      KP_TRY_GOTO(result, kp_array_push(&radii, all->radius[i]), done);
    }
  }
  int64_t first = to->medium.set->space->n;
  if (x.count > 0) {
    KP_TRY_GOTO(result, kp_medium_add(&to->medium, (int64_t)x.count, x.data, v.data), done);
    grains_sizes any = { .smallest = to->largest,
                         .largest = to->largest,
                         .dimension = env->dimension };
    KP_TRY_GOTO(result, run_born(env, to, &any, first, 0.0), done);
    kp_real *radius = kp_buffer_host(&to->radius->buffers[0], KP_ACCESS_WRITE);
    kp_real *mass = kp_buffer_host(&to->medium.mass_field->buffers[0], KP_ACCESS_WRITE);
    for (size_t k = 0; k < radii.count && radius != NULL && mass != NULL; ++k) {
      double r = (double)radii.data[k];
      radius[first + (int64_t)k] = radii.data[k];
      mass[first + (int64_t)k] = (kp_real)(to->unit_mass * pow(r, env->dimension));
    }
    result = radius != NULL && mass != NULL ? KP_OK : KP_ERROR_MEMORY;
  }
done:
  kp_array_free(&x);
  kp_array_free(&v);
  kp_array_free(&radii);
  return result;
}

kp_result kp_grains_born(kp_grains *grains, kp_env *env, kp_grains_set *set, int64_t first,
                         bool is_emitted) {
  if (set->medium.set->space->n == first) {
    return KP_OK;
  }
  grains_sizes sizes = sizes_of(set, env);
  KP_TRY(run_born(env, set, &sizes, first, is_emitted ? 0.5 * set->def.spacing : 0.0));
  if (!is_emitted && isnan(set->def.jitter)) {
    KP_TRY(kp_grains_shake(set, env));
  }
  if (set->smallest <= sizes.smallest) {
    return KP_OK;
  }
  newcomers all;
  KP_TRY(look_at(set, first, &all));
  for (size_t s = 0; s < grains->sets.count; ++s) {
    kp_grains_set *to = &grains->sets.data[s];
    if (to->population == set->population && !to->is_carrier) {
      KP_TRY(hand_over(env, to, &all));
    }
  }
  KP_TRY(kp_space_remove(set->medium.set->space, &set->medium.keep));
  set->medium.bounds_known = false;
  return KP_OK;
}

// ---- links --------------------------------------------------------------------------------------

static const kp_field_desc spring_fields[] = {
  { .name = "slide", .type = KP_TYPE_REAL, .components = 3, .unit = "m", .flags = KP_FIELD_SAVE },
  { .name = "roll", .type = KP_TYPE_REAL, .components = 3, .unit = "m", .flags = KP_FIELD_SAVE },
  { .name = "push", .type = KP_TYPE_REAL, .components = 3, .unit = "N" },
};

static kp_result add_link(kp_grains *grains, kp_env *env, int i, int j) {
  kp_grains_set *self = &grains->sets.data[i];
  kp_grains_set *other = &grains->sets.data[j];
  bool is_one_size = self->smallest == self->largest && other->smallest == other->largest;
  kp_grains_link link = {
    .i = i, .j = j, .is_alike = is_one_size && grains->def.contact == 0 && !grains->has_rolling
  };
  char name[KP_NAME_SIZE];
  snprintf(name, sizeof name, "contacts_%d_%d", i, j);
  kp_pair_rows_def def = { .name = name,
                           .set = self->medium.set,
                           .partners = other->medium.set,
                           .values = spring_fields,
                           .n_values = grains->has_rolling ? 2 : 1 };
  KP_TRY(kp_pair_rows_create(env->registry, &def, &link.rows));
  link.slide = kp_space_find(link.rows->space, "slide");
  link.roll = kp_space_find(link.rows->space, "roll");
  kp_result result = kp_array_push(&grains->links, link);
  if (result != KP_OK) {
    kp_pair_rows_destroy(&link.rows);
  }
  return result;
}

static kp_result add_touch(kp_grains *grains, kp_env *env, int set, int walls) {
  kp_grains_touch touch = { .set = set, .walls = walls };
  kp_buffer *buffers[] = { &touch.keys, &touch.entries, &touch.starts };
  for (int k = 0; k < 3; ++k) {
    kp_buffer_init(buffers[k], env->backend);
    buffers[k]->type = KP_TYPE_U32;
  }
  char name[KP_NAME_SIZE];
  snprintf(name, sizeof name, "%s_%d", walls == 0 ? "walls" : "movers", set);
  kp_pair_rows_def def = { .name = name,
                           .set = grains->sets.data[set].medium.set,
                           .partners = grains->walls[walls].interface->set,
                           .values = spring_fields,
                           .n_values = grains->walls[walls].interface->feels ? 3 : 2 };
  KP_TRY(kp_pair_rows_create(env->registry, &def, &touch.rows));
  touch.slide = kp_space_find(touch.rows->space, "slide");
  touch.roll = kp_space_find(touch.rows->space, "roll");
  touch.push = kp_space_find(touch.rows->space, "push");
  kp_result result = kp_array_push(&grains->touches, touch);
  if (result != KP_OK) {
    kp_pair_rows_destroy(&touch.rows);
  }
  return result;
}

static bool has_solids(const kp_grains_walls *walls) {
  return walls->largest_disc > 0.0;
}

// Partners across a periodic face are their nearest images, which must be one.
static kp_result check_periodic(const kp_grains *grains, const kp_env *env, double reach) {
  for (int axis = 0; axis < env->dimension; ++axis) {
    kp_faces faces = kp_env_faces(env, axis);
    if (faces.periodic && faces.hi - faces.lo <= 2.0 * reach) {
      return kp_fail(KP_ERROR_SCENE,
                     "grains \"%s\": a periodic domain of %g m is too narrow for grains that reach "
                     "%g m; it must be wider than twice that",
                     grains->sets.data[0].def.name, faces.hi - faces.lo, reach);
    }
  }
  return KP_OK;
}

static kp_result setup_links(kp_grains *grains, kp_env *env) {
  for (int i = 0; i < (int)grains->sets.count; ++i) {
    if (grains->sets.data[i].def.frozen) {
      continue;
    }
    for (int j = 0; j < (int)grains->sets.count; ++j) {
      KP_TRY(add_link(grains, env, i, j));
    }
    for (int w = 0; w < 2; ++w) {
      if (has_solids(&grains->walls[w])) {
        KP_TRY(add_touch(grains, env, i, w));
      }
    }
  }
  return KP_OK;
}

kp_result kp_grains_setup(kp_grains *grains, kp_env *env, const kp_grains_def *defs, size_t n) {
  double smallest = HUGE_VAL;
  double largest = 0.0;
  for (size_t k = 0; k < n; ++k) {
    grains->has_rolling = grains->has_rolling || defs[k].rolling_friction > 0.0;
    smallest = fmin(smallest, defs[k].size_ratio * radius_of(&defs[k]));
    largest = fmax(largest, radius_of(&defs[k]));
  }
  grains->skin = grains->def.skin * 2.0 * smallest;
  for (size_t k = 0; k < n; ++k) {
    KP_TRY(add_population(grains, env, &defs[k], (int)k));
  }
  double reach = 2.0 * largest + grains->skin;
  KP_TRY(check_periodic(grains, env, reach));
  for (size_t s = 0; s < grains->sets.count; ++s) {
    kp_grains_set *set = &grains->sets.data[s];
    KP_TRY(kp_medium_grid(&set->medium, env, 2.0 * set->largest + grains->skin, reach));
  }
  KP_TRY(kp_grains_make_walls(env, env->walls, reach, &grains->walls[0]));
  KP_TRY(kp_grains_make_walls(env, env->movers, reach, &grains->walls[1]));
  return setup_links(grains, env);
}
