#include "geom/marching_cubes.h"

#include <string.h>

#include "base/memory.h"
#include "geom/marching_points.h"
#include "par/parallel.h"

#define ROWS_PER_CHUNK 64
// Of one row of samples: where its vertices and the triangles of the cells above it begin.
typedef struct row_start {
  uint32_t vertex[3];  // on edges along x, y, z
  uint32_t triangle;
} row_start;

typedef struct scratch {
  kp_cube_table table;
  uint64_t *bits;  // `words` per row of samples: which lie inside
  row_start *rows;
} scratch;

typedef struct work {
  const kp_lattice *lattice;
  float level;
  const scratch *s;
  kp_isosurface *out;
  int64_t words;  // of a row
} work;

// ---- bits

static int64_t row_index(const work *w, int64_t j, int64_t k) {
  return j + k * w->lattice->n[1];
}

static const uint64_t *row_bits(const work *w, int64_t j, int64_t k) {
  return w->s->bits + row_index(w, j, k) * w->words;
}

// Eight bytes of 0 or 1 to eight bits.
static uint64_t pack_bytes(const uint8_t *bytes) {
  uint64_t eight;
  memcpy(&eight, bytes, sizeof eight);
  return eight * UINT64_C(0x0102040810204080) >> 56;
}

static void mark_rows(int64_t begin, int64_t end, void *context) {
  const work *w = context;
  const kp_lattice *l = w->lattice;
  const float level = w->level;
  for (int64_t row = begin; row < end; ++row) {
    const float *values = l->values + row % l->n[1] * l->row + row / l->n[1] * l->slab;
    uint64_t *bits = w->s->bits + row * w->words;
    for (int64_t word = 0; word < w->words; ++word) {
      uint8_t inside[64] = { 0 };
      int64_t first = 64 * word;
      int64_t n = l->n[0] - first < 64 ? l->n[0] - first : 64;
      for (int64_t i = 0; i < n; ++i) {
        inside[i] = values[first + i] < level;
      }
      uint64_t sum = 0;
      for (int part = 0; part < 8; ++part) {
        sum |= pack_bytes(inside + 8 * part) << 8 * part;
      }
      bits[word] = sum;
    }
  }
}

// Bits of the samples one further along x.
static uint64_t next_bits(const uint64_t *bits, int64_t word, int64_t words) {
  uint64_t beyond = word + 1 < words ? bits[word + 1] : 0;
  return bits[word] >> 1 | beyond << 63;
}

// Which of the 64 cells of a word exist.
static uint64_t cell_mask(const work *w, int64_t word) {
  int64_t left = w->lattice->n[0] - 1 - 64 * word;
  return left >= 64 ? ~UINT64_C(0) : left > 0 ? (UINT64_C(1) << left) - 1 : 0;
}

// Cut edges along an axis that start in row (j, k).
static uint64_t cut_edges(const work *w, int axis, int64_t j, int64_t k, int64_t word) {
  const uint64_t *here = row_bits(w, j, k);
  if (axis == 0) {
    return (here[word] ^ next_bits(here, word, w->words)) & cell_mask(w, word);
  }
  const kp_lattice *l = w->lattice;
  bool is_last = axis == 1 ? j + 1 >= l->n[1] : k + 1 >= l->n[2];
  return is_last ? 0 : here[word] ^ row_bits(w, j + (axis == 1), k + (axis == 2))[word];
}

// The four rows of samples around a row of cells, and their bits in one word.
typedef struct cell_row {
  const uint64_t *bits[4];  // (j, k), (j + 1, k), (j, k + 1), (j + 1, k + 1)
  uint64_t low[4], high[4];
} cell_row;

static cell_row take_cell_row(const work *w, int64_t j, int64_t k) {
  cell_row r;
  for (int c = 0; c < 4; ++c) {
    r.bits[c] = row_bits(w, j + (c & 1), k + (c >> 1));
  }
  return r;
}

// Cells of a word that the surface cuts; zero for most.
static uint64_t cut_cells(const work *w, cell_row *r, int64_t word) {
  uint64_t any = 0, all = ~UINT64_C(0);
  for (int c = 0; c < 4; ++c) {
    r->low[c] = r->bits[c][word];
    r->high[c] = next_bits(r->bits[c], word, w->words);
    any |= r->low[c] | r->high[c];
    all &= r->low[c] & r->high[c];
  }
  return any & ~all & cell_mask(w, word);
}

