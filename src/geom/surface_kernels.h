// Kernels of surfaces of particles (surface_device.c): particles into blocks, blocks that exist,
// fields at samples, walls, and what particles carry at vertices. They find what the loops of
// particle_surface.c and sparse_lattice.c find, in the same order and to the same bit; products
// must not be fused into sums.
#pragma once

#include "geom/surface_points.h"
#include "geom/surface_sums.h"
#include "par/kernel.h"

#define SURFACE_BOUNDS_OPS                                                                         \
  KP_REDUCE_MIN, KP_REDUCE_MIN, KP_REDUCE_MIN, KP_REDUCE_MAX, KP_REDUCE_MAX, KP_REDUCE_MAX

#define SURFACE_KERNELS(POINT, REDUCE, ROW, PAIR)                                                  \
  REDUCE(surface, bounds, SURFACE_BOUNDS_OPS)                                                      \
  POINT(surface, keys)                                                                             \
  POINT(surface, heads)                                                                            \
  POINT(surface, spread)                                                                           \
  POINT(surface, blocks)                                                                           \
  POINT(surface, around)                                                                           \
  POINT(surface, starts)                                                                           \
  POINT(surface, know)                                                                             \
  POINT(surface, store)                                                                            \
  POINT(surface, place)                                                                            \
  POINT(surface, offsets)                                                                          \
  POINT(surface, ratios)                                                                           \
  REDUCE(surface, largest, KP_REDUCE_MAX)                                                          \
  POINT(surface, shares)                                                                           \
  POINT(surface, radii)                                                                            \
  POINT(surface, depths)                                                                           \
  POINT(surface, ellipsoids)                                                                       \
  SURFACE_FIELDS(POINT, SURFACE_FILL_KERNEL)                                                       \
  POINT(surface, smooth)                                                                           \
  POINT(surface, join)                                                                             \
  POINT(surface, extend)                                                                           \
  POINT(surface, rim)                                                                              \
  POINT(surface, average)

// Name, attributes of a particle, and what makes a value of the sums.
#define SURFACE_FIELDS(POINT, X)                                                                   \
  X(POINT, zhu_bridson, 0, plain)                                                                  \
  X(POINT, anisotropic, 7, plain)                                                                  \
  X(POINT, metaballs, 0, plain)                                                                    \
  X(POINT, color, 0, plain)                                                                        \
  X(POINT, radial, 0, root)                                                                        \
  X(POINT, literal, 1, root)                                                                       \
  X(POINT, shrink, 1, root)                                                                        \
  X(POINT, weight, 1, root)                                                                        \
  X(POINT, blobbies, 0, plain)                                                                     \
  X(POINT, soft, 0, plain)                                                                         \
  X(POINT, hong, 1, mean)
#define SURFACE_FILL_KERNEL(POINT, field, n_attributes, value) POINT(surface, fill_##field)

// ---- particles into blocks

// Blocks may lie at first + 0..size - 1; they are numbered with x fastest, and `none` is the number
// of what lies nowhere.
typedef struct surface_span {
  double scale;  // 1 / edge of a block [1/m]
  int64_t first[3], size[3];
  uint64_t none;
  bool is_flat;
} surface_span;

KP_FN uint64_t surface_number(const surface_span *s, int64_t x, int64_t y, int64_t z) {
  int64_t at[3] = { x - s->first[0], y - s->first[1], z - s->first[2] };
  for (int c = 0; c < 3; ++c) {
    if (at[c] < 0 || at[c] >= s->size[c]) {
      return s->none;
    }
  }
  return (uint64_t)((at[2] * s->size[1] + at[1]) * s->size[0] + at[0]);
}

KP_FN void surface_place_of(const surface_span *s, uint64_t number, int32_t at[3]) {
  uint64_t nx = (uint64_t)s->size[0], ny = (uint64_t)s->size[1];
  uint64_t row = number / nx, z = row / ny;
  at[0] = (int32_t)(s->first[0] + (int64_t)(number - row * nx));
  at[1] = (int32_t)(s->first[1] + (int64_t)(row - z * ny));
  at[2] = (int32_t)(s->first[2] + (int64_t)z);
}

