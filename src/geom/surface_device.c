#include "geom/surface_device.h"

#include <string.h>

#include "base/assert.h"
#include "data/call.h"
#include "geom/surface_kernels.h"
#include "par/kernel_define.h"

SURFACE_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

#define N_BUFFERS 16

static void list_buffers(kp_device_surfacer *s, kp_buffer *out[N_BUFFERS]) {
  kp_buffer *const all[N_BUFFERS] = { &s->keys,  &s->order,    &s->counts, &s->candidates,
                                      &s->ranks, &s->numbers,  &s->starts, &s->near,
                                      &s->moved, &s->home,     &s->drops,  &s->attributes,
                                      &s->other, &s->averages, &s->spray,  NULL };
  memcpy(out, all, sizeof all);
}

void kp_device_surfacer_init(kp_device_surfacer *s, kp_backend *backend) {
  kp_buffer *all[N_BUFFERS];
  *s = (kp_device_surfacer){ .backend = backend };
  list_buffers(s, all);
  for (int k = 0; all[k] != NULL; ++k) {
    kp_buffer_init(all[k], backend);
  }
  kp_device_blocks_init(&s->blocks, backend);
  kp_device_mesh_init(&s->mesh, backend);
}

void kp_device_surfacer_free(kp_device_surfacer *s) {
  kp_buffer *all[N_BUFFERS];
  list_buffers(s, all);
  for (int k = 0; all[k] != NULL; ++k) {
    kp_buffer_free(all[k]);
  }
  kp_device_blocks_free(&s->blocks);
  kp_device_mesh_free(&s->mesh);
  kp_surfacer_free(&s->plan);
}

#define BIND_PLACES(call, a, cloud)                                                                \
  KP_BIND(call, a, x, (cloud)->x, KP_ACCESS_READ);                                                 \
  KP_BIND(call, a, y, (cloud)->y, KP_ACCESS_READ);                                                 \
  KP_BIND(call, a, z, (cloud)->z, KP_ACCESS_READ)

// ---- particles into blocks

static kp_result find_bounds(kp_device_surfacer *s, const kp_device_cloud *cloud, kp_aabb *out) {
  surface_bounds_args a = { 0 };
  double v[6];
  kp_call call;
  kp_call_init(&call, &surface_bounds_kernel, &a);
  BIND_PLACES(&call, &a, cloud);
  KP_TRY(kp_call_reduce(s->backend, &call, cloud->n, v));
  out->min = kp_vec3_make(v[0], v[1], v[2]);
  out->max = kp_vec3_make(v[3], v[4], v[5]);
  return KP_OK;
}

static int count_bits(uint64_t most) {
  int bits = 1;
  while (bits < 64 && most >> bits != 0) {
    ++bits;
  }
  return bits;
}

static kp_result sort_numbers(kp_device_surfacer *s, kp_buffer *keys, kp_buffer *values, int64_t n,
                              uint64_t most) {
  void *k, *v;
  KP_TRY(kp_buffer_get(keys, KP_SIDE_DEVICE, KP_ACCESS_WRITE, &k));
  KP_TRY(kp_buffer_get(values, KP_SIDE_DEVICE, KP_ACCESS_WRITE, &v));
  return kp_sort64(s->backend, k, v, n, count_bits(most));
}

// How many different numbers there are; s->counts tells for each how many came before.
static kp_result count_numbers(kp_device_surfacer *s, kp_buffer *keys, int64_t n, uint64_t none,
                               uint32_t *out) {
  surface_heads_args a = { .none = none };
  kp_call call;
  KP_TRY(kp_device_resize(&s->counts, KP_TYPE_U32, n + 1, sizeof(uint32_t)));
  kp_call_init(&call, &surface_heads_kernel, &a);
  KP_BIND(&call, &a, keys, keys, KP_ACCESS_READ);
  KP_BIND(&call, &a, is_head, &s->counts, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(s->backend, &call, n));
  return kp_device_scan(&s->counts, n, out);
}

