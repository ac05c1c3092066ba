// The cuda backend of a build without CUDA: it can be named, and opening it says what to do.
#include "par/backend.h"

#ifndef KP_WITH_CUDA

static kp_result open_missing(kp_backend *backend) {
  (void)backend;
  return kp_fail(KP_ERROR_BACKEND, "this build has no CUDA backend; build with the cuda preset");
}

const kp_backend_class kp_backend_cuda = {
  .name = "cuda",
  .kind = KP_BACKEND_CUDA,
  .open = open_missing,
};

#endif
