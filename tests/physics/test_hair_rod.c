// Hair of a material: it bends and twists as a rod of its modulus and its section does, for any
// number of segments.
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "methods/deform/deform.h"

#include "support/claims.h"
#include "support/elastica.h"
#include "support/hairs.h"

#define PI 3.14159265358979323846

enum { SIZES = 4 };
static const int64_t sizes[SIZES] = { 10, 20, 40, 80 };

static double bending(const kp_hair_def *def) {
  return def->young * PI / 4.0 * pow(def->fibre_radius, 4.0);
}

// ---- under its own weight -----------------------------------------------------------------------

// Height of the tip over the root of a hair at rest that starts at an angle above the horizontal.
static double tip_height(double length, int64_t segments, double angle) {
  kp_test_settings s = kp_test_hair_space(true);
  kp_world *world = kp_test_world(&s);
  kp_hair_def hair = kp_default_hair_def();
  snprintf(hair.name, sizeof hair.name, "hair");
  hair.count = 1;
  hair.segments = segments;
  hair.length = length;
  hair.direction = kp_vec3_make(cos(angle), sin(angle), 0.0);
  hair.viscosity = 120.0;  // near the critical damping of its slowest mode
  assert_ok(kp_world_add_hair(world, &hair));
  assert_ok(kp_world_build(world));
  int steps = 0;
  while (world->env.time < 0.4) {
    kp_test_steps(world, 1);
    ++steps;
  }
  double *y = kp_test_field(world, "nodes", "position", 1);
  int64_t n = kp_registry_find(world->registry, "nodes")->n;
  double height = y[n - 1] - y[0];
  double speed = kp_test_stats(world, "hair").max_speed;
  print_message("  %lld segments, %g degrees: %.3f mm in %d steps, %.2g m/s\n", (long long)segments,
                angle * 180.0 / PI, 1e3 * height, steps, speed);
  assert_true(speed < 2e-3);
  kp_free(y);
  kp_world_destroy(&world);
  return height;
}

// 5 cm clamped level, and 4 cm that stand at 80 degrees.
static void hair_hangs_as_the_elastica(void **state) {
  (void)state;
  kp_hair_def def = kp_default_hair_def();
  double weight = 9.81 * def.density, b = bending(&def), worst = 0.0;
  const double lengths[2] = { 0.05, 0.04 }, angles[2] = { 0.0, 80.0 * PI / 180.0 };
  for (int k = 0; k < 2; ++k) {
    double exact = kp_elastica_height(weight, lengths[k], b, angles[k]);
    double straight = lengths[k] * sin(angles[k]);
    for (int i = 0; i < SIZES; ++i) {
      double droop = straight - tip_height(lengths[k], sizes[i], angles[k]);
      double off = droop / (straight - exact) - 1.0;
      print_message("    droop %.3f mm, elastica %.3f, off by %.3f\n", 1e3 * droop,
                    1e3 * (straight - exact), off);
      worst = kp_test_most(worst, fabs(off));
    }
  }
  kp_claim claim = { .id = "kelpie-hair-elastica",
                     .text = "hair of the default material hangs as the elastica of its modulus "
                             "and radius, for any number of segments",
                     .size = "one hair, 5 cm level and 4 cm at 80 degrees, 10 to 80 segments" };
  assert_int_equal(
      kp_claim_all(&claim, { "largest share by which the droop is off", worst, KP_AT_MOST, 0.05 }),
      KP_CLAIM_CONFIRMED);
}

// ---- twist --------------------------------------------------------------------------------------

// Energy of a straight hair of 10 cm whose last segment is turned by `angle` [rad] about it.
static double twist_energy(int64_t segments, double angle) {
  kp_test_settings s = kp_test_hair_space(false);
  kp_world *world = kp_test_world(&s);
  kp_solids_def solids = kp_default_solids_def();
  solids.dt = 1e-3;
  solids.tolerance = sizeof(kp_real) == 4 ? 1e-5 : 1e-8;
  assert_ok(kp_world_set_solids(world, &solids));
  kp_hair_def hair = kp_default_hair_def();
  snprintf(hair.name, sizeof hair.name, "hair");
  hair.count = 1;
  hair.segments = segments;
  hair.length = 0.1;
  hair.direction = kp_vec3_make(1, 0, 0);
  hair.viscosity = 100.0;
  hair.limit = KP_HAIR_LIMIT_NONE;
  assert_ok(kp_world_add_hair(world, &hair));
  kp_pin_def tip = kp_default_pin_def();
  snprintf(tip.name, sizeof tip.name, "tip");
  double last = hair.length * (1.0 - 1.1 / (double)segments);
  tip.shape = kp_test_box(kp_vec3_make(last, -0.1, -0.1), kp_vec3_make(0.2, 0.1, 0.1));
  double turns[6] = { 0.0, 0.0, 0.0, angle * 180.0 / PI, 0.0, 0.0 };
  tip.rotation_deg = (kp_curve){ .components = 3, .n = 2, .interval = 0.1, .samples = turns };
  assert_ok(kp_world_add_pin(world, &tip));
  assert_ok(kp_world_build(world));
  while (world->env.time < 0.3) {
    kp_test_steps(world, 1);
  }
  double energy = kp_test_stats(world, "hair").internal_energy;
  kp_world_destroy(&world);
  return energy;
}

static void hair_twists_as_a_rod(void **state) {
  (void)state;
  kp_hair_def def = kp_default_hair_def();
  double angle = 1.0, torsion = bending(&def) / (1.0 + def.poisson), worst = 0.0;
  double exact = 0.5 * torsion * angle * angle / 0.1;
  for (int i = 0; i < SIZES; ++i) {
    double off = twist_energy(sizes[i], angle) / exact - 1.0;
    print_message("  %lld segments: twist energy off by %.3f\n", (long long)sizes[i], off);
    worst = kp_test_most(worst, fabs(off));
  }
  kp_claim claim = { .id = "kelpie-hair-twist",
                     .text = "a straight hair that is twisted holds the energy of a rod of its "
                             "modulus and radius, for any number of segments",
                     .size = "one hair of 10 cm, 1 rad, 10 to 80 segments" };
  assert_int_equal(
      kp_claim_all(&claim, { "largest share by which the energy is off", worst, KP_AT_MOST, 0.05 }),
      KP_CLAIM_CONFIRMED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(hair_hangs_as_the_elastica),
    cmocka_unit_test(hair_twists_as_a_rod),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