static kp_result sort_particles(kp_device_surfacer *s, const kp_device_cloud *cloud,
                                const surface_span *span, uint32_t *n_bins) {
  surface_keys_args a = { .span = *span };
  kp_call call;
  KP_TRY(kp_device_resize(&s->keys, KP_TYPE_U64, cloud->n, sizeof(uint64_t)));
  KP_TRY(kp_device_resize(&s->order, KP_TYPE_U32, cloud->n, sizeof(uint32_t)));
  kp_call_init(&call, &surface_keys_kernel, &a);
  BIND_PLACES(&call, &a, cloud);
  KP_BIND(&call, &a, keys, &s->keys, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, order, &s->order, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(s->backend, &call, cloud->n));
  KP_TRY(sort_numbers(s, &s->keys, &s->order, cloud->n, span->none));
  return count_numbers(s, &s->keys, cloud->n, span->none, n_bins);
}

// ---- blocks

static kp_result size_blocks(kp_device_surfacer *s) {
  kp_device_blocks *b = &s->blocks;
  int64_t n = b->shape.n;
  KP_TRY(kp_device_resize(&s->numbers, KP_TYPE_U64, n, sizeof(uint64_t)));
  KP_TRY(kp_device_resize(&s->starts, KP_TYPE_U32, n + 1, sizeof(uint32_t)));
  KP_TRY(kp_device_resize(&b->keys, KP_TYPE_U64, n, sizeof(uint64_t)));
  KP_TRY(kp_device_resize(&b->at, KP_TYPE_I32, 3 * n, sizeof(int32_t)));
  KP_TRY(kp_device_resize(&b->around, KP_TYPE_I32, KP_BLOCK_AROUND * n, sizeof(int32_t)));
  KP_TRY(kp_device_resize(&b->slots, KP_TYPE_I32, n, sizeof(int32_t)));
  KP_TRY(kp_device_resize(&b->deep, KP_TYPE_U8, n, 1));
  return kp_device_resize(&b->calm, KP_TYPE_U8, n, 1);
}

// Blocks with particles and all around them, each once.
static kp_result make_blocks(kp_device_surfacer *s, const surface_span *span, int64_t n_particles,
                             uint32_t n_bins) {
  int64_t n = (int64_t)n_bins * KP_BLOCK_AROUND;
  kp_call call;
  KP_TRY(kp_device_resize(&s->candidates, KP_TYPE_U64, n, sizeof(uint64_t)));
  KP_TRY(kp_device_resize(&s->ranks, KP_TYPE_U32, n, sizeof(uint32_t)));
  surface_spread_args spread = { .span = *span };
  kp_call_init(&call, &surface_spread_kernel, &spread);
  KP_BIND(&call, &spread, keys, &s->keys, KP_ACCESS_READ);
  KP_BIND(&call, &spread, bins, &s->counts, KP_ACCESS_READ);
  KP_BIND(&call, &spread, out, &s->candidates, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &spread, rank, &s->ranks, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(s->backend, &call, n_particles));
  KP_TRY(sort_numbers(s, &s->candidates, &s->ranks, n, span->none));
  uint32_t n_blocks;
  KP_TRY(count_numbers(s, &s->candidates, n, span->none, &n_blocks));
  if (n_blocks >= INT32_MAX) {
    return kp_fail(KP_ERROR_ARGUMENT, "a surface of %u blocks is too large", n_blocks);
  }
  s->blocks.shape.n = n_blocks;
  KP_TRY(size_blocks(s));
  surface_blocks_args blocks = { .span = *span };
  kp_call_init(&call, &surface_blocks_kernel, &blocks);
  KP_BIND(&call, &blocks, sorted, &s->candidates, KP_ACCESS_READ);
  KP_BIND(&call, &blocks, blocks, &s->counts, KP_ACCESS_READ);
  KP_BIND(&call, &blocks, numbers, &s->numbers, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &blocks, keys, &s->blocks.keys, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &blocks, at, &s->blocks.at, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(s->backend, &call, n));
  surface_around_args around = { .n = n_blocks };
  kp_call_init(&call, &surface_around_kernel, &around);
  KP_BIND(&call, &around, keys, &s->blocks.keys, KP_ACCESS_READ);
  KP_BIND(&call, &around, around, &s->blocks.around, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(s->backend, &call, (int64_t)n_blocks * KP_BLOCK_AROUND));
  surface_starts_args starts = { .n_blocks = n_blocks,
                                 .n_particles = n_particles,
                                 .none = span->none };
  kp_call_init(&call, &surface_starts_kernel, &starts);
  KP_BIND(&call, &starts, numbers, &s->numbers, KP_ACCESS_READ);
  KP_BIND(&call, &starts, keys, &s->keys, KP_ACCESS_READ);
  KP_BIND(&call, &starts, starts, &s->starts, KP_ACCESS_OVERWRITE);
  return kp_call_run(s->backend, &call, (int64_t)n_blocks + 1);
}

