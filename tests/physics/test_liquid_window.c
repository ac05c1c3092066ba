// Liquids on a grid in a window that follows them: what happens is what happens on the whole grid.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "methods/flip/flip.h"
#include "methods/level_set/pls.h"

#include "support/media.h"

typedef struct trough {
  int method, dimension;
  bool follow;
} trough;

// A column breaks into a long trough with a ball; in 2D a jet comes in far from it.
static kp_world *make(const char *backend, trough t) {
  bool is_flat = t.dimension == 2;
  double depth = is_flat ? 0.0 : 0.5;
  kp_test_settings s = kp_test_settings_make(t.dimension, kp_vec3_make(0, 0, 0),
                                             kp_vec3_make(is_flat ? 6.0 : 4.0, 2.0, depth));
  s.backend = backend;
  s.simulation.gravity = kp_vec3_make(0.0, -9.81, 0.0);
  s.simulation.dt = 0.008;
  kp_world *world = kp_test_world(&s);
  kp_grid_def grid = kp_default_grid_def();
  grid.cell = is_flat ? 1.0 / 24.0 : 1.0 / 16.0;
  grid.follow = t.follow;
  grid.tolerance = 1e-6;
  kp_level_set_def level = kp_default_level_set_def();
  level.reseed = 5;
  double lowest = t.method == KP_LIQUID_FLIP ? 0.0 : -1.0;
  kp_liquid_def water = kp_test_liquid("water", kp_vec3_make(lowest, lowest, lowest),
                                       kp_vec3_make(0.5, 0.8, depth - lowest), 0.5 * grid.cell);
  water.method = t.method;
  water.viscosity = 0.0;
  kp_collider_def ball = kp_default_collider_def();
  strcpy(ball.name, "ball");
  ball.shape = kp_test_ball(kp_vec3_make(0.8, 0.1, 0.5 * depth), 0.2);
  assert_ok(kp_world_set_grid(world, &grid));
  assert_ok(kp_world_set_level_set(world, &level));
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_add_collider(world, &ball));
  if (is_flat) {
    kp_emitter_def jet = kp_default_emitter_def();
    strcpy(jet.name, "jet");
    strcpy(jet.into, "water");
    jet.position = kp_curve_constant3(kp_vec3_make(2.4, 0.4, 0.0));
    jet.direction = kp_vec3_make(-1, 0, 0);
    jet.radius = 0.15;
    jet.speed = kp_curve_constant(2.0);
    jet.start = 0.04;
    assert_ok(kp_world_add_emitter(world, &jet));
  }
  assert_ok(kp_world_build(world));
  return world;
}

static kp_mac *mac_of(kp_world *world) {
  return world->env.grids.data[0].mac;
}

// Largest difference in cells: of phi anywhere, or of any particle's place.
static double off_phi(kp_world *a, kp_world *b) {
  const kp_mac_view *g = &mac_of(a)->view;
  kp_field *fa = kp_space_find(mac_of(a)->space, "distance");
  kp_field *fb = kp_space_find(mac_of(b)->space, "distance");
  const kp_real *pa = kp_buffer_host(&fa->buffers[0], KP_ACCESS_READ);
  const kp_real *pb = kp_buffer_host(&fb->buffers[0], KP_ACCESS_READ);
  double off = 0.0;
  for (int64_t t = 0; t < kp_mac_n_all(mac_of(a)); ++t) {
    int64_t at = kp_mac_at(g, t % g->n[0], t / g->n[0] % g->n[1], t / g->n[0] / g->n[1]);
    off = kp_test_most(off, fabs((double)(pa[at] - pb[at])) / g->cell);
  }
  return off;
}

static double off_places(kp_world *a, kp_world *b) {
  int64_t n = kp_world_count(a, "water");
  assert_int_equal(kp_world_count(b, "water"), n);
  double off = 0.0;
  for (int c = 0; c < 3; ++c) {
    double *xa = kp_test_field(a, "water", "position", c);
    double *xb = kp_test_field(b, "water", "position", c);
    for (int64_t i = 0; i < n; ++i) {
      off = kp_test_most(off, fabs(xa[i] - xb[i]) / mac_of(a)->view.cell);
    }
    kp_free(xa);
    kp_free(xb);
  }
  return off;
}

// To the bit: what a window leaves out has no part in any sum.
static void compare(int method, int dimension, int steps) {
  trough t = { .method = method, .dimension = dimension, .follow = false };
  kp_world *whole = make("cpu", t);
  t.follow = true;
  kp_world *window = make("cpu", t);
  int n_windows = 0;
  double least = 1.0;
  for (int s = 0; s < steps; ++s) {
    uint64_t before = mac_of(window)->window_revision;
    kp_test_steps(whole, 1);
    kp_test_steps(window, 1);
    n_windows += mac_of(window)->window_revision != before ? 1 : 0;
    double all = (double)kp_mac_n_all(mac_of(window));
    least = kp_test_least(least, (double)kp_mac_n_cells(mac_of(window)) / all);
  }
  double off = method == KP_LIQUID_FLIP ? off_places(whole, window) : off_phi(whole, window);
  print_message("%s in %d D: off by %g cells; smallest window %.0f %%, moved %d times\n",
                method == KP_LIQUID_FLIP ? "flip" : "level set", dimension, off, 100.0 * least,
                n_windows);
  assert_true(kp_mac_n_cells(mac_of(whole)) == kp_mac_n_all(mac_of(whole)));
  assert_true(least < 0.6);
  assert_true(n_windows >= 1);
  assert_true(off == 0.0);
  kp_world_destroy(&window);
  kp_world_destroy(&whole);
}

static void test_level_set(void **state) {
  (void)state;
  compare(KP_LIQUID_LEVEL_SET, 2, 40);
  compare(KP_LIQUID_LEVEL_SET, 3, 30);
}

static void test_flip(void **state) {
  (void)state;
  compare(KP_LIQUID_FLIP, 2, 40);
  compare(KP_LIQUID_FLIP, 3, 30);
}

static kp_world *level_set(const char *backend) {
  trough t = { .method = KP_LIQUID_LEVEL_SET, .dimension = 2, .follow = true };
  return make(backend, t);
}

static kp_world *flip(const char *backend) {
  trough t = { .method = KP_LIQUID_FLIP, .dimension = 3, .follow = true };
  return make(backend, t);
}

static void test_bits(void **state) {
  (void)state;
  (void)kp_test_same_bits(level_set, 24);
  (void)kp_test_same_bits(flip, 16);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_level_set),
    cmocka_unit_test(test_flip),
    cmocka_unit_test(test_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
