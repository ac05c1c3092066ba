#include "data/probe.h"

#include <math.h>
#include <string.h>

#include "data/probe_kernels.h"
#include "par/kernel_define.h"

PROBE_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

const char *const kp_probe_watched[KP_PROBE_WATCHED] = { "pressure", "density", "temperature" };

void kp_probe_put(const double watched[KP_PROBE_WATCHED], kp_probe_value *out) {
  out->pressure = watched[0];
  out->density = watched[1];
  out->temperature = watched[2];
}

static kp_result make_points(kp_probe *p, const kp_vec3 *points, int64_t n) {
  kp_backend *backend = p->seen.space->backend;
  kp_field_desc count = { "count", KP_TYPE_REAL, 1, "", 0, 0.0 };
  kp_field_desc speed = { "speed", KP_TYPE_REAL, 1, "m/s", 0, 0.0 };
  kp_field_desc centre = { "centre", KP_TYPE_REAL, 3, "m", 0, 0.0 };
  KP_TRY(kp_registry_create(backend, &p->registry));
  KP_TRY(kp_set_create(p->registry, "points", KP_SET_TIED, p->seen.dimension, &p->points));
  KP_TRY(kp_space_add_field(p->points->space, &count, &p->count));
  KP_TRY(kp_space_add_field(p->points->space, &speed, &p->speed));
  KP_TRY(kp_space_add_field(p->points->space, &centre, &p->centre));
  KP_TRY(kp_set_add(p->points, n, points, NULL));
  KP_TRY(kp_cells_create(p->points, p->radius, &p->point_cells));
  KP_TRY(kp_cells_build(p->point_cells, NULL));
  return kp_cells_create(&p->seen, p->radius, &p->seen_cells);
}

kp_result kp_probe_create(kp_probe_kind kind, kp_space *space, int dimension, const kp_vec3 *points,
                          int64_t n, double radius, kp_probe **out) {
  kp_probe *p = kp_alloc_zero(sizeof *p, KP_MEMORY_WORLD);
  if (p == NULL) {
    return KP_ERROR_MEMORY;
  }
  p->kind = kind;
  p->radius = radius;
  p->particle = -1;
  p->seen = (kp_set){ .kind = KP_SET_TIED,
                      .dimension = dimension,
                      .space = space,
                      .position = kp_space_find(space, "position"),
                      .velocity = kp_space_find(space, "velocity"),
                      .id = kp_space_find(space, "id") };
  kp_result result = KP_OK;
  if (p->seen.position == NULL || p->seen.velocity == NULL || p->seen.id == NULL) {
    result = kp_fail(KP_ERROR_ARGUMENT, "\"%s\" holds nothing that moves", space->name);
  } else if (kind != KP_PROBE_TRACK) {
    result = make_points(p, points, n);
  }
  if (result != KP_OK) {
    kp_probe_destroy(&p);
    return result;
  }
  *out = p;
  return KP_OK;
}

void kp_probe_destroy(kp_probe **probe) {
  kp_probe *p = *probe;
  if (p != NULL) {
    kp_cells_destroy(&p->seen_cells);
    kp_cells_destroy(&p->point_cells);
    kp_set_destroy(&p->points);
    kp_registry_destroy(&p->registry);
    kp_free(p);
    *probe = NULL;
  }
}

int64_t kp_probe_count(const kp_probe *probe) {
  return probe->kind == KP_PROBE_TRACK ? 1 : probe->points->space->n;
}

kp_result kp_probe_watch(kp_probe *p) {
  static const char *const units[KP_PROBE_WATCHED] = { "Pa", "kg/m^3", "K" };
  static const kp_field_desc values = { "values", KP_TYPE_REAL, 3, "", 0, 0.0 };
  static const kp_field_desc spare = { "spare", KP_TYPE_REAL, 1, "", 0, 0.0 };
  bool any = false;
  for (int w = 0; w < KP_PROBE_WATCHED; ++w) {
    kp_field *field = kp_space_find(p->seen.space, kp_probe_watched[w]);
    // pressures over a density and densities that count neighbours have other units
    bool fits = field != NULL && field->components == 1 && field->type == KP_TYPE_REAL &&
                strcmp(field->unit, units[w]) == 0;
    p->watched[w] = fits ? field : NULL;
    any = any || fits;
  }
  if (!any || p->kind == KP_PROBE_TRACK) {
    return KP_OK;
  }
  KP_TRY(kp_space_add_field(p->points->space, &values, &p->values));
  return kp_space_add_field(p->points->space, &spare, &p->spare);
}

// Three numbers of every element, their means or fits at the points, and the means of their length.
typedef struct probe_pass {
  kp_buffer *from[3];
  kp_field *to, *speed;
} probe_pass;

