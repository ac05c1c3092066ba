#include "support/surfaces.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"

void kp_test_cloud_add(kp_test_cloud *cloud, kp_vec3 p) {
  if (cloud->n == cloud->room) {
    int64_t room = cloud->room > 0 ? 2 * cloud->room : 1024;
    for (int c = 0; c < 3; ++c) {
      double *x = kp_alloc((size_t)room * sizeof *x, KP_MEMORY_TEST);
      assert_non_null(x);
      if (cloud->n > 0) {
        memcpy(x, cloud->x[c], (size_t)cloud->n * sizeof *x);
      }
      kp_free(cloud->x[c]);
      cloud->x[c] = x;
    }
    cloud->room = room;
  }
  cloud->x[0][cloud->n] = p.x;
  cloud->x[1][cloud->n] = p.y;
  cloud->x[2][cloud->n] = p.z;
  ++cloud->n;
}

void kp_test_cloud_fill(kp_test_cloud *cloud, kp_aabb box, double d, double (*inside)(kp_vec3 p),
                        double jitter) {
  kp_test_random random = kp_test_random_begin(7);
  for (double z = box.min.z + 0.5 * d; z < box.max.z; z += d) {
    for (double y = box.min.y + 0.5 * d; y < box.max.y; y += d) {
      for (double x = box.min.x + 0.5 * d; x < box.max.x; x += d) {
        kp_vec3 p = kp_vec3_make(x, y, z);
        if (inside == NULL || inside(p) < 0.0) {
          kp_test_cloud_add(cloud, kp_vec3_madd(p, d, kp_test_vec3(&random, -jitter, jitter)));
        }
      }
    }
  }
}

kp_cloud kp_test_cloud_get(const kp_test_cloud *cloud) {
  return (kp_cloud){ .n = cloud->n, .x = cloud->x[0], .y = cloud->x[1], .z = cloud->x[2] };
}

void kp_test_cloud_free(kp_test_cloud *cloud) {
  for (int c = 0; c < 3; ++c) {
    kp_free(cloud->x[c]);
  }
  *cloud = (kp_test_cloud){ 0 };
}

static kp_mesh as_mesh(const kp_isosurface *s) {
  kp_mesh mesh;
  assert_ok(kp_mesh_create((kp_index)s->n_vertices, (kp_index)s->n_triangles, &mesh));
  memcpy(mesh.vertices, s->vertices, (size_t)s->n_vertices * sizeof *mesh.vertices);
  for (int64_t i = 0; i < 3 * s->n_triangles; ++i) {
    assert_true(s->triangles[i] < s->n_vertices);
    mesh.triangles[i / 3].v[i % 3] = (kp_index)s->triangles[i];
  }
  return mesh;
}

static kp_vec3 area_of(const kp_isosurface *s, int64_t t) {
  const uint32_t *v = &s->triangles[3 * t];
  kp_vec3 a = s->vertices[v[0]];
  return kp_vec3_cross(kp_vec3_sub(s->vertices[v[1]], a), kp_vec3_sub(s->vertices[v[2]], a));
}

void kp_test_check_closed(const kp_isosurface *s) {
  kp_mesh mesh = as_mesh(s);
  assert_ok(kp_mesh_check_closed(&mesh));
  for (int64_t t = 0; t < s->n_triangles; ++t) {
    assert_true(kp_vec3_length(area_of(s, t)) > 0.0);
  }
  kp_mesh_destroy(&mesh);
}

double kp_test_surface_volume(const kp_isosurface *s) {
  if (s->n_triangles == 0) {
    return 0.0;
  }
  kp_mesh mesh = as_mesh(s);
  double volume = kp_mesh_volume(&mesh);
  kp_mesh_destroy(&mesh);
  return volume;
}

int64_t kp_test_surface_euler(const kp_isosurface *s) {
  return s->n_vertices - s->n_triangles / 2;
}

static uint32_t root_of(uint32_t *parent, uint32_t i) {
  while (parent[i] != i) {
    parent[i] = parent[parent[i]];
    i = parent[i];
  }
  return i;
}

