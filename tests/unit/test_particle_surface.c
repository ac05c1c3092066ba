// Surfaces of particles: where the liquid ends, closed, without bridges over gaps, drops kept,
// equal to a plain sum over all particles, the same for any number of threads.
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geom/mesh.h"
#include "geom/particle_surface.h"
#include "math/svd3.h"
#include "par/parallel.h"

#include "support/claims.h"

#define PI 3.14159265358979323846
#define D 0.05

typedef struct liquid {
  int64_t n;
  double x[3][40000];
  kp_real v[3][40000];
  float size[40000];
} liquid;

static void add(liquid *l, kp_vec3 p, kp_vec3 v) {
  assert_true(l->n < 40000);
  l->x[0][l->n] = p.x;
  l->x[1][l->n] = p.y;
  l->x[2][l->n] = p.z;
  l->v[0][l->n] = (kp_real)v.x;
  l->v[1][l->n] = (kp_real)v.y;
  l->v[2][l->n] = (kp_real)v.z;
  l->size[l->n] = 1.0f;
  ++l->n;
}

static kp_cloud cloud_of(const liquid *l) {
  return (kp_cloud){ .n = l->n, .x = l->x[0], .y = l->x[1], .z = l->x[2], .size = NULL };
}

static liquid *make_liquid(void) {
  liquid *l = kp_alloc_zero(sizeof *l, KP_MEMORY_TEST);
  assert_non_null(l);
  return l;
}

// Particles of a lattice, each shifted by up to `jitter` spacings, where `inside` is negative.
static void fill(liquid *l, kp_aabb box, double (*inside)(kp_vec3 p), double jitter) {
  kp_test_random random = kp_test_random_begin(7);
  kp_vec3 v = kp_vec3_make(1.0, 2.0, -3.0);
  for (double z = box.min.z + 0.5 * D; z < box.max.z; z += D) {
    for (double y = box.min.y + 0.5 * D; y < box.max.y; y += D) {
      for (double x = box.min.x + 0.5 * D; x < box.max.x; x += D) {
        kp_vec3 p = kp_vec3_make(x, y, z);
        if (inside == NULL || inside(p) < 0.0) {
          p = kp_vec3_madd(p, D, kp_test_vec3(&random, -jitter, jitter));
          add(l, p, v);
        }
      }
    }
  }
}

static kp_surfacing settings(void) {
  return (kp_surfacing){ .spacing = D,
                         .voxel = 0.6 * D,
                         .reach = 2.4,
                         .smooth = 2,
                         .dimension = 3,
                         .box = { { -10, -10, -10 }, { 10, 10, 10 } } };
}

typedef struct result {
  kp_surfacer surfacer;
  kp_isosurface surface;
  kp_mesh mesh;
} result;

static void make(result *r, const kp_surfacing *how, const liquid *l) {
  kp_cloud cloud = cloud_of(l);
  assert_ok(kp_surfacer_fill(&r->surfacer, how, &cloud));
  assert_ok(kp_marching_blocks(&r->surfacer.blocks, 0.0f, &r->surface));
  kp_mesh_destroy(&r->mesh);
  const kp_isosurface *s = &r->surface;
  assert_ok(kp_mesh_create((kp_index)s->n_vertices, (kp_index)s->n_triangles, &r->mesh));
  memcpy(r->mesh.vertices, s->vertices, (size_t)s->n_vertices * sizeof *s->vertices);
  for (int64_t i = 0; i < 3 * s->n_triangles; ++i) {
    r->mesh.triangles[i / 3].v[i % 3] = (kp_index)s->triangles[i];
  }
  assert_true(s->n_triangles > 0);
  assert_ok(kp_mesh_check_closed(&r->mesh));
}

static void free_result(result *r) {
  kp_mesh_destroy(&r->mesh);
  kp_isosurface_free(&r->surface);
  kp_surfacer_free(&r->surfacer);
}

static int64_t euler_number(const kp_isosurface *s) {
  return s->n_vertices - s->n_triangles / 2;
}

