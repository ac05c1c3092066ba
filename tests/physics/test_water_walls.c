// Water lets go of the walls of the domain, with a level set and by FLIP: what hangs from a ceiling
// falls as fast as anything does, a dam under a low ceiling keeps its volume and gains no energy.
#include <math.h>
#include <stdio.h>

#include "methods/flip/flip.h"
#include "methods/level_set/pls.h"

#include "support/claims.h"
#include "support/media.h"

#define GRAVITY 9.81

typedef struct room_def {
  const char *backend;
  kp_liquid_method method;
  double cell;
  kp_vec3 lo, hi;    // of the water
  kp_vec3 velocity;  // m/s
  bool lets_go;
  bool drifts;  // nothing gives its volume back
} room_def;

// Water in a box of 1 x 1 m.
static kp_world *make(const room_def *d) {
  kp_test_settings s =
      kp_test_settings_make(2, kp_vec3_make(0.0, 0.0, 0.0), kp_vec3_make(1.0, 1.0, 0.0));
  s.backend = d->backend;
  s.simulation.gravity = kp_vec3_make(0.0, -GRAVITY, 0.0);
  kp_world *world = kp_test_world(&s);
  kp_grid_def grid = kp_default_grid_def();
  grid.cell = d->cell;
  grid.cfl = 1.0;
  kp_level_set_def level = kp_default_level_set_def();
  level.lets_go = d->lets_go;
  level.volume = d->drifts ? 0.0 : level.volume;
  kp_flip_def flip = kp_default_flip_def();
  flip.lets_go = d->lets_go;
  kp_liquid_def water = kp_test_liquid("water", d->lo, d->hi, 0.5 * d->cell);
  water.method = (int)d->method;
  water.velocity = d->velocity;
  water.viscosity = 0.0;
  assert_ok(kp_world_set_grid(world, &grid));
  assert_ok(kp_world_set_level_set(world, &level));
  assert_ok(kp_world_set_flip(world, &flip));
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  return world;
}

static double height_of(kp_world *world) {
  kp_population_stats stats = kp_test_stats(world, "water");
  return stats.potential_energy / (stats.mass * GRAVITY);
}

// ---- what hangs ---------------------------------------------------------------------------------

#define FILM 0.05  // m
#define FALL 0.3   // s

// How far a film that hangs from the ceiling has come, over free fall.
static double film_falls(kp_liquid_method method, bool lets_go) {
  double low = method == KP_LIQUID_FLIP ? 0.0 : -1.0;
  room_def d = { .backend = "cpu",
                 .method = method,
                 .cell = 1.0 / 64,
                 .lo = { 0.3, 1.0 - FILM, low },
                 .hi = { 0.7, method == KP_LIQUID_FLIP ? 1.0 : 2.0, -low },
                 .lets_go = lets_go };
  kp_world *world = make(&d);
  double before = height_of(world);
  assert_ok(kp_world_advance(world, FALL, NULL));
  double after = height_of(world);
  kp_world_destroy(&world);
  return (before - after) / (0.5 * GRAVITY * FALL * FALL);
}

static void films_fall_freely(void **state) {
  (void)state;
  static const struct {
    kp_liquid_method method;
    const char *id, *text;
  } rows[] = {
    { KP_LIQUID_LEVEL_SET, "kelpie-wall-film-level-set",
      "a film of level-set water lets go of the ceiling: its way over that of free fall, off 1" },
    { KP_LIQUID_FLIP, "kelpie-wall-film-flip",
      "a film of FLIP water lets go of the ceiling: its way over that of free fall, off 1" },
  };
  for (int r = 0; r < 2; ++r) {
    double free = film_falls(rows[r].method, true);
    double held = film_falls(rows[r].method, false);
    print_message("%s: %.3f of free fall, %.3f held\n", rows[r].id, free, held);
    kp_claim claim = { rows[r].id, rows[r].text, "2D, 64 x 64 cells, 3.2 cells thick, 0.3 s",
                       fabs(free - 1.0), 0.05 };
    kp_claim_at_most(&claim);
    assert_between(free, 0.95, 1.05);
    assert_true(held < 0.7);
  }
}

// ---- what is thrown -----------------------------------------------------------------------------