// Which blocks have samples.
static kp_result store_blocks(kp_device_surfacer *s) {
  kp_device_blocks *b = &s->blocks;
  kp_call call;
  KP_TRY(kp_device_resize(&s->counts, KP_TYPE_U32, b->shape.n + 1, sizeof(uint32_t)));
  surface_know_args know = { .b = b->shape, .room = kp_surfacer_room(&s->plan) };
  kp_call_init(&call, &surface_know_kernel, &know);
  KP_BIND(&call, &know, b.at, &b->at, KP_ACCESS_READ);
  KP_BIND(&call, &know, b.around, &b->around, KP_ACCESS_READ);
  KP_BIND(&call, &know, starts, &s->starts, KP_ACCESS_READ);
  KP_BIND(&call, &know, b.deep, &b->deep, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &know, is_stored, &s->counts, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(s->backend, &call, b->shape.n));
  uint32_t n_stored;
  KP_TRY(kp_device_scan(&s->counts, b->shape.n, &n_stored));
  b->shape.n_stored = n_stored;
  int64_t volume = kp_blocks_volume(&b->shape);
  kp_type real = KP_TYPE_F32;
  KP_TRY(kp_device_resize(&b->stored, KP_TYPE_I32, n_stored, sizeof(int32_t)));
  KP_TRY(kp_device_resize(&b->values, real, n_stored * volume, sizeof(float)));
  KP_TRY(kp_device_resize(&s->other, real, n_stored * volume, sizeof(float)));
  surface_store_args store = { .b = b->shape };
  kp_call_init(&call, &surface_store_kernel, &store);
  KP_BIND(&call, &store, b.around, &b->around, KP_ACCESS_READ);
  KP_BIND(&call, &store, b.deep, &b->deep, KP_ACCESS_READ);
  KP_BIND(&call, &store, places, &s->counts, KP_ACCESS_READ);
  KP_BIND(&call, &store, b.slots, &b->slots, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &store, b.calm, &b->calm, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &store, b.stored, &b->stored, KP_ACCESS_OVERWRITE);
  return kp_call_run(s->backend, &call, b->shape.n);
}

// ---- particles

static double inverse_reach(const kp_device_surfacer *s) {
  return 1.0 / (s->plan.how.reach * s->plan.how.spacing);
}

static kp_result place_particles(kp_device_surfacer *s, const kp_device_cloud *cloud,
                                 uint64_t none) {
  surface_place_args a = { .b = s->blocks.shape,
                           .scale = inverse_reach(s),
                           .room = cloud->n,
                           .dimension = s->plan.how.dimension,
                           .none = none };
  kp_call call;
  KP_TRY(kp_device_resize(&s->near, KP_TYPE_F32, KP_SURFACE_NEAR * cloud->n, sizeof(float)));
  KP_TRY(kp_device_resize(&s->home, KP_TYPE_U32, cloud->n, sizeof(uint32_t)));
  kp_call_init(&call, &surface_place_kernel, &a);
  BIND_PLACES(&call, &a, cloud);
  KP_BIND(&call, &a, size, cloud->size, KP_ACCESS_READ);
  KP_BIND(&call, &a, keys, &s->keys, KP_ACCESS_READ);
  KP_BIND(&call, &a, numbers, &s->numbers, KP_ACCESS_READ);
  KP_BIND(&call, &a, order, &s->order, KP_ACCESS_READ);
  KP_BIND(&call, &a, b.at, &s->blocks.at, KP_ACCESS_READ);
  KP_BIND(&call, &a, near, &s->near, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, home, &s->home, KP_ACCESS_OVERWRITE);
  return kp_call_run(s->backend, &call, cloud->n);
}

