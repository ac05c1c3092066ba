// Boxes of moving items over a tree that keeps its form: for pairs of items that may meet, within
// one tree or between two. The form is that of geom/bvh.h. An item or node has a box at the start
// and one at the end of its straight way; two are apart when an axis parts them in the same sense
// at both ends, since boxes in between lie between these. So a motion that both have in common
// costs nothing, on every level (the moving frame of Selle 2008, section 6.3, who has it for
// leaves). Boxes are in single precision, rounded outward, a cache line each.
//
//   kp_box_set(&corner_boxes[i], ...)                      of each corner
//   kp_box_block_join(&tree.blocks[b], lane, corner_boxes) of each item
//   kp_box_tree_refit(&tree, false)
//   kp_box_tree_split(&walk, tasks, n)     cuts the search into tasks
//   kp_box_tree_pairs(&walk, task, ...)    each of them, in parallel
//
// Items that stay where they are, grown by margins, are near each other rather than on their way:
//
//   kp_box_settle and kp_box_block_settle, with is_still for all trees
//
// in the place of kp_box_set and kp_box_block_join. Then two items of a leaf are apart also where
// the line between their middles parts them, by more than their margins. Boxes of neighbours in a
// sheet overlap; this leaves few of these.
//
// Items of a leaf stand side by side in a block, one array per number, so that one instruction asks
// a box about all of them (box_tree_cpu.c, compiled for each instruction set).
//
// Which pairs are found depends on the boxes alone; their order depends on the form of the tree.
#pragma once

#include <string.h>

#include "geom/bvh.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

// A node of a tree: children `first` and `first + 1` with count = 0, or block `first` with `count`
// items. A corner: its numbers are not used.
typedef struct kp_box {
  float min[3];  // at the start
  kp_index first;
  float max[3];
  kp_index count;
  float end_min[3];
  kp_index second;
  float end_max[3];
  kp_index third;
} kp_box;

#define KP_BOX_LANES 16

// The items of a leaf. Lanes without an item have number -1, no corners and a box that meets
// nothing.
typedef struct kp_box_block {
  float min[3][KP_BOX_LANES], max[3][KP_BOX_LANES];
  union {
    struct {
      float end_min[3][KP_BOX_LANES], end_max[3][KP_BOX_LANES];
    };
    struct {                         // of items that are still
      float at[3][3][KP_BOX_LANES];  // places of three corners: of an edge its middle is the third
      float margin[KP_BOX_LANES];
    };
  };
  kp_index item[KP_BOX_LANES];
  kp_index corner[3][KP_BOX_LANES];  // some repeated where an item has fewer than three
} kp_box_block;

typedef struct kp_box_tree {
  kp_box *nodes;
  kp_box_block *blocks;  // of leaves
  uint16_t *marks;       // of blocks: bit l for items that marked searches are about
  uint8_t *is_marked;    // of nodes: holds a marked item
  kp_index n_nodes, n_items, n_blocks;
  int n_each;     // corners of an item
  bool is_still;  // how the boxes of items were made; set by whoever makes them
} kp_box_tree;

// Items of n_each corners, 1 to 3, at places x. An empty tree is legal.
KP_NODISCARD kp_result kp_box_tree_build(const kp_vec3 *x, const kp_index *corners, int n_each,
                                         kp_index n, kp_box_tree *tree);
void kp_box_tree_destroy(kp_box_tree *tree);

// Boxes and marks of nodes from those of items; `only_marked`: no box of an item without a mark has
// changed since the last time. No allocation.
void kp_box_tree_refit(kp_box_tree *tree, bool only_marked);

typedef void (*kp_box_pair_fn)(kp_index i, kp_index j, void *user);

// A search for pairs of an item of a and one of b that may meet and have no corner in common. With
// a == b each pair is visited once, i and j in any order.
typedef struct kp_box_walk {
  const kp_box_tree *a, *b;
  bool only_marked;  // at least one of a pair is marked
} kp_box_walk;

// All pairs below two nodes.
typedef struct kp_box_task {
  kp_index a, b;
} kp_box_task;

#define KP_BOX_TASKS 256

// Cuts a search into tasks; how many. They hold each pair once, however they are run.
int kp_box_tree_split(const kp_box_walk *walk, kp_box_task tasks[KP_BOX_TASKS]);
void kp_box_tree_pairs(const kp_box_walk *walk, kp_box_task task, kp_box_pair_fn visit, void *user);

// The next float at or below v, or at or above it. Whether one has to be moved is a matter of
// chance, and a branch would be guessed wrong every other time: its step is masked instead.
KP_FN float kp_round_step(float f, bool is_moved) {
  float step = fabsf(f) * 1.2e-7f + 1e-37f;
  uint32_t bits;
  memcpy(&bits, &step, sizeof bits);
  bits &= 0u - (uint32_t)is_moved;
  memcpy(&step, &bits, sizeof step);
  return step;
}

KP_FN float kp_round_down(double v) {
  float f = (float)v;
  return f - kp_round_step(f, (double)f > v);
}

KP_FN float kp_round_up(double v) {
  float f = (float)v;
  return f + kp_round_step(f, (double)f < v);
}

