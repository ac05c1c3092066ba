// Mixtures: particles carry a concentration that spreads over all liquids of the world and adds to
// their mass (B 5.13-5.16).
#include <math.h>
#include <string.h>

#include "data/call.h"
#include "methods/sph/sph.h"
#include "methods/sph/sph_mix_kernels.h"
#include "par/kernel_define.h"

// of the step at which a particle takes on the mean of its neighbours: every update stays a mix
#define DIFFUSION_SHARE 0.9

SPH_MIX_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

// ---- set-up -------------------------------------------------------------------------------------

static bool carries(const kp_liquid_def *def) {
  return def->concentration != 0.0 || def->dispersion != 0.0 || def->solute_density != 0.0;
}

bool kp_sph_mixes(const kp_sph_setup *setup) {
  bool any = false;
  for (size_t l = 0; l < setup->n_liquids; ++l) {
    any = any || carries(&setup->liquids[l]);
  }
  return any;
}

// The sum of C is kept particle by particle. It is an amount only where particles are alike.
kp_result kp_sph_mix_check(const kp_sph_setup *setup) {
  if (setup->def->solver == KP_SPH_SOLVER_DFSPH) {
    return kp_fail(KP_ERROR_SCENE,
                   "sph: solver 'dfsph' does not carry concentrations; liquids that "
                   "mix need solver 'wcsph'");
  }
  const kp_liquid_def *first = &setup->liquids[0];
  for (size_t l = 1; l < setup->n_liquids; ++l) {
    const kp_liquid_def *def = &setup->liquids[l];
    const char *key = def->spacing != first->spacing                 ? "spacing"
                      : def->solute_density != first->solute_density ? "solute_density"
                                                                     : NULL;
    if (key != NULL) {
      return kp_fail(KP_ERROR_SCENE,
                     "liquid \"%s\": liquids that mix need one %s, that of \"%s\" "
                     "differs",
                     def->name, key, first->name);
    }
  }
  return KP_OK;
}

// Sum over the lattice of the coefficients of all neighbours, over D: how fast a particle is drawn
// to their mean.
static double pull(const kp_sph *sph, double spacing, double volume, int dimension) {
  int reach = (int)ceil(sph->support / spacing);
  int depth = dimension == 2 ? 0 : reach;
  double sum = 0.0;
  for (int k = -depth; k <= depth; ++k) {
    for (int j = -reach; j <= reach; ++j) {
      for (int i = -reach; i <= reach; ++i) {
        double r = spacing * sqrt((double)(i * i + j * j + k * k));
        double e = 1e-4 * spacing;
        double up = kp_smooth_value(sph->mix.kind, r + e, sph->support, dimension);
        double down = kp_smooth_value(sph->mix.kind, fabs(r - e), sph->support, dimension);
        sum += r > 0.0 ? volume * (down - up) / (e * r) : 0.0;
      }
    }
  }
  return sum;
}

kp_result kp_sph_mix_setup(kp_sph *sph, kp_sph_fluid *fluid, const kp_env *env) {
  const kp_liquid_def *def = &fluid->def;
  kp_sph_mix *mix = &fluid->mix;
  kp_space *space = fluid->medium.set->space;
  double volume = fluid->medium.mass / def->rest_density;
  mix->heavy = def->solute_density / def->rest_density;
  double factor = 1.0 + mix->heavy * def->concentration;
  // the spiky kernel is far off here: its sums are biased by the particle itself
  sph->mix.kind = sph->w_kind == KP_SMOOTH_SPIKY ? KP_SMOOTH_POLY6 : sph->w_kind;
  sph->mix.g = kp_smooth_make(sph->mix.kind, sph->support, env->dimension);
  sph->mix.fastest = fmax(sph->mix.fastest, def->dispersion);
  sph->mix.pull = fmax(sph->mix.pull, pull(sph, def->spacing, volume, env->dimension));
  const kp_field_desc c = {
    "concentration",   KP_TYPE_REAL, 1, "", KP_FIELD_STATE | KP_FIELD_GHOST | KP_FIELD_EXPORT,
    def->concentration
  };
  const kp_field_desc rate = { "concentration_rate", KP_TYPE_REAL, 1, "1/s", 0, 0.0 };
  const kp_field_desc mass = {
    "mass", KP_TYPE_REAL, 1, "kg", KP_FIELD_STATE | KP_FIELD_EXPORT, fluid->medium.mass * factor
  };
  const kp_field_desc density = { "mixture_density", KP_TYPE_REAL,    1,
                                  "kg/m^3",          KP_FIELD_EXPORT, def->rest_density * factor };
  KP_TRY(kp_space_add_field(space, &c, &mix->c));
  KP_TRY(kp_space_add_field(space, &rate, &mix->rate));
  KP_TRY(kp_space_add_field(space, &mass, &mix->mass));
  KP_TRY(kp_space_add_field(space, &density, &mix->density));
  fluid->medium.mass_field = mix->mass;
  return KP_OK;
}

