// What vortex particles cost (Selle 2008, claim C10): the explosion of figure 3.4 at its size, 180
// x 260 x 180 cells with 6000 particles of radius four cells. A share of one run's own time;
// it needs 2 GB.
#include <stdio.h>
#include <string.h>

#include "support/claims.h"
#include "support/worlds.h"

#define CELLS 180
#define STEPS 4

static kp_world *make_explosion(void) {
  double h = 1.0 / CELLS;
  kp_test_settings s =
      kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 260.0 * h, 1));
  s.domain.boundary_x = KP_BOUNDARY_OPEN;
  s.domain.boundary_z = KP_BOUNDARY_OPEN;
  s.domain.open_top = true;
  s.simulation.dt = 1.0 / 240.0;
  kp_world *world = kp_test_world(&s);
  kp_grid_def grid = kp_default_grid_def();
  grid.cell = h;
  grid.tolerance = 1e-4;
  assert_ok(kp_world_set_grid(world, &grid));
  kp_smoke_def cloud = kp_default_smoke_def();
  strcpy(cloud.name, "cloud");
  cloud.empty = true;
  cloud.lift = 0.001;
  assert_ok(kp_world_add_smoke(world, &cloud));
  kp_source_def charge = kp_default_source_def();
  strcpy(charge.name, "charge");
  strcpy(charge.into, "cloud");
  charge.shape = kp_test_box(kp_vec3_make(0.45, 0, 0.45), kp_vec3_make(0.55, 0.1, 0.55));
  charge.density = 5.0;
  charge.temperature = 3000.0;
  charge.divergence = kp_curve_constant(60.0);
  assert_ok(kp_world_add_source(world, &charge));
  kp_vortices_def swarm = kp_default_vortices_def();
  strcpy(swarm.name, "swarm");
  strcpy(swarm.into, "cloud");
  swarm.shape = charge.shape;
  swarm.rule = KP_VORTICES_RING;
  swarm.magnitude = 2e-3;
  swarm.radius = 4.0 * h;
  swarm.rate = 1e9;
  swarm.limit = 6000;
  assert_ok(kp_world_add_vortices(world, &swarm));
  assert_ok(kp_world_build(world));
  return world;
}

static double seconds_of(const kp_profile *profile, const char *name) {
  for (int s = 0; s < profile->n_slots; ++s) {
    if (strcmp(profile->names[s], name) == 0) {
      return profile->seconds[s];
    }
  }
  return 0.0;
}

static void test_share(void **state) {
  (void)state;
  kp_world *world = make_explosion();
  // the first step warms up and gives birth
  kp_test_steps(world, 1);
  assert_int_equal(kp_world_count(world, "swarm"), 6000);
  kp_profile_clear(&world->profile);
  kp_test_steps(world, STEPS);
  double vortices = seconds_of(&world->profile, "vortices");
  double whole = 0.0;
  for (int s = 0; s < world->profile.n_slots; ++s) {
    whole += strcmp(world->profile.names[s], "vortices") == 0 ? 0.0 : world->profile.seconds[s];
  }
  int64_t n = kp_world_count(world, "swarm");
  kp_world_destroy(&world);
  print_message("  vortex particles: %.2f of %.1f s, %.2f %%\n", vortices, whole,
                100.0 * vortices / whole);
  kp_claim claim = { .id = "selle-C10",
                     .text = "vortex particles take less than 5 % of the step",
                     .size = "explosion, 180x260x180 cells, radius of four cells, 4 steps" };
  kp_claim_all(&claim,
               { "time of force, push, stretching and motion over that of the rest",
                 vortices / whole, KP_LESS, 0.05 },
               { "particles", (double)n, KP_AT_LEAST, 6000.0 });
  // three times as much on a busy machine
  assert_between(vortices / whole, 1e-6, 0.15);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_share) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
