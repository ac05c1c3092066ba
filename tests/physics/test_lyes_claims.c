// Claims of Lyes 2015 about integrators, plasma and the two water models, as shared/spec numbers
// them: 3, 4, 5 (energy of the gas of soft spheres), 7, 20, 21 (water), 10 (plasma).
#include "support/test.h"

#include <math.h>
#include <stdio.h>

#include "cases/experiments.h"
#include "world/world.h"

#include "claims_size.h"
#include "support/claims.h"

enum { EULER, CROMER, LEAPFROG, RK2, RK4, N_SCHEMES };
static const int schemes[N_SCHEMES] = { KP_INTEGRATOR_EULER, KP_INTEGRATOR_SYMPLECTIC,
                                        KP_INTEGRATOR_LEAPFROG, KP_INTEGRATOR_RK2,
                                        KP_INTEGRATOR_RK4 };
static const char *const scheme_names[N_SCHEMES] = { "Euler", "Euler-Cromer", "leapfrog", "RK2",
                                                     "RK4" };
static const double dts[] = { 0.2, 0.1, 0.025, 0.05 };

static const claims_size *const size = &claims_size_chosen;

static void tell(const char *id, const char *text, const char *words, double figure,
                 double threshold, bool holds) {
  kp_claim claim = { id, text, words, figure, threshold };
  kp_claim_write(&claim, holds ? KP_CLAIM_CONFIRMED : KP_CLAIM_REFUTED);
}

// ---- 3, 4, 5: the gas ---------------------------------------------------------------------------

#define TENTHS 10

static kp_gas_result gas[4][N_SCHEMES];
static double gas_tenths[4][N_SCHEMES][TENTHS];

static void test_gas(void **state) {
  (void)state;
  char words[96];
  snprintf(words, sizeof words, "400 spheres, T = %g", size->gas_time);
  for (int d = 0; d < size->n_gas_steps; ++d) {
    for (int s = 0; s < N_SCHEMES; ++s) {
      kp_gas_def def = { .integrator = schemes[s],
                         .dt = dts[d],
                         .time = size->gas_time,
                         .seed = 7,
                         .limit = 1e8,
                         .n_samples = TENTHS };
      assert_ok(kp_gas_run(&def, &gas[d][s], gas_tenths[d][s]));
      const kp_gas_result *r = &gas[d][s];
      print_message("  dt %g %-12s E/E0 %.5g..%.5g, end %.6g, jump %.2g%s\n", dts[d],
                    scheme_names[s], r->low, r->high, r->end, r->jump,
                    r->blown > 0 ? ", blown" : "");
    }
  }
  double worst_symplectic = fmax(gas[0][CROMER].worst, gas[0][LEAPFROG].worst);
  assert_true(worst_symplectic < 0.02);
  assert_true(fmax(gas[1][CROMER].worst, gas[1][LEAPFROG].worst) < 0.01);
  bool euler = gas[0][EULER].blown > 0 || gas[0][EULER].high > 10.0;
  assert_true(euler);
  // RK2 gains energy all the time, where each tenth is long enough to tell
  for (int k = 1; k < TENTHS; ++k) {
    assert_true(gas_tenths[0][RK2][k] > gas_tenths[0][RK2][k - 1]);
  }
  // largest change of a step at dt = 0.1: RK4 < RK2 ~ leapfrog < Euler-Cromer < Euler
  double rk2 = gas[1][RK2].jump, leapfrog = gas[1][LEAPFROG].jump;
  assert_true(gas[1][RK4].jump < fmin(rk2, leapfrog));
  assert_between(rk2 / leapfrog, 0.2, 5.0);
  assert_true(fmax(rk2, leapfrog) < gas[1][CROMER].jump);
  assert_true(gas[1][CROMER].jump < gas[1][EULER].jump);
  tell("lyes-3", "symplectic schemes keep the energy bounded, Euler does not; largest |E/E0 - 1|",
       words, worst_symplectic, 0.02, true);
}

// Claim 5: a quarter of the step. In float the error of RK4 is rounding.
static void test_quarter_step(void **state) {
  (void)state;
  double least = HUGE_VAL;
  for (int s = CROMER; s < N_SCHEMES; ++s) {
    double ratio = gas[1][s].worst / gas[2][s].worst;
    print_message("  %-12s error falls %.1f times from dt = 0.1 to 0.025\n", scheme_names[s],
                  ratio);
    if (s != RK4 || sizeof(kp_real) == 8) {
      assert_true(ratio >= 3.0);
      least = fmin(least, ratio);
    }
  }
  tell("lyes-5", "a quarter of the step lowers the energy error of every scheme at least 3 times",
       "400 spheres, dt 0.1 to 0.025", least, 3.0, least >= 3.0);
}

