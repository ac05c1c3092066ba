// kp_w: the numbers a pair kernel works on, some at a time.
//
// Pair kernels are written once over the type kp_w. On the CPU it is one vector register of the
// instruction set the file is compiled for (16, 8 or 4 floats); on CUDA it is kp_real. A sum always
// runs over KP_LANES = 16 interleaved lanes, whatever the register: where a register holds fewer,
// the driver keeps KP_W_PARTS accumulators per element and adds them, halves onto each other,
// before `store`. So every instruction set does the same IEEE operations in the same tree and gives
// the same bits. (One 16-lane vector type for all would be shorter, but gcc keeps vectors wider
// than a register in memory: 0.8 against 3.4 Mps/s with AVX2.)
//
// The arithmetic operators work on both. What C has no operator for is below.
#pragma once

#include <math.h>

#include "kelpie/config.h"
#include "math/rounding.h"

#define KP_LANES 16

#ifdef __CUDACC__

#define KP_W_LANES 1
#define KP_W_PARTS 1
#define KP_WIDE_FN KP_FN

typedef kp_real kp_w;
typedef bool kp_wmask;

KP_FN kp_w kp_w_splat(kp_real a) {
  return a;
}
KP_FN kp_wmask kp_w_less(kp_w a, kp_w b) {
  return a < b;
}
KP_FN kp_wmask kp_w_and(kp_wmask a, kp_wmask b) {
  return a && b;
}
KP_FN kp_w kp_w_select(kp_wmask m, kp_w a, kp_w b) {
  return m ? a : b;
}
KP_FN kp_w kp_w_sqrt(kp_w a) {
  return sqrt(a);
}
// The next two round alike everywhere; see math/rounding.h.
KP_FN kp_w kp_w_product(kp_w a, kp_w b) {
  return kp_product(a, b);
}
KP_FN kp_w kp_w_root(kp_w a) {
  return kp_root(a);
}
KP_FN kp_w kp_w_min(kp_w a, kp_w b) {
  return a < b ? a : b;
}
KP_FN kp_w kp_w_max(kp_w a, kp_w b) {
  return a > b ? a : b;
}
KP_FN kp_real kp_w_sum(kp_w a) {
  return a;
}
KP_FN kp_real kp_w_largest(kp_w a) {
  return a;
}
KP_FN kp_w kp_w_some(const kp_real *from, int n) {
  (void)n;
  return *from;
}
KP_FN kp_w kp_w_first(int n) {
  return n > 0 ? (kp_w)1 : (kp_w)0;
}

#else

#if defined(__AVX512F__) || defined(__AVX__) || defined(__SSE2__)
#include <immintrin.h>
#endif

// A file whose runs are short, such as the handful of particles in a cell, says KP_W_SHORT before
// it includes this one: half of a long register would only carry zeros.
#if defined(__AVX512F__) && !defined(KP_W_SHORT)
#define KP_W_HAS_512 1
#else
#define KP_W_HAS_512 0
#endif

#if KP_W_HAS_512
#define KP_W_BYTES 64
#elif defined(__AVX__)
#define KP_W_BYTES 32
#else
#define KP_W_BYTES 16
#endif
#define KP_W_LANES ((int)(KP_W_BYTES / sizeof(kp_real)))  // of one register
#define KP_W_PARTS (KP_LANES / KP_W_LANES)                // registers of KP_LANES lanes

typedef kp_real kp_w __attribute__((vector_size(KP_W_BYTES)));
#ifdef KELPIE_DOUBLE
typedef int64_t kp_wmask __attribute__((vector_size(KP_W_BYTES)));
#else
typedef int32_t kp_wmask __attribute__((vector_size(KP_W_BYTES)));
#endif

#define KP_WIDE_FN static inline __attribute__((always_inline))

// KP_W_CALL(max)(a, b) is the intrinsic of this register and precision.
#ifdef KELPIE_DOUBLE
#define KP_W_SUFFIX(name) name##_pd
#else
#define KP_W_SUFFIX(name) name##_ps
#endif
#if KP_W_HAS_512
#define KP_W_CALL(name) KP_W_SUFFIX(_mm512_##name)
#elif defined(__AVX__)
#define KP_W_CALL(name) KP_W_SUFFIX(_mm256_##name)
#elif defined(__SSE2__)
#define KP_W_CALL(name) KP_W_SUFFIX(_mm_##name)
#endif

KP_WIDE_FN kp_wmask kp_w_less(kp_w a, kp_w b) {
  return (kp_wmask)(a < b);
}
KP_WIDE_FN kp_wmask kp_w_and(kp_wmask a, kp_wmask b) {
  return a & b;
}
KP_WIDE_FN kp_w kp_w_select(kp_wmask m, kp_w a, kp_w b) {
#if defined(__AVX__) && !KP_W_HAS_512
  return (kp_w)KP_W_CALL(blendv)(b, a, (kp_w)m);
#else
  return (kp_w)((m & (kp_wmask)a) | (~m & (kp_wmask)b));
#endif
}

#ifdef KP_W_CALL

