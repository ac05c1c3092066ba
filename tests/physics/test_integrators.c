// The integrator service against known solutions: orders, energy, cost, newborn particles, unequal
// steps, sorting between stages, and the gas of Lyes 2015 (spec claims 1, 3, 4, 5; Bayraktar C28).
// Two printed mistakes, Listing 5.7 and Eq. 2.13, are written out here and shown to be wrong. The
// tables it prints stand in docs/methods/integrators.md.
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "data/set.h"
#include "methods/common/integrate.h"

#include "integrators_size.h"
#include "support/claims.h"

#define PI 3.14159265358979323846
#define MOST 512                           // particles of a rig
#define N_KINDS (KP_INTEGRATOR_COUNT + 2)  // those of the service
#define LISTING_5_7 N_KINDS                // position advanced by the mean velocity: not leapfrog
#define PRINTED_KX4 (N_KINDS + 1)          // RK4 with k_x4 = v + dt k_x3
#define N_SCHEMES (N_KINDS + 2)
#define IS_DOUBLE (sizeof(kp_real) == 8)

static const char *const scheme_names[N_SCHEMES] = {
  "Euler", "Euler-Cromer", "leapfrog",      "velocity Verlet", "position Verlet", "RK2",
  "RK4",   "RKF45",        "RK4, doubling", "Listing 5.7",     "RK4, printed kx4"
};
static const double scheme_orders[N_SCHEMES] = { 1, 1, 2, 2, 2, 2, 4, 5, 5, 1, 1 };
static const int scheme_evaluations[N_SCHEMES] = { 1, 1, 1, 1, 1, 2, 4, 6, 11, 1, 4 };

// ---- a set under test
// -----------------------------------------------------------------------------

typedef struct rig rig;

// Accelerations at the positions x; double arrays of three components.
typedef void (*force_fn)(int64_t n, double *const x[3], double *a[3]);

struct rig {
  int scheme;
  force_fn force;
  kp_backend *backend;
  kp_registry *registry;
  kp_set *set;
  kp_integrate service;
  int64_t evaluations;
  bool has_half;         // Listing 5.7
  double half[3][MOST];  // Listing 5.7
  bool shuffles;         // reverse the particles before every evaluation
  kp_buffer order;
};

static void rig_open_on(rig *r, kp_backend_kind backend, int scheme, force_fn force) {
  memset(r, 0, sizeof *r);
  r->scheme = scheme;
  r->force = force;
  assert_ok(kp_backend_create(backend, &r->backend));
  assert_ok(kp_registry_create(r->backend, &r->registry));
  assert_ok(kp_set_create(r->registry, "particles", KP_SET_FREE, 3, &r->set));
  // the schemes of this file use the arrays of explicit Euler
  int kind = scheme < N_KINDS ? scheme : KP_INTEGRATOR_EULER;
  assert_ok(kp_integrate_create(&r->service, r->set, kind));
  kp_buffer_init(&r->order, r->backend);
}

static void rig_open(rig *r, int scheme, force_fn force) {
  rig_open_on(r, KP_BACKEND_CPU, scheme, force);
}

static void rig_close(rig *r) {
  kp_buffer_free(&r->order);
  kp_set_destroy(&r->set);
  kp_registry_destroy(&r->registry);
  kp_backend_destroy(&r->backend);
}

static void evaluate(rig *r);

// Velocity Verlet wants the acceleration at the start; the others need nothing.
static void rig_start(rig *r) {
  if (r->scheme == KP_INTEGRATOR_VELOCITY_VERLET) {
    evaluate(r);
    assert_ok(kp_integrate_know_acceleration(&r->service));
  }
}

static void rig_add(rig *r, kp_vec3 x, kp_vec3 v) {
  assert_ok(kp_set_add(r->set, 1, &x, &v));
}

static kp_pos *rig_x(rig *r, int c, kp_access access) {
  return kp_buffer_host(&r->set->position->buffers[c], access);
}

static kp_real *rig_reals(kp_field *field, int c, kp_access access) {
  return kp_buffer_host(&field->buffers[c], access);
}

static void accelerations(rig *r, double out[3][MOST]) {
  double *x[3];
  double *a[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = rig_x(r, c, KP_ACCESS_READ);
    a[c] = out[c];
  }
  r->force(r->set->space->n, x, a);
}

static void reverse_order(rig *r) {
  int64_t n = r->set->space->n;
  assert_ok(kp_buffer_resize(&r->order, (size_t)n * sizeof(uint32_t)));
  uint32_t *order = kp_buffer_host(&r->order, KP_ACCESS_OVERWRITE);
  for (int64_t i = 0; i < n; ++i) {
    order[i] = (uint32_t)(n - 1 - i);
  }
  assert_ok(kp_space_permute(r->set->space, &r->order));
}

static void evaluate(rig *r) {
  static double a[3][MOST];
  if (r->shuffles) {
    reverse_order(r);
  }
  accelerations(r, a);
  for (int c = 0; c < 3; ++c) {
    kp_real *out = rig_reals(r->service.acceleration, c, KP_ACCESS_OVERWRITE);
    for (int64_t i = 0; i < r->set->space->n; ++i) {
      out[i] = (kp_real)a[c][i];
    }
  }
  ++r->evaluations;
}

// Listing 5.7 as printed: the half-step velocities are right, the position takes their mean.
static void step_listing_5_7(rig *r, double dt) {
  evaluate(r);
  for (int c = 0; c < 3; ++c) {
    kp_pos *x = rig_x(r, c, KP_ACCESS_WRITE);
    kp_real *v = rig_reals(r->set->velocity, c, KP_ACCESS_WRITE);
    const kp_real *a = rig_reals(r->service.acceleration, c, KP_ACCESS_READ);
    for (int64_t i = 0; i < r->set->space->n; ++i) {
      double before = r->has_half ? r->half[c][i] : (double)v[i] - 0.5 * dt * (double)a[i];
      double after = before + dt * (double)a[i];
      v[i] = (kp_real)(0.5 * (before + after));
      x[i] += dt * (double)v[i];
      r->half[c][i] = after;
    }
  }
  r->has_half = true;
}

