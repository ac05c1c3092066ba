#include "render/creases.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"

#define BENT 0.8     // cosine between a face and the mean at its corner, below which to look
#define ALIKE 0.75   // cosine between faces that share a normal
#define CLOSED 1e-5  // share of the area that the faces of a closed mesh may add up to

typedef struct crease_work {
  const uint32_t *triangles;
  uint64_t n_vertices, n_triangles;
  kp_vec3 *faces;    // area and direction
  kp_vec3 *sums;     // by vertex
  uint32_t *starts;  // of each vertex, and the end
  uint32_t *around;  // corners by vertex: 3 * triangle + corner
} crease_work;

static kp_result make_room(crease_work *w) {
  w->faces = kp_alloc(w->n_triangles * sizeof *w->faces, KP_MEMORY_RENDER);
  w->sums = kp_alloc_zero(w->n_vertices * sizeof *w->sums, KP_MEMORY_RENDER);
  w->starts = kp_alloc_zero((w->n_vertices + 1) * sizeof *w->starts, KP_MEMORY_RENDER);
  w->around = kp_alloc(3 * w->n_triangles * sizeof *w->around, KP_MEMORY_RENDER);
  bool ok = w->faces != NULL && w->sums != NULL && w->starts != NULL && w->around != NULL;
  return ok ? KP_OK : KP_ERROR_MEMORY;
}

static void free_room(crease_work *w) {
  kp_free(w->faces);
  kp_free(w->sums);
  kp_free(w->starts);
  kp_free(w->around);
}

// False where the mesh is open: the areas of a closed one add up to nothing.
static bool find_faces(crease_work *w, const kp_vec3 *vertices) {
  kp_vec3 all = { 0.0, 0.0, 0.0 };
  double area = 0.0;
  for (uint64_t t = 0; t < w->n_triangles; ++t) {
    const uint32_t *v = w->triangles + 3 * t;
    kp_vec3 ab = kp_vec3_sub(vertices[v[1]], vertices[v[0]]);
    kp_vec3 ac = kp_vec3_sub(vertices[v[2]], vertices[v[0]]);
    w->faces[t] = kp_vec3_cross(ab, ac);
    all = kp_vec3_add(all, w->faces[t]);
    area += kp_vec3_length(w->faces[t]);
    for (int corner = 0; corner < 3; ++corner) {
      w->sums[v[corner]] = kp_vec3_add(w->sums[v[corner]], w->faces[t]);
      ++w->starts[v[corner] + 1];
    }
  }
  return area > 0.0 && kp_vec3_length(all) < CLOSED * area;
}

static void list_corners(crease_work *w) {
  for (uint64_t i = 0; i < w->n_vertices; ++i) {
    w->starts[i + 1] += w->starts[i];
  }
  // each beginning moves to the end of its vertex, which is the beginning of the next: shift back
  for (uint64_t k = 0; k < 3 * w->n_triangles; ++k) {
    w->around[w->starts[w->triangles[k]]++] = (uint32_t)k;
  }
  memmove(w->starts + 1, w->starts, w->n_vertices * sizeof *w->starts);
  w->starts[0] = 0;
}

static double cosine(kp_vec3 a, kp_vec3 b) {
  double length = kp_vec3_length(a) * kp_vec3_length(b);
  return length > 0.0 ? kp_vec3_dot(a, b) / length : 1.0;
}

static bool is_bent(const crease_work *w, uint64_t vertex) {
  bool is_found = false;
  for (uint32_t k = w->starts[vertex]; k < w->starts[vertex + 1] && !is_found; ++k) {
    is_found = cosine(w->faces[w->around[k] / 3], w->sums[vertex]) < BENT;
  }
  return is_found;
}

static void set_normal(kp_creases *c, uint64_t i, uint64_t from, kp_vec3 sum) {
  double length = kp_vec3_length(sum);
  kp_vec3 n = length > 0.0 ? kp_vec3_scale(sum, 1.0 / length) : sum;
  c->from[i] = (uint32_t)from;
  c->normals[3 * i] = (float)n.x;
  c->normals[3 * i + 1] = (float)n.y;
  c->normals[3 * i + 2] = (float)n.z;
}

// The faces around a vertex in groups, each like the first of it.
static void split_vertex(const crease_work *w, kp_creases *c, uint64_t vertex) {
  uint32_t *corners = w->around + w->starts[vertex];
  uint32_t left = w->starts[vertex + 1] - w->starts[vertex];
  for (uint64_t to = vertex; left > 0; to = c->n) {
    kp_vec3 seed = w->faces[corners[0] / 3], sum = { 0.0, 0.0, 0.0 };
    uint32_t rest = 0;
    for (uint32_t k = 0; k < left; ++k) {
      uint32_t corner = corners[k];
      if (k == 0 || cosine(w->faces[corner / 3], seed) > ALIKE) {
        sum = kp_vec3_add(sum, w->faces[corner / 3]);
        c->triangles[corner] = (uint32_t)to;
      } else {
        corners[rest++] = corner;
      }
    }
    set_normal(c, to, vertex, sum);
    c->n += to != vertex ? 1 : 0;
    left = rest;
  }
}

kp_result kp_creases_find(kp_creases *c, const kp_vec3 *vertices, uint64_t n_vertices,
                          const uint32_t *triangles, uint64_t n_triangles) {
  crease_work w = { .triangles = triangles, .n_vertices = n_vertices, .n_triangles = n_triangles };
  c->n = n_vertices;
  // as many as there are corners, at most
  uint64_t most = n_vertices + 3 * n_triangles;
  c->from = kp_alloc(most * sizeof *c->from, KP_MEMORY_RENDER);
  c->normals = kp_alloc(3 * most * sizeof *c->normals, KP_MEMORY_RENDER);
  c->triangles = kp_alloc(3 * n_triangles * sizeof *c->triangles, KP_MEMORY_RENDER);
  kp_result result = make_room(&w);
  if (c->from == NULL || c->normals == NULL || c->triangles == NULL) {
    result = KP_ERROR_MEMORY;
  }
  if (result == KP_OK && find_faces(&w, vertices)) {
    list_corners(&w);
    memcpy(c->triangles, triangles, 3 * n_triangles * sizeof *triangles);
    for (uint64_t i = 0; i < n_vertices; ++i) {
      if (is_bent(&w, i)) {
        split_vertex(&w, c, i);
      } else {
        set_normal(c, i, i, w.sums[i]);
      }
    }
  }
  free_room(&w);
  return result;
}

void kp_creases_free(kp_creases *c) {
  kp_free(c->from);
  kp_free(c->triangles);
  kp_free(c->normals);
  *c = (kp_creases){ 0 };
}