static surface_cloud cloud_of(const kp_device_surfacer *s, int64_t n) {
  const kp_blocks *b = &s->blocks.shape;
  double reach = s->plan.how.reach * s->plan.how.spacing;
  return (surface_cloud){ .room = n, .edge = (float)(b->edge * b->spacing / reach) };
}

#define BIND_CLOUD(call, a, s, centres)                                                            \
  KP_BIND(call, a, c.near, centres, KP_ACCESS_READ);                                               \
  KP_BIND(call, a, c.starts, &(s)->starts, KP_ACCESS_READ);                                        \
  KP_BIND(call, a, c.home, &(s)->home, KP_ACCESS_READ)

#define BIND_BESIDE(call, a, s)                                                                    \
  KP_BIND(call, a, b.around, &(s)->blocks.around, KP_ACCESS_READ);                                 \
  KP_BIND(call, a, b.deep, &(s)->blocks.deep, KP_ACCESS_READ);                                     \
  BIND_CLOUD(call, a, s, &(s)->near)

// Something of each particle from its neighbours.
static kp_result look_around(kp_device_surfacer *s, const kp_kernel *kernel, kp_buffer *out,
                             int64_t n) {
  surface_particle_args a = { .b = s->blocks.shape,
                              .c = cloud_of(s, n),
                              .numbers = s->plan.numbers };
  kp_call call;
  kp_call_init(&call, kernel, &a);
  BIND_BESIDE(&call, &a, s);
  KP_BIND(&call, &a, out, out, KP_ACCESS_OVERWRITE);
  return kp_call_run(s->backend, &call, n);
}

// The value of each particle that its neighbours look at next.
static kp_result keep_values(kp_device_surfacer *s, kp_buffer *values, int64_t n) {
  void *from, *to;
  size_t size = (size_t)n * sizeof(float);
  KP_TRY(kp_buffer_get(values, KP_SIDE_DEVICE, KP_ACCESS_READ, &from));
  KP_TRY(kp_buffer_get(&s->near, KP_SIDE_DEVICE, KP_ACCESS_WRITE, &to));
  return kp_copy(s->backend, (char *)to + KP_SURFACE_VALUE * size, from, size);
}

static kp_result prepare_values(kp_device_surfacer *s, int64_t n) {
  double largest;
  kp_call call;
  KP_TRY(kp_device_resize(&s->attributes, KP_TYPE_F32, n, sizeof(float)));
  KP_TRY(look_around(s, &surface_offsets_kernel, &s->attributes, n));
  KP_TRY(keep_values(s, &s->attributes, n));
  KP_TRY(look_around(s, &surface_ratios_kernel, &s->attributes, n));
  surface_largest_args most = { 0 };
  kp_call_init(&call, &surface_largest_kernel, &most);
  KP_BIND(&call, &most, ratio, &s->attributes, KP_ACCESS_READ);
  KP_TRY(kp_call_reduce(s->backend, &call, n, &largest));
  surface_shares_args a = { .kind = (int32_t)s->plan.how.field };
  a.largest = kp_surface_largest(s->plan.how.dimension, (float)largest);
  kp_call_init(&call, &surface_shares_kernel, &a);
  KP_BIND(&call, &a, ratio, &s->attributes, KP_ACCESS_WRITE);
  return kp_call_run(s->backend, &call, n);
}

