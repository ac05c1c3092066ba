#include "methods/sph/sph_confined.h"

#include <math.h>

#include "data/call.h"
#include "methods/sph/sph_confined_kernels.h"
#include "par/kernel_define.h"

SPH_CONFINED_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE)

// |grad C| H/2 of particles at a free surface is above this (0.5 to 0.9 in the outermost row of
// columns, drops and dam breaks), in confined flows below (0.24 in vortices of 25 particles)
#define STEEP 0.35
// shares of the particles above it: at most so many in a flow that becomes confined, and in one
// that stays so, where some stand out for a moment
#define ENTER 2e-4
#define LEAVE 0.01
// determinants of the moment: half a neighbourhood has less than FLAT
#define FLAT 0.3
#define WHOLE 0.5
// weight and bound of the term against pairs; the weight is that of Monaghan (2000)
#define PAIRING 0.2
#define CAP 40.0
// of h^2 in one step
#define MOST 0.25
// of the shift, over 1/h: enough for rows to buckle in a quarter of a turn of a vortex
#define NOISE 0.05

// ways of h that the fastest goes while a density falls back by a factor e: with 1 the noise of
// densities feeds that of velocities, with 10 the pull of moving walls thins the liquid next to
// them
#define RECALL 5.0

static kp_result run(kp_env *env, kp_call *call, const kp_sph_side *side) {
  return kp_call_run(env->backend, call, side->set->space->n);
}

static kp_access result_access(bool add) {
  return add ? KP_ACCESS_WRITE : KP_ACCESS_OVERWRITE;
}

static const kp_sph_fluid *fluid_of(const kp_sph *sph, const kp_sph_side *side) {
  return side->fluid >= 0 ? &sph->fluids.data[side->fluid] : NULL;
}

#define BIND_LISTS(call, args, link)                                                               \
  (KP_BIND(call, args, start, &(link)->lists.start, KP_ACCESS_READ),                               \
   KP_BIND(call, args, index, &(link)->lists.indices, KP_ACCESS_READ),                             \
   KP_BIND(call, args, term, &(link)->terms, KP_ACCESS_READ))

// ---- is there a free surface? -------------------------------------------------------------------

kp_result kp_sph_confined_create(kp_sph *sph, kp_registry *registry) {
  kp_field_desc flag = { "confined", KP_TYPE_F64, 1, "", KP_FIELD_SAVE, 0.0 };
  kp_space *space;
  KP_TRY(kp_registry_add_space(registry, "sph.flow", KP_SPACE_GLOBAL, &space));
  KP_TRY(kp_space_add_field(space, &flag, &sph->implicit->confined));
  return kp_space_append(space, 1, NULL, 0);
}

kp_result kp_sph_confined_look(kp_sph *sph, kp_env *env) {
  double steep = STEEP / (0.5 * sph->support);
  double at_surface = 0.0;
  double n = 0.0;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_side *side = &sph->implicit->sides.data[f];
    int64_t count = side->set->space->n;
    sph_confined_surface_args a = { .steep2 = (kp_real)(steep * steep) };
    kp_call call;
    kp_call_init(&call, &sph_confined_surface_kernel, &a);
    KP_BIND(&call, &a, gradient, &side->gradient, KP_ACCESS_READ);
    double here = 0.0;
    if (count > 0) {
      KP_TRY(kp_call_reduce(env->backend, &call, count, &here));
      at_surface += here;
      n += (double)count;
    }
  }
  double *was = kp_buffer_host(&sph->implicit->confined->buffers[0], KP_ACCESS_WRITE);
  if (was == NULL) {
    return KP_ERROR_MEMORY;
  }
  double most = (*was != 0.0 ? LEAVE : ENTER) * n;
  sph->implicit->is_confined = sph->def.divergence_iterations > 0 && n > 0.0 && at_surface <= most;
  *was = sph->implicit->is_confined ? 1.0 : 0.0;
  return KP_OK;
}

