#include "methods/stf/stf.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/call.h"
#include "data/registry.h"
#include "methods/stf/stf_kernels.h"
#include "par/kernel_define.h"

STF_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_NO_PAIR)

#define SKIN 0.125  // of H: rows are wider than what they are for
#define PI 3.14159265358979323846

// ---- life ---------------------------------------------------------------------------------------

// Sums over the full lattice around a particle.
typedef struct lattice {
  double density, near;        // (1-q)^2, (1-q)^3
  double virial, near_virial;  // r (1-q), r (1-q)^2
  double links;                // partners within the reach of springs
} lattice;

static lattice lattice_of(double support, double spring_reach, int dimension) {
  lattice sum = { 0 };
  int reach = (int)ceil(support);
  int depth = dimension == 2 ? 0 : reach;
  for (int k = -depth; k <= depth; ++k) {
    for (int j = -reach; j <= reach; ++j) {
      for (int i = -reach; i <= reach; ++i) {
        double r = sqrt((double)(i * i + j * j + k * k));
        double t = r > 0.0 ? fmax(1.0 - r / support, 0.0) : 0.0;
        sum.density += t * t;
        sum.near += t * t * t;
        sum.virial += r * t;
        sum.near_virial += r * t * t;
        sum.links += r > 0.0 && r < spring_reach * support ? 1.0 : 0.0;
      }
    }
  }
  return sum;
}

// k and k_near from the speed of sound of the continuum, with a number density n:
//   3D  c^2 = pi/30 n H^4 (k rho + k_near rho_near)
//   2D  c^2 = n H^3 pi (k rho / 24 + k_near rho_near / 20)
// and rho_0 such that the lattice the fluid starts from pushes and pulls nowhere: what the near
// pressure pushes, the pressure pulls.
static void choose_stiffness(kp_stf *stf, kp_env *env) {
  const kp_stf_def *def = &stf->def;
  double auto_speed = 5.0 * kp_medium_expected_speed(&stf->medium, env);
  stf->sound_speed = isnan(def->sound_speed) ? auto_speed : def->sound_speed;
  lattice sum = lattice_of(def->support, def->spring_reach, env->dimension);
  double per_k;
  if (env->dimension == 3) {
    double n = pow(def->support, 3.0);
    per_k = PI / 30.0 * n * stf->support * (sum.density + def->near_ratio * sum.near);
  } else {
    double n = pow(def->support, 2.0);
    per_k = PI * n * stf->support * (sum.density / 24.0 + def->near_ratio * sum.near / 20.0);
  }
  stf->stiffness = stf->sound_speed * stf->sound_speed / per_k;
  stf->near_stiffness = def->near_ratio * stf->stiffness;
  stf->links_full = sum.links;
  stf->rest = sum.density + def->near_ratio * sum.near * sum.near_virial / sum.virial;
}

static kp_result add_fields(kp_stf *stf) {
  const uint32_t scratch = KP_FIELD_SORT;
  const struct {
    kp_field_desc desc;
    kp_field **out;
  } rows[] = {
    { { "density", KP_TYPE_REAL, 1, "", scratch, 0.0 }, &stf->density },
    { { "pressure", KP_TYPE_REAL, 1, "m/s^2", scratch, 0.0 }, &stf->pressure },
    { { "near_pressure", KP_TYPE_REAL, 1, "m/s^2", scratch, 0.0 }, &stf->near_pressure },
    { { "weight", KP_TYPE_REAL, 1, "", scratch, 0.0 }, &stf->weight },
    { { "shift", KP_TYPE_REAL, 3, "m", scratch, 0.0 }, &stf->shift },
    { { "links", KP_TYPE_REAL, 1, "", KP_FIELD_STATE, 0.0 }, &stf->links },
    { { "links_new", KP_TYPE_REAL, 1, "", scratch, 0.0 }, &stf->links_new },
    { { "stiffening", KP_TYPE_REAL, 1, "", KP_FIELD_STATE | KP_FIELD_EXPORT, 0.0 },
      &stf->stiffening },
    { { "spring_energy", KP_TYPE_REAL, 1, "J", KP_FIELD_STATE, 0.0 }, &stf->energy },
  };
  for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
    KP_TRY(kp_space_add_field(stf->medium.set->space, &rows[k].desc, rows[k].out));
  }
  return KP_OK;
}

