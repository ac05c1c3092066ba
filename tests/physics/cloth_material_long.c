#include "support/test.h"

#include "cloth_material.h"

static const int columns[3] = { 22, 44, 88 };

static void square_sags_as_its_modulus_says(void **state) {
  (void)state;
  kp_test_square_sags(columns, 3);
}

static void strip_droops_as_the_elastica(void **state) {
  (void)state;
  kp_test_strip_droops(columns, 3);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(square_sags_as_its_modulus_says),
    cmocka_unit_test(strip_droops_as_the_elastica),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
