kp_sources(fluid_rigid.c)
