kp_sources(grains.c grains_laws.c grains_params.c grains_passes.c grains_setup.c)
kp_isa_sources(grains_cpu.c)
kp_cuda_sources(grains_cuda.cu)
