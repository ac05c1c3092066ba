#include "methods/plasma/plasma.h"

#include <math.h>
#include <string.h>

#include "data/call.h"
#include "methods/common/scatter.h"
#include "par/kernel_define.h"

PLASMA_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define CELL_MARGIN (1.0 + 1e-6)  // a pair at exactly the radius cannot fall between two cells
#define SOFTENING_SHARE 0.1       // of the influence radius, where nobody says more

// ---- set-up -------------------------------------------------------------------------------------

static kp_result set_charges(kp_plasma_cloud *cloud) {
  kp_set *set = cloud->medium.set;
  plasma_charge_args a = { .charge = (kp_real)cloud->def.charge,
                           .is_balanced = cloud->def.charges == KP_PLASMA_BALANCED };
  kp_call call;
  kp_call_init(&call, &plasma_charge_kernel, &a);
  KP_BIND(&call, &a, id, &set->id->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, out, &cloud->charge->buffers[0], KP_ACCESS_OVERWRITE);
  return kp_call_run(set->space->backend, &call, set->space->n);
}

static kp_result add_fields(kp_plasma_cloud *cloud) {
  kp_space *space = cloud->medium.set->space;
  uint32_t kept = KP_FIELD_STATE | KP_FIELD_GHOST | KP_FIELD_EXPORT;
  kp_field_desc charge = { "charge", KP_TYPE_REAL, 1, "C", kept, 0.0 };
  kp_field_desc energy = { "pair_energy", KP_TYPE_REAL, 1, "J", 0, 0.0 };
  kp_field_desc cell = { "cell", KP_TYPE_REAL, 3, "", 0, 0.0 };
  KP_TRY(kp_space_add_field(space, &charge, &cloud->charge));
  KP_TRY(kp_space_add_field(space, &energy, &cloud->energy));
  kp_field_desc radius = { "radius",         KP_TYPE_REAL, 1, "m", KP_FIELD_STATE | KP_FIELD_EXPORT,
                           cloud->def.radius };
  kp_field *unused;
  KP_TRY(kp_space_add_field(space, &radius, &unused));
  bool near = cloud->def.search == KP_PLASMA_NEAR;
  return near ? kp_space_add_field(space, &cell, &cloud->cell) : KP_OK;
}

static kp_result check_def(const kp_plasma_def *def, const kp_env *env, double softening) {
  bool periodic = false;
  for (int axis = 0; axis < 3; ++axis) {
    periodic = periodic || kp_env_faces(env, axis).periodic;
  }
  if (def->search == KP_PLASMA_NEAR && periodic) {
    return kp_fail(KP_ERROR_SCENE,
                   "plasma \"%s\": search 'near' does not go with periodic boundaries", def->name);
  }
  if (softening >= def->influence) {
    return kp_fail(KP_ERROR_SCENE, "plasma \"%s\": softening = %g m must be below influence = %g m",
                   def->name, softening, def->influence);
  }
  return KP_OK;
}

static kp_result setup_cloud(kp_plasma_cloud *cloud, kp_env *env) {
  const kp_plasma_def *def = &cloud->def;
  cloud->softening = isnan(def->softening) ? SOFTENING_SHARE * def->influence : def->softening;
  cloud->edge = isnan(def->cell) ? def->influence * CELL_MARGIN : def->cell;
  KP_TRY(check_def(def, env, cloud->softening));
  kp_medium_def how = { .word = "plasma",
                        .name = def->name,
                        .shape = &def->shape,
                        .spacing = 2.0 * def->radius,
                        .velocity = def->velocity,
                        .velocity_at = def->velocity_at,
                        .integrator = def->integrator };
  KP_TRY(kp_medium_create(&cloud->medium, env, &how));
  cloud->medium.mass = def->mass;
  KP_TRY(add_fields(cloud));
  KP_TRY(kp_scatter_fill(&cloud->medium, env, &def->shape, def->particles));
  KP_TRY(set_charges(cloud));
  return kp_medium_grid(&cloud->medium, env, cloud->edge, def->influence);
}

