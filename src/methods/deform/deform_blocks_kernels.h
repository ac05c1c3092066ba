// The matrix of elements of four nodes as 3x3 blocks between their corners, for the sweeps of
// deform_sweep_kernels.h: elements write the blocks of their six pairs of corners and the elastic
// forces on their corners, pairs of nodes gather what lies between them in the order of elements.
//
// With a = u diag(s) v^T the singular values of the deformation, x_a = V^T of the slope of corner a
// and H the second derivative of the energy in that frame (deform_tets_kernels.h), corners a and b
// have the block
//
//   K_ab = U C U^T     C_ii = H_ii x_ai x_bi + sum_j P_ij x_aj x_bj     j != i
//                      C_ik = H_ik x_ai x_bk + M_ik x_ak x_bi           k != i
//
// P and M being what flips and twists of a plane come to for one of its entries and for the other.
// What a corner does to itself is minus the sum of its row, because nothing resists what moves as a
// whole: it is summed at nodes.
//
// Forces are in double, as the plain kernel has them. Second derivatives need no more digits than
// the steps that they guide: they are in kp_real and in vector lanes (math/svd3_wide.h).
#pragma once

#include "math/records.h"
#include "math/svd3_wide.h"
#include "methods/deform/deform_membrane_kernels.h"
#include "methods/deform/deform_tets_kernels.h"

#define BLOCKS_PAIRS 6               // of corners: 01 02 03 12 13 23
#define BLOCKS_ITEM 56               // numbers of an element: 9 per pair, and two that are not used
#define BLOCKS_PULL (4 * KP_RECORD)  // forces of an element: a record per corner

KP_FN void blocks_corners(int pair, int *a, int *b) {
  *a = pair < 3 ? 0 : pair < 5 ? 1 : 2;
  *b = pair < 3 ? pair + 1 : pair < 5 ? pair - 1 : 3;
}

// ---- numbers of several elements

#ifdef __CUDACC__

typedef double blocks_d;
#define BLOCKS_D_LANES 1

KP_FN blocks_d blocks_d_load(const double *from) {
  return *from;
}
KP_FN blocks_d blocks_d_of(const kp_real *from) {
  return (double)*from;
}
KP_FN void blocks_d_store(kp_real *to, blocks_d v) {
  *to = (kp_real)v;
}
KP_FN kp_w blocks_w(const kp_real *from) {
  return *from;
}

#else

// A register of doubles, and as many kp_real.
#define BLOCKS_D_LANES ((int)(KP_W_BYTES / sizeof(double)))
typedef double blocks_d __attribute__((vector_size(KP_W_BYTES)));
typedef kp_real blocks_reals __attribute__((vector_size(BLOCKS_D_LANES * sizeof(kp_real)),
                                            aligned(sizeof(kp_real)), may_alias));
typedef double blocks_d_at
    __attribute__((vector_size(KP_W_BYTES), aligned(sizeof(double)), may_alias));
typedef kp_real blocks_w_at
    __attribute__((vector_size(KP_W_BYTES), aligned(sizeof(kp_real)), may_alias));

KP_WIDE_FN blocks_d blocks_d_load(const double *from) {
  return (blocks_d) * (const blocks_d_at *)from;
}
KP_WIDE_FN blocks_d blocks_d_of(const kp_real *from) {
  return __builtin_convertvector(*(const blocks_reals *)from, blocks_d);
}
KP_WIDE_FN void blocks_d_store(kp_real *to, blocks_d v) {
  *(blocks_reals *)to = __builtin_convertvector(v, blocks_reals);
}
KP_WIDE_FN kp_w blocks_w(const kp_real *from) {
  return (kp_w) * (const blocks_w_at *)from;
}

#endif

