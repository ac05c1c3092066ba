// FLIP and APIC: water at rest, fast drops in long steps, and the
// same bits everywhere.
#include <math.h>
#include <stdio.h>

#include "methods/flip/flip.h"

#include "support/claims.h"
#include "support/media.h"

#define GRAVITY 9.81

static kp_flip *flip_of(const kp_world *world) {
  return kp_test_system(world, &kp_flip_method);
}

static kp_liquid_def flip_liquid(const char *name, kp_vec3 lo, kp_vec3 hi, double spacing) {
  kp_liquid_def liquid = kp_test_liquid(name, lo, hi, spacing);
  liquid.method = KP_LIQUID_FLIP;
  liquid.viscosity = 0.0;
  return liquid;
}

static kp_world *world_with(const kp_test_settings *s, const kp_flip_def *flip,
                            const kp_liquid_def *liquid) {
  kp_world *world = kp_test_world(s);
  assert_ok(kp_world_set_flip(world, flip));
  assert_ok(kp_world_add_liquid(world, liquid));
  return world;
}

static kp_flip_def def_of(int transfer) {
  kp_flip_def def = kp_default_flip_def();
  def.transfer = transfer;
  return def;
}

static double max_speed(kp_world *world) {
  return kp_test_stats(world, "water").max_speed;
}

// ---- rest ---------------------------------------------------------------------------------------

// A pool of `height`; the surface lies somewhere in a cell.
static kp_world *pool(int dimension, int transfer, double height) {
  double depth = dimension == 2 ? 0.0 : 0.4;
  kp_test_settings s =
      kp_test_settings_make(dimension, kp_vec3_make(0.0, 0.0, 0.0), kp_vec3_make(0.8, 0.8, depth));
  s.simulation.gravity = kp_vec3_make(0.0, -GRAVITY, 0.0);
  s.simulation.dt_max = 0.01;
  kp_liquid_def water =
      flip_liquid("water", kp_vec3_make(0.0, 0.0, 0.0), kp_vec3_make(0.8, height, depth), 0.025);
  kp_flip_def flip = def_of(transfer);
  kp_world *world = world_with(&s, &flip, &water);
  assert_ok(kp_world_build(world));
  return world;
}

// Pressure of the cells of the middle column against rho g depth, over that at the floor.
static double pressure_error(kp_world *world, double height) {
  kp_flip *flip = flip_of(world);
  const kp_mac_view *g = &flip->flow.mac->view;
  const kp_real *p = kp_buffer_host(&flip->flow.pressure->buffers[0], KP_ACCESS_READ);
  double worst = 0.0;
  for (int j = 0; (j + 1) * g->cell < height; ++j) {
    double wanted = 1000.0 * GRAVITY * (height - (j + 0.5) * g->cell);
    double is = (double)p[kp_mac_at(g, g->n[0] / 2, j, g->n[2] / 2)];
    worst = kp_test_most(worst, fabs(is - wanted));
  }
  return worst / (1000.0 * GRAVITY * height);
}

// Hong claim 6a, uniform part: 10 s of rest.
static void still_water_stays_still(void **state) {
  (void)state;
  const double heights[] = { 0.4, 0.425 };
  for (int way = 0; way < 6; ++way) {
    int dimension = way < 4 ? 2 : 3;
    double height = heights[way % 2];
    double limit = 1e-3 * sqrt(GRAVITY * height);
    kp_world *world = pool(dimension, way < 4 ? way / 2 : way % 2, height);
    double fastest = 0.0;
    double seconds = way == 1 ? 10.0 : 1.0;
    for (int frame = 0; frame < (int)(seconds * 10.0); ++frame) {
      assert_ok(kp_world_advance(world, 0.1, NULL));
      fastest = kp_test_most(fastest, max_speed(world));
    }
    double error = pressure_error(world, height);
    assert_between(fastest, 0.0, limit);
    assert_between(error, 0.0, 0.01);
    if (way == 1) {
      kp_claim claim = { .id = "hong-6-uniform",
                         .text = "still water stays still on a uniform grid and has its pressure",
                         .size = "16 x 16 cells, surface in the middle of a cell" };
      kp_claim_all(
          &claim,
          { "largest speed over sqrt(g H)", fastest / sqrt(GRAVITY * height), KP_LESS, 1e-3 },
          { "pressure off rho g depth, over that at the floor", error, KP_AT_MOST, 0.01 },
          { "seconds", kp_world_time(world), KP_AT_LEAST, 10.0 - 1e-9 });
    }
    kp_world_destroy(&world);
  }
}

