#include "geom/bvh.h"

#include "base/hash.h"
#include "base/memory.h"

// Total order of items along one axis: centre (times two), then item number.
typedef struct order {
  const kp_aabb *boxes;
  int axis;
} order;

static double component(kp_vec3 v, int axis) {
  return axis == 0 ? v.x : (axis == 1 ? v.y : v.z);
}

static double center2(const kp_aabb *box, int axis) {
  return component(box->min, axis) + component(box->max, axis);
}

static bool is_before(const order *by, kp_index a, kp_index b) {
  double ca = center2(&by->boxes[a], by->axis);
  double cb = center2(&by->boxes[b], by->axis);
  return ca != cb ? ca < cb : a < b;
}

// Put the n smallest items first (quickselect). The pivot is picked by a hash, so no
// ordinary input is a bad case and the result is the same everywhere.
static void select_smallest(const order *by, kp_index *items, kp_index count, kp_index n) {
  kp_index low = 0;
  kp_index high = count - 1;
  while (low < high) {
    uint64_t hash = kp_hash_mix((uint64_t)low << 32 ^ (uint64_t)high);
    kp_index pivot = items[low + (kp_index)(hash % (uint64_t)(high - low + 1))];
    kp_index i = low;
    kp_index j = high;
    while (i <= j) {
      while (is_before(by, items[i], pivot)) {
        ++i;
      }
      while (is_before(by, pivot, items[j])) {
        --j;
      }
      if (i <= j) {
        kp_index swap = items[i];
        items[i++] = items[j];
        items[j--] = swap;
      }
    }
    if (n <= j) {
      high = j;
    } else if (n >= i) {
      low = i;
    } else {
      return;
    }
  }
}

// The axis along which the box centres spread most.
static int longest_axis(const kp_aabb *boxes, const kp_index *items, kp_index count) {
  kp_aabb centers = kp_aabb_empty();
  for (kp_index i = 0; i < count; ++i) {
    const kp_aabb *box = &boxes[items[i]];
    centers = kp_aabb_grow(centers, kp_vec3_add(box->min, box->max));
  }
  kp_vec3 size = kp_vec3_sub(centers.max, centers.min);
  if (size.x >= size.y && size.x >= size.z) {
    return 0;
  }
  return size.y >= size.z ? 1 : 2;
}

// Halves stop at KP_BVH_LEAF_SIZE, so a leaf beside another holds at least half of that many items.
static kp_index most_nodes(kp_index n) {
  int64_t bound = 2 * (int64_t)n / (KP_BVH_LEAF_SIZE / 2) + 1;
  return (kp_index)bound;
}

// Items of the first half of a node: half of them, or half of the leaves they fill.
static kp_index half_of(kp_index count, kp_index leaf, bool is_full) {
  return is_full ? ((count + leaf - 1) / leaf + 1) / 2 * leaf : count / 2;
}

// Nodes are split in the order they were made: the array itself is the queue.
static void split_nodes(kp_bvh *bvh, const kp_aabb *boxes, kp_index leaf, bool is_full) {
  bvh->nodes[0] = (kp_bvh_node){ .first = 0, .count = bvh->n_items };
  bvh->n_nodes = 1;
  for (kp_index i = 0; i < bvh->n_nodes; ++i) {
    kp_bvh_node *node = &bvh->nodes[i];
    if (node->count <= leaf) {
      continue;
    }
    kp_index *items = bvh->items + node->first;
    kp_index half = half_of(node->count, leaf, is_full);
    order by = { boxes, longest_axis(boxes, items, node->count) };
    select_smallest(&by, items, node->count, half);
    kp_bvh_node *children = &bvh->nodes[bvh->n_nodes];
    children[0] = (kp_bvh_node){ .first = node->first, .count = half };
    children[1] = (kp_bvh_node){ .first = node->first + half, .count = node->count - half };
    node->first = bvh->n_nodes;
    node->count = 0;
    bvh->n_nodes += 2;
  }
}

static void number_items(kp_bvh *bvh) {
  for (kp_index i = 0; i < bvh->n_items; ++i) {
    bvh->items[i] = i;
  }
}

static kp_result make_room(kp_index n, kp_bvh *bvh) {
  *bvh = (kp_bvh){ 0 };
  if (n == 0) {
    return KP_OK;
  }
  bvh->nodes = kp_alloc((size_t)most_nodes(n) * sizeof *bvh->nodes, KP_MEMORY_MESH);
  bvh->items = kp_alloc((size_t)n * sizeof *bvh->items, KP_MEMORY_MESH);
  if (bvh->nodes == NULL || bvh->items == NULL) {
    kp_bvh_destroy(bvh);
    return KP_ERROR_MEMORY;
  }
  bvh->n_items = n;
  return KP_OK;
}

