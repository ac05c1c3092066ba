// What a spring of a shear-thickening fluid remembers: averages over blocks of time against the
// closed form and against the direct sum over all past steps (Ozgen 2013, Eq. 5.13,
// Figs. 5.5, 5.6).
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "base/array.h"
#include "math/fractional.h"
#include "methods/stf/stf_memory.h"

#include "support/claims.h"

#define DT 1e-3

static double pulse(double t, double length) {
  return t <= length + 0.5 * DT ? 1.0 : 0.0;
}

// One spring in double, as the kernels do it.
typedef struct spring {
  kp_stf_memory memory;
  double values[KP_STF_SLOTS];
  double tail[KP_STF_TAILS];
} spring;

static double spring_step(spring *s, double now, double dt, double speed) {
  kp_stf_update u = kp_stf_memory_advance(&s->memory, now, dt);
  for (int m = 0; m < u.n_merges; ++m) {
    s->values[u.into[m]] += u.share[m] * (s->values[u.from[m]] - s->values[u.into[m]]);
  }
  double sum = 0.0;
  if (u.current >= 0) {
    double before = u.ratio < 1.0 ? s->values[u.current] : 0.0;
    s->values[u.current] = before + u.ratio * (speed - before);
    sum = u.now_weight * speed + u.before_weight * before;
  }
  if (u.recall) {
    for (int p = 0; p < KP_STF_TAILS; ++p) {
      s->tail[p] = 0.0;
      for (int k = 0; k < u.n_coarse; ++k) {
        s->tail[p] += u.tail_weight[p][k] * s->values[u.coarse[k]];
      }
    }
  }
  for (int p = 0; p < KP_STF_TAILS; ++p) {
    sum += u.tail_share[p] * s->tail[p];
  }
  for (int k = 0; k < u.n_fine; ++k) {
    sum += u.weight[k] * s->values[u.fine[k]];
  }
  return sum;
}

static spring spring_make(double order, double memory) {
  spring s = { 0 };
  kp_stf_memory_init(&s.memory, order, memory);
  return s;
}

// s(t) / V for |v| = V on [0, T] and a memory of M
static double closed_form(double q, double t, double length, double memory) {
  double since = fmin(fmax(t - length, 0.0), memory);
  return kp_frac_gain(q, fmin(t, memory)) - kp_frac_gain(q, since);
}

// ---- claim 15 -----------------------------------------------------------------------------------

typedef struct row {
  double length, memory, order;
  int n;
  double t[8], s[8];  // as printed in the specification, to four digits
} row;

static const row rows[] = {
  { 0.1,
    1.0,
    0.2,
    8,
    { .05, .1, .2, .5, .9, 1.0, 1.05, 1.1 },
    { .0977, .1702, .1261, .1008, .0887, .0868, .0432, 0 } },
  { 0.1,
    1.0,
    0.5,
    8,
    { .05, .1, .2, .5, .9, 1.0, 1.05, 1.1 },
    { .2523, .3568, .1478, .0842, .0612, .0579, .0286, 0 } },
  { 0.1,
    1.0,
    0.8,
    8,
    { .05, .1, .2, .5, .9, 1.0, 1.05, 1.1 },
    { .5982, .6872, .1022, .0414, .0248, .0227, .0111, 0 } },
  { 0.1, 0.25, 0.5, 5, { .1, .2, .25, .3, .35 }, { .3568, .1478, .1272, .0596, 0 } },
  { 2.0,
    1.0,
    0.2,
    7,
    { .25, .5, 1, 2, 2.25, 2.5, 3 },
    { .3542, .6167, 1.0737, 1.0737, .7195, .4570, 0 } },
  { 2.0,
    1.0,
    0.5,
    7,
    { .25, .5, 1, 2, 2.25, 2.5, 3 },
    { .5642, .7979, 1.1284, 1.1284, .5642, .3305, 0 } },
  { 2.0,
    1.0,
    0.8,
    7,
    { .25, .5, 1, 2, 2.25, 2.5, 3 },
    { .8254, .9481, 1.0891, 1.0891, .2637, .1410, 0 } },
};

