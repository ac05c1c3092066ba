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

static inline wide smaller(wide a, wide b) {
  mask is_less = (mask)(a < b);
  return (wide)((is_less & (mask)a) | (~is_less & (mask)b));
}

static inline wide positive(wide t) {
  return (wide)((mask)t & (mask)(t > 0.0f));
}

static inline wide root(wide a) {
  for (int lane = 0; lane < LANES; ++lane) {
    a[lane] = sqrtf(a[lane]);
  }
  return a;
}

// e^x for -80 < x <= 0: 2^whole e^rest, |rest| <= ln 2 / 2, by Taylor's series to 2e-8.
static inline wide exponential(wide x) {
  mask whole = __builtin_convertvector(x * 1.44269504f - 0.5f, mask);  // towards zero: nearest
  wide rest = x - __builtin_convertvector(whole, wide) * 0.693147180f;
  wide sum = 1.0f + rest * (1.0f / 7.0f);
  for (int n = 6; n >= 1; --n) {
    sum = 1.0f + rest * sum * (1.0f / (float)n);
  }
  return sum * (wide)((whole + 127) << 23);
}

// What the samples of a register have gathered.
typedef struct sums {
  wide a, b, c, d, nearest;
} sums;

// A particle as seen from the samples: d / R and its square.
typedef struct seen {
  wide dx, dy, square;
  float dz;
} seen;

static inline void add_zhu_bridson(sums *s, const kp_surface_particles *p, int64_t i, seen q) {
  (void)p;
  (void)i;
  wide t = positive(1.0f - q.square);
  wide w = t * t * t;
  s->a += w;
  s->b += w * q.dx;
  s->c += w * q.dy;
  s->d += w * q.dz;
  s->nearest = smaller(q.square, s->nearest);
}

// |G d|, G symmetric: xx xy xz yy yz zz, and the weight.
static inline void add_anisotropic(sums *s, const kp_surface_particles *p, int64_t i, seen q) {
  const float *const *g = p->attributes;
  wide x = g[0][i] * q.dx + g[1][i] * q.dy + g[2][i] * q.dz;
  wide y = g[1][i] * q.dx + g[3][i] * q.dy + g[4][i] * q.dz;
  wide z = g[2][i] * q.dx + g[4][i] * q.dy + g[5][i] * q.dz;
  wide t = positive(1.0f - (x * x + y * y + z * z));
  s->a += g[6][i] * (t * t * t);
}

// With q = d^2 / R_f^2 and R = R_f / sqrt 2: (q - 1/2)^2 = (1 - d^2/R^2)^2 / 4.
static inline void add_metaballs(sums *s, const kp_surface_particles *p, int64_t i, seen q) {
  (void)p;
  (void)i;
  wide t = positive(1.0f - q.square);
  s->a += t * t;
}

static inline void add_radial(sums *s, const kp_surface_particles *p, int64_t i, seen q) {
  (void)p;
  (void)i;
  wide t = positive(1.0f - q.square);
  s->a += t * t * t;
}

// attribute: s^2
static inline void add_literal(sums *s, const kp_surface_particles *p, int64_t i, seen q) {
  wide t = 1.0f - p->attributes[0][i] * q.square;
  t = (wide)((mask)t & (mask)(q.square < 1.0f));
  s->a += t * t * t;
}

// attribute: 1 / s^2
static inline void add_shrink(sums *s, const kp_surface_particles *p, int64_t i, seen q) {
  wide t = positive(1.0f - p->attributes[0][i] * q.square);
  s->a += t * t * t;
}

static inline void add_weight(sums *s, const kp_surface_particles *p, int64_t i, seen q) {
  wide t = positive(1.0f - q.square);
  s->a += p->attributes[0][i] * (t * t * t);
}

static inline void add_blobbies(sums *s, const kp_surface_particles *p, int64_t i, seen q) {
  (void)p;
  (void)i;
  mask is_near = (mask)(q.square < 1.0f);
  wide x = (wide)((mask)(q.square * -KP_BLOBBY_WIDTH) & is_near);
  s->a += (wide)((mask)(exponential(x) - KP_BLOBBY_END) & is_near);
}

static inline void add_soft(sums *s, const kp_surface_particles *p, int64_t i, seen q) {
  (void)p;
  (void)i;
  wide x = q.square;
  wide t = 1.0f + x * (-22.0f / 9.0f + x * (17.0f / 9.0f - x * (4.0f / 9.0f)));
  s->a += (wide)((mask)t & (mask)(x < 1.0f));
}

