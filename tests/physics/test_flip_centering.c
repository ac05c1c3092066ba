// FLIP whose particles take a part of the pressure along (`grid.centering`): water at rest stays
// where it is and has its pressure, and bits are those of everything else.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "methods/flip/flip.h"

#include "support/media.h"

#define GRAVITY 9.81
#define CELL (1.0 / 16)

static kp_flip *flip_of(const kp_world *world) {
  for (size_t s = 0; s < world->systems.count; ++s) {
    if (world->systems.data[s].method == &kp_flip_method) {
      return world->systems.data[s].self;
    }
  }
  fail_msg("the world has no flip liquid");
  return NULL;
}

static kp_world *pool(const char *backend, double width, double height, double centering) {
  kp_test_settings s =
      kp_test_settings_make(2, kp_vec3_make(0.0, 0.0, 0.0), kp_vec3_make(1.0, 1.0, 0.0));
  s.backend = backend;
  s.simulation.gravity = kp_vec3_make(0.0, -GRAVITY, 0.0);
  kp_world *world = kp_test_world(&s);
  kp_grid_def grid = kp_default_grid_def();
  grid.centering = centering;
  kp_liquid_def water = kp_test_liquid("water", kp_vec3_make(0.0, 0.0, 0.0),
                                       kp_vec3_make(width, height, 0.0), 0.5 * CELL);
  water.method = KP_LIQUID_FLIP;
  water.viscosity = 0.0;
  assert_ok(kp_world_set_grid(world, &grid));
  assert_ok(kp_world_add_liquid(world, &water));
  return world;
}

// ---- rest ---------------------------------------------------------------------------------------

// Of the faces of liquid cells.
static double fastest_face(const kp_flip *flip) {
  const kp_mac_view *g = &flip->flow.mac->view;
  const uint8_t *flags = kp_buffer_host(&flip->flow.flags->buffers[0], KP_ACCESS_READ);
  double fastest = 0.0;
  for (int c = 0; c < 2; ++c) {
    const kp_real *v = kp_buffer_host(&flip->flow.velocity->buffers[c], KP_ACCESS_READ);
    for (int64_t j = 0; j < g->n[1]; ++j) {
      for (int64_t i = 0; i < g->n[0]; ++i) {
        int64_t at = kp_mac_at(g, i, j, 0);
        bool is_liquid = (flags[at] & KP_CELL_KIND) == KP_CELL_FLUID;
        double speed = fmax(fabs((double)v[at]), fabs((double)v[at + kp_mac_stride(g, c)]));
        fastest = is_liquid ? fmax(fastest, speed) : fastest;
      }
    }
  }
  return fastest;
}

static double pressure_error(const kp_flip *flip, double height) {
  const kp_mac_view *g = &flip->flow.mac->view;
  const kp_real *p = kp_buffer_host(&flip->flow.pressure->buffers[0], KP_ACCESS_READ);
  double worst = 0.0;
  for (int j = 0; (j + 1) * g->cell < height; ++j) {
    double wanted = 1000.0 * GRAVITY * (height - (j + 0.5) * g->cell);
    worst = kp_test_most(worst, fabs((double)p[kp_mac_at(g, g->n[0] / 2, j, 0)] - wanted));
  }
  return worst / (1000.0 * GRAVITY * height);
}

// Neither the liquid nor its particles: what the pressure gives ahead is kept beside their
// velocity.
static void still_water_stays_still(void **state) {
  (void)state;
  const double heights[] = { 0.375, 0.40625 };
  for (int way = 0; way < 4; ++way) {
    double height = heights[way % 2];
    kp_world *world = pool("cpu", 1.0, height, way < 2 ? 0.55 : 0.6);
    assert_ok(kp_world_build(world));
    kp_flip *flip = flip_of(world);
    double fastest = 0.0;
    double swiftest = 0.0;
    for (int frame = 0; frame < 90; ++frame) {
      assert_ok(kp_world_advance(world, 1.0 / 30, NULL));
      fastest = kp_test_most(fastest, fastest_face(flip));
      swiftest = kp_test_most(swiftest, kp_test_stats(world, "water").max_speed);
    }
    double error = pressure_error(flip, height);
    print_message("height %.3f: fastest %.2e sqrt(g H), pressure off by %.4f\n", height,
                  fastest / sqrt(GRAVITY * height), error);
    assert_between(fastest, 0.0, 1e-3 * sqrt(GRAVITY * height));
    assert_between(swiftest, 0.0, 1e-3 * sqrt(GRAVITY * height));
    assert_between(error, 0.0, 0.01);
    kp_world_destroy(&world);
  }
}

// ---- bits ---------------------------------------------------------------------------------------

static kp_world *dam_at_a_ball(const char *backend) {
  kp_world *world = pool(backend, 0.4, 0.6, 0.55);
  kp_collider_def ball = kp_default_collider_def();
  (void)snprintf(ball.name, sizeof ball.name, "ball");
  ball.shape = kp_test_ball(kp_vec3_make(0.65, 0.1, 0.0), 0.12);
  assert_ok(kp_world_add_collider(world, &ball));
  assert_ok(kp_world_build(world));
  return world;
}

static void test_bits(void **state) {
  (void)state;
  (void)kp_test_same_bits(dam_at_a_ball, 16);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(still_water_stays_still),
    cmocka_unit_test(test_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
