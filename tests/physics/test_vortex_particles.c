// Vortex particles: kernels, the force against a plain sum over all pairs, the four ways of
// forcing, stretching, births and deaths, and the claims about them.
#include <math.h>
#include <string.h>

#include "methods/common/vortex_particles_kernels.h"
#include "methods/smoke/smoke.h"

#include "support/claims.h"
#include "support/gases.h"
#include "support/media.h"

#define PI 3.14159265358979323846

typedef struct tank {
  int dimension;
  kp_vec3 size;
  double cell;
  int boundary;   // across x and z
  double stream;  // m/s along x
  double dt;
  const char *backend;
} tank;

static tank closed_tank(void) {
  return (tank){ .dimension = 3,
                 .size = { 1.0, 0.8, 0.6 },
                 .cell = 0.05,
                 .boundary = KP_BOUNDARY_CLOSED,
                 .dt = 0.01,
                 .backend = "cpu" };
}

static kp_world *make_tank(const tank *t) {
  kp_test_settings s = kp_test_settings_make(t->dimension, kp_vec3_make(0.0, 0.0, 0.0), t->size);
  s.backend = t->backend;
  s.simulation.dt = t->dt;
  s.domain.boundary_x = t->boundary;
  s.domain.boundary_z = t->boundary;
  kp_world *world = kp_test_world(&s);
  kp_grid_def grid = kp_default_grid_def();
  grid.cell = t->cell;
  grid.tolerance = 1e-6;
  grid.stream = kp_vec3_make(t->stream, 0.0, 0.0);
  assert_ok(kp_world_set_grid(world, &grid));
  kp_smoke_def gas = kp_default_smoke_def();
  strcpy(gas.name, "gas");
  gas.empty = true;
  gas.lift = 0.0;
  assert_ok(kp_world_add_smoke(world, &gas));
  return world;
}

static kp_vortices_def swarm_def(kp_vec3 lo, kp_vec3 hi, int64_t n) {
  kp_vortices_def def = kp_default_vortices_def();
  strcpy(def.name, "swarm");
  strcpy(def.into, "gas");
  def.shape = kp_test_box(lo, hi);
  def.rate = 1e4;
  def.limit = n;
  def.radius = 0.2;
  return def;
}

static kp_vortex_swarm *swarm_of(kp_world *world) {
  return &kp_test_gas(world)->vortices.swarms.data[0];
}

static void add_and_build(kp_world *world, const kp_vortices_def *def) {
  assert_ok(kp_world_add_vortices(world, def));
  assert_ok(kp_world_build(world));
}

typedef struct places {
  int64_t n;
  double *x[3];
} places;

static places read_places(kp_world *world) {
  places p = { .n = kp_world_count(world, "swarm") };
  for (int c = 0; c < 3; ++c) {
    p.x[c] = kp_test_field(world, "swarm", "position", c);
  }
  return p;
}

static void free_places(places *p) {
  for (int c = 0; c < 3; ++c) {
    kp_free(p->x[c]);
  }
}

// Particles without a step: nothing has moved yet.
static void emit_only(kp_world *world) {
  world->env.dt = 0.01;
  assert_ok(kp_vortex_particles_emit(&kp_test_gas(world)->vortices, &world->env));
}

// ---- kernels

static void test_kernels(void **state) {
  (void)state;
  double worst = 0.0;
  for (int k = 0; k <= 1000; ++k) {
    double q = k / 1000.0;
    worst = kp_test_most(worst, fabs((double)vortex_bell((kp_real)q) / exp(-0.5 * q) - 1.0));
  }
  assert_true(worst < KP_TOL(1e-6, 1e-11));
  // by the midpoint rule over shells: the cut Gaussian holds 0.19875 of its integral, the tent 1
  const double r = 0.3;
  double bell = 0.0;
  double tent = 0.0;
  const int n = 4000;
  for (int k = 0; k < n; ++k) {
    double d = r * (k + 0.5) / n;
    double shell = 4.0 * PI * d * d * r / n;
    bell += shell * vortex_norm(VORTEX_GAUSSIAN, r, 3) * exp(-0.5 * d * d / (r * r));
    tent += shell * vortex_norm(VORTEX_TENT_UNIT, r, 3) * (1.0 - d / r);
  }
  assert_near(bell, 0.19875, 1e-5);
  assert_near(tent, 1.0, 1e-6);
  assert_true(vortex_norm(VORTEX_TENT, r, 3) == 1.0);
  double flat = 0.0;
  for (int k = 0; k < n; ++k) {
    double d = r * (k + 0.5) / n;
    flat += 2.0 * PI * d * r / n * vortex_norm(VORTEX_TENT_UNIT, r, 2) * (1.0 - d / r);
  }
  assert_near(flat, 1.0, 1e-6);
  kp_claim claim = { .id = "selle-S22",
                     .text = "the cut Gaussian holds 0.19875 of a vortex, the unit tent all of it",
                     .size = "integrals over 4000 shells" };
  kp_claim_all(
      &claim, { "integral of the cut Gaussian, off", fabs(bell - 0.19875), KP_AT_MOST, 1e-5 },
      { "integral of the unit tent, off 1", fabs(tent - 1.0), KP_AT_MOST, 1e-5 },
      { "value of the Gaussian by its fast form, off", worst, KP_AT_MOST, KP_TOL(1e-6, 1e-11) });
}

