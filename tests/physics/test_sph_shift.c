// Particle shifting: the gradient against all pairs, the move, and what it is for.
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "support/worlds.h"

#define PI 3.14159265358979323846
#define SHIFTING 6.0
#define STEEPEST 0.25  // as in sph_shift.c

// A disordered channel: periodic along x, walls across y, an upper layer missing where `open`.
static kp_world *channel(const char *backend, double shifting, bool open) {
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 0.5, 0));
  s.backend = backend;
  s.domain.boundary_x = KP_BOUNDARY_PERIODIC;
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.sph.kernel = KP_SPH_WENDLAND;
  s.sph.support = 3.0;
  s.sph.shifting = shifting;
  s.sph.slip = 1.0;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, -1), kp_vec3_make(1, open ? 0.4 : 0.5, 1), 0.025);
  water.jitter = 0.3;
  water.velocity = kp_vec3_make(1, 0, 0);
  water.sound_speed = 10.0;
  water.viscosity = 0.0;
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  return world;
}

static double *read_all(kp_world *world, const char *set, const char *field, int component) {
  int64_t n = kp_world_count(world, set);
  double *out = calloc((size_t)n, sizeof *out);
  assert_ok(kp_world_read(world, set, field, component, out, n));
  return out;
}

// grad W / d of the C2 Wendland function in the plane.
static double wendland_g(double r, double support) {
  double u = fmin(r / support, 1.0);
  return -140.0 / (PI * pow(support, 4.0)) * pow(1.0 - u, 3.0);
}

typedef struct snapshot {
  int64_t n;
  double *id, *x, *y;
} snapshot;

static snapshot read_places(kp_world *world) {
  return (snapshot){ .n = kp_world_count(world, "water"),
                     .id = read_all(world, "water", "id", 0),
                     .x = read_all(world, "water", "position", 0),
                     .y = read_all(world, "water", "position", 1) };
}

static void free_places(snapshot *s) {
  free(s->id);
  free(s->x);
  free(s->y);
}

// Places by id, since a step sorts.
static void by_id(const snapshot *s, double *x, double *y) {
  for (int64_t i = 0; i < s->n; ++i) {
    x[(int64_t)s->id[i]] = s->x[i];
    y[(int64_t)s->id[i]] = s->y[i];
  }
}

static void check_step(kp_world *world) {
  kp_sph *sph = kp_test_sph(world);
  kp_sph_fluid *fluid = kp_test_fluid(world, "water");
  snapshot before = read_places(world);
  int64_t n = before.n;
  double *x0 = calloc((size_t)n, sizeof *x0);
  double *y0 = calloc((size_t)n, sizeof *y0);
  by_id(&before, x0, y0);
  kp_step_report report;
  assert_ok(kp_world_step(world, 1.0, &report));
  snapshot after = read_places(world);
  double *gx = read_all(world, "water", "concentration_gradient", 0);
  double *gy = read_all(world, "water", "concentration_gradient", 1);
  double *rho = read_all(world, "water", "density", 0);
  double *vx = read_all(world, "water", "velocity", 0);
  double *vy = read_all(world, "water", "velocity", 1);
  int64_t n_walls = kp_world_count(world, "walls");
  double *wx = read_all(world, "walls", "position", 0);
  double *wy = read_all(world, "walls", "position", 1);
  double *volume = read_all(world, "walls", "volume", 0);
  double h = 0.5 * sph->support;
  double way = fmin(SHIFTING * h * 0.1 * fluid->sound_speed * report.dt, 0.3 * h * h);
  int64_t held = 0;
  for (int64_t i = 0; i < n; ++i) {
    double px = x0[(int64_t)after.id[i]];
    double py = y0[(int64_t)after.id[i]];
    double sum[2] = { 0.0, 0.0 };
    for (int64_t j = 0; j < n; ++j) {
      double dx = px - x0[(int64_t)after.id[j]];
      double dy = py - y0[(int64_t)after.id[j]];
      dx -= round(dx);  // the period is 1
      double g = fluid->medium.mass / rho[j] * wendland_g(hypot(dx, dy), sph->support);
      sum[0] += g * dx;
      sum[1] += g * dy;
    }
    for (int64_t j = 0; j < n_walls; ++j) {
      double dx = px - wx[j];
      double dy = py - wy[j];
      double g = volume[j] * wendland_g(hypot(dx, dy), sph->support);
      sum[0] += g * dx;
      sum[1] += g * dy;
    }
    assert_near(gx[i] * h, sum[0] * h, KP_TOL(2e-5, 1e-11));
    assert_near(gy[i] * h, sum[1] * h, KP_TOL(2e-5, 1e-11));
    bool moves = hypot(gx[i], gy[i]) * h < STEEPEST;
    held += moves ? 0 : 1;
    double way_x = px + report.dt * vx[i] - (moves ? way * gx[i] : 0.0);
    assert_near(after.x[i] - way_x - round(after.x[i] - way_x), 0.0, KP_TOL(1e-8, 1e-13));
    assert_near(after.y[i], py + report.dt * vy[i] - (moves ? way * gy[i] : 0.0),
                KP_TOL(1e-8, 1e-13));
  }
  print_message("  %lld of %lld particles at a free surface\n", (long long)held, (long long)n);
  free_places(&before);
  free_places(&after);
  double *all[] = { x0, y0, gx, gy, rho, vx, vy, wx, wy, volume };
  for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
    free(all[k]);
  }
}

