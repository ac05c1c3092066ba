#include "geom/sparse_lattice.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "par/parallel.h"

#define MIDDLE KP_BLOCK_MIDDLE
#define STEP_Y KP_BLOCK_STEP_Y
#define STEP_Z KP_BLOCK_STEP_Z
#define NO_BIN UINT32_MAX
#define BLOCKS_PER_CHUNK 32
#define HALO_EDGE (KP_BLOCK_EDGE + 2)
#define HALO (HALO_EDGE * HALO_EDGE * HALO_EDGE)

typedef struct bin {
  uint64_t key;
  uint32_t id;  // in the order of the points
} bin;

typedef struct kp_block_room {
  bin *bins;
  uint32_t *table;     // open addressing: ids of bins, NO_BIN where free
  uint64_t *lists[2];  // keys while they spread
  uint32_t *rank;      // of each id among the blocks
} kp_block_room;

static void *make_room(void *block, int64_t count, size_t size) {
  size_t bytes = (size_t)(count > 0 ? count : 1) * size;
  if (block != NULL && kp_alloc_size(block) >= bytes) {
    return block;
  }
  kp_free(block);
  return kp_alloc(bytes + bytes / 4, KP_MEMORY_MESH);
}

// ---- which blocks exist

static uint64_t slot_of(uint64_t key, int shift) {
  return key * UINT64_C(0x9E3779B97F4A7C15) >> shift;
}

typedef struct bin_set {
  kp_block_room *room;
  uint32_t n, limit;  // bins, and how many the table holds
  int shift;
} bin_set;

static kp_result resize_table(bin_set *s, int bits) {
  int64_t size = INT64_C(1) << bits;
  bin *bins = kp_alloc((size_t)size / 2 * sizeof *bins, KP_MEMORY_MESH);
  s->room->table = make_room(s->room->table, size, sizeof *s->room->table);
  if (bins == NULL || s->room->table == NULL) {
    kp_free(bins);
    return KP_ERROR_MEMORY;
  }
  if (s->n > 0) {
    memcpy(bins, s->room->bins, s->n * sizeof *bins);
  }
  kp_free(s->room->bins);
  s->room->bins = bins;
  s->limit = (uint32_t)(size / 2);
  s->shift = 64 - bits;
  memset(s->room->table, 0xFF, (size_t)size * sizeof *s->room->table);
  for (uint32_t i = 0; i < s->n; ++i) {
    uint64_t at = slot_of(bins[i].key, s->shift);
    while (s->room->table[at] != NO_BIN) {
      at = (at + 1) & ((uint64_t)size - 1);
    }
    s->room->table[at] = i;
  }
  return KP_OK;
}

static kp_result find_bin(bin_set *s, uint64_t key, uint32_t *out) {
  uint64_t mask = (UINT64_C(1) << (64 - s->shift)) - 1, at = slot_of(key, s->shift);
  for (uint32_t id; (id = s->room->table[at]) != NO_BIN; at = (at + 1) & mask) {
    if (s->room->bins[id].key == key) {
      *out = id;
      return KP_OK;
    }
  }
  *out = s->n;
  s->room->table[at] = s->n;
  s->room->bins[s->n] = (bin){ key, s->n };
  return ++s->n < s->limit ? KP_OK : resize_table(s, 64 - s->shift + 1);
}

static int by_key(const void *a, const void *b) {
  uint64_t x = ((const bin *)a)->key, y = ((const bin *)b)->key;
  return x < y ? -1 : x > y;
}