typedef struct surface_bounds_args {
  const kp_pos *x, *y, *z;
} surface_bounds_args;

// Of particles that are somewhere.
KP_FN void surface_bounds(int64_t i, const surface_bounds_args *a, double *v) {
  double x = a->x[i], y = a->y[i], z = a->z[i];
  bool is_there = (x - x) + (y - y) + (z - z) == 0.0;  // infinity minus itself is NaN
  v[0] = is_there ? x : HUGE_VAL;
  v[1] = is_there ? y : HUGE_VAL;
  v[2] = is_there ? z : HUGE_VAL;
  v[3] = is_there ? x : -HUGE_VAL;
  v[4] = is_there ? y : -HUGE_VAL;
  v[5] = is_there ? z : -HUGE_VAL;
}

typedef struct surface_keys_args {
  const kp_pos *x, *y, *z;
  surface_span span;
  uint64_t *keys;
  uint32_t *order;
} surface_keys_args;

KP_FN void surface_keys(int64_t i, const surface_keys_args *a) {
  const surface_span *s = &a->span;
  double at[3] = { floor(a->x[i] * s->scale), floor(a->y[i] * s->scale),
                   s->is_flat ? 0.0 : floor(a->z[i] * s->scale) };
  bool is_there = true;
  for (int c = 0; c < 3; ++c) {
    double first = (double)s->first[c], last = (double)(s->first[c] + s->size[c] - 1);
    is_there = is_there && at[c] >= first && at[c] <= last;
  }
  a->keys[i] =
      is_there ? surface_number(s, (int64_t)at[0], (int64_t)at[1], (int64_t)at[2]) : s->none;
  a->order[i] = (uint32_t)i;
}

// 1 where a new number begins among sorted ones.
typedef struct surface_heads_args {
  const uint64_t *keys;
  uint32_t *is_head;
  uint64_t none;
} surface_heads_args;

KP_FN void surface_heads(int64_t i, const surface_heads_args *a) {
  bool is_new = i == 0 || a->keys[i - 1] != a->keys[i];
  a->is_head[i] = is_new && a->keys[i] != a->none ? 1u : 0u;
}

// ---- blocks

// A block with particles and all around it; `bins` is the scan of the heads.
typedef struct surface_spread_args {
  const uint64_t *keys;
  const uint32_t *bins;
  surface_span span;
  uint64_t *out;
  uint32_t *rank;
} surface_spread_args;

KP_FN void surface_spread(int64_t i, const surface_spread_args *a) {
  uint32_t bin = a->bins[i];
  if (a->bins[i + 1] == bin) {
    return;
  }
  int32_t at[3];
  surface_place_of(&a->span, a->keys[i], at);
  for (int near = 0; near < KP_BLOCK_AROUND; ++near) {
    int64_t to = (int64_t)KP_BLOCK_AROUND * bin + near;
    a->out[to] = surface_number(&a->span, (int64_t)at[0] + near % 3 - 1,
                                (int64_t)at[1] + near / 3 % 3 - 1, (int64_t)at[2] + near / 9 - 1);
    a->rank[to] = (uint32_t)to;
  }
}

// Sorted numbers, each once, become blocks; `blocks` is the scan of their heads.
typedef struct surface_blocks_args {
  const uint64_t *sorted;
  const uint32_t *blocks;
  surface_span span;
  uint64_t *numbers, *keys;
  int32_t (*at)[3];
} surface_blocks_args;

KP_FN void surface_blocks(int64_t i, const surface_blocks_args *a) {
  uint32_t block = a->blocks[i];
  if (a->blocks[i + 1] == block) {
    return;
  }
  int32_t *at = a->at[block];
  surface_place_of(&a->span, a->sorted[i], at);
  a->numbers[block] = a->sorted[i];
  a->keys[block] = kp_block_key(at[0], at[1], at[2]);
}

typedef struct surface_around_args {
  const uint64_t *keys;
  int64_t n;
  int32_t *around;
} surface_around_args;

