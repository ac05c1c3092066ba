// One sub-step of divergence-free SPH:
//
//   prepare   neighbour lists, terms, densities, diagonals; velocities made free of divergence
//   forces    gravity, viscosity, drag at walls, force fields
//   predict   velocities alone
//   solve     pressures that keep the density at the end of the step; velocities, then positions
//
// A solve is a projected Jacobi iteration over P >= 0. Each turn is two passes over the lists: what
// the pressures accelerate, and what that does to the density.
#include "methods/sph/sph_implicit.h"

#include <math.h>
#include <string.h>

#include "data/call.h"
#include "methods/sph/sph_implicit_kernels.h"
#include "par/kernel_define.h"

SPH_IMPLICIT_POINT_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE)
SPH_IMPLICIT_PAIR_KERNELS(KP_DEFINE_PAIR)

// omega of the Jacobi iteration: 0.6 with momentum is where a dam break begins to diverge (Ihmsen
// et al. 2014 take 0.5 without)
#define RELAXATION 0.4
// turns that are always taken: pressures of the last step alone keep the mean small but not the
// largest errors
#define LEAST_DENSITY 2
#define LEAST_DIVERGENCE 1
#define FULL 0.7  // share of the rest density below which a divergence means nothing

static const kp_kernel *const terms_kernels[KP_SPH_KERNEL_COUNT] = {
  &sph_implicit_terms_mueller_kernel, &sph_implicit_terms_cubic_kernel,
  &sph_implicit_terms_wendland_kernel, &sph_implicit_terms_desbrun_kernel,
  &sph_implicit_terms_poly6_kernel
};

static const kp_kernel *const wall_kernels[KP_SPH_KERNEL_COUNT] = {
  &sph_implicit_wall_mueller_kernel, &sph_implicit_wall_cubic_kernel,
  &sph_implicit_wall_wendland_kernel, &sph_implicit_wall_desbrun_kernel,
  &sph_implicit_wall_poly6_kernel
};

static const kp_kernel *const react_kernels[KP_SPH_KERNEL_COUNT] = {
  &sph_implicit_react_mueller_kernel, &sph_implicit_react_cubic_kernel,
  &sph_implicit_react_wendland_kernel, &sph_implicit_react_desbrun_kernel,
  &sph_implicit_react_poly6_kernel
};

// ---- life ---------------------------------------------------------------------------------------

kp_result kp_sph_implicit_check(const kp_sph_def *def) {
  const char *trouble = NULL;
  if (def->integrator != KP_INTEGRATOR_SYMPLECTIC) {
    trouble = "integrator 'symplectic'";
  } else if (def->density != 0) {
    trouble = "density 'summation'";
  } else if (def->viscosity_model != SPH_VISCOSITY_LAPLACIAN) {
    trouble = "viscosity_model 'laplacian'";
  } else if (def->wall != KP_SPH_WALL_SPH && def->wall != KP_SPH_WALL_MIRROR) {
    trouble = "wall 'sph' or 'mirror'";
  } else if (def->fused) {
    trouble = "'fused' to be false";
  }
  return trouble == NULL ? KP_OK : kp_fail(KP_ERROR_SCENE, "sph: solver 'dfsph' needs %s", trouble);
}

static kp_buffer *buffers_of(kp_sph_implicit_liquid *l, int k) {
  kp_buffer *const all[] = { &l->velocity, &l->push,   &l->gradient,
                             &l->wall,     &l->drag,   &l->rate,
                             &l->source,   &l->factor, &l->divergence_factor,
                             &l->last };
  return k < (int)(sizeof all / sizeof all[0]) ? all[k] : NULL;
}
#define N_FOURS 5  // the first of them hold four numbers per particle

void kp_sph_implicit_destroy(kp_sph_implicit **implicit) {
  if (*implicit == NULL) {
    return;
  }
  for (size_t f = 0; f < (*implicit)->liquids.count; ++f) {
    kp_sph_implicit_liquid *l = &(*implicit)->liquids.data[f];
    for (int k = 0; buffers_of(l, k) != NULL; ++k) {
      kp_buffer_free(buffers_of(l, k));
    }
    for (size_t k = 0; k < l->links.count; ++k) {
      kp_pair_lists_free(&l->links.data[k].lists);
      kp_buffer_free(&l->links.data[k].terms);
    }
    kp_array_free(&l->links);
  }
  kp_array_free(&(*implicit)->liquids);
  kp_free(*implicit);
  *implicit = NULL;
}

