// Velocity at single points: what loops over particles read, each at a place of its own.
//
// The three components of a point lie at different places of their lattices, but along each axis
// there are only two: that among the faces and that among the centres. A spot has both, so limits
// and whole parts are worked out six times, not nine, and in float four lanes at a time; several
// velocities can be read at one spot. The bits are those of kp_mac_velocity_near, which loops that
// are vectorised over points do better with.
#pragma once

#include "data/mac_sample.h"

#if defined(__SSE2__) && !defined(__CUDACC__) && !defined(KELPIE_DOUBLE) && !defined(KP_WITH_FUSED)
#define KP_MAC_SPOT_QUADS 1
#include <immintrin.h>
#else
#define KP_MAC_SPOT_QUADS 0
#endif

typedef struct kp_mac_spot {
  int32_t index[2][4];  // whole parts along the axes, among faces [0] and among centres [1]
  kp_real t[2][4];      // and the rest, 0..1
  int32_t at[3];        // the lowest item that each component is read at
} kp_mac_spot;

KP_MAC_READER void kp_mac_spot_finish(const kp_mac_view *g, kp_mac_spot *s) {
  int32_t y[2] = { s->index[0][1] * g->row, s->index[1][1] * g->row };
  int32_t z[2] = { 0, 0 };
  if (g->dimension == 3) {
    z[0] = s->index[0][2] * g->slab;
    z[1] = s->index[1][2] * g->slab;
  }
  s->at[0] = g->start + s->index[0][0] + (y[1] + z[1]);
  s->at[1] = g->start + s->index[1][0] + (y[0] + z[1]);
  s->at[2] = g->start + s->index[1][0] + (y[1] + z[0]);
}

#if !KP_MAC_SPOT_QUADS
KP_MAC_READER void kp_mac_spot_axis(const kp_mac_view *g, int axis, const int32_t item[3],
                                    const kp_real d[3], kp_mac_spot *s) {
  kp_mac_limits faces = kp_mac_limits_of(g, axis, axis);
  kp_mac_limits centres = kp_mac_limits_of(g, KP_MAC_CELL, axis);
  s->index[0][axis] = kp_mac_step(g, axis, faces, item[axis], d[axis], &s->t[0][axis]);
  s->index[1][axis] =
      kp_mac_step(g, axis, centres, item[axis], d[axis] - (kp_real)0.5, &s->t[1][axis]);
}
#endif

// From the lowest corner of cell `item`, d cells along the axes.
KP_MAC_READER void kp_mac_spot_near(const kp_mac_view *g, const int32_t item[3], const kp_real d[3],
                                    kp_mac_spot *s) {
#if KP_MAC_SPOT_QUADS
  const __m128 one = _mm_set1_ps(1.0f);
  const __m128 half = _mm_set1_ps(0.5f);
  __m128i n = _mm_setr_epi32(g->n[0], g->n[1], g->n[2], 1);
  __m128i periodic = _mm_setr_epi32(g->is_periodic[0], g->is_periodic[1], g->is_periodic[2], 0);
  __m128i base = _mm_setr_epi32(item[0], item[1], item[2], 0);
  __m128 count = _mm_cvtepi32_ps(n);
  __m128 closed = _mm_sub_ps(one, _mm_cvtepi32_ps(periodic));
  __m128 from = _mm_mul_ps(closed, _mm_cvtepi32_ps(base));
  __m128 end = _mm_sub_ps(_mm_sub_ps(count, closed), from);
  __m128 low = _mm_sub_ps(_mm_setzero_ps(), _mm_mul_ps(_mm_sub_ps(one, closed), count));
  __m128i around = _mm_and_si128(n, _mm_sub_epi32(_mm_setzero_si128(), periodic));
  __m128 place = _mm_setr_ps(d[0], d[1], g->dimension == 3 ? d[2] : 0.0f, 0.0f);
  for (int centre = 0; centre < 2; ++centre) {
    __m128 first = centre ? _mm_mul_ps(closed, _mm_set1_ps(-0.5f)) : _mm_setzero_ps();
    __m128 t = centre ? _mm_sub_ps(place, half) : place;
    // the second operand is taken where the first is no number
    t = _mm_max_ps(t, _mm_sub_ps(_mm_add_ps(first, low), from));
    t = _mm_min_ps(t, _mm_sub_ps(_mm_add_ps(first, count), from));
    __m128 whole = _mm_cvtepi32_ps(_mm_cvttps_epi32(t));
    whole = _mm_sub_ps(whole, _mm_and_ps(_mm_cmpgt_ps(whole, t), one));
    whole = _mm_min_ps(whole, end);
    __m128i index = _mm_add_epi32(base, _mm_cvttps_epi32(whole));
    index = _mm_add_epi32(index, _mm_and_si128(around, _mm_srai_epi32(index, 31)));
    __m128i is_past = _mm_andnot_si128(_mm_cmplt_epi32(index, n), around);
    index = _mm_sub_epi32(index, is_past);
    _mm_storeu_si128((__m128i *)s->index[centre], index);
    _mm_storeu_ps(s->t[centre], _mm_sub_ps(t, whole));
  }
#else
  kp_mac_spot_axis(g, 0, item, d, s);
  kp_mac_spot_axis(g, 1, item, d, s);
  s->index[0][2] = s->index[1][2] = 0;
  s->t[0][2] = s->t[1][2] = 0;
  if (g->dimension == 3) {
    kp_mac_spot_axis(g, 2, item, d, s);
  }
#endif
  kp_mac_spot_finish(g, s);
}

