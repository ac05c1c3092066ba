kp_sources(backend_cuda_missing.c)
kp_cuda_sources(
  backend_cuda.cu
  primitives_cuda.cu)
