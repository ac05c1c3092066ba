// Deep shadow maps (Lokovic and Veach 2000): per texel of the sun's view, how much light is left at
// each depth behind hairs and puffs that cover only part of it. Each texel's fibres make a function
// of steps, which is kept as few straight pieces within a bound of error.
//
// A texel is two by two pixels of the depth map, and a tile of that map one of texels, so that the
// strokes which were binned for the one serve the other.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "par/parallel.h"
#include "render/pass.h"

#define TEXELS KP_DEEP_TEXELS
#define ERROR_BOUND 0.02f
#define STEP 1e-4f  // depth over which one fibre takes its light, in texels

typedef struct deep_tile {
  uint32_t first[TEXELS + 1];
  kp_deep_node *nodes;
  int64_t capacity;
} deep_tile;

struct kp_deep {
  kp_view view;
  deep_tile *tiles;
  int64_t n_tiles;
  int tiles_x;
};

bool kp_deep_is_wanted(const kp_pass *pass) {
  const kp_primitives *p = &pass->primitives;
  if (p->has_puffs) {
    return true;
  }
  return p->n_segments > 0 && (int)p->segments[0].set != pass->outline;
}

void kp_deep_free(kp_pass *pass) {
  struct kp_deep *d = pass->deep;
  if (d == NULL) {
    return;
  }
  for (int64_t i = 0; i < d->n_tiles; ++i) {
    kp_free(d->tiles[i].nodes);
  }
  kp_free(d->tiles);
  kp_free(d);
  pass->deep = NULL;
}

// Keeps what the tiles of the last pass hold where their number is the same.
static kp_result fit_tiles(kp_pass *pass) {
  if (pass->deep == NULL) {
    pass->deep = kp_alloc_zero(sizeof *pass->deep, KP_MEMORY_RENDER);
    if (pass->deep == NULL) {
      return KP_ERROR_MEMORY;
    }
  }
  struct kp_deep *d = pass->deep;
  d->tiles_x = kp_view_tiles_x(&pass->sun_view);
  int64_t n = (int64_t)d->tiles_x * kp_view_tiles_y(&pass->sun_view);
  if (n > d->n_tiles) {
    deep_tile *tiles = kp_realloc(d->tiles, (size_t)n * sizeof *tiles, KP_MEMORY_RENDER);
    if (tiles == NULL) {
      return KP_ERROR_MEMORY;
    }
    memset(tiles + d->n_tiles, 0, (size_t)(n - d->n_tiles) * sizeof *tiles);
    d->tiles = tiles;
    d->n_tiles = n;
  }
  d->view = pass->sun_view;
  d->view.scale *= 0.5f;
  d->view.axis_x *= 0.5f;
  d->view.axis_y *= 0.5f;
  d->view.width = (d->view.width + 1) / 2;
  d->view.height = (d->view.height + 1) / 2;
  return KP_OK;
}

static int by_depth(const void *a, const void *b) {
  const kp_deep_fragment *f = a, *g = b;
  if (f->texel != g->texel) {
    return f->texel < g->texel ? -1 : 1;
  }
  if (f->depth != g->depth) {
    return f->depth < g->depth ? -1 : 1;
  }
  return f->alpha < g->alpha ? -1 : f->alpha > g->alpha;
}

// Straight pieces that stay within the bound of all points so far: the range of slopes from the
// last node that hits every window (Lokovic and Veach, section 4.2).
typedef struct pieces {
  kp_deep_node *out;
  int64_t count;
  float x0, y0, low, high, bound;
  float last_x;
} pieces;

static void end_piece(pieces *p) {
  float slope = 0.5f * (p->low + p->high);
  p->y0 += slope * (p->last_x - p->x0);
  p->x0 = p->last_x;
  p->out[p->count++] = (kp_deep_node){ p->x0, p->y0 };
}

static void add_point(pieces *p, float x, float y) {
  float dx = x - p->x0;
  float low = (y - p->bound - p->y0) / dx, high = (y + p->bound - p->y0) / dx;
  if (kp_maxf(low, p->low) > kp_minf(high, p->high)) {
    end_piece(p);
    dx = x - p->x0;
    p->low = (y - p->bound - p->y0) / dx;
    p->high = (y + p->bound - p->y0) / dx;
  } else {
    p->low = kp_maxf(low, p->low);
    p->high = kp_minf(high, p->high);
  }
  p->last_x = x;
}

int64_t kp_deep_compress(const kp_deep_fragment *fragments, int64_t n, float step, float bound,
                         kp_deep_node *out) {
  if (n == 0) {
    return 0;
  }
  // each fibre takes its light over a short way; those within it are one
  float through = 1.0f, x = fragments[0].depth;
  pieces p = { .out = out, .x0 = x, .y0 = 1.0f, .bound = bound, .last_x = x };
  p.low = -HUGE_VALF;
  p.high = HUGE_VALF;
  p.out[p.count++] = (kp_deep_node){ x, 1.0f };
  for (int64_t i = 0; i < n; ++i) {
    if (fragments[i].depth > x) {
      x = fragments[i].depth;
      add_point(&p, x, through);
    }
    through *= 1.0f - fragments[i].alpha;
    float next = x + step;
    x = next > x ? next : nextafterf(x, HUGE_VALF);
    add_point(&p, x, through);
  }
  end_piece(&p);
  // what lies behind all of them gets exactly what is left
  p.out[p.count++] = (kp_deep_node){ nextafterf(x, HUGE_VALF), through };
  return p.count;
}

