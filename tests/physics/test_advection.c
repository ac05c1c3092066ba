// Verification of advection (Selle 2008, sections 2.5 to 2.7): orders on an ordinary differential
// equation, stability polynomials, errors of one step against their leading term, waves carried
// around a periodic line and square waves under limiters. All waves run through the grid's own
// code, as grids of n x 1 cells.
#include "support/test.h"

#include <complex.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "cases/cases.h"
#include "par/parallel.h"

#include "support/claims.h"

#define PI 3.14159265358979323846

static bool is_double(void) {
  return sizeof(kp_real) == 8;
}

// ---- ordinary differential equations: A is a step of Euler's, AR one with the sign changed
// --------

typedef double complex (*step_fn)(double complex y, double complex z);

static double complex euler(double complex y, double complex z) {
  return y + z * y;
}

static double complex maccormack(double complex y, double complex z) {
  double complex h1 = euler(y, z);
  double complex h0 = euler(h1, -z);
  return h1 - 0.5 * (h0 - y);
}

static double complex bfecc(double complex y, double complex z) {
  double complex h0 = euler(euler(y, z), -z);
  return euler(y - 0.5 * (h0 - y), z);
}

// Table 2.1: y' = -y/2, y(0) = 1.3, at t = 5 (which the text leaves out).
static void ode_errors_are_those_of_the_table(void **state) {
  (void)state;
  static const double table[3][4] = { { -6.61e-2, -3.35e-2, -1.67e-2, -8.36e-3 },
                                      { -3.35e-2, -7.13e-3, -1.59e-3, -3.72e-4 },
                                      { 1.73e-2, 3.40e-3, 7.66e-4, 1.82e-4 } };
  static const step_fn steps[3] = { euler, bfecc, maccormack };
  static const double orders[3] = { 1.0, 2.1, 2.1 };
  double worst = 0.0;
  for (int s = 0; s < 3; ++s) {
    double before = NAN;
    for (int k = 0; k < 4; ++k) {
      int n = 5 << k;
      double complex y = 1.3;
      for (int i = 0; i < n; ++i) {
        y = steps[s](y, -0.5 * 5.0 / n);
      }
      double error = creal(y) - 1.3 * exp(-2.5);
      assert_near_relative(error, table[s][k], 0.01);
      worst = kp_test_most(worst, fabs(error / table[s][k] - 1.0));
      if (k == 3) {
        assert_near(log2(before / error), orders[s], 0.07);
      }
      before = error;
    }
  }
  const kp_claim claim = { .id = "selle-C1",
                           .text =
                               "all twelve errors of table 2.1: difference from the printed ones",
                           .size = "y' = -y/2 to t = 5 in 5 to 40 steps",
                           .figure = worst,
                           .threshold = 0.01 };
  kp_claim_at_most(&claim);
}

static void stability_polynomials_are_those_of_the_text(void **state) {
  (void)state;
  for (int i = 0; i < 4000; ++i) {
    double x = -2.5 + 3.5 * (i % 63) / 62.0;
    double y = -2.5 + 5.0 * (i / 63) / 62.0;
    double complex z = x + I * y;
    double complex of_bfecc = bfecc(1.0, z);
    double real = 1 + x + x * x / 2 - y * y / 2 + x * x * x / 2 - 3 * x * y * y / 2;
    double imaginary = x * y + y + 3 * x * x * y / 2 - y * y * y / 2;
    assert_near(creal(of_bfecc), real, 1e-12);
    assert_near(cimag(of_bfecc), imaginary, 1e-12);
    assert_near(cabs(maccormack(1.0, z) - (1 + z + z * z / 2)), 0.0, 1e-12);
  }
  // of the imaginary axis BFECC holds what Runge-Kutta of third order holds, MacCormack the origin
  for (double y = 0.05; y < 2.5; y += 0.05) {
    assert_true((cabs(bfecc(1.0, I * y)) <= 1.0) == (y <= sqrt(3.0)));
    assert_true(cabs(maccormack(1.0, I * y)) > 1.0);
  }
}

