// The predictor-corrector for cloth in water that remembers (Ozgen 2013, section 3.3; Diethelm,
// Ford and Freed 2002): its order against an exact solution, each step against a twin of one
// number, how long steps may be against the roots of its matrix, bits.
#include <math.h>
#include <stdio.h>

#include "base/memory.h"

#include "support/claims.h"
#include "support/cloths.h"

#define SPACING 0.04

static kp_immersion_def pool_of(double order, int window, int64_t steps) {
  kp_immersion_def pool = kp_default_immersion_def();
  snprintf(pool.name, sizeof pool.name, "pool");
  snprintf(pool.of, sizeof pool.of, "sheet");
  pool.drag = pool.memory_drag = 0.0;
  pool.damping = pool.damping_shear = pool.damping_bend = 0.0;
  pool.order = order;
  pool.window = window;
  pool.steps = steps;
  return pool;
}

// ---- order --------------------------------------------------------------------------------------

#define FALL 0.4  // s

// v' = g - c D^(1/2) x from rest: v = g sum_k (-c)^k t^(1 + 3k/2)/Gamma(2 + 3k/2), a function of
// Mittag-Leffler.
static double exact_speed(double g, double c, double t) {
  double sum = 0.0;
  for (int k = 0; k < 60; ++k) {
    double order = 1.0 + 1.5 * k;
    double size = exp(k * log(c) + order * log(t) - lgamma(order + 1.0));
    sum += k % 2 == 0 ? size : -size;
  }
  return g * sum;
}

// How far a sheet that falls in water is from that speed after FALL, in n steps.
static double error_of(int scheme, int window, int n) {
  kp_cloth_def sheet = kp_test_sheet(2, 2, SPACING);
  sheet.scheme = scheme;
  sheet.density = 0.5;
  sheet.stiffness = 1e-4;  // nothing stretches it
  sheet.bend_stiffness = 0.0;
  kp_test_cloth c = kp_test_cloth_make(&sheet, FALL / n);
  kp_immersion_def pool = pool_of(0.5, window, n + 1);
  pool.memory_drag = 4.0;
  c.water = &pool;
  kp_world *world = kp_test_cloth_world(&c);
  assert_ok(kp_world_advance(world, FALL, NULL));
  kp_population_stats s = kp_test_stats(world, "sheet");
  kp_world_destroy(&world);
  double g = 9.81 * (1.0 - 1000.0 / 1100.0);
  return fabs(-s.momentum.y / s.mass - exact_speed(g, 4.0 / 0.5, FALL));
}