// Eq. 2.13 as printed: k_x4 = v + dt k_x3.
static void step_printed_kx4(rig *r, double dt) {
  static double x0[3][MOST], v0[3][MOST], kx[4][3][MOST], kv[4][3][MOST];
  const double reach[4] = { 0.0, 0.5, 0.5, 1.0 };
  int64_t n = r->set->space->n;
  for (int s = 0; s < 4; ++s) {
    for (int c = 0; c < 3; ++c) {
      kp_pos *x = rig_x(r, c, KP_ACCESS_WRITE);
      kp_real *v = rig_reals(r->set->velocity, c, KP_ACCESS_WRITE);
      for (int64_t i = 0; i < n; ++i) {
        x0[c][i] = s == 0 ? x[i] : x0[c][i];
        v0[c][i] = s == 0 ? (double)v[i] : v0[c][i];
        double rate = s == 0 ? 0.0 : s == 3 ? kx[2][c][i] : kv[s - 1][c][i];
        kx[s][c][i] = v0[c][i] + reach[s] * dt * rate;
        x[i] = x0[c][i] + (s == 0 ? 0.0 : reach[s] * dt * kx[s - 1][c][i]);
      }
    }
    evaluate(r);
    for (int c = 0; c < 3; ++c) {
      const kp_real *a = rig_reals(r->service.acceleration, c, KP_ACCESS_READ);
      for (int64_t i = 0; i < n; ++i) {
        kv[s][c][i] = (double)a[i];
      }
    }
  }
  for (int c = 0; c < 3; ++c) {
    kp_pos *x = rig_x(r, c, KP_ACCESS_WRITE);
    kp_real *v = rig_reals(r->set->velocity, c, KP_ACCESS_WRITE);
    for (int64_t i = 0; i < n; ++i) {
      double rate_x = kx[0][c][i] + 2.0 * kx[1][c][i] + 2.0 * kx[2][c][i] + kx[3][c][i];
      double rate_v = kv[0][c][i] + 2.0 * kv[1][c][i] + 2.0 * kv[2][c][i] + kv[3][c][i];
      x[i] = x0[c][i] + dt / 6.0 * rate_x;
      v[i] = (kp_real)(v0[c][i] + dt / 6.0 * rate_v);
    }
  }
}

static void step(rig *r, double dt) {
  if (r->scheme == LISTING_5_7) {
    step_listing_5_7(r, dt);
    return;
  }
  if (r->scheme == PRINTED_KX4) {
    step_printed_kx4(r, dt);
    return;
  }
  for (int s = 0; s < kp_integrate_stages(&r->service); ++s) {
    assert_ok(kp_integrate_begin(&r->service, s, dt));
    evaluate(r);
    assert_ok(kp_integrate_end(&r->service, s, dt));
  }
}

// Velocities of the time of the positions, from what each scheme keeps. The velocity field of
// leapfrog and position Verlet is a prediction; the synchronised one needs the acceleration at the
// new place.
static void velocities(rig *r, double dt, double out[3][MOST]) {
  static double a[3][MOST];
  kp_field *half = r->service.half;
  kp_field *last = r->service.last;
  bool is_chord = last != NULL && r->service.dt_last > 0.0;
  bool is_half = half != NULL && r->service.dt_last > 0.0;
  bool is_listing = r->scheme == LISTING_5_7 && r->has_half;
  accelerations(r, a);
  for (int c = 0; c < 3; ++c) {
    const kp_pos *x = rig_x(r, c, KP_ACCESS_READ);
    const kp_real *v = rig_reals(r->set->velocity, c, KP_ACCESS_READ);
    const kp_real *h = is_half ? rig_reals(half, c, KP_ACCESS_READ) : NULL;
    const kp_pos *x1 = is_chord ? kp_buffer_host(&last->buffers[c], KP_ACCESS_READ) : NULL;
    for (int64_t i = 0; i < r->set->space->n; ++i) {
      out[c][i] = (double)v[i];
      if (is_half || is_chord || is_listing) {
        double mid = is_half ? (double)h[i] : is_chord ? (x[i] - x1[i]) / dt : r->half[c][i];
        out[c][i] = mid + 0.5 * dt * a[c][i];
      }
    }
  }
}

static kp_vec3 position_of(rig *r, int64_t i) {
  return kp_vec3_make(rig_x(r, 0, KP_ACCESS_READ)[i], rig_x(r, 1, KP_ACCESS_READ)[i],
                      rig_x(r, 2, KP_ACCESS_READ)[i]);
}

static kp_vec3 velocity_of(rig *r, int64_t i) {
  kp_field *v = r->set->velocity;
  return kp_vec3_make((double)rig_reals(v, 0, KP_ACCESS_READ)[i],
                      (double)rig_reals(v, 1, KP_ACCESS_READ)[i],
                      (double)rig_reals(v, 2, KP_ACCESS_READ)[i]);
}

// ---- problems with known solutions
// ------------------------------------------------------------------

static void oscillator(int64_t n, double *const x[3], double *a[3]) {
  for (int c = 0; c < 3; ++c) {
    for (int64_t i = 0; i < n; ++i) {
      a[c][i] = -x[c][i];
    }
  }
}

// Attraction of a unit mass at the origin, G = 1.
static void kepler(int64_t n, double *const x[3], double *a[3]) {
  for (int64_t i = 0; i < n; ++i) {
    double r2 = x[0][i] * x[0][i] + x[1][i] * x[1][i] + x[2][i] * x[2][i];
    double s = -1.0 / (r2 * sqrt(r2));
    for (int c = 0; c < 3; ++c) {
      a[c][i] = s * x[c][i];
    }
  }
}

static void constant_pull(int64_t n, double *const x[3], double *a[3]) {
  (void)x;
  for (int64_t i = 0; i < n; ++i) {
    a[0][i] = 0.0;
    a[1][i] = -8.0;
    a[2][i] = 0.5;
  }
}

// Orbit of semi-axis 1 and eccentricity e, at the nearest point at t = 0.
static void kepler_exact(double e, double t, kp_vec3 *x, kp_vec3 *v) {
  double m = fmod(t, 2.0 * PI);
  double u = m + e * sin(m);
  for (int k = 0; k < 60; ++k) {
    u -= (u - e * sin(u) - m) / (1.0 - e * cos(u));
  }
  double b = sqrt(1.0 - e * e);
  double rate = 1.0 / (1.0 - e * cos(u));
  *x = kp_vec3_make(cos(u) - e, b * sin(u), 0.0);
  *v = kp_vec3_make(-sin(u) * rate, b * cos(u) * rate, 0.0);
}

typedef struct problem {
  const char *name;
  force_fn force;
  double eccentricity;
  double end;
} problem;

static const problem problems[] = {
  { "oscillator", oscillator, 0.0, 2.0 },
  { "Kepler e = 0.3", kepler, 0.3, 2.0 },
};

static void exact(const problem *p, double t, kp_vec3 *x, kp_vec3 *v) {
  if (p->force == kepler) {
    kepler_exact(p->eccentricity, t, x, v);
  } else {
    *x = kp_vec3_make(cos(t), 0.0, 0.0);
    *v = kp_vec3_make(-sin(t), 0.0, 0.0);
  }
}

typedef struct errors {
  double x, v;
} errors;

// n steps to the end; with `wobble` the steps differ by up to that share.
static errors run_problem(const problem *p, int scheme, int n, double wobble) {
  static rig r;
  kp_vec3 x;
  kp_vec3 v;
  rig_open(&r, scheme, p->force);
  exact(p, 0.0, &x, &v);
  rig_add(&r, x, v);
  rig_start(&r);
  double dt = p->end / n;
  for (int k = 0; k < n; ++k) {
    // pairs of a longer and a shorter step keep the end where it is
    step(&r, k % 2 == 0 ? dt * (1.0 + wobble) : dt * (1.0 - wobble));
  }
  int first = scheme == KP_INTEGRATOR_VELOCITY_VERLET ? 1 : 0;
  assert_int_equal(r.evaluations, (int64_t)n * scheme_evaluations[scheme] + first);
  exact(p, p->end, &x, &v);
  errors e = { kp_vec3_length(kp_vec3_sub(position_of(&r, 0), x)),
               kp_vec3_length(kp_vec3_sub(velocity_of(&r, 0), v)) };
  rig_close(&r);
  return e;
}

