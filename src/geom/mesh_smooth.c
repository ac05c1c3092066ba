#include "geom/mesh_smooth.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "geom/mesh_smooth_points.h"
#include "par/parallel.h"

#define VERTICES_PER_CHUNK 256

const char *const kp_mesh_smoothing_names[] = { "none", "hong", "normal", "taubin", NULL };

typedef struct work {
  kp_mesh_smoother *s;
  const kp_mesh_smoother_def *how;
  kp_isosurface *mesh;
  double step;
} work;

static void *make_room(void *block, int64_t count, size_t size) {
  size_t bytes = (size_t)(count > 0 ? count : 1) * size;
  if (block != NULL && kp_alloc_size(block) >= bytes) {
    return block;
  }
  kp_free(block);
  return kp_alloc(bytes + bytes / 4, KP_MEMORY_MESH);
}

// ---- means within a radius

// Vertices sorted into cells as wide as the radius.
static kp_result sort_vertices(kp_mesh_smoother *s, const kp_mesh_smoother_def *how,
                               const kp_isosurface *mesh) {
  int64_t n = mesh->n_vertices;
  s->places = make_room(s->places, 3 * n, sizeof *s->places);
  s->cell_of = make_room(s->cell_of, n, sizeof *s->cell_of);
  s->order = make_room(s->order, n, sizeof *s->order);
  if (s->places == NULL || s->cell_of == NULL || s->order == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (int64_t i = 0; i < n; ++i) {
    s->places[i] = mesh->vertices[i].x;
    s->places[n + i] = mesh->vertices[i].y;
    s->places[2 * n + i] = mesh->vertices[i].z;
  }
  const double *const places[3] = { s->places, s->places + n, s->places + 2 * n };
  const int64_t lo[3] = { -KP_SMOOTH_REACH, -KP_SMOOTH_REACH, -KP_SMOOTH_REACH };
  const int64_t hi[3] = { KP_SMOOTH_REACH, KP_SMOOTH_REACH, KP_SMOOTH_REACH };
  s->cells.edge = s->cells.depth = KP_BLOCK_LEAST;
  s->cells.spacing = how->radius / KP_BLOCK_LEAST;
  KP_TRY(kp_blocks_cover(&s->cells, n, places, lo, hi, s->cell_of));
  s->starts = make_room(s->starts, s->cells.n + 1, sizeof *s->starts);
  if (s->starts == NULL) {
    return KP_ERROR_MEMORY;
  }
  memset(s->starts, 0, (size_t)(s->cells.n + 1) * sizeof *s->starts);
  for (int64_t i = 0; i < n; ++i) {
    if (s->cell_of[i] == UINT32_MAX) {
      return kp_fail(KP_ERROR_ARGUMENT,
                     "a surface with vertices %g m from the origin cannot be smoothed over %g m",
                     kp_vec3_length(mesh->vertices[i]), how->radius);
    }
    ++s->starts[s->cell_of[i] + 1];
  }
  for (int64_t c = 0; c < s->cells.n; ++c) {
    s->starts[c + 1] += s->starts[c];
  }
  for (int64_t i = 0; i < n; ++i) {
    s->order[s->starts[s->cell_of[i]]++] = (uint32_t)i;
  }
  memmove(s->starts + 1, s->starts, (size_t)s->cells.n * sizeof *s->starts);
  s->starts[0] = 0;
  return KP_OK;
}

static void find_means(int64_t begin, int64_t end, void *context) {
  const work *w = context;
  const kp_mesh_smoother *s = w->s;
  const kp_isosurface *mesh = w->mesh;
  double square = w->how->radius * w->how->radius;
  for (int64_t i = begin; i < end; ++i) {
    const int32_t *around = s->cells.around[s->cell_of[i]];
    kp_vec3 p = mesh->vertices[i];
    kp_smooth_sum sum = { .count = 0.0 };
    for (int near = 0; near < KP_BLOCK_AROUND; ++near) {
      uint32_t last = around[near] < 0 ? 0 : s->starts[around[near] + 1];
      for (uint32_t k = around[near] < 0 ? 0 : s->starts[around[near]]; k < last; ++k) {
        uint32_t j = s->order[k];
        kp_smooth_add(&sum, square, p, mesh->vertices[j], &mesh->normals[3 * (int64_t)j]);
      }
    }
    s->moved[i] = kp_smooth_mean(w->how, &sum, p, &mesh->normals[3 * i], &s->normals[3 * i]);
  }
}

// ---- steps along edges

// The neighbours of every vertex: in a closed surface each side of a triangle is seen once from
// either end.
static kp_result list_neighbors(kp_mesh_smoother *s, const kp_isosurface *mesh) {
  int64_t n = mesh->n_vertices, n_sides = 3 * mesh->n_triangles;
  s->first = make_room(s->first, n + 1, sizeof *s->first);
  s->beside = make_room(s->beside, n_sides, sizeof *s->beside);
  if (s->first == NULL || s->beside == NULL) {
    return KP_ERROR_MEMORY;
  }
  memset(s->first, 0, (size_t)(n + 1) * sizeof *s->first);
  for (int64_t i = 0; i < n_sides; ++i) {
    ++s->first[mesh->triangles[i] + 1];
  }
  for (int64_t i = 0; i < n; ++i) {
    s->first[i + 1] += s->first[i];
  }
  for (int64_t i = 0; i < n_sides; ++i) {
    s->beside[s->first[mesh->triangles[i]]++] = kp_smooth_next(mesh->triangles, i);
  }
  memmove(s->first + 1, s->first, (size_t)n * sizeof *s->first);
  s->first[0] = 0;
  return KP_OK;
}

static void take_steps(int64_t begin, int64_t end, void *context) {
  const work *w = context;
  const kp_mesh_smoother *s = w->s;
  for (int64_t i = begin; i < end; ++i) {
    kp_vec3 p = w->mesh->vertices[i], sum = kp_vec3_make(0, 0, 0);
    uint32_t count = s->first[i + 1] - s->first[i];
    for (uint32_t k = s->first[i]; k < s->first[i + 1]; ++k) {
      sum = kp_vec3_add(sum, kp_vec3_sub(w->mesh->vertices[s->beside[k]], p));
    }
    double share = count > 0 ? w->step / (double)count : 0.0;
    s->moved[i] = kp_smooth_keep(w->how, p, kp_vec3_madd(p, share, sum));
  }
}

// Normals of the triangles around, by area: those of the field belong to the old places.
static void sum_normals(kp_isosurface *mesh) {
  memset(mesh->normals, 0, (size_t)mesh->n_vertices * 3 * sizeof *mesh->normals);
  for (int64_t i = 0; i < 3 * mesh->n_triangles; ++i) {
    kp_smooth_add_normal(mesh->vertices, &mesh->triangles[i - i % 3],
                         &mesh->normals[3 * (int64_t)mesh->triangles[i]]);
  }
  for (int64_t i = 0; i < mesh->n_vertices; ++i) {
    kp_smooth_unit_normal(&mesh->normals[3 * i]);
  }
}

// ---- all of it

// What was moved takes the place of what was there.
static void swap_places(kp_mesh_smoother *s, kp_isosurface *mesh) {
  kp_vec3 *places = mesh->vertices;
  mesh->vertices = s->moved;
  s->moved = places;
}

kp_result kp_mesh_smoother_run(kp_mesh_smoother *s, const kp_mesh_smoother_def *how,
                               kp_isosurface *mesh) {
  int64_t n = mesh->n_vertices;
  if (how->kind == KP_MESH_SMOOTHING_NONE || how->passes <= 0 || n == 0) {
    return KP_OK;
  }
  work w = { .s = s, .how = how, .mesh = mesh };
  s->moved = make_room(s->moved, n, sizeof *s->moved);
  s->normals = make_room(s->normals, 3 * n, sizeof *s->normals);
  if (s->moved == NULL || s->normals == NULL) {
    return KP_ERROR_MEMORY;
  }
  if (how->kind == KP_MESH_SMOOTHING_TAUBIN) {
    KP_TRY(list_neighbors(s, mesh));
  }
  for (int pass = 0; pass < how->passes; ++pass) {
    if (how->kind != KP_MESH_SMOOTHING_TAUBIN) {
      KP_TRY(sort_vertices(s, how, mesh));
      kp_parallel_for(n, VERTICES_PER_CHUNK, find_means, &w);
      swap_places(s, mesh);
      float *normals = mesh->normals;
      mesh->normals = s->normals;
      s->normals = normals;
      continue;
    }
    for (int way = 0; way < 2; ++way) {
      w.step = way == 0 ? KP_SMOOTH_LAMBDA : KP_SMOOTH_MU;
      kp_parallel_for(n, VERTICES_PER_CHUNK, take_steps, &w);
      swap_places(s, mesh);
    }
  }
  if (how->kind == KP_MESH_SMOOTHING_TAUBIN) {
    sum_normals(mesh);
  }
  return KP_OK;
}

void kp_mesh_smoother_free(kp_mesh_smoother *s) {
  kp_blocks_free(&s->cells);
  kp_free(s->starts);
  kp_free(s->order);
  kp_free(s->cell_of);
  kp_free(s->first);
  kp_free(s->beside);
  kp_free(s->places);
  kp_free(s->moved);
  kp_free(s->normals);
  *s = (kp_mesh_smoother){ 0 };
}
