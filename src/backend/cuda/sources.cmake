kp_sources(backend_cuda_missing.c)
kp_cuda_sources(
  backend_cuda.cu
  pairs_cuda.cu
  primitives_cuda.cu)
