// What a step costs beside arithmetic: a world of constant size allocates nothing and moves next to
// nothing between host and device; growth is counted.
#include "support/test.h"

#include <math.h>

#include "base/memory.h"
#include "cases/cases.h"
#include "world/world.h"

#define WARM_STEPS 20
#define STEPS 50
#define BYTES_PER_STEP 1024

static kp_world *make_world(const char *backend, const kp_dam_break_def *def) {
  kp_world *world = NULL;
  assert_ok(kp_world_create(backend, &world));
  assert_ok(kp_case_dam_break(world, def));
  assert_ok(kp_world_build(world));
  return world;
}

static void take_steps(kp_world *world, int n) {
  for (int s = 0; s < n; ++s) {
    assert_ok(kp_world_step(world, 1.0, NULL));
  }
}

static void check_no_allocation(const char *backend, const kp_dam_break_def *def) {
  kp_world *world = make_world(backend, def);
  take_steps(world, WARM_STEPS);
  int64_t count = kp_world_count(world, "water");
  int64_t allocations = kp_memory_allocations();
  int64_t device_allocations = world->backend->counters.device_allocations;
  take_steps(world, STEPS);
  assert_int_equal(kp_world_count(world, "water"), count);
  assert_int_equal(kp_memory_allocations(), allocations);
  assert_int_equal(world->backend->counters.device_allocations, device_allocations);
  kp_world_destroy(&world);
}

static void test_plain_steps_allocate_nothing(void **state) {
  (void)state;
  kp_dam_break_def def = kp_default_dam_break_def();
  check_no_allocation("cpu", &def);
  check_no_allocation("mirror", &def);
}

static void test_steps_of_all_parts_allocate_nothing(void **state) {
  (void)state;
  kp_dam_break_def def = kp_default_dam_break_def();
  def.particles = 2000;
  def.body = true;
  def.sides = KP_BOUNDARY_PERIODIC;
  check_no_allocation("cpu", &def);
  check_no_allocation("mirror", &def);
}

static void test_two_evaluations_allocate_nothing(void **state) {
  (void)state;
  kp_dam_break_def def = kp_default_dam_break_def();
  def.particles = 2000;
  def.sph.kernel = KP_SPH_WENDLAND;
  def.sph.density = 1;
  def.sph.integrator = KP_INTEGRATOR_RK2;
  check_no_allocation("cpu", &def);
  check_no_allocation("mirror", &def);
}

// The mirror counts what a card would copy: the numbers of a report, never an array.
static void check_copies(const kp_dam_break_def *def) {
  kp_world *world = make_world("mirror", def);
  take_steps(world, WARM_STEPS);
  kp_backend_counters before = world->backend->counters;
  take_steps(world, STEPS);
  kp_backend_counters after = world->backend->counters;
  assert_true(after.launches > before.launches);
  assert_true(after.bytes_in - before.bytes_in < STEPS * BYTES_PER_STEP);
  assert_true(after.bytes_out - before.bytes_out < STEPS * BYTES_PER_STEP);
  kp_world_destroy(&world);
}

static void test_only_scalars_are_copied(void **state) {
  (void)state;
  kp_dam_break_def def = kp_default_dam_break_def();
  check_copies(&def);
  // the counts of periodic images are scalars too
  def.particles = 2000;
  def.sides = KP_BOUNDARY_PERIODIC;
  check_copies(&def);
}

// Emission copies the new particles alone, and memory grows by a factor, so seldom.
static void test_growth_is_counted(void **state) {
  (void)state;
  kp_dam_break_def def = kp_default_dam_break_def();
  def.particles = 500;
  def.jet = true;
  kp_world *world = make_world("mirror", &def);
  const kp_space *space = kp_registry_find(world->registry, "water");
  assert_non_null(space);
  int64_t growths = space->growths;
  int64_t allocations = kp_memory_allocations();
  int64_t device_allocations = world->backend->counters.device_allocations;
  int64_t bytes_in = world->backend->counters.bytes_in;
  int64_t count = space->n;
  take_steps(world, 400);
  assert_true(space->n > count);
  assert_true(space->growths > growths);
  assert_true(kp_memory_allocations() > allocations);
  // what steady steps are held by does count
  assert_true(world->backend->counters.device_allocations > device_allocations);
  assert_true(world->backend->counters.bytes_in >
              bytes_in + (space->n - count) * (int64_t)sizeof(kp_vec3));
  // each array by half at a time
  double arrays = 0.0;
  for (size_t k = 0; k < space->fields.count; ++k) {
    arrays += space->fields.data[k]->components;
  }
  double most = 1.0 + ceil(log((double)space->n / (double)count) / log(1.5));
  assert_true((double)(space->growths - growths) <= most * arrays);
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_plain_steps_allocate_nothing),
    cmocka_unit_test(test_steps_of_all_parts_allocate_nothing),
    cmocka_unit_test(test_two_evaluations_allocate_nothing),
    cmocka_unit_test(test_only_scalars_are_copied),
    cmocka_unit_test(test_growth_is_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
