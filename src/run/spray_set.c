#include "run/spray_set.h"

#include "base/memory.h"

static kp_result get_component(kp_space *space, const char *name, int c, void **out) {
  kp_field *field = kp_space_find(space, name);
  return kp_buffer_get(&field->buffers[c], KP_SIDE_HOST, KP_ACCESS_READ, out);
}

static bool has_spray(const kp_spray_part *part) {
  bool any = false;
  for (int64_t i = 0; i < part->particles->n && !any; ++i) {
    any = part->share[i] >= KP_SPRAY_LEAST;
  }
  return any;
}

// Nothing of a part without spray is asked for: on a device its particles stay there.
static kp_result get_cloud(const kp_spray_part *part, kp_spray_cloud *out) {
  void *memory;
  *out = (kp_spray_cloud){ .n = has_spray(part) ? part->particles->n : 0, .share = part->share };
  if (out->n == 0) {
    return KP_OK;
  }
  for (int c = 0; c < 3; ++c) {
    KP_TRY(get_component(part->particles, "position", c, &memory));
    out->x[c] = memory;
    KP_TRY(get_component(part->particles, "velocity", c, &memory));
    out->velocity[c] = memory;
  }
  KP_TRY(get_component(part->particles, "id", 0, &memory));
  out->id = memory;
  return KP_OK;
}

// Room in the frame for all drops.
static kp_result make_room(kp_batch *batch, const char *name, int64_t n, kp_spray_drops *out) {
  static const char *const components[3] = { "x", "y", "z" };
  uint64_t count = (uint64_t)n;
  void *memory;
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_batch_room(batch, KP_ITEM_F32, count, "m", &memory, "set/spray of %s/position/%s",
                         name, components[c]));
    out->x[c] = memory;
  }
  for (int c = 0; c < 3; ++c) {
    KP_TRY(kp_batch_room(batch, KP_ITEM_F32, count, "m/s", &memory, "set/spray of %s/velocity/%s",
                         name, components[c]));
    out->velocity[c] = memory;
  }
  KP_TRY(kp_batch_room(batch, KP_ITEM_F32, count, "m", &memory, "set/spray of %s/radius/0", name));
  out->radius = memory;
  return KP_OK;
}

// Where the drops of each particle begin, and how many there are in all.
static kp_result count_part(const kp_spraying *how, const kp_spray_cloud *cloud, int64_t begin,
                            int64_t **first, int64_t *end) {
  *first = kp_alloc((size_t)(cloud->n + 1) * sizeof **first, KP_MEMORY_MESH);
  if (*first == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (int64_t i = 0; i < cloud->n; ++i) {
    (*first)[i] = begin;
    begin += kp_spray_count(how, cloud, i);
  }
  *end = begin;
  return KP_OK;
}

typedef struct spray_job {
  kp_spray_cloud *clouds;
  int64_t **first;  // by part, of each particle
} spray_job;

static kp_result add_drops(const kp_spraying *how, const char *name, const kp_spray_part *parts,
                           size_t n_parts, const spray_job *job, kp_batch *batch) {
  int64_t n = 0;
  kp_spray_drops drops;
  for (size_t p = 0; p < n_parts; ++p) {
    KP_TRY(get_cloud(&parts[p], &job->clouds[p]));
    KP_TRY(count_part(how, &job->clouds[p], n, &job->first[p], &n));
  }
  KP_TRY(make_room(batch, name, n, &drops));
  for (size_t p = 0; p < n_parts; ++p) {
    kp_spray_fill(how, &job->clouds[p], job->first[p], &drops);
  }
  return KP_OK;
}

kp_result kp_spray_set_add(const kp_spraying *how, const char *name, const kp_spray_part *parts,
                           size_t n_parts, kp_batch *batch) {
  spray_job job = { kp_alloc_zero(n_parts * sizeof *job.clouds, KP_MEMORY_MESH),
                    kp_alloc_zero(n_parts * sizeof *job.first, KP_MEMORY_MESH) };
  kp_result result = KP_ERROR_MEMORY;
  if (job.clouds != NULL && job.first != NULL) {
    result = add_drops(how, name, parts, n_parts, &job, batch);
  }
  for (size_t p = 0; job.first != NULL && p < n_parts; ++p) {
    kp_free(job.first[p]);
  }
  kp_free(job.first);
  kp_free(job.clouds);
  return result;
}
