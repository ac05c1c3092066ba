#include "render/ray_tree.h"

#include <math.h>
#include <string.h>

#include "base/array.h"
#include "par/parallel.h"

#define BINS 16
#define PART 8192       // items that one thread builds alone; fixed, see the header
#define DEPTH_LIMIT 12  // below it ranges are halved: 12 + 10 levels hold 2^33 items
#define PADDING 1e-6f   // of the largest coordinate

typedef struct box {
  float low[3], high[3];
} box;

typedef struct range {
  int64_t begin, end;
  box bounds;
} range;

typedef struct part {
  range items;
  int depth;
  uint32_t node, slot;  // where it hangs
} part;

typedef struct builder {
  kp_ray_item *items;
  KP_ARRAY(kp_ray_node) nodes;
  KP_ARRAY(uint32_t) lanes;
  KP_ARRAY(part) parts;  // left for later
  bool leaves_parts, is_out_of_memory;
} builder;

static box no_box(void) {
  return (box){ { HUGE_VALF, HUGE_VALF, HUGE_VALF }, { -HUGE_VALF, -HUGE_VALF, -HUGE_VALF } };
}

static void grow(box *b, const float *low, const float *high) {
  for (int a = 0; a < 3; ++a) {
    b->low[a] = kp_minf(b->low[a], low[a]);
    b->high[a] = kp_maxf(b->high[a], high[a]);
  }
}

static float half_area(const box *b) {
  float x = b->high[0] - b->low[0], y = b->high[1] - b->low[1], z = b->high[2] - b->low[2];
  return x >= 0.0f ? x * y + y * z + z * x : 0.0f;
}

static box find_bounds(const kp_ray_item *items, int64_t begin, int64_t end) {
  box b = no_box();
  for (int64_t i = begin; i < end; ++i) {
    grow(&b, items[i].low, items[i].high);
  }
  return b;
}

// ---- one split

typedef struct bin {
  box bounds;
  int64_t count;
} bin;

typedef struct cut {
  int axis;
  float start, scale;  // bin of a doubled centre c: (c - start) * scale
  int first_right;     // bins from here on go right
} cut;

static int bin_of(const kp_ray_item *item, const cut *c) {
  int k = (int)((item->low[c->axis] + item->high[c->axis] - c->start) * c->scale);
  return k < 0 ? 0 : k > BINS - 1 ? BINS - 1 : k;
}

// Leaves are whole blocks, whatever they hold.
static float cost(const box *b, int64_t count) {
  return half_area(b) * (float)((count + KP_RAY_LANES - 1) / KP_RAY_LANES);
}

static bool find_cut(const kp_ray_item *items, const range *r, cut *c, box *left, box *right) {
  float low[3], high[3];
  for (int a = 0; a < 3; ++a) {
    low[a] = HUGE_VALF;
    high[a] = -HUGE_VALF;
  }
  for (int64_t i = r->begin; i < r->end; ++i) {
    for (int a = 0; a < 3; ++a) {
      float middle = items[i].low[a] + items[i].high[a];
      low[a] = kp_minf(low[a], middle);
      high[a] = kp_maxf(high[a], middle);
    }
  }
  float x = high[0] - low[0], y = high[1] - low[1], z = high[2] - low[2];
  c->axis = x >= y ? (x >= z ? 0 : 2) : (y >= z ? 1 : 2);
  float length = high[c->axis] - low[c->axis];
  c->start = low[c->axis];
  c->scale = BINS * 0.999999f / length;
  if (!(length > 0.0f) || !isfinite(c->scale)) {
    return false;
  }
  bin bins[BINS];
  for (int k = 0; k < BINS; ++k) {
    bins[k] = (bin){ no_box(), 0 };
  }
  for (int64_t i = r->begin; i < r->end; ++i) {
    bin *b = &bins[bin_of(&items[i], c)];
    grow(&b->bounds, items[i].low, items[i].high);
    ++b->count;
  }
  // from the right once, then from the left against it
  box after[BINS];
  int64_t n_after[BINS];
  box sum = no_box();
  int64_t count = 0;
  for (int k = BINS - 1; k > 0; --k) {
    grow(&sum, bins[k].bounds.low, bins[k].bounds.high);
    count += bins[k].count;
    after[k] = sum;
    n_after[k] = count;
  }
  sum = no_box();
  count = 0;
  float best = HUGE_VALF;
  for (int k = 1; k < BINS; ++k) {
    grow(&sum, bins[k - 1].bounds.low, bins[k - 1].bounds.high);
    count += bins[k - 1].count;
    float price = cost(&sum, count) + cost(&after[k], n_after[k]);
    if (count > 0 && n_after[k] > 0 && price < best) {
      best = price;
      c->first_right = k;
      *left = sum;
      *right = after[k];
    }
  }
  return best < HUGE_VALF;
}

