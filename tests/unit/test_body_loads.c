// Sums of what media do to bodies that are watched.
#include "support/test.h"

#include <math.h>

#include "data/loads.h"

typedef struct table {
  kp_backend *backend;
  kp_registry *registry;
  kp_loads *loads;
  int water, air;
} table;

// Bodies 3, 5 and 3 again are watched.
static table make_table(void) {
  table t = { 0 };
  assert_ok(kp_backend_create(KP_BACKEND_CPU, &t.backend));
  assert_ok(kp_registry_create(t.backend, &t.registry));
  assert_ok(kp_loads_create(t.registry, &t.loads));
  assert_ok(kp_loads_watch(t.loads, 3));
  assert_ok(kp_loads_watch(t.loads, 5));
  assert_ok(kp_loads_watch(t.loads, 3));
  assert_ok(kp_loads_medium(t.loads, "water", false, &t.water));
  assert_ok(kp_loads_medium(t.loads, "air", true, &t.air));
  assert_ok(kp_loads_close(t.loads));
  return t;
}

static void free_table(table *t) {
  kp_loads_destroy(&t->loads);
  kp_registry_destroy(&t->registry);
  kp_backend_destroy(&t->backend);
}

static kp_load load(double force, double torque) {
  return (kp_load){ kp_vec3_make(force, 2.0 * force, -force), kp_vec3_make(0, 0, torque) };
}

static kp_load mean(const table *t, size_t k, int medium, double time) {
  kp_load media[2];
  kp_loads_mean(t->loads, k, time, media);
  return media[medium];
}

static void test_media_by_name(void **state) {
  (void)state;
  table t = make_table();
  int again;
  assert_ok(kp_loads_medium(t.loads, "water", false, &again));
  assert_int_equal(again, t.water);
  assert_true(t.water != t.air);
  assert_ok(kp_loads_medium(NULL, "water", false, &again));
  assert_int_equal(again, KP_LOADS_NONE);
  assert_true(kp_loads_watches(t.loads, 3) && kp_loads_watches(t.loads, 5));
  assert_false(kp_loads_watches(t.loads, 4) || kp_loads_watches(NULL, 3));
  free_table(&t);
}

// Forces become impulses of the sub-step, impulses are taken as they are, and all watches of a body
// get them.
static void test_means(void **state) {
  (void)state;
  table t = make_table();
  kp_loads_set(t.loads, 3, t.water, load(9.0, 0.0));
  kp_loads_set(t.loads, 3, t.water, load(1.0, 4.0));
  kp_loads_add(t.loads, 3, t.water, load(1.0, 0.0));
  kp_loads_add(t.loads, 4, t.water, load(7.0, 7.0));
  kp_loads_commit(t.loads, 0.5);
  kp_loads_commit(t.loads, 0.5);  // nothing is left
  kp_loads_push(t.loads, 5, t.air, load(3.0, 1.0));
  kp_loads_push(t.loads, 5, KP_LOADS_NONE, load(3.0, 1.0));
  for (size_t k = 0; k < 3; k += 2) {
    assert_vec3_near(mean(&t, k, t.water, 2.0).force, kp_vec3_make(0.5, 1.0, -0.5), 1e-15);
    assert_near(mean(&t, k, t.water, 2.0).torque.z, 1.0, 1e-15);
    assert_near(mean(&t, k, t.air, 2.0).force.x, 0.0, 0.0);
  }
  assert_near(mean(&t, 1, t.air, 2.0).force.x, 1.5, 1e-15);
  assert_true(isnan(mean(&t, 0, t.water, 0.0).force.x));
  kp_loads_take(t.loads, 0, 2.0);
  kp_loads_push(t.loads, 3, t.water, load(1.0, 0.0));
  assert_near(mean(&t, 0, t.water, 4.0).force.x, 0.5, 1e-15);
  assert_near(mean(&t, 2, t.water, 4.0).force.x, 0.5, 1e-15);
  free_table(&t);
}

static void test_going_back(void **state) {
  (void)state;
  table t = make_table();
  kp_loads_push(t.loads, 5, t.water, load(1.0, 2.0));
  assert_ok(kp_loads_keep(t.loads));
  kp_loads_push(t.loads, 5, t.water, load(10.0, 20.0));
  kp_loads_go_back(t.loads);
  assert_near(mean(&t, 1, t.water, 1.0).force.x, 1.0, 0.0);
  kp_loads_set(t.loads, 5, t.water, load(5.0, 5.0));
  kp_loads_clear(t.loads);
  kp_loads_commit(t.loads, 1.0);
  assert_near(mean(&t, 1, t.water, 1.0).torque.z, 2.0, 0.0);
  // a rewind of the world brings the sums back
  kp_snapshot *snapshot = NULL;
  assert_ok(kp_registry_save(t.registry, &snapshot));
  kp_loads_take(t.loads, 1, 1.0);
  assert_ok(kp_registry_rewind(t.registry, snapshot));
  assert_near(mean(&t, 1, t.water, 2.0).force.x, 0.5, 0.0);
  kp_snapshot_free(&snapshot);
  // nobody watches
  kp_loads_clear(NULL);
  kp_loads_commit(NULL, 1.0);
  kp_loads_push(NULL, 3, 0, load(1.0, 1.0));
  kp_loads_go_back(NULL);
  assert_ok(kp_loads_keep(NULL));
  free_table(&t);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_media_by_name),
    cmocka_unit_test(test_means),
    cmocka_unit_test(test_going_back),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
