// A ball of half again the liquid's density in a shaken box (Ozgen 2013, section 4.4.1, Fig. 4.3),
// in the frame of the box: the path of the ball against a sinusoid, against a finer run, and
// against the Basset-Boussinesq-Oseen equation of a sphere in an oscillating liquid. The set-up is
// that of scenes/papers/ozgen/shaken_sphere.lua.
#include <complex.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/claims.h"
#include "support/worlds.h"

#define PI 3.14159265358979323846
#define AMPLITUDE 0.2
#define FREQUENCY 1.0
#define RADIUS 0.12
#define DENSITY 1500.0
#define VISCOSITY 10.0
#define DT 1e-3
#define STEPS 3000
#define SAMPLES 300  // every tenth step

static void shake_curve(double *samples, int n, double interval) {
  double w = 2.0 * PI * FREQUENCY;
  for (int k = 0; k < n; ++k) {
    samples[3 * k] = AMPLITUDE * w * w * sin(w * interval * k);
    samples[3 * k + 1] = samples[3 * k + 2] = 0.0;
  }
}

// Half again as heavy as the liquid it takes the place of: a ball of many spacings, or one particle
// (the text says "the particle's" mass; spec M2, Solid sphere).
typedef enum load { LOAD_BALL, LOAD_BEAD } load;

static void add_ball(kp_world *world) {
  kp_body_def ball = kp_default_body_def();
  snprintf(ball.name, sizeof ball.name, "load");
  ball.shape = kp_test_ball(kp_vec3_make(0.5, 0.5, 0.5), RADIUS);
  ball.density = DENSITY;
  assert_ok(kp_world_add_body(world, &ball));
}

// A liquid of one particle with solute in it, which keeps its volume and weighs more.
static void add_bead(kp_world *world, const kp_liquid_def *water) {
  kp_liquid_def bead = *water;
  double d = water->spacing;
  snprintf(bead.name, sizeof bead.name, "load");
  bead.shape = kp_test_box(kp_vec3_make(0.5, 0.5, 0.5), kp_vec3_make(0.5 + d, 0.5 + d, 0.5 + d));
  bead.concentration = 1.0;
  assert_ok(kp_world_add_liquid(world, &bead));
}

// x of the load after every tenth step, less where it starts.
static void run_load(load what, double spacing, int viscosity_model, double path[SAMPLES]) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1));
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.simulation.dt = DT;
  s.sph.kernel = KP_SPH_WENDLAND;
  s.sph.support = 2.4;
  s.sph.viscosity_model = viscosity_model;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1), spacing);
  water.viscosity = VISCOSITY;
  water.eos = 0;
  water.sound_speed = 20.0;
  water.clamp_negative_pressure = false;
  water.solute_density = what == LOAD_BEAD ? DENSITY - 1000.0 : 0.0;
  static double samples[3 * 400];
  kp_force_def shake = kp_default_force_def();
  snprintf(shake.name, sizeof shake.name, "shake");
  shake_curve(samples, 400, 0.01);
  shake.acceleration =
      (kp_curve){ .components = 3, .n = 400, .start = 0.0, .interval = 0.01, .samples = samples };
  kp_probe_def probe = kp_default_probe_def();
  snprintf(probe.name, sizeof probe.name, "path");
  snprintf(probe.of, sizeof probe.of, "load");
  probe.kind = 2;
  assert_ok(kp_world_add_liquid(world, &water));
  if (what == LOAD_BALL) {
    add_ball(world);
  } else {
    add_bead(world, &water);
  }
  assert_ok(kp_world_add_force(world, &shake));
  assert_ok(kp_world_add_probe(world, &probe));
  assert_ok(kp_world_build(world));
  assert_true(what == LOAD_BALL || kp_world_count(world, "load") == 1);
  double start = what == LOAD_BALL ? 0.5 : 0.5 + 0.5 * spacing;
  for (int k = 0; k < SAMPLES; ++k) {
    kp_probe_value v;
    int64_t n;
    kp_test_steps(world, STEPS / SAMPLES);
    assert_ok(kp_world_probe_now(world, "path", &v, 1, &n));
    path[k] = v.position.x - start;
  }
  kp_world_destroy(&world);
}

