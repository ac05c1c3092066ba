// Bodies in liquids: momentum of a free body hit by a blob, draught of a floating box, bodies that
// start inside each other.
#include <math.h>
#include <stdio.h>

#include "support/claims.h"
#include "support/worlds.h"

#define DX 0.02

static kp_body_def body_box(const char *name, kp_vec3 lo, kp_vec3 hi, double density) {
  kp_body_def body = kp_default_body_def();
  snprintf(body.name, sizeof body.name, "%s", name);
  body.shape = kp_test_box(lo, hi);
  body.density = density;
  return body;
}

// ---- momentum -----------------------------------------------------------------------------------

static kp_world *make_impact(int dimension, int wall, int pressure) {
  kp_test_settings s =
      kp_test_settings_make(dimension, kp_vec3_make(-9, -9, -9), kp_vec3_make(9, 9, 9));
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.sph.domain_walls = 1;
  s.sph.wall = wall;
  s.sph.pressure = pressure;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water = kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(0, 0, 0), DX);
  water.shape = kp_test_ball(kp_vec3_make(0, 0.01, 0), 5.0 * DX);
  water.velocity = kp_vec3_make(1.0, 0, 0);
  water.sound_speed = 10.0;
  assert_ok(kp_world_add_liquid(world, &water));
  double half = dimension == 2 ? 0.06 : 0.05;
  kp_body_def block =
      body_box("block", kp_vec3_make(0.16, -half, -half), kp_vec3_make(0.28, half, half), 500.0);
  assert_ok(kp_world_add_body(world, &block));
  assert_ok(kp_world_build(world));
  return world;
}

static void test_free_body_momentum(void **state) {
  (void)state;
  double worst = 0.0, slowest = HUGE_VAL;
  for (int dimension = 2; dimension <= 3; ++dimension) {
    for (int wall = KP_SPH_WALL_MIRROR; wall <= KP_SPH_WALL_DEM; ++wall) {
      kp_world *world = make_impact(dimension, wall, wall == KP_SPH_WALL_MIRROR ? 0 : 1);
      kp_test_sums before = kp_test_sums_of(world);
      kp_test_steps(world, 200);
      kp_test_sums after = kp_test_sums_of(world);
      double drift = kp_vec3_length(kp_vec3_sub(after.momentum, before.momentum)) / before.size;
      double turn =
          kp_vec3_length(kp_vec3_sub(after.angular, before.angular)) / (before.size * 0.2);
      kp_vec3 hit = kp_bodies_frame(world->bodies, 0).velocity;
      print_message(
          "  %dD wall %d: drift %.1e, angular %.1e, body at %.3f m/s, energy %.3f of the start\n",
          dimension, wall, drift, turn, hit.x, after.kinetic_energy / before.kinetic_energy);
      worst = kp_test_most(worst, drift);
      slowest = kp_test_least(slowest, hit.x);
      assert_between(drift, 0.0, KP_TOL(1e-5, 1e-10));
      assert_between(hit.x, 0.05, 1.5);
      assert_between(after.kinetic_energy / before.kinetic_energy, 0.0, 1.05);
      kp_world_destroy(&world);
    }
  }
  kp_claim claim = { .id = "kelpie-rigid-momentum",
                     .text = "a free body hit by SPH keeps the total momentum",
                     .size = "blobs of 80 and 500 particles, 200 steps, four wall laws" };
  kp_claim_all(&claim, { "drift over the sum of m v", worst, KP_AT_MOST, KP_TOL(1e-5, 1e-10) },
               { "speed of the body after the hit [m/s]", slowest, KP_AT_LEAST, 0.05 });
}

// ---- floating -----------------------------------------------------------------------------------

static void test_floating_box(void **state) {
  (void)state;
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1.0, 0.8, 1));
  s.sph.wall = KP_SPH_WALL_SPH;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(1.0, 0.4, 1), DX);
  water.viscosity = 4.0;
  assert_ok(kp_world_add_liquid(world, &water));
  // half as heavy as water: floats with half its height below the surface
  kp_body_def raft =
      body_box("raft", kp_vec3_make(0.32, 0.31, -1), kp_vec3_make(0.68, 0.51, 1), 500.0);
  assert_ok(kp_world_add_body(world, &raft));
  assert_ok(kp_world_build(world));
  double area = kp_test_sums_of(world).mass / 1000.0 - 0.5 * 0.36 * 0.2;
  assert_ok(kp_world_advance(world, 2.5, NULL));
  double height = 0.0;
  for (int k = 0; k < 20; ++k) {
    assert_ok(kp_world_advance(world, 0.025, NULL));
    height += kp_bodies_frame(world->bodies, 0).position.y / 20.0;
  }
  // still surface: volume of water and of the part of the raft below it
  double surface = area / 1.0 + 0.5 * 0.36 * 0.2;
  double draught = (surface - (height - 0.1)) / 0.2;
  print_message("  draught %.3f of the raft's height (0.5 in theory)\n", draught);
  assert_between(draught, 0.4, 0.6);
  kp_claim claim = { .id = "kelpie-floating-body",
                     .text = "a box of half the density of water floats half below",
                     .size = "about 900 particles in 2D, viscosity 4 Pa s" };
  kp_claim_all(&claim, { "draught off half the height", fabs(draught - 0.5), KP_AT_MOST, 0.10 });
  kp_world_destroy(&world);
}

// ---- overlaps -----------------------------------------------------------------------------------

static void test_overlapping_bodies_separate(void **state) {
  (void)state;
  for (int dimension = 2; dimension <= 3; ++dimension) {
    kp_test_settings s =
        kp_test_settings_make(dimension, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1));
    s.simulation.gravity = kp_vec3_make(0, 0, 0);
    s.simulation.dt_max = 0.002;
    kp_world *world = kp_test_world(&s);
    kp_body_def a = body_box("a", kp_vec3_make(0.3, 0.4, 0.4), kp_vec3_make(0.5, 0.6, 0.6), 500.0);
    kp_body_def b =
        body_box("b", kp_vec3_make(0.45, 0.4, 0.4), kp_vec3_make(0.65, 0.6, 0.6), 500.0);
    if (dimension == 2) {
      a.shape.min.z = b.shape.min.z = -1;
    }
    a.spacing = b.spacing = 0.04;
    // a world needs something that flows; this drop stays far away
    kp_liquid_def drop =
        kp_test_liquid("drop", kp_vec3_make(0, 0, 0), kp_vec3_make(0.1, 0.1, 0.1), 0.05);
    drop.sound_speed = 5.0;
    assert_ok(kp_world_add_liquid(world, &drop));
    assert_ok(kp_world_add_body(world, &a));
    assert_ok(kp_world_add_body(world, &b));
    kp_test_log_begin();
    assert_ok(kp_world_build(world));
    assert_holds(kp_test_log_end(), "overlap");
    double fastest = 0.0;
    for (int k = 0; k < 1000; ++k) {
      kp_step_report report;
      assert_ok(kp_world_step(world, 0.002, &report));
      fastest = kp_test_most(fastest, report.max_speed);
    }
    double gap =
        kp_bodies_frame(world->bodies, 1).position.x - kp_bodies_frame(world->bodies, 0).position.x;
    print_message("  %dD: centres %.3f m apart after a start of 0.15, fastest %.2f m/s\n",
                  dimension, gap, fastest);
    assert_between(gap, 0.195, 1.0);
    assert_between(fastest, 0.0, 2.0);
    kp_world_destroy(&world);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_free_body_momentum),
    cmocka_unit_test(test_floating_box),
    cmocka_unit_test(test_overlapping_bodies_separate),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
