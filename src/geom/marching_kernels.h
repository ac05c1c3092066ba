// Kernels of marching cubes over blocks and over lattices: which samples lie inside, which edges
// are cut, vertices and triangles. Counts of rows are scanned in the order in which the loops of
// marching_blocks.c and marching_cubes.c number, so the meshes are the same.
#pragma once

#include "geom/marching_points.h"
#include "par/kernel.h"

#define MARCHING_TOTAL_OPS KP_REDUCE_SUM, KP_REDUCE_SUM

#define MARCHING_KERNELS(POINT, REDUCE, ROW, PAIR)                                                 \
  POINT(marching, block_bits)                                                                      \
  POINT(marching, block_cuts)                                                                      \
  POINT(marching, block_vertices)                                                                  \
  POINT(marching, block_triangles)                                                                 \
  POINT(marching, bits)                                                                            \
  POINT(marching, cuts)                                                                            \
  POINT(marching, vertices)                                                                        \
  POINT(marching, triangles)                                                                       \
  REDUCE(marching, totals, MARCHING_TOTAL_OPS)

// Edges and triangles of all rows, or words of rows.
typedef struct marching_totals_args {
  const uint32_t *edges, *triangles;
} marching_totals_args;

KP_FN void marching_totals(int64_t i, const marching_totals_args *a, double *v) {
  v[0] = (double)a->edges[3 * i] + (double)a->edges[3 * i + 1] + (double)a->edges[3 * i + 2];
  v[1] = (double)a->triangles[i];
}

// Cells of a row that the surface cuts, from the bits of four rows of samples, one sample longer.
KP_FN uint32_t marching_cells(const uint64_t four[4], uint32_t mask) {
  uint64_t any = 0, all = ~(uint64_t)0;
  for (int c = 0; c < 4; ++c) {
    any |= four[c] | four[c] >> 1;
    all &= four[c] & four[c] >> 1;
  }
  return (uint32_t)(any & ~all) & mask;
}

KP_FN int marching_case(const uint64_t four[4], int bit) {
  uint32_t sum = 0;
  for (int c = 0; c < 4; ++c) {
    sum |= ((uint32_t)(four[c] >> bit) & 3u) << 2 * c;
  }
  return (int)sum;
}

KP_FN uint32_t marching_count_triangles(const kp_cube_table *table, const uint64_t four[4],
                                        uint32_t mask) {
  uint32_t n = 0;
  for (uint32_t cells = marching_cells(four, mask); cells != 0; cells &= cells - 1) {
    n += table->n_triangles[marching_case(four, kp_marching_lowest(cells))];
  }
  return n;
}

// The corner from which an edge of a cell starts.
KP_FN int marching_corner(int edge) {
  int n = edge & 3;
  return edge < 4 ? 2 * n : edge < 8 ? (n & 1) + 2 * (n & 2) : n;
}

KP_FN void marching_put(kp_vec3 *vertices, float *normals, int64_t at,
                        const kp_marching_vertex *v) {
  vertices[at] = v->place;
  for (int c = 0; c < 3; ++c) {
    normals[3 * at + c] = v->normal[c];
  }
}

// ---- blocks: a byte for each row

// What cuts a surface out of blocks; `edges` are counts of cut edges, then their beginnings: of the
// rows of a block those along x, then y, then z.
typedef struct marching_block_set {
  kp_blocks b;
  const kp_cube_table *table;
  float level;
  int32_t rows;  // of a block
} marching_block_set;

// Of all four kernels. The arrays of rows come in the order of marching_lattice_args, so that one
// launch serves both; `starts` are counts of triangles, then their beginnings.
typedef struct marching_block_args {
  marching_block_set set;
  uint8_t *bits, *cut;
  uint32_t *edges, *starts;
  kp_vec3 *vertices;
  float *normals;
  uint32_t *triangles;
} marching_block_args;

