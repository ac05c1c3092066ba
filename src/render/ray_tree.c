#include "render/ray_tree.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

#include "base/array.h"
#include "par/parallel.h"

#ifdef __SSE2__
#include <immintrin.h>
#endif

#define BINS 16
#define BINS_FEW 8  // of ranges of fewer than FEW items, whose cuts are most of all
#define FEW 64
#define PART 8192       // items that one thread builds alone; fixed, see the header
#define SHARED 32768    // items from which on all threads fill the bins of a cut
#define CHUNK 8192      // of them, for one thread at a time
#define DEPTH_LIMIT 12  // below it ranges are halved: 12 + 10 levels hold 2^33 items
#define PADDING 1e-6f   // of the largest coordinate

// Four lanes, of which three count: what vector instructions take at once.
typedef struct box {
  float low[4], high[4];
} box;

typedef struct range {
  int64_t begin, end;
  box bounds, middles;  // of the items, and of their doubled centres
} range;

typedef struct part {
  range items;
  int depth;
  uint32_t node, slot;  // where it hangs
} part;

typedef struct builder {
  kp_ray_item *items;
  int64_t n_primitives;
  int each, leaf;  // primitives of an item, and items that fit into a leaf
  KP_ARRAY(kp_ray_node) nodes;
  KP_ARRAY(uint32_t) lanes;
  KP_ARRAY(part) parts;  // left for later
  bool leaves_parts, is_out_of_memory;
} builder;

static box no_box(void) {
  const float h = HUGE_VALF;
  return (box){ { h, h, h, h }, { -h, -h, -h, -h } };
}

// The fourth lane holds other members of the item, which no one looks at.
static inline box item_box(const kp_ray_item *item) {
  box b;
  const char *bytes = (const char *)item;
  memcpy(b.low, bytes + offsetof(kp_ray_item, low), sizeof b.low);
  memcpy(b.high, bytes + offsetof(kp_ray_item, high), sizeof b.high);
  return b;
}

#ifdef __SSE2__

static inline void grow(box *b, const box *other) {
  _mm_storeu_ps(b->low, _mm_min_ps(_mm_loadu_ps(other->low), _mm_loadu_ps(b->low)));
  _mm_storeu_ps(b->high, _mm_max_ps(_mm_loadu_ps(other->high), _mm_loadu_ps(b->high)));
}

static inline box middle_of(const box *b) {
  box m;
  __m128 sum = _mm_add_ps(_mm_loadu_ps(b->low), _mm_loadu_ps(b->high));
  _mm_storeu_ps(m.low, sum);
  _mm_storeu_ps(m.high, sum);
  return m;
}

#else

static inline void grow(box *b, const box *other) {
  for (int a = 0; a < 4; ++a) {
    b->low[a] = kp_minf(other->low[a], b->low[a]);
    b->high[a] = kp_maxf(other->high[a], b->high[a]);
  }
}

static inline box middle_of(const box *b) {
  box m;
  for (int a = 0; a < 4; ++a) {
    m.low[a] = m.high[a] = b->low[a] + b->high[a];
  }
  return m;
}

#endif

static float half_area(const box *b) {
  float x = b->high[0] - b->low[0], y = b->high[1] - b->low[1], z = b->high[2] - b->low[2];
  return x >= 0.0f ? x * y + y * z + z * x : 0.0f;
}

static void find_bounds(const kp_ray_item *items, range *r) {
  r->bounds = r->middles = no_box();
  for (int64_t i = r->begin; i < r->end; ++i) {
    box b = item_box(&items[i]), m = middle_of(&b);
    grow(&r->bounds, &b);
    grow(&r->middles, &m);
  }
}

// ---- one split

typedef struct bin {
  box bounds, middles;
  int64_t count;
} bin;

typedef struct cut {
  int axis, n_bins;
  float start, scale;  // bin of a doubled centre c: (c - start) * scale
  int first_right;     // bins from here on go right
} cut;

static int bin_of(float middle, const cut *c) {
  int k = (int)((middle - c->start) * c->scale);
  return k < 0 ? 0 : k > c->n_bins - 1 ? c->n_bins - 1 : k;
}

static int bin_of_item(const kp_ray_item *item, const cut *c) {
  return bin_of(item->low[c->axis] + item->high[c->axis], c);
}

// Leaves are whole blocks, whatever they hold.
static float cost(const box *b, int64_t count, int leaf) {
  return half_area(b) * (float)((count + leaf - 1) / leaf);
}

static void clear_bins(bin *bins, int n) {
  for (int k = 0; k < n; ++k) {
    bins[k] = (bin){ no_box(), no_box(), 0 };
  }
}

static void add_bin(bin *sum, const bin *b) {
  grow(&sum->bounds, &b->bounds);
  grow(&sum->middles, &b->middles);
  sum->count += b->count;
}

static void fill_bins(const kp_ray_item *items, int64_t begin, int64_t end, const cut *c,
                      bin *bins) {
  clear_bins(bins, c->n_bins);
  for (int64_t i = begin; i < end; ++i) {
    box b = item_box(&items[i]), m = middle_of(&b);
    bin *to = &bins[bin_of(m.low[c->axis], c)];
    grow(&to->bounds, &b);
    grow(&to->middles, &m);
    ++to->count;
  }
}

