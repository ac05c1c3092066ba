// The gas of soft spheres: how well integrators keep its energy (Lyes 2015, section 5.2).
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"
#include "cases/experiments.h"
#include "world/world.h"

#define SPEED 0.1
#define SETTLED 5.0  // a hundredth of the time the claim speaks of

typedef struct gas {
  kp_world *world;
  // leapfrog: half-step velocities before the last step, by id
  bool has_half;
  double half[3][KP_GAS_SPHERES];
  double held;  // potential energy that belongs to the velocities to come
} gas;

// Seven layers of 8 x 8, of which the last spheres are taken away before the start.
static kp_result add_spheres(kp_world *world) {
  double d = KP_GAS_EDGE / 8.0;
  kp_liquid_def def = kp_default_liquid_def();
  def.method = KP_LIQUID_SPRINGS;
  def.spacing = d;
  def.rest_density = 1.0 / (d * d * d);
  snprintf(def.name, sizeof def.name, "gas");
  def.shape.kind = KP_SHAPE_BOX;
  def.shape.max = kp_vec3_make(KP_GAS_EDGE, 7.0 * d, KP_GAS_EDGE);
  return kp_world_add_liquid(world, &def);
}

static kp_result take_away(kp_world *world) {
  kp_space *space = kp_registry_find(world->registry, "gas");
  kp_buffer keep;
  kp_buffer_init(&keep, world->backend);
  kp_result result = kp_buffer_resize(&keep, (size_t)space->n * sizeof(uint32_t));
  uint32_t *flags = result == KP_OK ? kp_buffer_host(&keep, KP_ACCESS_OVERWRITE) : NULL;
  const uint64_t *id = kp_buffer_host(&kp_space_find(space, "id")->buffers[0], KP_ACCESS_READ);
  result = flags != NULL && id != NULL ? KP_OK : KP_ERROR_MEMORY;
  for (int64_t i = 0; result == KP_OK && i < space->n; ++i) {
    flags[i] = id[i] < KP_GAS_SPHERES ? 1u : 0u;
  }
  if (result == KP_OK) {
    result = kp_space_remove(space, &keep);
  }
  kp_buffer_free(&keep);
  return result;
}

static kp_result add_settings(kp_world *world, const kp_gas_def *def) {
  kp_domain_def domain = kp_default_domain_def();
  domain.max = kp_vec3_make(KP_GAS_EDGE, KP_GAS_EDGE, KP_GAS_EDGE);
  kp_simulation_def simulation = kp_default_simulation_def();
  simulation.gravity = kp_vec3_make(0, -0.002, 0);
  simulation.dt = def->dt;
  simulation.dt_max = 1.0;
  kp_springs_def springs = kp_default_springs_def();
  springs.stiffness = 1.0;
  springs.wall_stiffness = 2.0;
  springs.shear = springs.damping = 0.0;
  springs.diameter = 8.0 / KP_GAS_EDGE;
  springs.integrator = def->integrator;
  KP_TRY(kp_world_set_domain(world, &domain));
  KP_TRY(kp_world_set_simulation(world, &simulation));
  KP_TRY(kp_world_set_springs(world, &springs));
  return add_spheres(world);
}

static kp_result stir(kp_world *world, uint64_t seed) {
  kp_space *space = kp_registry_find(world->registry, "gas");
  const uint64_t *id = kp_buffer_host(&kp_space_find(space, "id")->buffers[0], KP_ACCESS_READ);
  for (uint64_t c = 0; c < 3; ++c) {
    kp_real *v = kp_buffer_host(&kp_space_find(space, "velocity")->buffers[c], KP_ACCESS_WRITE);
    if (v == NULL || id == NULL) {
      return KP_ERROR_MEMORY;
    }
    for (int64_t i = 0; i < space->n; ++i) {
      v[i] = (kp_real)(SPEED * (2.0 * kp_rng_uniform(seed, KP_RNG_TEST, id[i], c) - 1.0));
    }
  }
  return KP_OK;
}

// Of height and springs; *kinetic from the velocities as they are.
static kp_result energies(kp_world *world, double *potential, double *kinetic) {
  *potential = *kinetic = 0.0;
  for (int p = 0; p < kp_world_n_populations(world); ++p) {
    kp_population_stats stats;
    KP_TRY(kp_world_stats(world, p, &stats));
    *potential +=
        stats.potential_energy + (isnan(stats.internal_energy) ? 0.0 : stats.internal_energy);
    *kinetic += stats.kinetic_energy;
  }
  return KP_OK;
}

