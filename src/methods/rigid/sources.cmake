kp_sources(rigid.c rigid_params.c)