// A block of 0.4 x 0.2 m is thrown at the ceiling with 2.5 m/s, hits it after 0.1 s with 1.5 m/s
// and spreads along it until 0.2 s. A fall from 0.9 m then has its middle at 0.46 m at 0.5 s. FLIP
// lets go within five cells of the air, so that air has to come in from the rim of the block.
static void thrown_blocks_come_down(void **state) {
  (void)state;
  for (int r = 0; r < 2; ++r) {
    room_def d = { .backend = "cpu",
                   .method = r == 0 ? KP_LIQUID_LEVEL_SET : KP_LIQUID_FLIP,
                   .cell = 1.0 / 64,
                   .lo = { 0.3, 0.6, r == 0 ? -1.0 : 0.0 },
                   .hi = { 0.7, 0.8, r == 0 ? 1.0 : 0.0 },
                   .velocity = { 0.0, 2.5, 0.0 } };
    double height[2];
    for (int lets_go = 0; lets_go < 2; ++lets_go) {
      d.lets_go = lets_go;
      kp_world *world = make(&d);
      assert_ok(kp_world_advance(world, 0.5, NULL));
      height[lets_go] = height_of(world);
      kp_world_destroy(&world);
    }
    print_message("%s: mean height %.3f m, %.3f held\n", r == 0 ? "level set" : "FLIP", height[1],
                  height[0]);
    assert_true(height[0] > 0.75);
    assert_true(height[1] < (r == 0 ? 0.5 : 0.65));
  }
}

// ---- a dam --------------------------------------------------------------------------------------

typedef struct course {
  double drift;  // of the volume
  double gain;   // of the energy, over its lowest before
} course;

static course one_dam(double width, double cell, bool lets_go, bool drifts) {
  room_def d = { .backend = "cpu",
                 .method = KP_LIQUID_LEVEL_SET,
                 .cell = cell,
                 .lo = { -1.0, -1.0, -1.0 },
                 .hi = { width, 0.6, 1.0 },
                 .lets_go = lets_go,
                 .drifts = drifts };
  kp_world *world = make(&d);
  kp_population_stats first = kp_test_stats(world, "water");
  double whole = first.kinetic_energy + first.potential_energy;
  double least = whole;
  course out = { 0 };
  for (int frame = 0; frame < 42; ++frame) {
    assert_ok(kp_world_advance(world, 1.0 / 30, NULL));
    kp_population_stats s = kp_test_stats(world, "water");
    double energy = s.kinetic_energy + s.potential_energy;
    out.drift = kp_test_most(out.drift, fabs(s.mass / first.mass - 1.0));
    out.gain = kp_test_most(out.gain, (energy - least) / whole);
    least = kp_test_least(least, energy);
  }
  kp_world_destroy(&world);
  return out;
}

#define DAMS 4

// Splashes are chaotic: the gain of one dam is between 0.3 and 2 times the mean of those whose
// width differs by a tenth of a millimetre.
static course dam(double cell, bool lets_go, bool drifts) {
  course mean = { 0 };
  for (int d = 0; d < DAMS; ++d) {
    course one = one_dam(0.35 + 1e-4 * d, cell, lets_go, drifts);
    mean.drift += one.drift / DAMS;
    mean.gain += one.gain / DAMS;
  }
  return mean;
}

// Held by suction a sheet below the ceiling gains volume, and energy with it. Where each cell gives
// back what it has gained little is left of that, so the control has no correction.
static void dams_keep_volume_and_energy(void **state) {
  (void)state;
  for (int r = 0; r < 2; ++r) {
    double cell = r == 0 ? 1.0 / 64 : 1.0 / 32;
    course free = dam(cell, true, false);
    course held = dam(cell, false, false);
    course left = dam(cell, true, true);
    course held_left = dam(cell, false, true);
    print_message("dam, cell %g: volume %.4f, energy gained %.4f; held %.4f, %.4f\n", cell,
                  free.drift, free.gain, held.drift, held.gain);
    print_message("  without the correction of the volume %.4f, %.4f; held %.4f, %.4f\n",
                  left.drift, left.gain, held_left.drift, held_left.gain);
    assert_true(free.drift < 0.03);
    assert_true(free.gain < 0.05);
    assert_true(held.gain < 0.1);
    assert_true(held_left.gain > 2.0 * left.gain);
  }
}

// ---- bits ---------------------------------------------------------------------------------------

static kp_world *small_film(const char *backend, kp_liquid_method method) {
  double low = method == KP_LIQUID_FLIP ? 0.0 : -1.0;
  room_def d = { .backend = backend,
                 .method = method,
                 .cell = 1.0 / 24,
                 .lo = { 0.25, 0.875, low },
                 .hi = { 0.75, 1.0, -low },
                 .lets_go = true };
  return make(&d);
}

static kp_world *level_set_film(const char *backend) {
  return small_film(backend, KP_LIQUID_LEVEL_SET);
}

static kp_world *flip_film(const char *backend) {
  return small_film(backend, KP_LIQUID_FLIP);
}

static void test_bits(void **state) {
  (void)state;
  (void)kp_test_same_bits(level_set_film, 12);
  (void)kp_test_same_bits(flip_film, 12);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(films_fall_freely),
    cmocka_unit_test(thrown_blocks_come_down),
    cmocka_unit_test(dams_keep_volume_and_energy),
    cmocka_unit_test(test_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
