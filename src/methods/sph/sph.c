#include "methods/sph/sph.h"

#include <math.h>
#include <string.h>

#include "data/call.h"
#include "methods/sph/sph_kernels.h"
#include "par/kernel_define.h"

SPH_POINT_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE)

static const kp_smooth_kind density_kernel[KP_SPH_KERNEL_COUNT] = {
  KP_SMOOTH_POLY6, KP_SMOOTH_CUBIC, KP_SMOOTH_WENDLAND, KP_SMOOTH_SPIKY, KP_SMOOTH_POLY6
};
static const kp_smooth_kind gradient_kernel[KP_SPH_KERNEL_COUNT] = {
  KP_SMOOTH_SPIKY, KP_SMOOTH_CUBIC, KP_SMOOTH_WENDLAND, KP_SMOOTH_SPIKY, KP_SMOOTH_POLY6
};

// ---- state that is not per particle -------------------------------------------------------------

enum {
  STATE_SPEED,
  STATE_ACCELERATION,
  STATE_ERROR,
  STATE_DT,
  STATE_KNOWN,
  STATE_HAS_DENSITY,
  STATE_N = 6
};

static const kp_field_desc state_fields[] = {
  { "numbers", KP_TYPE_F64, STATE_N, "", KP_FIELD_SAVE, 0.0 },
  { "lowest", KP_TYPE_F64, 3, "m", KP_FIELD_SAVE, 0.0 },
  { "highest", KP_TYPE_F64, 3, "m", KP_FIELD_SAVE, 0.0 },
  { "next_id", KP_TYPE_U64, 1, "", KP_FIELD_SAVE, 0.0 },
};

static const kp_field_desc emitter_fields[] = {
  { "travelled", KP_TYPE_F64, 1, "m", KP_FIELD_SAVE, 0.0 },
  { "count", KP_TYPE_U64, 1, "", KP_FIELD_SAVE, 0.0 },
};

static kp_result create_state(kp_sph *sph, kp_registry *registry) {
  KP_TRY(kp_registry_add_space(registry, "sph", KP_SPACE_GLOBAL, &sph->state));
  KP_TRY(kp_space_add_fields(sph->state, state_fields, 4));
  KP_TRY(kp_space_append(sph->state, (int64_t)sph->fluids.count, NULL, 0));
  KP_TRY(kp_registry_add_space(registry, "sph_emitters", KP_SPACE_GLOBAL, &sph->emitter_state));
  KP_TRY(kp_space_add_fields(sph->emitter_state, emitter_fields, 2));
  return kp_space_append(sph->emitter_state, (int64_t)sph->emitters.count, NULL, 0);
}

static void *host_of(kp_space *space, const char *field, int component, kp_access access) {
  return kp_buffer_host(&kp_space_find(space, field)->buffers[component], access);
}

kp_result kp_sph_store_state(kp_sph *sph) {
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    const kp_sph_fluid *fluid = &sph->fluids.data[f];
    const double numbers[STATE_N] = {
      fluid->max_speed,         fluid->max_acceleration,         fluid->max_density_error,
      fluid->integrate.dt_last, fluid->bounds_known ? 1.0 : 0.0, sph->has_density ? 1.0 : 0.0
    };
    const double lo[3] = { fluid->bounds.min.x, fluid->bounds.min.y, fluid->bounds.min.z };
    const double hi[3] = { fluid->bounds.max.x, fluid->bounds.max.y, fluid->bounds.max.z };
    for (int c = 0; c < STATE_N; ++c) {
      ((double *)host_of(sph->state, "numbers", c, KP_ACCESS_WRITE))[f] = numbers[c];
    }
    for (int c = 0; c < 3; ++c) {
      ((double *)host_of(sph->state, "lowest", c, KP_ACCESS_WRITE))[f] = lo[c];
      ((double *)host_of(sph->state, "highest", c, KP_ACCESS_WRITE))[f] = hi[c];
    }
    ((uint64_t *)host_of(sph->state, "next_id", 0, KP_ACCESS_WRITE))[f] = fluid->set->next_id;
  }
  for (size_t e = 0; e < sph->emitters.count; ++e) {
    const kp_sph_emitter *emitter = &sph->emitters.data[e];
    ((double *)host_of(sph->emitter_state, "travelled", 0, KP_ACCESS_WRITE))[e] =
        emitter->travelled;
    ((uint64_t *)host_of(sph->emitter_state, "count", 0, KP_ACCESS_WRITE))[e] =
        (uint64_t)emitter->count;
  }
  return KP_OK;
}

