// The pair driver of the host backends, for x_cpu.c files: KP_CPU_PAIR makes the loop of one pair
// kernel.
//
// For each work item (a few elements i that are neighbours in one row, see data/cells.h):
//
//   1. the bounding box of its elements; the cells of j that the box grown by the radius touches;
//   2. the candidates of those cells' rows, 4 to 16 at a time: positions are made relative to the
//      item's cell and those farther than the radius from the box are dropped, the others appended
//      with their j-fields to a tile of columns in the first-level cache (of 216 candidates 100 to
//      130 stay when 8 elements share a cell of the size of the radius);
//   3. for each i, the pair function over the whole tile, a register at a time.
//
// A tile that is full is swept and filled again, so any number of candidates needs the same memory.
// What is dropped, and so which lane a candidate falls into, depends on positions alone: every
// instruction set and any number of threads gives the same bits. See data/pairs.h for the contract
// of a kernel.
#pragma once

#include <string.h>

#include "data/pairs.h"

#ifndef KP_ISA
#error "data/pair_cpu.h is for files listed with kp_isa_sources, which define KP_ISA"
#endif

#define KP_PAIR_TILE 512                          // candidates per sweep
#define KP_PAIR_STRIDE (KP_PAIR_TILE + KP_LANES)  // a column also takes the last append's overhang
#define KP_PAIR_ALIGN __attribute__((aligned(64)))
#define KP_PAIR_FN static inline __attribute__((always_inline, unused))
// Compiled once for all kernels of a file, which may be dozens of variants.
#define KP_PAIR_SHARED static __attribute__((noinline, unused))

// One work item on its way through the rows.
typedef struct kp_pair_walk {
  int32_t n_i;                     // elements of the item
  uint32_t first;                  // its first slot
  double centre[3];                // of the first element's cell: the origin of relative positions
  double lo[3], hi[3];             // bounding box of the elements
  kp_real near_lo[3], near_hi[3];  // the same, relative
  kp_real cut2;                    // a candidate farther than this from the box is dropped
  int32_t cell_lo[3], cell_hi[3];  // cells of j within reach
  int32_t row_y, row_z;            // row to come next
  uint32_t slot, slot_end;         // what is left of the current row
  int32_t n_tile;                  // candidates in the tile
  bool is_done;
  kp_real x[3][KP_CELLS_ITEM];  // relative positions of the elements
} kp_pair_walk;

KP_PAIR_FN int64_t kp_pair_element(const kp_cells_view *v, uint32_t slot) {
  return v->order != NULL ? (int64_t)v->order[slot] : (int64_t)slot;
}

// Bounding box of the elements from their positions in double.
KP_PAIR_FN void kp_pair_walk_box(kp_pair_walk *w, const kp_pair_job *job) {
  const kp_pos *axes[3] = { job->i.x, job->i.y, job->i.z };
  for (int d = 0; d < 3 && d < job->dimension; ++d) {
    double lo = HUGE_VAL;
    double hi = -HUGE_VAL;
    for (int32_t k = 0; k < w->n_i; ++k) {
      double x = axes[d][kp_pair_element(&job->i, w->first + (uint32_t)k)];
      lo = x < lo ? x : lo;
      hi = x > hi ? x : hi;
    }
    w->lo[d] = lo;
    w->hi[d] = hi;
  }
}

