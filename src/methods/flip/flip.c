#include "methods/flip/flip.h"

#include <math.h>
#include <string.h>

#include "base/log.h"
#include "base/timer.h"
#include "data/call.h"
#include "methods/common/force_field.h"
#include "methods/common/release.h"
#include "methods/flip/flip_kernels.h"
#include "par/kernel_define.h"

FLIP_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define PI 3.14159265358979323846
#define CELL_SPACINGS 2.0  // edge of a cell: four particles in 2D, eight in 3D
#define MARGIN 0.05        // cells that particles keep from walls and solids
#define CENTERING 0.5      // where grid { } says none
#define TOLERANCE 1e-6     // the same

#define EACH(liquid, flip)                                                                         \
  for (kp_flip_liquid *liquid = (flip)->liquids.data;                                              \
       liquid < (flip)->liquids.data + (flip)->liquids.count; ++liquid)

// ---- life ---------------------------------------------------------------------------------------

// Arrays of the grid that no checkpoint holds.
static size_t scratch_of(kp_flip *flip, kp_buffer *out[]) {
  kp_buffer *single[] = { &flip->fill,     &flip->count,  &flip->open, &flip->room,
                          &flip->distance, &flip->excess, &flip->push };
  size_t n = 0;
  for (size_t k = 0; k < sizeof single / sizeof single[0]; ++k) {
    out[n++] = single[k];
  }
  for (int c = 0; c < 3; ++c) {
    out[n++] = &flip->before[c];
    out[n++] = &flip->shift[c];
    out[n++] = &flip->weight[c];
  }
  return n;
}

#define N_SCRATCH 16

static void flip_destroy(void **self) {
  kp_flip *flip = *self;
  if (flip == NULL) {
    return;
  }
  kp_buffer *scratch[N_SCRATCH];
  size_t n = scratch_of(flip, scratch);
  for (size_t k = 0; k < n; ++k) {
    kp_buffer_free(scratch[k]);
  }
  EACH(liquid, flip) {
    kp_flip_sorted_free(&liquid->sorted);
    kp_medium_free(&liquid->medium);
  }
  kp_flip_band_free(&flip->band);
  kp_flip_crowds_free(&flip->crowds);
  kp_flip_tension_free(&flip->tension);
  kp_vortex_particles_free(&flip->vortices);
  kp_vorticity_free(&flip->vorticity);
  kp_flow_free(&flip->flow);
  kp_array_free(&flip->floaters);
  kp_array_free(&flip->bodies);
  kp_array_free(&flip->thrusts);
  kp_array_free(&flip->boxes);
  kp_array_free(&flip->liquids);
  kp_free(flip);
  *self = NULL;
}

static kp_result setup_liquid(kp_flip *flip, kp_env *env, kp_flip_liquid *liquid, bool is_centred) {
  const kp_liquid_def *def = &liquid->def;
  kp_medium_def medium = { .word = "liquid",
                           .name = def->name,
                           .shape = def->empty ? NULL : &def->shape,
                           .spacing = def->spacing,
                           .jitter = def->jitter,
                           .velocity = def->velocity,
                           .velocity_at = def->velocity_at,
                           .integrator = KP_INTEGRATOR_COUNT };
  kp_flip_sorted_init(&liquid->sorted, env->backend);
  KP_TRY(kp_medium_create(&liquid->medium, env, &medium));
  const kp_field_desc fraction = { "cell_fraction", KP_TYPE_REAL, 3, "", 0, 0.0 };
  const kp_field_desc affine = { "affine", KP_TYPE_REAL, 9, "m/s", KP_FIELD_STATE, 0.0 };
  const kp_field_desc ahead = { "ahead", KP_TYPE_REAL, 3, "m/s", KP_FIELD_STATE, 0.0 };
  kp_space *space = liquid->medium.set->space;
  KP_TRY(kp_space_add_field(space, &fraction, &liquid->fraction));
  KP_TRY(kp_space_add_field(space, &kp_flow_shown_pressure, &liquid->pressure));
  if (flip->def.transfer == KP_FLIP_AFFINE) {
    KP_TRY(kp_space_add_field(space, &affine, &liquid->affine));
  }
  if (is_centred) {
    KP_TRY(kp_space_add_field(space, &ahead, &liquid->ahead));
  }
  liquid->medium.mass = def->rest_density * pow(def->spacing, (double)env->dimension);
  liquid->medium.rest_density = def->rest_density;
  return def->empty ? KP_OK : kp_medium_fill(&liquid->medium, env, &def->shape);
}

