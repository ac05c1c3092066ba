#include "methods/sph/sph.h"

#include <math.h>

#include "data/call.h"
#include "linalg/vector.h"
#include "methods/sph/sph_implicit.h"
#include "methods/sph/sph_kernels.h"
#include "methods/sph/sph_shift.h"
#include "par/kernel_define.h"

SPH_POINT_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE)

#define SHIFTING 4.0        // of dfsph, unless told
#define CENTRAL_LIMIT 0.36  // of the viscous step: a lattice has waves 2.75 times as stiff

static const kp_smooth_kind density_kernel[KP_SPH_KERNEL_COUNT] = {
  KP_SMOOTH_POLY6, KP_SMOOTH_CUBIC, KP_SMOOTH_WENDLAND, KP_SMOOTH_SPIKY, KP_SMOOTH_POLY6
};
static const kp_smooth_kind gradient_kernel[KP_SPH_KERNEL_COUNT] = {
  KP_SMOOTH_SPIKY, KP_SMOOTH_CUBIC, KP_SMOOTH_WENDLAND, KP_SMOOTH_SPIKY, KP_SMOOTH_POLY6
};

// ---- state that is not per particle -------------------------------------------------------------

static kp_result create_state(kp_sph *sph, kp_registry *registry) {
  kp_field_desc has_density = { "has_density", KP_TYPE_F64, 1, "", KP_FIELD_SAVE, 0.0 };
  kp_field *field;
  KP_TRY(kp_registry_add_space(registry, "sph", KP_SPACE_GLOBAL, &sph->state));
  KP_TRY(kp_space_add_field(sph->state, &has_density, &field));
  return kp_space_append(sph->state, 1, NULL, 0);
}

static double *state_number(kp_sph *sph, kp_access access) {
  return kp_buffer_host(&kp_space_find(sph->state, "has_density")->buffers[0], access);
}

static kp_result sph_loaded(void *self) {
  kp_sph *sph = self;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    KP_TRY(kp_medium_loaded(&sph->fluids.data[f].medium));
  }
  sph->has_density = *state_number(sph, KP_ACCESS_READ) != 0.0;
  return KP_OK;
}

// ---- life ---------------------------------------------------------------------------------------

static void sph_destroy(void **self) {
  kp_sph *sph = *self;
  if (sph == NULL) {
    return;
  }
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_medium_free(&sph->fluids.data[f].medium);
  }
  kp_sph_fractional_free(sph);
  for (int w = 0; w < 2; ++w) {
    kp_cells_destroy(&sph->walls[w].cells);
  }
  kp_array_free(&sph->fluids);
  kp_sph_implicit_destroy(&sph->implicit);
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
  if (def->fused && (def->viscosity_model == KP_SPH_VISCOSITY_ARTIFICIAL ||
                     def->viscosity_model == KP_SPH_VISCOSITY_CENTRAL)) {
    return kp_fail(KP_ERROR_SCENE,
                   "sph: 'fused' needs viscosity_model 'laplacian' or 'fractional'");
  }
  KP_TRY(kp_sph_fractional_check(def));
  if (def->shifting > 0.0 && def->integrator == KP_INTEGRATOR_POSITION_VERLET) {
    return kp_fail(KP_ERROR_SCENE, "sph: shifting does not go with integrator 'position_verlet', "
                                   "whose velocity is the way gone");
  }
  bool clings = def->adhesion > 0.0 || def->wall_drag != KP_SPH_DRAG_LAW;
  if (def->solver == KP_SPH_SOLVER_DFSPH && clings) {
    return kp_fail(KP_ERROR_SCENE, "sph: %s does not go with solver 'dfsph'",
                   def->adhesion > 0.0 ? "adhesion" : "wall_drag");
  }
  return def->solver == KP_SPH_SOLVER_DFSPH ? kp_sph_implicit_check(def) : KP_OK;
}

