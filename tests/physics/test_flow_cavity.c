// The lid-driven cavity on a grid against the centre lines of Ghia, Ghia & Shin (1982).
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "data/mac_sample.h"
#include "io/table.h"
#include "methods/common/flow.h"

#include "flow_cavity_size.h"
#include "support/claims.h"
#include "support/worlds.h"

#define SIZE flow_cavity_size_chosen

typedef struct cavity {
  kp_world *world;
  kp_flow flow;
} cavity;

static void make(cavity *c) {
  kp_test_settings settings =
      kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1));
  settings.simulation.gravity = kp_vec3_make(0, 0, 0);
  c->world = kp_test_world(&settings);
  kp_liquid_def drop =
      kp_test_liquid("drop", kp_vec3_make(0.01, 0.01, 0), kp_vec3_make(0.05, 0.05, 0.05), 0.02);
  assert_ok(kp_world_add_liquid(c->world, &drop));
  assert_ok(kp_world_build(c->world));
  kp_grid_def grid = kp_default_grid_def();
  grid.cell = 1.0 / SIZE.n;
  grid.no_slip = true;
  grid.lid = kp_vec3_make(1.0, 0.0, 0.0);
  grid.limiter = KP_ADVECT_NO_LIMITER;
  grid.centering = 0.55;
  grid.cfl = SIZE.cfl;
  kp_flow_def def = { .word = "gas", .name = "gas", .cell = KP_AUTO, .density = 1, .grid = &grid };
  assert_ok(kp_flow_create(&c->flow, &c->world->env, &def));
}

static void step(cavity *c, double dt, double viscosity) {
  kp_env *env = &c->world->env;
  env->dt = dt;
  assert_ok(kp_flow_solids(&c->flow, env, KP_CELL_FLUID));
  assert_ok(kp_flow_advect(&c->flow, env));
  assert_ok(kp_flow_viscosity(&c->flow, env, viscosity, NULL));
  assert_ok(kp_flow_project(&c->flow, env, NULL));
}

// Largest difference from a column of the table, the corners left out.
static double ghia_error(cavity *c, const char *table, int reynolds) {
  char path[1024];
  char column[32];
  kp_table_data *data = NULL;
  bool is_u = table[0] == 'u';
  snprintf(path, sizeof path, "%s/tests/data/ghia_1982_%s.csv", kp_test_source_dir(), table);
  snprintf(column, sizeof column, "%s_re%d", table, reynolds);
  assert_ok(kp_table_read(path, &data));
  const double *s = kp_table_column(data, is_u ? "y" : "x");
  const double *want = kp_table_column(data, column);
  assert_non_null(s);
  assert_non_null(want);
  kp_mac_velocity flow = { kp_buffer_host(&c->flow.velocity->buffers[0], KP_ACCESS_READ),
                           kp_buffer_host(&c->flow.velocity->buffers[1], KP_ACCESS_READ), NULL };
  double worst = 0.0;
  for (size_t r = 0; r < data->n_rows; ++r) {
    // a misprint of the table
    bool is_outlier = reynolds == 400 && !is_u && fabs(s[r] - 0.9063) < 1e-4;
    if (s[r] <= 0.0 || s[r] >= 1.0 || is_outlier) {
      continue;
    }
    kp_real v[3];
    kp_mac_velocity_at(&c->flow.mac->view, flow, is_u ? 0.5 : s[r], is_u ? s[r] : 0.5, 0.0, v);
    worst = kp_test_most(worst, fabs((double)v[is_u ? 0 : 1] - want[r]));
  }
  kp_table_free(&data);
  return worst;
}

static void run(int reynolds, double seconds) {
  cavity c;
  make(&c);
  double dt = SIZE.cfl / SIZE.n;
  int n = (int)ceil(seconds / dt);
  for (int s = 0; s < n; ++s) {
    step(&c, dt, 1.0 / reynolds);
  }
  double worst = fmax(ghia_error(&c, "u", reynolds), ghia_error(&c, "v", reynolds));
  print_message("  Re %d, %d x %d cells, %g s: %.4f of the lid's speed\n", reynolds, SIZE.n, SIZE.n,
                seconds, worst);
  assert_between(worst, 0.0, SIZE.limit);
  char id[64];
  char words[64];
  snprintf(id, sizeof id, "kelpie-grid-cavity-re%d", reynolds);
  snprintf(words, sizeof words, "%d x %d cells, %g s", SIZE.n, SIZE.n, seconds);
  kp_claim claim = { id, "a cavity driven by its lid flows as Ghia et al. 1982 found", words, 0.0,
                     0.0 };
  kp_claim_all(&claim, { "largest distance from their points, of the lid's speed", worst,
                         KP_AT_MOST, 0.01 });
  kp_flow_free(&c.flow);
  kp_world_destroy(&c.world);
}

static void test_centre_lines(void **state) {
  (void)state;
  static const int numbers[3] = { 100, 400, 1000 };
  for (int which = 0; which < SIZE.n_runs; ++which) {
    run(numbers[which], SIZE.seconds[which]);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_centre_lines) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
