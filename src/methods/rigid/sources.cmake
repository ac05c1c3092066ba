kp_sources(rigid.c rigid_contacts.c rigid_params.c rigid_solver.c)
