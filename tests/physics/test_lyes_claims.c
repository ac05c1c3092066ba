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
  // RK2 gains energy all the time, where each tenth is long enough to tell
  double least_gain = HUGE_VAL;
  for (int k = 1; k < TENTHS; ++k) {
    least_gain = kp_test_least(least_gain, gas_tenths[0][RK2][k] - gas_tenths[0][RK2][k - 1]);
  }
  // largest change of a step at dt = 0.1: RK4 < RK2 ~ leapfrog < Euler-Cromer < Euler
  double rk2 = gas[1][RK2].jump, leapfrog = gas[1][LEAPFROG].jump, cromer = gas[1][CROMER].jump;
  assert_between(rk2 / leapfrog, 0.2, 5.0);
  kp_claim claim = { .id = "lyes-3",
                     .text = "symplectic schemes keep the energy bounded, Euler does not",
                     .size = words };
  kp_claim_status verdict = kp_claim_all(
      &claim,
      { "|E/E0 - 1| of leapfrog and Euler-Cromer at dt 0.2",
        fmax(gas[0][CROMER].worst, gas[0][LEAPFROG].worst), KP_AT_MOST, 0.02 },
      { "|E/E0 - 1| of leapfrog and Euler-Cromer at dt 0.1",
        fmax(gas[1][CROMER].worst, gas[1][LEAPFROG].worst), KP_AT_MOST, 0.01 },
      { "E/E0 of Euler at dt 0.2", gas[0][EULER].high, KP_AT_LEAST, 10.0 },
      { "gain of RK2 in a tenth of the time, least", least_gain, KP_MORE, 0.0 },
      { "change of a step, RK4 over the less of RK2 and leapfrog",
        gas[1][RK4].jump / fmin(rk2, leapfrog), KP_LESS, 1.0 },
      { "change of a step, the more of RK2 and leapfrog over Euler-Cromer",
        fmax(rk2, leapfrog) / cromer, KP_LESS, 1.0 },
      { "change of a step, Euler-Cromer over Euler", cromer / gas[1][EULER].jump, KP_LESS, 1.0 },
      { "time", size->gas_time, KP_AT_LEAST, 500.0 });
  assert_int_equal(verdict, size->gas_time < 500.0 ? KP_CLAIM_PARTIAL : KP_CLAIM_CONFIRMED);
}

// Claim 5: a quarter of the step. In float the error of RK4 is rounding.
static void test_quarter_step(void **state) {
  (void)state;
  double ratio[N_SCHEMES];
  for (int s = CROMER; s < N_SCHEMES; ++s) {
    ratio[s] = gas[1][s].worst / gas[2][s].worst;
    print_message("  %-12s error falls %.1f times from dt = 0.1 to 0.025\n", scheme_names[s],
                  ratio[s]);
    assert_true(ratio[s] >= 3.0 || (s == RK4 && sizeof(kp_real) == 4));
  }
  kp_claim claim = { .id = "lyes-5",
                     .text = "a quarter of the step lowers the energy error of every scheme",
                     .size = "400 spheres, dt 0.1 to 0.025" };
  kp_claim_all(&claim, { "fall, leapfrog", ratio[LEAPFROG], KP_AT_LEAST, 3.0 },
               { "fall, Euler-Cromer", ratio[CROMER], KP_AT_LEAST, 3.0 },
               { "fall, RK2", ratio[RK2], KP_AT_LEAST, 3.0 },
               { "fall, RK4", ratio[RK4], KP_AT_LEAST, 3.0 });
}