static void it_is_of_second_order(void **state) {
  (void)state;
  static const int schemes[2] = { KP_SCHEME_EULER, KP_SCHEME_PECE };
  double orders[2], last[2];
  for (int k = 0; k < 2; ++k) {
    double e[3];
    for (int r = 0; r < 3; ++r) {
      e[r] = error_of(schemes[k], KP_WINDOW_STEPS, 40 << r);
    }
    orders[k] = log2(e[1] / e[2]);
    last[k] = e[2];
    print_message("%s: off by %.2e, %.2e, %.2e m/s at 40, 80, 160 steps; order %.2f\n",
                  kp_schemes[schemes[k]].name, e[0], e[1], e[2], orders[k]);
  }
  kp_claim claim = { .id = "ozgen-O13",
                     .text = "the predictor-corrector is of second order for cloth that remembers",
                     .size = "sheet of 3 x 3 nodes that falls with history drag, 40 to 160 steps" };
  kp_claim_status status =
      kp_claim_all(&claim, { "order between 80 and 160 steps", orders[1], KP_AT_LEAST, 1.8 },
                   { "error at 160 steps over that of Euler", last[1] / last[0], KP_AT_MOST, 0.05 },
                   { "order of Euler's step", orders[0], KP_AT_MOST, 1.2 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
  assert_between(orders[0], 0.8, 1.2);
  // a memory without end is a sum of exponentials, good to 0.2 %
  double full = error_of(KP_SCHEME_PECE, KP_WINDOW_FULL, 80);
  print_message("by a sum of exponentials: off by %.2e m/s\n", full);
  assert_true(full < 2e-3 * exact_speed(0.89, 8.0, FALL));
}

// ---- one spring ---------------------------------------------------------------------------------

// A square of four nodes of one mass, whose left and right sides swing against each other by x.
typedef struct swing {
  double stiffness, damping;  // of x'' = -stiffness x - damping D^q x
  double h, x, v;             // at the start: drawn by x
} swing;

#define MASS 1e-3
#define DRAWN 0.002

static kp_world *swing_world(const kp_immersion_def *pool, double h, swing *out) {
  kp_cloth_def sheet = kp_test_sheet(1, 1, SPACING);
  sheet.scheme = KP_SCHEME_PECE;
  sheet.stiffness = 40.0;
  sheet.shear = 0.0;
  sheet.bend_stiffness = 0.0;
  kp_test_cloth c = kp_test_cloth_make(&sheet, h);
  c.gravity = 0.0;
  c.water = pool;
  kp_world *world = kp_test_cloth_world(&c);
  kp_deform *d = kp_test_deform(world);
  kp_real *mass = kp_buffer_host(&d->mass, KP_ACCESS_WRITE);
  kp_vec3 *x = kp_test_nodes(world);
  for (int i = 0; i < 4; ++i) {
    mass[i] = (kp_real)MASS;
    x[i].x += x[i].x > 0.0 ? DRAWN : -DRAWN;
    kp_test_node(world, i, x[i], kp_vec3_make(0, 0, 0));
  }
  kp_free(x);
  const kp_real *k = kp_buffer_host(&d->springs.stiffness, KP_ACCESS_READ);
  const kp_real *rest = kp_buffer_host(&d->springs.rest, KP_ACCESS_READ);
  *out = (swing){ .stiffness = 2.0 * (double)k[0] / (double)rest[0] / MASS,
                  .damping = 2.0 * pool->damping / MASS,
                  .h = h,
                  .x = DRAWN };
  return world;
}

static double place_of(kp_world *world) {
  kp_vec3 *x = kp_test_nodes(world);
  double most = 0.0;
  for (int i = 0; i < 4; ++i) {
    most = x[i].x > most ? x[i].x : most;
  }
  kp_free(x);
  return most - 0.5 * SPACING;
}

// D^(1/2) at step n of velocities v[0] ... v[n], all of them: the product trapezoid (Eq. 4.7).
static double derivative(const double *v, int n, double h) {
  double sum = v[n];
  for (int i = 0; i < n; ++i) {
    double k = n - i;
    sum += v[i] * (i == 0 ? pow(k - 1, 1.5) - sqrt(k) * (k - 1.5)
                          : pow(k - 1, 1.5) - 2.0 * pow(k, 1.5) + pow(k + 1, 1.5));
  }
  return n > 0 ? sqrt(h) / tgamma(2.5) * sum : 0.0;
}

static void every_step_is_that_of_its_twin(void **state) {
  (void)state;
  enum { STEPS = 60 };
  kp_immersion_def pool = pool_of(0.5, KP_WINDOW_STEPS, STEPS + 1);
  pool.damping = 0.2;
  swing s;
  kp_world *world = swing_world(&pool, 1e-3, &s);
  double v[STEPS + 2] = { 0.0 }, x = s.x, worst = 0.0;
  for (int n = 0; n < STEPS; ++n) {
    double a = -s.stiffness * x - s.damping * derivative(v, n, s.h);
    v[n + 1] = v[n] + s.h * a;
    x += 0.5 * s.h * (v[n] + v[n + 1]);
    double b = -s.stiffness * x - s.damping * derivative(v, n + 1, s.h);
    v[n + 1] = v[n] + 0.5 * s.h * (a + b);
    kp_test_steps(world, 1);
    worst = kp_test_most(worst, fabs(place_of(world) - x));
  }
  print_message(
      "%d steps with h omega = %.2f: %.2g of the draw from the twin, which ends at %.3f\n", STEPS,
      s.h * sqrt(s.stiffness), worst / DRAWN, x / DRAWN);
  kp_claim claim = { .id = "ozgen-O11",
                     .text =
                         "a viscoelastic spring is that of Eq. 3.4, Hooke and c D^(1/2) along it",
                     .size = "four nodes, 60 steps of the predictor-corrector, all of them kept" };
  kp_claim_status status = kp_claim_all(
      &claim,
      { "largest distance from a twin of one number, over the draw", worst / DRAWN, KP_AT_MOST,
        KP_TOL(2e-5, 1e-12) },
      { "share of the draw that damping has taken", 1.0 - fabs(x) / DRAWN, KP_AT_LEAST, 0.1 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
  kp_world_destroy(&world);
}

// Largest root of the matrix that takes (x, v) over a step, with D^1 = v: determinant and trace by
// its two columns.
static double radius_of(const swing *s, double h) {
  double m[2][2];
  for (int c = 0; c < 2; ++c) {
    double x = c == 0, v = c == 1;
    double a = -s->stiffness * x - s->damping * v, p = v + h * a;
    double y = x + 0.5 * h * (v + p);
    m[0][c] = y;
    m[1][c] = v + 0.5 * h * (a - s->stiffness * y - s->damping * p);
  }
  double trace = m[0][0] + m[1][1], det = m[0][0] * m[1][1] - m[0][1] * m[1][0];
  double disc = 0.25 * trace * trace - det;
  return disc >= 0.0 ? 0.5 * fabs(trace) + sqrt(disc) : sqrt(det);
}

static double amplitude_after(const kp_immersion_def *pool, double h, int steps) {
  swing s;
  kp_world *world = swing_world(pool, h, &s);
  double most = 0.0;
  for (int n = 0; n < steps && most < 10.0 * DRAWN; ++n) {
    kp_test_steps(world, 1);
    most = kp_test_most(most, fabs(place_of(world)));
  }
  kp_world_destroy(&world);
  return most / DRAWN;
}

static void steps_may_be_as_long_as_its_roots_say(void **state) {
  (void)state;
  double below = 0.0, above = HUGE_VAL, against_euler = HUGE_VAL;
  for (int k = 0; k < 2; ++k) {
    kp_immersion_def pool = pool_of(1.0, KP_WINDOW_STEPS, 1);
    pool.damping = k == 0 ? 1e-3 : 0.02;
    swing s;
    kp_world *world = swing_world(&pool, 1e-3, &s);
    kp_world_destroy(&world);
    double low = 0.0, high = 4.0 / sqrt(s.stiffness);
    for (int i = 0; i < 60; ++i) {
      double h = 0.5 * (low + high);
      *(radius_of(&s, h) <= 1.0 ? &low : &high) = h;
    }
    double calm = amplitude_after(&pool, 0.97 * low, 400);
    double wild = amplitude_after(&pool, 1.03 * low, 400);
    double euler = s.damping / s.stiffness;  // of Eq. 3.6, which needs damping to be stable at all
    print_message(
        "damping %.3g of the critical: stable to h omega = %.3f (Euler %.3f); %.3g of the "
        "draw at 0.97 of it, %.3g at 1.03\n",
        0.5 * s.damping / sqrt(s.stiffness), low * sqrt(s.stiffness), euler * sqrt(s.stiffness),
        calm, wild);
    below = kp_test_most(below, calm);
    above = kp_test_least(above, wild);
    against_euler = kp_test_least(against_euler, low / euler);
  }
  kp_claim claim = { .id = "ozgen-O13-steps",
                     .text = "its steps may be as long as the roots of its matrix say",
                     .size = "one spring at 0.4 and 7 % of the critical damping, 400 steps" };
  kp_claim_status status = kp_claim_all(
      &claim, { "largest amplitude over the draw, 3 % below the limit", below, KP_AT_MOST, 1.5 },
      { "smallest amplitude over the draw, 3 % above it", above, KP_AT_LEAST, 9.0 },
      { "limit over that of Euler's step", against_euler, KP_AT_LEAST, 2.0 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
}

// ---- bits ---------------------------------------------------------------------------------------

static kp_world *make_bits(const char *backend, int window) {
  kp_cloth_def sheet = kp_test_sheet(10, 8, SPACING);
  sheet.scheme = KP_SCHEME_PECE;
  sheet.stiffness = 20.0;
  kp_test_cloth c = kp_test_cloth_make(&sheet, 1e-3);
  c.backend = backend;
  kp_immersion_def pool = kp_default_immersion_def();
  snprintf(pool.name, sizeof pool.name, "pool");
  snprintf(pool.of, sizeof pool.of, "sheet");
  pool.window = window;
  c.water = &pool;
  kp_pin_def top = kp_test_pin("top", kp_vec3_make(-2, -0.001, -1), kp_vec3_make(2, 0.001, 1));
  c.pins[0] = &top;
  return kp_test_cloth_world(&c);
}

static kp_world *make_steps(const char *backend) {
  return make_bits(backend, KP_WINDOW_STEPS);
}

static kp_world *make_full(const char *backend) {
  return make_bits(backend, KP_WINDOW_FULL);
}

static void bits_are_the_same(void **state) {
  (void)state;
  kp_test_make makes[2] = { make_steps, make_full };
  for (int k = 0; k < 2; ++k) {
    uint64_t hash = kp_test_same_bits(makes[k], 12);
    kp_test_rewind(makes[k], "cpu", 5, 12, hash);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(it_is_of_second_order),
    cmocka_unit_test(every_step_is_that_of_its_twin),
    cmocka_unit_test(steps_may_be_as_long_as_its_roots_say),
    cmocka_unit_test(bits_are_the_same),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
