// The two water models of Lyes 2015 in a unit cube (sections 5.2 and 6.5).
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "cases/experiments.h"
#include "data/pairs.h"
#include "methods/sph/sph.h"
#include "methods/springs/springs.h"
#include "world/world.h"

const char *const kp_water_names[KP_WATER_COUNT] = { "sph", "springs" };

#define GRAVITY 9.81
#define SUPPORT 1.74       // spacings, as Table 6.2
#define SPH_COURANT 0.1    // dt c / h of Table 6.2
#define SPH_VISCOUS 0.026  // nu / (c h) of Table 6.2 with mu = 0.2
#define PRINTED_DT 0.005   // s, Table 6.1
#define DEPTH 0.5          // m, for the stiffness
#define SQUEEZE 0.1        // share by which the stiffness lets the liquid give way

kp_water_def kp_default_water_def(int model, int64_t particles) {
  return (kp_water_def){ .model = model,
                         .place = KP_WATER_CENTER,
                         .integrator = KP_INTEGRATOR_LEAPFROG,
                         .particles = particles,
                         .dt_factor = 1.0 };
}

static kp_shape_def block(int place) {
  kp_shape_def shape = kp_default_liquid_def().shape;
  bool side = place == KP_WATER_SIDE;
  shape.kind = KP_SHAPE_BOX;
  shape.min = side ? kp_vec3_make(-0.5, -0.45, -0.5) : kp_vec3_make(-0.25, -0.3, -0.25);
  shape.max = side ? kp_vec3_make(-0.2, 0.25, 0.5) : kp_vec3_make(0.25, 0.2, 0.25);
  return shape;
}

static double volume_of(const kp_shape_def *shape) {
  kp_vec3 size = kp_vec3_sub(shape->max, shape->min);
  return size.x * size.y * size.z;
}

static kp_result add_sph(kp_world *world, const kp_water_def *def, kp_liquid_def *water,
                         kp_simulation_def *simulation) {
  double h = SUPPORT * water->spacing;
  double k = GRAVITY * DEPTH / SQUEEZE;
  kp_sph_def sph = kp_default_sph_def();
  sph.kernel = KP_SPH_MUELLER;
  sph.support = SUPPORT;
  sph.integrator = def->integrator;
  sph.domain_walls = 1;
  water->eos = 0;
  water->stiffness = k;
  water->viscosity = SPH_VISCOUS * sqrt(k) * h * water->rest_density;
  water->clamp_negative_pressure = false;
  simulation->dt = SPH_COURANT * h / sqrt(k) * def->dt_factor;
  return kp_world_set_sph(world, &sph);
}

static kp_result add_springs(kp_world *world, const kp_water_def *def, kp_liquid_def *water,
                             kp_simulation_def *simulation) {
  kp_springs_def springs = kp_default_springs_def();
  double d = water->spacing;
  double m = water->rest_density * d * d * d;
  // the calibration of springs.md for the layers of the block, and its step
  springs.stiffness = m * GRAVITY * ceil(DEPTH / d) / (springs.compression * d);
  springs.integrator = def->integrator;
  water->method = KP_LIQUID_SPRINGS;
  simulation->dt = 0.4 * sqrt(m / (12.0 * 2.0 * springs.stiffness)) * def->dt_factor;
  if (def->is_printed) {
    springs = kp_default_springs_def();
    springs.calibration = KP_SPRINGS_PRINTED;
    springs.walls = KP_SPRINGS_WALLS_PLANES;  // springs as soft would not hold the liquid
    springs.integrator = def->integrator;
    simulation->dt = PRINTED_DT * def->dt_factor;
  }
  return kp_world_set_springs(world, &springs);
}