// Least squares of a sin wt + b cos wt + c + d t over the last two periods.
typedef struct fit {
  double a, b, c, d;
  double residual;  // rms [m]
} fit;

static fit fit_path(const double path[SAMPLES]) {
  double m[4][5] = { { 0 } };
  double w = 2.0 * PI * FREQUENCY;
  int first = SAMPLES / 3;
  for (int k = first; k < SAMPLES; ++k) {
    double t = DT * STEPS / SAMPLES * (k + 1);
    const double e[4] = { sin(w * t), cos(w * t), 1.0, t };
    for (int i = 0; i < 4; ++i) {
      for (int j = 0; j < 4; ++j) {
        m[i][j] += e[i] * e[j];
      }
      m[i][4] += e[i] * path[k];
    }
  }
  for (int i = 0; i < 4; ++i) {
    for (int r = 0; r < 4; ++r) {
      double f = r == i ? 0.0 : m[r][i] / m[i][i];
      for (int c = 0; c < 5 && r != i; ++c) {
        m[r][c] -= f * m[i][c];
      }
    }
  }
  fit f = { m[0][4] / m[0][0], m[1][4] / m[1][1], m[2][4] / m[2][2], m[3][4] / m[3][3], 0.0 };
  for (int k = first; k < SAMPLES; ++k) {
    double t = DT * STEPS / SAMPLES * (k + 1);
    double off = path[k] - (f.a * sin(w * t) + f.b * cos(w * t) + f.c + f.d * t);
    f.residual += off * off / (SAMPLES - first);
  }
  f.residual = sqrt(f.residual);
  return f;
}

static double distance(const double a[SAMPLES], const double b[SAMPLES]) {
  double sum = 0.0;
  for (int k = 0; k < SAMPLES; ++k) {
    sum += (a[k] - b[k]) * (a[k] - b[k]) / SAMPLES;
  }
  return sqrt(sum);
}

// v/U of a sphere in a liquid that oscillates with the box (M0.8), and from it the amplitude of the
// ball in the box's frame, where the liquid is at rest.
static double theory_amplitude(void) {
  double nu = VISCOSITY / 1000.0;
  double complex iw = 2.0 * PI * FREQUENCY * I;
  double complex k = 4.5 * VISCOSITY / (RADIUS * RADIUS) * (1.0 + RADIUS * csqrt(iw / nu));
  double complex eta = (1500.0 * iw + k) / ((DENSITY + 500.0) * iw + k);
  return AMPLITUDE * cabs(eta - 1.0);
}