typedef marching_block_args marching_block_bits_args;
typedef marching_block_args marching_block_cuts_args;
typedef marching_block_args marching_block_vertices_args;
typedef marching_block_args marching_block_triangles_args;

KP_FN void marching_block_bits(int64_t i, const marching_block_bits_args *a) {
  int32_t e = a->set.b.edge;
  const float *values = a->set.b.values + i * e;
  uint32_t sum = 0;
  for (int32_t n = 0; n < e; ++n) {
    sum |= (values[n] < a->set.level ? 1u : 0u) << n;
  }
  a->bits[i] = (uint8_t)sum;
}

// Row (j, k) of the block `near` of those around, or what it has without samples.
KP_FN uint32_t marching_bits_of(const marching_block_set *s, const uint8_t *bits, int64_t block,
                                int near, int32_t row) {
  int32_t at = s->b.around[block][near], slot = at < 0 ? KP_BLOCK_OUTSIDE : s->b.slots[at];
  if (slot < 0) {
    return slot == KP_BLOCK_INSIDE ? 0xffu : 0u;
  }
  return bits[(int64_t)slot * s->rows + row];
}

// Bits of row (j, k), (j + 1, k), (j, k + 1), (j + 1, k + 1), one sample longer than the block.
KP_FN void marching_take_rows(const marching_block_set *s, const uint8_t *bits, int64_t i,
                              uint64_t four[4]) {
  int32_t e = s->b.edge, d = s->b.depth;
  int64_t slot = i / s->rows, block = s->b.stored[slot];
  int32_t row = (int32_t)(i - slot * s->rows), j = row % e, k = row / e;
  for (int c = 0; c < 4; ++c) {
    int32_t jj = j + (c & 1), kk = k + (c >> 1);
    int near = 13 + (jj == e ? 3 : 0) + (kk == d ? 9 : 0);
    int32_t at = (jj == e ? 0 : jj) + e * (kk == d ? 0 : kk);
    uint32_t low = marching_bits_of(s, bits, block, near, at) & ((1u << e) - 1);
    uint32_t high = marching_bits_of(s, bits, block, near + 1, at) & 1u;
    four[c] = low | high << e;
  }
}

KP_FN void marching_block_cuts(int64_t i, const marching_block_cuts_args *a) {
  const marching_block_set *s = &a->set;
  uint64_t four[4];
  marching_take_rows(s, a->bits, i, four);
  uint32_t mask = (1u << s->b.edge) - 1;
  int64_t slot = i / s->rows, row = i - slot * s->rows;
  const uint32_t cut[3] = { (uint32_t)(four[0] ^ four[0] >> 1) & mask,
                            (uint32_t)(four[0] ^ four[1]) & mask,
                            (uint32_t)(four[0] ^ four[2]) & mask };
  for (int axis = 0; axis < 3; ++axis) {
    int64_t at = (3 * slot + axis) * s->rows + row;
    a->cut[at] = (uint8_t)cut[axis];
    a->edges[at] = (uint32_t)kp_marching_count(cut[axis]);
  }
  a->starts[i] = marching_count_triangles(s->table, four, mask);
}

KP_FN void marching_block_vertices(int64_t i, const marching_block_vertices_args *a) {
  const marching_block_set *s = &a->set;
  int64_t slot = i / (3 * s->rows), vertex = a->edges[i];
  int32_t line = (int32_t)(i - 3 * slot * s->rows), axis = line / s->rows;
  line -= axis * s->rows;
  for (uint32_t bits = a->cut[i]; bits != 0; bits &= bits - 1) {
    int32_t from[3] = { kp_marching_lowest(bits), line % s->b.edge, line / s->b.edge };
    kp_marching_vertex v;
    kp_marching_block_vertex(&s->b, s->b.stored[slot], s->level, from, axis, &v);
    marching_put(a->vertices, a->normals, vertex++, &v);
  }
}

