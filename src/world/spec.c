#include "world/spec.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "geom/shape.h"
#include "world/cookie.h"

#define NAME_LIMIT 64  // names become file names and columns of tables

void kp_spec_init(kp_spec *spec) {
#define SET_BLOCK(word) .word = kp_default_##word##_def(),
  *spec = (kp_spec){
    .domain = kp_default_domain_def(),
    .simulation = kp_default_simulation_def(),
    KP_SPEC_BLOCKS(SET_BLOCK).folder = ".",
  };
#undef SET_BLOCK
}

void kp_spec_free(kp_spec *spec) {
  for (size_t i = 0; i < spec->owned.count; ++i) {
    kp_free(spec->owned.data[i]);
  }
  kp_array_free(&spec->owned);
  kp_names_free(&spec->names);
#define FREE(word, plural) kp_array_free(&spec->plural);
  KP_SPEC_ENTITIES(FREE)
#undef FREE
}

kp_result kp_spec_populations(const kp_spec *spec, kp_population_defs *out) {
#define COLLECT(word_, plural)                                                                     \
  for (size_t i = 0; i < spec->plural.count; ++i) {                                                \
    const kp_##word_##_def *def = &spec->plural.data[i];                                           \
    kp_population_def view = { .word = #word_,                                                     \
                               .name = def->name,                                                  \
                               .shape = &def->shape,                                               \
                               .empty = def->empty,                                                \
                               .spacing = def->spacing,                                            \
                               .velocity = def->velocity,                                          \
                               .velocity_at = &def->velocity_at };                                 \
    KP_TRY(kp_array_push(out, view));                                                              \
  }
#define COLLECT_CLOUD(word_, plural)                                                               \
  for (size_t i = 0; i < spec->plural.count; ++i) {                                                \
    kp_population_def view = { .word = #word_,                                                     \
                               .name = spec->plural.data[i].name,                                  \
                               .particles = spec->plural.data[i].particles };                      \
    KP_TRY(kp_array_push(out, view));                                                              \
  }
  KP_SPEC_POPULATIONS(COLLECT)
  KP_SPEC_CLOUDS(COLLECT_CLOUD)
#undef COLLECT
#undef COLLECT_CLOUD
  return KP_OK;
}

// ---- range check

// A member of another kind of value has its own check; this one is for every number.
static kp_result check_number(const kp_param *row, double value, bool may_be_auto) {
  if (isnan(value) && may_be_auto) {
    return KP_OK;
  }
  if (!isfinite(value)) {
    return kp_fail(KP_ERROR_SCENE, "%s is %s, which is no number", row->key,
                   isnan(value) ? "NaN" : "infinite");
  }
  if (value < row->lowest || value > row->highest) {
    const char *space = row->unit[0] != '\0' ? " " : "";
    return kp_fail(KP_ERROR_SCENE, "%s = %.10g is out of range: %.10g to %.10g%s%s", row->key,
                   value, row->lowest, row->highest, space, row->unit);
  }
  return KP_OK;
}

static kp_result check_numbers(const kp_param *row, const double *values, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    KP_TRY(check_number(row, values[i], false));
  }
  return KP_OK;
}

static kp_result check_curve(const kp_param *row, const kp_curve *curve, int32_t components) {
  if (curve->components != components || curve->n < 0 || (curve->n > 0 && curve->samples == NULL)) {
    return kp_fail(KP_ERROR_SCENE, "%s is no curve of %" PRId32 " values", row->key, components);
  }
  if (curve->n == 0) {
    return check_numbers(row, curve->constant, (size_t)components);
  }
  if (!isfinite(curve->start) || !isfinite(curve->interval) || curve->interval <= 0.0) {
    return kp_fail(KP_ERROR_SCENE, "%s needs samples at a positive interval", row->key);
  }
  return check_numbers(row, curve->samples, (size_t)curve->n * (size_t)components);
}

#define MOST_SAMPLES ((int64_t)1 << 28)  // of a lattice along all axes

