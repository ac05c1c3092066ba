// Each allocation fails in turn while two sheets and a hair that go through each other are parted:
// the sentence says so, and nothing leaks.
#include "support/test.h"

#include "support/bag.h"
#include "support/faults.h"

#define WAY 0.3  // m that the upper sheet would go down

static kp_result part(kp_bag *bag) {
  KP_TRY(kp_contact_find(bag->contact, bag->from, &bag->inverse_mass));
  for (kp_index i = 0; i < kp_bag_nodes(bag); ++i) {
    kp_vec3 x = kp_bag_get(bag, bag->from, i);
    if (bag->object.data[i] == 1) {
      kp_bag_set(bag, bag->to, i, kp_vec3_make(x.x, x.y - WAY, x.z));
      kp_bag_set_velocity(bag, i, kp_vec3_make(0.0, -60.0 * WAY, 0.0));
    }
  }
  kp_contact_motion motion = { .from = bag->from,
                               .x = bag->to,
                               .v = bag->v,
                               .inverse_mass = &bag->inverse_mass,
                               .time = 1.0 / 60.0,
                               .dt = 1.0 / 960.0 };
  return kp_contact_resolve(bag->contact, &motion);
}

static kp_result close_and_part(void *user) {
  kp_bag *bag = user;
  kp_result result = kp_bag_try_close(bag, KP_BACKEND_CPU);
  if (result == KP_OK) {
    result = part(bag);
  }
  if (result == KP_OK) {
    assert_true(kp_contact_told(bag->contact)->n_collisions > 0);
    assert_true(kp_contact_told(bag->contact)->n_zones > 0);
  }
  kp_bag_open(bag);
  return result;
}

static void test_contact(void **state) {
  kp_bag bag = kp_bag_make();
  bag.def.attempts = 0;  // so that zones are needed
  kp_bag_add_sheet(&bag, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 0, 0), kp_vec3_make(0, 0, 1), 3, 3,
                   0.01);
  kp_bag_add_sheet(&bag, kp_vec3_make(0.1, 0.1, 0.2), kp_vec3_make(1, 0, 0),
                   kp_vec3_make(0, 0.05, 1), 3, 3, 0.01);
  kp_bag_add_hair(&bag, kp_vec3_make(0.5, 0.05, 0), kp_vec3_make(0.5, 0.05, 1), 4, 0.001);
  kp_faults faults = { .folder = *state, .work = close_and_part, .user = &bag };
  kp_faults_tried tried = kp_faults_try(&faults);
  print_message("%lld allocations\n", (long long)tried.n_allocations);
  assert_between(tried.n_allocations, 50, 400);
  kp_bag_free(&bag);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_contact, kp_faults_folder_make, kp_test_folder_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