// Steps of the coarser run: small enough for the leading term, large enough to stay above rounding.
static int coarse_steps(int scheme) {
  double order = scheme_orders[scheme];
  if (!IS_DOUBLE && order >= 2) {
    return order > 2 ? 8 : 40;
  }
  return order > 2 ? 40 : order > 1 ? 160 : 640;
}

static double order_of(errors coarse, errors fine) {
  return log2(hypot(coarse.x, coarse.v) / hypot(fine.x, fine.v));
}

static void test_orders(void **state) {
  (void)state;
  print_message("| scheme | evaluations per step | order, oscillator | order, Kepler e = 0.3 |\n");
  print_message("|---|---|---|---|\n");
  double worst_of_both = 0.0, first[N_SCHEMES];
  for (int scheme = 0; scheme < N_SCHEMES; ++scheme) {
    double orders[2];
    for (int p = 0; p < 2; ++p) {
      int n = coarse_steps(scheme);
      errors coarse = run_problem(&problems[p], scheme, n, 0.0);
      errors fine = run_problem(&problems[p], scheme, 2 * n, 0.0);
      orders[p] = order_of(coarse, fine);
    }
    print_message("| %s | %d | %.2f | %.2f |\n", scheme_names[scheme], scheme_evaluations[scheme],
                  orders[0], orders[1]);
    bool has_partner = scheme == KP_INTEGRATOR_RKF45 || scheme == KP_INTEGRATOR_RK4_DOUBLING;
    double slack = has_partner ? 0.3 : 0.1;
    for (int p = 0; p < 2 && (IS_DOUBLE || scheme_orders[scheme] < 3); ++p) {
      assert_near(orders[p], scheme_orders[scheme], slack);
    }
    bool claimed = !has_partner && scheme < KP_INTEGRATOR_COUNT;
    first[scheme] = orders[0];
    for (int p = 0; p < 2 && claimed; ++p) {
      worst_of_both = kp_test_most(worst_of_both, fabs(orders[p] - scheme_orders[scheme]));
    }
  }
  kp_claim claim = { .id = "lyes-1",
                     .text = "leapfrog is of second order, Euler and Euler-Cromer of first, RK2 of "
                             "second, RK4 of fourth",
                     .size = "oscillator, in double" };
  kp_claim printed = { .id = "lyes-1-printed",
                       .text =
                           "leapfrog of Listing 5.7 and RK4 of Eq. 2.13 as printed are of first "
                           "order",
                       .size = "oscillator, in double" };
  kp_claim both = { .id = "bayraktar-C28",
                    .text = "orders: Euler 1, velocity and position Verlet 2, RK4 4",
                    .size = "oscillator and Kepler orbit of e = 0.3, in double" };
  if (IS_DOUBLE) {
    kp_claim_all(
        &claim,
        { "order of leapfrog, off from 2", fabs(first[KP_INTEGRATOR_LEAPFROG] - 2.0), KP_AT_MOST,
          0.1 },
        { "order of Euler, off from 1", fabs(first[KP_INTEGRATOR_EULER] - 1.0), KP_AT_MOST, 0.1 },
        { "order of Euler-Cromer, off from 1", fabs(first[KP_INTEGRATOR_SYMPLECTIC] - 1.0),
          KP_AT_MOST, 0.1 },
        { "order of RK2, off from 2", fabs(first[KP_INTEGRATOR_RK2] - 2.0), KP_AT_MOST, 0.1 },
        { "order of RK4, off from 4", fabs(first[KP_INTEGRATOR_RK4] - 4.0), KP_AT_MOST, 0.1 });
    kp_claim_all(&printed, { "order of Listing 5.7", first[LISTING_5_7], KP_AT_MOST, 1.1 },
                 { "order of RK4 with the printed k_x4", first[PRINTED_KX4], KP_AT_MOST, 1.1 });
    kp_claim_all(
        &both, { "order's largest difference", worst_of_both, KP_AT_MOST, 0.1 },
        { "evaluations of RK4 per step", scheme_evaluations[KP_INTEGRATOR_RK4], KP_AT_LEAST, 4 },
        { "evaluations of velocity Verlet per step",
          scheme_evaluations[KP_INTEGRATOR_VELOCITY_VERLET], KP_AT_MOST, 1 });
  }
}

// Steps that differ by a factor of two leave the order as it is, of velocities too.
static void test_unequal_steps(void **state) {
  (void)state;
  print_message("| scheme | order, steps of 4/3 and 2/3 dt | of the velocity |\n|---|---|---|\n");
  double least = HUGE_VAL;
  for (int scheme = 0; scheme < N_KINDS; ++scheme) {
    int n = coarse_steps(scheme);
    errors coarse = run_problem(&problems[1], scheme, n, 1.0 / 3.0);
    errors fine = run_problem(&problems[1], scheme, 2 * n, 1.0 / 3.0);
    double order = order_of(coarse, fine);
    double order_v = log2(coarse.v / fine.v);
    print_message("| %s | %.2f | %.2f |\n", scheme_names[scheme], order, order_v);
    if (IS_DOUBLE || scheme_orders[scheme] < 3) {
      assert_true(order > scheme_orders[scheme] - 0.2);
      least = kp_test_least(least, order - scheme_orders[scheme]);
    }
    if (scheme_orders[scheme] < 3) {
      assert_true(order_v > scheme_orders[scheme] - 0.2);
    }
  }
  kp_claim claim = { .id = "lyes-L20-steps",
                     .text = "every scheme keeps its order with unequal steps, whatever the force",
                     .size = "Kepler orbit of e = 0.3, steps of 4/3 and 2/3" };
  kp_claim_all(&claim, { "order less that of the scheme, least", least, KP_AT_LEAST, -0.2 });
}

// ---- energy of the oscillator
// -----------------------------------------------------------------------

typedef struct energy_range {
  double low, high, end;  // E/E0
} energy_range;

static energy_range oscillator_energy(int scheme, double dt, double periods) {
  static rig r;
  static double v[3][MOST];
  rig_open(&r, scheme, oscillator);
  rig_add(&r, kp_vec3_make(1, 0, 0), kp_vec3_make(0, 0, 0));
  rig_start(&r);
  energy_range e = { 1.0, 1.0, 1.0 };
  int64_t n = llround(periods * 2.0 * PI / dt);
  for (int64_t k = 0; k < n; ++k) {
    step(&r, dt);
    velocities(&r, dt, v);
    kp_vec3 x = position_of(&r, 0);
    e.end = kp_vec3_dot(x, x) + v[0][0] * v[0][0];
    e.low = kp_test_least(e.low, e.end);
    e.high = kp_test_most(e.high, e.end);
  }
  rig_close(&r);
  return e;
}

// The table of the spec, M5: E/E0 over 100 periods. A pair (low, high) or, with low = 0, the end.
typedef struct energy_row {
  int scheme;
  double wanted[3][2];
  double slack;  // relative, of E/E0 at the end; of E/E0 - 1 for a range
} energy_row;