// ---- corrections --------------------------------------------------------------------------------

static kp_result resize(kp_sph_side *side) {
  size_t size = 12 * (size_t)side->set->space->n * sizeof(kp_real);
  if (side->fluid >= 0) {
    KP_TRY(kp_buffer_resize(&side->correction, size));
  }
  return kp_buffer_resize(&side->stress, size);
}

static kp_result moment_pass(kp_sph *sph, kp_env *env, kp_sph_side *side) {
  for (size_t k = 0; k < side->links.count; ++k) {
    kp_sph_link *link = &side->links.data[k];
    const kp_sph_side *other = &sph->implicit->sides.data[link->other];
    const kp_sph_fluid *there = fluid_of(sph, other);
    kp_set *set = link->images ? there->medium.ghosts->set : other->set;
    double spacing = fluid_of(sph, side)->def.spacing;
    sph_confined_moment_args a = {
      .spacing2 = spacing * spacing, .pairing = (kp_real)PAIRING, .cap = (kp_real)CAP, .add = k > 0
    };
    kp_call call;
    kp_call_init(&call, &sph_confined_moment_kernel, &a);
    BIND_LISTS(&call, &a, link);
    KP_BIND3(&call, &a, , side->set->position, KP_ACCESS_READ);
    KP_BIND3(&call, &a, j_, set->position, KP_ACCESS_READ);
    KP_BIND(&call, &a, rows, &side->correction, result_access(k > 0));
    KP_TRY(run(env, &call, side));
  }
  return KP_OK;
}

static kp_result correct(kp_sph *sph, kp_env *env, kp_sph_side *side) {
  const kp_sph_fluid *fluid = fluid_of(sph, side);
  double rest = fluid->def.rest_density;
  sph_confined_correct_args a = { .flat = (kp_real)FLAT,
                                  .whole = (kp_real)WHOLE,
                                  .inverse = (kp_real)(1.0 / rest),
                                  .volume = (kp_real)(fluid->medium.mass / rest),
                                  .relaxation = (kp_real)sph->implicit->relaxation,
                                  .dimension = env->dimension };
  kp_call call;
  kp_call_init(&call, &sph_confined_correct_kernel, &a);
  KP_BIND(&call, &a, gradient, &side->gradient, KP_ACCESS_READ);
  KP_BIND(&call, &a, factor, &side->factor[KP_SPH_DIVERGENCE], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, rows, &side->correction, KP_ACCESS_WRITE);
  return run(env, &call, side);
}

kp_result kp_sph_confined_prepare(kp_sph *sph, kp_env *env) {
  for (size_t s = 0; s < sph->implicit->sides.count; ++s) {
    kp_sph_side *side = &sph->implicit->sides.data[s];
    KP_TRY(resize(side));
    if (side->fluid >= 0) {
      KP_TRY(moment_pass(sph, env, side));
      KP_TRY(correct(sph, env, side));
    }
  }
  return KP_OK;
}

// ---- means --------------------------------------------------------------------------------------

static kp_buffer *pressure_of(kp_sph_side *side) {
  return &side->pressure[KP_SPH_DIVERGENCE]->buffers[0];
}

static kp_buffer *rate_of(kp_sph_side *side) {
  return &side->rate;
}

static kp_result mean_of(kp_sph *sph, kp_env *env, kp_buffer *(*values_of)(kp_sph_side *),
                         double *mean) {
  double sum = 0.0;
  double n = 0.0;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_side *side = &sph->implicit->sides.data[f];
    int64_t count = side->set->space->n;
    sph_confined_sum_args a = { 0 };
    double here = 0.0;
    kp_call call;
    kp_call_init(&call, &sph_confined_sum_kernel, &a);
    KP_BIND(&call, &a, values, values_of(side), KP_ACCESS_READ);
    if (count > 0) {
      KP_TRY(kp_call_reduce(env->backend, &call, count, &here));
      sum += here;
      n += (double)count;
    }
  }
  *mean = n > 0.0 ? sum / n : 0.0;
  return KP_OK;
}