// A liquid meets itself first: that pass overwrites, the others add.
static kp_result add_links(kp_sph *sph, kp_env *env, size_t f, kp_sph_implicit_liquid *l) {
  size_t n = sph->fluids.count;
  for (size_t k = 0; k < 2 * n; ++k) {
    size_t other = (f + k / 2) % n;
    bool images = k % 2 == 1;
    if (images && sph->fluids.data[other].medium.ghosts == NULL) {
      continue;
    }
    kp_sph_link link = { .other = (int)other, .images = images };
    kp_buffer_init(&link.terms, env->backend);
    link.terms.tag = KP_MEMORY_GRID;
    link.terms.type = KP_TYPE_REAL;
    KP_TRY(kp_array_push(&l->links, link));
  }
  return KP_OK;
}

static kp_result create_liquid(kp_sph *sph, kp_env *env, size_t f, kp_sph_implicit_liquid *l) {
  kp_space *space = sph->fluids.data[f].medium.set->space;
  kp_field_desc pressure = { "solver_pressure", KP_TYPE_REAL, 1, "Pa", KP_FIELD_STATE, 0.0 };
  kp_field_desc divergence = { "divergence_pressure", KP_TYPE_REAL, 1, "Pa", KP_FIELD_STATE, 0.0 };
  KP_TRY(kp_space_add_field(space, &pressure, &l->pressure));
  KP_TRY(kp_space_add_field(space, &divergence, &l->divergence_pressure));
  for (int k = 0; buffers_of(l, k) != NULL; ++k) {
    kp_buffer_init(buffers_of(l, k), env->backend);
    buffers_of(l, k)->type = KP_TYPE_REAL;
  }
  return add_links(sph, env, f, l);
}

kp_result kp_sph_implicit_create(kp_sph *sph, kp_env *env) {
  sph->implicit = kp_alloc_zero(sizeof *sph->implicit, KP_MEMORY_WORLD);
  if (sph->implicit == NULL) {
    return KP_ERROR_MEMORY;
  }
  KP_TRY(kp_array_reserve(&sph->implicit->liquids, sph->fluids.count));
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_implicit_liquid *l = &sph->implicit->liquids.data[sph->implicit->liquids.count++];
    *l = (kp_sph_implicit_liquid){ 0 };
    KP_TRY(create_liquid(sph, env, f, l));
  }
  return KP_OK;
}

// ---- helpers ------------------------------------------------------------------------------------

static kp_sph_implicit_liquid *liquid_of(kp_sph *sph, size_t f) {
  return &sph->implicit->liquids.data[f];
}

static int64_t count_of(const kp_sph *sph, size_t f) {
  return sph->fluids.data[f].medium.set->space->n;
}

static double volume_of(const kp_sph_fluid *fluid) {
  return fluid->medium.mass / fluid->def.rest_density;
}

static bool has_walls(const kp_sph *sph) {
  return sph->walls[0].cells != NULL || sph->walls[1].cells != NULL;
}

static kp_buffer *or_none(bool there, kp_buffer *buffer) {
  return there ? buffer : NULL;
}

static kp_result clear(kp_buffer *buffer) {
  void *device = kp_buffer_device(buffer, KP_ACCESS_OVERWRITE);
  if (device == NULL && buffer->used > 0) {
    return KP_ERROR_MEMORY;
  }
  return kp_fill(buffer->backend, device, 0, buffer->used);
}

static kp_result resize_scratch(kp_sph_implicit_liquid *l, int64_t n) {
  for (int k = 0; buffers_of(l, k) != NULL; ++k) {
    size_t numbers = (size_t)n * (k < N_FOURS ? 4 : 1);
    KP_TRY(kp_buffer_resize(buffers_of(l, k), numbers * sizeof(kp_real)));
  }
  return KP_OK;
}

