// Scene E of the benchmarks at the tolerance it is measured with: what its solves leave is small
// beside what its steps leave out, and no triangles intersect.
#include <math.h>
#include <stdlib.h>

#include "cases/cases.h"
#include "geom/triangle_triangle.h"

#include "support/deform.h"
#include "support/media.h"

#define SIDE 50
#define FRAMES 4
#define NODES (SIDE * SIDE)

static int64_t count_intersections(kp_deform *d) {
  kp_triangle_soup soup = { .triangles = d->triangles.data[0].v,
                            .n_triangles = (kp_index)d->n_triangles };
  const kp_pos **x[3] = { &soup.x, &soup.y, &soup.z };
  for (int c = 0; c < 3; ++c) {
    *x[c] = kp_buffer_host(&d->set->position->buffers[c], KP_ACCESS_READ);
  }
  kp_intersections met;
  assert_ok(kp_soup_count(&soup, &met));
  return met.count;
}

// Positions after the last frame with `steps` steps in each; tolerance 0: that of the case.
// Returns the iterations per frame.
static double drop(int64_t steps, double tolerance, double *out) {
  kp_world *world = NULL;
  assert_ok(kp_world_create("cpu", &world));
  assert_ok(kp_case_cloth_e(world, SIDE));
  kp_solids_def solids = world->spec.solids;
  solids.dt = 1.0 / (24.0 * (double)steps);
  solids.inner = steps;
  solids.tolerance = tolerance > 0.0 ? tolerance : solids.tolerance;
  assert_ok(kp_world_set_solids(world, &solids));
  assert_ok(kp_world_build(world));
  kp_deform *d = kp_test_deform(world);
  int64_t iterations = 0;
  for (int frame = 0; frame < FRAMES; ++frame) {
    assert_ok(kp_world_advance(world, 1.0 / 24.0, NULL));
    assert_int_equal(count_intersections(d), 0);
    iterations += d->iterations;
  }
  assert_int_equal(d->set->space->n, NODES);
  for (int c = 0; c < 3; ++c) {
    const kp_pos *x = kp_buffer_host(&d->set->position->buffers[c], KP_ACCESS_READ);
    for (int64_t i = 0; i < NODES; ++i) {
      out[c * NODES + i] = x[i];
    }
  }
  kp_world_destroy(&world);
  return (double)iterations / FRAMES;
}

static double apart(const double *x, const double *y) {
  double sum = 0.0;
  for (int i = 0; i < 3 * NODES; ++i) {
    sum += (x[i] - y[i]) * (x[i] - y[i]);
  }
  return sqrt(sum / NODES);
}

static void test_scene_e(void **state) {
  (void)state;
  double *x[3];
  for (int k = 0; k < 3; ++k) {
    x[k] = malloc(3 * NODES * sizeof *x[k]);
    assert_non_null(x[k]);
  }
  double fine = drop(5, 1e-6, x[0]), coarse = drop(5, 0.0, x[1]);
  (void)drop(10, 1e-6, x[2]);
  double by_tolerance = apart(x[0], x[1]), by_step = apart(x[0], x[2]);
  print_message(
      "  from a tolerance of 1e-6 (%.0f iterations per frame): %.3g mm at that of the case "
      "(%.0f), %.3g mm at half the step\n",
      fine, 1e3 * by_tolerance, coarse, 1e3 * by_step);
  assert_true(by_tolerance < 0.25 * by_step);
  assert_true(coarse < 0.5 * fine);
  for (int k = 0; k < 3; ++k) {
    free(x[k]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_scene_e),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
