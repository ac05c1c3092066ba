// A plume in a tall room with the window of its grid following it.
#include <math.h>
#include <string.h>

#include "methods/smoke/smoke.h"

#include "support/media.h"

#define STEPS 6

static kp_world *make(const char *backend, bool follow) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(1.5, 4.0, 1.5));
  s.backend = backend;
  s.simulation.dt = 0.02;
  s.domain.boundary_x = s.domain.boundary_z = KP_BOUNDARY_OPEN;
  s.domain.open_top = true;
  kp_world *world = kp_test_world(&s);
  kp_grid_def grid = kp_default_grid_def();
  grid.cell = 1.0 / 20.0;
  grid.follow = follow;
  assert_ok(kp_world_set_grid(world, &grid));
  kp_smoke_def gas = kp_default_smoke_def();
  strcpy(gas.name, "gas");
  gas.empty = true;
  assert_ok(kp_world_add_smoke(world, &gas));
  kp_source_def vent = kp_default_source_def();
  strcpy(vent.name, "vent");
  strcpy(vent.into, "gas");
  vent.shape = kp_test_ball(kp_vec3_make(0.75, 0.25, 0.75), 0.12);
  vent.density = 1.0;
  vent.temperature = 373.0;
  assert_ok(kp_world_add_source(world, &vent));
  assert_ok(kp_world_build(world));
  return world;
}

static kp_world *make_following(const char *backend) {
  return make(backend, true);
}

typedef struct plume {
  double smoke;   // sum over all cells
  double height;  // of its centre [m]
  double share;   // of the cells that are in the window at the end
  int n_windows;  // that there were
} plume;

static plume run(bool follow) {
  kp_world *world = make("cpu", follow);
  kp_mac *mac = world->env.grids.data[0].mac;
  plume p = { 0 };
  for (int s = 0; s < 4 * STEPS; ++s) {
    uint64_t before = mac->window_revision;
    kp_test_steps(world, 1);
    p.n_windows += mac->window_revision != before ? 1 : 0;
  }
  kp_field *density = kp_space_find(mac->space, "density");
  const kp_real *d = kp_buffer_host(&density->buffers[0], KP_ACCESS_READ);
  for (int64_t at = 0; at < mac->view.count; ++at) {
    int64_t cell[3];
    kp_mac_cell_of(&mac->view, at, cell);
    bool inside = true;
    for (int c = 0; c < 3; ++c) {
      inside = inside && cell[c] >= 0 && cell[c] < mac->view.n[c];
    }
    p.smoke += inside ? (double)d[at] : 0.0;
    p.height += inside ? (double)d[at] * ((double)cell[1] + 0.5) * mac->view.cell : 0.0;
  }
  p.height /= p.smoke;
  p.share = (double)kp_mac_n_cells(mac) / (double)kp_mac_n_all(mac);
  kp_world_destroy(&world);
  return p;
}

static void test_follows(void **state) {
  (void)state;
  plume whole = run(false);
  plume window = run(true);
  print_message("smoke %.1f at %.3f m; with a window of %.0f %% of the cells, moved %d times, %.1f "
                "at %.3f m\n",
                whole.smoke, whole.height, 100.0 * window.share, window.n_windows, window.smoke,
                window.height);
  assert_true(whole.share == 1.0);
  assert_true(window.share < 0.5);
  assert_true(window.n_windows >= 2);
  assert_near_relative(window.smoke, whole.smoke, 0.05);
  assert_near(window.height, whole.height, 1.0 / 20.0);
}

static void test_bits(void **state) {
  (void)state;
  (void)kp_test_same_bits(make_following, STEPS);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_follows),
    cmocka_unit_test(test_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
