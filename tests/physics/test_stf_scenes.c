// The two scenarios of Ozgen 2013, chapter 5, in the small: a ball thrown on the fluid (claim 17)
// and a shaken dish (claim 18), each with memory and without. The scenes at their stated sizes are
// in scenes/papers/ozgen.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "methods/stf/stf.h"

#include "support/claims.h"
#include "support/worlds.h"

static kp_stf *stf_of(kp_world *world) {
  return kp_test_system(world, &kp_stf_method);
}

static kp_world *make_pool(const kp_stf_def *def, double spacing, const int cells[3], double dt) {
  kp_vec3 size = kp_vec3_make(spacing * cells[0], spacing * cells[1], spacing * cells[2]);
  kp_test_settings s =
      kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(size.x, size.y + 1.2, size.z));
  s.domain.open_top = true;
  s.simulation.dt = dt;
  kp_world *world = kp_test_world(&s);
  assert_ok(kp_world_set_stf(world, def));
  kp_liquid_def starch = kp_test_liquid("starch", kp_vec3_make(0, 0, 0), size, spacing);
  starch.method = KP_LIQUID_STF;
  starch.rest_density = 1200.0;
  starch.jitter = 0.1;
  assert_ok(kp_world_add_liquid(world, &starch));
  return world;
}

// ---- claim 17 -----------------------------------------------------------------------------------

#define RADIUS 0.1

typedef struct ball_path {
  double deepest;  // in the first contact, in radii below the surface
  double rebound;  // m/s
  double travel;   // radii while the centre is above the surface
  double rest;     // s slower than 2 cm/s with less than a radius under
  double below;    // s after first contact until the centre is below the surface
  double under;    // s until it is submerged
  double last;     // radii of its centre over the surface at the end
} ball_path;

static double surface_of(kp_world *world, double spacing) {
  return stf_of(world)->medium.bounds.max.y + 0.5 * spacing;
}

static ball_path throw_ball(int history, double seconds) {
  const double a = 0.035;
  kp_stf_def def = kp_default_stf_def();
  def.sound_speed = 4.0;
  def.spring_stiffness = 200.0;
  def.plasticity = 10.0;
  def.yield = 0.02;
  def.thickening = 150.0;
  def.history = history;
  kp_world *world = make_pool(&def, a, (const int[3]){ 32, 9, 14 }, KP_AUTO);
  kp_body_def ball = kp_default_body_def();
  snprintf(ball.name, sizeof ball.name, "ball");
  ball.density = 1500.0;
  ball.shape = kp_test_ball(kp_vec3_make(0.25, 9 * a + 0.15, 7 * a), RADIUS);
  ball.velocity = kp_vec3_make(1.2, 0, 0);
  assert_ok(kp_world_add_body(world, &ball));
  assert_ok(kp_world_build(world));
  ball_path p = { .below = HUGE_VAL, .under = HUGE_VAL };
  double surface = 9 * a;
  double touched = -1.0;
  bool first = true;
  double lowest = HUGE_VAL;
  double slow = 0.0;
  double start = 0.25;
  for (double t = 0.0; t < seconds; t += 0.01) {
    assert_ok(kp_world_advance(world, 0.01, NULL));
    kp_frame3 f = kp_bodies_frame(world->bodies, 0);
    if (touched < 0.0) {
      surface = stf_of(world)->medium.bounds_known ? surface_of(world, a) : surface;
      touched = f.position.y - RADIUS < surface ? t : -1.0;
    }
    double over = (f.position.y - surface) / RADIUS;
    first = first && !(touched >= 0.0 && f.velocity.y > 0.0);
    lowest = first ? fmin(lowest, over) : lowest;
    p.deepest = 1.0 - lowest;
    p.rebound = first ? 0.0 : fmax(p.rebound, f.velocity.y);
    p.travel = p.below == HUGE_VAL ? fmax(p.travel, (f.position.x - start) / RADIUS) : p.travel;
    p.below = over < 0.0 ? fmin(p.below, t - touched) : p.below;
    p.under = over < -1.0 ? fmin(p.under, t) : p.under;
    slow = kp_vec3_length(f.velocity) < 0.02 && touched >= 0.0 && over > 0.0 ? slow + 0.01 : slow;
    p.rest = slow;
    p.last = over;
  }
  kp_world_destroy(&world);
  return p;
}

static void test_ball(void **state) {
  (void)state;
  ball_path plain = throw_ball(KP_STF_NO_HISTORY, 0.9);
  print_message("  without memory: centre below the surface %.2f s after it touched\n",
                plain.below);
  ball_path with = throw_ball(KP_STF_MAGNITUDES, 10.0);
  print_message("  with: %.2f R deep, rebound %.2f m/s, travels %.1f R, rests %.2f s, below after "
                "%.2f s, submerged after %.2f s, ends %.2f R over the surface\n",
                with.deepest, with.rebound, with.travel, with.rest, with.below, with.under,
                with.last);
  kp_claim claim = { .id = "ozgen-17",
                     .text = "a ball bounces, rolls, rests and then sinks; without memory at once",
                     .size = "4032 particles, ball of 1500 kg/m^3 on a fluid of 1200, 10 s" };
  kp_claim_status status = kp_claim_all(
      &claim, { "deepest of the first contact [R]", with.deepest, KP_LESS, 0.5 },
      { "rebound [m/s]", with.rebound, KP_MORE, 0.02 },
      { "travel while the centre is above the surface [R]", with.travel, KP_AT_LEAST, 2.0 },
      { "rest below 2 cm/s, less than R under [s]", with.rest, KP_AT_LEAST, 0.5 },
      { "wholly submerged after [s]; 10: not", fmin(with.under, 10.0), KP_LESS, 10.0 },
      { "without memory: centre below the surface after [s]", plain.below, KP_LESS, 0.5 });
  assert_int_not_equal(status, KP_CLAIM_REFUTED);
  assert_true(with.rebound > 0.02 && with.travel > 2.0 && with.rest > 0.5);
  assert_true(plain.below < 0.5 && with.below > 1.0);
  assert_true(with.last < -0.2);  // it is sinking as the springs forget
}