// The lattice is the same function of a position everywhere and monotone, so the cells of the ends
// of the grown box bound the cells of all that lies in it.
KP_PAIR_SHARED void kp_pair_walk_begin(kp_pair_walk *w, const kp_pair_job *job, int64_t item) {
  w->first = job->work[item];
  w->n_i = (int32_t)(job->work[item + 1] - w->first);
  kp_pair_walk_box(w, job);

  const kp_pos *axes[3] = { job->i.x, job->i.y, job->i.z };
  double extent = 0.0;
  w->cell_lo[2] = w->cell_hi[2] = 0;
  for (int d = 0; d < 3 && d < job->dimension; ++d) {
    double lo = w->lo[d];
    double hi = w->hi[d];
    double centre = (kp_cells_coordinate(lo, job->i.inverse_edge) + 0.5) * job->i.edge;
    w->centre[d] = centre;
    w->near_lo[d] = (kp_real)(lo - centre);
    w->near_hi[d] = (kp_real)(hi - centre);
    int32_t inner;
    kp_cells_reach(&job->j, d, lo, job->radius, &w->cell_lo[d], &inner);
    kp_cells_reach(&job->j, d, hi, job->radius, &inner, &w->cell_hi[d]);
    double size = hi - centre > centre - lo ? hi - centre : centre - lo;
    extent = size > extent ? size : extent;
    for (int32_t k = 0; k < w->n_i; ++k) {
      int64_t i = kp_pair_element(&job->i, w->first + (uint32_t)k);
      w->x[d][k] = (kp_real)(axes[d][i] - centre);
    }
  }
  // relative positions are rounded to kp_real: give the radius a few units of that
  double cut = job->radius + (sizeof(kp_real) == 4 ? 1e-6 : 1e-14) * (job->radius + extent);
  w->cut2 = (kp_real)(cut * cut * (1.0 + 1e-6));
  w->row_y = w->cell_lo[1];
  w->row_z = w->cell_lo[2];
  w->slot = w->slot_end = 0;
  w->n_tile = 0;
  w->is_done = false;
}

// Gap between the box and a row of cells on one axis.
KP_PAIR_FN double kp_pair_row_gap(const kp_pair_walk *w, const kp_cells_view *j, int axis,
                                  int32_t c) {
  double below = w->lo[axis] - (c + 1) * j->edge;
  double above = c * j->edge - w->hi[axis];
  double gap = below > above ? below : above;
  return gap > 0.0 ? gap : 0.0;
}

// Steps to the next row that holds candidates; false after the last one.
KP_PAIR_FN bool kp_pair_walk_row(kp_pair_walk *w, const kp_pair_job *job) {
  while (w->row_z <= w->cell_hi[2]) {
    int32_t y = w->row_y;
    int32_t z = w->row_z;
    if (++w->row_y > w->cell_hi[1]) {
      w->row_y = w->cell_lo[1];
      ++w->row_z;
    }
    double gy = kp_pair_row_gap(w, &job->j, 1, y);
    double gz = job->dimension == 3 ? kp_pair_row_gap(w, &job->j, 2, z) : 0.0;
    if (gy * gy + gz * gz > (double)w->cut2) {
      continue;
    }
    kp_cells_range(&job->j, w->cell_lo[0], w->cell_hi[0], y, z, &w->slot, &w->slot_end);
    if (w->slot < w->slot_end) {
      return true;
    }
  }
  return false;
}

// --- a register of candidates --------------------------------------------------------------------
//
// Four small functions per instruction set; lanes from `count` on are loaded as anything, or zero,
// but memory beyond is not touched.

#if defined(__AVX512F__)

