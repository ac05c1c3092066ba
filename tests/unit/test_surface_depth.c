// Depth below the surface of particles (H31): against distances to every triangle of the surface,
// for a ball, two balls, and a pool in a tank whose walls do not count; in 2D; the same bits.
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/memory.h"
#include "geom/ccd.h"
#include "geom/surface_depth.h"
#include "par/parallel.h"

#include "support/claims.h"

#define D 0.05
#define MOST 30000

typedef struct liquid {
  int64_t n;
  double x[3][MOST];
} liquid;

static double ball(kp_vec3 p) {
  return kp_vec3_length(p) - 0.4;
}

static double two_balls(kp_vec3 p) {
  double a = kp_vec3_length(kp_vec3_sub(p, kp_vec3_make(-0.35, 0, 0))) - 0.3;
  double b = kp_vec3_length(kp_vec3_sub(p, kp_vec3_make(0.4, 0.1, 0))) - 0.25;
  return fmin(a, b);
}

// A tank filled to a height that rises along x.
static double pool(kp_vec3 p) {
  return p.y - (0.4 + 0.2 * p.x);
}

static double full(kp_vec3 p) {
  (void)p;
  return -1.0;
}

static liquid *make_liquid(kp_aabb box, double (*inside)(kp_vec3 p), int dimension) {
  liquid *l = kp_alloc_zero(sizeof *l, KP_MEMORY_TEST);
  assert_non_null(l);
  double top = dimension == 2 ? box.min.z + 0.6 * D : box.max.z;
  for (double z = box.min.z + 0.5 * D; z < top; z += D) {
    for (double y = box.min.y + 0.5 * D; y < box.max.y; y += D) {
      for (double x = box.min.x + 0.5 * D; x < box.max.x; x += D) {
        double flat = dimension == 2 ? 0.0 : z;
        if (inside(kp_vec3_make(x, y, flat)) < 0.0) {
          assert_true(l->n < MOST);
          l->x[0][l->n] = x;
          l->x[1][l->n] = y;
          l->x[2][l->n++] = flat;
        }
      }
    }
  }
  return l;
}

typedef struct fixture {
  kp_backend *backend;
  kp_surfacer surfacer;
  kp_isosurface surface;
  kp_surface_depth depth;
  kp_surfacing how;
} fixture;

static void open(fixture *f, kp_aabb box, int dimension, kp_backend_kind kind) {
  memset(f, 0, sizeof *f);
  assert_ok(kp_backend_create(kind, &f->backend));
  kp_surface_depth_init(&f->depth, f->backend);
  f->how = (kp_surfacing){ .spacing = D,
                           .voxel = 0.6 * D,
                           .smooth = -1,
                           .dimension = dimension,
                           .field = KP_SURFACE_ZHU_BRIDSON,
                           .box = box };
}

static void fill(fixture *f, const liquid *l) {
  kp_cloud cloud = { .n = l->n, .x = l->x[0], .y = l->x[1], .z = l->x[2] };
  assert_ok(kp_surfacer_fill(&f->surfacer, &f->how, &cloud));
  assert_ok(kp_marching_blocks(&f->surfacer.blocks, 0.0f, &f->surface));
  assert_ok(kp_surface_depth_fill(&f->depth, &f->surfacer));
}

static void close_all(fixture *f) {
  kp_surface_depth_free(&f->depth);
  kp_isosurface_free(&f->surface);
  kp_surfacer_free(&f->surfacer);
  kp_backend_destroy(&f->backend);
}

// Those in the walls and the bevels where walls meet.
static bool is_at_wall(const kp_aabb *box, const kp_vec3 t[3]) {
  const double lo[3] = { box->min.x, box->min.y, box->min.z };
  const double hi[3] = { box->max.x, box->max.y, box->max.z };
  for (int c = 0; c < 3; ++c) {
    int low = 0;
    int high = 0;
    for (int v = 0; v < 3; ++v) {
      const double p[3] = { t[v].x, t[v].y, t[v].z };
      low += p[c] < lo[c] + 0.7 * D;
      high += p[c] > hi[c] - 0.7 * D;
    }
    if (low == 3 || high == 3) {
      return true;
    }
  }
  return false;
}