kp_result kp_sph_load_state(void *self) {
  kp_sph *sph = self;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_fluid *fluid = &sph->fluids.data[f];
    double numbers[STATE_N];
    double lo[3];
    double hi[3];
    for (int c = 0; c < STATE_N; ++c) {
      numbers[c] = ((double *)host_of(sph->state, "numbers", c, KP_ACCESS_READ))[f];
    }
    for (int c = 0; c < 3; ++c) {
      lo[c] = ((double *)host_of(sph->state, "lowest", c, KP_ACCESS_READ))[f];
      hi[c] = ((double *)host_of(sph->state, "highest", c, KP_ACCESS_READ))[f];
    }
    fluid->max_speed = numbers[STATE_SPEED];
    fluid->max_acceleration = numbers[STATE_ACCELERATION];
    fluid->max_density_error = numbers[STATE_ERROR];
    fluid->integrate.dt_last = numbers[STATE_DT];
    fluid->bounds_known = numbers[STATE_KNOWN] != 0.0;
    sph->has_density = numbers[STATE_HAS_DENSITY] != 0.0;
    fluid->bounds = (kp_aabb){ { lo[0], lo[1], lo[2] }, { hi[0], hi[1], hi[2] } };
    fluid->set->next_id = ((uint64_t *)host_of(sph->state, "next_id", 0, KP_ACCESS_READ))[f];
  }
  for (size_t e = 0; e < sph->emitters.count; ++e) {
    kp_sph_emitter *emitter = &sph->emitters.data[e];
    emitter->travelled = ((double *)host_of(sph->emitter_state, "travelled", 0, KP_ACCESS_READ))[e];
    emitter->count =
        (int64_t)((uint64_t *)host_of(sph->emitter_state, "count", 0, KP_ACCESS_READ))[e];
  }
  return KP_OK;
}

// ---- life ---------------------------------------------------------------------------------------

static void sph_destroy(void **self) {
  kp_sph *sph = *self;
  if (sph == NULL) {
    return;
  }
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_fluid *fluid = &sph->fluids.data[f];
    kp_cells_destroy(&fluid->ghost_cells);
    kp_ghosts_destroy(&fluid->ghosts);
    kp_cells_destroy(&fluid->cells);
    kp_buffer_free(&fluid->keep);
    kp_set_destroy(&fluid->set);
  }
  for (int w = 0; w < 2; ++w) {
    kp_cells_destroy(&sph->walls[w].cells);
  }
  kp_array_free(&sph->fluids);
  kp_array_free(&sph->emitters);
  kp_array_free(&sph->sinks);
  kp_free(sph);
  *self = NULL;
}

static kp_result check_def(const kp_sph_def *def) {
  bool continuity = def->density == 1;
  bool known = def->kernel == KP_SPH_CUBIC || def->kernel == KP_SPH_WENDLAND;
  if (continuity && !known) {
    return kp_fail(KP_ERROR_SCENE, "sph: density 'continuity' needs kernel 'cubic' or 'wendland'");
  }
  if (continuity && (def->integrator == KP_INTEGRATOR_RK4 || def->fused)) {
    return kp_fail(KP_ERROR_SCENE, "sph: density 'continuity' does not go with %s",
                   def->fused ? "'fused'" : "integrator 'rk4'");
  }
  if (def->fused && def->viscosity_model != SPH_VISCOSITY_LAPLACIAN) {
    return kp_fail(KP_ERROR_SCENE, "sph: 'fused' needs viscosity_model 'laplacian'");
  }
  return KP_OK;
}

