// Building: liquids filled and trimmed, wall samples of the domain, volumes of samples.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/log.h"
#include "base/text.h"
#include "data/call.h"
#include "geom/sampler.h"
#include "methods/sph/sph.h"
#include "methods/sph/sph_kernels.h"
#include "par/kernel_define.h"

SPH_POINT_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE)
SPH_PAIR_KERNELS(KP_DECLARE_PAIR)

// Cells a little larger than the support: a pair at exactly the support cannot fall between two of
// them.
#define CELL_MARGIN (1.0 + 1e-6)
#define DENSE_WALL_CELLS ((int64_t)1 << 26)

// Cells per support, by bench. A card tests a candidate in three instructions and reads neighbours
// best where they lie together, so that large cells pay unless they hold many (H200, 4 M particles:
// scene A with 8 particles in a cell 1,550 Mps/s, with halves of the edge 1,230; scene B with 64 in
// a cell 230, with halves and thirds of the edge 305 and 309). The host packs the candidates of a
// cell once for all its particles.
static double cell_edge(const kp_sph *sph, const kp_env *env) {
  bool is_card = env->backend->vt->kind == KP_BACKEND_CUDA;
  double cells = is_card && sph->def.support > 2.5 ? 3.0 : 1.0;
  return sph->support * CELL_MARGIN / cells;
}

// Sum of the density kernel over a layer of the lattice (a row in 2D) at height y off its centre.
static double layer_sum(const kp_sph *sph, double spacing, int dimension, double y) {
  int reach = (int)ceil(sph->support / spacing);
  int depth = dimension == 2 ? 0 : reach;
  double sum = 0.0;
  for (int k = -depth; k <= depth; ++k) {
    for (int i = -reach; i <= reach; ++i) {
      double r = sqrt(y * y + spacing * spacing * (double)(i * i + k * k));
      sum += kp_smooth_value(sph->w_kind, r, sph->support, dimension);
    }
  }
  return sum;
}

double kp_sph_lattice_volume(const kp_sph *sph, double spacing, int dimension) {
  int reach = (int)ceil(sph->support / spacing);
  double sum = 0.0;
  for (int j = -reach; j <= reach; ++j) {
    sum += layer_sum(sph, spacing, dimension, spacing * j);
  }
  return 1.0 / sum;
}

// Factor on V_b = 1 / sum_b' W (Akinci et al. 2012) of samples in two flat layers: with it each
// stands for a full cell of the lattice, as the samples of the domain do (cf. gamma in Band et al.
// 2018).
static double surface_factor(const kp_sph *sph, double spacing, int dimension) {
  double own =
      layer_sum(sph, spacing, dimension, 0.0) + layer_sum(sph, spacing, dimension, spacing);
  return own * kp_sph_lattice_volume(sph, spacing, dimension);
}

// ---- liquids ------------------------------------------------------------------------------------

static void choose_stiffness(kp_sph_fluid *fluid, double speed) {
  const kp_liquid_def *def = &fluid->def;
  bool tait = def->eos == 1;
  fluid->sound_speed = isnan(def->sound_speed) ? 10.0 * speed : def->sound_speed;
  if (!isnan(def->stiffness)) {
    // c^2 = dp/drho at rest
    fluid->stiffness = def->stiffness;
    fluid->sound_speed =
        sqrt(tait ? def->stiffness * def->exponent / def->rest_density : def->stiffness);
  } else {
    double c2 = fluid->sound_speed * fluid->sound_speed;
    fluid->stiffness = tait ? def->rest_density * c2 / def->exponent : c2;
  }
}

static kp_result add_fluid_fields(kp_sph *sph, kp_sph_fluid *fluid) {
  kp_space *space = fluid->medium.set->space;
  bool kept = sph->def.fused || sph->def.density == 1;
  uint32_t density_flags = KP_FIELD_EXPORT | KP_FIELD_GHOST | (kept ? KP_FIELD_STATE : 0u);
  kp_field_desc density = { "density", KP_TYPE_REAL,  1,
                            "kg/m^3",  density_flags, fluid->def.rest_density };
  kp_field_desc shown = { "pressure", KP_TYPE_REAL, 1, "Pa", KP_FIELD_EXPORT, 0.0 };
  kp_field_desc pressure = { "pressure_term", KP_TYPE_REAL, 1, "", KP_FIELD_GHOST, 0.0 };
  kp_field_desc inverse = { "inverse_density", KP_TYPE_REAL, 1, "m^3/kg", KP_FIELD_GHOST, 0.0 };
  KP_TRY(kp_space_add_field(space, &density, &fluid->density));
  KP_TRY(kp_space_add_field(space, &pressure, &fluid->pressure));
  KP_TRY(kp_space_add_field(space, &shown, &fluid->shown));
  KP_TRY(kp_space_add_field(space, &inverse, &fluid->inverse));
  if (sph->def.fused) {
    kp_field_desc last = { "density_last", KP_TYPE_REAL, 1, "kg/m^3", KP_FIELD_STATE, 0.0 };
    KP_TRY(kp_space_add_field(space, &last, &fluid->density_last));
  }
  if (sph->def.density == 1) {
    kp_field_desc rate = { "density_rate", KP_TYPE_REAL, 1, "kg/m^3/s", KP_FIELD_SORT, 0.0 };
    kp_field_desc start = { "density_start", KP_TYPE_REAL, 1, "kg/m^3", KP_FIELD_SORT, 0.0 };
    kp_field_desc last = { "density_rate_last", KP_TYPE_REAL, 1, "kg/m^3/s", KP_FIELD_STATE, 0.0 };
    KP_TRY(kp_space_add_field(space, &rate, &fluid->rate));
    if (sph->def.integrator == KP_INTEGRATOR_RK2) {
      KP_TRY(kp_space_add_field(space, &start, &fluid->density_start));
    } else {
      KP_TRY(kp_space_add_field(space, &last, &fluid->rate_last));
    }
  }
  return KP_OK;
}

