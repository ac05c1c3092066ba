// One sub-step of divergence-free SPH:
//
//   prepare   neighbour lists, terms, densities, diagonals; velocities made free of divergence
//   forces    gravity, viscosity, drag at walls, force fields; central viscosity is solved for
//   predict   velocities alone
//   solve     pressures that keep the density at the end of the step; velocities, then positions
//
// A solve is a projected Jacobi iteration over P >= 0. Each turn is two passes over the lists: the
// velocities that the pressures give, and what these do to the density. Liquids and the samples of
// walls are *sides*; every side has a list of its neighbours in every other that it wants to know
// about.
#include "methods/sph/sph_implicit.h"

#include <math.h>
#include <stdio.h>

#include "data/call.h"
#include "linalg/vector.h"
#include "methods/sph/sph_confined.h"
#include "methods/sph/sph_implicit_kernels.h"
#include "methods/sph/sph_viscous.h"
#include "par/kernel_define.h"

SPH_IMPLICIT_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE)

#define SAFETY 0.9  // of the step of the Jacobi iteration
// turns that are always taken: pressures of the last step alone keep the mean error small but not
// the largest
#define FEWEST_DENSITY 2
#define FEWEST_DIVERGENCE 1
#define FULL 0.7  // share of the rest density below which a divergence means nothing

static const kp_kernel *const terms_kernels[KP_SPH_KERNEL_COUNT] = {
  &sph_implicit_terms_mueller_kernel,
  &sph_implicit_terms_cubic_kernel,
  &sph_implicit_terms_wendland_kernel,
  &sph_implicit_terms_desbrun_kernel,
};

// ---- life ---------------------------------------------------------------------------------------

kp_result kp_sph_implicit_check(const kp_sph_def *def) {
  const char *wanted = NULL;
  if (def->integrator != KP_INTEGRATOR_SYMPLECTIC) {
    wanted = "integrator 'symplectic'";
  } else if (def->density != 0) {
    wanted = "density 'summation'";
  } else if (def->viscosity_model != KP_SPH_VISCOSITY_LAPLACIAN &&
             def->viscosity_model != KP_SPH_VISCOSITY_CENTRAL) {
    wanted = "viscosity_model 'laplacian' or 'central'";
  } else if (def->wall != KP_SPH_WALL_SPH && def->wall != KP_SPH_WALL_MIRROR) {
    wanted = "wall 'sph' or 'mirror'";
  } else if (def->fused) {
    wanted = "'fused' to be false";
  } else if (def->kernel == KP_SPH_POLY6) {
    wanted = "another kernel than 'poly6', whose gradient vanishes where particles come close";
  }
  return wanted == NULL ? KP_OK : kp_fail(KP_ERROR_SCENE, "sph: solver 'dfsph' needs %s", wanted);
}

#define N_BUFFERS 9
#define N_SIZED 7  // the first of them are always there
#define N_FOURS 3  // the first of them hold four numbers per element

static kp_buffer *buffer_of(kp_sph_side *side, int k) {
  kp_buffer *const all[N_BUFFERS] = {
    &side->velocity, &side->push,      &side->gradient,   &side->rate,   &side->last,
    side->factor,    side->factor + 1, &side->correction, &side->stress,
  };
  return all[k];
}

void kp_sph_implicit_destroy(kp_sph_implicit **implicit) {
  if (*implicit == NULL) {
    return;
  }
  for (size_t s = 0; s < (*implicit)->sides.count; ++s) {
    kp_sph_side *side = &(*implicit)->sides.data[s];
    for (int k = 0; k < N_BUFFERS; ++k) {
      kp_buffer_free(buffer_of(side, k));
    }
    for (size_t k = 0; k < side->links.count; ++k) {
      kp_pair_lists_free(&side->links.data[k].lists);
      kp_buffer_free(&side->links.data[k].terms);
      kp_buffer_free(&side->links.data[k].laps);
    }
    kp_array_free(&side->links);
  }
  kp_array_free(&(*implicit)->sides);
  kp_sph_viscous_destroy(&(*implicit)->viscous);
  kp_free(*implicit);
  *implicit = NULL;
}

static kp_ghosts *images_of(const kp_sph *sph, const kp_sph_side *side) {
  return side->fluid >= 0 ? sph->fluids.data[side->fluid].medium.ghosts : NULL;
}

static kp_result add_link(kp_sph_side *side, kp_env *env, size_t other, bool images) {
  kp_sph_link link = { .other = (int)other, .images = images };
  kp_buffer_init(&link.terms, env->backend);
  kp_buffer_init(&link.laps, env->backend);
  link.terms.tag = link.laps.tag = KP_MEMORY_GRID;
  link.terms.type = link.laps.type = KP_TYPE_REAL;
  return kp_array_push(&side->links, link);
}

