kp_sources(blackbody.c fractional.c smoothing.c symmetric3.c)
