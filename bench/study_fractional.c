// Fractional derivatives: how weights fall off with age (Ozgen 2013, Fig. 3.6, 4.2 and 5.2) and
// what the operators make of motions whose derivative is known.
#include <math.h>

#include "math/fractional.h"

#include "bench/study.h"

#define N_STEPS 100  // of the figures

static double sum_to(const double *weights, int64_t age) {
  double sum = 0.0;
  for (int64_t k = 0; k <= age; ++k) {
    sum += weights[k];
  }
  return sum;
}

static kp_result write_weights(const kp_frac_rule *rule, double h, FILE *out) {
  kp_frac_table table;
  KP_ARRAY(double) weights = { 0 };
  kp_result result = kp_frac_table_make(*rule, &table);
  KP_TRY_GOTO(result, kp_array_resize(&weights, (size_t)rule->window + 1), done);
  double gain = kp_frac_table_weights(&table, rule->window, h, weights.data);
  for (int64_t k = 0; k <= rule->window; ++k) {
    kp_study_row(out, "%s,%g,%g,%lld,%.8g,%.8g,%.6f",
                 rule->op == KP_FRAC_SIMPSON ? "simpson" : "trapezoid", rule->order, h,
                 (long long)k, weights.data[k], weights.data[k] / weights.data[0],
                 sum_to(weights.data, k) / gain);
  }
done:
  kp_array_free(&weights);
  kp_frac_table_free(&table);
  return result;
}

kp_result kp_study_fractional_weights(const kp_study_def *def, FILE *out) {
  static const double orders[] = { 0.2, 0.5, 0.8 };
  static const double steps[] = { 0.001, 0.005, 0.02 };
  int64_t n = def->steps > 0 ? def->steps : N_STEPS;
  kp_study_row(out, "operator,order,step_s,age,weight,over_newest,share_up_to_here");
  for (int q = 0; q < 3; ++q) {
    for (int h = 0; h < 3; ++h) {
      kp_frac_rule rule = { KP_FRAC_TRAPEZOID, KP_FRAC_WINDOW, orders[q], n };
      KP_TRY(write_weights(&rule, steps[h], out));
    }
  }
  for (int h = 0; h < 3; ++h) {
    kp_frac_rule rule = { KP_FRAC_SIMPSON, KP_FRAC_WINDOW, 0.5, n };
    KP_TRY(write_weights(&rule, steps[h], out));
  }
  return KP_OK;
}

typedef struct motion {
  const char *name;
  double (*velocity)(double t);
  double exact;  // D^(1/2) x at t = 1
} motion;

static double twice(double t) {
  return 2.0 * t;
}

static kp_result derivative(kp_frac_operator op, const motion *m, int64_t n, double *out) {
  kp_frac_table table;
  KP_ARRAY(double) weights = { 0 };
  kp_result result = kp_frac_table_make((kp_frac_rule){ op, KP_FRAC_WINDOW, 0.5, n }, &table);
  KP_TRY_GOTO(result, kp_array_resize(&weights, (size_t)n + 1), done);
  kp_frac_table_weights(&table, n, 1.0 / (double)n, weights.data);
  *out = 0.0;
  for (int64_t k = 0; k <= n; ++k) {
    *out += weights.data[k] * m->velocity((double)(n - k) / (double)n);
  }
done:
  kp_array_free(&weights);
  kp_frac_table_free(&table);
  return result;
}

kp_result kp_study_fractional_orders(const kp_study_def *def, FILE *out) {
  static const motion motions[] = { { "sin t", cos, 0.84605679 },
                                    { "t^2", twice, 1.5045055561273502 } };
  int64_t most = def->steps > 0 ? def->steps : 640;
  kp_study_row(out, "motion,operator,steps,value,error");
  for (int m = 0; m < 2; ++m) {
    for (int op = 0; op < KP_FRAC_OPERATOR_COUNT; ++op) {
      for (int64_t n = 10; n <= most; n *= 2) {
        double value;
        KP_TRY(derivative((kp_frac_operator)op, &motions[m], n, &value));
        kp_study_row(out, "%s,%s,%lld,%.10g,%.3e", motions[m].name,
                     op == KP_FRAC_SIMPSON ? "simpson" : "trapezoid", (long long)n, value,
                     value - motions[m].exact);
      }
    }
  }
  return KP_OK;
}
