kp_sources(plasma.c plasma_params.c)
kp_isa_sources(plasma_cpu.c)
kp_cuda_sources(plasma_cuda.cu)
