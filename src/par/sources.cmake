kp_sources(
  backend.c
  comm.c
  isa.c
  parallel.c)
