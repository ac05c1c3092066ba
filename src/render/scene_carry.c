// Values of a liquid's particles or cells at the vertices of its surface.
#include <math.h>
#include <string.h>

#include "par/parallel.h"
#include "render/scene_parts.h"

#define REACH 2.5  // spacings: particles so near count
#define CHUNK 1024

// Particles by the cell of a hashed grid as wide as the reach: those of bucket b are
// order[first[b]] .. order[first[b + 1] - 1]. Strangers in a bucket are too far away to count.
typedef struct bag {
  uint64_t n, n_buckets;  // a power of two
  const double *x, *y, *z;
  const float *values;
  double reach;
  uint64_t *first, *order;
} bag;

static uint64_t bucket_of(const bag *b, int64_t i, int64_t j, int64_t k) {
  const uint64_t mixed =
      (uint64_t)i * 73856093u ^ (uint64_t)j * 19349663u ^ (uint64_t)k * 83492791u;
  return mixed & (b->n_buckets - 1);
}

static int64_t cell_of(const bag *b, double x) {
  const double cell = floor(x / b->reach);
  return fabs(cell) < 1e15 ? (int64_t)cell : 0;
}

static uint64_t bucket_at(const bag *b, uint64_t p) {
  return bucket_of(b, cell_of(b, b->x[p]), cell_of(b, b->y[p]), cell_of(b, b->z[p]));
}

static kp_result fill_bag(kp_frame_scene *s, bag *b) {
  b->n_buckets = 1;
  while (b->n_buckets < b->n) {
    b->n_buckets *= 2;
  }
  b->first = kp_scene_take(s, b->n_buckets + 2, sizeof *b->first);
  b->order = kp_scene_take(s, b->n, sizeof *b->order);
  if (b->first == NULL || b->order == NULL) {
    return KP_ERROR_MEMORY;
  }
  // counted two places on, so that filling moves each start to where it belongs
  for (uint64_t p = 0; p < b->n; ++p) {
    ++b->first[bucket_at(b, p) + 2];
  }
  for (uint64_t i = 2; i < b->n_buckets + 2; ++i) {
    b->first[i] += b->first[i - 1];
  }
  for (uint64_t p = 0; p < b->n; ++p) {
    b->order[b->first[bucket_at(b, p) + 1]++] = p;
  }
  return KP_OK;
}

typedef struct sums {
  double weight, value;
} sums;

static void add_bucket(const bag *b, uint64_t bucket, kp_vec3 at, sums *sum) {
  for (uint64_t i = b->first[bucket]; i < b->first[bucket + 1]; ++i) {
    const uint64_t p = b->order[i];
    const double dx = b->x[p] - at.x, dy = b->y[p] - at.y, dz = b->z[p] - at.z;
    const double q = (dx * dx + dy * dy + dz * dz) / (b->reach * b->reach);
    if (q < 1.0) {
      const double w = (1.0 - q) * (1.0 - q) * (1.0 - q);
      sum->weight += w;
      sum->value += w * (double)b->values[p];
    }
  }
}

// The mean around a vertex; two cells may share a bucket, which then counts once.
static float mean_at(const bag *b, kp_vec3 at) {
  sums sum = { 0 };
  uint64_t seen[27];
  int n = 0;
  for (int c = 0; c < 27; ++c) {
    const uint64_t bucket =
        bucket_of(b, cell_of(b, at.x) + c % 3 - 1, cell_of(b, at.y) + c / 3 % 3 - 1,
                  cell_of(b, at.z) + c / 9 - 1);
    bool is_new = true;
    for (int k = 0; k < n; ++k) {
      is_new = is_new && seen[k] != bucket;
    }
    if (is_new) {
      seen[n++] = bucket;
      add_bucket(b, bucket, at, &sum);
    }
  }
  return sum.weight > 0.0 ? (float)(sum.value / sum.weight) : 0.0f;
}

typedef struct carrying {
  const bag *from;
  const kp_vec3 *vertices;
  float *out;
} carrying;

static void carry(int64_t begin, int64_t end, void *context) {
  const carrying *c = context;
  for (int64_t i = begin; i < end; ++i) {
    c->out[i] = mean_at(c->from, c->vertices[i]);
  }
}

static const kp_frame_field *find_of_set(const kp_frame_set *set, const kp_frame_mesh *mesh,
                                         const char *name) {
  return kp_frame_is_surface_of(mesh, set->name) ? kp_frame_find_field(&set->fields, name) : NULL;
}

