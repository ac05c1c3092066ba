// The C API used wrongly: an error and a sentence, never a crash.
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "kelpie/io.h"
#include "kelpie/kelpie.h"
#include "kelpie/scene.h"

static kp_world *make_world(bool with_water) {
  kp_world *world;
  assert_ok(kp_world_create("cpu", &world));
  kp_domain_def domain = kp_default_domain_def();
  domain.min = kp_vec3_make(0.0, 0.0, 0.0);
  domain.max = kp_vec3_make(0.2, 0.2, 0.2);
  assert_ok(kp_world_set_domain(world, &domain));
  if (with_water) {
    kp_liquid_def water = kp_default_liquid_def();
    strcpy(water.name, "water");
    water.spacing = 0.02;
    water.shape.max = kp_vec3_make(0.1, 0.1, 0.1);
    assert_ok(kp_world_add_liquid(world, &water));
  }
  return world;
}

// Everything that needs a built world says these words.
static void refuses_all(kp_world *world, const char *words) {
  double values[4] = { 0 };
  uint64_t hash;
  int64_t count;
  kp_probe_value value;
  kp_step_report report;
  assert_fails(KP_ERROR_ARGUMENT, words, kp_world_step(world, 0.01, &report));
  assert_fails(KP_ERROR_ARGUMENT, words, kp_world_advance(world, 0.01, NULL));
  assert_fails(KP_ERROR_ARGUMENT, words, kp_world_read(world, "water", "density", 0, values, 4));
  assert_fails(KP_ERROR_ARGUMENT, words, kp_world_hash(world, &hash));
  assert_fails(KP_ERROR_ARGUMENT, words, kp_world_probe_now(world, "p", &value, 1, &count));
  assert_fails(KP_ERROR_ARGUMENT, words, kp_world_save(world, "never.kp"));
  assert_fails(KP_ERROR_ARGUMENT, words, kp_world_load(world, "never.kp"));
}

static void test_no_world(void **state) {
  (void)state;
  const kp_domain_def domain = kp_default_domain_def();
  const kp_body_def body = kp_default_body_def();
  refuses_all(NULL, "is NULL");
  assert_fails(KP_ERROR_ARGUMENT, "is NULL", kp_world_build(NULL));
  assert_fails(KP_ERROR_ARGUMENT, "is NULL", kp_world_set_domain(NULL, &domain));
  assert_fails(KP_ERROR_ARGUMENT, "is NULL", kp_world_add_body(NULL, &body));
  assert_fails(KP_ERROR_ARGUMENT, "is NULL", kp_world_set_folder(NULL, "."));
  assert_fails(KP_ERROR_ARGUMENT, "is NULL", kp_world_create("cpu", NULL));
  assert_int_equal(kp_world_count(NULL, "water"), -1);
  assert_int_equal(kp_world_steps(NULL), 0);
  assert_true(kp_world_time(NULL) == 0.0);
  kp_world_set_force(NULL, NULL, NULL);
  kp_world_destroy(NULL);
  kp_world *world = make_world(true);
  kp_world_destroy(&world);
  kp_world_destroy(&world);
  refuses_all(world, "is NULL");
}

static void test_null_arguments(void **state) {
  (void)state;
  kp_world *world = NULL;
  assert_fails(KP_ERROR_ARGUMENT, "is NULL", kp_world_create(NULL, &world));
  assert_null(world);
  world = make_world(true);
  assert_fails(KP_ERROR_ARGUMENT, "is NULL", kp_world_set_sph(world, NULL));
  assert_fails(KP_ERROR_ARGUMENT, "is NULL", kp_world_add_liquid(world, NULL));
  assert_fails(KP_ERROR_ARGUMENT, "is NULL", kp_world_set_folder(world, NULL));
  assert_fails(KP_ERROR_ARGUMENT, "is NULL", kp_world_load_scene(world, NULL, NULL, 0));
  assert_fails(KP_ERROR_ARGUMENT, "at NULL", kp_world_load_scene(world, "a.lua", NULL, 2));
  const kp_sph_def zeros = { 0 };
  assert_fails(KP_ERROR_ARGUMENT, "kp_default_sph_def", kp_world_set_sph(world, &zeros));
  assert_ok(kp_world_build(world));
  double value;
  assert_fails(KP_ERROR_ARGUMENT, "is NULL", kp_world_read(world, NULL, "density", 0, &value, 1));
  assert_fails(KP_ERROR_ARGUMENT, "is NULL", kp_world_read(world, "water", NULL, 0, &value, 1));
  assert_fails(KP_ERROR_ARGUMENT, "is NULL", kp_world_read(world, "water", "density", 0, NULL, 1));
  assert_fails(KP_ERROR_ARGUMENT, "component",
               kp_world_read(world, "water", "density", -1, &value, 1));
  assert_ok(kp_world_read(world, "water", "density", 0, NULL, 0));
  assert_ok(kp_world_read(world, "water", "density", 0, &value, -5));
  assert_fails(KP_ERROR_ARGUMENT, "is NULL", kp_world_hash(world, NULL));
  assert_fails(KP_ERROR_ARGUMENT, "name", kp_world_probe_now(world, NULL, NULL, 0, NULL));
  assert_fails(KP_ERROR_ARGUMENT, "is NULL", kp_world_save(world, NULL));
  assert_fails(KP_ERROR_ARGUMENT, "is NULL", kp_world_load(world, NULL));
  assert_int_equal(kp_world_count(world, NULL), -1);
  kp_world_destroy(&world);
}