kp_result kp_sph_create(kp_env *env, const kp_sph_setup *setup, kp_sph **out) {
  KP_TRY(check_def(setup->def));
  kp_sph *sph = kp_alloc_zero(sizeof *sph, KP_MEMORY_WORLD);
  if (sph == NULL) {
    return KP_ERROR_MEMORY;
  }
  sph->def = *setup->def;
  for (size_t l = 0; l < setup->n_liquids; ++l) {
    sph->spacing = fmax(sph->spacing, setup->liquids[l].spacing);
  }
  sph->support = sph->def.support * sph->spacing;
  sph->w_kind = density_kernel[sph->def.kernel];
  sph->g_kind = gradient_kernel[sph->def.kernel];
  sph->w = kp_smooth_make(sph->w_kind, sph->support, env->dimension);
  sph->g = kp_smooth_make(sph->g_kind, sph->support, env->dimension);
  kp_result result = kp_sph_setup_fluids(sph, env, setup);
  if (result == KP_OK) {
    result = kp_sph_setup_walls(sph, env);
  }
  if (result == KP_OK) {
    result = create_state(sph, env->registry);
  }
  if (result == KP_OK) {
    result = kp_sph_store_state(sph);
  }
  if (result != KP_OK) {
    void *self = sph;
    sph_destroy(&self);
    return result;
  }
  *out = sph;
  return KP_OK;
}

// ---- stages -------------------------------------------------------------------------------------

static int sph_evaluations(const void *self) {
  const kp_sph *sph = self;
  return sph->fluids.count > 0 ? kp_integrate_stages(&sph->fluids.data[0].integrate) : 1;
}

static kp_result advance_density(kp_sph_fluid *fluid, kp_field *base, double dt, double dt_last) {
  kp_backend *backend = fluid->set->space->backend;
  sph_advance_density_args a = { .dt = (kp_real)dt,
                                 .ahead = (kp_real)(dt_last > 0.0 ? dt / dt_last : 0.0),
                                 .floor = (kp_real)(0.1 * fluid->def.rest_density) };
  kp_call call;
  kp_call_init(&call, &sph_advance_density_kernel, &a);
  KP_BIND(&call, &a, base, &base->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, rate, &fluid->rate->buffers[0], KP_ACCESS_READ);
  if (fluid->rate_last != NULL) {
    KP_BIND(&call, &a, last, &fluid->rate_last->buffers[0], KP_ACCESS_WRITE);
  }
  KP_BIND(&call, &a, density, &fluid->density->buffers[0], KP_ACCESS_WRITE);
  return kp_call_run(backend, &call, fluid->set->space->n);
}

static kp_result sph_begin(void *self, kp_env *env) {
  kp_sph *sph = self;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_fluid *fluid = &sph->fluids.data[f];
    KP_TRY(kp_integrate_begin(&fluid->integrate, env->evaluation, env->dt));
    // a multi-stage step moves particles before the sort: last step's bounds no longer hold
    fluid->bounds_known = fluid->bounds_known && env->evaluation == 0 &&
                          sph->def.integrator != KP_INTEGRATOR_VELOCITY_VERLET;
    if (fluid->density_start != NULL && env->evaluation == 0) {
      KP_TRY(kp_buffer_copy(&fluid->density_start->buffers[0], &fluid->density->buffers[0]));
    } else if (fluid->density_start != NULL) {
      KP_TRY(advance_density(fluid, fluid->density_start, 0.5 * env->dt, 0.0));
    }
  }
  return KP_OK;
}

