kp_test(test_registry SOURCES test_registry.c LABELS fast)
kp_test(test_pair_sets SOURCES test_pairs.c LABELS fast)
kp_test(test_size_classes SOURCES test_size_classes.c LABELS fast)
