#include "render/bins.h"

#include <string.h>

#include "base/memory.h"
#include "par/parallel.h"
#include "render/view.h"

// Few enough chunks that the count table stays small beside the picture, many enough to share out.
#define CHUNKS 32
#define CHUNK_LEAST 4096

typedef struct bins_context {
  kp_bins *bins;
  const kp_bin_rect *rects;
  int64_t n, chunk, n_tiles;
  int tiles_x;
} bins_context;

kp_bin_rect kp_bins_rect(float x0, float y0, float x1, float y1, int width, int height) {
  kp_bin_rect none = { 0, 0, -1, -1 };
  bool outside = !(x1 >= 0.0f && y1 >= 0.0f && x0 < (float)width && y0 < (float)height);
  if (outside) {
    return none;
  }
  kp_bin_rect r;
  r.x0 = (int16_t)((int)(x0 > 0.0f ? x0 : 0.0f) / KP_TILE_SIZE);
  r.y0 = (int16_t)((int)(y0 > 0.0f ? y0 : 0.0f) / KP_TILE_SIZE);
  r.x1 = (int16_t)((x1 < (float)width ? (int)x1 : width - 1) / KP_TILE_SIZE);
  r.y1 = (int16_t)((y1 < (float)height ? (int)y1 : height - 1) / KP_TILE_SIZE);
  return r;
}

static void count_chunk(int64_t begin, int64_t end, void *context) {
  const bins_context *c = context;
  int64_t *counts = c->bins->counts + begin / c->chunk * c->n_tiles;
  for (int64_t i = begin; i < end; ++i) {
    kp_bin_rect r = c->rects[i];
    for (int y = r.y0; y <= r.y1; ++y) {
      for (int x = r.x0; x <= r.x1; ++x) {
        ++counts[y * c->tiles_x + x];
      }
    }
  }
}

static void fill_chunk(int64_t begin, int64_t end, void *context) {
  const bins_context *c = context;
  int64_t *places = c->bins->counts + begin / c->chunk * c->n_tiles;
  for (int64_t i = begin; i < end; ++i) {
    kp_bin_rect r = c->rects[i];
    for (int y = r.y0; y <= r.y1; ++y) {
      for (int x = r.x0; x <= r.x1; ++x) {
        c->bins->items[places[y * c->tiles_x + x]++] = (uint32_t)i;
      }
    }
  }
}

static kp_result grow(void **memory, int64_t *capacity, int64_t count, size_t element) {
  if (*capacity >= count) {
    return KP_OK;
  }
  int64_t wanted = count + count / 4;
  kp_free(*memory);
  *capacity = 0;
  *memory = kp_alloc((size_t)wanted * element, KP_MEMORY_RENDER);
  if (*memory == NULL) {
    return KP_ERROR_MEMORY;
  }
  *capacity = wanted;
  return KP_OK;
}

// Turn counts into the place where each chunk starts to write in each tile.
static int64_t scan_counts(kp_bins *bins, int64_t n_chunks, int64_t n_tiles) {
  int64_t total = 0;
  for (int64_t tile = 0; tile < n_tiles; ++tile) {
    bins->offsets[tile] = total;
    for (int64_t chunk = 0; chunk < n_chunks; ++chunk) {
      int64_t count = bins->counts[chunk * n_tiles + tile];
      bins->counts[chunk * n_tiles + tile] = total;
      total += count;
    }
  }
  bins->offsets[n_tiles] = total;
  return total;
}

kp_result kp_bins_build(kp_bins *bins, const kp_bin_rect *rects, int64_t n, int tiles_x,
                        int tiles_y) {
  int64_t n_tiles = (int64_t)tiles_x * tiles_y;
  int64_t chunk = (n + CHUNKS - 1) / CHUNKS;
  chunk = chunk < CHUNK_LEAST ? CHUNK_LEAST : chunk;
  int64_t n_chunks = (n + chunk - 1) / chunk;
  KP_TRY(grow((void **)&bins->offsets, &bins->offsets_capacity, n_tiles + 1, sizeof(int64_t)));
  KP_TRY(grow((void **)&bins->counts, &bins->counts_capacity, n_chunks * n_tiles, sizeof(int64_t)));
  if (n_chunks > 0) {
    memset(bins->counts, 0, (size_t)(n_chunks * n_tiles) * sizeof(int64_t));
  }

  bins_context context = { bins, rects, n, chunk, n_tiles, tiles_x };
  kp_parallel_for(n, chunk, count_chunk, &context);
  int64_t total = scan_counts(bins, n_chunks, n_tiles);
  KP_TRY(grow((void **)&bins->items, &bins->items_capacity, total, sizeof(uint32_t)));
  kp_parallel_for(n, chunk, fill_chunk, &context);
  return KP_OK;
}

void kp_bins_free(kp_bins *bins) {
  kp_free(bins->offsets);
  kp_free(bins->counts);
  kp_free(bins->items);
  *bins = (kp_bins){ 0 };
}
