kp_sources(sph.c sph_fractional.c sph_implicit.c sph_params.c sph_passes.c sph_setup.c sph_shift.c)
kp_isa_sources(sph_cpu.c sph_implicit_cpu.c sph_shift_cpu.c)
kp_cuda_sources(sph_cuda.cu sph_implicit_cuda.cu sph_shift_cuda.cu)