// A liquid meets itself first: that pass overwrites, the others add. Samples of walls meet liquids
// only, and only where they have pressures or feel a force.
static kp_result add_links(kp_sph *sph, kp_env *env, size_t s) {
  kp_sph_side *sides = sph->implicit->sides.data;
  size_t n = sph->implicit->sides.count;
  bool is_idle =
      sides[s].wall >= 0 && !sides[s].is_solved && !sph->walls[sides[s].wall].interface->feels;
  for (size_t k = 0; k < n && !is_idle; ++k) {
    size_t other = (s + k) % n;
    if (sides[s].wall >= 0 && sides[other].wall >= 0) {
      continue;
    }
    KP_TRY(add_link(&sides[s], env, other, false));
    if (images_of(sph, &sides[other]) != NULL) {
      KP_TRY(add_link(&sides[s], env, other, true));
    }
  }
  return KP_OK;
}

// Pressures are state. Samples keep theirs in a space of their own, because nothing else of an
// interface is saved.
static kp_result add_pressures(kp_env *env, kp_sph_side *side) {
  kp_space *space = side->set->space;
  uint32_t flags = KP_FIELD_STATE;
  if (side->wall >= 0) {
    char name[KP_NAME_SIZE];
    snprintf(name, sizeof name, "%.30s.pressures", space->name);
    int64_t n = space->n;
    KP_TRY(kp_registry_add_space(env->registry, name, KP_SPACE_PARTICLES, &space));
    KP_TRY(kp_space_append(space, n, NULL, 0));
    flags = KP_FIELD_SAVE;
  }
  kp_field_desc divergence = { "divergence_pressure", KP_TYPE_REAL, 1, "Pa", flags, 0.0 };
  kp_field_desc density = { "solver_pressure", KP_TYPE_REAL, 1, "Pa", flags, 0.0 };
  KP_TRY(kp_space_add_field(space, &divergence, &side->pressure[KP_SPH_DIVERGENCE]));
  return kp_space_add_field(space, &density, &side->pressure[KP_SPH_DENSITY]);
}

static kp_result add_side(kp_sph *sph, kp_env *env, kp_sph_side side) {
  for (int k = 0; k < N_BUFFERS; ++k) {
    kp_buffer_init(buffer_of(&side, k), env->backend);
    buffer_of(&side, k)->type = KP_TYPE_REAL;
  }
  if (side.is_solved) {
    KP_TRY(add_pressures(env, &side));
  }
  return kp_array_push(&sph->implicit->sides, side);
}

// ---- how far a turn may step --------------------------------------------------------------------
//
// On a lattice the system is diagonal in waves exp(i k.x): with b(k) = sum_j t_j sin(k.x_j) the
// wave's eigenvalue is |b|^2/rho, and the Jacobi diagonal is sum_j |t_j|^2/rho for every particle.
// One over the largest quotient is the step that damps all waves, with momentum too. It falls from
// 0.4 in 2D (support 2.4) over 0.25 in 3D to 0.06 at 250 neighbours, where the customary 0.5 would
// diverge. Walls and free surfaces only take from the system as long as the diagonal keeps counting
// the samples as if they moved.

static double gradient_at(const kp_sph *sph, double r) {
  kp_w g = kp_smooth_g((int)sph->g_kind, kp_w_splat((kp_real)(r * r)), &sph->g);
  return (double)g[0];
}

typedef struct lattice {
  int dimension;
  int reach;       // spacings
  double spacing;  // m
  const kp_sph *sph;
} lattice;

// Sum over the neighbours of a lattice point of |t|^2, or, where k is given, |b(k)|^2; t = grad W.
static double lattice_sum(const lattice *l, const double *k) {
  double b[3] = { 0.0, 0.0, 0.0 };
  double squares = 0.0;
  int depth = l->dimension == 3 ? l->reach : 0;
  for (int z = -depth; z <= depth; ++z) {
    for (int y = -l->reach; y <= l->reach; ++y) {
      for (int x = -l->reach; x <= l->reach; ++x) {
        double d[3] = { l->spacing * x, l->spacing * y, l->spacing * z };
        double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
        double g = r2 > 0.0 ? gradient_at(l->sph, sqrt(r2)) : 0.0;
        double wave = k != NULL ? sin(k[0] * x + k[1] * y + k[2] * z) : 0.0;
        squares += g * g * r2;
        for (int c = 0; c < 3; ++c) {
          b[c] += wave * g * d[c];
        }
      }
    }
  }
  return k != NULL ? b[0] * b[0] + b[1] * b[1] + b[2] * b[2] : squares;
}

#define WAVES 8  // per axis

