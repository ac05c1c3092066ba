#include "base/memory.h"
#include "cases/cases.h"
#include "geom/marching_cubes.h"

#define RADIUS 0.3255  // of the ball, in sides of the lattice

typedef struct ball_case {
  kp_lattice lattice;
  kp_isosurface surface;
  float *values;
} ball_case;

static kp_result create_ball(const char *backend, int64_t size, void **self) {
  (void)backend;  // surfaces are made on the host
  ball_case *ball = kp_alloc_zero(sizeof *ball, KP_MEMORY_TEST);
  *self = ball;
  if (ball == NULL) {
    return KP_ERROR_MEMORY;
  }
  int32_t n = (int32_t)size;
  ball->values = kp_alloc((size_t)(size * size * size) * sizeof(float), KP_MEMORY_TEST);
  if (ball->values == NULL) {
    kp_free(ball);
    *self = NULL;
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
  return KP_OK;
}

static kp_result turn_ball(void *self) {
  ball_case *ball = self;
  return kp_marching_cubes(&ball->lattice, 0.0f, &ball->surface);
}

static int64_t count_ball(const void *self) {
  const ball_case *ball = self;
  int64_t n = ball->lattice.n[0];
  return n * n * n;
}

static double ball_bytes(const void *self) {
  const ball_case *ball = self;
  double surface = (double)ball->surface.n_vertices * (sizeof(kp_vec3) + 3 * sizeof(float)) +
                   (double)ball->surface.n_triangles * 3 * sizeof(uint32_t);
  return sizeof(float) + 0.125 + surface / (double)count_ball(self);
}

static void destroy_ball(void **self) {
  ball_case *ball = *self;
  kp_isosurface_free(&ball->surface);
  kp_free(ball->values);
  kp_free(ball);
  *self = NULL;
}

const kp_case_turns kp_case_marching_cubes = { .create = create_ball,
                                               .turn = turn_ball,
                                               .count = count_ball,
                                               .bytes_each = ball_bytes,
                                               .destroy = destroy_ball };
