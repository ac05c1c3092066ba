#include "methods/springs/springs.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "data/call.h"
#include "par/kernel_define.h"

SPRINGS_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define CELL_MARGIN (1.0 + 1e-6)  // a pair at exactly the reach cannot fall between two cells
#define CONTACTS 12.0             // neighbours of a sphere in a close packing
#define DAMPING_SHARE 0.05        // of critical, where nobody says more
#define LONGEST_STEP 2.0          // diameters: whoever moves farther in a step has run away

// Table 6.1 of the source: one kilogram, newtons per metre, newton seconds per metre. Not one unit
// system, see springs.md.
#define PRINTED_MASS 1.0
#define PRINTED_STIFFNESS 0.4
#define PRINTED_SHEAR 0.2
#define PRINTED_DAMPING 0.95

// ---- set-up -------------------------------------------------------------------------------------

static double mass_of(const kp_springs *springs, const kp_env *env, const kp_liquid_def *def) {
  if (springs->def.calibration == KP_SPRINGS_PRINTED) {
    return PRINTED_MASS;
  }
  double area = def->spacing * def->spacing;
  return def->rest_density * (env->dimension == 2 ? area : area * def->spacing);
}

// Spheres that can come to lie above each other: from the floor to the highest one at the start.
static double count_layers(kp_springs_liquid *liquid, const kp_env *env) {
  int up = kp_env_up_axis(env);
  const double floor[3] = { env->domain.min.x, env->domain.min.y, env->domain.min.z };
  const double lid[3] = { env->domain.max.x, env->domain.max.y, env->domain.max.z };
  kp_set *set = liquid->medium.set;
  const kp_pos *x = kp_buffer_host(&set->position->buffers[up], KP_ACCESS_READ);
  double top = set->space->n > 0 ? -HUGE_VAL : lid[up];
  for (int64_t i = 0; i < set->space->n; ++i) {
    top = fmax(top, x[i]);
  }
  return fmax(ceil((top - floor[up]) / liquid->def.spacing), 1.0);
}

// k_s 2R >= m g layers / eps: the lowest contact gives way by no more than the share eps of a
// diameter. Without gravity, the speed at the start takes the place of weight.
static double calibrated_stiffness(const kp_springs *springs, kp_springs_liquid *liquid,
                                   kp_env *env) {
  double g = kp_vec3_length(env->simulation.gravity);
  double d = liquid->diameter;
  double m = liquid->medium.mass;
  liquid->layers = count_layers(liquid, env);
  double weight = m * g * liquid->layers / (springs->def.compression * d);
  double speed = kp_medium_expected_speed(&liquid->medium, env);
  double blow = m * speed * speed / (d * d);
  return g > 0.0 ? weight : blow;
}

static void choose_constants(const kp_springs *springs, kp_springs_liquid *liquid, kp_env *env) {
  const kp_springs_def *def = &springs->def;
  bool printed = def->calibration == KP_SPRINGS_PRINTED;
  if (!isnan(def->stiffness)) {
    liquid->stiffness = def->stiffness;
  } else {
    liquid->stiffness = printed ? PRINTED_STIFFNESS : calibrated_stiffness(springs, liquid, env);
  }
  // stress mu u/d on the area d^2 of a contact
  double viscous = liquid->def.viscosity * liquid->diameter;
  double critical = sqrt(2.0 * liquid->stiffness * liquid->medium.mass);
  liquid->shear = !isnan(def->shear) ? def->shear : (printed ? PRINTED_SHEAR : viscous);
  liquid->damping =
      !isnan(def->damping) ? def->damping : (printed ? PRINTED_DAMPING : DAMPING_SHARE * critical);
  kp_log(KP_LOG_INFO, "springs", "liquid \"%s\": %s, k = %g N/m, m = %g kg, %g layers",
         liquid->def.name, printed ? "printed values" : "calibrated", liquid->stiffness,
         liquid->medium.mass, liquid->layers);
}

