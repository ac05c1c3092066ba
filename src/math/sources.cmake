kp_sources(fractional.c smoothing.c)