typedef struct bin_context {
  const kp_ray_item *items;  // of the range
  const cut *c;
  bin (*bins)[BINS];  // of each chunk
} bin_context;

static void fill_chunks(int64_t begin, int64_t end, void *context) {
  const bin_context *c = context;
  fill_bins(c->items, begin, end, c->c, c->bins[begin / CHUNK]);
}

// Large ranges by all threads: boxes and counts of chunks come to the same in any order.
static void fill_shared_bins(const kp_ray_item *items, const range *r, const cut *c, bin *bins) {
  int64_t n = r->end - r->begin, n_chunks = (n + CHUNK - 1) / CHUNK;
  bin(*parts)[BINS] =
      n < SHARED ? NULL : kp_alloc((size_t)n_chunks * sizeof *parts, KP_MEMORY_RENDER);
  if (parts == NULL) {
    fill_bins(items, r->begin, r->end, c, bins);
    return;
  }
  bin_context context = { items + r->begin, c, parts };
  kp_parallel_for(n, CHUNK, fill_chunks, &context);
  clear_bins(bins, c->n_bins);
  for (int64_t i = 0; i < n_chunks; ++i) {
    for (int k = 0; k < c->n_bins; ++k) {
      add_bin(&bins[k], &parts[i][k]);
    }
  }
  kp_free(parts);
}