// A pool in a tank: its top is where it should be, its sides are the walls.
static void test_pool(void **state) {
  (void)state;
  liquid *l = make_liquid();
  result r = { 0 };
  kp_surfacing how = settings();
  how.box = (kp_aabb){ { 0, 0, 0 }, { 1, 2, 1 } };
  fill(l, (kp_aabb){ { 0, 0, 0 }, { 1, 0.5, 1 } }, NULL, 0.2);
  make(&r, &how, l);
  assert_near_relative(kp_mesh_volume(&r.mesh), 0.5, 0.02);
  assert_int_equal(euler_number(&r.surface), 2);
  kp_aabb box = kp_mesh_bounds(&r.mesh);
  assert_near(box.min.x, 0.0, 1e-3 * D);
  assert_near(box.max.z, 1.0, 1e-3 * D);
  assert_near(box.min.y, 0.0, 1e-3 * D);
  double sum = 0.0, square = 0.0;
  int64_t n = 0;
  for (int64_t i = 0; i < r.surface.n_vertices; ++i) {
    kp_vec3 p = r.surface.vertices[i];
    if (p.y > 0.4 && fabs(p.x - 0.5) < 0.35 && fabs(p.z - 0.5) < 0.35) {
      sum += p.y;
      square += p.y * p.y;
      ++n;
    }
  }
  assert_near(sum / (double)n, 0.5, 0.05 * D);
  // smooth: particles that stand out by a fifth of a spacing leave far smaller bumps
  double rough = sqrt(fmax(square / (double)n - sum * sum / (double)(n * n), 0.0)) / D;
  print_message("pool: RMS %.4f spacings\n", rough);
  assert_true(rough < 0.06);
  free_result(&r);
  kp_free(l);
}

static double ball(kp_vec3 p) {
  return kp_vec3_length(p) - 0.5;
}

