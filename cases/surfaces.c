#include <math.h>

#include "base/memory.h"
#include "base/random.h"
#include "cases/cases.h"
#include "geom/surface_device.h"

// Where surfaces are made; none for the loops of the host.
static kp_result open_device(const char *name, kp_backend **out) {
  kp_backend_kind kind;
  KP_TRY(kp_backend_parse(name, &kind));
  *out = NULL;
  return kind == KP_BACKEND_CPU ? KP_OK : kp_backend_create(kind, out);
}

static kp_result upload(kp_buffer *buffer, kp_type type, const void *from, int64_t n, size_t size) {
  void *device;
  KP_TRY(kp_device_resize(buffer, type, n, size));
  KP_TRY(kp_buffer_get(buffer, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &device));
  return kp_copy_in(buffer->backend, device, from, (size_t)n * size);
}

// Vertices and triangles per counted thing.
static double mesh_bytes(int64_t n_vertices, int64_t n_triangles) {
  return (double)n_vertices * (sizeof(kp_vec3) + 3 * sizeof(float)) +
         (double)n_triangles * 3 * sizeof(uint32_t);
}

// ---- the surface of a ball

#define RADIUS 0.3255  // of the ball, in sides of the lattice

typedef struct ball_case {
  kp_lattice lattice;
  kp_isosurface surface;
  float *values;
  kp_backend *device;  // NULL: the host
  kp_device_mesh mesh;
  kp_buffer samples;
} ball_case;

static void destroy_ball(void **self) {
  ball_case *ball = *self;
  kp_isosurface_free(&ball->surface);
  kp_device_mesh_free(&ball->mesh);
  kp_buffer_free(&ball->samples);
  kp_backend_destroy(&ball->device);
  kp_free(ball->values);
  kp_free(ball);
  *self = NULL;
}

static kp_result make_ball(ball_case *ball, const char *backend, int64_t size) {
  int32_t n = (int32_t)size;
  KP_TRY(open_device(backend, &ball->device));
  kp_device_mesh_init(&ball->mesh, ball->device);
  kp_buffer_init(&ball->samples, ball->device);
  ball->values = kp_alloc((size_t)(size * size * size) * sizeof(float), KP_MEMORY_TEST);
  if (ball->values == NULL) {
    return KP_ERROR_MEMORY;
  }
  ball->lattice = (kp_lattice){ .values = ball->values, .n = { n, n, n }, .row = n };
  ball->lattice.slab = size * size;
  ball->lattice.spacing = 1.0 / (double)n;
  for (int64_t i = 0; i < size * size * size; ++i) {
    kp_vec3 p =
        kp_vec3_make((double)(i % n) + 0.5, (double)(i / n % n) + 0.5, (double)(i / n / n) + 0.5);
    p = kp_vec3_sub(kp_vec3_scale(p, ball->lattice.spacing), kp_vec3_make(0.5, 0.5, 0.5));
    ball->values[i] = (float)(kp_vec3_length(p) - RADIUS);
  }
  return ball->device == NULL
             ? KP_OK
             : upload(&ball->samples, KP_TYPE_F32, ball->values, size * size * size, sizeof(float));
}