// The bins of the points, in ascending order.
static kp_result list_bins(kp_blocks *b, int64_t n, const double *const place[3],
                           const int64_t first[3], const int64_t last[3], uint32_t *bin_of,
                           int64_t *n_bins) {
  bin_set set = { .room = b->room };
  double scale = 1.0 / (b->edge * b->spacing);
  bool is_flat = b->depth != b->edge;
  uint64_t before = UINT64_MAX;
  uint32_t id = NO_BIN;
  KP_TRY(resize_table(&set, 12));
  for (int64_t i = 0; i < n; ++i) {
    double x = floor(place[0][i] * scale), y = floor(place[1][i] * scale),
           z = is_flat ? 0.0 : floor(place[2][i] * scale);
    bool is_there = x >= (double)first[0] && x <= (double)last[0] && y >= (double)first[1] &&
                    y <= (double)last[1] && z >= (double)first[2] && z <= (double)last[2];
    bin_of[i] = NO_BIN;
    if (is_there) {
      uint64_t key = kp_block_key((int64_t)x, (int64_t)y, (int64_t)z);
      if (key != before) {
        KP_TRY(find_bin(&set, key, &id));
        before = key;
      }
      bin_of[i] = id;
    }
  }
  qsort(b->room->bins, set.n, sizeof *b->room->bins, by_key);
  *n_bins = set.n;
  return KP_OK;
}

// The sorted keys, those a step lower and those a step higher, each once.
static int64_t spread(const uint64_t *keys, int64_t n, uint64_t step, uint64_t *out) {
  int64_t low = 0, here = 0, high = 0, m = 0;
  while (high < n) {
    uint64_t a = low < n ? keys[low] - step : UINT64_MAX;
    uint64_t b = here < n ? keys[here] : UINT64_MAX;
    uint64_t c = keys[high] + step;
    uint64_t next = a < b ? a : b;
    next = next < c ? next : c;
    low += a == next ? 1 : 0;
    here += b == next ? 1 : 0;
    high += c == next ? 1 : 0;
    out[m++] = next;
  }
  return m;
}

static bool is_within(uint64_t key, const int64_t first[3], const int64_t last[3]) {
  for (int c = 0; c < 3; ++c) {
    int32_t at = kp_block_part(key, c);
    if (at < first[c] || at > last[c]) {
      return false;
    }
  }
  return true;
}

