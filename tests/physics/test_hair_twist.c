// Hair that is twisted, curled and drawn taut (Selle 2008, sections 7.2 and 7.3).
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "methods/deform/deform.h"

#include "support/claims.h"
#include "support/hairs.h"

// ---- twist and curls ----------------------------------------------------------------------------

// A straight hair between two ends that are held, one of them turned n times.
static double twist_energy(bool resists, int n_turns) {
  enum { SAMPLES = 201 };
  kp_test_settings s = kp_test_hair_space(false);
  kp_world *world = kp_test_world(&s);
  kp_solids_def solids = kp_default_solids_def();
  solids.dt = 1e-3;
  solids.tolerance = sizeof(kp_real) == 4 ? 1e-5 : 1e-8;
  assert_ok(kp_world_set_solids(world, &solids));
  kp_hair_def hair = kp_test_straight_hair(resists);
  assert_ok(kp_world_add_hair(world, &hair));
  kp_pin_def left = kp_test_hair_end("left", -1.0), right = kp_test_hair_end("right", 1.0);
  double turns[3 * SAMPLES] = { 0 };
  for (int k = 0; k < SAMPLES; ++k) {
    turns[3 * k] = 360.0 * n_turns * (double)k / (SAMPLES - 1);
  }
  right.rotation_deg =
      (kp_curve){ .components = 3, .n = SAMPLES, .interval = 0.005, .samples = turns };
  assert_ok(kp_world_add_pin(world, &left));
  assert_ok(kp_world_add_pin(world, &right));
  assert_ok(kp_world_build(world));
  while (world->env.time < 1.5) {
    kp_test_steps(world, 1);
  }
  double energy = kp_test_stats(world, "hair").internal_energy;
  kp_world_destroy(&world);
  return energy;
}

// Mean distance of the nodes of a curl from its axis, without the first and the last turn.
static double curl_radius(kp_world *world, double low, double high) {
  double *x = kp_test_field(world, "nodes", "position", 0);
  double *z = kp_test_field(world, "nodes", "position", 2);
  int64_t n = kp_registry_find(world->registry, "nodes")->n;
  double sum = 0.0;
  int64_t from = (int64_t)(low * (double)n), to = (int64_t)(high * (double)n);
  for (int64_t i = from; i < to; ++i) {
    sum += hypot(x[i], z[i]);
  }
  kp_free(x);
  kp_free(z);
  return sum / (double)(to - from);
}

// A curl is drawn out to one and a half of its length and let go.
static double recovered_radius(double *stretched) {
  kp_test_settings s = kp_test_hair_space(false);
  kp_world *world = kp_test_world(&s);
  kp_solids_def solids = kp_default_solids_def();
  solids.dt = 1e-3;
  assert_ok(kp_world_set_solids(world, &solids));
  kp_hair_def hair = kp_test_hair();
  hair.count = 1;
  hair.segments = 60;
  hair.length = 0.6;
  hair.root = kp_vec3_make(0, 0, 0);
  hair.curl_radius = 0.0096;  // 60 degrees per segment of 1 cm
  hair.curl_pitch = 0.02;
  hair.viscosity = 4.0;
  assert_ok(kp_world_add_hair(world, &hair));
  static const double path[] = { 0, 0, 0, 0, -0.1, 0, 0, -0.1, 0 };
  kp_pin_def tip = kp_default_pin_def();
  snprintf(tip.name, sizeof tip.name, "tip");
  tip.shape = kp_test_box(kp_vec3_make(-1, -1, -1), kp_vec3_make(1, -0.17, 1));
  tip.position = (kp_curve){ .components = 3, .n = 3, .interval = 0.5, .samples = path };
  tip.stop = 0.6;
  assert_ok(kp_world_add_pin(world, &tip));
  assert_ok(kp_world_build(world));
  double rest = curl_radius(world, 0.2, 0.8);
  while (world->env.time < 0.59) {
    kp_test_steps(world, 1);
  }
  *stretched = curl_radius(world, 0.2, 0.8) / rest;
  while (world->env.time < 2.5) {
    kp_test_steps(world, 1);
  }
  double radius = curl_radius(world, 0.2, 0.8) / rest;
  kp_world_destroy(&world);
  return radius;
}

// C31
static void twist_and_curls_are_kept(void **state) {
  (void)state;
  double one = twist_energy(true, 1), two = twist_energy(true, 2), four = twist_energy(true, 4);
  double none = twist_energy(false, 2);
  double stretched, radius = recovered_radius(&stretched);
  double off = fmax(fabs(two / (4.0 * one) - 1.0), fabs(four / (16.0 * one) - 1.0));
  print_message("twist energy %.3g %.3g %.3g J for 1, 2, 4 turns: off n^2 by %.3g; without torsion "
                "%.3g; curl radius %.3g when drawn, %.4g after\n",
                one, two, four, off, none, stretched, radius);
  kp_claim claim = { .id = "selle-C31",
                     .text = "a twisted hair stores energy as the square of its turns, edges and "
                             "bending alone store none; a helix recovers",
                     .size =
                         "hair of 100 segments, 1, 2 and 4 turns; the same with ends 0.3 of its "
                         "length nearer, spun at pi rad/s; helix of 60 segments" };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "largest share by which the energy is off the square", off, KP_AT_MOST, 0.1 },
      { "energy without torsion over that with it", none / two, KP_AT_MOST, 1e-3 },
      { "error of the helix's radius after it was drawn", fabs(radius - 1.0), KP_AT_MOST, 0.1 },
      { "its radius while it is drawn", stretched, KP_AT_MOST, 0.95 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// ---- taut hair ----------------------------------------------------------------------------------

// The fastest node after 1 s of a hair that is drawn out by a fiftieth between two ends and falls
// against its own tension; infinite where it has no state any more. In steps of 1 ms its springs
// turn by 6 rad, were it not for `turns`.
static double plucked(bool turns) {
  kp_test_settings s = kp_test_hair_space(true);
  kp_world *world = kp_test_world(&s);
  kp_solids_def solids = kp_default_solids_def();
  solids.dt = 1e-3;
  solids.turns = turns;
  assert_ok(kp_world_set_solids(world, &solids));
  kp_hair_def hair = kp_test_straight_hair(true);
  hair.limit = KP_HAIR_LIMIT_BIASED;
  hair.density = 1e-5;
  hair.edge_stiffness = 1.0;
  assert_ok(kp_world_add_hair(world, &hair));
  kp_pin_def left = kp_test_hair_end("left", -1.0), right = kp_test_hair_end("right", 1.0);
  static const double way[] = { 0, 0, 0, 0.02, 0, 0, 0.02, 0, 0, 0.02, 0, 0 };
  right.position = (kp_curve){ .components = 3, .n = 4, .interval = 0.3, .samples = way };
  assert_ok(kp_world_add_pin(world, &left));
  assert_ok(kp_world_add_pin(world, &right));
  assert_ok(kp_world_build(world));
  kp_result result = KP_OK;
  while (result == KP_OK && world->env.time < 1.0) {
    result = kp_world_step(world, 1.0, NULL);
  }
  double speed = result == KP_OK ? kp_test_stats(world, "hair").max_speed : HUGE_VAL;
  kp_world_destroy(&world);
  return speed;
}

static void taut_hair_is_calm(void **state) {
  (void)state;
  double calm = plucked(true), wild = plucked(false);
  print_message("taut hair: %.3g m/s after 1 s, %.3g without turns\n", calm, wild);
  assert_true(calm < 0.01);
  assert_true(wild > 1.0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(twist_and_curls_are_kept),
    cmocka_unit_test(taut_hair_is_calm),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
