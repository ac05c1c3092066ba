#include "methods/common/medium.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "data/call.h"
#include "data/curve.h"
#include "geom/sampler.h"
#include "methods/common/force_field.h"
#include "methods/common/medium_kernels.h"
#include "par/kernel_define.h"

MEDIUM_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

// ---- state that is not per particle -------------------------------------------------------------

enum { STATE_SPEED, STATE_ACCELERATION, STATE_ERROR, STATE_DT, STATE_KNOWN, STATE_N };

static const kp_field_desc state_fields[] = {
  { "numbers", KP_TYPE_F64, STATE_N, "", KP_FIELD_SAVE, 0.0 },
  { "lowest", KP_TYPE_F64, 3, "m", KP_FIELD_SAVE, 0.0 },
  { "highest", KP_TYPE_F64, 3, "m", KP_FIELD_SAVE, 0.0 },
  { "next_id", KP_TYPE_U64, 1, "", KP_FIELD_SAVE, 0.0 },
};

static const kp_field_desc emitter_fields[] = {
  { "travelled", KP_TYPE_F64, 1, "m", KP_FIELD_SAVE, 0.0 },
  { "count", KP_TYPE_U64, 1, "", KP_FIELD_SAVE, 0.0 },
  { "until", KP_TYPE_F64, 1, "s", KP_FIELD_SAVE, 0.0 },
};

static kp_result create_state(kp_medium *medium, kp_registry *registry) {
  char name[KP_NAME_SIZE];
  snprintf(name, sizeof name, "%.36s.state", medium->name);
  KP_TRY(kp_registry_add_space(registry, name, KP_SPACE_GLOBAL, &medium->state));
  KP_TRY(kp_space_add_fields(medium->state, state_fields, 4));
  KP_TRY(kp_space_append(medium->state, 1, NULL, 0));
  snprintf(name, sizeof name, "%.36s.emitters", medium->name);
  KP_TRY(kp_registry_add_space(registry, name, KP_SPACE_GLOBAL, &medium->emitter_state));
  // the last of them only where something pours
  size_t n_fields = medium->emitters.count > 0 ? 3 : 2;
  KP_TRY(kp_space_add_fields(medium->emitter_state, emitter_fields, n_fields));
  return kp_space_append(medium->emitter_state, (int64_t)medium->emitters.count, NULL, 0);
}

static void *host_of(kp_space *space, const char *field, int component, kp_access access) {
  return kp_buffer_host(&kp_space_find(space, field)->buffers[component], access);
}

kp_result kp_medium_store(kp_medium *medium) {
  const double numbers[STATE_N] = { medium->max_speed, medium->max_acceleration,
                                    medium->max_density_error, medium->integrate.dt_last,
                                    medium->bounds_known ? 1.0 : 0.0 };
  const kp_aabb *b = &medium->bounds;
  const double lo[3] = { b->min.x, b->min.y, b->min.z };
  const double hi[3] = { b->max.x, b->max.y, b->max.z };
  for (int c = 0; c < STATE_N; ++c) {
    *(double *)host_of(medium->state, "numbers", c, KP_ACCESS_WRITE) = numbers[c];
  }
  for (int c = 0; c < 3; ++c) {
    *(double *)host_of(medium->state, "lowest", c, KP_ACCESS_WRITE) = lo[c];
    *(double *)host_of(medium->state, "highest", c, KP_ACCESS_WRITE) = hi[c];
  }
  *(uint64_t *)host_of(medium->state, "next_id", 0, KP_ACCESS_WRITE) = medium->set->next_id;
  for (size_t e = 0; e < medium->emitters.count; ++e) {
    const kp_emitter *emitter = &medium->emitters.data[e];
    kp_space *space = medium->emitter_state;
    ((double *)host_of(space, "travelled", 0, KP_ACCESS_WRITE))[e] = emitter->travelled;
    ((double *)host_of(space, "until", 0, KP_ACCESS_WRITE))[e] = emitter->until;
    ((uint64_t *)host_of(space, "count", 0, KP_ACCESS_WRITE))[e] = (uint64_t)emitter->count;
  }
  return KP_OK;
}