// ---- the force against all pairs

typedef struct pair_sums {
  double f[3], w[3], amount;
} pair_sums;

// One cell, by the formulas as they are written (Selle 2008, section 3.4.2), in double.
static pair_sums plain_sums(const kp_mac_view *g, const places *p, double *const *w,
                            const double *r, const kp_vortices_def *def, const double x[3]) {
  pair_sums s = { 0 };
  for (int64_t i = 0; i < p->n; ++i) {
    double d[3];
    double d2 = 0.0;
    for (int c = 0; c < g->dimension; ++c) {
      double period = g->cell * g->n[c];
      d[c] = p->x[c][i] - x[c];
      d[c] -= g->is_periodic[c] ? period * round(d[c] / period) : 0.0;
      d2 += d[c] * d[c];
    }
    d[2] = g->dimension == 2 ? 0.0 : d[2];
    double distance = sqrt(d2);
    if (distance > r[i]) {
      continue;
    }
    double xi =
        vortex_norm(def->kernel, r[i], g->dimension) *
        (def->kernel == VORTEX_GAUSSIAN ? exp(-0.5 * d2 / (r[i] * r[i])) : 1.0 - distance / r[i]);
    const double wp[3] = { w[0][i], w[1][i], w[2][i] };
    for (int c = 0; c < 3; ++c) {
      int a = (c + 1) % 3;
      int b = (c + 2) % 3;
      s.w[c] += xi * wp[c];
      s.f[c] += distance > 1e-4 * g->cell
                    ? def->strength * xi * (d[a] * wp[b] - d[b] * wp[a]) / distance
                    : 0.0;
    }
    s.amount += xi * sqrt(wp[0] * wp[0] + wp[1] * wp[1] + wp[2] * wp[2]);
  }
  return s;
}

static double compare_forces(kp_world *world, const kp_vortices_def *def) {
  kp_gas *gas = kp_test_gas(world);
  const kp_mac_view *g = &gas->flow.mac->view;
  assert_ok(kp_vorticity_begin(&gas->vorticity));
  assert_ok(kp_vortex_particles_force(&gas->vortices, &gas->vorticity));
  places p = read_places(world);
  double *w[3];
  for (int c = 0; c < 3; ++c) {
    w[c] = kp_test_field(world, "swarm", "vorticity", c);
  }
  double *r = kp_test_field(world, "swarm", "radius", 0);
  const kp_real *f[3];
  for (int c = 0; c < 3; ++c) {
    f[c] = kp_buffer_host(&gas->vorticity.force[c], KP_ACCESS_READ);
  }
  double worst = 0.0;
  double largest = 0.0;
  for (int64_t n = 0; n < kp_mac_n_all(gas->flow.mac); ++n) {
    int64_t i = n % g->n[0];
    int64_t j = n / g->n[0] % g->n[1];
    int64_t k = n / g->n[0] / g->n[1];
    const double x[3] = { g->lo[0] + ((double)i + 0.5) * g->cell,
                          g->lo[1] + ((double)j + 0.5) * g->cell,
                          g->dimension == 2 ? 0.0 : g->lo[2] + ((double)k + 0.5) * g->cell };
    pair_sums s = plain_sums(g, &p, w, r, def, x);
    for (int c = 0; c < 3; ++c) {
      worst = kp_test_most(worst, fabs((double)f[c][kp_mac_at(g, i, j, k)] - s.f[c]));
      largest = kp_test_most(largest, fabs(s.f[c]));
    }
  }
  for (int c = 0; c < 3; ++c) {
    kp_free(w[c]);
  }
  kp_free(r);
  free_places(&p);
  assert_true(largest > 0.0);
  return worst / largest;
}