// Distance to the nearest of all triangles that are not in the walls.
static double brute_distance(const fixture *f, kp_vec3 p) {
  const kp_isosurface *s = &f->surface;
  double nearest = HUGE_VAL;
  for (int64_t i = 0; i < s->n_triangles; ++i) {
    const uint32_t *v = s->triangles + 3 * i;
    const kp_vec3 t[3] = { s->vertices[v[0]], s->vertices[v[1]], s->vertices[v[2]] };
    if (!is_at_wall(&f->how.box, t)) {
      const kp_vec3 x[4] = { t[0], t[1], t[2], p };
      double weight[4];
      nearest = fmin(nearest, sqrt(kp_closest_point_triangle(x, weight)));
    }
  }
  return nearest;
}

// Every seventh particle against brute force, in spacings.
static void check(fixture *f, const liquid *l, const char *what, double *mean, double *worst) {
  kp_cloud cloud = { .n = l->n, .x = l->x[0], .y = l->x[1], .z = l->x[2] };
  float *depth = kp_alloc((size_t)l->n * sizeof *depth, KP_MEMORY_TEST);
  double sum = 0.0;
  double most = 0.0;
  double deepest = 0.0;
  int64_t n = 0;
  kp_surface_depth_of(&f->depth, &cloud, depth);
  for (int64_t i = 0; i < l->n; i += 7) {
    double exact = brute_distance(f, kp_vec3_make(l->x[0][i], l->x[1][i], l->x[2][i]));
    double wrong = fabs((double)depth[i] - exact);
    sum += wrong;
    most = kp_test_most(most, wrong);
    deepest = kp_test_most(deepest, exact);
    ++n;
  }
  print_message("  %s: %lld particles down to %.1f spacings, %lld surface cells: off by %.3f "
                "spacings in the mean, %.3f at most\n",
                what, (long long)n, deepest / D, (long long)f->depth.n_surface, sum / (double)n / D,
                most / D);
  assert_true(f->depth.n_surface > 100);
  *mean = kp_test_most(*mean, sum / (double)n / D);
  *worst = kp_test_most(*worst, most / D);
  kp_free(depth);
}

