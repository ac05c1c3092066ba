// Surfaces of lattices: closed whatever the samples are, where they should be, the same for any
// number of threads, and as a plain cell-by-cell twin finds them.
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geom/marching_cubes.h"
#include "geom/marching_cubes_table.h"
#include "geom/mesh.h"
#include "par/parallel.h"

#include "support/claims.h"

#define PI 3.14159265358979323846

typedef double (*field_fn)(kp_vec3 p);

static double ball(kp_vec3 p) {
  return kp_vec3_length(p) - 0.7;
}

static double ring(kp_vec3 p) {
  double r = sqrt(p.x * p.x + p.y * p.y) - 0.55;
  return sqrt(r * r + p.z * p.z) - 0.25;
}

static kp_lattice make_lattice(int nx, int ny, int nz, field_fn field) {
  kp_lattice l = { .n = { nx, ny, nz }, .row = nx + 3, .slab = (int64_t)(nx + 3) * (ny + 2) };
  l.spacing = 2.0 / (nx - 1);
  l.origin = kp_vec3_make(-1.0, -0.5 * l.spacing * (ny - 1), -0.5 * l.spacing * (nz - 1));
  float *values = kp_alloc_zero((size_t)l.slab * (size_t)nz * sizeof *values, KP_MEMORY_TEST);
  for (int k = 0; k < nz && field != NULL; ++k) {
    for (int j = 0; j < ny; ++j) {
      for (int i = 0; i < nx; ++i) {
        kp_vec3 p = kp_vec3_madd(l.origin, l.spacing, kp_vec3_make(i, j, k));
        values[i + j * l.row + k * l.slab] = (float)field(p);
      }
    }
  }
  l.values = values;
  return l;
}

static void free_lattice(kp_lattice *l) {
  kp_free((void *)(uintptr_t)l->values);
}

static kp_mesh as_mesh(const kp_isosurface *s) {
  kp_mesh mesh;
  assert_ok(kp_mesh_create((kp_index)s->n_vertices, (kp_index)s->n_triangles, &mesh));
  memcpy(mesh.vertices, s->vertices, (size_t)s->n_vertices * sizeof *mesh.vertices);
  for (int64_t t = 0; t < s->n_triangles; ++t) {
    for (int c = 0; c < 3; ++c) {
      assert_true(s->triangles[3 * t + c] < s->n_vertices);
      mesh.triangles[t].v[c] = (kp_index)s->triangles[3 * t + c];
    }
  }
  return mesh;
}

// Vertices that belong to a triangle, less half its sides, and the triangles.
static int64_t euler_number(const kp_isosurface *s) {
  return s->n_vertices - 3 * s->n_triangles / 2 + s->n_triangles;
}

