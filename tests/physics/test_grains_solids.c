// Grains against solids and in heaps: bodies and grains share momentum, nothing falls through a
// collider, a grain on coarse samples of a flat plate rests on the plate, and heaps stand.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "methods/grains/grains.h"

#include "support/claims.h"
#include "support/worlds.h"

#define PI 3.14159265358979323846
#define R 0.01

static kp_grains_def sand(const char *name, kp_vec3 lo, kp_vec3 hi) {
  kp_grains_def def = kp_default_grains_def();
  snprintf(def.name, sizeof def.name, "%s", name);
  def.shape = kp_test_box(lo, hi);
  def.spacing = 2 * R;
  def.contact_time = 2e-3;
  return def;
}

static double read_one(kp_world *world, const char *set, const char *field, int c) {
  double value;
  assert_ok(kp_world_read(world, set, field, c, &value, 1));
  return value;
}

// ---- bodies -------------------------------------------------------------------------------------

// A body flies into grains that float: what it loses they gain.
static void check_body(const char *backend, bool is_ball) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-1, -1, -1), kp_vec3_make(1, 1, 1));
  s.backend = backend;
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  kp_world *world = kp_test_world(&s);
  kp_grains_def a = sand("sand", kp_vec3_make(-0.06, -0.06, -0.06), kp_vec3_make(0.06, 0.06, 0.06));
  a.size_ratio = 0.4;
  kp_body_def body = kp_default_body_def();
  snprintf(body.name, sizeof body.name, "body");
  body.shape =
      is_ball ? kp_test_ball(kp_vec3_make(-0.13, 0.01, 0), 0.05)
              : kp_test_box(kp_vec3_make(-0.18, -0.04, -0.03), kp_vec3_make(-0.08, 0.05, 0.04));
  body.density = 2000.0;
  body.velocity = kp_vec3_make(1.0, 0.1, 0);
  body.spacing = 0.01;
  assert_ok(kp_world_add_grains(world, &a));
  assert_ok(kp_world_add_body(world, &body));
  assert_ok(kp_world_build(world));
  double mass = 1.0 / world->bodies->models.data[0].inverse_mass;
  kp_vec3 p = kp_vec3_scale(kp_bodies_frame(world->bodies, 0).velocity, mass);
  double start = p.x;
  assert_ok(kp_world_advance(world, 0.08, NULL));
  // bodies are a population too
  kp_vec3 q = kp_vec3_make(0, 0, 0);
  for (int k = 0; k < kp_world_n_populations(world); ++k) {
    kp_population_stats stats;
    assert_ok(kp_world_stats(world, k, &stats));
    q = kp_vec3_add(q, stats.momentum);
  }
  double lost = start - mass * kp_bodies_frame(world->bodies, 0).velocity.x;
  print_message("  the body gave %.3f of its momentum away\n", lost / start);
  assert_true(lost > 0.1 * start);
  assert_near(q.x, p.x, KP_TOL(1e-5, 1e-12) * start);
  assert_near(q.y, p.y, KP_TOL(1e-5, 1e-12) * start);
  assert_near(q.z, p.z, KP_TOL(1e-5, 1e-12) * start);
  kp_world_destroy(&world);
}

static void test_body_momentum(void **state) {
  (void)state;
  check_body("cpu", true);
  check_body("cpu", false);
  check_body("mirror", false);
}

// ---- colliders ----------------------------------------------------------------------------------

// A grain on a plate whose samples are twice its radius apart rests at its radius above the plate,
// wherever it lies, and slides down when the plate is steep.
static void test_plate(void **state) {
  (void)state;
  for (int k = 0; k < 5; ++k) {
    kp_test_settings s =
        kp_test_settings_make(3, kp_vec3_make(-0.5, -0.5, -0.5), kp_vec3_make(0.5, 0.5, 0.5));
    kp_world *world = kp_test_world(&s);
    kp_collider_def plate = kp_default_collider_def();
    snprintf(plate.name, sizeof plate.name, "plate");
    plate.shape = kp_test_box(kp_vec3_make(-0.3, -0.1, -0.3), kp_vec3_make(0.3, 0, 0.3));
    plate.spacing = 2 * R;
    double x = 0.0137 * k;
    kp_grains_def ball =
        sand("ball", kp_vec3_make(x - R, 0, x - R), kp_vec3_make(x + R, 2 * R, x + R));
    assert_ok(kp_world_add_collider(world, &plate));
    assert_ok(kp_world_add_grains(world, &ball));
    assert_ok(kp_world_build(world));
    assert_ok(kp_world_advance(world, 0.2, NULL));
    assert_near(read_one(world, "ball", "position", 1), R, 0.01 * R);
    assert_near(read_one(world, "ball", "position", 0), x, 0.01 * R);
    kp_world_destroy(&world);
  }
}