static void test_force_is_the_plain_sum(void **state) {
  (void)state;
  static const struct {
    int dimension, boundary, kernel;
  } cases[] = {
    { 3, KP_BOUNDARY_CLOSED, KP_VORTICES_GAUSSIAN },
    { 3, KP_BOUNDARY_PERIODIC, KP_VORTICES_TENT },
    { 3, KP_BOUNDARY_OPEN, KP_VORTICES_UNIT_TENT },
    { 2, KP_BOUNDARY_CLOSED, KP_VORTICES_TENT },
    { 2, KP_BOUNDARY_PERIODIC, KP_VORTICES_GAUSSIAN },
  };
  double worst = 0.0;
  for (size_t c = 0; c < sizeof cases / sizeof cases[0]; ++c) {
    tank t = closed_tank();
    t.dimension = cases[c].dimension;
    t.boundary = cases[c].boundary;
    kp_world *world = make_tank(&t);
    kp_vortices_def def = swarm_def(kp_vec3_make(0.0, 0.0, 0.0), kp_vec3_make(1.0, 0.8, 0.6), 60);
    def.kernel = cases[c].kernel;
    def.radius = 0.13;
    def.radius_spread = 0.4;
    def.strength = 0.7;
    add_and_build(world, &def);
    kp_test_steps(world, 2);
    assert_true(kp_world_count(world, "swarm") > 40);
    // a cell at the rim of a cut Gaussian may fall to either side of it in single precision
    worst = kp_test_most(worst, compare_forces(world, &def));
    kp_world_destroy(&world);
  }
  kp_claim claim = {
    .id = "selle-S20",
    .text = "the force of the particles is the sum over all pairs: off, of the largest",
    .size = "60 particles in five boxes, three kernels, 2D and 3D",
    .figure = worst,
    .threshold = KP_TOL(2e-5, 1e-9)
  };
  assert_int_equal(kp_claim_at_most(&claim), KP_CLAIM_CONFIRMED);
}

// ---- variants

static double force_size(kp_world *world) {
  kp_gas *gas = kp_test_gas(world);
  assert_ok(kp_vorticity_begin(&gas->vorticity));
  assert_ok(kp_vortex_particles_force(&gas->vortices, &gas->vorticity));
  double sum = 0.0;
  for (int c = 0; c < 3; ++c) {
    const kp_real *f = kp_buffer_host(&gas->vorticity.force[c], KP_ACCESS_READ);
    for (int64_t i = 0; i < gas->flow.mac->view.count; ++i) {
      sum += (double)f[i] * (double)f[i];
    }
  }
  return sqrt(sum);
}

// The velocity of solid rotation about z: vorticity 2 spin everywhere.
static void rotate(kp_world *world, double spin) {
  kp_gas *gas = kp_test_gas(world);
  const kp_mac_view *g = &gas->flow.mac->view;
  kp_real *v[2];
  for (int c = 0; c < 2; ++c) {
    v[c] = kp_buffer_host(&gas->flow.velocity->buffers[c], KP_ACCESS_WRITE);
  }
  for (int32_t k = 0; k < g->n[2]; ++k) {
    for (int32_t j = 0; j < g->n[1]; ++j) {
      for (int32_t i = 0; i < g->n[0]; ++i) {
        int64_t at = kp_mac_at(g, i, j, k);
        v[0][at] = (kp_real)(-spin * ((j + 0.5) * g->cell - 0.4));
        v[1][at] = (kp_real)(spin * ((i + 0.5) * g->cell - 0.5));
      }
    }
  }
}

// Vorticity 6 (x - 1/2): confinement needs a slope of it.
static void shear(kp_world *world) {
  kp_gas *gas = kp_test_gas(world);
  const kp_mac_view *g = &gas->flow.mac->view;
  kp_real *v = kp_buffer_host(&gas->flow.velocity->buffers[1], KP_ACCESS_WRITE);
  for (int64_t at = 0; at < g->count; ++at) {
    double x = ((double)(at % g->row - KP_MAC_GHOSTS) + 0.5) * g->cell - 0.5;
    v[at] = (kp_real)(3.0 * x * x);
  }
}

static kp_world *make_variant(int forcing, double magnitude) {
  tank t = closed_tank();
  kp_world *world = make_tank(&t);
  kp_vortices_def def = swarm_def(kp_vec3_make(0.4, 0.3, 0.2), kp_vec3_make(0.6, 0.5, 0.4), 5);
  def.forcing = forcing;
  def.kernel = KP_VORTICES_TENT;
  def.rule = KP_VORTICES_UPRIGHT;
  def.magnitude = magnitude;
  add_and_build(world, &def);
  emit_only(world);
  // all point along z, whatever the draw
  kp_vortex_swarm *swarm = swarm_of(world);
  kp_real *wy = kp_buffer_host(&swarm->vorticity->buffers[1], KP_ACCESS_WRITE);
  kp_real *wz = kp_buffer_host(&swarm->vorticity->buffers[2], KP_ACCESS_WRITE);
  for (int64_t i = 0; i < swarm->set->space->n; ++i) {
    wy[i] = 0;
    wz[i] = (kp_real)magnitude;
  }
  return world;
}