static bool is_general(const kp_springs *springs) {
  return springs->def.tension > 0.0 || springs->def.attraction > 0.0;
}

static double reach_of(const kp_springs_def *def, double diameter) {
  double reach = diameter;
  reach = def->tension > 0.0 ? fmax(reach, def->tension_reach * diameter) : reach;
  return def->attraction > 0.0 ? fmax(reach, def->attraction_reach * diameter) : reach;
}

springs_law kp_springs_law(const kp_springs *springs, const kp_springs_liquid *a,
                           const kp_springs_liquid *b) {
  const kp_springs_def *def = &springs->def;
  // two springs in a row
  double k =
      a == b ? a->stiffness : 2.0 * a->stiffness * b->stiffness / (a->stiffness + b->stiffness);
  double touch = 0.5 * (a->diameter + b->diameter);
  return (springs_law){
    .stiffness = (kp_real)k,
    .touch = (kp_real)touch,
    .shear = (kp_real)(0.5 * (a->shear + b->shear)),
    .damping = (kp_real)(0.5 * (a->damping + b->damping)),
    .tension = (kp_real)(def->tension * k),
    .reach = (kp_real)(def->tension > 0.0 ? def->tension_reach * touch : touch),
    .gravity = (kp_real)(def->attraction * a->medium.mass * b->medium.mass),
    .horizon = (kp_real)(def->attraction > 0.0 ? def->attraction_reach * touch : touch),
  };
}

// Samples count as spheres of the liquid's size: the domain's and the bodies' lie half a spacing
// deep.
static springs_law wall_law(const kp_springs *springs, const kp_springs_liquid *liquid) {
  springs_law law = kp_springs_law(springs, liquid, liquid);
  law.stiffness *= (kp_real)springs->def.wall_stiffness;
  law.shear *= (kp_real)(1.0 - springs->def.slip);
  return law;
}

static kp_result add_fields(kp_springs_liquid *liquid) {
  kp_space *space = liquid->medium.set->space;
  kp_field_desc lot = { "lot", KP_TYPE_REAL, 1, "", KP_FIELD_GHOST, 0.0 };
  kp_field_desc energy = { "spring_energy", KP_TYPE_REAL, 1, "J", 0, 0.0 };
  KP_TRY(kp_space_add_field(space, &lot, &liquid->lot));
  return kp_space_add_field(space, &energy, &liquid->energy);
}

static kp_result setup_liquid(kp_springs *springs, kp_env *env, kp_springs_liquid *liquid) {
  const kp_liquid_def *def = &liquid->def;
  liquid->diameter = springs->def.diameter * def->spacing;
  kp_medium_def how = { .word = "liquid",
                        .name = def->name,
                        .shape = def->empty ? NULL : &def->shape,
                        .spacing = def->spacing,
                        .jitter = def->jitter,
                        .velocity = def->velocity,
                        .velocity_at = def->velocity_at,
                        .integrator = springs->def.integrator };
  KP_TRY(kp_medium_create(&liquid->medium, env, &how));
  liquid->medium.mass = mass_of(springs, env, def);
  KP_TRY(add_fields(liquid));
  if (!def->empty) {
    KP_TRY(kp_medium_fill(&liquid->medium, env, &def->shape));
  }
  choose_constants(springs, liquid, env);
  springs->reach = fmax(springs->reach, reach_of(&springs->def, liquid->diameter));
  return KP_OK;
}

static kp_result setup_walls(kp_springs *springs, kp_env *env) {
  kp_interface *both[2] = { env->walls, env->movers };
  for (int w = 0; w < 2; ++w) {
    if (both[w] != NULL && both[w]->set->space->n > 0) {
      KP_TRY(kp_cells_create(both[w]->set, springs->reach * CELL_MARGIN, &springs->walls[w]));
      KP_TRY(kp_cells_build(springs->walls[w], NULL));
    }
  }
  return KP_OK;
}

