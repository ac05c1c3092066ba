kp_sources(fluid_grains.c fluid_rigid.c)
kp_isa_sources(fluid_grains_cpu.c)
kp_cuda_sources(fluid_grains_cuda.cu)