// Bins and what is around them become the blocks.
static kp_result list_blocks(kp_blocks *b, int64_t n_bins, const int64_t first[3],
                             const int64_t last[3]) {
  kp_block_room *r = b->room;
  int n_axes = b->depth == b->edge ? 3 : 2;
  static const uint64_t steps[3] = { 1, STEP_Y, STEP_Z };
  int64_t n = n_bins;
  r->lists[0] = make_room(r->lists[0], n, sizeof **r->lists);
  if (r->lists[0] == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (int64_t i = 0; i < n; ++i) {
    r->lists[0][i] = r->bins[i].key;
  }
  for (int axis = 0; axis < n_axes; ++axis) {
    r->lists[1] = make_room(r->lists[1], 3 * n, sizeof **r->lists);
    if (r->lists[1] == NULL) {
      return KP_ERROR_MEMORY;
    }
    n = spread(r->lists[0], n, steps[axis], r->lists[1]);
    uint64_t *swap = r->lists[0];
    r->lists[0] = r->lists[1];
    r->lists[1] = swap;
  }
  b->keys = make_room(b->keys, n, sizeof *b->keys);
  if (b->keys == NULL) {
    return KP_ERROR_MEMORY;
  }
  b->n = 0;
  for (int64_t i = 0; i < n; ++i) {
    b->keys[b->n] = r->lists[0][i];
    b->n += is_within(r->lists[0][i], first, last) ? 1 : 0;
  }
  return b->n < INT32_MAX
             ? KP_OK
             : kp_fail(KP_ERROR_ARGUMENT, "a surface of %lld blocks is too large", (long long)b->n);
}

// Keys ascend, so each of the nine rows of neighbours is walked once.
static void find_around(int64_t begin, int64_t end, void *context) {
  kp_blocks *b = context;
  int64_t walk[9];
  for (int64_t block = begin; block < end; ++block) {
    uint64_t key = b->keys[block];
    for (int c = 0; c < 3; ++c) {
      b->at[block][c] = kp_block_part(key, c);
    }
    for (int row = 0; row < 9; ++row) {
      uint64_t want =
          key + (uint64_t)(row / 3) * STEP_Z - STEP_Z + (uint64_t)(row % 3) * STEP_Y - STEP_Y - 1;
      if (block == begin) {
        walk[row] = kp_blocks_lower(b->keys, b->n, want);
      }
      while (walk[row] < b->n && b->keys[walk[row]] < want) {
        ++walk[row];
      }
      int64_t at = walk[row];
      for (int x = 0; x < 3; ++x) {
        bool is_there = at < b->n && b->keys[at] == want + (uint64_t)x;
        b->around[block][3 * row + x] = is_there ? (int32_t)at : -1;
        at += is_there ? 1 : 0;
      }
    }
  }
}

kp_result kp_blocks_check_span(const kp_blocks *b, const int64_t first[3], const int64_t last[3]) {
  for (int c = 0; c < 3; ++c) {
    if (first[c] <= -MIDDLE || last[c] >= MIDDLE - 1) {
      return kp_fail(KP_ERROR_ARGUMENT,
                     "samples every %g m are too fine for a surface that reaches %.3g m away",
                     b->spacing, (double)MIDDLE * b->edge * b->spacing);
    }
  }
  return KP_OK;
}

kp_result kp_blocks_cover(kp_blocks *b, int64_t n, const double *const place[3],
                          const int64_t first[3], const int64_t last[3], uint32_t *bin_of) {
  b->n = b->n_stored = 0;
  if (b->room == NULL) {
    b->room = kp_alloc_zero(sizeof *b->room, KP_MEMORY_MESH);
    if (b->room == NULL) {
      return KP_ERROR_MEMORY;
    }
  }
  int64_t n_bins;
  KP_TRY(kp_blocks_check_span(b, first, last));
  KP_TRY(list_bins(b, n, place, first, last, bin_of, &n_bins));
  KP_TRY(list_blocks(b, n_bins, first, last));
  b->at = make_room(b->at, b->n, sizeof *b->at);
  b->around = make_room(b->around, b->n, sizeof *b->around);
  b->slots = make_room(b->slots, b->n, sizeof *b->slots);
  b->room->rank = make_room(b->room->rank, n_bins, sizeof *b->room->rank);
  if (b->at == NULL || b->around == NULL || b->slots == NULL || b->room->rank == NULL) {
    return KP_ERROR_MEMORY;
  }
  int64_t block = 0;
  for (int64_t i = 0; i < n_bins; ++i) {
    while (b->keys[block] < b->room->bins[i].key) {
      ++block;
    }
    b->room->rank[b->room->bins[i].id] = (uint32_t)block;
  }
  for (int64_t i = 0; i < n; ++i) {
    bin_of[i] = bin_of[i] == NO_BIN ? NO_BIN : b->room->rank[bin_of[i]];
  }
  kp_parallel_for(b->n, 4096, find_around, b);
  return KP_OK;
}

kp_result kp_blocks_store(kp_blocks *b) {
  int64_t n = 0;
  for (int64_t i = 0; i < b->n; ++i) {
    n += b->slots[i] >= 0 ? 1 : 0;
  }
  b->stored = make_room(b->stored, n, sizeof *b->stored);
  b->values = make_room(b->values, n * kp_blocks_volume(b), sizeof *b->values);
  b->other = make_room(b->other, n * kp_blocks_volume(b), sizeof *b->other);
  if (b->stored == NULL || b->values == NULL || b->other == NULL) {
    return KP_ERROR_MEMORY;
  }
  b->n_stored = 0;
  for (int64_t i = 0; i < b->n; ++i) {
    if (b->slots[i] >= 0) {
      b->slots[i] = (int32_t)b->n_stored;
      b->stored[b->n_stored++] = (int32_t)i;
    }
  }
  return KP_OK;
}

void kp_blocks_free(kp_blocks *b) {
  kp_block_room *r = b->room;
  if (r != NULL) {
    kp_free(r->bins);
    kp_free(r->table);
    kp_free(r->lists[0]);
    kp_free(r->lists[1]);
    kp_free(r->rank);
    kp_free(r);
  }
  kp_free(b->at);
  kp_free(b->around);
  kp_free(b->slots);
  kp_free(b->deep);
  kp_free(b->calm);
  kp_free(b->stored);
  kp_free(b->values);
  kp_free(b->other);
  kp_free(b->keys);
  *b = (kp_blocks){ 0 };
}

int64_t kp_blocks_room_bytes(const kp_blocks *b) {
  if (b->room == NULL) {
    return 0;
  }
  const void *const arrays[] = { b->room->bins, b->room->table, b->room->lists[0],
                                 b->room->lists[1], b->room->rank };
  int64_t sum = 0;
  for (size_t i = 0; i < sizeof arrays / sizeof arrays[0]; ++i) {
    sum += arrays[i] != NULL ? (int64_t)kp_alloc_size(arrays[i]) : 0;
  }
  return sum;
}

// ---- filter

// A block and one layer around it, in rows of edge + 2.
static void take_halo(const kp_blocks *b, int64_t block, float *to) {
  int32_t e = b->edge, d = b->depth, side = e + 2;
  for (int near = 0; near < KP_BLOCK_AROUND; ++near) {
    const int way[3] = { near % 3 - 1, near / 3 % 3 - 1, near / 9 - 1 };
    int64_t at = b->around[block][near];
    int32_t slot = at < 0 ? KP_BLOCK_OUTSIDE : b->slots[at];
    const float *from = slot < 0 ? NULL : b->values + slot * kp_blocks_volume(b);
    float plain = slot == KP_BLOCK_INSIDE ? b->inside : b->outside;
    int32_t size[3] = { e, e, d }, lo[3], hi[3];
    for (int c = 0; c < 3; ++c) {
      lo[c] = way[c] < 0 ? -1 : way[c] == 0 ? 0 : size[c];
      hi[c] = way[c] < 0 ? 0 : way[c] == 0 ? size[c] : size[c] + 1;
    }
    for (int32_t k = lo[2]; k < hi[2]; ++k) {
      for (int32_t j = lo[1]; j < hi[1]; ++j) {
        float *row = to + 1 + side * (j + 1 + side * (k + 1));
        int32_t shift = -e * way[0] + e * (j - e * way[1] + e * (k - d * way[2]));
        for (int32_t i = lo[0]; i < hi[0]; ++i) {
          row[i] = from == NULL ? plain : from[shift + i];
        }
      }
    }
  }
}

// Along the whole array at once; what lies at its rims is not used.
static void filter(const float *restrict from, float *restrict to, int32_t n, int32_t stride) {
  for (int32_t i = stride; i < n - stride; ++i) {
    to[i] = 0.5f * from[i] + 0.25f * (from[i - stride] + from[i + stride]);
  }
}

static void smooth_blocks(int64_t begin, int64_t end, void *context) {
  kp_blocks *b = context;
  float one[HALO] = { 0 }, two[HALO] = { 0 };
  int32_t e = b->edge, d = b->depth, side = e + 2, n = side * side * (d + 2);
  for (int64_t slot = begin; slot < end; ++slot) {
    if (b->calm != NULL && b->calm[b->stored[slot]] != 0) {
      for (int64_t i = slot * kp_blocks_volume(b); i < (slot + 1) * kp_blocks_volume(b); ++i) {
        b->other[i] = b->inside;
      }
      continue;
    }
    take_halo(b, b->stored[slot], one);
    filter(one, two, n, 1);
    filter(two, one, n, side);
    const float *result = one;
    if (d == e) {
      filter(one, two, n, side * side);
      result = two;
    }
    float *to = b->other + slot * kp_blocks_volume(b);
    for (int32_t k = 0; k < d; ++k) {
      for (int32_t j = 0; j < e; ++j) {
        memcpy(to, result + 1 + side * (j + 1 + side * (k + 1)), (size_t)e * sizeof *to);
        to += e;
      }
    }
  }
}

void kp_blocks_smooth(kp_blocks *b, int passes) {
  for (int pass = 0; pass < passes; ++pass) {
    kp_parallel_for(b->n_stored, BLOCKS_PER_CHUNK, smooth_blocks, b);
    float *swap = b->values;
    b->values = b->other;
    b->other = swap;
  }
}

// ---- rims

typedef struct clip_work {
  kp_blocks *b;
  const kp_aabb *box;
} clip_work;

static double outside_by(double x, double lo, double hi) {
  return fmax(lo - x, x - hi);
}

static void clip_blocks(int64_t begin, int64_t end, void *context) {
  const clip_work *w = context;
  kp_blocks *b = w->b;
  int32_t e = b->edge, d = b->depth;
  for (int64_t slot = begin; slot < end; ++slot) {
    const int32_t *at = b->at[b->stored[slot]];
    float *to = b->values + slot * kp_blocks_volume(b);
    int64_t z0 = d == e ? (int64_t)at[2] * e : -1;
    for (int32_t row = 0; row < e * d; ++row, to += e) {
      double y = b->spacing * (double)((int64_t)at[1] * e + row % e);
      double z = b->spacing * (double)(z0 + row / e);
      double out = outside_by(y, w->box->min.y, w->box->max.y);
      out = fmax(out, outside_by(z, w->box->min.z, w->box->max.z));
      for (int32_t i = 0; i < e; ++i) {
        double x = b->spacing * (double)((int64_t)at[0] * e + i);
        float distance = (float)fmax(out, outside_by(x, w->box->min.x, w->box->max.x));
        to[i] = to[i] > distance ? to[i] : distance;
      }
    }
  }
}

void kp_blocks_clip(kp_blocks *b, const kp_aabb *box) {
  clip_work w = { b, box };
  kp_parallel_for(b->n_stored, BLOCKS_PER_CHUNK, clip_blocks, &w);
}

// Cells belong to the block of their lowest corner, and those of blocks without samples are not
// visited: samples on low faces must not differ from what lies below them.
static void seal_blocks(int64_t begin, int64_t end, void *context) {
  kp_blocks *b = context;
  const float tiny = 1e-6f * (float)b->spacing;
  int32_t e = b->edge, d = b->depth;
  for (int64_t slot = begin; slot < end; ++slot) {
    const int32_t *around = b->around[b->stored[slot]];
    float *values = b->values + slot * kp_blocks_volume(b);
    for (int near = 0; near < KP_BLOCK_AROUND; ++near) {
      const int way[3] = { near % 3 - 1, near / 3 % 3 - 1, near / 9 - 1 };
      int32_t kind = around[near] < 0 ? KP_BLOCK_OUTSIDE : b->slots[around[near]];
      bool is_low = way[0] <= 0 && way[1] <= 0 && way[2] <= 0 && near != KP_BLOCK_AROUND / 2;
      if (!is_low || kind >= 0) {
        continue;
      }
      int32_t hi[3] = { way[0] < 0 ? 1 : e, way[1] < 0 ? 1 : e, way[2] < 0 ? 1 : d };
      for (int32_t k = 0; k < hi[2]; ++k) {
        for (int32_t j = 0; j < hi[1]; ++j) {
          for (int32_t i = 0; i < hi[0]; ++i) {
            float *v = &values[i + e * (j + e * k)];
            *v = kind == KP_BLOCK_INSIDE ? fminf(*v, -tiny) : fmaxf(*v, tiny);
          }
        }
      }
    }
  }
}

void kp_blocks_seal(kp_blocks *b) {
  kp_parallel_for(b->n_stored, BLOCKS_PER_CHUNK, seal_blocks, b);
}
