kp_test(test_field_faults SOURCES test_field_faults.c LABELS fast)