static void test_ball(void **state) {
  (void)state;
  liquid *l = make_liquid();
  result r = { 0 };
  kp_surfacing how = settings();
  fill(l, (kp_aabb){ { -0.5, -0.5, -0.5 }, { 0.5, 0.5, 0.5 } }, ball, 0.15);
  make(&r, &how, l);
  kp_vec3 center = kp_vec3_make(0, 0, 0);
  for (int64_t i = 0; i < r.surface.n_vertices; ++i) {
    center = kp_vec3_madd(center, 1.0 / (double)r.surface.n_vertices, r.surface.vertices[i]);
  }
  double volume = kp_mesh_volume(&r.mesh) / ((double)l->n * D * D * D);
  kp_claim claim = { .id = "hong-H12",
                     .text = "averaged-position surface of a ball has its volume and centre",
                     .size = "ball of 4,224 particles, shifted by up to 0.15 spacings" };
  kp_claim_status verdict = kp_claim_all(
      &claim,
      { "volume against that of the particles, share", fabs(volume - 1.0), KP_AT_MOST, 0.01 },
      { "centre off by, spacings", kp_vec3_length(center) / D, KP_AT_MOST, 0.05 },
      { "Euler number less 2", (double)euler_number(&r.surface) - 2.0, KP_AT_MOST, 0.0 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  assert_int_equal(euler_number(&r.surface), 2);
  // its velocity is that of the liquid
  kp_cloud cloud = cloud_of(l);
  int64_t n = r.surface.n_vertices;
  float *v = kp_alloc(3 * (size_t)n * sizeof *v, KP_MEMORY_TEST);
  const kp_real *const values[3] = { l->v[0], l->v[1], l->v[2] };
  float *const out[3] = { v, v + n, v + 2 * n };
  kp_surfacer_average(&r.surfacer, &cloud, r.surface.vertices, n, 3, values, out);
  for (int64_t i = 0; i < n; ++i) {
    assert_vec3_near(kp_vec3_make((double)v[i], (double)v[n + i], (double)v[2 * n + i]),
                     kp_vec3_make(1.0, 2.0, -3.0), 1e-5);
  }
  kp_free(v);
  free_result(&r);
  kp_free(l);
}

// |x - xbar| - rbar with the weights of Eq. 2.58, particles of half a spacing.
static double printed_distance(const liquid *l, kp_vec3 x, double reach) {
  kp_vec3 mean = kp_vec3_make(0, 0, 0);
  double weight = 0.0;
  for (int64_t i = 0; i < l->n; ++i) {
    kp_vec3 d = kp_vec3_sub(kp_vec3_make(l->x[0][i], l->x[1][i], l->x[2][i]), x);
    double k = pow(fmax(1.0 - kp_vec3_dot(d, d) / (reach * reach), 0.0), 3.0);
    mean = kp_vec3_madd(mean, k, d);
    weight += k;
  }
  assert_true(weight > 0.0);
  return kp_vec3_length(mean) / weight - 0.5 * D;
}

// Two plates three spacings apart in a shaft: two bodies, with nothing between them.
static void test_gap(void **state) {
  (void)state;
  liquid *l = make_liquid();
  result r = { 0 };
  kp_surfacing how = settings();
  how.box = (kp_aabb){ { 0, -1, 0 }, { 1, 2, 1 } };
  fill(l, (kp_aabb){ { 0, 0, 0 }, { 1, 0.2, 1 } }, NULL, 0.1);
  fill(l, (kp_aabb){ { 0, 0.2 + 3 * D, 0 }, { 1, 0.4 + 3 * D, 1 } }, NULL, 0.1);
  make(&r, &how, l);
  assert_int_equal(euler_number(&r.surface), 4);
  // as printed the mean of the particles around the middle of the gap is the middle itself
  double middle = HUGE_VAL;
  for (int k = 0; k < 100; ++k) {
    kp_vec3 p = kp_vec3_make(0.3 + 0.04 * (k % 10), 0.2 + 1.5 * D, 0.3 + 0.04 * (k / 10));
    middle = fmin(middle, printed_distance(l, p, how.reach * D));
  }
  kp_claim claim = { .id = "hong-H12-gap",
                     .text = "two plates three spacings apart stay two, as printed they do not",
                     .size = "plates of 1,600 particles in a shaft" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "bodies", 0.5 * (double)euler_number(&r.surface), KP_AT_LEAST, 2.0 },
                   { "distance as printed in the middle of the gap, least, spacings", middle / D,
                     KP_LESS, 0.0 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  for (int64_t i = 0; i < r.surface.n_vertices; ++i) {
    assert_true(fabs(r.surface.vertices[i].y - (0.2 + 1.5 * D)) > 0.5 * D);
  }
  free_result(&r);
  kp_free(l);
}

// One particle is a drop wherever it lies between the samples.
static void check_drop(kp_test_random *random, void *user) {
  result *r = user;
  liquid *l = make_liquid();
  kp_surfacing how = settings();
  add(l, kp_test_vec3(random, -1.0, 1.0), kp_vec3_make(0, 0, 0));
  make(r, &how, l);
  assert_int_equal(euler_number(&r->surface), 2);
  assert_between(kp_mesh_volume(&r->mesh), 0.1 * D * D * D, 1.2 * D * D * D);
  kp_free(l);
}

static void test_drop(void **state) {
  (void)state;
  result r = { 0 };
  kp_test_for_seeds(30, check_drop, &r);
  free_result(&r);
}

// ---- twins

// A sample of a surface at random, and where it lies. Flat worlds: of the plane.
static double pick(kp_test_random *random, const kp_blocks *b, kp_vec3 *place) {
  int64_t slot = kp_test_integer(random, 0, b->n_stored - 1);
  const int32_t *at = b->at[b->stored[slot]];
  int64_t local[3];
  for (int c = 0; c < 3; ++c) {
    local[c] = kp_test_integer(random, 0, b->edge - 1);
  }
  local[2] = b->depth == b->edge ? local[2] : 1;
  double z = b->depth == b->edge ? (double)(at[2] * b->edge + local[2]) : 0.0;
  *place = kp_vec3_scale(
      kp_vec3_make((double)(at[0] * b->edge + local[0]), (double)(at[1] * b->edge + local[1]), z),
      b->spacing);
  int64_t index = local[0] + b->edge * (local[1] + b->edge * local[2]);
  return (double)b->values[slot * kp_blocks_volume(b) + index];
}

// phi of the head of particle_surface.h by a sum over all particles, where enough of them are.
static void test_twin(void **state) {
  (void)state;
  liquid *l = make_liquid();
  kp_surfacer s = { 0 };
  kp_surfacing how = settings();
  how.smooth = 0;
  fill(l, (kp_aabb){ { 0, 0, 0 }, { 0.6, 0.4, 0.5 } }, NULL, 0.3);
  kp_cloud cloud = cloud_of(l);
  assert_ok(kp_surfacer_fill(&s, &how, &cloud));
  double reach = how.reach * D, full = 0.6383 * how.reach * how.reach * how.reach;
  int n_compared = 0, n_bent = 0;
  kp_test_random random = kp_test_random_begin(3);
  for (int turn = 0; turn < 3000; ++turn) {
    kp_vec3 p, mean = kp_vec3_make(0, 0, 0), e = mean;
    double value = pick(&random, &s.blocks, &p), weight = 0.0, nearest = HUGE_VAL, spread = 0.0;
    for (int64_t i = 0; i < l->n; ++i) {
      kp_vec3 d = kp_vec3_sub(kp_vec3_make(l->x[0][i], l->x[1][i], l->x[2][i]), p);
      double t = fmax(1.0 - kp_vec3_dot(d, d) / (reach * reach), 0.0);
      mean = kp_vec3_madd(mean, t * t * t, d);
      e = kp_vec3_madd(e, t * t, d);
      spread += t * t * kp_vec3_dot(d, d);
      weight += t * t * t;
      nearest = fmin(nearest, kp_vec3_length(d));
    }
    if (weight > 0.42 * full && weight < 0.75 * full) {
      mean = kp_vec3_scale(mean, 1.0 / weight);
      double trace = 6.0 * (spread - kp_vec3_dot(mean, e)) / (weight * reach * reach);
      double faces = fmin(1.0 + 1.4 * fmax((3.0 - trace) / 0.71 - 1.55, 0.0), 3.0);
      double flat = (double)s.numbers.radius, radius = flat * sqrt(faces);
      double phi = fmin(kp_vec3_length(mean) - radius, 0.7 * D);
      double few = kp_vec3_length(mean) - flat + 5.0 * (weight / full - 0.42) * D;
      assert_near(value, fmin(fmin(phi, few), nearest), 1e-5 * D + 2e-7);
      n_bent += faces > 1.0 ? 1 : 0;
      ++n_compared;
    } else if (weight == 0.0) {
      assert_true(value > 0.0);
    } else if (weight > 0.9 * full) {
      assert_true(value < 0.0);
    }
  }
  assert_true(n_compared > 200 && n_bent > 20);
  kp_surfacer_free(&s);
  kp_free(l);
}

// Everything a twin needs of one particle; distances in R.
typedef struct plain_sums {
  double first, second;
} plain_sums;

// `value`: the surface value, or the size where particles differ.
typedef void (*plain_term_fn)(plain_sums *sums, double d, double value);

// The terms as the papers print them.
static void plain_metaball(plain_sums *s, double d, double value) {
  (void)value;
  double q = 0.5 * d * d;  // R = R_f / sqrt 2
  s->first += q < 0.5 ? q * q - q + 0.25 : 0.0;
}

static void plain_radial(plain_sums *s, double d, double value) {
  (void)value;
  s->first += d <= 1.0 ? pow(1.0 - d * d, 3.0) : 0.0;
}

static void plain_literal(plain_sums *s, double d, double value) {
  s->first += d < 1.0 ? pow(1.0 - d * value * d * value, 3.0) : 0.0;
}

static void plain_shrink(plain_sums *s, double d, double value) {
  s->first += d < value ? pow(1.0 - d * d / (value * value), 3.0) : 0.0;
}

static void plain_weight(plain_sums *s, double d, double value) {
  s->first += d < 1.0 ? value * pow(1.0 - d * d, 3.0) : 0.0;
}

static void plain_blobby(plain_sums *s, double d, double value) {
  (void)value;
  s->first += d < 1.0 ? exp(-6.0 * d * d) - exp(-6.0) : 0.0;
}

static void plain_soft(plain_sums *s, double d, double value) {
  (void)value;
  double c = d * d;
  s->first += d < 1.0 ? 1.0 - 4.0 / 9.0 * c * c * c + 17.0 / 9.0 * c * c - 22.0 / 9.0 * c : 0.0;
}

static void plain_hong(plain_sums *s, double d, double value) {
  // Eq. 3.9 with the tent of radius r over its integral; both times r^n, which V_i brings in
  double tent = fmax(1.0 - d / value, 0.0);
  double kernel = 3.0 / PI * tent / pow(value, 3.0), volume = pow(value, 3.0);
  s->first += volume * kernel * tent * tent;
  s->second += volume * kernel;
}

typedef struct plain_field {
  kp_surface_kind kind;
  plain_term_fn term;
  bool is_root, has_values, is_mixed;
} plain_field;

static const plain_field plain_fields[] = {
  { KP_SURFACE_METABALLS, plain_metaball, false, false, false },
  { KP_SURFACE_COLOR, plain_radial, false, false, false },
  { KP_SURFACE_RADIAL, plain_radial, true, false, false },
  { KP_SURFACE_LITERAL, plain_literal, true, true, false },
  { KP_SURFACE_SHRINK, plain_shrink, true, true, false },
  { KP_SURFACE_WEIGHT, plain_weight, true, true, false },
  { KP_SURFACE_BLOBBIES, plain_blobby, false, false, false },
  { KP_SURFACE_SOFT, plain_soft, false, false, false },
  { KP_SURFACE_HONG, plain_hong, true, false, false },
  { KP_SURFACE_HONG, plain_hong, true, false, true },
};

static double distance_between(const liquid *l, int64_t i, int64_t j) {
  return sqrt(pow(l->x[0][i] - l->x[0][j], 2) + pow(l->x[1][i] - l->x[1][j], 2) +
              pow(l->x[2][i] - l->x[2][j], 2));
}

// Surface values over all pairs, Eqs. 5.6 to 5.9, with Rmax kept to that of a half space.
static double *plain_values(const liquid *l, double h, int dimension) {
  double *offset = kp_alloc((size_t)l->n * sizeof *offset, KP_MEMORY_TEST);
  double *value = kp_alloc((size_t)l->n * sizeof *value, KP_MEMORY_TEST);
  double largest = 0.0;
  for (int pass = 0; pass < 2; ++pass) {
    for (int64_t i = 0; i < l->n; ++i) {
      double count = 0.0, sum[3] = { 0 }, offsets = 0.0;
      for (int64_t j = 0; j < l->n; ++j) {
        if (distance_between(l, i, j) < h) {
          count += 1.0;
          for (int c = 0; c < 3; ++c) {
            sum[c] += l->x[c][j] - l->x[c][i];
          }
          offsets += offset[j];
        }
      }
      if (pass == 0) {
        offset[i] = sqrt(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]) / count;
      } else {
        value[i] = offsets / (count * h);
        largest = kp_test_most(largest, value[i]);
      }
    }
  }
  largest = fmin(largest, dimension == 2 ? 4.0 / (3.0 * PI) : 0.375);
  for (int64_t i = 0; i < l->n; ++i) {
    value[i] = fmax(1.0 - (value[i] + 0.5 * largest), 0.05);
  }
  kp_free(offset);
  return value;
}

// Particles of whole and of half the spacing, in no order.
static void mix_sizes(liquid *l, kp_cloud *cloud) {
  kp_test_random random = kp_test_random_begin(21);
  for (int64_t i = 0; i < l->n; ++i) {
    l->size[i] = kp_test_uniform(&random, 0.0, 1.0) < 0.5 ? 1.0f : 0.5f;
  }
  cloud->size = l->size;
}

// Largest difference of the field from a sum over all particles, in spacings, where a surface may
// lie.
static double check_field(const plain_field *f, int dimension) {
  liquid *l = make_liquid();
  kp_surfacer s = { 0 };
  kp_surfacing how = settings();
  how.field = f->kind;
  how.smooth = -1;
  how.reach = 0.0;
  how.dimension = dimension;
  kp_aabb box = { { 0, 0, 0 }, { 0.5, 0.35, 0.3 } };
  if (dimension == 2) {
    box = (kp_aabb){ { 0, 0, -0.5 * D }, { 0.9, 0.6, 0.4 * D } };
  }
  fill(l, box, NULL, 0.3);
  add(l, kp_vec3_make(0.2, 0.9, dimension == 2 ? 0.0 : 0.1), kp_vec3_make(0, 0, 0));
  for (int64_t i = 0; i < l->n && dimension == 2; ++i) {
    l->x[2][i] = 0.0;
  }
  kp_cloud cloud = cloud_of(l);
  if (f->is_mixed) {
    mix_sizes(l, &cloud);
  }
  assert_ok(kp_surfacer_fill(&s, &how, &cloud));
  double reach = s.how.reach * D;
  double *values = f->has_values ? plain_values(l, reach, dimension) : NULL;
  kp_test_random random = kp_test_random_begin(11);
  int n_compared = 0;
  double worst = 0.0;
  for (int turn = 0; turn < 600; ++turn) {
    kp_vec3 p;
    double value = pick(&random, &s.blocks, &p);
    plain_sums sums = { 0, 0 };
    for (int64_t i = 0; i < l->n; ++i) {
      kp_vec3 d = kp_vec3_sub(kp_vec3_make(l->x[0][i], l->x[1][i], l->x[2][i]), p);
      f->term(&sums, kp_vec3_length(d) / reach, values != NULL ? values[i] : (double)l->size[i]);
    }
    double field = sums.first;
    if (f->kind == KP_SURFACE_COLOR) {
      // poly6 of Mueller et al. 2003 and its form in the plane
      double r = s.how.reach;
      field *= dimension == 2 ? 4.0 / (PI * r * r) : 315.0 / (64.0 * PI * r * r * r);
    }
    field = f->is_root ? sqrt(sums.second > 0.0 ? field / sums.second : field) : field;
    double expected = (double)s.numbers.scale * ((double)s.numbers.level - field);
    if (fabs(expected) < 1.2 * D) {
      expected = dimension == 3 ? expected : fmax(expected, -0.5 * how.voxel);
      worst = kp_test_most(worst, fabs(value - expected) / D);
      ++n_compared;
    }
  }
  assert_true(n_compared > 100);
  assert_true(worst <= 4e-5);
  kp_free(values);
  kp_surfacer_free(&s);
  kp_free(l);
  return worst;
}

static void tell_sum(const char *id, const char *text, double worst) {
  kp_claim claim = { .id = id, .text = text, .size = "210 particles in 3D, 216 in 2D" };
  kp_claim_all(&claim,
               { "difference from a sum over all particles, spacings", worst, KP_AT_MOST, 4e-5 });
}

static void test_fields(void **state) {
  (void)state;
  double worst[KP_SURFACE_KIND_COUNT] = { 0 };
  for (size_t f = 0; f < sizeof plain_fields / sizeof plain_fields[0]; ++f) {
    int kind = plain_fields[f].kind;
    for (int dimension = 2; dimension <= 3; ++dimension) {
      worst[kind] = kp_test_most(worst[kind], check_field(&plain_fields[f], dimension));
    }
    print_message("%s: off by %.1e spacings\n", kp_surface_fields[kind].name, worst[kind]);
  }
  tell_sum("hong-H11", "blobby surface, Gaussian and polynomial",
           fmax(worst[KP_SURFACE_BLOBBIES], worst[KP_SURFACE_SOFT]));
  tell_sum("hong-H30-sum", "surface function by root mean square, of equal and varying particles",
           worst[KP_SURFACE_HONG]);
  tell_sum("lyes-L57", "metaball field of compact support", worst[KP_SURFACE_METABALLS]);
}

// Ellipsoids over all pairs: lengths along the axes of the weighted covariance of the neighbours,
// centres a part of the way to the mean of those as deep. Numbers as in surface_fields.c.
typedef struct ellipsoid {
  kp_vec3 center;
  double g[9], weight;
} ellipsoid;

static double plain_depth(const liquid *l, int64_t i, double reach) {
  double sum[4] = { 0 };
  for (int64_t j = 0; j < l->n; ++j) {
    double w = fmax(1.0 - pow(distance_between(l, i, j) / reach, 3.0), 0.0);
    w *= pow((double)l->size[j], 3.0);
    sum[3] += w;
    for (int c = 0; c < 3; ++c) {
      sum[c] += w * (l->x[c][j] - l->x[c][i]) / reach;
    }
  }
  return sqrt(sum[0] * sum[0] + sum[1] * sum[1] + sum[2] * sum[2]) / sum[3];
}

static ellipsoid plain_ellipsoid(const liquid *l, const double *depth, int64_t i, double reach) {
  double w0 = 0.0, w1[3] = { 0 }, w2[9] = { 0 }, g0 = 0.0, g1[3] = { 0 }, count = 0.0;
  for (int64_t j = 0; j < l->n; ++j) {
    double r = distance_between(l, i, j) / reach;
    if (r >= 1.0) {
      continue;
    }
    double volume = pow((double)l->size[j], 3.0);
    double w = volume * (1.0 - r * r * r), alike = (depth[j] - depth[i]) / 0.15;
    double g = w * fmax(1.0 - alike * alike, 0.0);
    count += volume;
    w0 += w;
    g0 += g;
    for (int a = 0; a < 3; ++a) {
      double da = (l->x[a][j] - l->x[a][i]) / reach;
      w1[a] += w * da;
      g1[a] += g * da;
      for (int b = 0; b < 3; ++b) {
        w2[3 * a + b] += w * da * (l->x[b][j] - l->x[b][i]) / reach;
      }
    }
  }
  double c[9], lengths[3], v[9], longest = 0.0;
  for (int k = 0; k < 9; ++k) {
    c[k] = w2[k] / w0 - w1[k / 3] * w1[k % 3] / (w0 * w0);
  }
  kp_eigen3(c, lengths, v);
  double sum = lengths[0] + lengths[1] + lengths[2];
  double minors = lengths[0] * lengths[1] + lengths[0] * lengths[2] + lengths[1] * lengths[2];
  double roundness = sum > 0.0 ? fmin(fmax(4.0 * minors / (sum * sum), 0.0), 1.0) : 0.0;
  for (int k = 0; k < 3; ++k) {
    lengths[k] = fmin(sqrt(fmax(lengths[k], 0.0) / 0.15), 1.15);
    longest = kp_test_most(longest, lengths[k]);
  }
  double share = count / (4.0 / 3.0 * PI * pow(reach / D, 3.0));
  double t = fmin(fmax((share - 0.1) / 0.2, 0.0), 1.0);
  double among = fmin(fmax((share - 0.1) / 0.35, 0.0), 1.0);
  double clump = fmin((share - 0.02) / 0.065, (0.215 - share) / 0.085);
  clump = fmin(fmax(clump, 0.0), 1.0) * roundness;
  ellipsoid e = { .weight = among + 1.75 * (1.0 - among) + clump };
  for (int k = 0; k < 3; ++k) {
    lengths[k] = 0.8 * fmax(lengths[k], 0.35 * fmax(longest, 0.35));
    lengths[k] = reach * (t * lengths[k] + (1.0 - t) * 0.36);
    e.weight *= D / lengths[k];
    for (int n = 0; n < 9; ++n) {
      double length = lengths[k] * (double)l->size[i];
      e.g[n] += v[3 * (n / 3) + k] * v[3 * (n % 3) + k] / length;
    }
  }
  double most = (1.0 - 0.8 * 1.15) * reach, move[3];
  for (int a = 0; a < 3; ++a) {
    double way = fmin(fmax(0.3 * reach * g1[a] / g0, -most), most);
    move[a] = (double)l->size[i] * way + l->x[a][i];
  }
  e.center = kp_vec3_make(move[0], move[1], move[2]);
  return e;
}

static void check_ellipsoids(bool is_mixed) {
  liquid *l = make_liquid();
  kp_surfacer s = { 0 };
  kp_surfacing how = settings();
  how.field = KP_SURFACE_ANISOTROPIC;
  how.reach = 0.0;
  how.smooth = -1;
  fill(l, (kp_aabb){ { 0, 0, 0 }, { 0.5, 0.35, 0.3 } }, NULL, 0.3);
  add(l, kp_vec3_make(0.2, 0.9, 0.1), kp_vec3_make(0, 0, 0));
  kp_cloud cloud = cloud_of(l);
  if (is_mixed) {
    mix_sizes(l, &cloud);
  }
  assert_ok(kp_surfacer_fill(&s, &how, &cloud));
  double reach = s.how.reach * D;
  double *depth = kp_alloc((size_t)l->n * sizeof *depth, KP_MEMORY_TEST);
  ellipsoid *all = kp_alloc((size_t)l->n * sizeof *all, KP_MEMORY_TEST);
  for (int64_t i = 0; i < l->n; ++i) {
    depth[i] = plain_depth(l, i, reach);
  }
  for (int64_t i = 0; i < l->n; ++i) {
    all[i] = plain_ellipsoid(l, depth, i, reach);
  }
  kp_test_random random = kp_test_random_begin(12);
  int n_compared = 0;
  for (int turn = 0; turn < 500; ++turn) {
    kp_vec3 p;
    double value = pick(&random, &s.blocks, &p), field = 0.0;
    for (int64_t i = 0; i < l->n; ++i) {
      kp_vec3 d = kp_vec3_sub(all[i].center, p);
      const double x[3] = { d.x, d.y, d.z };
      double square = 0.0;
      for (int a = 0; a < 3; ++a) {
        const double *g = &all[i].g[3 * a];
        square += pow(g[0] * x[0] + g[1] * x[1] + g[2] * x[2], 2.0);
      }
      field += square < 1.0 ? all[i].weight * 315.0 / (64.0 * PI) * pow(1.0 - square, 3.0) : 0.0;
    }
    double expected = (double)s.numbers.scale * (0.5 - field);
    if (fabs(expected) < 1.2 * D) {
      assert_near(value, expected, 2e-3 * D);
      ++n_compared;
    }
  }
  assert_true(n_compared > 100);
  kp_free(depth);
  kp_free(all);
  kp_surfacer_free(&s);
  kp_free(l);
}

static void test_ellipsoids(void **state) {
  (void)state;
  check_ellipsoids(false);
  check_ellipsoids(true);
}

// Names of the table and of the words that scenes use are the same.
static void test_names(void **state) {
  (void)state;
  for (int f = 0; f < KP_SURFACE_KIND_COUNT; ++f) {
    assert_string_equal(kp_surface_field_names[f], kp_surface_fields[f].name);
  }
  assert_null(kp_surface_field_names[KP_SURFACE_KIND_COUNT]);
}

// ---- bits

static void test_threads(void **state) {
  (void)state;
  liquid *l = make_liquid();
  result one = { 0 }, r = { 0 };
  kp_surfacing how = settings();
  how.reach = 0.0;
  fill(l, (kp_aabb){ { 0, 0, 0 }, { 0.7, 0.5, 0.4 } }, NULL, 0.4);
  for (int f = 0; f < KP_SURFACE_KIND_COUNT; ++f) {
    how.field = (kp_surface_kind)f;
    kp_parallel_set_threads(1);
    make(&one, &how, l);
    for (int threads = 2; threads <= 3; ++threads) {
      kp_parallel_set_threads(threads);
      make(&r, &how, l);
      const kp_isosurface *a = &one.surface, *b = &r.surface;
      assert_int_equal(a->n_vertices, b->n_vertices);
      assert_int_equal(a->n_triangles, b->n_triangles);
      assert_memory_equal(a->vertices, b->vertices, (size_t)a->n_vertices * sizeof *a->vertices);
      assert_memory_equal(a->normals, b->normals, (size_t)a->n_vertices * 3 * sizeof(float));
      assert_memory_equal(a->triangles, b->triangles,
                          (size_t)a->n_triangles * 3 * sizeof *a->triangles);
    }
  }
  kp_parallel_set_threads(0);
  free_result(&r);
  free_result(&one);
  kp_free(l);
}

// A disc of a flat world is a sheet one voxel thick that ends in an edge.
static void test_flat(void **state) {
  (void)state;
  liquid *l = make_liquid();
  result r = { 0 };
  kp_surfacing how = settings();
  how.dimension = 2;
  fill(l, (kp_aabb){ { -0.5, -0.5, -0.5 * D }, { 0.5, 0.5, 0.4 * D } }, ball, 0.0);
  make(&r, &how, l);
  assert_int_equal(euler_number(&r.surface), 2);
  assert_near_relative(kp_mesh_volume(&r.mesh), (double)l->n * D * D * how.voxel, 0.07);
  free_result(&r);
  kp_free(l);
}

static void test_nothing(void **state) {
  (void)state;
  liquid *l = make_liquid();
  kp_surfacer s = { 0 };
  kp_isosurface surface = { 0 };
  kp_surfacing how = settings();
  kp_cloud cloud = cloud_of(l);
  assert_ok(kp_surfacer_fill(&s, &how, &cloud));
  assert_ok(kp_marching_blocks(&s.blocks, 0.0f, &surface));
  assert_int_equal(surface.n_triangles, 0);
  add(l, kp_vec3_make(NAN, 0, 0), kp_vec3_make(0, 0, 0));
  cloud = cloud_of(l);
  assert_ok(kp_surfacer_fill(&s, &how, &cloud));
  assert_ok(kp_marching_blocks(&s.blocks, 0.0f, &surface));
  assert_int_equal(surface.n_triangles, 0);
  how.voxel = 0.1 * D;
  add(l, kp_vec3_make(0, 0, 0), kp_vec3_make(0, 0, 0));
  cloud = cloud_of(l);
  assert_fails(KP_ERROR_ARGUMENT, "too fine", kp_surfacer_fill(&s, &how, &cloud));
  kp_isosurface_free(&surface);
  kp_surfacer_free(&s);
  kp_free(l);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_pool),  cmocka_unit_test(test_ball),       cmocka_unit_test(test_gap),
    cmocka_unit_test(test_drop),  cmocka_unit_test(test_twin),       cmocka_unit_test(test_threads),
    cmocka_unit_test(test_flat),  cmocka_unit_test(test_nothing),    cmocka_unit_test(test_fields),
    cmocka_unit_test(test_names), cmocka_unit_test(test_ellipsoids),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
