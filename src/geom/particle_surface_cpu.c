#include "geom/particle_surface_cpu.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifndef KP_ISA
#error "compiled by kp_isa_sources, which defines KP_ISA"
#endif

#if defined(__AVX512F__)
#define BYTES 64
#elif defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif
#define LANES ((int)(BYTES / sizeof(float)))

typedef float wide __attribute__((vector_size(BYTES)));
typedef int32_t mask __attribute__((vector_size(BYTES)));
typedef float loose __attribute__((vector_size(BYTES), aligned(4), may_alias));

static inline wide load(const float *from) {
  return *(const loose *)from;
}

static inline void store(float *to, wide value) {
  *(loose *)to = value;
}

static inline wide splat(float a) {
  return a - (wide){ 0 };
}

// ---- what surface_sums.h asks for

#define KP_SURFACE_V wide

static inline wide kp_surface_smaller(wide a, wide b) {
  mask is_less = (mask)(a < b);
  return (wide)((is_less & (mask)a) | (~is_less & (mask)b));
}

static inline wide kp_surface_positive(wide t) {
  return (wide)((mask)t & (mask)(t > 0.0f));
}

static inline wide kp_surface_below(wide t, wide x, float end) {
  return (wide)((mask)t & (mask)(x < end));
}

static inline wide kp_surface_root(wide a) {
  for (int lane = 0; lane < LANES; ++lane) {
    a[lane] = sqrtf(a[lane]);
  }
  return a;
}

static inline wide kp_surface_exponential(wide x) {
  mask whole = __builtin_convertvector(x * 1.44269504f - 0.5f, mask);
  wide rest = x - __builtin_convertvector(whole, wide) * 0.693147180f;
  wide sum = 1.0f + rest * (1.0f / 7.0f);
  for (int n = 6; n >= 1; --n) {
    sum = 1.0f + rest * sum * (1.0f / (float)n);
  }
  return sum * (wide)((whole + 127) << 23);
}

#include "geom/surface_sums.h"

// ---- samples

// All particles that reach the layer, for a register of its samples after the other.
#define GATHER(field, n_attributes)                                                                \
  static void gather_##field(const kp_surface_particles *p, kp_surface_layer *layer) {             \
    for (int first = 0; first < layer->n; first += LANES) {                                        \
      wide x = load(layer->x + first), y = load(layer->y + first);                                 \
      kp_surface_sums s = { load(layer->weight + first),                                           \
                            load(layer->mx + first),                                               \
                            load(layer->my + first),                                               \
                            load(layer->mz + first),                                               \
                            load(layer->nearest + first),                                          \
                            load(layer->spread + first),                                           \
                            { load(layer->e[0] + first), load(layer->e[1] + first),                \
                              load(layer->e[2] + first) } };                                       \
      for (int64_t i = 0; i < p->n; ++i) {                                                         \
        float dz = p->z[i] - layer->z;                                                             \
        if (!(p->away[i] + dz * dz < 1.0f)) {                                                      \
          continue;                                                                                \
        }                                                                                          \
        wide dx = splat(p->x[i]) - x, dy = splat(p->y[i]) - y;                                     \
        kp_surface_seen seen = { dx, dy, dx * dx + dy * dy + dz * dz, dz, { 0 } };                 \
        for (int a = 0; a < (n_attributes); ++a) {                                                 \
          seen.g[a] = p->attributes[a][i];                                                         \
        }                                                                                          \
        kp_surface_add_##field(&s, &seen);                                                         \
      }                                                                                            \
      store(layer->weight + first, s.a);                                                           \
      store(layer->mx + first, s.b);                                                               \
      store(layer->my + first, s.c);                                                               \
      store(layer->mz + first, s.d);                                                               \
      store(layer->nearest + first, s.nearest);                                                    \
      store(layer->spread + first, s.spread);                                                      \
      for (int c = 0; c < 3; ++c) {                                                                \
        store(layer->e[c] + first, s.e[c]);                                                        \
      }                                                                                            \
    }                                                                                              \
  }

GATHER(zhu_bridson, 0)
GATHER(anisotropic, 7)
GATHER(metaballs, 0)
GATHER(radial, 0)
GATHER(literal, 1)
GATHER(shrink, 1)
GATHER(weight, 1)
GATHER(blobbies, 0)
GATHER(soft, 0)
GATHER(hong, 1)

#define JOIN(name, isa) kp_surface_##name##_##isa
#define NAME(name, isa) JOIN(name, isa)

