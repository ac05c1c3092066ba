// Vortex particles in FLIP water: they drive the grid as they drive that of a level set, stir only
// the water around them, and every road gives the same bits.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "methods/flip/flip.h"
#include "methods/level_set/pls.h"

#include "support/media.h"

#define CELLS 16
#define REACH 0.15  // m, of a vortex particle

typedef struct tank {
  int method;
  double height;  // of the water in a box of 1 m
  double gravity;
  int forcing;
  double band;
  kp_aabb nursery;
} tank;

static kp_world *make_tank(const tank *t, const char *backend) {
  kp_test_settings s =
      kp_test_settings_make(3, kp_vec3_make(0.0, 0.0, 0.0), kp_vec3_make(1.0, 1.0, 1.0));
  s.backend = backend;
  s.simulation.gravity = kp_vec3_make(0.0, -t->gravity, 0.0);
  s.simulation.dt = 0.01;
  kp_world *world = kp_test_world(&s);
  kp_grid_def grid = kp_default_grid_def();
  grid.cell = 1.0 / CELLS;
  grid.tolerance = 1e-6;
  kp_flip_def flip = kp_default_flip_def();
  flip.band = t->band;
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(1, t->height, 1), 0.5 / CELLS);
  water.method = t->method;
  water.viscosity = 0.0;
  if (t->method == KP_LIQUID_LEVEL_SET) {
    water.shape = kp_test_box(kp_vec3_make(-1, -1, -1), kp_vec3_make(2, 2, 2));
  }
  kp_vortices_def eddies = kp_default_vortices_def();
  strcpy(eddies.name, "eddies");
  strcpy(eddies.into, "water");
  eddies.shape = kp_test_box(t->nursery.min, t->nursery.max);
  eddies.rule = KP_VORTICES_UPRIGHT;
  eddies.rate = 2000.0;
  eddies.limit = 12;
  eddies.radius = REACH;
  eddies.magnitude = 0.02;
  eddies.forcing = t->forcing;
  assert_ok(kp_world_set_grid(world, &grid));
  assert_ok(kp_world_set_flip(world, &flip));
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_add_vortices(world, &eddies));
  assert_ok(kp_world_build(world));
  return world;
}

static const kp_aabb corner = { { 0.2, 0.2, 0.2 }, { 0.4, 0.4, 0.4 } };

static kp_flow *flow_of(kp_world *world) {
  kp_flip *flip = kp_world_system(world, &kp_flip_method);
  return flip != NULL ? &flip->flow : &((kp_pls *)kp_test_system(world, &kp_pls_method))->flow;
}

// A box full of water at rest without weight: one step of either method is the same push and the
// same projection.
static void test_as_in_a_level_set(void **state) {
  (void)state;
  static const int forcings[] = { KP_VORTICES_ANALYTIC, KP_VORTICES_DIFFERENCE,
                                  KP_VORTICES_ATTENUATED };
  for (size_t f = 0; f < sizeof forcings / sizeof forcings[0]; ++f) {
    tank t = { .method = KP_LIQUID_FLIP, .height = 1.0, .forcing = forcings[f], .nursery = corner };
    kp_world *flip = make_tank(&t, "cpu");
    t.method = KP_LIQUID_LEVEL_SET;
    kp_world *level = make_tank(&t, "cpu");
    kp_test_steps(flip, 1);
    kp_test_steps(level, 1);
    const kp_mac_view *g = &flow_of(flip)->mac->view;
    double largest = 0.0;
    double off = 0.0;
    for (int c = 0; c < 3; ++c) {
      const kp_real *a = kp_buffer_host(&flow_of(flip)->velocity->buffers[c], KP_ACCESS_READ);
      const kp_real *b = kp_buffer_host(&flow_of(level)->velocity->buffers[c], KP_ACCESS_READ);
      for (int64_t n = 0; n < (int64_t)CELLS * CELLS * CELLS; ++n) {
        int64_t at = kp_mac_at(g, n % CELLS, n / CELLS % CELLS, n / CELLS / CELLS);
        largest = kp_test_most(largest, fabs((double)b[at]));
        off = kp_test_most(off, fabs((double)(a[at] - b[at])));
      }
    }
    print_message("forcing %d: speeds to %g m/s, off by %g\n", forcings[f], largest, off);
    assert_true(largest > 1e-4);
    assert_true(off < 1e-3 * largest);
    kp_world_destroy(&level);
    kp_world_destroy(&flip);
  }
}