#ifdef KELPIE_DOUBLE
#define KP_PAIR_MASK(bits) ((__mmask8)(bits))
KP_PAIR_FN kp_w kp_pair_load_pos(const kp_pos *p, int count, double centre) {
  return (kp_w)_mm512_sub_pd(_mm512_maskz_loadu_pd(KP_PAIR_MASK((1u << count) - 1u), p),
                             _mm512_set1_pd(centre));
}
KP_PAIR_FN uint32_t kp_pair_bits_within(kp_w g2, kp_real cut2) {
  return _mm512_cmp_pd_mask(g2, _mm512_set1_pd(cut2), _CMP_LE_OQ);
}
#else
#define KP_PAIR_MASK(bits) ((__mmask16)(bits))
KP_PAIR_FN kp_w kp_pair_load_pos(const kp_pos *p, int count, double centre) {
  uint32_t bits = (1u << count) - 1u;
  __m512d c = _mm512_set1_pd(centre);
  __m512d a = _mm512_sub_pd(_mm512_maskz_loadu_pd((__mmask8)bits, p), c);
  __m512d b = _mm512_sub_pd(_mm512_maskz_loadu_pd((__mmask8)(bits >> 8), p + 8), c);
  __m512 low = _mm512_castps256_ps512(_mm512_cvtpd_ps(a));
  return (kp_w)_mm512_insertf32x8(low, _mm512_cvtpd_ps(b), 1);
}
KP_PAIR_FN uint32_t kp_pair_bits_within(kp_w g2, kp_real cut2) {
  return _mm512_cmp_ps_mask(g2, _mm512_set1_ps(cut2), _CMP_LE_OQ);
}
#endif
KP_PAIR_FN kp_w kp_pair_load(const kp_real *p, int count) {
  return (kp_w)KP_W_CALL(maskz_loadu)(KP_PAIR_MASK((1u << count) - 1u), p);
}
// Appends the lanes whose bit is set; KP_W_LANES places are written.
KP_PAIR_FN void kp_pair_append(kp_real *to, kp_w lanes, uint32_t bits) {
  KP_W_CALL(storeu)(to, KP_W_CALL(maskz_compress)(KP_PAIR_MASK(bits), lanes));
}
// Appends first + k for the set bits k.
KP_PAIR_FN void kp_pair_append_run(uint32_t *to, uint32_t first, uint32_t bits) {
  __m512i k = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15);
  __m512i lanes = _mm512_add_epi32(_mm512_set1_epi32((int)first), k);
  _mm512_storeu_si512(to, _mm512_maskz_compress_epi32((__mmask16)bits, lanes));
}
KP_PAIR_FN uint32_t kp_pair_bits_equal(const uint32_t *indices, uint32_t index) {
  __m512i lanes = _mm512_maskz_loadu_epi32((__mmask16)((1u << KP_W_LANES) - 1u), indices);
  return _mm512_cmpeq_epi32_mask(lanes, _mm512_set1_epi32((int)index)) & ((1u << KP_W_LANES) - 1u);
}
// The same for indices; KP_LANES places are written.
KP_PAIR_FN void kp_pair_append_index(uint32_t *to, const uint32_t *indices, uint32_t bits) {
  __m512i lanes = _mm512_maskz_loadu_epi32((__mmask16)bits, indices);
  _mm512_storeu_si512(to, _mm512_maskz_compress_epi32((__mmask16)bits, lanes));
}

#elif defined(__AVX2__)

// For every byte of bits, the places of the set ones, one per byte.
#define KP_PAIR_BIT(m, k) ((m) >> (k)&1)
#define KP_PAIR_RANK2(m, k) (KP_PAIR_BIT(m, k) + KP_PAIR_BIT(m, (k) + 1))
#define KP_PAIR_RANK4(m) (KP_PAIR_RANK2(m, 0) + KP_PAIR_RANK2(m, 2))
#define KP_PAIR_AT(m, k, rank) (KP_PAIR_BIT(m, k) ? (uint64_t)(k) << 8 * (rank) : 0)
#define KP_PAIR_PLACES(m)                                                                          \
  (KP_PAIR_AT(m, 1, KP_PAIR_BIT(m, 0)) | KP_PAIR_AT(m, 2, KP_PAIR_RANK2(m, 0)) |                   \
   KP_PAIR_AT(m, 3, KP_PAIR_RANK2(m, 0) + KP_PAIR_BIT(m, 2)) |                                     \
   KP_PAIR_AT(m, 4, KP_PAIR_RANK4(m)) | KP_PAIR_AT(m, 5, KP_PAIR_RANK4(m) + KP_PAIR_BIT(m, 4)) |   \
   KP_PAIR_AT(m, 6, KP_PAIR_RANK4(m) + KP_PAIR_RANK2(m, 4)) |                                      \
   KP_PAIR_AT(m, 7, KP_PAIR_RANK4(m) + KP_PAIR_RANK2(m, 4) + KP_PAIR_BIT(m, 6)))
#define KP_PAIR_PLACES4(m)                                                                         \
  KP_PAIR_PLACES(m), KP_PAIR_PLACES((m) + 1), KP_PAIR_PLACES((m) + 2), KP_PAIR_PLACES((m) + 3)
#define KP_PAIR_PLACES16(m)                                                                        \
  KP_PAIR_PLACES4(m), KP_PAIR_PLACES4((m) + 4), KP_PAIR_PLACES4((m) + 8), KP_PAIR_PLACES4((m) + 12)