// A strengthens what the grid has: nothing in still gas. C and D do less the more the grid has.
static void test_variants(void **state) {
  (void)state;
  const double magnitude = 3.0;
  double still[4];
  double turning[4];
  for (int v = 0; v < 4; ++v) {
    kp_world *world = make_variant(v, magnitude);
    rotate(world, 0.0);
    still[v] = force_size(world);
    rotate(world, 0.75);  // vorticity 1.5: half of a particle's peak
    if (v == KP_VORTICES_CONFINEMENT) {
      shear(world);
    }
    turning[v] = force_size(world);
    kp_world_destroy(&world);
  }
  assert_true(still[KP_VORTICES_ANALYTIC] > 0.0);
  assert_true(still[KP_VORTICES_CONFINEMENT] < 1e-6 * still[KP_VORTICES_ANALYTIC]);
  assert_near_relative(still[KP_VORTICES_ATTENUATED], still[KP_VORTICES_ANALYTIC], 1e-5);
  assert_true(still[KP_VORTICES_DIFFERENCE] > 0.0);
  assert_near_relative(turning[KP_VORTICES_ANALYTIC], still[KP_VORTICES_ANALYTIC], 1e-5);
  assert_true(turning[KP_VORTICES_CONFINEMENT] > 0.01 * still[KP_VORTICES_ANALYTIC]);
  assert_near_relative(turning[KP_VORTICES_ATTENUATED], 0.5 * still[KP_VORTICES_ANALYTIC], 1e-3);
  double analytic = still[KP_VORTICES_ANALYTIC];
  kp_claim strength = { .id = "selle-S19",
                        .text =
                            "particles that set the strength of confinement add none of their own",
                        .size = "5 particles in a box of 20x16x12 cells" };
  kp_claim_all(&strength,
               { "force in still gas, of the analytic one",
                 still[KP_VORTICES_CONFINEMENT] / analytic, KP_LESS, 1e-6 },
               { "force in sheared gas, of the analytic one",
                 turning[KP_VORTICES_CONFINEMENT] / analytic, KP_MORE, 0.01 });
  kp_claim reduced = { .id = "selle-S21",
                       .text = "forcing is reduced by the vorticity that the grid has",
                       .size = "5 particles, the grid turns with none or half of their peak" };
  kp_claim_all(&reduced,
               { "attenuated force with half of it there, of the analytic one, off 1/2",
                 fabs(turning[KP_VORTICES_ATTENUATED] / analytic - 0.5), KP_AT_MOST, 1e-3 },
               { "attenuated force in still gas, of the analytic one, off 1",
                 fabs(still[KP_VORTICES_ATTENUATED] / analytic - 1.0), KP_AT_MOST, 1e-5 },
               { "force by difference in still gas, of the analytic one",
                 still[KP_VORTICES_DIFFERENCE] / analytic, KP_MORE, 0.0 });
}

// ---- stretching

// u = (s x, -s y, 0): along x vorticity grows by exp(s t), along y it shrinks.
static double stretched(int how, int axis, double *turned) {
  tank t = closed_tank();
  kp_world *world = make_tank(&t);
  kp_vortices_def def = swarm_def(kp_vec3_make(0.4, 0.3, 0.2), kp_vec3_make(0.6, 0.5, 0.4), 3);
  def.stretching = how;
  def.magnitude = 2.0;
  def.most = 1.05;
  def.strength = 0.0;
  add_and_build(world, &def);
  kp_test_steps(world, 1);
  kp_gas *gas = kp_test_gas(world);
  const kp_mac_view *g = &gas->flow.mac->view;
  kp_vortex_swarm *swarm = swarm_of(world);
  for (int c = 0; c < 3; ++c) {
    kp_real *u = kp_buffer_host(&gas->flow.velocity->buffers[c], KP_ACCESS_WRITE);
    kp_real *w = kp_buffer_host(&swarm->vorticity->buffers[c], KP_ACCESS_WRITE);
    for (int64_t at = 0; at < g->count; ++at) {
      int64_t i = at % g->row - KP_MAC_GHOSTS;
      int64_t j = at % g->slab / g->row - KP_MAC_GHOSTS;
      u[at] = (kp_real)(c == 0 ? (double)i * g->cell : (c == 1 ? -(double)j * g->cell : 0.0));
    }
    for (int64_t n = 0; n < swarm->set->space->n; ++n) {
      w[n] = (kp_real)(c == axis ? 2.0 : 0.0);
    }
  }
  world->env.dt = 0.1;
  assert_ok(kp_vortex_particles_move(&gas->vortices, &world->env, NULL));
  double sum = 0.0;
  for (int c = 0; c < 3; ++c) {
    const kp_real *w = kp_buffer_host(&swarm->vorticity->buffers[c], KP_ACCESS_READ);
    sum += (double)w[0] * (double)w[0];
    *turned = c == axis ? (double)w[0] : *turned;
  }
  kp_world_destroy(&world);
  return sqrt(sum);
}