static void choose_step(kp_sph *sph, kp_env *env) {
  lattice l = { env->dimension, (int)ceil(sph->def.support), sph->spacing, sph };
  double squares = lattice_sum(&l, NULL);
  double largest = 0.0;
  // the lattice looks the same along all axes: kx >= ky >= kz
  for (int x = 1; x <= WAVES; ++x) {
    for (int y = 0; y <= x; ++y) {
      for (int z = 0; z <= (env->dimension == 3 ? y : 0); ++z) {
        const double unit = KP_SMOOTH_PI / WAVES;
        const double k[3] = { unit * x, unit * y, unit * z };
        largest = fmax(largest, lattice_sum(&l, k) / squares);
      }
    }
  }
  sph->implicit->relaxation = SAFETY / largest;
  double volume = kp_sph_lattice_volume(sph, sph->spacing, env->dimension);
  double lightest = HUGE_VAL;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    lightest = fmin(lightest, sph->fluids.data[f].def.rest_density);
  }
  sph->implicit->wall_diagonal = volume * volume * squares / lightest;
}

kp_result kp_sph_implicit_create(kp_sph *sph, kp_env *env) {
  sph->implicit = kp_alloc_zero(sizeof *sph->implicit, KP_MEMORY_WORLD);
  if (sph->implicit == NULL) {
    return KP_ERROR_MEMORY;
  }
  choose_step(sph, env);
  if (sph->def.viscosity_model == KP_SPH_VISCOSITY_CENTRAL) {
    KP_TRY(kp_sph_viscous_create(env, &sph->implicit->viscous));
  }
  KP_TRY(kp_sph_confined_create(sph, env->registry));
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_fluid *fluid = &sph->fluids.data[f];
    kp_sph_side side = { .fluid = (int)f,
                         .wall = -1,
                         .is_solved = true,
                         .set = fluid->medium.set,
                         .cells = fluid->medium.cells,
                         .density = fluid->density };
    KP_TRY(add_side(sph, env, side));
  }
  for (int w = 0; w < 2; ++w) {
    kp_sph_wall_fields *wall = &sph->walls[w];
    if (wall->cells != NULL) {
      kp_sph_side side = { .fluid = -1,
                           .wall = w,
                           .is_solved = sph->def.wall == KP_SPH_WALL_SPH,
                           .set = wall->interface->set,
                           .cells = wall->cells,
                           .density = wall->density };
      KP_TRY(add_side(sph, env, side));
    }
  }
  for (size_t s = 0; s < sph->implicit->sides.count; ++s) {
    KP_TRY(add_links(sph, env, s));
  }
  return KP_OK;
}

// ---- helpers ------------------------------------------------------------------------------------

static kp_sph_fluid *fluid_of(kp_sph *sph, const kp_sph_side *side) {
  return side->fluid >= 0 ? &sph->fluids.data[side->fluid] : NULL;
}

// Volume of a particle: rest volume, which all of a liquid share.
static double volume_of(const kp_sph_fluid *fluid) {
  return fluid->medium.mass / fluid->def.rest_density;
}

// Volumes of samples; NULL for liquids.
static kp_buffer *volumes_of(kp_sph *sph, const kp_sph_side *side) {
  return side->wall >= 0 ? &sph->walls[side->wall].interface->volume->buffers[0] : NULL;
}

static double rest_density_of(kp_sph *sph, const kp_sph_side *side) {
  return (side->fluid >= 0 ? fluid_of(sph, side) : kp_sph_stiffest(sph))->def.rest_density;
}

static kp_result clear(kp_buffer *buffer) {
  void *device = kp_buffer_device(buffer, KP_ACCESS_OVERWRITE);
  if (device == NULL && buffer->used > 0) {
    return KP_ERROR_MEMORY;
  }
  return kp_fill(buffer->backend, device, 0, buffer->used);
}

static kp_result resize_scratch(kp_sph_side *side) {
  for (int k = 0; k < N_SIZED; ++k) {
    size_t numbers = (size_t)side->set->space->n * (k < N_FOURS ? 4 : 1);
    KP_TRY(kp_buffer_resize(buffer_of(side, k), numbers * sizeof(kp_real)));
  }
  return KP_OK;
}

static kp_result run(kp_env *env, kp_call *call, const kp_sph_side *side) {
  return kp_call_run(env->backend, call, side->set->space->n);
}

#define BIND_LISTS(call, args, link)                                                               \
  (KP_BIND(call, args, start, &(link)->lists.start, KP_ACCESS_READ),                               \
   KP_BIND(call, args, index, &(link)->lists.indices, KP_ACCESS_READ))

static kp_access result_access(bool add) {
  return add ? KP_ACCESS_WRITE : KP_ACCESS_OVERWRITE;
}

// ---- lists, terms and sums ----------------------------------------------------------------------

// Images stand for their owners: once the terms are made, lists name these.
static kp_result name_owners(kp_env *env, kp_sph_link *link, kp_ghosts *ghosts) {
  sph_implicit_owner_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &sph_implicit_owner_kernel, &a);
  KP_BIND(&call, &a, source, &ghosts->source->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, index, &link->lists.indices, KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, link->lists.n_pairs);
}