#define KP_PAIR_PLACES64(m)                                                                        \
  KP_PAIR_PLACES16(m), KP_PAIR_PLACES16((m) + 16), KP_PAIR_PLACES16((m) + 32),                     \
      KP_PAIR_PLACES16((m) + 48)
// clang-format off
static const uint64_t kp_pair_places[256] __attribute__((unused)) = {
  KP_PAIR_PLACES64(0), KP_PAIR_PLACES64(64), KP_PAIR_PLACES64(128), KP_PAIR_PLACES64(192)
};
// clang-format on

static const int32_t kp_pair_tail[16] = { -1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0 };

// All-ones in the first `count` lanes of 8 (of 4 pairs).
KP_PAIR_FN __m256i kp_pair_tail8(int count) {
  return _mm256_loadu_si256((const __m256i *)(kp_pair_tail + 8 - count));
}
KP_PAIR_FN __m256i kp_pair_tail4(int count) {
  count = count < 0 ? 0 : count > 4 ? 4 : count;
  return _mm256_loadu_si256((const __m256i *)(kp_pair_tail + 8 - 2 * count));
}
KP_PAIR_FN __m256d kp_pair_load4(const double *p, int count) {
  return _mm256_maskload_pd(p, kp_pair_tail4(count));
}

KP_PAIR_FN void kp_pair_append_run(uint32_t *to, uint32_t first, uint32_t bits) {
  __m256i places = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)kp_pair_places[bits]));
  _mm256_storeu_si256((__m256i *)to, _mm256_add_epi32(places, _mm256_set1_epi32((int)first)));
}
KP_PAIR_FN uint32_t kp_pair_bits_equal(const uint32_t *indices, uint32_t index) {
  __m256i lanes = _mm256_loadu_si256((const __m256i *)indices);
  __m256i equal = _mm256_cmpeq_epi32(lanes, _mm256_set1_epi32((int)index));
  return (uint32_t)_mm256_movemask_ps(_mm256_castsi256_ps(equal)) & ((1u << KP_W_LANES) - 1u);
}
KP_PAIR_FN void kp_pair_append_index(uint32_t *to, const uint32_t *indices, uint32_t bits) {
  __m256i places = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)kp_pair_places[bits]));
  __m256i lanes = _mm256_loadu_si256((const __m256i *)indices);
  _mm256_storeu_si256((__m256i *)to, _mm256_permutevar8x32_epi32(lanes, places));
}

#ifdef KELPIE_DOUBLE
KP_PAIR_FN kp_w kp_pair_load(const kp_real *p, int count) {
  return (kp_w)kp_pair_load4(p, count);
}
KP_PAIR_FN kp_w kp_pair_load_pos(const kp_pos *p, int count, double centre) {
  return (kp_w)_mm256_sub_pd(kp_pair_load4(p, count), _mm256_set1_pd(centre));
}
KP_PAIR_FN uint32_t kp_pair_bits_within(kp_w g2, kp_real cut2) {
  return (uint32_t)_mm256_movemask_pd(_mm256_cmp_pd(g2, _mm256_set1_pd(cut2), _CMP_LE_OQ));
}
KP_PAIR_FN void kp_pair_append(kp_real *to, kp_w lanes, uint32_t bits) {
  // lane k is the pair of 32-bit lanes 2 k, 2 k + 1
  __m256i k = _mm256_cvtepu8_epi64(_mm_cvtsi64_si128((long long)kp_pair_places[bits]));
  __m256i even = _mm256_add_epi64(k, k);
  __m256i odd = _mm256_slli_epi64(_mm256_add_epi64(even, _mm256_set1_epi64x(1)), 32);
  __m256 moved = _mm256_permutevar8x32_ps(_mm256_castpd_ps(lanes), _mm256_or_si256(even, odd));
  _mm256_storeu_pd(to, _mm256_castps_pd(moved));
}
#else
KP_PAIR_FN kp_w kp_pair_load(const kp_real *p, int count) {
  return (kp_w)_mm256_maskload_ps(p, kp_pair_tail8(count));
}
KP_PAIR_FN kp_w kp_pair_load_pos(const kp_pos *p, int count, double centre) {
  __m256d c = _mm256_set1_pd(centre);
  __m256d a = _mm256_sub_pd(kp_pair_load4(p, count), c);
  __m256d b = _mm256_sub_pd(kp_pair_load4(p + 4, count - 4), c);
  return (kp_w)_mm256_set_m128(_mm256_cvtpd_ps(b), _mm256_cvtpd_ps(a));
}
KP_PAIR_FN uint32_t kp_pair_bits_within(kp_w g2, kp_real cut2) {
  return (uint32_t)_mm256_movemask_ps(_mm256_cmp_ps(g2, _mm256_set1_ps(cut2), _CMP_LE_OQ));
}
KP_PAIR_FN void kp_pair_append(kp_real *to, kp_w lanes, uint32_t bits) {
  __m256i places = _mm256_cvtepu8_epi32(_mm_cvtsi64_si128((long long)kp_pair_places[bits]));
  _mm256_storeu_ps(to, _mm256_permutevar8x32_ps(lanes, places));
}
#endif