KP_FN void surface_around(int64_t i, const surface_around_args *a) {
  int64_t block = i / KP_BLOCK_AROUND;
  int near = (int)(i - block * KP_BLOCK_AROUND);
  uint64_t want = a->keys[block] + (uint64_t)(near / 9) * KP_BLOCK_STEP_Z - KP_BLOCK_STEP_Z +
                  (uint64_t)(near / 3 % 3) * KP_BLOCK_STEP_Y - KP_BLOCK_STEP_Y +
                  (uint64_t)(near % 3) - 1;
  int64_t found = kp_blocks_lower(a->keys, a->n, want);
  a->around[i] = found < a->n && a->keys[found] == want ? (int32_t)found : -1;
}

// First particle of each block; one beyond the last block has the end.
typedef struct surface_starts_args {
  const uint64_t *numbers, *keys;
  int64_t n_blocks, n_particles;
  uint64_t none;
  uint32_t *starts;
} surface_starts_args;

KP_FN void surface_starts(int64_t block, const surface_starts_args *a) {
  uint64_t number = block < a->n_blocks ? a->numbers[block] : a->none;
  a->starts[block] = (uint32_t)kp_blocks_lower(a->keys, a->n_particles, number);
}

// `slots` tells for the time being which blocks need samples.
typedef struct surface_know_args {
  kp_blocks b;
  const uint32_t *starts;
  kp_surface_room room;
  uint32_t *is_stored;
} surface_know_args;

KP_FN void surface_know(int64_t block, const surface_know_args *a) {
  kp_surface_known known = kp_surface_know(&a->room, &a->b, a->starts, block);
  a->b.deep[block] = known.is_deep ? 1 : 0;
  a->is_stored[block] = known.is_inside ? 0u : 1u;
}

// `places` is the scan of what has samples.
typedef struct surface_store_args {
  kp_blocks b;
  const uint32_t *places;
} surface_store_args;

KP_FN void surface_store(int64_t block, const surface_store_args *a) {
  uint32_t slot = a->places[block];
  bool is_stored = a->places[block + 1] != slot;
  a->b.slots[block] = is_stored ? (int32_t)slot : KP_BLOCK_INSIDE;
  a->b.calm[block] = kp_surface_is_calm(&a->b, block) ? 1 : 0;
  if (is_stored) {
    a->b.stored[slot] = (int32_t)block;
  }
}

// ---- particles

// Sorted particles: KP_SURFACE_NEAR values of each, `room` apart.
typedef struct surface_cloud {
  const float *near;
  const uint32_t *starts, *home;  // home: the block of a particle
  int64_t room;
  float edge;  // of a block, in R
} surface_cloud;

typedef struct surface_place_args {
  const kp_pos *x, *y, *z;
  const float *size;  // NULL: 1
  const uint64_t *keys, *numbers;
  const uint32_t *order;
  kp_blocks b;
  double scale;  // 1 / R
  int64_t room;
  int32_t dimension;
  uint64_t none;
  float *near;
  uint32_t *home;
} surface_place_args;

KP_FN void surface_place(int64_t i, const surface_place_args *a) {
  if (a->keys[i] == a->none) {
    a->home[i] = UINT32_MAX;
    for (int c = 0; c < KP_SURFACE_NEAR; ++c) {
      a->near[c * a->room + i] = 0.0f;
    }
    return;
  }
  int64_t block = kp_blocks_lower(a->numbers, a->b.n, a->keys[i]);
  kp_vec3 corner = kp_blocks_corner(&a->b, a->b.at[block]);
  uint32_t p = a->order[i];
  a->home[i] = (uint32_t)block;
  a->near[i] = (float)((a->x[p] - corner.x) * a->scale);
  a->near[a->room + i] = (float)((a->y[p] - corner.y) * a->scale);
  a->near[2 * a->room + i] = (float)((a->z[p] - corner.z) * a->scale);
  float size = a->size != NULL ? a->size[p] : 1.0f;
  a->near[KP_SURFACE_VALUE * a->room + i] = 0.0f;
  a->near[KP_SURFACE_VOLUME * a->room + i] = kp_surface_volume_of(size, a->dimension);
  a->near[KP_SURFACE_INVERSE * a->room + i] = 1.0f / size;
}

// What is around a block, one after the other.
typedef struct surface_run {
  uint32_t begin, end;
  float shift[3];
} surface_run;

