#include "geom/surface_fields.h"

#include <math.h>
#include <string.h>

#include "geom/particle_surface_cpu.h"
#include "par/parallel.h"

#define PI KP_SURFACE_PI
#define BLOCKS_PER_CHUNK 16

// ---- units

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

// ---- neighbours

// Sums of a kind over the neighbours of the particles of blocks; `use` gets those of particle i,
// KP_SURFACE_LANES apart.
typedef struct particle_work {
  kp_surfacer *s;
  kp_surface_moments_fn moments;
  kp_surface_moment kind;
  bool is_wide;  // particles whose neighbours are wanted count too
  void (*use)(const struct particle_work *w, int64_t i, const float *sums);
  float *result;  // by particle
} particle_work;

static void visit_blocks(int64_t begin, int64_t end, void *context) {
  const particle_work *w = context;
  const kp_surfacer *s = w->s;
  kp_surface_runs runs;
  float sums[KP_SURFACE_MOMENTS][KP_SURFACE_LANES];
  for (int64_t block = begin; block < end; ++block) {
    int64_t first = s->starts[block], last = s->starts[block + 1];
    bool is_wanted = first < last && (w->is_wide ? kp_surface_is_close(&s->blocks, block)
                                                 : kp_surface_is_near(&s->blocks, block));
    if (is_wanted) {
      kp_surfacer_runs(s, block, &runs);
    }
    for (; is_wanted && first < last; first += KP_SURFACE_LANES) {
      w->moments(w->kind, &runs, first, sums);
      int64_t n = last - first < KP_SURFACE_LANES ? last - first : KP_SURFACE_LANES;
      for (int64_t lane = 0; lane < n; ++lane) {
        w->use(w, first + lane, &sums[0][lane]);
      }
    }
  }
}

static void visit(particle_work *w) {
  w->moments = kp_surface_find_moments();
  kp_parallel_for(w->s->blocks.n, BLOCKS_PER_CHUNK, visit_blocks, w);
}

static int64_t count_particles(const kp_surfacer *s) {
  return s->starts[s->blocks.n];
}

static float *values_of(const kp_surfacer *s) {
  return s->near + KP_SURFACE_VALUE * (count_particles(s) + KP_SURFACE_LANES);
}

// One over the edges of particles, in spacings.
static const float *inverses_of(const kp_surfacer *s) {
  return s->near + KP_SURFACE_INVERSE * (count_particles(s) + KP_SURFACE_LANES);
}

// ---- surface values (Bayraktar 2010, Eqs. 5.6-5.9)

// |n_i| / h, n_i = x_i - mean of all within h (Eqs. 5.6, 5.7).
static void use_offset(const particle_work *w, int64_t i, const float *sums) {
  enum { L = KP_SURFACE_LANES };
  w->result[i] = kp_surface_length_of(sums[0], sums[L], sums[2 * L], sums[3 * L]);
}

// Rr_i = sum |n_j| / (k_i h) (Eq. 5.8).
static void use_ratio(const particle_work *w, int64_t i, const float *sums) {
  w->result[i] = sums[KP_SURFACE_LANES] / sums[0];
}

static kp_result prepare_values(kp_surfacer *s) {
  int64_t n = count_particles(s);
  visit(&(particle_work){ .s = s,
                          .kind = KP_SURFACE_OFFSET,
                          .is_wide = true,
                          .use = use_offset,
                          .result = values_of(s) });
  memset(s->attributes, 0, (size_t)n * sizeof *s->attributes);
  visit(&(particle_work){
      .s = s, .kind = KP_SURFACE_RATIO, .use = use_ratio, .result = s->attributes });
  float largest = 0.0f;
  for (int64_t i = 0; i < n; ++i) {
    largest = fmaxf(largest, s->attributes[i]);
  }
  largest = kp_surface_largest(s->how.dimension, largest);
  for (int64_t i = 0; i < n; ++i) {
    s->attributes[i] = kp_surface_share(s->how.field, s->attributes[i], largest);
  }
  return KP_OK;
}

// ---- radii

static kp_result prepare_radii(kp_surfacer *s) {
  memcpy(s->attributes, inverses_of(s), (size_t)count_particles(s) * sizeof *s->attributes);
  return KP_OK;
}

// ---- ellipsoids

// How far the weighted mean of the neighbours is: how near the surface a particle lies.
static void use_depth(const particle_work *w, int64_t i, const float *sums) {
  enum { L = KP_SURFACE_LANES };
  w->result[i] = kp_surface_length_of(sums[0], sums[L], sums[2 * L], sums[3 * L]);
}