static void plasma_destroy(void **self) {
  kp_plasma *plasma = *self;
  if (plasma == NULL) {
    return;
  }
  for (size_t c = 0; c < plasma->clouds.count; ++c) {
    kp_medium_free(&plasma->clouds.data[c].medium);
  }
  kp_array_free(&plasma->clouds);
  kp_free(plasma);
  *self = NULL;
}

static kp_result setup(kp_plasma *plasma, kp_env *env, const kp_plasma_def *defs, size_t n) {
  KP_TRY(kp_array_reserve(&plasma->clouds, n));
  for (size_t c = 0; c < n; ++c) {
    kp_plasma_cloud *cloud = &plasma->clouds.data[plasma->clouds.count++];
    *cloud = (kp_plasma_cloud){ .def = defs[c] };
    KP_TRY(setup_cloud(cloud, env));
  }
  return KP_OK;
}

kp_result kp_plasma_create(kp_env *env, const kp_plasma_def *defs, size_t n, kp_plasma **out) {
  kp_plasma *plasma = kp_alloc_zero(sizeof *plasma, KP_MEMORY_WORLD);
  if (plasma == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_result result = setup(plasma, env, defs, n);
  if (result != KP_OK) {
    void *self = plasma;
    plasma_destroy(&self);
    return result;
  }
  *out = plasma;
  return KP_OK;
}

// ---- passes -------------------------------------------------------------------------------------

static plasma_law law_of(const kp_plasma_cloud *cloud) {
  return (plasma_law){ .strength = (kp_real)cloud->def.strength,
                       .softening = (kp_real)cloud->softening,
                       .influence = (kp_real)cloud->def.influence };
}

static kp_result run_pairs(kp_plasma_cloud *cloud, kp_call *call, kp_cells *j) {
  kp_pair_job job;
  KP_TRY(kp_pair_job_make(cloud->medium.cells, j, cloud->def.influence, &job));
  return kp_call_pairs(j->set->space->backend, call, &job);
}

static plasma_force_args force_args(const kp_plasma_cloud *cloud, const kp_env *env, bool add) {
  kp_vec3 g = env->simulation.gravity;
  return (plasma_force_args){ .law = law_of(cloud),
                              .inverse_mass = (kp_real)(1.0 / cloud->def.mass),
                              .damping = (kp_real)cloud->def.damping,
                              .add = add,
                              .gx = (kp_real)g.x,
                              .gy = (kp_real)g.y,
                              .gz = (kp_real)g.z };
}

// The arguments of the search that stops short begin with those of the other.
static void bind_force(kp_call *call, plasma_force_args *a, kp_plasma_cloud *cloud, bool add) {
  KP_BIND3(call, a, v, cloud->medium.set->velocity, KP_ACCESS_READ);
  KP_BIND(call, a, charge, &cloud->charge->buffers[0], KP_ACCESS_READ);
  KP_BIND3(call, a, a, cloud->medium.integrate.acceleration,
           add ? KP_ACCESS_WRITE : KP_ACCESS_OVERWRITE);
}

static kp_result force_from(kp_plasma_cloud *cloud, const kp_env *env, bool images) {
  kp_medium *medium = &cloud->medium;
  kp_space *from = images ? medium->ghosts->set->space : medium->set->space;
  plasma_force_args a = force_args(cloud, env, images);
  kp_call call;
  kp_call_init(&call, &plasma_force_kernel, &a);
  bind_force(&call, &a, cloud, images);
  KP_BIND(&call, &a, j_charge, &kp_space_find(from, "charge")->buffers[0], KP_ACCESS_READ);
  return run_pairs(cloud, &call, images ? medium->ghost_cells : medium->cells);
}

static kp_result force_near(kp_plasma_cloud *cloud, const kp_env *env) {
  kp_set *set = cloud->medium.set;
  plasma_cell_args c = { .inverse_edge = 1.0 / cloud->edge };
  kp_call call;
  kp_call_init(&call, &plasma_cell_kernel, &c);
  KP_BIND3(&call, &c, , set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &c, c, cloud->cell, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(env->backend, &call, set->space->n));
  plasma_near_args a = { .force = force_args(cloud, env, false) };
  kp_call_init(&call, &plasma_near_kernel, &a);
  bind_force(&call, &a.force, cloud, false);
  KP_BIND3(&call, &a, c, cloud->cell, KP_ACCESS_READ);
  KP_BIND(&call, &a, j_charge, &cloud->charge->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_c, cloud->cell, KP_ACCESS_READ);
  return run_pairs(cloud, &call, cloud->medium.cells);
}

static kp_result energy_from(kp_plasma_cloud *cloud, bool images) {
  kp_medium *medium = &cloud->medium;
  kp_space *from = images ? medium->ghosts->set->space : medium->set->space;
  double end = cloud->def.influence;
  plasma_energy_args a = { .law = law_of(cloud),
                           .at_end = (kp_real)(1.0 / end - 0.5 * cloud->softening / (end * end)),
                           .add = images };
  kp_call call;
  kp_call_init(&call, &plasma_energy_kernel, &a);
  KP_BIND(&call, &a, charge, &cloud->charge->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, j_charge, &kp_space_find(from, "charge")->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, energy, &cloud->energy->buffers[0],
          images ? KP_ACCESS_WRITE : KP_ACCESS_OVERWRITE);
  return run_pairs(cloud, &call, images ? medium->ghost_cells : medium->cells);
}

static kp_result contain(kp_plasma_cloud *cloud, kp_env *env) {
  const kp_plasma_def *def = &cloud->def;
  if (def->container_radius <= 0.0) {
    return KP_OK;
  }
  kp_vec3 c = def->container_center;
  plasma_contain_args a = { .cx = c.x,
                            .cy = c.y,
                            .cz = c.z,
                            .radius = def->container_radius - def->radius,
                            .restitution = def->restitution };
  kp_medium *medium = &cloud->medium;
  kp_call call;
  kp_call_init(&call, &plasma_contain_kernel, &a);
  KP_BIND3(&call, &a, , medium->set->position, KP_ACCESS_WRITE);
  KP_BIND3(&call, &a, v, medium->set->velocity, KP_ACCESS_WRITE);
  if (medium->integrate.fresh != NULL) {
    KP_BIND(&call, &a, fresh, &medium->integrate.fresh->buffers[0], KP_ACCESS_WRITE);
  }
  return kp_call_run(env->backend, &call, medium->set->space->n);
}

// ---- stages -------------------------------------------------------------------------------------

#define FOR_EACH_CLOUD(plasma, cloud)                                                              \
  for (kp_plasma_cloud *cloud = (plasma)->clouds.data, *end_ = cloud + (plasma)->clouds.count;     \
       cloud < end_; ++cloud)

static int plasma_evaluations(const void *self) {
  const kp_plasma *plasma = self;
  int most = 1;
  for (size_t c = 0; c < plasma->clouds.count; ++c) {
    int n = kp_integrate_stages(&plasma->clouds.data[c].medium.integrate);
    most = n > most ? n : most;
  }
  return most;
}

static kp_result plasma_population(void *self, kp_env *env) {
  kp_plasma *plasma = self;
  FOR_EACH_CLOUD(plasma, cloud) {
    KP_TRY(kp_medium_population(&cloud->medium, env));
  }
  return KP_OK;
}

static kp_result plasma_begin_stage(void *self, kp_env *env) {
  kp_plasma *plasma = self;
  FOR_EACH_CLOUD(plasma, cloud) {
    KP_TRY(kp_medium_begin(&cloud->medium, env));
  }
  return KP_OK;
}

static kp_result plasma_space(void *self, kp_env *env) {
  kp_plasma *plasma = self;
  FOR_EACH_CLOUD(plasma, cloud) {
    KP_TRY(kp_medium_space(&cloud->medium, env));
  }
  return KP_OK;
}

static kp_result plasma_forces(void *self, kp_env *env) {
  kp_plasma *plasma = self;
  FOR_EACH_CLOUD(plasma, cloud) {
    KP_TRY(cloud->cell != NULL ? force_near(cloud, env) : force_from(cloud, env, false));
    if (cloud->medium.ghosts != NULL) {
      KP_TRY(force_from(cloud, env, true));
    }
    KP_TRY(kp_medium_outer_forces(&cloud->medium, env));
  }
  return KP_OK;
}

static kp_result plasma_predict(void *self, kp_env *env) {
  kp_plasma *plasma = self;
  FOR_EACH_CLOUD(plasma, cloud) {
    KP_TRY(kp_medium_end(&cloud->medium, env));
  }
  return KP_OK;
}

static kp_result plasma_correct(void *self, kp_env *env) {
  kp_plasma *plasma = self;
  FOR_EACH_CLOUD(plasma, cloud) {
    KP_TRY(contain(cloud, env));
    KP_TRY(kp_medium_domain(&cloud->medium, env));
  }
  return KP_OK;
}

static kp_result plasma_check(void *self, kp_env *env) {
  kp_plasma *plasma = self;
  FOR_EACH_CLOUD(plasma, cloud) {
    KP_TRY(kp_medium_check(&cloud->medium, env, cloud->def.influence));
  }
  return KP_OK;
}

// A share of the time in which two charges fall through each other, and of the softening length per
// step.
static double plasma_max_dt(void *self, kp_env *env) {
  kp_plasma *plasma = self;
  (void)env;
  double dt = HUGE_VAL;
  FOR_EACH_CLOUD(plasma, cloud) {
    const kp_plasma_def *def = &cloud->def;
    double s = cloud->softening;
    double pull = def->strength * def->charge * def->charge;
    double speed = cloud->medium.max_speed;
    double a = cloud->medium.max_acceleration;
    dt = pull > 0.0 ? fmin(dt, def->cfl * sqrt(def->mass * s * s * s / pull)) : dt;
    dt = speed > 0.0 ? fmin(dt, def->cfl * s / speed) : dt;
    dt = a > 0.0 ? fmin(dt, def->cfl * sqrt(s / a)) : dt;
  }
  return dt;
}

static int plasma_n_populations(const void *self) {
  return (int)((const kp_plasma *)self)->clouds.count;
}

// The energy of pairs belongs to present places: they are sorted once more, as the next step would.
static kp_result plasma_stats(void *self, kp_env *env, int population, kp_population_stats *out) {
  kp_plasma *plasma = self;
  kp_plasma_cloud *cloud = &plasma->clouds.data[population];
  KP_TRY(kp_medium_space(&cloud->medium, env));
  KP_TRY(energy_from(cloud, false));
  if (cloud->medium.ghosts != NULL) {
    KP_TRY(energy_from(cloud, true));
  }
  plasma_total_args a = { 0 };
  double energy;
  kp_call call;
  kp_call_init(&call, &plasma_total_kernel, &a);
  KP_BIND(&call, &a, energy, &cloud->energy->buffers[0], KP_ACCESS_READ);
  KP_TRY(kp_call_reduce(env->backend, &call, cloud->medium.set->space->n, &energy));
  KP_TRY(kp_medium_stats(&cloud->medium, env, out));
  out->internal_energy = energy;
  return KP_OK;
}

static kp_result plasma_loaded(void *self) {
  kp_plasma *plasma = self;
  FOR_EACH_CLOUD(plasma, cloud) {
    KP_TRY(kp_medium_loaded(&cloud->medium));
  }
  return KP_OK;
}

const kp_method kp_plasma_method = {
  .name = "plasma",
  .text = "Charges with softened, truncated Coulomb forces.",
  .is_alone = true,
  .stages = { [KP_STAGE_POPULATION] = plasma_population,
              [KP_STAGE_SPACE] = plasma_space,
              [KP_STAGE_FORCES] = plasma_forces,
              [KP_STAGE_PREDICT] = plasma_predict,
              [KP_STAGE_CORRECT] = plasma_correct,
              [KP_STAGE_CHECK] = plasma_check },
  .evaluations = plasma_evaluations,
  .begin = plasma_begin_stage,
  .max_dt = plasma_max_dt,
  .n_populations = plasma_n_populations,
  .stats = plasma_stats,
  .loaded = plasma_loaded,
  .destroy = plasma_destroy,
};
