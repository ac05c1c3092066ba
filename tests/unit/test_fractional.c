// Weights of fractional derivatives: tables of the specification, orders of the operators, gains,
// unequal steps, sums of exponentials, stable limits, and a sphere with history drag.
#include "support/test.h"

#include <complex.h>
#include <math.h>
#include <stdio.h>

#include "math/fractional.h"

#include "support/claims.h"

#define PI 3.14159265358979323846
#define MOST 2000  // samples of a test

static kp_frac_table make_table(kp_frac_operator op, kp_frac_end end, double q, int64_t d) {
  kp_frac_table table;
  assert_ok(kp_frac_table_make((kp_frac_rule){ op, end, q, d }, &table));
  return table;
}

// Eq. 4.7 as printed, in long double: the twin of the tables.
static double printed_weight(double q, int64_t n, int64_t k) {
  long double p = 2.0L - (long double)q;
  long double m = (long double)n;
  long double j = (long double)k;
  if (k == 0) {
    return 1.0;
  }
  if (k == n) {
    return (double)(powl(m - 1.0L, p) - powl(m, p - 1.0L) * (m - p));
  }
  return (double)(powl(j - 1.0L, p) - 2.0L * powl(j, p) + powl(j + 1.0L, p));
}

static void test_trapezoid_table(void **state) {
  (void)state;
  static const struct {
    double q, scale, a[13];
  } rows[] = {
    { 0.2,
      0.59648,
      { 1, 1.48220, 1.26027, 1.15859, 1.09270, 1.04453, 1.00687, 0.97616, 0.95034, 0.92816, 0.90876,
        0.65852, 0.57328 } },
    { 0.5,
      0.75225,
      { 1, 0.82843, 0.53930, 0.43612, 0.37649, 0.33626, 0.30672, 0.28384, 0.26543, 0.25019, 0.23732,
        0.10607, 0.07500 } },
    { 0.8,
      0.90760,
      { 1, 0.29740, 0.14240, 0.10104, 0.07978, 0.06655, 0.05743, 0.05072, 0.04556, 0.04144, 0.03808,
        0.01050, 0.00603 } },
  };
  static const int64_t ages[13] = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 50, 100 };
  double off_table = 0.0, off_printed = 0.0;
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r) {
    kp_frac_table table = make_table(KP_FRAC_TRAPEZOID, KP_FRAC_WINDOW, rows[r].q, 200);
    double weights[MOST];
    kp_frac_table_weights(&table, 200, 1.0, weights);
    assert_near(weights[0], rows[r].scale, 5e-6);
    for (size_t k = 0; k < 13; ++k) {
      off_table = kp_test_most(off_table, fabs(weights[ages[k]] / weights[0] - rows[r].a[k]));
    }
    for (int64_t k = 0; k <= 200; ++k) {
      double printed = printed_weight(rows[r].q, 200, k);
      off_printed = kp_test_most(off_printed, fabs(weights[k] / weights[0] / printed - 1.0));
    }
    kp_frac_table_free(&table);
  }
  kp_claim claim = { .id = "ozgen-O2",
                     .text = "weights of the product trapezoid rule are those of Eq. 4.7",
                     .size = "q = 0.2, 0.5, 0.8; 200 past steps" };
  kp_claim_status status = kp_claim_all(
      &claim, { "largest relative difference from Eq. 4.7", off_printed, KP_AT_MOST, 1e-11 },
      { "largest difference from the table of five digits", off_table, KP_AT_MOST, 5e-6 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
}

static void test_simpson_table(void **state) {
  (void)state;
  static const double sums[4] = { 1.16552, 1.63315, 1.99181, 2.29417 };
  static const double ends[4] = { 0.31285, 0.22004, 0.17323, 0.14754 };
  static const double full[12] = { 0.85267, 0.56044, 0.40548, 0.32804, 0.28321, 0.25295,
                                   0.23073, 0.21352, 0.19967, 0.18821, 0.17852, 0.17020 };
  double h = 0.013, off = 0.0;
  for (int64_t u = 1; u <= 4; ++u) {
    kp_frac_table table = make_table(KP_FRAC_SIMPSON, KP_FRAC_WINDOW, 0.5, u);
    double w[MOST];
    double gain = kp_frac_table_weights(&table, 100, h, w);
    off = kp_test_most(off, fabs(gain / sqrt(h) - sums[u - 1]));
    off = kp_test_most(off, fabs(w[u] / sqrt(h) - ends[u - 1]));
    for (int64_t k = 0; k < u; ++k) {
      off = kp_test_most(off, fabs(w[k] / sqrt(h) - full[k]));
    }
    kp_frac_table_free(&table);
  }
  kp_frac_table table = make_table(KP_FRAC_SIMPSON, KP_FRAC_WINDOW, 0.5, 12);
  for (int64_t k = 0; k < 12; ++k) {
    off = kp_test_most(off, fabs(table.inner.data[k] - full[k]));
  }
  kp_frac_table_free(&table);
  kp_claim claim = { .id = "ozgen-O1",
                     .text =
                         "weights of the corrected Eq. 3.5 against the table: largest difference",
                     .size = "u = 1 to 4, ages 0 to 11 of the full history",
                     .figure = off,
                     .threshold = 6e-6 };
  assert_int_equal(kp_claim_at_most(&claim), KP_CLAIM_CONFIRMED);
}

static void test_gains(void **state) {
  (void)state;
  static const struct {
    double q;
    int64_t d;
    double interior, window;
  } rows[] = { { 0.5, 3, 2.10920, 1.95441 },     { 0.5, 10, 3.65602, 3.56825 },
               { 0.5, 20, 5.10883, 5.04627 },    { 0.5, 50, 8.01861, 7.97885 },
               { 0.5, 100, 11.31195, 11.28379 }, { 0.2, 10, 7.04363, 6.77441 },
               { 0.2, 100, 42.91448, 42.74362 }, { 0.8, 10, 1.74297, 1.72615 },
               { 0.8, 100, 2.73849, 2.73576 } };
  double w[MOST];
  double off_table = 0.0, off_start = 0.0;
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r) {
    for (int end = 0; end < KP_FRAC_END_COUNT; ++end) {
      kp_frac_table table = make_table(KP_FRAC_TRAPEZOID, (kp_frac_end)end, rows[r].q, rows[r].d);
      double gain = kp_frac_table_weights(&table, 1000, 1.0, w);
      double told = end == KP_FRAC_INTERIOR ? rows[r].interior : rows[r].window;
      off_table = kp_test_most(off_table, fabs(gain - told));
      // while history grows, both ends see all of it
      for (int64_t n = 0; n <= rows[r].d; ++n) {
        double h = 0.003;
        gain = kp_frac_table_weights(&table, n, h, w);
        double exact = kp_frac_gain(rows[r].q, (double)n * h);
        off_start = kp_test_most(off_start, n > 0 ? fabs(gain / exact - 1.0) : fabs(gain));
        assert_int_equal(kp_frac_table_reach(&table, n), n);
      }
      kp_frac_table_free(&table);
    }
  }
  // nothing has happened at the first step
  kp_frac_table table = make_table(KP_FRAC_TRAPEZOID, KP_FRAC_WINDOW, 0.5, 10);
  double first = fabs(kp_frac_table_weights(&table, 0, 0.1, w)) + fabs(w[0]);
  kp_claim claim = { .id = "ozgen-O4",
                     .text = "tables made once hold at every step, those of the start too",
                     .size = "q = 0.2, 0.5, 0.8; windows of 3 to 100 steps, both ends" };
  kp_claim_status status =
      kp_claim_all(&claim,
                   { "while history grows: largest relative difference of the gain from S_n",
                     off_start, KP_AT_MOST, 1e-12 },
                   { "largest difference of the gain of a full window from the table", off_table,
                     KP_AT_MOST, 1e-5 },
                   { "|D| and |weight| at the first step", first, KP_AT_MOST, 0.0 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
  assert_near(kp_frac_table_weights(&table, 1, 1.0, w), 1.12838, 1e-5);
  assert_near(kp_frac_table_weights(&table, 2, 1.0, w), 1.59577, 1e-5);
  // the normalised weights of ten past steps
  static const double normal[11] = { 0.2108, 0.1746, 0.1137, 0.0919, 0.0794, 0.0709,
                                     0.0647, 0.0598, 0.0560, 0.0527, 0.0254 };
  double gain = kp_frac_table_weights(&table, 10, 0.01, w);
  for (int k = 0; k <= 10; ++k) {
    assert_near(w[k] / gain, normal[k], 6e-5);
  }
  kp_frac_table_free(&table);
}

// q -> 1 is the velocity itself, q -> 0 the trapezoid rule's integral of it.
static void test_limits_of_the_order(void **state) {
  (void)state;
  double w[MOST];
  kp_frac_table high = make_table(KP_FRAC_TRAPEZOID, KP_FRAC_WINDOW, 1.0 - 1e-9, 8);
  kp_frac_table low = make_table(KP_FRAC_TRAPEZOID, KP_FRAC_WINDOW, 1e-9, 8);
  kp_frac_table_weights(&high, 8, 0.1, w);
  for (int k = 0; k <= 8; ++k) {
    assert_near(w[k], k == 0 ? 1.0 : 0.0, 1e-7);
  }
  kp_frac_table_weights(&low, 8, 0.1, w);
  for (int k = 0; k <= 8; ++k) {
    assert_near(w[k], k == 0 || k == 8 ? 0.05 : 0.1, 1e-7);
  }
  kp_frac_table_free(&high);
  kp_frac_table_free(&low);
}

typedef double (*motion_fn)(double t);

static double velocity_of_square(double t) {
  return 2.0 * t;
}

// D^(1/2) x at t = 1 from n steps.
static double derivative(kp_frac_operator op, motion_fn velocity, int64_t n) {
  kp_frac_table table = make_table(op, KP_FRAC_WINDOW, 0.5, n);
  double w[MOST];
  double h = 1.0 / (double)n;
  kp_frac_table_weights(&table, n, h, w);
  double sum = 0.0;
  for (int64_t k = 0; k <= n; ++k) {
    sum += w[k] * velocity((double)(n - k) * h);
  }
  kp_frac_table_free(&table);
  return sum;
}

// Claim 1. The trapezoid operator is of second order; the Simpson one, said to be of first, is of
// order one half.
static void test_orders(void **state) {
  (void)state;
  const double of_sine = 0.84605679;
  const double of_square = 8.0 / (3.0 * sqrt(PI));
  double before = 0.0;
  double least = INFINITY;
  double off_square = 0.0;
  for (int64_t n = 10; n <= 640; n *= 2) {
    double error = derivative(KP_FRAC_TRAPEZOID, cos, n) - of_sine;
    if (n == 10) {
      assert_near_relative(error, -6.74e-4, 0.005);
    }
    if (n == 80) {
      assert_near_relative(error, -1.08e-5, 0.005);
    }
    // the exact value is known to eight digits
    double slope = before != 0.0 && n <= 320 ? log2(before / error) : INFINITY;
    least = slope < least ? slope : least;
    before = error;
    off_square =
        fmax(off_square, fabs(derivative(KP_FRAC_TRAPEZOID, velocity_of_square, n) - of_square));
  }

  static const struct {
    int64_t n;
    double error;
  } rows[] = { { 10, 2.77e-2 }, { 80, 8.54e-3 }, { 640, 2.97e-3 } };
  double errors[3], off_errors = 0.0;
  for (int r = 0; r < 3; ++r) {
    errors[r] = derivative(KP_FRAC_SIMPSON, velocity_of_square, rows[r].n) - of_square;
    off_errors = kp_test_most(off_errors, fabs(errors[r] / rows[r].error - 1.0));
  }
  double slope = log2(errors[1] / errors[2]) / 3.0;
  print_message("orders: trapezoid at least %.3f, simpson %.3f\n", least, slope);
  assert_between(slope, 0.45, 0.6);
  static const char size[] = "D^(1/2) of sin t and t^2 at t = 1, 10 to 640 steps";
  kp_claim second = { .id = "ozgen-1", .text = "operator B is of second order", .size = size };
  kp_claim_status status =
      kp_claim_all(&second, { "smallest order between 10 and 320 steps", least, KP_AT_LEAST, 1.9 },
                   { "largest error of t^2, which it has exactly", off_square, KP_AT_MOST, 1e-12 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
  kp_claim first = { .id = "ozgen-1-first-order",
                     .text = "operator A is of first order: its order between 80 and 640 steps",
                     .size = size,
                     .figure = slope,
                     .threshold = 0.9 };
  kp_claim_at_least(&first);
  kp_claim half = { .id = "ozgen-1-half-order",
                    .text = "errors of operator A against those of an order of one half",
                    .size = size,
                    .figure = off_errors,
                    .threshold = 0.01 };
  assert_int_equal(kp_claim_at_most(&half), KP_CLAIM_CONFIRMED);
}

// Weights do not lose their digits with age: Eq. 4.7 cancels k^2 eps of them.
static void test_old_weights(void **state) {
  (void)state;
  int64_t d = 100000;
  kp_frac_table table = make_table(KP_FRAC_TRAPEZOID, KP_FRAC_WINDOW, 0.3, d);
  double sum = 0.0;
  for (int64_t k = 0; k < d; ++k) {
    sum += table.inner.data[k];
  }
  assert_near_relative(sum + table.last.data[d], kp_frac_gain(0.3, (double)d), 1e-12);
  double k = (double)d;
  double exact = 1.7 * 0.7 * pow(k, -0.3) * (1.0 + 0.3 * 1.3 / 12.0 / (k * k)) / tgamma(2.7);
  assert_near_relative(table.inner.data[d], exact, 1e-14);
  kp_frac_table_free(&table);
}

// Figs. 3.6, 4.2 and 5.2: weights of 100 past steps fall with age, faster for a higher order, and
// the step scales them all alike. The newest sample of the trapezoid has half an interval only, so
// at q = 0.2 the next one weighs more.
static void test_falling_weights(void **state) {
  (void)state;
  static const double orders[] = { 0.2, 0.5, 0.8 };
  double shares[3], rising = 0.0, uneven = 0.0;
  for (int r = 0; r < 3; ++r) {
    kp_frac_table table = make_table(KP_FRAC_TRAPEZOID, KP_FRAC_WINDOW, orders[r], 100);
    double w[MOST], other[MOST];
    double gain = kp_frac_table_weights(&table, 100, 0.001, w);
    kp_frac_table_weights(&table, 100, 0.02, other);
    for (int k = 0; k <= 100; ++k) {
      rising += k > (r == 0 ? 1 : 0) && w[k] >= w[k - 1];
      uneven = kp_test_most(uneven, fabs(other[k] / w[k] / pow(20.0, 1.0 - orders[r]) - 1.0));
    }
    shares[r] = (w[0] + w[1] + w[2] + w[3]) / gain;
    kp_frac_table_free(&table);
  }
  print_message("share of the newest four of 101 samples: %.3f, %.3f, %.3f for q = 0.2, 0.5, 0.8\n",
                shares[0], shares[1], shares[2]);
  kp_claim claim = { .id = "ozgen-O5",
                     .text = "weights fall with age, the faster the higher the order",
                     .size = "100 past steps, q = 0.2, 0.5, 0.8, steps of 1 and 20 ms" };
  kp_claim_status status = kp_claim_all(
      &claim, { "weights that are not below the one before", rising, KP_AT_MOST, 0.0 },
      { "share of the newest four samples, q = 0.8 over q = 0.5", shares[2] / shares[1], KP_MORE,
        1.0 },
      { "the same, q = 0.5 over q = 0.2", shares[1] / shares[0], KP_MORE, 1.0 },
      { "what a longer step changes in the ratios of weights", uneven, KP_AT_MOST, 1e-12 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
}

static void test_equal_steps_at_any_times(void **state) {
  (void)state;
  double ages[MOST];
  double any[MOST];
  double uniform[MOST];
  double h = 0.0171;
  for (int64_t k = 0; k <= 300; ++k) {
    ages[k] = (double)k * h;
  }
  for (double q = 0.1; q < 1.0; q += 0.2) {
    kp_frac_table table = make_table(KP_FRAC_TRAPEZOID, KP_FRAC_WINDOW, q, 300);
    for (int64_t n = 0; n <= 300; n = n * 2 + 1) {
      double gain = kp_frac_table_weights(&table, n, h, uniform);
      assert_near(kp_frac_weights_at(q, n, ages, INFINITY, any), gain, 1e-12 * gain);
      for (int64_t k = 0; k <= n; ++k) {
        assert_near(any[k], uniform[k], 1e-12 * uniform[0]);
      }
    }
    kp_frac_table_free(&table);
  }
}

// Linear velocities are differentiated exactly whatever the times, and wherever memory ends.
static void check_random_times(kp_test_random *random, void *user) {
  (void)user;
  double q = kp_test_uniform(random, 0.05, 0.95);
  int64_t n = kp_test_integer(random, 1, 60);
  double ages[64] = { 0.0 };
  for (int64_t k = 1; k <= n; ++k) {
    double step = kp_test_uniform(random, 0.0, 1.0);
    ages[k] = ages[k - 1] + (step < 0.1 ? 0.0 : step < 0.2 ? 1e-6 * step : 0.01 * step);
  }
  double all = ages[n];
  double memory = kp_test_uniform(random, 0.3, 1.2) * all;
  double span = memory < all ? memory : all;
  double w[64];
  double gain = kp_frac_weights_at(q, n, ages, memory, w);
  double sum = 0.0;
  double slope = 0.0;
  for (int64_t k = 0; k <= n; ++k) {
    sum += w[k];
    slope += w[k] * ages[k];
  }
  assert_near_relative(gain, kp_frac_gain(q, span), 1e-9);
  assert_near_relative(sum, gain, 1e-12);
  // Int_0^span tau^(1-q) / Gamma(1-q)
  assert_near_relative(slope, pow(span, 2.0 - q) / ((2.0 - q) * tgamma(1.0 - q)), 1e-9);
}

static void test_unequal_steps(void **state) {
  (void)state;
  kp_test_for_seeds(200, check_random_times, NULL);
}

static void test_exponential_kernel(void **state) {
  (void)state;
  static const struct {
    double spacing, q, most;
  } rows[] = { { 1.4, 0.2, 0.00185 }, { 1.4, 0.5, 0.00385 }, { 1.4, 0.8, 0.00655 },
               { 1.0, 0.2, 0.00175 }, { 1.0, 0.5, 0.00175 }, { 1.0, 0.8, 0.00175 } };
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r) {
    kp_frac_exponentials sum;
    assert_ok(kp_frac_exponentials_make(rows[r].q, 0.005, 1.0, rows[r].spacing, &sum));
    double worst = 0.0;
    for (double age = 0.005; age <= 1.0; age *= 1.01) {
      double exact = pow(age, -rows[r].q) / tgamma(1.0 - rows[r].q);
      double error = fabs(kp_frac_exponentials_kernel(&sum, age) / exact - 1.0);
      worst = error > worst ? error : worst;
    }
    print_message("exponentials dy %.1f q %.1f: %d nodes, error %.3f %%\n", rows[r].spacing,
                  rows[r].q, sum.n, 100.0 * worst);
    assert_true(worst <= rows[r].most);
  }
  kp_frac_exponentials sum;
  assert_fails(KP_ERROR_ARGUMENT, "at most", kp_frac_exponentials_make(0.5, 1e-9, 1e9, 1.0, &sum));
}

// Marching the states equals the direct sum over all history, for steps that change.
static void test_exponential_march(void **state) {
  (void)state;
  for (double q = 0.2; q < 0.9; q += 0.3) {
    kp_frac_exponentials sum;
    assert_ok(kp_frac_exponentials_make(q, 0.002, 2.0, 0.7, &sum));
    kp_real states[KP_FRAC_NODES] = { 0 };
    double times[MOST] = { 0.0 };
    double ages[MOST];
    double w[MOST];
    double worst = 0.0;
    double largest = 0.0;
    for (int64_t n = 1; n <= 600; ++n) {
      double h = 0.003 * (1.0 + 0.3 * sin((double)n));
      times[n] = times[n - 1] + h;
      kp_frac_march march = kp_frac_march_make(&sum, h);
      double d = (double)kp_frac_march_step(&march, (kp_real)cos(9.0 * times[n - 1]),
                                            (kp_real)cos(9.0 * times[n]), states, 1);
      for (int64_t k = 0; k <= n; ++k) {
        ages[k] = times[n] - times[n - k];
      }
      kp_frac_weights_at(q, n, ages, INFINITY, w);
      double direct = 0.0;
      for (int64_t k = 0; k <= n; ++k) {
        direct += w[k] * cos(9.0 * times[n - k]);
      }
      worst = kp_test_most(worst, fabs(d - direct));
      largest = kp_test_most(largest, fabs(direct));
    }
    print_message("march q %.1f: off by %.2e of %.3f\n", q, worst, largest);
    assert_true(worst < KP_TOL(4e-4, 4e-4) * largest);
  }
}

// Roots of the recursion by simulation: does a disturbance still grow at L (1 +- 1 %)?
static double growth(int64_t n, const double *weights, double l) {
  double v[MOST] = { 0.0 };
  double size = 1.0;
  double early = 0.0;
  int n_steps = 12000;
  v[0] = 1.0;
  for (int t = 0; t < n_steps; ++t) {
    double next = v[0];
    for (int64_t k = 0; k <= n; ++k) {
      next -= l * weights[k] * v[k];
    }
    double most = 0.0;
    for (int64_t k = n + 1; k > 0; --k) {
      v[k] = v[k - 1];
      most = kp_test_most(most, fabs(v[k]));
    }
    v[0] = next;
    if (most > 1e100 || most < 1e-100) {
      return most > 1.0 ? 2.0 : 0.0;
    }
    if (t > n_steps / 2 && early == 0.0) {
      early = most;
    }
    size = most;
  }
  return size / early;
}

static void test_stable_limits(void **state) {
  (void)state;
  static const struct {
    kp_frac_operator op;
    double q;
    int64_t d;
    double interior, window;
  } rows[] = {
    { KP_FRAC_TRAPEZOID, 0.5, 3, 2.11, 2.31 },   { KP_FRAC_TRAPEZOID, 0.5, 10, 6.19, 6.78 },
    { KP_FRAC_TRAPEZOID, 0.5, 20, 9.13, 11.33 }, { KP_FRAC_TRAPEZOID, 0.8, 10, 4.76, 4.83 },
    { KP_FRAC_TRAPEZOID, 0.2, 10, 0.53, 0.55 },  { KP_FRAC_SIMPSON, 0.5, 3, 0.0, 7.52 },
  };
  double w[MOST];
  for (size_t r = 0; r < sizeof rows / sizeof rows[0]; ++r) {
    for (int end = 0; end < KP_FRAC_END_COUNT; ++end) {
      double expected = end == KP_FRAC_INTERIOR ? rows[r].interior : rows[r].window;
      kp_frac_table table = make_table(rows[r].op, (kp_frac_end)end, rows[r].q, rows[r].d);
      double gain = kp_frac_table_weights(&table, 1000, 0.001, w);
      double limit = kp_frac_stable_limit(rows[r].d, w);
      if (expected > 0.0) {
        print_message("stable limit q %.1f d %2d %s: %.3f (%.2f)\n", rows[r].q, (int)rows[r].d,
                      end == KP_FRAC_INTERIOR ? "interior" : "window", limit, expected);
        assert_near(limit, expected, 0.0051 + 0.001 * expected);
      }
      assert_true(growth(rows[r].d, w, 0.99 * limit / gain) < 1.0);
      assert_true(growth(rows[r].d, w, 1.01 * limit / gain) > 1.0);
      kp_frac_table_free(&table);
    }
  }
  const double now = 0.3;
  assert_near(kp_frac_stable_limit(0, &now), 2.0, 1e-12);
}

// A sphere in an oscillating fluid with Stokes drag, added mass and history (Basset) drag, marched
// with the full history: O59. The unknown is the relative acceleration, linear between steps.
typedef struct sphere {
  double radius, density, fluid, viscosity;  // m, kg/m^3, kg/m^3, m^2/s
} sphere;

static double complex exact_response(const sphere *s, double omega) {
  double k = 9.0 * s->viscosity * s->fluid / (2.0 * s->radius * s->radius);
  double complex drag = k * (1.0 + s->radius * csqrt(I * omega / s->viscosity));
  return (1.5 * s->fluid * I * omega + drag) / ((s->density + 0.5 * s->fluid) * I * omega + drag);
}

static double complex marched_response(const sphere *s, double omega, int per_period) {
  int64_t n_steps = 6 * per_period;
  double h = 2.0 * PI / omega / per_period;
  kp_frac_table table = make_table(KP_FRAC_TRAPEZOID, KP_FRAC_WINDOW, 0.5, n_steps);
  double k = 9.0 * s->viscosity * s->fluid / (2.0 * s->radius * s->radius);
  double history = k * s->radius / sqrt(s->viscosity);
  double mass = s->density + 0.5 * s->fluid;
  double excess = 1.5 * s->fluid - mass;
  static double w[MOST];
  static double a[MOST];
  double rate = 0.0;  // v - U
  double complex sum = 0.0;
  // at rest with the fluid at t = 0, where U' = omega for U = sin(omega t)
  a[0] = excess * omega / mass;
  for (int64_t n = 1; n <= n_steps; ++n) {
    double t = (double)n * h;
    kp_frac_table_weights(&table, n, h, w);
    double past = 0.0;
    for (int64_t age = 1; age <= n; ++age) {
      past += w[age] * a[n - age];
    }
    double known = rate + 0.5 * h * a[n - 1];
    a[n] = (excess * omega * cos(omega * t) - k * known - history * past) /
           (mass + 0.5 * h * k + history * w[0]);
    rate = known + 0.5 * h * a[n];
    if (n > n_steps - per_period) {
      sum += (rate + sin(omega * t)) * cexp(-I * omega * t) * 2.0 / per_period;
    }
  }
  kp_frac_table_free(&table);
  return sum * I;
}

static void test_sphere_with_history_drag(void **state) {
  (void)state;
  const sphere s = { 1e-3, 1500.0, 1000.0, 1e-6 };
  double omega = 2.0 * PI * 2.0;
  double complex exact = exact_response(&s, omega);
  assert_near(cabs(exact), 0.857043, 1e-6);
  assert_near(carg(exact), -0.073523, 1e-6);
  static const double expected[3] = { 0.857156, 0.857093, 0.857077 };
  double off_march = 0.0, off_exact = 0.0, off_phase = 0.0;
  for (int r = 0; r < 3; ++r) {
    double complex eta = marched_response(&s, omega, 50 << r);
    print_message("sphere, %d steps a period: |eta| %.6f, phase %.6f\n", 50 << r, cabs(eta),
                  carg(eta));
    off_march = kp_test_most(off_march, fabs(cabs(eta) - expected[r]));
    off_exact = fabs(cabs(eta) / cabs(exact) - 1.0);
    off_phase = kp_test_most(off_phase, fabs(carg(eta) - carg(exact)));
  }
  // without the history the response is another: the test can see it
  double k = 9.0 * s.viscosity * s.fluid / (2.0 * s.radius * s.radius);
  double complex plain = (1.5 * s.fluid * I * omega + k) / ((s.density + 500.0) * I * omega + k);
  kp_claim claim = { .id = "ozgen-O59",
                     .text =
                         "Basset's force as a half-derivative: a sphere in a liquid that swings",
                     .size = "a = 1 mm, 2 Hz, 6 periods of 50, 100 and 200 steps" };
  kp_claim_status status = kp_claim_all(
      &claim,
      { "|v/U| of 50, 100, 200 steps against those of the prototype", off_march, KP_AT_MOST, 1e-6 },
      { "|v/U| of 200 steps against the exact one, relative", off_exact, KP_AT_MOST, 1e-4 },
      { "phase against the exact one [rad]", off_phase, KP_AT_MOST, 1e-3 },
      { "what the history changes in |v/U|", fabs(cabs(plain) - cabs(exact)), KP_AT_LEAST, 0.02 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
}

static void test_refusals(void **state) {
  (void)state;
  kp_frac_table table;
  kp_frac_rule rule = { KP_FRAC_TRAPEZOID, KP_FRAC_WINDOW, 1.0, 10 };
  assert_fails(KP_ERROR_ARGUMENT, "order", kp_frac_table_make(rule, &table));
  rule.order = 0.4;
  rule.op = KP_FRAC_SIMPSON;
  assert_fails(KP_ERROR_ARGUMENT, "simpson", kp_frac_table_make(rule, &table));
  rule.op = KP_FRAC_TRAPEZOID;
  rule.window = 0;
  assert_fails(KP_ERROR_ARGUMENT, "no past", kp_frac_table_make(rule, &table));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_trapezoid_table),
    cmocka_unit_test(test_simpson_table),
    cmocka_unit_test(test_gains),
    cmocka_unit_test(test_limits_of_the_order),
    cmocka_unit_test(test_orders),
    cmocka_unit_test(test_old_weights),
    cmocka_unit_test(test_falling_weights),
    cmocka_unit_test(test_equal_steps_at_any_times),
    cmocka_unit_test(test_unequal_steps),
    cmocka_unit_test(test_exponential_kernel),
    cmocka_unit_test(test_exponential_march),
    cmocka_unit_test(test_stable_limits),
    cmocka_unit_test(test_sphere_with_history_drag),
    cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