KP_FN surface_run surface_take_run(const surface_cloud *c, const kp_blocks *b, int64_t block,
                                   int near) {
  surface_run run = { 0, 0, { 0.0f, 0.0f, 0.0f } };
  int32_t at = b->around[block][near];
  if (at >= 0) {
    run.begin = c->starts[at];
    run.end = c->starts[at + 1];
    run.shift[0] = c->edge * (float)(near % 3 - 1);
    run.shift[1] = c->edge * (float)(near / 3 % 3 - 1);
    run.shift[2] = c->edge * (float)(near / 9 - 1);
  }
  return run;
}

// Particle j of a run as seen from particle i.
KP_FN kp_surface_beside surface_look(const surface_cloud *c, const surface_run *run, int64_t i,
                                     uint32_t j) {
  kp_surface_beside q;
  for (int k = 0; k < 3; ++k) {
    q.d[k] = (c->near[k * c->room + j] + run->shift[k]) - c->near[k * c->room + i];
  }
  q.square = q.d[0] * q.d[0] + q.d[1] * q.d[1] + q.d[2] * q.d[2];
  q.value = c->near[KP_SURFACE_VALUE * c->room + i];
  q.other = c->near[KP_SURFACE_VALUE * c->room + j];
  q.volume = c->near[KP_SURFACE_VOLUME * c->room + j];
  return q;
}

#define SURFACE_SUM_NEIGHBOURS(kind, sum, i, block, cloud, blocks)                                 \
  for (int near = 0; near < KP_BLOCK_AROUND; ++near) {                                             \
    surface_run run = surface_take_run(cloud, blocks, block, near);                                \
    for (uint32_t j = run.begin; j < run.end; ++j) {                                               \
      kp_surface_beside q = surface_look(cloud, &run, i, j);                                       \
      kp_surface_add_##kind(&(sum), &q);                                                           \
    }                                                                                              \
  }

// What kernels over particles take; `out` by particle.
typedef struct surface_particle_args {
  kp_blocks b;
  surface_cloud c;
  kp_surface_numbers numbers;
  float *out;
} surface_particle_args;

typedef surface_particle_args surface_offsets_args;
typedef surface_particle_args surface_ratios_args;
typedef surface_particle_args surface_depths_args;

// |n_i| / h, n_i = x_i - mean of all within h (Bayraktar 2010, Eqs. 5.6, 5.7).
KP_FN void surface_offsets(int64_t i, const surface_offsets_args *a) {
  uint32_t block = a->c.home[i];
  a->out[i] = 0.0f;
  if (block != UINT32_MAX && kp_surface_is_close(&a->b, block)) {
    kp_surface_offset m = { 0.0f, { 0.0f, 0.0f, 0.0f } };
    SURFACE_SUM_NEIGHBOURS(offset, m, i, block, &a->c, &a->b)
    a->out[i] = kp_surface_length_of(m.count, m.d[0], m.d[1], m.d[2]);
  }
}

// Rr_i = sum |n_j| / (k_i h) (Eq. 5.8).
KP_FN void surface_ratios(int64_t i, const surface_ratios_args *a) {
  uint32_t block = a->c.home[i];
  a->out[i] = 0.0f;
  if (block != UINT32_MAX && kp_surface_is_near(&a->b, block)) {
    kp_surface_ratio m = { 0.0f, 0.0f };
    SURFACE_SUM_NEIGHBOURS(ratio, m, i, block, &a->c, &a->b)
    a->out[i] = m.values / m.count;
  }
}

typedef struct surface_largest_args {
  const float *ratio;
} surface_largest_args;

KP_FN void surface_largest(int64_t i, const surface_largest_args *a, double *v) {
  v[0] = (double)a->ratio[i];
}

typedef struct surface_shares_args {
  float *ratio;
  float largest;
  int32_t kind;
} surface_shares_args;

KP_FN void surface_shares(int64_t i, const surface_shares_args *a) {
  a->ratio[i] = kp_surface_share((kp_surface_kind)a->kind, a->ratio[i], a->largest);
}

// R / r of each particle.
typedef struct surface_radii_args {
  const float *near;
  int64_t room;
  float *out;
} surface_radii_args;

