#include "methods/vortex_fire/vortex_fire.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/call.h"
#include "data/curve.h"
#include "par/kernel_define.h"

VORTON_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define CELL_MARGIN (1.0 + 1e-6)  // a pair at exactly the radius cannot fall between two cells
#define NEAR 1.5                  // cells, radius of the weight that counts vortons
#define CROWD_WEIGHT (315.0 / (16.0 * VORTON_FOUR_PI) / (NEAR * NEAR * NEAR))
#define ROOM_PER_BALL 62.5    // volume of a flame over the cube of its emitter's radius
#define SMALLEST_GRID 4096.0  // samples that any flame may have
#define RUNAWAY 100.0         // cells in one step
#define FOR_EACH_FLAME(fire, f)                                                                    \
  for (kp_vortex_flame *f = (fire)->flames.data, *end_ = f + (fire)->flames.count; f < end_; ++f)

// ---- state that is not per particle -------------------------------------------------------------

enum { STATE_VORTICITY, STATE_NEIGHBOURS, STATE_SPAN, STATE_N = STATE_SPAN + 6 };

static double *state_of(kp_vortex_flame *f, int component, kp_access access) {
  return kp_buffer_host(&kp_space_find(f->state, "numbers")->buffers[component], access);
}

static kp_result create_state(kp_vortex_flame *f, kp_registry *registry) {
  char name[KP_NAME_SIZE];
  kp_field_desc numbers = { "numbers", KP_TYPE_F64, STATE_N, "", KP_FIELD_SAVE, 0.0 };
  kp_field *field;
  snprintf(name, sizeof name, "%.36s.vortices", f->flame.def.name);
  KP_TRY(kp_registry_add_space(registry, name, KP_SPACE_GLOBAL, &f->state));
  KP_TRY(kp_space_add_field(f->state, &numbers, &field));
  return kp_space_append(f->state, 1, NULL, 0);
}

static void store(kp_vortex_flame *f) {
  *state_of(f, STATE_VORTICITY, KP_ACCESS_WRITE) = f->max_vorticity;
  *state_of(f, STATE_NEIGHBOURS, KP_ACCESS_WRITE) = f->max_neighbours;
  for (int c = 0; c < 6; ++c) {
    *state_of(f, STATE_SPAN + c, KP_ACCESS_WRITE) = (double)f->span[c];
  }
}

static kp_result vortex_fire_loaded(void *self) {
  kp_vortex_fire *fire = self;
  FOR_EACH_FLAME(fire, f) {
    KP_TRY(kp_flame_loaded(&f->flame));
    f->max_vorticity = *state_of(f, STATE_VORTICITY, KP_ACCESS_READ);
    f->max_neighbours = *state_of(f, STATE_NEIGHBOURS, KP_ACCESS_READ);
    for (int c = 0; c < 6; ++c) {
      f->span[c] = (int32_t)*state_of(f, STATE_SPAN + c, KP_ACCESS_READ);
    }
  }
  return KP_OK;
}

// ---- set-up -------------------------------------------------------------------------------------

static kp_result add_fields(kp_vortex_flame *f) {
  kp_space *space = f->flame.medium.set->space;
  uint32_t kept = KP_FIELD_STATE;
  uint32_t shown = KP_FIELD_STATE | KP_FIELD_EXPORT;
  kp_field_desc vorticity = { "vorticity", KP_TYPE_REAL, 3, "1/s", shown, 0.0 };
  kp_field_desc rise = { "rise", KP_TYPE_REAL, 3, "m/s", kept, 0.0 };
  kp_field_desc target = { "target", KP_TYPE_REAL, 3, "m/s", kept, 0.0 };
  kp_field_desc density = { "density", KP_TYPE_REAL, 1, "", shown, 0.0 };
  kp_field_desc exchanged = { "exchanged", KP_TYPE_REAL, 3, "1/s", 0, 0.0 };
  kp_field_desc neighbours = { "neighbours", KP_TYPE_REAL, 1, "", 0, 0.0 };
  KP_TRY(kp_space_add_field(space, &vorticity, &f->vorticity));
  KP_TRY(kp_space_add_field(space, &rise, &f->rise));
  KP_TRY(kp_space_add_field(space, &target, &f->target));
  KP_TRY(kp_space_add_field(space, &density, &f->density));
  KP_TRY(kp_space_add_field(space, &exchanged, &f->exchanged));
  return kp_space_add_field(space, &neighbours, &f->neighbours);
}

