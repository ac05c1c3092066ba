// Same bits: a shear-thickening fluid on a shaking floor with a moving collider, a free ball, an
// emitter and a sink gives one hash for any number of threads, any instruction set, on the mirror
// backend, and after a rewind, between builds of its rows as well as at one.
#include <math.h>
#include <stdio.h>

#include "methods/stf/stf.h"
#include "par/kernel.h"

#include "support/media.h"

#define DX 0.02
#define STEPS 20

static kp_world *make_world(const char *backend, int dimension) {
  bool flat = dimension == 2;
  double depth = flat ? 0.0 : 0.2;
  double width = flat ? 6.0 : 1.6;
  kp_test_settings s =
      kp_test_settings_make(dimension, kp_vec3_make(0, 0, 0), kp_vec3_make(width, 1.2, 0.2));
  s.backend = backend;
  s.domain.open_top = true;
  kp_world *world = kp_test_world(&s);
  kp_stf_def def = kp_default_stf_def();
  def.vibration_amplitude = 0.01;
  def.vibration_sources = 5;
  def.memory = 0.05;
  assert_ok(kp_world_set_stf(world, &def));
  kp_liquid_def starch = kp_test_liquid("starch", kp_vec3_make(0, 0, 0),
                                        kp_vec3_make(width, flat ? 0.5 : 0.24, depth), DX);
  starch.method = KP_LIQUID_STF;
  assert_ok(kp_world_add_liquid(world, &starch));
  kp_collider_def paddle = kp_default_collider_def();
  snprintf(paddle.name, sizeof paddle.name, "paddle");
  paddle.shape = kp_test_box(kp_vec3_make(-0.05, -0.2, -0.1), kp_vec3_make(0.05, 0.2, 0.1));
  const double places[] = { 0.4, 0.4, 0.5 * depth, 0.44, 0.4, 0.5 * depth, 0.4, 0.4, 0.5 * depth };
  paddle.position = (kp_curve){ .components = 3, .n = 3, .interval = 0.05, .samples = places };
  assert_ok(kp_world_add_collider(world, &paddle));
  kp_collider_def pillar = kp_default_collider_def();
  snprintf(pillar.name, sizeof pillar.name, "pillar");
  pillar.shape = kp_test_box(kp_vec3_make(1.0, -0.1, -0.1), kp_vec3_make(1.1, 0.5, 0.1));
  assert_ok(kp_world_add_collider(world, &pillar));
  kp_body_def ball = kp_default_body_def();
  snprintf(ball.name, sizeof ball.name, "ball");
  ball.density = 1500.0;
  ball.shape = kp_test_ball(kp_vec3_make(0.75, (flat ? 0.5 : 0.24) + 0.1, 0.5 * depth), 0.08);
  ball.velocity = kp_vec3_make(0.5, -2.0, 0.0);
  assert_ok(kp_world_add_body(world, &ball));
  kp_emitter_def jet = kp_default_emitter_def();
  snprintf(jet.name, sizeof jet.name, "jet");
  snprintf(jet.into, sizeof jet.into, "starch");
  jet.position = kp_curve_constant3(kp_vec3_make(1.3, 0.5, 0.5 * depth));
  jet.speed = kp_curve_constant(2.0);
  assert_ok(kp_world_add_emitter(world, &jet));
  kp_sink_def drain = kp_default_sink_def();
  snprintf(drain.name, sizeof drain.name, "drain");
  drain.shape = kp_test_box(kp_vec3_make(1.4, -1, -1), kp_vec3_make(1.6, 0.1, 2));
  assert_ok(kp_world_add_sink(world, &drain));
  kp_test_log_begin();
  assert_ok(kp_world_build(world));
  kp_test_log_end();
  assert_true(kp_world_count(world, "starch") > KP_REDUCE_BLOCK);
  return world;
}

static kp_world *make_deep(const char *backend) {
  return make_world(backend, 3);
}

static kp_world *make_flat(const char *backend) {
  return make_world(backend, 2);
}

static void test_same_bits(void **state) {
  (void)state;
  uint64_t reference = kp_test_same_bits(make_deep, STEPS);
  // rows hold over a few steps here: some of these are between builds
  for (int at = 9; at < 12; ++at) {
    kp_test_rewind(make_deep, "cpu", at, STEPS, reference);
  }
  assert_true(kp_test_hash(make_flat, "mirror", STEPS) == kp_test_hash(make_flat, "cpu", STEPS));
}

// In two dimensions nothing leaves the plane.
static void test_flat(void **state) {
  (void)state;
  kp_world *world = make_world("cpu", 2);
  kp_test_steps(world, STEPS);
  kp_test_particles p = kp_test_particles_read(world, "starch");
  for (int64_t i = 0; i < p.n; ++i) {
    assert_true(p.x[2][i] == 0.0 && p.v[2][i] == 0.0);
    assert_true(!signbit(p.x[2][i]) && !signbit(p.v[2][i]));
  }
  kp_test_particles_free(&p);
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_same_bits),
    cmocka_unit_test(test_flat),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