// What liquids that share a grid must have in common.
static kp_result check_alike(const kp_liquid_def *first, const kp_liquid_def *def) {
  const struct {
    const char *key, *unit;
    double a, b;
  } rows[] = {
    { "spacing", "m", first->spacing, def->spacing },
    { "rest_density", "kg/m^3", first->rest_density, def->rest_density },
    { "viscosity", "Pa s", first->viscosity, def->viscosity },
    { "surface_tension", "N/m", first->surface_tension, def->surface_tension },
  };
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r) {
    if (rows[r].a != rows[r].b) {
      return kp_fail(KP_ERROR_SCENE,
                     "liquid \"%s\": %s is %g %s, but that of liquid \"%s\" is %g %s; liquids of "
                     "method 'flip' share one grid and have it in common",
                     def->name, rows[r].key, rows[r].b, rows[r].unit, first->name, rows[r].a,
                     rows[r].unit);
    }
  }
  return KP_OK;
}

double kp_flip_cell(const kp_grid_def *grid, const kp_liquid_def *liquid) {
  return isnan(grid->cell) ? CELL_SPACINGS * liquid->spacing : grid->cell;
}

// A force on one of several is none that the grid they share can tell from one on all.
static kp_result check_forces(const kp_env *env, const kp_flip_setup *setup) {
  size_t n_fields = env->fields != NULL && setup->n_liquids > 1 ? env->fields->n : 0;
  for (size_t f = 0; f < n_fields; ++f) {
    const kp_force_def *force = &env->fields->defs[f];
    for (size_t l = 0; l < setup->n_liquids; ++l) {
      if (strcmp(force->on, setup->liquids[l].name) == 0) {
        return kp_fail(KP_ERROR_SCENE,
                       "force \"%s\": on = \"%s\" names one of several liquids of method 'flip', "
                       "which share one grid; leave `on` out, and it acts on all of them",
                       force->name, force->on);
      }
    }
  }
  return KP_OK;
}

static kp_result setup_grid(kp_flip *flip, kp_env *env, const kp_flip_setup *setup) {
  const kp_liquid_def *first = &setup->liquids[0];
  kp_flow_def flow = { .word = "liquid",
                       .name = "flip",
                       .cell = kp_flip_cell(setup->grid, first),
                       .density = first->rest_density,
                       .grid = setup->grid,
                       .centering = CENTERING,
                       .tolerance = TOLERANCE,
                       .lets_go = setup->def->lets_go,
                       .shows_pressure = true,
                       .pushes_bodies = true,
                       .medium = setup->n_liquids == 1 ? first->name : NULL };
  KP_TRY(kp_flow_create(&flip->flow, env, &flow));
  kp_flip_crowds_init(&flip->crowds, env->backend);
  kp_buffer *scratch[N_SCRATCH];
  size_t n = scratch_of(flip, scratch);
  for (size_t k = 0; k < n; ++k) {
    KP_TRY(kp_mac_scratch(flip->flow.mac, KP_TYPE_REAL, scratch[k]));
  }
  return KP_OK;
}

// They are born into a liquid by its name and drive the grid that all liquids share.
static kp_result setup_vortices(kp_flip *flip, kp_env *env) {
  KP_TRY(kp_vortex_particles_create(&flip->vortices, env, &flip->flow));
  EACH(liquid, flip) {
    KP_TRY(kp_vortex_particles_add(&flip->vortices, env, liquid->def.name));
  }
  return kp_vortex_particles_any(&flip->vortices) ? kp_vorticity_init(&flip->vorticity, &flip->flow)
                                                  : KP_OK;
}

