// Marching cubes over blocks. As in marching_cubes.c the work is done on bits, a byte for each row
// of a block; the vertex on an edge is found by counting bits before it in its block, so an edge
// that two blocks share has one vertex, that of the block of its lower sample.
#include <string.h>

#include "base/memory.h"
#include "geom/marching_points.h"
#include "par/parallel.h"

#define BLOCKS_PER_CHUNK 32
#define ROWS (KP_BLOCK_EDGE + 1)

typedef struct start {
  uint32_t vertex, triangle;
} start;

typedef struct scratch {
  kp_cube_table table;
  uint8_t *bits;     // a byte for each row of a block: which samples lie inside
  uint8_t *cut;      // edges along x, then y, then z
  uint16_t *before;  // cut edges of the block before the row
  start *starts;
} scratch;

typedef struct work {
  const kp_blocks *b;
  float level;
  const scratch *s;
  kp_isosurface *out;
  int32_t rows;  // of a block
} work;

static void *make_room(void *block, int64_t count, size_t size) {
  size_t bytes = (size_t)(count > 0 ? count : 1) * size;
  if (block != NULL && kp_alloc_size(block) >= bytes) {
    return block;
  }
  kp_free(block);
  return kp_alloc(bytes + bytes / 4, KP_MEMORY_MESH);
}

// ---- bits

static void mark_blocks(int64_t begin, int64_t end, void *context) {
  const work *w = context;
  int32_t e = w->b->edge;
  for (int64_t slot = begin; slot < end; ++slot) {
    const float *values = w->b->values + slot * kp_blocks_volume(w->b);
    uint8_t *bits = w->s->bits + slot * w->rows;
    for (int32_t row = 0; row < w->rows; ++row, values += e) {
      unsigned sum = 0;
      for (int32_t i = 0; i < e; ++i) {
        sum |= (values[i] < w->level ? 1U : 0U) << i;
      }
      bits[row] = (uint8_t)sum;
    }
  }
}

// Bits of the rows of a block and of the next ones above, one sample longer than the block.
typedef struct block_bits {
  uint16_t rows[ROWS * ROWS];  // j + (edge + 1) k
  bool is_cut;
} block_bits;

// Row (j, k) of the block `near` of those around, or what it has without samples.
static unsigned bits_of(const work *w, const int32_t *around, int near, int32_t j, int32_t k) {
  const kp_blocks *b = w->b;
  int32_t at = around[near], slot = at < 0 ? KP_BLOCK_OUTSIDE : b->slots[at];
  if (slot < 0) {
    return slot == KP_BLOCK_INSIDE ? 0xFF : 0;
  }
  return w->s->bits[(int64_t)slot * w->rows + j + b->edge * k];
}

static void take_bits(const work *w, int64_t slot, block_bits *out) {
  const kp_blocks *b = w->b;
  const int32_t *around = b->around[b->stored[slot]];
  int32_t e = b->edge, d = b->depth;
  unsigned any = 0, all = ~0U, mask = (1U << (e + 1)) - 1;
  for (int32_t k = 0; k <= d; ++k) {
    for (int32_t j = 0; j <= e; ++j) {
      int near = 13 + (j == e ? 3 : 0) + (k == d ? 9 : 0);
      int32_t row = j == e ? 0 : j, layer = k == d ? 0 : k;
      unsigned low = bits_of(w, around, near, row, layer) & (mask >> 1);
      unsigned high = bits_of(w, around, near + 1, row, layer) & 1U;
      unsigned here = low | high << e;
      out->rows[j + (e + 1) * k] = (uint16_t)here;
      any |= here;
      all &= here;
    }
  }
  out->is_cut = any != 0 && (all & mask) != mask;
}

// Cells of a row that the surface cuts.
static unsigned cut_cells(const block_bits *t, int32_t e, int32_t j, int32_t k, unsigned four[4]) {
  unsigned any = 0, all = ~0U;
  for (int c = 0; c < 4; ++c) {
    four[c] = t->rows[j + (c & 1) + (e + 1) * (k + (c >> 1))];
    any |= four[c] | four[c] >> 1;
    all &= four[c] & four[c] >> 1;
  }
  return any & ~all & ((1U << e) - 1);
}