static void springs_destroy(void **self) {
  kp_springs *springs = *self;
  if (springs == NULL) {
    return;
  }
  for (size_t l = 0; l < springs->liquids.count; ++l) {
    kp_medium_free(&springs->liquids.data[l].medium);
  }
  for (int w = 0; w < 2; ++w) {
    kp_cells_destroy(&springs->walls[w]);
  }
  kp_array_free(&springs->liquids);
  kp_free(springs);
  *self = NULL;
}

static kp_result setup(kp_springs *springs, kp_env *env, const kp_liquid_def *liquids, size_t n) {
  KP_TRY(kp_array_reserve(&springs->liquids, n));
  for (size_t l = 0; l < n; ++l) {
    kp_springs_liquid *liquid = &springs->liquids.data[springs->liquids.count++];
    *liquid = (kp_springs_liquid){ .def = liquids[l] };
    KP_TRY(setup_liquid(springs, env, liquid));
  }
  // the reach of all pairs is known only now
  for (size_t l = 0; l < n; ++l) {
    kp_medium *medium = &springs->liquids.data[l].medium;
    KP_TRY(kp_medium_grid(medium, env, springs->reach * CELL_MARGIN, springs->reach));
  }
  return setup_walls(springs, env);
}

kp_result kp_springs_create(kp_env *env, const kp_springs_def *def, const kp_liquid_def *liquids,
                            size_t n_liquids, kp_springs **out) {
  kp_springs *springs = kp_alloc_zero(sizeof *springs, KP_MEMORY_WORLD);
  if (springs == NULL) {
    return KP_ERROR_MEMORY;
  }
  springs->def = *def;
  kp_result result = setup(springs, env, liquids, n_liquids);
  if (result != KP_OK) {
    void *self = springs;
    springs_destroy(&self);
    return result;
  }
  *out = springs;
  return KP_OK;
}

// ---- passes -------------------------------------------------------------------------------------

typedef struct source {
  kp_set *set;
  kp_cells *cells;
  kp_field *lot;
} source;

static source source_of(kp_springs_liquid *liquid, bool images) {
  kp_medium *medium = &liquid->medium;
  kp_set *set = images ? medium->ghosts->set : medium->set;
  return (source){ .set = set,
                   .cells = images ? medium->ghost_cells : medium->cells,
                   .lot = images ? kp_space_find(set->space, "lot") : liquid->lot };
}

static kp_result run_pairs(kp_springs *springs, kp_call *call, kp_cells *i, kp_cells *j) {
  kp_pair_job job;
  KP_TRY(kp_pair_job_make(i, j, springs->reach, &job));
  job.adds_only = j == springs->walls[0] || j == springs->walls[1];
  return kp_call_pairs(i->set->space->backend, call, &job);
}

static kp_result force_from(kp_springs *springs, const kp_env *env, kp_springs_liquid *liquid,
                            kp_springs_liquid *other, bool images) {
  bool first = other == liquid && !images;
  kp_vec3 g = env->simulation.gravity;
  source from = source_of(other, images);
  kp_medium *medium = &liquid->medium;
  springs_force_args a = { .law = kp_springs_law(springs, liquid, other),
                           .inverse_mass = (kp_real)(1.0 / medium->mass),
                           .drag = (kp_real)(springs->def.drag / medium->mass),
                           .add = !first,
                           .gx = (kp_real)g.x,
                           .gy = (kp_real)g.y,
                           .gz = (kp_real)g.z };
  kp_call call;
  kp_call_init(&call, is_general(springs) ? &springs_general_kernel : &springs_force_kernel, &a);
  KP_BIND3(&call, &a, v, medium->set->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, lot, &liquid->lot->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_v, from.set->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, j_lot, &from.lot->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, a, medium->integrate.acceleration,
           first ? KP_ACCESS_OVERWRITE : KP_ACCESS_WRITE);
  return run_pairs(springs, &call, medium->cells, from.cells);
}

