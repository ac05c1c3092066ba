// Groups, the interval of a world, and the schedule, with methods made for the test.
#include "support/test.h"

#include <math.h>
#include <signal.h>
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "kelpie/kelpie.h"
#include "world/world.h"

typedef struct counter {
  double limit;  // s
  int steps;
  double total;  // s stepped through
  double last_time;
} counter;

static kp_result count_predict(void *self, kp_env *env) {
  counter *c = self;
  c->steps += 1;
  c->total += env->dt;
  c->last_time = env->time;
  return KP_OK;
}

static double count_limit(void *self, kp_env *env) {
  (void)env;
  return ((counter *)self)->limit;
}

static const kp_method counting = {
  .name = "counting",
  .stages = { [KP_STAGE_PREDICT] = count_predict },
  .max_dt = count_limit,
};

// A world with one resting drop, to which methods are added by hand.
static kp_world *small_world(void) {
  kp_world *world;
  assert_ok(kp_world_create("cpu", &world));
  kp_liquid_def water = kp_default_liquid_def();
  memcpy(water.name, "water", 6);
  water.spacing = 0.1;
  water.shape.kind = KP_SHAPE_BOX;
  water.shape.min = kp_vec3_make(0.2, 0.0, 0.2);
  water.shape.max = kp_vec3_make(0.5, 0.3, 0.5);
  assert_ok(kp_world_add_liquid(world, &water));
  assert_ok(kp_world_build(world));
  return world;
}

static void add(kp_world *world, counter *c, int group) {
  kp_system system = { .method = &counting, .self = c, .name = "counting", .group = group };
  assert_ok(kp_array_push(&world->systems, system));
  world->n_groups = group + 1 > world->n_groups ? group + 1 : world->n_groups;
}

static void test_groups_take_their_own_steps(void **state) {
  (void)state;
  kp_world *world = small_world();
  counter slow = { .limit = 1e-4 };
  counter fast = { .limit = 1e-5 };
  add(world, &slow, 1);
  add(world, &fast, 2);
  kp_step_report report;
  assert_ok(kp_world_advance(world, 1e-3, &report));
  // every group passes through the same time, each with its own steps
  assert_near(slow.total, 1e-3, 1e-15);
  assert_near(fast.total, 1e-3, 1e-15);
  assert_near(kp_world_time(world), 1e-3, 0.0);
  // those of its limit, and up to two more where the slower groups stop on their way
  assert_between(slow.steps, 10, 12);
  assert_between(fast.steps, 100, 124);
  assert_true(report.steps >= 100);
  kp_world_destroy(&world);
}

static void test_strong_coupling_shares_the_step(void **state) {
  (void)state;
  kp_world *world = small_world();
  counter strict = { .limit = 2e-5 };
  counter loose = { .limit = 1.0 };
  add(world, &strict, 0);
  add(world, &loose, 0);
  assert_ok(kp_world_advance(world, 1e-3, NULL));
  assert_int_equal(strict.steps, loose.steps);
  assert_true(strict.steps >= 50);
  kp_world_destroy(&world);
}

// The last two steps of an interval are halves of what is left: none is a sliver.
static void test_no_sliver_step(void **state) {
  (void)state;
  kp_world *world = small_world();
  counter c = { .limit = 3e-4 };
  add(world, &c, 0);
  double shortest = 1.0;
  double left = 1e-3;
  while (left > 0.0) {
    kp_step_report report;
    assert_ok(kp_world_step(world, left, &report));
    shortest = fmin(shortest, report.dt);
    left = report.dt >= left ? 0.0 : left - report.dt;
  }
  assert_true(shortest > 0.4 * 3e-4);
  kp_world_destroy(&world);
}

static void test_schedule_names_stages_and_systems(void **state) {
  (void)state;
  kp_world *world = small_world();
  counter c = { .limit = 1.0 };
  add(world, &c, 1);
  kp_text text = { 0 };
  assert_ok(kp_world_schedule(world, &text));
  assert_holds(text.data, "forces      sph");
  assert_holds(text.data, "solve       sph fluid-rigid");
  assert_holds(text.data, "group 1");
  assert_holds(text.data, "predict     counting");
  kp_text_free(&text);
  kp_world_destroy(&world);
}

static void test_defs_are_fixed_after_build(void **state) {
  (void)state;
  kp_world *world = small_world();
  kp_domain_def domain = kp_default_domain_def();
  assert_fails(KP_ERROR_ARGUMENT, "built", kp_world_set_domain(world, &domain));
  double x;
  assert_fails(KP_ERROR_ARGUMENT, "no set", kp_world_read(world, "wine", "position", 0, &x, 1));
  assert_fails(KP_ERROR_ARGUMENT, "no field", kp_world_read(world, "water", "colour", 0, &x, 1));
  assert_fails(KP_ERROR_ARGUMENT, "component", kp_world_read(world, "water", "position", 3, &x, 1));
  assert_int_equal(kp_world_count(world, "wine"), -1);
  kp_world_destroy(&world);
}

