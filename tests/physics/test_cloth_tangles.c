// The scenes of support/tangles.h from many starts: whatever the bits, no triangles intersect after
// any step, with and without history, in short and in long turns.
#include <stdio.h>
#include <stdlib.h>

#include "support/tangles.h"
#include "tangle_size.h"

typedef struct way {
  const char *name;
  bool history;
  bool is_long;      // turns of 16 inner steps, 1/60 s
  int64_t attempts;  // few: rigid zones, and ways in pieces
} way;

static const way ways[] = {
  { "as set up", true, false, 20 },
  { "few attempts, without history", false, false, 2 },
  { "long turns", true, true, 20 },
  { "long turns, few attempts, without history", false, true, 2 },
};

// KELPIE_TANGLE_SEEDS=n asks for more, KELPIE_TANGLE_SEED=n and KELPIE_TANGLE_WAY=k for one.
static int from_environment(const char *name, int otherwise) {
  const char *text = getenv(name);
  return text != NULL ? atoi(text) : otherwise;
}

static void check(kp_tangle_kind kind, const char *name, int64_t cells, int64_t steps) {
  int n_seeds = from_environment("KELPIE_TANGLE_SEEDS", tangle_seeds);
  int only = from_environment("KELPIE_TANGLE_SEED", 0);
  int only_way = from_environment("KELPIE_TANGLE_WAY", -1);
  int64_t total = 0;
  int64_t n_met = 0;
  for (size_t w = 0; w < sizeof ways / sizeof ways[0]; ++w) {
    int64_t n_collisions = 0;
    int64_t n_pieces = 0;
    int64_t n_late = 0;
    int64_t largest = 0;
    for (int seed = 1; seed <= n_seeds; ++seed) {
      kp_tangle s = kp_tangle_make(kind, cells, steps);
      s.seed = (uint64_t)seed;
      s.solids.history = ways[w].history;
      s.solids.attempts = ways[w].attempts;
      if (ways[w].is_long) {
        s.solids.inner = 16;
        s.solids.dt = 1.0 / 960.0;
        s.solids.turns = true;
      }
      if ((only != 0 && seed != only) || (only_way >= 0 && (int)w != only_way)) {
        continue;
      }
      kp_tangle_outcome o = kp_tangle_run(&s, true);
      if (o.intersections > 0) {
        print_message("%s, %s, seed %d: %ld intersections, first after step %ld; %ld zones, "
                      "largest %ld, %ld pieces, %ld late\n",
                      name, ways[w].name, seed, (long)o.intersections, (long)o.first, (long)o.zones,
                      (long)o.largest_zone, (long)o.pieces, (long)o.late);
      }
      total += o.intersections;
      n_collisions += o.collisions;
      n_pieces += o.pieces;
      n_late += o.late;
      largest = o.largest_zone > largest ? o.largest_zone : largest;
    }
    n_met += n_collisions;
    print_message("%s, %s: %ld collisions, largest zone %ld, %ld pieces, %ld late\n", name,
                  ways[w].name, (long)n_collisions, (long)largest, (long)n_pieces, (long)n_late);
  }
  assert_int_equal(total, 0);
  assert_true(n_met > 0 || only != 0);
}

static void hammocks(void **state) {
  (void)state;
  check(KP_HAMMOCK, "hammock", 10, 40);
}

static void twists(void **state) {
  (void)state;
  check(KP_TWIST, "twist", 20, 100);
}

static void crushes(void **state) {
  (void)state;
  check(KP_CRUSH, "crush", 16, 40);
}

static void pinches(void **state) {
  (void)state;
  check(KP_PINCH, "pinch", 12, 40);
}

static void boxes(void **state) {
  (void)state;
  check(KP_BOX, "box", 6, 60);
}

static void throws(void **state) {
  (void)state;
  check(KP_THROW, "throw", 10, 25);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(hammocks), cmocka_unit_test(twists), cmocka_unit_test(crushes),
    cmocka_unit_test(pinches),  cmocka_unit_test(boxes),  cmocka_unit_test(throws),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