// ---- a periodic line --------------------------------------------------------------------------

typedef struct line {
  kp_backend *backend;
  kp_registry *registry;
  kp_mac *mac;
  kp_field *velocity, *values;
  kp_advect advect;
  int64_t n;  // cells
} line;

static void line_begin(line *t, kp_backend_kind backend, int64_t n) {
  memset(t, 0, sizeof *t);
  t->n = n;
  assert_ok(kp_backend_create(backend, &t->backend));
  assert_ok(kp_registry_create(t->backend, &t->registry));
  kp_mac_def def = { .name = "line", .cell = 1.0 / (double)n, .dimension = 2 };
  def.box.max = kp_vec3_make(1, 1.0 / (double)n, 1);
  for (int c = 0; c < 2; ++c) {
    def.sides[c][0].kind = def.sides[c][1].kind = KP_MAC_PERIODIC;
  }
  assert_ok(kp_mac_create(t->registry, &def, &t->mac));
  kp_field_desc velocity = { "velocity", KP_TYPE_REAL, 3, "m/s", KP_FIELD_SAVE, 0.0 };
  kp_field_desc values = { "values", KP_TYPE_REAL, 1, "", KP_FIELD_SAVE, 0.0 };
  assert_ok(kp_mac_add_field(t->mac, &velocity, &t->velocity));
  assert_ok(kp_mac_add_field(t->mac, &values, &t->values));
  kp_real *u = kp_buffer_host(&t->velocity->buffers[0], KP_ACCESS_WRITE);
  assert_non_null(u);
  for (int64_t i = 0; i < t->mac->view.count; ++i) {
    u[i] = 1;
  }
  assert_ok(kp_advect_init(&t->advect, t->mac));
}

static void line_end(line *t) {
  kp_advect_free(&t->advect);
  kp_mac_destroy(&t->mac);
  kp_registry_destroy(&t->registry);
  kp_backend_destroy(&t->backend);
}

static kp_real *line_values(line *t) {
  kp_real *f = kp_buffer_host(&t->values->buffers[0], KP_ACCESS_WRITE);
  assert_non_null(f);
  return f + kp_mac_at(&t->mac->view, 0, 0, 0);
}

static void line_step(line *t, int scheme, int limiter, double dt) {
  const kp_advect_def def = { scheme, limiter, KP_ADVECT_EULER, KP_ADVECT_LINEAR };
  assert_ok(kp_advect_values(&t->advect, &def, KP_MAC_CELL, &t->values->buffers[0], t->velocity,
                             NULL, NAN, dt));
}

// With steps of cfl cells, the last one shorter.
static void line_run(line *t, int scheme, int limiter, double cfl, double end) {
  double dt = cfl / (double)t->n;
  int64_t n_steps = (int64_t)ceil(end / dt - 1e-9);
  for (int64_t s = 0; s < n_steps; ++s) {
    line_step(t, scheme, limiter, s + 1 < n_steps ? dt : end - (double)s * dt);
  }
}

typedef double (*profile_fn)(double x);

static double sine(double x) {
  return sin(4.0 * PI * x);
}

static double pulse(double x) {
  x -= floor(x);
  // nodes on the edges themselves are where they were meant to be
  return x > 0.25 - 1e-9 && x < 0.75 - 1e-9 ? 1.0 : 0.0;
}

static void line_fill(line *t, profile_fn profile) {
  kp_real *f = line_values(t);
  for (int64_t i = 0; i < t->n; ++i) {
    f[i] = (kp_real)profile((double)i / (double)t->n);
  }
}

// Mean over n + 1 nodes, both ends counted, as in the tables.
static double line_error(line *t, profile_fn profile, double time) {
  const kp_real *f = line_values(t);
  double sum = 0.0;
  for (int64_t i = 0; i <= t->n; ++i) {
    sum += fabs((double)f[i % t->n] - profile((double)i / (double)t->n - time));
  }
  return sum / (double)(t->n + 1);
}

