// Bounding volume hierarchy over boxes: a binary tree in one array, for distance, ray and overlap
// queries. The build splits at the median along the longest axis of the box centres, ties by item
// number, so equal input gives an equal tree on every machine and the depth is ceil(log2 n).
//
// Children of an inner node stand side by side behind their parent:
//
//   nodes   0 | 1 2 | 3 4 | ...        inner: children `first` and `first + 1`, count = 0
//           ^root                      leaf:  items[first] ... items[first + count - 1]
//
// so a loop from the last node to the first sees children before parents (kp_bvh_refit).
#pragma once

#include "base/result.h"
#include "kelpie/vec.h"

#define KP_BVH_LEAF_SIZE 4
#define KP_BVH_STACK_SIZE 64  // enough for a depth-first walk of any tree over 2^31 items

typedef struct kp_bvh_node {
  kp_aabb box;
  kp_index first;
  kp_index count;  // 0 in inner nodes
} kp_bvh_node;

typedef struct kp_bvh {
  kp_bvh_node *nodes;
  kp_index *items;  // a permutation of 0 ... n_items - 1
  kp_index n_nodes;
  kp_index n_items;
} kp_bvh;

// Boxes are read during the call only. With n = 0 the tree is empty and every query finds nothing.
KP_NODISCARD kp_result kp_bvh_build(const kp_aabb *boxes, kp_index n, kp_bvh *bvh);
void kp_bvh_destroy(kp_bvh *bvh);

// The same with leaves of `leaf` items (4 or more), all full but the last: for walks that take a
// leaf at once. Such a tree can be refitted, not rebuilt.
KP_NODISCARD kp_result kp_bvh_build_full(const kp_aabb *boxes, kp_index n, kp_index leaf,
                                         kp_bvh *bvh);

// New boxes for the same items; the tree keeps its form. No allocation, O(n).
void kp_bvh_refit(kp_bvh *bvh, const kp_aabb *boxes);

// The tree anew for as many items with other boxes. No allocation, O(n log n).
void kp_bvh_rebuild(kp_bvh *bvh, const kp_aabb *boxes);

// Called for every item whose leaf touches the query; returning false ends the walk.
typedef bool (*kp_bvh_visit_fn)(kp_index item, void *user);

// Visits all items of the leaves that touch the box, in a fixed order. The caller tests the items'
// own boxes where it matters.
void kp_bvh_query_box(const kp_bvh *bvh, kp_aabb box, kp_bvh_visit_fn visit, void *user);

// Visits the items of leaves hit by origin + t direction, 0 <= t <= t_max.
void kp_bvh_query_ray(const kp_bvh *bvh, kp_vec3 origin, kp_vec3 direction, double t_max,
                      kp_bvh_visit_fn visit, void *user);

// Squared distance from a point to a box, 0 inside.
KP_FN double kp_aabb_distance2(kp_aabb b, kp_vec3 p) {
  double dx = p.x < b.min.x ? b.min.x - p.x : (p.x > b.max.x ? p.x - b.max.x : 0.0);
  double dy = p.y < b.min.y ? b.min.y - p.y : (p.y > b.max.y ? p.y - b.max.y : 0.0);
  double dz = p.z < b.min.z ? b.min.z - p.z : (p.z > b.max.z ? p.z - b.max.z : 0.0);
  return dx * dx + dy * dy + dz * dz;
}

KP_FN bool kp_aabb_touches(kp_aabb a, kp_aabb b) {
  return a.min.x <= b.max.x && b.min.x <= a.max.x && a.min.y <= b.max.y && b.min.y <= a.max.y &&
         a.min.z <= b.max.z && b.min.z <= a.max.z;
}

KP_FN kp_aabb kp_aabb_join(kp_aabb a, kp_aabb b) {
  kp_aabb r;
  r.min = kp_vec3_min(a.min, b.min);
  r.max = kp_vec3_max(a.max, b.max);
  return r;
}