static kp_result resize_terms(kp_sph_link *link) {
  size_t n = (size_t)link->lists.n_pairs;
  // one more: the last term is read as four numbers
  KP_TRY(kp_buffer_resize(&link->terms, (3 * n + 1) * sizeof(kp_real)));
  KP_TRY(kp_buffer_resize(&link->laps, n * sizeof(kp_real)));
  kp_real *term = kp_buffer_device(&link->terms, KP_ACCESS_OVERWRITE);
  if (term == NULL) {
    return KP_ERROR_MEMORY;
  }
  return kp_fill(link->terms.backend, term + 3 * n, 0, sizeof *term);
}

static kp_result make_terms(kp_sph *sph, kp_env *env, kp_sph_side *side, kp_sph_link *link,
                            bool add) {
  kp_sph_side *other = &sph->implicit->sides.data[link->other];
  kp_sph_fluid *fluid = fluid_of(sph, side);
  kp_sph_fluid *there = fluid_of(sph, other);
  kp_set *j_set = link->images ? there->medium.ghosts->set : other->set;
  kp_cells *j_cells = link->images ? there->medium.ghost_cells : other->cells;
  KP_TRY(kp_pair_lists_build(&link->lists, side->cells, j_cells, sph->support, false));
  KP_TRY(resize_terms(link));
  double w0 = kp_smooth_value(sph->w_kind, 0.0, sph->support, env->dimension);
  sph_implicit_terms_args a = {
    .w = sph->w,
    .g = sph->g,
    .volume = (kp_real)(there != NULL ? volume_of(there) : 0.0),
    .own = (kp_real)(fluid != NULL ? fluid->medium.mass * w0 : 0.0),
    .rest_density = (kp_real)rest_density_of(sph, side),
    .weight = (kp_real)(1.0 / (there != NULL ? there : fluid)->medium.mass),
    .add = add,
  };
  kp_call call;
  kp_call_init(&call, terms_kernels[sph->def.kernel], &a);
  KP_BIND(&call, &a, start, &link->lists.start, KP_ACCESS_READ);
  KP_BIND(&call, &a, index, &link->lists.indices, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , side->set->position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_, j_set->position, KP_ACCESS_READ);
  KP_BIND(&call, &a, j_volume, volumes_of(sph, other), KP_ACCESS_READ);
  KP_BIND(&call, &a, term, &link->terms, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, lap, &link->laps, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, density, &side->density->buffers[0], result_access(add));
  KP_BIND(&call, &a, gradient, &side->gradient, result_access(add));
  return run(env, &call, side);
}

static kp_result name_all_owners(kp_sph *sph, kp_env *env) {
  for (size_t s = 0; s < sph->implicit->sides.count; ++s) {
    kp_sph_side *side = &sph->implicit->sides.data[s];
    for (size_t k = 0; k < side->links.count; ++k) {
      kp_sph_link *link = &side->links.data[k];
      if (link->images) {
        KP_TRY(name_owners(env, link, images_of(sph, &sph->implicit->sides.data[link->other])));
      }
    }
  }
  return KP_OK;
}

static kp_result make_factors(kp_sph *sph, kp_env *env, kp_sph_side *side) {
  kp_sph_fluid *fluid = fluid_of(sph, side);
  double rest = rest_density_of(sph, side);
  // far less than a pair a support apart has is rounding
  double least = 1e-6 / (rest * sph->support * sph->support);
  sph_implicit_factor_args a = { .inverse = (kp_real)(fluid != NULL ? 1.0 / rest : 0.0),
                                 .volume = (kp_real)(fluid != NULL ? volume_of(fluid) : 0.0),
                                 .fixed = (kp_real)sph->implicit->wall_diagonal,
                                 .least = (kp_real)least,
                                 .full = (kp_real)(FULL * rest),
                                 .relaxation = (kp_real)sph->implicit->relaxation };
  kp_call call;
  kp_call_init(&call, &sph_implicit_factor_kernel, &a);
  KP_BIND(&call, &a, gradient, &side->gradient, KP_ACCESS_READ);
  KP_BIND(&call, &a, density, &side->density->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, factor, &side->factor[KP_SPH_DENSITY], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, divergence_factor, &side->factor[KP_SPH_DIVERGENCE], KP_ACCESS_OVERWRITE);
  return run(env, &call, side);
}

// Samples begin with what they give to each other.
static kp_result begin_samples(kp_sph *sph, kp_sph_side *side) {
  KP_TRY(clear(&side->gradient));
  kp_field *own = sph->walls[side->wall].own;
  return own != NULL ? kp_buffer_copy(&side->density->buffers[0], &own->buffers[0])
                     : clear(&side->density->buffers[0]);
}