static const energy_row energy_rows[] = {
  { KP_INTEGRATOR_EULER, { { 0, 1.4e27 }, { 0, 4.2e13 }, { 0, 6.6e6 } }, 0.05 },
  { KP_INTEGRATOR_SYMPLECTIC, { { .952, 1.053 }, { .976, 1.026 }, { .988, 1.013 } }, 0.05 },
  { KP_INTEGRATOR_LEAPFROG, { { .9975, 1 }, { .99938, 1 }, { .99984, 1 } }, 0.05 },
  { KP_INTEGRATOR_VELOCITY_VERLET, { { .9975, 1 }, { .99938, 1 }, { .99984, 1 } }, 0.05 },
  { KP_INTEGRATOR_POSITION_VERLET, { { .9975, 1 }, { .99938, 1 }, { .99984, 1 } }, 0.05 },
  { KP_INTEGRATOR_RK2, { { 0, 1.170 }, { 0, 1.0198 }, { 0, 1.00246 } }, 0.001 },
  { KP_INTEGRATOR_RK4, { { 0, .999913 }, { 0, .999997 }, { 0, 1.0 } }, 1e-5 },
  { LISTING_5_7, { { 0, 3.9e13 }, { 0, 6.5e6 }, { 0, 2.6e3 } }, 0.05 },
  { PRINTED_KX4, { { 0, 5.6e4 }, { 0, 2.1e2 }, { 0, 14 } }, 0.05 },
};

static void check_energy(const energy_row *row, int column, energy_range e) {
  double low = row->wanted[column][0];
  double high = row->wanted[column][1];
  if (low == 0.0) {
    assert_near_relative(e.end, high, row->slack);
    return;
  }
  // rounding of the last printed digit, and of the state in float
  double digit = high > 1.0 ? 1e-3 : 1e-5;
  assert_near(e.low, low, row->slack * (1.0 - low) + digit);
  assert_near(e.high, high, row->slack * (high - 1.0) + digit + KP_TOL(2e-5, 0.0));
}

static void test_energy_of_the_oscillator(void **state) {
  (void)state;
  const double dts[3] = { 0.1, 0.05, 0.025 };
  print_message("| scheme | dt = 0.1 | dt = 0.05 | dt = 0.025 |\n|---|---|---|---|\n");
  for (size_t k = 0; k < sizeof energy_rows / sizeof energy_rows[0]; ++k) {
    const energy_row *row = &energy_rows[k];
    print_message("| %s |", scheme_names[row->scheme]);
    for (int d = 0; d < 3; ++d) {
      energy_range e = oscillator_energy(row->scheme, dts[d], 100.0);
      if (row->wanted[d][0] == 0.0) {
        print_message(" %.7g at end |", e.end);
      } else {
        print_message(" %.5f..%.5f |", e.low, e.high);
      }
      check_energy(row, d, e);
    }
    print_message("\n");
  }
}

// Bayraktar C28: over 1000 periods velocity Verlet stays where it was, Euler does not.
static void test_thousand_periods(void **state) {
  (void)state;
  energy_range verlet = oscillator_energy(KP_INTEGRATOR_VELOCITY_VERLET, 0.1, 1000.0);
  energy_range euler = oscillator_energy(KP_INTEGRATOR_EULER, 0.01, 1000.0);
  print_message("1000 periods: velocity Verlet dt 0.1: E/E0 %.5f..%.5f; Euler dt 0.01: %.3g\n",
                verlet.low, verlet.high, euler.end);
  assert_near(verlet.low, 0.9975, 2e-4);
  assert_near(verlet.high, 1.0, 2e-4);
  assert_true(euler.end > 1e20);
  kp_claim claim = { .id = "bayraktar-C28-energy",
                     .text = "velocity Verlet keeps the energy where explicit Euler lets it grow",
                     .size = "oscillator, 1000 periods, steps of 0.1 and (Euler) 0.01" };
  kp_claim_all(&claim,
               { "energy of velocity Verlet off its start, at most",
                 fmax(verlet.high - 1.0, 1.0 - verlet.low), KP_AT_MOST, 0.01 },
               { "energy of Euler over its start", euler.end, KP_AT_LEAST, 1e20 });
}

// Claim 5 on a smooth problem: what a quarter of the step does to the largest energy error.
static void test_quarter_step_of_the_oscillator(void **state) {
  (void)state;
  const struct {
    int scheme;
    double low, high;
  } rows[] = { { KP_INTEGRATOR_SYMPLECTIC, 1.0 / 5.0, 1.0 / 3.5 },
               { KP_INTEGRATOR_LEAPFROG, 1.0 / 18.0, 1.0 / 14.0 },
               { KP_INTEGRATOR_RK2, 1.0 / 80.0, 1.0 / 60.0 },
               { KP_INTEGRATOR_RK4, 0.0, 1.0 / 256.0 } };
  print_message("| scheme | error at dt = 0.1 | at 0.025 | ratio |\n|---|---|---|---|\n");
  for (size_t k = 0; k < sizeof rows / sizeof rows[0]; ++k) {
    energy_range a = oscillator_energy(rows[k].scheme, 0.1, 100.0);
    energy_range b = oscillator_energy(rows[k].scheme, 0.025, 100.0);
    double coarse = fmax(a.high - 1.0, 1.0 - a.low);
    double fine = fmax(b.high - 1.0, 1.0 - b.low);
    print_message("| %s | %.3g | %.3g | 1/%.1f |\n", scheme_names[rows[k].scheme], coarse, fine,
                  coarse / fine);
    if (IS_DOUBLE || rows[k].scheme != KP_INTEGRATOR_RK4) {
      assert_between(fine / coarse, rows[k].low, rows[k].high);
    }
  }
}

// ---- the gas of soft spheres
// --------------------------------------------------------------------------

// Compress-only spheres of diameter 1, mass 1 and stiffness 1 between six walls of stiffness 2,
// with a little gravity; nothing damps. Forces by a cell list whose cells are at least a diameter
// wide.
#define GAS_N 400
#define GAS_EDGE 8.73580464736299  // of the box: 0.6 spheres per unit of volume
#define GAS_WALL 2.0
#define GAS_GRAVITY 0.002
#define GAS_SPEED 0.1
#define GAS_CELLS 8

static int gas_cell(double x) {
  double cell = floor(x / GAS_EDGE * GAS_CELLS);
  return (int)fmin(fmax(cell, 0.0), GAS_CELLS - 1.0);
}

typedef struct gas_list {
  int head[GAS_CELLS][GAS_CELLS][GAS_CELLS];
  int next[GAS_N];
} gas_list;

static void gas_fill(gas_list *list, double *const x[3]) {
  memset(list->head, -1, sizeof list->head);
  for (int i = GAS_N - 1; i >= 0; --i) {
    int *head = &list->head[gas_cell(x[2][i])][gas_cell(x[1][i])][gas_cell(x[0][i])];
    list->next[i] = *head;
    *head = i;
  }
}

// Force of j on i when they touch; returns the energy of the spring.
static double gas_pair(double *const x[3], int i, int j, double *a[3]) {
  double d[3] = { x[0][i] - x[0][j], x[1][i] - x[1][j], x[2][i] - x[2][j] };
  double r2 = d[0] * d[0] + d[1] * d[1] + d[2] * d[2];
  if (r2 >= 1.0 || r2 == 0.0) {
    return 0.0;
  }
  double r = sqrt(r2);
  for (int c = 0; c < 3; ++c) {
    double f = (1.0 - r) * d[c] / r;
    a[c][i] += f;
    a[c][j] -= f;
  }
  return 0.5 * (1.0 - r) * (1.0 - r);
}

