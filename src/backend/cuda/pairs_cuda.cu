#include "backend/cuda/pairs_cuda.h"

extern "C" {
#include "data/pairs.h"
}

// The launcher knows how much it packs per element, so it is asked first. All work is ordered on
// one stream: the scratch memory may be handed on before the kernel has run.
kp_result kp_cuda_pairs(kp_backend *backend, const kp_kernel *kernel, const struct kp_pair_job *job,
                        const void *args) {
  kp_pair_job own = *job;
  void *stream = kp_cuda_stream(backend);
  own.packed = nullptr;
  int code = kernel->cuda(own.i.n, args, &own, stream);
  if (code == 0 && own.i.n > 0) {
    own.packed = kp_backend_scratch(backend, own.packed_size);
    if (own.packed == nullptr) {
      return KP_ERROR_MEMORY;
    }
    code = kernel->cuda(own.i.n, args, &own, stream);
  }
  return kp_cuda_result((cudaError_t)code, kernel->name);
}