#else  // baseline, and any other processor

KP_PAIR_FN kp_w kp_pair_load(const kp_real *p, int count) {
  kp_w lanes = { 0 };
  for (int k = 0; k < KP_W_LANES && k < count; ++k) {
    lanes[k] = p[k];
  }
  return lanes;
}
KP_PAIR_FN kp_w kp_pair_load_pos(const kp_pos *p, int count, double centre) {
  kp_w lanes = { 0 };
  for (int k = 0; k < KP_W_LANES && k < count; ++k) {
    lanes[k] = (kp_real)(p[k] - centre);
  }
  return lanes;
}
KP_PAIR_FN uint32_t kp_pair_bits_within(kp_w g2, kp_real cut2) {
  uint32_t bits = 0;
  for (int k = 0; k < KP_W_LANES; ++k) {
    bits |= (uint32_t)(g2[k] <= cut2) << k;
  }
  return bits;
}
KP_PAIR_FN void kp_pair_append(kp_real *to, kp_w lanes, uint32_t bits) {
  int n = 0;
  for (int k = 0; k < KP_W_LANES; ++k) {
    to[n] = lanes[k];
    n += (int)(bits >> k & 1u);
  }
}
KP_PAIR_FN void kp_pair_append_run(uint32_t *to, uint32_t first, uint32_t bits) {
  int n = 0;
  for (int k = 0; k < KP_W_LANES; ++k) {
    to[n] = first + (uint32_t)k;
    n += (int)(bits >> k & 1u);
  }
}
KP_PAIR_FN uint32_t kp_pair_bits_equal(const uint32_t *indices, uint32_t index) {
  uint32_t bits = 0;
  for (int k = 0; k < KP_W_LANES; ++k) {
    bits |= (uint32_t)(indices[k] == index) << k;
  }
  return bits;
}
KP_PAIR_FN void kp_pair_append_index(uint32_t *to, const uint32_t *indices, uint32_t bits) {
  int n = 0;
  for (int k = 0; k < KP_W_LANES; ++k) {
    to[n] = indices[k];
    n += (int)(bits >> k & 1u);
  }
}

#endif

// --- filling the tile ----------------------------------------------------------------------------

// Squared distance from the item's box, on one axis.
KP_PAIR_FN kp_w kp_pair_gap2(const kp_pair_walk *w, int axis, kp_w x) {
  kp_w below = kp_w_splat(w->near_lo[axis]) - x;
  kp_w above = x - kp_w_splat(w->near_hi[axis]);
  kp_w gap = kp_w_max(kp_w_max(below, above), kp_w_splat(0));
  return gap * gap;
}

// Candidates on their way into the tile: `count` slots from `slot` on go to place n.
typedef struct kp_pair_batch {
  uint32_t slot;
  int32_t count;
  int32_t n;
} kp_pair_batch;

