kp_sources(smoothing.c)
