// Surfaces of particles: where the liquid ends, closed, without bridges over gaps, drops kept,
// equal to a plain sum over all particles, the same for any number of threads.
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geom/mesh.h"
#include "geom/particle_surface.h"
#include "par/parallel.h"

#define PI 3.14159265358979323846
#define D 0.05

typedef struct liquid {
  int64_t n;
  double x[3][40000];
  kp_real v[3][40000];
} liquid;

static void add(liquid *l, kp_vec3 p, kp_vec3 v) {
  assert_true(l->n < 40000);
  l->x[0][l->n] = p.x;
  l->x[1][l->n] = p.y;
  l->x[2][l->n] = p.z;
  l->v[0][l->n] = (kp_real)v.x;
  l->v[1][l->n] = (kp_real)v.y;
  l->v[2][l->n] = (kp_real)v.z;
  ++l->n;
}

static kp_cloud cloud_of(const liquid *l) {
  kp_cloud cloud = { .n = l->n, .x = l->x[0], .y = l->x[1], .z = l->x[2] };
  cloud.u = l->v[0];
  cloud.v = l->v[1];
  cloud.w = l->v[2];
  return cloud;
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
  assert_ok(kp_marching_cubes(&r->surfacer.lattice, 0.0f, &r->surface));
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
  assert_true(sqrt(fmax(square / (double)n - sum * sum / (double)(n * n), 0.0)) < 0.06 * D);
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
  assert_int_equal(euler_number(&r.surface), 2);
  assert_near_relative(kp_mesh_volume(&r.mesh), (double)l->n * D * D * D, 0.01);
  // its velocity is that of the liquid
  kp_cloud cloud = cloud_of(l);
  kp_vec3 *v = kp_alloc((size_t)r.surface.n_vertices * sizeof *v, KP_MEMORY_TEST);
  kp_surfacer_velocities(&r.surfacer, &cloud, r.surface.vertices, r.surface.n_vertices, v);
  for (int64_t i = 0; i < r.surface.n_vertices; ++i) {
    assert_vec3_near(v[i], kp_vec3_make(1.0, 2.0, -3.0), 1e-5);
  }
  kp_free(v);
  free_result(&r);
  kp_free(l);
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
  int n_compared = 0;
  kp_test_random random = kp_test_random_begin(3);
  for (int turn = 0; turn < 3000; ++turn) {
    int64_t at[3];
    for (int c = 0; c < 3; ++c) {
      at[c] = kp_test_integer(&random, 0, s.lattice.n[c] - 1);
    }
    kp_vec3 p = kp_vec3_madd(s.lattice.origin, s.lattice.spacing,
                             kp_vec3_make((double)at[0], (double)at[1], (double)at[2]));
    kp_vec3 mean = kp_vec3_make(0, 0, 0);
    double weight = 0.0, nearest = HUGE_VAL;
    for (int64_t i = 0; i < l->n; ++i) {
      kp_vec3 d = kp_vec3_sub(kp_vec3_make(l->x[0][i], l->x[1][i], l->x[2][i]), p);
      double t = fmax(1.0 - kp_vec3_dot(d, d) / (reach * reach), 0.0);
      mean = kp_vec3_madd(mean, t * t * t, d);
      weight += t * t * t;
      nearest = fmin(nearest, kp_vec3_length(d));
    }
    double value = (double)s.values[at[0] + at[1] * s.lattice.row + at[2] * s.lattice.slab];
    if (weight > 0.42 * full && weight < 0.75 * full) {
      double phi = kp_vec3_length(mean) / weight - s.radius;
      assert_near(value, fmin(phi, nearest), 1e-5 * D + 2e-7);
      ++n_compared;
    } else if (weight == 0.0) {
      assert_true(value > 0.0);
    } else if (weight > 0.9 * full) {
      assert_true(value < 0.0);
    }
  }
  assert_true(n_compared > 200);
  kp_surfacer_free(&s);
  kp_free(l);
}

static void test_threads(void **state) {
  (void)state;
  liquid *l = make_liquid();
  kp_surfacer one = { 0 }, s = { 0 };
  kp_surfacing how = settings();
  fill(l, (kp_aabb){ { 0, 0, 0 }, { 0.7, 0.5, 0.4 } }, NULL, 0.4);
  kp_cloud cloud = cloud_of(l);
  kp_parallel_set_threads(1);
  assert_ok(kp_surfacer_fill(&one, &how, &cloud));
  for (int threads = 2; threads <= 4; ++threads) {
    kp_parallel_set_threads(threads);
    assert_ok(kp_surfacer_fill(&s, &how, &cloud));
    assert_memory_equal(s.values, one.values,
                        (size_t)(one.lattice.slab * one.lattice.n[2]) * sizeof(float));
  }
  kp_parallel_set_threads(0);
  kp_surfacer_free(&s);
  kp_surfacer_free(&one);
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
  assert_ok(kp_marching_cubes(&s.lattice, 0.0f, &surface));
  assert_int_equal(surface.n_triangles, 0);
  add(l, kp_vec3_make(NAN, 0, 0), kp_vec3_make(0, 0, 0));
  cloud = cloud_of(l);
  assert_ok(kp_surfacer_fill(&s, &how, &cloud));
  assert_ok(kp_marching_cubes(&s.lattice, 0.0f, &surface));
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
    cmocka_unit_test(test_pool), cmocka_unit_test(test_ball),    cmocka_unit_test(test_gap),
    cmocka_unit_test(test_drop), cmocka_unit_test(test_twin),    cmocka_unit_test(test_threads),
    cmocka_unit_test(test_flat), cmocka_unit_test(test_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