// ---- lists, terms and sums ----------------------------------------------------------------------

// Images stand for their owners: after the terms are made, lists name these.
static kp_result name_owners(kp_sph_link *link, kp_ghosts *ghosts, kp_backend *backend) {
  sph_implicit_owner_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &sph_implicit_owner_kernel, &a);
  KP_BIND(&call, &a, source, &ghosts->source->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, index, &link->lists.indices, KP_ACCESS_WRITE);
  return kp_call_run(backend, &call, link->lists.n_pairs);
}

static kp_result make_terms(kp_sph *sph, kp_env *env, size_t f, kp_sph_link *link, bool add) {
  kp_sph_fluid *fluid = &sph->fluids.data[f];
  kp_sph_fluid *other = &sph->fluids.data[link->other];
  kp_sph_implicit_liquid *l = liquid_of(sph, f);
  kp_set *j_set = link->images ? other->medium.ghosts->set : other->medium.set;
  kp_cells *j_cells = link->images ? other->medium.ghost_cells : other->medium.cells;
  KP_TRY(kp_pair_lists_build(&link->lists, fluid->medium.cells, j_cells, sph->support, false));
  KP_TRY(kp_buffer_resize(&link->terms, (size_t)link->lists.n_pairs * 4 * sizeof(kp_real)));
  double w0 = kp_smooth_value(sph->w_kind, 0.0, sph->support, env->dimension);
  sph_implicit_terms_args a = {
    .w = sph->w,
    .g = sph->g,
    .volume = (kp_real)volume_of(other),
    .own = (kp_real)(fluid->medium.mass * w0),
    .rest_density = (kp_real)fluid->def.rest_density,
    .weight = (kp_real)(volume_of(fluid) / (other->def.rest_density * volume_of(other))),
    .add = add,
  };
  kp_access access = add ? KP_ACCESS_WRITE : KP_ACCESS_OVERWRITE;
  kp_call call;
  kp_call_init(&call, terms_kernels[sph->def.kernel], &a);
  KP_BIND(&call, &a, start, &link->lists.start, KP_ACCESS_READ);
  KP_BIND(&call, &a, index, &link->lists.indices, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , fluid->medium.set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_, j_set->position, KP_ACCESS_READ);
  KP_BIND(&call, &a, term, &link->terms, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, density, &fluid->density->buffers[0], access);
  KP_BIND(&call, &a, gradient, &l->gradient, access);
  KP_TRY(kp_call_run(env->backend, &call, count_of(sph, f)));
  return link->images ? name_owners(link, other->medium.ghosts, env->backend) : KP_OK;
}

static kp_result sum_walls(kp_sph *sph, kp_env *env, size_t f) {
  kp_sph_fluid *fluid = &sph->fluids.data[f];
  kp_sph_implicit_liquid *l = liquid_of(sph, f);
  KP_TRY(clear(&l->wall));
  KP_TRY(clear(&l->drag));
  for (int w = 0; w < 2; ++w) {
    kp_sph_wall_fields *wall = &sph->walls[w];
    if (wall->cells == NULL) {
      continue;
    }
    sph_implicit_wall_args a = { .w = sph->w,
                                 .g = sph->g,
                                 .rest_density = (kp_real)fluid->def.rest_density };
    kp_pair_job job;
    kp_call call;
    kp_call_init(&call, wall_kernels[sph->def.kernel], &a);
    KP_BIND3(&call, &a, j_v, wall->interface->set->velocity, KP_ACCESS_READ);
    KP_BIND(&call, &a, j_volume, &wall->interface->volume->buffers[0], KP_ACCESS_READ);
    KP_BIND(&call, &a, density, &fluid->density->buffers[0], KP_ACCESS_WRITE);
    KP_BIND(&call, &a, wall, &l->wall, KP_ACCESS_WRITE);
    KP_BIND(&call, &a, drag, &l->drag, KP_ACCESS_WRITE);
    KP_TRY(kp_pair_job_make(fluid->medium.cells, wall->cells, sph->support, &job));
    job.adds_only = true;
    KP_TRY(kp_call_pairs(env->backend, &call, &job));
  }
  return KP_OK;
}

