# kp_test(name SOURCES file.c LABELS fast)
kp_test(test_render SOURCES test_render.c LABELS fast)
kp_test(test_render_frames SOURCES test_render_frames.c LABELS fast)