static kp_result prepare_radii(kp_device_surfacer *s, int64_t n) {
  surface_radii_args a = { .room = n };
  kp_call call;
  KP_TRY(kp_device_resize(&s->attributes, KP_TYPE_F32, n, sizeof(float)));
  kp_call_init(&call, &surface_radii_kernel, &a);
  KP_BIND(&call, &a, near, &s->near, KP_ACCESS_READ);
  KP_BIND(&call, &a, out, &s->attributes, KP_ACCESS_OVERWRITE);
  return kp_call_run(s->backend, &call, n);
}

static kp_result prepare_ellipsoids(kp_device_surfacer *s, int64_t n) {
  kp_type real = KP_TYPE_F32;
  KP_TRY(kp_device_resize(&s->moved, real, 3 * n, sizeof(float)));
  KP_TRY(kp_device_resize(&s->attributes, real, n, sizeof(float)));
  KP_TRY(look_around(s, &surface_depths_kernel, &s->attributes, n));
  KP_TRY(keep_values(s, &s->attributes, n));
  KP_TRY(kp_device_resize(&s->attributes, real, KP_SURFACE_ATTRIBUTES * n, sizeof(float)));
  surface_ellipsoids_args a = { .b = s->blocks.shape,
                                .c = cloud_of(s, n),
                                .numbers = s->plan.numbers };
  kp_call call;
  kp_call_init(&call, &surface_ellipsoids_kernel, &a);
  BIND_BESIDE(&call, &a, s);
  KP_BIND(&call, &a, attributes, &s->attributes, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, moved, &s->moved, KP_ACCESS_OVERWRITE);
  bool has_spray = kp_surfacing_has_spray(&s->plan.how);
  if (has_spray) {
    KP_TRY(kp_device_resize(&s->spray, real, n, sizeof(float)));
  }
  KP_BIND(&call, &a, b.at, has_spray ? &s->blocks.at : NULL, KP_ACCESS_READ);
  KP_BIND(&call, &a, order, has_spray ? &s->order : NULL, KP_ACCESS_READ);
  KP_BIND(&call, &a, spray, has_spray ? &s->spray : NULL, KP_ACCESS_OVERWRITE);
  return kp_call_run(s->backend, &call, n);
}

static kp_result prepare(kp_device_surfacer *s, int64_t n) {
  switch (s->plan.how.field) {
  case KP_SURFACE_ANISOTROPIC:
    return prepare_ellipsoids(s, n);
  case KP_SURFACE_LITERAL:
  case KP_SURFACE_SHRINK:
  case KP_SURFACE_WEIGHT:
    return prepare_values(s, n);
  case KP_SURFACE_HONG:
    return prepare_radii(s, n);
  default:
    return KP_OK;
  }
}

// ---- samples

static const kp_kernel *const fills[KP_SURFACE_KIND_COUNT] = {
  [KP_SURFACE_ZHU_BRIDSON] = &surface_fill_zhu_bridson_kernel,
  [KP_SURFACE_ANISOTROPIC] = &surface_fill_anisotropic_kernel,
  [KP_SURFACE_METABALLS] = &surface_fill_metaballs_kernel,
  [KP_SURFACE_COLOR] = &surface_fill_color_kernel,
  [KP_SURFACE_RADIAL] = &surface_fill_radial_kernel,
  [KP_SURFACE_LITERAL] = &surface_fill_literal_kernel,
  [KP_SURFACE_SHRINK] = &surface_fill_shrink_kernel,
  [KP_SURFACE_WEIGHT] = &surface_fill_weight_kernel,
  [KP_SURFACE_BLOBBIES] = &surface_fill_blobbies_kernel,
  [KP_SURFACE_SOFT] = &surface_fill_soft_kernel,
  [KP_SURFACE_HONG] = &surface_fill_hong_kernel,
};