static void test_brute_force(void **state) {
  (void)state;
  const kp_aabb wide = { { -1, -1, -1 }, { 1, 1, 1 } };
  const kp_aabb tank = { { 0, 0, 0 }, { 1, 1, 0.5 } };
  double (*const shapes[3])(kp_vec3 p) = { ball, two_balls, pool };
  const char *const names[3] = { "ball", "two balls", "pool" };
  double mean = 0.0, worst = 0.0;
  for (int k = 0; k < 3; ++k) {
    fixture f;
    const kp_aabb *box = k == 2 ? &tank : &wide;
    open(&f, *box, 3, KP_BACKEND_CPU);
    liquid *l = make_liquid(*box, shapes[k], 3);
    fill(&f, l);
    check(&f, l, names[k], &mean, &worst);  // most where the field has kinks: in the middle
    // outside: the distance from the other side
    double above =
        kp_surface_depth_distance(&f.depth, kp_vec3_make(0.02, k == 2 ? 0.5 : 0.45, 0.2));
    assert_true(above > 0.0);
    kp_free(l);
    close_all(&f);
  }
  kp_claim claim = { .id = "hong-H31",
                     .text = "surface cells and sweeping give the depth of particles",
                     .size = "a ball, two balls, a pool in a tank; every triangle looked at" };
  kp_claim_status verdict = kp_claim_all(
      &claim,
      { "depth against the distance to every triangle, spacings, mean", mean, KP_AT_MOST, 0.15 },
      { "the same, worst", worst, KP_AT_MOST, 0.8 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// A flat disc in a flat world.
static void test_flat(void **state) {
  (void)state;
  const kp_aabb wide = { { -1, -1, 0 }, { 1, 1, 1 } };
  fixture f;
  open(&f, wide, 2, KP_BACKEND_CPU);
  liquid *l = make_liquid(wide, ball, 2);
  fill(&f, l);
  double worst = 0.0;
  for (int64_t i = 0; i < l->n; ++i) {
    kp_vec3 p = kp_vec3_make(l->x[0][i], l->x[1][i], 0.0);
    double exact = 0.4 - kp_vec3_length(p);
    worst = kp_test_most(worst, fabs(-kp_surface_depth_distance(&f.depth, p) - exact));
  }
  print_message("  disc of %lld particles: off by %.3f spacings at most\n", (long long)l->n,
                worst / D);
  assert_true(l->n > 150);
  assert_between(worst, 0.0, 0.7 * D);
  kp_free(l);
  close_all(&f);
}

// A drop that was flung a kilometre away costs no grid of all the room between.
static void test_far(void **state) {
  (void)state;
  const kp_aabb wide = { { -2e3, -2e3, -2e3 }, { 2e3, 2e3, 2e3 } };
  const kp_aabb near = { { -1, -1, -1 }, { 1, 1, 1 } };
  fixture f;
  open(&f, wide, 3, KP_BACKEND_CPU);
  liquid *l = make_liquid(near, ball, 3);
  l->x[0][l->n] = 1e3;
  l->x[1][l->n] = -900.0;
  l->x[2][l->n++] = 700.0;
  fill(&f, l);
  assert_between((double)kp_mac_n_all(f.depth.mac), 1.0, 4.1e6);
  kp_free(l);
  close_all(&f);
}

// No particles; a full tank, which has no surface; and particles again.
static void test_nothing(void **state) {
  (void)state;
  const kp_aabb tank = { { 0, 0, 0 }, { 0.5, 0.5, 0.5 } };
  fixture f;
  open(&f, tank, 3, KP_BACKEND_CPU);
  liquid *l = make_liquid(tank, pool, 3);
  int64_t n = l->n;
  l->n = 0;
  fill(&f, l);
  assert_near(kp_surface_depth_distance(&f.depth, kp_vec3_make(0.2, 0.2, 0.2)), 0.0, 0.0);
  l->n = n;
  fill(&f, l);
  assert_true(kp_surface_depth_distance(&f.depth, kp_vec3_make(0.2, 0.1, 0.2)) < -0.2);
  kp_free(l);
  l = make_liquid(tank, full, 3);
  fill(&f, l);
  assert_int_equal(f.depth.n_surface, 0);
  double deep = -kp_surface_depth_distance(&f.depth, kp_vec3_make(0.2, 0.2, 0.2));
  assert_near_relative(deep, 0.5 * sqrt(3.0), 1e-6);
  kp_free(l);
  close_all(&f);
}

static uint64_t hash_of(kp_backend_kind kind) {
  const kp_aabb tank = { { 0, 0, 0 }, { 1, 1, 0.5 } };
  fixture f;
  open(&f, tank, 3, kind);
  liquid *l = make_liquid(tank, pool, 3);
  fill(&f, l);
  uint64_t hash = kp_hash_bytes(f.depth.at, f.depth.phi.used, 1);
  kp_free(l);
  close_all(&f);
  return hash;
}

static void test_bits(void **state) {
  (void)state;
  uint64_t hash = hash_of(KP_BACKEND_CPU);
  for (int threads = 1; threads <= 3; ++threads) {
    kp_parallel_set_threads(threads);
    assert_true(hash_of(KP_BACKEND_CPU) == hash);
  }
  kp_parallel_set_threads(0);
  assert_true(hash_of(KP_BACKEND_MIRROR) == hash);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_brute_force), cmocka_unit_test(test_flat), cmocka_unit_test(test_far),
    cmocka_unit_test(test_nothing),     cmocka_unit_test(test_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