void NAME(gather, KP_ISA)(kp_surface_kind kind, const kp_surface_particles *p,
                          kp_surface_layer *layer);
void NAME(gather, KP_ISA)(kp_surface_kind kind, const kp_surface_particles *p,
                          kp_surface_layer *layer) {
  typedef void (*gather_fn)(const kp_surface_particles *p, kp_surface_layer *layer);
  static const gather_fn gathers[KP_SURFACE_KIND_COUNT] = {
    [KP_SURFACE_ZHU_BRIDSON] = gather_zhu_bridson,
    [KP_SURFACE_ANISOTROPIC] = gather_anisotropic,
    [KP_SURFACE_METABALLS] = gather_metaballs,
    [KP_SURFACE_COLOR] = gather_radial,  // poly6 has the same form
    [KP_SURFACE_RADIAL] = gather_radial,
    [KP_SURFACE_LITERAL] = gather_literal,
    [KP_SURFACE_SHRINK] = gather_shrink,
    [KP_SURFACE_WEIGHT] = gather_weight,
    [KP_SURFACE_BLOBBIES] = gather_blobbies,
    [KP_SURFACE_SOFT] = gather_soft,
    [KP_SURFACE_HONG] = gather_hong,
  };
  gathers[kind](p, layer);
}

// ---- neighbours of particles

// A register of particles i and all their neighbours. Values are read by kinds alone that use them:
// of the others they are the result, which other threads write.
#define MOMENTS(kind, has_values)                                                                  \
  static void moments_##kind(const kp_surface_runs *runs, int64_t first,                           \
                             float out[][KP_SURFACE_LANES]) {                                      \
    for (int lane = 0; lane < KP_SURFACE_LANES; lane += LANES) {                                   \
      wide x = load(runs->x + first + lane), y = load(runs->y + first + lane);                     \
      wide z = load(runs->z + first + lane), value = { 0 };                                        \
      if (has_values) {                                                                            \
        value = load(runs->value + first + lane);                                                  \
      }                                                                                            \
      kp_surface_##kind sum;                                                                       \
      memset(&sum, 0, sizeof sum);                                                                 \
      for (int r = 0; r < runs->n; ++r) {                                                          \
        const float *shift = runs->shift[r];                                                       \
        for (uint32_t j = runs->begin[r]; j < runs->end[r]; ++j) {                                 \
          kp_surface_beside q;                                                                     \
          q.d[0] = (runs->x[j] + shift[0]) - x;                                                    \
          q.d[1] = (runs->y[j] + shift[1]) - y;                                                    \
          q.d[2] = (runs->z[j] + shift[2]) - z;                                                    \
          q.square = q.d[0] * q.d[0] + q.d[1] * q.d[1] + q.d[2] * q.d[2];                          \
          q.value = value;                                                                         \
          q.other = has_values ? runs->value[j] : 0.0f;                                            \
          q.volume = runs->volume[j];                                                              \
          kp_surface_add_##kind(&sum, &q);                                                         \
        }                                                                                          \
      }                                                                                            \
      wide all[sizeof sum / sizeof(wide)];                                                         \
      memcpy(all, &sum, sizeof sum);                                                               \
      for (size_t k = 0; k < sizeof sum / sizeof(wide); ++k) {                                     \
        store(out[k] + lane, all[k]);                                                              \
      }                                                                                            \
    }                                                                                              \
  }

MOMENTS(offset, false)
MOMENTS(ratio, true)
MOMENTS(depth, false)
MOMENTS(cloud, true)

void NAME(moments, KP_ISA)(kp_surface_moment kind, const kp_surface_runs *runs, int64_t first,
                           float out[][KP_SURFACE_LANES]);
void NAME(moments, KP_ISA)(kp_surface_moment kind, const kp_surface_runs *runs, int64_t first,
                           float out[][KP_SURFACE_LANES]) {
  typedef void (*moments_fn)(const kp_surface_runs *runs, int64_t first,
                             float out[][KP_SURFACE_LANES]);
  static const moments_fn moments[KP_SURFACE_MOMENT_COUNT] = {
    [KP_SURFACE_OFFSET] = moments_offset,
    [KP_SURFACE_RATIO] = moments_ratio,
    [KP_SURFACE_DEPTH] = moments_depth,
    [KP_SURFACE_CLOUD] = moments_cloud,
  };
  moments[kind](runs, first, out);
}
