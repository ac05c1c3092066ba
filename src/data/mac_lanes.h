// Reading a MAC grid at many points of their own at a time, in solid grids without thin shells.
//
// Whole parts and fractions of all points are found first, in loops that compilers vectorise; then
// the values come a register of points at a time, by places that lie in memory (kp_w_pairs). The
// bits are those of kp_mac_linear and kp_mac_velocity_near.
#pragma once

#include "data/mac_sample.h"
#include "math/wide.h"
#include "par/kernel.h"

// ---- registers ----------------------------------------------------------------------------------

#ifdef __CUDACC__

KP_FN void kp_w_pairs(const kp_real *values, const int32_t *at, kp_w *first, kp_w *second) {
  *first = values[*at];
  *second = values[*at + 1];
}
KP_FN kp_w kp_w_load_any(const kp_real *from) {
  return *from;
}
KP_FN void kp_w_store_any(kp_real *to, kp_w a) {
  *to = a;
}

#else

// KP_W_LANES numbers anywhere.
KP_WIDE_FN kp_w kp_w_load_any(const kp_real *from) {
  kp_w w;
  memcpy(&w, from, sizeof w);
  return w;
}
KP_WIDE_FN void kp_w_store_any(kp_real *to, kp_w a) {
  memcpy(to, &a, sizeof a);
}

#if defined(__SSE2__) && !defined(KELPIE_DOUBLE)
// Two pairs of numbers from two places, which no more than a number is aligned to.
KP_WIDE_FN __m128 kp_w_two_pairs(const kp_real *values, const int32_t *at) {
  double pairs[2];
  memcpy(&pairs[0], values + at[0], sizeof pairs[0]);
  memcpy(&pairs[1], values + at[1], sizeof pairs[1]);
  return _mm_castpd_ps(_mm_loadu_pd(pairs));
}
#endif

// values[at[k]] and values[at[k] + 1] of every lane k. Both come in one load of 64 bits whose place
// is read from memory: a third of the time that it takes to gather numbers by the vector of their
// places, whether in hardware or as compilers do it, lane by lane through general registers.
KP_WIDE_FN void kp_w_pairs(const kp_real *values, const int32_t *at, kp_w *first, kp_w *second) {
#if defined(__SSE2__) && !defined(KELPIE_DOUBLE)
  // every 128 bits of a shuffle are four lanes: two of each operand
  __m128 a[KP_W_LANES / 4];
  __m128 b[KP_W_LANES / 4];
  for (int q = 0; q < KP_W_LANES / 4; ++q) {
    a[q] = kp_w_two_pairs(values, at + 4 * q);
    b[q] = kp_w_two_pairs(values, at + 4 * q + 2);
  }
#if KP_W_HAS_512
  __m512 low = _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_set_m128(a[1], a[0])),
                                  _mm256_set_m128(a[3], a[2]), 1);
  __m512 high = _mm512_insertf32x8(_mm512_castps256_ps512(_mm256_set_m128(b[1], b[0])),
                                   _mm256_set_m128(b[3], b[2]), 1);
  *first = (kp_w)_mm512_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0));
  *second = (kp_w)_mm512_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 3, 1));
#elif defined(__AVX__)
  __m256 low = _mm256_set_m128(a[1], a[0]);
  __m256 high = _mm256_set_m128(b[1], b[0]);
  *first = (kp_w)_mm256_shuffle_ps(low, high, _MM_SHUFFLE(2, 0, 2, 0));
  *second = (kp_w)_mm256_shuffle_ps(low, high, _MM_SHUFFLE(3, 1, 3, 1));
#else
  *first = (kp_w)_mm_shuffle_ps(a[0], b[0], _MM_SHUFFLE(2, 0, 2, 0));
  *second = (kp_w)_mm_shuffle_ps(a[0], b[0], _MM_SHUFFLE(3, 1, 3, 1));
#endif
#else
  kp_w x;
  kp_w y;
  for (int k = 0; k < KP_W_LANES; ++k) {
    x[k] = values[at[k]];
    y[k] = values[at[k] + 1];
  }
  *first = x;
  *second = y;
#endif
}

#endif

// ---- places -------------------------------------------------------------------------------------

// Points of a group. A card has one at a time.
#ifdef __CUDACC__
#define KP_MAC_GROUP 1
#define KP_MAC_LANES 1
#else
#define KP_MAC_GROUP 256
#define KP_MAC_LANES KP_LANES
#endif

// How many of a group are worked on where n are asked for: whole registers. Those behind the n-th
// must be places that exist.
KP_FN int kp_mac_n_lanes(int n) {
  return (n + KP_MAC_LANES - 1) / KP_MAC_LANES * KP_MAC_LANES;
}

typedef struct kp_mac_items {
  int32_t c[3][KP_MAC_GROUP];  // along x, y, z
} kp_mac_items;

typedef struct kp_mac_vectors {
  kp_real c[3][KP_MAC_GROUP];
} kp_mac_vectors;

// Places among the items of one kind.
typedef struct kp_mac_places {
  int32_t at[KP_MAC_GROUP];  // the lowest item to be read
  kp_real t[3][KP_MAC_GROUP];
} kp_mac_places;

