#include "bench/ray_mesh.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "base/random.h"

static float height(float x, float z) {
  return 0.1f * sinf(20.0f * x) * cosf(17.0f * z) + 0.01f * sinf(200.0f * x + 100.0f * z);
}

static void fill_sea(kp_ray_mesh *m, uint32_t side) {
  for (uint32_t i = 0; i <= side; ++i) {
    for (uint32_t j = 0; j <= side; ++j) {
      float x = 2.0f * (float)i / (float)side - 1.0f, z = 2.0f * (float)j / (float)side - 1.0f;
      m->vertices[i * (side + 1) + j] = kp_f3_make(x, height(x, z), z);
    }
  }
  uint32_t *next = m->triangles;
  for (uint32_t i = 0; i < side; ++i) {
    for (uint32_t j = 0; j < side; ++j) {
      uint32_t a = i * (side + 1) + j, b = a + 1, c = a + side + 1, d = c + 1;
      const uint32_t two[6] = { a, b, c, c, b, d };
      memcpy(next, two, sizeof two);
      next += 6;
    }
  }
}

static void fill_others(kp_ray_mesh *m, int64_t n) {
  for (int64_t i = 0; i <= n; ++i) {
    float t = 6.2831853f * (float)i / (float)n, r = 0.3f + 0.5f * (float)i / (float)n;
    float x = r * cosf(31.0f * t), z = r * sinf(31.0f * t);
    m->balls[i] = (kp_ball){ x, height(x, z) + 0.1f, z, 0.01f };
    m->line_vertices[i] = (kp_ball){ 0.9f * x, 0.25f + 0.05f * sinf(9.0f * t), z, 0.003f };
  }
  for (int64_t i = 0; i < n; ++i) {
    m->segments[i] = (kp_segment){ (uint32_t)i, 0, 0 };
  }
}

kp_result kp_ray_mesh_make(kp_ray_mesh *m, int64_t n_triangles, bool triangles_only) {
  uint32_t side = (uint32_t)fmax(2.0, sqrt(0.5 * (double)n_triangles));
  int64_t n = triangles_only ? 0 : n_triangles / 100 + 2;
  size_t n_vertices = (size_t)(side + 1) * (side + 1), n_faces = 2 * (size_t)side * side;
  m->vertices = kp_alloc(n_vertices * sizeof *m->vertices, KP_MEMORY_RENDER);
  m->triangles = kp_alloc(3 * n_faces * sizeof *m->triangles, KP_MEMORY_RENDER);
  m->balls = kp_alloc((size_t)(n + 1) * sizeof *m->balls, KP_MEMORY_RENDER);
  m->line_vertices = kp_alloc((size_t)(n + 1) * sizeof *m->line_vertices, KP_MEMORY_RENDER);
  m->segments = kp_alloc((size_t)(n + 1) * sizeof *m->segments, KP_MEMORY_RENDER);
  if (m->vertices == NULL || m->triangles == NULL || m->balls == NULL || m->line_vertices == NULL ||
      m->segments == NULL) {
    kp_ray_mesh_free(m);
    return KP_ERROR_MEMORY;
  }
  fill_sea(m, side);
  if (n > 0) {
    fill_others(m, n);
  }
  m->geometry = (kp_ray_geometry){ .n_triangles = (int64_t)n_faces,
                                   .n_balls = n,
                                   .n_segments = n,
                                   .vertices = m->vertices,
                                   .triangles = m->triangles,
                                   .balls = m->balls,
                                   .line_vertices = m->line_vertices,
                                   .segments = m->segments };
  return KP_OK;
}

void kp_ray_mesh_free(kp_ray_mesh *m) {
  kp_free(m->vertices);
  kp_free(m->triangles);
  kp_free(m->balls);
  kp_free(m->line_vertices);
  kp_free(m->segments);
  memset(m, 0, sizeof *m);
}

static float uniform(uint64_t counter) {
  return (float)kp_rng_uniform(7, 0, counter, 0);
}

void kp_ray_mesh_rays(kp_ray *rays, int64_t n, bool is_coherent) {
  int64_t side = (int64_t)sqrt((double)n) + 1;
  for (int64_t i = 0; i < n; ++i) {
    kp_ray *r = &rays[i];
    *r = (kp_ray){ .t_max = HUGE_VALF, .mask = KP_RAY_ALL };
    if (is_coherent) {
      float x = 2.0f * (float)(i % side) / (float)side - 1.0f;
      float z = 2.0f * (float)(i / side) / (float)side - 1.0f;
      r->origin = kp_f3_make(0.0f, 1.5f, -2.5f);
      r->direction = kp_f3_normalize(kp_f3_sub(kp_f3_make(x, 0.0f, z), r->origin));
    } else {
      uint64_t k = 6 * (uint64_t)i;
      r->origin =
          kp_f3_make(2.0f * uniform(k) - 1.0f, 0.3f * uniform(k + 1), 2.0f * uniform(k + 2) - 1.0f);
      kp_f3 d = kp_f3_make(uniform(k + 3) - 0.5f, uniform(k + 4) - 0.5f, uniform(k + 5) - 0.5f);
      r->direction = kp_f3_normalize(d);
    }
  }
}
