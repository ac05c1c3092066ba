kp_sources(rigid.c rigid_contacts.c rigid_guard.c rigid_hits.c rigid_params.c rigid_solver.c rigid_strike.c)
