#include "geom/level_set_keys.h"

#include <math.h>

#include "geom/mesh_query.h"
#include "par/parallel.h"

#define CHUNK 256

kp_result kp_level_set_keys_init(kp_level_set_keys *keys, kp_aabb box, double cell, double start,
                                 double interval) {
  *keys = (kp_level_set_keys){ .start = start, .interval = interval };
  const double lo[3] = { box.min.x, box.min.y, box.min.z };
  const double hi[3] = { box.max.x, box.max.y, box.max.z };
  double longest = fmax(hi[0] - lo[0], fmax(hi[1] - lo[1], hi[2] - lo[2]));
  if (!(longest > 0.0) || !isfinite(longest) || !(interval > 0.0) || !(cell > 0.0)) {
    return kp_fail(KP_ERROR_ARGUMENT, "keys of a level set need a box, a cell and an interval");
  }
  keys->grid.cell = fmax(cell, longest / (KP_DISTANCE_CORNERS - 1));
  for (int c = 0; c < 3; ++c) {
    keys->grid.n[c] = 2 + (int32_t)ceil((hi[c] - lo[c]) / keys->grid.cell);
    keys->grid.lo[c] = lo[c];
  }
  return KP_OK;
}

void kp_level_set_keys_free(kp_level_set_keys *keys) {
  for (size_t k = 0; k < keys->keys.count; ++k) {
    kp_buffer_free(&keys->keys.data[k]);
  }
  kp_array_free(&keys->keys);
}

typedef struct bake_job {
  const kp_distance_view *grid;
  kp_key_fn solid;
  void *user;
  int64_t count;
  kp_real *out;
} bake_job;

static void bake(int64_t begin, int64_t end, void *context) {
  const bake_job *job = context;
  const kp_distance_view *g = job->grid;
  for (int64_t t = begin; t < end; ++t) {
    kp_vec3 p = kp_vec3_make(g->lo[0] + g->cell * (double)(t % g->n[0]),
                             g->lo[1] + g->cell * (double)(t / g->n[0] % g->n[1]),
                             g->lo[2] + g->cell * (double)(t / g->n[0] / g->n[1]));
    kp_vec3 v = { 0.0, 0.0, 0.0 };
    job->out[t] = (kp_real)job->solid(p, &v, job->user);
    job->out[job->count + t] = (kp_real)v.x;
    job->out[2 * job->count + t] = (kp_real)v.y;
    job->out[3 * job->count + t] = (kp_real)v.z;
  }
}

static int64_t corners(const kp_distance_view *g) {
  return (int64_t)g->n[0] * g->n[1] * g->n[2];
}

// Adds a key with room for its numbers.
static kp_result add_room(kp_level_set_keys *keys, kp_backend *backend, kp_real **out) {
  kp_buffer key;
  kp_buffer_init(&key, backend);
  key.type = KP_TYPE_REAL;
  size_t bytes = 4 * (size_t)corners(&keys->grid) * sizeof(kp_real);
  kp_result result = kp_buffer_resize(&key, bytes);
  if (result == KP_OK) {
    result = kp_buffer_get(&key, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, (void **)out);
  }
  if (result == KP_OK) {
    result = kp_array_push(&keys->keys, key);
  }
  if (result != KP_OK) {
    kp_buffer_free(&key);
  }
  return result;
}

kp_result kp_level_set_keys_add(kp_level_set_keys *keys, kp_backend *backend, kp_key_fn solid,
                                void *user) {
  bake_job job = {
    .grid = &keys->grid, .solid = solid, .user = user, .count = corners(&keys->grid)
  };
  KP_TRY(add_room(keys, backend, &job.out));
  kp_parallel_for(job.count, CHUNK, bake, &job);
  return KP_OK;
}

typedef struct mesh_solid {
  kp_mesh_query *query;
  const kp_vec3 *velocities;
} mesh_solid;

static double ask_mesh(kp_vec3 p, kp_vec3 *velocity, void *user) {
  const mesh_solid *m = user;
  kp_mesh_hit hit = kp_mesh_query_closest(m->query, p);
  if (m->velocities != NULL && hit.triangle >= 0) {
    const kp_triangle *t = &kp_mesh_query_mesh(m->query)->triangles[hit.triangle];
    for (int c = 0; c < 3; ++c) {
      *velocity = kp_vec3_madd(*velocity, hit.weights[c], m->velocities[t->v[c]]);
    }
  }
  return kp_mesh_query_winding(m->query, p) > 0.5 ? -hit.distance : hit.distance;
}

kp_result kp_level_set_key_of_mesh(const kp_distance_view *grid, const kp_mesh *mesh,
                                   const kp_vec3 *velocities, kp_real *out) {
  KP_TRY(kp_mesh_check_closed(mesh));
  kp_mesh copy;
  KP_TRY(kp_mesh_copy(mesh, &copy));
  mesh_solid solid = { .velocities = velocities };
  kp_result result = kp_mesh_query_create(&copy, &solid.query);
  if (result == KP_OK) {
    bake_job job = {
      .grid = grid, .solid = ask_mesh, .user = &solid, .count = corners(grid), .out = out
    };
    kp_parallel_for(job.count, CHUNK, bake, &job);
  }
  kp_mesh_query_destroy(&solid.query);
  kp_mesh_destroy(&copy);
  return result;
}

kp_result kp_level_set_keys_add_mesh(kp_level_set_keys *keys, kp_backend *backend,
                                     const kp_mesh *mesh, const kp_vec3 *velocities) {
  kp_real *out;
  KP_TRY(kp_mesh_check_closed(mesh));
  KP_TRY(add_room(keys, backend, &out));
  return kp_level_set_key_of_mesh(&keys->grid, mesh, velocities, out);
}

int64_t kp_level_set_keys_find(const kp_level_set_keys *keys, double time, double *alpha) {
  int64_t last = (int64_t)keys->keys.count - 1;
  double at = (time - keys->start) / keys->interval;
  if (last < 1 || at <= 0.0) {
    *alpha = 0.0;
    return 0;
  }
  int64_t n = at >= (double)last ? last - 1 : (int64_t)at;
  *alpha = at >= (double)last ? 1.0 : at - (double)n;
  return n;
}

kp_key_view kp_level_set_keys_at(kp_level_set_keys *keys, double time, kp_key_blend blend) {
  kp_key_view view = { .from = keys->grid,
                       .to = keys->grid,
                       .stride = corners(&keys->grid),
                       .interval = keys->interval,
                       .blend = (int32_t)blend };
  int64_t n = kp_level_set_keys_find(keys, time, &view.alpha);
  bool is_alone = keys->keys.count < 2;
  view.from.values = kp_buffer_host(&keys->keys.data[n], KP_ACCESS_READ);
  view.to.values = kp_buffer_host(&keys->keys.data[is_alone ? n : n + 1], KP_ACCESS_READ);
  view.interval = is_alone ? 0.0 : view.interval;
  return view;
}
