# kp_test(name SOURCES file.c LABELS fast)