static kp_result sph_space(void *self, kp_env *env) {
  (void)env;
  kp_sph *sph = self;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_fluid *fluid = &sph->fluids.data[f];
    if (fluid->ghosts != NULL) {
      KP_TRY(kp_ghosts_wrap(fluid->ghosts));
      fluid->bounds_known = false;
    }
    KP_TRY(kp_cells_build(fluid->cells, fluid->bounds_known ? &fluid->bounds : NULL));
    if (fluid->ghosts != NULL) {
      KP_TRY(kp_ghosts_update(fluid->ghosts));
      KP_TRY(kp_cells_build(fluid->ghost_cells, NULL));
    }
  }
  if (sph->walls[1].cells != NULL) {
    KP_TRY(kp_cells_build(sph->walls[1].cells, NULL));
  }
  return KP_OK;
}

static kp_result apply_domain(kp_sph_fluid *fluid, kp_env *env) {
  sph_domain_args a = { .restitution = (kp_real)env->domain.restitution,
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
  kp_call_init(&call, &sph_domain_kernel, &a);
  KP_BIND3(&call, &a, , fluid->set->position, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, v, fluid->set->velocity, KP_ACCESS_WRITE);
  if (fluid->integrate.fresh != NULL) {
    KP_BIND(&call, &a, fresh, &fluid->integrate.fresh->buffers[0], KP_ACCESS_WRITE);
  }
  return kp_call_run(env->backend, &call, fluid->set->space->n);
}

static kp_result sph_predict(void *self, kp_env *env) {
  kp_sph *sph = self;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_fluid *fluid = &sph->fluids.data[f];
    double dt_last = fluid->integrate.dt_last;
    KP_TRY(kp_integrate_end(&fluid->integrate, env->evaluation, env->dt));
    bool last = env->evaluation + 1 == kp_integrate_stages(&fluid->integrate);
    if (fluid->rate != NULL && last) {
      kp_field *base = fluid->density_start != NULL ? fluid->density_start : fluid->density;
      KP_TRY(advance_density(fluid, base, env->dt, dt_last));
    }
  }
  return KP_OK;
}

static kp_result sph_correct(void *self, kp_env *env) {
  kp_sph *sph = self;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    KP_TRY(apply_domain(&sph->fluids.data[f], env));
  }
  return KP_OK;
}

// One look of the host per sub-step and liquid: limits, bounds and trouble.
static kp_result check_fluid(kp_sph_fluid *fluid, kp_env *env, double support) {
  double runaway = support / fmax(env->dt, 1e-30);
  sph_report_args a = { .rest_density = fluid->def.rest_density, .runaway2 = runaway * runaway };
  for (int axis = 0; axis < 3; ++axis) {
    kp_faces faces = kp_env_faces(env, axis);
    a.lo[axis] = faces.closed_lo ? faces.lo : -HUGE_VAL;
    a.hi[axis] = faces.closed_hi ? faces.hi : HUGE_VAL;
  }
  kp_call call;
  kp_call_init(&call, &sph_report_kernel, &a);
  KP_BIND3(&call, &a, , fluid->set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, fluid->set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, a, fluid->integrate.acceleration, KP_ACCESS_READ);
  KP_BIND(&call, &a, density, &fluid->density->buffers[0], KP_ACCESS_READ);
  double v[11];
  KP_TRY(kp_call_reduce(env->backend, &call, fluid->set->space->n, v));
  bool empty = fluid->set->space->n == 0;
  fluid->max_speed = empty ? 0.0 : sqrt(v[0]);
  fluid->max_acceleration = empty ? 0.0 : sqrt(v[1]);
  fluid->max_density_error = empty ? 0.0 : v[10];
  fluid->bounds = (kp_aabb){ { v[4], v[5], v[6] }, { v[7], v[8], v[9] } };
  fluid->bounds_known = !empty && v[2] == 0.0;
  env->report.n_bad += (int64_t)v[2];
  env->report.n_escaped += (int64_t)v[3];
  env->report.n_particles += fluid->set->space->n;
  env->report.max_speed = fmax(env->report.max_speed, fluid->max_speed);
  env->report.max_acceleration = fmax(env->report.max_acceleration, fluid->max_acceleration);
  return KP_OK;
}

