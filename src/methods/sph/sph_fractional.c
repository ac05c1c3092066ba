// Viscosity of fractional order (Ozgen 2013, chapter 4): forces from a weighted mean of each
// particle's past velocities, D^q x divided by its gain S. The raw form of Eq. 4.6, D^q x itself,
// is the same with the viscosity multiplied by S, walls included.
#include <math.h>
#include <stdio.h>

#include "base/log.h"
#include "data/call.h"
#include "methods/sph/sph.h"
#include "methods/sph/sph_fractional_kernels.h"
#include "par/kernel_define.h"

SPH_FRACTIONAL_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define AT_REST 0.05        // of the rms speed: slower neighbours have no direction
#define LONGEST_SCAN 128    // samples for which the stable limit is looked for
#define VISCOUS_LIMIT 0.12  // of h^2 rho / mu, as with plain viscosity
#define SECONDS_SLOTS 32    // samples of a window in seconds

static const kp_kernel *const memory_kernels[KP_SMOOTH_KIND_COUNT] = {
  [KP_SMOOTH_POLY6] = &sph_memory_poly6_kernel,
  [KP_SMOOTH_SPIKY] = &sph_memory_spiky_kernel,
  [KP_SMOOTH_CUBIC] = &sph_memory_cubic_kernel,
  [KP_SMOOTH_WENDLAND] = &sph_memory_wendland_kernel,
};

static const kp_kernel *const collide_kernels[KP_SMOOTH_KIND_COUNT] = {
  [KP_SMOOTH_POLY6] = &sph_collide_poly6_kernel,
  [KP_SMOOTH_SPIKY] = &sph_collide_spiky_kernel,
  [KP_SMOOTH_CUBIC] = &sph_collide_cubic_kernel,
  [KP_SMOOTH_WENDLAND] = &sph_collide_wendland_kernel,
};

static bool in_seconds(const kp_sph_def *def) {
  return def->fractional_seconds > 0.0;
}

static int64_t slots_of(const kp_sph_def *def) {
  return in_seconds(def) ? SECONDS_SLOTS : def->fractional_steps;
}

// Viscosity in a pass of its own: the plain one cannot tell pairs apart, and the continuity form
// needs the velocities for the density.
static bool is_separate(const kp_sph *sph) {
  return sph->def.fractional_hybrid || sph->def.density == 1;
}

kp_result kp_sph_fractional_check(const kp_sph_def *def) {
  if (def->viscosity_model != KP_SPH_VISCOSITY_FRACTIONAL) {
    return KP_OK;
  }
  if (def->fractional_hybrid && def->fractional_mode == KP_SPH_FRACTIONAL_RAW) {
    return kp_fail(KP_ERROR_SCENE, "sph: 'fractional_hybrid' mixes forces of past and present "
                                   "velocities and needs fractional_mode 'calibrated'");
  }
  if (def->fractional_hybrid && def->fused) {
    return kp_fail(KP_ERROR_SCENE, "sph: 'fractional_hybrid' does not go with 'fused'");
  }
  return KP_OK;
}

// ---- set-up -------------------------------------------------------------------------------------

// The rows lie in `space`, whose elements are those of the set.
static kp_result add_memory(const kp_sph_def *def, kp_set *set, kp_space *space, const char *name,
                            kp_sph_memory *memory) {
  const kp_field_desc mean = { "past_velocity", KP_TYPE_REAL, 3, "m/s", KP_FIELD_GHOST, 0.0 };
  // a sample every so often that the slots reach back to the start of the window
  double interval = in_seconds(def) ? def->fractional_seconds / (double)SECONDS_SLOTS : 0.0;
  char clock[KP_NAME_SIZE];
  snprintf(clock, sizeof clock, "%.36s.history", name);
  KP_TRY(kp_space_add_field(set->space, &mean, &memory->velocity));
  return kp_history_create(space, set->dimension, clock, slots_of(def), interval, &memory->history);
}