// Kinetic energy of the mean of the half-step velocities before and after; keeps the later ones.
static kp_result half_energy(gas *g, double *out) {
  kp_space *space = kp_registry_find(g->world->registry, "gas");
  kp_field *half = kp_space_find(space, "half_velocity");
  const uint64_t *id = kp_buffer_host(&kp_space_find(space, "id")->buffers[0], KP_ACCESS_READ);
  *out = 0.0;
  for (int c = 0; c < 3; ++c) {
    const kp_real *h = kp_buffer_host(&half->buffers[c], KP_ACCESS_READ);
    if (h == NULL || id == NULL) {
      return KP_ERROR_MEMORY;
    }
    for (int64_t i = 0; i < space->n; ++i) {
      double *before = &g->half[c][id[i]];
      double v = 0.5 * (*before + (double)h[i]);
      *out += 0.5 * v * v;
      *before = (double)h[i];
    }
  }
  return KP_OK;
}

// The energy after step k; leapfrog tells that before it, whose velocities are known only now.
static kp_result energy_now(gas *g, int64_t k, double first, double *out) {
  double potential, kinetic;
  KP_TRY(energies(g->world, &potential, &kinetic));
  if (!g->has_half) {
    *out = potential + kinetic;
    return KP_OK;
  }
  KP_TRY(half_energy(g, &kinetic));
  *out = k > 1 ? g->held + kinetic : first;
  g->held = potential;
  return KP_OK;
}

static kp_result farthest_out(kp_world *world, double *farthest) {
  for (int p = 0; p < kp_world_n_populations(world); ++p) {
    kp_population_stats stats;
    KP_TRY(kp_world_stats(world, p, &stats));
    const kp_vec3 lo = stats.bounds.min, hi = stats.bounds.max;
    *farthest = fmax(
        *farthest, fmax(-fmin(lo.x, fmin(lo.y, lo.z)), fmax(hi.x, fmax(hi.y, hi.z)) - KP_GAS_EDGE));
  }
  return KP_OK;
}

static void account(kp_gas_result *out, double ratio, double change, bool settled) {
  if (!settled) {
    out->low = out->high = ratio;
  }
  out->low = fmin(out->low, ratio);
  out->high = fmax(out->high, ratio);
  out->worst = fmax(out->high - 1.0, 1.0 - out->low);
  out->jump = fmax(out->jump, fabs(change));
  out->end = ratio;
}

static kp_result run(gas *g, const kp_gas_def *def, kp_gas_result *out, double *samples) {
  double potential, kinetic;
  KP_TRY(energies(g->world, &potential, &kinetic));
  double first = potential + kinetic;
  double before = first;
  int64_t n = llround(def->time / def->dt);
  for (int64_t k = 1; k <= n && out->blown == 0; ++k) {
    kp_step_report report = { 0 };
    kp_result result = kp_world_step(g->world, def->dt, &report);
    // spheres outside are what the experiment is about
    if (result != KP_OK && (result != KP_ERROR_PHYSICS || report.n_escaped == 0) &&
        report.n_bad == 0) {
      return result;
    }
    double now = first;
    KP_TRY(energy_now(g, k, first, &now));
    bool lost = report.n_bad > 0 || !(now / first < def->limit);
    out->blown = lost ? k : 0;
    account(out, now / first, now / before - 1.0, (double)k * def->dt > SETTLED);
    before = now;
    if (report.n_escaped > 0) {
      KP_TRY(farthest_out(g->world, &out->farthest));
    }
    int64_t every = def->n_samples > 0 ? n / def->n_samples : n + 1;
    if (samples != NULL && k % every == 0 && k / every <= def->n_samples) {
      samples[k / every - 1] = now / first;
    }
  }
  return KP_OK;
}

kp_result kp_gas_run(const kp_gas_def *def, kp_gas_result *out, double *samples) {
  *out = (kp_gas_result){ .low = 1.0, .high = 1.0 };
  for (int64_t s = 0; samples != NULL && s < def->n_samples; ++s) {
    samples[s] = NAN;
  }
  gas *g = kp_alloc_zero(sizeof *g, KP_MEMORY_SCRATCH);
  if (g == NULL) {
    return KP_ERROR_MEMORY;
  }
  g->has_half = def->integrator == KP_INTEGRATOR_LEAPFROG;
  kp_result result = kp_world_create("cpu", &g->world);
  if (result == KP_OK) {
    result = add_settings(g->world, def);
  }
  if (result == KP_OK) {
    result = kp_world_build(g->world);
  }
  if (result == KP_OK) {
    result = take_away(g->world);
  }
  if (result == KP_OK) {
    result = stir(g->world, def->seed);
  }
  if (result == KP_OK) {
    result = run(g, def, out, samples);
  }
  kp_world_destroy(&g->world);
  kp_free(g);
  return result;
}