// Four numbers of each of n elements, `stride` apart.
KP_WIDE_FN void blocks_put(kp_real *to, int64_t stride, int n, const kp_w v[4]) {
#if !defined(__CUDACC__) && KP_W_HAS_512 && !defined(KELPIE_DOUBLE)
  if (n == KP_LANES) {
    __m512d a = _mm512_castps_pd(_mm512_unpacklo_ps((__m512)v[0], (__m512)v[1]));
    __m512d b = _mm512_castps_pd(_mm512_unpackhi_ps((__m512)v[0], (__m512)v[1]));
    __m512d c = _mm512_castps_pd(_mm512_unpacklo_ps((__m512)v[2], (__m512)v[3]));
    __m512d d = _mm512_castps_pd(_mm512_unpackhi_ps((__m512)v[2], (__m512)v[3]));
    __m512 r[4] = { _mm512_castpd_ps(_mm512_unpacklo_pd(a, c)),
                    _mm512_castpd_ps(_mm512_unpackhi_pd(a, c)),
                    _mm512_castpd_ps(_mm512_unpacklo_pd(b, d)),
                    _mm512_castpd_ps(_mm512_unpackhi_pd(b, d)) };
    for (int k = 0; k < 4; ++k) {
      _mm_storeu_ps(to + stride * k, _mm512_castps512_ps128(r[k]));
      _mm_storeu_ps(to + stride * (k + 4), _mm512_extractf32x4_ps(r[k], 1));
      _mm_storeu_ps(to + stride * (k + 8), _mm512_extractf32x4_ps(r[k], 2));
      _mm_storeu_ps(to + stride * (k + 12), _mm512_extractf32x4_ps(r[k], 3));
    }
    return;
  }
#endif
  for (int k = 0; k < 4; ++k) {
#ifdef __CUDACC__
    (void)stride;
    to[k] = n > 0 ? v[k] : to[k];
#else
    for (int l = 0; l < n; ++l) {
      to[stride * l + k] = v[k][l];
    }
#endif
  }
}

// ---- elastic material

typedef struct blocks_solid_args {
  int64_t first, count, n;
  kp_real implicit, strength;
  const int32_t *corner;
  const kp_real *rest;
  deform_means means;
  const kp_pos *x, *y, *z;
  kp_real *block;  // BLOCKS_ITEM per element: -K
  kp_real *pull;   // BLOCKS_PULL per element
} blocks_solid_args;

// Edges of the elements from m on, as columns: d[3 row + column][element].
KP_FN void blocks_edges(int64_t m, const blocks_solid_args *g, double d[9][KP_W_LANES]) {
  int64_t n = g->n;
  for (int l = 0; l < KP_W_LANES; ++l) {
    int32_t a = g->corner[m + l];
    for (int c = 0; c < 3; ++c) {
      int32_t i = g->corner[(c + 1) * n + m + l];
      d[c][l] = g->x[i] - g->x[a];
      d[3 + c][l] = g->y[i] - g->y[a];
      d[6 + c][l] = g->z[i] - g->z[a];
    }
  }
}

// Stresses of the elements from m on: stress[entry][element].
KP_FN void blocks_edge_stress(int64_t m, const blocks_solid_args *g, double stress[9][KP_W_LANES]) {
  for (int l = 0; l < KP_W_LANES; ++l) {
    double p[9];
    deform_mean_stress(m + l, &g->means, p);
    for (int k = 0; k < 9; ++k) {
      stress[k][l] = p[k];
    }
  }
}

// The deformation f, and the forces of corners b, c, d: columns of -volume P B^T, P the mean stress
// of the edges.
KP_WIDE_FN void blocks_stress(int64_t m, int lane, const blocks_solid_args *g,
                              double edges[9][KP_W_LANES], double stress[9][KP_W_LANES],
                              kp_real f32[9][KP_W_LANES], kp_real force[9][KP_W_LANES]) {
  int64_t n = g->n;
  const kp_real *rest = g->rest + m + lane;
  blocks_d b[9], f[9], p[9];
  for (int k = 0; k < 9; ++k) {
    b[k] = blocks_d_of(rest + (DEFORM_SOLID_B + k) * n);
  }
  for (int r = 0; r < 3; ++r) {
    blocks_d d0 = blocks_d_load(edges[3 * r] + lane);
    blocks_d d1 = blocks_d_load(edges[3 * r + 1] + lane);
    blocks_d d2 = blocks_d_load(edges[3 * r + 2] + lane);
    for (int c = 0; c < 3; ++c) {
      f[3 * r + c] = d0 * b[c] + d1 * b[3 + c] + d2 * b[6 + c];
      blocks_d_store(f32[3 * r + c] + lane, f[3 * r + c]);
    }
  }
  blocks_d scale = -blocks_d_of(rest + DEFORM_SOLID_VOLUME * n);
  for (int k = 0; k < 9; ++k) {
    p[k] = scale * blocks_d_load(stress[k] + lane);
  }
  for (int c = 0; c < 3; ++c) {
    for (int r = 0; r < 3; ++r) {
      blocks_d_store(force[3 * c + r] + lane, p[3 * r] * b[3 * c] + p[3 * r + 1] * b[3 * c + 1] +
                                                  p[3 * r + 2] * b[3 * c + 2]);
    }
  }
}