// A plate ends where it ends: a grain a hair beside it falls past freely, one a hair within stands
// on it, however coarse the samples, turned or not, still or on its way.
static double fall_beside(int dimension, double turn_deg, bool is_moving, double beside) {
  kp_test_settings s =
      kp_test_settings_make(dimension, kp_vec3_make(-0.5, -0.5, dimension == 3 ? -0.5 : 0),
                            kp_vec3_make(0.5, 0.5, dimension == 3 ? 0.5 : 0));
  double turn = turn_deg * PI / 180.0;
  s.simulation.gravity = kp_vec3_make(9.81 * sin(turn), -9.81 * cos(turn), 0);
  kp_world *world = kp_test_world(&s);
  kp_collider_def edge = kp_default_collider_def();
  snprintf(edge.name, sizeof edge.name, "edge");
  edge.shape = kp_test_box(kp_vec3_make(-0.2, -0.06, -0.2), kp_vec3_make(0, 0, 0.2));
  edge.spacing = 2 * R;
  const double places[6] = { 0 };
  const double turns[6] = { 0, 0, turn_deg, 0, 0, turn_deg };
  if (is_moving) {
    edge.position = (kp_curve){ .components = 3, .n = 2, .interval = 1.0, .samples = places };
    edge.rotation_deg = (kp_curve){ .components = 3, .n = 2, .interval = 1.0, .samples = turns };
  } else {
    edge.rotation_deg = kp_curve_constant3(kp_vec3_make(0, 0, turn_deg));
  }
  // in the axes of the plate the grain starts above the edge
  kp_vec3 at = kp_vec3_make(beside, 1.01 * R, 0.003);
  double c = cos(turn), n = sin(turn);
  kp_vec3 p = kp_vec3_make(c * at.x - n * at.y, n * at.x + c * at.y, dimension == 3 ? at.z : 0);
  kp_grains_def ball = sand("ball", kp_vec3_make(p.x - R, p.y - R, p.z - R),
                            kp_vec3_make(p.x + R, p.y + R, p.z + R));
  assert_ok(kp_world_add_collider(world, &edge));
  assert_ok(kp_world_add_grains(world, &ball));
  assert_ok(kp_world_build(world));
  assert_ok(kp_world_advance(world, 0.05, NULL));
  double fallen = n * read_one(world, "ball", "position", 0) -
                  c * read_one(world, "ball", "position", 1) + at.y;
  kp_world_destroy(&world);
  return fallen;
}

static void test_edges(void **state) {
  (void)state;
  const double free_fall = 0.5 * 9.81 * 0.05 * 0.05;
  for (int k = 0; k < 6; ++k) {
    int dimension = k % 2 == 0 ? 3 : 2;
    double turn = k < 2 ? 0.0 : 25.0;
    double past = fall_beside(dimension, turn, k >= 4, 1.01 * R);
    double above = fall_beside(dimension, turn, k >= 4, -0.1 * R);
    print_message("  %dD, turned by %g: falls %.4f m beside, %.4f above\n", dimension, turn, past,
                  above);
    assert_near_relative(past, free_fall, 0.01);
    assert_true(above < 0.05 * R);
  }
}

// Grains poured on a plate with a rim of air around it, beside a ball: none is ever inside.
static void test_nothing_falls_through(void **state) {
  (void)state;
  kp_test_settings s =
      kp_test_settings_make(3, kp_vec3_make(-0.2, 0, -0.1), kp_vec3_make(0.2, 0.6, 0.1));
  kp_world *world = kp_test_world(&s);
  kp_collider_def plate = kp_default_collider_def();
  snprintf(plate.name, sizeof plate.name, "plate");
  plate.shape = kp_test_box(kp_vec3_make(-0.12, 0.2, -0.2), kp_vec3_make(0.12, 0.24, 0.2));
  kp_collider_def ball = kp_default_collider_def();
  snprintf(ball.name, sizeof ball.name, "ball");
  ball.shape = kp_test_ball(kp_vec3_make(0, 0.27, 0), 0.05);
  kp_grains_def a = sand("sand", kp_vec3_make(-0.1, 0.34, -0.1), kp_vec3_make(0.1, 0.5, 0.1));
  a.size_ratio = 0.5;
  a.velocity = kp_vec3_make(0, -1, 0);
  a.contact_time = 1e-3;
  assert_ok(kp_world_add_collider(world, &plate));
  assert_ok(kp_world_add_collider(world, &ball));
  assert_ok(kp_world_add_grains(world, &a));
  assert_ok(kp_world_build(world));
  int64_t n = kp_world_count(world, "sand");
  static double x[3][4096];
  static double radius[4096];
  double deepest = 0.0;
  for (int k = 0; k < 20; ++k) {
    assert_ok(kp_world_advance(world, 0.02, NULL));
    assert_ok(kp_world_read(world, "sand", "radius", 0, radius, n));
    for (int c = 0; c < 3; ++c) {
      assert_ok(kp_world_read(world, "sand", "position", c, x[c], n));
    }
    for (int64_t i = 0; i < n; ++i) {
      double into_ball =
          0.05 - sqrt(x[0][i] * x[0][i] + (x[1][i] - 0.27) * (x[1][i] - 0.27) + x[2][i] * x[2][i]);
      double into_plate = fmin(0.12 - fabs(x[0][i]), fmin(0.24 - x[1][i], x[1][i] - 0.2));
      deepest = kp_test_most(deepest, (fmax(into_ball, into_plate) + radius[i]) / radius[i]);
    }
  }
  print_message("  %lld grains, deepest %.3f radii into a solid\n", (long long)n, deepest);
  assert_true(n > 500);
  assert_true(deepest < 0.5);
  kp_world_destroy(&world);
}