// `pointwise`: the error of every node, NULL when nobody asks.
static double run_wave(int64_t n_nodes, int scheme, int limiter, double cfl, double *pointwise) {
  line t;
  line_begin(&t, KP_BACKEND_CPU, n_nodes - 1);
  line_fill(&t, sine);
  line_run(&t, scheme, limiter, cfl, 0.5);
  double error = line_error(&t, sine, 0.5);
  const kp_real *f = line_values(&t);
  for (int64_t i = 0; pointwise != NULL && i < t.n; ++i) {
    pointwise[i] = fabs((double)f[i] - sine((double)i / (double)t.n - 0.5));
  }
  line_end(&t);
  return error;
}

// ---- closed forms -------------------------------------------------------------------------------

// One step on random data against the weights of u_{i-2} .. u_{i+1}, lambda at most 1.
static void steps_have_their_closed_forms(void **state) {
  (void)state;
  static const int schemes[6] = { KP_ADVECT_UPWIND,     KP_ADVECT_SEMI_LAGRANGIAN,
                                  KP_ADVECT_BFECC,      KP_ADVECT_BFECC_UPWIND,
                                  KP_ADVECT_MACCORMACK, KP_ADVECT_MACCORMACK_UPWIND };
  kp_test_random r = kp_test_random_begin(3);
  double worst[6] = { 0.0 };
  for (int s = 0; s < 6; ++s) {
    for (double l = 0.125; l <= 1.0; l += 0.125) {
      const double weights[3][4] = {
        { 0.0, l, 1 - l, 0.0 },
        { -l * l / 2 + l * l * l / 2, l / 2 + 2 * l * l - 3 * l * l * l / 2,
          1 - 5 * l * l / 2 + 3 * l * l * l / 2, -l / 2 + l * l - l * l * l / 2 },
        { 0.0, l / 2 + l * l / 2, 1 - l * l, -l / 2 + l * l / 2 },
      };
      line t;
      double u[40];
      line_begin(&t, KP_BACKEND_CPU, 40);
      kp_real *f = line_values(&t);
      for (int i = 0; i < 40; ++i) {
        f[i] = (kp_real)kp_test_uniform(&r, -1, 1);
        u[i] = (double)f[i];
      }
      line_step(&t, schemes[s], KP_ADVECT_NO_LIMITER, l / 40.0);
      f = line_values(&t);
      for (int i = 0; i < 40; ++i) {
        double wanted = 0.0;
        for (int k = 0; k < 4; ++k) {
          wanted += weights[s / 2][k] * u[(i + k + 38) % 40];
        }
        worst[s] = kp_test_most(worst[s], fabs((double)f[i] - wanted));
      }
      line_end(&t);
    }
    assert_between(worst[s], 0.0, KP_TOL(5e-6, 1e-14));
  }
  kp_claim claim = { .id = "selle-S1",
                     .text = "a step of first-order upwind is l u_{i-1} + (1 - l) u_i",
                     .size = "40 cells at random, CFL 1/8 to 1",
                     .figure = worst[0],
                     .threshold = KP_TOL(5e-6, 1e-14) };
  kp_claim_at_most(&claim);
  claim.id = "selle-S5";
  claim.text = "steps of BFECC and MacCormack on upwind blocks have their closed forms";
  claim.figure = fmax(worst[3], worst[5]);
  kp_claim_at_most(&claim);
}

// ---- waves ------------------------------------------------------------------------------------

typedef struct wave_row {
  int scheme;
  double cfl, unit[4], error[4];  // `unit` of the last printed digit
} wave_row;

