kp_sources(backend_mirror.c)
