// What leaves emitters, before any method moves it: flux, times and places inside a sub-step.
#include "support/test.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "methods/common/emitter.h"

#define PI 3.14159265358979323846
#define DX 0.004

static kp_env env_of(int dimension) {
  kp_env env = { .dimension = dimension, .simulation = kp_default_simulation_def() };
  env.simulation.gravity = kp_vec3_make(0, -9.81, 0);
  env.scenery.folder = ".";
  return env;
}

static kp_emitter_def tap(double radius, double speed) {
  kp_emitter_def def = kp_default_emitter_def();
  snprintf(def.name, sizeof def.name, "tap");
  def.position = kp_curve_constant3(kp_vec3_make(0.01, 0.02, 0.0));
  def.radius = radius;
  def.speed = kp_curve_constant(speed);
  return def;
}

static kp_shape_def ball_of(double radius) {
  kp_shape_def ball = kp_default_shape_def(KP_SHAPE_SPHERE);
  ball.center = kp_vec3_make(0, 0, 0);
  ball.radius = radius;
  return ball;
}

// Everything that leaves until `end`, by n sub-steps, in free fall since: where it is then.
static void pour(const kp_emitter_def *def, kp_env *env, bool is_granular, double end, int n,
                 kp_points *places) {
  kp_emitter emitter = { 0 };
  kp_points now = { 0 };
  kp_points velocities = { 0 };
  assert_ok(kp_emitter_create(&emitter, env, def, DX, is_granular));
  for (int k = 1; k <= n; ++k) {
    env->time = end * k / n;
    now.count = velocities.count = 0;
    assert_ok(kp_emitter_pour(&emitter, env, &now, &velocities));
    emitter.count += (int64_t)now.count;
    for (size_t i = 0; i < now.count; ++i) {
      double t = end - env->time;
      kp_vec3 g = env->simulation.gravity;
      kp_vec3 p = kp_vec3_madd(now.data[i], t, velocities.data[i]);
      assert_ok(kp_array_push(places, kp_vec3_madd(p, 0.5 * t * t, g)));
    }
  }
  kp_array_free(&now);
  kp_array_free(&velocities);
  kp_emitter_free(&emitter);
}

static int64_t count_poured(const kp_emitter_def *def, int dimension, bool is_granular,
                            double end) {
  kp_env env = env_of(dimension);
  kp_points places = { 0 };
  pour(def, &env, is_granular, end, 20, &places);
  int64_t n = (int64_t)places.count;
  kp_array_free(&places);
  return n;
}

// ---- how much -----------------------------------------------------------------------------------

// rho A v t to within a particle or two, for radii and sides that are no multiples of the spacing.
static void test_flux_is_that_of_the_opening(void **state) {
  (void)state;
  for (int k = 0; k < 12; ++k) {
    double radius = (1.3 + 0.37 * k) * DX;
    kp_emitter_def disc = tap(radius, 0.5);
    double flux = PI * radius * radius * 0.5;
    double n = (double)count_poured(&disc, 3, false, 0.4);
    assert_near(n, 0.4 * flux / pow(DX, 3), 3.0);
    n = (double)count_poured(&disc, 2, false, 0.4);
    assert_near(n, 0.4 * 2.0 * radius * 0.5 / (DX * DX), 3.0);
    kp_emitter_def slot = disc;
    slot.width = (3.2 + 0.41 * k) * DX;
    slot.height = (1.6 + 0.23 * k) * DX;
    n = (double)count_poured(&slot, 3, false, 0.4);
    assert_near(n, 0.4 * slot.width * slot.height * 0.5 / pow(DX, 3), 3.0);
  }
}

// A function of time: what has passed is its integral, for any sub-steps.
static void test_flux_follows_the_speed(void **state) {
  (void)state;
  double samples[9];
  for (int k = 0; k < 9; ++k) {
    samples[k] = 0.4 + 0.3 * sin(7.0 * 0.05 * k);
  }
  kp_emitter_def def = tap(5.0 * DX, 0.0);
  def.speed = (kp_curve){ .components = 1, .n = 9, .interval = 0.05, .samples = samples };
  double way = 0.4 * 0.4 + 0.3 * (1.0 - cos(7.0 * 0.4)) / 7.0;
  double goal = way * PI * def.radius * def.radius / pow(DX, 3);
  assert_near((double)count_poured(&def, 3, false, 0.4), goal, 0.003 * goal);
}

static double nearest_pair(const kp_points *p) {
  double least = HUGE_VAL;
  for (size_t i = 0; i < p->count; ++i) {
    for (size_t j = i + 1; j < p->count; ++j) {
      least = kp_test_least(least, kp_vec3_length(kp_vec3_sub(p->data[i], p->data[j])));
    }
  }
  return least;
}