// ---- long steps ---------------------------------------------------------------------------------

// Drops that fall into a pool in steps of several cells: none gets faster than its fall makes it,
// and in the end all of them lie in the pool.
static void fast_drops_do_not_hover(void **state) {
  (void)state;
  const double cell = 1.0 / 32.0;
  for (int transfer = 0; transfer < 2; ++transfer) {
    kp_test_settings s =
        kp_test_settings_make(2, kp_vec3_make(0.0, 0.0, 0.0), kp_vec3_make(1.0, 1.0, 0.0));
    s.simulation.gravity = kp_vec3_make(0.0, -GRAVITY, 0.0);
    s.simulation.dt = 1.0 / 24.0;
    kp_flip_def flip = def_of(transfer);
    kp_liquid_def water =
        flip_liquid("water", kp_vec3_make(0.0, 0.0, 0.0), kp_vec3_make(1.0, 0.25, 0.0), 0.5 * cell);
    kp_world *world = world_with(&s, &flip, &water);
    for (int drop = 0; drop < 6; ++drop) {
      char name[16];
      double x = cell * (3 + 5 * drop);
      double y = 0.4 + 0.1 * drop;
      (void)snprintf(name, sizeof name, "drop%d", drop);
      kp_liquid_def d = flip_liquid(name, kp_vec3_make(x, y, 0.0),
                                    kp_vec3_make(x + cell, y + cell, 0.0), 0.5 * cell);
      assert_ok(kp_world_add_liquid(world, &d));
    }
    assert_ok(kp_world_build(world));
    double fastest = 0.0;
    for (int frame = 0; frame < 72; ++frame) {
      assert_ok(kp_world_advance(world, 1.0 / 24.0, NULL));
      for (int drop = 0; drop < 6; ++drop) {
        char name[16];
        (void)snprintf(name, sizeof name, "drop%d", drop);
        fastest = kp_test_most(fastest, kp_test_stats(world, name).max_speed);
      }
    }
    assert_between(fastest, 3.0, sqrt(2.0 * GRAVITY * 1.0));
    for (int drop = 0; drop < 6; ++drop) {
      char name[16];
      (void)snprintf(name, sizeof name, "drop%d", drop);
      assert_between(kp_test_stats(world, name).bounds.max.y, 0.0, 0.25 + 2.0 * cell);
    }
    kp_world_destroy(&world);
  }
}

// A tank with a pillar and a paddle, water and a jet, periodic across z or x.
static kp_world *busy(const char *backend, int dimension, int transfer) {
  bool is_flat = dimension == 2;
  kp_test_settings s =
      kp_test_settings_make(dimension, kp_vec3_make(-0.03, 0.01, is_flat ? 0.0 : 0.02),
                            kp_vec3_make(0.77, 0.61, is_flat ? 0.0 : 0.42));
  s.backend = backend;
  s.simulation.gravity = kp_vec3_make(0.0, -GRAVITY, 0.0);
  s.domain.boundary_x = is_flat ? KP_BOUNDARY_PERIODIC : KP_BOUNDARY_CLOSED;
  s.domain.boundary_z = is_flat ? KP_BOUNDARY_CLOSED : KP_BOUNDARY_PERIODIC;
  kp_flip_def flip = def_of(transfer);
  double depth = is_flat ? 0.0 : 0.42;
  kp_liquid_def water = flip_liquid("water", kp_vec3_make(-0.03, 0.01, is_flat ? 0.0 : 0.02),
                                    kp_vec3_make(0.27, 0.31, depth), 0.025);
  water.viscosity = 0.01;
  kp_world *world = world_with(&s, &flip, &water);
  kp_liquid_def more = flip_liquid("more", kp_vec3_make(0.47, 0.01, is_flat ? 0.0 : 0.02),
                                   kp_vec3_make(0.57, 0.21, depth), 0.025);
  more.viscosity = 0.01;
  assert_ok(kp_world_add_liquid(world, &more));
  kp_collider_def pillar = kp_default_collider_def();
  (void)snprintf(pillar.name, sizeof pillar.name, "pillar");
  pillar.shape = kp_test_ball(kp_vec3_make(0.37, 0.11, is_flat ? 0.0 : 0.2), 0.08);
  assert_ok(kp_world_add_collider(world, &pillar));
  kp_emitter_def jet = kp_default_emitter_def();
  (void)snprintf(jet.name, sizeof jet.name, "jet");
  (void)snprintf(jet.into, sizeof jet.into, "water");
  jet.position = kp_curve_constant3(kp_vec3_make(0.1, 0.5, is_flat ? 0.0 : 0.2));
  jet.direction = kp_vec3_make(1.0, 0.0, 0.0);
  jet.radius = 0.04;
  jet.speed = kp_curve_constant(2.0);
  assert_ok(kp_world_add_emitter(world, &jet));
  assert_ok(kp_world_build(world));
  return world;
}