kp_result kp_medium_loaded(kp_medium *medium) {
  double numbers[STATE_N];
  double lo[3];
  double hi[3];
  for (int c = 0; c < STATE_N; ++c) {
    numbers[c] = *(double *)host_of(medium->state, "numbers", c, KP_ACCESS_READ);
  }
  for (int c = 0; c < 3; ++c) {
    lo[c] = *(double *)host_of(medium->state, "lowest", c, KP_ACCESS_READ);
    hi[c] = *(double *)host_of(medium->state, "highest", c, KP_ACCESS_READ);
  }
  medium->max_speed = numbers[STATE_SPEED];
  medium->max_acceleration = numbers[STATE_ACCELERATION];
  medium->max_density_error = numbers[STATE_ERROR];
  medium->integrate.dt_last = numbers[STATE_DT];
  medium->bounds_known = numbers[STATE_KNOWN] != 0.0;
  medium->bounds = (kp_aabb){ { lo[0], lo[1], lo[2] }, { hi[0], hi[1], hi[2] } };
  medium->set->next_id = *(uint64_t *)host_of(medium->state, "next_id", 0, KP_ACCESS_READ);
  for (size_t e = 0; e < medium->emitters.count; ++e) {
    kp_emitter *emitter = &medium->emitters.data[e];
    kp_space *space = medium->emitter_state;
    emitter->travelled = ((double *)host_of(space, "travelled", 0, KP_ACCESS_READ))[e];
    emitter->until = ((double *)host_of(space, "until", 0, KP_ACCESS_READ))[e];
    emitter->count = (int64_t)((uint64_t *)host_of(space, "count", 0, KP_ACCESS_READ))[e];
  }
  return KP_OK;
}

// ---- life ---------------------------------------------------------------------------------------

static kp_result take_emitters(kp_medium *medium, const kp_env *env, bool is_granular) {
  const kp_scenery *scenery = &env->scenery;
  for (size_t e = 0; e < scenery->n_emitters; ++e) {
    if (strcmp(scenery->emitters[e].into, medium->name) == 0) {
      kp_emitter empty = { 0 };
      KP_TRY(kp_array_push(&medium->emitters, empty));
      KP_TRY(kp_emitter_create(&medium->emitters.data[medium->emitters.count - 1], env,
                               &scenery->emitters[e], medium->spacing, is_granular));
    }
  }
  return KP_OK;
}

kp_result kp_medium_create(kp_medium *medium, kp_env *env, const kp_medium_def *def) {
  *medium = (kp_medium){ .spacing = def->spacing,
                         .jitter = def->jitter,
                         .velocity = def->velocity,
                         .velocity_at = def->velocity_at,
                         .integrates = def->integrator != KP_INTEGRATOR_COUNT,
                         .max_speed = kp_vec_lattice_longest(&def->velocity_at, def->velocity) };
  kp_text_copy(medium->word, sizeof medium->word, def->word);
  kp_text_copy(medium->name, sizeof medium->name, def->name);
  kp_buffer_init(&medium->keep, env->backend);
  KP_TRY(kp_regions_of_sinks(&medium->sinks, env, 0.5 * medium->spacing));
  KP_TRY(take_emitters(medium, env, def->is_granular));
  KP_TRY(kp_set_create(env->registry, def->name, KP_SET_FREE, env->dimension, &medium->set));
  // a method that moves its particles by itself still has the acceleration field, for outer forces
  int kind = medium->integrates ? def->integrator : KP_INTEGRATOR_SYMPLECTIC;
  KP_TRY(kp_integrate_create(&medium->integrate, medium->set, kind));
  KP_TRY(create_state(medium, env->registry));
  return kp_medium_store(medium);
}