static kp_result check_lattice(const kp_param *row, const kp_vec_lattice *lattice) {
  if (lattice->n[0] == 0) {
    return KP_OK;
  }
  int64_t n = 1;
  for (int axis = 0; axis < 3; ++axis) {
    if (lattice->n[axis] < 1 || lattice->n[axis] > MOST_SAMPLES / n) {
      return kp_fail(KP_ERROR_SCENE, "%s_at has no samples, or too many, along an axis", row->key);
    }
    n *= lattice->n[axis];
  }
  if (lattice->samples == NULL || !isfinite(kp_vec3_length(lattice->start)) ||
      !isfinite(lattice->interval) || lattice->interval <= 0.0) {
    return kp_fail(KP_ERROR_SCENE, "%s_at needs samples at a positive interval", row->key);
  }
  return check_numbers(row, lattice->samples, 3 * (size_t)n);
}

static kp_result check_word(const kp_param *row, int value) {
  int n_words = 0;
  while (row->names[n_words] != NULL) {
    ++n_words;
  }
  if (value < 0 || value >= n_words) {
    return kp_fail(KP_ERROR_SCENE, "%s = %d is none of the %d choices", row->key, value, n_words);
  }
  return KP_OK;
}

static kp_result check_shape(const kp_param *row, const kp_shape_def *shape) {
  size_t n_kinds;
  const kp_param_table *const *tables = kp_shape_tables(&n_kinds);
  if ((unsigned)shape->kind >= n_kinds) {
    return kp_fail(KP_ERROR_SCENE, "%s has the unknown kind %d", row->key, (int)shape->kind);
  }
  kp_result result = kp_params_check(tables[shape->kind], shape, NULL);
  return result == KP_OK ? KP_OK : kp_fail_in(result, "%s", row->key);
}

// `standard` is the same member of the default def: where it is NaN, NaN means "choose for me".
static kp_result check_member(const kp_param *row, const void *member, const void *standard) {
  switch (row->type) {
  case KP_PARAM_REAL:
    return check_number(row, *(const double *)member, isnan(*(const double *)standard));
  case KP_PARAM_INT:
    return check_number(row, (double)*(const int64_t *)member, false);
  case KP_PARAM_VEC3:
    return check_numbers(row, member, 3);
  case KP_PARAM_PLACE3:
    KP_TRY(check_numbers(row, member, 3));
    return check_lattice(row, KP_PARAM_LATTICE(member));
  case KP_PARAM_ENUM:
    return check_word(row, *(const int *)member);
  case KP_PARAM_TEXT:
    return memchr(member, '\0', row->size) != NULL
               ? KP_OK
               : kp_fail(KP_ERROR_SCENE, "%s is too long", row->key);
  case KP_PARAM_CURVE:
    return check_curve(row, member, 1);
  case KP_PARAM_CURVE3:
    return check_curve(row, member, 3);
  case KP_PARAM_SHAPE:
    return check_shape(row, member);
  case KP_PARAM_BOOL:
  case KP_PARAM_TYPE_COUNT:
    break;
  }
  return KP_OK;
}

// "liquid \"water\": " or "domain: " before the sentence.
static kp_result blame(kp_result code, const char *word, const char *name) {
  if (name != NULL && name[0] != '\0') {
    return kp_fail_in(code, "%s \"%s\"", word, name);
  }
  return kp_fail_in(code, "%s", word);
}

kp_result kp_params_check(const kp_param_table *table, const void *def, const char *name) {
  char *standard = kp_alloc_zero(table->def_size, KP_MEMORY_WORLD);
  if (standard == NULL) {
    return KP_ERROR_MEMORY;
  }
  table->set_default(standard);
  kp_result result = KP_OK;
  for (size_t i = 0; i < table->n_rows && result == KP_OK; ++i) {
    const kp_param *row = &table->rows[i];
    result = check_member(row, (const char *)def + row->offset, standard + row->offset);
  }
  kp_free(standard);
  return result == KP_OK ? KP_OK : blame(result, table->name, name);
}

// ---- adding entities

static bool is_name(const char *name) {
  const char *letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
  size_t length = strnlen(name, KP_TEXT_SIZE);
  return length > 0 && length <= NAME_LIMIT && strspn(name, letters) == length;
}

// What spec->names holds of an entity: its kind.
typedef enum entity_kind {
#define KIND(word, plural) KIND_##word,
  KP_SPEC_ENTITIES(KIND)
#undef KIND
} entity_kind;

static const char *const entity_words[] = {
#define WORD(word, plural) #word,
  KP_SPEC_ENTITIES(WORD)
#undef WORD
};

