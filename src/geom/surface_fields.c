#include "geom/surface_fields.h"

#include <math.h>

#include "base/memory.h"
#include "geom/particle_surface_cpu.h"
#include "math/symmetric3.h"
#include "par/parallel.h"

#define PI 3.14159265358979323846
#define BLOCKS_PER_CHUNK 16

// ---- values

static float plain_value(float first, float second) {
  (void)second;
  return first;
}

static float root_value(float first, float second) {
  (void)second;
  return sqrtf(first);
}

static float root_mean_value(float first, float second) {
  return second > 0.0f ? sqrtf(first / second) : 0.0f;
}

static double one_unit(double reach, int dimension) {
  (void)reach;
  (void)dimension;
  return 1.0;
}

static double quarter_unit(double reach, int dimension) {
  (void)reach;
  (void)dimension;
  return 0.25;
}

// V W(0) of poly6 for a particle of one spacing: (1 - s^2)^3 integrates to pi/4 and 64 pi/315.
static double color_unit(double reach, int dimension) {
  return dimension == 2 ? 4.0 / (PI * reach * reach) : 315.0 / (64.0 * PI * reach * reach * reach);
}

// ---- surface values (Bayraktar 2010, Eqs. 5.6-5.9)

// Over the whole liquid the largest value pops with its most extreme particle, so it is kept to
// that of a half space.
static double half_space(int dimension) {
  return dimension == 2 ? 4.0 / (3.0 * PI) : 0.375;
}

typedef struct particle_work {
  kp_surfacer *s;
  kp_surface_moments_fn moments;
  float *result;  // by particle
  float largest;  // Rmax
} particle_work;

static bool is_near_samples(const kp_blocks *b, int64_t block) {
  bool is_near = false;
  for (int near = 0; near < KP_BLOCK_AROUND; ++near) {
    int32_t at = b->around[block][near];
    is_near = is_near || (at >= 0 && b->slots[at] >= 0);
  }
  return is_near;
}

static bool is_close_to_them(const kp_blocks *b, int64_t block) {
  bool is_close = false;
  for (int near = 0; near < KP_BLOCK_AROUND && !is_close; ++near) {
    int32_t at = b->around[block][near];
    is_close = at >= 0 && is_near_samples(b, at);
  }
  return is_close;
}

static void place_of(const kp_surfacer *s, int64_t i, float at[4]) {
  int64_t room = s->starts[s->blocks.n] + KP_SURFACE_LANES;
  for (int c = 0; c < 4; ++c) {
    at[c] = s->near[c * room + i];
  }
}

// |n_i| / h, n_i = x_i - mean of all within h (Eqs. 5.6, 5.7).
static void find_offsets(int64_t begin, int64_t end, void *context) {
  const particle_work *w = context;
  const kp_surfacer *s = w->s;
  kp_surface_runs runs;
  kp_surface_moments m;
  float at[4];
  for (int64_t block = begin; block < end; ++block) {
    if (s->starts[block] == s->starts[block + 1] || !is_close_to_them(&s->blocks, block)) {
      continue;
    }
    kp_surfacer_runs(s, block, &runs);
    for (int64_t i = s->starts[block]; i < s->starts[block + 1]; ++i) {
      place_of(s, i, at);
      w->moments(&runs, at, &m);
      float square = m.d[0] * m.d[0] + m.d[1] * m.d[1] + m.d[2] * m.d[2];
      w->result[i] = m.count > 0.0f ? sqrtf(square) / m.count : 0.0f;
    }
  }
}

// Rr_i = sum |n_j| / (k_i h) (Eq. 5.8).
static void find_ratios(int64_t begin, int64_t end, void *context) {
  const particle_work *w = context;
  const kp_surfacer *s = w->s;
  kp_surface_runs runs;
  kp_surface_moments m;
  float at[4];
  for (int64_t block = begin; block < end; ++block) {
    bool is_wanted = s->starts[block] < s->starts[block + 1] && is_near_samples(&s->blocks, block);
    if (is_wanted) {
      kp_surfacer_runs(s, block, &runs);
    }
    for (int64_t i = s->starts[block]; i < s->starts[block + 1]; ++i) {
      w->result[i] = 0.0f;
      if (is_wanted) {
        place_of(s, i, at);
        w->moments(&runs, at, &m);
        w->result[i] = m.values / m.count;
      }
    }
  }
}

// s_i = 1 - (Rr_i + Rmax / 2) (Eq. 5.9), as the field takes it.
static kp_result prepare_values(kp_surfacer *s) {
  int64_t n = s->starts[s->blocks.n], room = n + KP_SURFACE_LANES;
  particle_work w = { .s = s, .moments = kp_surface_find_moments() };
  w.result = s->near + 3 * room;
  kp_parallel_for(s->blocks.n, BLOCKS_PER_CHUNK, find_offsets, &w);
  w.result = s->attributes;
  kp_parallel_for(s->blocks.n, BLOCKS_PER_CHUNK, find_ratios, &w);
  float largest = 0.0f;
  for (int64_t i = 0; i < n; ++i) {
    largest = fmaxf(largest, s->attributes[i]);
  }
  largest = fminf(largest, (float)half_space(s->how.dimension));
  for (int64_t i = 0; i < n; ++i) {
    float value = fmaxf(1.0f - (s->attributes[i] + 0.5f * largest), 0.05f);
    s->attributes[i] = s->how.field == KP_SURFACE_LITERAL  ? value * value
                       : s->how.field == KP_SURFACE_SHRINK ? 1.0f / (value * value)
                                                           : value;
  }
  return KP_OK;
}