// ---- velocities ---------------------------------------------------------------------------------

static kp_result kick(kp_sph *sph, kp_env *env, kp_sph_side *side, bool accelerated) {
  sph_implicit_kick_args a = { .dt = (kp_real)env->dt };
  kp_call call;
  kp_call_init(&call, &sph_implicit_kick_kernel, &a);
  if (accelerated) {
    KP_BIND3(&call, &a, a, fluid_of(sph, side)->medium.integrate.acceleration, KP_ACCESS_READ);
  }
  KP_BIND3(&call, &a, v, side->set->velocity, accelerated ? KP_ACCESS_WRITE : KP_ACCESS_READ);
  KP_BIND(&call, &a, u, &side->velocity, KP_ACCESS_OVERWRITE);
  return run(env, &call, side);
}

static kp_result take(kp_env *env, kp_sph_side *side) {
  sph_implicit_take_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &sph_implicit_take_kernel, &a);
  KP_BIND(&call, &a, u, &side->push, KP_ACCESS_READ);
  KP_BIND(&call, &a, v, &side->velocity, KP_ACCESS_OVERWRITE);
  KP_BIND3(&call, &a, v, side->set->velocity, KP_ACCESS_OVERWRITE);
  return run(env, &call, side);
}

static kp_result move(kp_sph *sph, kp_env *env, kp_sph_side *side) {
  sph_implicit_move_args a = { .dt = env->dt };
  kp_call call;
  kp_call_init(&call, &sph_implicit_move_kernel, &a);
  KP_BIND3(&call, &a, v, side->set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, , side->set->position, KP_ACCESS_WRITE);
  fluid_of(sph, side)->medium.integrate.dt_last = env->dt;
  return run(env, &call, side);
}

// ---- the passes of an iteration -----------------------------------------------------------------

static kp_buffer *pressure_of(const kp_sph_side *side, kp_sph_system system) {
  return side->is_solved ? &side->pressure[system]->buffers[0] : NULL;
}

static kp_result push_pass(kp_sph *sph, kp_env *env, kp_sph_side *side, kp_sph_system system) {
  bool is_liquid = side->fluid >= 0;
  double scale = is_liquid ? env->dt / rest_density_of(sph, side) : 1.0;
  if (sph->implicit->is_confined) {
    return kp_sph_confined_push(sph, env, side, scale);
  }
  for (size_t k = 0; k < side->links.count; ++k) {
    kp_sph_link *link = &side->links.data[k];
    kp_sph_side *other = &sph->implicit->sides.data[link->other];
    sph_implicit_push_args a = { .scale = (kp_real)scale, .add = k > 0 };
    kp_call call;
    kp_call_init(&call, &sph_implicit_push_kernel, &a);
    BIND_LISTS(&call, &a, link);
    KP_BIND(&call, &a, term, &link->terms, KP_ACCESS_READ);
    KP_BIND(&call, &a, p, pressure_of(side, system), KP_ACCESS_READ);
    KP_BIND(&call, &a, j_p, pressure_of(other, system), KP_ACCESS_READ);
    KP_BIND(&call, &a, v, is_liquid ? &side->velocity : NULL, KP_ACCESS_READ);
    KP_BIND(&call, &a, u, &side->push, result_access(k > 0));
    KP_TRY(run(env, &call, side));
  }
  return KP_OK;
}

// Velocities after the push; samples are not pushed.
static kp_buffer *motion_of(kp_sph_side *side) {
  return side->fluid >= 0 ? &side->push : &side->velocity;
}

static kp_result rate_pass(kp_sph *sph, kp_env *env, kp_sph_side *side) {
  if (sph->implicit->is_confined && side->fluid >= 0) {
    return kp_sph_confined_rate(sph, env, side);
  }
  for (size_t k = 0; k < side->links.count; ++k) {
    kp_sph_link *link = &side->links.data[k];
    kp_sph_side *other = &sph->implicit->sides.data[link->other];
    sph_implicit_rate_args a = { .add = k > 0 };
    kp_call call;
    kp_call_init(&call, &sph_implicit_rate_kernel, &a);
    BIND_LISTS(&call, &a, link);
    KP_BIND(&call, &a, term, &link->terms, KP_ACCESS_READ);
    KP_BIND(&call, &a, u, motion_of(side), KP_ACCESS_READ);
    KP_BIND(&call, &a, j_u, motion_of(other), KP_ACCESS_READ);
    KP_BIND(&call, &a, rate, &side->rate, result_access(k > 0));
    KP_TRY(run(env, &call, side));
  }
  return KP_OK;
}

static sph_residual residual_of(kp_sph *sph, const kp_env *env, const kp_sph_side *side) {
  return (sph_residual){ .dt = (kp_real)env->dt,
                         .inverse = (kp_real)(1.0 / rest_density_of(sph, side)) };
}