// Appends candidates of a set that is physically sorted; returns the bits of those that stay.
KP_PAIR_FN uint32_t kp_pair_append_sorted(const kp_pair_walk *w, const kp_pair_job *job,
                                          kp_pair_batch b, const kp_real *const *fields,
                                          int n_fields, kp_real (*tile)[KP_PAIR_STRIDE]) {
  const kp_cells_view *v = &job->j;
  kp_w x = kp_pair_load_pos(v->x + b.slot, b.count, w->centre[0]);
  kp_w y = kp_pair_load_pos(v->y + b.slot, b.count, w->centre[1]);
  kp_w z = kp_w_splat(0);
  kp_w gap2 = kp_pair_gap2(w, 0, x) + kp_pair_gap2(w, 1, y);
  if (job->dimension == 3) {
    z = kp_pair_load_pos(v->z + b.slot, b.count, w->centre[2]);
    gap2 += kp_pair_gap2(w, 2, z);
  }
  uint32_t bits = kp_pair_bits_within(gap2, w->cut2) & ((1u << b.count) - 1u);
  kp_pair_append(&tile[0][b.n], x, bits);
  kp_pair_append(&tile[1][b.n], y, bits);
  kp_pair_append(&tile[2][b.n], z, bits);
  for (int f = 0; f < n_fields; ++f) {
    kp_pair_append(&tile[3 + f][b.n], kp_pair_load(fields[f] + b.slot, b.count), bits);
  }
  return bits;
}

// The same through the order of a tied set: the values are brought together first.
KP_PAIR_FN uint32_t kp_pair_append_ordered(const kp_pair_walk *w, const kp_pair_job *job,
                                           kp_pair_batch b, const kp_real *const *fields,
                                           int n_fields, kp_real (*tile)[KP_PAIR_STRIDE]) {
  const uint32_t *elements = job->j.order + b.slot;
  const kp_pos *axes[3] = { job->j.x, job->j.y, job->j.z };
  kp_w x[3] = { kp_w_splat(0), kp_w_splat(0), kp_w_splat(0) };
  kp_w gap2 = kp_w_splat(0);
  for (int d = 0; d < job->dimension; ++d) {
    kp_pos values[KP_W_LANES];
    for (int k = 0; k < b.count; ++k) {
      values[k] = axes[d][elements[k]];
    }
    x[d] = kp_pair_load_pos(values, b.count, w->centre[d]);
    gap2 += kp_pair_gap2(w, d, x[d]);
  }
  uint32_t bits = kp_pair_bits_within(gap2, w->cut2) & ((1u << b.count) - 1u);
  for (int d = 0; d < 3; ++d) {
    kp_pair_append(&tile[d][b.n], x[d], bits);
  }
  for (int f = 0; f < n_fields; ++f) {
    kp_real values[KP_W_LANES];
    for (int k = 0; k < b.count; ++k) {
      values[k] = fields[f][elements[k]];
    }
    kp_pair_append(&tile[3 + f][b.n], kp_pair_load(values, b.count), bits);
  }
  return bits;
}

// Elements behind the candidates just appended.
KP_PAIR_FN void kp_pair_append_elements(const kp_pair_job *job, kp_pair_batch b, uint32_t bits,
                                        uint32_t *elements) {
  if (job->j.order == NULL) {
    kp_pair_append_run(elements + b.n, b.slot, bits);
    return;
  }
  uint32_t lanes[KP_LANES] = { 0 };
  for (int k = 0; k < b.count; ++k) {
    lanes[k] = job->j.order[b.slot + (uint32_t)k];
  }
  kp_pair_append_index(elements + b.n, lanes, bits);
}

// Fills up the last register with candidates that are far away and weigh nothing.
KP_PAIR_FN void kp_pair_pad(kp_pair_walk *w, double radius, int n_fields,
                            kp_real (*tile)[KP_PAIR_STRIDE]) {
  for (int f = 0; f < 3 + n_fields; ++f) {
    for (int k = 0; k < KP_LANES; ++k) {
      tile[f][w->n_tile + k] = f == 0 ? (kp_real)(1e6 * radius) : (kp_real)0;
    }
  }
  w->n_tile = (w->n_tile + KP_LANES - 1) / KP_LANES * KP_LANES;
}