// Without gravity a jet is as dense as the liquid, and nobody overlaps: grains are never nearer
// than a spacing.
static void test_nobody_overlaps(void **state) {
  (void)state;
  for (int granular = 0; granular < 2; ++granular) {
    kp_env env = env_of(3);
    env.simulation.gravity = kp_vec3_make(0, 0, 0);
    kp_emitter_def def = tap(4.3 * DX, 0.5);
    kp_points places = { 0 };
    pour(&def, &env, granular != 0, 0.1, 33, &places);
    double least = nearest_pair(&places) / DX;
    print_message("  %zu particles, nearest %.3f spacings\n", places.count, least);
    assert_between(least, granular ? 1.0 - 1e-9 : 0.9, 1.5);
    kp_array_free(&places);
  }
}

// ---- when and where -----------------------------------------------------------------------------

static int by_height(const void *a, const void *b) {
  double x = ((const kp_vec3 *)a)->y;
  double y = ((const kp_vec3 *)b)->y;
  return (x > y) - (x < y);
}

static void sort_by_height(kp_points *p) {
  qsort(p->data, p->count, sizeof p->data[0], by_height);
}

// A jet that is six times as fast at the end as at the opening: layers would lie six spacings
// apart.
static void test_jet_has_no_layers(void **state) {
  (void)state;
  kp_env env = env_of(3);
  kp_emitter_def def = tap(0.02, 0.5);
  kp_points places = { 0 };
  pour(&def, &env, false, 0.272, 50, &places);
  sort_by_height(&places);
  double gap = 0.0;
  for (size_t i = 1; i < places.count; ++i) {
    gap = kp_test_most(gap, places.data[i].y - places.data[i - 1].y);
  }
  double length = places.data[places.count - 1].y - places.data[0].y;
  print_message("  %zu particles over %.3f m, widest gap %.2f spacings\n", places.count, length,
                gap / DX);
  assert_between(length, 0.48, 0.52);
  assert_between(gap, 0.0, 0.5 * DX);
  kp_array_free(&places);
}

// Places at the end do not know the sub-steps, also where nozzle and speed change.
static void test_sub_steps_do_not_matter(void **state) {
  (void)state;
  double speeds[9];
  double path[27];
  double turns[27];
  for (int k = 0; k < 9; ++k) {
    speeds[k] = 0.5 + 0.2 * cos(11.0 * 0.05 * k);
    for (int c = 0; c < 3; ++c) {
      path[3 * k + c] = 0.1 * sin((3.0 + c) * 0.05 * k);
      turns[3 * k + c] = 90.0 * sin((4.0 - c) * 0.05 * k);
    }
  }
  for (int moves = 0; moves < 2; ++moves) {
    kp_emitter_def def = tap(3.0 * DX, 0.5);
    if (moves) {
      def.speed = (kp_curve){ .components = 1, .n = 9, .interval = 0.05, .samples = speeds };
      def.position = (kp_curve){ .components = 3, .n = 9, .interval = 0.05, .samples = path };
      def.rotation_deg = (kp_curve){ .components = 3, .n = 9, .interval = 0.05, .samples = turns };
    }
    kp_points few = { 0 };
    kp_points many = { 0 };
    kp_env env = env_of(3);
    pour(&def, &env, false, 0.21, 3, &few);
    pour(&def, &env, false, 0.21, 211, &many);
    assert_int_equal(few.count, many.count);
    sort_by_height(&few);
    sort_by_height(&many);
    double off = 0.0;
    for (size_t i = 0; i < few.count; ++i) {
      off = kp_test_most(off, kp_vec3_length(kp_vec3_sub(few.data[i], many.data[i])));
    }
    print_message("  %zu particles, %.2g m apart\n", few.count, off);
    assert_between(off, 0.0, 1e-9);
    kp_array_free(&few);
    kp_array_free(&many);
  }
}