static void test_stretching(void **state) {
  (void)state;
  double w;
  static const struct {
    int how, axis;
    double wanted;
  } rules[] = {
    { KP_VORTICES_FREE, 0, 2.2 },          { KP_VORTICES_FREE, 1, 1.8 },
    { KP_VORTICES_PRESERVE, 0, 2.0 },      { KP_VORTICES_PRESERVE, 1, 2.0 },
    { KP_VORTICES_CLAMP, 0, 2.1 },         { KP_VORTICES_CLAMP, 1, 1.8 },
    { KP_VORTICES_DECREASE_ONLY, 0, 2.0 }, { KP_VORTICES_DECREASE_ONLY, 1, 1.8 },
  };
  double worst = 0.0;
  for (size_t r = 0; r < sizeof rules / sizeof rules[0]; ++r) {
    worst = kp_test_most(worst, fabs(stretched(rules[r].how, rules[r].axis, &w) - rules[r].wanted));
  }
  assert_between(worst, 0.0, 1e-5);
  kp_claim claim = { .id = "selle-S18",
                     .text = "four rules of stretching give the exact length in a steady strain",
                     .size = "one step, along and across the strain: |w| of 2 off by",
                     .figure = worst,
                     .threshold = 1e-5 };
  kp_claim_at_most(&claim);
  assert_near(stretched(KP_VORTICES_PRESERVE, 0, &w), 2.0, 1e-6);
  assert_near(w, 2.0, 1e-6);
}

// ---- births and deaths

static void test_births(void **state) {
  (void)state;
  double tangent = 0.0;
  int64_t born = 0;
  for (int rule = 0; rule < 3; ++rule) {
    tank t = closed_tank();
    kp_world *world = make_tank(&t);
    kp_vortices_def def = swarm_def(kp_vec3_make(0.3, 0.2, 0.1), kp_vec3_make(0.7, 0.6, 0.5), 400);
    def.rule = rule;
    def.rate = 10000.0;
    def.magnitude = 1e-4;
    def.stop = 0.03;
    add_and_build(world, &def);
    kp_test_steps(world, 5);
    // 10000/s for 0.03 s
    born = kp_world_count(world, "swarm");
    assert_int_equal(born, 300);
    places p = read_places(world);
    double *w[3];
    for (int c = 0; c < 3; ++c) {
      w[c] = kp_test_field(world, "swarm", "vorticity", c);
    }
    double along = 0.0;
    double ups = 0.0;
    double mean[3] = { 0.0, 0.0, 0.0 };
    for (int64_t i = 0; i < p.n; ++i) {
      double x = p.x[0][i] - 0.5;
      double z = p.x[2][i] - 0.3;
      double r = fmax(sqrt(x * x + z * z), 1e-9);
      // y cross (x, 0, z) = (z, 0, -x)
      along += (w[0][i] * z - w[2][i] * x) / r / 1e-4 / 300.0;
      ups += w[1][i] > 0.99e-4 ? 1.0 : 0.0;
      for (int c = 0; c < 3; ++c) {
        mean[c] += w[c][i] / 1e-4 / 300.0;
      }
    }
    if (rule == KP_VORTICES_RING) {
      assert_near(along, 1.0, 1e-2);
      tangent = along;
    } else if (rule == KP_VORTICES_UPRIGHT) {
      assert_true(ups > 120.0 && ups < 180.0);
    } else {
      // a mean of 300 unit vectors is 1/sqrt(900) along an axis
      assert_true(fabs(mean[0]) < 0.12 && fabs(mean[1]) < 0.12 && fabs(mean[2]) < 0.12);
    }
    for (int c = 0; c < 3; ++c) {
      kp_free(w[c]);
    }
    free_places(&p);
    kp_world_destroy(&world);
  }
  kp_claim claim = { .id = "selle-S23",
                     .text = "vortex particles are born at their rate, tangent to a ring",
                     .size = "10000 per second for 0.03 s, three rules" };
  kp_claim_all(&claim, { "births off 300", fabs((double)born - 300.0), KP_AT_MOST, 0.0 },
               { "mean cosine to the tangent, off 1", fabs(tangent - 1.0), KP_AT_MOST, 1e-2 });
}

// Along the grid's own vorticity, and only where there is enough of it.
static void test_births_by_the_grid(void **state) {
  (void)state;
  for (int is_fast = 0; is_fast < 2; ++is_fast) {
    tank t = closed_tank();
    kp_world *world = make_tank(&t);
    kp_vortices_def def = swarm_def(kp_vec3_make(0.4, 0.3, 0.2), kp_vec3_make(0.6, 0.5, 0.4), 50);
    def.rule = KP_VORTICES_GRID;
    def.threshold = 1.0;
    def.strength = 0.0;
    add_and_build(world, &def);
    rotate(world, is_fast ? 2.0 : 0.2);
    kp_test_steps(world, 1);
    int64_t n = kp_world_count(world, "swarm");
    if (is_fast) {
      assert_true(n > 0);
      double *w = kp_test_field(world, "swarm", "vorticity", 2);
      for (int64_t i = 0; i < n; ++i) {
        assert_true(w[i] > 0.9 * def.magnitude);
      }
      kp_free(w);
    } else {
      assert_int_equal(n, 0);
    }
    kp_world_destroy(&world);
  }
}