KP_FN void surface_radii(int64_t i, const surface_radii_args *a) {
  a->out[i] = a->near[KP_SURFACE_INVERSE * a->room + i];
}

// How far the weighted mean of the neighbours is: how near the surface a particle lies.
KP_FN void surface_depths(int64_t i, const surface_depths_args *a) {
  uint32_t block = a->c.home[i];
  a->out[i] = 0.0f;
  if (block != UINT32_MAX && kp_surface_is_close(&a->b, block)) {
    kp_surface_depth m = { 0.0f, { 0.0f, 0.0f, 0.0f } };
    SURFACE_SUM_NEIGHBOURS(depth, m, i, block, &a->c, &a->b)
    a->out[i] = kp_surface_length_of(m.weight, m.d[0], m.d[1], m.d[2]);
  }
}

typedef struct surface_ellipsoids_args {
  kp_blocks b;
  surface_cloud c;
  kp_surface_numbers numbers;
  float *attributes;  // `room` apart
  float *moved;
  float *spray;  // by place among all particles; NULL: none is asked for
  const uint32_t *order;
} surface_ellipsoids_args;

KP_FN void surface_ellipsoids(int64_t i, const surface_ellipsoids_args *a) {
  uint32_t block = a->c.home[i];
  kp_surface_ellipsoid e;
  memset(&e, 0, sizeof e);
  if (block != UINT32_MAX && kp_surface_is_near(&a->b, block)) {
    kp_surface_cloud sum;
    memset(&sum, 0, sizeof sum);
    SURFACE_SUM_NEIGHBOURS(cloud, sum, i, block, &a->c, &a->b)
    kp_surface_neighbours m = { sum.count,
                                sum.weight,
                                { sum.d[0], sum.d[1], sum.d[2] },
                                { sum.dd[0], sum.dd[1], sum.dd[2], sum.dd[3], sum.dd[4],
                                  sum.dd[5] },
                                sum.alike,
                                { sum.alike_d[0], sum.alike_d[1], sum.alike_d[2] } };
    float inverse = a->c.near[KP_SURFACE_INVERSE * a->c.room + i];
    kp_surface_find_ellipsoid(&a->numbers, &m, inverse, &e);
    if (a->spray != NULL) {
      const float near[3] = { a->c.near[i], a->c.near[a->c.room + i],
                              a->c.near[2 * a->c.room + i] };
      kp_surface_spray_out(&a->numbers, m.weight, kp_blocks_corner(&a->b, a->b.at[block]), near,
                           &e);
    }
  }
  if (a->spray != NULL) {
    a->spray[a->order[i]] = e.spray;
  }
  for (int k = 0; k < KP_SURFACE_ATTRIBUTES; ++k) {
    a->attributes[k * a->c.room + i] = e.g[k];
  }
  for (int c = 0; c < 3; ++c) {
    a->moved[c * a->c.room + i] = a->c.near[c * a->c.room + i] + e.move[c];
  }
}

// ---- samples

typedef struct surface_fill_args {
  kp_blocks b;
  surface_cloud c;  // near: the centres
  const float *attributes;
  kp_surface_numbers numbers;
  float step;    // between samples, in R
  float *drops;  // of Zhu and Bridson, NULL otherwise
} surface_fill_args;

KP_FN void surface_set(const surface_fill_args *a, int64_t i, float value) {
  a->b.values[i] = value;
  if (a->drops != NULL) {
    a->drops[i] = value;
  }
}

// The distance of Zhu and Bridson, or the value of another field.
KP_FN void surface_finish(const surface_fill_args *a, int64_t i, const kp_surface_sums *s,
                          float field) {
  if (a->drops == NULL) {
    a->b.values[i] = kp_surface_value(&a->numbers, field);
    return;
  }
  kp_surface_gathered g = {
    s->a, s->b, s->c, s->d, s->nearest, s->spread, { s->e[0], s->e[1], s->e[2] }
  };
  a->b.values[i] = kp_surface_zhu_bridson(&a->numbers, &g, &a->drops[i]);
}