// What follows a load is bit for bit what would have followed the save.
static void test_save_and_load(void **state) {
  const char *path = kp_test_path(*state, "state.kpf");
  kp_world *first = small_world();
  uint64_t saved;
  assert_ok(kp_world_advance(first, 2e-3, NULL));
  assert_ok(kp_world_save(first, path));
  assert_ok(kp_world_hash(first, &saved));
  assert_ok(kp_world_advance(first, 2e-3, NULL));
  kp_world *second = small_world();
  assert_ok(kp_world_load(second, path));
  assert_near(kp_world_time(second), 2e-3, 0.0);
  assert_ok(kp_world_advance(second, 2e-3, NULL));
  uint64_t hashes[2];
  assert_ok(kp_world_hash(first, &hashes[0]));
  assert_ok(kp_world_hash(second, &hashes[1]));
  assert_true(hashes[0] == hashes[1]);
  assert_true(hashes[0] != saved);

  // a damaged file is refused and the world stays as it was
  size_t size;
  char *bytes = kp_test_read_file(path, &size);
  bytes[size / 2] ^= 1;
  kp_test_write_file(path, bytes, size);
  kp_free(bytes);
  assert_int_equal(kp_world_load(second, path), KP_ERROR_FORMAT);
  assert_ok(kp_world_hash(second, &hashes[1]));
  assert_true(hashes[0] == hashes[1]);
  kp_world_destroy(&first);
  kp_world_destroy(&second);
}

static void test_load_scene(void **state) {
  const char *path = kp_test_path(*state, "drop.lua");
  const char scene[] = "liquid \"drop\" { spacing = 0.1,\n"
                       "  shape = box { min = {0.2, 0, 0.2}, max = {0.5, 0.3, 0.5} } }\n";
  kp_test_write_file(path, scene, sizeof scene - 1);
  kp_world *world;
  const char *const sets[] = { "drop.spacing=0.15" };
  assert_ok(kp_world_create("cpu", &world));
  assert_ok(kp_world_load_scene(world, path, sets, 1));
  assert_ok(kp_world_build(world));
  assert_int_equal(kp_world_count(world, "drop"), 8);
  kp_world_destroy(&world);
}

// Late in the interval nothing is finite any more, and somebody asks to stop at the n-th such time.
typedef struct late_trouble {
  int64_t times, stop_at;
  volatile sig_atomic_t stop;
} late_trouble;

static void turn_bad(const kp_force_view *view, void *user) {
  late_trouble *trouble = user;
  if (view->time > 5e-3 && view->n > 0) {
    view->ax[0] = (kp_real)NAN;
    trouble->times += 1;
    trouble->stop = trouble->times == trouble->stop_at ? 1 : trouble->stop;
  }
}

static void test_retries_end_when_asked(void **state) {
  (void)state;
  for (int64_t stop_at = 0; stop_at <= 2; ++stop_at) {
    kp_world *world = small_world();
    late_trouble trouble = { .stop_at = stop_at };
    world->spec.simulation.policy = KP_POLICY_RETRY;
    world->spec.simulation.retries = 4;
    world->stop = &trouble.stop;
    uint64_t start;
    uint64_t end;
    assert_ok(kp_world_hash(world, &start));
    kp_world_set_force(world, turn_bad, &trouble);
    kp_result result = kp_world_advance(world, 1e-2, NULL);
    if (stop_at == 0) {
      assert_int_equal(result, KP_ERROR_PHYSICS);
      assert_int_equal(trouble.times, 5);
    } else {
      assert_int_equal(result, KP_STOPPED);
      assert_holds(kp_last_error(), "while trying again");
      assert_int_equal(trouble.times, stop_at);
      // as if the interval had not begun
      assert_ok(kp_world_hash(world, &end));
      assert_true(kp_world_time(world) == 0.0);
      assert_true(start == end);
    }
    kp_world_destroy(&world);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_retries_end_when_asked),
    cmocka_unit_test(test_groups_take_their_own_steps),
    cmocka_unit_test(test_strong_coupling_shares_the_step),
    cmocka_unit_test(test_no_sliver_step),
    cmocka_unit_test(test_schedule_names_stages_and_systems),
    cmocka_unit_test(test_defs_are_fixed_after_build),
    cmocka_unit_test_setup_teardown(test_save_and_load, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_load_scene, kp_test_folder_make, kp_test_folder_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