kp_result kp_case_water(kp_world *world, const kp_water_def *def) {
  kp_domain_def domain = kp_default_domain_def();
  domain.min = kp_vec3_make(-0.5, -0.5, -0.5);
  domain.max = kp_vec3_make(0.5, 0.5, 0.5);
  domain.restitution = 0.5;
  kp_simulation_def simulation = kp_default_simulation_def();
  kp_liquid_def water = kp_default_liquid_def();
  snprintf(water.name, sizeof water.name, "water");
  water.shape = block(def->place);
  water.spacing = cbrt(volume_of(&water.shape) / (double)def->particles);
  water.jitter = 0.1;  // more would be energy of springs at the start
  KP_TRY(def->model == KP_WATER_SPH ? add_sph(world, def, &water, &simulation)
                                    : add_springs(world, def, &water, &simulation));
  KP_TRY(kp_world_set_domain(world, &domain));
  KP_TRY(kp_world_set_simulation(world, &simulation));
  return kp_world_add_liquid(world, &water);
}

// The grid of the liquid, and how far its pairs reach.
static kp_cells *cells_of(kp_world *world, double *reach) {
  for (size_t s = 0; s < world->systems.count; ++s) {
    const kp_system *system = &world->systems.data[s];
    if (system->method == &kp_sph_method) {
      kp_sph *sph = system->self;
      *reach = sph->support;
      return sph->fluids.data[0].medium.cells;
    }
    if (system->method == &kp_springs_method) {
      kp_springs *springs = system->self;
      *reach = springs->reach;
      return springs->liquids.data[0].medium.cells;
    }
  }
  return NULL;
}

static kp_result count_pairs(kp_cells *cells, double reach, kp_water_state *out) {
  kp_pair_lists lists = { 0 };
  kp_result result = kp_pair_lists_build(&lists, cells, cells, reach, false);
  const uint32_t *start = NULL;
  if (result == KP_OK) {
    start = kp_buffer_host(&lists.start, KP_ACCESS_READ);
    result = start != NULL ? KP_OK : KP_ERROR_MEMORY;
  }
  for (int64_t i = 0; result == KP_OK && i < out->particles; ++i) {
    out->strays += start[i + 1] == start[i] ? 1 : 0;
  }
  out->pairs = (double)lists.n_pairs / fmax((double)out->particles, 1.0);
  kp_pair_lists_free(&lists);
  return result;
}

kp_result kp_water_look(kp_world *world, kp_water_state *out) {
  double reach = 0.0;
  kp_cells *cells = cells_of(world, &reach);
  *out = (kp_water_state){ .particles = kp_world_count(world, "water") };
  for (int p = 0; p < kp_world_n_populations(world); ++p) {
    kp_population_stats stats;
    KP_TRY(kp_world_stats(world, p, &stats));
    if (strcmp(stats.name, "water") == 0) {
      out->energy = stats.kinetic_energy + stats.potential_energy +
                    (isnan(stats.internal_energy) ? 0.0 : stats.internal_energy);
    }
  }
  KP_TRY(kp_cells_build(cells, NULL));
  return count_pairs(cells, reach, out);
}

static int compare(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

kp_result kp_water_height(kp_world *world, int64_t least, double *out) {
  int64_t n = kp_world_count(world, "water");
  double *x = kp_alloc((size_t)n * sizeof *x, KP_MEMORY_SCRATCH);
  double *y = kp_alloc((size_t)n * sizeof *y, KP_MEMORY_SCRATCH);
  kp_result result = x != NULL && y != NULL ? KP_OK : KP_ERROR_MEMORY;
  if (result == KP_OK) {
    result = kp_world_read(world, "water", "position", 0, x, n);
  }
  if (result == KP_OK) {
    result = kp_world_read(world, "water", "position", 1, y, n);
  }
  int64_t kept = 0;
  for (int64_t i = 0; result == KP_OK && i < n; ++i) {
    if (x[i] > 0.4) {
      y[kept++] = y[i] + 0.5;
    }
  }
  *out = 0.0;
  if (result == KP_OK && kept >= least) {
    qsort(y, (size_t)kept, sizeof *y, compare);
    *out = y[(int64_t)(0.95 * (double)(kept - 1))];
  }
  kp_free(x);
  kp_free(y);
  return result;
}
