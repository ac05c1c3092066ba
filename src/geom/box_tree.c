#include "geom/box_tree.h"

#include "base/memory.h"
#include "par/kernel_define.h"

// All leaves but the last are full: a leaf is a block.
static void set_form(kp_box *node, const kp_bvh_node *from) {
  node->first = from->count > 0 ? from->first / KP_BOX_LANES : from->first;
  node->count = from->count;
}

// Nodes in depth-first order, so that a walk finds what it needs next close by; pairs of children
// side by side and behind their parents, as in the tree they come from.
static void lay_out(const kp_bvh *form, kp_box_tree *tree) {
  kp_index stack[KP_BVH_STACK_SIZE];  // where a node that has children stands here
  int top = 0;
  kp_index n = 1;
  set_form(&tree->nodes[0], &form->nodes[0]);
  stack[top++] = 0;
  while (top > 0) {
    kp_box *node = &tree->nodes[stack[--top]];
    if (node->count > 0) {
      continue;
    }
    for (kp_index k = 0; k < 2; ++k) {
      set_form(&tree->nodes[n + k], &form->nodes[node->first + k]);
      stack[top++] = n + 1 - k;
    }
    node->first = n;
    n += 2;
  }
}

static kp_result allocate(kp_box_tree *tree, kp_index n_nodes, kp_index n) {
  tree->n_nodes = n_nodes;
  tree->n_items = n;
  tree->n_blocks = (n + KP_BOX_LANES - 1) / KP_BOX_LANES;
  size_t n_blocks = (size_t)tree->n_blocks;
  tree->nodes = kp_alloc((size_t)n_nodes * sizeof *tree->nodes, KP_MEMORY_MESH);
  tree->blocks = kp_alloc(n_blocks * sizeof *tree->blocks, KP_MEMORY_MESH);
  tree->marks = kp_alloc_zero(n_blocks * sizeof *tree->marks, KP_MEMORY_MESH);
  tree->is_marked = kp_alloc_zero((size_t)n_nodes, KP_MEMORY_MESH);
  bool is_done =
      tree->nodes != NULL && tree->blocks != NULL && tree->marks != NULL && tree->is_marked != NULL;
  return is_done ? KP_OK : KP_ERROR_MEMORY;
}

static void put_box(kp_box_block *block, int lane, kp_vec3 min, kp_vec3 max) {
  const double low[3] = { min.x, min.y, min.z };
  const double high[3] = { max.x, max.y, max.z };
  for (int k = 0; k < 3; ++k) {
    block->min[k][lane] = block->end_min[k][lane] = kp_round_down(low[k]);
    block->max[k][lane] = block->end_max[k][lane] = kp_round_up(high[k]);
  }
}

static void empty_lane(kp_box_block *block, int lane) {
  block->item[lane] = -1;
  for (int k = 0; k < 3; ++k) {
    block->corner[k][lane] = -1;
    block->min[k][lane] = block->end_min[k][lane] = HUGE_VALF;
    block->max[k][lane] = block->end_max[k][lane] = -HUGE_VALF;
  }
}

static kp_result build_over(const kp_aabb *boxes, const kp_index *corners, int n_each, kp_index n,
                            kp_box_tree *tree) {
  kp_bvh form;
  KP_TRY(kp_bvh_build_full(boxes, n, KP_BOX_LANES, &form));
  kp_result result = allocate(tree, form.n_nodes, n);
  tree->n_each = n_each;
  for (kp_index k = 0; result == KP_OK && k < KP_BOX_LANES * tree->n_blocks; ++k) {
    kp_box_block *block = &tree->blocks[k / KP_BOX_LANES];
    int lane = (int)(k % KP_BOX_LANES);
    if (k >= n) {
      empty_lane(block, lane);
      continue;
    }
    kp_index item = form.items[k];
    const kp_index *c = corners + (int64_t)n_each * item;
    put_box(block, lane, boxes[item].min, boxes[item].max);
    block->item[lane] = item;
    block->corner[0][lane] = c[0];
    block->corner[1][lane] = c[n_each > 1 ? 1 : 0];
    block->corner[2][lane] = c[n_each - 1];
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
  kp_free(tree->blocks);
  kp_free(tree->marks);
  kp_free(tree->is_marked);
  *tree = (kp_box_tree){ 0 };
}

#define WAYS 4  // of a reduction: one by one, each waits for the last

static float least_of(const float v[KP_BOX_LANES]) {
  float least[WAYS] = { v[0], v[1], v[2], v[3] };
  for (int l = WAYS; l < KP_BOX_LANES; l += WAYS) {
    for (int k = 0; k < WAYS; ++k) {
      least[k] = v[l + k] < least[k] ? v[l + k] : least[k];
    }
  }
  float even = least[2] < least[0] ? least[2] : least[0];
  float odd = least[3] < least[1] ? least[3] : least[1];
  return odd < even ? odd : even;
}

static float most_of(const float v[KP_BOX_LANES]) {
  float most[WAYS] = { v[0], v[1], v[2], v[3] };
  for (int l = WAYS; l < KP_BOX_LANES; l += WAYS) {
    for (int k = 0; k < WAYS; ++k) {
      most[k] = v[l + k] > most[k] ? v[l + k] : most[k];
    }
  }
  float even = most[2] > most[0] ? most[2] : most[0];
  float odd = most[3] > most[1] ? most[3] : most[1];
  return odd > even ? odd : even;
}

static void refit_leaf(kp_box_tree *tree, kp_index i, bool only_marked) {
  kp_box *node = &tree->nodes[i];
  const kp_box_block *block = &tree->blocks[node->first];
  tree->is_marked[i] = tree->marks[node->first] != 0;
  if (only_marked && !tree->is_marked[i]) {
    return;
  }
  for (int k = 0; k < 3; ++k) {
    node->min[k] = least_of(block->min[k]);
    node->max[k] = most_of(block->max[k]);
    node->end_min[k] = tree->is_still ? node->min[k] : least_of(block->end_min[k]);
    node->end_max[k] = tree->is_still ? node->max[k] : most_of(block->end_max[k]);
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

// Pairs of two leaves, one function per instruction set (box_tree_cpu.c).
typedef void (*leaves_fn)(const kp_box_walk *walk, kp_box_task task, kp_box_pair_fn visit,
                          void *user);
void kp_box_leaves_base(const kp_box_walk *w, kp_box_task task, kp_box_pair_fn visit, void *user);
void kp_box_leaves_v3(const kp_box_walk *w, kp_box_task task, kp_box_pair_fn visit, void *user);
void kp_box_leaves_v4(const kp_box_walk *w, kp_box_task task, kp_box_pair_fn visit, void *user);

void kp_box_tree_pairs(const kp_box_walk *w, kp_box_task task, kp_box_pair_fn visit, void *user) {
  static const leaves_fn slots[] = KP_DEFINE_SLOTS(kp_box_leaves_);
  leaves_fn pair_leaves = slots[kp_isa_current()];
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