static kp_world *busy_blend(const char *backend) {
  return busy(backend, 3, KP_FLIP_BLEND);
}

static kp_world *busy_affine(const char *backend) {
  return busy(backend, 3, KP_FLIP_AFFINE);
}

static kp_world *busy_flat(const char *backend) {
  return busy(backend, 2, KP_FLIP_BLEND);
}

// Deep enough for a narrow band of one cell to leave some of it to the grid.
static kp_world *narrow(const char *backend, int dimension, int transfer) {
  double depth = dimension == 2 ? 0.0 : 0.4;
  kp_test_settings s =
      kp_test_settings_make(dimension, kp_vec3_make(0.0, 0.0, 0.0), kp_vec3_make(0.8, 0.8, depth));
  s.backend = backend;
  s.simulation.gravity = kp_vec3_make(0.0, -GRAVITY, 0.0);
  s.domain.boundary_z = dimension == 2 ? KP_BOUNDARY_CLOSED : KP_BOUNDARY_PERIODIC;
  kp_flip_def flip = def_of(transfer);
  flip.band = 1.0;
  kp_grid_def grid = kp_default_grid_def();
  grid.advection = dimension == 3 ? KP_ADVECT_SEMI_LAGRANGIAN : KP_ADVECT_MACCORMACK;
  kp_liquid_def water =
      flip_liquid("water", kp_vec3_make(0.0, 0.0, 0.0), kp_vec3_make(0.4, 0.6, depth), 0.025);
  kp_world *world = world_with(&s, &flip, &water);
  assert_ok(kp_world_set_grid(world, &grid));
  kp_collider_def pillar = kp_default_collider_def();
  (void)snprintf(pillar.name, sizeof pillar.name, "pillar");
  pillar.shape = kp_test_ball(kp_vec3_make(0.3, 0.1, 0.5 * depth), 0.08);
  assert_ok(kp_world_add_collider(world, &pillar));
  assert_ok(kp_world_build(world));
  return world;
}

static kp_world *narrow_blend(const char *backend) {
  return narrow(backend, 3, KP_FLIP_BLEND);
}

static kp_world *narrow_flat_affine(const char *backend) {
  return narrow(backend, 2, KP_FLIP_AFFINE);
}

// Crowds come and are parted in every step.
static kp_world *crowded(const char *backend, double band) {
  kp_test_settings s =
      kp_test_settings_make(2, kp_vec3_make(0.0, 0.0, 0.0), kp_vec3_make(1.0, 1.0, 0.0));
  s.backend = backend;
  s.simulation.gravity = kp_vec3_make(0.0, -GRAVITY, 0.0);
  s.simulation.dt = 1.0 / 24.0;
  kp_flip_def flip = kp_default_flip_def();
  flip.band = band;
  kp_liquid_def water =
      flip_liquid("water", kp_vec3_make(0.0, 0.0, 0.0), kp_vec3_make(0.5, 0.625, 0.0), 1.0 / 64.0);
  kp_world *world = world_with(&s, &flip, &water);
  assert_ok(kp_world_build(world));
  return world;
}

static kp_world *crowded_full(const char *backend) {
  return crowded(backend, 0.0);
}

static kp_world *crowded_band(const char *backend) {
  return crowded(backend, 2.0);
}

static void same_bits_everywhere(void **state) {
  (void)state;
  (void)kp_test_same_bits(busy_blend, 4);
  (void)kp_test_same_bits(busy_affine, 4);
  (void)kp_test_same_bits(busy_flat, 12);
  (void)kp_test_same_bits(narrow_blend, 6);
  (void)kp_test_same_bits(narrow_flat_affine, 16);
  (void)kp_test_same_bits(crowded_full, 16);
  (void)kp_test_same_bits(crowded_band, 16);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(still_water_stays_still),
    cmocka_unit_test(fast_drops_do_not_hover),
    cmocka_unit_test(same_bits_everywhere),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