static kp_result lower(kp_env *env, kp_sph_side *side, kp_buffer *values, double by) {
  sph_confined_lower_args a = { .by = (kp_real)by };
  kp_call call;
  kp_call_init(&call, &sph_confined_lower_kernel, &a);
  KP_BIND(&call, &a, values, values, KP_ACCESS_WRITE);
  return run(env, &call, side);
}

kp_result kp_sph_confined_begin(kp_sph *sph, kp_env *env) {
  double mean;
  KP_TRY(mean_of(sph, env, pressure_of, &mean));
  for (size_t s = 0; s < sph->implicit->sides.count; ++s) {
    kp_sph_side *side = &sph->implicit->sides.data[s];
    if (side->is_solved) {
      KP_TRY(lower(env, side, pressure_of(side), mean));
    }
  }
  return KP_OK;
}

kp_result kp_sph_confined_balance(kp_sph *sph, kp_env *env) {
  double mean;
  KP_TRY(mean_of(sph, env, rate_of, &mean));
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_side *side = &sph->implicit->sides.data[f];
    KP_TRY(lower(env, side, rate_of(side), mean));
  }
  return KP_OK;
}

// ---- weight -------------------------------------------------------------------------------------

kp_vec3 kp_sph_confined_weight(const kp_sph *sph, const kp_env *env) {
  double mass = 0.0;
  double volume = 0.0;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    const kp_sph_fluid *fluid = &sph->fluids.data[f];
    double here = fluid->medium.mass * (double)fluid->medium.set->space->n;
    mass += here;
    volume += here / fluid->def.rest_density;
  }
  double density = volume > 0.0 ? mass / volume : 0.0;
  kp_vec3 g = env->simulation.gravity;
  const kp_domain_def *domain = &env->domain;
  bool flat = env->dimension == 2 || domain->boundary_z == KP_BOUNDARY_PERIODIC;
  return kp_vec3_make(domain->boundary_x == KP_BOUNDARY_PERIODIC ? 0.0 : density * g.x,
                      domain->boundary_y == KP_BOUNDARY_PERIODIC ? 0.0 : density * g.y,
                      flat ? 0.0 : density * g.z);
}

// Zero at the corner of the domain that lies highest.
static sph_column column_of(const kp_sph *sph, const kp_env *env) {
  kp_vec3 w = kp_sph_confined_weight(sph, env);
  kp_vec3 lo = env->domain.min;
  kp_vec3 hi = env->domain.max;
  return (sph_column){ .w = { w.x, w.y, w.z },
                       .origin = { w.x > 0.0 ? lo.x : hi.x, w.y > 0.0 ? lo.y : hi.y,
                                   w.z > 0.0 ? lo.z : hi.z } };
}

kp_result kp_sph_confined_show(kp_sph *sph, const kp_env *env, kp_sph_side *side,
                               kp_buffer *shown) {
  sph_confined_show_args a = { .column = column_of(sph, env) };
  kp_call call;
  kp_call_init(&call, &sph_confined_show_kernel, &a);
  KP_BIND3(&call, &a, , side->set->position, KP_ACCESS_READ);
  KP_BIND(&call, &a, p, shown, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, side->set->space->n);
}

// ---- passes of an iteration ---------------------------------------------------------------------