static void test_ball(void **state) {
  (void)state;
  kp_isosurface s = { 0 };
  double error[2], area[2], least = 1.0;
  for (int pass = 0; pass < 2; ++pass) {
    int n = pass == 0 ? 33 : 65;
    kp_lattice l = make_lattice(n, n + 1, n + 2, ball);
    assert_ok(kp_marching_cubes(&l, 0.0f, &s));
    kp_mesh mesh = as_mesh(&s);
    assert_ok(kp_mesh_check_closed(&mesh));
    assert_int_equal(euler_number(&s), 2);
    double exact = 4.0 / 3.0 * PI * 0.343;
    error[pass] = fabs(kp_mesh_volume(&mesh) / exact - 1.0);
    area[pass] = fabs(kp_mesh_area(&mesh) / (4.0 * PI * 0.49) - 1.0);
    for (int64_t v = 0; v < s.n_vertices; ++v) {
      kp_vec3 p = s.vertices[v];
      assert_near(kp_vec3_length(p), 0.7, 0.3 * l.spacing * l.spacing / 0.7 + 2e-3 * l.spacing);
      kp_vec3 normal = kp_vec3_make((double)s.normals[3 * v], (double)s.normals[3 * v + 1],
                                    (double)s.normals[3 * v + 2]);
      least = kp_test_least(least, kp_vec3_dot(normal, kp_vec3_normalize(p)));
    }
    kp_mesh_destroy(&mesh);
    free_lattice(&l);
  }
  // second order
  assert_between(error[0] / error[1], 3.3, 5.0);
  kp_claim ball_claim = { .id = "lyes-L58-ball",
                          .text = "the surface of a ball is closed, of one piece and of its size" };
  kp_claim normals = { .id = "lyes-L62", .text = "vertex normals are those of the field" };
  ball_claim.size = normals.size = "ball of 11 and 22 voxels in radius";
  kp_claim_status verdict = kp_claim_all(
      &ball_claim, { "area against that of the ball, share, coarse", area[0], KP_AT_MOST, 0.01 },
      { "volume against that of the ball, share, coarse", error[0], KP_AT_MOST, 0.01 },
      { "error of the volume over that at half the voxel", error[0] / error[1], KP_AT_LEAST, 3.3 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  verdict = kp_claim_all(&normals,
                         { "cosine between normals and radii, least", least, KP_AT_LEAST, 0.999 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
  kp_isosurface_free(&s);
}

static void test_ring(void **state) {
  (void)state;
  kp_isosurface s = { 0 };
  kp_lattice l = make_lattice(70, 70, 30, ring);
  assert_ok(kp_marching_cubes(&l, 0.0f, &s));
  kp_mesh mesh = as_mesh(&s);
  assert_ok(kp_mesh_check_closed(&mesh));
  assert_int_equal(euler_number(&s), 0);
  assert_near_relative(kp_mesh_volume(&mesh), 2.0 * PI * PI * 0.55 * 0.0625, 0.01);
  kp_mesh_destroy(&mesh);
  free_lattice(&l);
  kp_isosurface_free(&s);
}

// Random samples meet every case and every ambiguous face. The rim is outside, so all is closed.
static void check_random(kp_test_random *random, void *user) {
  kp_isosurface *s = user;
  int n[3];
  for (int c = 0; c < 3; ++c) {
    n[c] = (int)kp_test_integer(random, 2, c == 0 ? 150 : 12);
  }
  kp_lattice l = make_lattice(n[0], n[1], n[2], NULL);
  float *values = (float *)(uintptr_t)l.values;
  for (int k = 0; k < n[2]; ++k) {
    for (int j = 0; j < n[1]; ++j) {
      for (int i = 0; i < n[0]; ++i) {
        bool is_rim = i == 0 || j == 0 || k == 0 || i == n[0] - 1 || j == n[1] - 1 || k == n[2] - 1;
        double v = kp_test_uniform(random, -1.0, 1.0);
        // some samples lie on the level, some are not finite
        v = fabs(v) < 0.05 ? 0.0 : v;
        v = v > 0.98 ? (double)NAN : v;
        values[i + j * l.row + k * l.slab] = (float)(is_rim ? 1.0 : v);
      }
    }
  }
  assert_ok(kp_marching_cubes(&l, 0.0f, s));
  kp_mesh mesh = as_mesh(s);
  if (s->n_triangles > 0) {
    assert_ok(kp_mesh_check_closed(&mesh));
    assert_true(kp_mesh_volume(&mesh) > 0.0);
  }
  for (int64_t v = 0; v < s->n_vertices; ++v) {
    assert_true(isfinite(s->vertices[v].x + s->vertices[v].y + s->vertices[v].z));
    const float *m = &s->normals[3 * v];
    assert_near(m[0] * m[0] + m[1] * m[1] + m[2] * m[2], 1.0, 1e-4);
  }
  kp_mesh_destroy(&mesh);
  free_lattice(&l);
}

static void test_random(void **state) {
  (void)state;
  kp_isosurface s = { 0 };
  kp_test_for_seeds(40, check_random, &s);
  kp_isosurface_free(&s);
}

// Every triangle of every case, cell by cell, with vertices found by edge: the same triangles in
// the same order.
static void check_twin(kp_test_random *random, void *user) {
  kp_isosurface *s = user;
  kp_lattice l = make_lattice(67, 5, 6, NULL);
  float *values = (float *)(uintptr_t)l.values;
  for (int64_t i = 0; i < l.slab * l.n[2]; ++i) {
    values[i] = (float)kp_test_normal(random) - 0.5f;
  }
  assert_ok(kp_marching_cubes(&l, -0.25f, s));
  kp_cube_table table;
  kp_cube_table_make(&table);
  int64_t t = 0;
  for (int k = 0; k + 1 < l.n[2]; ++k) {
    for (int j = 0; j + 1 < l.n[1]; ++j) {
      for (int i = 0; i + 1 < l.n[0]; ++i) {
        int inside = 0;
        for (int c = 0; c < 8; ++c) {
          int64_t at = i + (c & 1) + (j + (c >> 1 & 1)) * l.row + (k + (c >> 2)) * l.slab;
          inside |= (values[at] < -0.25f ? 1 : 0) << c;
        }
        for (int e = 0; e < 3 * table.n_triangles[inside]; ++e, ++t) {
          int corners[2];
          kp_cube_edge(table.edges[inside][e], corners);
          kp_vec3 p =
              kp_vec3_scale(kp_vec3_sub(s->vertices[s->triangles[t]], l.origin), 1.0 / l.spacing);
          kp_vec3 a =
              kp_vec3_make(i + (corners[0] & 1), j + (corners[0] >> 1 & 1), k + (corners[0] >> 2));
          kp_vec3 b =
              kp_vec3_make(i + (corners[1] & 1), j + (corners[1] >> 1 & 1), k + (corners[1] >> 2));
          double way = kp_vec3_length(kp_vec3_sub(p, a)) + kp_vec3_length(kp_vec3_sub(p, b));
          assert_near(way, 1.0, 1e-9);
        }
      }
    }
  }
  assert_int_equal(t, 3 * s->n_triangles);
  free_lattice(&l);
}

static void test_twin(void **state) {
  (void)state;
  kp_isosurface s = { 0 };
  kp_test_for_seeds(5, check_twin, &s);
  kp_isosurface_free(&s);
}

// No case needs a side that could also be the neighbour's, and none is left without triangles.
static void test_table(void **state) {
  (void)state;
  kp_cube_table table;
  kp_cube_table_make(&table);
  for (int inside = 0; inside < 256; ++inside) {
    int cut = 0;
    for (int e = 0; e < KP_CUBE_EDGES; ++e) {
      int corners[2];
      kp_cube_edge(e, corners);
      cut += (inside >> corners[0] & 1) != (inside >> corners[1] & 1);
    }
    int n = table.n_triangles[inside];
    assert_true(n <= KP_CUBE_TRIANGLES);
    // a loop of m edges makes m - 2 triangles, and there are at most four loops
    assert_true(cut == 0 ? n == 0 : (n >= cut - 8 && n <= cut - 2));
  }
}

static void test_threads(void **state) {
  (void)state;
  kp_isosurface s = { 0 }, one = { 0 };
  kp_lattice l = make_lattice(40, 41, 42, ring);
  kp_parallel_set_threads(1);
  assert_ok(kp_marching_cubes(&l, 0.02f, &one));
  for (int threads = 2; threads <= 4; ++threads) {
    kp_parallel_set_threads(threads);
    assert_ok(kp_marching_cubes(&l, 0.02f, &s));
    assert_int_equal(s.n_vertices, one.n_vertices);
    assert_int_equal(s.n_triangles, one.n_triangles);
    assert_memory_equal(s.vertices, one.vertices, (size_t)one.n_vertices * sizeof *s.vertices);
    assert_memory_equal(s.normals, one.normals, (size_t)one.n_vertices * 3 * sizeof *s.normals);
    assert_memory_equal(s.triangles, one.triangles,
                        (size_t)one.n_triangles * 3 * sizeof *s.triangles);
  }
  kp_parallel_set_threads(0);
  free_lattice(&l);
  kp_isosurface_free(&s);
  kp_isosurface_free(&one);
}

static void test_nothing(void **state) {
  (void)state;
  kp_isosurface s = { 0 };
  kp_lattice l = make_lattice(5, 1, 1, ball);
  assert_ok(kp_marching_cubes(&l, 0.0f, &s));
  assert_int_equal(s.n_triangles, 0);
  assert_ok(kp_marching_cubes(&l, -10.0f, &s));
  assert_int_equal(s.n_vertices, 0);
  free_lattice(&l);
  kp_isosurface_free(&s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_table),   cmocka_unit_test(test_ball), cmocka_unit_test(test_ring),
    cmocka_unit_test(test_random),  cmocka_unit_test(test_twin), cmocka_unit_test(test_threads),
    cmocka_unit_test(test_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