#define SURFACE_FILL(POINT, field, n_attributes, form)                                             \
  typedef surface_fill_args surface_fill_##field##_args;                                           \
  KP_FN void surface_fill_##field(int64_t i, const surface_fill_args *a) {                         \
    kp_block_place p = kp_blocks_place(&a->b, i);                                                  \
    if (a->b.deep[p.block] != 0) {                                                                 \
      surface_set(a, i, a->b.inside);                                                              \
      return;                                                                                      \
    }                                                                                              \
    float x = (float)p.local[0] * a->step, y = (float)p.local[1] * a->step;                        \
    float z = a->numbers.dimension == 2 ? a->step : (float)p.local[2] * a->step;                   \
    kp_surface_sums s = { 0.0f, 0.0f, 0.0f, 0.0f, 1.0f, 0.0f, { 0.0f, 0.0f, 0.0f } };              \
    for (int near = 0; near < KP_BLOCK_AROUND; ++near) {                                           \
      surface_run run = surface_take_run(&a->c, &a->b, p.block, near);                             \
      for (uint32_t j = run.begin; j < run.end; ++j) {                                             \
        kp_surface_seen q;                                                                         \
        q.dx = (a->c.near[j] + run.shift[0]) - x;                                                  \
        q.dy = (a->c.near[a->c.room + j] + run.shift[1]) - y;                                      \
        q.dz = (a->c.near[2 * a->c.room + j] + run.shift[2]) - z;                                  \
        q.square = q.dx * q.dx + q.dy * q.dy + q.dz * q.dz;                                        \
        if (!(q.square < 1.0f)) {                                                                  \
          continue;                                                                                \
        }                                                                                          \
        for (int k = 0; k < (n_attributes); ++k) {                                                 \
          q.g[k] = a->attributes[k * a->c.room + j];                                               \
        }                                                                                          \
        kp_surface_add_##field(&s, &q);                                                            \
      }                                                                                            \
    }                                                                                              \
    surface_finish(a, i, &s, kp_surface_##form##_value(a->numbers.unit *s.a, s.b));                \
  }

SURFACE_FIELDS(, SURFACE_FILL)

// ---- filter and rims

// The filter (1 2 1) / 4 along each axis of the world.
typedef struct surface_smooth_args {
  kp_blocks b;
  float *out;
} surface_smooth_args;

KP_FN float surface_filter(float before, float here, float after) {
  return 0.5f * here + 0.25f * (before + after);
}

KP_FN float surface_filter_x(const kp_blocks *b, int64_t block, int32_t i, int32_t j, int32_t k) {
  return surface_filter(kp_blocks_sample(b, b->values, block, i - 1, j, k),
                        kp_blocks_sample(b, b->values, block, i, j, k),
                        kp_blocks_sample(b, b->values, block, i + 1, j, k));
}

KP_FN float surface_filter_y(const kp_blocks *b, int64_t block, int32_t i, int32_t j, int32_t k) {
  return surface_filter(surface_filter_x(b, block, i, j - 1, k),
                        surface_filter_x(b, block, i, j, k),
                        surface_filter_x(b, block, i, j + 1, k));
}

KP_FN void surface_smooth(int64_t n, const surface_smooth_args *a) {
  const kp_blocks *b = &a->b;
  kp_block_place p = kp_blocks_place(b, n);
  int32_t i = p.local[0], j = p.local[1], k = p.local[2];
  if (b->calm[p.block] != 0) {
    a->out[n] = b->inside;
  } else if (b->depth != b->edge) {
    a->out[n] = surface_filter_y(b, p.block, i, j, k);
  } else {
    a->out[n] = surface_filter(surface_filter_y(b, p.block, i, j, k - 1),
                               surface_filter_y(b, p.block, i, j, k),
                               surface_filter_y(b, p.block, i, j, k + 1));
  }
}

// The union with the drops.
typedef struct surface_join_args {
  float *values;
  const float *drops;
} surface_join_args;

KP_FN void surface_join(int64_t i, const surface_join_args *a) {
  a->values[i] = a->values[i] < a->drops[i] ? a->values[i] : a->drops[i];
}

typedef struct surface_extend_args {
  kp_blocks b;
  kp_surface_walls walls;
} surface_extend_args;