// Claim 4: the largest step that keeps a tenth of the run within ten times the energy and the box.
static void test_stable_steps(void **state) {
  (void)state;
  const double tries[] = { 0.0125, 0.025, 0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0 };
  double largest[N_SCHEMES] = { 0 };
  for (int s = 0; s < N_SCHEMES; ++s) {
    for (size_t k = 0; k < sizeof tries / sizeof tries[0]; ++k) {
      kp_gas_def def = {
        .integrator = schemes[s], .dt = tries[k], .time = 60.0, .seed = 7, .limit = 2.0
      };
      kp_gas_result r;
      assert_ok(kp_gas_run(&def, &r, NULL));
      if (r.blown > 0 || r.farthest > 0.0) {
        break;
      }
      largest[s] = tries[k];
    }
    print_message("  %-12s stable up to dt = %g\n", scheme_names[s], largest[s]);
  }
  double next = HUGE_VAL;
  for (int s = CROMER; s < N_SCHEMES; ++s) {
    next = fmin(next, largest[s]);
  }
  assert_true(largest[EULER] < next);
  // between: Euler's spheres leave the box, those of the others do not
  assert_true(gas[1][EULER].farthest > 0.0 || gas[1][EULER].blown > 0 || size->gas_time < 500.0);
  for (int s = CROMER; s < N_SCHEMES; ++s) {
    assert_true(gas[1][s].farthest == 0.0);
  }
  tell("lyes-4", "largest stable step of the other schemes over that of Euler",
       "400 spheres, steps of 0.0125 to 1 for 60 time units", next / fmax(largest[EULER], 0.0125),
       1.0, largest[EULER] < next);
}

// ---- 10: plasma ---------------------------------------------------------------------------------

static void test_plasma_radius(void **state) {
  (void)state;
  kp_plasma_result r[KP_PLASMA_CASES];
  char words[96];
  snprintf(words, sizeof words, "%lld equal charges, 1000 steps",
           (long long)size->plasma_particles);
  for (int k = 0; k < KP_PLASMA_CASES; ++k) {
    assert_ok(kp_plasma_run(k, size->plasma_particles, 1000, &r[k]));
    print_message("  %-9s moved %.4f edges, spectral peak %.2f, %.1f pairs\n",
                  kp_plasma_case_names[k], r[k].moved, r[k].peak, r[k].pairs);
  }
  assert_true(r[KP_PLASMA_TOO_SMALL].moved < 0.05);
  assert_true(r[KP_PLASMA_TOO_LARGE].peak > 3.0);
  assert_true(r[KP_PLASMA_MATCHED].peak < 3.0);
  assert_true(r[KP_PLASMA_MATCHED].moved > 2.0 * r[KP_PLASMA_TOO_SMALL].moved);
  tell("lyes-10", "too small an influence radius stalls, root mean square way in edges of the cube",
       words, r[KP_PLASMA_TOO_SMALL].moved, 0.05, true);
  tell("lyes-10-imprint", "three cells searched in 27 imprint the grid: spectral peak", words,
       r[KP_PLASMA_TOO_LARGE].peak, 3.0, true);
  tell("lyes-10-matched", "matched cells leave no pattern: spectral peak", words,
       r[KP_PLASMA_MATCHED].peak, 3.0, true);
}

// ---- 7, 20, 21: water ---------------------------------------------------------------------------

static kp_world *water(const kp_water_def *def) {
  kp_world *world = NULL;
  assert_ok(kp_world_create("cpu", &world));
  assert_ok(kp_case_water(world, def));
  assert_ok(kp_world_build(world));
  return world;
}

static void advance(kp_world *world, double seconds) {
  assert_ok(kp_world_advance(world, seconds, NULL));
}

// Claim 7: neighbours of settled water over those in the splash, the mean of 0.3 to 0.8 s.
#define SPLASHES 6