static kp_result add_flags(kp_set *set, kp_sph_memory *memory) {
  const kp_field_desc sums = { "collision_sums", KP_TYPE_REAL, 5, "m/s", 0, 0.0 };
  const kp_field_desc blend = { "wall_velocity", KP_TYPE_REAL, 3, "m/s", 0, 0.0 };
  const kp_field_desc flag = { "colliding", KP_TYPE_REAL, 1, "", KP_FIELD_GHOST | KP_FIELD_EXPORT,
                               0.0 };
  KP_TRY(kp_space_add_field(set->space, &sums, &memory->sums));
  KP_TRY(kp_space_add_field(set->space, &blend, &memory->blend));
  return kp_space_add_field(set->space, &flag, &memory->flag);
}

kp_result kp_sph_fractional_setup(kp_sph *sph) {
  const kp_sph_def *def = &sph->def;
  sph->is_fractional = def->viscosity_model == KP_SPH_VISCOSITY_FRACTIONAL && sph->fluids.count > 0;
  if (!sph->is_fractional) {
    return KP_OK;
  }
  kp_frac_rule rule = { KP_FRAC_TRAPEZOID, (kp_frac_end)def->fractional_end, def->fractional_order,
                        slots_of(def) };
  KP_TRY(kp_frac_table_make(rule, &sph->limits.table));
  KP_TRY(kp_array_resize(&sph->limits.weights, (size_t)rule.window + 1));
  sph->limits.n = -1;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_fluid *fluid = &sph->fluids.data[f];
    KP_TRY(add_memory(def, fluid->medium.set, fluid->medium.set->space, fluid->def.name,
                      &fluid->memory));
    if (is_separate(sph)) {
      KP_TRY(add_flags(fluid->medium.set, &fluid->memory));
    }
    kp_log(KP_LOG_INFO, "sph", "liquid \"%s\": %.0f bytes of history per particle", fluid->def.name,
           kp_history_bytes(&fluid->memory.history));
  }
  // still walls have always had the velocity they have; moving ones have a past too
  kp_sph_wall_fields *movers = &sph->walls[1];
  if (movers->cells != NULL) {
    // samples are made anew by every build and never loaded: their past is a space of its own
    kp_set *set = movers->interface->set;
    kp_space *past;
    KP_TRY(kp_registry_add_space(set->space->registry, "movers.past", KP_SPACE_VERTICES, &past));
    KP_TRY(kp_space_append(past, set->space->n, NULL, 0));
    KP_TRY(add_memory(def, set, past, "movers", &movers->memory));
  }
  return KP_OK;
}

void kp_sph_fractional_free(kp_sph *sph) {
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_history_free(&sph->fluids.data[f].memory.history);
  }
  kp_history_free(&sph->walls[1].memory.history);
  kp_frac_table_free(&sph->limits.table);
  kp_array_free(&sph->limits.weights);
}

// ---- the past of this step ----------------------------------------------------------------------

static kp_result remember(const kp_sph *sph, const kp_env *env, kp_set *set,
                          kp_sph_memory *memory) {
  const kp_sph_def *def = &sph->def;
  kp_history_rule rule = { .end = (kp_frac_end)def->fractional_end,
                           .order = def->fractional_order,
                           .memory = in_seconds(def) ? def->fractional_seconds : HUGE_VAL,
                           .is_unit_sum = true };
  const kp_integrate *integrate = &sph->fluids.data[0].medium.integrate;
  double time = env->time + env->dt * kp_integrate_offset(integrate, env->evaluation);
  KP_TRY(kp_history_weigh(&memory->history, &rule, time));
  return kp_history_sum(&memory->history, set->velocity, memory->velocity, env->evaluation == 0);
}

static kp_field *image_of(kp_set *images, const kp_field *field) {
  return kp_space_find(images->space, field->name);
}