static int64_t partition(kp_ray_item *items, int64_t begin, int64_t end, const cut *c) {
  int64_t i = begin, j = end - 1;
  while (i <= j) {
    if (bin_of(&items[i], c) < c->first_right) {
      ++i;
    } else if (bin_of(&items[j], c) >= c->first_right) {
      --j;
    } else {
      kp_ray_item swap = items[i];
      items[i++] = items[j];
      items[j--] = swap;
    }
  }
  return i;
}

// The left part stays in *r, the right one is returned.
static range split(kp_ray_item *items, range *r, int depth) {
  range right = *r;
  cut c;
  box a, b;
  if (depth < DEPTH_LIMIT && find_cut(items, r, &c, &a, &b)) {
    right.begin = r->end = partition(items, r->begin, r->end, &c);
    r->bounds = a;
    right.bounds = b;
    return right;
  }
  right.begin = r->end = r->begin + (r->end - r->begin) / 2;
  r->bounds = find_bounds(items, r->begin, r->end);
  right.bounds = find_bounds(items, right.begin, right.end);
  return right;
}

// The range to open next: the largest box, below the depth limit the largest count; -1: none.
static int choose(const range *ranges, int n, int depth) {
  int best = -1;
  float most = -1.0f;
  for (int k = 0; k < n; ++k) {
    int64_t count = ranges[k].end - ranges[k].begin;
    float weight = depth < DEPTH_LIMIT ? half_area(&ranges[k].bounds) : (float)count;
    if (count > KP_RAY_LANES && weight > most) {
      most = weight;
      best = k;
    }
  }
  return best;
}

// ---- nodes

static uint32_t add_leaf(builder *b, const range *r) {
  uint32_t block = (uint32_t)(b->lanes.count / KP_RAY_LANES);
  for (int64_t k = 0; k < KP_RAY_LANES; ++k) {
    bool is_full = r->begin + k < r->end;
    uint32_t id = is_full ? b->items[r->begin + k].id : KP_RAY_NOTHING;
    if (kp_array_push(&b->lanes, id) != KP_OK) {
      b->is_out_of_memory = true;
    }
  }
  return block | KP_RAY_LEAF;
}

static uint32_t add_node(builder *b, const range *whole, int depth) {
  range ranges[KP_RAY_LANES];
  int n = 1;
  ranges[0] = *whole;
  for (int k; n < KP_RAY_LANES && (k = choose(ranges, n, depth)) >= 0; ++n) {
    ranges[n] = split(b->items, &ranges[k], depth);
  }
  kp_ray_node node;
  for (int k = 0; k < KP_RAY_LANES; ++k) {
    box bounds = k < n ? ranges[k].bounds : no_box();
    for (int a = 0; a < 3; ++a) {
      node.low[a][k] = bounds.low[a];
      node.high[a][k] = bounds.high[a];
    }
    node.child[k] = KP_RAY_NOTHING;
  }
  uint32_t index = (uint32_t)b->nodes.count;
  if (kp_array_push(&b->nodes, node) != KP_OK) {
    b->is_out_of_memory = true;
    return index;
  }
  for (int k = 0; k < n && !b->is_out_of_memory; ++k) {
    int64_t count = ranges[k].end - ranges[k].begin;
    uint32_t child = KP_RAY_NOTHING;
    if (count <= KP_RAY_LANES) {
      child = add_leaf(b, &ranges[k]);
    } else if (b->leaves_parts && count <= PART) {
      part p = { ranges[k], depth + 1, index, (uint32_t)k };
      b->is_out_of_memory = kp_array_push(&b->parts, p) != KP_OK || b->is_out_of_memory;
    } else {
      child = add_node(b, &ranges[k], depth + 1);
    }
    b->nodes.data[index].child[k] = child;
  }
  return index;
}

// ---- parts

typedef struct part_context {
  const builder *top;
  builder *builders;  // one per part
} part_context;