void kp_medium_free(kp_medium *medium) {
  kp_cells_destroy(&medium->ghost_cells);
  kp_ghosts_destroy(&medium->ghosts);
  kp_cells_destroy(&medium->cells);
  kp_buffer_free(&medium->keep);
  for (size_t e = 0; e < medium->emitters.count; ++e) {
    kp_emitter_free(&medium->emitters.data[e]);
  }
  kp_array_free(&medium->emitters);
  kp_regions_free(&medium->sinks);
  kp_set_destroy(&medium->set);
}

// ---- filling ------------------------------------------------------------------------------------

// Signed distance to the nearest solid, negative inside.
static double distance_to_solids(const kp_scenery *scenery, kp_vec3 p) {
  double nearest = HUGE_VAL;
  for (size_t s = 0; s < scenery->n_solids; ++s) {
    const kp_solid *solid = &scenery->solids[s];
    kp_vec3 local = kp_solid_local(solid, p);
    nearest = fmin(nearest, kp_shape_distance(solid->shape, local));
  }
  return nearest;
}

static bool in_domain(const kp_domain_def *domain, int dimension, kp_vec3 p) {
  bool flat =
      p.x > domain->min.x && p.x < domain->max.x && p.y > domain->min.y && p.y < domain->max.y;
  return flat && (dimension == 2 || (p.z > domain->min.z && p.z < domain->max.z));
}

// Drop the points outside the domain and in or against solids; in place, order kept.
static void trim(const kp_medium *medium, const kp_env *env, kp_points *points) {
  size_t kept = 0;
  size_t outside = 0;
  size_t buried = 0;
  for (size_t i = 0; i < points->count; ++i) {
    kp_vec3 p = points->data[i];
    double distance = distance_to_solids(&env->scenery, p);
    if (!in_domain(&env->domain, env->dimension, p)) {
      outside += 1;
    } else if (distance < 0.4999 * medium->spacing) {  // a lattice laid against a solid stays whole
      buried += distance < 0.0 ? 1 : 0;
    } else {
      points->data[kept++] = p;
    }
  }
  points->count = kept;
  if (outside > 0) {
    kp_log(KP_LOG_WARN, "world", "%s \"%s\": %zu particles outside the domain were left out",
           medium->word, medium->name, outside);
  }
  if (buried > 0) {
    kp_log(KP_LOG_WARN, "world", "%s \"%s\": %zu particles inside solids were left out",
           medium->word, medium->name, buried);
  }
}

kp_result kp_medium_add(kp_medium *medium, int64_t n, const kp_vec3 *positions,
                        const kp_vec3 *velocities) {
  kp_points start = { 0 };
  kp_result result = KP_OK;
  if (velocities == NULL) {
    result = kp_array_resize(&start, (size_t)n);
    for (int64_t i = 0; result == KP_OK && i < n; ++i) {
      start.data[i] = kp_vec_lattice_at(&medium->velocity_at, medium->velocity, positions[i]);
    }
    velocities = start.data;
  }
  if (result == KP_OK) {
    result = kp_set_add(medium->set, n, positions, velocities);
  }
  kp_array_free(&start);
  medium->bounds_known = false;
  return result;
}

kp_result kp_medium_fill(kp_medium *medium, kp_env *env, const kp_shape_def *def) {
  kp_points points = { 0 };
  kp_shape *shape = NULL;
  kp_result result = KP_OK;
  KP_TRY(kp_shape_build(def, env->scenery.folder, &shape));
  if (env->dimension == 2) {
    KP_TRY_GOTO(result, kp_shape_flatten(shape), done);
  }
  kp_fill_def how = kp_default_fill_def(medium->spacing);
  how.jitter = medium->jitter;
  how.seed = (uint64_t)env->simulation.seed;
  how.clip = (kp_aabb){ env->domain.min, env->domain.max };
  if (kp_shape_is_bounded(shape)) {
    how.clip = kp_shape_bounds(shape);
  }
  KP_TRY_GOTO(result, kp_sampler_fill(shape, &how, &points), done);
  trim(medium, env, &points);
  if (points.count == 0) {
    result = kp_fail(KP_ERROR_SCENE, "%s \"%s\": its shape holds no particle of spacing %g m",
                     medium->word, medium->name, medium->spacing);
    goto done;
  }
  KP_TRY_GOTO(result, kp_medium_add(medium, (int64_t)points.count, points.data, NULL), done);
  result = kp_medium_store(medium);
done:
  kp_array_free(&points);
  kp_shape_destroy(&shape);
  return result;
}

