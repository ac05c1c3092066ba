// Walls, bodies, the faces of the domain and the vibrating floor.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "data/call.h"
#include "methods/stf/stf.h"
#include "methods/stf/stf_kernels.h"
#include "par/kernel_define.h"

STF_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_NO_PAIR)

#define RAMP 0.1           // s: the floor begins and ends to shake gently
#define CONTACT_REACH 2.0  // of the samples around a particle, in spacings

// ---- create -------------------------------------------------------------------------------------

// A layer deep in the solid would draw the plane of the surface inwards: only samples half a
// spacing deep count, and none of the domain's faces, which are planes of their own.
static kp_result mark_outer(kp_stf_solids *solids, const kp_env *env) {
  kp_interface *samples = solids->samples;
  const kp_pos *x[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_buffer_host(&samples->set->position->buffers[c], KP_ACCESS_READ);
    if (x[c] == NULL) {
      return KP_ERROR_MEMORY;
    }
  }
  const kp_real *area = kp_buffer_host(&samples->area->buffers[0], KP_ACCESS_READ);
  kp_real *outer = kp_buffer_host(&solids->outer->buffers[0], KP_ACCESS_WRITE);
  if (area == NULL || outer == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (size_t r = 0; r < samples->ranges.count; ++r) {
    const kp_interface_range *range = &samples->ranges.data[r];
    bool domain = strcmp(env->bodies->models.data[range->body].name, "domain") == 0;
    double spacing = kp_interface_spacing(area + range->first, range->count, env->dimension);
    for (int64_t i = range->first; !domain && i < range->first + range->count; ++i) {
      kp_vec3 p = kp_vec3_make(x[0][i], x[1][i], x[2][i]);
      for (size_t s = 0; s < env->scenery.n_solids; ++s) {
        const kp_solid *solid = &env->scenery.solids[s];
        kp_vec3 local = kp_solid_local(solid, p);
        double depth = -kp_shape_distance(solid->shape, local);
        outer[i] = fabs(depth - 0.5 * spacing) < 0.3 * spacing ? (kp_real)1 : outer[i];
      }
    }
  }
  return KP_OK;
}

static kp_result create_rows(kp_stf *stf, kp_env *env, const char *word, kp_set *set,
                             kp_set *partners, kp_pair_rows **out) {
  char name[KP_NAME_SIZE];
  snprintf(name, sizeof name, "%.30s.%s", stf->medium.name, word);
  kp_pair_rows_def def = { .name = name, .set = set, .partners = partners };
  return kp_pair_rows_create(env->registry, &def, out);
}

static kp_result create_solids(kp_stf *stf, kp_env *env, int moving) {
  kp_stf_solids *solids = &stf->solids[moving];
  kp_interface *samples = moving ? env->movers : env->walls;
  if (samples == NULL || samples->set->space->n == 0) {
    return KP_OK;
  }
  solids->samples = samples;
  kp_field_desc outer = { "outermost", KP_TYPE_REAL, 1, "", 0, 0.0 };
  KP_TRY(kp_space_add_field(samples->set->space, &outer, &solids->outer));
  KP_TRY(mark_outer(solids, env));
  kp_field_desc impulse = {
    moving ? "hit_body" : "hit_wall", KP_TYPE_REAL, 3, "m/s", KP_FIELD_SORT, 0.0
  };
  kp_field_desc share = {
    moving ? "share_body" : "share_wall", KP_TYPE_REAL, 1, "", KP_FIELD_SORT, 0.0
  };
  kp_set *set = stf->medium.set;
  KP_TRY(kp_space_add_field(set->space, &impulse, &solids->impulse));
  KP_TRY(kp_space_add_field(set->space, &share, &solids->share));
  // samples lie half a spacing deep, and particles touch half of theirs away
  const kp_real *area = kp_buffer_host(&samples->area->buffers[0], KP_ACCESS_READ);
  if (area == NULL) {
    return KP_ERROR_MEMORY;
  }
  double spacing = kp_interface_spacing(area, samples->set->space->n, env->dimension);
  solids->gap = 0.5 * (stf->medium.spacing + spacing);
  double edge = CONTACT_REACH * stf->medium.spacing + stf->skin;
  KP_TRY(kp_cells_create(samples->set, edge, &solids->cells));
  KP_TRY(create_rows(stf, env, moving ? "bodies" : "walls", set, samples->set, &solids->touching));
  const char *touched = moving ? "touched" : "touched_walls";
  return samples->feels ? create_rows(stf, env, touched, samples->set, set, &solids->touched)
                        : KP_OK;
}

kp_result kp_stf_solids_create(kp_stf *stf, kp_env *env) {
  KP_TRY(create_solids(stf, env, 0));
  KP_TRY(create_solids(stf, env, 1));
  kp_field_desc push = { "push", KP_TYPE_REAL, 3, "m", KP_FIELD_SORT, 0.0 };
  KP_TRY(kp_space_add_field(stf->medium.set->space, &push, &stf->push));
  bool still = stf->def.vibration_amplitude == 0.0;
  stf->n_sources[0] = still ? 0 : (int)stf->def.vibration_sources;
  stf->n_sources[1] = still ? 0 : (env->dimension == 2 ? 1 : (int)stf->def.vibration_sources);
  return KP_OK;
}

void kp_stf_solids_free(kp_stf *stf) {
  for (int w = 0; w < 2; ++w) {
    kp_pair_rows_destroy(&stf->solids[w].touching);
    kp_pair_rows_destroy(&stf->solids[w].touched);
    kp_cells_destroy(&stf->solids[w].cells);
  }
  kp_buffer_free(&stf->heights);
  kp_buffer_free(&stf->speeds);
}

kp_result kp_stf_solids_load(kp_stf *stf) {
  for (int w = 0; w < 2; ++w) {
    kp_stf_solids *solids = &stf->solids[w];
    if (solids->touching != NULL) {
      KP_TRY(kp_pair_rows_loaded(solids->touching));
    }
    if (solids->touched != NULL) {
      KP_TRY(kp_pair_rows_loaded(solids->touched));
    }
  }
  return KP_OK;
}

// ---- space --------------------------------------------------------------------------------------

kp_result kp_stf_solids_build(kp_stf *stf, const kp_env *env) {
  (void)env;
  for (int w = 0; w < 2; ++w) {
    kp_stf_solids *solids = &stf->solids[w];
    if (solids->samples == NULL) {
      continue;
    }
    KP_TRY(kp_cells_build(solids->cells, NULL));
    kp_pair_rows_search search = { .cells = stf->medium.cells,
                                   .partner_cells = solids->cells,
                                   .radius = CONTACT_REACH * stf->medium.spacing + stf->skin };
    KP_TRY(kp_pair_rows_build(solids->touching, &search));
    if (solids->touched != NULL) {
      search.cells = solids->cells;
      search.partner_cells = stf->medium.cells;
      KP_TRY(kp_pair_rows_build(solids->touched, &search));
    }
  }
  return KP_OK;
}

// ---- contact ------------------------------------------------------------------------------------

// Three pointers of the samples' part of the arguments.
#define BIND_OF_SAMPLE(call, args, a, b, c, field)                                                 \
  (KP_BIND(call, args, s.a, &(field)->buffers[0], KP_ACCESS_READ),                                 \
   KP_BIND(call, args, s.b, &(field)->buffers[1], KP_ACCESS_READ),                                 \
   KP_BIND(call, args, s.c, &(field)->buffers[2], KP_ACCESS_READ))
#define BIND_SAMPLES(call, args, solids)                                                           \
  (BIND_OF_SAMPLE(call, args, x, y, z, (solids)->samples->set->position),                          \
   BIND_OF_SAMPLE(call, args, vx, vy, vz, (solids)->samples->set->velocity),                       \
   BIND_OF_SAMPLE(call, args, nx, ny, nz, (solids)->samples->normal),                              \
   KP_BIND(call, args, s.outer, &(solids)->outer->buffers[0], KP_ACCESS_READ))

static double inverse_reach2(const kp_stf *stf) {
  double h = CONTACT_REACH * stf->medium.spacing;
  return 1.0 / (h * h);
}

static kp_result touch(kp_stf *stf, kp_env *env, int moving) {
  kp_stf_solids *solids = &stf->solids[moving];
  kp_medium *medium = &stf->medium;
  stf_contact_args a = { .dt = (kp_real)env->dt,
                         .inverse2 = (kp_real)inverse_reach2(stf),
                         .gap = (kp_real)solids->gap,
                         .friction =
                             (kp_real)(moving ? stf->def.body_friction : env->domain.friction),
                         .stick = (kp_real)(moving ? 0.0 : stf->def.stick),
                         .full = (kp_real)stf->def.thickening };
  kp_call call;
  kp_call_init(&call, &stf_contact_kernel, &a);
  KP_STF_BIND_ROWS(&call, &a, solids->touching);
  BIND_SAMPLES(&call, &a, solids);
  KP_BIND3(&call, &a, , medium->set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, medium->set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, a, medium->integrate.acceleration, KP_ACCESS_READ);
  KP_BIND3(&call, &a, s, stf->shift, KP_ACCESS_READ);
  KP_BIND(&call, &a, stiffening, &stf->stiffening->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, j, solids->impulse, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, share, &solids->share->buffers[0], KP_ACCESS_OVERWRITE);
  KP_BIND3(&call, &a, p, stf->push, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, medium->set->space->n);
}

static kp_result react(kp_stf *stf, kp_env *env, kp_stf_solids *solids) {
  kp_medium *medium = &stf->medium;
  stf_react_args a = { .dt = (kp_real)env->dt,
                       .inverse2 = (kp_real)inverse_reach2(stf),
                       .mass_rate = (kp_real)(medium->mass / env->dt) };
  kp_call call;
  kp_call_init(&call, &stf_react_kernel, &a);
  KP_STF_BIND_ROWS(&call, &a, solids->touched);
  BIND_SAMPLES(&call, &a, solids);
  KP_BIND3(&call, &a, , medium->set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, s, stf->shift, KP_ACCESS_READ);
  KP_BIND3(&call, &a, j, solids->impulse, KP_ACCESS_READ);
  KP_BIND(&call, &a, share, &solids->share->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, f, solids->samples->force, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, solids->samples->set->space->n);
}

kp_result kp_stf_solids_pass(kp_stf *stf, kp_env *env) {
  for (int w = 0; w < 2; ++w) {
    if (stf->solids[w].samples != NULL) {
      KP_TRY(touch(stf, env, w));
    }
  }
  for (int w = 0; w < 2; ++w) {
    if (stf->solids[w].touched != NULL) {
      KP_TRY(react(stf, env, &stf->solids[w]));
    }
  }
  return KP_OK;
}

// ---- the floor ----------------------------------------------------------------------------------

// From 0 to 1 over RAMP seconds, with its rate.
static double ramp_at(double t, double *rate) {
  double u = fmin(fmax(t / RAMP, 0.0), 1.0);
  *rate = 6.0 * u * (1.0 - u) / RAMP;
  return u * u * (3.0 - 2.0 * u);
}

void kp_stf_source_at(const kp_stf_def *def, uint64_t seed, int64_t k, double time, double *height,
                      double *speed) {
  const double turn = 6.283185307179586;
  uint64_t id = (uint64_t)k;
  double phase = kp_rng_uniform(seed, KP_RNG_VIBRATION, id, 0);
  double t = time - def->vibration_start;
  double f = 0.0;
  uint64_t draw = 1;
  // phases of the intervals that are over, then of the one that runs
  while (t > 0.0 && time < def->vibration_stop + RAMP) {
    double u = kp_rng_uniform(seed, KP_RNG_VIBRATION, id, draw++);
    f = def->vibration_lowest + u * (def->vibration_highest - def->vibration_lowest);
    phase += f * fmin(t, def->vibration_redraw);
    t -= def->vibration_redraw;
  }
  double rate_up;
  double rate_down;
  double up = ramp_at(time - def->vibration_start, &rate_up);
  double down = 1.0 - ramp_at(time - def->vibration_stop, &rate_down);
  double wave = 1.0 + sin(turn * phase);
  *height = def->vibration_amplitude * up * down * wave;
  *speed = def->vibration_amplitude *
           ((rate_up * down - up * rate_down) * wave + up * down * turn * f * cos(turn * phase));
}

static kp_result move_floor(kp_stf *stf, kp_env *env) {
  int64_t n = (int64_t)stf->n_sources[0] * stf->n_sources[1];
  KP_TRY(kp_buffer_resize(&stf->heights, (size_t)n * sizeof(kp_real)));
  KP_TRY(kp_buffer_resize(&stf->speeds, (size_t)n * sizeof(kp_real)));
  stf->heights.type = stf->speeds.type = KP_TYPE_REAL;
  void *heights;
  void *speeds;
  KP_TRY(kp_buffer_get(&stf->heights, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, &heights));
  KP_TRY(kp_buffer_get(&stf->speeds, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, &speeds));
  for (int64_t k = 0; k < n; ++k) {
    double h;
    double v;
    kp_stf_source_at(&stf->def, (uint64_t)env->simulation.seed, k, env->time + env->dt, &h, &v);
    ((kp_real *)heights)[k] = (kp_real)h;
    ((kp_real *)speeds)[k] = (kp_real)v;
  }
  return KP_OK;
}

static stf_floor floor_of(const kp_stf *stf, const kp_env *env, int up) {
  stf_floor f = { 0 };
  const double lo[3] = { env->domain.min.x, env->domain.min.y, env->domain.min.z };
  const double hi[3] = { env->domain.max.x, env->domain.max.y, env->domain.max.z };
  int k = 0;
  for (int axis = 0; axis < 3 && k < 2; ++axis) {
    if (axis != up) {
      f.n[k] = stf->n_sources[k];
      f.axis[k] = axis;
      f.lo[k] = lo[axis];
      f.inverse[k] = hi[axis] > lo[axis] ? (double)f.n[k] / (hi[axis] - lo[axis]) : 0.0;
      ++k;
    }
  }
  return f;
}

kp_result kp_stf_finish(kp_stf *stf, kp_env *env) {
  kp_medium *medium = &stf->medium;
  int up = kp_env_up_axis(env);
  double gap = 0.5 * medium->spacing;
  stf_finish_args a = { .up = up,
                        .floor = floor_of(stf, env, up),
                        .dt = (kp_real)env->dt,
                        .tolerance = (kp_real)(0.02 * medium->spacing),
                        .restitution = (kp_real)env->domain.restitution,
                        .friction = (kp_real)env->domain.friction,
                        .stick = (kp_real)stf->def.stick,
                        .full = (kp_real)stf->def.thickening };
  for (int axis = 0; axis < 3; ++axis) {
    kp_faces faces = kp_env_faces(env, axis);
    a.lo[axis] = faces.lo + gap;
    a.hi[axis] = faces.hi - gap;
    a.closed_lo[axis] = faces.closed_lo;
    a.closed_hi[axis] = faces.closed_hi;
  }
  kp_call call;
  kp_call_init(&call, &stf_finish_kernel, &a);
  if (a.floor.n[0] > 0) {
    KP_TRY(move_floor(stf, env));
    KP_BIND(&call, &a, floor.height, &stf->heights, KP_ACCESS_READ);
    KP_BIND(&call, &a, floor.speed, &stf->speeds, KP_ACCESS_READ);
  }
  KP_BIND3(&call, &a, a, medium->integrate.acceleration, KP_ACCESS_READ);
  KP_BIND3(&call, &a, s, stf->shift, KP_ACCESS_READ);
  KP_BIND(&call, &a, stiffening, &stf->stiffening->buffers[0], KP_ACCESS_READ);
  if (stf->solids[0].samples != NULL) {
    KP_BIND3(&call, &a, j, stf->solids[0].impulse, KP_ACCESS_READ);
  }
  if (stf->solids[1].samples != NULL) {
    KP_BIND3(&call, &a, k, stf->solids[1].impulse, KP_ACCESS_READ);
  }
  if (stf->solids[0].samples != NULL || stf->solids[1].samples != NULL) {
    KP_BIND3(&call, &a, p, stf->push, KP_ACCESS_WRITE);
  }
  KP_BIND3(&call, &a, , medium->set->position, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, v, medium->set->velocity, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, medium->set->space->n);
}