// The vertex on an edge along an axis that starts at a sample of the block or of the next ones.
KP_FN uint32_t marching_block_vertex_of(const marching_block_triangles_args *a, int64_t block,
                                        int axis, const int32_t at[3]) {
  const kp_blocks *b = &a->set.b;
  int32_t e = b->edge;
  int near = 13 + (at[0] == e ? 1 : 0) + (at[1] == e ? 3 : 0) + (at[2] == b->depth ? 9 : 0);
  int32_t i = at[0] == e ? 0 : at[0];
  int64_t slot = b->slots[b->around[block][near]];
  int64_t row = (at[1] == e ? 0 : at[1]) + e * (at[2] == b->depth ? 0 : at[2]);
  row += (3 * slot + axis) * a->set.rows;
  return a->edges[row] + (uint32_t)kp_marching_count(a->cut[row] & ((1u << i) - 1));
}

KP_FN void marching_block_triangles(int64_t i, const marching_block_triangles_args *a) {
  const marching_block_set *s = &a->set;
  if (a->starts[i] == a->starts[i + 1]) {
    return;
  }
  uint64_t four[4];
  marching_take_rows(s, a->bits, i, four);
  int64_t slot = i / s->rows, block = s->b.stored[slot];
  int32_t row = (int32_t)(i - slot * s->rows), e = s->b.edge;
  uint32_t *out = a->triangles + 3 * (int64_t)a->starts[i];
  for (uint32_t cells = marching_cells(four, (1u << e) - 1); cells != 0; cells &= cells - 1) {
    int bit = kp_marching_lowest(cells), inside = marching_case(four, bit);
    for (int n = 0; n < 3 * s->table->n_triangles[inside]; ++n) {
      int edge = s->table->edges[inside][n], corner = marching_corner(edge);
      int32_t at[3] = { bit + (corner & 1), row % e + (corner >> 1 & 1), row / e + (corner >> 2) };
      *out++ = marching_block_vertex_of(a, block, edge / 4, at);
    }
  }
}

// ---- lattices: words of 32 samples

typedef struct marching_lattice {
  kp_lattice l;
  const kp_cube_table *table;
  float level;
  int32_t words;  // of a row
} marching_lattice;

typedef struct marching_lattice_args {
  marching_lattice set;
  uint32_t *bits, *cut;
  uint32_t *edges, *starts;
  kp_vec3 *vertices;
  float *normals;
  uint32_t *triangles;
} marching_lattice_args;

typedef marching_lattice_args marching_bits_args;
typedef marching_lattice_args marching_cuts_args;
typedef marching_lattice_args marching_vertices_args;
typedef marching_lattice_args marching_triangles_args;

// Word `word` of row (j, k).
typedef struct marching_word {
  int32_t j, k, word;
} marching_word;

KP_FN marching_word marching_word_of(const marching_lattice *s, int64_t i) {
  int64_t row = i / s->words;
  marching_word w;
  w.word = (int32_t)(i - row * s->words);
  w.k = (int32_t)(row / s->l.n[1]);
  w.j = (int32_t)(row - (int64_t)w.k * s->l.n[1]);
  return w;
}

KP_FN void marching_bits(int64_t i, const marching_bits_args *a) {
  const kp_lattice *l = &a->set.l;
  marching_word w = marching_word_of(&a->set, i);
  const float *values = l->values + w.j * l->row + w.k * l->slab + 32 * w.word;
  int32_t n = l->n[0] - 32 * w.word < 32 ? l->n[0] - 32 * w.word : 32;
  uint32_t sum = 0;
  for (int32_t k = 0; k < n; ++k) {
    sum |= (values[k] < a->set.level ? 1u : 0u) << k;
  }
  a->bits[i] = sum;
}

// The cells of a word that exist.
KP_FN uint32_t marching_mask(const marching_lattice *s, int32_t word) {
  int32_t left = s->l.n[0] - 1 - 32 * word;
  return left >= 32 ? 0xffffffffu : left > 0 ? (1u << left) - 1 : 0u;
}

