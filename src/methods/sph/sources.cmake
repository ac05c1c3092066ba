kp_sources(sph.c sph_params.c sph_passes.c sph_setup.c)
kp_isa_sources(sph_cpu.c)
kp_cuda_sources(sph_cuda.cu)
