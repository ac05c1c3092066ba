// A tank that sloshes: what water with a level set and FLIP keep of its energy and its volume (Hong
// 2009, sections II.D and III; claim 16).
#include <math.h>
#include <stdio.h>

#include "methods/flip/flip.h"
#include "methods/level_set/pls.h"

#include "support/claims.h"
#include "support/media.h"

#define G 9.81
#define WIDTH 1.0  // m
#define DEPTH 0.4
#define SPEED 0.4  // m/s of all of the water at the start
#define CELLS 48   // across
#define PI 3.14159265358979323846

typedef struct tank {
  int method;
  int advection;      // of a level set
  int64_t particles;  // of a level set
} tank;

static kp_world *make(const tank *t, kp_vec3 corner, double speed) {
  double cell = WIDTH / CELLS;
  kp_test_settings s =
      kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(WIDTH, WIDTH, 0));
  s.simulation.gravity = kp_vec3_make(0, -G, 0);
  kp_world *world = kp_test_world(&s);
  kp_grid_def grid = kp_default_grid_def();
  grid.cell = cell;
  grid.cfl = 1.0;
  grid.advection = t->advection;
  kp_level_set_def level = kp_default_level_set_def();
  level.volume = 0.0;
  level.particles = t->particles;
  // a level set goes on into walls; particles are seeded in what is given
  double low = t->method == KP_LIQUID_FLIP ? 0.0 : -1.0;
  kp_liquid_def water = kp_test_liquid("water", kp_vec3_make(low, low, low), corner, 0.5 * cell);
  water.method = t->method;
  water.viscosity = 0.0;
  water.velocity = kp_vec3_make(speed, 0, 0);
  assert_ok(kp_world_set_grid(world, &grid));
  assert_ok(kp_world_set_level_set(world, &level));
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  return world;
}

// ---- energy

// Kinetic energy goes up and down twice in a period of the first mode. Its peak within half a
// period around two periods after the first, over the first.
static double energy_left(const tank *t) {
  double k = PI / WIDTH;
  double period = 2.0 * PI / sqrt(G * k * tanh(k * DEPTH));
  double corner = t->method == KP_LIQUID_FLIP ? WIDTH : 2.0;
  kp_world *world = make(t, kp_vec3_make(corner, DEPTH, 1.0), SPEED);
  double first = 0.0;
  double last = 0.0;
  while (kp_world_time(world) < 2.25 * period) {
    assert_ok(kp_world_advance(world, period / 48.0, NULL));
    double energy = kp_test_stats(world, "water").kinetic_energy;
    double turns = kp_world_time(world) / period;
    first = turns > 0.25 && turns < 0.75 ? fmax(first, energy) : first;
    last = turns > 1.75 ? fmax(last, energy) : last;
  }
  kp_world_destroy(&world);
  return last / first;
}

static void test_energy(void **state) {
  (void)state;
  const tank first = { KP_LIQUID_LEVEL_SET, KP_ADVECT_SEMI_LAGRANGIAN, 16 };
  const tank second = { KP_LIQUID_LEVEL_SET, KP_ADVECT_MACCORMACK, 16 };
  const tank particles = { .method = KP_LIQUID_FLIP };
  double sl = energy_left(&first);
  double mac = energy_left(&second);
  double flip = energy_left(&particles);
  print_message("kinetic energy left: level set %.4f first order, %.4f MacCormack; FLIP %.4f\n", sl,
                mac, flip);
  kp_claim claim = { .id = "hong-16-slosh",
                     .text =
                         "FLIP keeps more energy of sloshing water than a first-order level set",
                     .size = "2D tank, 48 cells across, CFL 1, 1.5 periods" };
  kp_claim_all(&claim,
               { "share of kinetic energy kept by FLIP less that by first order", flip - sl,
                 KP_AT_LEAST, 0.1 },
               { "share kept by FLIP", flip, KP_AT_LEAST, 0.95 },
               { "the same, at most", flip, KP_AT_MOST, 1.0 });
  assert_true(flip > sl + 0.05);
  assert_true(mac > sl + 0.03);
  assert_between(flip, 0.9, 1.0);
}

// ---- volume

static double volume_of(kp_world *world) {
  for (size_t s = 0; s < world->systems.count; ++s) {
    kp_system *system = &world->systems.data[s];
    if (system->method == &kp_pls_method) {
      kp_level_set_sums sums;
      assert_ok(kp_pls_measure(system->self, &sums));
      return sums.volume;
    }
    if (system->method == &kp_flip_method) {
      kp_flip_volumes volumes;
      assert_ok(kp_flip_measure(system->self, &volumes));
      return volumes.volume;
    }
  }
  fail_msg("the world has no water on a grid");
  return 0.0;
}

// What a breaking dam has gained in frames of 1/24 s: the largest change in a second.
static double gain(const tank *t) {
  double depth = t->method == KP_LIQUID_FLIP ? 0.0 : 1.0;
  kp_world *world = make(t, kp_vec3_make(0.35, 0.6, depth), 0.0);
  // cells of FLIP are marked by a step
  assert_ok(kp_world_step(world, 1e-4, NULL));
  double before = volume_of(world);
  double worst = 0.0;
  for (int frame = 0; frame < 24; ++frame) {
    assert_ok(kp_world_advance(world, 1.0 / 24, NULL));
    double change = volume_of(world) / before - 1.0;
    worst = fabs(change) > fabs(worst) ? change : worst;
  }
  kp_world_destroy(&world);
  return worst;
}

static void test_volume(void **state) {
  (void)state;
  const tank bare = { KP_LIQUID_LEVEL_SET, KP_ADVECT_SEMI_LAGRANGIAN, 0 };
  const tank level_set = { KP_LIQUID_LEVEL_SET, KP_ADVECT_SEMI_LAGRANGIAN, 16 };
  const tank particles = { .method = KP_LIQUID_FLIP };
  double without = gain(&bare);
  double with = gain(&level_set);
  double flip = gain(&particles);
  print_message("gained: level set alone %.4f, with particles %.4f; FLIP %.4f\n", without, with,
                flip);
  kp_claim claim = { .id = "hong-16-volume",
                     .text = "a particle level set loses volume of a breaking dam, FLIP less",
                     .size = "2D dam, 48 cells across, 1 s, no correction of the level set" };
  kp_claim_all(&claim,
               { "change by the level set over that by FLIP", fabs(with / flip), KP_MORE, 1.0 },
               { "volume of the level set, gained (lost: below 0)", with, KP_LESS, 0.0 });
  assert_true(fabs(with) > 2.0 * fabs(flip));
  // the flow, not the particles, makes it grow: a level set alone does as well
  assert_true(without > 0.02);
  assert_between(flip, -0.04, 0.04);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_energy),
    cmocka_unit_test(test_volume),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