static int case_of(const cell_row *r, int bit) {
  int sum = 0;
  for (int c = 0; c < 4; ++c) {
    sum |= (int)(r->low[c] >> bit & 1) << 2 * c | (int)(r->high[c] >> bit & 1) << (2 * c + 1);
  }
  return sum;
}

// ---- counting

static uint32_t count_triangles(const work *w, int64_t j, int64_t k) {
  uint32_t n = 0;
  if (j + 1 >= w->lattice->n[1] || k + 1 >= w->lattice->n[2]) {
    return 0;
  }
  cell_row r = take_cell_row(w, j, k);
  for (int64_t word = 0; word < w->words; ++word) {
    uint64_t cut = cut_cells(w, &r, word);
    for (; cut != 0; cut &= cut - 1) {
      n += w->s->table.n_triangles[case_of(&r, __builtin_ctzll(cut))];
    }
  }
  return n;
}

static void count_rows(int64_t begin, int64_t end, void *context) {
  const work *w = context;
  for (int64_t row = begin; row < end; ++row) {
    int64_t j = row % w->lattice->n[1], k = row / w->lattice->n[1];
    row_start counts = { .triangle = count_triangles(w, j, k) };
    for (int axis = 0; axis < 3; ++axis) {
      for (int64_t word = 0; word < w->words; ++word) {
        counts.vertex[axis] += (uint32_t)__builtin_popcountll(cut_edges(w, axis, j, k, word));
      }
    }
    w->s->rows[row] = counts;
  }
}