static void test_solids(void **state) {
  (void)state;
  for (int how = 0; how < 2; ++how) {
    tank t = closed_tank();
    kp_world *world = make_tank(&t);
    kp_collider_def ball = kp_default_collider_def();
    strcpy(ball.name, "ball");
    ball.shape = kp_test_ball(kp_vec3_make(0.5, 0.4, 0.3), 0.2);
    assert_ok(kp_world_add_collider(world, &ball));
    // half of the births are inside the ball
    kp_vortices_def def =
        swarm_def(kp_vec3_make(0.5, 0.35, 0.25), kp_vec3_make(0.9, 0.45, 0.35), 100);
    def.solids = how;
    add_and_build(world, &def);
    kp_test_steps(world, 2);
    places p = read_places(world);
    double nearest = HUGE_VAL;
    for (int64_t i = 0; i < p.n; ++i) {
      double x = p.x[0][i] - 0.5;
      double y = p.x[1][i] - 0.4;
      double z = p.x[2][i] - 0.3;
      nearest = kp_test_least(nearest, sqrt(x * x + y * y + z * z));
    }
    assert_true(nearest > 0.2 - 0.1 * t.cell);
    assert_true(how == KP_VORTICES_PUSH ? p.n == 100 : p.n > 30 && p.n < 70);
    free_places(&p);
    kp_world_destroy(&world);
  }
}

// ---- claims

// Circulation around the square of cell centres with lower corner (i, j, k), normal to an axis: the
// face velocities between the centres are its edges.
static double circulation(const kp_mac_view *g, const double *const u[3], int axis, int64_t at) {
  int a = (axis + 1) % 3;
  int b = (axis + 2) % 3;
  int64_t sa = kp_mac_stride(g, a);
  int64_t sb = kp_mac_stride(g, b);
  return g->cell * (u[a][at + sa] + u[b][at + sa + sb] - u[a][at + sa + sb] - u[b][at + sb]);
}

static void test_force_has_compact_support(void **state) {
  (void)state;
  tank t = closed_tank();
  t.size = kp_vec3_make(1.0, 1.0, 1.0);
  kp_world *world = make_tank(&t);
  // one particle in the middle of a cell, pointing up
  kp_vortices_def def =
      swarm_def(kp_vec3_make(0.5245, 0.5245, 0.5245), kp_vec3_make(0.5255, 0.5255, 0.5255), 1);
  def.rule = KP_VORTICES_UPRIGHT;
  def.magnitude = 1.0;
  def.radius = 0.175;
  add_and_build(world, &def);
  kp_test_steps(world, 1);
  kp_gas *gas = kp_test_gas(world);
  const kp_mac_view *g = &gas->flow.mac->view;
  double *fields[3];
  const double *u[3];
  for (int c = 0; c < 3; ++c) {
    u[c] = fields[c] = kp_test_field(world, "gas.grid", "velocity", c);
  }
  double *wy = kp_test_field(world, "swarm", "vorticity", 1);
  double sign = wy[0] > 0.0 ? 1.0 : -1.0;
  double outside = 0.0;
  double inside = 0.0;
  int64_t wrong = 0;
  for (int32_t k = 0; k + 1 < g->n[2]; ++k) {
    for (int32_t j = 0; j + 1 < g->n[1]; ++j) {
      for (int32_t i = 0; i + 1 < g->n[0]; ++i) {
        for (int axis = 0; axis < 3; ++axis) {
          double round = circulation(g, u, axis, kp_mac_at(g, i, j, k));
          const double lo[3] = { (i + 0.5) * g->cell - 0.525, (j + 0.5) * g->cell - 0.525,
                                 (k + 0.5) * g->cell - 0.525 };
          double d2 = 0.0;
          for (int c = 0; c < 3; ++c) {
            double hi = lo[c] + (c == axis ? 0.0 : g->cell);
            double near = lo[c] > 0.0 ? lo[c] : (hi < 0.0 ? hi : 0.0);
            d2 += near * near;
          }
          // faces take the mean of the two cells beside them: half a cell more than the kernel
          bool is_far = sqrt(d2) > def.radius + 1.01 * g->cell;
          outside = is_far ? fmax(outside, fabs(round)) : outside;
          inside = kp_test_most(inside, fabs(round));
          // the four squares that have the particle at a corner
          bool is_core = axis == 1 && fabs(lo[1]) < 1e-6 && d2 < 1e-9;
          wrong += is_core && !(round * sign > 0.0) ? 1 : 0;
        }
      }
    }
  }
  assert_int_equal(wrong, 0);
  assert_true(inside > 0.0);
  kp_claim claim = { .id = "selle-C12",
                     .text = "the force of a vortex particle turns nothing outside its kernel",
                     .size = "one particle in a closed box of 20^3 cells, one step" };
  kp_claim_all(&claim,
               { "circulation of loops outside the kernel, of the largest", outside / inside,
                 KP_AT_MOST, KP_TOL(1e-5, 1e-12) },
               { "loops at the particle that turn the wrong way", (double)wrong, KP_AT_MOST, 0.0 });
  assert_true(outside < KP_TOL(1e-5, 1e-12) * inside);
  for (int c = 0; c < 3; ++c) {
    kp_free(fields[c]);
  }
  kp_free(wy);
  kp_world_destroy(&world);
}

