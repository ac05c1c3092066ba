// Force fields: who gets which acceleration, when, and that it is the same on every backend.
#include <math.h>
#include <stdio.h>

#include "support/worlds.h"

static kp_force_def field(const char *name, kp_vec3 acceleration) {
  kp_force_def def = kp_default_force_def();
  snprintf(def.name, sizeof def.name, "%s", name);
  def.acceleration = kp_curve_constant3(acceleration);
  return def;
}

// Two blocks of still liquid in free fall without gravity: at rest density and clamped there is no
// pressure, so all acceleration comes from the fields. Planes as walls, which touch nothing.
static kp_world *blocks(const char *backend, int dimension) {
  kp_test_settings s =
      kp_test_settings_make(dimension, kp_vec3_make(0, 0, -1), kp_vec3_make(2, 1, 1));
  s.backend = backend;
  s.simulation.gravity = kp_vec3_make(0, 0, 0);
  s.simulation.dt = 1e-3;
  s.sph.domain_walls = 1;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def a =
      kp_test_liquid("left", kp_vec3_make(0.2, 0.2, -0.3), kp_vec3_make(0.8, 0.8, 0.3), 0.05);
  kp_liquid_def b =
      kp_test_liquid("right", kp_vec3_make(1.2, 0.2, -0.3), kp_vec3_make(1.8, 0.8, 0.3), 0.05);
  a.sound_speed = b.sound_speed =
      0.1;  // soft: rounding of the density makes no pressure to speak of
  assert_ok(kp_world_add_liquid(world, &a));
  assert_ok(kp_world_add_liquid(world, &b));
  return world;
}

typedef kp_vec3 (*wanted_fn)(const char *set, kp_vec3 p);

// Positions of the start; the acceleration of the first step belongs to them.
static void check_first_step(kp_world *world, wanted_fn wanted) {
  static const char *const sets[] = { "left", "right" };
  const double dt = 1e-3;
  kp_test_steps(world, 1);
  int64_t met = 0;
  for (int k = 0; k < 2; ++k) {
    kp_test_particles p = kp_test_particles_read(world, sets[k]);
    for (int64_t i = 0; i < p.n; ++i) {
      // symplectic Euler: x1 = x0 + dt^2 a
      kp_vec3 a = kp_vec3_make(p.a[0][i], p.a[1][i], p.a[2][i]);
      kp_vec3 x = kp_vec3_make(p.x[0][i], p.x[1][i], p.x[2][i]);
      kp_vec3 want = wanted(sets[k], kp_vec3_madd(x, -dt * dt, a));
      assert_vec3_near(a, want, KP_TOL(1e-4, 1e-9));
      met += kp_vec3_length(want) > 0.0 ? 1 : 0;
    }
    assert_true(p.n > 100);
    kp_test_particles_free(&p);
  }
  assert_true(met > 50);
}

// One of each kind, overlapping: what lies in two gets the sum.
static void add_fields(kp_world *world) {
  kp_force_def box = field("box", kp_vec3_make(3, 0, 0));
  box.shape = kp_test_box(kp_vec3_make(0.3, 0.3, -1), kp_vec3_make(0.6, 1.0, 2));
  kp_force_def ball = field("ball", kp_vec3_make(0, -2, 0));
  ball.shape = kp_test_ball(kp_vec3_make(0.6, 0.5, 0.0), 0.25);
  kp_force_def one = field("one", kp_vec3_make(0, 5, 0));
  snprintf(one.on, sizeof one.on, "right");
  kp_force_def late = field("late", kp_vec3_make(100, 0, 0));
  late.start = 0.5;
  kp_force_def early = field("early", kp_vec3_make(100, 0, 0));
  early.stop = 0.0;
  assert_ok(kp_world_add_force(world, &box));
  assert_ok(kp_world_add_force(world, &ball));
  assert_ok(kp_world_add_force(world, &one));
  assert_ok(kp_world_add_force(world, &late));
  assert_ok(kp_world_add_force(world, &early));
}

static kp_vec3 wanted(const char *set, kp_vec3 p) {
  kp_vec3 a = { 0, 0, 0 };
  if (p.x >= 0.3 && p.x <= 0.6 && p.y >= 0.3) {
    a.x += 3;
  }
  if (hypot(hypot(p.x - 0.6, p.y - 0.5), p.z) <= 0.25) {
    a.y -= 2;
  }
  if (set[0] == 'r') {
    a.y += 5;
  }
  return a;
}

static void test_fields(void **state) {
  (void)state;
  for (int dimension = 2; dimension <= 3; ++dimension) {
    kp_world *world = blocks("cpu", dimension);
    add_fields(world);
    assert_ok(kp_world_build(world));
    check_first_step(world, wanted);
    kp_world_destroy(&world);
  }
}

static void test_same_bits(void **state) {
  (void)state;
  uint64_t hash[2];
  const char *backends[2] = { "cpu", "mirror" };
  for (int k = 0; k < 2; ++k) {
    kp_world *world = blocks(backends[k], 2);
    add_fields(world);
    assert_ok(kp_world_build(world));
    kp_test_steps(world, 20);
    assert_ok(kp_world_hash(world, &hash[k]));
    kp_world_destroy(&world);
  }
  assert_true(hash[0] == hash[1]);
}

// A field everywhere is gravity that changes with time: a block and a body fall alike, by the
// integral of the curve, and a field that stops leaves them with their speed.
static void test_function_of_time(void **state) {
  (void)state;
  const double samples[] = { 0, 0, 0, 1, 0, 0, 2, 0, 0, 3, 0, 0 };
  kp_world *world = blocks("cpu", 3);
  kp_force_def push = field("push", kp_vec3_make(0, 0, 0));
  push.acceleration =
      (kp_curve){ .components = 3, .n = 4, .start = 0.0, .interval = 0.1, .samples = samples };
  push.stop = 0.2;
  kp_body_def body = kp_default_body_def();
  snprintf(body.name, sizeof body.name, "stone");
  body.shape = kp_test_ball(kp_vec3_make(1.0, 0.5, 0.0), 0.06);
  body.spacing = 0.03;
  assert_ok(kp_world_add_force(world, &push));
  assert_ok(kp_world_add_body(world, &body));
  assert_ok(kp_world_build(world));
  assert_ok(kp_world_advance(world, 0.25, NULL));
  // a = 10 t for 0.2 s gives 0.2 m/s, less half a step of the first order scheme
  kp_test_particles p = kp_test_particles_read(world, "left");
  for (int64_t i = 0; i < p.n; ++i) {
    assert_near(p.v[0][i], 0.2, 1.2e-3);
  }
  kp_test_particles_free(&p);
  double v;
  assert_ok(kp_world_read(world, "bodies", "velocity", 0, &v, 1));
  assert_near(v, 0.2, 1.2e-3);
  kp_world_destroy(&world);
}

static void test_refused(void **state) {
  (void)state;
  kp_world *world = blocks("cpu", 2);
  kp_force_def def = field("wind", kp_vec3_make(1, 0, 0));
  snprintf(def.on, sizeof def.on, "lefd");
  assert_ok(kp_world_add_force(world, &def));
  assert_fails(KP_ERROR_SCENE, "did you mean \"left\"?", kp_world_build(world));
  kp_world_destroy(&world);
  world = blocks("cpu", 2);
  def = field("wind", kp_vec3_make(1, 0, 2));
  assert_ok(kp_world_add_force(world, &def));
  assert_fails(KP_ERROR_SCENE, "acceleration of wind: the z component", kp_world_build(world));
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_fields),
    cmocka_unit_test(test_same_bits),
    cmocka_unit_test(test_function_of_time),
    cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
