// The passes over pairs: densities (prepare) and accelerations (forces), for every pair of sets
// that may touch.
#include <math.h>

#include "data/call.h"
#include "methods/sph/sph.h"
#include "methods/sph/sph_kernels.h"
#include "par/kernel_define.h"

// a wall with pressure also pushes like a spring, closer than this many spacings
#define BARRIER 0.8
#define BARRIER_STRENGTH 4.0  // times the stiffness of the DEM law
#define CONTACT_STEPS 20.0    // sub-steps a contact of the DEM law lasts at least

SPH_POINT_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE)
SPH_PAIR_KERNELS(KP_DEFINE_PAIR)

// ---- kernels by setting, in the order of kp_sph_kernel ------------------------------------------

static const kp_kernel *const density_kernels[KP_SPH_KERNEL_COUNT] = {
  &sph_density_mueller_kernel, &sph_density_cubic_kernel, &sph_density_wendland_kernel,
  &sph_density_desbrun_kernel, &sph_density_poly6_kernel
};

static const kp_kernel *const wall_density_kernels[KP_SPH_KERNEL_COUNT] = {
  &sph_wall_density_mueller_kernel, &sph_wall_density_cubic_kernel,
  &sph_wall_density_wendland_kernel, &sph_wall_density_desbrun_kernel,
  &sph_wall_density_poly6_kernel
};