// What the force of one particle adds up to, of the sum of its sizes.
static double net_force(kp_world *world, kp_vec3 at) {
  kp_gas *gas = kp_test_gas(world);
  kp_test_place(world, "swarm", 0, at, kp_vec3_make(0.0, 0.0, 0.0));
  double sum[3] = { 0.0, 0.0, 0.0 };
  double size = 0.0;
  assert_ok(kp_vorticity_begin(&gas->vorticity));
  assert_ok(kp_vortex_particles_force(&gas->vortices, &gas->vorticity));
  for (int c = 0; c < 3; ++c) {
    const kp_real *f = kp_buffer_host(&gas->vorticity.force[c], KP_ACCESS_READ);
    for (int64_t n = 0; n < gas->flow.mac->view.count; ++n) {
      sum[c] += (double)f[n];
      size += fabs((double)f[n]);
    }
  }
  return sqrt(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]) / size;
}

// The force is odd about the particle, so on a lattice centred on it nothing is left. Elsewhere the
// rim of the cut Gaussian takes in cells on one side and not on the other.
static void test_force_adds_no_momentum(void **state) {
  (void)state;
  static const kp_vortices_kernel kernels[] = { KP_VORTICES_GAUSSIAN, KP_VORTICES_TENT };
  double centred[2];
  double anywhere[2] = { 0.0, 0.0 };
  for (int k = 0; k < 2; ++k) {
    tank t = closed_tank();
    t.size = kp_vec3_make(1.0, 1.0, 1.0);
    kp_world *world = make_tank(&t);
    kp_vortices_def def = swarm_def(kp_vec3_make(0.4, 0.4, 0.4), kp_vec3_make(0.6, 0.6, 0.6), 1);
    def.kernel = (int)kernels[k];
    def.radius = 3.7 * t.cell;  // no centre of a cell lies on the rim
    add_and_build(world, &def);
    emit_only(world);
    centred[k] = net_force(world, kp_vec3_make(0.525, 0.525, 0.525));
    for (uint64_t n = 0; n < 30; ++n) {
      kp_sampler_key key = { 1, KP_RNG_TEST, n, 0 };
      kp_aabb cell = { kp_vec3_make(0.5, 0.5, 0.5), kp_vec3_make(0.55, 0.55, 0.55) };
      anywhere[k] = kp_test_most(anywhere[k], net_force(world, kp_sampler_cube(key, cell)));
    }
    kp_world_destroy(&world);
  }
  print_message("net force: Gaussian %g centred, %g anywhere; tent %g, %g\n", centred[0],
                anywhere[0], centred[1], anywhere[1]);
  kp_claim claim = { .id = "selle-C12-momentum",
                     .text = "the force of a vortex particle adds no momentum",
                     .size = "one particle of radius 3.7 cells, tent and Gaussian" };
  kp_claim_all(&claim,
               { "net force of the sum of its size, at the centre of a cell",
                 fmax(centred[0], centred[1]), KP_LESS, 1e-3 },
               { "the same, anywhere in a cell", fmax(anywhere[0], anywhere[1]), KP_LESS, 1e-3 });
  assert_true(centred[0] < 1e-5 && centred[1] < 1e-5);
  assert_true(anywhere[0] < 0.05 && anywhere[1] < 0.02);
}

// A laminar jet of 1.5 m/s in gas of 0.5 m/s: its core has no vorticity of its own, its rim has.
#define JET_SPEED 1.5
#define JET_RADIUS 0.2

