kp_sources(rigid.c)
