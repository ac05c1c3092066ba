kp_sources(grains.c grains_fill.c grains_laws.c grains_params.c grains_passes.c grains_setup.c
           grains_walls.c)
kp_isa_sources(grains_cpu.c)
kp_cuda_sources(grains_cuda.cu)
