// Grains in SPH liquids: what one side loses the other gains, and a grain
// sinks or rises as fast as Stokes, Schiller & Naumann say.
#include <math.h>
#include <stdio.h>

#include "couple/fluid_grains.h"

#include "support/claims.h"
#include "support/worlds.h"

#define PI 3.14159265358979323846

static kp_grains_def sand(const char *name, kp_vec3 lo, kp_vec3 hi, double spacing) {
  kp_grains_def def = kp_default_grains_def();
  snprintf(def.name, sizeof def.name, "%s", name);
  def.shape = kp_test_box(lo, hi);
  def.spacing = spacing;
  def.contact_time = 4e-3;
  return def;
}

static double read_one(kp_world *world, const char *set, const char *field, int c) {
  double value;
  assert_ok(kp_world_read(world, set, field, c, &value, 1));
  return value;
}

// ---- balance ------------------------------------------------------------------------------------

static void add_momentum(kp_world *world, double p[3], double *size) {
  for (int k = 0; k < kp_world_n_populations(world); ++k) {
    kp_population_stats stats;
    assert_ok(kp_world_stats(world, k, &stats));
    p[0] += stats.momentum.x;
    p[1] += stats.momentum.y;
    p[2] += stats.momentum.z;
    *size += sqrt(2.0 * stats.kinetic_energy * stats.mass);
  }
}

static void check_balance(int dimension, int density_form, const char *backend) {
  double z = dimension == 3 ? 0.2 : 0.0;
  kp_test_settings s =
      kp_test_settings_make(dimension, kp_vec3_make(0, 0, 0), kp_vec3_make(0.2, 0.2, z));
  s.backend = backend;
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.domain.boundary_x = s.domain.boundary_y = s.domain.boundary_z = KP_BOUNDARY_PERIODIC;
  s.sph.density = density_form;
  s.sph.pressure = density_form;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(0.2, 0.2, z), 0.02);
  water.viscosity = 1.0;
  water.sound_speed = 10.0;
  kp_grains_def grains = sand("sand", kp_vec3_make(0, 0, 0), kp_vec3_make(0.2, 0.2, z), 0.02);
  grains.radius = 0.006;
  grains.size_ratio = 0.4;
  grains.velocity = kp_vec3_make(0.3, 0.1, 0);
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_add_grains(world, &grains));
  assert_ok(kp_world_build(world));
  kp_test_stir(world, "water", 0.2, 5);
  double before[3] = { 0 };
  double after[3] = { 0 };
  double size = 0.0;
  double unused = 0.0;
  double fast = read_one(world, "sand", "velocity", 0);
  add_momentum(world, before, &size);
  kp_test_steps(world, 150);
  add_momentum(world, after, &unused);
  for (int c = 0; c < 3; ++c) {
    assert_near(after[c], before[c], KP_TOL(2e-5, 1e-12) * size);
  }
  // the liquid has slowed the grains down: something was exchanged
  double mean = 0.0;
  kp_population_stats stats;
  for (int k = 0; k < kp_world_n_populations(world); ++k) {
    assert_ok(kp_world_stats(world, k, &stats));
    if (stats.name[0] == 's') {
      mean += stats.momentum.x / stats.mass / 2.0;
    }
  }
  assert_true(mean < 0.9 * fast && mean > 0.0);
  kp_world_destroy(&world);
}

static void test_momentum(void **state) {
  (void)state;
  check_balance(3, 1, "cpu");
  check_balance(3, 0, "cpu");
  check_balance(2, 1, "cpu");
  check_balance(2, 1, "mirror");
}

// ---- settling -----------------------------------------------------------------------------------