// ---- heaps --------------------------------------------------------------------------------------

typedef struct heap {
  double angle_deg, height, speed;
} heap;

// Mean slope of the two sides from the highest grains of bins, between a fifth and four fifths of
// the height.
static double slope_of(kp_world *world, double *height) {
  static double x[4096];
  static double y[4096];
  int64_t n = kp_world_count(world, "sand");
  assert_true(n < 4096);
  assert_ok(kp_world_read(world, "sand", "position", 0, x, n));
  assert_ok(kp_world_read(world, "sand", "position", 1, y, n));
  enum { BINS = 60 };
  double top[BINS] = { 0 };
  *height = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    int bin = (int)((x[i] + 0.9) / 0.03);
    bin = bin < 0 ? 0 : (bin >= BINS ? BINS - 1 : bin);
    top[bin] = kp_test_most(top[bin], y[i]);
    *height = kp_test_most(*height, y[i]);
  }
  // y over |x|, by least squares
  double s = 0, sx = 0, sy = 0, sxx = 0, sxy = 0;
  for (int b = 0; b < BINS; ++b) {
    double at = fabs(-0.9 + 0.03 * (b + 0.5));
    if (top[b] > 0.2 * *height && top[b] < 0.8 * *height) {
      s += 1;
      sx += at;
      sy += top[b];
      sxx += at * at;
      sxy += at * top[b];
    }
  }
  double det = s * sxx - sx * sx;
  return s >= 3 && det > 0.0 ? -(s * sxy - sx * sy) / det : 0.0;
}

// A column of discs collapses on a bed of its own kind.
static heap collapse(double friction, double rolling) {
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(-0.9, 0, 0), kp_vec3_make(0.9, 1, 0));
  kp_world *world = kp_test_world(&s);
  kp_grains_def bed = sand("bed", kp_vec3_make(-0.9, 0, 0), kp_vec3_make(0.9, 2 * R, 0));
  bed.frozen = true;
  bed.friction = friction;
  bed.rolling_friction = rolling;
  kp_grains_def column = sand("sand", kp_vec3_make(-0.16, 2 * R, 0), kp_vec3_make(0.16, 0.4, 0));
  column.size_ratio = 0.7;
  column.friction = friction;
  column.rolling_friction = rolling;
  column.restitution = 0.3;
  column.jitter = 0.02;
  assert_ok(kp_world_add_grains(world, &bed));
  assert_ok(kp_world_add_grains(world, &column));
  assert_ok(kp_world_build(world));
  assert_ok(kp_world_advance(world, 1.6, NULL));
  heap h = { 0 };
  h.angle_deg = atan(slope_of(world, &h.height)) * 180.0 / PI;
  kp_population_stats stats;
  assert_ok(kp_world_stats(world, 1, &stats));
  h.speed = sqrt(2.0 * stats.kinetic_energy / stats.mass);
  kp_world_destroy(&world);
  return h;
}

static void test_collapse(void **state) {
  (void)state;
  heap smooth = collapse(0.0, 0.0);
  heap rough = collapse(0.5, 0.1);
  heap edged = collapse(0.8, 0.5);
  print_message(
      "  slope of what is left: frictionless %.1f, mu 0.5 rolling 0.1: %.1f, mu 0.8 rolling "
      "0.5: %.1f degrees; rms speeds %.2e %.2e %.2e m/s\n",
      smooth.angle_deg, rough.angle_deg, edged.angle_deg, smooth.speed, rough.speed, edged.speed);
  kp_claim claim = { .id = "kelpie-grains-repose",
                     .text = "a heap stands at an angle that grows with friction",
                     .size = "320 discs, column collapse on a rough bed" };
  kp_claim_all(
      &claim, { "angle at mu = 0.5 [degrees]", rough.angle_deg, KP_AT_LEAST, 13 },
      { "the same at most", rough.angle_deg, KP_AT_MOST, 30 },
      { "angle at mu = 0.8 over that at 0.5", edged.angle_deg / rough.angle_deg, KP_MORE, 1 },
      { "angle without friction [degrees]", smooth.angle_deg, KP_LESS, 6 },
      { "speed of the heaps with friction [m/s]", fmax(rough.speed, edged.speed), KP_LESS, 5e-3 });
  // without friction everything runs out flat
  assert_true(smooth.angle_deg < 6.0);
  // less than the angle of repose (test_grains_flow): the collapse carries it on
  assert_between(rough.angle_deg, 13.0, 30.0);
  assert_true(edged.angle_deg > rough.angle_deg);
  // and it stands still
  assert_true(rough.speed < 5e-3 && edged.speed < 5e-3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_body_momentum), cmocka_unit_test(test_plate),
    cmocka_unit_test(test_edges),         cmocka_unit_test(test_nothing_falls_through),
    cmocka_unit_test(test_collapse),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
