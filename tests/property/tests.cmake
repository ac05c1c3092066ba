kp_test(test_registry SOURCES test_registry.c LABELS fast)