static kp_result setup_fluid(kp_sph *sph, kp_env *env, kp_sph_fluid *fluid) {
  const kp_liquid_def *def = &fluid->def;
  kp_medium *medium = &fluid->medium;
  kp_medium_def how = { .word = "liquid",
                        .name = def->name,
                        .spacing = def->spacing,
                        .jitter = def->jitter,
                        .velocity = def->velocity,
                        .velocity_at = def->velocity_at,
                        .integrator = sph->def.integrator };
  KP_TRY(kp_medium_create(medium, env, &how));
  KP_TRY(add_fluid_fields(sph, fluid));
  medium->density = fluid->density;
  medium->rest_density = def->rest_density;
  medium->mass = def->rest_density * kp_sph_lattice_volume(sph, def->spacing, env->dimension);
  KP_TRY(kp_sph_tension_setup(sph, fluid, env));
  KP_TRY(kp_sph_adhesion_setup(sph, fluid));
  if (sph->mix.on) {
    KP_TRY(kp_sph_mix_setup(sph, fluid, env));
  }
  if (!def->empty) {
    KP_TRY(kp_medium_fill(medium, env, &def->shape));
  }
  choose_stiffness(fluid, kp_medium_expected_speed(medium, env));
  // samples beyond a periodic face have pressures of their own with dfsph and want to see as far
  double reach = (sph->def.solver == KP_SPH_SOLVER_DFSPH ? 2.0 : 1.0) * sph->support;
  return kp_medium_grid(medium, env, cell_edge(sph, env), reach);
}

kp_result kp_sph_setup_fluids(kp_sph *sph, kp_env *env, const kp_sph_setup *setup) {
  KP_TRY(kp_array_reserve(&sph->fluids, setup->n_liquids));
  sph->mix.on = kp_sph_mixes(setup);
  if (sph->mix.on) {
    KP_TRY(kp_sph_mix_check(setup));
  }
  for (size_t l = 0; l < setup->n_liquids; ++l) {
    kp_sph_fluid *fluid = &sph->fluids.data[sph->fluids.count++];
    *fluid = (kp_sph_fluid){ .def = setup->liquids[l] };
    if (setup->def->viscosity_model == KP_SPH_VISCOSITY_LITERAL) {
      fluid->def.viscosity *= 0.5 * fluid->def.rest_density;  // Eq. 3.22 without 1/rho
    }
    KP_TRY(setup_fluid(sph, env, fluid));
  }
  return KP_OK;
}

// ---- walls --------------------------------------------------------------------------------------

int kp_sph_wall_layers(const kp_sph_def *def) {
  return (int)ceil(def->support - 0.5);
}

static double finest_spacing(const kp_sph *sph) {
  double spacing = sph->spacing;
  for (size_t f = 0; f < sph->fluids.count; ++f) {
    spacing = fmin(spacing, sph->fluids.data[f].def.spacing);
  }
  return spacing;
}

static const kp_kernel *const volume_kernels[KP_SPH_KERNEL_COUNT] = {
  &sph_density_mueller_kernel, &sph_density_cubic_kernel, &sph_density_wendland_kernel,
  &sph_density_desbrun_kernel, &sph_density_poly6_kernel
};

