// Builds the 8-wide trees that rays walk (ray_kernels.h) over any boxes: binned surface area
// heuristic (Wald 2007, "On fast Construction of SAH-based Bounding Volume Hierarchies") that
// splits a range until it has 8 parts. Parts of fixed size are built side by side and put together
// in order, so the bits do not depend on the number of threads.
#pragma once

#include "base/result.h"
#include "render/ray_kernels.h"

// A primitive, or two that stand side by side in their list.
typedef struct kp_ray_item {
  float low[3];
  uint32_t id;
  float high[3];
  uint32_t mask;  // kp_ray_mask
} kp_ray_item;

typedef struct kp_ray_tree {
  kp_ray_node *nodes;  // NULL for no items
  uint32_t *lanes;     // id in each lane of each block, KP_RAY_NOTHING where empty
  int64_t n_nodes, n_blocks;
} kp_ray_tree;

typedef struct kp_ray_items {
  kp_ray_item *list;
  int64_t n;
  int each;              // primitives of an item, 1 or 2: those with the ids each * id + 0, 1
  int64_t n_primitives;  // ids from here on are not there
} kp_ray_items;

// Items are put into another order. Their boxes are padded by rounding of the largest coordinate.
KP_NODISCARD kp_result kp_ray_tree_build(const kp_ray_items *items, kp_ray_tree *tree);
void kp_ray_tree_free(kp_ray_tree *tree);