static bool fill_tile(const kp_pass *pass, deep_tile *tile, const kp_deep_fragments *list) {
  int64_t n = (int64_t)list->list.count;
  if (tile->capacity < 2 * n + 2 * TEXELS) {
    kp_free(tile->nodes);
    tile->capacity = 0;
    int64_t wanted = 2 * n + n / 2 + 2 * TEXELS;
    tile->nodes = kp_alloc((size_t)wanted * sizeof *tile->nodes, KP_MEMORY_RENDER);
    if (tile->nodes == NULL) {
      memset(tile->first, 0, sizeof tile->first);
      return false;
    }
    tile->capacity = wanted;
  }
  float step = STEP / pass->deep->view.scale;
  int64_t next = 0, count = 0;
  for (int texel = 0; texel < TEXELS; ++texel) {
    int64_t first = next;
    while (next < n && list->list.data[next].texel == texel) {
      ++next;
    }
    tile->first[texel] = (uint32_t)count;
    count += kp_deep_compress(list->list.data + first, next - first, step, ERROR_BOUND,
                              tile->nodes + count);
  }
  tile->first[TEXELS] = (uint32_t)count;
  return true;
}

static void render_tiles(int64_t begin, int64_t end, void *context) {
  kp_pass *pass = context;
  kp_deep_fragments list = { 0 };
  for (int64_t i = begin; i < end; ++i) {
    kp_tile_box full = kp_view_tile(&pass->sun_view, i);
    list.box = (kp_tile_box){ full.x0 / 2, full.y0 / 2, (full.x1 + 1) / 2, (full.y1 + 1) / 2 };
    list.list.count = 0;
    list.failed = false;
    kp_lines_deep(pass, &pass->deep->view, i, &list);
    kp_points_deep(pass, &pass->deep->view, i, &list);
    if (list.list.count > 1) {
      qsort(list.list.data, list.list.count, sizeof(kp_deep_fragment), by_depth);
    }
    if (list.failed || !fill_tile(pass, &pass->deep->tiles[i], &list)) {
      atomic_store(&pass->out_of_memory, true);
    }
  }
  kp_array_free(&list.list);
}

kp_result kp_deep_render(kp_pass *pass) {
  if (!kp_deep_is_wanted(pass)) {
    return KP_OK;
  }
  KP_TRY(fit_tiles(pass));
  int64_t n = (int64_t)pass->deep->tiles_x * kp_view_tiles_y(&pass->sun_view);
  kp_parallel_for(n, 4, render_tiles, pass);
  return atomic_load(&pass->out_of_memory) ? KP_ERROR_MEMORY : KP_OK;
}

void kp_deep_add(kp_deep_fragments *list, int x, int y, float depth, float alpha) {
  kp_deep_fragment f = { .depth = depth, .alpha = kp_minf(alpha, 1.0f) };
  f.texel = (uint16_t)((y - list->box.y0) * (KP_TILE_SIZE / 2) + (x - list->box.x0));
  list->failed = kp_array_push(&list->list, f) != KP_OK || list->failed;
}

float kp_deep_nodes_at(const kp_deep_node *nodes, int64_t n, float depth) {
  if (n == 0 || depth <= nodes[0].depth) {
    return 1.0f;
  }
  if (depth >= nodes[n - 1].depth) {
    return nodes[n - 1].through;
  }
  int64_t low = 0, high = n - 1;  // nodes[low] <= depth < nodes[high]
  while (high - low > 1) {
    int64_t middle = (low + high) / 2;
    if (nodes[middle].depth <= depth) {
      low = middle;
    } else {
      high = middle;
    }
  }
  float t = (depth - nodes[low].depth) / (nodes[high].depth - nodes[low].depth);
  // a piece may end a bound below nothing
  return kp_maxf(nodes[low].through + t * (nodes[high].through - nodes[low].through), 0.0f);
}

static float texel_light(const struct kp_deep *d, int x, int y, float depth) {
  if (x < 0 || y < 0 || x >= d->view.width || y >= d->view.height) {
    return 1.0f;
  }
  const int side = KP_TILE_SIZE / 2;
  const deep_tile *tile = &d->tiles[(int64_t)(y / side) * d->tiles_x + x / side];
  int texel = y % side * side + x % side;
  uint32_t first = tile->first[texel];
  return kp_deep_nodes_at(tile->nodes + first, tile->first[texel + 1] - first, depth);
}

float kp_deep_light(const kp_pass *pass, kp_f3 at) {
  const struct kp_deep *d = pass->deep;
  float x = 0.5f * at.x - 0.5f, y = 0.5f * at.y - 0.5f;
  if (!(x > -1.0f && y > -1.0f && x < (float)d->view.width && y < (float)d->view.height)) {
    return 1.0f;
  }
  int i = (int)floorf(x), j = (int)floorf(y);
  float fx = x - (float)i, fy = y - (float)j;
  float low = texel_light(d, i, j, at.z);
  low += fx * (texel_light(d, i + 1, j, at.z) - low);
  float high = texel_light(d, i, j + 1, at.z);
  high += fx * (texel_light(d, i + 1, j + 1, at.z) - high);
  return low + fy * (high - low);
}