static kp_buffer *density_of(kp_sph_side *side, kp_sph_system system) {
  return system == KP_SPH_DENSITY ? &side->density->buffers[0] : NULL;
}

static bool pulls(kp_sph *sph, const kp_sph_side *side) {
  const kp_sph_fluid *fluid = fluid_of(sph, side);
  return sph->implicit->is_confined || (fluid != NULL && !fluid->def.clamp_negative_pressure);
}

static kp_result relax_pass(kp_sph *sph, kp_env *env, kp_sph_side *side, kp_sph_system system,
                            double momentum) {
  sph_implicit_relax_args a = { .residual = residual_of(sph, env, side),
                                .inverse_dt2 = (kp_real)(1.0 / (env->dt * env->dt)),
                                .momentum = (kp_real)momentum,
                                .pulls = pulls(sph, side) };
  kp_call call;
  kp_call_init(&call, &sph_implicit_relax_kernel, &a);
  KP_BIND(&call, &a, residual.density, density_of(side, system), KP_ACCESS_READ);
  KP_BIND(&call, &a, residual.rate, &side->rate, KP_ACCESS_READ);
  KP_BIND(&call, &a, factor, &side->factor[system], KP_ACCESS_READ);
  KP_BIND(&call, &a, last, &side->last, result_access(momentum > 0.0));
  KP_BIND(&call, &a, p, pressure_of(side, system), KP_ACCESS_WRITE);
  return run(env, &call, side);
}

// The look of the host: one small reduction per liquid.
static kp_result measure(kp_sph *sph, kp_env *env, kp_sph_system system,
                         kp_sph_solve_report *report) {
  double sum = 0.0;
  double n = 0.0;
  report->worst = 0.0;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_side *side = &sph->implicit->sides.data[f];
    int64_t count = side->set->space->n;
    sph_implicit_error_args a = { .residual = residual_of(sph, env, side) };
    double values[2];
    kp_call call;
    kp_call_init(&call, &sph_implicit_error_kernel, &a);
    KP_BIND(&call, &a, residual.density, density_of(side, system), KP_ACCESS_READ);
    KP_BIND(&call, &a, residual.rate, &side->rate, KP_ACCESS_READ);
    KP_BIND(&call, &a, factor, &side->factor[system], KP_ACCESS_READ);
    KP_BIND(&call, &a, p, pressure_of(side, system), KP_ACCESS_READ);
    if (count > 0) {
      KP_TRY(kp_call_reduce(env->backend, &call, count, values));
      sum += values[0];
      n += (double)count;
      report->worst = fmax(report->worst, values[1]);
    }
  }
  report->error = n > 0.0 ? sum / n : 0.0;
  return KP_OK;
}

// What was gathered on the samples becomes force.
static kp_result react(kp_sph *sph, kp_env *env, kp_sph_side *side) {
  sph_implicit_react_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &sph_implicit_react_kernel, &a);
  KP_BIND(&call, &a, volume, volumes_of(sph, side), KP_ACCESS_READ);
  KP_BIND(&call, &a, push, &side->push, KP_ACCESS_READ);
  KP_BIND3(&call, &a, f, sph->walls[side->wall].interface->force, KP_ACCESS_WRITE);
  return run(env, &call, side);
}

// ---- a solve ------------------------------------------------------------------------------------

static kp_result begin_solve(kp_sph *sph, kp_env *env, kp_sph_system system) {
  for (size_t s = 0; s < sph->implicit->sides.count; ++s) {
    kp_sph_side *side = &sph->implicit->sides.data[s];
    if (side->is_solved && !sph->def.warm_start) {
      KP_TRY(clear(pressure_of(side, system)));
    }
  }
  return sph->implicit->is_confined ? kp_sph_confined_begin(sph, env) : KP_OK;
}

static kp_result push_liquids(kp_sph *sph, kp_env *env, kp_sph_system system) {
  if (sph->implicit->is_confined) {
    KP_TRY(kp_sph_confined_stress(sph, env, false));
  }
  for (size_t s = 0; s < sph->fluids.count; ++s) {
    KP_TRY(push_pass(sph, env, &sph->implicit->sides.data[s], system));
  }
  return KP_OK;
}

// Residuals of the present pressures, and pressures that should do better.
static kp_result take_turn(kp_sph *sph, kp_env *env, kp_sph_system system, double momentum) {
  kp_sph_solve_report *report = &sph->implicit->reports[system];
  KP_TRY(push_liquids(sph, env, system));
  for (size_t s = 0; s < sph->implicit->sides.count; ++s) {
    kp_sph_side *side = &sph->implicit->sides.data[s];
    if (side->is_solved) {
      KP_TRY(rate_pass(sph, env, side));
    }
  }
  if (sph->implicit->is_confined) {
    KP_TRY(kp_sph_confined_balance(sph, env));
  }
  KP_TRY(measure(sph, env, system, report));
  for (size_t s = 0; s < sph->implicit->sides.count; ++s) {
    kp_sph_side *side = &sph->implicit->sides.data[s];
    if (side->is_solved) {
      KP_TRY(relax_pass(sph, env, side, system, momentum));
    }
  }
  return KP_OK;
}