static kp_result make_factors(kp_sph *sph, kp_env *env, size_t f) {
  kp_sph_fluid *fluid = &sph->fluids.data[f];
  kp_sph_implicit_liquid *l = liquid_of(sph, f);
  double rest = fluid->def.rest_density;
  // a lone pair a support apart has a diagonal of this size at the most; far less is rounding
  double scale = 1.0 / (rest * sph->support * sph->support);
  sph_implicit_factor_args a = { .inverse = (kp_real)(1.0 / rest),
                                 .least = (kp_real)(1e-6 * scale),
                                 .full = (kp_real)(FULL * rest),
                                 .relaxation = (kp_real)RELAXATION };
  kp_call call;
  kp_call_init(&call, &sph_implicit_factor_kernel, &a);
  KP_BIND(&call, &a, gradient, &l->gradient, KP_ACCESS_READ);
  KP_BIND(&call, &a, wall, or_none(has_walls(sph), &l->wall), KP_ACCESS_READ);
  KP_BIND(&call, &a, density, &fluid->density->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, factor, &l->factor, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, divergence_factor, &l->divergence_factor, KP_ACCESS_OVERWRITE);
  return kp_call_run(env->backend, &call, count_of(sph, f));
}

// ---- velocities ---------------------------------------------------------------------------------

// v += dt (acceleration, or push, or nothing), and the copy of it that the lists' passes read
static kp_result kick(kp_sph *sph, kp_env *env, size_t f, bool accelerate, bool push) {
  kp_sph_fluid *fluid = &sph->fluids.data[f];
  kp_sph_implicit_liquid *l = liquid_of(sph, f);
  sph_implicit_kick_args a = { .dt = (kp_real)env->dt };
  kp_call call;
  kp_call_init(&call, &sph_implicit_kick_kernel, &a);
  if (accelerate) {
    KP_BIND3(&call, &a, a, fluid->medium.integrate.acceleration, KP_ACCESS_READ);
  }
  KP_BIND(&call, &a, push, or_none(push, &l->push), KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, fluid->medium.set->velocity,
           accelerate || push ? KP_ACCESS_WRITE : KP_ACCESS_READ);
  KP_BIND(&call, &a, u, &l->velocity, KP_ACCESS_OVERWRITE);
  return kp_call_run(env->backend, &call, count_of(sph, f));
}

static kp_result move(kp_sph *sph, kp_env *env, size_t f) {
  kp_medium *medium = &sph->fluids.data[f].medium;
  sph_implicit_move_args a = { .dt = env->dt };
  kp_call call;
  kp_call_init(&call, &sph_implicit_move_kernel, &a);
  KP_BIND3(&call, &a, v, medium->set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , medium->set->position, KP_ACCESS_WRITE);
  medium->integrate.dt_last = env->dt;
  return kp_call_run(env->backend, &call, count_of(sph, f));
}

// ---- the passes of an iteration -----------------------------------------------------------------

static void bind_lists(kp_call *call, kp_sph_link *link, const uint32_t **start,
                       const uint32_t **index, const sph_four **term) {
  char *args = call->args;
  kp_call_bind(call, (size_t)((char *)start - args), &link->lists.start, KP_ACCESS_READ);
  kp_call_bind(call, (size_t)((char *)index - args), &link->lists.indices, KP_ACCESS_READ);
  kp_call_bind(call, (size_t)((char *)term - args), &link->terms, KP_ACCESS_READ);
}

static kp_field *pressure_of(kp_sph *sph, size_t f, bool density) {
  kp_sph_implicit_liquid *l = liquid_of(sph, f);
  return density ? l->pressure : l->divergence_pressure;
}