// A nozzle that flies along gives its own velocity to what it lets out.
static void test_velocity_of_the_nozzle_is_added(void **state) {
  (void)state;
  kp_env env = env_of(2);
  env.simulation.gravity = kp_vec3_make(0, 0, 0);
  const double path[6] = { 0.0, 0.0, 0.0, 0.3, 0.0, 0.0 };
  kp_emitter_def def = tap(3.0 * DX, 0.5);
  def.position = (kp_curve){ .components = 3, .n = 2, .interval = 0.1, .samples = path };
  kp_emitter emitter = { 0 };
  kp_points places = { 0 };
  kp_points velocities = { 0 };
  assert_ok(kp_emitter_create(&emitter, &env, &def, DX, false));
  env.time = 0.05;
  assert_ok(kp_emitter_pour(&emitter, &env, &places, &velocities));
  assert_true(places.count > 10);
  for (size_t i = 0; i < places.count; ++i) {
    assert_near(velocities.data[i].x, 3.0, 1e-9);
    assert_near(velocities.data[i].y, -0.5, 1e-9);
    // it left above where it is, when the nozzle was as far behind
    double age = (0.0 - places.data[i].y) / 0.5;
    assert_between(places.data[i].x - 3.0 * age, 3.0 * (0.05 - age) - 3.0 * DX,
                   3.0 * (0.05 - age) + 3.0 * DX);
  }
  assert_near(kp_emitter_fastest(&emitter), 3.5, 1e-9);
  kp_array_free(&places);
  kp_array_free(&velocities);
  kp_emitter_free(&emitter);
}

// ---- shapes -------------------------------------------------------------------------------------

static void test_surface_lets_out_along_its_normals(void **state) {
  (void)state;
  kp_env env = env_of(3);
  env.simulation.gravity = kp_vec3_make(0, 0, 0);
  kp_emitter_def def = tap(0.0, 0.2);
  def.radius = 0.05;
  def.position = kp_curve_constant3(kp_vec3_make(0, 0, 0));
  def.from = KP_EMITTER_SURFACE;
  def.shape = ball_of(6.0 * DX);
  kp_points places = { 0 };
  pour(&def, &env, false, 0.2, 7, &places);
  double area = 4.0 * PI * pow(6.0 * DX, 2.0);
  double goal = area * 0.2 * 0.2 / pow(DX, 3);
  print_message("  %zu particles, %.0f expected\n", places.count, goal);
  assert_near((double)places.count, goal, 0.02 * goal);
  kp_vec3 sum = kp_vec3_make(0, 0, 0);
  for (size_t i = 0; i < places.count; ++i) {
    double r = kp_vec3_length(places.data[i]);
    assert_between(r, 6.4 * DX, 6.6 * DX + 0.2 * 0.2);
    sum = kp_vec3_add(sum, kp_vec3_scale(places.data[i], 1.0 / r));
  }
  // to all sides alike
  assert_between(kp_vec3_length(sum) / (double)places.count, 0.0, 0.05);
  kp_array_free(&places);
}

static void test_inside_is_offered(void **state) {
  (void)state;
  kp_env env = env_of(3);
  kp_emitter_def def = tap(0.05, 0.2);
  def.position = kp_curve_constant3(kp_vec3_make(1, 2, 3));
  def.from = KP_EMITTER_INSIDE;
  def.shape = ball_of(6.0 * DX);
  kp_points places = { 0 };
  pour(&def, &env, false, 0.0, 1, &places);
  double goal = 4.0 / 3.0 * PI * 216.0;
  assert_near((double)places.count, goal, 0.05 * goal);
  for (size_t i = 0; i < places.count; ++i) {
    kp_vec3 arm = kp_vec3_sub(places.data[i], kp_vec3_make(1, 2, 3));
    assert_between(kp_vec3_length(arm), 0.0, 6.0 * DX);
  }
  kp_array_free(&places);
}

static void test_refusals(void **state) {
  (void)state;
  kp_env env = env_of(3);
  kp_emitter emitter = { 0 };
  kp_emitter_def def = tap(0.01, 1.0);
  def.width = 0.1;
  assert_fails(KP_ERROR_SCENE, "emitter \"tap\": a rectangle needs both width and height",
               kp_emitter_create(&emitter, &env, &def, DX, false));
  kp_emitter_free(&emitter);
  def = tap(0.01, 1.0);
  def.from = KP_EMITTER_INSIDE;
  def.shape = ball_of(0.1 * DX);
  def.shape.center = kp_vec3_make(0.37 * DX, 0.37 * DX, 0.37 * DX);
  def.shape.invert = true;
  assert_fails(KP_ERROR_SCENE, "emitter \"tap\": its shape has no bounds",
               kp_emitter_create(&emitter, &env, &def, DX, false));
  kp_emitter_free(&emitter);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_flux_is_that_of_the_opening),
    cmocka_unit_test(test_flux_follows_the_speed),
    cmocka_unit_test(test_nobody_overlaps),
    cmocka_unit_test(test_jet_has_no_layers),
    cmocka_unit_test(test_sub_steps_do_not_matter),
    cmocka_unit_test(test_velocity_of_the_nozzle_is_added),
    cmocka_unit_test(test_surface_lets_out_along_its_normals),
    cmocka_unit_test(test_inside_is_offered),
    cmocka_unit_test(test_refusals),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