static kp_result create_ball(const char *backend, int64_t size, void **self) {
  ball_case *ball = kp_alloc_zero(sizeof *ball, KP_MEMORY_TEST);
  *self = ball;
  if (ball == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_result result = make_ball(ball, backend, size);
  if (result != KP_OK) {
    destroy_ball(self);
  }
  return result;
}

static kp_result turn_ball(void *self) {
  ball_case *ball = self;
  if (ball->device == NULL) {
    return kp_marching_cubes(&ball->lattice, 0.0f, &ball->surface);
  }
  KP_TRY(kp_device_march_lattice(&ball->mesh, &ball->lattice, &ball->samples, 0.0f));
  return kp_wait(ball->device);
}

static int64_t count_ball(const void *self) {
  const ball_case *ball = self;
  int64_t n = ball->lattice.n[0];
  return n * n * n;
}

static double ball_bytes(const void *self) {
  const ball_case *ball = self;
  if (ball->device != NULL) {
    return (double)ball->device->counters.device_bytes / (double)count_ball(self);
  }
  double surface = mesh_bytes(ball->surface.n_vertices, ball->surface.n_triangles);
  return sizeof(float) + 0.125 + surface / (double)count_ball(self);
}

const kp_case_turns kp_case_marching_cubes = { .create = create_ball,
                                               .turn = turn_ball,
                                               .count = count_ball,
                                               .bytes_each = ball_bytes,
                                               .destroy = destroy_ball };

// ---- the surface of a liquid of particles

#define SPACING 0.01  // m
#define JITTER 0.3    // of the spacing

typedef struct pool_case {
  kp_surfacing how;
  kp_surfacer surfacer;
  kp_isosurface surface;
  kp_cloud cloud;
  double *places;
  kp_backend *device;  // NULL: the host
  kp_device_surfacer on_device;
  kp_buffer x[3];
} pool_case;

// How high the water stands, in spacings: waves, so that the surface is as large as that of a flow.
static double crest(int64_t i, int64_t k, int64_t n) {
  double x = 6.283185307179586 * (double)i / (double)n;
  double z = 6.283185307179586 * (double)k / (double)n;
  return 0.5 * (double)n * (1.0 + 0.2 * sin(3.0 * x) * cos(2.0 * z));
}

static int64_t fill_pool(int64_t n, double *const place[3]) {
  int64_t count = 0;
  for (int64_t k = 0; k < n; ++k) {
    for (int64_t i = 0; i < n; ++i) {
      int64_t top = (int64_t)crest(i, k, n);
      for (int64_t j = 0; j < top; ++j, ++count) {
        const double at[3] = { (double)i, (double)j, (double)k };
        for (int c = 0; c < 3 && place[c] != NULL; ++c) {
          double shake = kp_rng_uniform(7, 0, (uint64_t)count, (uint64_t)c) - 0.5;
          place[c][count] = SPACING * (at[c] + 0.5 + JITTER * shake);
        }
      }
    }
  }
  return count;
}

static void destroy_pool(void **self) {
  pool_case *pool = *self;
  kp_surfacer_free(&pool->surfacer);
  kp_isosurface_free(&pool->surface);
  kp_device_surfacer_free(&pool->on_device);
  for (int c = 0; c < 3; ++c) {
    kp_buffer_free(&pool->x[c]);
  }
  kp_backend_destroy(&pool->device);
  kp_free(pool->places);
  kp_free(pool);
  *self = NULL;
}

static kp_result make_pool(pool_case *pool, const char *backend, int64_t size) {
  int64_t n = (int64_t)fmax(8.0, round(cbrt(2.0 * (double)size)));
  double *const none[3] = { NULL, NULL, NULL };
  int64_t count = fill_pool(n, none);
  KP_TRY(open_device(backend, &pool->device));
  kp_device_surfacer_init(&pool->on_device, pool->device);
  for (int c = 0; c < 3; ++c) {
    kp_buffer_init(&pool->x[c], pool->device);
  }
  pool->places = kp_alloc((size_t)count * 3 * sizeof(double), KP_MEMORY_TEST);
  if (pool->places == NULL) {
    return KP_ERROR_MEMORY;
  }
  double *const place[3] = { pool->places, pool->places + count, pool->places + 2 * count };
  (void)fill_pool(n, place);
  pool->cloud = (kp_cloud){ .n = count, .x = place[0], .y = place[1], .z = place[2] };
  double side = (double)n * SPACING;
  pool->how = (kp_surfacing){ .spacing = SPACING,
                              .voxel = 0.5 * SPACING,
                              .reach = 2.4,
                              .smooth = 2,
                              .dimension = 3,
                              .box = { kp_vec3_make(0, 0, 0), kp_vec3_make(side, side, side) } };
  for (int c = 0; c < 3 && pool->device != NULL; ++c) {
    KP_TRY(upload(&pool->x[c], KP_TYPE_POS, place[c], count, sizeof(kp_pos)));
  }
  return KP_OK;
}

static kp_result create_pool(const char *backend, int64_t size, void **self) {
  pool_case *pool = kp_alloc_zero(sizeof *pool, KP_MEMORY_TEST);
  *self = pool;
  if (pool == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_result result = make_pool(pool, backend, size);
  if (result != KP_OK) {
    destroy_pool(self);
  }
  return result;
}

static kp_result turn_pool(void *self) {
  pool_case *pool = self;
  if (pool->device == NULL) {
    KP_TRY(kp_surfacer_fill(&pool->surfacer, &pool->how, &pool->cloud));
    return kp_marching_blocks(&pool->surfacer.blocks, 0.0f, &pool->surface);
  }
  kp_device_cloud cloud = {
    .n = pool->cloud.n, .x = &pool->x[0], .y = &pool->x[1], .z = &pool->x[2]
  };
  KP_TRY(kp_device_surfacer_fill(&pool->on_device, &pool->how, &cloud));
  KP_TRY(kp_device_surfacer_march(&pool->on_device));
  return kp_wait(pool->device);
}

static int64_t count_pool(const void *self) {
  const pool_case *pool = self;
  return pool->cloud.n;
}

static double pool_bytes(const void *self) {
  const pool_case *pool = self;
  if (pool->device != NULL) {
    return (double)pool->device->counters.device_bytes / (double)pool->cloud.n;
  }
  double surface = mesh_bytes(pool->surface.n_vertices, pool->surface.n_triangles);
  double room = (double)kp_surfacer_bytes(&pool->surfacer);
  return 3 * sizeof(double) + (room + surface) / (double)pool->cloud.n;
}

const kp_case_turns kp_case_surface = { .create = create_pool,
                                        .turn = turn_pool,
                                        .count = count_pool,
                                        .bytes_each = pool_bytes,
                                        .destroy = destroy_pool };