// ---- claim 18 -----------------------------------------------------------------------------------

#define COLUMNS 12

typedef struct heights {
  double roughness;  // highest column over the mean
  int peaks;         // pieces of columns higher than 1.5 times the mean
} heights;

static int flood(double h[COLUMNS][COLUMNS], bool seen[COLUMNS][COLUMNS], int i, int j,
                 double limit) {
  if (i < 0 || j < 0 || i >= COLUMNS || j >= COLUMNS || seen[i][j] || h[i][j] <= limit) {
    return 0;
  }
  seen[i][j] = true;
  flood(h, seen, i + 1, j, limit);
  flood(h, seen, i - 1, j, limit);
  flood(h, seen, i, j + 1, limit);
  flood(h, seen, i, j - 1, limit);
  return 1;
}

// Columns two spacings wide; a column is as high as its third highest particle, so that spray does
// not count.
static heights height_map(kp_world *world, double width, double spacing) {
  kp_test_particles p = kp_test_particles_read(world, "starch");
  double top[COLUMNS][COLUMNS][3] = { 0 };
  for (int64_t n = 0; n < p.n; ++n) {
    int i = (int)fmin(fmax(p.x[0][n] / width * COLUMNS, 0.0), COLUMNS - 1.0);
    int j = (int)fmin(fmax(p.x[2][n] / width * COLUMNS, 0.0), COLUMNS - 1.0);
    double y = p.x[1][n] + 0.5 * spacing;
    for (int k = 0; k < 3; ++k) {
      if (y > top[i][j][k]) {
        double lower = top[i][j][k];
        top[i][j][k] = y;
        y = lower;
      }
    }
  }
  kp_test_particles_free(&p);
  double h[COLUMNS][COLUMNS];
  bool seen[COLUMNS][COLUMNS] = { 0 };
  double mean = 0.0;
  double most = 0.0;
  for (int k = 0; k < COLUMNS * COLUMNS; ++k) {
    h[k / COLUMNS][k % COLUMNS] = top[k / COLUMNS][k % COLUMNS][2];
    mean += top[k / COLUMNS][k % COLUMNS][2] / (COLUMNS * COLUMNS);
    most = kp_test_most(most, top[k / COLUMNS][k % COLUMNS][2]);
  }
  heights out = { .roughness = most / mean };
  for (int k = 0; k < COLUMNS * COLUMNS; ++k) {
    out.peaks += flood(h, seen, k / COLUMNS, k % COLUMNS, 1.5 * mean);
  }
  return out;
}

static heights shake(int history) {
  const double a = 0.02;
  kp_stf_def def = kp_default_stf_def();
  def.sound_speed = 4.0;
  def.spring_stiffness = 400.0;
  def.plasticity = 10.0;
  def.yield = 0.02;
  def.thickening = 40.0;
  def.reference_speed = 0.3;
  def.history = history;
  def.vibration_amplitude = 1.5 * a;
  def.vibration_sources = 4;
  def.vibration_lowest = 8.0;
  def.vibration_highest = 14.0;
  def.vibration_stop = 1.1;
  kp_world *world = make_pool(&def, a, (const int[3]){ 24, 4, 24 }, 1.2e-3);
  assert_ok(kp_world_build(world));
  for (int n = 0; n < 45; ++n) {
    assert_ok(kp_world_advance(world, 1.0 / 30.0, NULL));
  }
  heights out = height_map(world, 24 * a, a);
  kp_world_destroy(&world);
  return out;
}

static void test_fingers(void **state) {
  (void)state;
  heights with = shake(KP_STF_MAGNITUDES);
  heights plain = shake(KP_STF_NO_HISTORY);
  heights sum = shake(KP_STF_SUM);
  print_message("  highest column over the mean: %.2f with memory (%d peaks), %.2f without, %.2f "
                "with the magnitude of the sum\n",
                with.roughness, with.peaks, plain.roughness, sum.roughness);
  kp_claim claim = { .id = "ozgen-18",
                     .text = "a shaken layer grows fingers with memory and stays flat without",
                     .size = "2304 particles, four layers, 1.5 s, one seed" };
  kp_claim_all(&claim,
               { "highest column over the mean with memory", with.roughness, KP_AT_LEAST, 1.8 },
               { "separate peaks higher than 1.5 times the mean", with.peaks, KP_AT_LEAST, 2.0 },
               { "highest column over the mean without memory", plain.roughness, KP_LESS, 1.4 });
  kp_claim order = { .id = "ozgen-18-order",
                     .text = "memory roughens a shaken layer, the magnitude of the sum does not",
                     .size = claim.size };
  kp_claim_status status =
      kp_claim_all(&order,
                   { "highest column over the mean, with memory less without",
                     with.roughness - plain.roughness, KP_AT_LEAST, 0.1 },
                   { "with sums of magnitudes less with the magnitude of the sum",
                     with.roughness - sum.roughness, KP_AT_LEAST, 0.1 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
  assert_true(plain.roughness < 1.4);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_fingers),
    cmocka_unit_test(test_ball),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
