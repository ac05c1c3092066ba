kp_test(test_steady SOURCES test_steady.c LABELS fast)