// Sums of one liquid or its images around the particles of the liquid.
static kp_result collide_with(kp_sph *sph, kp_sph_fluid *fluid, kp_set *set, kp_cells *cells,
                              bool add) {
  kp_sph_memory *memory = &fluid->memory;
  kp_access access = add ? KP_ACCESS_WRITE : KP_ACCESS_OVERWRITE;
  sph_collide_args a = { .w = sph->w, .mass = (kp_real)fluid->medium.mass, .add = add };
  kp_call call;
  kp_call_init(&call, collide_kernels[sph->w_kind], &a);
  KP_BIND3(&call, &a, v, fluid->medium.set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_v, set->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, j_inverse, &image_of(set, fluid->inverse)->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, approach, &memory->sums->buffers[0], access);
  KP_BIND(&call, &a, sx, &memory->sums->buffers[1], access);
  KP_BIND(&call, &a, sy, &memory->sums->buffers[2], access);
  KP_BIND(&call, &a, sz, &memory->sums->buffers[3], access);
  KP_BIND(&call, &a, speed, &memory->sums->buffers[4], access);
  kp_pair_job job;
  KP_TRY(kp_pair_job_make(fluid->medium.cells, cells, sph->support, &job));
  return kp_call_pairs(fluid->medium.set->space->backend, &call, &job);
}

static kp_result rms_speed(kp_sph_fluid *fluid, double *out) {
  kp_space *space = fluid->medium.set->space;
  sph_speed2_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &sph_speed2_kernel, &a);
  KP_BIND3(&call, &a, v, fluid->medium.set->velocity, KP_ACCESS_READ);
  double sum;
  KP_TRY(kp_call_reduce(space->backend, &call, space->n, &sum));
  *out = space->n > 0 ? sqrt(sum / (double)space->n) : 0.0;
  return KP_OK;
}

static kp_result blend_for_walls(kp_sph_fluid *fluid) {
  kp_sph_memory *memory = &fluid->memory;
  kp_space *space = fluid->medium.set->space;
  sph_blend_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &sph_blend_kernel, &a);
  KP_BIND(&call, &a, flag, &memory->flag->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, fluid->medium.set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, m, memory->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , memory->blend, KP_ACCESS_OVERWRITE);
  return kp_call_run(space->backend, &call, space->n);
}

