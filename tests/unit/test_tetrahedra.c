// Altitudes of tetrahedra and meshes of them: theorem 1 of Selle (2008) over a million tetrahedra,
// robustness, and the quality of meshes that fill solids.
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "geom/altitude.h"
#include "geom/tetrahedra.h"
#include "io/tet_file.h"

#include "support/claims.h"

#define PI 3.14159265358979323846

// ---- altitudes ----------------------------------------------------------------------------------

// Corners at random, turned at random after their z, or y and z, were flattened by up to 1e6.
static void random_tet(kp_test_random *random, kp_vec3 x[4]) {
  double flat = pow(10.0, kp_test_uniform(random, -6.0, 0.0));
  double thin =
      kp_test_integer(random, 0, 3) == 0 ? pow(10.0, kp_test_uniform(random, -6.0, 0.0)) : 1.0;
  kp_vec3 axis = kp_vec3_normalize(kp_test_vec3(random, -1.0, 1.0));
  kp_quat turn = kp_quat_from_axis_angle(axis, kp_test_uniform(random, 0.0, 2.0 * PI));
  for (int c = 0; c < 4; ++c) {
    kp_vec3 p = kp_test_vec3(random, -1.0, 1.0);
    x[c] = kp_quat_rotate(turn, kp_vec3_make(p.x, thin * p.y, thin * flat * p.z));
  }
}

static double smallest_weight(const kp_altitude *a) {
  double least = HUGE_VAL;
  for (int k = 0; k < 4; ++k) {
    bool is_first = a->number < KP_ALTITUDE_FACES ? k == 0 : k < 2;
    double w = a->w[kp_altitude_corner(a->number, k)];
    least = kp_test_least(least, is_first ? w : -w);
  }
  return least;
}