static double jet_enstrophy(bool has_particles, bool is_confined, double *drift, double *speed) {
  tank t = closed_tank();
  t.size = kp_vec3_make(1.6, 0.8, 0.8);
  t.cell = 0.05;
  t.boundary = KP_BOUNDARY_OPEN;
  t.stream = 0.5;
  t.dt = 0.02;
  kp_world *world = make_tank(&t);
  world->spec.smokes.data[0].confinement = is_confined ? 1.0 : 0.0;
  kp_source_def nozzle = kp_default_source_def();
  strcpy(nozzle.name, "nozzle");
  strcpy(nozzle.into, "gas");
  nozzle.shape.kind = KP_SHAPE_CYLINDER;
  nozzle.shape.a = kp_vec3_make(0.0, 0.4, 0.4);
  nozzle.shape.b = kp_vec3_make(0.15, 0.4, 0.4);
  nozzle.shape.radius = JET_RADIUS;
  nozzle.velocity = kp_vec3_make(JET_SPEED, 0.0, 0.0);
  assert_ok(kp_world_add_source(world, &nozzle));
  kp_vortices_def def = swarm_def(kp_vec3_make(0.15, 0.3, 0.3), kp_vec3_make(0.25, 0.5, 0.5), 1000);
  def.rate = 240.0;
  def.magnitude = 0.02;
  def.radius = 0.1;
  if (has_particles) {
    assert_ok(kp_world_add_vortices(world, &def));
  }
  assert_ok(kp_world_build(world));
  kp_test_steps(world, 80);
  kp_aabb core = { kp_vec3_make(0.3, 0.3, 0.3), kp_vec3_make(0.8, 0.5, 0.5) };
  kp_test_swirl swirl = kp_test_swirl_of(&kp_test_gas(world)->flow, core);
  *speed = sqrt(2.0 * swirl.energy / (0.5 * 0.2 * 0.2));
  *drift = 0.0;
  int64_t n = has_particles ? kp_world_count(world, "swarm") : 0;
  double *w[3];
  for (int c = 0; c < 3 && n > 0; ++c) {
    w[c] = kp_test_field(world, "swarm", "vorticity", c);
  }
  for (int64_t i = 0; i < n; ++i) {
    double size = sqrt(w[0][i] * w[0][i] + w[1][i] * w[1][i] + w[2][i] * w[2][i]);
    *drift = kp_test_most(*drift, fabs(size / def.magnitude - 1.0));
  }
  for (int c = 0; c < 3 && n > 0; ++c) {
    kp_free(w[c]);
  }
  kp_world_destroy(&world);
  return swirl.enstrophy;
}

static void test_particles_stir_a_laminar_jet(void **state) {
  (void)state;
  double drift;
  double speed;
  double plain = jet_enstrophy(false, false, &drift, &speed);
  double laminar = speed;
  double confined = jet_enstrophy(false, true, &drift, &speed);
  double stirred = jet_enstrophy(true, true, &drift, &speed);
  print_message("core at %.2f m/s, enstrophy: plain %g, confined %g, with particles %g; drift of "
                "|w| %g\n",
                laminar, plain, confined, stirred, drift);
  kp_claim claim = { .id = "selle-C11",
                     .text =
                         "vortex particles stir the core of a laminar jet, confinement does not",
                     .size = "32x16x16 cells, jet of 1.5 m/s in gas of 0.5 m/s, 1.6 s" };
  kp_claim_status status = kp_claim_all(
      &claim,
      { "enstrophy of the core with particles over that with confinement alone", stirred / confined,
        KP_MORE, 3.0 },
      { "enstrophy with confinement alone over that without", confined / plain, KP_AT_MOST, 1.1 },
      { "speed of the core over that of the gas around", laminar / 0.5, KP_AT_LEAST, 2.0 });
  assert_true(status != KP_CLAIM_REFUTED);
  kp_claim_at_most(&(kp_claim){ .id = "selle-C11-preserve",
                                .text = "drift of |w| with stretching preserve",
                                .size = "80 steps of the jet",
                                .figure = drift,
                                .threshold = KP_TOL(1e-6, 1e-12) });
  assert_true(drift < KP_TOL(1e-6, 1e-12));
}

// ---- bits

static kp_world *make_swarm(const char *backend) {
  tank t = closed_tank();
  t.backend = backend;
  t.boundary = KP_BOUNDARY_PERIODIC;
  kp_world *world = make_tank(&t);
  kp_vortices_def def = swarm_def(kp_vec3_make(0.2, 0.2, 0.1), kp_vec3_make(0.9, 0.7, 0.5), 500);
  def.rate = 3333.0;
  def.magnitude = 0.05;
  def.radius_spread = 0.5;
  add_and_build(world, &def);
  return world;
}

static void test_same_bits(void **state) {
  (void)state;
  kp_test_same_bits(make_swarm, 5);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_kernels),
    cmocka_unit_test(test_force_is_the_plain_sum),
    cmocka_unit_test(test_variants),
    cmocka_unit_test(test_stretching),
    cmocka_unit_test(test_births),
    cmocka_unit_test(test_births_by_the_grid),
    cmocka_unit_test(test_solids),
    cmocka_unit_test(test_force_has_compact_support),
    cmocka_unit_test(test_force_adds_no_momentum),
    cmocka_unit_test(test_particles_stir_a_laminar_jet),
    cmocka_unit_test(test_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