// What H comes to in the frame of the stretches, for all of them.
typedef struct blocks_frame {
  kp_w u[9], x[4][3];
  kp_w own[3];               // H_ii
  kp_w across[3], cross[3];  // H_ik and M_ik of the planes xy, xz, yz
  kp_w plane[9];             // P_ij at [3 i + j]
} blocks_frame;

// a, symmetric, without its negative eigenvalues. Most have none and stay as they are.
KP_WIDE_FN void blocks_positive(kp_w a[6]) {
  kp_w zero = kp_w_splat(0), one = kp_w_splat(1), share = kp_w_splat((kp_real)1e-4);
  kp_w minor = a[0] * a[1] - a[3] * a[3];
  kp_w det = a[2] * minor - a[0] * a[5] * a[5] - a[1] * a[4] * a[4] + (a[3] + a[3]) * a[4] * a[5];
  kp_wmask is_positive = kp_w_and(kp_w_less(zero, a[0]), kp_w_less(zero, a[1]));
  is_positive = kp_w_and(is_positive, kp_w_less(zero, a[2]));
  is_positive = kp_w_and(is_positive, kp_w_less(share * a[0] * a[1], minor));
  is_positive = kp_w_and(is_positive, kp_w_less(share * a[0] * a[1] * a[2], det));
  if (kp_w_sum(kp_w_select(is_positive, zero, one)) == 0) {
    return;
  }
  kp_w d[6], v[9];
  for (int k = 0; k < 6; ++k) {
    d[k] = a[k];
  }
  kp_w_eigen3(d, v);
  for (int k = 0; k < 3; ++k) {
    d[k] = kp_w_max(d[k], zero);
  }
  const int row[6] = { 0, 1, 2, 0, 0, 1 }, column[6] = { 0, 1, 2, 1, 2, 2 };
  for (int k = 0; k < 6; ++k) {
    const kp_w *p = v + 3 * row[k], *q = v + 3 * column[k];
    kp_w rest = d[0] * p[0] * q[0] + d[1] * p[1] * q[1] + d[2] * p[2] * q[2];
    a[k] = kp_w_select(is_positive, a[k], rest);
  }
}

// The second derivative as deform_solid_hessian has it, over mu; viscosity beside it.
KP_WIDE_FN void blocks_hessian(const kp_w s[3], kp_w ratio, kp_w scale, kp_w viscous,
                               blocks_frame *h) {
  kp_w zero = kp_w_splat(0), one = kp_w_splat(1), half = kp_w_splat((kp_real)0.5);
  kp_w i = kp_w_dot3(s, s) + one, j = s[0] * s[1] * s[2];
  kp_w alpha = one + kp_w_splat((kp_real)0.75) / ratio;
  kp_w shear = one - one / i, bow = (one + one) / (i * i), block[6];
  for (int k = 0; k < 3; ++k) {
    kp_w others = s[(k + 1) % 3] * s[(k + 2) % 3];
    block[k] = shear + bow * s[k] * s[k] + ratio * others * others;
  }
  const int row[3] = { 0, 0, 1 }, column[3] = { 1, 2, 2 };
  for (int k = 0; k < 3; ++k) {
    int p = row[k], q = column[k];
    kp_w other = s[2 - k], turn = ratio * (j - alpha) * other;
    block[3 + k] = bow * s[p] * s[q] + ratio * other * (j + j - alpha);
    kp_w flip = kp_w_max(shear - turn, zero), twist = kp_w_max(shear + turn, zero);
    kp_w even = scale * half * (flip + twist);
    h->cross[k] = scale * half * (flip - twist) + viscous * s[p] * s[q];
    h->plane[3 * p + q] = even + viscous * s[p] * s[p];
    h->plane[3 * q + p] = even + viscous * s[q] * s[q];
  }
  blocks_positive(block);
  for (int k = 0; k < 3; ++k) {
    h->own[k] = scale * block[k] + (viscous + viscous) * s[k] * s[k];
    h->across[k] = scale * block[3 + k];
  }
}