static kp_result check_entity(const kp_spec *spec, const kp_param_table *table, const void *def,
                              uint32_t cookie, const char *name) {
  if (cookie != KP_DEF_COOKIE) {
    return kp_fail(KP_ERROR_ARGUMENT, "%s: the def was not made by kp_default_%s_def", table->name,
                   table->name);
  }
  if (!is_name(name)) {
    return kp_fail(KP_ERROR_SCENE,
                   "%s: a name has 1 to %d letters, digits, '_' or '-', unlike \"%.*s\"",
                   table->name, NAME_LIMIT, NAME_LIMIT, name);
  }
  const kp_name *taken = kp_names_find(&spec->names, name);
  if (taken != NULL) {
    return kp_fail(KP_ERROR_SCENE, "%s \"%s\": the name is taken by a %s", table->name, name,
                   entity_words[taken->value]);
  }
  return kp_params_check(table, def, name);
}

// The default shape of every def is a box without volume: nobody has said a shape.
static bool has_shape(const kp_shape_def *shape) {
  return shape->kind != KP_SHAPE_BOX || shape->min.x != shape->max.x ||
         shape->min.y != shape->max.y || shape->min.z != shape->max.z;
}

static kp_result need_shape(const kp_shape_def *shape, const char *word, const char *name) {
  return has_shape(shape) ? KP_OK
                          : kp_fail(KP_ERROR_SCENE, "%s \"%s\": the shape is missing", word, name);
}

// Let samples be a copy that lives as long as the spec.
static kp_result own_samples(kp_spec *spec, const double **samples, size_t n) {
  if (n == 0) {
    *samples = NULL;
    return KP_OK;
  }
  double *copy = kp_alloc(n * sizeof *copy, KP_MEMORY_WORLD);
  if (copy == NULL || kp_array_push(&spec->owned, copy) != KP_OK) {
    kp_free(copy);
    return KP_ERROR_MEMORY;
  }
  memcpy(copy, *samples, n * sizeof *copy);
  *samples = copy;
  return KP_OK;
}

static kp_result own_curve(kp_spec *spec, kp_curve *curve) {
  return own_samples(spec, &curve->samples, (size_t)curve->n * (size_t)curve->components);
}

static kp_result own_lattice(kp_spec *spec, kp_vec_lattice *lattice) {
  const int32_t *n = lattice->n;
  return own_samples(spec, &lattice->samples, 3 * (size_t)n[0] * (size_t)n[1] * (size_t)n[2]);
}

