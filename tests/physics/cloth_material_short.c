#include "support/test.h"

#include "cloth_material.h"

static const int columns[2] = { 22, 44 };

static void square_sags_as_its_modulus_says(void **state) {
  (void)state;
  kp_test_square_sags(columns, 2);
}

static void strip_droops_as_the_elastica(void **state) {
  (void)state;
  kp_test_strip_droops(columns, 2);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(square_sags_as_its_modulus_says),
    cmocka_unit_test(strip_droops_as_the_elastica),
    cmocka_unit_test_setup_teardown(kp_test_mesh_droops, kp_test_folder_make,
                                    kp_test_folder_remove),
    cmocka_unit_test(kp_test_patterns_and_schemes),
    cmocka_unit_test(kp_test_constants),
    cmocka_unit_test(kp_test_refused_keys),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