// Counts become beginnings.
static kp_result number_rows(const work *w, int64_t n_rows) {
  int64_t n_vertices = 0, n_triangles = 0;
  for (int64_t row = 0; row < n_rows; ++row) {
    row_start *r = &w->s->rows[row];
    for (int axis = 0; axis < 3; ++axis) {
      uint32_t n = r->vertex[axis];
      r->vertex[axis] = (uint32_t)n_vertices;
      n_vertices += n;
    }
    uint32_t n = r->triangle;
    r->triangle = (uint32_t)n_triangles;
    n_triangles += n;
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

static void set_vertex(const work *w, const int32_t from[3], int axis, int64_t vertex) {
  kp_marching_vertex v;
  kp_marching_lattice_vertex(w->lattice, w->level, from, axis, &v);
  w->out->vertices[vertex] = v.place;
  memcpy(w->out->normals + 3 * vertex, v.normal, sizeof v.normal);
}

static void make_vertices(int64_t begin, int64_t end, void *context) {
  const work *w = context;
  for (int64_t row = begin; row < end; ++row) {
    int32_t j = (int32_t)(row % w->lattice->n[1]), k = (int32_t)(row / w->lattice->n[1]);
    for (int axis = 0; axis < 3; ++axis) {
      int64_t vertex = w->s->rows[row].vertex[axis];
      for (int64_t word = 0; word < w->words; ++word) {
        uint64_t cut = cut_edges(w, axis, j, k, word);
        for (; cut != 0; cut &= cut - 1) {
          const int32_t from[3] = { (int32_t)(64 * word) + __builtin_ctzll(cut), j, k };
          set_vertex(w, from, axis, vertex++);
        }
      }
    }
  }
}

// ---- triangles

// Edges along x of four rows, along y and z of two each: 8 rows of cut edges that a row of cells
// sees, each with the number of its first vertex in the word.
typedef struct edge_row {
  uint64_t cut;
  uint32_t first;
} edge_row;

static void take_edge_rows(const work *w, int64_t j, int64_t k, int64_t word, edge_row rows[8]) {
  static const uint8_t axes[8] = { 0, 0, 0, 0, 1, 1, 2, 2 };
  static const uint8_t up[8] = { 0, 1, 2, 3, 0, 2, 0, 1 };  // bit 0: j + 1, bit 1: k + 1
  for (int r = 0; r < 8; ++r) {
    int64_t jj = j + (up[r] & 1), kk = k + (up[r] >> 1);
    // all that was cut in the word before comes first
    rows[r].first = word == 0 ? w->s->rows[row_index(w, jj, kk)].vertex[axes[r]]
                              : rows[r].first + (uint32_t)__builtin_popcountll(rows[r].cut);
    rows[r].cut = cut_edges(w, axes[r], jj, kk, word);
  }
}

// The vertex on an edge of the cell at `bit`. Edges 4, 6, 8, 10 start at the cell's own samples,
// 5, 7, 9, 11 at the next ones.
static uint32_t vertex_of(const edge_row rows[8], int edge, int bit) {
  static const uint8_t row_of[KP_CUBE_EDGES] = { 0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 7, 7 };
  const edge_row *row = &rows[row_of[edge]];
  uint64_t before = (UINT64_C(1) << bit) - 1;
  if (edge >= 4 && (edge & 1) != 0) {
    before = before << 1 | 1;
  }
  return row->first + (uint32_t)__builtin_popcountll(row->cut & before);
}

static void make_triangles(int64_t begin, int64_t end, void *context) {
  const work *w = context;
  const kp_cube_table *table = &w->s->table;
  for (int64_t row = begin; row < end; ++row) {
    int64_t j = row % w->lattice->n[1], k = row / w->lattice->n[1];
    if (j + 1 >= w->lattice->n[1] || k + 1 >= w->lattice->n[2]) {
      continue;
    }
    cell_row r = take_cell_row(w, j, k);
    edge_row edges[8];
    uint32_t *out = w->out->triangles + 3 * (int64_t)w->s->rows[row].triangle;
    for (int64_t word = 0; word < w->words; ++word) {
      take_edge_rows(w, j, k, word, edges);
      uint64_t cut = cut_cells(w, &r, word);
      for (; cut != 0; cut &= cut - 1) {
        int bit = __builtin_ctzll(cut), inside = case_of(&r, bit);
        for (int e = 0; e < 3 * table->n_triangles[inside]; ++e) {
          *out++ = vertex_of(edges, table->edges[inside][e], bit);
        }
      }
    }
  }
}

// ---- all of it

// A block of at least count items; what it held is gone when it had to grow. NULL without memory.
static void *make_room(void *block, int64_t count, size_t size) {
  size_t bytes = (size_t)(count > 0 ? count : 1) * size;
  if (block != NULL && kp_alloc_size(block) >= bytes) {
    return block;
  }
  kp_free(block);
  return kp_alloc(bytes + bytes / 4, KP_MEMORY_MESH);
}

static kp_result get_scratch(kp_isosurface *out, int64_t n_rows, int64_t words, scratch **result) {
  scratch *s = out->scratch;
  if (s == NULL) {
    s = kp_alloc_zero(sizeof *s, KP_MEMORY_MESH);
    if (s == NULL) {
      return KP_ERROR_MEMORY;
    }
    kp_cube_table_make(&s->table);
    out->scratch = s;
  }
  s->bits = make_room(s->bits, n_rows * words, sizeof *s->bits);
  s->rows = make_room(s->rows, n_rows, sizeof *s->rows);
  *result = s;
  return s->bits != NULL && s->rows != NULL ? KP_OK : KP_ERROR_MEMORY;
}

kp_result kp_isosurface_reserve(kp_isosurface *out) {
  out->vertices = make_room(out->vertices, out->n_vertices, sizeof *out->vertices);
  out->normals = make_room(out->normals, out->n_vertices, 3 * sizeof *out->normals);
  out->triangles = make_room(out->triangles, out->n_triangles, 3 * sizeof *out->triangles);
  bool has_all = out->vertices != NULL && out->normals != NULL && out->triangles != NULL;
  return has_all ? KP_OK : KP_ERROR_MEMORY;
}

kp_result kp_marching_cubes(const kp_lattice *lattice, float level, kp_isosurface *out) {
  const int32_t *n = lattice->n;
  out->n_vertices = out->n_triangles = 0;
  if (n[0] < 1 || n[1] < 1 || n[2] < 1) {
    return KP_OK;
  }
  int64_t n_rows = (int64_t)n[1] * n[2];
  work w = { .lattice = lattice, .level = level, .out = out, .words = (n[0] + 63) / 64 };
  scratch *s;
  KP_TRY(get_scratch(out, n_rows, w.words, &s));
  w.s = s;
  kp_parallel_for(n_rows, ROWS_PER_CHUNK, mark_rows, &w);
  kp_parallel_for(n_rows, ROWS_PER_CHUNK, count_rows, &w);
  KP_TRY(number_rows(&w, n_rows));
  KP_TRY(kp_isosurface_reserve(out));
  kp_parallel_for(n_rows, ROWS_PER_CHUNK, make_vertices, &w);
  kp_parallel_for(n_rows, ROWS_PER_CHUNK, make_triangles, &w);
  return KP_OK;
}

void kp_isosurface_free(kp_isosurface *surface) {
  scratch *s = surface->scratch;
  if (s != NULL) {
    kp_free(s->bits);
    kp_free(s->rows);
  }
  kp_free(s);
  kp_marching_blocks_free(surface->block_scratch);
  kp_free(surface->vertices);
  kp_free(surface->normals);
  kp_free(surface->triangles);
  *surface = (kp_isosurface){ 0 };
}
