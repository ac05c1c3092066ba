kp_sources(springs.c springs_params.c)
kp_isa_sources(springs_cpu.c)
kp_cuda_sources(springs_cuda.cu)
