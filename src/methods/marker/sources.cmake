kp_sources(marker.c marker_params.c)
kp_isa_sources(marker_cpu.c)
kp_cuda_sources(marker_cuda.cu)