static void build_parts(int64_t begin, int64_t end, void *context) {
  const part_context *c = context;
  for (int64_t i = begin; i < end; ++i) {
    const part *p = &c->top->parts.data[i];
    c->builders[i].items = c->top->items;
    (void)add_node(&c->builders[i], &p->items, p->depth);
  }
}

static void append(kp_ray_tree *tree, const builder *b) {
  uint32_t nodes = (uint32_t)tree->n_nodes, blocks = (uint32_t)tree->n_blocks;
  for (size_t i = 0; i < b->nodes.count; ++i) {
    kp_ray_node *node = &tree->nodes[tree->n_nodes++];
    *node = b->nodes.data[i];
    for (int k = 0; k < KP_RAY_LANES; ++k) {
      if (node->child[k] != KP_RAY_NOTHING) {
        node->child[k] += (node->child[k] & KP_RAY_LEAF) != 0 ? blocks : nodes;
      }
    }
  }
  if (b->lanes.count > 0) {
    memcpy(tree->lanes + tree->n_blocks * KP_RAY_LANES, b->lanes.data,
           b->lanes.count * sizeof(uint32_t));
  }
  tree->n_blocks += (int64_t)b->lanes.count / KP_RAY_LANES;
}

static kp_result join(const builder *top, const builder *builders, kp_ray_tree *tree) {
  size_t nodes = top->nodes.count, lanes = top->lanes.count;
  bool failed = top->is_out_of_memory;
  for (size_t i = 0; i < top->parts.count; ++i) {
    nodes += builders[i].nodes.count;
    lanes += builders[i].lanes.count;
    failed = failed || builders[i].is_out_of_memory;
  }
  tree->nodes = kp_alloc(nodes * sizeof *tree->nodes, KP_MEMORY_RENDER);
  tree->lanes = kp_alloc((lanes + 1) * sizeof *tree->lanes, KP_MEMORY_RENDER);
  if (failed || tree->nodes == NULL || tree->lanes == NULL) {
    return KP_ERROR_MEMORY;
  }
  append(tree, top);
  for (size_t i = 0; i < top->parts.count; ++i) {
    const part *p = &top->parts.data[i];
    tree->nodes[p->node].child[p->slot] = (uint32_t)tree->n_nodes;
    append(tree, &builders[i]);
  }
  return KP_OK;
}

static void pad(kp_ray_item *items, int64_t n) {
  float most = 0.0f;
  for (int64_t i = 0; i < n; ++i) {
    for (int a = 0; a < 3; ++a) {
      most = kp_maxf(most, kp_maxf(-items[i].low[a], items[i].high[a]));
    }
  }
  for (int64_t i = 0; i < n; ++i) {
    for (int a = 0; a < 3; ++a) {
      items[i].low[a] -= PADDING * most;
      items[i].high[a] += PADDING * most;
    }
  }
}

kp_result kp_ray_tree_build(kp_ray_item *items, int64_t n, kp_ray_tree *tree) {
  memset(tree, 0, sizeof *tree);
  if (n == 0) {
    return KP_OK;
  }
  pad(items, n);
  builder top = { .items = items, .leaves_parts = true };
  range whole = { .begin = 0, .end = n, .bounds = find_bounds(items, 0, n) };
  (void)add_node(&top, &whole, 0);
  size_t n_parts = top.parts.count;
  builder *builders = kp_alloc_zero((n_parts + 1) * sizeof *builders, KP_MEMORY_RENDER);
  kp_result result = KP_ERROR_MEMORY;
  if (builders != NULL) {
    part_context context = { &top, builders };
    kp_parallel_for((int64_t)n_parts, 1, build_parts, &context);
    result = join(&top, builders, tree);
    for (size_t i = 0; i < n_parts; ++i) {
      kp_array_free(&builders[i].nodes);
      kp_array_free(&builders[i].lanes);
    }
  }
  kp_free(builders);
  kp_array_free(&top.nodes);
  kp_array_free(&top.lanes);
  kp_array_free(&top.parts);
  if (result != KP_OK) {
    kp_ray_tree_free(tree);
  }
  return result;
}

void kp_ray_tree_free(kp_ray_tree *tree) {
  kp_free(tree->nodes);
  kp_free(tree->lanes);
  memset(tree, 0, sizeof *tree);
}
