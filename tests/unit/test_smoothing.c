// Smoothing kernels: norms, gradients, support, the viscosity Laplacian, lanes against the scalar
// reference, and the lattice densities of Lyes 2015, Table 6.2.
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "math/smoothing.h"

#include "support/claims.h"

#define N_SIMPSON 4000  // intervals of the quadrature
#define SUPPORT 0.37    // no special number

typedef double (*radial_fn)(double r, const void *user);

// Integral of a radial function over the disc or ball of radius `to`, by Simpson's rule.
static double integrate(radial_fn fn, const void *user, double to, int dimension) {
  double step = to / N_SIMPSON;
  double sum = 0.0;
  for (int k = 0; k <= N_SIMPSON; ++k) {
    double r = k * step;
    double weight = k == 0 || k == N_SIMPSON ? 1.0 : k % 2 == 1 ? 4.0 : 2.0;
    double shell = dimension == 2 ? 2.0 * KP_SMOOTH_PI * r : 4.0 * KP_SMOOTH_PI * r * r;
    // a kernel that is infinite at zero is not so after the shell's factor
    sum += shell > 0.0 ? weight * shell * fn(r, user) : 0.0;
  }
  return sum * step / 3.0;
}

typedef struct subject {
  kp_smooth_kind kind;
  int dimension;
  kp_smooth constants;
} subject;

static subject make_subject(int kind, int dimension) {
  return (subject){ (kp_smooth_kind)kind, dimension,
                    kp_smooth_make((kp_smooth_kind)kind, SUPPORT, dimension) };
}

// `kind` must be a constant where the kernels are called, as in the pair loops.
#define EACH_KIND(call)                                                                            \
  switch (kind) {                                                                                  \
  case KP_SMOOTH_POLY6:                                                                            \
    return call(KP_SMOOTH_POLY6);                                                                  \
  case KP_SMOOTH_SPIKY:                                                                            \
    return call(KP_SMOOTH_SPIKY);                                                                  \
  case KP_SMOOTH_CUBIC:                                                                            \
    return call(KP_SMOOTH_CUBIC);                                                                  \
  default:                                                                                         \
    return call(KP_SMOOTH_WENDLAND);                                                               \
  }

static kp_w wide_w(kp_smooth_kind kind, kp_w r2, const kp_smooth *s) {
#define CALL(k) kp_smooth_w(k, r2, s)
  EACH_KIND(CALL)
#undef CALL
}

static kp_w wide_g(kp_smooth_kind kind, kp_w r2, const kp_smooth *s) {
#define CALL(k) kp_smooth_g(k, r2, s)
  EACH_KIND(CALL)
#undef CALL
}

static kp_w wide_lap(kp_smooth_kind kind, kp_w r2, const kp_smooth *s) {
#define CALL(k) kp_smooth_lap(k, r2, kp_smooth_g(k, r2, s), s)
  EACH_KIND(CALL)
#undef CALL
}

static double value(double r, const void *user) {
  const subject *s = user;
  return kp_smooth_value(s->kind, r, SUPPORT, s->dimension);
}

static double lane_value(double r, const void *user) {
  const subject *s = user;
  return (double)wide_w(s->kind, kp_w_splat((kp_real)(r * r)), &s->constants)[0];
}

static double lane_gradient(double r, const void *user) {
  const subject *s = user;
  return (double)wide_g(s->kind, kp_w_splat((kp_real)(r * r)), &s->constants)[0];
}

static double lane_laplacian(double r, const void *user) {
  const subject *s = user;
  return (double)wide_lap(s->kind, kp_w_splat((kp_real)(r * r)), &s->constants)[0];
}

// r^2 / (2 D) has the Laplacian 1.
static double laplacian_of_parabola(double r, const void *user) {
  const subject *s = user;
  return lane_laplacian(r, user) * r * r / (2.0 * s->dimension);
}

// Largest errors over all kernels and dimensions.
static struct { double integral, gradient, support, laplacian; } worst;

typedef void (*subject_fn)(const subject *s);

static void for_subjects(subject_fn fn) {
  for (int kind = 0; kind < KP_SMOOTH_KIND_COUNT; ++kind) {
    for (int dimension = 2; dimension <= 3; ++dimension) {
      subject s = make_subject(kind, dimension);
      fn(&s);
    }
  }
}

static void check_integral(const subject *s) {
  double error = fabs(integrate(value, s, SUPPORT, s->dimension) - 1.0);
  worst.integral = kp_test_most(worst.integral, error);
  assert_near(error, 0.0, 1e-6);
  assert_near(integrate(lane_value, s, SUPPORT, s->dimension), 1.0, KP_TOL(2e-6, 1e-6));
}

static void test_integral_is_one(void **state) {
  (void)state;
  for_subjects(check_integral);
}

