#include "geom/mesh_make.h"

#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "geom/frame.h"

#define PI 3.14159265358979323846
#define MOST_LEVELS 9

kp_result kp_mesh_make_box(kp_aabb box, kp_mesh *mesh) {
  // corner i has x from bit 0, y from bit 1, z from bit 2
  static const kp_triangle faces[12] = {
    { { 0, 4, 6 } }, { { 0, 6, 2 } }, { { 1, 3, 7 } }, { { 1, 7, 5 } },
    { { 0, 1, 5 } }, { { 0, 5, 4 } }, { { 2, 6, 7 } }, { { 2, 7, 3 } },
    { { 0, 2, 3 } }, { { 0, 3, 1 } }, { { 4, 5, 7 } }, { { 4, 7, 6 } },
  };
  KP_TRY(kp_mesh_create(8, 12, mesh));
  for (int i = 0; i < 8; ++i) {
    mesh->vertices[i] =
        kp_vec3_make((i & 1) != 0 ? box.max.x : box.min.x, (i & 2) != 0 ? box.max.y : box.min.y,
                     (i & 4) != 0 ? box.max.z : box.min.z);
  }
  memcpy(mesh->triangles, faces, sizeof faces);
  return KP_OK;
}

// The side from corner `slot % 3` of triangle `slot / 3` to the next corner.
typedef struct half_edge {
  uint64_t key;
  kp_index slot;
} half_edge;

static int compare_half_edges(const void *a, const void *b) {
  const half_edge *p = a;
  const half_edge *q = b;
  return p->key != q->key ? (p->key < q->key ? -1 : 1) : (p->slot < q->slot ? -1 : 1);
}

// Add one vertex in the middle of every edge and note it for both of its sides.
static void add_middles(const kp_mesh *coarse, kp_mesh *fine, half_edge *edges, kp_index *middles) {
  kp_index n = 3 * coarse->n_triangles;
  for (kp_index i = 0; i < n; ++i) {
    uint64_t from = (uint64_t)coarse->triangles[i / 3].v[i % 3];
    uint64_t to = (uint64_t)coarse->triangles[i / 3].v[(i + 1) % 3];
    edges[i] = (half_edge){ from < to ? from << 32 | to : to << 32 | from, i };
  }
  qsort(edges, (size_t)n, sizeof *edges, compare_half_edges);
  kp_index next = coarse->n_vertices;
  for (kp_index i = 0; i < n; i += 2) {
    kp_vec3 sum = kp_vec3_add(coarse->vertices[edges[i].key >> 32],
                              coarse->vertices[edges[i].key & 0xffffffffu]);
    fine->vertices[next] = kp_vec3_normalize(sum);
    middles[edges[i].slot] = next;
    middles[edges[i + 1].slot] = next;
    ++next;
  }
}

// One triangle becomes four.
static void split_triangles(const kp_mesh *coarse, kp_mesh *fine, const kp_index *middles) {
  for (kp_index t = 0; t < coarse->n_triangles; ++t) {
    const kp_index *v = coarse->triangles[t].v;
    const kp_index *m = &middles[3 * t];
    kp_triangle *out = &fine->triangles[4 * t];
    out[0] = (kp_triangle){ { v[0], m[0], m[2] } };
    out[1] = (kp_triangle){ { v[1], m[1], m[0] } };
    out[2] = (kp_triangle){ { v[2], m[2], m[1] } };
    out[3] = (kp_triangle){ { m[0], m[1], m[2] } };
  }
}

// Replace a mesh on the unit sphere by its subdivision.
static kp_result subdivide(kp_mesh *mesh) {
  kp_index n_edges = 3 * mesh->n_triangles / 2;
  kp_mesh fine;
  KP_TRY(kp_mesh_create(mesh->n_vertices + n_edges, 4 * mesh->n_triangles, &fine));
  kp_result result = KP_ERROR_MEMORY;
  half_edge *edges = kp_alloc(2 * (size_t)n_edges * sizeof *edges, KP_MEMORY_SCRATCH);
  kp_index *middles = kp_alloc(2 * (size_t)n_edges * sizeof *middles, KP_MEMORY_SCRATCH);
  if (edges != NULL && middles != NULL) {
    memcpy(fine.vertices, mesh->vertices, (size_t)mesh->n_vertices * sizeof *mesh->vertices);
    add_middles(mesh, &fine, edges, middles);
    split_triangles(mesh, &fine, middles);
    kp_mesh_destroy(mesh);
    *mesh = fine;
    fine = (kp_mesh){ 0 };
    result = KP_OK;
  }
  kp_free(edges);
  kp_free(middles);
  kp_mesh_destroy(&fine);
  return result;
}