static void stf_destroy(void **self) {
  kp_stf *stf = *self;
  if (stf == NULL) {
    return;
  }
  kp_stf_solids_free(stf);
  kp_pair_rows_destroy(&stf->springs);
  kp_pair_rows_destroy(&stf->rows);
  kp_medium_free(&stf->medium);
  kp_free(stf);
  *self = NULL;
}

// The largest distance of partners [m]: springs may be longer than the kernel.
static double reach_of(const kp_stf *stf) {
  double longest = stf->def.spring_removal * stf->def.spring_reach;
  return fmax(longest, 1.0) * stf->support + stf->skin;
}

// Rows name a partner once: an axis across which a particle would meet two images of another one,
// or itself, is too short.
static kp_result check_axes(const kp_stf *stf, const kp_env *env) {
  double length[3];
  kp_stf_periods(env, length);
  for (int axis = 0; axis < 3; ++axis) {
    double least = 2.0 * reach_of(stf);
    if (length[axis] > 0.0 && length[axis] <= least) {
      return kp_fail(
          KP_ERROR_SCENE,
          "liquid \"%s\": the periodic axis %c must be longer than %g m for method 'stf'",
          stf->medium.name, "xyz"[axis], least);
    }
  }
  return KP_OK;
}

static kp_result create(kp_stf *stf, kp_env *env) {
  const kp_liquid_def *liquid = &stf->liquid;
  kp_medium_def medium = { .word = "liquid",
                           .name = liquid->name,
                           .spacing = liquid->spacing,
                           .jitter = liquid->jitter,
                           .velocity = liquid->velocity,
                           .velocity_at = liquid->velocity_at,
                           .integrator = KP_INTEGRATOR_COUNT };
  KP_TRY(kp_medium_create(&stf->medium, env, &medium));
  KP_TRY(add_fields(stf));
  stf->medium.mass = liquid->rest_density * pow(liquid->spacing, (double)env->dimension);
  if (!liquid->empty) {
    KP_TRY(kp_medium_fill(&stf->medium, env, &liquid->shape));
  }
  stf->support = stf->def.support * liquid->spacing;
  stf->skin = SKIN * stf->support;
  choose_stiffness(stf, env);
  KP_TRY(check_axes(stf, env));
  KP_TRY(kp_medium_grid(&stf->medium, env, stf->support + stf->skin, reach_of(stf)));
  char name[KP_NAME_SIZE];
  snprintf(name, sizeof name, "%.36s.partners", stf->medium.name);
  kp_pair_rows_def rows = { .name = name, .set = stf->medium.set };
  KP_TRY(kp_pair_rows_create(env->registry, &rows, &stf->rows));
  KP_TRY(kp_stf_springs_create(stf, env));
  return kp_stf_solids_create(stf, env);
}

kp_result kp_stf_create(kp_env *env, const kp_stf_def *def, const kp_liquid_def *liquid,
                        kp_stf **out) {
  if (def->spring_reach * def->spring_removal * def->support >
      (1.0 + SKIN) * fmax(def->support, 1.0) * 2.0) {
    return kp_fail(KP_ERROR_SCENE, "stf: springs reach %g spacings, more than twice the support",
                   def->spring_reach * def->spring_removal * def->support);
  }
  kp_stf *stf = kp_alloc_zero(sizeof *stf, KP_MEMORY_WORLD);
  if (stf == NULL) {
    return KP_ERROR_MEMORY;
  }
  stf->def = *def;
  stf->liquid = *liquid;
  kp_buffer_init(&stf->heights, env->backend);
  kp_buffer_init(&stf->speeds, env->backend);
  kp_result result = create(stf, env);
  if (result != KP_OK) {
    void *self = stf;
    stf_destroy(&self);
    return result;
  }
  *out = stf;
  return KP_OK;
}

static kp_result stf_loaded(void *self) {
  kp_stf *stf = self;
  KP_TRY(kp_medium_loaded(&stf->medium));
  KP_TRY(kp_pair_rows_loaded(stf->rows));
  KP_TRY(kp_stf_springs_load(stf));
  return kp_stf_solids_load(stf);
}

