// Flow between two walls, periodic along them: Couette, Poiseuille and a free-slip plug.
#include <math.h>
#include <stdio.h>

#include "support/claims.h"
#include "support/worlds.h"

#define WIDTH 0.02  // m between the walls
#define ROWS 20
#define VISCOSITY                                                                                  \
  1.0  // Pa s: nu = 1e-3 m^2/s, so the profile is there after a few times WIDTH^2 / nu = 0.4 s

static kp_test_settings channel_settings(double slip) {
  double dx = WIDTH / ROWS;
  kp_test_settings s =
      kp_test_settings_make(2, kp_vec3_make(0, 0, 0), kp_vec3_make(8 * dx, WIDTH, 1));
  s.domain.boundary_x = KP_BOUNDARY_PERIODIC;
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.sph.wall = KP_SPH_WALL_SPH;
  s.sph.slip = slip;
  return s;
}

static kp_liquid_def channel_liquid(double sound_speed) {
  double dx = WIDTH / ROWS;
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(8 * dx, WIDTH, 1), dx);
  water.viscosity = VISCOSITY;
  water.sound_speed = sound_speed;
  return water;
}

typedef double (*profile_fn)(double y, double top_speed);

static double poiseuille(double y, double top_speed) {
  return top_speed * 4.0 * y * (WIDTH - y) / (WIDTH * WIDTH);
}

static double couette(double y, double top_speed) {
  return top_speed * y / WIDTH;
}

// Largest difference from the profile, over the top speed.
static double profile_error(kp_world *world, profile_fn fn, double top_speed) {
  kp_test_particles p = kp_test_particles_read(world, "water");
  double worst = 0.0;
  for (int64_t i = 0; i < p.n; ++i) {
    worst = kp_test_most(worst, fabs(p.v[0][i] - fn(p.x[1][i], top_speed)) / top_speed);
  }
  assert_int_equal(p.n, 8 * ROWS);
  kp_test_particles_free(&p);
  return worst;
}

static void test_poiseuille(void **state) {
  (void)state;
  const double top_speed = 0.01;
  kp_test_settings s = channel_settings(0.0);
  // u_max = g W^2 / (8 nu)
  s.simulation.gravity.x = 8.0 * top_speed * VISCOSITY / 1000.0 / (WIDTH * WIDTH);
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water = channel_liquid(0.5);
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  assert_ok(kp_world_advance(world, 0.6, NULL));
  double error = profile_error(world, poiseuille, top_speed);
  print_message("  Poiseuille: largest error %.3f of the top speed\n", error);
  assert_between(error, 0.0, 0.10);
  kp_claim claim = { .id = "bayraktar-B18-poiseuille",
                     .text = "no-slip walls give the Poiseuille profile",
                     .size = "20 rows of 8 particles, Re 0.2" };
  kp_claim_all(&claim, { "largest error over the top speed", error, KP_AT_MOST, 0.10 });
  kp_world_destroy(&world);
}

// How the upper wall gets its speed: it is a box that moves along x and is longer than its way, or
// stays where it is and slides.
typedef enum lid_kind { LID_MOVES, LID_SLIDES, LID_SLIDES_BY_CURVE } lid_kind;

static double couette_error(lid_kind kind, double top_speed) {
  const double seconds = 0.6;
  double dx = WIDTH / ROWS;
  kp_test_settings s = channel_settings(0.0);
  s.domain.max.y = WIDTH + 4 * dx;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water = channel_liquid(0.5);
  assert_ok(kp_world_add_liquid(world, &water));
  kp_collider_def lid = kp_default_collider_def();
  snprintf(lid.name, sizeof lid.name, "lid");
  // samples lie on the surface of a box and the lattice of the liquid half a spacing below it
  lid.shape =
      kp_test_box(kp_vec3_make(-40 * dx, WIDTH, -1), kp_vec3_make(48 * dx, WIDTH + 3 * dx, 1));
  const double places[] = { 0, 0, 0, top_speed, 0, 0, 2 * top_speed, 0, 0 };
  const double speeds[] = { top_speed, 0, 0, top_speed, 0, 0, top_speed, 0, 0 };
  kp_curve curve = { .components = 3, .n = 3, .start = 0.0, .interval = 1.0 };
  curve.samples = kind == LID_MOVES ? places : speeds;
  if (kind == LID_MOVES) {
    lid.position = curve;
  } else {
    lid.surface_velocity =
        kind == LID_SLIDES ? kp_curve_constant3(kp_vec3_make(top_speed, 0, 0)) : curve;
  }
  assert_ok(kp_world_add_collider(world, &lid));
  assert_ok(kp_world_build(world));
  assert_ok(kp_world_advance(world, seconds, NULL));
  double error = profile_error(world, couette, top_speed);
  kp_world_destroy(&world);
  return error;
}

static void test_couette(void **state) {
  (void)state;
  double error = couette_error(LID_MOVES, 0.01);
  print_message("  Couette: largest error %.3f of the top speed\n", error);
  assert_between(error, 0.0, 0.10);
  double constant = couette_error(LID_SLIDES, 0.01);
  double curve = couette_error(LID_SLIDES_BY_CURVE, 0.01);
  print_message("  Couette, lid that slides in place: %.3f, as a function of time %.3f\n", constant,
                curve);
  assert_between(constant, 0.0, 0.10);
  assert_between(curve, 0.0, 0.10);
  kp_claim claim = { .id = "bayraktar-B18-couette",
                     .text = "no-slip walls give the Couette profile",
                     .size = "20 rows of 8 particles, Re 0.2" };
  kp_claim_all(&claim, { "largest error over the top speed", error, KP_AT_MOST, 0.10 },
               { "with a lid that slides in place", fmax(constant, curve), KP_AT_MOST, 0.10 });
}

static void test_free_slip_plug(void **state) {
  (void)state;
  kp_test_settings s = channel_settings(1.0);
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water = channel_liquid(0.5);
  water.velocity = kp_vec3_make(0.05, 0, 0);
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  assert_ok(kp_world_advance(world, 0.6, NULL));
  kp_test_sums sums = kp_test_sums_of(world);
  double lost = fabs(sums.momentum.x / sums.mass / 0.05 - 1.0);
  print_message("  plug: mean speed changed by %.4f\n", lost);
  assert_between(lost, 0.0, 0.02);
  kp_claim claim = { .id = "bayraktar-B18-plug",
                     .text = "a plug between free-slip walls keeps its speed",
                     .size = "20 rows of 8 particles, 1.5 widths of travel in 0.6 s" };
  kp_claim_all(&claim, { "change of the mean speed", lost, KP_AT_MOST, 0.02 });
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_poiseuille),
    cmocka_unit_test(test_couette),
    cmocka_unit_test(test_free_slip_plug),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
