// Pairs of two leaves: an item of one against all of the other at once. Only comparisons decide, so
// the answer is that of kp_box_meets for each pair, whatever the instruction set.
#include "geom/box_tree.h"

#ifndef KP_ISA
#error "compiled by kp_isa_sources, which defines KP_ISA"
#endif

// A box whose sides are at hand wherever it comes from: a node, or an item of a block.
typedef struct box_view {
  float min[3], max[3], end_min[3], end_max[3];
  bool is_still;  // has no box at the end
} box_view;

static box_view view_node(const kp_box *box, bool is_still) {
  box_view v = { .is_still = is_still };
  for (int k = 0; k < 3; ++k) {
    v.min[k] = box->min[k];
    v.max[k] = box->max[k];
    v.end_min[k] = box->end_min[k];
    v.end_max[k] = box->end_max[k];
  }
  return v;
}

static box_view view_item(const kp_box_block *block, int lane, bool is_still) {
  box_view v = { .is_still = is_still };
  for (int k = 0; k < 3; ++k) {
    v.min[k] = block->min[k][lane];
    v.max[k] = block->max[k][lane];
    v.end_min[k] = is_still ? v.min[k] : block->end_min[k][lane];
    v.end_max[k] = is_still ? v.max[k] : block->end_max[k][lane];
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
    if (a->is_still) {
      apart |= above | below;
      continue;
    }
    apart |= _mm512_mask_cmp_ps_mask(above, _mm512_set1_ps(a->end_min[k]),
                                     _mm512_load_ps(b->end_max[k]), _CMP_GT_OQ);
    apart |= _mm512_mask_cmp_ps_mask(below, _mm512_load_ps(b->end_min[k]),
                                     _mm512_set1_ps(a->end_max[k]), _CMP_GT_OQ);
  }
  return (uint32_t)(uint16_t)~apart;
}

static uint32_t positive(const float v[KP_BOX_LANES]) {
  return _mm512_cmp_ps_mask(_mm512_load_ps(v), _mm512_setzero_ps(), _CMP_GT_OQ);
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
      __m128 above = _mm_cmpgt_ps(_mm_set1_ps(a->min[k]), _mm_load_ps(b->max[k] + l));
      __m128 below = _mm_cmpgt_ps(_mm_load_ps(b->min[k] + l), _mm_set1_ps(a->max[k]));
      if (!a->is_still) {
        above = _mm_and_ps(
            above, _mm_cmpgt_ps(_mm_set1_ps(a->end_min[k]), _mm_load_ps(b->end_max[k] + l)));
        below = _mm_and_ps(
            below, _mm_cmpgt_ps(_mm_load_ps(b->end_min[k] + l), _mm_set1_ps(a->end_max[k])));
      }
      apart = _mm_or_ps(apart, _mm_or_ps(above, below));
    }
    bits |= (uint32_t)(~_mm_movemask_ps(apart) & 15) << l;
  }
  return bits;
}

static uint32_t positive(const float v[KP_BOX_LANES]) {
  uint32_t bits = 0;
  for (int l = 0; l < KP_BOX_LANES; l += 4) {
    __m128 is = _mm_cmpgt_ps(_mm_load_ps(v + l), _mm_setzero_ps());
    bits |= (uint32_t)_mm_movemask_ps(is) << l;
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
      is_apart |= (a->min[k] > b->max[k][l]) & (a->is_still || a->end_min[k] > b->end_max[k][l]);
      is_apart |= (b->min[k][l] > a->max[k]) & (a->is_still || b->end_min[k][l] > a->end_max[k]);
    }
    bits |= (uint32_t)!is_apart << l;
  }
  return bits;
}

static uint32_t positive(const float v[KP_BOX_LANES]) {
  uint32_t bits = 0;
  for (int l = 0; l < KP_BOX_LANES; ++l) {
    bits |= (uint32_t)(v[l] > 0.0f) << l;
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

static float least(float a, float b) {
  return a < b ? a : b;
}

// Bits of the still items of a block that the line between its middle and that of item i of another
// parts by more than both margins: no distance is less than what a line shows of it.
static uint32_t parted(const kp_box_block *b, const kp_box_block *a, int i) {
  float first[3][3];  // its corners; the second and third from the first
  for (int k = 0; k < 3; ++k) {
    first[0][k] = a->at[0][k][i];
    first[1][k] = a->at[1][k][i] - first[0][k];
    first[2][k] = a->at[2][k][i] - first[0][k];
  }
  float margin = a->margin[i];
  _Alignas(64) float over[KP_BOX_LANES];  // squares of gap and margins, less one another
  for (int l = 0; l < KP_BOX_LANES; ++l) {
    float d[3][3], line[3];  // corners from the same place, and three times the line
    for (int k = 0; k < 3; ++k) {
      for (int m = 0; m < 3; ++m) {
        d[m][k] = b->at[m][k][l] - first[0][k];
      }
      line[k] = (d[0][k] + d[1][k] + d[2][k]) - (first[1][k] + first[2][k]);
    }
    float gap = HUGE_VALF;
    float most = 0.0f;
    for (int m = 0; m < 3; ++m) {
      gap = least(gap, line[0] * d[m][0] + line[1] * d[m][1] + line[2] * d[m][2]);
    }
    for (int m = 1; m < 3; ++m) {
      most =
          -least(-most, -(line[0] * first[m][0] + line[1] * first[m][1] + line[2] * first[m][2]));
    }
    gap -= most;
    float both = margin + b->margin[l];
    float length2 = line[0] * line[0] + line[1] * line[1] + line[2] * line[2];
    over[l] = gap * fabsf(gap) - 1.0001f * both * both * length2;
  }
  return positive(over);
}

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
  bool is_still = w->a->is_still;
  // Items that do not meet the other leaf are dropped before they are paired, and lanes without
  // one: their boxes meet nothing, but a place that is not a number is apart from nothing.
  uint32_t columns = (1u << leaf_b->count) - 1u;
  uint32_t rows = (1u << leaf_a->count) - 1u;
  if (!is_one) {
    box_view box = view_node(leaf_a, is_still);
    columns &= meeting(b, &box);
    if (columns == 0) {
      return;
    }
    box = view_node(leaf_b, is_still);
    rows &= meeting(a, &box);
  }
  uint32_t marks_a = w->only_marked ? w->a->marks[leaf_a->first] : 0xffffu;
  uint32_t marks_b = w->only_marked ? w->b->marks[leaf_b->first] : 0xffffu;
  for (; rows != 0; rows &= rows - 1) {
    int i = lowest(rows);
    uint32_t asked = marks_a >> i & 1 ? columns : columns & marks_b;
    asked &= is_one ? ~((2u << i) - 1u) : ~0u;
    if (asked == 0) {
      continue;
    }
    box_view box = view_item(a, i, is_still);
    uint32_t met = meeting(b, &box) & asked;
    for (int k = 0; k < w->a->n_each && met != 0; ++k) {
      met &= ~having(b, w->b->n_each, a->corner[k][i]);
    }
    if (is_still && met != 0) {
      met &= ~parted(b, a, i);
    }
    for (; met != 0; met &= met - 1) {
      visit(a->item[i], b->item[lowest(met)], user);
    }
  }
}