static kp_result check_world(const kp_fire_def *def, const kp_env *env) {
  if (env->dimension != 3) {
    return kp_fail(KP_ERROR_SCENE,
                   "fire \"%s\": method 'vortex' is three-dimensional; in the plane a vortex can "
                   "neither stretch nor tilt",
                   def->name);
  }
  for (int axis = 0; axis < 3; ++axis) {
    if (kp_env_faces(env, axis).periodic) {
      return kp_fail(KP_ERROR_SCENE,
                     "fire \"%s\": method 'vortex' does not go with periodic boundaries",
                     def->name);
    }
  }
  return KP_OK;
}

// About as many cells as vortons in the room of a flame over such an emitter (section 6.4.1).
static double cell_of(const kp_fire_def *def) {
  double radius = def->radius;
  if (def->emitter == KP_FIRE_BLOCK) {
    radius = 0.5 * fmax(def->size.x, fmax(def->size.y, def->size.z));
  }
  return radius * cbrt(ROOM_PER_BALL / (double)def->particles);
}

static kp_result reset_newborn(kp_vortex_flame *f, kp_env *env) {
  kp_set *set = f->flame.medium.set;
  vorton_reset_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &vorton_reset_kernel, &a);
  KP_BIND(&call, &a, born, &f->flame.born->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, set->velocity, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, t, f->target, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, b, f->rise, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, w, f->vorticity, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, set->space->n);
}

static kp_result setup_flame(kp_vortex_fire *fire, kp_vortex_flame *f, kp_env *env,
                             const kp_fire_def *def) {
  KP_TRY(check_world(def, env));
  f->cell = isnan(fire->def.cell) ? cell_of(def) : fire->def.cell;
  f->core = 0.5 * f->cell;
  f->volume = isnan(fire->def.volume) ? f->cell * f->cell * f->cell : fire->def.volume;
  KP_TRY(kp_flame_create(&f->flame, env, def, KP_INTEGRATOR_COUNT));
  KP_TRY(add_fields(f));
  KP_TRY(reset_newborn(f, env));
  KP_TRY(create_state(f, env->registry));
  KP_TRY(kp_medium_grid(&f->flame.medium, env, f->cell * CELL_MARGIN, f->cell));
  return kp_vorton_grid_create(&f->grid, env->backend, f->cell);
}

// Distances of the solids that are no spheres, as fine as the finest flame needs them.
static kp_result bake_solids(kp_vortex_fire *fire, kp_env *env) {
  double cell = HUGE_VAL;
  FOR_EACH_FLAME(fire, f) {
    cell = fmin(cell, f->cell);
  }
  for (size_t s = 0; s < env->scenery.n_solids; ++s) {
    const kp_solid *solid = &env->scenery.solids[s];
    KP_TRY(kp_array_push(&fire->solids, ((kp_distance_grid){ 0 })));
    if (solid->shape->def.kind != KP_SHAPE_SPHERE) {
      kp_distance_grid *baked = &fire->solids.data[s];
      kp_aabb room = { kp_vec3_sub(env->domain.min, solid->origin),
                       kp_vec3_sub(env->domain.max, solid->origin) };
      KP_TRY(
          kp_distance_grid_bake(baked, env->backend, solid->shape, 0.5 * cell, 2.0 * cell, &room));
    }
  }
  return KP_OK;
}

static void vortex_fire_destroy(void **self) {
  kp_vortex_fire *fire = *self;
  if (fire == NULL) {
    return;
  }
  FOR_EACH_FLAME(fire, f) {
    kp_stream_destroy(&f->stream);
    kp_vorton_grid_free(&f->grid);
    kp_flame_free(&f->flame);
  }
  for (size_t s = 0; s < fire->solids.count; ++s) {
    if (fire->solids.data[s].values.backend != NULL) {
      kp_distance_grid_free(&fire->solids.data[s]);
    }
  }
  kp_array_free(&fire->solids);
  kp_array_free(&fire->flames);
  kp_free(fire);
  *self = NULL;
}