kp_result kp_medium_grid(kp_medium *medium, kp_env *env, double edge, double reach) {
  const kp_domain_def *d = &env->domain;
  KP_TRY(kp_cells_create(medium->set, edge, &medium->cells));
  kp_ghosts_def def = { .box = { d->min, d->max }, .width = reach };
  bool any = false;
  for (int axis = 0; axis < 3; ++axis) {
    def.periodic[axis] = kp_env_faces(env, axis).periodic;
    any = any || def.periodic[axis];
  }
  if (!any) {
    return KP_OK;
  }
  char name[KP_NAME_SIZE];
  snprintf(name, sizeof name, "%.30s.images", medium->name);
  KP_TRY(kp_ghosts_create(env->registry, name, medium->set, &def, &medium->ghosts));
  return kp_cells_create(medium->ghosts->set, edge, &medium->ghost_cells);
}

// ---- stages -------------------------------------------------------------------------------------

// Another medium of the world may have a scheme of more stages: in the later ones this one has
// arrived, and only says what acts on it there.
static bool is_on_its_way(const kp_medium *medium, const kp_env *env) {
  return env->evaluation < kp_integrate_stages(&medium->integrate);
}

kp_result kp_medium_begin(kp_medium *medium, kp_env *env) {
  if (is_on_its_way(medium, env)) {
    KP_TRY(kp_integrate_begin(&medium->integrate, env->evaluation, env->dt));
  }
  // a multi-stage step moves particles before the sort: last step's bounds no longer hold
  medium->bounds_known = medium->bounds_known && env->evaluation == 0 &&
                         medium->integrate.kind != KP_INTEGRATOR_VELOCITY_VERLET;
  return KP_OK;
}

kp_result kp_medium_space(kp_medium *medium, kp_env *env) {
  (void)env;
  if (medium->ghosts != NULL) {
    KP_TRY(kp_ghosts_wrap(medium->ghosts));
    medium->bounds_known = false;
  }
  KP_TRY(kp_cells_build(medium->cells, medium->bounds_known ? &medium->bounds : NULL));
  if (medium->ghosts != NULL) {
    KP_TRY(kp_ghosts_update(medium->ghosts));
    KP_TRY(kp_cells_build(medium->ghost_cells, NULL));
  }
  return KP_OK;
}

static kp_result add_user_force(kp_medium *medium, kp_env *env) {
  kp_set *set = medium->set;
  kp_field *acceleration = medium->integrate.acceleration;
  kp_force_view view = {
    .set = set->space->name,
    .n = set->space->n,
    .time = env->time,
    .x = kp_buffer_host(&set->position->buffers[0], KP_ACCESS_READ),
    .y = kp_buffer_host(&set->position->buffers[1], KP_ACCESS_READ),
    .z = kp_buffer_host(&set->position->buffers[2], KP_ACCESS_READ),
    .vx = kp_buffer_host(&set->velocity->buffers[0], KP_ACCESS_READ),
    .vy = kp_buffer_host(&set->velocity->buffers[1], KP_ACCESS_READ),
    .vz = kp_buffer_host(&set->velocity->buffers[2], KP_ACCESS_READ),
    .ax = kp_buffer_host(&acceleration->buffers[0], KP_ACCESS_WRITE),
    .ay = kp_buffer_host(&acceleration->buffers[1], KP_ACCESS_WRITE),
    .az = kp_buffer_host(&acceleration->buffers[2], KP_ACCESS_WRITE),
  };
  if (view.n > 0 && (view.x == NULL || view.vx == NULL || view.ax == NULL)) {
    return KP_ERROR_MEMORY;
  }
  env->force(&view, env->force_user);
  return KP_OK;
}

