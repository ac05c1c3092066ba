// Checks that need the whole spec: what fits, what names what, and whether the machine can hold it.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "data/probe.h"
#include "geom/shape.h"
#include "methods/method.h"
#include "world/cookie.h"
#include "world/spec_sizes.h"

typedef struct census {
  kp_aabb domain;
  int dimension;
  kp_spec_sizes sizes;
} census;

static double component(kp_vec3 v, int axis) {
  return axis == 0 ? v.x : axis == 1 ? v.y : v.z;
}

// ---- domain and simulation

static kp_result check_cookie(uint32_t cookie, const char *word) {
  return cookie == KP_DEF_COOKIE
             ? KP_OK
             : kp_fail(KP_ERROR_ARGUMENT, "%s: the def was not made by kp_default_%s_def", word,
                       word);
}

static kp_result check_domain(const kp_domain_def *domain) {
  KP_TRY(check_cookie(domain->cookie, "domain"));
  KP_TRY(kp_params_check(&kp_domain_params, domain, NULL));
  static const char axes[] = "xyz";
  for (int axis = 0; axis < (int)domain->dimension; ++axis) {
    double low = component(domain->min, axis), high = component(domain->max, axis);
    if (!(low < high)) {
      return kp_fail(KP_ERROR_SCENE,
                     "domain: it has no volume, since min.%c = %g is not below max.%c = %g",
                     axes[axis], low, axes[axis], high);
    }
  }
  return KP_OK;
}

