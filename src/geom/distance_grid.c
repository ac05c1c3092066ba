#include "geom/distance_grid.h"

#include <math.h>

#include "par/parallel.h"

#define CHUNK 256

typedef struct bake_job {
  const kp_shape *shape;
  const kp_distance_view *view;
  kp_real *out;
} bake_job;

static void bake(int64_t begin, int64_t end, void *context) {
  const bake_job *job = context;
  const kp_distance_view *v = job->view;
  for (int64_t t = begin; t < end; ++t) {
    int64_t i = t % v->n[0];
    int64_t j = t / v->n[0] % v->n[1];
    int64_t k = t / v->n[0] / v->n[1];
    kp_vec3 p = kp_vec3_make(v->lo[0] + v->cell * (double)i, v->lo[1] + v->cell * (double)j,
                             v->lo[2] + v->cell * (double)k);
    job->out[t] = (kp_real)kp_shape_distance(job->shape, p);
  }
}

kp_result kp_distance_grid_bake(kp_distance_grid *grid, kp_backend *backend, const kp_shape *shape,
                                double cell, double margin, const kp_aabb *room) {
  kp_aabb box = kp_shape_is_bounded(shape) ? kp_shape_bounds(shape) : *room;
  const double lo[3] = { box.min.x - margin, box.min.y - margin, box.min.z - margin };
  const double hi[3] = { box.max.x + margin, box.max.y + margin, box.max.z + margin };
  int dimension = shape->dimension;
  double longest = 0.0;
  for (int c = 0; c < dimension; ++c) {
    longest = fmax(longest, hi[c] - lo[c]);
  }
  kp_distance_view *v = &grid->view;
  v->cell = fmax(cell, longest / (KP_DISTANCE_CORNERS - 1));
  int64_t count = 1;
  for (int c = 0; c < 3; ++c) {
    bool is_flat = c == 2 && dimension == 2;
    v->n[c] = is_flat ? 1 : 1 + (int32_t)ceil((hi[c] - lo[c]) / v->cell);
    v->lo[c] = is_flat ? 0.0 : lo[c];
    count *= v->n[c];
  }
  kp_buffer_init(&grid->values, backend);
  grid->values.type = KP_TYPE_REAL;
  KP_TRY(kp_buffer_resize(&grid->values, (size_t)count * sizeof(kp_real)));
  bake_job job = { .shape = shape, .view = v };
  KP_TRY(kp_buffer_get(&grid->values, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)&job.out));
  kp_parallel_for(count, CHUNK, bake, &job);
  return KP_OK;
}

void kp_distance_grid_free(kp_distance_grid *grid) {
  kp_buffer_free(&grid->values);
}