// The particles of all liquids inside the surface that have the field; none: b->n is 0.
static kp_result gather(kp_frame_scene *s, const kp_frame *frame, const kp_frame_mesh *mesh,
                        const char *name, bag *b) {
  double *x[3], spacing = 0.0;
  for (size_t i = 0; i < frame->n_sets; ++i) {
    const kp_frame_set *set = &frame->sets[i];
    bool has_field = find_of_set(set, mesh, name) != NULL;
    b->n += has_field ? set->count : 0;
    spacing = has_field && set->count > 0 ? fmax(spacing, 2.0 * kp_frame_set_radius(set)) : spacing;
  }
  b->reach = REACH * spacing;
  for (int c = 0; c < 3; ++c) {
    x[c] = kp_scene_take(s, b->n, sizeof *x[c]);
    if (x[c] == NULL) {
      return KP_ERROR_MEMORY;
    }
  }
  float *values = kp_scene_take(s, b->n, sizeof *values);
  if (values == NULL) {
    return KP_ERROR_MEMORY;
  }
  uint64_t n = 0;
  for (size_t i = 0; i < frame->n_sets; ++i) {
    const kp_frame_set *set = &frame->sets[i];
    const kp_frame_field *field = find_of_set(set, mesh, name), *position;
    if (field == NULL) {
      continue;
    }
    const kp_scene_element e = { "set", set->name, &set->fields, NULL, set->count };
    const float *own;
    position = kp_frame_find_field(&set->fields, "position");
    KP_TRY(kp_scene_field_as_scalar(s, &e, field, &own));
    memcpy(values + n, own, set->count * sizeof *own);
    for (int c = 0; c < 3; ++c) {
      kp_frame_to_double(position, c, x[c] + n);
    }
    n += set->count;
  }
  b->x = x[0];
  b->y = x[1];
  b->z = x[2];
  b->values = values;
  return KP_OK;
}

// Between the middles of cells; beyond the last ones the nearest counts.
static float sample(const kp_frame_volume *volume, const float *values, kp_vec3 at) {
  const double p[3] = { at.x - volume->origin.x, at.y - volume->origin.y, at.z - volume->origin.z };
  const uint64_t stride[3] = { 1, volume->dims[0], volume->dims[0] * volume->dims[1] };
  uint64_t step[3], first = 0;
  double part[3], sum = 0.0;
  for (int c = 0; c < 3; ++c) {
    const double last = (double)(volume->dims[c] - 1);
    const double u = fmin(fmax(p[c] / volume->spacing - 0.5, 0.0), last);
    part[c] = u - floor(u);
    step[c] = u < last ? stride[c] : 0;
    first += (uint64_t)u * stride[c];
  }
  for (int corner = 0; corner < 8; ++corner) {
    uint64_t cell = first;
    double w = 1.0;
    for (int c = 0; c < 3; ++c) {
      bool is_high = (corner >> c & 1) != 0;
      cell += is_high ? step[c] : 0;
      w *= is_high ? part[c] : 1.0 - part[c];
    }
    sum += w * (double)values[cell];
  }
  return (float)sum;
}

static kp_result carry_cells(kp_frame_scene *s, const kp_frame_volume *volume, const char *name,
                             const kp_frame_mesh *mesh, float *out) {
  const kp_scene_element e = { "volume", volume->name, &volume->fields, NULL,
                               volume->dims[0] * volume->dims[1] * volume->dims[2] };
  const float *values;
  KP_TRY(kp_scene_field_as_scalar(s, &e, kp_frame_find_field(&volume->fields, name), &values));
  for (uint64_t i = 0; i < mesh->n_vertices; ++i) {
    out[i] = sample(volume, values, mesh->vertices[i]);
  }
  return KP_OK;
}

static const kp_frame_volume *find_volume(const kp_frame *frame, const kp_frame_mesh *mesh,
                                          const char *name) {
  for (size_t i = 0; i < frame->n_volumes; ++i) {
    const kp_frame_volume *volume = &frame->volumes[i];
    if (kp_frame_is_surface_of(mesh, volume->name) && volume->dims[0] > 0 &&
        kp_frame_find_field(&volume->fields, name) != NULL) {
      return volume;
    }
  }
  return NULL;
}

kp_result kp_scene_carry(kp_frame_scene *s, const kp_frame *frame, const kp_frame_mesh *mesh,
                         const char *name, const float **out) {
  bag b = { 0 };
  *out = NULL;
  KP_TRY(gather(s, frame, mesh, name, &b));
  const kp_frame_volume *volume = b.n == 0 ? find_volume(frame, mesh, name) : NULL;
  if (b.n == 0 && volume == NULL) {
    return KP_OK;
  }
  float *values = kp_scene_take(s, mesh->n_vertices, sizeof *values);
  if (values == NULL) {
    return KP_ERROR_MEMORY;
  }
  *out = values;
  if (volume != NULL) {
    return carry_cells(s, volume, name, mesh, values);
  }
  KP_TRY(fill_bag(s, &b));
  carrying c = { &b, mesh->vertices, values };
  kp_parallel_for((int64_t)mesh->n_vertices, CHUNK, carry, &c);
  return KP_OK;
}
