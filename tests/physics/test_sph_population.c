// What comes, what goes, and what happens when a run goes wrong.
#include <math.h>
#include <stdio.h>

#include "support/worlds.h"

#define DX 0.02

static kp_emitter_def make_emitter(const char *into, kp_vec3 at, kp_vec3 direction, double speed) {
  kp_emitter_def e = kp_default_emitter_def();
  snprintf(e.name, sizeof e.name, "nozzle");
  snprintf(e.into, sizeof e.into, "%s", into);
  e.position = kp_curve_constant3(at);
  e.direction = direction;
  e.radius = 2.2 * DX;
  e.speed = kp_curve_constant(speed);
  return e;
}

// ---- emission -----------------------------------------------------------------------------------

// A world that only an emitter fills: count, mass and rate of the jet in free flight.
static void test_emitter_only(void **state) {
  (void)state;
  for (int dimension = 2; dimension <= 3; ++dimension) {
    kp_test_settings s =
        kp_test_settings_make(dimension, kp_vec3_make(0, 0, 0), kp_vec3_make(2, 1, 1));
    s.simulation.gravity = kp_vec3_make(0, 0, 0);
    kp_world *world = kp_test_world(&s);
    kp_liquid_def water = kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(0, 0, 0), DX);
    water.empty = true;
    assert_ok(kp_world_add_liquid(world, &water));
    kp_emitter_def e = make_emitter("water", kp_vec3_make(0.2, 0.5, dimension == 2 ? 0.0 : 0.5),
                                    kp_vec3_make(1, 0, 0), 1.5);
    assert_ok(kp_world_add_emitter(world, &e));
    assert_ok(kp_world_build(world));
    assert_int_equal(kp_world_count(world, "water"), 0);
    kp_step_report report;
    assert_ok(kp_world_advance(world, 0.4, &report));
    int64_t n = kp_world_count(world, "water");
    double area = dimension == 2 ? 4.4 * DX : 3.14159265358979323846 * pow(2.2 * DX, 2.0);
    double expected = 0.4 * 1.5 * area / pow(DX, dimension);
    print_message("  %dD: %lld particles, %.1f expected\n", dimension, (long long)n, expected);
    // the last sub-step's are still to come
    assert_between((double)n, 0.98 * expected - 2.0, expected + 2.0);
    assert_int_equal(report.n_emitted, n);
    kp_test_sums sums = kp_test_sums_of(world);
    assert_near_relative(sums.mass, (double)n * kp_test_fluid(world, "water")->medium.mass, 1e-12);
    // rho A v t
    assert_near_relative(sums.mass, 1000.0 * area * 1.5 * 0.4, 0.03);
    assert_near_relative(sums.momentum.x / sums.mass, 1.5, 0.02);
    kp_world_destroy(&world);
  }
}

static void test_emitter_stops_at_its_limit(void **state) {
  (void)state;
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(2, 1, 1));
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water = kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(0, 0, 0), DX);
  water.empty = true;
  assert_ok(kp_world_add_liquid(world, &water));
  kp_emitter_def e = make_emitter("water", kp_vec3_make(1, 0.8, 0), kp_vec3_make(0, -1, 0), 1.0);
  e.limit = 33;
  assert_ok(kp_world_add_emitter(world, &e));
  assert_ok(kp_world_build(world));
  assert_ok(kp_world_advance(world, 0.5, NULL));
  assert_int_equal(kp_world_count(world, "water"), 33);
  kp_world_destroy(&world);
}

// A slot 8 spacings wide and 3 high, level: 8 x 3 particles in the time of a spacing, side by side
// along z.
static void test_rectangle(void **state) {
  (void)state;
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(2, 1, 1));
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water = kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(0, 0, 0), DX);
  water.empty = true;
  assert_ok(kp_world_add_liquid(world, &water));
  kp_emitter_def e = make_emitter("water", kp_vec3_make(0.2, 0.5, 0.5), kp_vec3_make(1, 0, 0), 1.0);
  e.width = 8.0 * DX;
  e.height = 3.0 * DX;
  e.stop = DX;
  assert_ok(kp_world_add_emitter(world, &e));
  assert_ok(kp_world_build(world));
  assert_ok(kp_world_advance(world, 1.5 * DX, NULL));
  assert_int_equal(kp_world_count(world, "water"), 24);
  kp_population_stats layer;
  assert_ok(kp_world_stats(world, 0, &layer));
  assert_near(layer.bounds.max.z - layer.bounds.min.z, 7.0 * DX, 0.02 * DX);
  assert_near(layer.bounds.max.y - layer.bounds.min.y, 2.0 * DX, 0.02 * DX);
  assert_near(0.5 * (layer.bounds.max.z + layer.bounds.min.z), 0.5, 0.01 * DX);
  kp_world_destroy(&world);
}

