// Vertices doubled at the sharp edges of closed meshes: each side of an edge has normals of its
// own, round meshes and open sheets stay as they are.
#include "support/test.h"

#include <math.h>

#include "geom/mesh_make.h"
#include "render/creases.h"

static void find(kp_creases *c, const kp_mesh *mesh) {
  assert_ok(kp_creases_find(c, mesh->vertices, (uint64_t)mesh->n_vertices,
                            (const uint32_t *)mesh->triangles[0].v, (uint64_t)mesh->n_triangles));
}

// Triangles are where they were, and no corner has a normal that is far from its face's.
static double check_corners(const kp_creases *c, const kp_mesh *mesh) {
  double least = 1.0;
  for (kp_index t = 0; t < mesh->n_triangles; ++t) {
    const kp_triangle *old = &mesh->triangles[t];
    const kp_vec3 *v = mesh->vertices;
    kp_vec3 face = kp_vec3_cross(kp_vec3_sub(v[old->v[1]], v[old->v[0]]),
                                 kp_vec3_sub(v[old->v[2]], v[old->v[0]]));
    face = kp_vec3_normalize(face);
    for (int corner = 0; corner < 3; ++corner) {
      uint32_t i = c->triangles[3 * (size_t)t + (size_t)corner];
      assert_true(i < c->n);
      assert_int_equal(c->from[i], old->v[corner]);
      const float *n = &c->normals[3 * (size_t)i];
      kp_vec3 normal = kp_vec3_make((double)n[0], (double)n[1], (double)n[2]);
      assert_near(kp_vec3_length(normal), 1.0, 1e-6);
      least = kp_test_least(least, kp_vec3_dot(normal, face));
    }
  }
  return least;
}

static void test_drum(void **state) {
  (void)state;
  enum { AROUND = 24 };
  kp_mesh mesh;
  // long and flat: neither side may swallow the other by its area
  for (int k = 0; k < 3; ++k) {
    kp_vec3 top = kp_vec3_make(0.1, k == 0 ? 0.02 : k == 1 ? 1.0 : 30.0, 0.2);
    assert_ok(kp_mesh_make_cylinder(kp_vec3_make(0, 0, 0), top, 0.5, AROUND, &mesh));
    kp_creases c = { 0 };
    find(&c, &mesh);
    // both rims are there twice
    assert_int_equal(c.n, mesh.n_vertices + 2 * AROUND);
    // the side is round: half a step around
    assert_true(check_corners(&c, &mesh) > cos(2.0 * 3.1416 / AROUND));
    kp_creases_free(&c);
    kp_mesh_destroy(&mesh);
  }
}

static void test_round(void **state) {
  (void)state;
  kp_mesh mesh;
  kp_creases c = { 0 };
  assert_ok(kp_mesh_make_capsule(kp_vec3_make(0, 0, 0), kp_vec3_make(0, 1, 0), 0.3, 24, &mesh));
  find(&c, &mesh);
  assert_int_equal(c.n, mesh.n_vertices);
  assert_true(check_corners(&c, &mesh) > cos(2.0 * 3.1416 / 24));  // a step around
  kp_creases_free(&c);
  kp_mesh_destroy(&mesh);
}

// A sheet folded at a right angle: what is open is cloth, whose folds are round.
static void test_sheet(void **state) {
  (void)state;
  const kp_vec3 vertices[6] = { { 0, 0, 0 }, { 0, 0, 1 }, { 1, 0, 0 },
                                { 1, 0, 1 }, { 1, 1, 0 }, { 1, 1, 1 } };
  const uint32_t triangles[12] = { 0, 1, 2, 1, 3, 2, 2, 3, 4, 3, 5, 4 };
  kp_creases c = { 0 };
  assert_ok(kp_creases_find(&c, vertices, 6, triangles, 4));
  assert_int_equal(c.n, 6);
  kp_creases_free(&c);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_drum),
    cmocka_unit_test(test_round),
    cmocka_unit_test(test_sheet),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
