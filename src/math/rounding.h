// Arithmetic that rounds alike everywhere. A card fuses a product with the sum it goes into, which
// is as good or better, except where large numbers cancel: then what is left is the rounding, and
// hosts and cards would tell different stories.
#pragma once

#include <math.h>

#include "kelpie/config.h"

// a b, rounded before anything is added to it.
KP_FN kp_real kp_product(kp_real a, kp_real b) {
#if defined(__CUDA_ARCH__) && defined(KELPIE_DOUBLE)
  return __dmul_rn(a, b);
#elif defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  return a * b;
#endif
}

// The square root, correctly rounded: cards are built with a faster one.
KP_FN kp_real kp_root(kp_real a) {
#if defined(__CUDA_ARCH__) && defined(KELPIE_DOUBLE)
  return __dsqrt_rn(a);
#elif defined(__CUDA_ARCH__)
  return __fsqrt_rn(a);
#else
  return (kp_real)sqrt((double)a);
#endif
}
