// Plasma: the force of two charges and its potential, the grid against all pairs, energy and
// momentum, the bounding sphere, the search that stops short, and the same bits.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "methods/plasma/plasma.h"

#include "support/claims.h"
#include "support/media.h"

static kp_test_settings empty_space(double half) {
  kp_test_settings s =
      kp_test_settings_make(3, kp_vec3_make(-half, -half, -half), kp_vec3_make(half, half, half));
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  return s;
}

static kp_plasma_def cloud_def(int64_t particles, double half) {
  kp_plasma_def def = kp_default_plasma_def();
  snprintf(def.name, sizeof def.name, "gas");
  def.particles = particles;
  def.shape = kp_test_box(kp_vec3_make(-half, -half, -half), kp_vec3_make(half, half, half));
  return def;
}

static kp_world *make_world(const kp_test_settings *s, const kp_plasma_def *def) {
  kp_world *world = kp_test_world(s);
  assert_ok(kp_world_add_plasma(world, def));
  assert_ok(kp_world_build(world));
  return world;
}

// ---- two charges --------------------------------------------------------------------------------

typedef struct two_charges {
  kp_vec3 force;  // N, on the second
  double energy;
} two_charges;

static two_charges pair_at(double r, int charges) {
  kp_test_settings s = empty_space(1.0);
  s.simulation.dt = 1e-9;
  s.simulation.dt_min = 1e-12;
  kp_plasma_def def = cloud_def(2, 0.1);
  def.charges = charges;
  def.strength = 2.0;
  def.charge = 3.0;
  def.mass = 0.5;
  def.softening = 0.02;
  def.influence = 0.2;
  kp_world *world = make_world(&s, &def);
  kp_vec3 rest = kp_vec3_make(0, 0, 0);
  kp_test_place(world, "gas", 0, kp_vec3_make(0.1, 0.1, 0.1), rest);
  kp_test_place(world, "gas", 1, kp_vec3_make(0.1, 0.1 + r, 0.1), rest);
  kp_test_steps(world, 1);
  two_charges out = { .energy = kp_test_stats(world, "gas").internal_energy };
  double *id = kp_test_field(world, "gas", "id", 0);
  double *a[3];
  for (int c = 0; c < 3; ++c) {
    a[c] = kp_test_field(world, "gas", "acceleration", c);
  }
  int second = id[0] == 1.0 ? 0 : 1;
  out.force = kp_vec3_scale(kp_vec3_make(a[0][second], a[1][second], a[2][second]), def.mass);
  for (int c = 0; c < 3; ++c) {
    kp_free(a[c]);
  }
  kp_free(id);
  kp_world_destroy(&world);
  return out;
}

static void test_two_charges(void **state) {
  (void)state;
  double force = 0.0, energy = 0.0, slopes = 0.0;
  const double gaps[] = { 0.001, 0.02, 0.1, 0.17, 0.179 };
  for (size_t g = 0; g < sizeof gaps / sizeof gaps[0]; ++g) {
    double r = gaps[g];
    double h = 1e-4 * r;
    double expected = 2.0 * 9.0 * r / pow(r + 0.02, 3.0);
    two_charges like = pair_at(r, KP_PLASMA_EQUAL);
    two_charges unlike = pair_at(r, KP_PLASMA_BALANCED);
    force = kp_test_most(force, fabs(like.force.y / expected - 1.0));
    force = kp_test_most(force, fabs(unlike.force.y / expected + 1.0));
    energy = kp_test_most(energy, fabs(unlike.energy / like.energy + 1.0));
    if (sizeof(kp_real) == 8) {
      double slope =
          (pair_at(r + h, KP_PLASMA_EQUAL).energy - pair_at(r - h, KP_PLASMA_EQUAL).energy) /
          (2.0 * h);
      slopes = kp_test_most(slopes, fabs(like.force.y / slope + 1.0));
    }
  }
  kp_claim claim = { .id = "lyes-L26",
                     .text = "like charges repel, unlike ones attract by the softened law, the "
                             "slope of their energy",
                     .size = "two charges at five distances; slopes in double" };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "force against k q q r / (r + s)^3, share", force, KP_AT_MOST, KP_TOL(1e-4, 1e-9) },
      { "energy of unlike over like charges, off from -1", energy, KP_AT_MOST,
        KP_TOL(1e-5, 1e-10) },
      { "force against the slope of the energy, share", slopes, KP_AT_MOST, 1e-5 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  // r + s = r_I is the end of both
  assert_vec3_near(pair_at(0.1801, KP_PLASMA_EQUAL).force, kp_vec3_make(0, 0, 0), 0.0);
  assert_near(pair_at(0.1799, KP_PLASMA_EQUAL).energy, 0.0, 0.05);  // 1e-4 m before the end, 405 N
  assert_near(pair_at(0.1801, KP_PLASMA_EQUAL).energy, 0.0, 0.0);
}

