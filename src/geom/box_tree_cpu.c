// Pairs of two leaves: an item of one against all of the other at once. Only comparisons decide, so
// the answer is that of kp_box_meets for each pair, whatever the instruction set.
#include "geom/box_tree.h"

#ifndef KP_ISA
#error "compiled by kp_isa_sources, which defines KP_ISA"
#endif

// A box whose sides are at hand wherever it comes from: a node, or an item of a block.
typedef struct box_view {
  float min[3], max[3], end_min[3], end_max[3];
} box_view;

static box_view view_node(const kp_box *box) {
  box_view v;
  for (int k = 0; k < 3; ++k) {
    v.min[k] = box->min[k];
    v.max[k] = box->max[k];
    v.end_min[k] = box->end_min[k];
    v.end_max[k] = box->end_max[k];
  }
  return v;
}

static box_view view_item(const kp_box_block *block, int lane) {
  box_view v;
  for (int k = 0; k < 3; ++k) {
    v.min[k] = block->min[k][lane];
    v.max[k] = block->max[k][lane];
    v.end_min[k] = block->end_min[k][lane];
    v.end_max[k] = block->end_max[k][lane];
  }
  return v;
}

// Bits of the items of a block that no axis parts from a box on the whole way, and of those that
// have the corner `corner`.
#if defined(__AVX512F__)

static uint32_t meeting(const kp_box_block *b, const box_view *a) {
  __mmask16 apart = 0;
  for (int k = 0; k < 3; ++k) {
    __mmask16 above =
        _mm512_cmp_ps_mask(_mm512_set1_ps(a->min[k]), _mm512_load_ps(b->max[k]), _CMP_GT_OQ);
    __mmask16 below =
        _mm512_cmp_ps_mask(_mm512_load_ps(b->min[k]), _mm512_set1_ps(a->max[k]), _CMP_GT_OQ);
    apart |= _mm512_mask_cmp_ps_mask(above, _mm512_set1_ps(a->end_min[k]),
                                     _mm512_load_ps(b->end_max[k]), _CMP_GT_OQ);
    apart |= _mm512_mask_cmp_ps_mask(below, _mm512_load_ps(b->end_min[k]),
                                     _mm512_set1_ps(a->end_max[k]), _CMP_GT_OQ);
  }
  return (uint32_t)(uint16_t)~apart;
}

static uint32_t having(const kp_box_block *b, int n_each, kp_index corner) {
  __m512i wanted = _mm512_set1_epi32(corner);
  __mmask16 found = 0;
  for (int k = 0; k < n_each; ++k) {
    found |= _mm512_cmpeq_epi32_mask(wanted, _mm512_load_si512(b->corner[k]));
  }
  return found;
}

#elif defined(__SSE2__)

static uint32_t meeting(const kp_box_block *b, const box_view *a) {
  uint32_t bits = 0;
  for (int l = 0; l < KP_BOX_LANES; l += 4) {
    __m128 apart = _mm_setzero_ps();
    for (int k = 0; k < 3; ++k) {
      __m128 above =
          _mm_and_ps(_mm_cmpgt_ps(_mm_set1_ps(a->min[k]), _mm_load_ps(b->max[k] + l)),
                     _mm_cmpgt_ps(_mm_set1_ps(a->end_min[k]), _mm_load_ps(b->end_max[k] + l)));
      __m128 below =
          _mm_and_ps(_mm_cmpgt_ps(_mm_load_ps(b->min[k] + l), _mm_set1_ps(a->max[k])),
                     _mm_cmpgt_ps(_mm_load_ps(b->end_min[k] + l), _mm_set1_ps(a->end_max[k])));
      apart = _mm_or_ps(apart, _mm_or_ps(above, below));
    }
    bits |= (uint32_t)(~_mm_movemask_ps(apart) & 15) << l;
  }
  return bits;
}

static uint32_t having(const kp_box_block *b, int n_each, kp_index corner) {
  __m128i wanted = _mm_set1_epi32(corner);
  uint32_t bits = 0;
  for (int l = 0; l < KP_BOX_LANES; l += 4) {
    __m128i found = _mm_setzero_si128();
    for (int k = 0; k < n_each; ++k) {
      __m128i here = _mm_load_si128((const __m128i *)(const void *)(b->corner[k] + l));
      found = _mm_or_si128(found, _mm_cmpeq_epi32(wanted, here));
    }
    bits |= (uint32_t)_mm_movemask_ps(_mm_castsi128_ps(found)) << l;
  }
  return bits;
}

#else

static uint32_t meeting(const kp_box_block *b, const box_view *a) {
  uint32_t bits = 0;
  for (int l = 0; l < KP_BOX_LANES; ++l) {
    bool is_apart = false;
    for (int k = 0; k < 3; ++k) {
      is_apart |= (a->min[k] > b->max[k][l]) & (a->end_min[k] > b->end_max[k][l]);
      is_apart |= (b->min[k][l] > a->max[k]) & (b->end_min[k][l] > a->end_max[k]);
    }
    bits |= (uint32_t)!is_apart << l;
  }
  return bits;
}

static uint32_t having(const kp_box_block *b, int n_each, kp_index corner) {
  uint32_t bits = 0;
  for (int l = 0; l < KP_BOX_LANES; ++l) {
    bool is_found = false;
    for (int k = 0; k < n_each; ++k) {
      is_found |= b->corner[k][l] == corner;
    }
    bits |= (uint32_t)is_found << l;
  }
  return bits;
}

#endif

static int lowest(uint32_t bits) {
  return __builtin_ctz(bits);
}

#define JOIN(isa) kp_box_leaves_##isa
#define NAME(isa) JOIN(isa)

void NAME(KP_ISA)(const kp_box_walk *w, kp_box_task task, kp_box_pair_fn visit, void *user);
void NAME(KP_ISA)(const kp_box_walk *w, kp_box_task task, kp_box_pair_fn visit, void *user) {
  const kp_box *leaf_a = &w->a->nodes[task.a];
  const kp_box *leaf_b = &w->b->nodes[task.b];
  const kp_box_block *a = &w->a->blocks[leaf_a->first];
  const kp_box_block *b = &w->b->blocks[leaf_b->first];
  bool is_one = w->a == w->b && task.a == task.b;
  // items that do not meet the other leaf are dropped before they are paired
  uint32_t columns = ~0u;
  uint32_t rows = ~0u;
  if (!is_one) {
    box_view box = view_node(leaf_a);
    columns = meeting(b, &box);
    if (columns == 0) {
      return;
    }
    box = view_node(leaf_b);
    rows = meeting(a, &box);
  }
  uint32_t marks_a = w->only_marked ? w->a->marks[leaf_a->first] : 0xffffu;
  uint32_t marks_b = w->only_marked ? w->b->marks[leaf_b->first] : 0xffffu;
  for (rows &= (1u << leaf_a->count) - 1u; rows != 0; rows &= rows - 1) {
    int i = lowest(rows);
    uint32_t asked = marks_a >> i & 1 ? columns : columns & marks_b;
    asked &= is_one ? ~((2u << i) - 1u) : ~0u;
    if (asked == 0) {
      continue;
    }
    box_view box = view_item(a, i);
    uint32_t met = meeting(b, &box) & asked;
    for (int k = 0; k < w->a->n_each && met != 0; ++k) {
      met &= ~having(b, w->b->n_each, a->corner[k][i]);
    }
    for (; met != 0; met &= met - 1) {
      visit(a->item[i], b->item[lowest(met)], user);
    }
  }
}