static void test_theorem(void **state) {
  (void)state;
  const int64_t n = 1000000;
  kp_test_random random = kp_test_random_begin(19);
  double least = HUGE_VAL;
  int64_t n_inverted = 0, counts[KP_ALTITUDES] = { 0 }, n_point_face = 0;
  for (int64_t t = 0; t < n; ++t) {
    kp_vec3 x[4];
    random_tet(&random, x);
    int number = kp_altitude_shortest(x);
    kp_altitude a = kp_altitude_make(x, number);
    least = kp_test_least(least, smallest_weight(&a));
    ++counts[number];
    n_inverted += a.length < 0.0;
    kp_altitude first = kp_altitude_make(x, 0);
    n_point_face += smallest_weight(&first) < 0.0;
  }
  for (int c = 0; c < KP_ALTITUDES; ++c) {
    assert_true(counts[c] > n / 100);  // every kind is the shortest now and then
  }
  assert_between((double)n_inverted / (double)n, 0.45, 0.55);
  kp_claim claim = { .id = "selle-C19",
                     .text = "the shortest of seven altitudes has no negative weight (theorem 1)",
                     .size =
                         "random tetrahedra, flattened by up to 1e6 in one and two directions" };
  kp_claim_status verdict = kp_claim_all(&claim, { "smallest weight", least, KP_AT_LEAST, -1e-9 },
                                         { "tetrahedra", (double)n, KP_AT_LEAST, 1e6 },
                                         { "one fixed altitude: share with negative weights",
                                           (double)n_point_face / (double)n, KP_AT_LEAST, 0.25 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// All seven have l = 6 V/|n|, balanced weights, and the distance between the points they join.
static void test_identities(void **state) {
  (void)state;
  kp_test_random random = kp_test_random_begin(20);
  for (int t = 0; t < 20000; ++t) {
    kp_vec3 x[4];
    for (int c = 0; c < 4; ++c) {
      x[c] = kp_test_vec3(&random, -1.0, 1.0);
    }
    double volume = kp_tet_volume6(x[0], x[1], x[2], x[3]);
    int shortest = kp_altitude_shortest(x);
    double least = HUGE_VAL;
    int least_number = -1;
    for (int number = 0; number < KP_ALTITUDES; ++number) {
      kp_altitude a = kp_altitude_make(x, number);
      kp_vec3 u[2];
      int edges[2];
      kp_altitude_vectors(x, number, u, edges);
      double n = kp_vec3_length(kp_vec3_cross(u[0], u[1]));
      assert_near(a.length * n, volume, 1e-14);
      kp_vec3 between = { 0.0, 0.0, 0.0 };
      double sum = 0.0;
      for (int c = 0; c < 4; ++c) {
        between = kp_vec3_madd(between, a.w[c], x[c]);
        sum += a.w[c];
      }
      double scale = 1.0 + fabs(a.w[0]) + fabs(a.w[1]) + fabs(a.w[2]) + fabs(a.w[3]);
      assert_near(sum, 0.0, 1e-13 * scale);
      // the vector between the two points is the altitude itself
      assert_near(kp_vec3_length(kp_vec3_madd(between, -a.length, a.n)), 0.0, 1e-11 * scale);
      if (fabs(a.length) < least) {
        least = fabs(a.length);
        least_number = number;
      }
    }
    assert_int_equal(shortest, least_number);
  }
}

static void rest_lengths(const kp_vec3 x[4], double rest2[KP_ALTITUDE_EDGES]) {
  for (int i = 0; i < 4; ++i) {
    for (int j = i + 1; j < 4; ++j) {
      kp_vec3 d = kp_vec3_sub(x[j], x[i]);
      rest2[kp_altitude_edge(i, j)] = kp_vec3_dot(d, d);
    }
  }
}

static void test_degenerate(void **state) {
  (void)state;
  const kp_vec3 rest[4] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } };
  double rest2[KP_ALTITUDE_EDGES];
  rest_lengths(rest, rest2);

  // all on one place: no spring
  const kp_vec3 heap[4] = { { 0, 0, 0 }, { 1e-5, 0, 0 }, { 0, 1e-5, 0 }, { 0, 0, 1e-5 } };
  assert_int_equal(kp_altitude_choose(heap, rest2).number, -1);

  // on a line in every order: two overlapping edges, pushed apart across the line from one place
  static const double order[3][4] = { { 0, 1, 2, 3 }, { 2, 0, 3, 1 }, { 3, 1, 0, 2 } };
  for (int o = 0; o < 3; ++o) {
    kp_vec3 line[4];
    for (int c = 0; c < 4; ++c) {
      line[c] = kp_vec3_make(0.3 * order[o][c], 0.4 * order[o][c], 0.1);
    }
    kp_altitude a = kp_altitude_choose(line, rest2);
    assert_in_range(a.number, KP_ALTITUDE_FACES, KP_ALTITUDES - 1);
    assert_near(a.length, 0.0, 0.0);
    assert_near(kp_vec3_length(a.n), 1.0, 1e-12);
    assert_near(kp_vec3_dot(a.n, kp_vec3_make(0.6, 0.8, 0.0)), 0.0, 1e-12);
    assert_true(smallest_weight(&a) > 0.0);
    kp_vec3 between = { 0.0, 0.0, 0.0 };
    for (int c = 0; c < 4; ++c) {
      between = kp_vec3_madd(between, a.w[c], line[c]);
      // ends (0, 3) are never one edge
      bool is_end = order[o][c] == 0 || order[o][c] == 3;
      assert_near(fabs(a.w[c]), is_end ? 0.25 : 0.75, 1e-12);
    }
    assert_near(kp_vec3_length(between), 0.0, 1e-12);
  }

  // flat: a spring that opens it on the right side
  const kp_vec3 flat[4] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 0.2, 0.2, 0 } };
  kp_altitude a = kp_altitude_choose(flat, rest2);
  assert_int_equal(a.number, 3);
  assert_near(a.length, 0.0, 1e-15);
  assert_vec3_near(a.n, kp_vec3_make(0, 0, 1), 1e-15);

  // inside out: the same direction, negative length
  const kp_vec3 inverted[4] = { { 0, 0, 0 }, { 1, 0, 0 }, { 0, 1, 0 }, { 0.2, 0.2, -0.1 } };
  a = kp_altitude_choose(inverted, rest2);
  assert_near(a.length, -0.1, 1e-15);
  assert_vec3_near(a.n, kp_vec3_make(0, 0, 1), 1e-15);
}