static kp_result fill_samples(kp_device_surfacer *s, int64_t n_particles, int64_t n) {
  const kp_surfacing *how = &s->plan.how;
  const kp_surface_field *field = &kp_surface_fields[how->field];
  bool has_drops = how->field == KP_SURFACE_ZHU_BRIDSON;
  surface_fill_args a = { .b = s->blocks.shape,
                          .c = cloud_of(s, n_particles),
                          .numbers = s->plan.numbers,
                          .step = (float)(how->voxel / (how->reach * how->spacing)) };
  if (has_drops) {
    KP_TRY(kp_device_resize(&s->drops, KP_TYPE_F32, n, sizeof(float)));
  }
  kp_call call;
  kp_call_init(&call, fills[how->field], &a);
  KP_BIND(&call, &a, b.at, &s->blocks.at, KP_ACCESS_READ);
  KP_BIND(&call, &a, b.around, &s->blocks.around, KP_ACCESS_READ);
  KP_BIND(&call, &a, b.stored, &s->blocks.stored, KP_ACCESS_READ);
  KP_BIND(&call, &a, b.deep, &s->blocks.deep, KP_ACCESS_READ);
  BIND_CLOUD(&call, &a, s, field->moves ? &s->moved : &s->near);
  KP_BIND(&call, &a, attributes, field->n_attributes > 0 ? &s->attributes : NULL, KP_ACCESS_READ);
  KP_BIND(&call, &a, b.values, &s->blocks.values, KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &a, drops, has_drops ? &s->drops : NULL, KP_ACCESS_OVERWRITE);
  return kp_call_run(s->backend, &call, n);
}

static kp_result smooth_samples(kp_device_surfacer *s, int64_t n) {
  kp_call call;
  for (int pass = 0; pass < s->plan.how.smooth; ++pass) {
    surface_smooth_args a = { .b = s->blocks.shape };
    kp_call_init(&call, &surface_smooth_kernel, &a);
    KP_BIND_BLOCKS(&call, &a, &s->blocks, b, KP_ACCESS_READ);
    KP_BIND(&call, &a, out, &s->other, KP_ACCESS_OVERWRITE);
    KP_TRY(kp_call_run(s->backend, &call, n));
    kp_buffer_swap_device(&s->blocks.values, &s->other);
  }
  if (s->plan.how.field != KP_SURFACE_ZHU_BRIDSON) {
    return KP_OK;
  }
  surface_join_args a = { 0 };
  kp_call_init(&call, &surface_join_kernel, &a);
  KP_BIND(&call, &a, values, &s->blocks.values, KP_ACCESS_WRITE);
  KP_BIND(&call, &a, drops, &s->drops, KP_ACCESS_READ);
  return kp_call_run(s->backend, &call, n);
}

static kp_result close_samples(kp_device_surfacer *s, int64_t n) {
  kp_call call;
  surface_extend_args extend = { .b = s->blocks.shape, .walls = kp_surfacer_walls(&s->plan) };
  kp_call_init(&call, &surface_extend_kernel, &extend);
  KP_BIND_BLOCKS(&call, &extend, &s->blocks, b, KP_ACCESS_WRITE);
  KP_TRY(kp_call_run(s->backend, &call, n));
  surface_rim_args rim = { .b = s->blocks.shape, .box = extend.walls.box };
  kp_call_init(&call, &surface_rim_kernel, &rim);
  KP_BIND_BLOCKS(&call, &rim, &s->blocks, b, KP_ACCESS_WRITE);
  return kp_call_run(s->backend, &call, n);
}

// ---- all of it

// Numbers of blocks in the span, and of what lies in none of them.
static surface_span span_of(const kp_device_surfacer *s, const kp_surface_span *from) {
  const kp_blocks *b = &s->plan.blocks;
  surface_span span = { .scale = 1.0 / (b->edge * b->spacing), .none = 1 };
  span.is_flat = b->depth != b->edge;
  for (int c = 0; c < 3; ++c) {
    span.first[c] = from->first[c];
    span.size[c] = from->last[c] - from->first[c] + 1;
    span.none *= (uint64_t)span.size[c];
  }
  return span;
}