// -K_ab of two corners.
KP_WIDE_FN void blocks_between(const blocks_frame *h, const kp_w a[3], const kp_w b[3],
                               kp_w out[9]) {
  const int plane[9] = { 0, 0, 1, 0, 0, 2, 1, 2, 0 };
  kp_w c[9], half[9];
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) {
      if (i == k) {
        int j = (i + 1) % 3, l = (i + 2) % 3;
        c[4 * i] = h->own[i] * (a[i] * b[i]) + h->plane[3 * i + j] * (a[j] * b[j]) +
                   h->plane[3 * i + l] * (a[l] * b[l]);
      } else {
        int p = plane[3 * i + k];
        c[3 * i + k] = h->across[p] * (a[i] * b[k]) + h->cross[p] * (a[k] * b[i]);
      }
    }
  }
  const kp_w *u = h->u;
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) {
      half[3 * i + k] = u[3 * i] * c[k] + u[3 * i + 1] * c[3 + k] + u[3 * i + 2] * c[6 + k];
    }
  }
  for (int i = 0; i < 3; ++i) {
    for (int k = 0; k < 3; ++k) {
      out[3 * i + k] = -(half[3 * i] * u[3 * k] + half[3 * i + 1] * u[3 * k + 1] +
                         half[3 * i + 2] * u[3 * k + 2]);
    }
  }
}

// `count` elements from m on, at most KP_W_LANES. The others of the lanes are there too, whatever
// they are, and are not written.
KP_FN void blocks_solid_some(int64_t m, int count, const blocks_solid_args *g) {
  double edges[9][KP_W_LANES], stress[9][KP_W_LANES];
  kp_real f32[9][KP_W_LANES], force[9][KP_W_LANES];
  int64_t n = g->n;
  const kp_real *rest = g->rest + m;
  blocks_edges(m, g, edges);
  blocks_edge_stress(m, g, stress);
  for (int lane = 0; lane < KP_W_LANES; lane += BLOCKS_D_LANES) {
    blocks_stress(m, lane, g, edges, stress, f32, force);
  }
  kp_w f[9], s[3], v[9], b[9], zero = kp_w_splat(0);
  for (int k = 0; k < 9; ++k) {
    f[k] = blocks_w(f32[k]);
    b[k] = blocks_w(rest + (DEFORM_SOLID_B + k) * n);
  }
  blocks_frame h;
  kp_w_svd3(f, h.u, s, v);
  kp_w volume = blocks_w(rest + DEFORM_SOLID_VOLUME * n);
  kp_w mu = blocks_w(rest + DEFORM_SOLID_MU * n);
  kp_w lambda = blocks_w(rest + DEFORM_SOLID_LAMBDA * n);
  kp_w scale = kp_w_splat(g->implicit * g->strength) * volume * mu;
  kp_w viscous = kp_w_splat((kp_real)sqrt((double)g->strength)) * volume *
                 blocks_w(rest + DEFORM_SOLID_ETA * n);
  blocks_hessian(s, lambda / mu, scale, viscous, &h);
  for (int k = 0; k < 3; ++k) {
    h.x[0][k] = zero;
    for (int c = 0; c < 3; ++c) {
      h.x[c + 1][k] = b[3 * c] * v[k] + b[3 * c + 1] * v[3 + k] + b[3 * c + 2] * v[6 + k];
      h.x[0][k] -= h.x[c + 1][k];
    }
  }
  kp_w items[BLOCKS_ITEM];
  for (int pair = 0; pair < BLOCKS_PAIRS; ++pair) {
    int p, q;
    blocks_corners(pair, &p, &q);
    blocks_between(&h, h.x[p], h.x[q], items + 9 * pair);
  }
  items[54] = items[55] = zero;
  for (int k = 0; k < BLOCKS_ITEM; k += 4) {
    blocks_put(g->block + BLOCKS_ITEM * m + k, BLOCKS_ITEM, count, items + k);
  }
  kp_w own[4] = { zero, zero, zero, zero };
  for (int c = 0; c < 3; ++c) {
    kp_w on[4] = { blocks_w(force[3 * c]), blocks_w(force[3 * c + 1]), blocks_w(force[3 * c + 2]),
                   zero };
    blocks_put(g->pull + BLOCKS_PULL * m + KP_RECORD * (c + 1), BLOCKS_PULL, count, on);
    for (int k = 0; k < 3; ++k) {
      own[k] -= on[k];
    }
  }
  blocks_put(g->pull + BLOCKS_PULL * m, BLOCKS_PULL, count, own);
}

