// Names are found, each with its number, whatever was added before them.
#include "support/test.h"

#include <stdio.h>

#include "base/names.h"

static void test_found_among_many(void **state) {
  (void)state;
  kp_names names = { 0 };
  assert_null(kp_names_find(&names, "b0"));
  char name[32];
  for (size_t i = 0; i < 5000; ++i) {
    snprintf(name, sizeof name, "b%zu", i);
    assert_null(kp_names_find(&names, name));
    assert_ok(kp_names_add(&names, name, 3 * i));
  }
  for (size_t i = 0; i < 5000; ++i) {
    snprintf(name, sizeof name, "b%zu", i);
    const kp_name *found = kp_names_find(&names, name);
    assert_non_null(found);
    assert_string_equal(found->text, name);
    assert_int_equal(found->value, 3 * i);
  }
  assert_null(kp_names_find(&names, "b5000"));
  assert_null(kp_names_find(&names, ""));
  kp_names_free(&names);
}

static void test_first_of_a_name_is_found(void **state) {
  (void)state;
  kp_names names = { 0 };
  assert_ok(kp_names_add(&names, "tap", 1));
  assert_ok(kp_names_add(&names, "tap", 2));
  for (size_t i = 0; i < 100; ++i) {  // through some growth
    char name[16];
    snprintf(name, sizeof name, "n%zu", i);
    assert_ok(kp_names_add(&names, name, i));
  }
  assert_int_equal(kp_names_find(&names, "tap")->value, 1);
  kp_names_free(&names);
}

static void test_failed_allocations(void **state) {
  (void)state;
  for (int64_t k = 0;; ++k) {
    kp_names names = { 0 };
    kp_memory_fail_at(k);
    kp_result result = kp_names_add(&names, "tap", 7);
    kp_memory_fail_at(-1);
    assert_true(result == KP_OK || result == KP_ERROR_MEMORY);
    assert_true((kp_names_find(&names, "tap") != NULL) == (result == KP_OK));
    kp_names_free(&names);
    if (result == KP_OK) {
      assert_true(k >= 3);
      return;
    }
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_found_among_many),
    cmocka_unit_test(test_first_of_a_name_is_found),
    cmocka_unit_test(test_failed_allocations),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