// Places among the faces across every axis: along each there are only two, that among faces [0] and
// that among centres [1].
typedef struct kp_mac_spots {
  int32_t at[3][KP_MAC_GROUP];
  kp_real t[2][3][KP_MAC_GROUP];
} kp_mac_spots;

KP_MAC_READER void kp_mac_lanes_step(const kp_mac_view *g, int kind, int axis, int n,
                                     const int32_t *item, const kp_real *d, int32_t *index,
                                     kp_real *t) {
  const kp_mac_view copy = *g;
  kp_mac_limits limits = kp_mac_limits_of(&copy, kind, axis);
  KP_INDEPENDENT
  for (int l = 0; l < n; ++l) {
    index[l] = kp_mac_step(&copy, axis, limits, item[l], d[l], &t[l]);
  }
}

// Item (i, j, k) of a kind of place, moved by d cells.
KP_MAC_READER void kp_mac_lanes_move(const kp_mac_view *g, int kind, int n,
                                     const kp_mac_items *item, const kp_mac_vectors *d,
                                     kp_mac_places *out) {
  int32_t index[3][KP_MAC_GROUP];
  for (int axis = 0; axis < 3; ++axis) {
    kp_mac_lanes_step(g, kind, axis, n, item->c[axis], d->c[axis], index[axis], out->t[axis]);
  }
  int32_t start = g->start;
  int32_t row = g->row;
  int32_t slab = g->slab;
  KP_INDEPENDENT
  for (int l = 0; l < n; ++l) {
    out->at[l] = start + index[0][l] + index[1][l] * row + index[2][l] * slab;
  }
}

// From the lowest corner of cell `item`, d cells along the axes.
KP_MAC_READER void kp_mac_lanes_near(const kp_mac_view *g, int n, const kp_mac_items *item,
                                     const kp_mac_vectors *d, kp_mac_spots *out) {
  int32_t face[3][KP_MAC_GROUP];
  int32_t centre[3][KP_MAC_GROUP];
  kp_real back[KP_MAC_GROUP];
  for (int axis = 0; axis < 3; ++axis) {
    for (int l = 0; l < n; ++l) {
      back[l] = d->c[axis][l] - (kp_real)0.5;
    }
    kp_mac_lanes_step(g, axis, axis, n, item->c[axis], d->c[axis], face[axis], out->t[0][axis]);
    kp_mac_lanes_step(g, KP_MAC_CELL, axis, n, item->c[axis], back, centre[axis], out->t[1][axis]);
  }
  int32_t start = g->start;
  int32_t row = g->row;
  int32_t slab = g->slab;
  KP_INDEPENDENT
  for (int l = 0; l < n; ++l) {
    int32_t y = centre[1][l] * row;
    int32_t z = centre[2][l] * slab;
    out->at[0][l] = start + face[0][l] + (y + z);
    out->at[1][l] = start + centre[0][l] + (face[1][l] * row + z);
    out->at[2][l] = start + centre[0][l] + (y + face[2][l] * slab);
  }
}

KP_WIDE_FN kp_w kp_mac_lerp_wide(kp_w a, kp_w b, kp_w t) {
  return a + kp_w_product(t, b - a);
}

// Trilinear interpolation of one array.
KP_MAC_READER void kp_mac_lanes_linear(const kp_mac_view *g, const kp_real *values, int n,
                                       const int32_t *at, const kp_real *x, const kp_real *y,
                                       const kp_real *z, kp_real *out) {
  for (int l = 0; l < n; l += KP_W_LANES) {
    kp_w layer[2];
    kp_w tx = kp_w_load_any(x + l);
    kp_w ty = kp_w_load_any(y + l);
    for (int k = 0; k < 2; ++k) {
      const kp_real *low = values + k * g->slab;
      kp_w v[4];
      kp_w_pairs(low, at + l, &v[0], &v[1]);
      kp_w_pairs(low + g->row, at + l, &v[2], &v[3]);
      layer[k] =
          kp_mac_lerp_wide(kp_mac_lerp_wide(v[0], v[1], tx), kp_mac_lerp_wide(v[2], v[3], tx), ty);
    }
    kp_w_store_any(out + l, kp_mac_lerp_wide(layer[0], layer[1], kp_w_load_any(z + l)));
  }
}

KP_FN void kp_mac_lanes_at(const kp_mac_view *g, const kp_real *values, int n,
                           const kp_mac_places *p, kp_real out[KP_MAC_GROUP]) {
  kp_mac_lanes_linear(g, values, n, p->at, p->t[0], p->t[1], p->t[2], out);
}

KP_FN void kp_mac_lanes_velocity(const kp_mac_view *g, kp_mac_velocity f, int n,
                                 const kp_mac_spots *s, kp_mac_vectors *out) {
  kp_mac_lanes_linear(g, f.u, n, s->at[0], s->t[0][0], s->t[1][1], s->t[1][2], out->c[0]);
  kp_mac_lanes_linear(g, f.v, n, s->at[1], s->t[1][0], s->t[0][1], s->t[1][2], out->c[1]);
  kp_mac_lanes_linear(g, f.w, n, s->at[2], s->t[1][0], s->t[1][1], s->t[0][2], out->c[2]);
}