// ---- stages -------------------------------------------------------------------------------------

static kp_result stf_population(void *self, kp_env *env) {
  kp_stf *stf = self;
  return kp_medium_population(&stf->medium, env);
}

// Outer forces and gravity, then on to where they lead: neighbours are looked for there, so one
// sort serves the whole step.
static kp_result stf_begin(void *self, kp_env *env) {
  kp_stf *stf = self;
  kp_medium *medium = &stf->medium;
  kp_field *acceleration = medium->integrate.acceleration;
  int64_t n = medium->set->space->n;
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_buffer_fill(&acceleration->buffers[c], sizeof(kp_real), 0, n, 0));
  }
  KP_TRY(kp_medium_outer_forces(medium, env));
  kp_vec3 g = env->simulation.gravity;
  stf_predict_args a = { .dt = (kp_real)env->dt,
                         .gx = (kp_real)g.x,
                         .gy = (kp_real)g.y,
                         .gz = (kp_real)(env->dimension == 2 ? 0.0 : g.z) };
  kp_call call;
  kp_call_init(&call, &stf_predict_kernel, &a);
  KP_BIND3(&call, &a, v, medium->set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, a, acceleration, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, , medium->set->position, KP_ACCESS_WRITE);
  KP_TRY(kp_call_run(env->backend, &call, n));
  medium->bounds_known = false;
  double pull = fmax(kp_vec3_length(g), medium->max_acceleration);
  stf->predicted = env->dt * fmax(medium->max_speed + env->dt * pull, kp_medium_fastest_body(env));
  return KP_OK;
}

static bool rows_hold(const kp_stf *stf) {
  bool current = kp_pair_rows_is_current(stf->rows) && kp_pair_rows_is_current(stf->springs);
  for (int w = 0; w < 2 && current; ++w) {
    const kp_stf_solids *solids = &stf->solids[w];
    current = solids->touching == NULL || kp_pair_rows_is_current(solids->touching);
    current = current && (solids->touched == NULL || kp_pair_rows_is_current(solids->touched));
  }
  // images of periodic faces are taken anew in each step
  bool wraps = stf->medium.ghosts != NULL;
  return current && !wraps && stf->rows->travelled + stf->predicted <= 0.5 * stf->skin;
}

static kp_result stf_space(void *self, kp_env *env) {
  kp_stf *stf = self;
  stf->is_rebuilt = !rows_hold(stf);
  if (!stf->is_rebuilt) {
    return KP_OK;
  }
  KP_TRY(kp_medium_space(&stf->medium, env));
  kp_medium *medium = &stf->medium;
  kp_pair_rows_search search = { .cells = medium->cells,
                                 .partner_cells = medium->cells,
                                 .images = medium->ghosts,
                                 .image_cells = medium->ghost_cells,
                                 .radius = stf->support + stf->skin };
  KP_TRY(kp_pair_rows_build(stf->rows, &search));
  double removal = stf->def.spring_removal * stf->def.spring_reach * stf->support;
  search.radius = removal + stf->skin;
  KP_TRY(kp_pair_rows_build(stf->springs, &search));
  return kp_stf_solids_build(stf, env);
}

void kp_stf_periods(const kp_env *env, double length[3]) {
  for (int axis = 0; axis < 3; ++axis) {
    kp_faces faces = kp_env_faces(env, axis);
    length[axis] = faces.periodic ? faces.hi - faces.lo : 0.0;
  }
}

static kp_result stf_prepare(void *self, kp_env *env) {
  kp_stf *stf = self;
  stf_density_args a = { .support = (kp_real)stf->support,
                         .inverse = (kp_real)(1.0 / stf->support),
                         .stiffness = (kp_real)stf->stiffness,
                         .near_stiffness = (kp_real)stf->near_stiffness,
                         .rest = (kp_real)stf->rest };
  kp_stf_periods(env, a.rows.length);
  kp_call call;
  kp_call_init(&call, &stf_density_kernel, &a);
  KP_STF_BIND_ROWS(&call, &a, stf->rows);
  KP_BIND3(&call, &a, , stf->medium.set->position, KP_ACCESS_READ);
  KP_BIND(&call, &a, density, &stf->density->buffers[0], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, p, &stf->pressure->buffers[0], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, near, &stf->near_pressure->buffers[0], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, weight, &stf->weight->buffers[0], KP_ACCESS_OVERWRITE);
  return kp_call_run(env->backend, &call, stf->medium.set->space->n);
}

