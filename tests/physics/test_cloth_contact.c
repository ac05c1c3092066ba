// Cloth that meets itself and other cloth: no intersections after any step (Selle 2008, claims C25
// to C28), by a test that shares nothing with the contact module.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/claims.h"
#include "support/tangles.h"

static void tell(const char *what, const kp_tangle_outcome *o) {
  print_message("%s: %.2f s in %ld inner steps; %ld intersections, %ld collisions, %ld rounds, %ld "
                "zones (largest %ld); %.2f s: find %.1f %%, repulse %.1f %%, part %.1f %%\n",
                what, o->time, (long)o->inner_steps, (long)o->intersections, (long)o->collisions,
                (long)o->rounds, (long)o->zones, (long)o->largest_zone, o->total,
                100.0 * o->find / o->total, 100.0 * o->repulse / o->total,
                100.0 * o->part / o->total);
}

static bool at_claim_size(void) {
  return getenv("KELPIE_CLAIMS_DIR") != NULL;
}

// C25
static void no_triangles_intersect_after_any_step(void **state) {
  (void)state;
  int64_t total = 0;
  bool large = at_claim_size();
  const struct {
    kp_tangle_kind kind;
    const char *name;
    int64_t cells, steps;
  } list[] = {
    { KP_HAMMOCK, "hammock", large ? 72 : 20, large ? 45 : 40 },
    { KP_TWIST, "twist", large ? 144 : 32, 120 },
    { KP_CRUSH, "crush", large ? 100 : 24, large ? 30 : 40 },
  };
  for (size_t k = 0; k < sizeof list / sizeof list[0]; ++k) {
    kp_tangle s = kp_tangle_make(list[k].kind, list[k].cells, list[k].steps);
    kp_tangle_outcome o = kp_tangle_run(&s, true);
    tell(list[k].name, &o);
    assert_true(o.collisions > 0);
    total += o.intersections;
  }
  assert_int_equal(total, 0);
  kp_claim claim = {
    .id = "selle-C25-tangles",
    .text = "after every step an exhaustive triangle/triangle test finds no intersecting pair",
    .size = "three scenes of 20 thousand triangles: sheet falling into a hammock, strip twisted "
            "and crushed sheet; 30 to 120 steps, 0.2 to 1 s",
    .figure = (double)total,
    .threshold = 0.0,
  };
  if (large) {
    // the scenes of the claim are in test_cloth_scenes
    kp_claim_at_most(&claim);
  }
}

// The scenes are hard enough that without contact they tangle.
static void without_contact_they_tangle(void **state) {
  (void)state;
  kp_tangle s = kp_tangle_make(KP_HAMMOCK, 20, 40);
  s.solids.contact = false;
  assert_true(kp_tangle_run(&s, true).intersections > 100);
  s = kp_tangle_make(KP_TWIST, 32, 120);
  s.solids.contact = false;
  assert_true(kp_tangle_run(&s, true).intersections > 100);
}

// C28
static void without_history_more_is_left_to_collisions(void **state) {
  (void)state;
  int64_t cells = at_claim_size() ? 48 : 32;
  kp_tangle s = kp_tangle_make(KP_TWIST, cells, 80);
  s.solids.inner = 16;
  s.solids.dt = 1.0 / 960.0;
  s.solids.turns = true;
  kp_tangle_outcome with = kp_tangle_run(&s, true);
  s.solids.history = false;
  kp_tangle_outcome without = kp_tangle_run(&s, true);
  tell("with history", &with);
  tell("without", &without);
  assert_int_equal(with.intersections + without.intersections, 0);
  assert_true(without.collisions > with.collisions);
  kp_claim claim = {
    .id = "selle-C28-twist",
    .text = "without history there are at least twice as many collisions (figure: ratio)",
    .size = "strip of 48 x 24 cells twisted for 1.3 s, 16 inner steps",
    .figure = (double)without.collisions / (double)with.collisions,
    .threshold = 2.0,
  };
  if (at_claim_size()) {
    kp_claim_write(&claim, claim.figure >= 2.0
                               ? KP_CLAIM_CONFIRMED
                               : (claim.figure > 1.0 ? KP_CLAIM_PARTIAL : KP_CLAIM_REFUTED));
  }
}