// ---- all pairs ----------------------------------------------------------------------------------

// Difference to all pairs over the largest force; `cell` > 0: only pairs of neighbouring cells.
static double compare_all_pairs(int dimension, int search, double cell, bool periodic) {
  kp_test_settings s = empty_space(0.5);
  s.domain.dimension = dimension;
  s.simulation.dt = 1e-9;
  s.simulation.dt_min = 1e-12;
  if (periodic) {
    s.domain.boundary_x = s.domain.boundary_y = s.domain.boundary_z = KP_BOUNDARY_PERIODIC;
  }
  kp_plasma_def def = cloud_def(4096, 0.499);
  def.influence = dimension == 2 ? 0.05 : 0.12;
  def.search = search;
  def.cell = cell > 0.0 ? cell : KP_AUTO;
  kp_world *world = make_world(&s, &def);
  kp_test_steps(world, 1);
  int64_t n = kp_world_count(world, "gas");
  double *x[3], *a[3], *q = kp_test_field(world, "gas", "charge", 0);
  for (int k = 0; k < 3; ++k) {
    x[k] = kp_test_field(world, "gas", "position", k);
    a[k] = kp_test_field(world, "gas", "acceleration", k);
  }
  double worst = 0.0, largest = 0.0, total = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    double f[3] = { 0, 0, 0 };
    total += q[i];
    for (int64_t j = 0; j < n; ++j) {
      double d[3], r2 = 0.0;
      bool seen = j != i;
      for (int k = 0; k < 3; ++k) {
        d[k] = x[k][i] - x[k][j];
        d[k] = periodic && k < dimension ? d[k] - nearbyint(d[k]) : d[k];
        r2 += d[k] * d[k];
        bool beside = fabs(floor(x[k][i] / cell) - floor(x[k][j] / cell)) < 1.5;
        seen = seen && (search == KP_PLASMA_COMPLETE || beside);
      }
      double l = sqrt(r2) + 0.1 * def.influence;
      for (int k = 0; k < 3 && seen && l < def.influence; ++k) {
        f[k] += def.strength * q[i] * q[j] * d[k] / (l * l * l);
      }
    }
    for (int k = 0; k < 3; ++k) {
      worst = kp_test_most(worst, fabs(f[k] - def.mass * a[k][i]));
      largest = kp_test_most(largest, fabs(f[k]));
    }
    assert_true(dimension == 3 || (x[2][i] == 0.0 && a[2][i] == 0.0));
  }
  assert_true(total == 0.0);  // equal totals
  for (int k = 0; k < 3; ++k) {
    kp_free(x[k]), kp_free(a[k]);
  }
  kp_free(q);
  kp_world_destroy(&world);
  return worst / largest;
}

static void test_against_all_pairs(void **state) {
  (void)state;
  double worst = compare_all_pairs(3, KP_PLASMA_COMPLETE, 0.0, false);
  worst = kp_test_most(worst, compare_all_pairs(3, KP_PLASMA_COMPLETE, 0.04, false));
  worst = kp_test_most(worst, compare_all_pairs(3, KP_PLASMA_COMPLETE, 0.0, true));
  worst = kp_test_most(worst, compare_all_pairs(2, KP_PLASMA_COMPLETE, 0.0, false));
  print_message("  forces of the grid against all pairs: %.1e of the largest\n", worst);
  kp_claim claim = { .id = "lyes-9-plasma",
                     .text = "the grid search equals all pairs, plasma",
                     .size = "4096 charges, 2D and 3D, open and periodic" };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "difference of forces, of the largest", worst, KP_AT_MOST, KP_TOL(1e-5, 1e-12) });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// The search that stops at 27 cells misses exactly the pairs beyond them, and finds all when cells
