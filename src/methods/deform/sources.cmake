kp_sources(cloth.c cloth_params.c deform.c deform_forces.c deform_pins.c deform_schemes.c
           deform_setup.c deform_tets.c hair.c hair_links.c hair_params.c
           hair_step.c part.c soft.c soft_params.c solids_params.c)
kp_isa_sources(deform_cpu.c hair_cpu.c)
kp_cuda_sources(deform_cuda.cu hair_cuda.cu)