// The box of a corner on its way, grown by `margin` on all sides.
KP_FN void kp_box_set(kp_box *box, kp_vec3 start, kp_vec3 end, double margin) {
  box->min[0] = kp_round_down(start.x - margin);
  box->min[1] = kp_round_down(start.y - margin);
  box->min[2] = kp_round_down(start.z - margin);
  box->max[0] = kp_round_up(start.x + margin);
  box->max[1] = kp_round_up(start.y + margin);
  box->max[2] = kp_round_up(start.z + margin);
  box->end_min[0] = kp_round_down(end.x - margin);
  box->end_min[1] = kp_round_down(end.y - margin);
  box->end_min[2] = kp_round_down(end.z - margin);
  box->end_max[0] = kp_round_up(end.x + margin);
  box->end_max[1] = kp_round_up(end.y + margin);
  box->end_max[2] = kp_round_up(end.z + margin);
}

// box = a and b together; the numbers in it stay.
KP_FN void kp_box_cover(kp_box *box, const kp_box *a, const kp_box *b) {
  for (int k = 0; k < 3; ++k) {
    box->min[k] = a->min[k] < b->min[k] ? a->min[k] : b->min[k];
    box->max[k] = a->max[k] > b->max[k] ? a->max[k] : b->max[k];
    box->end_min[k] = a->end_min[k] < b->end_min[k] ? a->end_min[k] : b->end_min[k];
    box->end_max[k] = a->end_max[k] > b->end_max[k] ? a->end_max[k] : b->end_max[k];
  }
}

KP_FN float kp_box_least(float a, float b, float c) {
  float least = a < b ? a : b;
  return least < c ? least : c;
}

KP_FN float kp_box_most(float a, float b, float c) {
  float most = a > b ? a : b;
  return most > c ? most : c;
}

// The box of an item around those of its corners.
KP_FN void kp_box_block_join(kp_box_block *block, int lane, const kp_box *corners) {
  const kp_box *a = &corners[block->corner[0][lane]];
  const kp_box *b = &corners[block->corner[1][lane]];
  const kp_box *c = &corners[block->corner[2][lane]];
  for (int k = 0; k < 3; ++k) {
    block->min[k][lane] = kp_box_least(a->min[k], b->min[k], c->min[k]);
    block->max[k][lane] = kp_box_most(a->max[k], b->max[k], c->max[k]);
    block->end_min[k][lane] = kp_box_least(a->end_min[k], b->end_min[k], c->end_min[k]);
    block->end_max[k][lane] = kp_box_most(a->end_max[k], b->end_max[k], c->end_max[k]);
  }
}

// Room for rounding: of coordinates and of the size of an item.
#define KP_BOX_BLUR 1e-6f

// The box of a corner that is still, its place and by how much it is grown, which stand where the
// end would.
KP_FN void kp_box_settle(kp_box *box, kp_vec3 at, double margin) {
  box->min[0] = kp_round_down(at.x - margin);
  box->min[1] = kp_round_down(at.y - margin);
  box->min[2] = kp_round_down(at.z - margin);
  box->max[0] = kp_round_up(at.x + margin);
  box->max[1] = kp_round_up(at.y + margin);
  box->max[2] = kp_round_up(at.z + margin);
  box->end_min[0] = (float)at.x;
  box->end_min[1] = (float)at.y;
  box->end_min[2] = (float)at.z;
  box->end_max[0] =
      (float)margin + KP_BOX_BLUR * (float)(fabs(at.x) + fabs(at.y) + fabs(at.z) + margin);
}

// The same of an item that is still, of settled corners.
KP_FN void kp_box_block_settle(kp_box_block *block, int lane, const kp_box *corners) {
  const kp_box *a = &corners[block->corner[0][lane]];
  const kp_box *b = &corners[block->corner[1][lane]];
  const kp_box *c = &corners[block->corner[2][lane]];
  bool is_edge = b == c && a != b;
  float size = 0.0f;
  for (int k = 0; k < 3; ++k) {
    block->min[k][lane] = kp_box_least(a->min[k], b->min[k], c->min[k]);
    block->max[k][lane] = kp_box_most(a->max[k], b->max[k], c->max[k]);
    size += block->max[k][lane] - block->min[k][lane];
    block->at[0][k][lane] = a->end_min[k];
    block->at[1][k][lane] = b->end_min[k];
    block->at[2][k][lane] = is_edge ? 0.5f * (a->end_min[k] + b->end_min[k]) : c->end_min[k];
  }
  block->margin[lane] =
      kp_box_most(a->end_max[0], b->end_max[0], c->end_max[0]) + KP_BOX_BLUR * size;
}

// Does no axis part a and b on the whole way?
KP_FN bool kp_box_meets(const kp_box *a, const kp_box *b) {
#ifdef __SSE2__
  // the fourth lanes are numbers of items
  __m128 above = _mm_and_ps(_mm_cmpgt_ps(_mm_load_ps(a->min), _mm_load_ps(b->max)),
                            _mm_cmpgt_ps(_mm_load_ps(a->end_min), _mm_load_ps(b->end_max)));
  __m128 below = _mm_and_ps(_mm_cmpgt_ps(_mm_load_ps(b->min), _mm_load_ps(a->max)),
                            _mm_cmpgt_ps(_mm_load_ps(b->end_min), _mm_load_ps(a->end_max)));
  return (_mm_movemask_ps(_mm_or_ps(above, below)) & 7) == 0;
#else
  for (int k = 0; k < 3; ++k) {
    if ((a->min[k] > b->max[k] && a->end_min[k] > b->end_max[k]) ||
        (b->min[k] > a->max[k] && b->end_min[k] > a->end_max[k])) {
      return false;
    }
  }
  return true;
#endif
}