static kp_result push_pass(kp_sph *sph, kp_env *env, size_t f, bool density) {
  kp_sph_implicit_liquid *l = liquid_of(sph, f);
  for (size_t k = 0; k < l->links.count; ++k) {
    kp_sph_link *link = &l->links.data[k];
    sph_implicit_push_args a = {
      .inverse = (kp_real)(1.0 / sph->fluids.data[f].def.rest_density),
      .add = k > 0,
    };
    kp_call call;
    kp_call_init(&call, &sph_implicit_push_kernel, &a);
    bind_lists(&call, link, &a.start, &a.index, &a.term);
    KP_BIND(&call, &a, wall, or_none(has_walls(sph), &l->wall), KP_ACCESS_READ);
    KP_BIND(&call, &a, p, &pressure_of(sph, f, density)->buffers[0], KP_ACCESS_READ);
    KP_BIND(&call, &a, j_p, &pressure_of(sph, (size_t)link->other, density)->buffers[0],
            KP_ACCESS_READ);
    KP_BIND(&call, &a, push, &l->push, k > 0 ? KP_ACCESS_WRITE : KP_ACCESS_OVERWRITE);
    KP_TRY(kp_call_run(env->backend, &call, count_of(sph, f)));
  }
  return KP_OK;
}

static kp_buffer *motion_of(kp_sph *sph, size_t f, bool velocity) {
  kp_sph_implicit_liquid *l = liquid_of(sph, f);
  return velocity ? &l->velocity : &l->push;
}

static kp_result rate_pass(kp_sph *sph, kp_env *env, size_t f, bool velocity) {
  kp_sph_implicit_liquid *l = liquid_of(sph, f);
  for (size_t k = 0; k < l->links.count; ++k) {
    kp_sph_link *link = &l->links.data[k];
    sph_implicit_rate_args a = { .add = k > 0 };
    kp_call call;
    kp_call_init(&call, &sph_implicit_rate_kernel, &a);
    bind_lists(&call, link, &a.start, &a.index, &a.term);
    KP_BIND(&call, &a, wall, or_none(has_walls(sph), &l->wall), KP_ACCESS_READ);
    KP_BIND(&call, &a, drag, or_none(has_walls(sph) && velocity, &l->drag), KP_ACCESS_READ);
    KP_BIND(&call, &a, u, motion_of(sph, f, velocity), KP_ACCESS_READ);
    KP_BIND(&call, &a, j_u, motion_of(sph, (size_t)link->other, velocity), KP_ACCESS_READ);
    KP_BIND(&call, &a, rate, &l->rate, k > 0 ? KP_ACCESS_WRITE : KP_ACCESS_OVERWRITE);
    KP_TRY(kp_call_run(env->backend, &call, count_of(sph, f)));
  }
  return KP_OK;
}

static kp_result source_pass(kp_sph *sph, kp_env *env, size_t f, bool density) {
  kp_sph_fluid *fluid = &sph->fluids.data[f];
  kp_sph_implicit_liquid *l = liquid_of(sph, f);
  KP_TRY(rate_pass(sph, env, f, true));
  sph_implicit_source_args a = { .dt = (kp_real)env->dt,
                                 .inverse = (kp_real)(1.0 / fluid->def.rest_density) };
  kp_call call;
  kp_call_init(&call, &sph_implicit_source_kernel, &a);
  KP_BIND(&call, &a, density, or_none(density, &fluid->density->buffers[0]), KP_ACCESS_READ);
  KP_BIND(&call, &a, rate, &l->rate, KP_ACCESS_READ);
  KP_BIND(&call, &a, source, &l->source, KP_ACCESS_OVERWRITE);
  return kp_call_run(env->backend, &call, count_of(sph, f));
}

static kp_buffer *factor_of(kp_sph_implicit_liquid *l, bool density) {
  return density ? &l->factor : &l->divergence_factor;
}

static kp_result relax_pass(kp_sph *sph, kp_env *env, size_t f, bool density, double momentum) {
  kp_sph_implicit_liquid *l = liquid_of(sph, f);
  double dt2 = env->dt * env->dt;
  sph_implicit_relax_args a = { .dt2 = (kp_real)dt2,
                                .inverse_dt2 = (kp_real)(1.0 / dt2),
                                .momentum = (kp_real)momentum };
  kp_call call;
  kp_call_init(&call, &sph_implicit_relax_kernel, &a);
  KP_BIND(&call, &a, source, &l->source, KP_ACCESS_READ);
  KP_BIND(&call, &a, factor, factor_of(l, density), KP_ACCESS_READ);
  KP_BIND(&call, &a, rate, &l->rate, KP_ACCESS_READ);
  KP_BIND(&call, &a, last, &l->last, momentum > 0.0 ? KP_ACCESS_WRITE : KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, p, &pressure_of(sph, f, density)->buffers[0], KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, count_of(sph, f));
}

