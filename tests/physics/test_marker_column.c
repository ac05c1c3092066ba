// The column of Hong 2009, Fig. 2, with marker cells: what is left of its volume when it has
// collapsed. Nothing keeps markers apart, and a cell that they leave empty is air, into which the
// liquid falls together.
#include <math.h>
#include <stdio.h>

#include "methods/marker/marker.h"

#include "support/claims.h"
#include "support/media.h"

#define G 9.81
#define EDGE 0.3  // m, of the box

// Mean height of the markers over that of their volume at rest.
static double settled_height(int scheme) {
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(EDGE, EDGE, 0));
  s.simulation.gravity = kp_vec3_make(0, -G, 0);
  kp_world *world = kp_test_world(&s);
  kp_grid_def grid = kp_default_grid_def();
  grid.cell = EDGE / 30;
  grid.cfl = 0.9;
  grid.iterations = 2000;
  kp_marker_def marker = kp_default_marker_def();
  marker.scheme = scheme;
  const double width = 0.13;
  const double height = 0.255;
  kp_liquid_def water = kp_default_liquid_def();
  snprintf(water.name, sizeof water.name, "water");
  water.method = KP_LIQUID_MARKER;
  water.shape = kp_test_box(kp_vec3_make(0, 0, 0), kp_vec3_make(width, height, 0));
  water.viscosity = 8.9e-4;
  assert_ok(kp_world_set_grid(world, &grid));
  assert_ok(kp_world_set_marker(world, &marker));
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  assert_int_equal(kp_test_stats(world, "water").count, 1326);
  assert_ok(kp_world_advance(world, 2.0, NULL));
  kp_population_stats stats = kp_test_stats(world, "water");
  kp_world_destroy(&world);
  return stats.potential_energy / (stats.mass * G) / (0.5 * width * height / EDGE);
}

static void test_collapsed_column(void **state) {
  (void)state;
  double old = settled_height(KP_MARKER_FOSTER_METAXAS);
  double stable = settled_height(KP_MARKER_STABLE_FLUIDS);
  print_message("mean height after 2 s over that at rest: %.3f, stable fluids %.3f\n", old, stable);
  kp_claim claim = { .id = "hong-H1-height",
                     .text = "markers of a collapsed column keep the height of their volume",
                     .size = "30 x 30 cells, 1326 markers, 2 s" };
  kp_claim_all(&claim,
               { "mean height over that of the volume at rest, off 1, Foster & Metaxas",
                 fabs(old - 1.0), KP_AT_MOST, 0.03 },
               { "the same, stable fluids", fabs(stable - 1.0), KP_AT_MOST, 0.03 });
  // water it is still
  assert_true(old > 0.3 && stable > 0.3);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_collapsed_column) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