static kp_result setup_all(kp_flip *flip, kp_env *env, const kp_flip_setup *setup) {
  KP_TRY(check_forces(env, setup));
  KP_TRY(kp_array_reserve(&flip->liquids, setup->n_liquids));
  bool is_centred = !(setup->grid->centering >= 1.0);
  for (size_t l = 0; l < setup->n_liquids; ++l) {
    KP_TRY(check_alike(&setup->liquids[0], &setup->liquids[l]));
    kp_flip_liquid *liquid = &flip->liquids.data[flip->liquids.count++];
    *liquid = (kp_flip_liquid){ .def = setup->liquids[l] };
    KP_TRY(setup_liquid(flip, env, liquid, is_centred));
  }
  KP_TRY(kp_flip_find_bodies(flip, env));
  KP_TRY(setup_grid(flip, env, setup));
  KP_TRY(setup_vortices(flip, env));
  double sigma = setup->liquids[0].surface_tension;
  if (sigma > 0.0) {
    KP_TRY(kp_flip_tension_create(&flip->tension, flip->flow.mac, sigma));
  }
  return flip->def.band > 0.0 ? kp_flip_band_create(flip, env) : KP_OK;
}

kp_result kp_flip_create(kp_env *env, const kp_flip_setup *setup, kp_flip **out) {
  kp_flip *flip = kp_alloc_zero(sizeof *flip, KP_MEMORY_WORLD);
  if (flip == NULL) {
    return KP_ERROR_MEMORY;
  }
  flip->def = *setup->def;
  kp_result result = setup_all(flip, env, setup);
  if (result != KP_OK) {
    void *self = flip;
    flip_destroy(&self);
    return result;
  }
  *out = flip;
  return KP_OK;
}

// ---- stages -------------------------------------------------------------------------------------

static kp_result flip_population(void *self, kp_env *env) {
  EACH(liquid, (kp_flip *)self) {
    KP_TRY(kp_medium_population(&liquid->medium, env));
  }
  return kp_vortex_particles_emit(&((kp_flip *)self)->vortices, env);
}

// Other systems of the world may evaluate their forces more than once in a step; this one has done
// its part in the first round.
static bool is_later(const kp_env *env) {
  return env->evaluation > 0;
}

// The window to the particles. Deep liquid of a narrow band has none: it keeps the whole grid.
static kp_result follow(kp_flip *flip) {
  kp_flow *flow = &flip->flow;
  if (!flow->grid.follow || flip->band.is_there) {
    return KP_OK;
  }
  flip->boxes.count = 0;
  EACH(liquid, flip) {
    kp_aabb box;
    if (liquid->medium.set->space->n > 0) {
      KP_TRY(kp_flow_box(flow, liquid->medium.set, &box));
      KP_TRY(kp_array_push(&flip->boxes, box));
    }
  }
  uint64_t revision = flow->mac->window_revision;
  kp_flow_activity activity = { .boxes = flip->boxes.data, .n_boxes = flip->boxes.count };
  KP_TRY(kp_flow_follow(flow, &activity));
  flip->knows_room = flip->knows_room && flow->mac->window_revision == revision;
  return KP_OK;
}

static kp_result flip_space(void *self, kp_env *env) {
  kp_flip *flip = self;
  if (is_later(env)) {
    return KP_OK;
  }
  KP_TRY(follow(flip));
  KP_TRY(kp_flow_solids(&flip->flow, env, KP_CELL_AIR));
  KP_TRY(kp_flip_find_room(flip));
  if (flip->def.volume > 0.0 && !flip->band.is_there) {
    // what was poured into others
    KP_TRY(kp_flip_part_crowds(flip, KP_FLIP_MOST_CROWD));
  }
  EACH(liquid, flip) {
    kp_set *set = liquid->medium.set;
    KP_TRY(flip->band.is_there
               ? kp_flip_band_sort(flip, liquid)
               : kp_flip_sort(&liquid->sorted, flip->flow.mac, set, liquid->fraction, NULL));
  }
  return KP_OK;
}