static kp_result force_from_walls(kp_springs *springs, kp_springs_liquid *liquid, int which,
                                  kp_interface *samples) {
  kp_medium *medium = &liquid->medium;
  springs_wall_args a = { .law = wall_law(springs, liquid),
                          .inverse_mass = (kp_real)(1.0 / medium->mass) };
  kp_call call;
  kp_call_init(&call, &springs_wall_kernel, &a);
  KP_BIND3(&call, &a, v, medium->set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_v, samples->set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, a, medium->integrate.acceleration, KP_ACCESS_WRITE);
  return run_pairs(springs, &call, medium->cells, springs->walls[which]);
}

// What the liquid does to samples that feel it: the same law seen from the other side.
static kp_result react(kp_springs *springs, kp_springs_liquid *liquid, int which,
                       kp_interface *samples) {
  springs_react_args a = { .law = wall_law(springs, liquid) };
  kp_call call;
  kp_call_init(&call, &springs_react_kernel, &a);
  KP_BIND3(&call, &a, v, samples->set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_v, liquid->medium.set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, f, samples->force, KP_ACCESS_WRITE);
  return run_pairs(springs, &call, springs->walls[which], liquid->medium.cells);
}

// Where centres touch the faces; false when the domain has no closed face.
static bool faces_of(const kp_springs *springs, const kp_springs_liquid *liquid, const kp_env *env,
                     double lo[3], double hi[3]) {
  bool any = false;
  for (int axis = 0; axis < 3; ++axis) {
    kp_faces faces = kp_env_faces(env, axis);
    bool springy = springs->def.walls == KP_SPRINGS_WALLS_PENALTY;
    lo[axis] = springy && faces.closed_lo ? faces.lo + 0.5 * liquid->diameter : -HUGE_VAL;
    hi[axis] = springy && faces.closed_hi ? faces.hi - 0.5 * liquid->diameter : HUGE_VAL;
    any = any || (springy && (faces.closed_lo || faces.closed_hi));
  }
  return any;
}

static kp_result box_forces(kp_springs *springs, kp_env *env, kp_springs_liquid *liquid) {
  kp_medium *medium = &liquid->medium;
  springs_box_args a = { .stiffness =
                             springs->def.wall_stiffness * liquid->stiffness / medium->mass,
                         .damping = liquid->damping / medium->mass };
  if (!faces_of(springs, liquid, env, a.lo, a.hi)) {
    return KP_OK;
  }
  kp_call call;
  kp_call_init(&call, &springs_box_kernel, &a);
  KP_BIND3(&call, &a, , medium->set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, medium->set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, a, medium->integrate.acceleration, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, medium->set->space->n);
}

static kp_result liquid_forces(kp_springs *springs, kp_env *env, kp_springs_liquid *liquid) {
  KP_TRY(force_from(springs, env, liquid, liquid, false));
  for (size_t k = 0; k < springs->liquids.count; ++k) {
    kp_springs_liquid *other = &springs->liquids.data[k];
    if (other != liquid) {
      KP_TRY(force_from(springs, env, liquid, other, false));
    }
    if (other->medium.ghosts != NULL) {
      KP_TRY(force_from(springs, env, liquid, other, true));
    }
  }
  kp_interface *both[2] = { env->walls, env->movers };
  for (int w = 0; w < 2; ++w) {
    if (springs->walls[w] != NULL) {
      KP_TRY(force_from_walls(springs, liquid, w, both[w]));
    }
  }
  for (int w = 0; w < 2; ++w) {
    if (springs->walls[w] != NULL && both[w]->feels) {
      KP_TRY(react(springs, liquid, w, both[w]));
    }
  }
  KP_TRY(box_forces(springs, env, liquid));
  return kp_medium_outer_forces(&liquid->medium, env);
}

// ---- energy -------------------------------------------------------------------------------------