kp_result kp_sph_confined_stress(kp_sph *sph, kp_env *env, bool with_weight) {
  for (size_t s = 0; s < sph->implicit->sides.count; ++s) {
    kp_sph_side *side = &sph->implicit->sides.data[s];
    if (!side->is_solved) {
      continue;
    }
    sph_confined_stress_args a = { .column = column_of(sph, env) };
    kp_call call;
    kp_call_init(&call, &sph_confined_stress_kernel, &a);
    if (with_weight) {
      KP_BIND3(&call, &a, , side->set->position, KP_ACCESS_READ);
    }
    KP_BIND(&call, &a, p, pressure_of(side), KP_ACCESS_READ);
    KP_BIND(&call, &a, rows, side->fluid >= 0 ? &side->correction : NULL, KP_ACCESS_READ);
    KP_BIND(&call, &a, stress, &side->stress, KP_ACCESS_OVERWRITE);
    KP_TRY(run(env, &call, side));
  }
  return KP_OK;
}

kp_result kp_sph_confined_push(kp_sph *sph, kp_env *env, kp_sph_side *side, double scale) {
  for (size_t k = 0; k < side->links.count; ++k) {
    kp_sph_link *link = &side->links.data[k];
    kp_sph_side *other = &sph->implicit->sides.data[link->other];
    sph_confined_push_args a = { .scale = (kp_real)scale, .add = k > 0 };
    kp_call call;
    kp_call_init(&call, &sph_confined_push_kernel, &a);
    BIND_LISTS(&call, &a, link);
    KP_BIND(&call, &a, stress, side->is_solved ? &side->stress : NULL, KP_ACCESS_READ);
    KP_BIND(&call, &a, j_stress, other->is_solved ? &other->stress : NULL, KP_ACCESS_READ);
    KP_BIND(&call, &a, v, side->fluid >= 0 ? &side->velocity : NULL, KP_ACCESS_READ);
    KP_BIND(&call, &a, u, &side->push, result_access(k > 0));
    KP_TRY(run(env, &call, side));
  }
  return KP_OK;
}

kp_result kp_sph_confined_rate(kp_sph *sph, kp_env *env, kp_sph_side *side) {
  const kp_sph_fluid *fluid = fluid_of(sph, side);
  double recall = fluid->medium.max_speed / (RECALL * 0.5 * sph->support);
  for (size_t k = 0; k < side->links.count; ++k) {
    kp_sph_link *link = &side->links.data[k];
    kp_sph_side *other = &sph->implicit->sides.data[link->other];
    sph_confined_rate_args a = { .add = k > 0,
                                 .inverse = (kp_real)(1.0 / fluid->def.rest_density),
                                 .recall = (kp_real)recall };
    kp_call call;
    kp_call_init(&call, &sph_confined_rate_kernel, &a);
    BIND_LISTS(&call, &a, link);
    KP_BIND(&call, &a, density, &side->density->buffers[0], KP_ACCESS_READ);
    KP_BIND(&call, &a, rows, &side->correction, KP_ACCESS_READ);
    KP_BIND(&call, &a, u, &side->push, KP_ACCESS_READ);
    KP_BIND(&call, &a, j_u, other->fluid >= 0 ? &other->push : &other->velocity, KP_ACCESS_READ);
    KP_BIND(&call, &a, rate, &side->rate, result_access(k > 0));
    KP_TRY(run(env, &call, side));
  }
  return KP_OK;
}

// ---- the way of a step --------------------------------------------------------------------------

kp_result kp_sph_confined_move(kp_sph *sph, kp_env *env, kp_sph_side *side) {
  kp_sph_fluid *fluid = &sph->fluids.data[side->fluid];
  double h = 0.5 * sph->support;
  double diffusion = sph->def.shifting * h * fluid->medium.max_speed * env->dt;
  sph_confined_move_args a = { .dt = env->dt,
                               .diffusion = fmin(diffusion, MOST * h * h),
                               .noise = NOISE / h,
                               .dimension = env->dimension };
  kp_call call;
  kp_call_init(&call, &sph_confined_move_kernel, &a);
  KP_BIND(&call, &a, id, &side->set->id->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, rows, &side->correction, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, side->set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , side->set->position, KP_ACCESS_WRITE);
  fluid->medium.integrate.dt_last = env->dt;
  return run(env, &call, side);
}