kp_result kp_bvh_build(const kp_aabb *boxes, kp_index n, kp_bvh *bvh) {
  KP_TRY(make_room(n, bvh));
  kp_bvh_rebuild(bvh, boxes);
  return KP_OK;
}

kp_result kp_bvh_build_full(const kp_aabb *boxes, kp_index n, kp_index leaf, kp_bvh *bvh) {
  KP_TRY(make_room(n, bvh));
  if (n > 0) {
    number_items(bvh);
    split_nodes(bvh, boxes, leaf, true);
    kp_bvh_refit(bvh, boxes);
  }
  return KP_OK;
}

void kp_bvh_rebuild(kp_bvh *bvh, const kp_aabb *boxes) {
  if (bvh->n_items == 0) {
    return;
  }
  number_items(bvh);
  split_nodes(bvh, boxes, KP_BVH_LEAF_SIZE, false);
  kp_bvh_refit(bvh, boxes);
}

void kp_bvh_destroy(kp_bvh *bvh) {
  kp_free(bvh->nodes);
  kp_free(bvh->items);
  *bvh = (kp_bvh){ 0 };
}

void kp_bvh_refit(kp_bvh *bvh, const kp_aabb *boxes) {
  for (kp_index i = bvh->n_nodes - 1; i >= 0; --i) {
    kp_bvh_node *node = &bvh->nodes[i];
    if (node->count == 0) {
      node->box = kp_aabb_join(bvh->nodes[node->first].box, bvh->nodes[node->first + 1].box);
      continue;
    }
    node->box = boxes[bvh->items[node->first]];
    for (kp_index k = 1; k < node->count; ++k) {
      node->box = kp_aabb_join(node->box, boxes[bvh->items[node->first + k]]);
    }
  }
}

// Slab test (Kay and Kajiya 1986). A zero component gives an infinite inverse; on a slab's plane
// the product is NaN, which the comparisons below treat as no bound.
static bool ray_hits(const kp_aabb *box, kp_vec3 origin, kp_vec3 inverse, double t_max) {
  double near = 0.0;
  double far = t_max;
  for (int axis = 0; axis < 3; ++axis) {
    double o = component(origin, axis);
    double s = component(inverse, axis);
    double t0 = (component(box->min, axis) - o) * s;
    double t1 = (component(box->max, axis) - o) * s;
    double enter = s < 0.0 ? t1 : t0;
    double leave = s < 0.0 ? t0 : t1;
    near = enter > near ? enter : near;
    far = leave < far ? leave : far;
  }
  return near <= far;
}

static bool visit_leaf(const kp_bvh *bvh, const kp_bvh_node *leaf, kp_bvh_visit_fn visit,
                       void *user) {
  for (kp_index k = 0; k < leaf->count; ++k) {
    if (!visit(bvh->items[leaf->first + k], user)) {
      return false;
    }
  }
  return true;
}

void kp_bvh_query_box(const kp_bvh *bvh, kp_aabb box, kp_bvh_visit_fn visit, void *user) {
  kp_index stack[KP_BVH_STACK_SIZE];
  int top = 0;
  if (bvh->n_nodes > 0) {
    stack[top++] = 0;
  }
  while (top > 0) {
    const kp_bvh_node *node = &bvh->nodes[stack[--top]];
    if (!kp_aabb_touches(node->box, box)) {
      continue;
    }
    if (node->count == 0) {
      stack[top++] = node->first + 1;
      stack[top++] = node->first;
    } else if (!visit_leaf(bvh, node, visit, user)) {
      return;
    }
  }
}

void kp_bvh_query_ray(const kp_bvh *bvh, kp_vec3 origin, kp_vec3 direction, double t_max,
                      kp_bvh_visit_fn visit, void *user) {
  kp_vec3 inverse = kp_vec3_make(1.0 / direction.x, 1.0 / direction.y, 1.0 / direction.z);
  kp_index stack[KP_BVH_STACK_SIZE];
  int top = 0;
  if (bvh->n_nodes > 0) {
    stack[top++] = 0;
  }
  while (top > 0) {
    const kp_bvh_node *node = &bvh->nodes[stack[--top]];
    if (!ray_hits(&node->box, origin, inverse, t_max)) {
      continue;
    }
    if (node->count == 0) {
      stack[top++] = node->first + 1;
      stack[top++] = node->first;
    } else if (!visit_leaf(bvh, node, visit, user)) {
      return;
    }
  }
}
