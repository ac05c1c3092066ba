kp_sources(smoke.c smoke_fire.c smoke_params.c smoke_sums.c)
kp_isa_sources(smoke_cpu.c)
kp_cuda_sources(smoke_cuda.cu)
