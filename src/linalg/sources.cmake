kp_sources(vector.c pcg.c poisson.c pockets.c relaxed.c multigrid.c stream.c)
kp_isa_sources(vector_cpu.c poisson_cpu.c pockets_cpu.c multigrid_cpu.c stream_cpu.c)
kp_cuda_sources(vector_cuda.cu poisson_cuda.cu pockets_cuda.cu multigrid_cuda.cu stream_cuda.cu)
