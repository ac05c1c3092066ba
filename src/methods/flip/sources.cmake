kp_sources(flip.c flip_ahead.c flip_band.c flip_bodies.c flip_crowd.c flip_params.c flip_tension.c
           flip_transfer.c flip_volume.c)
kp_isa_sources(flip_cpu.c flip_band_cpu.c flip_crowd_cpu.c)
kp_cuda_sources(flip_cuda.cu flip_band_cuda.cu flip_crowd_cuda.cu)
