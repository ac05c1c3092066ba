#include "support/test.h"

#include "shells.h"

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(kp_test_noodle_and_controls),
    cmocka_unit_test(kp_test_arch),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
