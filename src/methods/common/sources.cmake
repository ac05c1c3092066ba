kp_sources(integrate.c)
kp_isa_sources(integrate_cpu.c)
kp_cuda_sources(integrate_cuda.cu)