static kp_result end_solve(kp_sph *sph, kp_env *env, kp_sph_system system) {
  KP_TRY(push_liquids(sph, env, system));
  if (sph->implicit->is_confined) {
    KP_TRY(kp_sph_confined_stress(sph, env, true));
  }
  for (size_t s = 0; s < sph->implicit->sides.count; ++s) {
    kp_sph_side *side = &sph->implicit->sides.data[s];
    if (side->fluid >= 0) {
      KP_TRY(take(env, side));
    } else if (kp_sph_wall_feels(&sph->walls[side->wall])) {
      KP_TRY(push_pass(sph, env, side, system));
      KP_TRY(react(sph, env, side));
    }
  }
  return KP_OK;
}

// The error that ends the iteration is that before the last turn's change.
static kp_result solve(kp_sph *sph, kp_env *env, kp_sph_system system) {
  bool is_density = system == KP_SPH_DENSITY;
  double tolerance = is_density ? sph->def.density_error : sph->def.divergence_error;
  int64_t fewest = is_density ? FEWEST_DENSITY : FEWEST_DIVERGENCE;
  int64_t most = is_density ? sph->def.density_iterations : sph->def.divergence_iterations;
  kp_sph_solve_report *report = &sph->implicit->reports[system];
  *report = (kp_sph_solve_report){ 0 };
  KP_TRY(begin_solve(sph, env, system));
  double least = HUGE_VAL;
  int turn = 0;  // since momentum was lost
  while (report->iterations < most) {
    KP_TRY(take_turn(sph, env, system, turn / (turn + 3.0)));
    report->iterations += 1;
    if (report->error <= tolerance && report->iterations >= fewest) {
      break;
    }
    turn = report->error < 2.0 * least ? turn + 1 : 0;
    least = fmin(least, report->error);
  }
  return end_solve(sph, env, system);
}

double kp_sph_implicit_jet(const kp_sph_fluid *fluid, const kp_env *env) {
  double fastest = 0.0;
  for (size_t e = 0; e < fluid->medium.emitters.count; ++e) {
    fastest = fmax(fastest, kp_emitter_speed(&fluid->medium.emitters.data[e], env));
  }
  return fastest;
}

// ---- stages -------------------------------------------------------------------------------------

kp_result kp_sph_implicit_prepare(kp_sph *sph, kp_env *env) {
  for (size_t s = 0; s < sph->implicit->sides.count; ++s) {
    kp_sph_side *side = &sph->implicit->sides.data[s];
    KP_TRY(resize_scratch(side));
    KP_TRY(kick(sph, env, side, false));
    if (side->wall >= 0) {
      KP_TRY(begin_samples(sph, side));
    }
    for (size_t k = 0; k < side->links.count; ++k) {
      KP_TRY(make_terms(sph, env, side, &side->links.data[k], k > 0 || side->wall >= 0));
    }
    if (side->is_solved) {
      KP_TRY(make_factors(sph, env, side));
    }
  }
  KP_TRY(kp_sph_confined_look(sph, env));
  if (sph->implicit->is_confined) {
    KP_TRY(kp_sph_confined_prepare(sph, env));
    return name_all_owners(sph, env);
  }
  KP_TRY(name_all_owners(sph, env));
  return sph->def.divergence_iterations > 0 ? solve(sph, env, KP_SPH_DIVERGENCE) : KP_OK;
}

// Along the line of centres, and solved for.
static bool is_viscous(const kp_sph *sph) {
  return sph->implicit->viscous != NULL;
}

static kp_result viscosity_pass(kp_sph *sph, kp_env *env, kp_sph_side *side) {
  double scale = side->fluid >= 0 ? 1.0 / rest_density_of(sph, side) : 1.0;
  for (size_t k = 0; k < side->links.count; ++k) {
    kp_sph_link *link = &side->links.data[k];
    kp_sph_side *other = &sph->implicit->sides.data[link->other];
    bool is_central = is_viscous(sph) && side->fluid >= 0 && other->fluid >= 0;
    sph_implicit_viscosity_args a = {
      .scale = (kp_real)(scale * kp_sph_viscosity_of(sph, env, side, other)),
      .add = k > 0,
    };
    kp_call call;
    kp_call_init(&call, is_central ? &sph_implicit_central_kernel : &sph_implicit_viscosity_kernel,
                 &a);
    BIND_LISTS(&call, &a, link);
    if (is_central) {
      KP_BIND(&call, &a, term, &link->terms, KP_ACCESS_READ);
    }
    KP_BIND(&call, &a, lap, &link->laps, KP_ACCESS_READ);
    KP_BIND(&call, &a, u, &side->velocity, KP_ACCESS_READ);
    KP_BIND(&call, &a, j_u, &other->velocity, KP_ACCESS_READ);
    KP_BIND(&call, &a, push, &side->push, result_access(k > 0));
    KP_TRY(run(env, &call, side));
  }
  return KP_OK;
}

