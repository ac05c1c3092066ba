// Kernels of the smoothing of meshes: vertices sorted by cell for means within a radius, sides of
// triangles sorted by vertex for steps along edges. Sorting keeps the order of equals, so sums run
// over the same numbers in the same order as those of mesh_smooth.c.
#pragma once

#include "geom/mesh_smooth_points.h"
#include "par/kernel.h"

#define MESH_SMOOTH_MIN_OPS KP_REDUCE_MIN

#define MESH_SMOOTH_KERNELS(POINT, REDUCE, ROW, PAIR)                                              \
  POINT(mesh_smooth, cells)                                                                        \
  REDUCE(mesh_smooth, reaches, MESH_SMOOTH_MIN_OPS)                                                \
  POINT(mesh_smooth, means)                                                                        \
  POINT(mesh_smooth, sides)                                                                        \
  POINT(mesh_smooth, first)                                                                        \
  POINT(mesh_smooth, steps)                                                                        \
  POINT(mesh_smooth, normals)

// ---- means within a radius

typedef struct mesh_smooth_cells_args {
  const kp_vec3 *vertices;
  double scale;  // cells per metre
  uint64_t *keys;
  uint32_t *order;
} mesh_smooth_cells_args;

// The key of the cell of a place; UINT64_MAX: too far away.
KP_FN uint64_t mesh_smooth_key(kp_vec3 p, double scale) {
  double x = floor(p.x * scale), y = floor(p.y * scale), z = floor(p.z * scale), reach;
  reach = (double)KP_SMOOTH_REACH;
  bool is_near =
      x >= -reach && x <= reach && y >= -reach && y <= reach && z >= -reach && z <= reach;
  return is_near ? kp_block_key((int64_t)x, (int64_t)y, (int64_t)z) : UINT64_MAX;
}

KP_FN void mesh_smooth_cells(int64_t i, const mesh_smooth_cells_args *a) {
  a->keys[i] = mesh_smooth_key(a->vertices[i], a->scale);
  a->order[i] = (uint32_t)i;
}

typedef struct mesh_smooth_reaches_args {
  const uint64_t *keys;
} mesh_smooth_reaches_args;

// 0 where a vertex has no cell.
KP_FN void mesh_smooth_reaches(int64_t i, const mesh_smooth_reaches_args *a, double *v) {
  v[0] = a->keys[i] == UINT64_MAX ? 0.0 : 1.0;
}

typedef struct mesh_smooth_means_args {
  kp_mesh_smoother_def how;
  double scale;
  int64_t n;
  const uint64_t *keys;  // of sorted vertices
  const uint32_t *order;
  const kp_vec3 *vertices;
  const float *normals;
  kp_vec3 *moved;
  float *new_normals;
} mesh_smooth_means_args;

// Cells that follow one another along x have keys that follow one another: nine runs of vertices.
KP_FN void mesh_smooth_means(int64_t i, const mesh_smooth_means_args *a) {
  kp_vec3 p = a->vertices[i];
  uint64_t key = mesh_smooth_key(p, a->scale);
  double square = a->how.radius * a->how.radius;
  kp_smooth_sum sum = { { 0.0, 0.0, 0.0 }, { 0.0, 0.0, 0.0 }, 0.0 };
  for (int row = 0; row < 9; ++row) {
    uint64_t first = key + (uint64_t)(row / 3) * KP_BLOCK_STEP_Z - KP_BLOCK_STEP_Z +
                     (uint64_t)(row % 3) * KP_BLOCK_STEP_Y - KP_BLOCK_STEP_Y - 1;
    for (int64_t k = kp_blocks_lower(a->keys, a->n, first); k < a->n && a->keys[k] <= first + 2;
         ++k) {
      uint32_t j = a->order[k];
      kp_smooth_add(&sum, square, p, a->vertices[j], &a->normals[3 * (int64_t)j]);
    }
  }
  a->moved[i] = kp_smooth_mean(&a->how, &sum, p, &a->normals[3 * i], &a->new_normals[3 * i]);
}

// ---- steps along edges

typedef struct mesh_smooth_sides_args {
  const uint32_t *triangles;
  uint64_t *keys;
  uint32_t *order;
} mesh_smooth_sides_args;

KP_FN void mesh_smooth_sides(int64_t i, const mesh_smooth_sides_args *a) {
  a->keys[i] = a->triangles[i];
  a->order[i] = (uint32_t)i;
}

typedef struct mesh_smooth_first_args {
  const uint64_t *keys;  // of sorted sides
  int64_t n_sides;
  uint32_t *first;
} mesh_smooth_first_args;

// Where the sides of each vertex begin, and at [n] where the last ones end.
KP_FN void mesh_smooth_first(int64_t i, const mesh_smooth_first_args *a) {
  a->first[i] = (uint32_t)kp_blocks_lower(a->keys, a->n_sides, (uint64_t)i);
}

typedef struct mesh_smooth_steps_args {
  kp_mesh_smoother_def how;
  double step;
  const uint32_t *first, *order, *triangles;
  const kp_vec3 *vertices;
  kp_vec3 *moved;
} mesh_smooth_steps_args;

KP_FN void mesh_smooth_steps(int64_t i, const mesh_smooth_steps_args *a) {
  kp_vec3 p = a->vertices[i], sum = kp_vec3_make(0, 0, 0);
  uint32_t count = a->first[i + 1] - a->first[i];
  for (uint32_t k = a->first[i]; k < a->first[i + 1]; ++k) {
    uint32_t next = kp_smooth_next(a->triangles, a->order[k]);
    sum = kp_vec3_add(sum, kp_vec3_sub(a->vertices[next], p));
  }
  double share = count > 0 ? a->step / (double)count : 0.0;
  a->moved[i] = kp_smooth_keep(&a->how, p, kp_vec3_madd(p, share, sum));
}

typedef struct mesh_smooth_normals_args {
  const uint32_t *first, *order, *triangles;
  const kp_vec3 *vertices;
  float *normals;
} mesh_smooth_normals_args;

KP_FN void mesh_smooth_normals(int64_t i, const mesh_smooth_normals_args *a) {
  float m[3] = { 0.0f, 0.0f, 0.0f };
  for (uint32_t k = a->first[i]; k < a->first[i + 1]; ++k) {
    kp_smooth_add_normal(a->vertices, a->triangles + a->order[k] / 3 * 3, m);
  }
  kp_smooth_unit_normal(m);
  for (int c = 0; c < 3; ++c) {
    a->normals[3 * i + c] = m[c];
  }
}
