// Heads of hair at two counts: how the cost grows, and that a million particles run.
#include <math.h>
#include <stdio.h>

#include "base/timer.h"
#include "methods/deform/deform.h"

#include "hair_heads.h"
#include "support/claims.h"
#include "support/hairs.h"
#include "support/media.h"

#define TURN 6.283185307179586

// A ball of long straight hair, shaken, with stiction and contact: table 7.2 of Selle (2008). It
// grows on the upper half of the back; fewer hairs than published have a strip of it, as wide as
// makes them as dense.
static kp_world *make_head(int64_t count) {
  enum { N = 121 };
  static double path[3 * N];
  for (int i = 0; i < N; ++i) {
    path[3 * i] = 0.05 * sin(TURN * 3.0 * (double)i / 60.0);
  }
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-1, -1, -1), kp_vec3_make(1, 1, 1));
  s.simulation.dt_max = 1.0 / 60.0;
  kp_world *world = kp_test_world(&s);
  kp_solids_def solids = kp_default_solids_def();
  solids.dt = 6e-4;
  solids.inner = 8;
  solids.tolerance = 0.05;
  assert_ok(kp_world_set_solids(world, &solids));
  kp_collider_def head = kp_default_collider_def();
  snprintf(head.name, sizeof head.name, "head");
  head.shape = kp_test_ball(kp_vec3_make(0, 0, 0), 0.11);
  head.spacing = 0.02;
  head.position = (kp_curve){ .components = 3, .n = N, .interval = 1.0 / 60.0, .samples = path };
  assert_ok(kp_world_add_collider(world, &head));
  kp_hair_def hair = kp_test_hair_of(kp_default_hair_def());
  snprintf(hair.name, sizeof hair.name, "locks");
  snprintf(hair.on, sizeof hair.on, "head");
  hair.count = count;
  hair.segments = kp_hair_heads.segments;
  hair.length = 0.35;
  hair.fall = kp_vec3_make(0, -1, 0);
  hair.droop = 0.03;
  hair.roughness = 0.2;
  hair.straight_deg = 180.0;  // every segment has its extra node
  double width = 0.11 * (double)kp_hair_heads.count / 10000.0;
  hair.scalp = kp_test_box(kp_vec3_make(-width, -0.05, -1), kp_vec3_make(width, 1, 0.04));
  hair.self = true;
  hair.thickness = 5e-4;
  hair.stiction = 1e-3;
  assert_ok(kp_world_add_hair(world, &hair));
  assert_ok(kp_world_build(world));
  return world;
}

typedef struct head_cost {
  int64_t nodes;
  double all, springs, contact, links;  // s
} head_cost;

static double seconds_of(kp_world *world, const char *part) {
  return world->profile.seconds[kp_profile_slot(&world->profile, part)];
}

// What so many sub-steps took, after the first one.
static head_cost cost_of(int64_t count) {
  kp_world *world = make_head(count);
  kp_test_steps(world, 1);
  kp_profile_clear(&world->profile);
  double begin = kp_time_now();
  kp_test_steps(world, kp_hair_heads.steps);
  head_cost cost = { .all = kp_time_now() - begin,
                     .nodes = kp_registry_find(world->registry, "nodes")->n,
                     .springs = seconds_of(world, "solids_springs"),
                     .contact = seconds_of(world, "solids_contact"),
                     .links = seconds_of(world, "solids_links") };
  kp_world_destroy(&world);
  return cost;
}

// What a claim says it was run on.
static const char *size_of_heads(char size[120]) {
  (void)snprintf(size, 120, "%lld and %lld hairs of %lld segments, %lld sub-steps",
                 (long long)kp_hair_heads.count / 2, (long long)kp_hair_heads.count,
                 (long long)kp_hair_heads.segments, (long long)kp_hair_heads.steps);
  return size;
}

// C33: no time is asserted, the figures are written. Contact is repulsion, bodies and collisions of
// hairs; springs are the two solves of Newmark's variant. Shares of 0.16 and 0.7 at most leave 0.14
// for what is neither; of ours that takes less, so that what makes one share smaller makes the
// other larger.
static void cost_grows_with_the_hairs(void **state) {
  (void)state;
  head_cost half = cost_of(kp_hair_heads.count / 2), whole = cost_of(kp_hair_heads.count);
  double ratio = whole.all / half.all;
  double springs = whole.springs / whole.all, contact = whole.contact / whole.all;
  print_message("%lld nodes %.3g s, %lld nodes %.3g s: %.3g times\n", (long long)half.nodes,
                half.all, (long long)whole.nodes, whole.all, ratio);
  print_message("springs %.3g, contact %.3g, links %.3g of it\n", springs, contact,
                whole.links / whole.all);
  char size[120];
  double hairs = (double)kp_hair_heads.count;
  kp_claim claim = { .id = "selle-C33",
                     .text = "long straight hair, twice the hairs: ratio of times",
                     .size = size_of_heads(size) };
  kp_claim_all(&claim, { "ratio of times, at most", ratio, KP_AT_MOST, 2.6 },
               { "ratio of times, at least", ratio, KP_AT_LEAST, 1.8 },
               { "hairs", hairs, KP_AT_LEAST, 10000 });
  claim.id = "selle-C33-contact";
  claim.text = "share of contact in the time of a step";
  kp_claim_all(&claim, { claim.text, contact, KP_AT_MOST, 0.16 },
               { "hairs", hairs, KP_AT_LEAST, 10000 });
  claim.id = "selle-C33-newmark";
  claim.text = "share of both implicit solves in the time of a step";
  kp_claim_all(&claim, { "share of the solves, at least", springs, KP_AT_LEAST, 0.44 },
               { "share of the solves, at most", springs, KP_AT_MOST, 0.7 },
               { "hairs", hairs, KP_AT_LEAST, 10000 });
  assert_int_equal(whole.nodes, kp_hair_heads.count * (2 * kp_hair_heads.segments + 1));
  assert_true(springs > 0.0 && contact > 0.0 && springs + contact < 1.0);
}

// C34; the scenes of full heads have 96 frames.
static void a_head_runs(void **state) {
  (void)state;
  kp_world *world = make_head(kp_hair_heads.count);
  while (world->env.time < kp_hair_heads.frames / 24.0) {
    kp_test_steps(world, 1);
  }
  int64_t n = kp_registry_find(world->registry, "nodes")->n;
  kp_population_stats stats = kp_test_stats(world, "locks");
  assert_true(isfinite(stats.kinetic_energy));
  char size[120];
  snprintf(size, sizeof size, "%lld hairs of %lld segments, %g frames of 1/24 s",
           (long long)kp_hair_heads.count, (long long)kp_hair_heads.segments, kp_hair_heads.frames);
  kp_claim claim = { .id = "selle-C34",
                     .text = "a run of a million hair particles completes",
                     .size = size };
  kp_claim_all(&claim, { "particles", (double)n, KP_AT_LEAST, 1e6 },
               { "frames, of the 96 of the scenes", kp_hair_heads.frames, KP_AT_LEAST, 96 });
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(cost_grows_with_the_hairs),
    cmocka_unit_test(a_head_runs),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