// Tables 2.2 and 2.3.
static const wave_row wave_rows[] = {
  { KP_ADVECT_UPWIND, 0.75, { 1e-3, 1e-3, 1e-3, 1e-4 }, { 6.0e-2, 3.1e-2, 1.6e-2, 7.8e-3 } },
  { KP_ADVECT_BFECC_UPWIND, 0.75, { 1e-4, 1e-5, 1e-6, 1e-6 }, { 1.3e-3, 3.3e-4, 8.2e-5, 2.1e-5 } },
  { KP_ADVECT_MACCORMACK_UPWIND,
    0.75,
    { 1e-4, 1e-4, 1e-5, 1e-6 },
    { 4.7e-3, 1.2e-3, 2.9e-4, 7.2e-5 } },
  { KP_ADVECT_SEMI_LAGRANGIAN,
    0.75,
    { 1e-3, 1e-3, 1e-3, 1e-4 },
    { 6.0e-2, 3.1e-2, 1.6e-2, 7.8e-3 } },
  { KP_ADVECT_BFECC, 0.75, { 1e-4, 1e-5, 1e-6, 1e-6 }, { 1.3e-3, 3.3e-4, 8.2e-5, 2.1e-5 } },
  { KP_ADVECT_MACCORMACK, 0.75, { 1e-4, 1e-4, 1e-5, 1e-6 }, { 4.7e-3, 1.2e-3, 2.9e-4, 7.2e-5 } },
  { KP_ADVECT_SEMI_LAGRANGIAN,
    1.75,
    { 1e-3, 1e-3, 1e-4, 1e-4 },
    { 2.6e-2, 1.3e-2, 6.7e-3, 3.3e-3 } },
  { KP_ADVECT_BFECC, 1.75, { 1e-5, 1e-5, 1e-6, 1e-7 }, { 5.6e-4, 1.4e-4, 3.5e-5, 8.8e-6 } },
  { KP_ADVECT_MACCORMACK, 1.75, { 1e-4, 1e-4, 1e-5, 1e-6 }, { 5.3e-3, 1.3e-3, 3.4e-4, 8.4e-5 } },
};
#define N_WAVE_ROWS ((int)(sizeof wave_rows / sizeof wave_rows[0]))

static bool is_first_order(int scheme) {
  return scheme == KP_ADVECT_UPWIND || scheme == KP_ADVECT_SEMI_LAGRANGIAN;
}

// Mean of the orders of all coarse nodes, as the tables have it.
static double pointwise_order(int64_t n, const double *coarse, const double *fine) {
  double sum = 0.0;
  int64_t count = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (coarse[i] > 0.0 && fine[2 * i] > 0.0) {
      sum += log2(coarse[i] / fine[2 * i]);
      ++count;
    }
  }
  return sum / (double)count;
}