static void test_gradient_and_move(void **state) {
  (void)state;
  for (int open = 0; open < 2; ++open) {
    kp_world *world = channel("cpu", SHIFTING, open != 0);
    kp_test_steps(world, 1);
    check_step(world);
    kp_world_destroy(&world);
  }
}

static void test_same_bits(void **state) {
  (void)state;
  uint64_t hash[2];
  const char *backends[2] = { "cpu", "mirror" };
  for (int k = 0; k < 2; ++k) {
    kp_world *world = channel(backends[k], SHIFTING, true);
    kp_test_steps(world, 20);
    assert_ok(kp_world_hash(world, &hash[k]));
    kp_world_destroy(&world);
  }
  assert_true(hash[0] == hash[1]);
}

// The smallest distance between two particles, in spacings.
static double smallest_gap(kp_world *world) {
  snapshot s = read_places(world);
  double least = HUGE_VAL;
  for (int64_t i = 0; i < s.n; ++i) {
    for (int64_t j = 0; j < i; ++j) {
      double dx = s.x[i] - s.x[j];
      least = kp_test_least(least, hypot(dx - round(dx), s.y[i] - s.y[j]));
    }
  }
  free_places(&s);
  return least / 0.025;
}

// Pairs that start close to each other come apart; without shifting they stay.
static void test_spreads(void **state) {
  (void)state;
  double gap[2];
  for (int k = 0; k < 2; ++k) {
    kp_world *world = channel("cpu", k == 0 ? 0.0 : SHIFTING, false);
    kp_test_steps(world, 400);
    gap[k] = smallest_gap(world);
    kp_world_destroy(&world);
  }
  print_message("  smallest distance: %.2f spacings, shifted %.2f\n", gap[0], gap[1]);
  assert_between(gap[1], 0.5, 1.1);
  assert_true(gap[1] > 2.0 * gap[0]);
}

static void test_refused(void **state) {
  (void)state;
  kp_test_settings s = kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 0));
  s.sph.shifting = 1.0;
  s.sph.integrator = KP_INTEGRATOR_POSITION_VERLET;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, -1), kp_vec3_make(0.5, 0.5, 1), 0.05);
  assert_ok(kp_world_add_liquid(world, &water));
  assert_fails(KP_ERROR_SCENE, "shifting does not go with integrator 'position_verlet'",
               kp_world_build(world));
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_gradient_and_move),
    cmocka_unit_test(test_same_bits),
    cmocka_unit_test(test_spreads),
    cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