static kp_result accelerate(kp_sph *sph, kp_env *env, kp_sph_side *side) {
  kp_vec3 g = env->simulation.gravity;
  if (sph->implicit->is_confined) {
    double inverse = 1.0 / rest_density_of(sph, side);
    g = kp_vec3_sub(g, kp_vec3_scale(kp_sph_confined_weight(sph, env), inverse));
  }
  sph_implicit_accelerate_args a = {
    .gx = (kp_real)g.x,
    .gy = (kp_real)g.y,
    .gz = (kp_real)(env->dimension == 2 ? 0.0 : g.z),
  };
  kp_medium *medium = &fluid_of(sph, side)->medium;
  kp_call call;
  kp_call_init(&call, &sph_implicit_accelerate_kernel, &a);
  KP_BIND(&call, &a, push, &side->push, KP_ACCESS_READ);
  KP_BIND3(&call, &a, a, medium->integrate.acceleration, KP_ACCESS_OVERWRITE);
  KP_TRY(run(env, &call, side));
  KP_TRY(kp_sph_adhesion_forces(sph, fluid_of(sph, side)));
  KP_TRY(kp_sph_tension_forces(sph, fluid_of(sph, side)));
  return kp_medium_outer_forces(medium, env);
}

kp_result kp_sph_implicit_forces(kp_sph *sph, kp_env *env) {
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_side *side = &sph->implicit->sides.data[f];
    KP_TRY(viscosity_pass(sph, env, side));
    KP_TRY(accelerate(sph, env, side));
  }
  if (is_viscous(sph)) {
    KP_TRY(kp_sph_viscous_solve(sph, env));
  }
  for (size_t s = sph->fluids.count; s < sph->implicit->sides.count; ++s) {
    kp_sph_side *side = &sph->implicit->sides.data[s];
    if (kp_sph_wall_feels(&sph->walls[side->wall])) {
      KP_TRY(viscosity_pass(sph, env, side));
      KP_TRY(react(sph, env, side));
    }
  }
  return KP_OK;
}

kp_result kp_sph_implicit_predict(kp_sph *sph, kp_env *env) {
  for (size_t s = 0; s < sph->fluids.count; ++s) {
    KP_TRY(kick(sph, env, &sph->implicit->sides.data[s], true));
  }
  return KP_OK;
}

// One solve, of the divergence, whose pressures are all there are.
static kp_result solve_confined(kp_sph *sph, kp_env *env) {
  sph->implicit->reports[KP_SPH_DENSITY] = (kp_sph_solve_report){ 0 };
  KP_TRY(solve(sph, env, KP_SPH_DIVERGENCE));
  for (size_t s = 0; s < sph->implicit->sides.count; ++s) {
    kp_sph_side *side = &sph->implicit->sides.data[s];
    if (side->is_solved) {
      KP_TRY(clear(pressure_of(side, KP_SPH_DENSITY)));
    }
    if (side->fluid >= 0) {
      KP_TRY(kp_sph_confined_move(sph, env, side));
    }
  }
  return KP_OK;
}

kp_result kp_sph_implicit_solve(kp_sph *sph, kp_env *env) {
  if (sph->implicit->is_confined) {
    return solve_confined(sph, env);
  }
  if (sph->def.density_iterations > 0) {
    KP_TRY(solve(sph, env, KP_SPH_DENSITY));
  }
  for (size_t s = 0; s < sph->fluids.count; ++s) {
    KP_TRY(move(sph, env, &sph->implicit->sides.data[s]));
  }
  return KP_OK;
}

// Both solves act for the whole step, one after the other.
kp_result kp_sph_implicit_show(kp_sph *sph, const kp_env *env) {
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    kp_sph_side *side = &sph->implicit->sides.data[f];
    kp_buffer *shown = &sph->fluids.data[f].shown->buffers[0];
    int64_t n = side->set->space->n;
    KP_TRY(kp_vector_fill(n, 0.0, shown));
    for (int system = 0; system < KP_SPH_SYSTEM_COUNT; ++system) {
      KP_TRY(kp_vector_axpy(n, 1.0, &side->pressure[system]->buffers[0], shown));
    }
    if (sph->implicit->is_confined) {
      KP_TRY(kp_sph_confined_show(sph, env, side, shown));
    }
  }
  return KP_OK;
}