static void use_cloud(const particle_work *w, int64_t i, const float *sums) {
  kp_surfacer *s = w->s;
  int64_t n = count_particles(s), room = n + KP_SURFACE_LANES;
  float all[KP_SURFACE_MOMENTS];
  for (int k = 0; k < KP_SURFACE_MOMENTS; ++k) {
    all[k] = sums[k * KP_SURFACE_LANES];
  }
  kp_surface_neighbours m;
  _Static_assert(sizeof m == sizeof all, "the sums of a particle");
  memcpy(&m, all, sizeof m);
  kp_surface_ellipsoid e;
  kp_surface_find_ellipsoid(&s->numbers, &m, inverses_of(s)[i], &e);
  if (s->numbers.spray > 0.0) {
    uint32_t block = s->bin_of[s->order[i]];
    const float near[3] = { s->near[i], s->near[room + i], s->near[2 * room + i] };
    kp_surface_spray_out(&s->numbers, m.weight, kp_blocks_corner(&s->blocks, s->blocks.at[block]),
                         near, &e);
    s->spray[i] = e.spray;
  }
  for (int k = 0; k < KP_SURFACE_ATTRIBUTES; ++k) {
    s->attributes[k * n + i] = e.g[k];
  }
  for (int c = 0; c < 3; ++c) {
    s->moved[c * room + i] = s->near[c * room + i] + e.move[c];
  }
}

static kp_result prepare_ellipsoids(kp_surfacer *s) {
  visit(&(particle_work){ .s = s,
                          .kind = KP_SURFACE_DEPTH,
                          .is_wide = true,
                          .use = use_depth,
                          .result = values_of(s) });
  // those that no sample sees are passed over there too
  visit(&(particle_work){ .s = s, .kind = KP_SURFACE_CLOUD, .use = use_cloud });
  return KP_OK;
}

// ---- the table

const kp_surface_field kp_surface_fields[KP_SURFACE_KIND_COUNT] = {
  [KP_SURFACE_ZHU_BRIDSON] = { .name = "zhu-bridson", .reach = 2.4, .smooth = 2 },
  [KP_SURFACE_ANISOTROPIC] = { .name = "anisotropic",
                               .reach = 2.8,
                               .level = { 0.5, 0.5 },
                               .n_attributes = 7,
                               .moves = true,
                               .deep = 1.25f,
                               .value = kp_surface_plain_value,
                               .unit = color_unit,
                               .prepare = prepare_ellipsoids },
  [KP_SURFACE_METABALLS] = { .name = "metaballs",
                             .reach = 1.4142135623730951,  // R_f is two spacings
                             .level = { 0.0625, 0.0625 },
                             .value = kp_surface_plain_value,
                             .unit = quarter_unit },
  [KP_SURFACE_COLOR] = { .name = "color",
                         .reach = 2.0,
                         .level = { 0.5, 0.5 },
                         .value = kp_surface_plain_value,
                         .unit = color_unit },
  [KP_SURFACE_RADIAL] = { .name = "radial",
                          .reach = 2.674,  // spacings of 0.374 h
                          .level = { 0.6, 0.6 },
                          .value = kp_surface_root_value,
                          .unit = one_unit },
  [KP_SURFACE_LITERAL] = { .name = "surface-literal",
                           .reach = 2.674,
                           .level = { 0.6, 0.6 },
                           .n_attributes = 1,
                           .deep = 0.56f,
                           .value = kp_surface_root_value,
                           .unit = one_unit,
                           .prepare = prepare_values },
  [KP_SURFACE_SHRINK] = { .name = "surface-shrink",
                          .reach = 2.674,
                          .level = { 0.6, 0.6 },
                          .n_attributes = 1,
                          .deep = 1.78f,
                          .value = kp_surface_root_value,
                          .unit = one_unit,
                          .prepare = prepare_values },
  [KP_SURFACE_WEIGHT] = { .name = "surface-weight",
                          .reach = 2.674,
                          .level = { 0.6, 0.6 },
                          .n_attributes = 1,
                          .deep = 0.75f,
                          .value = kp_surface_root_value,
                          .unit = one_unit,
                          .prepare = prepare_values },
  [KP_SURFACE_BLOBBIES] = { .name = "blobbies",
                            .reach = 2.0,
                            .level = { 0.5, 0.5 },
                            .value = kp_surface_plain_value,
                            .unit = one_unit },
  [KP_SURFACE_SOFT] = { .name = "soft",
                        .reach = 1.6,
                        .level = { 0.5, 0.5 },
                        .value = kp_surface_plain_value,
                        .unit = one_unit },
  [KP_SURFACE_HONG] = { .name = "hong",
                        .reach = 2.0,
                        .level = { 0.32, 0.28 },
                        .n_attributes = 1,
                        .deep = 1.0f,
                        .value = kp_surface_mean_value,
                        .unit = one_unit,
                        .prepare = prepare_radii },
};

const char *const kp_surface_field_names[] = {
  "zhu-bridson",    "anisotropic",    "metaballs", "color", "radial", "surface-literal",
  "surface-shrink", "surface-weight", "blobbies",  "soft",  "hong",   NULL,
};
