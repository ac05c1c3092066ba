// Influence radius against the cells of the search (Lyes 2015, section 6.3.2).
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "cases/experiments.h"
#include "methods/plasma/plasma.h"
#include "world/world.h"

const char *const kp_plasma_case_names[KP_PLASMA_CASES] = { "too_small", "too_large", "matched" };

#define EDGE 1.0            // m, of the cube they start in
#define SPHERE 1.2          // m, of the bounding sphere
#define CELL_DISTANCES 2.0  // mean distances in a cell
#define TURN 6.28318530717958647693

static kp_shape_def cube(double half) {
  kp_shape_def shape = kp_default_liquid_def().shape;
  shape.kind = KP_SHAPE_BOX;
  shape.min = kp_vec3_make(-half, -half, -half);
  shape.max = kp_vec3_make(half, half, half);
  return shape;
}

static kp_result set_space(kp_world *world, double half) {
  kp_domain_def domain = kp_default_domain_def();
  domain.min = kp_vec3_make(-half, -half, -half);
  domain.max = kp_vec3_make(half, half, half);
  kp_simulation_def simulation = kp_default_simulation_def();
  simulation.gravity = kp_vec3_make(0, 0, 0);
  simulation.dt = 0.01;
  KP_TRY(kp_world_set_domain(world, &domain));
  return kp_world_set_simulation(world, &simulation);
}

// Forces are scaled so that a charge at the mean distance of another is pushed alike in all cases.
static kp_plasma_def plasma_of(int which, int64_t particles) {
  double distance = EDGE / cbrt((double)particles);
  kp_plasma_def def = kp_default_plasma_def();
  snprintf(def.name, sizeof def.name, "plasma");
  def.particles = particles;
  def.shape = cube(0.5 * EDGE);
  def.charges = KP_PLASMA_EQUAL;
  def.radius = 0.1 * distance;
  def.cell = CELL_DISTANCES * distance;
  def.softening = 0.2 * distance;
  def.strength = 0.4 * distance * distance * distance;
  def.damping = 1.0;
  def.container_radius = SPHERE;
  def.search = KP_PLASMA_NEAR;
  def.influence = which == KP_PLASMA_TOO_SMALL   ? 0.45 * distance
                  : which == KP_PLASMA_TOO_LARGE ? 3.0 * def.cell
                                                 : def.cell;
  return def;
}

typedef struct places {
  int64_t n;
  double *x[3], *id;
} places;

static void free_places(places *p) {
  for (int c = 0; c < 3; ++c) {
    kp_free(p->x[c]);
  }
  kp_free(p->id);
}

static kp_result read_places(kp_world *world, places *p) {
  p->n = kp_world_count(world, "plasma");
  p->id = kp_alloc((size_t)p->n * sizeof(double), KP_MEMORY_SCRATCH);
  kp_result result =
      p->id != NULL ? kp_world_read(world, "plasma", "id", 0, p->id, p->n) : KP_ERROR_MEMORY;
  for (int c = 0; c < 3 && result == KP_OK; ++c) {
    p->x[c] = kp_alloc((size_t)p->n * sizeof(double), KP_MEMORY_SCRATCH);
    result = p->x[c] != NULL ? kp_world_read(world, "plasma", "position", c, p->x[c], p->n)
                             : KP_ERROR_MEMORY;
  }
  return result;
}

// Root mean square way between two looks, charges matched by id.
static kp_result way(const places *a, const places *b, double *out) {
  double *at = kp_alloc_zero((size_t)a->n * sizeof(double), KP_MEMORY_SCRATCH);
  if (at == NULL) {
    return KP_ERROR_MEMORY;
  }
  double sum = 0.0;
  for (int c = 0; c < 3; ++c) {
    for (int64_t i = 0; i < a->n; ++i) {
      at[(int64_t)a->id[i]] = a->x[c][i];
    }
    for (int64_t i = 0; i < b->n; ++i) {
      sum += pow(b->x[c][i] - at[(int64_t)b->id[i]], 2.0);
    }
  }
  kp_free(at);
  *out = sqrt(sum / (double)b->n);
  return KP_OK;
}

// Power of the density along axis c at wave number k, 1 for places at random.
static double power(const places *p, int c, double k) {
  double re = 0.0, im = 0.0;
  for (int64_t i = 0; i < p->n; ++i) {
    re += cos(k * p->x[c][i]);
    im += sin(k * p->x[c][i]);
  }
  return (re * re + im * im) / (double)p->n;
}

// At the wavelength of the cells over the mean of the wave numbers around it, over the three axes.
static double spectral_peak(const places *p, double cell) {
  const double around[] = { 0.70, 0.76, 0.82, 0.88, 1.12, 1.18, 1.24, 1.30 };
  double k = TURN / cell;
  double at = 0.0, background = 0.0;
  for (int c = 0; c < 3; ++c) {
    at += power(p, c, k) / 3.0;
    for (int a = 0; a < 8; ++a) {
      background += power(p, c, around[a] * k) / 24.0;
    }
  }
  return at / background;
}

static kp_result measure(kp_world *world, const kp_plasma_def *def, int64_t steps, places *before,
                         places *after, kp_plasma_result *out) {
  KP_TRY(kp_world_build(world));
  KP_TRY(read_places(world, before));
  for (int64_t s = 0; s < steps; ++s) {
    KP_TRY(kp_world_step(world, 1.0, NULL));
  }
  KP_TRY(read_places(world, after));
  KP_TRY(way(before, after, &out->moved));
  out->moved /= EDGE;
  out->peak = spectral_peak(after, def->cell);
  kp_plasma *plasma = kp_world_system(world, &kp_plasma_method);
  kp_cells *cells = plasma->clouds.data[0].medium.cells;
  KP_TRY(kp_cells_build(cells, NULL));
  return kp_pair_count(cells, cells, def->influence, &out->pairs);
}

kp_result kp_plasma_run(int which, int64_t particles, int64_t steps, kp_plasma_result *out) {
  kp_plasma_def def = plasma_of(which, particles);
  places before = { 0 }, after = { 0 };
  kp_world *world = NULL;
  *out = (kp_plasma_result){ 0 };
  kp_result result = kp_world_create("cpu", &world);
  if (result == KP_OK) {
    result = set_space(world, 2.0);
  }
  if (result == KP_OK) {
    result = kp_world_add_plasma(world, &def);
  }
  if (result == KP_OK) {
    result = measure(world, &def, steps, &before, &after, out);
  }
  free_places(&before);
  free_places(&after);
  kp_world_destroy(&world);
  return result;
}

kp_result kp_case_plasma(kp_world *world, int64_t particles, double multiplier) {
  kp_plasma_def def = kp_default_plasma_def();
  snprintf(def.name, sizeof def.name, "plasma");
  def.particles = particles;
  def.shape = cube(0.5 * EDGE);
  def.container_radius = SPHERE;
  def.influence = multiplier * 2.0 * SPHERE / 128.0;
  def.strength = 1e-12;
  KP_TRY(set_space(world, SPHERE));
  return kp_world_add_plasma(world, &def);
}
