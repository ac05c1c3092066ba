kp_sources(stf.c stf_memory.c stf_params.c stf_solids.c stf_springs.c)
kp_isa_sources(stf_cpu.c)
kp_cuda_sources(stf_cuda.cu)