int64_t kp_test_surface_pieces(const kp_isosurface *s) {
  uint32_t *parent = kp_alloc((size_t)(s->n_vertices + 1) * sizeof *parent, KP_MEMORY_TEST);
  assert_non_null(parent);
  int64_t n = s->n_vertices;
  for (int64_t i = 0; i < s->n_vertices; ++i) {
    parent[i] = (uint32_t)i;
  }
  for (int64_t i = 0; i < 3 * s->n_triangles; ++i) {
    uint32_t a = root_of(parent, s->triangles[i]), b = root_of(parent, s->triangles[i - i % 3]);
    parent[a] = b;
    n -= a != b ? 1 : 0;
  }
  kp_free(parent);
  return n;
}

void kp_test_surface_make(kp_test_surface *s, const kp_surfacing *how, const kp_test_cloud *cloud) {
  kp_cloud view = kp_test_cloud_get(cloud);
  assert_ok(kp_surfacer_fill(&s->surfacer, how, &view));
  assert_ok(kp_marching_blocks(&s->surfacer.blocks, 0.0f, &s->mesh));
  if (s->mesh.n_triangles > 0) {
    kp_test_check_closed(&s->mesh);
    assert_true(kp_test_surface_volume(&s->mesh) > 0.0);
  }
}

void kp_test_surface_free(kp_test_surface *s) {
  kp_isosurface_free(&s->mesh);
  kp_surfacer_free(&s->surfacer);
}

static bool is_in(const kp_aabb *box, kp_vec3 p) {
  return p.x >= box->min.x && p.x <= box->max.x && p.y >= box->min.y && p.y <= box->max.y &&
         p.z >= box->min.z && p.z <= box->max.z;
}

typedef struct side {
  uint32_t low, high;
  int64_t triangle;
} side;

static int by_vertices(const void *a, const void *b) {
  const side *x = a, *y = b;
  if (x->low != y->low) {
    return x->low < y->low ? -1 : 1;
  }
  return x->high < y->high ? -1 : x->high > y->high;
}

double kp_test_surface_dihedral(const kp_isosurface *s, const kp_aabb *box) {
  int64_t n = 3 * s->n_triangles, count = 0;
  side *sides = kp_alloc((size_t)n * sizeof *sides, KP_MEMORY_TEST);
  for (int64_t i = 0; i < n; ++i) {
    uint32_t a = s->triangles[i], b = s->triangles[i % 3 == 2 ? i - 2 : i + 1];
    sides[i] = (side){ a < b ? a : b, a < b ? b : a, i / 3 };
  }
  qsort(sides, (size_t)n, sizeof *sides, by_vertices);
  double sum = 0.0;
  for (int64_t i = 0; i + 1 < n; i += 2) {
    kp_vec3 middle =
        kp_vec3_scale(kp_vec3_add(s->vertices[sides[i].low], s->vertices[sides[i].high]), 0.5);
    if (is_in(box, middle)) {
      kp_vec3 a = kp_vec3_normalize(area_of(s, sides[i].triangle));
      kp_vec3 b = kp_vec3_normalize(area_of(s, sides[i + 1].triangle));
      double angle = atan2(kp_vec3_length(kp_vec3_cross(a, b)), kp_vec3_dot(a, b));
      sum += angle * angle;
      ++count;
    }
  }
  kp_free(sides);
  return count > 50 ? sqrt(sum / (double)count) : HUGE_VAL;
}

double kp_test_surface_height(const kp_isosurface *s, const kp_aabb *box, double *roughness) {
  double sum = 0.0, square = 0.0, n = 0.0;
  for (int64_t i = 0; i < s->n_vertices; ++i) {
    if (is_in(box, s->vertices[i])) {
      sum += s->vertices[i].y;
      square += s->vertices[i].y * s->vertices[i].y;
      n += 1.0;
    }
  }
  assert_true(n > 20.0);
  double mean = sum / n;
  *roughness = sqrt(fmax(square / n - mean * mean, 0.0));
  return mean;
}
