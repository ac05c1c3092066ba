#include "geom/marching_squares.h"

#include "base/memory.h"

#define NEAREST (1.0f / 1024.0f)  // as in marching_cubes.c

// Corners run (0, 0), (1, 0), (1, 1), (0, 1); edge e joins corner e and the next one. Around each
// group of inside corners a piece goes from the edge where a walk along the corners leaves the
// group back to the one where it came to it.
typedef struct square_case {
  int n;
  int edges[2][2];
} square_case;

static square_case cut_square(int inside) {
  square_case c = { 0 };
  for (int first = 0; first < 4; ++first) {
    bool begins = (inside >> first & 1) != 0 && (inside >> ((first + 3) % 4) & 1) == 0;
    if (begins) {
      int last = first;
      while ((inside >> ((last + 1) % 4) & 1) != 0) {
        last = (last + 1) % 4;
      }
      c.edges[c.n][0] = last;               // leaves over edge last..last + 1
      c.edges[c.n++][1] = (first + 3) % 4;  // came over edge first - 1..first
    }
  }
  return c;
}

static void *make_room(void *block, int64_t count, size_t size) {
  size_t bytes = (size_t)(count > 0 ? count : 1) * size;
  if (block != NULL && kp_alloc_size(block) >= bytes) {
    return block;
  }
  kp_free(block);
  return kp_alloc(bytes + bytes / 4, KP_MEMORY_MESH);
}

typedef struct layer {
  const kp_lattice *l;
  const float *values;
  float level;
  int32_t k;
} layer;

static bool is_inside(const layer *p, int32_t i, int32_t j) {
  return p->values[i + j * p->l->row] < p->level;
}

static kp_vec3 vertex_at(const layer *p, int32_t i, int32_t j, int axis) {
  float a = p->values[i + j * p->l->row] - p->level;
  float b = p->values[i + (axis == 0) + (j + (axis == 1)) * p->l->row] - p->level;
  float t = a / (a - b);
  t = t > NEAREST ? t : NEAREST;
  t = t < 1.0f - NEAREST ? t : 1.0f - NEAREST;
  kp_vec3 at =
      kp_vec3_make(i + (axis == 0 ? (double)t : 0.0), j + (axis == 1 ? (double)t : 0.0), p->k);
  return kp_vec3_madd(p->l->origin, p->l->spacing, at);
}

// Numbers the vertices, and places them when `out` has room.
static int64_t number_vertices(const layer *p, kp_isolines *out, bool is_placing) {
  int32_t nx = p->l->n[0], ny = p->l->n[1];
  int64_t n = 0;
  for (int32_t j = 0; j < ny; ++j) {
    for (int32_t i = 0; i < nx; ++i) {
      bool here = is_inside(p, i, j);
      for (int axis = 0; axis < 2; ++axis) {
        int32_t x = i + (axis == 0), y = j + (axis == 1);
        if (x < nx && y < ny && here != is_inside(p, x, y)) {
          out->numbers[2 * (i + (int64_t)j * nx) + axis] = (uint32_t)n;
          if (is_placing) {
            out->vertices[n] = vertex_at(p, i, j, axis);
          }
          ++n;
        }
      }
    }
  }
  return n;
}

static uint32_t vertex_of(const kp_isolines *out, int32_t nx, int32_t i, int32_t j, int edge) {
  int32_t x = i + (edge == 1), y = j + (edge == 2);
  return out->numbers[2 * (x + (int64_t)y * nx) + (edge & 1)];
}

static int64_t number_pieces(const layer *p, kp_isolines *out, bool is_placing) {
  int32_t nx = p->l->n[0], ny = p->l->n[1];
  int64_t n = 0;
  for (int32_t j = 0; j + 1 < ny; ++j) {
    for (int32_t i = 0; i + 1 < nx; ++i) {
      int inside = (is_inside(p, i, j) ? 1 : 0) | (is_inside(p, i + 1, j) ? 2 : 0) |
                   (is_inside(p, i + 1, j + 1) ? 4 : 0) | (is_inside(p, i, j + 1) ? 8 : 0);
      square_case c = inside == 0 || inside == 15 ? (square_case){ 0 } : cut_square(inside);
      for (int piece = 0; piece < c.n; ++piece, ++n) {
        for (int tip = 0; tip < 2 && is_placing; ++tip) {
          out->pieces[2 * n + tip] = vertex_of(out, nx, i, j, c.edges[piece][tip]);
        }
      }
    }
  }
  return n;
}

kp_result kp_marching_squares(const kp_lattice *lattice, int32_t k, float level, kp_isolines *out) {
  out->n_vertices = out->n_pieces = 0;
  if (lattice->n[0] < 1 || lattice->n[1] < 1) {
    return KP_OK;
  }
  layer p = { lattice, lattice->values + k * lattice->slab, level, k };
  int64_t n_samples = (int64_t)lattice->n[0] * lattice->n[1];
  out->numbers = make_room(out->numbers, 2 * n_samples, sizeof *out->numbers);
  if (out->numbers == NULL) {
    return KP_ERROR_MEMORY;
  }
  int64_t n_vertices = number_vertices(&p, out, false);
  int64_t n_pieces = number_pieces(&p, out, false);
  if (n_vertices > UINT32_MAX) {
    return kp_fail(KP_ERROR_ARGUMENT, "lines of %lld vertices are too long", (long long)n_vertices);
  }
  out->vertices = make_room(out->vertices, n_vertices, sizeof *out->vertices);
  out->pieces = make_room(out->pieces, 2 * n_pieces, sizeof *out->pieces);
  if (out->vertices == NULL || out->pieces == NULL) {
    return KP_ERROR_MEMORY;
  }
  out->n_vertices = number_vertices(&p, out, true);
  out->n_pieces = number_pieces(&p, out, true);
  return KP_OK;
}

double kp_isolines_area(const kp_isolines *lines) {
  double sum = 0.0;
  for (int64_t i = 0; i < lines->n_pieces; ++i) {
    kp_vec3 a = lines->vertices[lines->pieces[2 * i]];
    kp_vec3 b = lines->vertices[lines->pieces[2 * i + 1]];
    sum += 0.5 * (a.x * b.y - b.x * a.y);
  }
  return sum;
}

void kp_isolines_free(kp_isolines *lines) {
  kp_free(lines->vertices);
  kp_free(lines->pieces);
  kp_free(lines->numbers);
  *lines = (kp_isolines){ 0 };
}
