kp_sources(fire.c fire_params.c)
kp_isa_sources(fire_cpu.c)
kp_cuda_sources(fire_cuda.cu)