static void check_gradient(const subject *s) {
  double scale = value(0.0, s) / (SUPPORT * SUPPORT);
  double e = 1e-5 * SUPPORT;
  for (int k = 1; k < 200; ++k) {
    double r = SUPPORT * k / 200.0;
    double slope = (value(r + e, s) - value(r - e, s)) / (2.0 * e);
    double g = lane_gradient(r, s);
    assert_true(g <= 0.0);
    worst.gradient = kp_test_most(worst.gradient, fabs(g - slope / r) / scale * (r / SUPPORT));
    assert_near(g / scale, slope / r / scale, KP_TOL(2e-4, 1e-7) * (SUPPORT / r));
  }
}

static void test_gradient_is_the_derivative(void **state) {
  (void)state;
  for_subjects(check_gradient);
}

// Nothing explodes or changes sign where two particles meet.
static void check_near_zero(const subject *s) {
  for (double r = 1e-9 * SUPPORT; r < 1e-2 * SUPPORT; r *= 1.7) {
    double g = lane_gradient(r, s);
    double limit = value(0.0, s) / (SUPPORT * 1e-6 * SUPPORT);
    assert_true(isfinite(g) && g <= 0.0 && -g <= 4.0 * limit);
    double e = 1e-3 * r;
    double exact = (value(r + e, s) - value(r - e, s)) / (2.0 * e * r);
    if (s->kind != KP_SMOOTH_SPIKY && r > 1e-4 * SUPPORT) {
      assert_near_relative(g, exact, 2e-2);
    }
  }
  assert_true(isfinite(lane_gradient(0.0, s)));
  assert_near_relative(lane_value(0.0, s), value(0.0, s), KP_TOL(1e-5, 1e-12));
}

static void test_near_zero(void **state) {
  (void)state;
  for_subjects(check_near_zero);
}

static void check_support(const subject *s) {
  const double outside[] = { 1.0 + 1e-6, 1.001, 1.5, 10.0, 1e6 };
  for (size_t k = 0; k < sizeof outside / sizeof outside[0]; ++k) {
    double r = outside[k] * SUPPORT;
    worst.support =
        kp_test_most(worst.support, kp_test_most(fabs(value(r, s)), fabs(lane_value(r, s))));
    assert_true(value(r, s) == 0.0);
    assert_true(lane_value(r, s) == 0.0);
    assert_true(lane_gradient(r, s) == 0.0);
    assert_true(lane_laplacian(r, s) == 0.0);
  }
  assert_true(value(SUPPORT, s) == 0.0);
  assert_near(lane_value(SUPPORT, s) / value(0.0, s), 0.0, 1e-6);
}

static void test_zero_at_the_support(void **state) {
  (void)state;
  for_subjects(check_support);
}

// Lanes do not see each other: each gives what it gives alone, and that is the reference.
static void check_lanes(const subject *s) {
  for (int k = 0; k < 64; ++k) {
    kp_real r2[KP_LANES];
    for (int lane = 0; lane < KP_LANES; ++lane) {
      double r = SUPPORT * (double)((k * KP_LANES + lane) * 37 % 1201) / 1000.0;
      r2[lane] = (kp_real)(r * r);
    }
    for (int part = 0; part < KP_W_PARTS; ++part) {
      kp_w in;
      memcpy(&in, r2 + part * KP_W_LANES, sizeof in);
      kp_w w = wide_w(s->kind, in, &s->constants);
      kp_w g = wide_g(s->kind, in, &s->constants);
      kp_w lap = wide_lap(s->kind, in, &s->constants);
      for (int lane = 0; lane < KP_W_LANES; ++lane) {
        kp_w alone = kp_w_splat(in[lane]);
        assert_true(w[lane] == wide_w(s->kind, alone, &s->constants)[0]);
        assert_true(g[lane] == wide_g(s->kind, alone, &s->constants)[0]);
        assert_true(lap[lane] == wide_lap(s->kind, alone, &s->constants)[0]);
        double reference = value(sqrt((double)in[lane]), s) / value(0.0, s);
        assert_near((double)w[lane] / value(0.0, s), reference, KP_TOL(1e-6, 1e-14));
      }
    }
  }
}

static void test_lanes_equal_the_reference(void **state) {
  (void)state;
  for_subjects(check_lanes);
}

// The kernel whose Laplacian is used for viscosity (Mueller 2003; in two dimensions reconstructed).
static double viscosity_kernel(double r, const void *user) {
  const subject *s = user;
  double h = SUPPORT;
  double u = r / h;
  if (s->dimension == 3) {
    double bracket = -0.5 * u * u * u + u * u + 0.5 / u - 1.0;
    return 15.0 / (2.0 * KP_SMOOTH_PI * h * h * h) * bracket;
  }
  double bracket = u * u / 4.0 - u * u * u / 9.0 - log(u) / 6.0 - 5.0 / 36.0;
  return 40.0 / (KP_SMOOTH_PI * h * h) * bracket;
}