double kp_sph_mix_dt(const kp_sph *sph) {
  double rate = sph->mix.fastest * sph->mix.pull;
  return rate > 0.0 ? DIFFUSION_SHARE / rate : HUGE_VAL;
}

// ---- passes -------------------------------------------------------------------------------------

static const kp_kernel *kernel_of(const kp_sph *sph) {
  switch (sph->mix.kind) {
  case KP_SMOOTH_CUBIC:
    return &sph_mix_cubic_kernel;
  case KP_SMOOTH_WENDLAND:
    return &sph_mix_wendland_kernel;
  default:
    return &sph_mix_poly6_kernel;
  }
}

static kp_result rate_from(kp_sph *sph, kp_sph_fluid *fluid, kp_sph_fluid *other, bool ghosts) {
  kp_medium *medium = &other->medium;
  kp_space *space = ghosts ? medium->ghosts->set->space : medium->set->space;
  bool first = fluid == other && !ghosts;
  double h = 0.5 * sph->support;
  sph_mix_args a = { .g = sph->mix.g,
                     .mass = (kp_real)fluid->medium.mass,
                     .j_mass = (kp_real)medium->mass,
                     .dispersion = (kp_real)fluid->def.dispersion,
                     .j_dispersion = (kp_real)other->def.dispersion,
                     .eta2 = (kp_real)(0.01 * h * h),
                     .add = !first };
  kp_call call;
  kp_call_init(&call, kernel_of(sph), &a);
  KP_BIND(&call, &a, c, &fluid->mix.c->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, inverse, &fluid->inverse->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, j_c, &kp_space_find(space, "concentration")->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, j_inverse, &kp_space_find(space, "inverse_density")->buffers[0],
          KP_ACCESS_READ);
  KP_BIND(&call, &a, rate, &fluid->mix.rate->buffers[0],
          first ? KP_ACCESS_OVERWRITE : KP_ACCESS_WRITE);
  return kp_sph_run_pairs(sph, &call, fluid->medium.cells,
                          ghosts ? medium->ghost_cells : medium->cells);
}

static kp_result rates(kp_sph *sph, kp_sph_fluid *fluid) {
  KP_TRY(rate_from(sph, fluid, fluid, false));
  for (size_t k = 0; k < sph->fluids.count; ++k) {
    kp_sph_fluid *other = &sph->fluids.data[k];
    if (other != fluid) {
      KP_TRY(rate_from(sph, fluid, other, false));
    }
    if (other->medium.ghosts != NULL) {
      KP_TRY(rate_from(sph, fluid, other, true));
    }
  }
  return KP_OK;
}

kp_result kp_sph_mix_forces(kp_sph *sph, const kp_env *env, kp_sph_fluid *fluid) {
  kp_vec3 g = env->simulation.gravity;
  sph_mix_accelerate_args a = { .heavy = (kp_real)fluid->mix.heavy,
                                .gx = (kp_real)g.x,
                                .gy = (kp_real)g.y,
                                .gz = (kp_real)(env->dimension == 2 ? 0.0 : g.z) };
  kp_call call;
  kp_call_init(&call, &sph_mix_accelerate_kernel, &a);
  KP_BIND(&call, &a, c, &fluid->mix.c->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, a, fluid->medium.integrate.acceleration, KP_ACCESS_WRITE);
  KP_TRY(kp_call_run(env->backend, &call, fluid->medium.set->space->n));
  return sph->mix.fastest > 0.0 ? rates(sph, fluid) : KP_OK;
}

static kp_result advance(kp_sph_fluid *fluid, const kp_env *env) {
  sph_mix_advance_args a = { .dt = (kp_real)env->dt };
  kp_call call;
  kp_call_init(&call, &sph_mix_advance_kernel, &a);
  KP_BIND(&call, &a, rate, &fluid->mix.rate->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, c, &fluid->mix.c->buffers[0], KP_ACCESS_WRITE);
  return kp_call_run(env->backend, &call, fluid->medium.set->space->n);
}

kp_result kp_sph_mix_advance(kp_sph *sph, const kp_env *env, kp_sph_fluid *fluid) {
  if (sph->mix.fastest > 0.0) {
    KP_TRY(advance(fluid, env));
  }
  sph_mix_weigh_args a = { .mass = (kp_real)fluid->medium.mass,
                           .heavy = (kp_real)fluid->mix.heavy };
  kp_call call;
  kp_call_init(&call, &sph_mix_weigh_kernel, &a);
  KP_BIND(&call, &a, c, &fluid->mix.c->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, density, &fluid->density->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, mass_of, &fluid->mix.mass->buffers[0], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, true_density, &fluid->mix.density->buffers[0], KP_ACCESS_OVERWRITE);
  return kp_call_run(env->backend, &call, fluid->medium.set->space->n);
}
