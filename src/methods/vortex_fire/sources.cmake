kp_sources(vortex_fire.c vortex_fire_grid.c vortex_fire_params.c)
kp_isa_sources(vortex_fire_cpu.c)
kp_cuda_sources(vortex_fire_cuda.cu)