// Claim 4: the largest step that keeps a run within ten times its energy and inside the box.
static void test_stable_steps(void **state) {
  (void)state;
  double largest[N_SCHEMES] = { 0 };
  for (int s = 0; s < N_SCHEMES; ++s) {
    for (int k = 0; k < size->n_tries; ++k) {
      kp_gas_def def = { .integrator = schemes[s],
                         .dt = size->tries[k],
                         .time = size->try_time,
                         .seed = 7,
                         .limit = 10.0 };
      kp_gas_result r;
      assert_ok(kp_gas_run(&def, &r, NULL));
      if (r.blown > 0 || r.farthest > 0.0) {
        break;
      }
      largest[s] = size->tries[k];
    }
    print_message("  %-12s stable up to dt = %g\n", scheme_names[s], largest[s]);
  }
  double next = HUGE_VAL, out = 0.0;
  for (int s = CROMER; s < N_SCHEMES; ++s) {
    next = kp_test_least(next, largest[s]);
    out = kp_test_most(out, gas[1][s].farthest);
  }
  char words[96];
  snprintf(words, sizeof words, "400 spheres, %d steps of %g to 1, T = %g", size->n_tries,
           size->tries[0], size->try_time);
  kp_claim claim = { .id = "lyes-4",
                     .text = "there is a step at which Euler blows up and no other scheme does",
                     .size = words };
  // at dt = 0.1, between: Euler's spheres leave the box, those of the others do not
  kp_claim_status verdict =
      kp_claim_all(&claim,
                   { "largest stable step of the others over Euler's, at least",
                     next / fmax(largest[EULER], size->tries[0]), KP_MORE, 1.0 },
                   { "way out of the box at dt 0.1, Euler", gas[1][EULER].farthest, KP_MORE, 0.0 },
                   { "way out of the box at dt 0.1, the others", out, KP_AT_MOST, 0.0 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
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
  const kp_plasma_result *small = &r[KP_PLASMA_TOO_SMALL], *matched = &r[KP_PLASMA_MATCHED];
  kp_claim stalls = { .id = "lyes-10", .text = "too small an influence radius stalls" };
  kp_claim imprint = { .id = "lyes-10-imprint",
                       .text = "an influence radius of three cells imprints the grid" };
  kp_claim even = { .id = "lyes-10-matched", .text = "matched cells leave no pattern" };
  stalls.size = imprint.size = even.size = words;
  kp_claim_status verdict = kp_claim_all(
      &stalls, { "root mean square way, in edges of the cube", small->moved, KP_AT_MOST, 0.05 },
      { "way with a matched radius over it", matched->moved / small->moved, KP_MORE, 2.0 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  verdict = kp_claim_all(&imprint, { "spectral peak at the cells over the background",
                                     r[KP_PLASMA_TOO_LARGE].peak, KP_MORE, 3.0 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  verdict = kp_claim_all(
      &even, { "spectral peak at the cells over the background", matched->peak, KP_AT_MOST, 3.0 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
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
  char words[64];
  snprintf(words, sizeof words, "block of %lld particles in a unit cube",
           (long long)size->water_particles);
  kp_claim sph = { .id = "lyes-7",
                   .text = "calm SPH has more pairs per particle than active SPH",
                   .size = words };
  kp_claim springs = { .id = "lyes-7-springs",
                       .text = "spring-mass water is less affected by calm than SPH",
                       .size = words };
  kp_claim_status verdict = kp_claim_all(
      &sph, { "pairs at rest over those in the splash", ratio[KP_WATER_SPH], KP_MORE, 1.0 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  kp_claim_all(&springs, { "its ratio of pairs over that of SPH",
                           ratio[KP_WATER_SPRINGS] / ratio[KP_WATER_SPH], KP_LESS, 1.0 });
  assert_true(ratio[KP_WATER_SPRINGS] > 1.0);
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
      crest[m] = kp_test_most(crest[m], height / 0.21);
    }
    print_message("  %-7s first run-up %.2f still depths\n", kp_water_names[m], crest[m]);
    // water arrives; it may jet up to the lid
    assert_between(crest[m], 1.0, 1.0 / 0.21);
    kp_world_destroy(&world);
  }
  char words[96];
  snprintf(words, sizeof words,
           "block of %lld particles along one wall of a unit cube; crest of "
           "95 %% of the water there",
           (long long)size->water_particles);
  kp_claim claim = { .id = "lyes-20",
                     .text = "SPH shows more pronounced waves than spring-mass water",
                     .size = words };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "first run-up of SPH over that of springs",
                             crest[KP_WATER_SPH] / crest[KP_WATER_SPRINGS], KP_MORE, 1.0 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
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
  char words[96];
  snprintf(words, sizeof words, "block of %lld particles in a unit cube, twice the author's step",
           (long long)size->stray_particles);
  kp_claim claim = { .id = "lyes-21",
                     .text = "leapfrog and RK4 lose fewer particles than RK2, and RK2 than Euler",
                     .size = words };
  kp_claim_status verdict = kp_claim_all(
      &claim,
      { "particles lost by Euler less the more of leapfrog and RK4", (double)(strays[EULER] - best),
        KP_MORE, 0.0 },
      { "particles lost by RK2 less the more of leapfrog and RK4", (double)(strays[RK2] - best),
        KP_MORE, 0.0 },
      { "particles lost by Euler less RK2", (double)(strays[EULER] - strays[RK2]), KP_MORE, 0.0 },
      { "steps", (double)size->stray_steps, KP_AT_LEAST, 2000.0 });
  assert_int_not_equal(verdict, KP_CLAIM_REFUTED);
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
