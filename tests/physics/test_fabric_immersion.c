// Forces of water on cloth, each alone (Ozgen 2013, Eqs. 3.1 to 3.4): buoyancy, currents, drag
// along the velocity, drag that remembers, springs that do.
#include <math.h>
#include <stdio.h>

#include "base/memory.h"

#include "support/claims.h"
#include "support/cloths.h"

static kp_vec3 vec(double x, double y, double z) {
  return kp_vec3_make(x, y, z);
}

#define SPACING 0.04

// Water that holds the cloth "sheet".
static kp_immersion_def pool_of_sheet(void) {
  kp_immersion_def pool = kp_default_immersion_def();
  snprintf(pool.name, sizeof pool.name, "pool");
  snprintf(pool.of, sizeof pool.of, "sheet");
  return pool;
}

static kp_test_cloth weightless(const kp_cloth_def *sheet) {
  kp_test_cloth c = kp_test_cloth_make(sheet, 1e-3);
  c.gravity = 0.0;
  return c;
}

// Eq. 3.1: a free cloth without drag falls with g (1 - rho_w/rho_c); with added mass slower.
static void test_buoyancy(void **state) {
  (void)state;
  double off = 0.0;
  for (int added = 0; added < 2; ++added) {
    kp_cloth_def sheet = kp_test_towel(4, 4, SPACING);
    kp_test_cloth c = kp_test_cloth_make(&sheet, 1e-3);
    kp_immersion_def pool = pool_of_sheet();
    pool.drag = pool.memory_drag = 0.0;
    pool.added_mass = added;
    c.water = &pool;
    kp_world *world = kp_test_cloth_world(&c);
    kp_test_steps(world, 200);
    kp_population_stats s = kp_test_stats(world, "sheet");
    double net = 9.81 * (1.0 - 1000.0 / 1100.0) / (1.0 + added * 1000.0 / 1100.0);
    off = kp_test_most(off, fabs(s.momentum.y / s.mass / (-net * 0.2) - 1.0));
    kp_world_destroy(&world);
  }
  kp_claim claim = { .id = "ozgen-O7",
                     .text = "cloth falls with the net weight of Eq. 3.1: speed, relative error",
                     .size = "free cloth of 5 x 5 nodes, 0.2 s, with and without added mass",
                     .figure = off,
                     .threshold = 1e-4 };
  assert_int_equal(kp_claim_at_most(&claim), KP_CLAIM_CONFIRMED);
}

