kp_sources(
  backend_cpu.c
  scan_cpu.c
  sort_cpu.c)

kp_sources(pairs_cpu.c)