static void test_wrong_times(void **state) {
  (void)state;
  kp_world *world = make_world(true);
  assert_ok(kp_world_build(world));
  const double wrong[] = { -1.0, NAN, INFINITY, -INFINITY };
  for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; ++i) {
    assert_fails(KP_ERROR_ARGUMENT, "it must be positive", kp_world_step(world, wrong[i], NULL));
    assert_fails(KP_ERROR_ARGUMENT, "must be finite and not negative",
                 kp_world_advance(world, wrong[i], NULL));
  }
  assert_fails(KP_ERROR_ARGUMENT, "positive", kp_world_step(world, 0.0, NULL));
  assert_ok(kp_world_advance(world, 0.0, NULL));
  assert_true(kp_world_time(world) == 0.0);
  assert_int_equal(kp_world_steps(world), 0);
  assert_ok(kp_world_advance(world, 1e-3, NULL));
  assert_near(kp_world_time(world), 1e-3, 1e-15);
  kp_world_destroy(&world);
}

static void test_wrong_order(void **state) {
  (void)state;
  kp_world *world = make_world(false);
  refuses_all(world, "not built");
  // refused by the check, which leaves nothing behind: the world may be mended
  assert_fails(KP_ERROR_SCENE, "nothing can ever move", kp_world_build(world));
  refuses_all(world, "not built");
  kp_body_def ball = kp_default_body_def();
  strcpy(ball.name, "ball");
  ball.shape.max = kp_vec3_make(0.05, 0.05, 0.05);
  assert_ok(kp_world_add_body(world, &ball));
  assert_ok(kp_world_build(world));
  assert_fails(KP_ERROR_ARGUMENT, "is built", kp_world_build(world));
  assert_fails(KP_ERROR_ARGUMENT, "is built", kp_world_add_body(world, &ball));
  assert_ok(kp_world_advance(world, 1e-3, NULL));
  kp_world_destroy(&world);
}

// Each allocation of the build fails in turn; what is left can be asked and destroyed.
static void test_failed_build(void **state) {
  (void)state;
  int64_t before = kp_memory_bytes();
  int n_failed = 0, n_refused = 0;
  for (int64_t k = 0; k < 400; k += 7) {
    kp_world *world = make_world(true);
    kp_memory_fail_at(k);
    kp_result result = kp_world_build(world);
    kp_memory_fail_at(-1);
    assert_true(result == KP_OK || result == KP_ERROR_MEMORY);
    n_failed += result != KP_OK;
    if (result != KP_OK && kp_world_count(world, "water") >= 0) {
      ++n_refused;
      refuses_all(world, "can only be destroyed");
      assert_fails(KP_ERROR_ARGUMENT, "can only be destroyed", kp_world_build(world));
    }
    kp_world_destroy(&world);
    assert_int_equal(kp_memory_bytes(), before);
  }
  print_message("%d builds failed, of %d something was left\n", n_failed, n_refused);
  assert_true(n_failed > 20 && n_refused > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_no_world),     cmocka_unit_test(test_null_arguments),
    cmocka_unit_test(test_wrong_times),  cmocka_unit_test(test_wrong_order),
    cmocka_unit_test(test_failed_build),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