static kp_result check_settings(const kp_spec *spec) {
  KP_TRY(check_domain(&spec->domain));
  KP_TRY(check_cookie(spec->simulation.cookie, "simulation"));
  KP_TRY(kp_params_check(&kp_simulation_params, &spec->simulation, NULL));
#define CHECK_BLOCK(word)                                                                          \
  KP_TRY(check_cookie(spec->word.cookie, #word));                                                  \
  KP_TRY(kp_params_check(&kp_##word##_params, &spec->word, NULL));
  KP_SPEC_BLOCKS(CHECK_BLOCK)
#undef CHECK_BLOCK
  double most = isnan(spec->simulation.dt_max) ? KP_LONGEST_STEP : spec->simulation.dt_max;
  if (spec->simulation.dt_min > most) {
    return kp_fail(KP_ERROR_SCENE, "simulation: dt_min = %g is above dt_max = %g",
                   spec->simulation.dt_min, most);
  }
  return KP_OK;
}

// In two dimensions z stays zero, so nothing may push along it.
static kp_result check_flat(const census *c, const char *what, const char *name, kp_vec3 v) {
  if (c->dimension == 2 && v.z != 0.0) {
    return kp_fail(KP_ERROR_SCENE, "%s%s%s: the z component must be 0 in two dimensions", what,
                   name[0] != '\0' ? " of " : "", name);
  }
  return KP_OK;
}

static kp_result check_flat_lattice(const census *c, const char *what, const char *name,
                                    const kp_vec_lattice *lattice) {
  int64_t n = (int64_t)lattice->n[0] * lattice->n[1] * lattice->n[2];
  for (int64_t i = 0; i < n && c->dimension == 2; ++i) {
    const double *v = lattice->samples + 3 * i;
    KP_TRY(check_flat(c, what, name, kp_vec3_make(v[0], v[1], v[2])));
  }
  return KP_OK;
}

// And it turns about z alone.
static kp_result check_flat_turn(const census *c, const char *what, const char *name, kp_vec3 v) {
  return c->dimension == 2 && (v.x != 0.0 || v.y != 0.0)
             ? kp_fail(KP_ERROR_SCENE,
                       "%s of %s: the x and y components must be 0 in two dimensions", what, name)
             : KP_OK;
}

// ---- shapes

static kp_result build_shape(const kp_spec *spec, const census *c, const kp_shape_def *def,
                             kp_shape **shape) {
  KP_TRY(kp_shape_build(def, spec->folder, shape));
  kp_result result = c->dimension == 2 ? kp_shape_flatten(*shape) : KP_OK;
  if (result != KP_OK) {
    kp_shape_destroy(shape);
  }
  return result;
}

// A mesh that is broken is the scene's fault; no memory, or a file that cannot be read, is not.
static kp_result blame(kp_result code, const char *word, const char *name) {
  bool is_outside = code == KP_ERROR_MEMORY || code == KP_ERROR_IO;
  return kp_fail_in(is_outside ? code : KP_ERROR_SCENE, "%s \"%s\"", word, name);
}

// The part of a box that lies in the domain; false when there is none.
static bool clip(const census *c, kp_aabb *box) {
  box->min = kp_vec3_max(box->min, c->domain.min);
  box->max = kp_vec3_min(box->max, c->domain.max);
  for (int axis = 0; axis < c->dimension; ++axis) {
    if (!(component(box->min, axis) < component(box->max, axis))) {
      return false;
    }
  }
  return true;
}

static double volume_of(const census *c, kp_aabb box) {
  double volume = 1.0;
  for (int axis = 0; axis < c->dimension; ++axis) {
    volume *= component(box.max, axis) - component(box.min, axis);
  }
  return volume;
}

// ---- populations

static kp_result check_spacing(const census *c, const kp_population_def *p) {
  for (int axis = 0; axis < c->dimension; ++axis) {
    double extent = component(c->domain.max, axis) - component(c->domain.min, axis);
    if (p->spacing > extent) {
      return kp_fail(KP_ERROR_SCENE,
                     "%s \"%s\": spacing = %g m does not fit the domain, which is %g m wide",
                     p->word, p->name, p->spacing, extent);
    }
  }
  return KP_OK;
}

static kp_result check_population(const kp_spec *spec, census *c, const kp_population_def *p) {
  if (p->particles > 0) {
    return kp_spec_sizes_add_particles(&c->sizes, spec, p, 0.0, c->domain);
  }
  KP_TRY(check_spacing(c, p));
  KP_TRY(check_flat(c, "velocity", p->name, p->velocity));
  KP_TRY(check_flat_lattice(c, "velocity", p->name, p->velocity_at));
  if (p->empty) {
    return KP_OK;
  }
  kp_shape *shape = NULL;
  kp_result result = build_shape(spec, c, p->shape, &shape);
  if (result != KP_OK) {
    return blame(result, p->word, p->name);
  }
  // an unbounded solid fills what it can reach of the domain
  kp_aabb box = kp_shape_is_bounded(shape) ? kp_shape_bounds(shape) : c->domain;
  if (!clip(c, &box)) {
    result =
        kp_fail(KP_ERROR_SCENE, "%s \"%s\": its shape lies outside the domain", p->word, p->name);
  } else {
    double volume = volume_of(c, box);
    volume = kp_shape_is_bounded(shape) ? fmin(volume, kp_shape_volume(shape)) : volume;
    result = kp_spec_sizes_add_particles(&c->sizes, spec, p, volume, box);
  }
  kp_shape_destroy(&shape);
  return result;
}

static bool is_fed(const kp_spec *spec, const char *name) {
  for (size_t i = 0; i < spec->emitters.count; ++i) {
    if (strcmp(spec->emitters.data[i].into, name) == 0) {
      return true;
    }
  }
  return false;
}

// Something must be able to hold particles, now or later.
static kp_result check_not_empty(const kp_spec *spec, const kp_population_defs *populations) {
  size_t n_alive = 0;
  for (size_t i = 0; i < populations->count; ++i) {
    const kp_population_def *p = &populations->data[i];
    if (!p->empty || is_fed(spec, p->name)) {
      ++n_alive;
    } else {
      kp_log(KP_LOG_WARN, "world", "%s \"%s\" has no shape and no emitter feeds it", p->word,
             p->name);
    }
  }
  bool has_solids = spec->bodies.count > 0 || spec->cloths.count > 0 || spec->softs.count > 0 ||
                    spec->hairs.count > 0;
  if (n_alive > 0 || spec->smokes.count > 0 || has_solids) {
    return KP_OK;
  }
  return populations->count == 0
             ? kp_fail(KP_ERROR_SCENE,
                       "nothing can ever move: there is no liquid, gas, cloth, hair, "
                       "soft or free body")
             : kp_fail(KP_ERROR_SCENE,
                       "nothing can ever move: %s \"%s\" has no shape and no emitter feeds it",
                       populations->data[0].word, populations->data[0].name);
}

// ---- emitters

static kp_result check_target(const kp_population_defs *populations,
                              const kp_emitter_def *emitter) {
  KP_ARRAY(const char *) names = { 0 };
  bool is_known = false;
  for (size_t i = 0; i < populations->count; ++i) {
    const char *name = populations->data[i].name;
    if (populations->data[i].particles > 0) {
      continue;
    }
    is_known = is_known || strcmp(name, emitter->into) == 0;
    if (kp_array_push(&names, name) != KP_OK) {
      kp_array_free(&names);
      return KP_ERROR_MEMORY;
    }
  }
  kp_result result = KP_OK;
  if (!is_known && emitter->into[0] == '\0') {
    result = kp_fail(KP_ERROR_SCENE, "emitter \"%s\": into = \"liquid to feed\" is missing",
                     emitter->name);
  } else if (!is_known) {
    const char *nearest = kp_text_nearest(emitter->into, names.data, names.count);
    result = kp_fail(KP_ERROR_SCENE, "emitter \"%s\": there is no liquid \"%s\"%s%s%s",
                     emitter->name, emitter->into, nearest != NULL ? ", did you mean \"" : "",
                     nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
  }
  kp_array_free(&names);
  return result;
}

// What moves by functions of time turns about z alone in a flat world; its z has no meaning there.
static kp_result check_flat_turns(const census *c, const char *name, const kp_curve *turn) {
  const double *v = turn->n > 0 ? turn->samples : turn->constant;
  for (int32_t k = 0; k < (turn->n > 0 ? turn->n : 1); ++k) {
    kp_vec3 degrees = kp_vec3_make(v[3 * k], v[3 * k + 1], v[3 * k + 2]);
    KP_TRY(check_flat_turn(c, "rotation_deg", name, degrees));
  }
  return KP_OK;
}

// An opening that stays where it is lies in the domain.
static kp_result check_opening(const census *c, const kp_emitter_def *emitter) {
  if (kp_vec3_length(emitter->direction) == 0.0) {
    return kp_fail(KP_ERROR_SCENE, "emitter \"%s\": direction has no length", emitter->name);
  }
  const double *at = emitter->position.constant;
  bool moves = emitter->position.n > 0 || emitter->parent[0] != '\0';
  for (int axis = 0; axis < c->dimension && !moves; ++axis) {
    if (at[axis] < component(c->domain.min, axis) || at[axis] > component(c->domain.max, axis)) {
      return kp_fail(KP_ERROR_SCENE, "emitter \"%s\": its position lies outside the domain",
                     emitter->name);
    }
  }
  return KP_OK;
}

// What comes out of a shape comes out of all of it.
static kp_result check_emitting_shape(const kp_spec *spec, const census *c,
                                      const kp_emitter_def *emitter) {
  kp_shape *shape = NULL;
  kp_result result = build_shape(spec, c, &emitter->shape, &shape);
  if (result != KP_OK) {
    return blame(result, "emitter", emitter->name);
  }
  if (!kp_shape_is_bounded(shape)) {
    result = kp_fail(KP_ERROR_SCENE, "emitter \"%s\": its shape has no bounds", emitter->name);
  }
  kp_shape_destroy(&shape);
  return result;
}

static kp_result check_emitter(const kp_spec *spec, const kp_population_defs *populations,
                               const census *c, const kp_emitter_def *emitter) {
  KP_TRY(check_target(populations, emitter));
  KP_TRY(check_flat(c, "direction", emitter->name, emitter->direction));
  KP_TRY(check_flat_turns(c, emitter->name, &emitter->rotation_deg));
  if (emitter->stop < emitter->start) {
    return kp_fail(KP_ERROR_SCENE, "emitter \"%s\": it stops at %g s, before its start at %g s",
                   emitter->name, emitter->stop, emitter->start);
  }
  return emitter->from == KP_EMITTER_OPENING ? check_opening(c, emitter)
                                             : check_emitting_shape(spec, c, emitter);
}

// ---- gases and what feeds them

static kp_result check_gas(const kp_spec *spec, const census *c, const kp_smoke_def *def) {
  KP_TRY(check_flat(c, "velocity", def->name, def->velocity));
  KP_TRY(check_flat_lattice(c, "velocity", def->name, &def->velocity_at));
  if (def->hottest <= def->ambient) {
    return kp_fail(KP_ERROR_SCENE, "smoke \"%s\": hottest = %g K is not above ambient = %g K",
                   def->name, def->hottest, def->ambient);
  }
  if (def->empty) {
    return KP_OK;
  }
  kp_shape *shape = NULL;
  kp_result result = build_shape(spec, c, &def->shape, &shape);
  if (result != KP_OK) {
    return blame(result, "smoke", def->name);
  }
  kp_aabb box = kp_shape_bounds(shape);
  if (!clip(c, &box)) {
    result = kp_fail(KP_ERROR_SCENE, "smoke \"%s\": its shape lies outside the domain", def->name);
  }
  kp_shape_destroy(&shape);
  return result;
}

static kp_result check_fuel(const kp_smoke_def *gas, const kp_source_def *def) {
  bool has_fuel = def->fuel > 0.0 || def->fuel_rate > 0.0;
  if (has_fuel && gas->burn_rate == 0.0) {
    return kp_fail(
        KP_ERROR_SCENE,
        "source \"%s\": it feeds fuel, but nothing burns in \"%s\", whose burn_rate is 0",
        def->name, gas->name);
  }
  return KP_OK;
}

static kp_result check_source(const kp_spec *spec, const census *c, const kp_source_def *def) {
  KP_ARRAY(const char *) names = { 0 };
  const kp_smoke_def *gas = NULL;
  for (size_t i = 0; i < spec->smokes.count; ++i) {
    gas = strcmp(spec->smokes.data[i].name, def->into) == 0 ? &spec->smokes.data[i] : gas;
    if (kp_array_push(&names, (const char *)spec->smokes.data[i].name) != KP_OK) {
      kp_array_free(&names);
      return KP_ERROR_MEMORY;
    }
  }
  const char *nearest = gas == NULL ? kp_text_nearest(def->into, names.data, names.count) : NULL;
  kp_array_free(&names);
  if (gas == NULL && def->into[0] == '\0') {
    return kp_fail(KP_ERROR_SCENE, "source \"%s\": into = \"gas to feed\" is missing", def->name);
  }
  if (gas == NULL) {
    return kp_fail(KP_ERROR_SCENE, "source \"%s\": there is no smoke \"%s\"%s%s%s", def->name,
                   def->into, nearest != NULL ? ", did you mean \"" : "",
                   nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
  }
  KP_TRY(check_flat(c, "velocity", def->name, def->velocity));
  if (def->stop < def->start) {
    return kp_fail(KP_ERROR_SCENE, "source \"%s\": it stops at %g s, before its start at %g s",
                   def->name, def->stop, def->start);
  }
  KP_TRY(check_fuel(gas, def));
  KP_TRY(check_flat_turns(c, def->name, &def->rotation_deg));
  kp_shape *shape = NULL;
  kp_result result = build_shape(spec, c, &def->shape, &shape);
  if (result != KP_OK) {
    return blame(result, "source", def->name);
  }
  kp_shape_destroy(&shape);
  return KP_OK;
}

// Vortex particles live in smoke or in liquids on a grid that carries their velocity.
static kp_result check_vortices(const kp_spec *spec, const kp_vortices_def *def) {
  bool is_known = false;
  for (size_t i = 0; i < spec->smokes.count; ++i) {
    is_known = is_known || strcmp(spec->smokes.data[i].name, def->into) == 0;
  }
  for (size_t i = 0; i < spec->liquids.count; ++i) {
    int method = spec->liquids.data[i].method;
    bool is_water = method == KP_LIQUID_LEVEL_SET || method == KP_LIQUID_FLIP;
    is_known = is_known || (is_water && strcmp(spec->liquids.data[i].name, def->into) == 0);
  }
  if (!is_known) {
    return kp_fail(KP_ERROR_SCENE,
                   "vortices \"%s\": into = \"%s\" is no smoke and no liquid of method "
                   "'level_set' or 'flip'",
                   def->name, def->into);
  }
  return def->stop >= def->start
             ? KP_OK
             : kp_fail(KP_ERROR_SCENE,
                       "vortices \"%s\": they stop at %g s, before their start at %g s", def->name,
                       def->stop, def->start);
}

static kp_result check_gases(const kp_spec *spec, const census *c) {
  for (size_t i = 0; i < spec->smokes.count; ++i) {
    KP_TRY(check_gas(spec, c, &spec->smokes.data[i]));
  }
  for (size_t i = 0; i < spec->sources.count; ++i) {
    KP_TRY(check_source(spec, c, &spec->sources.data[i]));
  }
  for (size_t i = 0; i < spec->swarms.count; ++i) {
    KP_TRY(check_vortices(spec, &spec->swarms.data[i]));
  }
  return KP_OK;
}

// ---- solids

typedef struct solid {
  const char *word, *name;
  const kp_shape_def *shape;
  double spacing;  // of the boundary samples
  int64_t layers;  // 0: has none
  bool needs_mass;
} solid;

// About as many samples as the box around the solid would need, as far as it is bounded.
static kp_result count_samples(const kp_spec *spec, census *c, kp_aabb box, const solid *s) {
  double x = fmin(box.max.x - box.min.x, c->domain.max.x - c->domain.min.x);
  double y = fmin(box.max.y - box.min.y, c->domain.max.y - c->domain.min.y);
  double z = fmin(box.max.z - box.min.z, c->domain.max.z - c->domain.min.z);
  double area = c->dimension == 2 ? 2.0 * (x + y) : 2.0 * (x * y + y * z + z * x);
  return kp_spec_sizes_add_samples(&c->sizes, spec, s->word, s->name, area, s->spacing,
                                   (double)s->layers);
}

static kp_result check_solid(const kp_spec *spec, census *c, const solid *s) {
  kp_shape *shape = NULL;
  kp_result result = build_shape(spec, c, s->shape, &shape);
  if (result != KP_OK) {
    return blame(result, s->word, s->name);
  }
  if (s->needs_mass && !kp_shape_is_bounded(shape)) {
    result = kp_fail(KP_ERROR_SCENE, "%s \"%s\": its shape has no end, so it has no mass", s->word,
                     s->name);
  }
  if (result == KP_OK) {
    result = count_samples(spec, c, kp_shape_bounds(shape), s);
  }
  kp_shape_destroy(&shape);
  return result;
}

// All of a curve lies in the plane of a flat world.
static kp_result check_flat_curve(const census *c, const char *what, const char *name,
                                  const kp_curve *curve) {
  const double *v = curve->n > 0 ? curve->samples : curve->constant;
  for (int32_t k = 0; k < (curve->n > 0 ? curve->n : 1); ++k) {
    KP_TRY(check_flat(c, what, name, kp_vec3_make(v[3 * k], v[3 * k + 1], v[3 * k + 2])));
  }
  return KP_OK;
}

// Whether the meshes fit each other is seen when the world is built.
static kp_result check_morph(const kp_spec *spec, const kp_morph_def *def) {
  for (size_t i = 0; i < spec->colliders.count; ++i) {
    if (strcmp(spec->colliders.data[i].name, def->of) == 0) {
      return KP_OK;
    }
  }
  return kp_fail(KP_ERROR_SCENE, "morph \"%s\": of = \"%s\" is no collider", def->name, def->of);
}

static kp_result check_solids(const kp_spec *spec, census *c) {
  for (size_t i = 0; i < spec->colliders.count; ++i) {
    const kp_collider_def *def = &spec->colliders.data[i];
    solid s = { "collider", def->name, &def->shape, def->spacing, def->layers, false };
    KP_TRY(check_flat_curve(c, "surface_velocity", def->name, &def->surface_velocity));
    KP_TRY(check_solid(spec, c, &s));
  }
  for (size_t i = 0; i < spec->morphs.count; ++i) {
    KP_TRY(check_morph(spec, &spec->morphs.data[i]));
  }
  for (size_t i = 0; i < spec->bodies.count; ++i) {
    const kp_body_def *def = &spec->bodies.data[i];
    solid s = { "body", def->name, &def->shape, def->spacing, def->layers, true };
    KP_TRY(check_flat(c, "velocity", def->name, def->velocity));
    KP_TRY(check_flat(c, "position", def->name, def->position));
    KP_TRY(check_flat_turn(c, "rotation_deg", def->name, def->rotation_deg));
    KP_TRY(check_flat_turn(c, "angular_velocity", def->name, def->angular_velocity));
    KP_TRY(check_solid(spec, c, &s));
  }
  for (size_t i = 0; i < spec->sinks.count; ++i) {
    const kp_sink_def *def = &spec->sinks.data[i];
    solid s = { "sink", def->name, &def->shape, KP_AUTO, 0, false };
    KP_TRY(check_flat_turns(c, def->name, &def->rotation_deg));
    KP_TRY(check_solid(spec, c, &s));
  }
  return KP_OK;
}

// ---- soft bodies

static kp_result check_soft(const kp_spec *spec, census *c, const kp_soft_def *def) {
  if (def->tets[0] != '\0') {
    return KP_OK;  // as large as its file
  }
  kp_shape *shape = NULL;
  kp_result result = build_shape(spec, c, &def->shape, &shape);
  if (result == KP_OK && kp_shape_is_bounded(shape)) {
    result = kp_spec_sizes_add_soft(&c->sizes, def, kp_shape_bounds(shape), kp_shape_volume(shape));
  }
  kp_shape_destroy(&shape);
  return result == KP_OK ? KP_OK : blame(result, "soft", def->name);
}

// ---- all populations

static kp_result check_populations(const kp_spec *spec, census *c,
                                   const kp_population_defs *populations) {
  for (size_t i = 0; i < spec->emitters.count; ++i) {
    KP_TRY(check_emitter(spec, populations, c, &spec->emitters.data[i]));
  }
  KP_TRY(check_not_empty(spec, populations));
  for (size_t i = 0; i < populations->count; ++i) {
    KP_TRY(check_population(spec, c, &populations->data[i]));
  }
  return KP_OK;
}

// ---- forces

// Names of what forces and probes may be about: populations and free bodies.
typedef KP_ARRAY(const char *) name_list;

static kp_result list_movers(const kp_spec *spec, name_list *out) {
#define ADD(word, plural)                                                                          \
  for (size_t i = 0; i < spec->plural.count; ++i) {                                                \
    KP_TRY(kp_array_push(out, (const char *)spec->plural.data[i].name));                           \
  }
  KP_SPEC_POPULATIONS(ADD)
  KP_SPEC_GASES(ADD)
  ADD(body, bodies)
#undef ADD
  return KP_OK;
}

static kp_result list_deformables(const kp_spec *spec, name_list *out) {
#define ADD(plural)                                                                                \
  for (size_t i = 0; i < spec->plural.count; ++i) {                                                \
    KP_TRY(kp_array_push(out, (const char *)spec->plural.data[i].name));                           \
  }
  ADD(cloths)
  ADD(softs)
  ADD(hairs)
#undef ADD
  return KP_OK;
}

// `key` of the entity must be the name of a population or a free body, or of a deformable where
// those count.
static kp_result check_mover(const kp_spec *spec, const char *entity, const char *key,
                             const char *name, bool deformables) {
  name_list names = { 0 };
  kp_result result = list_movers(spec, &names);
  if (result == KP_OK && deformables) {
    result = list_deformables(spec, &names);
  }
  bool is_known = false;
  for (size_t i = 0; i < names.count; ++i) {
    is_known = is_known || strcmp(names.data[i], name) == 0;
  }
  if (result == KP_OK && !is_known) {
    const char *nearest = kp_text_nearest(name, names.data, names.count);
    result = kp_fail(KP_ERROR_SCENE, "%s: %s = \"%s\" is no population or body%s%s%s", entity, key,
                     name, nearest != NULL ? ", did you mean \"" : "",
                     nearest != NULL ? nearest : "", nearest != NULL ? "\"?" : "");
  }
  kp_array_free(&names);
  return result;
}

static kp_result check_force(const kp_spec *spec, const census *c, const kp_force_def *def) {
  char entity[KP_TEXT_SIZE + 16];
  (void)snprintf(entity, sizeof entity, "force \"%s\"", def->name);
  if (def->shape.kind != KP_SHAPE_BOX && def->shape.kind != KP_SHAPE_SPHERE) {
    return kp_fail(KP_ERROR_SCENE, "%s: its shape must be a box or a sphere", entity);
  }
  if (def->stop < def->start) {
    return kp_fail(KP_ERROR_SCENE, "%s: it stops at %g s, before its start at %g s", entity,
                   def->stop, def->start);
  }
  if (def->on[0] != '\0') {
    KP_TRY(check_mover(spec, entity, "on", def->on, true));
  }
  return check_flat_curve(c, "acceleration", def->name, &def->acceleration);
}

// ---- probes

static bool is_body(const kp_spec *spec, const char *name) {
  for (size_t i = 0; i < spec->bodies.count; ++i) {
    if (strcmp(spec->bodies.data[i].name, name) == 0) {
      return true;
    }
  }
  return false;
}

static bool is_collider(const kp_spec *spec, const char *name) {
  for (size_t i = 0; i < spec->colliders.count; ++i) {
    if (strcmp(spec->colliders.data[i].name, name) == 0) {
      return true;
    }
  }
  return false;
}

static const kp_liquid_def *liquid_of(const kp_spec *spec, const char *name) {
  for (size_t l = 0; l < spec->liquids.count; ++l) {
    if (strcmp(spec->liquids.data[l].name, name) == 0) {
      return &spec->liquids.data[l];
    }
  }
  return NULL;
}

// What is on a grid alone, without particles.
static bool is_gridded(const kp_spec *spec, const char *name) {
  const kp_liquid_def *liquid = liquid_of(spec, name);
  for (size_t g = 0; g < spec->smokes.count; ++g) {
    if (strcmp(spec->smokes.data[g].name, name) == 0) {
      return true;
    }
  }
  return liquid != NULL && liquid->method == KP_LIQUID_LEVEL_SET;
}

// Spheres of springs have no pressure, and what pushes those of stf is no pressure in Pa: their
// lattice carries loads as a solid does, by springs and to some percent of rho c^2 without.
static kp_result check_has_pressure(const kp_liquid_def *liquid, const char *entity) {
  const char *method = liquid->method == KP_LIQUID_SPRINGS ? "springs"
                       : liquid->method == KP_LIQUID_STF   ? "stf"
                                                           : NULL;
  return method == NULL
             ? KP_OK
             : kp_fail(
                   KP_ERROR_SCENE,
                   "%s: kind = \"wall\" measures pressure, and liquid \"%s\" of method '%s' has "
                   "none; those of methods 'sph', 'mps', 'flip', 'level_set' and 'marker' have",
                   entity, liquid->name, method);
}

static kp_result check_probe(const kp_spec *spec, const census *c, const kp_probe_def *def) {
  const double n[3] = { def->counts.x, def->counts.y, def->counts.z };
  char entity[KP_TEXT_SIZE + 16];
  (void)snprintf(entity, sizeof entity, "probe \"%s\"", def->name);
  if (def->of[0] == '\0') {
    return kp_fail(KP_ERROR_SCENE, "%s: of = \"what it looks at\" is missing", entity);
  }
  KP_TRY(is_collider(spec, def->of) ? KP_OK : check_mover(spec, entity, "of", def->of, false));
  bool on_grid = is_gridded(spec, def->of);
  if (def->kind == KP_PROBE_TRACK) {
    return !on_grid ? KP_OK
                    : kp_fail(KP_ERROR_SCENE,
                              "%s: kind = \"track\" follows particles and bodies, and \"%s\" is on "
                              "a grid",
                              entity, def->of);
  }
  bool wants_liquid = def->kind == KP_PROBE_GAUGE || def->kind == KP_PROBE_WALL;
  if (wants_liquid && liquid_of(spec, def->of) == NULL) {
    return kp_fail(KP_ERROR_SCENE, "%s: kind = \"%s\" measures liquids, and \"%s\" is none", entity,
                   def->kind == KP_PROBE_GAUGE ? "gauge" : "wall", def->of);
  }
  if (def->kind == KP_PROBE_WALL) {
    KP_TRY(check_has_pressure(liquid_of(spec, def->of), entity));
  }
  if (is_body(spec, def->of) || is_collider(spec, def->of)) {
    return kp_fail(KP_ERROR_SCENE,
                   "%s: a body has no regions; kind = \"track\" writes its path and its loads",
                   entity);
  }
  bool one = true;
  for (int axis = 0; axis < 3; ++axis) {
    if (n[axis] != floor(n[axis])) {
      return kp_fail(KP_ERROR_SCENE, "%s: counts must be whole numbers, unlike %g", entity,
                     n[axis]);
    }
    bool apart = component(def->min, axis) != component(def->max, axis);
    if (axis < c->dimension && n[axis] > 1.0 && !apart) {
      return kp_fail(KP_ERROR_SCENE, "%s: %g regions along %c need min and max apart", entity,
                     n[axis], "xyz"[axis]);
    }
    one = one && (axis >= c->dimension || n[axis] == 1.0);
  }
  bool has_radius = def->kind == KP_PROBE_GAUGE || (on_grid && def->kind != KP_PROBE_WALL);
  if (isnan(def->radius) && one && !has_radius) {
    return kp_fail(KP_ERROR_SCENE, "%s: a single region needs a radius", entity);
  }
  return n[0] * n[1] * n[2] <= 1e7 ? KP_OK
                                   : kp_fail(KP_ERROR_SCENE, "%s: %g regions are more than 1e7",
                                             entity, n[0] * n[1] * n[2]);
}

// Deformables fold out of a plane: they need all three dimensions.
static kp_result check_deformables(const kp_spec *spec, const census *c) {
  const char *word = spec->cloths.count > 0 ? "cloth" : spec->softs.count > 0 ? "soft" : "hair";
  const char *name = spec->cloths.count > 0  ? spec->cloths.data[0].name
                     : spec->softs.count > 0 ? spec->softs.data[0].name
                     : spec->hairs.count > 0 ? spec->hairs.data[0].name
                                             : NULL;
  return c->dimension == 3 || name == NULL
             ? KP_OK
             : kp_fail(KP_ERROR_SCENE,
                       "%s \"%s\": it needs three dimensions, and the domain has two", word, name);
}

static kp_result check_all(const kp_spec *spec, census *c) {
  KP_TRY(check_flat(c, "gravity", "", spec->simulation.gravity));
  kp_population_defs populations = { 0 };
  kp_result result = kp_spec_populations(spec, &populations);
  if (result == KP_OK) {
    result = check_populations(spec, c, &populations);
  }
  kp_array_free(&populations);
  KP_TRY(result);
  KP_TRY(check_gases(spec, c));
  KP_TRY(check_solids(spec, c));
  KP_TRY(check_deformables(spec, c));
  for (size_t i = 0; i < spec->softs.count; ++i) {
    KP_TRY(check_soft(spec, c, &spec->softs.data[i]));
  }
  for (size_t i = 0; i < spec->forces.count; ++i) {
    KP_TRY(check_force(spec, c, &spec->forces.data[i]));
  }
  for (size_t i = 0; i < spec->probes.count; ++i) {
    KP_TRY(check_probe(spec, c, &spec->probes.data[i]));
  }
  return kp_spec_sizes_add_rest(&c->sizes, spec);
}

kp_result kp_spec_count(const kp_spec *spec, kp_spec_sizes *sizes) {
  *sizes = (kp_spec_sizes){ 0 };
  KP_TRY(check_settings(spec));
  census c = {
    .domain = { spec->domain.min, spec->domain.max },
    .dimension = (int)spec->domain.dimension,
  };
  kp_result result = check_all(spec, &c);
  if (result != KP_OK) {
    kp_array_free(&c.sizes);
    return result;
  }
  *sizes = c.sizes;
  return KP_OK;
}

kp_result kp_spec_check(const kp_spec *spec) {
  kp_spec_sizes sizes;
  KP_TRY(kp_spec_count(spec, &sizes));
  kp_result result = kp_spec_sizes_check(&sizes, spec);
  kp_array_free(&sizes);
  return result;
}