// Velocity and flags of the grid from the particles.
static kp_result flip_prepare(void *self, kp_env *env) {
  kp_flip *flip = self;
  kp_mac *mac = flip->flow.mac;
  if (is_later(env)) {
    return KP_OK;
  }
  double cell = pow(mac->view.cell, mac->view.dimension);
  bool is_narrow = flip->band.is_there;
  EACH(liquid, flip) {
    if (is_narrow) {
      KP_TRY(kp_flip_band_count(flip, liquid));
    }
    if (liquid->ahead != NULL) {
      KP_TRY(kp_flip_ahead_join(flip, liquid));
    }
    kp_flip_gathering gathering = {
      .set = liquid->medium.set,
      .sorted = &liquid->sorted,
      .fraction = liquid->fraction,
      .affine = liquid->affine,
      .volume = pow(liquid->def.spacing, mac->view.dimension) / cell,
      .is_first = liquid == flip->liquids.data,
      .is_last = liquid + 1 == flip->liquids.data + flip->liquids.count,
      .velocity = flip->flow.velocity,
      .weight = flip->weight,
      .fill = &flip->fill,
      .count = &flip->count,
      .lack = is_narrow ? &flip->band.lack : NULL,
      .inner = flip->band.inner,
    };
    KP_TRY(kp_flip_gather(mac, &gathering));
  }
  KP_TRY(kp_flip_fill(mac, flip->flow.velocity));
  if (is_narrow) {
    KP_TRY(kp_flip_band_fill(flip));
    KP_TRY(kp_flip_band_seed(flip, &flip->liquids.data[0]));
  }
  for (int c = 0; c < mac->view.dimension && flip->def.transfer == KP_FLIP_BLEND; ++c) {
    KP_TRY(kp_buffer_copy(&flip->before[c], &flip->flow.velocity->buffers[c]));
  }
  return kp_flip_mark(flip);
}

// Some ways of forcing look at the curl of the flow: beyond the liquid it goes on as it is.
static kp_result stir(kp_flip *flip, kp_env *env) {
  KP_TRY(kp_flow_extrapolate(&flip->flow, 2));
  KP_TRY(kp_vorticity_begin(&flip->vorticity));
  KP_TRY(kp_vortex_particles_force(&flip->vortices, &flip->vorticity));
  return kp_vorticity_push(&flip->vorticity, env->dt);
}

static kp_result flip_forces(void *self, kp_env *env) {
  kp_flip *flip = self;
  if (is_later(env)) {
    return KP_OK;
  }
  if (kp_vortex_particles_any(&flip->vortices)) {
    KP_TRY(stir(flip, env));
  }
  return kp_flow_forces(&flip->flow, env, 1.0);
}

// Cells that the fastest particle goes in the step.
static double longest_way(const kp_flip *flip, const kp_env *env) {
  double speed = flip->flow.max_speed;
  for (size_t l = 0; l < flip->liquids.count; ++l) {
    speed = fmax(speed, flip->liquids.data[l].medium.max_speed);
  }
  return speed * env->dt / flip->flow.mac->view.cell;
}

// Cells that it, or a kernel at it, can reach beyond the liquid.
static int layers(const kp_flip *flip, const kp_env *env) {
  return 2 + (int)fmin(ceil(longest_way(flip, env)), 8.0);
}