static int case_of(const unsigned four[4], int bit) {
  unsigned sum = 0;
  for (int c = 0; c < 4; ++c) {
    sum |= (four[c] >> bit & 3U) << 2 * c;
  }
  return (int)sum;
}

// ---- counting

static void count_blocks(int64_t begin, int64_t end, void *context) {
  const work *w = context;
  int32_t e = w->b->edge, d = w->b->depth;
  unsigned mask = (1U << e) - 1;
  block_bits t;
  for (int64_t slot = begin; slot < end; ++slot) {
    start n = { 0, 0 };
    uint8_t *cut = w->s->cut + 3 * slot * w->rows;
    uint16_t *before = w->s->before + 3 * slot * w->rows;
    take_bits(w, slot, &t);
    for (int32_t row = 0; t.is_cut && row < w->rows; ++row) {
      int32_t j = row % e, k = row / e;
      unsigned four[4], cells = cut_cells(&t, e, j, k, four);
      cut[row] = (uint8_t)((four[0] ^ four[0] >> 1) & mask);
      cut[w->rows + row] = (uint8_t)((four[0] ^ four[1]) & mask);
      cut[2 * w->rows + row] = (uint8_t)((four[0] ^ four[2]) & mask);
      for (; cells != 0; cells &= cells - 1) {
        n.triangle += w->s->table.n_triangles[case_of(four, __builtin_ctz(cells))];
      }
    }
    for (int32_t row = 0; t.is_cut && row < 3 * w->rows && d > 0; ++row) {
      before[row] = (uint16_t)n.vertex;
      n.vertex += (uint32_t)__builtin_popcount(cut[row]);
    }
    w->s->starts[slot] = n;
  }
}

// Counts become beginnings; the last one is the end.
static kp_result number_blocks(const work *w) {
  int64_t n_vertices = 0, n_triangles = 0;
  for (int64_t slot = 0; slot <= w->b->n_stored; ++slot) {
    start n = w->s->starts[slot];
    w->s->starts[slot] = (start){ (uint32_t)n_vertices, (uint32_t)n_triangles };
    if (slot < w->b->n_stored) {
      n_vertices += n.vertex;
      n_triangles += n.triangle;
    }
  }
  if (n_vertices > UINT32_MAX || n_triangles > UINT32_MAX) {
    return kp_fail(KP_ERROR_ARGUMENT, "a surface of %lld vertices and %lld triangles is too large",
                   (long long)n_vertices, (long long)n_triangles);
  }
  w->out->n_vertices = n_vertices;
  w->out->n_triangles = n_triangles;
  return KP_OK;
}

// ---- vertices

static void set_vertex(const work *w, int64_t block, const int32_t from[3], int axis,
                       int64_t vertex) {
  kp_marching_vertex v;
  kp_marching_block_vertex(w->b, block, w->level, from, axis, &v);
  w->out->vertices[vertex] = v.place;
  memcpy(w->out->normals + 3 * vertex, v.normal, sizeof v.normal);
}

static bool is_without(const work *w, int64_t slot) {
  const start *s = w->s->starts + slot;
  return s[0].vertex == s[1].vertex && s[0].triangle == s[1].triangle;
}

static void make_vertices(int64_t begin, int64_t end, void *context) {
  const work *w = context;
  int32_t e = w->b->edge;
  for (int64_t slot = begin; slot < end; ++slot) {
    const uint8_t *cut = w->s->cut + 3 * slot * w->rows;
    int64_t vertex = w->s->starts[slot].vertex;
    for (int32_t row = 0; row < 3 * w->rows && !is_without(w, slot); ++row) {
      int32_t line = row % w->rows;
      for (unsigned bits = cut[row]; bits != 0; bits &= bits - 1) {
        const int32_t from[3] = { __builtin_ctz(bits), line % e, line / e };
        set_vertex(w, w->b->stored[slot], from, row / w->rows, vertex++);
      }
    }
  }
}

// ---- triangles

// The vertex on an edge along an axis that starts at a sample of the block or of the next ones.
static uint32_t vertex_of(const work *w, const int32_t *around, int axis, int32_t i, int32_t j,
                          int32_t k) {
  const kp_blocks *b = w->b;
  int32_t e = b->edge;
  int near = 13 + (i == e ? 1 : 0) + (j == e ? 3 : 0) + (k == b->depth ? 9 : 0);
  i = i == e ? 0 : i;
  int64_t slot = b->slots[around[near]];
  int64_t row = (3 * slot + axis) * w->rows + (j == e ? 0 : j) + e * (k == b->depth ? 0 : k);
  unsigned earlier = w->s->cut[row] & ((1U << i) - 1);
  return w->s->starts[slot].vertex + w->s->before[row] + (uint32_t)__builtin_popcount(earlier);
}