// Fills the tile with the item's next candidates and returns their number, a multiple of KP_LANES;
// 0 when there are no more. `elements`, of KP_PAIR_STRIDE places, may be NULL.
KP_PAIR_SHARED int32_t kp_pair_fill(kp_pair_walk *w, const kp_pair_job *job,
                                    const kp_real *const *fields, int n_fields,
                                    kp_real (*tile)[KP_PAIR_STRIDE], uint32_t *elements) {
  if (w->is_done) {
    return 0;
  }
  // what hung over the end of the last sweep comes first
  if (w->n_tile >= KP_PAIR_TILE) {
    w->n_tile -= KP_PAIR_TILE;
    for (int f = 0; f < 3 + n_fields; ++f) {
      memcpy(tile[f], tile[f] + KP_PAIR_TILE, KP_LANES * sizeof(kp_real));
    }
    if (elements != NULL) {
      memcpy(elements, elements + KP_PAIR_TILE, KP_LANES * sizeof(uint32_t));
    }
  }
  kp_pair_batch b = { .n = w->n_tile };
  while (w->slot < w->slot_end || kp_pair_walk_row(w, job)) {
    uint32_t end = w->slot_end;
    for (b.slot = w->slot; b.slot < end && b.n < KP_PAIR_TILE; b.slot += (uint32_t)b.count) {
      b.count = end - b.slot < (uint32_t)KP_W_LANES ? (int32_t)(end - b.slot) : KP_W_LANES;
      uint32_t bits = job->j.order == NULL
                          ? kp_pair_append_sorted(w, job, b, fields, n_fields, tile)
                          : kp_pair_append_ordered(w, job, b, fields, n_fields, tile);
      if (elements != NULL) {
        kp_pair_append_elements(job, b, bits, elements);
      }
      b.n += __builtin_popcount(bits);
    }
    w->slot = b.slot;
    if (b.n >= KP_PAIR_TILE) {
      w->n_tile = b.n;
      return KP_PAIR_TILE;
    }
  }
  w->is_done = true;
  w->n_tile = b.n;
  kp_pair_pad(w, job->radius, n_fields, tile);
  return w->n_tile;
}

// --- the loop of one kernel ----------------------------------------------------------------------

// Adds b to a: the merge of accumulators that are sums.
KP_PAIR_FN void kp_pair_add(void *a, const void *b, size_t size) {
  kp_w *sums = a;
  const kp_w *more = b;
  for (size_t k = 0; k < size / sizeof(kp_w); ++k) {
    sums[k] += more[k];
  }
}

#define KP_PAIR_MERGE_SUM(a, b) kp_pair_add((a), (b), sizeof *(a))

#define KP_PAIR_ONE(field) +1
#define KP_PAIR_POINTER(field) a.j_##field,
#define KP_PAIR_LOAD_LANES(field) j.field = kp_w_load(&tile[column++][at]);

// Every element of the item over the whole tile. The parts of a sum (math/wide.h) take turns in the
// outer loop, so that one set of accumulators stays in registers.
#define KP_PAIR_SWEEP(prefix, LIST, dimension)                                                     \
  __attribute__((flatten)) static void prefix##_sweep##dimension(                                  \
      const kp_real(*restrict tile)[KP_PAIR_STRIDE], int32_t n_tile, const kp_pair_walk *w,        \
      const prefix##_i *selves, prefix##_acc(*accs)[KP_W_PARTS], const prefix##_args *args) {      \
    const prefix##_args a = *args;                                                                 \
    for (int32_t i = 0; i < w->n_i; ++i) {                                                         \
      const prefix##_i self = selves[i];                                                           \
      const kp_w x = kp_w_splat(w->x[0][i]);                                                       \
      const kp_w y = kp_w_splat(w->x[1][i]);                                                       \
      const kp_w z = kp_w_splat((dimension) == 3 ? w->x[2][i] : (kp_real)0);                       \
      for (int p = 0; p < KP_W_PARTS; ++p) {                                                       \
        prefix##_acc acc = accs[i][p];                                                             \
        for (int32_t at = p * KP_W_LANES; at < n_tile; at += KP_LANES) {                           \
          int column = 3;                                                                          \
          prefix##_j j;                                                                            \
          LIST(KP_PAIR_LOAD_LANES)                                                                 \
          (void)column;                                                                            \
          kp_w dx = x - kp_w_load(&tile[0][at]);                                                   \
          kp_w dy = y - kp_w_load(&tile[1][at]);                                                   \
          kp_w dz = (dimension) == 3 ? z - kp_w_load(&tile[2][at]) : z;                            \
          kp_w r2 = dx * dx + dy * dy;                                                             \
          r2 = (dimension) == 3 ? r2 + dz * dz : r2;                                               \
          prefix##_pair(&acc, &self, &j, dx, dy, dz, r2, &a);                                      \
        }                                                                                          \
        accs[i][p] = acc;                                                                          \
      }                                                                                            \
    }                                                                                              \
  }