// are as large as the influence radius.
static void test_near_search(void **state) {
  (void)state;
  kp_claim claim = { .id = "lyes-10-pairs",
                     .text = "cells as large as the influence radius miss no pair of 27 cells",
                     .size = "4096 charges, radius 0.12 m, cells of 0.12 and 0.04 m" };
  kp_claim_status verdict = kp_claim_all(
      &claim,
      { "difference of forces from all pairs, cells of the radius",
        compare_all_pairs(3, KP_PLASMA_NEAR, 0.12, false), KP_AT_MOST, KP_TOL(1e-5, 1e-12) },
      { "difference from the pairs of 27 cells, smaller cells",
        compare_all_pairs(3, KP_PLASMA_NEAR, 0.04, false), KP_AT_MOST, KP_TOL(1e-5, 1e-12) });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// ---- sums and container -------------------------------------------------------------------------

static void test_conservation(void **state) {
  (void)state;
  double lost = 0.0, pushed = 0.0;
  for (int charges = KP_PLASMA_BALANCED; charges <= KP_PLASMA_EQUAL; ++charges) {
    kp_test_settings s = empty_space(4.0);
    kp_plasma_def def = cloud_def(2000, 0.3);
    def.charges = charges;
    def.influence = 0.12;
    def.cfl = 0.02;
    def.integrator = KP_INTEGRATOR_VELOCITY_VERLET;
    kp_world *world = make_world(&s, &def);
    kp_population_stats a = kp_test_stats(world, "gas");
    assert_ok(kp_world_advance(world, 4.0, NULL));
    kp_population_stats b = kp_test_stats(world, "gas");
    double moved = fabs(b.internal_energy - a.internal_energy);
    double drift = fabs(b.kinetic_energy + b.internal_energy - a.internal_energy) / moved;
    print_message("  %s: %.3g J moved to motion, %.1e of it lost\n",
                  charges == KP_PLASMA_EQUAL ? "equal" : "balanced", moved, drift);
    double size = sqrt(2.0 * b.mass * b.kinetic_energy);
    lost = kp_test_most(lost, drift);
    pushed = kp_test_most(pushed, kp_vec3_length(b.momentum) / size);
    kp_world_destroy(&world);
  }
  kp_claim claim = { .id = "lyes-L21-plasma",
                     .text = "Coulomb and kinetic energy of a plasma change into each other alone",
                     .size = "2000 charges, equal and balanced, 4 s, velocity Verlet" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "energy lost, of what became motion", lost, KP_AT_MOST, 0.01 },
                   { "momentum, of the sum of sizes", pushed, KP_AT_MOST, KP_TOL(1e-5, 1e-12) });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// Charges shot at the bounding sphere come back with the share of their speed, for a scheme that
// keeps motion of its own too; damping stops them.
static void test_container(void **state) {
  (void)state;
  double beyond = -HUGE_VAL, slow = HUGE_VAL, fast = 0.0;
  const int schemes[] = { KP_INTEGRATOR_SYMPLECTIC, KP_INTEGRATOR_LEAPFROG, KP_INTEGRATOR_RK4 };
  for (int k = 0; k < 3; ++k) {
    kp_test_settings s = empty_space(1.0);
    kp_plasma_def def = cloud_def(200, 0.1);
    def.strength = 0.0;
    def.velocity = kp_vec3_make(0.4, 0, 0);
    def.container_radius = 0.5;
    def.restitution = 0.5;
    def.integrator = schemes[k];
    kp_world *world = make_world(&s, &def);
    assert_ok(kp_world_advance(world, 1.6, NULL));
    kp_population_stats b = kp_test_stats(world, "gas");
    double speed = sqrt(2.0 * b.kinetic_energy / b.mass);
    slow = kp_test_least(slow, speed);
    fast = kp_test_most(fast, speed);
    assert_true(b.momentum.x < 0.0);
    beyond = kp_test_most(beyond, b.bounds.max.x - (0.5 - def.radius));
    kp_world_destroy(&world);
  }
  kp_test_settings s = empty_space(1.0);
  kp_plasma_def def = cloud_def(200, 0.1);
  def.strength = 0.0;
  def.velocity = kp_vec3_make(0.1, 0, 0);
  def.damping = 2.0;
  kp_world *world = make_world(&s, &def);
  assert_ok(kp_world_advance(world, 1.0, NULL));
  kp_population_stats b = kp_test_stats(world, "gas");
  double damped = b.momentum.x / b.mass / (0.1 * exp(-2.0));
  // head-on hits leave half of the speed; off-centre ones keep their sliding part
  kp_claim claim = { .id = "lyes-L28",
                     .text =
                         "a bounding sphere holds charges by its restitution, damping stops them",
                     .size = "200 charges at 0.4 m/s, restitution 1/2, three schemes" };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "beyond the sphere, m", beyond, KP_AT_MOST, 1e-9 },
      { "share of the speed kept, least", slow / 0.4, KP_AT_LEAST, 0.5 },
      { "share of the speed kept, most", fast / 0.4, KP_AT_MOST, 0.65 },
      { "speed left by damping against exp(-c t), share", fabs(damped - 1.0), KP_AT_MOST, 0.02 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  kp_world_destroy(&world);
}

// ---- same bits ----------------------------------------------------------------------------------

static kp_world *make_busy(const char *backend) {
  kp_test_settings s = empty_space(1.0);
  s.backend = backend;
  kp_plasma_def def = cloud_def(40000, 0.4);
  def.influence = 0.05;
  def.container_radius = 0.6;
  def.velocity = kp_vec3_make(0.5, 0, 0);
  def.strength = 1e-4;
  return make_world(&s, &def);
}

static void test_bits(void **state) {
  (void)state;
  kp_test_same_bits(make_busy, 6);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_two_charges), cmocka_unit_test(test_against_all_pairs),
    cmocka_unit_test(test_near_search), cmocka_unit_test(test_conservation),
    cmocka_unit_test(test_container),   cmocka_unit_test(test_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
