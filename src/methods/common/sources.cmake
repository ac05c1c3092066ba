kp_sources(force_field.c grid_params.c integrate.c medium.c medium_population.c scatter.c walls.c)
kp_isa_sources(force_field_cpu.c integrate_cpu.c medium_cpu.c)
kp_cuda_sources(force_field_cuda.cu integrate_cuda.cu medium_cuda.cu)