static kp_result setup(kp_vortex_fire *fire, kp_env *env, const kp_fire_def *fires, size_t n) {
  KP_TRY(kp_array_reserve(&fire->flames, n));
  for (size_t i = 0; i < n; ++i) {
    kp_vortex_flame *f = &fire->flames.data[fire->flames.count++];
    *f = (kp_vortex_flame){ 0 };
    KP_TRY(setup_flame(fire, f, env, &fires[i]));
  }
  return bake_solids(fire, env);
}

kp_result kp_vortex_fire_create(kp_env *env, const kp_vortex_fire_def *def,
                                const kp_fire_def *fires, size_t n, kp_vortex_fire **out) {
  kp_vortex_fire *fire = kp_alloc_zero(sizeof *fire, KP_MEMORY_WORLD);
  if (fire == NULL) {
    return KP_ERROR_MEMORY;
  }
  fire->def = *def;
  kp_result result = setup(fire, env, fires, n);
  if (result != KP_OK) {
    void *self = fire;
    vortex_fire_destroy(&self);
    return result;
  }
  *out = fire;
  return KP_OK;
}

// ---- the velocity grid --------------------------------------------------------------------------

static void put(double out[3], kp_vec3 v) {
  out[0] = v.x;
  out[1] = v.y;
  out[2] = v.z;
}

// A stray vorton must not cost all memory: the face of the box that is farthest from the emitter is
// drawn in towards it until the grid is small enough, and who is left outside is born again at the
// end of the step.
static void cut_box(kp_vortex_flame *f, const kp_env *env, double most, kp_aabb *box) {
  double lo[3];
  double hi[3];
  double at[3];
  const int32_t none[6] = { 0 };
  int32_t span[6];
  put(lo, box->min);
  put(hi, box->max);
  kp_curve_at(&f->flame.def.position, env->time, at, NULL);
  while (kp_vorton_grid_span(f->cell, box, none, span) > most) {
    double *farthest = &lo[0];
    double way = -HUGE_VAL;
    double middle = 0.0;
    for (int c = 0; c < 3; ++c) {
      double inside = fmin(fmax(at[c], lo[c]), hi[c]);
      double down = inside - lo[c];
      double up = hi[c] - inside;
      if (fmax(down, up) > way) {
        way = fmax(down, up);
        farthest = up > down ? &hi[c] : &lo[c];
        middle = inside;
      }
    }
    *farthest = middle + 0.8 * (*farthest - middle);
    *box = (kp_aabb){ { lo[0], lo[1], lo[2] }, { hi[0], hi[1], hi[2] } };
  }
  f->flame.room = *box;
}

static kp_result fit_grid(kp_vortex_fire *fire, kp_vortex_flame *f, kp_env *env) {
  double most = fmax(fire->def.grid_limit * (double)f->flame.def.particles, SMALLEST_GRID);
  kp_aabb box = f->flame.medium.cells->bounds;
  const int32_t none[6] = { 0 };
  int32_t span[6];
  f->flame.room =
      (kp_aabb){ { -HUGE_VAL, -HUGE_VAL, -HUGE_VAL }, { HUGE_VAL, HUGE_VAL, HUGE_VAL } };
  if (kp_vorton_grid_span(f->cell, &box, none, span) > most) {
    cut_box(f, env, most, &box);
  }
  bool grows = fire->def.grid == KP_VORTEX_GROW;
  if (kp_vorton_grid_span(f->cell, &box, grows ? f->span : none, span) > most) {
    kp_vorton_grid_span(f->cell, &box, none, span);  // a grid that may not grow any more
  }
  memcpy(f->span, span, sizeof span);
  return kp_vorton_grid_fit(&f->grid, span);
}