// Append, then sink to its place by name: no way at all when they come in order.
#define INSERT(word, plural, def)                                                                  \
  do {                                                                                             \
    KP_TRY(kp_names_add(&spec->names, (def)->name, KIND_##word));                                  \
    KP_TRY(kp_array_push(&spec->plural, *(def)));                                                  \
    for (size_t k = spec->plural.count - 1;                                                        \
         k > 0 && strcmp(spec->plural.data[k - 1].name, (def)->name) > 0; --k) {                   \
      spec->plural.data[k] = spec->plural.data[k - 1];                                             \
      spec->plural.data[k - 1] = *(def);                                                           \
    }                                                                                              \
  } while (0)

kp_result kp_spec_add_liquid(kp_spec *spec, const kp_liquid_def *def) {
  KP_TRY(check_entity(spec, &kp_liquid_params, def, def->cookie, def->name));
  if (!def->empty) {
    KP_TRY(need_shape(&def->shape, "liquid", def->name));
  }
  kp_liquid_def copy = *def;
  KP_TRY(own_lattice(spec, &copy.velocity_at));
  INSERT(liquid, liquids, &copy);
  return KP_OK;
}

kp_result kp_spec_add_plasma(kp_spec *spec, const kp_plasma_def *def) {
  KP_TRY(check_entity(spec, &kp_plasma_params, def, def->cookie, def->name));
  KP_TRY(need_shape(&def->shape, "plasma", def->name));
  kp_plasma_def copy = *def;
  KP_TRY(own_lattice(spec, &copy.velocity_at));
  INSERT(plasma, plasmas, &copy);
  return KP_OK;
}

kp_result kp_spec_add_fire(kp_spec *spec, const kp_fire_def *def) {
  KP_TRY(check_entity(spec, &kp_fire_params, def, def->cookie, def->name));
  kp_fire_def copy = *def;
  KP_TRY(own_curve(spec, &copy.position));
  KP_TRY(own_curve(spec, &copy.wind));
  INSERT(fire, fires, &copy);
  return KP_OK;
}

kp_result kp_spec_add_smoke(kp_spec *spec, const kp_smoke_def *def) {
  KP_TRY(check_entity(spec, &kp_smoke_params, def, def->cookie, def->name));
  if (!def->empty) {
    KP_TRY(need_shape(&def->shape, "smoke", def->name));
  }
  kp_smoke_def copy = *def;
  KP_TRY(own_lattice(spec, &copy.velocity_at));
  INSERT(smoke, smokes, &copy);
  return KP_OK;
}

kp_result kp_spec_add_source(kp_spec *spec, const kp_source_def *def) {
  KP_TRY(check_entity(spec, &kp_source_params, def, def->cookie, def->name));
  KP_TRY(need_shape(&def->shape, "source", def->name));
  kp_source_def copy = *def;
  KP_TRY(own_curve(spec, &copy.position));
  KP_TRY(own_curve(spec, &copy.rotation_deg));
  KP_TRY(own_curve(spec, &copy.divergence));
  INSERT(source, sources, &copy);
  return KP_OK;
}

kp_result kp_spec_add_vortices(kp_spec *spec, const kp_vortices_def *def) {
  KP_TRY(check_entity(spec, &kp_vortices_params, def, def->cookie, def->name));
  KP_TRY(need_shape(&def->shape, "vortices", def->name));
  INSERT(vortices, swarms, def);
  return KP_OK;
}

kp_result kp_spec_add_grains(kp_spec *spec, const kp_grains_def *def) {
  KP_TRY(check_entity(spec, &kp_grains_params, def, def->cookie, def->name));
  if (!def->empty) {
    KP_TRY(need_shape(&def->shape, "grains", def->name));
  }
  if (def->radius > 0.5 * def->spacing * (1.0 + 1e-9)) {
    return kp_fail(KP_ERROR_SCENE,
                   "grains \"%s\": radius = %g m is more than half the spacing of %g m, so they "
                   "would start inside each other",
                   def->name, def->radius, def->spacing);
  }
  kp_grains_def copy = *def;
  KP_TRY(own_lattice(spec, &copy.velocity_at));
  INSERT(grains, grains, &copy);
  return KP_OK;
}

kp_result kp_spec_add_cloth(kp_spec *spec, const kp_cloth_def *def) {
  KP_TRY(check_entity(spec, &kp_cloth_params, def, def->cookie, def->name));
  kp_cloth_def copy = *def;
  KP_TRY(own_lattice(spec, &copy.velocity_at));
  KP_TRY(own_curve(spec, &copy.strength));
  INSERT(cloth, cloths, &copy);
  return KP_OK;
}

kp_result kp_spec_add_soft(kp_spec *spec, const kp_soft_def *def) {
  KP_TRY(check_entity(spec, &kp_soft_params, def, def->cookie, def->name));
  kp_soft_def copy = *def;
  KP_TRY(own_lattice(spec, &copy.velocity_at));
  if (def->tets[0] == '\0') {
    KP_TRY(need_shape(&def->shape, "soft", def->name));
  }
  KP_TRY(own_curve(spec, &copy.strength));
  INSERT(soft, softs, &copy);
  return KP_OK;
}

kp_result kp_spec_add_hair(kp_spec *spec, const kp_hair_def *def) {
  KP_TRY(check_entity(spec, &kp_hair_params, def, def->cookie, def->name));
  kp_hair_def copy = *def;
  KP_TRY(own_lattice(spec, &copy.velocity_at));
  INSERT(hair, hairs, &copy);
  return KP_OK;
}

kp_result kp_spec_add_pin(kp_spec *spec, const kp_pin_def *def) {
  KP_TRY(check_entity(spec, &kp_pin_params, def, def->cookie, def->name));
  KP_TRY(need_shape(&def->shape, "pin", def->name));
  kp_pin_def copy = *def;
  KP_TRY(own_curve(spec, &copy.position));
  KP_TRY(own_curve(spec, &copy.rotation_deg));
  INSERT(pin, pins, &copy);
  return KP_OK;
}

kp_result kp_spec_add_wind(kp_spec *spec, const kp_wind_def *def) {
  KP_TRY(check_entity(spec, &kp_wind_params, def, def->cookie, def->name));
  if (!(kp_vec3_length(def->axis) > 0.0)) {
    return kp_fail(KP_ERROR_SCENE, "wind \"%s\": its axis has no direction", def->name);
  }
  kp_wind_def copy = *def;
  KP_TRY(own_curve(spec, &copy.velocity));
  INSERT(wind, winds, &copy);
  return KP_OK;
}

kp_result kp_spec_add_immersion(kp_spec *spec, const kp_immersion_def *def) {
  KP_TRY(check_entity(spec, &kp_immersion_params, def, def->cookie, def->name));
  kp_immersion_def copy = *def;
  KP_TRY(own_curve(spec, &copy.current));
  INSERT(immersion, immersions, &copy);
  return KP_OK;
}

kp_result kp_spec_add_limit(kp_spec *spec, const kp_limit_def *def) {
  KP_TRY(check_entity(spec, &kp_limit_params, def, def->cookie, def->name));
  kp_limit_def copy = *def;
  KP_TRY(own_curve(spec, &copy.when));
  INSERT(limit, limits, &copy);
  return KP_OK;
}

kp_result kp_spec_add_collider(kp_spec *spec, const kp_collider_def *def) {
  KP_TRY(check_entity(spec, &kp_collider_params, def, def->cookie, def->name));
  KP_TRY(need_shape(&def->shape, "collider", def->name));
  kp_collider_def copy = *def;
  KP_TRY(own_curve(spec, &copy.position));
  KP_TRY(own_curve(spec, &copy.rotation_deg));
  KP_TRY(own_curve(spec, &copy.surface_velocity));
  KP_TRY(own_curve(spec, &copy.friction_scale));
  INSERT(collider, colliders, &copy);
  return KP_OK;
}

kp_result kp_spec_add_morph(kp_spec *spec, const kp_morph_def *def) {
  KP_TRY(check_entity(spec, &kp_morph_params, def, def->cookie, def->name));
  KP_TRY(need_shape(&def->shape, "morph", def->name));
  kp_morph_def copy = *def;
  KP_TRY(own_curve(spec, &copy.weight));
  INSERT(morph, morphs, &copy);
  return KP_OK;
}

kp_result kp_spec_add_body(kp_spec *spec, const kp_body_def *def) {
  KP_TRY(check_entity(spec, &kp_body_params, def, def->cookie, def->name));
  KP_TRY(need_shape(&def->shape, "body", def->name));
  INSERT(body, bodies, def);
  return KP_OK;
}

kp_result kp_spec_add_emitter(kp_spec *spec, const kp_emitter_def *def) {
  KP_TRY(check_entity(spec, &kp_emitter_params, def, def->cookie, def->name));
  if (def->from != KP_EMITTER_OPENING) {
    KP_TRY(need_shape(&def->shape, "emitter", def->name));
  } else if (has_shape(&def->shape)) {
    return kp_fail(KP_ERROR_SCENE,
                   "emitter \"%s\": an opening has no shape; from = \"inside\" fills it, from = "
                   "\"surface\" lets particles out of its surface",
                   def->name);
  }
  kp_emitter_def copy = *def;
  KP_TRY(own_curve(spec, &copy.position));
  KP_TRY(own_curve(spec, &copy.rotation_deg));
  KP_TRY(own_curve(spec, &copy.speed));
  INSERT(emitter, emitters, &copy);
  return KP_OK;
}

kp_result kp_spec_add_sink(kp_spec *spec, const kp_sink_def *def) {
  KP_TRY(check_entity(spec, &kp_sink_params, def, def->cookie, def->name));
  KP_TRY(need_shape(&def->shape, "sink", def->name));
  kp_sink_def copy = *def;
  KP_TRY(own_curve(spec, &copy.position));
  KP_TRY(own_curve(spec, &copy.rotation_deg));
  INSERT(sink, sinks, &copy);
  return KP_OK;
}

kp_result kp_spec_add_force(kp_spec *spec, const kp_force_def *def) {
  KP_TRY(check_entity(spec, &kp_force_params, def, def->cookie, def->name));
  kp_force_def copy = *def;
  KP_TRY(own_curve(spec, &copy.acceleration));
  INSERT(force, forces, &copy);
  return KP_OK;
}

kp_result kp_spec_add_probe(kp_spec *spec, const kp_probe_def *def) {
  KP_TRY(check_entity(spec, &kp_probe_params, def, def->cookie, def->name));
  INSERT(probe, probes, def);
  return KP_OK;
}