KP_WIDE_FN kp_w kp_w_splat(kp_real a) {
  return (kp_w)KP_W_CALL(set1)(a);
}
// a < b ? a : b and a > b ? a : b, which is also what the instructions do with NaN.
KP_WIDE_FN kp_w kp_w_min(kp_w a, kp_w b) {
  return (kp_w)KP_W_CALL(min)(a, b);
}
KP_WIDE_FN kp_w kp_w_max(kp_w a, kp_w b) {
  return (kp_w)KP_W_CALL(max)(a, b);
}
// Correctly rounded: the same bits from every instruction set.
KP_WIDE_FN kp_w kp_w_sqrt(kp_w a) {
  return (kp_w)KP_W_CALL(sqrt)(a);
}

#else

KP_WIDE_FN kp_w kp_w_splat(kp_real a) {
  kp_w w;
  for (int k = 0; k < KP_W_LANES; ++k) {
    w[k] = a;
  }
  return w;
}
KP_WIDE_FN kp_w kp_w_min(kp_w a, kp_w b) {
  return kp_w_select(kp_w_less(a, b), a, b);
}
KP_WIDE_FN kp_w kp_w_max(kp_w a, kp_w b) {
  return kp_w_select(kp_w_less(b, a), a, b);
}
KP_WIDE_FN kp_w kp_w_sqrt(kp_w a) {
  for (int k = 0; k < KP_W_LANES; ++k) {
    a[k] = (kp_real)sqrt((double)a[k]);
  }
  return a;
}

#endif

KP_WIDE_FN kp_w kp_w_product(kp_w a, kp_w b) {
  kp_w product = a * b;
  KP_ROUNDED(product);
  return product;
}
KP_WIDE_FN kp_w kp_w_root(kp_w a) {
  return kp_w_sqrt(a);
}

// Sum of the lanes in one fixed tree: halves are folded onto each other.
KP_WIDE_FN kp_real kp_w_sum(kp_w a) {
#if defined(__AVX__) && defined(KELPIE_DOUBLE)
#if KP_W_HAS_512
  __m256d b =
      _mm256_add_pd(_mm512_castpd512_pd256((__m512d)a), _mm512_extractf64x4_pd((__m512d)a, 1));
#else
  __m256d b = (__m256d)a;
#endif
  __m128d c = _mm_add_pd(_mm256_castpd256_pd128(b), _mm256_extractf128_pd(b, 1));
  return _mm_cvtsd_f64(_mm_add_sd(c, _mm_unpackhi_pd(c, c)));
#elif defined(__SSE2__) && !defined(KELPIE_DOUBLE)
#if KP_W_HAS_512
  __m512d halves = _mm512_castps_pd((__m512)a);
  __m256 b = _mm256_add_ps(_mm512_castps512_ps256((__m512)a),
                           _mm256_castpd_ps(_mm512_extractf64x4_pd(halves, 1)));
  __m128 c = _mm_add_ps(_mm256_castps256_ps128(b), _mm256_extractf128_ps(b, 1));
#elif defined(__AVX__)
  __m128 c = _mm_add_ps(_mm256_castps256_ps128((__m256)a), _mm256_extractf128_ps((__m256)a, 1));
#else
  __m128 c = (__m128)a;
#endif
  c = _mm_add_ps(c, _mm_movehl_ps(c, c));
  return _mm_cvtss_f32(_mm_add_ss(c, _mm_shuffle_ps(c, c, 1)));
#else
  union {
    kp_w w;
    kp_real lane[KP_W_LANES];
  } u;
  u.w = a;
  for (int half = KP_W_LANES / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k) {
      u.lane[k] += u.lane[k + half];
    }
  }
  return u.lane[0];
#endif
}

KP_WIDE_FN kp_real kp_w_largest(kp_w a) {
  kp_real largest = a[0];
  for (int k = 1; k < KP_W_LANES; ++k) {
    largest = a[k] > largest ? a[k] : largest;
  }
  return largest;
}

// 1 in the first n lanes, 0 in the others.
KP_WIDE_FN kp_w kp_w_first(int n) {
  kp_w w;
  for (int k = 0; k < KP_W_LANES; ++k) {
    w[k] = k < n ? (kp_real)1 : (kp_real)0;
  }
  return w;
}

// The first n numbers at `from`, which need not be aligned, and 0 in the other lanes; n is 1 to
// KP_W_LANES. Nothing behind them is touched.
KP_WIDE_FN kp_w kp_w_some(const kp_real *from, int n) {
#if KP_W_HAS_512 && defined(KELPIE_DOUBLE)
  return (kp_w)_mm512_maskz_loadu_pd((__mmask8)((1u << n) - 1u), from);
#elif KP_W_HAS_512
  return (kp_w)_mm512_maskz_loadu_ps((__mmask16)((1u << n) - 1u), from);
#elif defined(__AVX2__) && defined(KELPIE_DOUBLE)
  __m256i lane = _mm256_setr_epi64x(0, 1, 2, 3);
  return (kp_w)_mm256_maskload_pd(from, _mm256_cmpgt_epi64(_mm256_set1_epi64x(n), lane));
#elif defined(__AVX2__)
  __m256i lane = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
  return (kp_w)_mm256_maskload_ps(from, _mm256_cmpgt_epi32(_mm256_set1_epi32(n), lane));
#else
  kp_w w = kp_w_splat(0);
  for (int k = 0; k < n; ++k) {
    w[k] = from[k];
  }
  return w;
#endif
}

// KP_W_LANES numbers, aligned to KP_W_BYTES.
KP_WIDE_FN kp_w kp_w_load(const kp_real *aligned) {
  return *(const kp_w *)aligned;
}

#endif
