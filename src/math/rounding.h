// Arithmetic that rounds alike everywhere. A card fuses a product with the sum it goes into, which
// is as good or better, except where large numbers cancel: then what is left is the rounding, and
// hosts and cards would tell different stories.
#pragma once

#include <math.h>

#include "kelpie/config.h"

// Stands between a product and a sum that a compiler would join; see KELPIE_FUSED in
// backend/mirror/backend_mirror.c. Nothing in every other build.
#if defined(KP_WITH_FUSED) && defined(__x86_64__) && !defined(__CUDACC__)
#define KP_ROUNDED(value) __asm__("" : "+x"(value))
#else
#define KP_ROUNDED(value) (void)0
#endif

// Hides from the compiler how a number came about. gcc 12 makes one fused instruction (fmaddsub) of
// a difference and a sum of products side by side, whatever -ffp-contract says; of c x + minus y
// with a `minus` that is hidden it cannot tell that it is a difference.
#if defined(__x86_64__) && !defined(__CUDACC__)
#define KP_HIDDEN(value) __asm__("" : "+x"(value))
#else
#define KP_HIDDEN(value) (void)0
#endif

// a b, rounded before anything is added to it.
KP_FN kp_real kp_product(kp_real a, kp_real b) {
#if defined(__CUDA_ARCH__) && defined(KELPIE_DOUBLE)
  return __dmul_rn(a, b);
#elif defined(__CUDA_ARCH__)
  return __fmul_rn(a, b);
#else
  kp_real product = a * b;
  KP_ROUNDED(product);
  return product;
#endif
}

// The same in double, whatever kp_real is.
KP_FN double kp_product64(double a, double b) {
#ifdef __CUDA_ARCH__
  return __dmul_rn(a, b);
#else
  double product = a * b;
  KP_ROUNDED(product);
  return product;
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

// The whole number below, for numbers that fit an int32_t: two instructions everywhere, where floor
// is a call on the oldest instruction sets.
KP_FN kp_real kp_floor(kp_real a) {
  kp_real whole = (kp_real)(int32_t)a;
  return whole - (kp_real)(whole > a);
}
