kp_sources(integrate.c medium.c medium_population.c walls.c)
kp_isa_sources(integrate_cpu.c medium_cpu.c)
kp_cuda_sources(integrate_cuda.cu medium_cuda.cu)
