#include "world/build.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "couple/fluid_grains.h"
#include "couple/fluid_rigid.h"
#include "geom/morph.h"
#include "geom/sampler.h"
#include "methods/common/force_field.h"
#include "methods/common/walls.h"
#include "methods/deform/fabric.h"
#include "methods/fire/fire.h"
#include "methods/flip/flip.h"
#include "methods/grains/grains.h"
#include "methods/level_set/pls.h"
#include "methods/marker/marker.h"
#include "methods/mps/mps.h"
#include "methods/plasma/plasma.h"
#include "methods/rigid/rigid.h"
#include "methods/smoke/smoke.h"
#include "methods/sph/sph.h"
#include "methods/springs/springs.h"
#include "methods/stf/stf.h"
#include "methods/vortex_fire/vortex_fire.h"
#include "world/spec_sizes.h"
#include "world/step.h"

// ---- spec
// -------------------------------------------------------------------------------------------------

// Adding goes through the same door as by hand: checks are repeated, curves copied.
#define COPY_ALL(word, plural)                                                                     \
  for (size_t i = 0; i < spec->plural.count; ++i) {                                                \
    KP_TRY(kp_spec_add_##word(out, &spec->plural.data[i]));                                        \
  }
#define COPY_BLOCK(word) out->word = spec->word;

kp_result kp_spec_copy(kp_spec *out, const kp_spec *spec) {
  kp_spec_init(out);
  out->domain = spec->domain;
  out->simulation = spec->simulation;
  KP_SPEC_BLOCKS(COPY_BLOCK)
  memcpy(out->folder, spec->folder, sizeof out->folder);
  KP_SPEC_ENTITIES(COPY_ALL)
  return KP_OK;
}

// Millions of particle-steps and of cell-steps per second of one Zen 4 core: what the benchmarks of
// a method reach (bench/results/zen4-2core), or its scenes in scenes/demo where it has no
// benchmark. Grid methods are measured by cells, their particles included.
typedef struct method_rate {
  const char *method;
  double particles, cells;
} method_rate;

static const method_rate method_rates[] = {
  { "sph", 2.8, 0.0 },     { "mps", 0.27, 0.0 },        { "stf", 0.29, 0.0 },
  { "grains", 12.0, 0.0 }, { "springs", 6.0, 0.0 },     { "plasma", 4.0, 0.0 },
  { "fire", 30.0, 0.0 },   { "vortex_fire", 1.0, 0.0 }, { "deform", 0.5, 0.0 },
  { "smoke", 0.0, 5.0 },   { "flip", 0.0, 2.7 },        { "level_set", 0.0, 1.0 },
  { "marker", 0.0, 1.0 },
};

// The implicit solver takes as long as this many steps of the explicit one.
#define IMPLICIT_STEPS 1.6
#define VISCOUS_STEPS 6.0  // with viscosity that is solved for as well

static method_rate rate_of(const kp_spec *spec, const kp_method *method) {
  const method_rate unknown = { method->name, 1.0, 0.0 };
  for (size_t k = 0; k < sizeof method_rates / sizeof method_rates[0]; ++k) {
    method_rate rate = method_rates[k];
    if (strcmp(rate.method, method->name) == 0) {
      bool is_implicit = method == &kp_sph_method && spec->sph.solver == KP_SPH_SOLVER_DFSPH;
      bool is_viscous = spec->sph.viscosity_model == KP_SPH_VISCOSITY_CENTRAL;
      double steps = is_viscous ? VISCOUS_STEPS : IMPLICIT_STEPS;
      rate.particles /= is_implicit ? steps : 1.0;
      return rate;
    }
  }
  return unknown;
}

// Seconds of one core that a step takes: particles by the method of their population, cells by the
// slowest method of the world that has any.
static kp_result measure_work(kp_world *world, const kp_world_size *size, double *seconds) {
  double least = HUGE_VAL;
  *seconds = 0.0;
  for (size_t s = 0; s < world->systems.count; ++s) {
    const kp_system *system = &world->systems.data[s];
    const kp_method *method = system->method;
    const method_rate rate = rate_of(&world->spec, method);
    least = rate.cells > 0.0 ? fmin(least, rate.cells) : least;
    int n = method->n_populations != NULL ? method->n_populations(system->self) : 0;
    for (int p = 0; p < n && rate.particles > 0.0; ++p) {
      kp_population_stats stats;
      KP_TRY(method->stats(system->self, &world->env, p, &stats));
      *seconds += 1e-6 * (double)stats.count / rate.particles;
    }
  }
  *seconds += isfinite(least) ? 1e-6 * (double)size->cells / least : 0.0;
  return KP_OK;
}

// Bytes of all fields, and the numbers that tell how long a run will take.
kp_result kp_world_measure(kp_world *world, kp_world_size *out) {
  *out = (kp_world_size){ .samples = world->walls->set->space->n + world->movers->set->space->n,
                          .dt = kp_world_step_limit(world) };
  for (int p = 0; p < kp_world_n_populations(world); ++p) {
    kp_population_stats stats;
    KP_TRY(kp_world_stats(world, p, &stats));
    const kp_space *space = kp_registry_find(world->registry, stats.name);
    bool has_particles = space != NULL && space->kind == KP_SPACE_PARTICLES;
    out->particles += has_particles ? stats.count : 0;
  }
  for (size_t p = 0; p < world->env.parts.count; ++p) {
    out->particles += world->env.parts.data[p].count;
  }
  for (size_t e = 0; e < world->spec.emitters.count; ++e) {
    int64_t limit = world->spec.emitters.data[e].limit;
    out->to_come = limit < INT32_MAX && out->to_come >= 0 ? out->to_come + limit : -1;
  }
  for (size_t s = 0; s < world->registry->spaces.count; ++s) {
    const kp_space *space = world->registry->spaces.data[s];
    out->bytes += kp_space_bytes_per_element(space) * (double)space->n;
  }
  for (size_t g = 0; g < world->env.grids.count; ++g) {
    const kp_mac *mac = world->env.grids.data[g].mac;
    out->cells += kp_mac_n_all(mac);
  }
  // what a step needs besides, and what is made when it is first needed
  kp_spec_sizes sizes;
  KP_TRY(kp_spec_count(&world->spec, &sizes));
  out->bytes = fmax(out->bytes, kp_spec_sizes_bytes(&sizes));
  kp_array_free(&sizes);
  double work;
  KP_TRY(measure_work(world, out, &work));
  out->seconds_per_second = work / out->dt;
  return KP_OK;
}

// ---- bodies
// -------------------------------------------------------------------------------------------------

// Where the shape's origin is, for a body whose frame is that of the centre of mass.
static kp_vec3 origin_of(const kp_body *model, const kp_frame3 *frame) {
  return kp_vec3_sub(frame->position, kp_quat_rotate(frame->orientation, model->center));
}

static kp_result add_samples(kp_world *world, kp_index body, const kp_shape *shape, double spacing,
                             int64_t layers) {
  const kp_body *model = &world->bodies->models.data[body];
  kp_frame3 frame = kp_bodies_frame(world->bodies, body);
  kp_vec3 origin = origin_of(model, &frame);
  double reach = world->spec.sph.support * spacing;
  kp_vec3 margin = kp_vec3_make(reach, reach, reach);
  kp_surface_def how = kp_default_surface_def(spacing);
  how.layers = (kp_index)layers;
  how.seed = (uint64_t)world->spec.simulation.seed;
  if (!kp_shape_is_bounded(shape)) {
    // in the shape's coordinates; what is bounded may move in from outside and is sampled whole
    how.clip = (kp_aabb){ kp_vec3_sub(kp_vec3_sub(world->spec.domain.min, margin), origin),
                          kp_vec3_sub(kp_vec3_add(world->spec.domain.max, margin), origin) };
  }
  kp_surface_samples samples = { 0 };
  KP_ARRAY(kp_vec3) positions = { 0 };
  KP_ARRAY(kp_vec3) normals = { 0 };
  KP_ARRAY(double) areas = { 0 };
  kp_result result = kp_sampler_surface(shape, &how, &samples);
  for (size_t i = 0; i < samples.count && result == KP_OK; ++i) {
    kp_vec3 p = kp_vec3_add(origin, kp_quat_rotate(frame.orientation, samples.data[i].position));
    KP_TRY_GOTO(result, kp_array_push(&positions, p), done);
    KP_TRY_GOTO(result,
                kp_array_push(&normals, kp_quat_rotate(frame.orientation, samples.data[i].normal)),
                done);
    KP_TRY_GOTO(result, kp_array_push(&areas, samples.data[i].area), done);
  }
  if (result == KP_OK && positions.count > 0) {
    kp_interface_samples all = { (int64_t)positions.count, positions.data, normals.data,
                                 areas.data };
    bool still = model->kind == KP_BODY_STATIC;
    result = kp_interface_add(still ? world->walls : world->movers, world->bodies, body, &all);
  }
done:
  kp_array_free(&samples);
  kp_array_free(&positions);
  kp_array_free(&normals);
  kp_array_free(&areas);
  return result;
}

static kp_result keep_shape(kp_world *world, const kp_shape_def *def, bool visible, kp_vec3 color,
                            kp_shape **out) {
  // its place first, so that the shape is the world's as soon as it is there
  KP_TRY(kp_array_reserve(&world->shapes, world->shapes.count + 1));
  KP_TRY(kp_shape_build(def, world->spec.folder, out));
  kp_world_body entry = { .shape = *out, .body = -1, .visible = visible, .color = color };
  world->shapes.data[world->shapes.count++] = entry;
  return world->env.dimension == 2 ? kp_shape_flatten(*out) : KP_OK;
}

// What cannot follow a collider that changes its form sees it as it is at the start.
static void warn_of_morph(const kp_spec *spec, const char *name) {
  if (spec->liquids.count + spec->grains.count + spec->smokes.count + spec->bodies.count > 0) {
    kp_log(
        KP_LOG_WARN, "world",
        "collider \"%s\" changes its form for cloth, hair and soft bodies alone: for all else it "
        "keeps that of the start",
        name);
  }
}

static kp_result add_targets(kp_world *world, const char *name, kp_morph *morph) {
  for (size_t m = 0; m < world->spec.morphs.count; ++m) {
    const kp_morph_def *def = &world->spec.morphs.data[m];
    if (strcmp(def->of, name) != 0) {
      continue;
    }
    kp_shape *target = NULL;
    kp_result result = kp_shape_build(&def->shape, world->spec.folder, &target);
    if (result == KP_OK) {
      result = kp_morph_add(morph, target, &def->weight);
    }
    kp_shape_destroy(&target);
    if (result != KP_OK) {
      return kp_fail_in(result, "morph \"%s\"", def->name);
    }
  }
  return KP_OK;
}

// The forms a collider takes on; its shape becomes that of the start.
static kp_result build_morph(kp_world *world, const char *name, kp_shape *shape) {
  bool has_morphs = false;
  for (size_t m = 0; m < world->spec.morphs.count; ++m) {
    has_morphs = has_morphs || strcmp(world->spec.morphs.data[m].of, name) == 0;
  }
  if (!has_morphs) {
    return KP_OK;
  }
  kp_world_body *entry = &world->shapes.data[world->shapes.count - 1];
  kp_result result = kp_morph_create(shape, &entry->morph);
  if (result != KP_OK) {
    return kp_fail_in(result, "collider \"%s\"", name);
  }
  KP_TRY(add_targets(world, name, entry->morph));
  warn_of_morph(&world->spec, name);
  kp_mesh start;
  KP_TRY(kp_mesh_copy(&entry->morph->mesh, &start));
  kp_morph_at(entry->morph, 0.0, start.vertices, NULL);
  result = kp_shape_become(shape, &start);
  kp_mesh_destroy(&start);
  return result;
}

static kp_result build_collider(kp_world *world, const kp_collider_def *def) {
  kp_shape *shape;
  KP_TRY(keep_shape(world, &def->shape, def->visible, def->color, &shape));
  KP_TRY(build_morph(world, def->name, shape));
  // samples whose velocity changes are refreshed like those of what moves
  bool moves = def->position.n > 0 || def->rotation_deg.n > 0 || def->surface_velocity.n > 0 ||
               def->friction_scale.n > 0;
  kp_body model = { .kind = moves ? KP_BODY_SCRIPTED : KP_BODY_STATIC,
                    .position = def->position,
                    .rotation_deg = def->rotation_deg,
                    .surface_velocity = def->surface_velocity,
                    .friction = def->friction,
                    .friction_scale = def->friction_scale,
                    .restitution = def->restitution,
                    .rolling_friction = def->rolling_friction };
  memcpy(model.name, def->name, sizeof model.name);
  kp_frame3 frame = kp_body_scripted_frame(&model, 0.0);
  kp_index body;
  KP_TRY(kp_bodies_add(world->bodies, &model, &frame, &body));
  world->shapes.data[world->shapes.count - 1].body = body;
  double spacing = isnan(def->spacing) ? kp_spec_finest_spacing(&world->spec) : def->spacing;
  return isfinite(spacing) ? add_samples(world, body, shape, spacing, def->layers) : KP_OK;
}

static kp_result build_body(kp_world *world, const kp_body_def *def) {
  kp_shape *shape;
  kp_mass_properties mass;
  KP_TRY(keep_shape(world, &def->shape, def->visible, def->color, &shape));
  KP_TRY(kp_shape_mass_properties(shape, &mass));
  kp_body model = { .kind = KP_BODY_FREE,
                    .inverse_mass = 1.0 / (def->density * mass.volume),
                    .inertia = mass.inertia,
                    .center = mass.center,
                    .friction = def->friction,
                    .restitution = def->restitution,
                    .rolling_friction = def->rolling_friction };
  for (int i = 0; i < 9; ++i) {
    model.inertia.m[i / 3][i % 3] *= def->density;
  }
  model.inverse_inertia = kp_mat3_inverse(&model.inertia);
  memcpy(model.name, def->name, sizeof model.name);
  kp_quat turn = kp_quat_from_euler_deg(def->rotation_deg);
  kp_frame3 frame = { .position = kp_vec3_add(def->position, kp_quat_rotate(turn, mass.center)),
                      .orientation = turn,
                      .velocity = def->velocity,
                      .angular_velocity = def->angular_velocity };
  kp_index body;
  KP_TRY(kp_bodies_add(world->bodies, &model, &frame, &body));
  world->shapes.data[world->shapes.count - 1].body = body;
  double spacing = isnan(def->spacing) ? kp_spec_finest_spacing(&world->spec) : def->spacing;
  return isfinite(spacing) ? add_samples(world, body, shape, spacing, def->layers) : KP_OK;
}

// Bodies that start inside each other are let be: contact pushes them apart gently.
static void warn_overlaps(kp_world *world) {
  for (size_t r = 0; r < world->movers->ranges.count; ++r) {
    const kp_interface_range *range = &world->movers->ranges.data[r];
    const kp_pos *x[3];
    for (int c = 0; c < 3; ++c) {
      x[c] = kp_buffer_host(&world->movers->set->position->buffers[c], KP_ACCESS_READ);
    }
    for (size_t s = 0; s < world->shapes.count; ++s) {
      const kp_world_body *other = &world->shapes.data[s];
      const kp_body *model = &world->bodies->models.data[other->body];
      kp_frame3 frame = kp_bodies_frame(world->bodies, other->body);
      kp_vec3 origin = origin_of(model, &frame);
      bool inside = false;
      for (int64_t i = range->first; other->body != range->body && i < range->first + range->count;
           ++i) {
        kp_vec3 p = kp_vec3_sub(kp_vec3_make(x[0][i], x[1][i], x[2][i]), origin);
        kp_vec3 local = kp_quat_rotate(kp_quat_conjugate(frame.orientation), p);
        inside = inside || kp_shape_distance(other->shape, local) < 0.0;
      }
      if (inside) {
        kp_log(KP_LOG_WARN, "world", "bodies \"%s\" and \"%s\" overlap at the start",
               world->bodies->models.data[range->body].name, model->name);
      }
    }
  }
}

// A medium that takes free bodies as they come and never pushes back.
static void warn_of_vacuum(const kp_spec *spec, const char *word, const char *name,
                           const char *instead) {
  size_t others = spec->bodies.count - 1;
  char more[48] = "";
  if (others > 0) {
    snprintf(more, sizeof more, " (and %zu more)", others);
  }
  kp_log(
      KP_LOG_WARN, "world",
      "body \"%s\"%s: %s \"%s\" flows around free bodies but does not push them: no buoyancy and "
      "no drag, they move in it as in a vacuum%s",
      spec->bodies.data[0].name, more, word, name, instead);
}

static void warn_unpushed(const kp_spec *spec) {
  if (spec->bodies.count == 0) {
    return;
  }
  for (size_t l = 0; l < spec->liquids.count; ++l) {
    const kp_liquid_def *liquid = &spec->liquids.data[l];
    if (liquid->method == KP_LIQUID_LEVEL_SET || liquid->method == KP_LIQUID_MARKER) {
      warn_of_vacuum(spec, "liquid", liquid->name, "; methods \"flip\" and \"sph\" push them");
    }
  }
  for (size_t s = 0; s < spec->smokes.count; ++s) {
    warn_of_vacuum(spec, "smoke", spec->smokes.data[s].name, "");
  }
}

static void warn_unblown_of(const kp_spec *spec, const char *word, const char *name,
                            const char *instead) {
  char more[48] = "";
  if (spec->winds.count > 1) {
    snprintf(more, sizeof more, " (and %zu more)", spec->winds.count - 1);
  }
  kp_log(KP_LOG_WARN, "world",
         "wind \"%s\"%s acts on cloth, hair and soft bodies; %s \"%s\" does not feel it: %s",
         spec->winds.data[0].name, more, word, name, instead);
}

// Wind is air that deformables feel (methods/deform/deform_wind.c); it moves no medium.
static void warn_unblown(const kp_spec *spec) {
  if (spec->winds.count == 0) {
    return;
  }
  for (size_t s = 0; s < spec->smokes.count; ++s) {
    warn_unblown_of(spec, "smoke", spec->smokes.data[s].name,
                    "grid { stream } lets air flow in through open sides of the domain, and "
                    "force { shape } pushes what is inside it");
  }
  for (size_t f = 0; f < spec->fires.count; ++f) {
    warn_unblown_of(spec, "fire", spec->fires.data[f].name,
                    spec->fires.data[f].method == KP_FIRE_PARTICLES
                        ? "its own key wind does, and force { shape } pushes what is inside it"
                        : "force { shape } pushes what is inside it");
  }
  size_t deformables = spec->cloths.count + spec->softs.count + spec->hairs.count;
  if (deformables == 0 && spec->smokes.count + spec->fires.count == 0) {
    kp_log(KP_LOG_WARN, "world",
           "wind \"%s\" moves nothing: it acts on cloth, hair and soft bodies, and there are none; "
           "force { } pushes everything else",
           spec->winds.data[0].name);
  }
}

static kp_result build_domain_walls(kp_world *world) {
  int layers = kp_spec_wall_layers(&world->spec);
  if (layers == 0) {
    return KP_OK;
  }
  kp_body domain = { .name = "domain", .kind = KP_BODY_STATIC };
  kp_frame3 frame = { .orientation = kp_quat_identity() };
  kp_index body;
  KP_TRY(kp_bodies_add(world->bodies, &domain, &frame, &body));
  return kp_walls_of_domain(&world->env, kp_spec_finest_spacing(&world->spec), layers, body);
}

// What media may not start in.
static kp_result keep_solids(kp_world *world) {
  for (size_t s = 0; s < world->shapes.count; ++s) {
    const kp_world_body *entry = &world->shapes.data[s];
    kp_frame3 frame = kp_bodies_frame(world->bodies, entry->body);
    kp_vec3 origin = origin_of(&world->bodies->models.data[entry->body], &frame);
    kp_solid solid = { entry->shape, entry->body, origin, frame.orientation, entry->morph };
    KP_TRY(kp_array_push(&world->solids, solid));
  }
  world->env.scenery.solids = world->solids.data;
  world->env.scenery.n_solids = world->solids.count;
  return KP_OK;
}

static kp_result build_bodies(kp_world *world) {
  for (size_t i = 0; i < world->spec.colliders.count; ++i) {
    KP_TRY(build_collider(world, &world->spec.colliders.data[i]));
  }
  for (size_t i = 0; i < world->spec.bodies.count; ++i) {
    KP_TRY(build_body(world, &world->spec.bodies.data[i]));
  }
  KP_TRY(kp_walls_sink(&world->env, world->walls));
  KP_TRY(kp_walls_sink(&world->env, world->movers));
  KP_TRY(build_domain_walls(world));
  warn_overlaps(world);
  warn_unpushed(&world->spec);
  warn_unblown(&world->spec);
  return keep_solids(world);
}

// ---- systems
// -------------------------------------------------------------------------------------------------

// The system belongs to the world, or is gone.
static kp_result add_system(kp_world *world, const kp_method *method, void *self) {
  kp_system system = { .method = method, .self = self };
  strncpy(system.name, method->name, sizeof system.name - 1);
  kp_result result = kp_array_push(&world->systems, system);
  if (result != KP_OK && method->destroy != NULL) {
    method->destroy(&self);
  }
  return result;
}

static kp_result build_rigid(kp_world *world) {
  KP_ARRAY(kp_rigid_shape) shapes = { 0 };
  kp_result result = KP_OK;
  for (size_t s = 0; s < world->shapes.count && result == KP_OK; ++s) {
    const kp_world_body *entry = &world->shapes.data[s];
    bool is_free = world->bodies->models.data[entry->body].kind == KP_BODY_FREE;
    kp_rigid_shape shape = { entry->shape, entry->body, is_free };
    result = kp_array_push(&shapes, shape);
  }
  kp_rigid *rigid = NULL;
  if (result == KP_OK) {
    result = kp_rigid_create(&world->env, &world->spec.rigid, shapes.data, shapes.count, &rigid);
  }
  kp_array_free(&shapes);
  KP_TRY(result);
  return add_system(world, &kp_rigid_method, rigid);
}

typedef KP_ARRAY(kp_liquid_def) liquid_defs;

static kp_result build_sph(kp_world *world, const liquid_defs *liquids) {
  kp_sph_setup setup = { .def = &world->spec.sph,
                         .liquids = liquids->data,
                         .n_liquids = liquids->count };
  kp_sph *sph = NULL;
  KP_TRY(kp_sph_create(&world->env, &setup, &sph));
  return add_system(world, &kp_sph_method, sph);
}

static kp_result build_springs(kp_world *world, const liquid_defs *liquids) {
  kp_springs *springs = NULL;
  KP_TRY(kp_springs_create(&world->env, &world->spec.springs, liquids->data, liquids->count,
                           &springs));
  return add_system(world, &kp_springs_method, springs);
}

static kp_result build_plasma(kp_world *world) {
  const kp_spec *spec = &world->spec;
  kp_plasma *plasma = NULL;
  if (spec->plasmas.count == 0) {
    return KP_OK;
  }
  KP_TRY(kp_plasma_create(&world->env, spec->plasmas.data, spec->plasmas.count, &plasma));
  return add_system(world, &kp_plasma_method, plasma);
}

typedef KP_ARRAY(kp_fire_def) fire_defs;

static kp_result build_particle_fires(kp_world *world, const fire_defs *fires) {
  kp_fire *fire = NULL;
  KP_TRY(kp_fire_create(&world->env, fires->data, fires->count, &fire));
  return add_system(world, &kp_fire_method, fire);
}

static kp_result build_vortex_fires(kp_world *world, const fire_defs *fires) {
  kp_vortex_fire *fire = NULL;
  KP_TRY(kp_vortex_fire_create(&world->env, &world->spec.vortex_fire, fires->data, fires->count,
                               &fire));
  return add_system(world, &kp_vortex_fire_method, fire);
}

// One builder per method of fires, in the order of kp_fire_kind; each gets its fires.
typedef kp_result (*fire_builder)(kp_world *world, const fire_defs *fires);
static const fire_builder fire_builders[] = {
  [KP_FIRE_PARTICLES] = build_particle_fires,
  [KP_FIRE_VORTEX] = build_vortex_fires,
};

static kp_result build_fires(kp_world *world, kp_fire_kind kind) {
  fire_defs fires = { 0 };
  kp_result result = KP_OK;
  for (size_t f = 0; f < world->spec.fires.count && result == KP_OK; ++f) {
    if (world->spec.fires.data[f].method == (int)kind) {
      result = kp_array_push(&fires, world->spec.fires.data[f]);
    }
  }
  if (result == KP_OK && fires.count > 0) {
    result = fire_builders[kind](world, &fires);
  }
  kp_array_free(&fires);
  return result;
}

static kp_result build_smoke(kp_world *world) {
  const kp_spec *spec = &world->spec;
  kp_smoke *smoke = NULL;
  if (spec->smokes.count == 0) {
    return KP_OK;
  }
  KP_TRY(kp_smoke_create(&world->env, &spec->grid, spec->smokes.data, spec->smokes.count, &smoke));
  return add_system(world, &kp_smoke_method, smoke);
}

typedef KP_ARRAY(kp_part *) part_list;

// Room for one more part; its maker frees what is in it when it fails.
static kp_result new_part(part_list *parts, kp_part **out) {
  *out = kp_alloc_zero(sizeof **out, KP_MEMORY_WORLD);
  kp_result result = *out != NULL ? kp_array_push(parts, *out) : KP_ERROR_MEMORY;
  if (result != KP_OK) {
    kp_free(*out);
  }
  return result;
}

static kp_result make_parts(const kp_spec *spec, const kp_env *env, part_list *parts) {
  kp_part *part;
  for (size_t i = 0; i < spec->cloths.count; ++i) {
    KP_TRY(new_part(parts, &part));
    KP_TRY(kp_cloth_make(&spec->cloths.data[i], spec->folder, part));
  }
  for (size_t i = 0; i < spec->softs.count; ++i) {
    KP_TRY(new_part(parts, &part));
    KP_TRY(kp_soft_make(&spec->softs.data[i], spec->folder, part));
  }
  for (size_t i = 0; i < spec->hairs.count; ++i) {
    KP_TRY(new_part(parts, &part));
    KP_TRY(kp_hair_make(&spec->hairs.data[i], env, part));
  }
  return KP_OK;
}

static kp_result build_deform(kp_world *world) {
  const kp_spec *spec = &world->spec;
  part_list parts = { 0 };
  kp_deform *deform = NULL;
  kp_result result = make_parts(spec, &world->env, &parts);
  if (result == KP_OK && parts.count > 0) {
    result = kp_deform_create(&world->env, &spec->solids, parts.data, parts.count, spec->pins.data,
                              spec->pins.count, &deform);
  }
  if (result == KP_OK && deform != NULL) {
    kp_fabric_defs fabric = { spec->immersions.data, spec->immersions.count, spec->limits.data,
                              spec->limits.count };
    result = kp_fabric_create(deform, &world->env, &fabric);
    if (result != KP_OK) {
      void *self = deform;
      kp_deform_method.destroy(&self);
    }
  }
  for (size_t p = 0; p < parts.count; ++p) {
    kp_part_free(parts.data[p]);
    kp_free(parts.data[p]);
  }
  kp_array_free(&parts);
  KP_TRY(result);
  return deform != NULL ? add_system(world, &kp_deform_method, deform) : KP_OK;
}

static kp_result build_stf(kp_world *world, const liquid_defs *liquids) {
  if (liquids->count > 1) {
    return kp_fail(KP_ERROR_SCENE,
                   "liquid \"%s\": a world can hold one liquid of method 'stf', and \"%s\" is it",
                   liquids->data[1].name, liquids->data[0].name);
  }
  kp_stf *stf = NULL;
  KP_TRY(kp_stf_create(&world->env, &world->spec.stf, &liquids->data[0], &stf));
  return add_system(world, &kp_stf_method, stf);
}

static kp_result build_mps(kp_world *world, const liquid_defs *liquids) {
  kp_mps_setup setup = { .def = &world->spec.mps,
                         .liquids = liquids->data,
                         .n_liquids = liquids->count };
  kp_mps *mps = NULL;
  KP_TRY(kp_mps_create(&world->env, &setup, &mps));
  return add_system(world, &kp_mps_method, mps);
}

static kp_result build_level_set(kp_world *world, const liquid_defs *liquids) {
  kp_pls_setup setup = { .def = &world->spec.level_set,
                         .grid = &world->spec.grid,
                         .liquids = liquids->data,
                         .n_liquids = liquids->count };
  kp_pls *pls = NULL;
  KP_TRY(kp_pls_create(&world->env, &setup, &pls));
  return add_system(world, &kp_pls_method, pls);
}

static kp_result build_flip(kp_world *world, const liquid_defs *liquids) {
  kp_flip_setup setup = { .def = &world->spec.flip,
                          .grid = &world->spec.grid,
                          .liquids = liquids->data,
                          .n_liquids = liquids->count };
  kp_flip *flip = NULL;
  KP_TRY(kp_flip_create(&world->env, &setup, &flip));
  return add_system(world, &kp_flip_method, flip);
}

static kp_result build_marker(kp_world *world, const liquid_defs *liquids) {
  if (liquids->count > 1) {
    return kp_fail(
        KP_ERROR_SCENE,
        "liquid \"%s\": a world can hold one liquid of method 'marker', and \"%s\" is it",
        liquids->data[1].name, liquids->data[0].name);
  }
  kp_marker_setup setup = { .def = &world->spec.marker,
                            .grid = &world->spec.grid,
                            .liquid = &liquids->data[0] };
  kp_marker *marker = NULL;
  KP_TRY(kp_marker_create(&world->env, &setup, &marker));
  return add_system(world, &kp_marker_method, marker);
}

// One builder per method of liquids, in the order of kp_liquid_method; each gets its liquids.
typedef kp_result (*liquid_builder)(kp_world *world, const liquid_defs *liquids);
static const liquid_builder liquid_builders[] = {
  [KP_LIQUID_SPH] = build_sph,
  [KP_LIQUID_SPRINGS] = build_springs,
  [KP_LIQUID_STF] = build_stf,
  [KP_LIQUID_MPS] = build_mps,
  [KP_LIQUID_LEVEL_SET] = build_level_set,
  [KP_LIQUID_FLIP] = build_flip,
  [KP_LIQUID_MARKER] = build_marker,
};

static kp_result build_liquids(kp_world *world, kp_liquid_method method) {
  liquid_defs liquids = { 0 };
  kp_result result = KP_OK;
  for (size_t l = 0; l < world->spec.liquids.count && result == KP_OK; ++l) {
    if (world->spec.liquids.data[l].method == (int)method) {
      result = kp_array_push(&liquids, world->spec.liquids.data[l]);
    }
  }
  if (result == KP_OK && liquids.count > 0) {
    result = liquid_builders[method](world, &liquids);
  }
  kp_array_free(&liquids);
  return result;
}

static kp_result build_grains(kp_world *world) {
  const kp_spec *spec = &world->spec;
  if (spec->grains.count == 0) {
    return KP_OK;
  }
  kp_grains *grains = NULL;
  KP_TRY(kp_grains_create(&world->env, &spec->dem, spec->grains.data, spec->grains.count, &grains));
  return add_system(world, &kp_grains_method, grains);
}

// Grains in liquids, where the world has both.
static kp_result build_fluid_grains(kp_world *world) {
  kp_sph *sph = kp_world_system(world, &kp_sph_method);
  kp_grains *grains = kp_world_system(world, &kp_grains_method);
  if (sph == NULL || grains == NULL) {
    return KP_OK;
  }
  kp_fluid_grains *coupling = NULL;
  KP_TRY(kp_fluid_grains_create(&world->env, sph, grains, &coupling));
  return add_system(world, &kp_fluid_grains_method, coupling);
}

// Liquids, grains and the bodies they push are strongly coupled: one group. Beside them a system
// that meets nobody is a group of its own, so that nobody waits for its short steps.
static void part_groups(kp_world *world) {
  bool has_coupled = false;
  for (size_t s = 0; s < world->systems.count; ++s) {
    const kp_system *system = &world->systems.data[s];
    bool counts = system->method->n_populations != NULL && !system->method->is_alone;
    has_coupled = has_coupled || (counts && system->method->n_populations(system->self) > 0);
  }
  world->n_groups = 1;
  for (size_t s = 0; s < world->systems.count && has_coupled; ++s) {
    kp_system *system = &world->systems.data[s];
    system->group = system->method->is_alone ? world->n_groups++ : 0;
  }
}

static kp_result build_clock(kp_world *world) {
  kp_field_desc numbers = { "numbers", KP_TYPE_F64, 3, "", KP_FIELD_SAVE, 0.0 };
  kp_field *field;
  KP_TRY(kp_registry_add_space(world->registry, "clock", KP_SPACE_GLOBAL, &world->clock));
  KP_TRY(kp_space_add_field(world->clock, &numbers, &field));
  return kp_space_append(world->clock, 1, NULL, 0);
}

// With numbers for methods that ask how long a step may be at most.
static kp_simulation_def simulation_of(const kp_spec *spec) {
  kp_simulation_def def = spec->simulation;
  def.dt_max = isnan(def.dt_max) ? KP_LONGEST_STEP : def.dt_max;
  return def;
}

kp_result kp_world_build_all(kp_world *world) {
  const kp_spec *spec = &world->spec;
  int dimension = (int)spec->domain.dimension;
  KP_TRY(build_clock(world));
  KP_TRY(kp_bodies_create(world->registry, &world->bodies));
  KP_TRY(kp_interface_create(world->registry, "walls", dimension, false, &world->walls));
  KP_TRY(kp_interface_create(world->registry, "movers", dimension, true, &world->movers));
  if (spec->forces.count > 0) {
    KP_TRY(kp_force_fields_create(world->backend, spec->forces.data, spec->forces.count, dimension,
                                  &world->fields));
  }
  // the user's force may have been set before
  kp_force_fn force = world->env.force;
  void *force_user = world->env.force_user;
  world->env = (kp_env){ .backend = world->backend,
                         .registry = world->registry,
                         .profile = &world->profile,
                         .domain = spec->domain,
                         .simulation = simulation_of(spec),
                         .scenery = { .emitters = spec->emitters.data,
                                      .n_emitters = spec->emitters.count,
                                      .sinks = spec->sinks.data,
                                      .n_sinks = spec->sinks.count,
                                      .sources = spec->sources.data,
                                      .n_sources = spec->sources.count,
                                      .vortices = spec->swarms.data,
                                      .n_vortices = spec->swarms.count,
                                      .winds = spec->winds.data,
                                      .n_winds = spec->winds.count,
                                      .folder = spec->folder },
                         .dimension = dimension,
                         .bodies = world->bodies,
                         .walls = world->walls,
                         .movers = world->movers,
                         .fields = world->fields,
                         .force = force,
                         .force_user = force_user };
  KP_TRY(build_bodies(world));
  KP_TRY(kp_world_loads_watch(world));
  KP_TRY(build_rigid(world));
  for (size_t m = 0; m < sizeof liquid_builders / sizeof liquid_builders[0]; ++m) {
    KP_TRY(build_liquids(world, (kp_liquid_method)m));
  }
  KP_TRY(build_plasma(world));
  for (size_t f = 0; f < sizeof fire_builders / sizeof fire_builders[0]; ++f) {
    KP_TRY(build_fires(world, (kp_fire_kind)f));
  }
  KP_TRY(build_smoke(world));
  KP_TRY(build_deform(world));
  KP_TRY(build_grains(world));
  KP_TRY(build_fluid_grains(world));
  KP_TRY(add_system(world, &kp_fluid_rigid, NULL));
  part_groups(world);
  KP_TRY(kp_world_loads_build(world));
  return kp_world_probes_build(world);
}