static double gas_walls(double *const x[3], int i, double *a[3]) {
  double energy = GAS_GRAVITY * x[1][i];
  a[1][i] -= GAS_GRAVITY;
  for (int c = 0; c < 3; ++c) {
    double low = fmax(0.5 - x[c][i], 0.0);
    double high = fmax(x[c][i] - (GAS_EDGE - 0.5), 0.0);
    a[c][i] += GAS_WALL * (low - high);
    energy += 0.5 * GAS_WALL * (low * low + high * high);
  }
  return energy;
}

// Accelerations, and the potential energy as the result.
static double gas_evaluate(double *const x[3], double *a[3]) {
  static gas_list list;
  gas_fill(&list, x);
  double energy = 0.0;
  for (int i = 0; i < GAS_N; ++i) {
    a[0][i] = a[1][i] = a[2][i] = 0.0;
  }
  for (int i = 0; i < GAS_N; ++i) {
    energy += gas_walls(x, i, a);
    int at[3] = { gas_cell(x[0][i]), gas_cell(x[1][i]), gas_cell(x[2][i]) };
    // each pair once: of the 27 cells the later half, and in the own cell the later spheres
    for (int k = 13; k < 27; ++k) {
      int cx = at[0] + k % 3 - 1;
      int cy = at[1] + k / 3 % 3 - 1;
      int cz = at[2] + k / 9 - 1;
      bool is_inside =
          cx >= 0 && cy >= 0 && cz >= 0 && cx < GAS_CELLS && cy < GAS_CELLS && cz < GAS_CELLS;
      for (int j = is_inside ? list.head[cz][cy][cx] : -1; j >= 0; j = list.next[j]) {
        energy += k > 13 || j > i ? gas_pair(x, i, j, a) : 0.0;
      }
    }
  }
  return energy;
}

static double gas_potential;  // of the last evaluation

static void gas(int64_t n, double *const x[3], double *a[3]) {
  (void)n;
  gas_potential = gas_evaluate(x, a);
}

static double gas_energy(rig *r, double dt) {
  static double v[3][MOST];
  velocities(r, dt, v);
  double energy = gas_potential;
  for (int c = 0; c < 3; ++c) {
    for (int i = 0; i < GAS_N; ++i) {
      energy += 0.5 * v[c][i] * v[c][i];
    }
  }
  return energy;
}

// A cubic lattice on which nothing touches yet, with random velocities: the same for every scheme.
static void gas_add(rig *r) {
  kp_test_random random = kp_test_random_begin(7);
  double spacing = GAS_EDGE / 8.0;
  for (int i = 0; i < GAS_N; ++i) {
    kp_vec3 site = kp_vec3_make(i % 8 + 0.5, i / 64 + 0.5, i / 8 % 8 + 0.5);
    kp_vec3 x = kp_vec3_scale(site, spacing);
    rig_add(r, x, kp_test_vec3(&random, -GAS_SPEED, GAS_SPEED));
  }
}

typedef struct gas_run {
  double low, high;  // E/E0 after the first hundredth
  double end;
  double worst;       // largest |E/E0 - 1| after the first hundredth
  double jump;        // largest |E_n / E_{n-1} - 1|
  double tenths[10];  // E/E0 at each tenth of the time
  int64_t blown;      // step at which E/E0 passed the limit, 0: never
  double farthest;    // a centre was beyond a wall by that much
} gas_run;

static double farthest_out(rig *r) {
  double farthest = 0.0;
  for (int c = 0; c < 3; ++c) {
    const kp_pos *x = rig_x(r, c, KP_ACCESS_READ);
    for (int i = 0; i < GAS_N; ++i) {
      farthest = kp_test_most(farthest, fmax(-x[i], x[i] - GAS_EDGE));
    }
  }
  return farthest;
}

static gas_run run_gas(int scheme, double dt, double limit) {
  static rig r;
  gas_run out = { .low = 1.0, .high = 1.0 };
  rig_open(&r, scheme, gas);
  gas_add(&r);
  rig_start(&r);
  double first = gas_energy(&r, dt);
  double before = first;
  int64_t n = llround(integrators_gas_time / dt);
  for (int64_t k = 1; k <= n && out.blown == 0; ++k) {
    step(&r, dt);
    double now = gas_energy(&r, dt);
    double ratio = now / first;
    if ((double)k * dt <= 5.0) {  // a hundredth of the time the claim speaks of
      out.low = out.high = ratio;
    }
    out.low = kp_test_least(out.low, ratio);
    out.high = kp_test_most(out.high, ratio);
    out.worst = fmax(out.high - 1.0, 1.0 - out.low);
    out.jump = kp_test_most(out.jump, fabs(now / before - 1.0));
    out.farthest = kp_test_most(out.farthest, farthest_out(&r));
    out.blown = ratio < limit ? 0 : k;
    out.end = ratio;
    if (k % (n / 10) == 0) {
      out.tenths[k / (n / 10) - 1] = ratio;
    }
    before = now;
  }
  rig_close(&r);
  return out;
}

#define N_GAS 8
static const int gas_schemes[N_GAS] = { KP_INTEGRATOR_EULER,
                                        KP_INTEGRATOR_SYMPLECTIC,
                                        KP_INTEGRATOR_LEAPFROG,
                                        KP_INTEGRATOR_VELOCITY_VERLET,
                                        KP_INTEGRATOR_POSITION_VERLET,
                                        KP_INTEGRATOR_RK2,
                                        KP_INTEGRATOR_RK4,
                                        LISTING_5_7 };
static const double gas_dts[4] = { 0.2, 0.1, 0.05, 0.025 };

static void print_gas(const gas_run *run) {
  if (run->blown != 0) {
    print_message(" > 1e8 at step %lld |", (long long)run->blown);
  } else if (run->worst > 2.0) {
    print_message(" %.3g at end |", run->end);
  } else {
    print_message(" %.5f..%.5f, end %.6f |", run->low, run->high, run->end);
  }
}

static void check_gas_growth(gas_run runs[4][N_SCHEMES]) {
  // in a fifth of the time small steps have not come as far
  bool is_long = integrators_gas_time >= 500.0;
  for (int d = 0; d < 4; ++d) {
    assert_true(runs[d][KP_INTEGRATOR_EULER].worst > (is_long ? 9.0 : 1.0));
    assert_true(runs[d][LISTING_5_7].worst > (is_long ? 9.0 : 0.3));
  }
  // RK2 gains energy all the time
  for (int d = 0; d < 2; ++d) {
    const gas_run *run = &runs[d][KP_INTEGRATOR_RK2];
    assert_true(run->tenths[0] > 1.0);
    for (int k = 1; k < 10; ++k) {
      assert_true(run->tenths[k] > run->tenths[k - 1]);
    }
  }
}