static kp_result run_induce(kp_vortex_fire *fire, kp_vortex_flame *f, kp_env *env) {
  const kp_vortex_fire_def *def = &fire->def;
  kp_vorton_grid *grid = &f->grid;
  const vorton_grid *g = &grid->shape;
  double near = NEAR * f->cell;
  double radius = fmax(def->reach * f->cell, near);
  if (def->gather == KP_VORTEX_GLOBAL) {
    radius = f->cell * sqrt((double)g->n[0] * g->n[0] + (double)g->n[1] * g->n[1] +
                            (double)g->n[2] * g->n[2]);
  }
  double reach = def->gather == KP_VORTEX_GLOBAL ? 2.0 * radius : def->reach * f->cell;
  vorton_induce_args a = {
    .core2 = (kp_real)(f->core * f->core),
    .reach2 = (kp_real)(reach * reach),
    .strength = (kp_real)(f->volume / VORTON_FOUR_PI),
    .inverse_near2 = (kp_real)(1.0 / (near * near)),
    .weight = (kp_real)CROWD_WEIGHT,
  };
  kp_call call;
  kp_pair_job job;
  kp_call_init(&call, &vorton_induce_kernel, &a);
  KP_BIND3(&call, &a, j_w, f->vorticity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, grid->nodes->velocity, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, density, &grid->density->buffers[0], KP_ACCESS_OVERWRITE);
  KP_TRY(kp_pair_job_make(grid->cells, f->flame.medium.cells, radius, &job));
  return kp_call_pairs(env->backend, &call, &job);
}

// Vortex-in-cell: vorticity to the edges of cells, its stream function, velocity from that.
static kp_result run_stream(kp_vortex_flame *f, kp_env *env) {
  kp_vorton_grid *grid = &f->grid;
  double near = NEAR * f->cell;
  if (f->stream == NULL) {
    KP_TRY(kp_stream_create(env->backend, &f->stream));
  }
  KP_TRY(kp_stream_fit(f->stream, grid->shape.n));
  vorton_spread_args a = {
    .inverse_cell = (kp_real)(1.0 / f->cell),
    .strength = (kp_real)(f->volume / f->cell),
    .inverse_near2 = (kp_real)(1.0 / (near * near)),
    .weight = (kp_real)CROWD_WEIGHT,
  };
  kp_call call;
  kp_pair_job job;
  kp_call_init(&call, &vorton_spread_kernel, &a);
  KP_BIND3(&call, &a, j_w, f->vorticity, KP_ACCESS_READ);
  KP_BIND(&call, &a, x, kp_stream_vorticity(f->stream, 0), KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, y, kp_stream_vorticity(f->stream, 1), KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, z, kp_stream_vorticity(f->stream, 2), KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, density, &grid->density->buffers[0], KP_ACCESS_OVERWRITE);
  KP_TRY(kp_pair_job_make(grid->cells, f->flame.medium.cells, VORTON_SPREAD_REACH * f->cell, &job));
  KP_TRY(kp_call_pairs(env->backend, &call, &job));
  kp_field *velocity = grid->nodes->velocity;
  kp_buffer *out[3] = { &velocity->buffers[0], &velocity->buffers[1], &velocity->buffers[2] };
  KP_TRY(kp_stream_solve(f->stream, f->cell, &f->solved));
  return kp_stream_center(f->stream, out);
}

static kp_result run_slopes(kp_vortex_fire *fire, kp_vortex_flame *f, kp_env *env) {
  kp_vorton_grid *grid = &f->grid;
  kp_vec3 g = env->simulation.gravity;
  vorton_slope_args a = { .grid = grid->shape,
                          .beta = fire->def.lightness,
                          .g = { g.x, g.y, g.z } };
  kp_call call;
  kp_call_init(&call, &vorton_slope_kernel, &a);
  KP_BIND3(&call, &a, v, grid->nodes->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, density, &grid->density->buffers[0], KP_ACCESS_READ);
  for (int c = 0; c < 9; ++c) {
    KP_BIND(&call, &a, j[c], &grid->slopes->buffers[c], KP_ACCESS_OVERWRITE);
  }
  for (int c = 0; c < 3; ++c) {
    KP_BIND(&call, &a, torque[c], &grid->torque->buffers[c], KP_ACCESS_OVERWRITE);
  }
  return kp_call_run(env->backend, &call, grid->nodes->space->n);
}

kp_result kp_vortex_fire_induce(kp_vortex_fire *fire, kp_vortex_flame *f, kp_env *env) {
  KP_TRY(kp_medium_space(&f->flame.medium, env));
  KP_TRY(fit_grid(fire, f, env));
  KP_TRY(fire->def.gather == KP_VORTEX_IN_CELL ? run_stream(f, env) : run_induce(fire, f, env));
  return run_slopes(fire, f, env);
}

// ---- vorticity ----------------------------------------------------------------------------------