// Eq. 3.9 with equal volumes and the tent W = 1 - d/r.
static inline void add_hong(sums *s, const kp_surface_particles *p, int64_t i, seen q) {
  (void)p;
  (void)i;
  wide t = positive(1.0f - root(q.square));
  s->a += t * t * t;
  s->b += t;
}

// All particles that reach the layer, for a register of its samples after the other.
#define GATHER(field)                                                                              \
  static void gather_##field(const kp_surface_particles *p, kp_surface_layer *layer) {             \
    for (int first = 0; first < layer->n; first += LANES) {                                        \
      wide x = load(layer->x + first), y = load(layer->y + first);                                 \
      sums s = { load(layer->weight + first), load(layer->mx + first), load(layer->my + first),    \
                 load(layer->mz + first), load(layer->nearest + first) };                          \
      for (int64_t i = 0; i < p->n; ++i) {                                                         \
        float dz = p->z[i] - layer->z;                                                             \
        if (!(p->away[i] + dz * dz < 1.0f)) {                                                      \
          continue;                                                                                \
        }                                                                                          \
        wide dx = splat(p->x[i]) - x, dy = splat(p->y[i]) - y;                                     \
        add_##field(&s, p, i, (seen){ dx, dy, dx * dx + dy * dy + dz * dz, dz });                  \
      }                                                                                            \
      store(layer->weight + first, s.a);                                                           \
      store(layer->mx + first, s.b);                                                               \
      store(layer->my + first, s.c);                                                               \
      store(layer->mz + first, s.d);                                                               \
      store(layer->nearest + first, s.nearest);                                                    \
    }                                                                                              \
  }

GATHER(zhu_bridson)
GATHER(anisotropic)
GATHER(metaballs)
GATHER(radial)
GATHER(literal)
GATHER(shrink)
GATHER(weight)
GATHER(blobbies)
GATHER(soft)
GATHER(hong)

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

// Sixteen lanes whatever the instruction set: the order of a sum is the same for all.
typedef float row __attribute__((vector_size(64)));
typedef int32_t row_mask __attribute__((vector_size(64)));
typedef float loose_row __attribute__((vector_size(64), aligned(4), may_alias));

static inline float row_sum(row a) {
  for (int half = 8; half > 0; half /= 2) {
    for (int lane = 0; lane < half; ++lane) {
      a[lane] += a[lane + half];
    }
  }
  return a[0];
}

static inline row row_root(row a) {
  for (int lane = 0; lane < 16; ++lane) {
    a[lane] = sqrtf(a[lane]);
  }
  return a;
}

static inline row row_keep(row a, row_mask where) {
  return (row)((row_mask)a & where);
}

void NAME(moments, KP_ISA)(const kp_surface_runs *runs, const float at[4], kp_surface_moments *out);
void NAME(moments, KP_ISA)(const kp_surface_runs *runs, const float at[4],
                           kp_surface_moments *out) {
  static const row_mask lanes = { 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15 };
  enum { N = sizeof *out / sizeof(float) };
  row sum[N];
  memset(sum, 0, sizeof sum);
  for (int r = 0; r < runs->n; ++r) {
    const float *shift = runs->shift[r];
    for (uint32_t j = runs->begin[r]; j < runs->end[r]; j += 16) {
      row x = *(const loose_row *)(runs->x + j) + (shift[0] - at[0]);
      row y = *(const loose_row *)(runs->y + j) + (shift[1] - at[1]);
      row z = *(const loose_row *)(runs->z + j) + (shift[2] - at[2]);
      row value = *(const loose_row *)(runs->value + j);
      row square = x * x + y * y + z * z;
      row_mask where = (row_mask)(square < 1.0f) & (lanes < (int32_t)(runs->end[r] - j));
      square = row_keep(square, where);
      row one = row_keep((row){ 0 } + 1.0f, where);
      row w = row_keep(1.0f - square * row_root(square), where);
      row step = (value - at[3]) * (1.0f / KP_SURFACE_ALIKE);
      row g = 1.0f - step * step;
      g = row_keep(w * g, (row_mask)(g > 0.0f));
      x = row_keep(x, where);
      y = row_keep(y, where);
      z = row_keep(z, where);
      const row add[N] = { one,       x,         y,         z,         row_keep(value, where),
                           w,         w * x,     w * y,     w * z,     w * x * x,
                           w * x * y, w * x * z, w * y * y, w * y * z, w * z * z,
                           g,         g * x,     g * y,     g * z };
      for (int n = 0; n < N; ++n) {
        sum[n] += add[n];
      }
    }
  }
  float totals[N];
  for (int n = 0; n < N; ++n) {
    totals[n] = row_sum(sum[n]);
  }
  memcpy(out, totals, sizeof totals);
}
