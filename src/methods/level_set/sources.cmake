kp_sources(pls.c pls_balance.c pls_params.c pls_particles.c pls_pour.c pls_setup.c pls_volume.c)
kp_isa_sources(pls_cpu.c)
kp_cuda_sources(pls_cuda.cu)
