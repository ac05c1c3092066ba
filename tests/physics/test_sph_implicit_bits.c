// Same bits with the implicit pressure solver: a world periodic in z, with two liquids, a moving
// collider, a free body, an emitter and a sink gives
// one hash for any number of threads, any instruction set, on the mirror backend, and after a
// rewind.
#include <math.h>
#include <stdio.h>

#include "par/kernel.h"
#include "par/parallel.h"

#include "support/worlds.h"

#define DX 0.03
#define STEPS 4

// Each liquid holds several blocks of 4096 particles, the largest chunk of any loop.
static kp_world *make_world(const char *backend) {
  kp_test_settings s =
      kp_test_settings_make(3, kp_vec3_make(0, 0, 0), kp_vec3_make(2.0, 1.2, 0.64));
  s.backend = backend;
  s.domain.boundary_z = KP_BOUNDARY_PERIODIC;
  s.sph.solver = KP_SPH_SOLVER_DFSPH;
  s.sph.support = 2.0;
  kp_world *world = kp_test_world(&s);
  kp_liquid_def brine =
      kp_test_liquid("brine", kp_vec3_make(0, 0, 0), kp_vec3_make(0.68, 0.64, 0.64), DX);
  kp_liquid_def oil =
      kp_test_liquid("oil", kp_vec3_make(0.68, 0, 0), kp_vec3_make(1.36, 0.64, 0.64), DX);
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
  jet.position = kp_vec3_make(1.7, 0.9, 0.32);
  jet.speed = kp_curve_constant(8.0);
  assert_ok(kp_world_add_emitter(world, &jet));
  kp_sink_def drain = kp_default_sink_def();
  snprintf(drain.name, sizeof drain.name, "drain");
  drain.shape = kp_test_box(kp_vec3_make(1.3, -1, -1), kp_vec3_make(1.5, 0.2, 2));
  assert_ok(kp_world_add_sink(world, &drain));
  kp_test_log_begin();
  assert_ok(kp_world_build(world));
  kp_test_log_end();
  assert_true(kp_world_count(world, "brine") >= 2 * KP_REDUCE_BLOCK);
  return world;
}

static uint64_t hash_of(kp_world *world) {
  uint64_t hash;
  assert_ok(kp_world_hash(world, &hash));
  return hash;
}

static uint64_t run_hash(const char *backend) {
  kp_world *world = make_world(backend);
  kp_test_steps(world, STEPS);
  uint64_t hash = hash_of(world);
  kp_world_destroy(&world);
  return hash;
}

static uint64_t reference;

static void test_threads(void **state) {
  (void)state;
  for (int threads = 1; threads <= 3; ++threads) {
    kp_parallel_set_threads(threads);
    uint64_t hash = run_hash("cpu");
    reference = threads == 1 ? hash : reference;
    assert_true(hash == reference);
  }
  kp_parallel_set_threads(0);
}

static void test_instruction_sets(void **state) {
  (void)state;
  kp_isa best = kp_isa_current();
  for (int isa = KP_ISA_BASE; isa <= (int)best; ++isa) {
    kp_isa_force((kp_isa)isa);
    uint64_t hash = run_hash("cpu");
    kp_isa_force(best);
    print_message("  %s %016llx\n", kp_isa_name((kp_isa)isa), (unsigned long long)hash);
    assert_true(hash == reference);
  }
}

static void test_mirror(void **state) {
  (void)state;
  assert_true(run_hash("mirror") == reference);
}

static void test_rewind(void **state) {
  (void)state;
  kp_world *world = make_world("cpu");
  kp_snapshot *snapshot = NULL;
  kp_test_steps(world, STEPS / 2);
  assert_ok(kp_registry_save(world->registry, &snapshot));
  uint64_t before = hash_of(world);
  kp_test_steps(world, STEPS - STEPS / 2);
  assert_true(hash_of(world) == reference);
  assert_ok(kp_registry_rewind(world->registry, snapshot));
  assert_ok(kp_world_after_load(world));
  assert_true(hash_of(world) == before);
  kp_test_steps(world, STEPS - STEPS / 2);
  assert_true(hash_of(world) == reference);
  kp_snapshot_free(&snapshot);
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_threads),
    cmocka_unit_test(test_instruction_sets),
    cmocka_unit_test(test_mirror),
    cmocka_unit_test(test_rewind),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