// The look of the host: one small reduction per liquid.
static kp_result measure(kp_sph *sph, kp_env *env, bool density, kp_sph_solve_report *report) {
  double sum = 0.0;
  double n = 0.0;
  report->worst = 0.0;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_implicit_liquid *l = liquid_of(sph, f);
    if (count_of(sph, f) == 0) {
      continue;
    }
    sph_implicit_error_args a = { .dt2 = (kp_real)(env->dt * env->dt) };
    double values[2];
    kp_call call;
    kp_call_init(&call, &sph_implicit_error_kernel, &a);
    KP_BIND(&call, &a, source, &l->source, KP_ACCESS_READ);
    KP_BIND(&call, &a, factor, factor_of(l, density), KP_ACCESS_READ);
    KP_BIND(&call, &a, rate, &l->rate, KP_ACCESS_READ);
    KP_TRY(kp_call_reduce(env->backend, &call, count_of(sph, f), values));
    sum += values[0];
    n += (double)count_of(sph, f);
    report->worst = fmax(report->worst, values[1]);
  }
  report->error = n > 0.0 ? sum / n : 0.0;
  return KP_OK;
}

// What the samples of moving bodies get back of a push, or of the drag.
static kp_result react(kp_sph *sph, kp_env *env, size_t f, kp_field *pressure) {
  kp_sph_wall_fields *wall = &sph->walls[1];
  if (wall->cells == NULL) {
    return KP_OK;
  }
  kp_sph_fluid *fluid = &sph->fluids.data[f];
  kp_interface *samples = wall->interface;
  bool drag = pressure == NULL;
  double mu = 2.0 * (1.0 - sph->def.slip) * fluid->def.viscosity;
  sph_implicit_react_args a = { .g = sph->g,
                                .volume = (kp_real)volume_of(fluid),
                                .viscosity = (kp_real)(drag ? mu : 0.0),
                                .pressure = (kp_real)(drag ? 0.0 : 2.0) };
  kp_field *p = drag ? liquid_of(sph, f)->pressure : pressure;
  kp_pair_job job;
  kp_call call;
  kp_call_init(&call, react_kernels[sph->def.kernel], &a);
  KP_BIND3(&call, &a, v, samples->set->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, sample_volume, &samples->volume->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_v, fluid->medium.set->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, j_p, &p->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, f, samples->force, KP_ACCESS_WRITE);
  KP_TRY(kp_pair_job_make(wall->cells, fluid->medium.cells, sph->support, &job));
  job.adds_only = true;
  return kp_call_pairs(env->backend, &call, &job);
}

// ---- a solve ------------------------------------------------------------------------------------

typedef kp_result (*pass_fn)(kp_sph *sph, kp_env *env, size_t f, bool density);

static kp_result for_all(kp_sph *sph, kp_env *env, pass_fn pass, bool argument) {
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    KP_TRY(pass(sph, env, f, argument));
  }
  return KP_OK;
}

// Velocities must be there as four numbers each. Ends when the mean excess is below the tolerance;
// the accelerations of the last pass then belong to the pressures that are kept.
static kp_result solve(kp_sph *sph, kp_env *env, bool density) {
  kp_sph_solve_report *report = density ? &sph->implicit->density : &sph->implicit->divergence;
  double tolerance = density ? sph->def.density_error : sph->def.divergence_error;
  int64_t most = density ? sph->def.density_iterations : sph->def.divergence_iterations;
  for (size_t f = 0; f < sph->fluids.count && !sph->def.warm_start; ++f) {
    KP_TRY(clear(&pressure_of(sph, f, density)->buffers[0]));
  }
  int64_t fewest = density ? LEAST_DENSITY : LEAST_DIVERGENCE;
  int turn = -1;  // since momentum was lost
  double least = HUGE_VAL;
  KP_TRY(for_all(sph, env, source_pass, density));
  for (report->iterations = 0;; ++report->iterations) {
    KP_TRY(for_all(sph, env, push_pass, density));
    KP_TRY(for_all(sph, env, rate_pass, false));
    KP_TRY(measure(sph, env, density, report));
    bool is_good = report->error <= tolerance && report->iterations >= fewest;
    if (is_good || report->iterations >= most) {
      break;
    }
    turn = report->error < 2.0 * least ? turn + 1 : 0;
    least = fmin(least, report->error);
    for (size_t f = 0; f < sph->fluids.count; ++f) {
      KP_TRY(relax_pass(sph, env, f, density, turn / (turn + 3.0)));
    }
  }
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    KP_TRY(kick(sph, env, f, false, true));
    KP_TRY(react(sph, env, f, pressure_of(sph, f, density)));
  }
  return KP_OK;
}

