kp_sources(cloth.c cloth_params.c deform.c deform_forces.c deform_pins.c deform_schemes.c
           deform_setup.c part.c solids_params.c)
kp_isa_sources(deform_cpu.c)
kp_cuda_sources(deform_cuda.cu)