static void check_gas_bounds(gas_run runs[4][N_SCHEMES]) {
  for (int scheme = KP_INTEGRATOR_SYMPLECTIC; scheme <= KP_INTEGRATOR_POSITION_VERLET; ++scheme) {
    assert_true(runs[0][scheme].worst < 0.02);
    assert_true(runs[1][scheme].worst < 0.01);
  }
}

// Largest change of E in one step at dt = 0.1: RK4 < RK2 ~ leapfrog < Euler-Cromer < Euler.
static void check_gas_jumps(gas_run runs[N_SCHEMES]) {
  print_message("largest |E_n/E_{n-1} - 1| at dt = 0.1:");
  for (int k = 0; k < N_GAS; ++k) {
    print_message(" %s %.2g;", scheme_names[gas_schemes[k]], runs[gas_schemes[k]].jump);
  }
  print_message("\n");
  double rk2 = runs[KP_INTEGRATOR_RK2].jump;
  double leapfrog = runs[KP_INTEGRATOR_LEAPFROG].jump;
  assert_true(runs[KP_INTEGRATOR_RK4].jump < fmin(rk2, leapfrog));
  assert_between(rk2 / leapfrog, 0.2, 5.0);
  assert_true(fmax(rk2, leapfrog) < runs[KP_INTEGRATOR_SYMPLECTIC].jump);
  assert_true(runs[KP_INTEGRATOR_SYMPLECTIC].jump < runs[KP_INTEGRATOR_EULER].jump);
}

// Claim 3; test_lyes_claims has claim 5.
static void test_energy_of_the_gas(void **state) {
  (void)state;
  static gas_run runs[4][N_SCHEMES];
  print_message("| dt |");
  for (int k = 0; k < N_GAS; ++k) {
    print_message(" %s |", scheme_names[gas_schemes[k]]);
  }
  print_message("\n|---|---|---|---|---|---|---|---|---|\n");
  for (int d = 0; d < 4; ++d) {
    print_message("| %g |", gas_dts[d]);
    for (int k = 0; k < N_GAS; ++k) {
      gas_run *run = &runs[d][gas_schemes[k]];
      *run = run_gas(gas_schemes[k], gas_dts[d], 1e8);
      print_gas(run);
    }
    print_message("\n");
  }
  check_gas_growth(runs);
  check_gas_bounds(runs);
  check_gas_jumps(runs[1]);
}

// Claim 4: at dt = 0.1 Euler's spheres leave the box, those of the others do not; and the largest
// step with which a run keeps E/E0 between 0.1 and 10 is smallest for Euler.
static void test_largest_stable_step(void **state) {
  (void)state;
  double largest[N_SCHEMES] = { 0 };
  double kept[N_SCHEMES] = { 0 };
  print_message("| scheme | largest stable dt | E/E0 with it | out of the box at dt = 0.1 |\n");
  print_message("|---|---|---|---|\n");
  for (int k = 0; k < N_GAS - 1; ++k) {
    int scheme = gas_schemes[k];
    for (double dt = 1.6; dt > 0.003 && largest[scheme] == 0.0; dt *= 0.5) {
      gas_run run = run_gas(scheme, dt, 10.0);
      largest[scheme] = run.blown == 0 && run.low > 0.1 ? dt : 0.0;
      kept[scheme] = run.end;
    }
    double out = run_gas(scheme, 0.1, 1e8).farthest;
    print_message("| %s | %g | %.3g | %.3g |\n", scheme_names[scheme], largest[scheme],
                  kept[scheme], out);
    if (scheme == KP_INTEGRATOR_EULER) {
      assert_true(out > (integrators_gas_time >= 500.0 ? 10.0 : 0.5));
    } else {
      assert_true(out < 0.5);
      assert_true(largest[scheme] > largest[KP_INTEGRATOR_EULER]);
    }
  }
}

// ---- step bounds of springs (Bayraktar 2010, Eq. 5.28 and 5.30; claim C29)
// ---------------------------------------------------------

#define CHAIN 200
#define CHAIN_MASS 2.0
#define CHAIN_SPRING 1.0

// A free chain along x with springs of length one.
static void chain_force(int64_t n, double *const x[3], double *a[3]) {
  for (int64_t i = 0; i < n; ++i) {
    double left = i > 0 ? x[0][i] - x[0][i - 1] - 1.0 : 0.0;
    double right = i + 1 < n ? x[0][i + 1] - x[0][i] - 1.0 : 0.0;
    a[0][i] = CHAIN_SPRING / CHAIN_MASS * (right - left);
    a[1][i] = a[2][i] = 0.0;
  }
}

// How much faster the fastest point is after so many steps than at the start.
static double chain_growth(int scheme, int64_t n, double dt, int steps) {
  static rig r;
  rig_open(&r, scheme, chain_force);
  for (int64_t i = 0; i < n; ++i) {
    // speeds of one magnitude and changing sign hold every wave of the chain
    double v = 1e-3 * ((i * (i + 2) / 3) % 2 == 0 ? 1.0 : -1.0);
    rig_add(&r, kp_vec3_make((double)i, 0, 0), kp_vec3_make(v, 0, 0));
  }
  rig_start(&r);
  double fastest = 0.0;
  for (int k = 0; k < steps && fastest < 1e3; ++k) {
    step(&r, dt);
    fastest = 0.0;
    const kp_real *v = rig_reals(r.set->velocity, 0, KP_ACCESS_READ);
    for (int64_t i = 0; i < n; ++i) {
      fastest = kp_test_most(fastest, fabs((double)v[i]));
    }
  }
  rig_close(&r);
  return fastest / 1e-3;
}

// dt <= 2 / sqrt(max_i 2 sum_j k_ij / m_i) is tight for a chain; 2 m / K as printed has the wrong
// unit, and with the stiffest spring alone in place of the sum the chain explodes.
static void test_step_bounds_of_springs(void **state) {
  (void)state;
  static const int schemes[] = { KP_INTEGRATOR_SYMPLECTIC, KP_INTEGRATOR_LEAPFROG,
                                 KP_INTEGRATOR_VELOCITY_VERLET, KP_INTEGRATOR_POSITION_VERLET };
  double bound = 2.0 / sqrt(2.0 * 2.0 * CHAIN_SPRING / CHAIN_MASS);
  double printed = 2.0 * CHAIN_MASS / CHAIN_SPRING;
  double stiffest = 2.0 * sqrt(CHAIN_MASS / CHAIN_SPRING);
  double worst = 0.0;
  double least = HUGE_VAL;
  print_message(
      "| scheme | 0.9 x bound | 1.1 x bound | max k alone | printed |\n|---|---|---|---|---|\n");
  for (size_t k = 0; k < sizeof schemes / sizeof schemes[0]; ++k) {
    double stable = chain_growth(schemes[k], CHAIN, 0.9 * bound, 4000);
    double unstable = chain_growth(schemes[k], CHAIN, 1.1 * bound, 4000);
    double alone = chain_growth(schemes[k], CHAIN, stiffest, 4000);
    double literal = chain_growth(schemes[k], CHAIN, printed, 4000);
    print_message("| %s | %.3g | %.3g | %.3g | %.3g |\n", scheme_names[schemes[k]], stable,
                  unstable, alone, literal);
    worst = kp_test_most(worst, stable);
    least = kp_test_least(least, fmin(unstable, fmin(alone, literal)));
  }
  // two points and one spring: the printed 4 s against sqrt(2) 2 s of the pair
  double pair_right = chain_growth(KP_INTEGRATOR_LEAPFROG, 2, 0.9 * bound * sqrt(2.0), 4000);
  double pair_printed = chain_growth(KP_INTEGRATOR_LEAPFROG, 2, printed, 4000);
  print_message("  two points: %.3g at 0.9 of the bound, %.3g at the printed step\n", pair_right,
                pair_printed);
  assert_true(worst < 20.0);
  assert_true(least > 1e5);
  assert_true(pair_right < 20.0 && pair_printed > 1e5);
  kp_claim claim = { .id = "bayraktar-C29-chain",
                     .text = "a chain is stable at 0.9 of the corrected bound, not at 1.1 of it",
                     .size = "free chain of 200 points, m = 2, K = 1, four schemes, 4000 steps" };
  kp_claim_all(&claim, { "growth of the fastest speed at 0.9", worst, KP_AT_MOST, 20 },
               { "growth at 1.1, with max k alone, as printed", least, KP_AT_LEAST, 1e5 },
               { "growth of two points at 0.9", pair_right, KP_AT_MOST, 20 },
               { "growth of two points at the printed step", pair_printed, KP_AT_LEAST, 1e5 });
}