#if KP_MAC_SPOT_QUADS
// a + t (b - a)
KP_MAC_READER __m128 kp_mac_lerp_quad(__m128 a, __m128 b, __m128 t) {
  return _mm_add_ps(a, _mm_mul_ps(t, _mm_sub_ps(b, a)));
}

// Pairs along x of the rows at (y, z), (y + 1, z), (y, z + 1) and (y + 1, z + 1).
KP_MAC_READER kp_real kp_mac_linear_quad(const kp_mac_view *g, const kp_real *values, kp_real x,
                                         kp_real y, kp_real z) {
  __m128 low = _mm_loadl_pi(_mm_setzero_ps(), (const __m64 *)values);
  low = _mm_loadh_pi(low, (const __m64 *)(values + g->row));
  __m128 high = low;
  if (g->dimension == 3) {
    high = _mm_loadl_pi(_mm_setzero_ps(), (const __m64 *)(values + g->slab));
    high = _mm_loadh_pi(high, (const __m64 *)(values + g->slab + g->row));
  }
  __m128 a = _mm_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0));
  __m128 b = _mm_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 3, 1));
  __m128 along = kp_mac_lerp_quad(a, b, _mm_set1_ps(x));
  // of each layer the row and the next one
  __m128 next = _mm_shuffle_ps(along, along, _MM_SHUFFLE(3, 3, 1, 1));
  __m128 layers = kp_mac_lerp_quad(along, next, _mm_set1_ps(y));
  kp_real lower = _mm_cvtss_f32(layers);
  kp_real upper = _mm_cvtss_f32(_mm_movehl_ps(layers, layers));
  return g->dimension == 3 ? kp_mac_lerp(lower, upper, z) : lower;
}
#endif

// One component; values may be any array of the faces across it.
KP_MAC_READER kp_real kp_mac_component_spot(const kp_mac_view *g, const kp_real *values,
                                            int component, const kp_mac_spot *s) {
  int x = component != 0;
  int y = component != 1;
  int z = component != 2;
#if KP_MAC_SPOT_QUADS
  if (!kp_mac_is_occluded(g, s->at[component])) {
    return kp_mac_linear_quad(g, values + s->at[component], s->t[x][0], s->t[y][1], s->t[z][2]);
  }
#endif
  kp_mac_point p = { s->index[x][0], s->index[y][1], g->dimension == 3 ? s->index[z][2] : 0,
                     s->t[x][0],     s->t[y][1],     s->t[z][2] };
  return kp_mac_linear(g, values, p);
}

KP_MAC_READER void kp_mac_velocity_spot(const kp_mac_view *g, kp_mac_velocity f,
                                        const kp_mac_spot *s, kp_real out[3]) {
  out[0] = kp_mac_component_spot(g, f.u, 0, s);
  out[1] = kp_mac_component_spot(g, f.v, 1, s);
  out[2] = g->dimension == 3 ? kp_mac_component_spot(g, f.w, 2, s) : (kp_real)0;
}