static kp_result energy_from(kp_springs *springs, kp_springs_liquid *liquid,
                             kp_springs_liquid *other, bool images) {
  bool first = other == liquid && !images;
  source from = source_of(other, images);
  springs_energy_args a = { .law = kp_springs_law(springs, liquid, other), .add = !first };
  kp_call call;
  kp_call_init(&call, &springs_energy_kernel, &a);
  KP_BIND(&call, &a, lot, &liquid->lot->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, j_lot, &from.lot->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, energy, &liquid->energy->buffers[0],
          first ? KP_ACCESS_OVERWRITE : KP_ACCESS_WRITE);
  return run_pairs(springs, &call, liquid->medium.cells, from.cells);
}

static kp_result energy_from_walls(kp_springs *springs, kp_springs_liquid *liquid, int which) {
  springs_wall_energy_args a = { .law = wall_law(springs, liquid) };
  kp_call call;
  kp_call_init(&call, &springs_wall_energy_kernel, &a);
  KP_BIND(&call, &a, energy, &liquid->energy->buffers[0], KP_ACCESS_WRITE);
  return run_pairs(springs, &call, liquid->medium.cells, springs->walls[which]);
}

static kp_result total_energy(kp_springs *springs, kp_env *env, kp_springs_liquid *liquid,
                              double *out) {
  kp_medium *medium = &liquid->medium;
  springs_total_args a = { .stiffness = springs->def.wall_stiffness * liquid->stiffness };
  faces_of(springs, liquid, env, a.lo, a.hi);
  kp_call call;
  kp_call_init(&call, &springs_total_kernel, &a);
  KP_BIND3(&call, &a, , medium->set->position, KP_ACCESS_READ);
  KP_BIND(&call, &a, energy, &liquid->energy->buffers[0], KP_ACCESS_READ);
  return kp_call_reduce(env->backend, &call, medium->set->space->n, out);
}

// ---- stages -------------------------------------------------------------------------------------

#define FOR_EACH_LIQUID(springs, liquid)                                                           \
  for (kp_springs_liquid *liquid = (springs)->liquids.data,                                        \
                         *end_ = liquid + (springs)->liquids.count;                                \
       liquid < end_; ++liquid)

static int springs_evaluations(const void *self) {
  const kp_springs *springs = self;
  return springs->liquids.count > 0
             ? kp_integrate_stages(&springs->liquids.data[0].medium.integrate)
             : 1;
}

static kp_result springs_population(void *self, kp_env *env) {
  kp_springs *springs = self;
  FOR_EACH_LIQUID(springs, liquid) {
    KP_TRY(kp_medium_population(&liquid->medium, env));
  }
  return KP_OK;
}

static kp_result springs_begin(void *self, kp_env *env) {
  kp_springs *springs = self;
  FOR_EACH_LIQUID(springs, liquid) {
    KP_TRY(kp_medium_begin(&liquid->medium, env));
  }
  return KP_OK;
}

static kp_result draw_lots(kp_springs_liquid *liquid) {
  kp_set *set = liquid->medium.set;
  springs_lot_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &springs_lot_kernel, &a);
  KP_BIND(&call, &a, id, &set->id->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, lot, &liquid->lot->buffers[0], KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(set->space->backend, &call, set->space->n));
  kp_ghosts *ghosts = liquid->medium.ghosts;
  return ghosts != NULL ? kp_ghosts_refresh(ghosts, liquid->lot) : KP_OK;
}

static kp_result springs_space(void *self, kp_env *env) {
  kp_springs *springs = self;
  FOR_EACH_LIQUID(springs, liquid) {
    KP_TRY(kp_medium_space(&liquid->medium, env));
    KP_TRY(draw_lots(liquid));
  }
  return springs->walls[1] != NULL ? kp_cells_build(springs->walls[1], NULL) : KP_OK;
}

static kp_result springs_forces(void *self, kp_env *env) {
  kp_springs *springs = self;
  FOR_EACH_LIQUID(springs, liquid) {
    KP_TRY(liquid_forces(springs, env, liquid));
  }
  return KP_OK;
}

static kp_result springs_predict(void *self, kp_env *env) {
  kp_springs *springs = self;
  FOR_EACH_LIQUID(springs, liquid) {
    KP_TRY(kp_medium_end(&liquid->medium, env));
  }
  return KP_OK;
}