// [kernel][viscosity model][pressure form]
#define FORCE_ROW(set)                                                                             \
  {                                                                                                \
    { &sph_force_##set##_mean_kernel, &sph_force_##set##_squared_kernel },                         \
        { &sph_force_##set##_mean_av_kernel, &sph_force_##set##_squared_av_kernel },               \
        { &sph_force_##set##_mean_central_kernel, &sph_force_##set##_squared_central_kernel },     \
  }
static const kp_kernel *const force_kernels[KP_SPH_KERNEL_COUNT][3][2] = {
  FORCE_ROW(mueller), FORCE_ROW(cubic), FORCE_ROW(wendland), FORCE_ROW(desbrun), FORCE_ROW(poly6)
};

#define FUSED_ROW(set)                                                                             \
  { &sph_fused_##set##_mean_kernel, &sph_fused_##set##_squared_kernel }
static const kp_kernel *const fused_kernels[KP_SPH_KERNEL_COUNT][2] = {
  FUSED_ROW(mueller), FUSED_ROW(cubic), FUSED_ROW(wendland), FUSED_ROW(desbrun), FUSED_ROW(poly6)
};

static const kp_kernel *const rates_kernels[KP_SPH_KERNEL_COUNT][3] = {
  [KP_SPH_CUBIC] = { &sph_rates_cubic_kernel, &sph_rates_cubic_av_kernel,
                     &sph_rates_cubic_central_kernel },
  [KP_SPH_WENDLAND] = { &sph_rates_wendland_kernel, &sph_rates_wendland_av_kernel,
                        &sph_rates_wendland_central_kernel },
};

static const kp_kernel *const wall_rate_kernels[KP_SPH_KERNEL_COUNT] = {
  [KP_SPH_CUBIC] = &sph_wall_rate_cubic_kernel,
  [KP_SPH_WENDLAND] = &sph_wall_rate_wendland_kernel,
};

static const kp_kernel *const wall_force_kernels[KP_SPH_KERNEL_COUNT] = {
  &sph_wall_force_mueller_kernel, &sph_wall_force_cubic_kernel, &sph_wall_force_wendland_kernel,
  &sph_wall_force_desbrun_kernel, &sph_wall_force_poly6_kernel
};

static const kp_kernel *const wall_react_kernels[KP_SPH_KERNEL_COUNT] = {
  &sph_wall_react_mueller_kernel, &sph_wall_react_cubic_kernel, &sph_wall_react_wendland_kernel,
  &sph_wall_react_desbrun_kernel, &sph_wall_react_poly6_kernel
};

// ---- one side of a pair -------------------------------------------------------------------------

// A liquid or its periodic images: what the j side of a pass reads.
typedef struct source {
  kp_set *set;
  kp_cells *cells;
  kp_field *pressure, *inverse, *density;
} source;

static source source_of(kp_sph_fluid *fluid, bool ghosts) {
  kp_set *set = ghosts ? fluid->medium.ghosts->set : fluid->medium.set;
  return (source){
    .set = set,
    .cells = ghosts ? fluid->medium.ghost_cells : fluid->medium.cells,
    .pressure = ghosts ? kp_space_find(set->space, "pressure_term") : fluid->pressure,
    .inverse = ghosts ? kp_space_find(set->space, "inverse_density") : fluid->inverse,
    .density = ghosts ? kp_space_find(set->space, "density") : fluid->density,
  };
}

// Room for the neighbours of a particle, and for a third more where the liquid is pressed together.
static int32_t listed_neighbours(const kp_sph *sph, int dimension) {
  double s = sph->def.support;
  double ball = dimension == 2 ? KP_SMOOTH_PI * s * s : 4.0 / 3.0 * KP_SMOOTH_PI * s * s * s;
  return (int32_t)(1.35 * ball) + 8;
}

// Nothing to do when a side is empty,
// except that a first pass must still write its sums. Two passes per evaluation go over a liquid's
// own pairs, unless they are fused or the density follows its rate; the passes over walls only add.
kp_result kp_sph_run_pairs(kp_sph *sph, kp_call *call, kp_cells *i, kp_cells *j) {
  kp_pair_job job;
  KP_TRY(kp_pair_job_make(i, j, sph->support, &job));
  bool two_passes = i == j && sph->def.density == 0 && !sph->def.fused;
  job.keep = two_passes ? listed_neighbours(sph, i->set->dimension) : 0;
  job.adds_only = j == sph->walls[0].cells || j == sph->walls[1].cells;
  return kp_call_pairs(i->set->space->backend, call, &job);
}

// ---- densities ----------------------------------------------------------------------------------

static kp_result density_from(kp_sph *sph, kp_sph_fluid *fluid, kp_cells *j, double mass,
                              bool add) {
  sph_density_args a = { .w = sph->w, .mass = (kp_real)mass, .add = add };
  kp_call call;
  kp_call_init(&call, density_kernels[sph->def.kernel], &a);
  KP_BIND(&call, &a, density, &fluid->density->buffers[0],
          add ? KP_ACCESS_WRITE : KP_ACCESS_OVERWRITE);
  return kp_sph_run_pairs(sph, &call, fluid->medium.cells, j);
}

static bool samples_have_density(const kp_sph *sph) {
  return sph->def.wall == KP_SPH_WALL_MIRROR || sph->def.wall == KP_SPH_WALL_SPH;
}

static kp_result density_from_walls(kp_sph *sph, kp_sph_fluid *fluid) {
  for (int w = 0; w < 2 && samples_have_density(sph); ++w) {
    kp_sph_wall_fields *wall = &sph->walls[w];
    if (wall->cells == NULL) {
      continue;
    }
    sph_wall_density_args a = { .w = sph->w, .rest_density = (kp_real)fluid->def.rest_density };
    kp_call call;
    kp_call_init(&call, wall_density_kernels[sph->def.kernel], &a);
    KP_BIND(&call, &a, density, &fluid->density->buffers[0], KP_ACCESS_WRITE);
    KP_BIND(&call, &a, j_volume, &wall->interface->volume->buffers[0], KP_ACCESS_READ);
    KP_TRY(kp_sph_run_pairs(sph, &call, fluid->medium.cells, wall->cells));
  }
  return KP_OK;
}

static kp_result sum_density(kp_sph *sph, kp_sph_fluid *fluid) {
  KP_TRY(density_from(sph, fluid, fluid->medium.cells, fluid->medium.mass, false));
  for (size_t k = 0; k < sph->fluids.count; ++k) {
    kp_sph_fluid *other = &sph->fluids.data[k];
    if (other != fluid) {
      // volumes add up, not masses: a heavy neighbour counts as the same share of space
      // (Solenthaler 2008)
      double mass = other->medium.mass * fluid->def.rest_density / other->def.rest_density;
      KP_TRY(density_from(sph, fluid, other->medium.cells, mass, true));
    }
    if (other->medium.ghosts != NULL) {
      double mass = other->medium.mass * fluid->def.rest_density / other->def.rest_density;
      KP_TRY(density_from(sph, fluid, other->medium.ghost_cells, mass, true));
    }
  }
  return density_from_walls(sph, fluid);
}

static kp_result evaluate_state(kp_sph *sph, kp_sph_fluid *fluid, bool lagged) {
  const kp_liquid_def *def = &fluid->def;
  sph_state_args a = {
    .rest_density = (kp_real)def->rest_density,
    .stiffness = (kp_real)fluid->stiffness,
    .exponent = (kp_real)def->exponent,
    .tait = def->eos == 1,
    .whole = def->exponent == 7.0 ? 7 : 0,
    .clamp = def->clamp_negative_pressure,
    .squared = sph->def.pressure == SPH_FORM_SQUARED || sph->def.density == 1,
    .lagged = lagged,
  };
  kp_call call;
  kp_call_init(&call, &sph_state_kernel, &a);
  KP_BIND(&call, &a, density, &fluid->density->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, pressure, &fluid->pressure->buffers[0], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, inverse, &fluid->inverse->buffers[0], KP_ACCESS_OVERWRITE);
  if (fluid->density_last != NULL) {
    KP_BIND(&call, &a, last, &fluid->density_last->buffers[0], KP_ACCESS_WRITE);
  }
  KP_TRY(kp_call_run(fluid->medium.set->space->backend, &call, fluid->medium.set->space->n));
  if (fluid->medium.ghosts != NULL) {
    KP_TRY(kp_ghosts_refresh(fluid->medium.ghosts, fluid->pressure));
    KP_TRY(kp_ghosts_refresh(fluid->medium.ghosts, fluid->inverse));
    KP_TRY(kp_ghosts_refresh(fluid->medium.ghosts, fluid->density));
  }
  return KP_OK;
}

// Density of samples from one liquid or its images, as the share of space they take (see
// sum_density).
static kp_result sample_density_from(kp_sph *sph, kp_sph_wall_fields *wall, kp_cells *j,
                                     double mass) {
  sph_density_args d = { .w = sph->w, .mass = (kp_real)mass, .add = 1 };
  kp_call call;
  kp_call_init(&call, density_kernels[sph->def.kernel], &d);
  KP_BIND(&call, &d, density, &wall->density->buffers[0], KP_ACCESS_WRITE);
  return kp_sph_run_pairs(sph, &call, wall->cells, j);
}

static kp_result begin_sample_density(kp_sph_wall_fields *wall) {
  kp_buffer *from = &wall->own->buffers[0];
  const void *in = kp_buffer_device(from, KP_ACCESS_READ);
  void *out = kp_buffer_device(&wall->density->buffers[0], KP_ACCESS_OVERWRITE);
  if (in == NULL || out == NULL) {
    return KP_ERROR_MEMORY;
  }
  return kp_copy(from->backend, out, in, from->used);
}

// Wall form `sph` and adhesion: samples get density from the fluid around them and from themselves
// (B 5.1.1).
static kp_result sample_density(kp_sph *sph, kp_sph_wall_fields *wall) {
  const kp_sph_fluid *fluid = kp_sph_stiffest(sph);
  KP_TRY(begin_sample_density(wall));
  for (size_t k = 0; k < sph->fluids.count; ++k) {
    const kp_sph_fluid *other = &sph->fluids.data[k];
    double mass = other->medium.mass * fluid->def.rest_density / other->def.rest_density;
    KP_TRY(sample_density_from(sph, wall, other->medium.cells, mass));
    if (other->medium.ghosts != NULL) {
      KP_TRY(sample_density_from(sph, wall, other->medium.ghost_cells, mass));
    }
  }
  return KP_OK;
}

static kp_result sample_state(kp_sph *sph, kp_sph_wall_fields *wall) {
  kp_backend *backend = wall->interface->set->space->backend;
  const kp_sph_fluid *fluid = kp_sph_stiffest(sph);
  kp_call call;
  sph_state_args s = { .rest_density = (kp_real)fluid->def.rest_density,
                       .stiffness = (kp_real)fluid->stiffness,
                       .exponent = (kp_real)fluid->def.exponent,
                       .tait = fluid->def.eos == 1,
                       .whole = fluid->def.exponent == 7.0 ? 7 : 0,
                       .clamp = 1,
                       .squared = 1 };
  kp_call_init(&call, &sph_state_kernel, &s);
  KP_BIND(&call, &s, density, &wall->density->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &s, pressure, &wall->pressure->buffers[0], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &s, inverse, &wall->inverse->buffers[0], KP_ACCESS_OVERWRITE);
  return kp_call_run(backend, &call, wall->interface->set->space->n);
}

kp_result kp_sph_prepare(void *self, kp_env *env) {
  kp_sph *sph = self;
  (void)env;
  bool summed = sph->def.density == 0 && !(sph->def.fused && sph->has_density);
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    if (summed) {
      KP_TRY(sum_density(sph, &sph->fluids.data[f]));
    }
    KP_TRY(evaluate_state(sph, &sph->fluids.data[f], sph->def.fused && !summed));
  }
  sph->has_density = true;
  bool pressed = sph->def.wall == KP_SPH_WALL_SPH;
  for (int w = 0; w < 2; ++w) {
    bool there = sph->walls[w].cells != NULL;
    if (there && (pressed || sph->def.adhesion > 0.0)) {
      KP_TRY(sample_density(sph, &sph->walls[w]));
    }
    if (there && pressed) {
      KP_TRY(sample_state(sph, &sph->walls[w]));
    }
  }
  if (sph->def.adhesion > 0.0) {
    KP_TRY(kp_sph_adhesion_prepare(sph));
  }
  return sph->def.wall_drag == KP_SPH_DRAG_INTERPOLATED ? kp_sph_wall_velocities(sph) : KP_OK;
}

// ---- accelerations ------------------------------------------------------------------------------

// The fractional model is a laplacian of other velocities.
static int pair_viscosity(const kp_sph *sph) {
  switch (sph->def.viscosity_model) {
  case KP_SPH_VISCOSITY_ARTIFICIAL:
    return SPH_VISCOSITY_ARTIFICIAL;
  case KP_SPH_VISCOSITY_CENTRAL:
    return SPH_VISCOSITY_CENTRAL;
  default:
    return SPH_VISCOSITY_LAPLACIAN;
  }
}

// Pa s that the sums over a pair of liquids take. Along the line of centres they find of the
// laplacian one part in D + 2.
static double viscosity_between(const kp_sph *sph, const kp_env *env, const kp_sph_fluid *fluid,
                                const kp_sph_fluid *other) {
  bool is_central = sph->def.viscosity_model == KP_SPH_VISCOSITY_CENTRAL;
  return kp_sph_pair_viscosity(sph, fluid, other) * (is_central ? env->dimension + 2.0 : 1.0);
}

static double artificial_of(const kp_sph *sph, const kp_sph_fluid *a, const kp_sph_fluid *b) {
  double alpha = 0.5 * (a->def.artificial_viscosity + b->def.artificial_viscosity);
  return alpha * 0.5 * (a->sound_speed + b->sound_speed) * 0.5 * sph->support;
}

static kp_result force_from(kp_sph *sph, const kp_env *env, kp_sph_fluid *fluid,
                            kp_sph_fluid *other, bool ghosts, bool add) {
  source j = source_of(other, ghosts);
  double h = 0.5 * sph->support;
  double q = sph->def.pressure == SPH_FORM_SQUARED ? other->medium.mass / fluid->medium.mass : 1.0;
  sph_force_args a = {
    .w = sph->w,
    .g = sph->g,
    .mass = (kp_real)(other->medium.mass * q),
    .density_mass =
        (kp_real)(other->medium.mass * fluid->def.rest_density / other->def.rest_density),
    .p_scale = (kp_real)(1.0 / (q * q)),
    .viscosity = (kp_real)(viscosity_between(sph, env, fluid, other) / q),
    .artificial = (kp_real)(artificial_of(sph, fluid, other) / q),
    .eta2 = (kp_real)(0.01 * h * h),
    .add = add,
    .gx = (kp_real)env->simulation.gravity.x,
    .gy = (kp_real)env->simulation.gravity.y,
    .gz = (kp_real)(env->dimension == 2 ? 0.0 : env->simulation.gravity.z),
  };
  kp_access access = add ? KP_ACCESS_WRITE : KP_ACCESS_OVERWRITE;
  const kp_kernel *kernel =
      sph->def.fused ? fused_kernels[sph->def.kernel][sph->def.pressure]
                     : force_kernels[sph->def.kernel][pair_viscosity(sph)][sph->def.pressure];
  kp_call call;
  kp_call_init(&call, kernel, &a);
  KP_BIND3(&call, &a, v, kp_sph_pair_velocity(sph, fluid, fluid->medium.set), KP_ACCESS_READ);
  KP_BIND(&call, &a, p, &fluid->pressure->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, inverse, &fluid->inverse->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_v, kp_sph_pair_velocity(sph, other, j.set), KP_ACCESS_READ);
  KP_BIND(&call, &a, j_p, &j.pressure->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, j_inverse, &j.inverse->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, a, fluid->medium.integrate.acceleration, access);
  if (sph->def.fused) {
    KP_BIND(&call, &a, density, &fluid->density->buffers[0], access);
  }
  return kp_sph_run_pairs(sph, &call, fluid->medium.cells, j.cells);
}

static kp_result rates_from(kp_sph *sph, const kp_env *env, kp_sph_fluid *fluid,
                            kp_sph_fluid *other, bool ghosts, bool add) {
  source j = source_of(other, ghosts);
  double h = 0.5 * sph->support;
  double q = other->medium.mass / fluid->medium.mass;
  sph_rates_args a = {
    .g = sph->g,
    .mass = (kp_real)(other->medium.mass * q),
    .p_scale = (kp_real)(1.0 / (q * q)),
    .rate_mass = (kp_real)(other->medium.mass * fluid->def.rest_density / other->def.rest_density),
    .viscosity = (kp_real)(viscosity_between(sph, env, fluid, other) / q),
    .artificial = (kp_real)(artificial_of(sph, fluid, other) / q),
    .eta2 = (kp_real)(0.01 * h * h),
    .diffusion =
        (kp_real)(fluid == other ? 2.0 * sph->def.density_diffusion * h * fluid->sound_speed : 0.0),
    .add = add,
    .gx = (kp_real)env->simulation.gravity.x,
    .gy = (kp_real)env->simulation.gravity.y,
    .gz = (kp_real)(env->dimension == 2 ? 0.0 : env->simulation.gravity.z),
  };
  kp_access access = add ? KP_ACCESS_WRITE : KP_ACCESS_OVERWRITE;
  kp_call call;
  kp_call_init(&call, rates_kernels[sph->def.kernel][pair_viscosity(sph)], &a);
  KP_BIND3(&call, &a, v, fluid->medium.set->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, p, &fluid->pressure->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, density, &fluid->density->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_v, j.set->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, j_p, &j.pressure->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, j_density, &j.density->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, a, fluid->medium.integrate.acceleration, access);
  KP_BIND(&call, &a, rate, &fluid->rate->buffers[0], access);
  return kp_sph_run_pairs(sph, &call, fluid->medium.cells, j.cells);
}

// Restitution of a spring and dashpot that never pulls (Schwager & Poeschel 2007), for
// beta = c/(2 m) in units of the frequency without damping.
static double restitution_of(double beta) {
  if (beta >= 1.0) {
    double root = sqrt(beta * beta - 1.0);
    return root > 0.0 ? exp(-beta / root * log((beta + root) / (beta - root))) : exp(-2.0);
  }
  double root = sqrt(1.0 - beta * beta);
  double angle = atan2(2.0 * beta * root, 1.0 - 2.0 * beta * beta);
  return exp(-beta / root * (KP_SMOOTH_PI - angle));
}

// c/m of a restitution, in units of the frequency without damping. Stops near restitution 0.1: a
// stronger dashpot would reverse in one step the speed of a particle that touches several samples.
static double damping_of(double restitution) {
  double low = 0.0;
  double high = 1.2;
  for (int i = 0; i < 60; ++i) {
    double middle = 0.5 * (low + high);
    bool too_bouncy = restitution_of(middle) > restitution;
    low = too_bouncy ? middle : low;
    high = too_bouncy ? high : middle;
  }
  return 2.0 * high;
}

// Numbers of the wall law for one liquid; see sph_wall_term.
static sph_wall_law_args wall_law(const kp_sph *sph, const kp_sph_fluid *fluid, const kp_env *env) {
  double c = fluid->sound_speed;
  bool pressed = samples_have_density(sph);
  double distance = (pressed ? BARRIER : sph->def.wall_distance) * sph->spacing;
  double slip = sph->def.slip;
  // a contact lasts many of the steps that sound allows
  double contact = CONTACT_STEPS * sph->def.cfl * 0.5 * sph->support / c;
  double k =
      pow(KP_SMOOTH_PI / contact, 2.0) * (pressed ? BARRIER_STRENGTH : sph->def.wall_strength);
  double lennard_jones = sph->def.wall_strength * 0.01 * c * c;
  bool lj = sph->def.wall == KP_SPH_WALL_LENNARD_JONES;
  // samples stand as far behind the wall as the first fluid particles before it: the velocity that
  // makes the wall itself stand still is mirrored, which doubles the difference (Morris et al. 1997
  // with d_b = d_i). Lennard-Jones walls drag like a layer of fluid one spacing away.
  bool by_law = sph->def.wall_drag == KP_SPH_DRAG_LAW;
  double drag = by_law ? 2.0 * (1.0 - slip) * kp_sph_wall_viscosity(sph, fluid) : 0.0;
  double viscosity = lj ? drag / (sph->spacing * sph->spacing) : drag / fluid->def.rest_density;
  bool mirrors = sph->def.wall == KP_SPH_WALL_MIRROR;
  double own = mirrors ? 2.0 : 1.0;
  bool damped = mirrors || sph->def.wall == KP_SPH_WALL_DEM;
  bool squared = sph->def.pressure == SPH_FORM_SQUARED || sph->def.density == 1;
  return (sph_wall_law_args){
    .g = sph->g,
    .rest_density = (kp_real)fluid->def.rest_density,
    .squared = (kp_real)(squared ? own : 0.0),
    .plain = (kp_real)(squared ? 0.0 : own),
    .p_wall = (kp_real)pow(kp_sph_stiffest(sph)->def.rest_density / fluid->def.rest_density, 2.0),
    .viscosity = (kp_real)viscosity,
    .strength = (kp_real)(lj ? lennard_jones : k),
    .distance = (kp_real)distance,
    .damping = (kp_real)(damped ? sqrt(k) * damping_of(sph->def.wall_restitution) : 0.0),
    .friction = (kp_real)sph->def.wall_friction,
    .grip = (kp_real)(0.2 / fmax(env->dt, 1e-12)),
  };
}

static const kp_kernel *wall_kernel(const kp_sph *sph, bool react) {
  switch (sph->def.wall) {
  case KP_SPH_WALL_LENNARD_JONES:
    return react ? &sph_wall_react_lj_kernel : &sph_wall_force_lj_kernel;
  case KP_SPH_WALL_DEM:
    return react ? &sph_wall_react_dem_kernel : &sph_wall_force_dem_kernel;
  default:
    return react ? wall_react_kernels[sph->def.kernel] : wall_force_kernels[sph->def.kernel];
  }
}

static kp_result wall_rate(kp_sph *sph, kp_sph_fluid *fluid, kp_sph_wall_fields *wall) {
  sph_wall_rate_args a = { .g = sph->g, .rest_density = (kp_real)fluid->def.rest_density };
  kp_interface *samples = wall->interface;
  kp_call call;
  kp_call_init(&call, wall_rate_kernels[sph->def.kernel], &a);
  KP_BIND3(&call, &a, v, fluid->medium.set->velocity, KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_v, samples->set->velocity, KP_ACCESS_READ);
  KP_BIND(&call, &a, j_volume, &samples->volume->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, rate, &fluid->rate->buffers[0], KP_ACCESS_WRITE);
  return kp_sph_run_pairs(sph, &call, fluid->medium.cells, wall->cells);
}

static kp_result wall_force(kp_sph *sph, kp_env *env, kp_sph_fluid *fluid,
                            kp_sph_wall_fields *wall) {
  sph_wall_force_args a = { .law = wall_law(sph, fluid, env) };
  kp_interface *samples = wall->interface;
  kp_call call;
  kp_call_init(&call, wall_kernel(sph, false), &a);
  KP_BIND3(&call, &a, v, kp_sph_wall_velocity(sph, fluid), KP_ACCESS_READ);
  KP_BIND(&call, &a, p, &fluid->pressure->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, inverse, &fluid->inverse->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_v, kp_sph_sample_velocity(sph, wall), KP_ACCESS_READ);
  KP_BIND(&call, &a, j_volume, &samples->volume->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, j_p, &wall->pressure->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, a, fluid->medium.integrate.acceleration, KP_ACCESS_WRITE);
  return kp_sph_run_pairs(sph, &call, fluid->medium.cells, wall->cells);
}

// What the fluid does to samples that feel it: the same law seen from the other side.
static kp_result wall_react(kp_sph *sph, kp_env *env, kp_sph_fluid *fluid,
                            kp_sph_wall_fields *wall) {
  sph_wall_react_args a = { .law = wall_law(sph, fluid, env), .mass = (kp_real)fluid->medium.mass };
  kp_interface *samples = wall->interface;
  kp_call call;
  kp_call_init(&call, wall_kernel(sph, true), &a);
  KP_BIND3(&call, &a, v, kp_sph_sample_velocity(sph, wall), KP_ACCESS_READ);
  KP_BIND(&call, &a, volume, &samples->volume->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, p, &wall->pressure->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, j_v, kp_sph_wall_velocity(sph, fluid), KP_ACCESS_READ);
  KP_BIND(&call, &a, j_p, &fluid->pressure->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, j_inverse, &fluid->inverse->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, f, samples->force, KP_ACCESS_WRITE);
  return kp_sph_run_pairs(sph, &call, wall->cells, fluid->medium.cells);
}

static kp_result fluid_forces(kp_sph *sph, kp_env *env, kp_sph_fluid *fluid) {
  // the first pass over a liquid starts from gravity, all others add
  kp_result (*pass)(kp_sph *, const kp_env *, kp_sph_fluid *, kp_sph_fluid *, bool, bool) =
      sph->def.density == 1 ? rates_from : force_from;
  KP_TRY(pass(sph, env, fluid, fluid, false, false));
  for (size_t k = 0; k < sph->fluids.count; ++k) {
    kp_sph_fluid *other = &sph->fluids.data[k];
    if (other != fluid) {
      KP_TRY(pass(sph, env, fluid, other, false, true));
    }
    if (other->medium.ghosts != NULL) {
      KP_TRY(pass(sph, env, fluid, other, true, true));
    }
  }
  for (int w = 0; w < 2; ++w) {
    if (sph->walls[w].cells != NULL) {
      KP_TRY(wall_force(sph, env, fluid, &sph->walls[w]));
      if (sph->def.density == 1 && samples_have_density(sph)) {
        KP_TRY(wall_rate(sph, fluid, &sph->walls[w]));
      }
    }
  }
  for (int w = 0; w < 2; ++w) {
    if (kp_sph_wall_feels(&sph->walls[w])) {
      KP_TRY(wall_react(sph, env, fluid, &sph->walls[w]));
    }
  }
  if (sph->def.fused) {
    KP_TRY(density_from_walls(sph, fluid));
  }
  KP_TRY(kp_sph_fractional_forces(sph, fluid));
  KP_TRY(kp_sph_adhesion_forces(sph, fluid));
  KP_TRY(kp_sph_tension_forces(sph, fluid));
  if (sph->mix.on) {
    KP_TRY(kp_sph_mix_forces(sph, env, fluid));
  }
  return kp_medium_outer_forces(&fluid->medium, env);
}

kp_result kp_sph_forces(void *self, kp_env *env) {
  kp_sph *sph = self;
  KP_TRY(kp_sph_fractional_update(sph, env));
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    KP_TRY(fluid_forces(sph, env, &sph->fluids.data[f]));
  }
  return KP_OK;
}
