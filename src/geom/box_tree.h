// Boxes in single precision over a tree that keeps its form while the items move: for pairs of
// items whose boxes touch, within one tree or between two. The form is that of geom/bvh.h; nodes
// and items are 32 bytes each, rounded outward, so that what touches in double touches here.
//
//   fill tree->boxes[k], the box of item tree->boxes[k].first, for all k (kp_box_set)
//   kp_box_tree_refit(&tree)
//   kp_box_tree_pairs(&a, &b, node_begin, node_end, ...)   any split of a's nodes, in parallel
//
// Which pairs are found depends on the boxes alone; their order depends on the form of the tree.
#pragma once

#include "geom/bvh.h"

// A node: children `first` and `first + 1` with count = 0, or boxes first ... first + count - 1.
// As an item's box: `first` is the item.
typedef struct kp_box {
  float min[3];
  kp_index first;
  float max[3];
  kp_index count;
} kp_box;

typedef struct kp_box_tree {
  kp_box *nodes;
  kp_box *boxes;       // of items, in the order of the leaves
  kp_index *last;      // of each node: one behind the last of its boxes
  uint8_t *marks;      // of boxes: 1 for those that marked searches are about
  uint8_t *is_marked;  // of nodes: holds a marked box
  kp_index n_nodes, n_items;
} kp_box_tree;

// `boxes` are read for the form only. An empty tree is legal.
KP_NODISCARD kp_result kp_box_tree_build(const kp_aabb *boxes, kp_index n, kp_box_tree *tree);
void kp_box_tree_destroy(kp_box_tree *tree);

// Boxes and marks of nodes from those of items. No allocation.
void kp_box_tree_refit(kp_box_tree *tree);

typedef void (*kp_box_pair_fn)(kp_index i, kp_index j, void *user);

// All pairs of an item of the leaves among a's nodes [begin, end) and an item of b whose boxes
// touch. With a == b each pair is visited once, i and j in any order. With `only_marked`, only
// pairs in which at least one is marked.
void kp_box_tree_pairs(const kp_box_tree *a, const kp_box_tree *b, kp_index begin, kp_index end,
                       bool only_marked, kp_box_pair_fn visit, void *user);

// The next float at or below v, or at or above it.
KP_FN float kp_round_down(double v) {
  float f = (float)v;
  return (double)f > v ? f - (fabsf(f) * 1.2e-7f + 1e-37f) : f;
}

KP_FN float kp_round_up(double v) {
  float f = (float)v;
  return (double)f < v ? f + (fabsf(f) * 1.2e-7f + 1e-37f) : f;
}

// An item's box, grown by `margin` on all sides.
KP_FN void kp_box_set(kp_box *box, kp_vec3 low, kp_vec3 high, double margin) {
  box->min[0] = kp_round_down(low.x - margin);
  box->min[1] = kp_round_down(low.y - margin);
  box->min[2] = kp_round_down(low.z - margin);
  box->max[0] = kp_round_up(high.x + margin);
  box->max[1] = kp_round_up(high.y + margin);
  box->max[2] = kp_round_up(high.z + margin);
}

KP_FN bool kp_box_touches(const kp_box *a, const kp_box *b) {
  // no short cuts: six comparisons cost less than one wrong guess of a branch
  return (a->min[0] <= b->max[0]) & (b->min[0] <= a->max[0]) & (a->min[1] <= b->max[1]) &
         (b->min[1] <= a->max[1]) & (a->min[2] <= b->max[2]) & (b->min[2] <= a->max[2]);
}