static kp_result pass(kp_probe *p, const probe_pass *what, const kp_kernel *kernel, kp_access means,
                      kp_pair_job *job) {
  probe_args a = { .radius2 = (kp_real)(p->radius * p->radius), .dimension = p->seen.dimension };
  kp_call call;
  kp_call_init(&call, kernel, &a);
  KP_BIND(&call, &a, j_vx, what->from[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, j_vy, what->from[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, j_vz, what->from[2], KP_ACCESS_READ);
  KP_BIND(&call, &a, count, &p->count->buffers[0], KP_ACCESS_OVERWRITE);
  KP_BIND3(&call, &a, v, what->to, means);
  KP_BIND3(&call, &a, c, p->centre, means);
  KP_BIND(&call, &a, speed, &what->speed->buffers[0], KP_ACCESS_OVERWRITE);
  return kp_call_pairs(p->seen.space->backend, &call, job);
}

static kp_result both_passes(kp_probe *p, const probe_pass *what, kp_pair_job *job) {
  KP_TRY(pass(p, what, &probe_mean_kernel, KP_ACCESS_OVERWRITE, job));
  return p->kind == KP_PROBE_FIT ? pass(p, what, &probe_fit_kernel, KP_ACCESS_WRITE, job) : KP_OK;
}

static kp_result look_around(kp_probe *p) {
  kp_pair_job job;
  kp_buffer *v = p->seen.velocity->buffers;
  KP_TRY(kp_cells_build(p->seen_cells, NULL));
  KP_TRY(kp_pair_job_make(p->point_cells, p->seen_cells, p->radius, &job));
  if (p->values != NULL) {
    probe_pass watched = { .to = p->values, .speed = p->spare };
    for (int w = 0; w < KP_PROBE_WATCHED; ++w) {
      watched.from[w] = p->watched[w] != NULL ? &p->watched[w]->buffers[0] : &v[w];
    }
    KP_TRY(both_passes(p, &watched, &job));
  }
  const probe_pass velocity = { { &v[0], &v[1], &v[2] }, p->points->velocity, p->speed };
  return both_passes(p, &velocity, &job);
}

// What is watched, at each point; NaN where the set has no such field or no element is near.
static kp_result read_watched(kp_probe *p, kp_probe_value *out) {
  const kp_real *in[KP_PROBE_WATCHED];
  for (int w = 0; w < KP_PROBE_WATCHED; ++w) {
    in[w] = p->values != NULL && p->watched[w] != NULL
                ? kp_buffer_host(&p->values->buffers[w], KP_ACCESS_READ)
                : NULL;
  }
  for (int64_t i = 0; i < p->points->space->n; ++i) {
    double watched[KP_PROBE_WATCHED];
    for (int w = 0; w < KP_PROBE_WATCHED; ++w) {
      watched[w] = in[w] != NULL && out[i].count > 0.0 ? (double)in[w][i] : (double)NAN;
    }
    kp_probe_put(watched, &out[i]);
  }
  return KP_OK;
}

static kp_result read_points(kp_probe *p, kp_probe_value *out) {
  const kp_real *count = kp_buffer_host(&p->count->buffers[0], KP_ACCESS_READ);
  const kp_real *speed = kp_buffer_host(&p->speed->buffers[0], KP_ACCESS_READ);
  const kp_pos *x[3];
  const kp_real *v[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_buffer_host(&p->points->position->buffers[c], KP_ACCESS_READ);
    v[c] = kp_buffer_host(&p->points->velocity->buffers[c], KP_ACCESS_READ);
    if (count == NULL || speed == NULL || x[c] == NULL || v[c] == NULL) {
      return KP_ERROR_MEMORY;
    }
  }
  for (int64_t i = 0; i < p->points->space->n; ++i) {
    out[i] = (kp_probe_value){
      .position = kp_vec3_make(x[0][i], x[1][i], x[2][i]),
      .count = (double)count[i],
      .velocity = kp_vec3_make((double)v[0][i], (double)v[1][i], (double)v[2][i]),
      .speed = (double)speed[i],
      .height = NAN,
    };
  }
  return read_watched(p, out);
}

static kp_result track(kp_probe *p, kp_probe_value *out) {
  probe_track_args a = { .all = p->particle < 0, .wanted = (uint64_t)p->particle };
  double v[8];
  kp_call call;
  kp_call_init(&call, &probe_track_kernel, &a);
  KP_BIND(&call, &a, id, &p->seen.id->buffers[0], KP_ACCESS_READ);
  KP_BIND3(&call, &a, , p->seen.position, KP_ACCESS_READ);
  KP_BIND3(&call, &a, v, p->seen.velocity, KP_ACCESS_READ);
  KP_TRY(kp_call_reduce(p->seen.space->backend, &call, p->seen.space->n, v));
  double share = v[0] > 0.0 ? 1.0 / v[0] : 0.0;
  *out = (kp_probe_value){
    .position = kp_vec3_make(share * v[1], share * v[2], share * v[3]),
    .count = v[0],
    .velocity = kp_vec3_make(share * v[4], share * v[5], share * v[6]),
    .speed = share * v[7],
    .height = NAN,
  };
  kp_probe_put((const double[]){ NAN, NAN, NAN }, out);
  return KP_OK;
}

kp_result kp_probe_look(kp_probe *probe, kp_probe_value *out) {
  if (probe->kind == KP_PROBE_TRACK) {
    return track(probe, out);
  }
  KP_TRY(look_around(probe));
  return read_points(probe, out);
}