#define KP_PAIR_LOOP(prefix, LIST, MERGE, function)                                                \
  KP_PAIR_SWEEP(prefix, LIST, 2)                                                                   \
  KP_PAIR_SWEEP(prefix, LIST, 3)                                                                   \
  void function(const kp_pair_job *job, int64_t begin, int64_t end, const void *args);             \
  void function(const kp_pair_job *job, int64_t begin, int64_t end, const void *args) {            \
    _Static_assert(sizeof(prefix##_acc) % sizeof(kp_w) == 0, #prefix "_acc holds more than kp_w"); \
    enum { n_fields = 0 LIST(KP_PAIR_ONE) };                                                       \
    const prefix##_args a = *(const prefix##_args *)args;                                          \
    const kp_real *fields[n_fields + 1] = { LIST(KP_PAIR_POINTER) NULL };                          \
    kp_real tile[3 + n_fields][KP_PAIR_STRIDE] KP_PAIR_ALIGN;                                      \
    prefix##_acc accs[KP_CELLS_ITEM][KP_W_PARTS] KP_PAIR_ALIGN;                                    \
    prefix##_i selves[KP_CELLS_ITEM];                                                              \
    kp_pair_walk w;                                                                                \
    for (int64_t item = begin; item < end; ++item) {                                               \
      kp_pair_walk_begin(&w, job, item);                                                           \
      for (int32_t i = 0; i < w.n_i; ++i) {                                                        \
        prefix##_load(kp_pair_element(&job->i, w.first + (uint32_t)i), &a, &selves[i], accs[i]);   \
        for (int p = 1; p < KP_W_PARTS; ++p) {                                                     \
          accs[i][p] = accs[i][0];                                                                 \
        }                                                                                          \
      }                                                                                            \
      int32_t n_tile;                                                                              \
      while ((n_tile = kp_pair_fill(&w, job, fields, n_fields, tile, NULL)) > 0) {                 \
        if (job->dimension == 2) {                                                                 \
          prefix##_sweep2((const kp_real(*)[KP_PAIR_STRIDE])tile, n_tile, &w, selves, accs, &a);   \
        } else {                                                                                   \
          prefix##_sweep3((const kp_real(*)[KP_PAIR_STRIDE])tile, n_tile, &w, selves, accs, &a);   \
        }                                                                                          \
      }                                                                                            \
      for (int32_t i = 0; i < w.n_i; ++i) {                                                        \
        for (int half = KP_W_PARTS / 2; half > 0; half /= 2) {                                     \
          for (int p = 0; p < half; ++p) {                                                         \
            MERGE(&accs[i][p], &accs[i][p + half]);                                                \
          }                                                                                        \
        }                                                                                          \
        prefix##_store(kp_pair_element(&job->i, w.first + (uint32_t)i), accs[i], &selves[i], &a);  \
      }                                                                                            \
    }                                                                                              \
  }

#define KP_PAIR_JOIN(mod, name, isa) mod##_##name##_pairs_##isa
#define KP_PAIR_NAME(mod, name, isa) KP_PAIR_JOIN(mod, name, isa)
#define KP_PAIR_EXPAND(mod, name, args_type, LIST, MERGE, ...)                                     \
  KP_PAIR_LOOP(mod##_##name, LIST, MERGE, KP_PAIR_NAME(mod, name, KP_ISA))

// The dots are: type of the arguments, list of the j-fields, and the merge where it is not a sum.
#define KP_CPU_PAIR(mod, name, ...) KP_PAIR_EXPAND(mod, name, __VA_ARGS__, KP_PAIR_MERGE_SUM, )
