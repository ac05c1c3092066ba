kp_sources(mps.c mps_params.c mps_passes.c mps_pressure.c mps_setup.c)
kp_isa_sources(mps_cpu.c)
kp_cuda_sources(mps_cuda.cu)