kp_result kp_device_surfacer_fill(kp_device_surfacer *s, const kp_surfacing *how,
                                  const kp_device_cloud *cloud) {
  kp_surfacer_settle(&s->plan, how);
  s->plan.is_solid = s->plan.is_solid && cloud->size == NULL;
  s->blocks.shape = s->plan.blocks;
  s->blocks.shape.n = s->blocks.shape.n_stored = 0;
  if (cloud->n >= UINT32_MAX) {
    return kp_fail(KP_ERROR_ARGUMENT, "a surface of %lld particles is too large",
                   (long long)cloud->n);
  }
  kp_aabb bounds;
  kp_surface_span found;
  KP_TRY(find_bounds(s, cloud, &bounds));
  KP_TRY(kp_surfacer_lay(&s->plan, &bounds, &found));
  if (found.is_empty) {
    return KP_OK;
  }
  s->blocks.shape = s->plan.blocks;
  s->blocks.shape.n = s->blocks.shape.n_stored = 0;
  surface_span span = span_of(s, &found);
  uint32_t n_bins;
  KP_TRY(sort_particles(s, cloud, &span, &n_bins));
  KP_TRY(make_blocks(s, &span, cloud->n, n_bins));
  KP_TRY(store_blocks(s));
  KP_TRY(place_particles(s, cloud, span.none));
  KP_TRY(prepare(s, cloud->n));
  int64_t n = s->blocks.shape.n_stored * kp_blocks_volume(&s->blocks.shape);
  KP_TRY(fill_samples(s, cloud->n, n));
  KP_TRY(smooth_samples(s, n));
  return close_samples(s, n);
}

kp_result kp_device_surfacer_spray(kp_device_surfacer *s, int64_t n, float *out) {
  if (s->blocks.shape.n == 0) {
    memset(out, 0, (size_t)n * sizeof *out);
    return KP_OK;
  }
  void *device;
  KP_TRY(kp_buffer_get(&s->spray, KP_SIDE_DEVICE, KP_ACCESS_READ, &device));
  return kp_copy_out(s->backend, out, device, (size_t)n * sizeof *out);
}

kp_result kp_device_surfacer_march(kp_device_surfacer *s) {
  return kp_device_march_blocks(&s->mesh, &s->blocks, 0.0f);
}

kp_result kp_device_surfacer_average(kp_device_surfacer *s, const kp_device_cloud *cloud,
                                     kp_buffer *points, int64_t n, int n_values,
                                     kp_buffer *const *values, float *const *out) {
  KP_ASSERT(n_values <= SURFACE_VALUES);
  if (n == 0 || n_values == 0) {
    return KP_OK;
  }
  size_t size = (size_t)n * sizeof(float);
  KP_TRY(kp_device_resize(&s->averages, KP_TYPE_F32, n * n_values, sizeof(float)));
  surface_average_args a = { .b = s->blocks.shape,
                             .scale = inverse_reach(s),
                             .n_values = n_values,
                             .room = n,
                             .dimension = s->plan.how.dimension };
  kp_call call;
  kp_call_init(&call, &surface_average_kernel, &a);
  KP_BIND(&call, &a, b.keys, &s->blocks.keys, KP_ACCESS_READ);
  KP_BIND(&call, &a, b.around, &s->blocks.around, KP_ACCESS_READ);
  KP_BIND(&call, &a, starts, &s->starts, KP_ACCESS_READ);
  KP_BIND(&call, &a, order, &s->order, KP_ACCESS_READ);
  BIND_PLACES(&call, &a, cloud);
  KP_BIND(&call, &a, points, points, KP_ACCESS_READ);
  for (int v = 0; v < n_values; ++v) {
    KP_BIND(&call, &a, values[v], values[v], KP_ACCESS_READ);
  }
  KP_BIND(&call, &a, out, &s->averages, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(s->backend, &call, n));
  void *device;
  KP_TRY(kp_buffer_get(&s->averages, KP_SIDE_DEVICE, KP_ACCESS_READ, &device));
  for (int v = 0; v < n_values; ++v) {
    KP_TRY(kp_copy_out(s->backend, out[v], (const char *)device + (size_t)v * size, size));
  }
  return KP_OK;
}