static void test_paths(void **state) {
  (void)state;
  static double fine[SAMPLES];
  static double plain[SAMPLES];
  static double fractional[SAMPLES];
  run_load(LOAD_BALL, 1.0 / 23, KP_SPH_VISCOSITY_LAPLACIAN, fine);
  run_load(LOAD_BALL, 1.0 / 19, KP_SPH_VISCOSITY_LAPLACIAN, plain);
  run_load(LOAD_BALL, 1.0 / 19, KP_SPH_VISCOSITY_FRACTIONAL, fractional);
  fit f[3] = { fit_path(fine), fit_path(plain), fit_path(fractional) };
  double amplitude = theory_amplitude();
  for (int k = 0; k < 3; ++k) {
    static const char *const names[] = { "fine", "plain", "fractional" };
    print_message("  %-10s amplitude %.4f m (BBO %.4f), residual %.5f m\n", names[k],
                  hypot(f[k].a, f[k].b), amplitude, f[k].residual);
  }
  double away_plain = distance(plain, fine);
  double away_fractional = distance(fractional, fine);
  print_message("  from the fine path: plain %.5f m, fractional %.5f m\n", away_plain,
                away_fractional);
  for (int k = 0; k < 3; ++k) {
    assert_true(f[k].residual < 0.2 * amplitude);
  }
  static const char size[] =
      "6.8K against 12K particles, ball of radius 0.12 m in a box of 1 m, 3 s, one run each";
  double radius = RADIUS / (2.4 / 19);  // of the kernel
  kp_claim residual = { .id = "ozgen-C12-residual",
                        .text = "shaken ball: nearer to a sinusoid with fractional viscosity",
                        .size = size };
  kp_claim_all(&residual,
               { "residual to a sinusoid of fractional over plain, 7K particles",
                 f[2].residual / f[1].residual, KP_LESS, 1.0 },
               { "radius of the ball over that of the kernel", radius, KP_AT_LEAST, 2.0 });
  kp_claim path = { .id = "ozgen-C12-path",
                    .text = "shaken ball: nearer to the fine path with fractional viscosity",
                    .size = size };
  kp_claim_all(&path,
               { "distance to the fine path of fractional over plain, 7K particles",
                 away_fractional / away_plain, KP_LESS, 1.0 },
               { "radius of the ball over that of the kernel", radius, KP_AT_LEAST, 2.0 });
  kp_claim bbo = { "ozgen-C12-theory",
                   "shaken ball: amplitude against the Basset-Boussinesq-Oseen equation, relative "
                   "difference",
                   "12K particles, ball of radius 0.12 m in a box of 1 m",
                   fabs(hypot(f[0].a, f[0].b) / amplitude - 1.0), 0.25 };
  assert_int_equal(kp_claim_at_most(&bbo), KP_CLAIM_CONFIRMED);
}

// The same with one heavy particle, which is as large as the grain of each run.
static void test_bead(void **state) {
  (void)state;
  static double path[3][SAMPLES];
  run_load(LOAD_BEAD, 1.0 / 23, KP_SPH_VISCOSITY_LAPLACIAN, path[0]);
  run_load(LOAD_BEAD, 1.0 / 19, KP_SPH_VISCOSITY_LAPLACIAN, path[1]);
  run_load(LOAD_BEAD, 1.0 / 19, KP_SPH_VISCOSITY_FRACTIONAL, path[2]);
  fit f[3];
  for (int k = 0; k < 3; ++k) {
    static const char *const names[] = { "fine", "plain", "fractional" };
    f[k] = fit_path(path[k]);
    print_message("  bead, %-10s amplitude %.5f m, residual %.5f m, from the fine path %.5f m\n",
                  names[k], hypot(f[k].a, f[k].b), f[k].residual, distance(path[k], path[0]));
  }
  static const char size[] = "one particle of mass 1.5 among 6.8K against 12K, box of 1 m, 3 s";
  kp_claim residual = { .id = "ozgen-C12-bead-residual",
                        .text =
                            "shaken heavy particle: nearer to a sinusoid with fractional viscosity",
                        .size = size };
  kp_claim_all(&residual, { "residual to a sinusoid of fractional over plain",
                            f[2].residual / f[1].residual, KP_LESS, 1.0 });
  kp_claim away = { .id = "ozgen-C12-bead-path",
                    .text =
                        "shaken heavy particle: nearer to the fine path with fractional viscosity",
                    .size = size };
  kp_claim_all(&away, { "distance to the fine path of fractional over plain",
                        distance(path[2], path[0]) / distance(path[1], path[0]), KP_LESS, 1.0 });
  // it lags behind the liquid of the box, heavier than what it displaces, and swings with it
  double amplitude = hypot(f[0].a, f[0].b);
  assert_true(amplitude > 0.005 && amplitude < AMPLITUDE);
  assert_true(f[0].residual < amplitude);
}

int main(void) {
  const struct CMUnitTest tests[] = { cmocka_unit_test(test_bead), cmocka_unit_test(test_paths) };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