kp_result kp_medium_outer_forces(kp_medium *medium, kp_env *env) {
  if (env->fields != NULL) {
    KP_TRY(kp_force_fields_add(env->fields, env, medium->set, medium->integrate.acceleration));
  }
  return env->force != NULL ? add_user_force(medium, env) : KP_OK;
}

kp_result kp_medium_end(kp_medium *medium, kp_env *env) {
  return is_on_its_way(medium, env) ? kp_integrate_end(&medium->integrate, env->evaluation, env->dt)
                                    : KP_OK;
}

kp_result kp_medium_domain(kp_medium *medium, kp_env *env) {
  medium_domain_args a = { .restitution = (kp_real)env->domain.restitution,
                           .keep = (kp_real)(1.0 - env->domain.friction) };
  bool any = false;
  for (int axis = 0; axis < 3; ++axis) {
    kp_faces faces = kp_env_faces(env, axis);
    a.lo[axis] = faces.lo;
    a.hi[axis] = faces.hi;
    a.closed_lo[axis] = faces.closed_lo;
    a.closed_hi[axis] = faces.closed_hi;
    any = any || faces.closed_lo;
  }
  if (!any) {
    return KP_OK;
  }
  kp_call call;
  kp_call_init(&call, &medium_domain_kernel, &a);
  KP_BIND3(&call, &a, , medium->set->position, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, v, medium->set->velocity, KP_ACCESS_WRITE);
  if (medium->integrate.fresh != NULL) {
    KP_BIND(&call, &a, fresh, &medium->integrate.fresh->buffers[0], KP_ACCESS_WRITE);
  }
  return kp_call_run(env->backend, &call, medium->set->space->n);
}

// ---- reports ------------------------------------------------------------------------------------

kp_result kp_medium_check(kp_medium *medium, kp_env *env, double longest) {
  double runaway = longest / fmax(env->dt, 1e-30);
  medium_report_args a = { .rest_density = medium->rest_density, .runaway2 = runaway * runaway };
  for (int axis = 0; axis < 3; ++axis) {
    kp_faces faces = kp_env_faces(env, axis);
    a.lo[axis] = faces.closed_lo ? faces.lo : -HUGE_VAL;
    a.hi[axis] = faces.closed_hi ? faces.hi : HUGE_VAL;
  }
  kp_call call;
  kp_call_init(&call, &medium_report_kernel, &a);
  KP_BIND3(&call, &a, , medium->set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, medium->set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, a, medium->integrate.acceleration, KP_ACCESS_READ);
  if (medium->density != NULL) {
    KP_BIND(&call, &a, density, &medium->density->buffers[0], KP_ACCESS_READ);
  }
  double v[11];
  KP_TRY(kp_call_reduce(env->backend, &call, medium->set->space->n, v));
  bool empty = medium->set->space->n == 0;
  medium->max_speed = empty ? 0.0 : sqrt(v[0]);
  medium->max_acceleration = empty ? 0.0 : sqrt(v[1]);
  medium->max_density_error = empty ? 0.0 : v[10];
  medium->bounds = (kp_aabb){ { v[4], v[5], v[6] }, { v[7], v[8], v[9] } };
  medium->bounds_known = !empty && v[2] == 0.0;
  env->report.n_bad += (int64_t)v[2];
  env->report.n_escaped += (int64_t)v[3];
  env->report.n_particles += medium->set->space->n;
  env->report.max_speed = fmax(env->report.max_speed, medium->max_speed);
  env->report.max_acceleration = fmax(env->report.max_acceleration, medium->max_acceleration);
  return kp_medium_store(medium);
}

// Before the first sub-step nobody has looked yet.
static void find_bounds(kp_medium *medium) {
  int64_t n = medium->set->space->n;
  double lo[3] = { HUGE_VAL, HUGE_VAL, HUGE_VAL };
  double hi[3] = { -HUGE_VAL, -HUGE_VAL, -HUGE_VAL };
  for (int c = 0; c < 3; ++c) {
    const kp_pos *x = kp_buffer_host(&medium->set->position->buffers[c], KP_ACCESS_READ);
    for (int64_t i = 0; x != NULL && i < n; ++i) {
      lo[c] = fmin(lo[c], (double)x[i]);
      hi[c] = fmax(hi[c], (double)x[i]);
    }
  }
  medium->bounds = (kp_aabb){ { lo[0], lo[1], lo[2] }, { hi[0], hi[1], hi[2] } };
}

