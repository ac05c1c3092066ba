#include "render/ray_scene.h"

#include <math.h>
#include <stdatomic.h>
#include <string.h>

#include "par/kernel_define.h"
#include "par/parallel.h"
#include "render/ray_tree.h"

#define CHUNK 8192
#define PAIRS_ASKED 61    // one of so many pairs of triangles
#define PAIRS_LEAST 4     // so many pairs at least
#define PAIRS_SHARE 0.85  // of them, from which on all are taken for pairs

RAY_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

enum { TRIANGLES, BALLS, STROKES };

// ---- boxes

static uint32_t mask_of(const uint8_t *masks, uint32_t id) {
  return masks != NULL ? masks[id] : KP_RAY_ALL;
}

static void begin_item(kp_ray_item *item, int64_t id, const uint8_t *masks) {
  item->id = (uint32_t)id;
  item->mask = mask_of(masks, item->id);
  for (int a = 0; a < 3; ++a) {
    item->low[a] = HUGE_VALF;
    item->high[a] = -HUGE_VALF;
  }
}

static void grow_item(kp_ray_item *item, float x, float y, float z, float r) {
  const float p[3] = { x, y, z };
  for (int a = 0; a < 3; ++a) {
    // a NaN stays in the box
    item->low[a] = p[a] - r >= item->low[a] ? item->low[a] : p[a] - r;
    item->high[a] = p[a] + r <= item->high[a] ? item->high[a] : p[a] + r;
  }
}

static bool is_finite(const kp_ray_item *item) {
  bool fine = true;
  for (int a = 0; a < 3; ++a) {
    fine = fine && isfinite(item->low[a]) && isfinite(item->high[a]);
  }
  return fine;
}

static void find_box(const kp_ray_geometry *g, int kind, int64_t i, kp_ray_item *item) {
  if (kind == TRIANGLES) {
    begin_item(item, i, g->triangle_masks);
    for (int k = 0; k < 3; ++k) {
      kp_f3 p = g->vertices[g->triangles[3 * i + k]];
      grow_item(item, p.x, p.y, p.z, 0.0f);
    }
  } else if (kind == BALLS) {
    begin_item(item, i, g->ball_masks);
    kp_ball b = g->balls[i];
    float r = (item->mask & KP_RAY_SPRITE) != 0 ? fabsf(b.r) : b.r;
    grow_item(item, b.x, b.y, b.z, r > 0.0f ? r : NAN);
  } else {
    begin_item(item, i, g->segment_masks);
    const kp_ball *ends = &g->line_vertices[g->segments[i].vertex];
    float r = 0.5f * (ends[0].r + ends[1].r);
    grow_item(item, ends[0].x, ends[0].y, ends[0].z, r);
    grow_item(item, ends[1].x, ends[1].y, ends[1].z, r);
  }
}

// Triangles 2 i and 2 i + 1, where there is one.
static void find_pair(const kp_ray_geometry *g, int64_t i, kp_ray_item *item) {
  kp_ray_item other;
  find_box(g, TRIANGLES, 2 * i, item);
  item->id = (uint32_t)i;
  if (2 * i + 1 >= g->n_triangles) {
    return;
  }
  find_box(g, TRIANGLES, 2 * i + 1, &other);
  bool are_finite = is_finite(item) && is_finite(&other);
  item->mask |= other.mask;
  for (int a = 0; a < 3; ++a) {
    item->low[a] = item->low[a] <= other.low[a] ? item->low[a] : other.low[a];
    item->high[a] = item->high[a] >= other.high[a] ? item->high[a] : other.high[a];
  }
  item->low[0] = are_finite ? item->low[0] : NAN;
}

// ---- blocks

static void fill_triangle(const kp_ray_geometry *g, kp_ray_triangles *b, int k, uint32_t id) {
  b->id[k] = id;
  b->mask[k] = id != KP_RAY_NOTHING ? mask_of(g->triangle_masks, id) : 0;
  for (int c = 0; c < 3; ++c) {
    kp_f3 p = { 0.0f, 0.0f, 0.0f };
    if (id != KP_RAY_NOTHING) {
      p = g->vertices[g->triangles[3 * (size_t)id + (size_t)c]];
    }
    b->corner[c][0][k] = p.x;
    b->corner[c][1][k] = p.y;
    b->corner[c][2][k] = p.z;
  }
}