// V_b = gamma / sum_b' W for surfaces of one or few layers; lattice samples of the domain stand for
// a full cell each.
static kp_result sample_volumes(kp_sph *sph, kp_env *env, kp_sph_wall_fields *wall) {
  kp_interface *samples = wall->interface;
  sph_density_args d = { .w = sph->w, .mass = (kp_real)1 };
  kp_pair_job job;
  kp_call call;
  kp_call_init(&call, volume_kernels[sph->def.kernel], &d);
  KP_BIND(&call, &d, density, &wall->density->buffers[0], KP_ACCESS_OVERWRITE);
  KP_TRY(kp_pair_job_make(wall->cells, wall->cells, sph->support, &job));
  KP_TRY(kp_call_pairs(env->backend, &call, &job));
  sph_sample_volume_args v = { .factor = (kp_real)surface_factor(sph, finest_spacing(sph),
                                                                 env->dimension) };
  kp_call_init(&call, &sph_sample_volume_kernel, &v);
  KP_BIND(&call, &v, density, &wall->density->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &v, volume, &samples->volume->buffers[0], KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(env->backend, &call, samples->set->space->n));
  kp_real cell = (kp_real)kp_sph_lattice_volume(sph, finest_spacing(sph), env->dimension);
  kp_real *volume = kp_buffer_host(&samples->volume->buffers[0], KP_ACCESS_WRITE);
  if (volume == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (size_t r = 0; r < samples->ranges.count; ++r) {
    const kp_interface_range *range = &samples->ranges.data[r];
    bool domain = strcmp(env->bodies->models.data[range->body].name, "domain") == 0;
    for (int64_t i = range->first; domain && i < range->first + range->count; ++i) {
      volume[i] = cell;
    }
  }
  return KP_OK;
}

const kp_sph_fluid *kp_sph_stiffest(const kp_sph *sph) {
  const kp_sph_fluid *found = &sph->fluids.data[0];
  for (size_t f = 1; f < sph->fluids.count; ++f) {
    const kp_sph_fluid *fluid = &sph->fluids.data[f];
    double c2 = fluid->sound_speed * fluid->sound_speed;
    bool stiffer = fluid->def.rest_density * c2 >
                   found->def.rest_density * found->sound_speed * found->sound_speed;
    found = stiffer ? fluid : found;
  }
  return found;
}

static const kp_kernel *const own_kernels[KP_SPH_KERNEL_COUNT] = {
  &sph_wall_density_mueller_kernel, &sph_wall_density_cubic_kernel,
  &sph_wall_density_wendland_kernel, &sph_wall_density_desbrun_kernel,
  &sph_wall_density_poly6_kernel
};

// What samples give to the density of each other. Bodies are rigid, so it stays.
static kp_result own_density(kp_sph *sph, kp_env *env, kp_sph_wall_fields *wall) {
  sph_wall_density_args a = { .w = sph->w,
                              .rest_density = (kp_real)kp_sph_stiffest(sph)->def.rest_density };
  kp_pair_job job;
  kp_call call;
  kp_call_init(&call, own_kernels[sph->def.kernel], &a);
  KP_BIND(&call, &a, density, &wall->own->buffers[0], KP_ACCESS_WRITE);
  KP_BIND(&call, &a, j_volume, &wall->interface->volume->buffers[0], KP_ACCESS_READ);
  KP_TRY(kp_pair_job_make(wall->cells, wall->cells, sph->support, &job));
  return kp_call_pairs(env->backend, &call, &job);
}

kp_result kp_sph_setup_walls(kp_sph *sph, kp_env *env) {
  kp_interface *both[2] = { env->walls, env->movers };
  for (int w = 0; w < 2; ++w) {
    kp_sph_wall_fields *wall = &sph->walls[w];
    if (both[w] == NULL || both[w]->set->space->n == 0 || sph->fluids.count == 0) {
      continue;
    }
    wall->interface = both[w];
    kp_space *space = both[w]->set->space;
    kp_field_desc density = { "density", KP_TYPE_REAL, 1, "kg/m^3", 0, 0.0 };
    kp_field_desc pressure = { "pressure", KP_TYPE_REAL, 1, "", 0, 0.0 };
    kp_field_desc inverse = { "inverse_density", KP_TYPE_REAL, 1, "", 0, 0.0 };
    KP_TRY(kp_space_add_field(space, &density, &wall->density));
    KP_TRY(kp_space_add_field(space, &pressure, &wall->pressure));
    KP_TRY(kp_space_add_field(space, &inverse, &wall->inverse));
    KP_TRY(kp_cells_create(both[w]->set, cell_edge(sph, env), &wall->cells));
    // every particle looks for walls and few find any: a table of cells answers that fastest
    wall->cells->dense_cells = DENSE_WALL_CELLS;
    KP_TRY(kp_cells_build(wall->cells, NULL));
    KP_TRY(sample_volumes(sph, env, wall));
    KP_TRY(kp_sph_adhesion_setup_wall(sph, wall));
    if (sph->def.wall == KP_SPH_WALL_SPH || sph->def.adhesion > 0.0) {
      kp_field_desc own = { "own_density", KP_TYPE_REAL, 1, "kg/m^3", 0, 0.0 };
      KP_TRY(kp_space_add_field(space, &own, &wall->own));
      KP_TRY(own_density(sph, env, wall));
    }
  }
  return KP_OK;
}