kp_result kp_medium_stats(kp_medium *medium, kp_env *env, kp_population_stats *out) {
  if (!medium->bounds_known) {
    find_bounds(medium);
  }
  kp_vec3 g = env->simulation.gravity;
  medium_stats_args a = { .gx = g.x, .gy = g.y, .gz = g.z, .mass = medium->mass };
  kp_call call;
  kp_call_init(&call, &medium_stats_kernel, &a);
  KP_BIND3(&call, &a, , medium->set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, medium->set->velocity, KP_ACCESS_READ);
  if (medium->mass_field != NULL) {
    KP_BIND(&call, &a, mass_of, &medium->mass_field->buffers[0], KP_ACCESS_READ);
  }
  double v[6];
  KP_TRY(kp_call_reduce(env->backend, &call, medium->set->space->n, v));
  *out = (kp_population_stats){
    .count = medium->set->space->n,
    .mass = v[0],
    .momentum = kp_vec3_make(v[1], v[2], v[3]),
    .kinetic_energy = v[4],
    .potential_energy = v[5],
    .internal_energy = NAN,
    .memory_gain = NAN,
    .memory_share = NAN,
    .bounds = medium->bounds,
    .max_speed = medium->max_speed,
    .max_density_error = medium->max_density_error,
  };
  memcpy(out->name, medium->set->space->name, sizeof out->name);
  return KP_OK;
}

// ---- limits -------------------------------------------------------------------------------------

static double fastest_jet(const kp_medium *medium) {
  double speed = 0.0;
  for (size_t e = 0; e < medium->emitters.count; ++e) {
    speed = fmax(speed, kp_emitter_fastest(&medium->emitters.data[e]));
  }
  return speed;
}

// Of what slides without moving.
static double fastest_surface(const kp_bodies *bodies) {
  double speed = 0.0;
  for (size_t b = 0; b < bodies->models.count; ++b) {
    speed = fmax(speed, kp_vec3_length(bodies->slides.data[b]));
  }
  return speed;
}

double kp_medium_expected_speed(kp_medium *medium, kp_env *env) {
  int up = kp_env_up_axis(env);
  const double floor[3] = { env->domain.min.x, env->domain.min.y, env->domain.min.z };
  const double lid[3] = { env->domain.max.x, env->domain.max.y, env->domain.max.z };
  const kp_pos *x = kp_buffer_host(&medium->set->position->buffers[up], KP_ACCESS_READ);
  int64_t n = medium->set->space->n;
  double top = n > 0 ? -HUGE_VAL : lid[up];
  for (int64_t i = 0; i < n; ++i) {
    top = fmax(top, (double)x[i]);
  }
  double height = fmax(top - floor[up], medium->spacing);
  double speed = sqrt(2.0 * kp_vec3_length(env->simulation.gravity) * height);
  speed = fmax(speed, kp_vec_lattice_longest(&medium->velocity_at, medium->velocity));
  speed = fmax(speed, fastest_jet(medium));
  speed = fmax(speed, env->fields != NULL ? kp_force_fields_speed(env->fields, &env->domain) : 0.0);
  speed = fmax(speed, fastest_surface(env->bodies));
  return speed > 0.0 ? speed : 1.0;
}

double kp_medium_fastest_body(const kp_env *env) {
  double fastest = fastest_surface(env->bodies);
  for (kp_index b = 0; b < (kp_index)env->bodies->models.count; ++b) {
    kp_frame3 frame = kp_bodies_frame(env->bodies, b);
    fastest = fmax(fastest, kp_vec3_length(frame.velocity));
  }
  return fastest;
}