kp_result kp_mesh_make_icosphere(kp_vec3 center, double radius, int levels, kp_mesh *mesh) {
  KP_ASSERT(levels >= 0 && levels <= MOST_LEVELS);
  static const kp_triangle faces[20] = {
    { { 0, 11, 5 } }, { { 0, 5, 1 } },  { { 0, 1, 7 } },   { { 0, 7, 10 } }, { { 0, 10, 11 } },
    { { 1, 5, 9 } },  { { 5, 11, 4 } }, { { 11, 10, 2 } }, { { 10, 7, 6 } }, { { 7, 1, 8 } },
    { { 3, 9, 4 } },  { { 3, 4, 2 } },  { { 3, 2, 6 } },   { { 3, 6, 8 } },  { { 3, 8, 9 } },
    { { 4, 9, 5 } },  { { 2, 4, 11 } }, { { 6, 2, 10 } },  { { 8, 6, 7 } },  { { 9, 8, 1 } },
  };
  // three golden rectangles
  const double g = 0.5 * (1.0 + sqrt(5.0));
  const kp_vec3 corners[12] = {
    { -1, g, 0 },  { 1, g, 0 },  { -1, -g, 0 }, { 1, -g, 0 }, { 0, -1, g },  { 0, 1, g },
    { 0, -1, -g }, { 0, 1, -g }, { g, 0, -1 },  { g, 0, 1 },  { -g, 0, -1 }, { -g, 0, 1 },
  };
  KP_TRY(kp_mesh_create(12, 20, mesh));
  for (int i = 0; i < 12; ++i) {
    mesh->vertices[i] = kp_vec3_normalize(corners[i]);
  }
  memcpy(mesh->triangles, faces, sizeof faces);
  for (int level = 0; level < levels; ++level) {
    kp_result result = subdivide(mesh);
    if (result != KP_OK) {
      kp_mesh_destroy(mesh);
      return result;
    }
  }
  for (kp_index i = 0; i < mesh->n_vertices; ++i) {
    mesh->vertices[i] = kp_vec3_madd(center, radius, mesh->vertices[i]);
  }
  return KP_OK;
}

// Poles first and last, rings of n_around vertices between them.
static void place_rings(kp_vec3 a, const kp_vec3 axes[3], const kp_profile_point *profile,
                        int n_rings, int n_around, kp_mesh *mesh) {
  mesh->vertices[0] = kp_vec3_madd(a, profile[0].height, axes[2]);
  mesh->vertices[mesh->n_vertices - 1] = kp_vec3_madd(a, profile[n_rings + 1].height, axes[2]);
  for (int i = 0; i < n_rings; ++i) {
    for (int j = 0; j < n_around; ++j) {
      double angle = 2.0 * PI * j / n_around;
      double r = profile[i + 1].radius;
      mesh->vertices[1 + i * n_around + j] =
          kp_frame_point(a, axes, r * cos(angle), r * sin(angle), profile[i + 1].height);
    }
  }
}

static void join_rings(int n_rings, int n_around, kp_mesh *mesh) {
  kp_triangle *out = mesh->triangles;
  kp_index top = mesh->n_vertices - 1;
  kp_index last_ring = 1 + (n_rings - 1) * n_around;
  for (int j = 0; j < n_around; ++j) {
    int k = (j + 1) % n_around;
    *out++ = (kp_triangle){ { 0, 1 + k, 1 + j } };
    *out++ = (kp_triangle){ { top, last_ring + j, last_ring + k } };
    for (int i = 0; i + 1 < n_rings; ++i) {
      kp_index low = 1 + i * n_around;
      kp_index high = low + n_around;
      *out++ = (kp_triangle){ { low + j, low + k, high + k } };
      *out++ = (kp_triangle){ { low + j, high + k, high + j } };
    }
  }
}

kp_result kp_mesh_make_lathe(kp_vec3 a, kp_vec3 b, const kp_profile_point *profile, int n_profile,
                             int n_around, kp_mesh *mesh) {
  KP_ASSERT(n_profile >= 3 && n_around >= 3);
  int n_rings = n_profile - 2;
  KP_TRY(kp_mesh_create(2 + n_rings * n_around, 2 * n_rings * n_around, mesh));
  kp_vec3 axes[3];
  axes[2] = kp_vec3_normalize(kp_vec3_sub(b, a));
  kp_frame_make(axes[2], &axes[0], &axes[1]);
  place_rings(a, axes, profile, n_rings, n_around, mesh);
  join_rings(n_rings, n_around, mesh);
  return KP_OK;
}

kp_result kp_mesh_make_cylinder(kp_vec3 a, kp_vec3 b, double radius, int n_around, kp_mesh *mesh) {
  double length = kp_vec3_length(kp_vec3_sub(b, a));
  const kp_profile_point profile[4] = {
    { 0.0, 0.0 }, { radius, 0.0 }, { radius, length }, { 0.0, length }
  };
  return kp_mesh_make_lathe(a, b, profile, 4, n_around, mesh);
}

kp_result kp_mesh_make_capsule(kp_vec3 a, kp_vec3 b, double radius, int n_around, kp_mesh *mesh) {
  // a quarter circle has a quarter of the corners of a full one
  int n_quarter = n_around / 4 > 1 ? n_around / 4 : 1;
  int n = 2 * (n_quarter + 1);
  kp_profile_point *profile = kp_alloc((size_t)n * sizeof *profile, KP_MEMORY_SCRATCH);
  if (profile == NULL) {
    *mesh = (kp_mesh){ 0 };
    return KP_ERROR_MEMORY;
  }
  double length = kp_vec3_length(kp_vec3_sub(b, a));
  for (int i = 0; i <= n_quarter; ++i) {
    double angle = 0.5 * PI * i / n_quarter;
    double r = radius * sin(angle);
    double h = radius * cos(angle);
    profile[i] = (kp_profile_point){ r, -h };
    profile[n - 1 - i] = (kp_profile_point){ r, length + h };
  }
  kp_result result = kp_mesh_make_lathe(a, b, profile, n, n_around, mesh);
  kp_free(profile);
  return result;
}