static void waves_have_the_errors_and_orders_of_the_tables(void **state) {
  (void)state;
  // what the rounding of a thousand steps leaves on a wave
  const double noise = KP_TOL(2e-6, 0.0);
  double worst = 0.0;
  double worst_order = 0.0;
  double worst_first = 0.0;
  int n_orders = 0;
  static double nodes[4][800];
  for (int r = 0; r < N_WAVE_ROWS; ++r) {
    const wave_row *row = &wave_rows[r];
    double before = NAN;
    for (int k = 0; k < 4; ++k) {
      double error =
          run_wave((100 << k) + 1, row->scheme, KP_ADVECT_NO_LIMITER, row->cfl, nodes[k]);
      double off = fabs(error - row->error[k]);
      assert_between(off, 0.0, fmax(0.03 * row->error[k], 0.5 * row->unit[k]) + noise);
      worst = kp_test_most(worst, fmax(off - 0.5 * row->unit[k], 0.0) / row->error[k]);
      double order = log2(before / error);
      if (k > 0 && is_first_order(row->scheme)) {
        double first = pointwise_order(100 << (k - 1), nodes[k - 1], nodes[k]);
        assert_near(first, 1.0, 0.07);
        worst_first = kp_test_most(worst_first, fabs(first - 1.0));
      } else if (k > 0 && (is_double() || error > 1e-4)) {
        assert_near(order, 2.0, 0.05);
        worst_order = kp_test_most(worst_order, fabs(order - 2.0));
        ++n_orders;
      }
      before = error;
    }
  }
  const kp_claim first = { .id = "selle-C2-first",
                           .text = "distance of the orders of first-order schemes from 1",
                           .size = "3 rows, 101 to 801 nodes, CFL 0.75 and 1.75",
                           .figure = worst_first,
                           .threshold = 0.07 };
  kp_claim_at_most(&first);
  // in float the finest errors are those of rounding
  if (is_double()) {
    const kp_claim errors = { .id = "selle-C2",
                              .text = "errors of tables 2.2 and 2.3 beyond their last digit",
                              .size = "9 rows, 101 to 801 nodes, CFL 0.75 and 1.75",
                              .figure = worst,
                              .threshold = 0.03 };
    kp_claim_at_most(&errors);
    const kp_claim order = { .id = "selle-C2-order",
                             .text = "BFECC and MacCormack are of second order",
                             .size = "6 rows, 101 to 801 nodes, CFL 0.75 and 1.75" };
    kp_claim_all(
        &order,
        { "distance of the orders of BFECC and MacCormack from 2", worst_order, KP_AT_MOST, 0.05 },
        { "orders taken, three for each row", n_orders, KP_AT_LEAST, 18 });
  }
}

// ---- the error of one step ----------------------------------------------------------------------

static double leading_term(int scheme, double l) {
  double l2 = l * l;
  double l3 = l2 * l;
  if (scheme == KP_ADVECT_BFECC) {
    return l <= 1.0   ? 2 + 1 / l2 - 3 / l
           : l <= 2.0 ? 2 - 6 / l3 + 13 / l2 - 9 / l
                      : 2 - 30 / l3 + 37 / l2 - 15 / l;
  }
  return l <= 1.0 ? -1 + 1 / l2 : l <= 2.0 ? -1 - 6 / l3 + 7 / l2 : -1 - 30 / l3 + 19 / l2;
}

// Ratio of the measured to the reckoned error of one step, at its worst of many steps.
static double worst_step(int64_t n, int scheme, int *n_steps) {
  double worst = 0.0;
  for (double l = 0.125; l < 3.0; l += 0.125) {
    double e = leading_term(scheme, l);
    if (fabs(e) < 0.02) {
      continue;
    }
    line t;
    line_begin(&t, KP_BACKEND_CPU, n);
    line_fill(&t, sine);
    double dt = l / (double)n;
    line_step(&t, scheme, KP_ADVECT_NO_LIMITER, dt);
    const kp_real *f = line_values(&t);
    double measured = 0.0;
    double reckoned = 0.0;
    for (int64_t i = 0; i < n; ++i) {
      double x = (double)i / (double)n;
      double third = pow(4.0 * PI, 3.0) * cos(4.0 * PI * x);
      measured += fabs((double)f[i] - sine(x - dt));
      reckoned += fabs(dt * dt * dt * third * e / 6.0);
    }
    line_end(&t);
    worst = kp_test_most(worst, fabs(measured / reckoned - 1.0));
    ++*n_steps;
  }
  return worst;
}

static double worst_of_both(int64_t n, int *n_steps) {
  return fmax(worst_step(n, KP_ADVECT_BFECC, n_steps),
              worst_step(n, KP_ADVECT_MACCORMACK, n_steps));
}

static void one_step_errs_by_its_leading_term(void **state) {
  (void)state;
  int n_steps = 0;
  // of float's digits enough are left only where cells are large
  assert_between(worst_of_both(is_double() ? 400 : 200, &n_steps), 0.0, 0.05);
  assert_true(n_steps >= 18);  // nine of either scheme, at least
}