// omega of a cell from the circulations around it, upright component.
static double upright_curl(kp_flow *flow, const kp_real *u, const kp_real *w, int64_t at) {
  const kp_mac_view *g = &flow->mac->view;
  double dw = (double)(w[at + 1] - w[at - 1]);
  double du = (double)(u[at + g->slab] - u[at - g->slab]);
  return 0.5 * (du - dw) / g->cell;
}

// In a pool with a surface: what turns is near the particles, and nothing gains momentum.
static void test_stirs_only_around(void **state) {
  (void)state;
  tank t = { .method = KP_LIQUID_FLIP, .height = 0.75, .nursery = corner };
  kp_world *world = make_tank(&t, "cpu");
  kp_test_steps(world, 1);
  kp_flow *flow = flow_of(world);
  const kp_mac_view *g = &flow->mac->view;
  int64_t n = kp_world_count(world, "eddies");
  double *x[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_test_field(world, "eddies", "position", c);
  }
  const kp_real *u = kp_buffer_host(&flow->velocity->buffers[0], KP_ACCESS_READ);
  const kp_real *w = kp_buffer_host(&flow->velocity->buffers[2], KP_ACCESS_READ);
  double near = 0.0;
  double far = 0.0;
  double sum[3] = { 0.0, 0.0, 0.0 };  // u, w and sizes
  for (int64_t k = 2; k < CELLS - 2; ++k) {
    for (int64_t j = 2; j < CELLS / 2; ++j) {
      for (int64_t i = 2; i < CELLS - 2; ++i) {
        double p[3];
        kp_mac_place(g, KP_MAC_CELL, i, j, k, p);
        double least = HUGE_VAL;
        for (int64_t e = 0; e < n; ++e) {
          least = kp_test_least(least, sqrt(pow(x[0][e] - p[0], 2) + pow(x[1][e] - p[1], 2) +
                                            pow(x[2][e] - p[2], 2)));
        }
        int64_t at = kp_mac_at(g, i, j, k);
        double curl = fabs(upright_curl(flow, u, w, at));
        sum[0] += (double)u[at];
        sum[1] += (double)w[at];
        sum[2] += fabs((double)u[at]) + fabs((double)w[at]);
        near = least < REACH ? fmax(near, curl) : near;
        far = least > REACH + 2.0 * g->cell ? fmax(far, curl) : far;
      }
    }
  }
  print_message("%lld eddies; curl %g near, %g far; sums %g %g of %g\n", (long long)n, near, far,
                sum[0], sum[1], sum[2]);
  assert_true(n > 5);
  assert_true(near > 1e-2);
  assert_true(far < 0.02 * near);
  assert_true(fabs(sum[0]) < 0.1 * sum[2] && fabs(sum[1]) < 0.1 * sum[2]);
  for (int c = 0; c < 3; ++c) {
    kp_free(x[c]);
  }
  kp_world_destroy(&world);
}

// Those born above the surface are gone; the others go on stirring.
static kp_world *stirred(const char *backend) {
  tank t = { .method = KP_LIQUID_FLIP,
             .height = 0.5,
             .gravity = 9.81,
             .forcing = KP_VORTICES_DIFFERENCE,
             .nursery = { { 0.2, 0.3, 0.2 }, { 0.8, 0.8, 0.8 } } };
  return make_tank(&t, backend);
}

static kp_world *stirred_band(const char *backend) {
  tank t = { .method = KP_LIQUID_FLIP,
             .height = 0.5,
             .gravity = 9.81,
             .band = 2.0,
             .nursery = { { 0.2, 0.1, 0.2 }, { 0.8, 0.4, 0.8 } } };
  return make_tank(&t, backend);
}

static void test_bits(void **state) {
  (void)state;
  kp_world *world = stirred("cpu");
  kp_test_steps(world, 4);
  assert_between(kp_world_count(world, "eddies"), 1, 11);
  kp_world_destroy(&world);
  (void)kp_test_same_bits(stirred, 4);
  (void)kp_test_same_bits(stirred_band, 4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_as_in_a_level_set),
    cmocka_unit_test(test_stirs_only_around),
    cmocka_unit_test(test_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
