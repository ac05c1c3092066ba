kp_sources()