KP_FN void surface_extend(int64_t i, const surface_extend_args *a) {
  int32_t block = a->b.stored[i / kp_blocks_volume(&a->b)];
  float value;
  if (a->b.calm[block] == 0 && !kp_surface_is_clear(&a->walls, &a->b, block) &&
      kp_surface_extended(&a->walls, &a->b, i, &value)) {
    a->b.values[i] = value;
  }
}

// Cut at the walls (kp_blocks_clip) and closed beside blocks without samples (kp_blocks_seal).
typedef struct surface_rim_args {
  kp_blocks b;
  kp_aabb box;
} surface_rim_args;

KP_FN double surface_outside(double x, double lo, double hi) {
  return lo - x > x - hi ? lo - x : x - hi;
}

KP_FN void surface_rim(int64_t i, const surface_rim_args *a) {
  const kp_blocks *b = &a->b;
  kp_block_place p = kp_blocks_place(b, i);
  double x = b->spacing * (double)p.at[0], y = b->spacing * (double)p.at[1];
  double z = b->spacing * (double)p.at[2];
  double out = surface_outside(y, a->box.min.y, a->box.max.y);
  double out_z = surface_outside(z, a->box.min.z, a->box.max.z);
  double out_x = surface_outside(x, a->box.min.x, a->box.max.x);
  out = out_z > out ? out_z : out;
  float distance = (float)(out_x > out ? out_x : out), value = b->values[i];
  value = value > distance ? value : distance;
  const float tiny = 1e-6f * (float)b->spacing;
  for (int near = 0; near < KP_BLOCK_AROUND / 2; ++near) {
    int way[3] = { near % 3 - 1, near / 3 % 3 - 1, near / 9 - 1 };
    bool is_touched = true;
    for (int c = 0; c < 3; ++c) {
      is_touched = is_touched && way[c] <= 0 && (way[c] == 0 || p.local[c] == 0);
    }
    int32_t at = b->around[p.block][near], kind = at < 0 ? KP_BLOCK_OUTSIDE : b->slots[at];
    if (is_touched && kind < 0) {
      value =
          kind == KP_BLOCK_INSIDE ? (value < -tiny ? value : -tiny) : (value > tiny ? value : tiny);
    }
  }
  b->values[i] = value;
}

// ---- what particles carry

#define SURFACE_VALUES 16

typedef struct surface_average_args {
  kp_blocks b;
  const uint32_t *starts, *order;
  const kp_pos *x, *y, *z;
  const kp_vec3 *points;
  double scale;  // 1 / R
  int32_t n_values, dimension;
  const kp_real *values[SURFACE_VALUES];
  int64_t room;  // of the means of one value
  float *out;
} surface_average_args;

// The mean with the weights (1 - d^2/R^2)^3 of all around a point.
KP_FN void surface_average(int64_t i, const surface_average_args *a) {
  kp_vec3 p = a->points[i];
  double size = a->b.edge * a->b.spacing, weight = 0.0, sums[SURFACE_VALUES];
  for (int v = 0; v < SURFACE_VALUES; ++v) {
    sums[v] = 0.0;
  }
  int64_t at[3] = { (int64_t)floor(p.x / size), (int64_t)floor(p.y / size),
                    a->dimension == 2 ? 0 : (int64_t)floor(p.z / size) };
  int64_t block = kp_blocks_find(&a->b, at);
  for (int near = 0; near < KP_BLOCK_AROUND && block >= 0; ++near) {
    int32_t beside = a->b.around[block][near];
    double run = 0.0;
    for (uint32_t j = beside < 0 ? 0 : a->starts[beside]; beside >= 0 && j < a->starts[beside + 1];
         ++j) {
      uint32_t q = a->order[j];
      kp_vec3 d = kp_vec3_make(a->x[q] - p.x, a->y[q] - p.y, a->z[q] - p.z);
      double t = 1.0 - kp_vec3_dot(d, d) * a->scale * a->scale;
      if (t > 0.0) {
        double w = t * t * t;
        run += w;
        for (int v = 0; v < a->n_values; ++v) {
          sums[v] += w * (double)a->values[v][q];
        }
      }
    }
    weight += run;
  }
  for (int v = 0; v < a->n_values; ++v) {
    a->out[v * a->room + i] = weight > 0.0 ? (float)(sums[v] / weight) : 0.0f;
  }
}
