// A twisted hair with slack supercoils: it meets itself (Selle 2008, figure 7.5).
#include <math.h>
#include <stdio.h>

#include "base/memory.h"
#include "methods/deform/deform.h"

#include "support/claims.h"
#include "support/deform.h"
#include "support/hairs.h"

#define COIL_TURNS 10         // at half of one per second
#define COIL_THICKNESS 0.008  // m

typedef struct coil {
  double turns;    // of the end when the hair first meets itself; HUGE_VAL: it does not
  double nearest;  // m, of parts of the hair that are far apart along it, at any time
} coil;

// Segments at least a tenth of the hair apart along it: how near they are, all pairs looked at.
static double nearest_to_itself(kp_world *world) {
  kp_deform *d = kp_test_deform(world);
  const double *x[3];
  double *copies[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = copies[c] = kp_test_field(world, "nodes", "position", c);
  }
  kp_index n = (kp_index)d->n_segments;
  double nearest = HUGE_VAL;
  for (kp_index i = 0; i < n; ++i) {
    for (kp_index j = i + n / 10; j < n; ++j) {
      double d_ij = kp_test_segment_distance(x, &d->segments.data[2 * i], &d->segments.data[2 * j]);
      nearest = kp_test_least(nearest, d_ij);
    }
  }
  for (int c = 0; c < 3; ++c) {
    kp_free(copies[c]);
  }
  return nearest;
}

// The ends of a straight hair come nearer by 0.3 of its length in 1 s, then one of them is spun at
// pi rad/s, until it meets itself or has made so many turns.
static coil spin(bool resists, double most_turns) {
  enum { SAMPLES = 2 * COIL_TURNS + 2 };
  kp_test_settings s = kp_test_hair_space(false);
  kp_world *world = kp_test_world(&s);
  kp_solids_def solids = kp_default_solids_def();
  solids.dt = 1e-3;
  solids.inner = 4;
  solids.tolerance = sizeof(kp_real) == 4 ? 1e-5 : 1e-8;
  assert_ok(kp_world_set_solids(world, &solids));
  kp_hair_def hair = kp_test_straight_hair(resists);
  hair.thickness = COIL_THICKNESS;
  hair.self = true;
  assert_ok(kp_world_add_hair(world, &hair));
  double turns[3 * SAMPLES] = { 0 }, left_way[3 * SAMPLES] = { 0 }, right_way[3 * SAMPLES] = { 0 };
  for (int k = 0; k < SAMPLES; ++k) {
    turns[3 * k] = 180.0 * fmax(0.0, k - 1.0);
    left_way[3 * k] = 0.15 * fmin(k, 1.0);
    right_way[3 * k] = -left_way[3 * k];
  }
  kp_pin_def left = kp_test_hair_end("left", -1.0), right = kp_test_hair_end("right", 1.0);
  left.position = (kp_curve){ .components = 3, .n = SAMPLES, .interval = 1.0, .samples = left_way };
  right.position =
      (kp_curve){ .components = 3, .n = SAMPLES, .interval = 1.0, .samples = right_way };
  right.rotation_deg =
      (kp_curve){ .components = 3, .n = SAMPLES, .interval = 1.0, .samples = turns };
  assert_ok(kp_world_add_pin(world, &left));
  assert_ok(kp_world_add_pin(world, &right));
  assert_ok(kp_world_build(world));
  coil out = { HUGE_VAL, HUGE_VAL };
  for (double time = 1.0; time <= 1.0 + 2.0 * most_turns && out.turns == HUGE_VAL; time += 0.5) {
    while (world->env.time < time) {
      kp_test_steps(world, 1);
    }
    double now = nearest_to_itself(world);
    out.nearest = kp_test_least(out.nearest, now);
    out.turns = now < COIL_THICKNESS ? 0.5 * (time - 1.0) : out.turns;
  }
  kp_world_destroy(&world);
  return out;
}

// C31
static void a_twisted_hair_supercoils(void **state) {
  (void)state;
  coil twisted = spin(true, COIL_TURNS);
  coil plain = spin(false, fmin(twisted.turns, COIL_TURNS));
  print_message("with slack it meets itself after %.2f turns; with edges and bending alone parts "
                "stay %.3f m apart\n",
                twisted.turns, plain.nearest);
  kp_claim claim = { .id = "selle-C31-coil",
                     .text =
                         "a twisted hair with slack supercoils and meets itself, with edges and "
                         "bending alone it does not",
                     .size = "hair of 100 segments with ends 0.3 of its length nearer, spun at pi "
                             "rad/s" };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "turns after which it meets itself", twisted.turns, KP_AT_MOST, COIL_TURNS },
      { "the same, at least", twisted.turns, KP_AT_LEAST, 4 },
      { "nearest without torsion, over the thickness", plain.nearest / COIL_THICKNESS, KP_AT_LEAST,
        5 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(a_twisted_hair_supercoils),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