static void test_viscosity_laplacian(void **state) {
  (void)state;
  for (int dimension = 2; dimension <= 3; ++dimension) {
    subject s = make_subject(KP_SMOOTH_SPIKY, dimension);
    assert_near(integrate(viscosity_kernel, &s, SUPPORT, dimension), 1.0, 1e-4);
    assert_near(viscosity_kernel(SUPPORT, &s), 0.0, 1e-12);
    for (int k = 10; k < 199; ++k) {
      double r = SUPPORT * k / 200.0;
      double e = 1e-4 * SUPPORT;
      double low = viscosity_kernel(r - e, &s);
      double mid = viscosity_kernel(r, &s);
      double high = viscosity_kernel(r + e, &s);
      double slope = (high - low) / (2.0 * e);
      double exact = (high - 2.0 * mid + low) / (e * e) + (dimension - 1) * slope / r;
      double lap = lane_laplacian(r, &s);
      double scale = lane_laplacian(0.0, &s);
      assert_near(lap / scale, exact / scale, 1e-4);
      // poly6 takes the same weight
      subject poly6 = make_subject(KP_SMOOTH_POLY6, dimension);
      assert_true(lap == lane_laplacian(r, &poly6));
    }
  }
}

// Every weight gives the Laplacian of a parabola exactly in the continuum.
static void check_moment(const subject *s) {
  double moment = integrate(laplacian_of_parabola, s, SUPPORT, s->dimension);
  worst.laplacian = kp_test_most(worst.laplacian, fabs(moment - 1.0));
  assert_near(moment, 1.0, KP_TOL(3e-5, 1e-6));
}

static void test_laplacian_moment(void **state) {
  (void)state;
  for_subjects(check_moment);
}

// Density at a site of a cubic lattice that fills z <= top layers above the site.
static double lattice_density(double mass, double spacing, double support, int top) {
  kp_smooth s = kp_smooth_make(KP_SMOOTH_POLY6, support, 3);
  double sum = 0.0;
  for (int z = -3; z <= top; ++z) {
    for (int y = -3; y <= 3; ++y) {
      for (int x = -3; x <= 3; ++x) {
        double r2 = spacing * spacing * (x * x + y * y + z * z);
        sum += mass * (double)kp_smooth_w(KP_SMOOTH_POLY6, kp_w_splat((kp_real)r2), &s)[0];
      }
    }
  }
  return sum;
}

static void test_lattice_densities(void **state) {
  (void)state;
  double mass = 0.00005;
  double support = 0.00641;
  double spacing = cbrt(mass / 1000.0);
  double interior = lattice_density(mass, spacing, support, 3);
  double surface = lattice_density(mass, spacing, support, 0);
  double alone = mass * kp_smooth_value(KP_SMOOTH_POLY6, 0.0, support, 3);
  print_message("lattice density: interior %.2f, surface %.2f, alone %.2f\n", interior, surface,
                alone);
  kp_claim claim = { .id = "lyes-L43",
                     .text = "poly6 densities of a lattice are as worked out for Table 6.2",
                     .size = "cubic lattice of 5e-8 m^3 per particle, h = 6.41 mm" };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "inside, off from 972.9 kg/m^3", fabs(interior - 972.9), KP_AT_MOST, 0.1 },
      { "in the layer at a surface, off from 837.1", fabs(surface - 837.1), KP_AT_MOST, 0.1 },
      { "alone, off from 297.4", fabs(alone - 297.4), KP_AT_MOST, 0.1 },
      { "at a spacing of 3.654 mm, off from 1000",
        fabs(lattice_density(mass, 0.003654, support, 3) - 1000.0), KP_AT_MOST, 1.0 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

static void test_claim(void **state) {
  (void)state;
  kp_claim claim = { .id = "bayraktar-B5",
                     .text = "kernels have the integral 1 in 2D and 3D, and the right derivatives",
                     .size = "poly6, spiky (Desbrun's too), cubic and Wendland, 2D and 3D" };
  kp_claim_all(
      &claim, { "integral's difference from 1", worst.integral, KP_AT_MOST, 1e-6 },
      { "gradient over W(0)/H^2", worst.gradient, KP_AT_MOST, KP_TOL(2e-4, 1e-7) },
      { "value beyond the support", worst.support, KP_AT_MOST, 0 },
      { "Laplacian of r^2/(2 D), from 1", worst.laplacian, KP_AT_MOST, KP_TOL(3e-5, 1e-6) });
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_integral_is_one),
    cmocka_unit_test(test_gradient_is_the_derivative),
    cmocka_unit_test(test_near_zero),
    cmocka_unit_test(test_zero_at_the_support),
    cmocka_unit_test(test_lanes_equal_the_reference),
    cmocka_unit_test(test_viscosity_laplacian),
    cmocka_unit_test(test_laplacian_moment),
    cmocka_unit_test(test_lattice_densities),
    cmocka_unit_test(test_claim),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