// A nozzle in the middle of a tank that is full: nothing overlaps with what is there, and without
// the check it would.
static void test_only_free(void **state) {
  (void)state;
  for (int only_free = 0; only_free < 2; ++only_free) {
    kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1));
    kp_world *world = kp_test_world(&s);
    kp_liquid_def water =
        kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(1, 0.5, 0), DX);
    assert_ok(kp_world_add_liquid(world, &water));
    kp_emitter_def under =
        make_emitter("water", kp_vec3_make(0.51, 0.25, 0), kp_vec3_make(0, 1, 0), 1.0);
    under.only_free = only_free;
    assert_ok(kp_world_add_emitter(world, &under));
    kp_emitter_def above = under;
    snprintf(above.name, sizeof above.name, "above");
    above.position.constant[1] = 0.8;
    above.limit = 5;
    assert_ok(kp_world_add_emitter(world, &above));
    assert_ok(kp_world_build(world));
    int64_t before = kp_world_count(world, "water");
    assert_ok(kp_world_advance(world, 1.1 * DX, NULL));
    // what has room comes in either case
    int64_t more = kp_world_count(world, "water") - before;
    print_message("  %lld particles\n", (long long)more);
    assert_between((double)more, only_free ? 5 : 9, only_free ? 5 : 11);
    kp_world_destroy(&world);
  }
}

// ---- removal ------------------------------------------------------------------------------------

static void test_sink_and_open_faces_remove(void **state) {
  (void)state;
  // gravity pulls a block through the open floor
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1));
  s.domain.boundary_y = KP_BOUNDARY_OPEN;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0.4, 0.2, 0), kp_vec3_make(0.6, 0.4, 1), DX);
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  kp_step_report report;
  assert_ok(kp_world_advance(world, 0.6, &report));
  assert_int_equal(kp_world_count(world, "water"), 0);
  assert_int_equal(report.n_removed, 100);
  kp_world_destroy(&world);

  // a sink at the floor of a closed tank
  s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1));
  world = kp_test_world(&s);
  assert_ok(kp_world_add_liquid(world, &water));
  kp_sink_def sink = kp_default_sink_def();
  snprintf(sink.name, sizeof sink.name, "drain");
  sink.shape = kp_test_box(kp_vec3_make(-1, -1, -1), kp_vec3_make(2, 0.1, 1));
  assert_ok(kp_world_add_sink(world, &sink));
  assert_ok(kp_world_build(world));
  assert_ok(kp_world_advance(world, 0.6, NULL));
  assert_int_equal(kp_world_count(world, "water"), 0);
  // a world that ran dry goes on
  assert_ok(kp_world_advance(world, 0.1, NULL));
  kp_world_destroy(&world);
}

static void test_liquid_in_solid_is_trimmed(void **state) {
  (void)state;
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1));
  s.sph.wall = KP_SPH_WALL_SPH;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water = kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(1, 0.4, 1), DX);
  assert_ok(kp_world_add_liquid(world, &water));
  kp_collider_def rock = kp_default_collider_def();
  snprintf(rock.name, sizeof rock.name, "rock");
  rock.shape = kp_test_ball(kp_vec3_make(0.5, 0.2, 0), 0.1);
  assert_ok(kp_world_add_collider(world, &rock));
  kp_test_log_begin();
  assert_ok(kp_world_build(world));
  assert_holds(kp_test_log_end(), "inside solids were left out");
  assert_between((double)kp_world_count(world, "water"), 860, 930);
  assert_ok(kp_world_advance(world, 0.2, NULL));
  // it starts in peace: falling freely for that long would give 2 m/s
  assert_between(kp_test_fluid(world, "water")->medium.max_speed, 0.0, 1.0);
  kp_world_destroy(&world);
}

// ---- trouble ------------------------------------------------------------------------------------

// A step many times too long: particles fly apart until numbers end.
static kp_world *make_explosion(int policy, int64_t retries) {
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1));
  s.simulation.dt = 0.02;
  s.simulation.policy = policy;
  s.simulation.retries = retries;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(0.3, 0.3, 1), DX);
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  return world;
}

static void test_trouble_stops(void **state) {
  (void)state;
  kp_world *world = make_explosion(KP_POLICY_STOP, 0);
  assert_fails(KP_ERROR_PHYSICS, "at t = ", kp_world_advance(world, 10.0, NULL));
  kp_world_destroy(&world);
}

static void test_trouble_is_retried(void **state) {
  (void)state;
  kp_world *world = make_explosion(KP_POLICY_RETRY, 10);
  kp_step_report report;
  kp_test_log_begin();
  assert_ok(kp_world_advance(world, 1.0, &report));
  assert_holds(kp_test_log_end(), "half the step");
  print_message("  %lld halvings\n", (long long)report.retries);
  assert_true(report.retries > 0);
  assert_near(kp_world_time(world), 1.0, 1e-12);
  kp_world_destroy(&world);
}

static void test_trouble_is_only_told(void **state) {
  (void)state;
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1));
  s.simulation.policy = KP_POLICY_WARN;
  s.simulation.dt_min = 0.005;  // longer than sound allows
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(0.3, 0.3, 1), DX);
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  kp_test_log_begin();
  assert_ok(kp_world_advance(world, 0.01, NULL));
  assert_holds(kp_test_log_end(), "below dt_min");
  assert_near(kp_world_time(world), 0.01, 1e-12);
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_emitter_only),
    cmocka_unit_test(test_emitter_stops_at_its_limit),
    cmocka_unit_test(test_rectangle),
    cmocka_unit_test(test_only_free),
    cmocka_unit_test(test_sink_and_open_faces_remove),
    cmocka_unit_test(test_liquid_in_solid_is_trimmed),
    cmocka_unit_test(test_trouble_stops),
    cmocka_unit_test(test_trouble_is_retried),
    cmocka_unit_test(test_trouble_is_only_told),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