static kp_result flip_solve(void *self, kp_env *env) {
  kp_flip *flip = self;
  kp_flow *flow = &flip->flow;
  double viscosity = flip->liquids.data[0].def.viscosity;
  if (viscosity > 0.0) {
    KP_TRY(kp_flow_boundaries(flow, env));
    KP_TRY(kp_flow_viscosity(flow, env, viscosity, NULL));
  }
  double start = kp_time_now();
  kp_flow_projection how = { .distance = &flip->distance,
                             .releases = flip->def.lets_go,
                             .suction = flip->def.suction,
                             .is_near = true,
                             .leaves_released = true };
  if (flip->tension.is_there) {
    KP_TRY(kp_flip_tension_write(flip));
    how.surface_pressure = &flip->tension.jump;
  }
  KP_TRY(kp_flip_project(flip, env, &how));
  flip->totals.solve_seconds += kp_time_now() - start;
  if (kp_flip_is_centred(flip)) {
    KP_TRY(kp_flip_ahead_find(flip, env, layers(flip, env)));
  }
  KP_TRY(kp_flip_push_bodies(flip, env));
  flip->totals.solves += 1;
  flip->totals.iterations += flow->solved.iterations;
  flip->totals.unknowns = flow->solved.n_cells;
  if (flip->def.volume > 0.0) {
    KP_TRY(kp_flip_spread(flip));
  }
  // the solve for the volume had the same cells
  KP_TRY(kp_release_finish(flow));
  return kp_flow_extrapolate(flow, layers(flip, env));
}

static kp_result leave_solids(kp_flip *flip, kp_flip_liquid *liquid) {
  kp_flow *flow = &flip->flow;
  flip_leave_solids_args a = { .grid = flow->mac->view,
                               .margin = (kp_real)(MARGIN * flow->mac->view.cell) };
  kp_call call;
  kp_call_init(&call, &flip_leave_solids_kernel, &a);
  KP_BIND(&call, &a, distance, &flow->solids.distance, KP_ACCESS_READ);
  KP_BIND(&call, &a, flags, &flow->flags->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, , liquid->medium.set->position, KP_ACCESS_WRITE);
  return kp_call_run(flow->mac->backend, &call, liquid->medium.set->space->n);
}

// Crowds that the motion has made are parted before anybody looks. Without any, the particles are
// in order for the next step.
static kp_result part(kp_flip *flip, kp_env *env) {
  bool is_long = longest_way(flip, env) > KP_FLIP_LONG_WAY;
  return kp_flip_part_crowds(flip, is_long ? KP_FLIP_LONG_CROWD : KP_FLIP_MOST_CROWD);
}

// What the grid has found goes to the particles, and they move.
static kp_result flip_correct(void *self, kp_env *env) {
  kp_flip *flip = self;
  kp_flow *flow = &flip->flow;
  bool is_affine = flip->def.transfer == KP_FLIP_AFFINE;
  bool has_slopes = is_affine && kp_flip_is_centred(flip);
  if (has_slopes) {
    KP_TRY(kp_flip_ahead_add(flip, flip->before));
  } else if (!is_affine) {
    KP_TRY(kp_flip_blend(flow->mac, flip->before, flip->def.ratio));
  }
  EACH(liquid, flip) {
    kp_flip_carrying carrying = {
      .set = liquid->medium.set,
      .affine = liquid->affine,
      .dt = env->dt,
      .ratio = flip->def.ratio,
      .trace = flow->grid.trace,
      .gravity = env->simulation.gravity,
      .margin = MARGIN * flow->mac->view.cell,
      .velocity = flow->velocity,
      .taken = is_affine && !has_slopes ? flow->velocity->buffers : flip->before,
      .shift = flip->def.volume > 0.0 ? flip->shift : NULL,
      .runs = &liquid->sorted.runs,
    };
    if (liquid->ahead != NULL) {
      KP_TRY(kp_flip_ahead_look(flip, liquid));
    }
    KP_TRY(kp_flip_carry(flow->mac, &carrying));
    liquid->sorted.is_settled = false;
    if (flow->solids.has_solids) {
      KP_TRY(leave_solids(flip, liquid));
    }
    KP_TRY(kp_medium_domain(&liquid->medium, env));
  }
  KP_TRY(kp_vortex_particles_move(&flip->vortices, env, &flip->distance));
  if (flip->band.is_there) {
    KP_TRY(kp_flip_band_move(flip, env));
  }
  return flip->def.volume > 0.0 ? part(flip, env) : KP_OK;
}