// Terminal velocity by fixed point of the drag law.
static double terminal(double radius, double solid, double liquid, double mu) {
  double weight = 4.0 / 3.0 * PI * pow(radius, 3.0) * (solid - liquid) * 9.81;
  double v = 1e-6;
  for (int k = 0; k < 200; ++k) {
    double re = 2.0 * radius * liquid * fabs(v) / mu;
    double next = weight / (6.0 * PI * mu * radius * (1.0 + 0.15 * pow(re, 0.687)));
    v = 0.5 * (v + next);
  }
  return v;
}

// A grain let go in a tank that has come to rest: its mean speed from `from` to `to` seconds after
// that, through the liquid around it and in the tank.
typedef struct descent {
  double relative, absolute;
} descent;

#define CALM 0.4  // s

static kp_world *make_tank(double radius, double density, double mu) {
  kp_test_settings s =
      kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(0.08, 0.16, 0.08));
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(0.08, 0.14, 0.08), 0.01);
  water.viscosity = mu;
  water.sound_speed = 12.0;
  kp_grains_def grain = sand("grain", kp_vec3_make(0, 0, 0), kp_vec3_make(0, 0, 0), 2 * radius);
  grain.density = density;
  grain.empty = true;
  kp_emitter_def hand = kp_default_emitter_def();
  snprintf(hand.name, sizeof hand.name, "hand");
  snprintf(hand.into, sizeof hand.into, "grain");
  hand.position = kp_curve_constant3(kp_vec3_make(0.04, density > 1000.0 ? 0.1 : 0.05, 0.04));
  hand.radius = 0.1 * radius;
  hand.speed = kp_curve_constant(1e-3);
  hand.start = CALM;
  hand.limit = 1;
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_add_grains(world, &grain));
  assert_ok(kp_world_add_emitter(world, &hand));
  assert_ok(kp_world_build(world));
  return world;
}

static descent sink(double radius, double density, double mu, double from, double to) {
  kp_world *world = make_tank(radius, density, mu);
  assert_ok(kp_world_advance(world, CALM + from, NULL));
  descent mean = { 0 };
  double seconds = 0.0;
  while (seconds < to - from) {
    kp_step_report report;
    assert_ok(kp_world_step(world, 1.0, &report));
    double v = read_one(world, "grain", "velocity", 1);
    double share = read_one(world, "grain", "fluid_flow", 0);
    double u = read_one(world, "grain", "fluid_flow", 2) / share;
    mean.relative += report.dt * (u - v);
    mean.absolute -= report.dt * v;
    seconds += report.dt;
  }
  kp_world_destroy(&world);
  return (descent){ mean.relative / seconds, mean.absolute / seconds };
}

static void test_settling(void **state) {
  (void)state;
  // the last one rises
  const struct {
    double radius, density, mu, from, to;
  } cases[] = { { 0.002, 2500, 0.5, 0.05, 0.4 },
                { 0.004, 2500, 0.3, 0.1, 0.35 },
                { 0.003, 600, 0.3, 0.05, 0.4 } };
  double worst = 0.0;
  for (int k = 0; k < 3; ++k) {
    double wanted = terminal(cases[k].radius, cases[k].density, 1000.0, cases[k].mu);
    descent got = sink(cases[k].radius, cases[k].density, cases[k].mu, cases[k].from, cases[k].to);
    double re = 2.0 * cases[k].radius * 1000.0 * fabs(wanted) / cases[k].mu;
    print_message("  Re = %.2f: %.5f m/s through the liquid, %.5f in the tank, wanted %.5f\n", re,
                  got.relative, got.absolute, wanted);
    worst = kp_test_most(worst, fabs(got.relative / wanted - 1.0));
  }
  kp_claim claim = { .id = "kelpie-grains-settling",
                     .text = "a grain sinks or rises through liquid as Schiller and Naumann say",
                     .size = "three grains in a tank of 900 particles, Re = 0.2 to 4" };
  kp_claim_all(&claim,
               { "relative error of the speed through the liquid", worst, KP_AT_MOST, 0.05 });
  assert_true(worst < 0.05);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_momentum),
    cmocka_unit_test(test_settling),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