// ---- what the service promises
// ---------------------------------------------------------------------

// Started with the same half-step velocity, leapfrog and Euler-Cromer go through the same
// positions.
static void test_leapfrog_is_euler_cromer(void **state) {
  (void)state;
  static rig leapfrog;
  static rig cromer;
  double dt = 0.013;
  kp_vec3 x = kp_vec3_make(1.0, 0.2, -0.3);
  kp_vec3 v = kp_vec3_make(0.1, 0.9, 0.3);
  rig_open(&leapfrog, KP_INTEGRATOR_LEAPFROG, kepler);
  rig_open(&cromer, KP_INTEGRATOR_SYMPLECTIC, kepler);
  rig_add(&leapfrog, x, v);
  rig_add(&cromer, x, v);
  const double half[3] = { v.x, v.y, v.z };
  for (int c = 0; c < 3; ++c) {
    rig_reals(leapfrog.service.half, c, KP_ACCESS_WRITE)[0] = (kp_real)half[c];
  }
  *(uint8_t *)kp_buffer_host(&leapfrog.service.fresh->buffers[0], KP_ACCESS_WRITE) = 0;
  leapfrog.service.dt_last = dt;
  for (int k = 0; k < 5000; ++k) {
    step(&leapfrog, dt);
    step(&cromer, dt);
    kp_vec3 a = position_of(&leapfrog, 0);
    kp_vec3 b = position_of(&cromer, 0);
    assert_memory_equal(&a, &b, sizeof a);
  }
  rig_close(&leapfrog);
  rig_close(&cromer);
}

static double newborn_dt(int k, bool is_even) {
  return is_even ? 0.02 : 0.02 + 0.005 * (k % 3);
}

// A particle added in mid-run moves like one that starts in a set of its own, bit by bit.
static void check_newborn(int scheme, bool is_even) {
  static rig crowd;
  static rig alone;
  kp_vec3 x = kp_vec3_make(0.7, 0.1, 0.0);
  kp_vec3 v = kp_vec3_make(-0.2, 1.1, 0.3);
  rig_open(&crowd, scheme, kepler);
  rig_open(&alone, scheme, kepler);
  rig_add(&crowd, kp_vec3_make(1, 0, 0), kp_vec3_make(0, 1, 0));
  for (int k = 0; k < 37; ++k) {
    step(&crowd, newborn_dt(k, is_even));
  }
  rig_add(&crowd, x, v);
  rig_add(&alone, x, v);
  for (int k = 37; k < 200; ++k) {
    step(&crowd, newborn_dt(k, is_even));
    step(&alone, newborn_dt(k, is_even));
    kp_vec3 a = position_of(&crowd, 1);
    kp_vec3 b = position_of(&alone, 0);
    assert_memory_equal(&a, &b, sizeof a);
  }
  rig_close(&crowd);
  rig_close(&alone);
}

static void test_newborn(void **state) {
  (void)state;
  for (int scheme = 0; scheme < N_KINDS; ++scheme) {
    check_newborn(scheme, true);
    check_newborn(scheme, false);
  }
}

// Schemes of second order and more follow a parabola exactly, from the first step of a newborn on
// and with unequal steps.
static void test_parabola(void **state) {
  (void)state;
  static rig r;
  for (int scheme = KP_INTEGRATOR_LEAPFROG; scheme < N_KINDS; ++scheme) {
    rig_open(&r, scheme, constant_pull);
    rig_add(&r, kp_vec3_make(0, 0, 0), kp_vec3_make(0, 0, 0));
    step(&r, 0.01);
    rig_add(&r, kp_vec3_make(1, 2, 3), kp_vec3_make(0.5, 4, 0));
    double t = 0.0;
    for (int k = 0; k < 100; ++k) {
      double dt = newborn_dt(k, false);
      step(&r, dt);
      t += dt;
    }
    kp_vec3 x = kp_vec3_make(1 + 0.5 * t, 2 + 4 * t - 4 * t * t, 3 + 0.25 * t * t);
    kp_vec3 v = kp_vec3_make(0.5, 4 - 8 * t, 0.5 * t);
    assert_vec3_near(position_of(&r, 1), x, KP_TOL(1e-4, 1e-12));
    assert_vec3_near(velocity_of(&r, 1), v, KP_TOL(1e-4, 1e-12));
    rig_close(&r);
  }
}

// 20 particles, 30 steps; fills positions by id.
static void run_crowd(int scheme, kp_backend_kind backend, bool shuffles, kp_vec3 out[20]) {
  static rig r;
  kp_test_random random = kp_test_random_begin(3);
  rig_open_on(&r, backend, scheme, kepler);
  r.shuffles = shuffles;
  for (int i = 0; i < 20; ++i) {
    kp_vec3 x = kp_test_vec3(&random, 0.5, 2.0);
    rig_add(&r, x, kp_test_vec3(&random, -0.5, 0.5));
  }
  for (int k = 0; k < 30; ++k) {
    step(&r, newborn_dt(k, false));
  }
  const kp_gid *id = kp_buffer_host(&r.set->id->buffers[0], KP_ACCESS_READ);
  for (int i = 0; i < 20; ++i) {
    out[id[i]] = position_of(&r, i);
  }
  rig_close(&r);
}