static void test_calm_and_active(void **state) {
  (void)state;
  double ratio[KP_WATER_COUNT];
  for (int m = 0; m < KP_WATER_COUNT; ++m) {
    kp_water_def def = kp_default_water_def(m, size->water_particles);
    kp_world *world = water(&def);
    kp_water_state look;
    double active = 0.0;
    advance(world, 0.2);
    for (int k = 0; k < SPLASHES; ++k) {
      advance(world, 0.1);
      assert_ok(kp_water_look(world, &look));
      active += look.pairs / SPLASHES;
    }
    advance(world, 1.5);
    assert_ok(kp_water_look(world, &look));
    ratio[m] = look.pairs / active;
    print_message("  %-7s %.1f neighbours in the splash, %.1f at rest: %.2f\n", kp_water_names[m],
                  active, look.pairs, ratio[m]);
    kp_world_destroy(&world);
  }
  tell("lyes-7", "calm SPH has more pairs per particle than active SPH", "block in a unit cube",
       ratio[KP_WATER_SPH], 1.0, ratio[KP_WATER_SPH] > 1.0);
  assert_true(ratio[KP_WATER_SPRINGS] > 1.0);
  tell("lyes-7-springs", "spring-mass water is less affected: its ratio over that of SPH",
       "block in a unit cube", ratio[KP_WATER_SPRINGS] / ratio[KP_WATER_SPH], 1.0,
       ratio[KP_WATER_SPRINGS] < ratio[KP_WATER_SPH]);
}

// Claim 20: crest at the far wall over the still depth.
static void test_waves(void **state) {
  (void)state;
  double crest[KP_WATER_COUNT] = { 0 };
  for (int m = 0; m < KP_WATER_COUNT; ++m) {
    kp_water_def def = kp_default_water_def(m, size->water_particles);
    def.place = KP_WATER_SIDE;
    kp_world *world = water(&def);
    for (int k = 0; k < 45; ++k) {
      double height;
      advance(world, 0.02);
      assert_ok(kp_water_height(world, 20, &height));
      crest[m] = fmax(crest[m], height / 0.21);
    }
    print_message("  %-7s first run-up %.2f still depths\n", kp_water_names[m], crest[m]);
    assert_between(crest[m], 0.5, 4.8);
    kp_world_destroy(&world);
  }
  tell("lyes-20", "first run-up of SPH over that of spring-mass water",
       "block along one wall of a unit cube", crest[KP_WATER_SPH] / crest[KP_WATER_SPRINGS], 1.0,
       crest[KP_WATER_SPH] > crest[KP_WATER_SPRINGS]);
}

// Claim 21: SPH particles that have lost all neighbours. The order is the claim's, the step twice
// the author's so that schemes differ.
static void test_strays(void **state) {
  (void)state;
  int64_t strays[N_SCHEMES] = { 0 };
  double energy[N_SCHEMES] = { 0 };
  for (int s = 0; s < N_SCHEMES; ++s) {
    kp_water_def def = kp_default_water_def(KP_WATER_SPH, size->stray_particles);
    def.integrator = schemes[s];
    def.dt_factor = 2.0;
    kp_world *world = water(&def);
    kp_result result = KP_OK;
    for (int64_t k = 0; k < size->stray_steps && result == KP_OK; ++k) {
      result = kp_world_step(world, 1.0, NULL);
    }
    kp_water_state look = { 0 };
    if (result == KP_OK) {
      assert_ok(kp_water_look(world, &look));
    }
    strays[s] = result == KP_OK ? look.strays : size->stray_particles;
    energy[s] = look.energy;
    print_message("  %-12s %lld strays%s, energy %.3g J\n", scheme_names[s], (long long)strays[s],
                  result == KP_OK ? "" : " (blown)", energy[s]);
    kp_world_destroy(&world);
  }
  int64_t best = strays[LEAPFROG] > strays[RK4] ? strays[LEAPFROG] : strays[RK4];
  assert_true(best <= strays[EULER]);
  bool order = best < strays[RK2] && strays[RK2] < strays[EULER];
  bool part = best <= strays[RK2] && strays[RK2] <= strays[EULER] && best < strays[EULER];
  kp_claim claim = { "lyes-21",
                     "strays of leapfrog and RK4 at most those of RK2, and these below Euler's; "
                     "difference of Euler and leapfrog",
                     "block in a unit cube, twice the author's step",
                     (double)(strays[EULER] - best), 0.0 };
  kp_claim_write(&claim, order ? KP_CLAIM_CONFIRMED : part ? KP_CLAIM_PARTIAL : KP_CLAIM_REFUTED);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_gas),
    cmocka_unit_test(test_quarter_step),
    cmocka_unit_test(test_stable_steps),
    cmocka_unit_test(test_plasma_radius),
    cmocka_unit_test(test_calm_and_active),
    cmocka_unit_test(test_waves),
    cmocka_unit_test(test_strays),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
