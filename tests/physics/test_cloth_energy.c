// Energy of explicit cloth at the automatic step: a sheet held by two corners swings down and
// crumples, and what it had stays, with and without a material; damping takes and never gives,
// where cells fold onto themselves too; Newmark's variant loses what deform.md says.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "methods/deform/deform.h"

#include "support/media.h"
#include "support/scenes.h"

#define FREE "domain { min = {-2, -2, -2}, max = {2, 2, 2} }\n"
#define UNDAMPED "damping = 0, bend_damping = 0, "
#define SWING 0.18  // J: m g times the fall of the middle of the sheet of 0.5 m

// A sheet of `cells` along its sides, level at the start, that hangs from two corners at a height.
static kp_world *hang(const char *head, int cells, double width, const char *keys) {
  char text[2048];
  double half = 0.5 * width;
  snprintf(text, sizeof text,
           "%scloth 'sheet' { width = %g, height = %g, columns = %d, rows = %d, self = false,\n"
           "position = {0.5, 0.8, 0.5}, %s }\n"
           "for k = -1, 1, 2 do pin('pin' .. k) {\n"
           "shape = sphere { center = {0.5 + %g * k, 0.8, 0.5 - %g}, radius = 0.002 } } end\n",
           head, width, width, cells, cells, keys, half, half);
  return kp_test_world_of_scene(text);
}

static double energy_of(kp_world *world) {
  kp_population_stats s = kp_test_stats(world, "sheet");
  return s.kinetic_energy + s.potential_energy + s.internal_energy;
}

typedef struct record {
  double first, last;  // J: means of the first two seconds and of the last one, from the start
  double most, least;  // J, from the start
  double change;       // J, at the end
} record;

// Samples every 20th of a second. Frames of that length also cut steps of the sheet now and then.
static record watch(kp_world *world, int seconds) {
  record out = { 0 };
  double start = energy_of(world);
  int n = 20 * seconds;
  for (int k = 1; k <= n; ++k) {
    assert_ok(kp_world_advance(world, 0.05, NULL));
    double now = energy_of(world) - start;
    out.first += k <= 40 ? now / 40.0 : 0.0;
    out.last += k > n - 20 ? now / 20.0 : 0.0;
    out.most = fmax(out.most, now);
    out.least = fmin(out.least, now);
    out.change = now;
  }
  return out;
}

// ---- nothing is lost or gained ------------------------------------------------------------------

static void test_undamped(void **state) {
  (void)state;
  static const char *const cases[] = {
    "scheme = 'symplectic', model = 'elastic'",
    "scheme = 'symplectic', model = 'edges'",
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    char keys[256];
    snprintf(keys, sizeof keys, UNDAMPED "%s", cases[i]);
    kp_world *world = hang(FREE, 10, 0.5, keys);
    record r = watch(world, 10);
    print_message("  %s: %+.2f %% of the swing from the first seconds to the last, within %+.2f "
                  "and %+.2f %%\n",
                  cases[i], 100.0 * (r.last - r.first) / SWING, 100.0 * r.most / SWING,
                  100.0 * r.least / SWING);
    assert_near(r.last, r.first, 0.02 * SWING);
    assert_true(r.most <= 0.02 * SWING);
    kp_world_destroy(&world);
  }
}

// ---- damping takes ------------------------------------------------------------------------------

// With walls and a floor: what blew up within a second, at the defaults. Bending that is a hundred
// times as stiff has a say in the step.
static void test_damped(void **state) {
  (void)state;
  static const struct {
    const char *keys;
    int cells;
    double width;
  } cases[] = {
    { "scheme = 'velocity_verlet'", 15, 0.5 },
    { "scheme = 'symplectic'", 10, 0.5 },
    { "scheme = 'velocity_verlet', bending = 6e-3, bend_damping = 2", 10, 0.5 },
    { "scheme = 'symplectic', strength = function(t) return t < 0.7 and 1 or 16 end", 10, 0.5 },
    { "scheme = 'symplectic', model = 'edges', hinge = 1e-4, bend_damping = 1", 12, 0.5 },
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    kp_world *world = hang("", cases[i].cells, cases[i].width, cases[i].keys);
    record r = watch(world, 2);
    print_message("  %s: %+.3f J after 2 s, never more than %+.1e J\n", cases[i].keys, r.change,
                  r.most);
    assert_true(r.change < -0.05 && r.change > -1.5 * SWING);
    assert_true(r.most <= 1e-4);
    kp_world_destroy(&world);
  }
}

// ---- what Newmark's variant loses ---------------------------------------------------------------

// The figures of deform.md: of a sheet that swings as a plate, in 10 s, without damping.
static void test_newmark(void **state) {
  (void)state;
  static const struct {
    const char *head, *scheme;
    double lost, tolerance;  // of the swing
  } cases[] = {
    { FREE, "newmark", 0.95, 0.03 },
    { FREE "solids { ahead = 0.5, dt = 0.002 }\n", "newmark", 0.42, 0.05 },
    { FREE, "velocity_verlet", 0.0, 0.001 },
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    char keys[256];
    snprintf(keys, sizeof keys, UNDAMPED "bending = 0.1, scheme = '%s'", cases[i].scheme);
    kp_world *world = hang(cases[i].head, 8, 0.5, keys);
    record r = watch(world, 10);
    print_message("  %s %zu: loses %.2f %% of the swing in 10 s\n", cases[i].scheme, i,
                  -100.0 * r.change / SWING);
    assert_near(-r.change / SWING, cases[i].lost, cases[i].tolerance);
    kp_world_destroy(&world);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_undamped),
    cmocka_unit_test(test_damped),
    cmocka_unit_test(test_newmark),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
