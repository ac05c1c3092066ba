#include "geom/box_tree.h"

#include "base/memory.h"

// Nodes in depth-first order, so that a walk finds what it needs next close by; pairs of children
// side by side and behind their parents, as in the tree they come from.
static void lay_out(const kp_bvh *form, kp_box_tree *tree) {
  kp_index stack[KP_BVH_STACK_SIZE];  // where a node that has children stands here
  int top = 0;
  kp_index n = 1;
  tree->nodes[0].first = form->nodes[0].first;
  tree->nodes[0].count = form->nodes[0].count;
  stack[top++] = 0;
  while (top > 0) {
    kp_box *node = &tree->nodes[stack[--top]];
    if (node->count > 0) {
      continue;
    }
    for (kp_index k = 0; k < 2; ++k) {
      const kp_bvh_node *child = &form->nodes[node->first + k];
      tree->nodes[n + k].first = child->first;
      tree->nodes[n + k].count = child->count;
      stack[top++] = n + 1 - k;
    }
    node->first = n;
    n += 2;
  }
}

static kp_result allocate(kp_box_tree *tree, kp_index n_nodes, kp_index n) {
  tree->n_nodes = n_nodes;
  tree->n_items = n;
  tree->nodes = kp_alloc((size_t)n_nodes * sizeof *tree->nodes, KP_MEMORY_MESH);
  tree->boxes = kp_alloc((size_t)n * sizeof *tree->boxes, KP_MEMORY_MESH);
  tree->marks = kp_alloc_zero((size_t)n, KP_MEMORY_MESH);
  tree->is_marked = kp_alloc_zero((size_t)n_nodes, KP_MEMORY_MESH);
  bool is_done =
      tree->nodes != NULL && tree->boxes != NULL && tree->marks != NULL && tree->is_marked != NULL;
  return is_done ? KP_OK : KP_ERROR_MEMORY;
}

// One box as if it were that of a corner.
static kp_box still_box(kp_aabb box) {
  kp_box low = { 0 };
  kp_box high = { 0 };
  kp_box_set(&low, box.min, box.min, 0.0);
  kp_box_set(&high, box.max, box.max, 0.0);
  kp_box_cover(&low, &low, &high);
  return low;
}

static kp_result build_over(const kp_aabb *boxes, const kp_index *corners, int n_each, kp_index n,
                            kp_box_tree *tree) {
  kp_bvh form;
  KP_TRY(kp_bvh_build(boxes, n, &form));
  kp_result result = allocate(tree, form.n_nodes, n);
  for (kp_index k = 0; result == KP_OK && k < n; ++k) {
    kp_index item = form.items[k];
    const kp_index *c = corners + (int64_t)n_each * item;
    kp_box *box = &tree->boxes[k];
    *box = still_box(boxes[item]);
    box->first = item;
    box->count = c[0];
    box->second = c[n_each > 1 ? 1 : 0];
    box->third = c[n_each - 1];
  }
  if (result == KP_OK) {
    lay_out(&form, tree);
    kp_box_tree_refit(tree, false);
  } else {
    kp_box_tree_destroy(tree);
  }
  kp_bvh_destroy(&form);
  return result;
}

