#include "geom/box_tree.h"

#include "base/memory.h"

kp_result kp_box_tree_build(const kp_aabb *boxes, kp_index n, kp_box_tree *tree) {
  *tree = (kp_box_tree){ 0 };
  if (n == 0) {
    return KP_OK;
  }
  kp_bvh form;
  KP_TRY(kp_bvh_build(boxes, n, &form));
  tree->n_nodes = form.n_nodes;
  tree->n_items = n;
  tree->nodes = kp_alloc((size_t)form.n_nodes * sizeof *tree->nodes, KP_MEMORY_MESH);
  tree->boxes = kp_alloc((size_t)n * sizeof *tree->boxes, KP_MEMORY_MESH);
  tree->last = kp_alloc((size_t)form.n_nodes * sizeof *tree->last, KP_MEMORY_MESH);
  tree->marks = kp_alloc_zero((size_t)n, KP_MEMORY_MESH);
  tree->is_marked = kp_alloc_zero((size_t)form.n_nodes, KP_MEMORY_MESH);
  if (tree->nodes == NULL || tree->boxes == NULL || tree->last == NULL || tree->marks == NULL ||
      tree->is_marked == NULL) {
    kp_bvh_destroy(&form);
    kp_box_tree_destroy(tree);
    return KP_ERROR_MEMORY;
  }
  for (kp_index k = 0; k < n; ++k) {
    const kp_aabb *box = &boxes[form.items[k]];
    tree->boxes[k].first = form.items[k];
    tree->boxes[k].count = 1;
    kp_box_set(&tree->boxes[k], box->min, box->max, 0.0);
  }
  // children stand behind their parents and cover neighbouring boxes
  for (kp_index i = form.n_nodes - 1; i >= 0; --i) {
    const kp_bvh_node *node = &form.nodes[i];
    tree->nodes[i].first = node->first;
    tree->nodes[i].count = node->count;
    tree->last[i] = node->count > 0 ? node->first + node->count : tree->last[node->first + 1];
  }
  kp_bvh_destroy(&form);
  kp_box_tree_refit(tree);
  return KP_OK;
}

void kp_box_tree_destroy(kp_box_tree *tree) {
  kp_free(tree->nodes);
  kp_free(tree->boxes);
  kp_free(tree->last);
  kp_free(tree->marks);
  kp_free(tree->is_marked);
  *tree = (kp_box_tree){ 0 };
}

static void join(kp_box *a, const kp_box *b) {
  for (int k = 0; k < 3; ++k) {
    a->min[k] = b->min[k] < a->min[k] ? b->min[k] : a->min[k];
    a->max[k] = b->max[k] > a->max[k] ? b->max[k] : a->max[k];
  }
}

static void copy_extent(kp_box *a, const kp_box *b) {
  for (int k = 0; k < 3; ++k) {
    a->min[k] = b->min[k];
    a->max[k] = b->max[k];
  }
}

void kp_box_tree_refit(kp_box_tree *tree) {
  for (kp_index i = tree->n_nodes - 1; i >= 0; --i) {
    kp_box *node = &tree->nodes[i];
    if (node->count == 0) {
      copy_extent(node, &tree->nodes[node->first]);
      join(node, &tree->nodes[node->first + 1]);
      tree->is_marked[i] = tree->is_marked[node->first] | tree->is_marked[node->first + 1];
      continue;
    }
    copy_extent(node, &tree->boxes[node->first]);
    tree->is_marked[i] = tree->marks[node->first];
    for (kp_index k = node->first + 1; k < node->first + node->count; ++k) {
      join(node, &tree->boxes[k]);
      tree->is_marked[i] |= tree->marks[k];
    }
  }
}

typedef struct leaf_walk {
  const kp_box_tree *a, *b;
  kp_index leaf;     // of a
  bool only_marked;  // and this leaf is not: follow marked branches only
  bool by_pair;      // test the marks of each pair
  kp_box_pair_fn visit;
  void *user;
} leaf_walk;

static void visit_leaves(const leaf_walk *w, const kp_box *other) {
  const kp_box *leaf = &w->a->nodes[w->leaf];
  for (kp_index i = leaf->first; i < leaf->first + leaf->count; ++i) {
    const kp_box *box = &w->a->boxes[i];
    if (!kp_box_touches(box, other)) {
      continue;
    }
    // within one tree, boxes behind i
    kp_index begin = w->a == w->b && other->first <= i ? i + 1 : other->first;
    for (kp_index j = begin; j < other->first + other->count; ++j) {
      if (w->by_pair && !(w->a->marks[i] | w->b->marks[j])) {
        continue;
      }
      if (kp_box_touches(box, &w->b->boxes[j])) {
        w->visit(box->first, w->b->boxes[j].first, w->user);
      }
    }
  }
}

static void walk_leaf(const leaf_walk *w) {
  const kp_box *leaf = &w->a->nodes[w->leaf];
  kp_index stack[KP_BVH_STACK_SIZE];
  int top = 0;
  stack[top++] = 0;
  while (top > 0) {
    kp_index i = stack[--top];
    const kp_box *node = &w->b->nodes[i];
    bool is_behind = w->a == w->b && w->b->last[i] <= leaf->first;
    if (is_behind || (w->only_marked && !w->b->is_marked[i]) || !kp_box_touches(leaf, node)) {
      continue;
    }
    if (node->count == 0) {
      stack[top++] = node->first + 1;
      stack[top++] = node->first;
    } else {
      visit_leaves(w, node);
    }
  }
}

void kp_box_tree_pairs(const kp_box_tree *a, const kp_box_tree *b, kp_index begin, kp_index end,
                       bool only_marked, kp_box_pair_fn visit, void *user) {
  if (a->n_nodes == 0 || b->n_nodes == 0) {
    return;
  }
  for (kp_index i = begin; i < end; ++i) {
    if (a->nodes[i].count > 0) {
      leaf_walk w = { a, b, i, only_marked && !a->is_marked[i], only_marked, visit, user };
      walk_leaf(&w);
    }
  }
}