static bool find_cut(const builder *from, const range *r, cut *c, bin *left, bin *right) {
  const box *m = &r->middles;
  float x = m->high[0] - m->low[0], y = m->high[1] - m->low[1], z = m->high[2] - m->low[2];
  c->axis = x >= y ? (x >= z ? 0 : 2) : (y >= z ? 1 : 2);
  float length = m->high[c->axis] - m->low[c->axis];
  c->start = m->low[c->axis];
  c->n_bins = r->end - r->begin < FEW ? BINS_FEW : BINS;
  c->scale = (float)c->n_bins * 0.999999f / length;
  if (!(length > 0.0f) || !isfinite(c->scale)) {
    return false;
  }
  bin bins[BINS], after[BINS];
  fill_shared_bins(from->items, r, c, bins);
  // from the right once, then from the left against it
  bin sum = { no_box(), no_box(), 0 };
  for (int k = c->n_bins - 1; k > 0; --k) {
    add_bin(&sum, &bins[k]);
    after[k] = sum;
  }
  sum = (bin){ no_box(), no_box(), 0 };
  float best = HUGE_VALF;
  for (int k = 1; k < c->n_bins; ++k) {
    add_bin(&sum, &bins[k - 1]);
    float price = cost(&sum.bounds, sum.count, from->leaf) +
                  cost(&after[k].bounds, after[k].count, from->leaf);
    if (sum.count > 0 && after[k].count > 0 && price < best) {
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
    if (bin_of_item(&items[i], c) < c->first_right) {
      ++i;
    } else if (bin_of_item(&items[j], c) >= c->first_right) {
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
static range split(const builder *from, range *r, int depth) {
  kp_ray_item *items = from->items;
  range right = *r;
  cut c;
  bin a, b;
  if (depth < DEPTH_LIMIT && find_cut(from, r, &c, &a, &b)) {
    right.begin = r->end = partition(items, r->begin, r->end, &c);
    r->bounds = a.bounds;
    r->middles = a.middles;
    right.bounds = b.bounds;
    right.middles = b.middles;
    return right;
  }
  right.begin = r->end = r->begin + (r->end - r->begin) / 2;
  find_bounds(items, r);
  find_bounds(items, &right);
  return right;
}

// The range to open next: the largest box, below the depth limit the largest count; -1: none.
static int choose(const range *ranges, int n, int depth, int leaf) {
  int best = -1;
  float most = -1.0f;
  for (int k = 0; k < n; ++k) {
    int64_t count = ranges[k].end - ranges[k].begin;
    float weight = depth < DEPTH_LIMIT ? half_area(&ranges[k].bounds) : (float)count;
    if (count > leaf && weight > most) {
      most = weight;
      best = k;
    }
  }
  return best;
}

// ---- nodes

static uint8_t mask_of(const builder *b, const range *r) {
  uint32_t mask = 0;
  for (int64_t i = r->begin; i < r->end; ++i) {
    mask |= b->items[i].mask;
  }
  return (uint8_t)mask;
}

static uint32_t add_leaf(builder *b, const range *r) {
  uint32_t block = (uint32_t)(b->lanes.count / KP_RAY_LANES);
  for (int64_t k = 0; k < KP_RAY_LANES; ++k) {
    int64_t item = r->begin + k / b->each, id = KP_RAY_NOTHING;
    if (item < r->end) {
      id = (int64_t)b->items[item].id * b->each + k % b->each;
      id = id < b->n_primitives ? id : KP_RAY_NOTHING;
    }
    if (kp_array_push(&b->lanes, (uint32_t)id) != KP_OK) {
      b->is_out_of_memory = true;
    }
  }
  return block | KP_RAY_LEAF;
}

static uint32_t add_node(builder *b, const range *whole, int depth) {
  range ranges[KP_RAY_LANES];
  int n = 1;
  ranges[0] = *whole;
  for (int k; n < KP_RAY_LANES && (k = choose(ranges, n, depth, b->leaf)) >= 0; ++n) {
    ranges[n] = split(b, &ranges[k], depth);
  }
  kp_ray_node node;
  for (int k = 0; k < KP_RAY_LANES; ++k) {
    box bounds = k < n ? ranges[k].bounds : no_box();
    for (int a = 0; a < 3; ++a) {
      node.low[a][k] = bounds.low[a];
      node.high[a][k] = bounds.high[a];
    }
    node.child[k] = KP_RAY_NOTHING;
    node.mask[k] = 0;
  }
  uint32_t index = (uint32_t)b->nodes.count;
  if (kp_array_push(&b->nodes, node) != KP_OK) {
    b->is_out_of_memory = true;
    return index;
  }
  for (int k = 0; k < n && !b->is_out_of_memory; ++k) {
    int64_t count = ranges[k].end - ranges[k].begin;
    uint32_t child = KP_RAY_NOTHING;
    if (count <= b->leaf) {
      child = add_leaf(b, &ranges[k]);
      b->nodes.data[index].mask[k] = mask_of(b, &ranges[k]);
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
    c->builders[i].n_primitives = c->top->n_primitives;
    c->builders[i].each = c->top->each;
    c->builders[i].leaf = c->top->leaf;
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

// Those of leaves are known; children stand behind their parents.
static void find_masks(kp_ray_tree *tree) {
  for (int64_t i = tree->n_nodes - 1; i >= 0; --i) {
    kp_ray_node *node = &tree->nodes[i];
    for (int k = 0; k < KP_RAY_LANES; ++k) {
      if ((node->child[k] & KP_RAY_LEAF) == 0) {
        const uint8_t *below = tree->nodes[node->child[k]].mask;
        for (int c = 0; c < KP_RAY_LANES; ++c) {
          node->mask[k] |= below[c];
        }
      }
    }
  }
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
  find_masks(tree);
  return KP_OK;
}

typedef struct pad_context {
  kp_ray_item *items;
  float *most;    // of each chunk
  range *ranges;  // of each chunk, after padding
  float padding;
} pad_context;

static void find_most(int64_t begin, int64_t end, void *context) {
  const pad_context *c = context;
  float most = 0.0f;
  for (int64_t i = begin; i < end; ++i) {
    for (int a = 0; a < 3; ++a) {
      most = kp_maxf(most, kp_maxf(-c->items[i].low[a], c->items[i].high[a]));
    }
  }
  c->most[begin / CHUNK] = most;
}

static void pad_some(int64_t begin, int64_t end, void *context) {
  const pad_context *c = context;
  for (int64_t i = begin; i < end; ++i) {
    for (int a = 0; a < 3; ++a) {
      c->items[i].low[a] -= c->padding;
      c->items[i].high[a] += c->padding;
    }
  }
  range *r = &c->ranges[begin / CHUNK];
  r->begin = begin;
  r->end = end;
  find_bounds(c->items, r);
}

// Items grow by a share of the largest coordinate; what they fill then. Least and most are the same
// in any order.
static kp_result pad(kp_ray_item *items, range *whole) {
  int64_t n = whole->end, n_chunks = (n + CHUNK - 1) / CHUNK;
  pad_context c = { .items = items };
  c.most = kp_alloc((size_t)n_chunks * sizeof *c.most, KP_MEMORY_RENDER);
  c.ranges = kp_alloc((size_t)n_chunks * sizeof *c.ranges, KP_MEMORY_RENDER);
  kp_result result = c.most != NULL && c.ranges != NULL ? KP_OK : KP_ERROR_MEMORY;
  if (result == KP_OK) {
    float most = 0.0f;
    kp_parallel_for(n, CHUNK, find_most, &c);
    for (int64_t i = 0; i < n_chunks; ++i) {
      most = kp_maxf(most, c.most[i]);
    }
    c.padding = PADDING * most;
    kp_parallel_for(n, CHUNK, pad_some, &c);
    whole->bounds = whole->middles = no_box();
    for (int64_t i = 0; i < n_chunks; ++i) {
      grow(&whole->bounds, &c.ranges[i].bounds);
      grow(&whole->middles, &c.ranges[i].middles);
    }
  }
  kp_free(c.most);
  kp_free(c.ranges);
  return result;
}

kp_result kp_ray_tree_build(const kp_ray_items *items, kp_ray_tree *tree) {
  memset(tree, 0, sizeof *tree);
  if (items->n == 0) {
    return KP_OK;
  }
  builder top = { .items = items->list,
                  .n_primitives = items->n_primitives,
                  .each = items->each,
                  .leaf = KP_RAY_LANES / items->each,
                  .leaves_parts = true };
  range whole = { .begin = 0, .end = items->n };
  KP_TRY(pad(items->list, &whole));
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