kp_result kp_box_tree_build(const kp_vec3 *x, const kp_index *corners, int n_each, kp_index n,
                            kp_box_tree *tree) {
  *tree = (kp_box_tree){ 0 };
  if (n == 0) {
    return KP_OK;
  }
  kp_aabb *boxes = kp_alloc((size_t)n * sizeof *boxes, KP_MEMORY_SCRATCH);
  if (boxes == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (kp_index i = 0; i < n; ++i) {
    boxes[i] = kp_aabb_empty();
    for (int k = 0; k < n_each; ++k) {
      boxes[i] = kp_aabb_grow(boxes[i], x[corners[(int64_t)n_each * i + k]]);
    }
  }
  kp_result result = build_over(boxes, corners, n_each, n, tree);
  kp_free(boxes);
  return result;
}

void kp_box_tree_destroy(kp_box_tree *tree) {
  kp_free(tree->nodes);
  kp_free(tree->boxes);
  kp_free(tree->marks);
  kp_free(tree->is_marked);
  *tree = (kp_box_tree){ 0 };
}

static void refit_leaf(kp_box_tree *tree, kp_index i, bool only_marked) {
  kp_box *node = &tree->nodes[i];
  const kp_box *boxes = tree->boxes + node->first;
  const uint8_t *marks = tree->marks + node->first;
  uint8_t is_marked = 0;
  for (kp_index k = 0; k < node->count; ++k) {
    is_marked |= marks[k];
  }
  tree->is_marked[i] = is_marked;
  if (only_marked && !is_marked) {
    return;
  }
  kp_index last = node->count - 1;
  kp_box_cover(node, &boxes[0], &boxes[last]);
  for (kp_index k = 1; k < last; ++k) {
    kp_box_cover(node, node, &boxes[k]);
  }
}

void kp_box_tree_refit(kp_box_tree *tree, bool only_marked) {
  for (kp_index i = tree->n_nodes - 1; i >= 0; --i) {
    kp_box *node = &tree->nodes[i];
    if (node->count > 0) {
      refit_leaf(tree, i, only_marked);
      continue;
    }
    tree->is_marked[i] = tree->is_marked[node->first] | tree->is_marked[node->first + 1];
    if (!only_marked || tree->is_marked[i]) {
      kp_box_cover(node, &tree->nodes[node->first], &tree->nodes[node->first + 1]);
    }
  }
}

static bool shares_corner(const kp_box *a, const kp_box *b) {
  return (a->count == b->count) | (a->count == b->second) | (a->count == b->third) |
         (a->second == b->count) | (a->second == b->second) | (a->second == b->third) |
         (a->third == b->count) | (a->third == b->second) | (a->third == b->third);
}

// Pairs of two leaves. Items that do not meet the other leaf are dropped before they are paired.
static void pair_leaves(const kp_box_walk *w, kp_box_task task, kp_box_pair_fn visit, void *user) {
  const kp_box *leaf_a = &w->a->nodes[task.a];
  const kp_box *leaf_b = &w->b->nodes[task.b];
  bool is_one = w->a == w->b && task.a == task.b;
  kp_index b[KP_BVH_LEAF_SIZE];
  int n_b = 0;
  for (kp_index j = leaf_b->first; j < leaf_b->first + leaf_b->count; ++j) {
    b[n_b] = j;
    n_b += kp_box_meets(leaf_a, &w->b->boxes[j]) ? 1 : 0;
  }
  for (kp_index i = leaf_a->first; n_b > 0 && i < leaf_a->first + leaf_a->count; ++i) {
    const kp_box *box = &w->a->boxes[i];
    if (!kp_box_meets(box, leaf_b)) {
      continue;
    }
    for (int k = 0; k < n_b; ++k) {
      const kp_box *other = &w->b->boxes[b[k]];
      bool is_asked =
          !(is_one && b[k] <= i) && (!w->only_marked || (w->a->marks[i] | w->b->marks[b[k]]));
      if (is_asked && kp_box_meets(box, other) && !shares_corner(box, other)) {
        visit(box->first, other->first, user);
      }
    }
  }
}

static bool is_worth(const kp_box_walk *w, kp_box_task t) {
  bool is_open = !w->only_marked || (w->a->is_marked[t.a] | w->b->is_marked[t.b]);
  return is_open && kp_box_meets(&w->a->nodes[t.a], &w->b->nodes[t.b]);
}

// The tasks a task is made of that are worth it: up to four; none when both are leaves.
static int divide(const kp_box_walk *w, kp_box_task t, kp_box_task out[4]) {
  const kp_box *a = &w->a->nodes[t.a];
  const kp_box *b = &w->b->nodes[t.b];
  bool is_one = w->a == w->b && t.a == t.b;
  int n = 0;
  kp_box_task part[2] = { { a->count == 0 ? a->first : t.a, b->count == 0 ? b->first : t.b },
                          { a->count == 0 ? a->first + 1 : t.a,
                            b->count == 0 ? b->first + 1 : t.b } };
  int n_a = a->count == 0 ? 2 : 1;
  int n_b = b->count == 0 ? 2 : 1;
  for (int i = 0; i < n_a; ++i) {
    for (int j = is_one ? i : 0; j < n_b; ++j) {
      out[n] = (kp_box_task){ part[i].a, part[j].b };
      n += is_worth(w, out[n]) ? 1 : 0;
    }
  }
  return n;
}

static bool is_last(const kp_box_walk *w, kp_box_task t) {
  return w->a->nodes[t.a].count > 0 && w->b->nodes[t.b].count > 0;
}

int kp_box_tree_split(const kp_box_walk *w, kp_box_task tasks[KP_BOX_TASKS]) {
  kp_box_task root = { 0, 0 };
  if (w->a->n_nodes == 0 || w->b->n_nodes == 0 || !is_worth(w, root)) {
    return 0;
  }
  // in rounds, while there is room for four of each
  kp_box_task next[KP_BOX_TASKS];
  int n = 1;
  tasks[0] = root;
  for (bool grows = true; grows && 4 * n <= KP_BOX_TASKS;) {
    int n_next = 0;
    grows = false;
    for (int k = 0; k < n; ++k) {
      if (is_last(w, tasks[k])) {
        next[n_next++] = tasks[k];
      } else {
        n_next += divide(w, tasks[k], next + n_next);
        grows = true;
      }
    }
    for (int k = 0; k < n_next; ++k) {
      tasks[k] = next[k];
    }
    n = n_next;
  }
  return n;
}

void kp_box_tree_pairs(const kp_box_walk *w, kp_box_task task, kp_box_pair_fn visit, void *user) {
  // a division replaces one task by up to four, each a level deeper
  kp_box_task stack[4 * KP_BVH_STACK_SIZE];
  int top = 0;
  stack[top++] = task;
  while (top > 0) {
    kp_box_task t = stack[--top];
    if (is_last(w, t)) {
      pair_leaves(w, t, visit, user);
    } else {
      top += divide(w, t, stack + top);
    }
  }
}
