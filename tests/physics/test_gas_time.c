// Gases are of second order in time at the settings of a scene that says none: eddies live as long
// as viscosity lets them, a cavity does not know how long the steps were that led to it, and its
// centre lines are those of Ghia, Ghia & Shin (1982).
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/mac_sample.h"
#include "io/table.h"
#include "kelpie/scene.h"
#include "methods/smoke/smoke.h"
#include "par/parallel.h"

#include "gas_time_size.h"
#include "support/gases.h"
#include "support/media.h"

#define SIZE gas_time_size_chosen

static kp_world *load(const char *scene, const char *const *sets, size_t n) {
  char path[1024];
  kp_world *world = NULL;
  kp_parallel_set_threads(1);
  snprintf(path, sizeof path, "%s/scenes/validation/%s", kp_test_source_dir(), scene);
  assert_ok(kp_world_create("cpu", &world));
  assert_ok(kp_world_load_scene(world, path, sets, n));
  assert_ok(kp_world_build(world));
  return world;
}

static void run_for(kp_world *world, double seconds) {
  while (kp_world_time(world) < seconds) {
    kp_test_steps(world, 1);
  }
}

static double energy(kp_world *world) {
  return kp_test_stats(world, "gas").kinetic_energy;
}

static void test_eddies_live_as_long_as_viscosity_lets_them(void **state) {
  (void)state;
  kp_world *world = load("taylor_green.lua", NULL, 0);
  double start = energy(world);
  run_for(world, 1.0);
  double left = sqrt(energy(world) / start);
  double wanted = exp(-2.0 * 0.01 * pow(2.0 * 3.14159265358979, 2.0) * kp_world_time(world));
  print_message("  %.5f of the speed is left, exact %.5f\n", left, wanted);
  assert_near_relative(left, wanted, 0.01);
  kp_world_destroy(&world);
}

static double cavity_energy(const char *step) {
  char dt[64];
  snprintf(dt, sizeof dt, "simulation.dt_max=%s", step);
  const char *sets[] = { "grid.cell=0.03125", "gas.viscosity=0.01", dt };
  kp_world *world = load("cavity_grid.lua", sets, 3);
  run_for(world, 20.0);
  double e = energy(world);
  print_message("  steps of %s s: %.5f J\n", step, e);
  kp_world_destroy(&world);
  return e;
}

static void test_steady_flow_knows_no_step(void **state) {
  (void)state;
  double fine = cavity_energy("0.0025");
  assert_near_relative(cavity_energy("0.01"), fine, 0.01);
  assert_near_relative(cavity_energy("0.04"), fine, 0.01);
}

// Ghosts say what lies beyond the walls of the domain: no cell of a gas is held to first order
// there.
static void test_walls_are_not_solids(void **state) {
  (void)state;
  const char *sets[] = { "grid.cell=0.125" };
  kp_world *world = load("cavity_grid.lua", sets, 1);
  kp_test_steps(world, 1);
  kp_flow *flow = &kp_test_gas(world)->flow;
  const kp_mac_view *g = &flow->mac->view;
  const uint8_t *flags = kp_buffer_host(&flow->flags->buffers[0], KP_ACCESS_READ);
  for (int64_t n = 0; n < kp_mac_n_all(flow->mac); ++n) {
    assert_int_equal(flags[kp_mac_at(g, n % g->n[0], n / g->n[0], 0)], KP_CELL_FLUID);
  }
  kp_world_destroy(&world);
}

// Root of the mean square of what a centre line is off the table, of the lid's speed.
static double off_the_table(kp_world *world, const char *table, int reynolds) {
  kp_flow *flow = &kp_test_gas(world)->flow;
  char path[1024];
  char column[32];
  kp_table_data *data = NULL;
  bool is_u = table[0] == 'u';
  snprintf(path, sizeof path, "%s/tests/data/ghia_1982_%s.csv", kp_test_source_dir(), table);
  snprintf(column, sizeof column, "%s_re%d", table, reynolds);
  assert_ok(kp_table_read(path, &data));
  const double *s = kp_table_column(data, is_u ? "y" : "x");
  const double *want = kp_table_column(data, column);
  assert_true(s != NULL && want != NULL);
  kp_mac_velocity u = { kp_buffer_host(&flow->velocity->buffers[0], KP_ACCESS_READ),
                        kp_buffer_host(&flow->velocity->buffers[1], KP_ACCESS_READ), NULL };
  double sum = 0.0;
  int n = 0;
  for (size_t r = 0; r < data->n_rows; ++r) {
    if (s[r] > 0.0 && s[r] < 1.0) {
      kp_real v[3];
      kp_mac_velocity_at(&flow->mac->view, u, is_u ? 0.5 : s[r], is_u ? s[r] : 0.5, 0.0, v);
      sum += pow((double)v[is_u ? 0 : 1] - want[r], 2.0);
      ++n;
    }
  }
  kp_table_free(&data);
  assert_int_equal(n, 15);
  return sqrt(sum / n);
}

static void test_centre_lines(void **state) {
  (void)state;
  for (int k = 0; k < SIZE.n_runs; ++k) {
    const gas_time_run *run = &SIZE.runs[k];
    char viscosity[64];
    snprintf(viscosity, sizeof viscosity, "gas.viscosity=%.9g", 1.0 / run->reynolds);
    const char *sets[] = { viscosity };
    kp_world *world = load("cavity_grid.lua", sets, 1);
    run_for(world, run->seconds);
    double u = off_the_table(world, "u", run->reynolds);
    double v = off_the_table(world, "v", run->reynolds);
    print_message("  Re %d: u %.4f, v %.4f of the lid's speed\n", run->reynolds, u, v);
    assert_true(u <= run->limit && v <= run->limit);
    kp_world_destroy(&world);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_eddies_live_as_long_as_viscosity_lets_them),
    cmocka_unit_test(test_steady_flow_knows_no_step),
    cmocka_unit_test(test_walls_are_not_solids),
    cmocka_unit_test(test_centre_lines),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