KP_FN void blocks_solid(int64_t j, int64_t k, int64_t i0, int64_t i1, const blocks_solid_args *g) {
  (void)j;
  (void)k;
  int64_t end = i1 < g->count ? i1 : g->count;
  for (int64_t i = i0; i < end; i += KP_W_LANES) {
    int64_t left = end - i;
    blocks_solid_some(g->first + i, (int)(left < KP_W_LANES ? left : KP_W_LANES), g);
  }
}

// ---- elements with one direction

typedef struct blocks_axis_args {
  int64_t first, n;
  int64_t place;  // of the first of all such elements among the blocks
  const kp_real *slope, *force, *rate;
  kp_real *block, *pull;
} blocks_axis_args;

KP_FN void blocks_axis(int64_t e, const blocks_axis_args *g) {
  int64_t m = g->first + e, n = g->n;
  kp_real slope[12], rate = g->rate[m], force = g->force[m];
  for (int k = 0; k < 12; ++k) {
    slope[k] = g->slope[k * n + m];
  }
  kp_real *block = g->block + BLOCKS_ITEM * (g->place + m);
  kp_real *pull = g->pull + BLOCKS_PULL * (g->place + m);
  for (int pair = 0; pair < BLOCKS_PAIRS; ++pair) {
    int a, b;
    blocks_corners(pair, &a, &b);
    for (int k = 0; k < 9; ++k) {
      block[9 * pair + k] = -(rate * slope[3 * a + k / 3]) * slope[3 * b + k % 3];
    }
  }
  for (int c = 0; c < 4; ++c) {
    for (int k = 0; k < 3; ++k) {
      pull[KP_RECORD * c + k] = -force * slope[3 * c + k];
    }
    pull[KP_RECORD * c + 3] = 0;
  }
}

// ---- triangles of a membrane: pairs and records of their fourth corner are not there

typedef struct blocks_membrane_args {
  int64_t first, n;
  int64_t place;  // of the first of all such elements among the blocks
  const kp_real *state;
  kp_real *block, *pull;
} blocks_membrane_args;

KP_FN void blocks_membrane(int64_t e, const blocks_membrane_args *g) {
  int64_t m = g->first + e, n = g->n;
  kp_real st[MEMBRANE_STATE], u[9], x[6];
  for (int k = 0; k < MEMBRANE_STATE; ++k) {
    st[k] = g->state[k * n + m];
  }
  membrane_frame(st, u);
  membrane_slopes(st, x);
  kp_real *block = g->block + BLOCKS_ITEM * (g->place + m);
  kp_real *pull = g->pull + BLOCKS_PULL * (g->place + m);
  for (int pair = 0; pair < BLOCKS_PAIRS; ++pair) {
    int a, b;
    blocks_corners(pair, &a, &b);
    if (b < 3) {
      kp_real between[9];
      membrane_between(st, u, x + 2 * a, x + 2 * b, between);
      for (int k = 0; k < 9; ++k) {
        block[9 * pair + k] = -between[k];
      }
    }
  }
  for (int k = 0; k < 3; ++k) {
    kp_real second = st[MEMBRANE_FORCE + k], third = st[MEMBRANE_FORCE + 3 + k];
    pull[k] = -(second + third);
    pull[KP_RECORD + k] = second;
    pull[2 * KP_RECORD + k] = third;
  }
  pull[3] = pull[KP_RECORD + 3] = pull[2 * KP_RECORD + 3] = 0;
}