// Flags where flows of this liquid collide (O23); everywhere without the hybrid form.
static kp_result flag_collisions(kp_sph *sph, kp_sph_fluid *fluid) {
  kp_sph_memory *memory = &fluid->memory;
  kp_medium *medium = &fluid->medium;
  double rms;
  KP_TRY(collide_with(sph, fluid, medium->set, medium->cells, false));
  if (medium->ghosts != NULL) {
    KP_TRY(collide_with(sph, fluid, medium->ghosts->set, medium->ghost_cells, true));
  }
  KP_TRY(rms_speed(fluid, &rms));
  sph_collides_args a = { .threshold = (kp_real)sph->def.fractional_threshold,
                          .rms = (kp_real)rms,
                          .slow = (kp_real)(AT_REST * rms) };
  kp_call call;
  kp_call_init(&call, &sph_collides_kernel, &a);
  KP_BIND(&call, &a, approach, &memory->sums->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, sx, &memory->sums->buffers[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, sy, &memory->sums->buffers[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, sz, &memory->sums->buffers[3], KP_ACCESS_READ);
  KP_BIND(&call, &a, speed, &memory->sums->buffers[4], KP_ACCESS_READ);
  KP_BIND(&call, &a, flag, &memory->flag->buffers[0], KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(medium->set->space->backend, &call, medium->set->space->n));
  KP_TRY(blend_for_walls(fluid));
  return medium->ghosts != NULL ? kp_ghosts_refresh(medium->ghosts, memory->flag) : KP_OK;
}

// Said once, when the window is full: what the memory does to the viscosity.
static void tell_gain(kp_sph *sph, const kp_sph_fluid *fluid) {
  const kp_history_weights *sum = &fluid->memory.history.sum;
  if (sph->told_gain || sum->n < fluid->memory.history.clock.slots) {
    return;
  }
  bool raw = sph->def.fractional_mode == KP_SPH_FRACTIONAL_RAW;
  kp_log(KP_LOG_INFO, "sph",
         "viscosity of order %g over the last %lld samples: gain S = %.4g s^%.2g%s",
         sph->def.fractional_order, (long long)sum->n, sum->gain, 1.0 - sph->def.fractional_order,
         raw ? ", steady flow feels S times the viscosity" : ", divided out");
  sph->told_gain = true;
}

kp_result kp_sph_fractional_update(kp_sph *sph, kp_env *env) {
  if (!sph->is_fractional) {
    return KP_OK;
  }
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_fluid *fluid = &sph->fluids.data[f];
    KP_TRY(remember(sph, env, fluid->medium.set, &fluid->memory));
    if (fluid->medium.ghosts != NULL) {
      KP_TRY(kp_ghosts_refresh(fluid->medium.ghosts, fluid->memory.velocity));
    }
    if (sph->def.fractional_hybrid) {
      KP_TRY(flag_collisions(sph, fluid));
    }
    tell_gain(sph, fluid);
  }
  kp_sph_wall_fields *movers = &sph->walls[1];
  return movers->cells != NULL ? remember(sph, env, movers->interface->set, &movers->memory)
                               : KP_OK;
}

// ---- what the passes take -----------------------------------------------------------------------

kp_field *kp_sph_pair_velocity(const kp_sph *sph, kp_sph_fluid *fluid, kp_set *set) {
  bool past = sph->is_fractional && !is_separate(sph);
  return past ? image_of(set, fluid->memory.velocity) : set->velocity;
}

kp_field *kp_sph_wall_velocity(const kp_sph *sph, kp_sph_fluid *fluid) {
  // the dashpot and the friction of DEM walls are no viscosity
  if (!sph->is_fractional || sph->def.wall == KP_SPH_WALL_DEM) {
    return fluid->medium.set->velocity;
  }
  return sph->def.fractional_hybrid ? fluid->memory.blend : fluid->memory.velocity;
}

kp_field *kp_sph_sample_velocity(const kp_sph *sph, kp_sph_wall_fields *wall) {
  bool present = !sph->is_fractional || wall->memory.velocity == NULL ||
                 sph->def.wall == KP_SPH_WALL_DEM || sph->def.fractional_hybrid;
  return present ? wall->interface->set->velocity : wall->memory.velocity;
}

// S of this evaluation where it counts, else 1.
static double raw_factor(const kp_sph *sph) {
  bool raw = sph->is_fractional && sph->def.fractional_mode == KP_SPH_FRACTIONAL_RAW;
  return raw ? sph->fluids.data[0].memory.history.sum.gain : 1.0;
}

double kp_sph_wall_viscosity(const kp_sph *sph, const kp_sph_fluid *fluid) {
  return raw_factor(sph) * fluid->def.viscosity;
}

double kp_sph_pair_viscosity(const kp_sph *sph, const kp_sph_fluid *a, const kp_sph_fluid *b) {
  double mean = 0.5 * (a->def.viscosity + b->def.viscosity);
  return sph->is_fractional && is_separate(sph) ? 0.0 : raw_factor(sph) * mean;
}

static kp_result memory_from(kp_sph *sph, kp_sph_fluid *fluid, kp_sph_fluid *other, bool ghosts) {
  kp_medium *from = &other->medium;
  kp_set *set = ghosts ? from->ghosts->set : from->set;
  double mean = 0.5 * (fluid->def.viscosity + other->def.viscosity);
  sph_memory_args a = { .g = sph->g,
                        .mass = (kp_real)from->mass,
                        .viscosity = (kp_real)(raw_factor(sph) * mean) };
  // without the hybrid form every pair takes the past, whatever its flags
  bool hybrid = sph->def.fractional_hybrid;
  kp_field *now = hybrid ? fluid->medium.set->velocity : fluid->memory.velocity;
  kp_field *j_past = image_of(set, other->memory.velocity);
  kp_call call;
  kp_call_init(&call, memory_kernels[sph->g_kind], &a);
  KP_BIND3(&call, &a, v, now, KP_ACCESS_READ);
  KP_BIND3(&call, &a, m, fluid->memory.velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, flag, &fluid->memory.flag->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, inverse, &fluid->inverse->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_v, hybrid ? set->velocity : j_past, KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_m, j_past, KP_ACCESS_READ);
  KP_BIND(&call, &a, j_flag, &image_of(set, other->memory.flag)->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, j_inverse, &image_of(set, other->inverse)->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, a, fluid->medium.integrate.acceleration, KP_ACCESS_WRITE);
  kp_pair_job job;
  kp_cells *cells = ghosts ? from->ghost_cells : from->cells;
  KP_TRY(kp_pair_job_make(fluid->medium.cells, cells, sph->support, &job));
  return kp_call_pairs(fluid->medium.set->space->backend, &call, &job);
}

kp_result kp_sph_fractional_forces(kp_sph *sph, kp_sph_fluid *fluid) {
  if (!sph->is_fractional || !is_separate(sph)) {
    return KP_OK;
  }
  for (size_t k = 0; k < sph->fluids.count; ++k) {
    kp_sph_fluid *other = &sph->fluids.data[k];
    KP_TRY(memory_from(sph, fluid, other, false));
    if (other->medium.ghosts != NULL) {
      KP_TRY(memory_from(sph, fluid, other, true));
    }
  }
  return KP_OK;
}

// ---- step and report ----------------------------------------------------------------------------

// How much larger than with plain viscosity the step may be: the limit of explicit damping by a
// mean over the past, over that by the present. Of equal steps, for as many samples as there are.
static double step_gain(kp_sph *sph, int64_t n) {
  kp_sph_limits *limits = &sph->limits;
  n = n < LONGEST_SCAN ? n : LONGEST_SCAN;
  n = n < limits->table.rule.window ? n : limits->table.rule.window;
  if (n != limits->n) {
    // one step more than the window, so that its end is that of the rule
    int64_t made = n == limits->table.rule.window ? n + 1 : n;
    kp_frac_table_weights(&limits->table, made, 1.0, limits->weights.data);
    limits->n = n;
    limits->gain = n > 0 ? 0.5 * kp_frac_stable_limit(n, limits->weights.data) : 1.0;
  }
  return limits->gain;
}

double kp_sph_fractional_max_dt(kp_sph *sph, kp_sph_fluid *fluid) {
  const kp_sph_def *def = &sph->def;
  kp_history_clock *clock = &fluid->memory.history.clock;
  double h = 0.5 * sph->support;
  int64_t n = kp_history_clock_count(clock);
  double gain = def->fractional_hybrid ? 1.0 : step_gain(sph, n);
  double dt = VISCOUS_LIMIT * gain * h * h * fluid->def.rest_density / fluid->def.viscosity;
  if (def->fractional_mode != KP_SPH_FRACTIONAL_RAW) {
    return dt;
  }
  // the viscosity is S mu: S is known for a window in seconds, and grows with the step for one of
  // d steps, S = (d dt)^(1-q) / Gamma(2-q)
  double p = 1.0 - def->fractional_order;
  if (in_seconds(def)) {
    return dt / kp_frac_gain(def->fractional_order, def->fractional_seconds);
  }
  return pow(dt / kp_frac_gain(def->fractional_order, (double)clock->slots), 1.0 / (1.0 + p));
}

kp_result kp_sph_fractional_stats(kp_sph *sph, kp_sph_fluid *fluid, kp_population_stats *out) {
  if (!sph->is_fractional) {
    return KP_OK;
  }
  out->memory_gain = fluid->memory.history.sum.gain;
  out->memory_share = 1.0;
  kp_space *space = fluid->medium.set->space;
  if (sph->def.fractional_hybrid && space->n > 0) {
    sph_flagged_args a = { 0 };
    kp_call call;
    kp_call_init(&call, &sph_flagged_kernel, &a);
    KP_BIND(&call, &a, flag, &fluid->memory.flag->buffers[0], KP_ACCESS_READ);
    double sum;
    KP_TRY(kp_call_reduce(space->backend, &call, space->n, &sum));
    out->memory_share = sum / (double)space->n;
  }
  return KP_OK;
}
