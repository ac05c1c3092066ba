kp_sources(sph.c sph_adhesion.c sph_confined.c sph_fractional.c sph_implicit.c sph_mix.c sph_params.c sph_passes.c sph_setup.c sph_shift.c sph_tension.c sph_viscous.c)
kp_isa_sources(sph_cpu.c sph_adhesion_cpu.c sph_confined_cpu.c sph_implicit_cpu.c sph_mix_cpu.c sph_shift_cpu.c sph_tension_cpu.c sph_viscous_cpu.c)
kp_cuda_sources(sph_cuda.cu sph_adhesion_cuda.cu sph_confined_cuda.cu sph_implicit_cuda.cu sph_mix_cuda.cu sph_shift_cuda.cu sph_tension_cuda.cu sph_viscous_cuda.cu)