static kp_result stf_forces(void *self, kp_env *env) {
  kp_stf *stf = self;
  stf_relax_args a = { .dt = (kp_real)env->dt,
                       .inverse = (kp_real)(1.0 / stf->support),
                       .linear = (kp_real)stf->def.linear_viscosity,
                       .squared = (kp_real)stf->def.squared_viscosity };
  kp_stf_periods(env, a.rows.length);
  kp_call call;
  kp_call_init(&call, &stf_relax_kernel, &a);
  KP_STF_BIND_ROWS(&call, &a, stf->rows);
  KP_BIND3(&call, &a, , stf->medium.set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, stf->medium.set->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, p, &stf->pressure->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, near, &stf->near_pressure->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, weight, &stf->weight->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, s, stf->shift, KP_ACCESS_OVERWRITE);
  return kp_call_run(env->backend, &call, stf->medium.set->space->n);
}

static kp_result stf_solve(void *self, kp_env *env) {
  kp_stf *stf = self;
  KP_TRY(kp_stf_springs_pass(stf, env));
  return kp_stf_solids_pass(stf, env);
}

static kp_result stf_correct(void *self, kp_env *env) {
  kp_stf *stf = self;
  return kp_stf_finish(stf, env);
}

static kp_result stf_check(void *self, kp_env *env) {
  kp_stf *stf = self;
  KP_TRY(kp_medium_check(&stf->medium, env, stf->support));
  // rows that were built at the predicted places have also seen the way back from there
  double moved = env->dt * fmax(stf->medium.max_speed, kp_medium_fastest_body(env));
  return kp_pair_rows_travel(stf->rows, moved + (stf->is_rebuilt ? stf->predicted : 0.0));
}

// ---- limits and reports -------------------------------------------------------------------------

static double stf_max_dt(void *self, kp_env *env) {
  kp_stf *stf = self;
  double fastest = fmax(stf->medium.max_speed, kp_medium_fastest_body(env));
  double sound = stf->def.cfl * stf->support / (stf->sound_speed + fastest);
  // nothing crosses more than a quarter of a spacing, so that solids are always noticed
  double way = 0.25 * stf->medium.spacing / fmax(fastest, 1e-9);
  // and springs as stiff as they are meant to become do so without the clamp of stf_relaxation
  bool remembers = stf->def.history != KP_STF_NO_HISTORY;
  double k = stf->def.spring_stiffness * (1.0 + (remembers ? stf->def.thickening : 0.0));
  double spring = 1.0 / sqrt(fmax(k, 1e-9) * (stf->links_full + 2.0));
  return fmin(fmin(sound, way), spring);
}

static int stf_n_populations(const void *self) {
  (void)self;
  return 1;
}

static kp_result stf_stats(void *self, kp_env *env, int population, kp_population_stats *out) {
  (void)population;
  kp_stf *stf = self;
  KP_TRY(kp_medium_stats(&stf->medium, env, out));
  stf_energy_args a;
  kp_call call;
  kp_call_init(&call, &stf_energy_kernel, &a);
  KP_BIND(&call, &a, energy, &stf->energy->buffers[0], KP_ACCESS_READ);
  return kp_call_reduce(env->backend, &call, stf->medium.set->space->n, &out->internal_energy);
}

const kp_method kp_stf_method = {
  .name = "stf",
  .text = "A shear-thickening fluid with springs that remember.",
  .stages = { [KP_STAGE_POPULATION] = stf_population,
              [KP_STAGE_SPACE] = stf_space,
              [KP_STAGE_PREPARE] = stf_prepare,
              [KP_STAGE_FORCES] = stf_forces,
              [KP_STAGE_SOLVE] = stf_solve,
              [KP_STAGE_CORRECT] = stf_correct,
              [KP_STAGE_CHECK] = stf_check },
  .begin = stf_begin,
  .max_dt = stf_max_dt,
  .n_populations = stf_n_populations,
  .stats = stf_stats,
  .loaded = stf_loaded,
  .destroy = stf_destroy,
};