// Eq. 3.2: a free cloth that drag alone slows, thrown askew to its plane. Its speed falls as
// exp(-k t/m), and the velocity keeps its direction: drag is along it and not along the normal.
static void test_viscous_drag(void **state) {
  (void)state;
  kp_cloth_def sheet = kp_test_towel(4, 4, SPACING);
  sheet.velocity = vec(0.2, 0.1, 0.3);
  kp_test_cloth c = weightless(&sheet);
  kp_immersion_def pool = pool_of_sheet();
  pool.drag = 1.0;
  pool.memory_drag = 0.0;
  c.water = &pool;
  kp_world *world = kp_test_cloth_world(&c);
  kp_test_steps(world, 400);
  kp_population_stats s = kp_test_stats(world, "sheet");
  kp_vec3 v = kp_vec3_scale(s.momentum, 1.0 / s.mass);
  double speed = kp_vec3_length(v), rate = pool.drag / sheet.density;
  double left = kp_vec3_length(sheet.velocity) * exp(-rate * 0.4);
  double askew =
      kp_vec3_length(kp_vec3_cross(v, sheet.velocity)) / (speed * kp_vec3_length(sheet.velocity));
  print_message("drag %.2f/s: %.4f m/s after 0.4 s, exactly %.4f; %.1e askew\n", rate, speed, left,
                askew);
  kp_claim claim = { .id = "ozgen-O9",
                     .text = "viscous drag is along the velocity and in proportion to it (Eq. 3.2)",
                     .size = "free cloth of 5 x 5 nodes thrown askew, 0.4 s, h = 1 ms" };
  kp_claim_status status = kp_claim_all(
      &claim, { "speed against exp(-k t/m), relative", fabs(speed / left - 1.0), KP_AT_MOST, 0.01 },
      { "sine of the angle by which the velocity has turned", askew, KP_AT_MOST, 1e-5 },
      { "share of the speed that drag has taken", 1.0 - exp(-rate * 0.4), KP_AT_LEAST, 0.2 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
  kp_world_destroy(&world);
}

// A free cloth in a steady current takes its velocity, and feels nothing once it has it.
static void test_current(void **state) {
  (void)state;
  kp_cloth_def sheet = kp_test_towel(4, 4, SPACING);
  sheet.velocity = vec(0.2, 0, 0.1);
  kp_test_cloth c = weightless(&sheet);
  kp_immersion_def pool = pool_of_sheet();
  pool.current = kp_curve_constant3(vec(0.2, 0, 0.1));
  c.water = &pool;
  kp_world *world = kp_test_cloth_world(&c);
  kp_test_steps(world, 100);
  kp_population_stats s = kp_test_stats(world, "sheet");
  double felt = fabs(s.momentum.x / s.mass - 0.2) + fabs(s.momentum.y / s.mass);
  kp_world_destroy(&world);
  pool.current = kp_curve_constant3(vec(0, 0.5, 0));
  c.water = &pool;
  c.sheet.velocity = vec(0, 0, 0);
  world = kp_test_cloth_world(&c);
  kp_test_until(world, 10.0, 1.0);
  s = kp_test_stats(world, "sheet");
  kp_claim claim = { .id = "ozgen-O8",
                     .text = "a current carries the cloth, which then feels nothing of it",
                     .size = "free cloth of 5 x 5 nodes, current of 0.5 m/s for 10 s" };
  kp_claim_status status = kp_claim_all(
      &claim,
      { "speed across the current after 10 s, off by [m/s]", fabs(s.momentum.y / s.mass - 0.5),
        KP_AT_MOST, 0.02 },
      { "change of a cloth that moves with the current [m/s]", felt, KP_AT_MOST, 1e-6 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
  kp_world_destroy(&world);
}

// v' = -k/m D^(1/2) x of a free cloth thrown along z: the speed after n steps of h, by a twin of
// one number with the weights of Eq. 4.7.
static double thrown(double v0, double rate, double h, int n) {
  double v[128] = { v0 };
  kp_frac_table table;
  double w[128];
  assert_ok(
      kp_frac_table_make((kp_frac_rule){ KP_FRAC_TRAPEZOID, KP_FRAC_WINDOW, 0.5, n }, &table));
  for (int k = 0; k < n; ++k) {
    double half = 0.0;
    kp_frac_table_weights(&table, k, h, w);
    for (int age = 0; age <= k; ++age) {
      half += w[age] * v[k - age];
    }
    v[k + 1] = v[k] - h * rate * half;
  }
  kp_frac_table_free(&table);
  return v[n];
}

// Eq. 3.3 is no more than that drag: speeds against the twin, and their direction.
static void test_history_drag_of_a_throw(void **state) {
  (void)state;
  enum { N = 100 };
  kp_cloth_def sheet = kp_test_towel(3, 3, SPACING);
  sheet.velocity = vec(0.1, 0, 0.3);
  kp_test_cloth c = weightless(&sheet);
  kp_immersion_def pool = pool_of_sheet();
  pool.drag = 0.0;
  pool.memory_drag = 4.0;
  pool.window = KP_WINDOW_STEPS;
  pool.steps = N;
  c.water = &pool;
  kp_world *world = kp_test_cloth_world(&c);
  kp_test_steps(world, N);
  kp_population_stats s = kp_test_stats(world, "sheet");
  kp_vec3 v = kp_vec3_scale(s.momentum, 1.0 / s.mass);
  double before = kp_vec3_length(sheet.velocity);
  double twin = thrown(before, pool.memory_drag / sheet.density, 1e-3, N);
  double off = fabs(kp_vec3_length(v) / twin - 1.0);
  print_message("history drag: %.4f of %.4f m/s left, %.1e from the twin\n", kp_vec3_length(v),
                before, off);
  kp_claim claim = { .id = "ozgen-O10",
                     .text = "history drag is k D^(1/2) x along the velocity (Eq. 3.3)",
                     .size =
                         "free cloth of 4 x 4 nodes, 100 steps of 1 ms, memory of all of them" };
  kp_claim_status status = kp_claim_all(
      &claim, { "speed against a twin of one number, relative", off, KP_AT_MOST, 1e-4 },
      { "share of the speed that drag has taken", 1.0 - twin / before, KP_AT_LEAST, 0.2 },
      { "turn of the velocity", fabs(v.x / v.z - 1.0 / 3.0), KP_AT_MOST, 1e-4 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
  kp_world_destroy(&world);
}

// A node that moves steadily is slowed by k S v: one step against the sum by hand, in all windows.
static void test_history_drag(void **state) {
  (void)state;
  const int windows[] = { KP_WINDOW_STEPS, KP_WINDOW_SECONDS, KP_WINDOW_FULL };
  for (int k = 0; k < 3; ++k) {
    kp_cloth_def sheet = kp_test_towel(3, 3, SPACING);
    sheet.velocity = vec(0, 0, 0.3);
    kp_test_cloth c = weightless(&sheet);
    kp_immersion_def pool = pool_of_sheet();
    pool.drag = 0.0;
    pool.memory_drag = 1e-6;  // too weak to change anything
    pool.window = windows[k];
    pool.steps = 8;
    pool.memory = 0.02;
    pool.samples = 20;
    c.water = &pool;
    kp_world *world = kp_test_cloth_world(&c);
    kp_test_steps(world, 41);  // the last one begins at t = 0.04
    const kp_deform *d = kp_test_deform(world);
    const kp_immersion *w = d->fabric->waters.data[0];
    double reach = k == 0 ? 0.008 : k == 1 ? 0.02 : 0.04;
    double wanted = kp_frac_gain(0.5, reach);
    assert_near_relative(w->gain, wanted, 1e-9);
    double *half = kp_test_field(world, "pool.past", "half", 2);
    for (int i = 0; i < 16; ++i) {
      assert_near_relative(half[i], 0.3 * wanted, k == 2 ? 5e-3 : 1e-5);
    }
    kp_free(half);
    kp_world_destroy(&world);
  }
}

// Eq. 3.4 acts along the spring and both ways alike: momentum stays, and a memory as long as the
// run still conserves it (claim 27).
static void test_momentum(void **state) {
  (void)state;
  kp_cloth_def sheet = kp_test_towel(10, 10, SPACING);
  kp_test_cloth c = kp_test_cloth_make(&sheet, 1e-3);
  c.gravity = 0.0;
  kp_immersion_def pool = pool_of_sheet();
  pool.drag = pool.memory_drag = 0.0;
  c.water = &pool;
  kp_world *world = kp_test_cloth_world(&c);
  kp_set *set = kp_test_deform(world)->set;
  for (int k = 0; k < 3; ++k) {
    kp_real *v = kp_buffer_host(&set->velocity->buffers[k], KP_ACCESS_WRITE);
    for (int64_t i = 0; i < set->space->n; ++i) {
      v[i] = (kp_real)(0.3 * sin(12.9898 * (double)i + 78.233 * k));
    }
  }
  kp_population_stats before = kp_test_stats(world, "sheet");
  kp_test_steps(world, 200);
  kp_population_stats after = kp_test_stats(world, "sheet");
  double drift = kp_vec3_length(kp_vec3_sub(after.momentum, before.momentum)) / (before.mass * 0.3);
  assert_true(after.kinetic_energy < 0.5 * before.kinetic_energy);
  kp_claim claim = { .id = "ozgen-27-cloth",
                     .text = "fractional springs (Eq. 3.4) conserve momentum: drift over m v",
                     .size = "free cloth of 11 x 11 nodes, 200 steps, memory of all of them",
                     .figure = drift,
                     .threshold = KP_TOL(2e-5, 1e-13) };
  assert_int_equal(kp_claim_at_most(&claim), KP_CLAIM_CONFIRMED);
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_buoyancy),
    cmocka_unit_test(test_current),
    cmocka_unit_test(test_viscous_drag),
    cmocka_unit_test(test_history_drag),
    cmocka_unit_test(test_history_drag_of_a_throw),
    cmocka_unit_test(test_momentum),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
