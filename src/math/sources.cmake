kp_sources(blackbody.c fractional.c smoothing.c)