// C27: the older loop is as free of intersections; what it costs is told, not asserted.
static void going_back_costs_more(void **state) {
  (void)state;
  bool large = at_claim_size();
  double ratio[2];
  for (int k = 0; k < 2; ++k) {
    int64_t cells = large ? (k == 0 ? 50 : 72) : (k == 0 ? 10 : 16);
    kp_tangle s = kp_tangle_make(KP_HAMMOCK, cells, large ? 15 : 36);
    s.solids.inner = 16;
    s.solids.dt = 1.0 / 960.0;
    s.solids.turns = true;
    kp_tangle_outcome fixed = kp_tangle_run(&s, !large);
    s.solids.rewind = true;
    kp_tangle_outcome back = kp_tangle_run(&s, !large);
    tell("never back", &fixed);
    tell("back and halve", &back);
    assert_int_equal(fixed.intersections + back.intersections, 0);
    assert_true(back.inner_steps >= fixed.inner_steps);
    ratio[k] = fixed.total / back.total;
  }
  kp_claim claim = {
    .id = "selle-C27-hammock",
    .text = "16 inner steps without going back take less time than going back and halving "
            "(figure: ratio of times at the finer of two resolutions)",
    .size = "sheet falling into a hammock, 2 x 50 x 50 and 2 x 72 x 72 cells, 0.25 s",
    .figure = ratio[1],
    .threshold = 1.0,
  };
  if (large) {
    print_message("ratios %.3f and %.3f\n", ratio[0], ratio[1]);
    kp_claim_at_most(&claim);
  }
}

// C26: how much it is depends on the scene, so three of them are asked.
static void repulsion_is_cheap(void **state) {
  (void)state;
  if (!at_claim_size()) {
    return;  // a matter of time
  }
  const struct {
    kp_tangle_kind kind;
    int64_t cells, steps;
  } list[] = { { KP_HAMMOCK, 100, 12 }, { KP_TWIST, 64, 60 }, { KP_CRUSH, 100, 20 } };
  double least = HUGE_VAL;
  double most = 0.0;
  for (size_t k = 0; k < sizeof list / sizeof list[0]; ++k) {
    kp_tangle s = kp_tangle_make(list[k].kind, list[k].cells, list[k].steps);
    s.solids.inner = 16;
    s.solids.dt = 1.0 / 960.0;
    s.solids.turns = true;
    kp_tangle_outcome o = kp_tangle_run(&s, false);
    tell("repulsion", &o);
    double share = (o.find + o.repulse) / o.total;
    least = fmin(least, share);
    most = fmax(most, share);
  }
  kp_claim claim = {
    .id = "selle-C26-tangles",
    .text = "finding pairs and repulsion take at most 10 % of the time (figure: the most of three "
            "scenes)",
    .size =
        "sheet falling into a hammock, 2 x 100 x 100 cells, 0.2 s; strip of 64 x 32 twisted for "
        "1 s; sheet of 100 x 100 crushed for 0.3 s; 16 inner steps",
    .figure = most,
    .threshold = 0.1,
  };
  kp_claim_write(&claim, most <= 0.1 ? KP_CLAIM_CONFIRMED
                                     : (least <= 0.1 ? KP_CLAIM_PARTIAL : KP_CLAIM_REFUTED));
}

static kp_world *make_same(const char *backend) {
  kp_tangle s = kp_tangle_make(KP_HAMMOCK, 12, 20);
  s.backend = backend;
  return kp_tangle_world(&s);
}

static void bits_are_the_same_on_every_road(void **state) {
  (void)state;
  kp_test_same_bits(make_same, 20);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(no_triangles_intersect_after_any_step),
    cmocka_unit_test(without_contact_they_tangle),
    cmocka_unit_test(without_history_more_is_left_to_collisions),
    cmocka_unit_test(going_back_costs_more),
    cmocka_unit_test(repulsion_is_cheap),
    cmocka_unit_test(bits_are_the_same_on_every_road),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