static kp_result springs_correct(void *self, kp_env *env) {
  kp_springs *springs = self;
  bool planes = springs->def.walls == KP_SPRINGS_WALLS_PLANES;
  FOR_EACH_LIQUID(springs, liquid) {
    if (planes) {
      KP_TRY(kp_medium_domain(&liquid->medium, env));
    }
  }
  return KP_OK;
}

static kp_result springs_check(void *self, kp_env *env) {
  kp_springs *springs = self;
  FOR_EACH_LIQUID(springs, liquid) {
    KP_TRY(kp_medium_check(&liquid->medium, env, LONGEST_STEP * liquid->diameter));
  }
  return KP_OK;
}

// dt <= cfl 2 sqrt(m / 12 k), 12 dt (k_d + k_sh) <= m, and a twentieth of a diameter per step
static double springs_max_dt(void *self, kp_env *env) {
  kp_springs *springs = self;
  double bodies = kp_medium_fastest_body(env);
  double dt = HUGE_VAL;
  FOR_EACH_LIQUID(springs, liquid) {
    double m = liquid->medium.mass;
    double stiffest = liquid->stiffness * fmax(1.0, springs->def.wall_stiffness);
    double rub = liquid->shear + liquid->damping;
    double speed = fmax(liquid->medium.max_speed, bodies);
    dt = fmin(dt, springs->def.cfl * 2.0 * sqrt(m / (CONTACTS * stiffest)));
    dt = rub > 0.0 ? fmin(dt, m / (CONTACTS * rub)) : dt;
    dt = speed > 0.0 ? fmin(dt, springs->def.cfl * 0.5 * liquid->diameter / speed) : dt;
  }
  return dt;
}

static int springs_n_populations(const void *self) {
  return (int)((const kp_springs *)self)->liquids.count;
}

// The energy of springs belongs to present places: they are sorted once more, as the next step
// would.
static kp_result springs_stats(void *self, kp_env *env, int population, kp_population_stats *out) {
  kp_springs *springs = self;
  kp_springs_liquid *liquid = &springs->liquids.data[population];
  KP_TRY(springs_space(springs, env));
  KP_TRY(energy_from(springs, liquid, liquid, false));
  for (size_t k = 0; k < springs->liquids.count; ++k) {
    kp_springs_liquid *other = &springs->liquids.data[k];
    if (other != liquid) {
      KP_TRY(energy_from(springs, liquid, other, false));
    }
    if (other->medium.ghosts != NULL) {
      KP_TRY(energy_from(springs, liquid, other, true));
    }
  }
  for (int w = 0; w < 2; ++w) {
    if (springs->walls[w] != NULL) {
      KP_TRY(energy_from_walls(springs, liquid, w));
    }
  }
  double energy;
  KP_TRY(total_energy(springs, env, liquid, &energy));
  KP_TRY(kp_medium_stats(&liquid->medium, env, out));
  out->internal_energy = energy;
  return KP_OK;
}

static kp_result springs_loaded(void *self) {
  kp_springs *springs = self;
  FOR_EACH_LIQUID(springs, liquid) {
    KP_TRY(kp_medium_loaded(&liquid->medium));
  }
  return KP_OK;
}

const kp_method kp_springs_method = {
  .name = "springs",
  .text = "Spring-mass water: soft spheres that push each other apart.",
  .stages = { [KP_STAGE_POPULATION] = springs_population,
              [KP_STAGE_SPACE] = springs_space,
              [KP_STAGE_FORCES] = springs_forces,
              [KP_STAGE_PREDICT] = springs_predict,
              [KP_STAGE_CORRECT] = springs_correct,
              [KP_STAGE_CHECK] = springs_check },
  .evaluations = springs_evaluations,
  .begin = springs_begin,
  .max_dt = springs_max_dt,
  .n_populations = springs_n_populations,
  .stats = springs_stats,
  .loaded = springs_loaded,
  .destroy = springs_destroy,
};
