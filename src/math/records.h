// Records of four numbers (x, y, z and one that is not used), KP_LANES of them at a time: one load
// per record where three arrays would take three, and a transposition in registers. Data moves, no
// number changes: bits are those of the plain loop.
//
// kp_lanes is KP_LANES numbers of the CPU; on CUDA it is one, and a record is of its own row.
#pragma once

#include "math/wide.h"

#define KP_RECORD 4

#ifdef __CUDACC__

typedef kp_real kp_lanes;
#define KP_LANES_LOAD(p) (*(p))
#define KP_LANES_STORE(p, v) (*(p) = (v))

KP_FN void kp_records_gather(const kp_real *from, const int32_t *at, kp_lanes out[3]) {
  const kp_real *r = from + KP_RECORD * (int64_t)at[0];
  out[0] = r[0];
  out[1] = r[1];
  out[2] = r[2];
}

KP_FN void kp_records_load(const kp_real *from, kp_lanes out[3]) {
  out[0] = from[0];
  out[1] = from[1];
  out[2] = from[2];
}

KP_FN void kp_records_store(kp_real *to, const kp_lanes v[3]) {
  to[0] = v[0];
  to[1] = v[1];
  to[2] = v[2];
  to[3] = 0;
}

// All four numbers.
KP_FN void kp_records_gather4(const kp_real *from, const int32_t *at, kp_lanes out[4]) {
  kp_records_gather(from, at, out);
  out[3] = from[KP_RECORD * (int64_t)at[0] + 3];
}

// One record.
typedef struct kp_record {
  kp_real of[KP_RECORD];
} kp_record;

KP_FN kp_record kp_record_make(kp_real x, kp_real y, kp_real z) {
  kp_record r = { { x, y, z, 0 } };
  return r;
}

// to += w from
KP_FN void kp_record_add(kp_record *to, kp_real w, const kp_real *from) {
  for (int c = 0; c < KP_RECORD; ++c) {
    to->of[c] += w * from[c];
  }
}

// to += w (from - less)
KP_FN void kp_record_add_step(kp_record *to, kp_real w, const kp_real *from, const kp_real *less) {
  for (int c = 0; c < KP_RECORD; ++c) {
    to->of[c] += w * (from[c] - less[c]);
  }
}

// Of x, y, z.
KP_FN kp_real kp_record_dot(const kp_record *a, const kp_real *b) {
  return a->of[0] * b[0] + a->of[1] * b[1] + a->of[2] * b[2];
}

KP_FN kp_real kp_record_get(const kp_record *r, int c) {
  return r->of[c];
}

KP_FN void kp_record_store(kp_real *to, const kp_record *r) {
  for (int c = 0; c < KP_RECORD; ++c) {
    to[c] = r->of[c];
  }
}

#else

// One record, as a number of the processor: left to themselves compilers turn sums of records into
// sums by component, at many times the price.
typedef kp_real kp_record __attribute__((vector_size(KP_RECORD * sizeof(kp_real))));
typedef kp_real kp_record_at
    __attribute__((vector_size(KP_RECORD * sizeof(kp_real)), aligned(sizeof(kp_real)), may_alias));

KP_FN kp_record kp_record_make(kp_real x, kp_real y, kp_real z) {
  return (kp_record){ x, y, z, 0 };
}

KP_FN void kp_record_add(kp_record *to, kp_real w, const kp_real *from) {
  *to += w * (kp_record) * (const kp_record_at *)from;
}

KP_FN void kp_record_add_step(kp_record *to, kp_real w, const kp_real *from, const kp_real *less) {
  *to += w * ((kp_record) * (const kp_record_at *)from - (kp_record) * (const kp_record_at *)less);
}

KP_FN kp_real kp_record_dot(const kp_record *a, const kp_real *b) {
  kp_record all = *a * (kp_record) * (const kp_record_at *)b;
  return all[0] + all[1] + all[2];
}

KP_FN kp_real kp_record_get(const kp_record *r, int c) {
  return (*r)[c];
}

KP_FN void kp_record_store(kp_real *to, const kp_record *r) {
  *(kp_record_at *)to = *r;
}

typedef kp_real kp_lanes __attribute__((vector_size(KP_LANES * sizeof(kp_real))));
typedef kp_real kp_lanes_at
    __attribute__((vector_size(KP_LANES * sizeof(kp_real)), aligned(sizeof(kp_real)), may_alias));
#define KP_LANES_LOAD(p) ((kp_lanes) * (const kp_lanes_at *)(p))
#define KP_LANES_STORE(p, v) (*(kp_lanes_at *)(p) = (v))

#if defined(__AVX512F__) && !defined(KELPIE_DOUBLE)

// Rows of four records to columns of sixteen numbers.
KP_WIDE_FN void kp_records_turn4(const __m512 r[4], kp_lanes out[4]) {
  __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps(r[0], r[1]));
  __m512d b = _mm512_castps_pd(_mm512_unpackhi_ps(r[0], r[1]));
  __m512d c = _mm512_castps_pd(_mm512_unpacklo_ps(r[2], r[3]));
  __m512d d = _mm512_castps_pd(_mm512_unpackhi_ps(r[2], r[3]));
  out[0] = (kp_lanes)_mm512_unpacklo_pd(a, c);
  out[1] = (kp_lanes)_mm512_unpackhi_pd(a, c);
  out[2] = (kp_lanes)_mm512_unpacklo_pd(b, d);
  out[3] = (kp_lanes)_mm512_unpackhi_pd(b, d);
}