kp_result kp_sph_create(kp_env *env, const kp_sph_setup *setup, kp_sph **out) {
  KP_TRY(check_def(setup->def));
  kp_sph *sph = kp_alloc_zero(sizeof *sph, KP_MEMORY_WORLD);
  if (sph == NULL) {
    return KP_ERROR_MEMORY;
  }
  sph->def = *setup->def;
  bool literal = sph->def.viscosity_model == KP_SPH_VISCOSITY_LITERAL;
  sph->def.viscosity_model = literal ? KP_SPH_VISCOSITY_LAPLACIAN : sph->def.viscosity_model;
  bool is_implicit = sph->def.solver == KP_SPH_SOLVER_DFSPH;
  if (isnan(sph->def.shifting)) {
    sph->def.shifting = is_implicit ? SHIFTING : 0.0;
  }
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
  if (result == KP_OK && sph->def.shifting > 0.0 && !is_implicit) {
    result = kp_sph_shift_create(sph);
  }
  if (result == KP_OK && is_implicit) {
    result = kp_sph_implicit_create(sph, env);
  }
  if (result == KP_OK) {
    result = create_state(sph, env->registry);
  }
  if (result == KP_OK) {
    result = kp_sph_fractional_setup(sph);
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
  return sph->fluids.count > 0 ? kp_integrate_stages(&sph->fluids.data[0].medium.integrate) : 1;
}

static kp_result advance_density(kp_sph_fluid *fluid, kp_field *base, double dt, double dt_last) {
  kp_backend *backend = fluid->medium.set->space->backend;
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
  return kp_call_run(backend, &call, fluid->medium.set->space->n);
}

static kp_result sph_population(void *self, kp_env *env) {
  kp_sph *sph = self;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_medium *medium = &sph->fluids.data[f].medium;
    KP_TRY(kp_medium_population(medium, env));
    // newcomers have no density yet
    sph->has_density = sph->has_density && medium->first_new == medium->set->space->n;
  }
  return KP_OK;
}

static kp_result sph_begin(void *self, kp_env *env) {
  kp_sph *sph = self;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_fluid *fluid = &sph->fluids.data[f];
    KP_TRY(kp_medium_begin(&fluid->medium, env));
    if (fluid->density_start != NULL && env->evaluation == 0) {
      KP_TRY(kp_buffer_copy(&fluid->density_start->buffers[0], &fluid->density->buffers[0]));
    } else if (fluid->density_start != NULL) {
      KP_TRY(advance_density(fluid, fluid->density_start, 0.5 * env->dt, 0.0));
    }
  }
  return KP_OK;
}

static kp_result sph_space(void *self, kp_env *env) {
  kp_sph *sph = self;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    KP_TRY(kp_medium_space(&sph->fluids.data[f].medium, env));
  }
  if (sph->walls[1].cells != NULL) {
    KP_TRY(kp_cells_build(sph->walls[1].cells, NULL));
  }
  return KP_OK;
}

static kp_result sph_prepare(void *self, kp_env *env) {
  kp_sph *sph = self;
  return sph->implicit != NULL ? kp_sph_implicit_prepare(sph, env) : kp_sph_prepare(self, env);
}

static kp_result sph_forces(void *self, kp_env *env) {
  kp_sph *sph = self;
  return sph->implicit != NULL ? kp_sph_implicit_forces(sph, env) : kp_sph_forces(self, env);
}

static kp_result sph_solve(void *self, kp_env *env) {
  kp_sph *sph = self;
  return sph->implicit != NULL ? kp_sph_implicit_solve(sph, env) : KP_OK;
}

static kp_result sph_predict(void *self, kp_env *env) {
  kp_sph *sph = self;
  if (sph->implicit != NULL) {
    return kp_sph_implicit_predict(sph, env);
  }
  bool shifts = sph->def.shifting > 0.0 && env->evaluation + 1 == sph_evaluations(sph);
  if (shifts) {
    KP_TRY(kp_sph_shift_gather(sph));
  }
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_fluid *fluid = &sph->fluids.data[f];
    double dt_last = fluid->medium.integrate.dt_last;
    KP_TRY(kp_medium_end(&fluid->medium, env));
    bool last = env->evaluation + 1 == kp_integrate_stages(&fluid->medium.integrate);
    if (fluid->rate != NULL && last) {
      kp_field *base = fluid->density_start != NULL ? fluid->density_start : fluid->density;
      KP_TRY(advance_density(fluid, base, env->dt, dt_last));
    }
    if (sph->mix.on && last) {
      KP_TRY(kp_sph_mix_advance(sph, env, fluid));
    }
  }
  return shifts ? kp_sph_shift_move(sph, env) : KP_OK;
}

static kp_result sph_correct(void *self, kp_env *env) {
  kp_sph *sph = self;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    KP_TRY(kp_medium_domain(&sph->fluids.data[f].medium, env));
  }
  return KP_OK;
}

static kp_result sph_check(void *self, kp_env *env) {
  kp_sph *sph = self;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    KP_TRY(kp_medium_check(&sph->fluids.data[f].medium, env, sph->support));
  }
  *state_number(sph, KP_ACCESS_WRITE) = sph->has_density ? 1.0 : 0.0;
  return KP_OK;
}