// ---- meshes -------------------------------------------------------------------------------------

typedef struct solid {
  int kind;
  kp_vec3 turn;
} solid;

static double torus(kp_vec3 p) {
  double ring = sqrt(p.x * p.x + p.z * p.z) - 1.0;
  return sqrt(ring * ring + p.y * p.y) - 0.4;
}

static double ellipsoid_of_spheres(kp_vec3 p) {
  double a = kp_vec3_length(kp_vec3_sub(p, kp_vec3_make(-0.3, 0.0, 0.1))) - 0.55;
  double b = kp_vec3_length(kp_vec3_sub(p, kp_vec3_make(0.4, 0.2, 0.0))) - 0.45;
  return fmin(a, b);
}

static double distance(const void *self, kp_vec3 p) {
  const solid *s = self;
  return s->kind == 0 ? kp_vec3_length(p) - 1.0 : s->kind == 1 ? torus(p) : ellipsoid_of_spheres(p);
}

static kp_tet_size of(double spacing, double grade) {
  return (kp_tet_size){ .spacing = spacing, .grade = grade };
}

static void test_stuffing(void **state) {
  (void)state;
  const kp_aabb bounds = { { -1.5, -1.1, -1.5 }, { 1.5, 1.1, 1.5 } };
  static const double spacings[] = { 0.33, 0.21, 0.1 };
  double smallest = HUGE_VAL, largest = 0.0, facets = 0.0;
  for (int kind = 0; kind < 3; ++kind) {
    double before = 0.0;
    for (int k = 0; k < 3; ++k) {
      solid s = { .kind = kind };
      kp_tet_mesh mesh;
      assert_ok(kp_tet_mesh_stuff(distance, &s, bounds, of(spacings[k], 0.0), &mesh));
      assert_ok(kp_tet_mesh_check(&mesh, "solid"));
      kp_tet_quality q = kp_tet_mesh_quality(&mesh);
      print_message("solid %d spacing %.2f: %d tetrahedra, angles %.2f to %.2f, volume %.5f\n",
                    kind, spacings[k], (int)mesh.n_tets, q.angle_min, q.angle_max, q.volume);
      assert_true(q.smallest > 0.0);
      // what Labelle and Shewchuk prove for their choice of distances
      smallest = kp_test_least(smallest, q.angle_min);
      largest = kp_test_most(largest, q.angle_max);
      kp_mesh surface;
      assert_ok(kp_tet_mesh_surface(&mesh, &surface));
      assert_ok(kp_mesh_check_closed(&surface));
      assert_near_relative(kp_mesh_volume(&surface), q.volume, 1e-12);
      for (kp_index t = 0; t < surface.n_triangles; ++t) {
        for (int c = 0; c < 3; ++c) {
          kp_vec3 p = surface.vertices[surface.triangles[t].v[c]];
          assert_near(distance(&s, p), 0.0, 2e-5 * spacings[k]);
        }
      }
      double exact = kind == 0 ? 4.0 / 3.0 * PI : 2.0 * PI * PI * 0.16;
      if (kind < 2) {
        double error = fabs(q.volume - exact) / exact;
        facets = kp_test_most(facets, error / (spacings[k] * spacings[k]));
        assert_true(k == 0 || error < before);
        before = error;
      }
      kp_mesh_destroy(&surface);
      kp_tet_mesh_destroy(&mesh);
    }
  }
  kp_claim claim = { .id = "selle-S45",
                     .text = "a body-centred lattice fills solids with tetrahedra of the angles "
                             "that Labelle and Shewchuk prove",
                     .size = "sphere, torus and two spheres in one, 0.33 to 0.1 of the radius" };
  kp_claim_status verdict = kp_claim_all(
      &claim, { "smallest dihedral angle, degrees", smallest, KP_AT_LEAST, 10.6 },
      { "largest, degrees", largest, KP_AT_MOST, 164.9 },
      { "error of the volume over the square of the spacing", facets, KP_AT_MOST, 1.1 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// Corners of a triangle, the smallest first, so that equal triangles are equal bytes.
typedef struct corners {
  kp_vec3 x[3];
} corners;

static int compare_vec3(const kp_vec3 *a, const kp_vec3 *b) {
  return memcmp(a, b, sizeof *a);
}

static int compare_corners(const void *a, const void *b) {
  return memcmp(a, b, sizeof(corners));
}

static corners *sorted_triangles(const kp_mesh *surface) {
  corners *all = malloc((size_t)surface->n_triangles * sizeof *all);
  assert_non_null(all);
  for (kp_index t = 0; t < surface->n_triangles; ++t) {
    const kp_index *v = surface->triangles[t].v;
    int first = 0;
    for (int c = 1; c < 3; ++c) {
      if (compare_vec3(&surface->vertices[v[c]], &surface->vertices[v[first]]) < 0) {
        first = c;
      }
    }
    for (int c = 0; c < 3; ++c) {
      all[t].x[c] = surface->vertices[v[(first + c) % 3]];
    }
  }
  qsort(all, (size_t)surface->n_triangles, sizeof *all, compare_corners);
  return all;
}

// The surface of the graded mesh is that of the uniform one, triangle for triangle.
static void expect_same_surface(const kp_tet_mesh *graded, const kp_tet_mesh *uniform) {
  kp_mesh a, b;
  assert_ok(kp_tet_mesh_surface(graded, &a));
  assert_ok(kp_tet_mesh_surface(uniform, &b));
  assert_ok(kp_mesh_check_closed(&a));
  assert_int_equal(a.n_triangles, b.n_triangles);
  corners *left = sorted_triangles(&a), *right = sorted_triangles(&b);
  assert_memory_equal(left, right, (size_t)a.n_triangles * sizeof *left);
  free(left);
  free(right);
  kp_mesh_destroy(&a);
  kp_mesh_destroy(&b);
}

// Tetrahedra that no surface touched have one of four forms, none sharper than half a pyramid.
static void expect_angles_inside(const kp_tet_mesh *mesh, const solid *s, double spacing) {
  double smallest = PI, largest = 0.0;
  for (kp_index t = 0; t < mesh->n_tets; ++t) {
    kp_vec3 x[4];
    double nearest = HUGE_VAL;
    for (int c = 0; c < 4; ++c) {
      x[c] = mesh->vertices[mesh->tets[t].v[c]];
      nearest = fmin(nearest, -distance(s, x[c]));
    }
    if (nearest > 0.5 * spacing) {
      kp_tet_angles(x, &smallest, &largest);
    }
  }
  print_message("  inside %.2f to %.2f degrees\n", smallest * 180.0 / PI, largest * 180.0 / PI);
  assert_true(smallest * 180.0 / PI > 44.9);
  assert_between(largest * 180.0 / PI, 89.9, 120.1);
}

static double longest_edge(const kp_tet_mesh *mesh) {
  double longest = 0.0;
  for (kp_index t = 0; t < mesh->n_tets; ++t) {
    for (int i = 0; i < 3; ++i) {
      for (int j = i + 1; j < 4; ++j) {
        const kp_index *v = mesh->tets[t].v;
        kp_vec3 d = kp_vec3_sub(mesh->vertices[v[i]], mesh->vertices[v[j]]);
        longest = kp_test_most(longest, kp_vec3_length(d));
      }
    }
  }
  return longest;
}

static void test_graded(void **state) {
  (void)state;
  const kp_aabb bounds = { { -1.5, -1.1, -1.5 }, { 1.5, 1.1, 1.5 } };
  static const double spacings[] = { 0.1, 0.06, 0.04 };
  static const double grades[] = { 0.3, 1.0, 10.0 };
  for (int kind = 0; kind < 3; ++kind) {
    for (int k = 0; k < (kind == 0 ? 3 : 2); ++k) {
      solid s = { .kind = kind };
      kp_tet_mesh uniform, mesh;
      assert_ok(kp_tet_mesh_stuff(distance, &s, bounds, of(spacings[k], 0.0), &uniform));
      assert_ok(kp_tet_mesh_stuff(distance, &s, bounds, of(spacings[k], grades[k]), &mesh));
      assert_ok(kp_tet_mesh_check(&mesh, "solid"));
      kp_tet_quality q = kp_tet_mesh_quality(&mesh), all = kp_tet_mesh_quality(&uniform);
      double longest = longest_edge(&mesh) / spacings[k];
      print_message("solid %d spacing %.3f grade %.1f: %d of %d tetrahedra, angles %.2f to %.2f, "
                    "volume %.5f, longest edge %.2f\n",
                    kind, spacings[k], grades[k], (int)mesh.n_tets, (int)uniform.n_tets,
                    q.angle_min, q.angle_max, q.volume, longest);
      assert_true(q.smallest > 0.0);
      assert_true(q.angle_min > 10.6);
      assert_true(q.angle_max < 164.9);
      assert_near_relative(q.volume, all.volume, 1e-10);  // sums of 1e6 terms
      double exact = kind == 0 ? 4.0 / 3.0 * PI : 2.0 * PI * PI * 0.16;
      assert_true(kind == 2 || fabs(q.volume - exact) < 0.01 * exact);
      expect_same_surface(&mesh, &uniform);
      expect_angles_inside(&mesh, &s, spacings[k]);
      // a sphere is deep enough for cells eight times as wide, and they pay
      assert_true(kind != 0 || k != 2 || (longest > 7.9 && 2 * mesh.n_tets < uniform.n_tets));
      kp_tet_mesh_destroy(&uniform);
      kp_tet_mesh_destroy(&mesh);
    }
  }
}

// A solid whose distance changes too fast for cells to keep off its surface.
static double steep(const void *self, kp_vec3 p) {
  (void)self;
  return 50.0 * (kp_vec3_length(p) - 1.0);
}

static void test_steep(void **state) {
  (void)state;
  const kp_aabb bounds = { { -1.0, -1.0, -1.0 }, { 1.0, 1.0, 1.0 } };
  kp_tet_mesh mesh;
  assert_fails(KP_ERROR_SCENE, "grade has to be 0",
               kp_tet_mesh_stuff(steep, NULL, bounds, of(0.05, 1.0), &mesh));
  assert_ok(kp_tet_mesh_stuff(steep, NULL, bounds, of(0.2, 0.0), &mesh));
  kp_tet_mesh_destroy(&mesh);
}

static void test_box(void **state) {
  (void)state;
  const kp_aabb box = { { 0.0, -1.0, 2.0 }, { 0.5, 0.0, 2.3 } };
  kp_tet_mesh mesh;
  assert_ok(kp_tet_mesh_box(box, 0.1, &mesh));
  assert_int_equal(mesh.n_tets, 5 * 5 * 10 * 3);
  kp_tet_quality q = kp_tet_mesh_quality(&mesh);
  assert_near_relative(q.volume, 0.15, 1e-12);
  assert_true(q.smallest > 0.0);
  assert_near(q.angle_min, 54.7356, 1e-3);
  kp_mesh surface;
  assert_ok(kp_tet_mesh_surface(&mesh, &surface));
  assert_ok(kp_mesh_check_closed(&surface));
  assert_near_relative(kp_mesh_area(&surface), 2.0 * (0.5 + 0.15 + 0.3), 1e-12);
  assert_near_relative(kp_mesh_volume(&surface), 0.15, 1e-12);
  kp_mesh_destroy(&surface);
  kp_tet_mesh_destroy(&mesh);
}

static void test_shapes(void **state) {
  (void)state;
  kp_shape_def def = kp_default_shape_def(KP_SHAPE_CAPSULE);
  def.radius = 0.3;
  kp_shape *shape;
  assert_ok(kp_shape_build(&def, NULL, &shape));
  kp_tet_mesh mesh;
  assert_ok(kp_tet_mesh_from_shape(shape, of(0.08, 0.0), &mesh));
  kp_tet_quality q = kp_tet_mesh_quality(&mesh);
  assert_true(q.angle_min > 10.6);
  assert_near_relative(q.volume, kp_shape_volume(shape), 0.02);
  kp_tet_mesh_destroy(&mesh);
  // coarser than the solid is wide
  assert_fails(KP_ERROR_SCENE, "no tetrahedron",
               kp_tet_mesh_from_shape(shape, of(50.0, 0.0), &mesh));
  assert_fails(KP_ERROR_SCENE, "lattice points",
               kp_tet_mesh_from_shape(shape, of(1e-5, 0.0), &mesh));
  kp_shape_destroy(&shape);

  def = kp_default_shape_def(KP_SHAPE_PLANE);
  assert_ok(kp_shape_build(&def, NULL, &shape));
  assert_fails(KP_ERROR_SCENE, "without bounds",
               kp_tet_mesh_from_shape(shape, of(0.1, 0.0), &mesh));
  kp_shape_destroy(&shape);
}

// ---- files --------------------------------------------------------------------------------------

static void test_files(void **state) {
  const char *folder = *state;
  kp_tet_mesh mesh, back;
  solid s = { .kind = 2 };
  const kp_aabb bounds = { { -1.5, -1.1, -1.5 }, { 1.5, 1.1, 1.5 } };
  assert_ok(kp_tet_mesh_stuff(distance, &s, bounds, of(0.3, 0.0), &mesh));
  static const char *const names[] = { "body.mesh", "body.node", "body.ele" };
  for (int k = 0; k < 3; ++k) {
    const char *path = kp_test_path(folder, names[k]);
    assert_ok(kp_tet_mesh_write(path, &mesh));
    assert_ok(kp_tet_mesh_read(path, &back));
    assert_int_equal(back.n_vertices, mesh.n_vertices);
    assert_int_equal(back.n_tets, mesh.n_tets);
    assert_memory_equal(back.vertices, mesh.vertices, (size_t)mesh.n_vertices * sizeof(kp_vec3));
    assert_memory_equal(back.tets, mesh.tets, (size_t)mesh.n_tets * sizeof(kp_tetrahedron));
    kp_tet_mesh_destroy(&back);
  }
  kp_tet_mesh_destroy(&mesh);
  assert_fails(KP_ERROR_FORMAT, ".mesh (Medit)", kp_tet_mesh_read("body.obj", &back));
  assert_fails(KP_ERROR_IO, "nothing.mesh", kp_tet_mesh_read("nothing.mesh", &back));
}

#define HEAD "MeshVersionFormatted 2\nDimension 3\n"
#define FOUR "Vertices 4\n0 0 0 1\n1 0 0 1\n0 1 0 1\n0 0 1 1\n"

static kp_result medit(const char *text, kp_tet_mesh *mesh) {
  return kp_medit_parse(text, strlen(text), "t.mesh", mesh);
}

static void test_bad_files(void **state) {
  (void)state;
  kp_tet_mesh mesh;
  // other sections and comments are passed over, a wrong order is turned, an unused vertex dropped
  assert_ok(medit(HEAD "# made by hand\nCorners 2 1 2\nVertices 5 0 0 0 0 1 0 0 0 9 9 9 0 0 1 0 0 "
                       "0 0 1 0\nTriangles\n1\n1 2 4 7\nTetrahedra\n1\n1 4 2 5 3\nEnd\n",
                  &mesh));
  assert_int_equal(mesh.n_vertices, 4);
  assert_near(kp_tet_volume(&mesh, 0), 1.0 / 6.0, 1e-15);
  kp_tet_mesh_destroy(&mesh);
  static const char *const bad[][2] = {
    { "", "begins with MeshVersionFormatted" },
    { "solid", "not solid" },
    { "MeshVersionFormatted 2 Dimension 2", "Dimension 3" },
    { HEAD "Vertices 1000000000 0 0 0 0", "of this size" },
    { HEAD "Vertices -1", "not -1" },
    { HEAD "Vertices 2\n0 0 zero", "t.mesh:4: a vertex needs three finite numbers, not zero" },
    { HEAD FOUR, "holds no tetrahedra" },
    { HEAD "Tetrahedra 1 1 2 3 4 0", "holds no vertices" },
    { HEAD FOUR "Tetrahedra 1\n1 2 3 5 0", "uses vertex 5, but there are only 4" },
    { HEAD FOUR "Tetrahedra 1\n0 1 2 3 0", "numbered from 1, not 0" },
    { HEAD FOUR "Tetrahedra 1\n1 2 3 3 0", "is flat" },
    { HEAD FOUR "Tetrahedra 1\n1 2 3", "it ends there" },
  };
  for (size_t b = 0; b < sizeof bad / sizeof bad[0]; ++b) {
    assert_fails(KP_ERROR_FORMAT, bad[b][1], medit(bad[b][0], &mesh));
    assert_null(mesh.vertices);
  }
  static const char nodes[] =
      "# nodes\n4 3 1 1\n0 0 0 0 .5 1\n1 1 0 0 .5 1\n2 0 1 0 .5 1\n3 0 0 1 .5 1\n";
  static const char ele[] = "1 4 0\n0 0 1 2 3\n";
  static const char gap[] = "2 3 0 0\n0 0 0 0\n2 1 0 0\n";
  static const char many[] = "1 5 0\n0 0 1 2 3\n";
  assert_ok(kp_tetgen_parse(nodes, sizeof nodes - 1, ele, sizeof ele - 1, "t.node", &mesh));
  assert_near(kp_tet_volume(&mesh, 0), 1.0 / 6.0, 1e-15);
  kp_tet_mesh_destroy(&mesh);
  assert_fails(KP_ERROR_FORMAT, "without gaps, not 2",
               kp_tetgen_parse(gap, sizeof gap - 1, ele, sizeof ele - 1, "t.node", &mesh));
  assert_fails(KP_ERROR_FORMAT, "4 or 10 corners, not 5",
               kp_tetgen_parse(nodes, sizeof nodes - 1, many, sizeof many - 1, "t.node", &mesh));
}

// Cells of a row, of which some are left out: the runs between them are the pieces.
static void test_pieces(void **state) {
  (void)state;
  kp_aabb row = { kp_vec3_make(0, 0, 0), kp_vec3_make(20, 1, 1) };
  for (unsigned missing = 0; missing < 1u << 8; ++missing) {
    kp_tet_mesh mesh;
    assert_ok(kp_tet_mesh_box(row, 1.0, &mesh));
    kp_index n_kept = 0, expected = 1, smallest = mesh.n_vertices, run = 0, n, least;
    for (int cell = 0; cell < 20; ++cell) {
      bool is_left_out = cell > 0 && cell < 9 && (missing >> (cell - 1) & 1u) != 0;
      for (int k = 0; k < 5 && !is_left_out; ++k) {
        mesh.tets[n_kept++] = mesh.tets[5 * cell + k];
      }
      if (!is_left_out) {
        ++run;
      } else if (run > 0) {
        ++expected;
        smallest = 4 * (run + 1) < smallest ? 4 * (run + 1) : smallest;
        run = 0;
      }
    }
    smallest = 4 * (run + 1) < smallest ? 4 * (run + 1) : smallest;
    mesh.n_tets = n_kept;
    // vertices of no tetrahedron are pieces of their own
    kp_index alone = 0;
    for (int cell = 1; cell < 8; ++cell) {
      alone += (missing >> (cell - 1) & 3u) == 3u ? 4 : 0;
    }
    smallest = alone > 0 ? 1 : smallest;
    assert_ok(kp_tet_mesh_count_pieces(&mesh, &n, &least));
    assert_int_equal(n, expected + alone);
    assert_int_equal(least, smallest);
    kp_tet_mesh_destroy(&mesh);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_theorem),    cmocka_unit_test(test_identities),
    cmocka_unit_test(test_degenerate), cmocka_unit_test(test_stuffing),
    cmocka_unit_test(test_graded),     cmocka_unit_test(test_steep),
    cmocka_unit_test(test_box),        cmocka_unit_test(test_shapes),
    cmocka_unit_test(test_files),      cmocka_unit_test(test_bad_files),
    cmocka_unit_test(test_pieces),
  };
  return cmocka_run_group_tests(tests, kp_test_folder_make, kp_test_folder_remove);
}