static kp_result flip_check(void *self, kp_env *env) {
  kp_flip *flip = self;
  const kp_mac_view *g = &flip->flow.mac->view;
  // a jet on a fine grid crosses many cells in a long step, but not the domain
  double cells = fmax(50.0, fmax(g->n[0], fmax(g->n[1], g->n[2])));
  double longest = g->cell * fmax(cells, 5.0 * flip->flow.grid.cfl);
  EACH(liquid, flip) {
    KP_TRY(kp_medium_check(&liquid->medium, env, longest));
  }
  if (flip->band.is_there) {
    KP_TRY(kp_flip_band_store(&flip->band));
  }
  return kp_flow_check(&flip->flow, env);
}

// dt <= cfl h / (|v| + sqrt(5 h |g|)), the speed a particle at rest can get in a step (Bridson
// 2008, section 3.2); with tension, capillary waves (Brackbill, Kothe & Zemach 1992, one fluid)
static double flip_max_dt(void *self, kp_env *env) {
  const kp_flip *flip = self;
  double h = flip->flow.mac->view.cell;
  double speed = kp_medium_fastest_body(env);
  speed = fmax(speed, flip->band.is_there ? flip->flow.max_speed : 0.0);
  for (size_t l = 0; l < flip->liquids.count; ++l) {
    speed = fmax(speed, flip->liquids.data[l].medium.max_speed);
  }
  speed += sqrt(5.0 * h * kp_vec3_length(env->simulation.gravity));
  double dt = speed > 0.0 ? flip->flow.grid.cfl * h / speed : HUGE_VAL;
  if (flip->tension.is_there) {
    dt = fmin(dt, sqrt(flip->flow.density * h * h * h / (4.0 * PI * flip->tension.sigma)));
  }
  return dt;
}

static int flip_n_populations(const void *self) {
  return (int)((const kp_flip *)self)->liquids.count;
}

static kp_result flip_stats(void *self, kp_env *env, int population, kp_population_stats *out) {
  kp_flip *flip = self;
  kp_flip_volumes volumes;
  KP_TRY(kp_medium_stats(&flip->liquids.data[population].medium, env, out));
  KP_TRY(kp_flip_measure(flip, &volumes));
  if (flip->band.is_there) {
    KP_TRY(kp_flip_band_stats(flip, env, out));
  }
  out->max_density_error = fmax(volumes.fullest - 1.0, 0.0);
  return KP_OK;
}

static kp_result flip_show(void *self, kp_env *env) {
  (void)env;
  kp_flip *flip = self;
  EACH(liquid, flip) {
    KP_TRY(kp_flow_show_pressure(&flip->flow, liquid->medium.set, liquid->pressure));
  }
  return KP_OK;
}

static kp_result flip_loaded(void *self) {
  kp_flip *flip = self;
  EACH(liquid, flip) {
    KP_TRY(kp_medium_loaded(&liquid->medium));
  }
  if (flip->band.is_there) {
    kp_flip_band_loaded(&flip->band);
  }
  KP_TRY(kp_vortex_particles_loaded(&flip->vortices));
  return kp_flow_loaded(&flip->flow);
}

const kp_method kp_flip_method = {
  .name = "flip",
  .text = "FLIP and APIC: particles carry the liquid, a grid keeps it incompressible.",
  .stages = { [KP_STAGE_POPULATION] = flip_population,
              [KP_STAGE_SPACE] = flip_space,
              [KP_STAGE_PREPARE] = flip_prepare,
              [KP_STAGE_FORCES] = flip_forces,
              [KP_STAGE_SOLVE] = flip_solve,
              [KP_STAGE_CORRECT] = flip_correct,
              [KP_STAGE_CHECK] = flip_check },
  .max_dt = flip_max_dt,
  .n_populations = flip_n_populations,
  .stats = flip_stats,
  .show = flip_show,
  .loaded = flip_loaded,
  .destroy = flip_destroy,
};