// A word of a row and the first sample of the next.
KP_FN uint64_t marching_row_bits(const marching_lattice *s, const uint32_t *bits, int32_t j,
                                 int32_t k, int32_t word) {
  const uint32_t *row = bits + (j + (int64_t)k * s->l.n[1]) * s->words + word;
  uint64_t next = word + 1 < s->words ? row[1] & 1u : 0u;
  return row[0] | next << 32;
}

KP_FN void marching_cuts(int64_t i, const marching_cuts_args *a) {
  const marching_lattice *s = &a->set;
  marching_word w = marching_word_of(s, i);
  bool has_j = w.j + 1 < s->l.n[1], has_k = w.k + 1 < s->l.n[2];
  uint32_t mask = marching_mask(s, w.word);
  uint64_t four[4];
  for (int c = 0; c < 4; ++c) {
    int32_t j = w.j + (has_j ? c & 1 : 0), k = w.k + (has_k ? c >> 1 : 0);
    four[c] = marching_row_bits(s, a->bits, j, k, w.word);
  }
  // along y and z also those of the last sample of a row
  const uint32_t cut[3] = { (uint32_t)(four[0] ^ four[0] >> 1) & mask,
                            has_j ? (uint32_t)four[0] ^ (uint32_t)four[1] : 0u,
                            has_k ? (uint32_t)four[0] ^ (uint32_t)four[2] : 0u };
  int64_t row = i / s->words;
  for (int axis = 0; axis < 3; ++axis) {
    int64_t at = (3 * row + axis) * s->words + w.word;
    a->cut[at] = cut[axis];
    a->edges[at] = (uint32_t)kp_marching_count(cut[axis]);
  }
  a->starts[i] = has_j && has_k ? marching_count_triangles(s->table, four, mask) : 0u;
}

KP_FN void marching_vertices(int64_t i, const marching_vertices_args *a) {
  const marching_lattice *s = &a->set;
  int64_t row = i / (3 * s->words), vertex = a->edges[i];
  int32_t rest = (int32_t)(i - 3 * row * s->words), axis = rest / s->words;
  int32_t word = rest - axis * s->words;
  for (uint32_t bits = a->cut[i]; bits != 0; bits &= bits - 1) {
    int32_t from[3] = { 32 * word + kp_marching_lowest(bits), (int32_t)(row % s->l.n[1]),
                        (int32_t)(row / s->l.n[1]) };
    kp_marching_vertex v;
    kp_marching_lattice_vertex(&s->l, s->level, from, axis, &v);
    marching_put(a->vertices, a->normals, vertex++, &v);
  }
}

KP_FN void marching_triangles(int64_t i, const marching_triangles_args *a) {
  const marching_lattice *s = &a->set;
  if (a->starts[i] == a->starts[i + 1]) {
    return;
  }
  marching_word w = marching_word_of(s, i);
  uint64_t four[4];
  for (int c = 0; c < 4; ++c) {
    four[c] = marching_row_bits(s, a->bits, w.j + (c & 1), w.k + (c >> 1), w.word);
  }
  uint32_t *out = a->triangles + 3 * (int64_t)a->starts[i];
  uint32_t cells = marching_cells(four, marching_mask(s, w.word));
  for (; cells != 0; cells &= cells - 1) {
    int bit = kp_marching_lowest(cells), inside = marching_case(four, bit);
    for (int n = 0; n < 3 * s->table->n_triangles[inside]; ++n) {
      int edge = s->table->edges[inside][n], corner = marching_corner(edge);
      int64_t x = 32 * (int64_t)w.word + bit + (corner & 1);
      int64_t row = w.j + (corner >> 1 & 1) + (int64_t)(w.k + (corner >> 2)) * s->l.n[1];
      int64_t at = (3 * row + edge / 4) * s->words + x / 32;
      uint32_t before = a->cut[at] & ((1u << (x & 31)) - 1);
      *out++ = a->edges[at] + (uint32_t)kp_marching_count(before);
    }
  }
}