static kp_result sph_check(void *self, kp_env *env) {
  kp_sph *sph = self;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    KP_TRY(check_fluid(&sph->fluids.data[f], env, sph->support));
  }
  return kp_sph_store_state(sph);
}

static double fastest_body(kp_bodies *bodies) {
  double fastest = 0.0;
  for (kp_index b = 0; b < (kp_index)bodies->models.count; ++b) {
    kp_frame3 frame = kp_bodies_frame(bodies, b);
    fastest = fmax(fastest, kp_vec3_length(frame.velocity));
  }
  return fastest;
}

// dt <= cfl (H/2)/(c + |v|), cfl sqrt((H/2)/|a|) and 0.03 H^2 rho/mu (Monaghan 1992; Morris et al.
// 1997; B 5.26-5.27 with the sound speed that a stiff equation of state needs)
static double sph_max_dt(void *self, kp_env *env) {
  const kp_sph *sph = self;
  double h = 0.5 * sph->support;
  double bodies = fastest_body(env->bodies);
  double dt = HUGE_VAL;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    const kp_sph_fluid *fluid = &sph->fluids.data[f];
    double speed = fluid->sound_speed + fmax(fluid->max_speed, bodies);
    dt = fmin(dt, sph->def.cfl * h / speed);
    if (fluid->max_acceleration > 0.0) {
      dt = fmin(dt, sph->def.cfl * sqrt(h / fluid->max_acceleration));
    }
    if (fluid->def.viscosity > 0.0 && sph->def.viscosity_model == SPH_VISCOSITY_LAPLACIAN) {
      dt = fmin(dt, 0.12 * h * h * fluid->def.rest_density / fluid->def.viscosity);
    }
  }
  return dt;
}

static int sph_n_populations(const void *self) {
  return (int)((const kp_sph *)self)->fluids.count;
}

static kp_result sph_population_stats(void *self, kp_env *env, int population,
                                      kp_population_stats *out) {
  kp_sph *sph = self;
  kp_sph_fluid *fluid = &sph->fluids.data[population];
  kp_vec3 g = env->simulation.gravity;
  sph_stats_args a = { .gx = g.x, .gy = g.y, .gz = g.z };
  kp_call call;
  kp_call_init(&call, &sph_stats_kernel, &a);
  KP_BIND3(&call, &a, , fluid->set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, fluid->set->velocity, KP_ACCESS_READ);
  double v[5];
  KP_TRY(kp_call_reduce(env->backend, &call, fluid->set->space->n, v));
  *out = (kp_population_stats){
    .count = fluid->set->space->n,
    .mass = fluid->mass * (double)fluid->set->space->n,
    .momentum = kp_vec3_scale(kp_vec3_make(v[0], v[1], v[2]), fluid->mass),
    .kinetic_energy = fluid->mass * v[3],
    .potential_energy = fluid->mass * v[4],
    .bounds = fluid->bounds,
    .max_speed = fluid->max_speed,
    .max_density_error = fluid->max_density_error,
  };
  memcpy(out->name, fluid->set->space->name, sizeof out->name);
  return KP_OK;
}

const kp_method kp_sph_method = {
  .name = "sph",
  .text = "Weakly compressible smoothed particle hydrodynamics.",
  .stages = { [KP_STAGE_POPULATION] = kp_sph_population,
              [KP_STAGE_SPACE] = sph_space,
              [KP_STAGE_PREPARE] = kp_sph_prepare,
              [KP_STAGE_FORCES] = kp_sph_forces,
              [KP_STAGE_PREDICT] = sph_predict,
              [KP_STAGE_CORRECT] = sph_correct,
              [KP_STAGE_CHECK] = sph_check },
  .evaluations = sph_evaluations,
  .begin = sph_begin,
  .max_dt = sph_max_dt,
  .n_populations = sph_n_populations,
  .stats = sph_population_stats,
  .loaded = kp_sph_load_state,
  .destroy = sph_destroy,
};