static void fill_ball(const kp_ray_geometry *g, kp_ray_balls *b, int k, uint32_t id) {
  kp_ball ball = { 0.0f, 0.0f, 0.0f, 0.0f };
  if (id != KP_RAY_NOTHING) {
    ball = g->balls[id];
  }
  b->id[k] = id;
  b->mask[k] = id != KP_RAY_NOTHING ? mask_of(g->ball_masks, id) : 0;
  b->center[0][k] = ball.x;
  b->center[1][k] = ball.y;
  b->center[2][k] = ball.z;
  b->radius[k] = fabsf(ball.r);
}

// A stroke is as thick as its ends are on average.
static void fill_stroke(const kp_ray_geometry *g, kp_ray_strokes *b, int k, uint32_t id) {
  kp_ball ends[2] = { { 0.0f, 0.0f, 0.0f, 0.0f }, { 0.0f, 0.0f, 0.0f, 0.0f } };
  if (id != KP_RAY_NOTHING) {
    memcpy(ends, &g->line_vertices[g->segments[id].vertex], sizeof ends);
  }
  b->id[k] = id;
  b->mask[k] = id != KP_RAY_NOTHING ? mask_of(g->segment_masks, id) : 0;
  for (int e = 0; e < 2; ++e) {
    b->end[e][0][k] = ends[e].x;
    b->end[e][1][k] = ends[e].y;
    b->end[e][2][k] = ends[e].z;
  }
  b->radius[k] = 0.5f * (ends[0].r + ends[1].r);
}

typedef struct fill_context {
  const kp_ray_geometry *geometry;
  const kp_ray_tree *tree;
  void *blocks;
  int kind, each;
  kp_ray_item *items;
  atomic_bool has_others;  // whose box is not finite
} fill_context;

static void fill_blocks(int64_t begin, int64_t end, void *context) {
  const fill_context *c = context;
  for (int64_t i = begin; i < end; ++i) {
    for (int k = 0; k < KP_RAY_LANES; ++k) {
      uint32_t id = c->tree->lanes[i * KP_RAY_LANES + k];
      if (c->kind == TRIANGLES) {
        fill_triangle(c->geometry, (kp_ray_triangles *)c->blocks + i, k, id);
      } else if (c->kind == BALLS) {
        fill_ball(c->geometry, (kp_ray_balls *)c->blocks + i, k, id);
      } else {
        fill_stroke(c->geometry, (kp_ray_strokes *)c->blocks + i, k, id);
      }
    }
  }
}

static void fill_items(int64_t begin, int64_t end, void *context) {
  fill_context *c = context;
  bool are_finite = true;
  for (int64_t i = begin; i < end; ++i) {
    if (c->each == 2) {
      find_pair(c->geometry, i, &c->items[i]);
    } else {
      find_box(c->geometry, c->kind, i, &c->items[i]);
    }
    are_finite = is_finite(&c->items[i]) && are_finite;
  }
  if (!are_finite) {
    c->has_others = true;
  }
}

// Meshes of cells mostly have the two halves of a quad side by side: half as many boxes to sort. A
// share of the pairs tells.
static bool are_paired(const kp_ray_geometry *g) {
  int64_t asked = 0, shared = 0;
  for (int64_t i = 0; 2 * i + 1 < g->n_triangles; i += PAIRS_ASKED) {
    const uint32_t *a = &g->triangles[6 * i], *b = a + 3;
    int common = 0;
    for (int k = 0; k < 9; ++k) {
      common += a[k / 3] == b[k % 3] ? 1 : 0;
    }
    shared += common >= 2 ? 1 : 0;
    ++asked;
  }
  return asked >= PAIRS_LEAST && (double)shared > PAIRS_SHARE * (double)asked;
}