static kp_result stretch(kp_vortex_fire *fire, kp_vortex_flame *f, kp_env *env) {
  kp_vorton_grid *grid = &f->grid;
  kp_set *set = f->flame.medium.set;
  vorton_stretch_args a = { .grid = grid->shape,
                            .dt = env->dt,
                            .factor = fire->def.stretching,
                            .limit = fire->def.limit,
                            .is_transposed = fire->def.scheme == KP_VORTEX_STRETCH_TRANSPOSE };
  kp_call call;
  kp_call_init(&call, &vorton_stretch_kernel, &a);
  KP_BIND3(&call, &a, , set->position, KP_ACCESS_READ);
  for (int c = 0; c < 9; ++c) {
    KP_BIND(&call, &a, j[c], &grid->slopes->buffers[c], KP_ACCESS_READ);
  }
  for (int c = 0; c < 3; ++c) {
    KP_BIND(&call, &a, torque[c], &grid->torque->buffers[c], KP_ACCESS_READ);
  }
  KP_BIND3(&call, &a, w, f->vorticity, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, set->space->n);
}

kp_result kp_vortex_fire_exchange(kp_vortex_fire *fire, kp_vortex_flame *f, kp_env *env) {
  double radius = fire->def.exchange_radius * f->cell;
  vorton_exchange_args a = { .radius2 = (kp_real)(radius * radius),
                             .share = (kp_real)(fire->def.exchange * env->dt) };
  kp_call call;
  kp_pair_job job;
  kp_call_init(&call, &vorton_exchange_kernel, &a);
  KP_BIND3(&call, &a, w, f->vorticity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_w, f->vorticity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, o, f->exchanged, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, neighbours, &f->neighbours->buffers[0], KP_ACCESS_OVERWRITE);
  KP_TRY(kp_pair_job_make(f->flame.medium.cells, f->flame.medium.cells, radius, &job));
  KP_TRY(kp_call_pairs(env->backend, &call, &job));
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_buffer_copy(&f->vorticity->buffers[c], &f->exchanged->buffers[c]));
  }
  return KP_OK;
}

// ---- motion -------------------------------------------------------------------------------------

// What an acceleration A sin(2 pi t/T) brings about, without drift.
static void set_wind(const kp_flame *flame, const kp_env *env, double wind[3]) {
  double strength = kp_flame_wind_strength(flame, env->time);
  for (int axis = 0; axis < 3; ++axis) {
    double period = kp_flame_wind_period(flame, env, axis);
    double turn = period > 0.0 ? KP_SAMPLER_TURN / period : 0.0;
    wind[axis] = turn > 0.0 ? -strength / turn * cos(turn * flame->wind_time) : 0.0;
  }
}

// Force fields and the user's force push the part of the velocity that is the vorton's own.
static kp_result outer_forces(kp_vortex_flame *f, kp_env *env) {
  kp_medium *medium = &f->flame.medium;
  vorton_calm_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &vorton_calm_kernel, &a);
  KP_BIND3(&call, &a, a, medium->integrate.acceleration, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(env->backend, &call, medium->set->space->n));
  return kp_medium_outer_forces(medium, env);
}

static kp_result advect(kp_vortex_fire *fire, kp_vortex_flame *f, kp_env *env) {
  kp_vorton_grid *grid = &f->grid;
  kp_set *set = f->flame.medium.set;
  vorton_advect_args a = { .grid = grid->shape,
                           .dt = env->dt,
                           .share = -expm1(-fire->def.rise_rate * env->dt),
                           .is_midpoint = fire->def.advection == KP_VORTEX_MIDPOINT };
  set_wind(&f->flame, env, a.wind);
  kp_call call;
  kp_call_init(&call, &vorton_advect_kernel, &a);
  KP_BIND3(&call, &a, u, grid->nodes->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, crowd, &grid->density->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, t, f->target, KP_ACCESS_READ);
  if (env->fields != NULL || env->force != NULL) {
    KP_TRY(outer_forces(f, env));
    KP_BIND3(&call, &a, a, f->flame.medium.integrate.acceleration, KP_ACCESS_READ);
  }
  KP_BIND3(&call, &a, b, f->rise, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, density, &f->density->buffers[0], KP_ACCESS_OVERWRITE);
  KP_BIND3(&call, &a, v, set->velocity, KP_ACCESS_OVERWRITE);
  KP_BIND3(&call, &a, , set->position, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, set->space->n);
}

