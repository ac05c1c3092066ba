// The implicit pressure solver (sph { solver = "dfsph" }): steps, errors, conservation, known
// answers, the same bits everywhere, and a brute-force twin of its passes.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "methods/sph/sph_implicit.h"

#include "support/claims.h"
#include "support/worlds.h"

#define GRAVITY 9.81

// Mean excess of the densities over the rest density, as a share of it.
static double mean_excess(kp_world *world, const char *name) {
  double rest = kp_test_fluid(world, name)->def.rest_density;
  kp_test_particles p = kp_test_particles_read(world, name);
  double sum = 0.0;
  for (int64_t i = 0; i < p.n; ++i) {
    sum += fmax(p.density[i] / rest - 1.0, 0.0);
  }
  sum /= (double)p.n;
  kp_test_particles_free(&p);
  return sum;
}

// ---- dam break against the weakly compressible solver -------------------------------------------

#define DAM_LOOKS 8

typedef struct dam_run {
  int64_t steps;
  double front[DAM_LOOKS];
  double excess;               // largest mean of any step
  double density, divergence;  // mean iterations
} dam_run;

static kp_world *make_dam(int solver) {
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(2.4, 0.8, 1));
  s.sph.solver = solver;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(0.4, 0.4, 1), 0.4 / 32);
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  return world;
}

static dam_run run_dam(int solver) {
  kp_world *world = make_dam(solver);
  const kp_sph *sph = kp_test_sph(world);
  dam_run run = { 0 };
  for (int k = 0; k < DAM_LOOKS; ++k) {
    double end = 0.06 * (k + 1);
    while (world->env.time < end - 1e-9) {
      assert_ok(kp_world_step(world, end - world->env.time, NULL));
      run.steps += 1;
      if (sph->implicit != NULL) {
        run.excess = fmax(run.excess, mean_excess(world, "water"));
        run.density += sph->implicit->density.iterations;
        run.divergence += sph->implicit->divergence.iterations;
      }
    }
    run.front[k] = kp_test_fluid(world, "water")->medium.bounds.max.x;
  }
  kp_world_destroy(&world);
  return run;
}

static void test_dam_break(void **state) {
  (void)state;
  dam_run explicit = run_dam(KP_SPH_SOLVER_WCSPH);
  dam_run implicit = run_dam(KP_SPH_SOLVER_DFSPH);
  double worst = 0.0;
  for (int k = 0; k < DAM_LOOKS; ++k) {
    worst = fmax(worst, fabs(implicit.front[k] / explicit.front[k] - 1.0));
  }
  print_message("  steps %lld and %lld, front %.3f, excess %.2e, iterations %.1f and %.1f\n",
                (long long)explicit.steps, (long long)implicit.steps, worst, implicit.excess,
                implicit.density / (double)implicit.steps,
                implicit.divergence / (double)implicit.steps);
  assert_true(implicit.steps * 5 <= explicit.steps);
  assert_between(worst, 0.0, 0.04);
  assert_between(implicit.excess, 0.0, 1e-3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_dam_break),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