// The direct sum of Eq. 5.13 with the weights of the product trapezoid rule, d = M/dt.
static double direct_sum(const row *r, double t, kp_frac_table *table) {
  KP_ARRAY(double) w = { 0 };
  int64_t n = llround(t / DT);
  int64_t reach = kp_frac_table_reach(table, n);
  assert_ok(kp_array_resize(&w, (size_t)reach + 1));
  kp_frac_table_weights(table, n, DT, w.data);
  double sum = 0.0;
  for (int64_t k = 0; k <= reach; ++k) {
    // at the jump the rule, which joins samples by lines, wants the mean of both sides
    double at = (double)(n - k) * DT;
    sum += w.data[k] * (k > 0 && fabs(at - r->length) < 0.5 * DT ? 0.5 : pulse(at, r->length));
  }
  kp_array_free(&w);
  return sum;
}

// Errors are taken relative to the value; where memory has ended and nothing is left, to the cap
// V M^(1-q) / Gamma(2-q).
static double row_error(const row *r, double *blocks_out, double *direct_out) {
  kp_frac_table table = { 0 };
  kp_frac_rule rule = { .op = KP_FRAC_TRAPEZOID,
                        .end = KP_FRAC_WINDOW,
                        .order = r->order,
                        .window = llround(r->memory / DT) };
  assert_ok(kp_frac_table_make(rule, &table));
  spring s = spring_make(r->order, r->memory);
  double worst_blocks = 0.0;
  double worst_direct = 0.0;
  int next = 0;
  for (int64_t n = 1; next < r->n; ++n) {
    double t = (double)n * DT;
    double sum = spring_step(&s, t, DT, pulse(t, r->length));
    if (fabs(t - r->t[next]) < 0.25 * DT) {
      double exact = closed_form(r->order, t, r->length, r->memory);
      assert_near(exact, r->s[next], 6e-5);
      double scale = exact > 1e-12 ? exact : kp_frac_gain(r->order, r->memory);
      double direct = direct_sum(r, t, &table);
      worst_blocks = kp_test_most(worst_blocks, fabs(sum - exact) / scale);
      worst_direct = kp_test_most(worst_direct, fabs(direct - exact) / scale);
      ++next;
    }
  }
  kp_frac_table_free(&table);
  *blocks_out = worst_blocks;
  *direct_out = worst_direct;
  return fmax(worst_blocks, worst_direct);
}

static void test_curves(void **state) {
  (void)state;
  double worst_blocks = 0.0;
  double worst_direct = 0.0;
  for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
    double blocks;
    double direct;
    row_error(&rows[k], &blocks, &direct);
    print_message("  T %.1f s, M %.2f s, q %.1f: blocks %.4f, direct sum %.4f\n", rows[k].length,
                  rows[k].memory, rows[k].order, blocks, direct);
    worst_blocks = kp_test_most(worst_blocks, blocks);
    worst_direct = kp_test_most(worst_direct, direct);
  }
  kp_claim claim = {
    "ozgen-15",
    "stiffness of a spring after a pulse and under steady speed follows the closed "
    "form",
    "7 curves of M3.5 at 1 ms, blocks of growing length", worst_blocks, 0.01
  };
  assert_int_equal(kp_claim_at_most(&claim), KP_CLAIM_CONFIRMED);
  print_message("  the direct sum: %.4f\n", worst_direct);
  assert_true(worst_direct <= 0.01);
}

// ---- more memory is stiffer, up to the cap ------------------------------------------------------

static double after(double memory, double order, double t_end) {
  spring s = spring_make(order, memory);
  double sum = 0.0;
  for (int64_t n = 1; (double)n * DT < t_end + 0.5 * DT; ++n) {
    sum = spring_step(&s, (double)n * DT, DT, 1.0);
  }
  return sum;
}