// A sort before every evaluation and another memory change no bit.
static void test_sort_and_mirror(void **state) {
  (void)state;
  double changed = 0.0;
  for (int scheme = 0; scheme < N_KINDS; ++scheme) {
    kp_vec3 plain[20];
    kp_vec3 sorted[20];
    kp_vec3 mirror[20];
    run_crowd(scheme, KP_BACKEND_CPU, false, plain);
    run_crowd(scheme, KP_BACKEND_CPU, true, sorted);
    run_crowd(scheme, KP_BACKEND_MIRROR, true, mirror);
    changed += memcmp(plain, sorted, sizeof plain) != 0 ? 1.0 : 0.0;
    changed += memcmp(plain, mirror, sizeof plain) != 0 ? 1.0 : 0.0;
  }
  kp_claim claim = { .id = "lyes-L20",
                     .text =
                         "forces are evaluated anew in every stage, with particles in any order",
                     .size = "20 bodies, sorted before every evaluation, in two memories" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "runs that a sort changed", changed, KP_AT_MOST, 0.0 },
                   { "schemes", N_KINDS, KP_AT_LEAST, 5.0 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// ---- steps chosen by the error
// ---------------------------------------------------------------------

static double orbit_error(rig *r, double e, double t) {
  kp_vec3 x;
  kp_vec3 v;
  kepler_exact(e, t, &x, &v);
  return kp_vec3_length(kp_vec3_sub(position_of(r, 0), x));
}

// One turn of an orbit with steps from the error: one whose error is too large is taken back.
static double adaptive_orbit(int scheme, double e, double tolerance, int64_t *evaluations) {
  static rig r;
  kp_vec3 x;
  kp_vec3 v;
  kp_snapshot *snapshot = NULL;
  kepler_exact(e, 0.0, &x, &v);
  rig_open(&r, scheme, kepler);
  rig_add(&r, x, v);
  double end = 2.0 * PI;
  double t = 0.0;
  double dt = 1e-3;
  while (end - t > 1e-14) {
    dt = kp_test_least(dt, end - t);
    assert_ok(kp_registry_save(r.registry, &snapshot));
    step(&r, dt);
    double error_x;
    double error_v;
    assert_ok(kp_integrate_error(&r.service, dt, &error_x, &error_v));
    double error = fmax(error_x, error_v);
    if (error <= tolerance) {
      t += dt;
    } else {
      assert_ok(kp_registry_rewind(r.registry, snapshot));
    }
    dt = kp_integrate_next(dt, error, tolerance);
  }
  *evaluations = r.evaluations;
  double result = orbit_error(&r, e, 0.0);
  kp_snapshot_free(&snapshot);
  rig_close(&r);
  return result;
}

static double fixed_orbit(double e, int64_t n) {
  static rig r;
  kp_vec3 x;
  kp_vec3 v;
  kepler_exact(e, 0.0, &x, &v);
  rig_open(&r, KP_INTEGRATOR_RK4, kepler);
  rig_add(&r, x, v);
  for (int64_t k = 0; k < n; ++k) {
    step(&r, 2.0 * PI / (double)n);
  }
  double result = orbit_error(&r, e, 0.0);
  rig_close(&r);
  return result;
}

static void test_adaptive_steps(void **state) {
  (void)state;
  if (!IS_DOUBLE) {
    kp_test_skip("in double alone");
  }
  double e = 0.9;
  const int schemes[2] = { KP_INTEGRATOR_RKF45, KP_INTEGRATOR_RK4_DOUBLING };
  double worst = 0.0, least = HUGE_VAL;
  for (int s = 0; s < 2; ++s) {
    int64_t adaptive = 0, rough_evaluations = 0;
    double rough = adaptive_orbit(schemes[s], e, 1e-10, &rough_evaluations);
    double error = adaptive_orbit(schemes[s], e, 1e-12, &adaptive);
    int64_t n = adaptive / 4;
    double same_cost = fixed_orbit(e, n);
    double fixed = same_cost;
    while (fixed > 1e-8) {
      n += n / 4;
      fixed = fixed_orbit(e, n);
    }
    print_message(
        "Kepler e = %g, one turn: adaptive %s %.1e with %lld evaluations (%.1e with %lld); fixed "
        "RK4 %.1e with as many, %.1e with %lld\n",
        e, scheme_names[schemes[s]], error, (long long)adaptive, rough,
        (long long)rough_evaluations, same_cost, fixed, (long long)(4 * n));
    worst = kp_test_most(worst, error);
    least = kp_test_least(least, same_cost);
    assert_true(error < 1e-8);
    assert_true(same_cost > 1e-8);
    // a hundredth of the tolerance: 100^(1/5) = 2.5 times as many steps, and 40 times less error
    assert_true(error < 0.1 * rough);
    assert_near((double)adaptive / (double)rough_evaluations, pow(100.0, 0.2), 0.4);
  }
  kp_claim claim = { .id = "bayraktar-B50",
                     .text = "steps from the error (Fehlberg, doubling) keep a narrow orbit",
                     .size = "Kepler orbit of e = 0.9, one turn, tolerance 1e-12, in double" };
  kp_claim_all(
      &claim, { "error of the place after a turn", worst, KP_AT_MOST, 1e-8 },
      { "of RK4 with fixed steps at the same cost", least, KP_MORE, 1e-8 },
      { "evaluations of Fehlberg's pair", scheme_evaluations[KP_INTEGRATOR_RKF45], KP_AT_MOST, 6 },
      { "evaluations of step doubling", scheme_evaluations[KP_INTEGRATOR_RK4_DOUBLING], KP_AT_MOST,
        11 });
}

// Step doubling is what its name says: two half steps of rk4 and a fifteenth of their difference
// from a whole one, which is the estimate too.
static void test_doubling(void **state) {
  (void)state;
  static rig r;
  const double dt = 0.2;
  kp_vec3 at[3], x, v;
  double x_error = 0.0, v_error;
  kepler_exact(0.3, 0.0, &x, &v);
  for (int way = 0; way < 3; ++way) {
    rig_open(&r, way == 2 ? KP_INTEGRATOR_RK4_DOUBLING : KP_INTEGRATOR_RK4, kepler);
    rig_add(&r, x, v);
    for (int k = 0; k < (way == 0 ? 2 : 1); ++k) {
      step(&r, way == 0 ? 0.5 * dt : dt);
    }
    at[way] = position_of(&r, 0);
    if (way == 2) {
      assert_int_equal(r.evaluations, 11);
      assert_ok(kp_integrate_error(&r.service, dt, &x_error, &v_error));
    }
    rig_close(&r);
  }
  kp_vec3 d = kp_vec3_scale(kp_vec3_sub(at[0], at[1]), 1.0 / 15.0);
  assert_vec3_near(at[2], kp_vec3_add(at[0], d), KP_TOL(1e-7, 1e-15));
  assert_true(kp_vec3_length(d) > KP_TOL(1e-6, 1e-6));
  assert_near(x_error, fmax(fabs(d.x), fmax(fabs(d.y), fabs(d.z))), KP_TOL(1e-7, 1e-15));
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_step_bounds_of_springs),
    cmocka_unit_test(test_orders),
    cmocka_unit_test(test_unequal_steps),
    cmocka_unit_test(test_energy_of_the_oscillator),
    cmocka_unit_test(test_thousand_periods),
    cmocka_unit_test(test_quarter_step_of_the_oscillator),
    cmocka_unit_test(test_leapfrog_is_euler_cromer),
    cmocka_unit_test(test_newborn),
    cmocka_unit_test(test_parabola),
    cmocka_unit_test(test_sort_and_mirror),
    cmocka_unit_test(test_adaptive_steps),
    cmocka_unit_test(test_doubling),
    cmocka_unit_test(test_energy_of_the_gas),
    cmocka_unit_test(test_largest_stable_step),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