static uint32_t *make_cell(const work *w, const int32_t *around, const int32_t cell[3], int inside,
                           uint32_t *out) {
  static const uint8_t corner_of[KP_CUBE_EDGES] = { 0, 2, 4, 6, 0, 1, 4, 5, 0, 1, 2, 3 };
  const kp_cube_table *table = &w->s->table;
  for (int n = 0; n < 3 * table->n_triangles[inside]; ++n) {
    int edge = table->edges[inside][n], corner = corner_of[edge];
    *out++ = vertex_of(w, around, edge / 4, cell[0] + (corner & 1), cell[1] + (corner >> 1 & 1),
                       cell[2] + (corner >> 2));
  }
  return out;
}

static void make_triangles(int64_t begin, int64_t end, void *context) {
  const work *w = context;
  int32_t e = w->b->edge;
  block_bits t;
  for (int64_t slot = begin; slot < end; ++slot) {
    if (is_without(w, slot)) {
      continue;
    }
    const int32_t *around = w->b->around[w->b->stored[slot]];
    uint32_t *out = w->out->triangles + 3 * (int64_t)w->s->starts[slot].triangle;
    take_bits(w, slot, &t);
    for (int32_t row = 0; row < w->rows; ++row) {
      unsigned four[4], cells = cut_cells(&t, e, row % e, row / e, four);
      for (; cells != 0; cells &= cells - 1) {
        int bit = __builtin_ctz(cells);
        const int32_t cell[3] = { bit, row % e, row / e };
        out = make_cell(w, around, cell, case_of(four, bit), out);
      }
    }
  }
}

// ---- all of it

static kp_result get_scratch(kp_isosurface *out, const kp_blocks *b, int32_t rows,
                             scratch **result) {
  scratch *s = out->block_scratch;
  if (s == NULL) {
    s = kp_alloc_zero(sizeof *s, KP_MEMORY_MESH);
    if (s == NULL) {
      return KP_ERROR_MEMORY;
    }
    kp_cube_table_make(&s->table);
    out->block_scratch = s;
  }
  s->bits = make_room(s->bits, b->n_stored * rows, sizeof *s->bits);
  s->cut = make_room(s->cut, 3 * b->n_stored * rows, sizeof *s->cut);
  s->before = make_room(s->before, 3 * b->n_stored * rows, sizeof *s->before);
  s->starts = make_room(s->starts, b->n_stored + 1, sizeof *s->starts);
  *result = s;
  bool has_all = s->bits != NULL && s->cut != NULL && s->before != NULL && s->starts != NULL;
  return has_all ? KP_OK : KP_ERROR_MEMORY;
}

void kp_marching_blocks_free(void *block_scratch) {
  scratch *s = block_scratch;
  if (s != NULL) {
    kp_free(s->bits);
    kp_free(s->cut);
    kp_free(s->before);
    kp_free(s->starts);
  }
  kp_free(s);
}

kp_result kp_marching_blocks(const kp_blocks *b, float level, kp_isosurface *out) {
  work w = { .b = b, .level = level, .out = out, .rows = b->edge * b->depth };
  scratch *s;
  out->n_vertices = out->n_triangles = 0;
  if (b->n_stored == 0) {
    return KP_OK;
  }
  KP_TRY(get_scratch(out, b, w.rows, &s));
  w.s = s;
  kp_parallel_for(b->n_stored, BLOCKS_PER_CHUNK, mark_blocks, &w);
  kp_parallel_for(b->n_stored, BLOCKS_PER_CHUNK, count_blocks, &w);
  KP_TRY(number_blocks(&w));
  KP_TRY(kp_isosurface_reserve(out));
  kp_parallel_for(b->n_stored, BLOCKS_PER_CHUNK, make_vertices, &w);
  kp_parallel_for(b->n_stored, BLOCKS_PER_CHUNK, make_triangles, &w);
  return KP_OK;
}