static void test_memory_and_cap(void **state) {
  (void)state;
  double growth = HUGE_VAL, off_cap = 0.0;
  for (int q = 0; q < 3; ++q) {
    double order = 0.2 + 0.3 * q;
    double before = 0.0;
    for (int m = 1; m <= 5; ++m) {
      double memory = 0.2 * m;
      double sum = after(memory, order, 3.0);
      growth = kp_test_least(growth, sum - before);
      off_cap = kp_test_most(off_cap, fabs(sum / kp_frac_gain(order, memory) - 1.0));
      before = sum;
    }
  }
  kp_claim claim = { .id = "ozgen-O41",
                     .text = "a longer memory is stiffer, up to the cap V M^(1-q)/Gamma(2-q)",
                     .size = "q = 0.2, 0.5, 0.8; memories of 0.2 to 1 s, steady speed for 3 s" };
  kp_claim_status status = kp_claim_all(
      &claim, { "least growth of s/V with 0.2 s more of memory", growth, KP_MORE, 0.0 },
      { "largest relative difference from the cap", off_cap, KP_AT_MOST, 1e-3 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
}

// ---- signals without a closed form: against the direct sum over all steps -----------------------

static double shaken(double t) {
  return fabs(sin(2.0 * 3.14159265358979 * 30.0 * t));
}

static double bursts(double t) {
  return fmod(t, 0.31) < 0.02 ? 1.0 + 0.5 * sin(40.0 * t) : 0.02;
}

// Root mean square of the difference over that of the sum, from steps of changing length.
static double against_direct(double (*speed)(double), double order, double dt) {
  spring s = spring_make(order, 1.0);
  KP_ARRAY(double) times = { 0 };
  KP_ARRAY(double) speeds = { 0 };
  double error2 = 0.0;
  double exact2 = 0.0;
  double t = 0.0;
  assert_ok(kp_array_push(&times, t));
  assert_ok(kp_array_push(&speeds, 0.0));
  for (int n = 0; t < 2.5; ++n) {
    double step = dt * (1.0 + 0.4 * sin(0.1 * n));
    t += step;
    assert_ok(kp_array_push(&times, t));
    assert_ok(kp_array_push(&speeds, speed(t)));
    double sum = spring_step(&s, t, step, speed(t));
    double exact = 0.0;
    for (size_t p = 1; p < times.count; ++p) {
      double oldest = fmin(t - times.data[p - 1], 1.0);
      double newest = fmin(t - times.data[p], 1.0);
      exact += speeds.data[p] * (kp_frac_gain(order, oldest) - kp_frac_gain(order, newest));
    }
    exact2 += exact * exact;
    error2 += (sum - exact) * (sum - exact);
  }
  kp_array_free(&times);
  kp_array_free(&speeds);
  return sqrt(error2 / exact2);
}

static void test_against_direct_sum(void **state) {
  (void)state;
  for (int q = 0; q < 3; ++q) {
    double order = 0.2 + 0.3 * q;
    double a = against_direct(shaken, order, 2e-3);
    double b = against_direct(bursts, order, 2e-3);
    double c = against_direct(bursts, order, 2e-2);
    print_message("  q %.1f: vibration %.4f, bursts %.4f, with steps of 20 ms %.4f\n", order, a, b,
                  c);
    assert_between(a, 0.0, 0.01);
    assert_between(b, 0.0, 0.02);
    assert_between(c, 0.0, 0.02);
  }
}

// Whatever the steps, no more blocks than there are places, and each is counted once: a steady
// speed has the gain of the memory.
static void test_any_step(void **state) {
  (void)state;
  for (int k = 0; k < 60; ++k) {
    double dt = 2e-4 * pow(1.12, k);
    spring s = spring_make(0.5, 1.0);
    double t = 0.0;
    double sum = 0.0;
    while (t < 2.5) {
      t += dt;
      sum = spring_step(&s, t, dt, 1.0);
      assert_near_relative(sum, kp_frac_gain(0.5, fmin(t, 1.0)), 3e-3);
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_curves),
    cmocka_unit_test(test_memory_and_cap),
    cmocka_unit_test(test_against_direct_sum),
    cmocka_unit_test(test_any_step),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