// ---- ellipsoids (after Yu & Turk 2013, section 4)

#define KERNEL 0.80       // semi-axis of a particle deep inside, in R
#define LONE_KERNEL 0.36  // of one that is alone
#define THINNEST 0.35     // shortest axis over the longest, 1/k_r
#define WIDEST 1.15       // longest axis over that deep inside
#define MOVED 0.3         // lambda: how far centres move towards the mean of those like them
#define FEW 0.10          // shares of the neighbours deep inside between which a particle is
#define ENOUGH 0.30       // more and more part of a liquid

// Variance along an axis of w = 1 - s^3 over the unit ball, and the neighbours it holds.
static double full_variance(int dimension) {
  return dimension == 2 ? 0.5 * (1.0 / 4.0 - 1.0 / 7.0) / (1.0 / 2.0 - 1.0 / 5.0) : 0.15;
}

static double full_count(const kp_surfacing *how) {
  double r = how->reach;
  return how->dimension == 2 ? PI * r * r : 4.0 / 3.0 * PI * r * r * r;
}

// How far the weighted mean of the neighbours is: how near the surface a particle lies.
static void find_depths(int64_t begin, int64_t end, void *context) {
  const particle_work *w = context;
  const kp_surfacer *s = w->s;
  kp_surface_runs runs;
  kp_surface_moments m;
  float at[4];
  for (int64_t block = begin; block < end; ++block) {
    if (s->starts[block] == s->starts[block + 1] || !is_close_to_them(&s->blocks, block)) {
      continue;
    }
    kp_surfacer_runs(s, block, &runs);
    for (int64_t i = s->starts[block]; i < s->starts[block + 1]; ++i) {
      place_of(s, i, at);
      w->moments(&runs, at, &m);
      const float *d = m.weight_d;
      w->result[i] = sqrtf(d[0] * d[0] + d[1] * d[1] + d[2] * d[2]) / m.weight;
    }
  }
}

// Semi-axes in R from the covariance of the neighbours. Yu and Turk take its eigenvalues; their
// roots are the lengths of the cloud, and with them a flat surface has the value 1/2 in its place.
static double find_axes(const kp_surfacer *s, const kp_surface_moments *m, double axes[3],
                        kp_mat3 *turn) {
  double w = (double)m->weight, mean[3], c[6];
  for (int k = 0; k < 3; ++k) {
    mean[k] = (double)m->weight_d[k] / w;
  }
  static const int of[6][2] = { { 0, 0 }, { 0, 1 }, { 0, 2 }, { 1, 1 }, { 1, 2 }, { 2, 2 } };
  for (int k = 0; k < 6; ++k) {
    c[k] = (double)m->weight_dd[k] / w - mean[of[k][0]] * mean[of[k][1]];
  }
  double full = full_variance(s->how.dimension), values[3], longest = 0.0;
  if (s->how.dimension == 2) {
    c[5] = full;
  }
  kp_mat3 a = { { { c[0], c[1], c[2] }, { c[1], c[3], c[4] }, { c[2], c[4], c[5] } } };
  kp_symmetric3_eigen(&a, values, turn);
  for (int k = 0; k < 3; ++k) {
    axes[k] = fmin(sqrt(fmax(values[k], 0.0) / full), WIDEST);
    longest = fmax(longest, axes[k]);
  }
  double share = (double)m->count / full_count(&s->how);
  double t = fmin(fmax((share - FEW) / (ENOUGH - FEW), 0.0), 1.0), product = 1.0;
  for (int k = 0; k < 3; ++k) {
    axes[k] = KERNEL * fmax(axes[k], THINNEST * fmax(longest, THINNEST));
    axes[k] = t * axes[k] + (1.0 - t) * LONE_KERNEL;
    product *= axes[k];
  }
  return product;
}

static void set_ellipsoid(kp_surfacer *s, int64_t i, const kp_surface_moments *m) {
  int64_t n = s->starts[s->blocks.n];
  double axes[3], reach = s->how.reach * s->how.spacing;
  kp_mat3 turn;
  double product = find_axes(s, m, axes, &turn);
  static const int of[6][2] = { { 0, 0 }, { 0, 1 }, { 0, 2 }, { 1, 1 }, { 1, 2 }, { 2, 2 } };
  for (int k = 0; k < 6; ++k) {
    double sum = 0.0;
    for (int a = 0; a < 3; ++a) {
      sum += turn.m[of[k][0]][a] * turn.m[of[k][1]][a] / axes[a];
    }
    s->attributes[k * n + i] = (float)sum;
  }
  // in flat worlds the third axis is that of z, and no part of the area
  double volume = product;
  for (int a = 0; a < 3 && s->how.dimension == 2; ++a) {
    volume = fabs(turn.m[2][a]) > 0.5 ? product / axes[a] : volume;
  }
  s->attributes[6 * n + i] = (float)(1.0 / volume);
  double share = m->alike > 0.0f ? MOVED * reach / (double)m->alike : 0.0;
  for (int c = 0; c < 3; ++c) {
    double move = share * (double)m->alike_d[c], most = (1.0 - KERNEL * WIDEST) * reach;
    s->places[c * n + i] += fmin(fmax(move, -most), most);
  }
}