// ---- stages -------------------------------------------------------------------------------------

kp_result kp_sph_implicit_prepare(kp_sph *sph, kp_env *env) {
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_implicit_liquid *l = liquid_of(sph, f);
    KP_TRY(resize_scratch(l, count_of(sph, f)));
    for (size_t k = 0; k < l->links.count; ++k) {
      KP_TRY(make_terms(sph, env, f, &l->links.data[k], k > 0));
    }
    if (has_walls(sph)) {
      KP_TRY(sum_walls(sph, env, f));
    }
    KP_TRY(make_factors(sph, env, f));
    KP_TRY(kick(sph, env, f, false, false));
  }
  return sph->def.divergence_iterations > 0 ? solve(sph, env, false) : KP_OK;
}

static kp_result viscosity_pass(kp_sph *sph, kp_env *env, size_t f) {
  kp_sph_fluid *fluid = &sph->fluids.data[f];
  kp_sph_implicit_liquid *l = liquid_of(sph, f);
  for (size_t k = 0; k < l->links.count; ++k) {
    kp_sph_link *link = &l->links.data[k];
    double mu = 0.5 * (fluid->def.viscosity + sph->fluids.data[link->other].def.viscosity);
    double drag = 2.0 * (1.0 - sph->def.slip) * fluid->def.viscosity;
    kp_vec3 g = env->simulation.gravity;
    sph_implicit_viscosity_args a = {
      .factor = (kp_real)(mu / fluid->def.rest_density),
      .wall_factor = (kp_real)(drag / fluid->def.rest_density),
      .gx = (kp_real)g.x,
      .gy = (kp_real)g.y,
      .gz = (kp_real)(env->dimension == 2 ? 0.0 : g.z),
      .add = k > 0,
    };
    kp_call call;
    kp_call_init(&call, &sph_implicit_viscosity_kernel, &a);
    bind_lists(&call, link, &a.start, &a.index, &a.term);
    KP_BIND(&call, &a, wall, or_none(has_walls(sph), &l->wall), KP_ACCESS_READ);
    KP_BIND(&call, &a, drag, or_none(has_walls(sph), &l->drag), KP_ACCESS_READ);
    KP_BIND(&call, &a, u, &l->velocity, KP_ACCESS_READ);
    KP_BIND(&call, &a, j_u, &liquid_of(sph, (size_t)link->other)->velocity, KP_ACCESS_READ);
    KP_BIND3(&call, &a, a, fluid->medium.integrate.acceleration,
             k > 0 ? KP_ACCESS_WRITE : KP_ACCESS_OVERWRITE);
    KP_TRY(kp_call_run(env->backend, &call, count_of(sph, f)));
  }
  return react(sph, env, f, NULL);
}

kp_result kp_sph_implicit_forces(kp_sph *sph, kp_env *env) {
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    KP_TRY(viscosity_pass(sph, env, f));
    KP_TRY(kp_medium_outer_forces(&sph->fluids.data[f].medium, env));
  }
  return KP_OK;
}

kp_result kp_sph_implicit_predict(kp_sph *sph, kp_env *env) {
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    KP_TRY(kick(sph, env, f, true, false));
  }
  return KP_OK;
}

kp_result kp_sph_implicit_solve(kp_sph *sph, kp_env *env) {
  KP_TRY(solve(sph, env, true));
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    KP_TRY(move(sph, env, f));
  }
  return KP_OK;
}
