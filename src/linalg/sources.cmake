kp_sources(vector.c pcg.c)
kp_isa_sources(vector_cpu.c)
kp_cuda_sources(vector_cuda.cu)