static vorton_solid solid_now(const kp_solid *solid, const kp_distance_grid *baked,
                              const kp_env *env) {
  const kp_body *model = &env->bodies->models.data[solid->body];
  kp_frame3 frame = kp_bodies_frame(env->bodies, solid->body);
  kp_quat turn = frame.orientation;
  vorton_solid s = { .is_sphere = solid->shape->def.kind == KP_SHAPE_SPHERE,
                     .is_inverted = solid->shape->def.invert,
                     .radius = solid->shape->def.radius,
                     .baked = baked->view };
  put(s.origin, kp_vec3_sub(frame.position, kp_quat_rotate(turn, model->center)));
  for (int c = 0; c < 3; ++c) {
    kp_vec3 axis = kp_quat_rotate(turn, kp_vec3_make(c == 0, c == 1, c == 2));
    s.turn[c] = axis.x;
    s.turn[3 + c] = axis.y;
    s.turn[6 + c] = axis.z;
  }
  put(s.pivot, frame.position);
  put(s.velocity, frame.velocity);
  put(s.spin, frame.angular_velocity);
  put(s.slide, kp_quat_rotate(turn, env->bodies->slides.data[solid->body]));
  put(s.center, solid->shape->def.center);
  return s;
}

static kp_result touch(kp_vortex_fire *fire, kp_vortex_flame *f, kp_env *env, size_t solid) {
  kp_distance_grid *baked = &fire->solids.data[solid];
  kp_vorton_grid *grid = &f->grid;
  kp_set *set = f->flame.medium.set;
  vorton_touch_args a = { .grid = grid->shape,
                          .solid = solid_now(&env->scenery.solids[solid], baked, env),
                          .core = f->core,
                          .felt = fire->def.gather == KP_VORTEX_IN_CELL
                                      ? KP_VORTON_IN_CELL_CORE * f->cell
                                      : f->core,
                          .volume = f->volume,
                          .share = -expm1(-fire->def.shedding * env->dt),
                          .limit = fire->def.limit };
  set_wind(&f->flame, env, a.wind);
  kp_call call;
  kp_call_init(&call, &vorton_touch_kernel, &a);
  KP_BIND3(&call, &a, u, grid->nodes->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, solid.baked.values, a.solid.is_sphere ? NULL : &baked->values, KP_ACCESS_READ);
  KP_BIND3(&call, &a, w, f->vorticity, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, b, f->rise, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, v, set->velocity, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, , set->position, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, set->space->n);
}

static kp_result color(kp_vortex_fire *fire, kp_vortex_flame *f, kp_env *env) {
  const kp_fire_def *def = &f->flame.def;
  vorton_color_args a = { .bright = fire->def.bright };
  put(a.rim, def->color_rim);
  put(a.core, kp_vec3_add(def->color, def->color_spread));
  kp_call call;
  kp_call_init(&call, &vorton_color_kernel, &a);
  KP_BIND(&call, &a, density, &f->density->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, red, &f->flame.color->buffers[0], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, green, &f->flame.color->buffers[1], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, blue, &f->flame.color->buffers[2], KP_ACCESS_OVERWRITE);
  return kp_call_run(env->backend, &call, f->flame.medium.set->space->n);
}

// ---- stages -------------------------------------------------------------------------------------

// Schemes of several evaluations are others': here the first one does it all.
static bool takes_part(const kp_vortex_flame *f, const kp_env *env) {
  return env->evaluation == 0 && f->flame.medium.set->space->n > 0;
}

static kp_result vortex_fire_population(void *self, kp_env *env) {
  kp_vortex_fire *fire = self;
  FOR_EACH_FLAME(fire, f) {
    KP_TRY(kp_flame_population(&f->flame, env));
  }
  return KP_OK;
}

static kp_result vortex_fire_prepare(void *self, kp_env *env) {
  kp_vortex_fire *fire = self;
  FOR_EACH_FLAME(fire, f) {
    if (takes_part(f, env)) {
      KP_TRY(kp_vortex_fire_induce(fire, f, env));
    }
  }
  return KP_OK;
}

static kp_result vortex_fire_forces(void *self, kp_env *env) {
  kp_vortex_fire *fire = self;
  FOR_EACH_FLAME(fire, f) {
    if (!takes_part(f, env)) {
      continue;
    }
    KP_TRY(stretch(fire, f, env));
    if (fire->def.exchange > 0.0) {
      KP_TRY(kp_vortex_fire_exchange(fire, f, env));
    }
  }
  return KP_OK;
}