// What is not finite is left out, but not what stands beside it: *each becomes 1.
static kp_ray_items make_items(fill_context *context, kp_ray_item *list, int64_t n) {
  kp_ray_items items = { list, (n + context->each - 1) / context->each, context->each, n };
  context->items = list;
  context->has_others = false;
  kp_parallel_for(items.n, CHUNK, fill_items, context);
  if (!context->has_others) {
    return items;
  }
  if (context->each > 1) {
    context->each = 1;
    return make_items(context, list, n);
  }
  items.n = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (is_finite(&list[i])) {
      list[items.n++] = list[i];
    }
  }
  return items;
}

static kp_result build_kind(kp_ray_scene *s, const kp_ray_geometry *g, int kind) {
  static const size_t sizes[] = { sizeof(kp_ray_triangles), sizeof(kp_ray_balls),
                                  sizeof(kp_ray_strokes) };
  const int64_t counts[] = { g->n_triangles, g->n_balls, g->n_segments };
  int64_t n = counts[kind];
  if (n == 0) {
    return KP_OK;
  }
  kp_ray_item *items = kp_alloc((size_t)n * sizeof *items, KP_MEMORY_RENDER);
  if (items == NULL) {
    return KP_ERROR_MEMORY;
  }
  fill_context context = { .geometry = g, .kind = kind };
  context.each = kind == TRIANGLES && are_paired(g) ? 2 : 1;
  kp_ray_items list = make_items(&context, items, n);
  kp_ray_tree tree;
  kp_result result = kp_ray_tree_build(&list, &tree);
  kp_free(items);
  if (result != KP_OK || tree.n_nodes == 0) {
    return result;
  }
  s->nodes[kind] = tree.nodes;
  s->n_nodes[kind] = tree.n_nodes;
  s->n_blocks[kind] = tree.n_blocks;
  s->blocks[kind] = kp_alloc((size_t)tree.n_blocks * sizes[kind], KP_MEMORY_RENDER);
  if (s->blocks[kind] != NULL) {
    context.tree = &tree;
    context.blocks = s->blocks[kind];
    kp_parallel_for(tree.n_blocks, CHUNK / KP_RAY_LANES, fill_blocks, &context);
  }
  kp_free(tree.lanes);
  return s->blocks[kind] != NULL ? KP_OK : KP_ERROR_MEMORY;
}

kp_result kp_ray_scene_build(kp_ray_scene *scene, const kp_ray_geometry *geometry) {
  kp_ray_scene_free(scene);
  kp_result result = KP_OK;
  for (int kind = 0; kind < 3 && result == KP_OK; ++kind) {
    result = build_kind(scene, geometry, kind);
  }
  if (result != KP_OK) {
    kp_ray_scene_free(scene);
    return result;
  }
  scene->view = (kp_ray_view){ .triangle_nodes = scene->nodes[TRIANGLES],
                               .ball_nodes = scene->nodes[BALLS],
                               .stroke_nodes = scene->nodes[STROKES],
                               .triangles = scene->blocks[TRIANGLES],
                               .balls = scene->blocks[BALLS],
                               .strokes = scene->blocks[STROKES],
                               .ground = -HUGE_VALF,
                               .up = 1 };
  return KP_OK;
}

void kp_ray_scene_free(kp_ray_scene *scene) {
  for (int kind = 0; kind < 3; ++kind) {
    kp_free(scene->nodes[kind]);
    kp_free(scene->blocks[kind]);
  }
  memset(scene, 0, sizeof *scene);
  scene->view.ground = -HUGE_VALF;
}

void kp_ray_find_nearest(const kp_ray_view *view, const kp_ray *rays, int64_t n, kp_ray_hit *hits) {
  ray_nearest_args a = { .scene = *view, .rays = rays, .hits = hits };
  ray_nearest_kernel.point[kp_isa_current()](0, n, &a);
}

void kp_ray_find_any(const kp_ray_view *view, const kp_ray *rays, int64_t n, int32_t *blocked) {
  ray_any_args a = { .scene = *view, .rays = rays, .blocked = blocked };
  ray_any_kernel.point[kp_isa_current()](0, n, &a);
}