static void fine_steps_err_by_their_leading_term(void **state) {
  (void)state;
  if (!is_double()) {
    kp_test_skip("in double alone");
  }
  int n_steps = 0;
  double coarse = worst_of_both(400, &n_steps);
  n_steps = 0;
  double fine = worst_of_both(4000, &n_steps);
  const kp_claim claim = { .id = "selle-C3",
                           .text = "the error of one step is its leading term, E(lambda)",
                           .size = "400 and 4000 cells, CFL numbers in (0, 3), both schemes" };
  kp_claim_status status = kp_claim_all(
      &claim,
      { "error of a step over its leading term less 1, 4000 cells", fine, KP_AT_MOST, 0.01 },
      { "the same, 400 cells", coarse, KP_AT_MOST, 0.05 },
      { "CFL numbers of both schemes together", n_steps, KP_AT_LEAST, 18 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
}

// ---- stability ----------------------------------------------------------------------------------

static double largest(line *t) {
  const kp_real *f = line_values(t);
  double most = 0.0;
  for (int64_t i = 0; i < t->n; ++i) {
    most = kp_test_most(most, fabs((double)f[i]));
  }
  return most;
}

static void no_step_is_too_long(void **state) {
  (void)state;
  static const double cfls[4] = { 0.5, 1.75, 5.3, 20.7 };
  static const int schemes[2] = { KP_ADVECT_MACCORMACK, KP_ADVECT_BFECC };
  double excess = 0.0;
  double unlimited = 0.0;
  for (int s = 0; s < 2; ++s) {
    for (int limiter = 0; limiter < KP_ADVECT_LIMITER_COUNT; ++limiter) {
      for (int k = 0; k < 4; ++k) {
        line t;
        line_begin(&t, KP_BACKEND_CPU, 200);
        line_fill(&t, sine);
        double before = largest(&t);
        for (int i = 0; i < 2000; ++i) {
          line_step(&t, schemes[s], limiter, cfls[k] / 200.0);
        }
        double after = largest(&t);
        if (limiter == KP_ADVECT_NO_LIMITER) {
          unlimited = kp_test_most(unlimited, after);
          assert_between(after, 0.0, 2.0);
        } else {
          excess = kp_test_most(excess, after - before);
          assert_between(after, 0.0, before + KP_TOL(1e-6, 1e-12));
        }
        line_end(&t);
      }
    }
  }
  const kp_claim limited = { .id = "selle-C4",
                             .text = "growth of the largest value of a wave, limiters on",
                             .size = "200 cells, CFL 0.5 to 20.7, 2000 steps",
                             .figure = excess,
                             .threshold = 1e-12 };
  kp_claim_at_most(&limited);
  const kp_claim free_claim = { .id = "selle-C4-unlimited",
                                .text = "largest value of a smooth wave without limiter",
                                .size = "200 cells, CFL 0.5 to 20.7, 2000 steps",
                                .figure = unlimited,
                                .threshold = 2.0 };
  kp_claim_at_most(&free_claim);
}

// ---- square waves -------------------------------------------------------------------------------

typedef struct square {
  double low, high, error;
} square;

static square run_square(int64_t n_nodes, int scheme, int limiter, double cfl) {
  line t;
  line_begin(&t, KP_BACKEND_CPU, n_nodes - 1);
  line_fill(&t, pulse);
  line_run(&t, scheme, limiter, cfl, 1.0);
  square s = { HUGE_VAL, -HUGE_VAL, line_error(&t, pulse, 1.0) };
  const kp_real *f = line_values(&t);
  for (int64_t i = 0; i < t.n; ++i) {
    s.low = kp_test_least(s.low, (double)f[i]);
    s.high = kp_test_most(s.high, (double)f[i]);
  }
  line_end(&t);
  return s;
}

static void limiters_add_no_extrema(void **state) {
  (void)state;
  double beyond = 0.0;
  for (int64_t n = 101; n <= 401; n += 300) {
    for (int k = 0; k < 2; ++k) {
      for (int limiter = KP_ADVECT_CLAMP; limiter <= KP_ADVECT_REVERT; ++limiter) {
        for (int s = 0; s < 2; ++s) {
          square of = run_square(n, s == 0 ? KP_ADVECT_MACCORMACK : KP_ADVECT_BFECC, limiter,
                                 k == 0 ? 0.75 : 1.75);
          beyond = kp_test_most(beyond, fmax(-of.low, of.high - 1.0));
        }
      }
    }
  }
  assert_between(beyond, 0.0, KP_TOL(1e-6, 1e-12));
  square coarse = run_square(101, KP_ADVECT_MACCORMACK, KP_ADVECT_NO_LIMITER, 0.75);
  assert_near(coarse.high, 1.188, 0.002);
  assert_near(coarse.low, -0.188, 0.002);
  square fine = run_square(401, KP_ADVECT_MACCORMACK, KP_ADVECT_NO_LIMITER, 0.75);
  assert_near(fine.high, 1.213, 0.002);
  assert_between(fine.high - 1.0, 0.1, 0.3);
  square back = run_square(101, KP_ADVECT_BFECC, KP_ADVECT_NO_LIMITER, 0.75);
  assert_near(back.high, 1.146, 0.002);
  const kp_claim overshoot = { .id = "selle-C5-unlimited",
                               .text = "without a limiter square waves overshoot by 0.1 to 0.3",
                               .size = "MacCormack and BFECC, 101 and 401 nodes, CFL 0.75" };
  double least = fmin(coarse.high, fmin(fine.high, back.high)) - 1.0;
  double most = fmax(coarse.high, fmax(fine.high, back.high)) - 1.0;
  kp_claim_all(&overshoot, { "least overshoot", least, KP_AT_LEAST, 0.1 },
               { "largest overshoot", most, KP_AT_MOST, 0.3 });
  // errors of a trial outside this project
  square first = run_square(401, KP_ADVECT_SEMI_LAGRANGIAN, KP_ADVECT_NO_LIMITER, 0.75);
  square clamped = run_square(401, KP_ADVECT_MACCORMACK, KP_ADVECT_CLAMP, 0.75);
  square reverted = run_square(401, KP_ADVECT_MACCORMACK, KP_ADVECT_REVERT, 0.75);
  square clamped_back = run_square(401, KP_ADVECT_BFECC, KP_ADVECT_CLAMP, 0.75);
  assert_near_relative(first.error, 3.99e-2, 0.01);
  assert_near_relative(fine.error, 2.55e-2, 0.01);
  assert_near_relative(clamped.error, 1.89e-2, 0.01);
  assert_near_relative(reverted.error, 1.92e-2, 0.01);
  assert_near_relative(clamped_back.error, 1.26e-2, 0.01);
  const kp_claim range = { .id = "selle-C5",
                           .text = "limited square waves beyond 0 and 1",
                           .size = "101 and 401 nodes, CFL 0.75 and 1.75",
                           .figure = beyond,
                           .threshold = 1e-12 };
  kp_claim_at_most(&range);
  const kp_claim alike = { .id = "selle-C5-alike",
                           .text = "error of reversion over that of clamping, less 1",
                           .size = "401 nodes, CFL 0.75",
                           .figure = fabs(reverted.error / clamped.error - 1.0),
                           .threshold = 0.05 };
  assert_between(alike.figure, 0.0, alike.threshold);
  kp_claim_at_most(&alike);
}

// On smooth data limiters cost what they flatten: 1.4 times the error by clamping, 2.1 by
// reversion.
static void limiters_flatten_smooth_waves_a_little(void **state) {
  (void)state;
  double plain = run_wave(401, KP_ADVECT_MACCORMACK, KP_ADVECT_NO_LIMITER, 0.75, NULL);
  double clamped = run_wave(401, KP_ADVECT_MACCORMACK, KP_ADVECT_CLAMP, 0.75, NULL);
  double reverted = run_wave(401, KP_ADVECT_MACCORMACK, KP_ADVECT_REVERT, 0.75, NULL);
  assert_between(clamped / plain, 1.3, 1.5);
  assert_between(reverted / plain, 1.9, 2.3);
}

static void waves_are_the_same_on_every_backend(void **state) {
  (void)state;
  uint64_t hashes[2];
  static const kp_backend_kind kinds[2] = { KP_BACKEND_CPU, KP_BACKEND_MIRROR };
  for (int b = 0; b < 2; ++b) {
    line t;
    line_begin(&t, kinds[b], 100);
    line_fill(&t, sine);
    line_run(&t, KP_ADVECT_MACCORMACK, KP_ADVECT_REVERT, 1.75, 0.5);
    assert_ok(kp_registry_hash(t.registry, &hashes[b]));
    line_end(&t);
  }
  assert_true(hashes[0] == hashes[1]);
}

// ---- cost ---------------------------------------------------------------------------------------

static double time_scheme(kp_case_vortices *v, int scheme) {
  double best = HUGE_VAL;
  v->def = (kp_advect_def){ scheme, KP_ADVECT_NO_LIMITER, KP_ADVECT_EULER, KP_ADVECT_LINEAR };
  for (int s = 0; s < 4; ++s) {
    clock_t begin = clock();  // of this thread's work, whoever else is there
    assert_ok(kp_case_vortices_turn(v));
    best = kp_test_least(best, (double)(clock() - begin) / CLOCKS_PER_SEC);
  }
  return best;
}

// Two and three sweeps. Only claims look at clocks.
static void schemes_cost_what_their_sweeps_cost(void **state) {
  (void)state;
  const char *folder = getenv("KELPIE_CLAIMS_DIR");
  if (folder == NULL || folder[0] == '\0') {
    kp_test_skip("make claims takes times");
  }
  kp_case_vortices *v = NULL;
  assert_ok(kp_case_vortices_create("cpu", 256, &v));
  kp_parallel_set_threads(1);
  double first = time_scheme(v, KP_ADVECT_SEMI_LAGRANGIAN);
  double second = time_scheme(v, KP_ADVECT_MACCORMACK);
  double third = time_scheme(v, KP_ADVECT_BFECC);
  kp_parallel_set_threads(0);
  kp_case_vortices_destroy(&v);
  const kp_claim two = { .id = "selle-C7",
                         .text = "MacCormack costs two sweeps: 1.8 to 2.6 times semi-Lagrangian",
                         .size = "256^3 cells, two fields and the velocity, no limiter" };
  kp_claim_all(&two, { "time of MacCormack over semi-Lagrangian", second / first, KP_AT_MOST, 2.6 },
               { "the same", second / first, KP_AT_LEAST, 1.8 });
  const kp_claim three = { .id = "selle-C7-bfecc",
                           .text = "BFECC costs three sweeps: 1.3 to 1.7 times MacCormack",
                           .size = "256^3 cells, two fields and the velocity, no limiter" };
  kp_claim_all(&three, { "time of BFECC over MacCormack", third / second, KP_AT_MOST, 1.7 },
               { "the same", third / second, KP_AT_LEAST, 1.3 });
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(ode_errors_are_those_of_the_table),
    cmocka_unit_test(stability_polynomials_are_those_of_the_text),
    cmocka_unit_test(steps_have_their_closed_forms),
    cmocka_unit_test(waves_have_the_errors_and_orders_of_the_tables),
    cmocka_unit_test(one_step_errs_by_its_leading_term),
    cmocka_unit_test(fine_steps_err_by_their_leading_term),
    cmocka_unit_test(no_step_is_too_long),
    cmocka_unit_test(limiters_add_no_extrema),
    cmocka_unit_test(limiters_flatten_smooth_waves_a_little),
    cmocka_unit_test(waves_are_the_same_on_every_backend),
    cmocka_unit_test(schemes_cost_what_their_sweeps_cost),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
