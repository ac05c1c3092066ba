// How well the five integrators keep the energy of the gas of soft spheres (Lyes 2015, Figs 5.3 to
// 5.6).
#include <math.h>

#include "cases/experiments.h"

#include "bench/study.h"

#define RUNS 5
#define TIME 100.0
#define SAMPLES 50

static const int schemes[] = { KP_INTEGRATOR_EULER, KP_INTEGRATOR_SYMPLECTIC,
                               KP_INTEGRATOR_LEAPFROG, KP_INTEGRATOR_RK2, KP_INTEGRATOR_RK4 };
static const char *const names[] = { "euler", "euler_cromer", "leapfrog", "rk2", "rk4" };

#define N_SCHEMES ((int)(sizeof schemes / sizeof schemes[0]))

// Mean over the runs of E/E0 at each sample, and of what each run has to tell.
static kp_result average(kp_gas_def def, int64_t runs, double *mean, kp_gas_result *sum) {
  double samples[SAMPLES];
  *sum = (kp_gas_result){ 0 };
  for (int k = 0; k < SAMPLES; ++k) {
    mean[k] = 0.0;
  }
  for (int64_t r = 0; r < runs; ++r) {
    kp_gas_result one;
    def.seed = (uint64_t)r + 1;
    KP_TRY(kp_gas_run(&def, &one, samples));
    for (int k = 0; k < SAMPLES; ++k) {
      mean[k] += samples[k] / (double)runs;
    }
    sum->worst += one.worst / (double)runs;
    sum->jump += one.jump / (double)runs;
    sum->blown += one.blown > 0 ? 1 : 0;
  }
  return KP_OK;
}

kp_result kp_study_integrator_energy(const kp_study_def *def, FILE *out) {
  const double dts[] = { 0.1, 0.025 };
  int64_t runs = def->runs > 0 ? def->runs : RUNS;
  double time = def->steps > 0 ? 0.1 * (double)def->steps : TIME;
  kp_study_row(out, "scheme,dt,time,energy_ratio,worst_error,largest_jump,runs,blown");
  for (int d = 0; d < 2; ++d) {
    for (int s = 0; s < N_SCHEMES; ++s) {
      double mean[SAMPLES];
      kp_gas_result sum;
      kp_gas_def gas = {
        .integrator = schemes[s], .dt = dts[d], .time = time, .limit = 1e8, .n_samples = SAMPLES
      };
      KP_TRY(average(gas, runs, mean, &sum));
      for (int k = 0; k < SAMPLES; ++k) {
        kp_study_row(out, "%s,%g,%g,%.9g,%.6g,%.6g,%lld,%lld", names[s], dts[d],
                     time * (k + 1) / SAMPLES, mean[k], sum.worst, sum.jump, (long long)runs,
                     (long long)sum.blown);
      }
    }
  }
  return KP_OK;
}

kp_result kp_study_integrator_stability(const kp_study_def *def, FILE *out) {
  const double tries[] = { 0.0125, 0.025, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.8, 1.0 };
  double time = def->steps > 0 ? 0.1 * (double)def->steps : TIME;
  kp_study_row(out, "scheme,dt,stable,energy_ratio,farthest_out");
  for (int s = 0; s < N_SCHEMES; ++s) {
    for (size_t k = 0; k < sizeof tries / sizeof tries[0]; ++k) {
      kp_gas_result one;
      kp_gas_def gas = {
        .integrator = schemes[s], .dt = tries[k], .time = time, .seed = 7, .limit = 2.0
      };
      KP_TRY(kp_gas_run(&gas, &one, NULL));
      bool stable = one.blown == 0 && one.farthest == 0.0;
      kp_study_row(out, "%s,%g,%d,%.6g,%.6g", names[s], tries[k], stable ? 1 : 0, one.end,
                   one.farthest);
    }
  }
  return KP_OK;
}
