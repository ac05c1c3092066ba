// How large a step fractional viscosity allows: the viscous lid-driven cavity of Ozgen 2013,
// section 4.4 (S12, claim 13). Compiled twice: at a few steps for every run of the suite, and with
// the search for the largest one.
#include <math.h>
#include <stdio.h>

#include "support/claims.h"
#include "support/worlds.h"

#define CAVITY 20  // particles along an edge

typedef struct cavity {
  int model, mode, end;
  double order;
  int64_t steps;
} cavity;

// Kinetic energy over M U^2 after 2 s of a viscous lid-driven cavity of 1 m, U = 1 m/s, with this
// step; infinite when it blows up on the way.
static double cavity_energy(const cavity *c, double viscosity, double dt) {
  double dx = 1.0 / CAVITY;
  kp_test_settings s =
      kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1 + 4 * dx, 1));
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.simulation.dt = dt;
  s.sph.viscosity_model = c->model;
  s.sph.fractional_mode = c->mode;
  s.sph.fractional_order = c->order;
  s.sph.fractional_steps = c->steps;
  s.sph.fractional_end = c->end;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water = kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1), dx);
  water.viscosity = viscosity;
  water.sound_speed = 10.0;
  assert_ok(kp_world_add_liquid(world, &water));
  kp_collider_def lid = kp_default_collider_def();
  snprintf(lid.name, sizeof lid.name, "lid");
  lid.shape = kp_test_box(kp_vec3_make(0, 1, -1), kp_vec3_make(1, 1 + 3 * dx, 1));
  lid.surface_velocity = kp_curve_constant3(kp_vec3_make(1, 0, 0));
  assert_ok(kp_world_add_collider(world, &lid));
  assert_ok(kp_world_build(world));
  double energy = 0.0;
  for (int part = 0; part < 20 && isfinite(energy); ++part) {
    kp_result result = kp_world_advance(world, 0.1, NULL);
    kp_test_sums sums = kp_test_sums_of(world);
    energy = sums.kinetic_energy / sums.mass;
    energy = result != KP_OK || !(energy < 1e3) ? HUGE_VAL : energy;
  }
  kp_world_destroy(&world);
  return energy;
}

#define VISCOSITY 2000.0  // Pa s: Re = 0.5, and viscosity limits the step, not sound

// The step that the method itself takes with plain viscosity.
static double viscous_limit(void) {
  const double h = 1.2 / CAVITY;
  return 0.12 * h * h * 1000.0 / VISCOSITY;
}

static double sound_limit(void) {
  return 0.4 * (1.2 / CAVITY) / 11.0;
}

static void check_that_viscosity_rules(void) {
  assert_true(viscous_limit() < 0.3 * sound_limit());
}

#ifndef FRACTIONAL_STEPS_LONG

static bool is_calm(int model, int mode, double dt) {
  cavity c = { model, mode, 0, 0.5, 10 };
  return cavity_energy(&c, VISCOSITY, dt) < 0.2;
}

// Between the limits of plain, calibrated and raw viscosity, 0.5, 1.7 and 6.2 ms.
static void test_limits(void **state) {
  (void)state;
  check_that_viscosity_rules();
  assert_true(is_calm(KP_SPH_VISCOSITY_LAPLACIAN, 0, 0.45e-3));
  assert_false(is_calm(KP_SPH_VISCOSITY_LAPLACIAN, 0, 0.6e-3));
  assert_true(is_calm(KP_SPH_VISCOSITY_FRACTIONAL, KP_SPH_FRACTIONAL_CALIBRATED, 1.5e-3));
  assert_false(is_calm(KP_SPH_VISCOSITY_FRACTIONAL, KP_SPH_FRACTIONAL_CALIBRATED, 2e-3));
  assert_true(is_calm(KP_SPH_VISCOSITY_FRACTIONAL, KP_SPH_FRACTIONAL_RAW, 5e-3));
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_limits) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

// The largest step, to 4 %, whose kinetic energy stays below ten times that of a small one.
static double largest_step(const cavity *c, double viscosity, double small) {
  double limit = 10.0 * cavity_energy(c, viscosity, small);
  double low = small;
  double high = small;
  while (high < 0.1 && cavity_energy(c, viscosity, high) < limit) {
    low = high;
    high *= 1.6;
  }
  while (high > 1.04 * low) {
    double mid = sqrt(low * high);
    bool is_stable = cavity_energy(c, viscosity, mid) < limit;
    low = is_stable ? mid : low;
    high = is_stable ? high : mid;
  }
  return low;
}

static const struct {
  const char *name, *id;
  cavity c;
  double theory;  // limit over that of plain viscosity, by the roots of the recursion; 0: none
} rows[] = {
  { "calibrated, 10 steps", "ozgen-13", { 2, 0, 0, 0.5, 10 }, 3.39 },
  { "raw, 10 steps", "ozgen-13-raw", { 2, 1, 0, 0.5, 10 }, 0.0 },
  { "interior end", NULL, { 2, 0, 1, 0.5, 10 }, 3.10 },
  { "3 steps", NULL, { 2, 0, 0, 0.5, 3 }, 1.155 },
  { "20 steps", NULL, { 2, 0, 0, 0.5, 20 }, 5.66 },
  { "order 0.8", NULL, { 2, 0, 0, 0.8, 10 }, 2.415 },
  { "order 0.2", NULL, { 2, 0, 0, 0.2, 10 }, 0.276 },
};

static void test_largest_steps(void **state) {
  (void)state;
  check_that_viscosity_rules();
  cavity c = { KP_SPH_VISCOSITY_LAPLACIAN, 0, 0, 0.5, 10 };
  double plain = largest_step(&c, VISCOSITY, viscous_limit());
  print_message("  %-22s stable to %.3g s\n", "plain", plain);
  for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
    // an even memory allows less than none
    double start = rows[k].theory > 0.0 && rows[k].theory < 1.0 ? 0.2 : 1.0;
    double at = largest_step(&rows[k].c, VISCOSITY, start * viscous_limit());
    double ratio = at / plain;
    print_message("  %-22s stable to %.3g s, %.2f times plain, by theory %.2f\n", rows[k].name, at,
                  ratio, rows[k].theory);
    // with 20 steps of memory sound is near
    double off = rows[k].theory > 0.0 ? fabs(ratio / rows[k].theory - 1.0) : 0.0;
    assert_true(off < 0.15);
    if (rows[k].id != NULL) {
      kp_claim claim = { .id = rows[k].id,
                         .text = "fractional viscosity allows a step at least twice as large",
                         .size = "lid-driven cavity, 20 x 20 particles, Re 0.5, 2 s, bisection to "
                                 "4 %" };
      kp_claim_status status = kp_claim_all(
          &claim, { "largest stable step over that of plain viscosity", ratio, KP_AT_LEAST, 2.0 },
          { "off the ratio that the roots of the recursion say", off, KP_LESS, 0.15 },
          { "viscous limit over that of sound", viscous_limit() / sound_limit(), KP_LESS, 0.3 });
      assert_int_equal(status, KP_CLAIM_CONFIRMED);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_largest_steps) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}

#endif
