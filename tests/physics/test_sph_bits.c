// Same bits: a world with two liquids, a moving collider, a free body, an emitter and a sink gives
// one hash for any number of threads, any instruction set, on the mirror backend, and after a
// rewind, with either pressure solver.
#include <math.h>
#include <stdio.h>

#include "par/kernel.h"
#include "par/parallel.h"

#include "support/claims.h"
#include "support/media.h"

static kp_test_settings settings(const char *backend) {
  kp_test_settings s =
      kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(2.0, 1.2, 0.64));
  s.backend = backend;
  return s;
}

static kp_world *make_world(const kp_test_settings *s, double spacing) {
  kp_world *world = kp_test_world(s);
  kp_liquid_def brine =
      kp_test_liquid("brine", kp_vec3_make(0, 0, 0), kp_vec3_make(0.68, 0.64, 0.64), spacing);
  kp_liquid_def oil =
      kp_test_liquid("oil", kp_vec3_make(0.68, 0, 0), kp_vec3_make(1.36, 0.64, 0.64), spacing);
  oil.rest_density = 700.0;
  assert_ok(kp_world_add_liquid(world, &brine));
  assert_ok(kp_world_add_liquid(world, &oil));
  kp_collider_def paddle = kp_default_collider_def();
  snprintf(paddle.name, sizeof paddle.name, "paddle");
  paddle.shape = kp_test_box(kp_vec3_make(-0.1, -0.3, -0.1), kp_vec3_make(0.1, 0.3, 0.1));
  const double places[] = { 0.68, 0.4, 0.32, 0.72, 0.4, 0.32, 0.68, 0.4, 0.32 };
  const double turns[] = { 0, 0, 0, 0, 0, 20, 0, 0, 40 };
  paddle.position = (kp_curve){ .components = 3, .n = 3, .interval = 0.05, .samples = places };
  paddle.rotation_deg = (kp_curve){ .components = 3, .n = 3, .interval = 0.05, .samples = turns };
  assert_ok(kp_world_add_collider(world, &paddle));
  kp_body_def ball = kp_default_body_def();
  snprintf(ball.name, sizeof ball.name, "ball");
  ball.shape = kp_test_ball(kp_vec3_make(1.1, 0.66, 0.32), 0.1);
  assert_ok(kp_world_add_body(world, &ball));
  kp_emitter_def jet = kp_default_emitter_def();
  snprintf(jet.name, sizeof jet.name, "jet");
  snprintf(jet.into, sizeof jet.into, "brine");
  jet.position = kp_curve_constant3(kp_vec3_make(1.7, 0.9, 0.32));
  jet.speed = kp_curve_constant(8.0);
  assert_ok(kp_world_add_emitter(world, &jet));
  kp_sink_def drain = kp_default_sink_def();
  snprintf(drain.name, sizeof drain.name, "drain");
  drain.shape = kp_test_box(kp_vec3_make(1.3, -1, -1), kp_vec3_make(1.5, 0.2, 2));
  assert_ok(kp_world_add_sink(world, &drain));
  kp_test_log_begin();
  assert_ok(kp_world_build(world));
  kp_test_log_end();
  return world;
}

static kp_world *weakly_compressible(const char *backend) {
  kp_test_settings s = settings(backend);
  kp_world *world = make_world(&s, 0.02);
  // more than eight blocks of the largest chunk of any loop
  assert_true(kp_world_count(world, "brine") >= 8 * KP_REDUCE_BLOCK - 4096);
  return world;
}

static kp_world *incompressible(const char *backend) {
  kp_test_settings s = settings(backend);
  s.domain.boundary_z = KP_BOUNDARY_PERIODIC;
  s.sph.solver = KP_SPH_SOLVER_DFSPH;
  s.sph.support = 2.0;
  kp_world *world = make_world(&s, 0.03);
  assert_true(kp_world_count(world, "brine") >= 2 * KP_REDUCE_BLOCK);
  return world;
}

static void test_weakly_compressible(void **state) {
  (void)state;
  kp_test_same_bits(weakly_compressible, 6);
}

static void test_incompressible(void **state) {
  (void)state;
  kp_test_same_bits(incompressible, 4);
}

// The same hash for any number of threads, as a figure.
static void test_threads(void **state) {
  (void)state;
  uint64_t hashes[4];
  int same = 0;
  for (int threads = 1; threads <= 4; ++threads) {
    kp_parallel_set_threads(threads);
    hashes[threads - 1] = kp_test_hash(incompressible, "cpu", 2);
    same += hashes[threads - 1] == hashes[0];
  }
  kp_parallel_set_threads(0);
  kp_claim claim = { .id = "bayraktar-B51",
                     .text = "a run has the same bits for any number of threads",
                     .size =
                         "two liquids with solid, body, jet and drain, 2 steps, 1 to 4 threads" };
  kp_claim_all(&claim, { "thread counts with the bits of one", same, KP_AT_LEAST, 4 });
  assert_int_equal(same, 4);
}

// ---- what goes between host and device ----------------------------------------------------------

// Bytes per step of a dam that breaks without output, numbers that reductions return left out.
static void test_no_copies(void **state) {
  (void)state;
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(0.8, 0.6, 0.2));
  s.backend = "mirror";
  kp_world *world = kp_test_world(&s);
  kp_liquid_def water =
      kp_test_liquid("water", kp_vec3_make(0, 0, 0), kp_vec3_make(0.3, 0.4, 0.2), 0.025);
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  kp_test_steps(world, 5);
  kp_backend_counters before = world->backend->counters;
  kp_test_steps(world, 100);
  kp_backend_counters after = world->backend->counters;
  int64_t bytes = after.bytes_in + after.bytes_out - before.bytes_in - before.bytes_out;
  double field = (double)(kp_world_count(world, "water") * (int64_t)sizeof(kp_real));
  print_message("  %lld bytes in %lld copies in 100 steps; a field has %.0f\n", (long long)bytes,
                (long long)(after.copies - before.copies), field);
  kp_claim claim = { .id = "bayraktar-C11",
                     .text = "state stays on the device: nothing but numbers is copied in a step",
                     .size = "dam of 1536 particles, mirror backend, 100 steps without output" };
  kp_claim_all(&claim, { "bytes copied per step", (double)bytes / 100.0, KP_LESS, 1024 },
               { "bytes of one field", field, KP_MORE, 1024 });
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_weakly_compressible),
    cmocka_unit_test(test_incompressible),
    cmocka_unit_test(test_threads),
    cmocka_unit_test(test_no_copies),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