static kp_result vortex_fire_predict(void *self, kp_env *env) {
  kp_vortex_fire *fire = self;
  FOR_EACH_FLAME(fire, f) {
    if (takes_part(f, env)) {
      KP_TRY(advect(fire, f, env));
    }
  }
  return KP_OK;
}

static kp_result vortex_fire_correct(void *self, kp_env *env) {
  kp_vortex_fire *fire = self;
  FOR_EACH_FLAME(fire, f) {
    if (f->flame.medium.set->space->n == 0) {
      continue;
    }
    for (size_t s = 0; s < env->scenery.n_solids; ++s) {
      KP_TRY(touch(fire, f, env, s));
    }
    if (fire->def.coloring == KP_VORTEX_DENSITY) {
      KP_TRY(color(fire, f, env));
    }
    KP_TRY(kp_flame_age(&f->flame, env, env->dt, false));
    KP_TRY(reset_newborn(f, env));
    kp_flame_wind_blow(&f->flame, env);
  }
  return KP_OK;
}

static kp_result vortex_fire_check(void *self, kp_env *env) {
  kp_vortex_fire *fire = self;
  FOR_EACH_FLAME(fire, f) {
    double most[2];
    vorton_most_args a = { 0 };
    kp_call call;
    KP_TRY(kp_flame_check(&f->flame, env, RUNAWAY * f->cell));
    kp_call_init(&call, &vorton_most_kernel, &a);
    KP_BIND3(&call, &a, w, f->vorticity, KP_ACCESS_READ);
    KP_BIND(&call, &a, neighbours, &f->neighbours->buffers[0], KP_ACCESS_READ);
    KP_TRY(kp_call_reduce(env->backend, &call, f->flame.medium.set->space->n, most));
    f->max_vorticity = sqrt(fmax(most[0], 0.0));
    f->max_neighbours = fmax(most[1], 0.0);
    store(f);
  }
  return KP_OK;
}

// Not more than a share of a cell, not more than a turn of one radian, and no more vorticity given
// away than there is.
static double vortex_fire_max_dt(void *self, kp_env *env) {
  kp_vortex_fire *fire = self;
  double dt = HUGE_VAL;
  FOR_EACH_FLAME(fire, f) {
    const kp_fire_def *def = &f->flame.def;
    double speed = fmax(f->flame.medium.max_speed,
                        kp_vec3_length(kp_vec3_add(def->velocity, def->velocity_spread)));
    double given = 2.0 * fire->def.exchange * f->max_neighbours;
    dt = fmin(dt, kp_flame_max_dt(&f->flame, env));
    dt = speed > 0.0 ? fmin(dt, fire->def.cfl * f->cell / speed) : dt;
    dt = f->max_vorticity > 0.0 ? fmin(dt, 1.0 / f->max_vorticity) : dt;
    dt = given > 0.0 ? fmin(dt, 1.0 / given) : dt;
  }
  return dt;
}

static int vortex_fire_n_populations(const void *self) {
  return (int)((const kp_vortex_fire *)self)->flames.count;
}

static kp_result vortex_fire_stats(void *self, kp_env *env, int population,
                                   kp_population_stats *out) {
  kp_vortex_fire *fire = self;
  return kp_flame_stats(&fire->flames.data[population].flame, env, out);
}

const kp_method kp_vortex_fire_method = {
  .name = "vortex_fire",
  .text = "Flames of vortex particles that turn each other.",
  .is_alone = true,
  .stages = { [KP_STAGE_POPULATION] = vortex_fire_population,
              [KP_STAGE_PREPARE] = vortex_fire_prepare,
              [KP_STAGE_FORCES] = vortex_fire_forces,
              [KP_STAGE_PREDICT] = vortex_fire_predict,
              [KP_STAGE_CORRECT] = vortex_fire_correct,
              [KP_STAGE_CHECK] = vortex_fire_check },
  .max_dt = vortex_fire_max_dt,
  .n_populations = vortex_fire_n_populations,
  .stats = vortex_fire_stats,
  .loaded = vortex_fire_loaded,
  .destroy = vortex_fire_destroy,
};