KP_WIDE_FN void kp_records_turn(const __m512 r[4], kp_lanes out[3]) {
  kp_lanes all[4];
  kp_records_turn4(r, all);
  for (int c = 0; c < 3; ++c) {
    out[c] = all[c];
  }
}

// Records k, k + 4, k + 8, k + 12 of a list.
#define KP_RECORDS_FOUR(k, record)                                                                 \
  _mm512_insertf32x4(                                                                              \
      _mm512_insertf32x4(_mm512_insertf32x4(_mm512_castps128_ps512(_mm_loadu_ps(record(k))),       \
                                            _mm_loadu_ps(record((k) + 4)), 1),                     \
                         _mm_loadu_ps(record((k) + 8)), 2),                                        \
      _mm_loadu_ps(record((k) + 12)), 3)

KP_WIDE_FN void kp_records_gather4(const kp_real *from, const int32_t *at, kp_lanes out[4]) {
#define KP_RECORD_AT(l) (from + KP_RECORD * (int64_t)at[l])
  __m512 r[4] = { KP_RECORDS_FOUR(0, KP_RECORD_AT), KP_RECORDS_FOUR(1, KP_RECORD_AT),
                  KP_RECORDS_FOUR(2, KP_RECORD_AT), KP_RECORDS_FOUR(3, KP_RECORD_AT) };
#undef KP_RECORD_AT
  kp_records_turn4(r, out);
}

KP_WIDE_FN void kp_records_gather(const kp_real *from, const int32_t *at, kp_lanes out[3]) {
  kp_lanes all[4];
  kp_records_gather4(from, at, all);
  for (int c = 0; c < 3; ++c) {
    out[c] = all[c];
  }
}

KP_WIDE_FN void kp_records_load(const kp_real *from, kp_lanes out[3]) {
#define KP_RECORD_AT(l) (from + KP_RECORD * (l))
  __m512 r[4] = { KP_RECORDS_FOUR(0, KP_RECORD_AT), KP_RECORDS_FOUR(1, KP_RECORD_AT),
                  KP_RECORDS_FOUR(2, KP_RECORD_AT), KP_RECORDS_FOUR(3, KP_RECORD_AT) };
#undef KP_RECORD_AT
  kp_records_turn(r, out);
}

KP_WIDE_FN void kp_records_store(kp_real *to, const kp_lanes v[3]) {
  __m512 zero = _mm512_setzero_ps();
  __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps((__m512)v[0], (__m512)v[1]));
  __m512d b = _mm512_castps_pd(_mm512_unpackhi_ps((__m512)v[0], (__m512)v[1]));
  __m512d c = _mm512_castps_pd(_mm512_unpacklo_ps((__m512)v[2], zero));
  __m512d d = _mm512_castps_pd(_mm512_unpackhi_ps((__m512)v[2], zero));
  __m512 r[4] = { _mm512_castpd_ps(_mm512_unpacklo_pd(a, c)),
                  _mm512_castpd_ps(_mm512_unpackhi_pd(a, c)),
                  _mm512_castpd_ps(_mm512_unpacklo_pd(b, d)),
                  _mm512_castpd_ps(_mm512_unpackhi_pd(b, d)) };
  for (int k = 0; k < 4; ++k) {
    _mm_storeu_ps(to + KP_RECORD * k, _mm512_castps512_ps128(r[k]));
    _mm_storeu_ps(to + KP_RECORD * (k + 4), _mm512_extractf32x4_ps(r[k], 1));
    _mm_storeu_ps(to + KP_RECORD * (k + 8), _mm512_extractf32x4_ps(r[k], 2));
    _mm_storeu_ps(to + KP_RECORD * (k + 12), _mm512_extractf32x4_ps(r[k], 3));
  }
}

#else

KP_WIDE_FN void kp_records_gather(const kp_real *from, const int32_t *at, kp_lanes out[3]) {
  for (int l = 0; l < KP_LANES; ++l) {
    const kp_real *r = from + KP_RECORD * (int64_t)at[l];
    out[0][l] = r[0];
    out[1][l] = r[1];
    out[2][l] = r[2];
  }
}

KP_WIDE_FN void kp_records_gather4(const kp_real *from, const int32_t *at, kp_lanes out[4]) {
  kp_records_gather(from, at, out);
  for (int l = 0; l < KP_LANES; ++l) {
    out[3][l] = from[KP_RECORD * (int64_t)at[l] + 3];
  }
}

KP_WIDE_FN void kp_records_load(const kp_real *from, kp_lanes out[3]) {
  for (int l = 0; l < KP_LANES; ++l) {
    out[0][l] = from[KP_RECORD * l];
    out[1][l] = from[KP_RECORD * l + 1];
    out[2][l] = from[KP_RECORD * l + 2];
  }
}

KP_WIDE_FN void kp_records_store(kp_real *to, const kp_lanes v[3]) {
  for (int l = 0; l < KP_LANES; ++l) {
    to[KP_RECORD * l] = v[0][l];
    to[KP_RECORD * l + 1] = v[1][l];
    to[KP_RECORD * l + 2] = v[2][l];
    to[KP_RECORD * l + 3] = 0;
  }
}

#endif
#endif