static void find_ellipsoids(int64_t begin, int64_t end, void *context) {
  const particle_work *w = context;
  kp_surfacer *s = w->s;
  kp_surface_runs runs;
  kp_surface_moments m;
  float at[4];
  int64_t n = s->starts[s->blocks.n];
  for (int64_t block = begin; block < end; ++block) {
    bool is_wanted = s->starts[block] < s->starts[block + 1] && is_near_samples(&s->blocks, block);
    if (is_wanted) {
      kp_surfacer_runs(s, block, &runs);
    }
    for (int64_t i = s->starts[block]; i < s->starts[block + 1]; ++i) {
      for (int k = 0; k < KP_SURFACE_ATTRIBUTES; ++k) {
        s->attributes[k * n + i] = 0.0f;
      }
      if (is_wanted) {
        place_of(s, i, at);
        w->moments(&runs, at, &m);
        set_ellipsoid(s, i, &m);
      }
    }
  }
}

static kp_result prepare_ellipsoids(kp_surfacer *s) {
  int64_t room = s->starts[s->blocks.n] + KP_SURFACE_LANES;
  particle_work w = { .s = s, .moments = kp_surface_find_moments() };
  w.result = s->near + 3 * room;
  kp_parallel_for(s->blocks.n, BLOCKS_PER_CHUNK, find_depths, &w);
  kp_parallel_for(s->blocks.n, BLOCKS_PER_CHUNK, find_ellipsoids, &w);
  return KP_OK;
}

// ---- the table

const kp_surface_field kp_surface_fields[KP_SURFACE_KIND_COUNT] = {
  [KP_SURFACE_ZHU_BRIDSON] = { .name = "zhu-bridson", .reach = 2.4, .smooth = 2 },
  [KP_SURFACE_ANISOTROPIC] = { .name = "anisotropic",
                               .reach = 2.8,
                               .level = { 0.5, 0.5 },
                               .n_attributes = 7,
                               .deep = 1.25f,
                               .value = plain_value,
                               .unit = color_unit,
                               .prepare = prepare_ellipsoids },
  [KP_SURFACE_METABALLS] = { .name = "metaballs",
                             .reach = 1.4142135623730951,  // R_f is two spacings
                             .level = { 0.0625, 0.0625 },
                             .value = plain_value,
                             .unit = quarter_unit },
  [KP_SURFACE_COLOR] = { .name = "color",
                         .reach = 2.0,
                         .level = { 0.5, 0.5 },
                         .value = plain_value,
                         .unit = color_unit },
  [KP_SURFACE_RADIAL] = { .name = "radial",
                          .reach = 2.674,  // spacings of 0.374 h
                          .level = { 0.6, 0.6 },
                          .value = root_value,
                          .unit = one_unit },
  [KP_SURFACE_LITERAL] = { .name = "surface-literal",
                           .reach = 2.674,
                           .level = { 0.6, 0.6 },
                           .n_attributes = 1,
                           .deep = 0.56f,
                           .value = root_value,
                           .unit = one_unit,
                           .prepare = prepare_values },
  [KP_SURFACE_SHRINK] = { .name = "surface-shrink",
                          .reach = 2.674,
                          .level = { 0.6, 0.6 },
                          .n_attributes = 1,
                          .deep = 1.78f,
                          .value = root_value,
                          .unit = one_unit,
                          .prepare = prepare_values },
  [KP_SURFACE_WEIGHT] = { .name = "surface-weight",
                          .reach = 2.674,
                          .level = { 0.6, 0.6 },
                          .n_attributes = 1,
                          .deep = 0.75f,
                          .value = root_value,
                          .unit = one_unit,
                          .prepare = prepare_values },
  [KP_SURFACE_BLOBBIES] = { .name = "blobbies",
                            .reach = 2.0,
                            .level = { 0.5, 0.5 },
                            .value = plain_value,
                            .unit = one_unit },
  [KP_SURFACE_SOFT] = { .name = "soft",
                        .reach = 1.6,
                        .level = { 0.5, 0.5 },
                        .value = plain_value,
                        .unit = one_unit },
  [KP_SURFACE_HONG] = { .name = "hong",
                        .reach = 2.0,
                        .level = { 0.32, 0.28 },
                        .value = root_mean_value,
                        .unit = one_unit },
};

const char *const kp_surface_field_names[] = {
  "zhu-bridson",    "anisotropic",    "metaballs", "color", "radial", "surface-literal",
  "surface-shrink", "surface-weight", "blobbies",  "soft",  "hong",   NULL,
};