// dt <= cfl (H/2)/(c + |v|), cfl sqrt((H/2)/|a|) and 0.03 H^2 rho/mu (Monaghan 1992; Morris et al.
// 1997; B 5.26-5.27 with the sound speed that a stiff equation of state needs)
static double sph_max_dt(void *self, kp_env *env) {
  kp_sph *sph = self;
  double h = 0.5 * sph->support;
  double bodies = kp_medium_fastest_body(env);
  double gravity = kp_vec3_length(env->simulation.gravity);
  double dt = HUGE_VAL;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_fluid *fluid = &sph->fluids.data[f];
    // pressure that is solved for has no sound
    double sound = sph->implicit != NULL ? 0.0 : fluid->sound_speed;
    double jet = sph->implicit != NULL ? kp_sph_implicit_jet(fluid, env) : 0.0;
    double speed = sound + fmax(fmax(fluid->medium.max_speed, bodies), jet);
    dt = fmin(dt, sph->def.cfl * h / speed);
    double acceleration = fluid->medium.max_acceleration;
    acceleration = fmax(acceleration, sph->implicit != NULL ? gravity : 0.0);
    if (acceleration > 0.0) {
      dt = fmin(dt, sph->def.cfl * sqrt(h / acceleration));
    }
    if (fluid->def.viscosity > 0.0 && sph->is_fractional) {
      dt = fmin(dt, kp_sph_fractional_max_dt(sph, fluid));
    } else if (fluid->def.viscosity > 0.0 &&
               sph->def.viscosity_model != KP_SPH_VISCOSITY_ARTIFICIAL) {
      bool is_central = sph->def.viscosity_model == KP_SPH_VISCOSITY_CENTRAL;
      bool is_solved = is_central && sph->implicit != NULL;
      double share = is_solved ? HUGE_VAL : (is_central ? CENTRAL_LIMIT : 1.0);
      dt = fmin(dt, share * 0.12 * h * h * fluid->def.rest_density / fluid->def.viscosity);
    }
    dt = fmin(dt, kp_sph_tension_dt(fluid));
    dt = fluid->def.drag > 0.0 ? fmin(dt, 0.5 / fluid->def.drag) : dt;
  }
  return sph->mix.on ? fmin(dt, kp_sph_mix_dt(sph)) : dt;
}

static int sph_n_populations(const void *self) {
  return (int)((const kp_sph *)self)->fluids.count;
}

static kp_result sph_stats(void *self, kp_env *env, int population, kp_population_stats *out) {
  kp_sph *sph = self;
  kp_sph_fluid *fluid = &sph->fluids.data[population];
  KP_TRY(kp_medium_stats(&fluid->medium, env, out));
  const kp_liquid_def *def = &fluid->def;
  sph_energy_args a = { .rest_density = def->rest_density,
                        .stiffness = fluid->stiffness,
                        .exponent = def->exponent,
                        .tait = def->eos == 1,
                        .clamp = def->clamp_negative_pressure };
  kp_call call;
  kp_call_init(&call, &sph_energy_kernel, &a);
  KP_BIND(&call, &a, density, &fluid->density->buffers[0], KP_ACCESS_READ);
  double energy;
  KP_TRY(kp_call_reduce(env->backend, &call, fluid->medium.set->space->n, &energy));
  out->internal_energy = fluid->medium.mass * energy;
  return kp_sph_fractional_stats(sph, fluid, out);
}

static kp_result sph_show(void *self, kp_env *env) {
  kp_sph *sph = self;
  if (sph->implicit != NULL) {
    return kp_sph_implicit_show(sph, env);
  }
  bool squared = sph->def.pressure == SPH_FORM_SQUARED || sph->def.density == 1;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_fluid *fluid = &sph->fluids.data[f];
    kp_buffer *shown = &fluid->shown->buffers[0];
    kp_buffer *density = &fluid->density->buffers[0];
    int64_t n = fluid->medium.set->space->n;
    KP_TRY(kp_vector_fill(n, 0.0, shown));
    KP_TRY(kp_vector_axpy(n, 1.0, &fluid->pressure->buffers[0], shown));
    for (int factor = 0; squared && factor < 2; ++factor) {
      KP_TRY(kp_vector_multiply(n, density, shown, shown));
    }
  }
  return KP_OK;
}

const kp_method kp_sph_method = {
  .name = "sph",
  .text = "Weakly compressible smoothed particle hydrodynamics.",
  .stages = { [KP_STAGE_POPULATION] = sph_population,
              [KP_STAGE_SPACE] = sph_space,
              [KP_STAGE_PREPARE] = sph_prepare,
              [KP_STAGE_FORCES] = sph_forces,
              [KP_STAGE_PREDICT] = sph_predict,
              [KP_STAGE_SOLVE] = sph_solve,
              [KP_STAGE_CORRECT] = sph_correct,
              [KP_STAGE_CHECK] = sph_check },
  .evaluations = sph_evaluations,
  .begin = sph_begin,
  .max_dt = sph_max_dt,
  .n_populations = sph_n_populations,
  .stats = sph_stats,
  .show = sph_show,
  .loaded = sph_loaded,
  .destroy = sph_destroy,
};
