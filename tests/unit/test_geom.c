// Meshes, trees, shapes and samplers against formulas and brute force.
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "geom/bvh.h"
#include "geom/mesh.h"
#include "geom/mesh_make.h"
#include "geom/mesh_query.h"
#include "geom/outline.h"
#include "geom/sampler.h"
#include "geom/shape.h"

#define PI 3.14159265358979323846

static kp_aabb unit_box(void) {
  return (kp_aabb){ kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 1) };
}

static kp_shape *build(const kp_shape_def *def) {
  kp_shape *shape = NULL;
  assert_ok(kp_shape_build(def, NULL, &shape));
  return shape;
}

static kp_shape_def box_def(kp_vec3 min, kp_vec3 max) {
  kp_shape_def def = kp_default_shape_def(KP_SHAPE_BOX);
  def.min = min;
  def.max = max;
  return def;
}

static kp_shape_def sphere_def(kp_vec3 center, double radius) {
  kp_shape_def def = kp_default_shape_def(KP_SHAPE_SPHERE);
  def.center = center;
  def.radius = radius;
  return def;
}

static kp_shape_def axis_def(kp_shape_kind kind, kp_vec3 a, kp_vec3 b, double radius) {
  kp_shape_def def = kp_default_shape_def(kind);
  def.a = a;
  def.b = b;
  def.radius = radius;
  return def;
}

static kp_shape_def duck_def(void) {
  kp_shape_def def = kp_default_shape_def(KP_SHAPE_MESH);
  const char *source = kp_test_source_dir();
  assert_true(strlen(source) + strlen("/scenes/demo/meshes/duck.obj") < sizeof def.file);
  strcpy(def.file, source);
  strcat(def.file, "/scenes/demo/meshes/duck.obj");
  return def;
}

// ---- meshes -------------------------------------------------------------------------------------

static void test_box_mesh(void **state) {
  (void)state;
  kp_mesh mesh;
  kp_vec3 min = kp_vec3_make(10, -2, 3);
  kp_vec3 max = kp_vec3_make(12, 1, 4);
  assert_ok(kp_mesh_make_box((kp_aabb){ min, max }, &mesh));
  assert_ok(kp_mesh_check_closed(&mesh));
  kp_mass_properties m = kp_mesh_mass_properties(&mesh);
  assert_near(m.volume, 6, 1e-12);
  assert_near(kp_mesh_area(&mesh), 22, 1e-12);
  assert_vec3_near(m.center, kp_vec3_make(11, -0.5, 3.5), 1e-12);
  assert_near(m.inertia.m[0][0], 6.0 * (9 + 1) / 12, 1e-12);
  assert_near(m.inertia.m[1][1], 6.0 * (4 + 1) / 12, 1e-12);
  assert_near(m.inertia.m[2][2], 6.0 * (4 + 9) / 12, 1e-12);
  assert_near(m.inertia.m[0][1], 0, 1e-12);
  kp_mesh_destroy(&mesh);
}

static void test_sphere_mesh(void **state) {
  (void)state;
  // the error of the volume falls by four per level
  double error[2];
  for (int i = 0; i < 2; ++i) {
    kp_mesh mesh;
    assert_ok(kp_mesh_make_icosphere(kp_vec3_make(1, 2, 3), 0.5, 3 + i, &mesh));
    assert_int_equal(mesh.n_triangles, 20 << (2 * (3 + i)));
    assert_ok(kp_mesh_check_closed(&mesh));
    kp_mass_properties m = kp_mesh_mass_properties(&mesh);
    double v = 4.0 / 3.0 * PI * 0.125;
    error[i] = 1.0 - m.volume / v;
    assert_between(error[i], 0, 0.02);
    assert_near_relative(m.inertia.m[1][1], 0.4 * v * 0.25, 0.03);
    assert_vec3_near(m.center, kp_vec3_make(1, 2, 3), 1e-12);
    kp_mesh_destroy(&mesh);
  }
  assert_between(error[0] / error[1], 3.9, 4.1);
}

static void test_round_meshes(void **state) {
  (void)state;
  kp_vec3 a = kp_vec3_make(1, 0, 2);
  kp_vec3 b = kp_vec3_make(2, 2, 0);  // length 3
  for (int is_capsule = 0; is_capsule < 2; ++is_capsule) {
    kp_shape_def def = axis_def(is_capsule ? KP_SHAPE_CAPSULE : KP_SHAPE_CYLINDER, a, b, 0.5);
    kp_shape *shape = build(&def);
    kp_mesh mesh;
    assert_ok(kp_shape_tessellate(shape, 0.01, &mesh));
    assert_ok(kp_mesh_check_closed(&mesh));
    kp_mass_properties exact;
    assert_ok(kp_shape_mass_properties(shape, &exact));
    kp_mass_properties m = kp_mesh_mass_properties(&mesh);
    assert_near_relative(m.volume, exact.volume, 1e-3);
    assert_near_relative(m.volume, PI * 0.25 * 3 + is_capsule * PI / 6, 1e-3);
    assert_vec3_near(m.center, exact.center, 1e-9);
    for (int i = 0; i < 9; ++i) {
      assert_near(m.inertia.m[i / 3][i % 3], exact.inertia.m[i / 3][i % 3], 5e-3);
    }
    assert_near(kp_shape_bounds(shape).max.y, kp_mesh_bounds(&mesh).max.y, 1e-3);
    assert_near(kp_shape_bounds(shape).min.x, kp_mesh_bounds(&mesh).min.x, 1e-3);
    kp_mesh_destroy(&mesh);
    kp_shape_destroy(&shape);
  }
}

static void test_transform_and_weld(void **state) {
  (void)state;
  kp_mesh mesh;
  assert_ok(kp_mesh_make_box(unit_box(), &mesh));

  // a mirror keeps the volume positive
  kp_mat3 mirror = { { { -2, 0, 0 }, { 0, 1, 0 }, { 0, 0, 1 } } };
  kp_mesh_transform(&mesh, &mirror, kp_vec3_make(5, 0, 0));
  assert_near(kp_mesh_volume(&mesh), 2, 1e-12);
  assert_vec3_near(kp_mesh_bounds(&mesh).min, kp_vec3_make(3, 0, 0), 1e-12);

  // a triangle soup is closed after welding
  kp_mesh soup;
  assert_ok(kp_mesh_create(36, 12, &soup));
  for (int i = 0; i < 36; ++i) {
    soup.vertices[i] = mesh.vertices[mesh.triangles[i / 3].v[i % 3]];
    soup.triangles[i / 3].v[i % 3] = i;
  }
  assert_fails(KP_ERROR_FORMAT, "belongs to 1 triangle", kp_mesh_check_closed(&soup));
  assert_ok(kp_mesh_weld(&soup));
  assert_int_equal(soup.n_vertices, 8);
  assert_ok(kp_mesh_check_closed(&soup));
  assert_near(kp_mesh_volume(&soup), 2, 1e-12);

  // one triangle turned over, one missing
  kp_index swap = soup.triangles[3].v[0];
  soup.triangles[3].v[0] = soup.triangles[3].v[1];
  soup.triangles[3].v[1] = swap;
  assert_fails(KP_ERROR_FORMAT, "same direction", kp_mesh_check_closed(&soup));
  soup.n_triangles = 11;
  assert_fails(KP_ERROR_FORMAT, "edge between vertices", kp_mesh_check_closed(&soup));
  kp_mesh_destroy(&soup);
  kp_mesh_destroy(&mesh);
}

// ---- tree ---------------------------------------------------------------------------------------

static bool count_visit(kp_index item, void *user) {
  ++((unsigned char *)user)[item];
  return true;
}

static void tree_case(kp_test_random *random, void *user) {
  (void)user;
  kp_index n = (kp_index)kp_test_integer(random, 1, 300);
  kp_aabb *boxes = malloc((size_t)n * sizeof *boxes);
  for (kp_index i = 0; i < n; ++i) {
    // a coarse grid makes many equal centres
    kp_vec3 p = kp_test_vec3(random, 0, 4);
    p = kp_vec3_make(floor(p.x), floor(p.y), floor(p.z));
    boxes[i] = (kp_aabb){ p, kp_vec3_add(p, kp_test_vec3(random, 0, 1)) };
  }
  kp_bvh bvh;
  assert_ok(kp_bvh_build(boxes, n, &bvh));
  for (int pass = 0; pass < 2; ++pass) {
    kp_vec3 corner = kp_test_vec3(random, 0, 5);
    kp_aabb query = { corner, kp_vec3_add(corner, kp_test_vec3(random, 0, 2)) };
    unsigned char *visits = calloc((size_t)n, 1);
    kp_bvh_query_box(&bvh, query, count_visit, visits);
    for (kp_index i = 0; i < n; ++i) {
      assert_true(visits[i] <= 1);
      assert_true(visits[i] == 1 || !kp_aabb_touches(boxes[i], query));
    }

    // a ray through the middle of a box must visit it
    memset(visits, 0, (size_t)n);
    kp_index target = (kp_index)kp_test_integer(random, 0, n - 1);
    kp_vec3 middle = kp_vec3_scale(kp_vec3_add(boxes[target].min, boxes[target].max), 0.5);
    kp_vec3 origin = kp_test_vec3(random, -10, 10);
    kp_bvh_query_ray(&bvh, origin, kp_vec3_sub(middle, origin), 1.0, count_visit, visits);
    assert_int_equal(visits[target], 1);
    free(visits);

    // moved boxes
    for (kp_index i = 0; i < n; ++i) {
      kp_vec3 move = kp_test_vec3(random, -1, 1);
      boxes[i].min = kp_vec3_add(boxes[i].min, move);
      boxes[i].max = kp_vec3_add(boxes[i].max, move);
    }
    kp_bvh_refit(&bvh, boxes);
  }
  kp_bvh_destroy(&bvh);
  free(boxes);
}

static void test_tree(void **state) {
  (void)state;
  kp_test_for_seeds(40, tree_case, NULL);
  kp_bvh empty;
  assert_ok(kp_bvh_build(NULL, 0, &empty));
  kp_bvh_query_box(&empty, unit_box(), count_visit, NULL);
  kp_bvh_destroy(&empty);
}

// ---- distances ----------------------------------------------------------------------------------

static kp_mesh_query *make_query(kp_mesh *mesh) {
  kp_mesh_query *query = NULL;
  assert_ok(kp_mesh_query_create(mesh, &query));
  return query;
}

static void test_mesh_distance_to_box(void **state) {
  (void)state;
  kp_shape_def def = box_def(kp_vec3_make(-1, 0, 2), kp_vec3_make(1, 0.5, 5));
  kp_shape *box = build(&def);
  kp_mesh mesh;
  assert_ok(kp_mesh_make_box((kp_aabb){ def.min, def.max }, &mesh));
  kp_mesh_query *query = make_query(&mesh);
  kp_test_random random = kp_test_random_begin(7);
  for (int i = 0; i < 5000; ++i) {
    kp_vec3 p = kp_vec3_add(kp_test_vec3(&random, -3, 3), kp_vec3_make(0, 0, 3));
    kp_vec3 n, wanted;
    double d = kp_shape_query(box, p, &wanted);
    assert_near(kp_mesh_query_distance(query, p, &n), d, 1e-12);
    if (d > 1e-3) {
      assert_vec3_near(n, wanted, 1e-9);
    }
    assert_near(kp_vec3_length(n), 1, 1e-12);
  }

  // on the surface: a face, an edge, a corner
  kp_vec3 n;
  assert_near(kp_mesh_query_distance(query, kp_vec3_make(0.3, 0.5, 3), &n), 0, 1e-15);
  assert_vec3_near(n, kp_vec3_make(0, 1, 0), 1e-12);
  assert_near(kp_mesh_query_distance(query, kp_vec3_make(1, 0.5, 5), &n), 0, 1e-15);
  assert_vec3_near(n, kp_vec3_normalize(kp_vec3_make(1, 1, 1)), 1e-12);
  kp_mesh_query_destroy(&query);
  kp_shape_destroy(&box);
}

static void test_mesh_distance_to_sphere(void **state) {
  (void)state;
  kp_mesh mesh;
  assert_ok(kp_mesh_make_icosphere(kp_vec3_make(0, 0, 0), 1, 5, &mesh));
  kp_mesh_query *query = make_query(&mesh);
  kp_test_random random = kp_test_random_begin(8);
  for (int i = 0; i < 5000; ++i) {
    kp_vec3 p = kp_test_vec3(&random, -1.5, 1.5);
    kp_vec3 n;
    double d = kp_mesh_query_distance(query, p, &n);
    assert_near(d, kp_vec3_length(p) - 1, 1e-3);
    if (kp_vec3_length(p) > 0.3 && fabs(d) > 0.05) {
      assert_vec3_near(n, kp_vec3_normalize(p), 0.03);
    }
  }
  kp_mesh_query_destroy(&query);
}

// All triangles, and the exact sum of solid angles.
static void brute_force(const kp_mesh *mesh, kp_vec3 p, double *distance, double *winding) {
  *distance = HUGE_VAL;
  double angle = 0;
  for (kp_index t = 0; t < mesh->n_triangles; ++t) {
    kp_vec3 v[3];
    for (int i = 0; i < 3; ++i) {
      v[i] = mesh->vertices[mesh->triangles[t].v[i]];
    }
    double w[3];
    kp_vec3 q = kp_triangle_closest(v[0], v[1], v[2], p, w);
    *distance = fmin(*distance, kp_vec3_length(kp_vec3_sub(p, q)));
    double l[3];
    for (int i = 0; i < 3; ++i) {
      v[i] = kp_vec3_sub(v[i], p);
      l[i] = kp_vec3_length(v[i]);
    }
    angle += 2 * atan2(kp_vec3_dot(v[0], kp_vec3_cross(v[1], v[2])),
                       l[0] * l[1] * l[2] + kp_vec3_dot(v[0], v[1]) * l[2] +
                           kp_vec3_dot(v[1], v[2]) * l[0] + kp_vec3_dot(v[2], v[0]) * l[1]);
  }
  *winding = angle / (4 * PI);
}

static void test_mesh_distance_brute_force(void **state) {
  (void)state;
  kp_shape_def def = duck_def();
  kp_shape *duck = build(&def);
  const kp_mesh *mesh = kp_mesh_query_mesh(duck->mesh);
  assert_between(mesh->n_triangles, 2000, 5000);
  kp_aabb box = kp_shape_bounds(duck);
  kp_vec3 size = kp_vec3_sub(box.max, box.min);
  kp_test_random random = kp_test_random_begin(9);
  int n_inside = 0;
  for (int i = 0; i < 1000; ++i) {
    kp_vec3 u = kp_test_vec3(&random, -0.1, 1.1);
    kp_vec3 p = kp_vec3_add(box.min, kp_vec3_make(u.x * size.x, u.y * size.y, u.z * size.z));
    double distance, winding;
    brute_force(mesh, p, &distance, &winding);
    double d = kp_shape_distance(duck, p);
    assert_near(fabs(d), distance, 1e-12);
    assert_true((d < 0) == (winding > 0.5));
    assert_near(kp_mesh_query_winding(duck->mesh, p), winding, 0.05);
    n_inside += d < 0;
  }
  assert_between(n_inside, 100, 900);
  kp_shape_destroy(&duck);
}

// The closest point of a triangle against a fine grid of its points.
static void test_triangle_closest(void **state) {
  (void)state;
  kp_test_random random = kp_test_random_begin(10);
  for (int i = 0; i < 300; ++i) {
    kp_vec3 v[3] = { kp_test_vec3(&random, -1, 1), kp_test_vec3(&random, -1, 1),
                     kp_test_vec3(&random, -1, 1) };
    if (i % 10 == 0) {
      v[2] = kp_vec3_scale(kp_vec3_add(v[0], v[1]), 0.5);  // a sliver
    }
    kp_vec3 p = kp_test_vec3(&random, -2, 2);
    double w[3];
    kp_vec3 q = kp_triangle_closest(v[0], v[1], v[2], p, w);
    double d = kp_vec3_length(kp_vec3_sub(p, q));
    assert_near(w[0] + w[1] + w[2], 1, 1e-12);
    double best = HUGE_VAL;
    for (int a = 0; a <= 60; ++a) {
      for (int b = 0; a + b <= 60; ++b) {
        kp_vec3 g =
            kp_vec3_add(kp_vec3_scale(v[0], (60 - a - b) / 60.0),
                        kp_vec3_add(kp_vec3_scale(v[1], a / 60.0), kp_vec3_scale(v[2], b / 60.0)));
        best = fmin(best, kp_vec3_length(kp_vec3_sub(p, g)));
      }
    }
    assert_between(d, best - 0.06, best + 1e-12);
  }
}

// Slope, sign and gradient of every kind, plain and inverted.
static void test_shape_laws(void **state) {
  (void)state;
  kp_vec3 a = kp_vec3_make(-0.5, -0.2, 0.1);
  kp_vec3 b = kp_vec3_make(0.4, 0.6, 0.3);
  kp_shape_def defs[6] = {
    box_def(kp_vec3_make(-0.5, -0.7, -0.3), kp_vec3_make(0.6, 0.4, 0.8)),
    sphere_def(kp_vec3_make(0.1, 0, -0.1), 0.7),
    axis_def(KP_SHAPE_CYLINDER, a, b, 0.4),
    axis_def(KP_SHAPE_CAPSULE, a, b, 0.4),
    kp_default_shape_def(KP_SHAPE_PLANE),
    box_def(kp_vec3_make(-0.5, -0.7, 0), kp_vec3_make(0.6, 0.4, 0)),
  };
  defs[4].normal = kp_vec3_make(1, 2, -2);
  kp_test_random random = kp_test_random_begin(11);
  for (int i = 0; i < 12; ++i) {
    defs[i / 2].invert = i % 2 != 0;
    kp_shape *shape = build(&defs[i / 2]);
    for (int k = 0; k < 500; ++k) {
      kp_vec3 p = kp_test_vec3(&random, -1.5, 1.5);
      kp_vec3 q = kp_test_vec3(&random, -1.5, 1.5);
      kp_vec3 n;
      double d = kp_shape_query(shape, p, &n);
      assert_near(kp_vec3_length(n), 1, 1e-12);
      double slope = fabs(kp_shape_distance(shape, q) - d);
      assert_true(slope <= kp_vec3_length(kp_vec3_sub(p, q)) + 1e-12);

      // the step against the gradient ends on the surface, when outside
      if (d > 0 && !defs[i / 2].invert) {
        assert_near(kp_shape_distance(shape, kp_vec3_madd(p, -d, n)), 0, 1e-12);
      }
      double ahead = kp_shape_distance(shape, kp_vec3_madd(p, 1e-7, n));
      assert_near(ahead - d, 1e-7, 2e-8);
    }
    kp_shape_destroy(&shape);
  }
}

static void test_bad_shapes(void **state) {
  (void)state;
  kp_shape *shape = NULL;
  kp_shape_def def = box_def(kp_vec3_make(0, 0.4, 0), kp_vec3_make(1, 0.1, 1));
  assert_fails(KP_ERROR_SCENE, "max.y = 0.1 is not above min.y = 0.4",
               kp_shape_build(&def, NULL, &shape));
  assert_null(shape);
  def = box_def(kp_vec3_make(0, 0, 0), kp_vec3_make((double)NAN, 1, 1));
  assert_fails(KP_ERROR_SCENE, "box: max.x = nan is not above min.x = 0",
               kp_shape_build(&def, NULL, &shape));
  def = sphere_def(kp_vec3_make(0, 0, 0), -1);
  assert_fails(KP_ERROR_SCENE, "sphere: radius", kp_shape_build(&def, NULL, &shape));
  def = axis_def(KP_SHAPE_CAPSULE, kp_vec3_make(1, 1, 1), kp_vec3_make(1, 1, 1), 1);
  assert_fails(KP_ERROR_SCENE, "same point", kp_shape_build(&def, NULL, &shape));
  def = kp_default_shape_def(KP_SHAPE_PLANE);
  def.normal = kp_vec3_make(0, 0, 0);
  assert_fails(KP_ERROR_SCENE, "no direction", kp_shape_build(&def, NULL, &shape));
  def = kp_default_shape_def(KP_SHAPE_MESH);
  assert_fails(KP_ERROR_SCENE, "file is missing", kp_shape_build(&def, NULL, &shape));
  strcpy(def.file, "nowhere.obj");
  assert_fails(KP_ERROR_IO, "/tmp/nowhere.obj", kp_shape_build(&def, "/tmp", &shape));
}

static void test_tables(void **state) {
  (void)state;
  size_t n;
  const kp_param_table *const *tables = kp_shape_tables(&n);
  assert_int_equal(n, KP_SHAPE_KIND_COUNT);
  for (size_t i = 0; i < n; ++i) {
    kp_shape_def def;
    tables[i]->set_default(&def);
    assert_int_equal(def.kind, i);
    assert_int_equal(tables[i]->def_size, sizeof def);
    for (size_t k = 0; k < tables[i]->n_rows; ++k) {
      const kp_param *row = &tables[i]->rows[k];
      assert_true(row->offset + row->size <= sizeof def);
      assert_non_null(row->text);
    }
    if (i != KP_SHAPE_MESH) {
      kp_shape *shape = build(&def);
      kp_shape_destroy(&shape);
    }
  }
}

// ---- two dimensions -----------------------------------------------------------------------------

static void flatten(kp_shape *shape) {
  assert_ok(kp_shape_flatten(shape));
  assert_int_equal(shape->dimension, 2);
}

static void test_flatten(void **state) {
  (void)state;
  // a sphere above the plane becomes a smaller circle
  kp_shape_def def = sphere_def(kp_vec3_make(1, 2, 0.3), 0.5);
  kp_shape *shape = build(&def);
  flatten(shape);
  assert_near(kp_shape_volume(shape), PI * 0.16, 1e-12);
  assert_near(kp_shape_distance(shape, kp_vec3_make(1, 2.4, 0)), 0, 1e-12);
  kp_shape_destroy(&shape);

  // a cylinder along z likewise; one in the plane is a rectangle
  def = axis_def(KP_SHAPE_CYLINDER, kp_vec3_make(0, 0, 0), kp_vec3_make(0, 0, 1), 0.5);
  shape = build(&def);
  flatten(shape);
  assert_near(kp_shape_distance(shape, kp_vec3_make(0.1, 0, 0)), -0.4, 1e-12);
  kp_shape_destroy(&shape);
  def = axis_def(KP_SHAPE_CYLINDER, kp_vec3_make(0, 0, 0), kp_vec3_make(2, 0, 0), 0.5);
  shape = build(&def);
  flatten(shape);
  assert_near_relative(kp_shape_volume(shape), 2, 1e-3);
  kp_mass_properties m;
  assert_ok(kp_shape_mass_properties(shape, &m));
  assert_near_relative(m.inertia.m[2][2], 2.0 * (4 + 1) / 12, 1e-3);
  assert_vec3_near(m.center, kp_vec3_make(1, 0, 0), 1e-6);
  kp_shape_destroy(&shape);

  // an oblique plane keeps its trace
  def = kp_default_shape_def(KP_SHAPE_PLANE);
  def.point = kp_vec3_make(0, 0, 1);
  def.normal = kp_vec3_make(1, 0, 1);
  shape = build(&def);
  flatten(shape);
  assert_near(kp_shape_distance(shape, kp_vec3_make(1, 5, 0)), 0, 1e-12);
  kp_shape_destroy(&shape);

  def.normal = kp_vec3_make(0, -1, 1);
  shape = build(&def);
  flatten(shape);
  assert_near(kp_shape_distance(shape, kp_vec3_make(7, 1, 0)), -2, 1e-12);
  kp_shape_destroy(&shape);

  // an upright capsule is narrower beyond the ends of its axis, above and below
  for (int side = -1; side <= 1; side += 2) {
    def = axis_def(KP_SHAPE_CAPSULE, kp_vec3_make(0, 0, 0.3 * side), kp_vec3_make(0, 0, 2.0 * side),
                   0.5);
    shape = build(&def);
    flatten(shape);
    assert_near(kp_shape_distance(shape, kp_vec3_make(0.4, 0, 0)), 0, 1e-12);
    kp_shape_destroy(&shape);
  }

  def = duck_def();
  shape = build(&def);
  double volume = kp_shape_volume(shape);
  flatten(shape);
  assert_between(volume, 5e-4, 2e-3);
  assert_between(kp_shape_volume(shape), 0.008, 0.03);
  kp_shape_destroy(&shape);
}

// What lies on one side of the plane is refused, from above and from below; so is what touches it,
// unless its section is that of every plane that cuts it.
static void test_planes_that_miss(void **state) {
  (void)state;
  const kp_vec3 to[] = { { 0, 0, 1 }, { 1, 0, 0 } };
  for (int side = -1; side <= 1; side += 2) {
    for (int touches = 0; touches < 2; ++touches) {
      double z = side * (touches ? 0.5 : 0.6);
      kp_shape_def defs[] = {
        sphere_def(kp_vec3_make(0, 0, z), 0.5),
        axis_def(KP_SHAPE_CYLINDER, kp_vec3_make(0, 0, z),
                 kp_vec3_add(kp_vec3_make(0, 0, z), to[1]), 0.5),
        axis_def(KP_SHAPE_CYLINDER, kp_vec3_make(0, 0, z - 0.5), kp_vec3_make(0, 0, z + 0.5), 0.5),
      };
      for (size_t k = 0; k < sizeof defs / sizeof defs[0]; ++k) {
        kp_shape *shape = build(&defs[k]);
        if (touches && k == 2) {
          assert_ok(kp_shape_flatten(shape));
        } else {
          assert_fails(KP_ERROR_SCENE, "does not cut", kp_shape_flatten(shape));
        }
        kp_shape_destroy(&shape);
      }
    }
  }
  kp_shape_def plane = kp_default_shape_def(KP_SHAPE_PLANE);
  plane.normal = to[0];
  kp_shape *shape = build(&plane);
  assert_fails(KP_ERROR_SCENE, "is parallel", kp_shape_flatten(shape));
  kp_shape_destroy(&shape);
}

// Edges get no shorter than what a scene can bear, whatever is asked for.
static void test_finest_meshes(void **state) {
  (void)state;
  kp_shape_def defs[] = {
    sphere_def(kp_vec3_make(0, 0, 0), 1.0),
    axis_def(KP_SHAPE_CYLINDER, kp_vec3_make(0, 0, 0), kp_vec3_make(0, 0, 1), 1.0),
  };
  for (size_t k = 0; k < sizeof defs / sizeof defs[0]; ++k) {
    kp_shape *shape = build(&defs[k]);
    kp_mesh mesh;
    assert_ok(kp_shape_tessellate(shape, 1e-7, &mesh));
    assert_between(mesh.n_triangles, 10000, 400000);
    kp_mesh_destroy(&mesh);
    kp_shape_destroy(&shape);
  }
}

// ---- filling ------------------------------------------------------------------------------------

static double smallest_distance(const kp_vec3 *points, size_t n) {
  double best2 = HUGE_VAL;
  for (size_t i = 0; i < n; ++i) {
    for (size_t j = 0; j < i; ++j) {
      kp_vec3 d = kp_vec3_sub(points[i], points[j]);
      best2 = fmin(best2, kp_vec3_dot(d, d));
    }
  }
  return sqrt(best2);
}

static void test_fill_box(void **state) {
  (void)state;
  kp_shape_def def = box_def(kp_vec3_make(0, 0, 0), kp_vec3_make(0.4, 0.3, 0.6));
  kp_shape *shape = build(&def);
  kp_points points = { 0 };
  kp_fill_def fill = kp_default_fill_def(0.05);
  assert_ok(kp_sampler_fill(shape, &fill, &points));
  assert_int_equal(points.count, 8 * 6 * 12);
  assert_vec3_near(points.data[0], kp_vec3_make(0.025, 0.025, 0.025), 1e-12);
  assert_vec3_near(points.data[1], kp_vec3_make(0.075, 0.025, 0.025), 1e-12);
  assert_near(smallest_distance(points.data, points.count), 0.05, 1e-12);

  // a margin of half a spacing takes nothing away
  points.count = 0;
  fill.margin = 0.025;
  assert_ok(kp_sampler_fill(shape, &fill, &points));
  assert_int_equal(points.count, 8 * 6 * 12);

  // jitter depends on the seed only and stays within its share
  points.count = 0;
  fill.jitter = 0.2;
  assert_ok(kp_sampler_fill(shape, &fill, &points));
  assert_ok(kp_sampler_fill(shape, &fill, &points));
  size_t half = points.count / 2;
  assert_memory_equal(points.data, points.data + half, half * sizeof *points.data);
  assert_between(smallest_distance(points.data, half), 0.01, 0.049);
  fill.seed += 1;
  assert_ok(kp_sampler_fill(shape, &fill, &points));
  assert_memory_not_equal(points.data, points.data + 2 * half, half * sizeof *points.data);
  kp_shape_destroy(&shape);

  // two dimensions: one layer with z exactly 0
  def = box_def(kp_vec3_make(0, 0, 0), kp_vec3_make(1, 0.5, 0));
  shape = build(&def);
  flatten(shape);
  points.count = 0;
  fill = kp_default_fill_def(0.01);
  assert_ok(kp_sampler_fill(shape, &fill, &points));
  assert_int_equal(points.count, 5000);
  for (size_t i = 0; i < points.count; ++i) {
    assert_true(points.data[i].z == 0.0);
  }
  kp_array_free(&points);
  kp_shape_destroy(&shape);
}

static void test_fill_density(void **state) {
  (void)state;
  kp_shape_def defs[2] = { sphere_def(kp_vec3_make(3, 1, 0.01), 0.5), duck_def() };
  double spacings[2] = { 0.03, 0.005 };
  for (int i = 0; i < 2; ++i) {
    for (int packing = 0; packing < KP_PACKING_COUNT; ++packing) {
      for (int dimension = 2; dimension <= 3; ++dimension) {
        kp_shape *shape = build(&defs[i]);
        double d = spacings[i];
        if (dimension == 2) {
          flatten(shape);
        }
        kp_points points = { 0 };
        kp_fill_def fill = kp_default_fill_def(d);
        fill.packing = (kp_packing)packing;
        assert_ok(kp_sampler_fill(shape, &fill, &points));
        double volume = (double)points.count * (dimension == 2 ? d * d : d * d * d);
        assert_near_relative(volume, kp_shape_volume(shape), 0.03);

        // nearest neighbours of close packing are 2^(1/6) d apart, of the triangular lattice 1.0746
        // d
        double wanted = packing == KP_PACKING_CUBIC ? 1.0 : (dimension == 2 ? 1.074570 : 1.122462);
        size_t n = points.count < 4000 ? points.count : 4000;
        assert_near_relative(smallest_distance(points.data, n), wanted * d, 1e-5);
        for (size_t k = 0; k < points.count; ++k) {
          assert_true(kp_shape_distance(shape, points.data[k]) < 1e-9);
          assert_true(dimension == 3 || points.data[k].z == 0.0);
        }
        kp_array_free(&points);
        kp_shape_destroy(&shape);
      }
    }
  }
}

// The row skipping must leave out no point of the lattice.
static void test_fill_complete(void **state) {
  (void)state;
  kp_shape_def def = duck_def();
  kp_shape *shape = build(&def);
  kp_points points = { 0 };
  kp_fill_def fill = kp_default_fill_def(0.01);
  assert_ok(kp_sampler_fill(shape, &fill, &points));
  kp_shape_def around = box_def(shape->bounds.min, shape->bounds.max);
  kp_shape *box = build(&around);
  kp_points all = { 0 };
  assert_ok(kp_sampler_fill(box, &fill, &all));
  size_t k = 0;
  for (size_t i = 0; i < all.count; ++i) {
    if (kp_shape_distance(shape, all.data[i]) < 0.0) {
      assert_true(k < points.count);
      assert_vec3_near(points.data[k++], all.data[i], 0);
    }
  }
  assert_int_equal(k, points.count);
  kp_array_free(&all);
  kp_array_free(&points);
  kp_shape_destroy(&box);
  kp_shape_destroy(&shape);
}

static void test_fill_unbounded(void **state) {
  (void)state;
  kp_shape_def def = box_def(kp_vec3_make(0.25, 0.25, 0.25), kp_vec3_make(0.75, 0.75, 0.75));
  def.invert = true;
  kp_shape *shape = build(&def);
  kp_points points = { 0 };
  kp_fill_def fill = kp_default_fill_def(0.0625);
  assert_fails(KP_ERROR_SCENE, "unbounded", kp_sampler_fill(shape, &fill, &points));
  fill.clip = unit_box();
  assert_ok(kp_sampler_fill(shape, &fill, &points));
  assert_int_equal(points.count, 4096 - 512);
  fill.spacing = 1e-5;
  assert_fails(KP_ERROR_SCENE, "too many", kp_sampler_fill(shape, &fill, &points));
  kp_array_free(&points);
  kp_shape_destroy(&shape);
}

// ---- surfaces -----------------------------------------------------------------------------------

static double total_area(const kp_surface_samples *samples, kp_index layer) {
  double area = 0;
  for (size_t i = 0; i < samples->count; ++i) {
    area += samples->data[i].layer == layer ? samples->data[i].area : 0.0;
  }
  return area;
}

static double nearest_sample(const kp_surface_samples *samples, kp_vec3 p) {
  double best2 = HUGE_VAL;
  for (size_t i = 0; i < samples->count; ++i) {
    kp_vec3 d = kp_vec3_sub(p, samples->data[i].position);
    best2 = fmin(best2, kp_vec3_dot(d, d));
  }
  return sqrt(best2);
}

// Random points of space thrown onto the surface: the largest distance to a sample.
static double largest_hole(const kp_shape *shape, const kp_surface_samples *samples) {
  kp_test_random random = kp_test_random_begin(12);
  kp_vec3 size = kp_vec3_sub(shape->bounds.max, shape->bounds.min);
  double worst = 0;
  for (int i = 0; i < 3000; ++i) {
    kp_vec3 u = kp_test_vec3(&random, -0.2, 1.2);
    kp_vec3 p =
        kp_vec3_add(shape->bounds.min, kp_vec3_make(u.x * size.x, u.y * size.y, u.z * size.z));
    if (shape->dimension == 2) {
      p.z = 0;
    }
    for (int k = 0; k < 20; ++k) {
      kp_vec3 n;
      double d = kp_shape_query(shape, p, &n);
      p = kp_vec3_madd(p, -d, n);
    }
    if (fabs(kp_shape_distance(shape, p)) < 1e-6) {
      worst = kp_test_most(worst, nearest_sample(samples, p));
    }
  }
  return worst;
}

static void check_samples(const kp_shape *shape, const kp_surface_samples *samples, double d) {
  assert_true(samples->count > 3);
  for (size_t i = 0; i < samples->count; ++i) {
    const kp_surface_sample *s = &samples->data[i];
    assert_near(kp_vec3_length(s->normal), 1, 1e-9);
    assert_true(s->area > 0);
    double depth = (double)s->layer * d;
    double tolerance = s->layer > 0 && shape->def.kind == KP_SHAPE_MESH ? 0.3 * d : 1e-9;
    if (shape->dimension == 3 || s->layer == 0) {
      // polygons of round shapes lie a little inside them
      bool has_axis = shape->def.kind == KP_SHAPE_CYLINDER || shape->def.kind == KP_SHAPE_CAPSULE;
      double chord = shape->dimension == 2 && has_axis ? 1e-2 * d : 0;
      assert_near(kp_shape_distance(shape, s->position), -depth, tolerance + chord);
    }
    assert_true(shape->dimension == 3 || (s->position.z == 0.0 && s->normal.z == 0.0));
  }
}

static void test_surface_box(void **state) {
  (void)state;
  kp_shape_def def = box_def(kp_vec3_make(0, 0, 0), kp_vec3_make(0.4, 0.3, 0.65));
  kp_shape *shape = build(&def);
  kp_surface_samples samples = { 0 };
  kp_surface_def surface = kp_default_surface_def(0.1);
  assert_ok(kp_sampler_surface(shape, &surface, &samples));
  assert_int_equal(samples.count, 5 * 4 * 8 - 3 * 2 * 6);
  assert_near(total_area(&samples, 0), 2 * (0.12 + 0.195 + 0.26), 1e-12);
  check_samples(shape, &samples, 0.1);
  assert_vec3_near(samples.data[0].normal, kp_vec3_normalize(kp_vec3_make(-1, -1, -1)), 1e-12);
  assert_between(largest_hole(shape, &samples), 0.05, 0.1);

  // layers: 0.2 x 0.1 x 0.45 inside, then nothing
  samples.count = 0;
  surface.layers = 9;
  assert_ok(kp_sampler_surface(shape, &surface, &samples));
  assert_int_equal(samples.count, 124 + 3 * 2 * 6);
  check_samples(shape, &samples, 0.1);
  kp_shape_destroy(&shape);

  // a room grows outward and its normals point into it
  def.invert = true;
  shape = build(&def);
  samples.count = 0;
  surface.layers = 2;
  assert_ok(kp_sampler_surface(shape, &surface, &samples));
  assert_int_equal(samples.count, 124 + 7 * 6 * 10 - 5 * 4 * 8);
  assert_vec3_near(samples.data[0].normal, kp_vec3_normalize(kp_vec3_make(1, 1, 1)), 1e-12);
  flatten(shape);
  samples.count = 0;
  assert_ok(kp_sampler_surface(shape, &surface, &samples));
  assert_int_equal(samples.count, 2 * (4 + 3) + 2 * (6 + 5));
  assert_near(total_area(&samples, 0), 1.4, 1e-12);
  kp_array_free(&samples);
  kp_shape_destroy(&shape);
}

static void test_surface_plane(void **state) {
  (void)state;
  kp_shape_def def = kp_default_shape_def(KP_SHAPE_PLANE);
  kp_shape *shape = build(&def);
  kp_surface_samples samples = { 0 };
  kp_surface_def surface = kp_default_surface_def(0.1);
  assert_fails(KP_ERROR_SCENE, "plane", kp_sampler_surface(shape, &surface, &samples));
  surface.clip = (kp_aabb){ kp_vec3_make(0, 0, 0), kp_vec3_make(1, 1, 0.5) };
  surface.layers = 2;
  assert_ok(kp_sampler_surface(shape, &surface, &samples));
  assert_int_equal(samples.count, 2 * 11 * 6);
  assert_near(total_area(&samples, 0), 0.5, 1e-12);
  check_samples(shape, &samples, 0.1);
  kp_shape_destroy(&shape);

  def.normal = kp_vec3_make(1, 1, 1);
  def.point = kp_vec3_make(0.5, 0.5, 0.5);
  shape = build(&def);
  surface.layers = 1;
  surface.clip = unit_box();
  samples.count = 0;
  assert_ok(kp_sampler_surface(shape, &surface, &samples));
  check_samples(shape, &samples, 0.1);
  kp_test_random random = kp_test_random_begin(13);
  int n_held = 0;
  for (int i = 0; i < 1000; ++i) {
    kp_vec3 p = kp_test_vec3(&random, 0, 1);
    p = kp_vec3_madd(p, -kp_shape_distance(shape, p), shape->def.normal);
    if (kp_aabb_holds(surface.clip, p)) {
      assert_true(nearest_sample(&samples, p) < 0.1);
      ++n_held;
    }
  }
  assert_true(n_held > 500);
  kp_array_free(&samples);
  kp_shape_destroy(&shape);
}

static void test_surface_round(void **state) {
  (void)state;
  kp_vec3 a = kp_vec3_make(0.2, 0, 0.1);
  kp_vec3 b = kp_vec3_make(0.5, 0.9, -0.2);
  double l = kp_vec3_length(kp_vec3_sub(b, a));
  kp_shape_def defs[3] = { sphere_def(kp_vec3_make(1, 2, 3), 0.4),
                           axis_def(KP_SHAPE_CYLINDER, a, b, 0.3),
                           axis_def(KP_SHAPE_CAPSULE, a, b, 0.3) };
  double areas[3] = { 4 * PI * 0.16, 2 * PI * 0.3 * (0.3 + l), 2 * PI * 0.3 * (0.6 + l) };
  for (int i = 0; i < 3; ++i) {
    kp_shape *shape = build(&defs[i]);
    kp_surface_samples samples = { 0 };
    kp_surface_def surface = kp_default_surface_def(0.05);
    assert_ok(kp_sampler_surface(shape, &surface, &samples));
    assert_near_relative(total_area(&samples, 0), areas[i], 1e-9);
    double per_sample = areas[i] / (double)samples.count / (0.05 * 0.05);
    assert_between(per_sample, 0.8, 1.05);
    assert_between(largest_hole(shape, &samples), 0.02, 0.05);
    surface.layers = 3;
    assert_ok(kp_sampler_surface(shape, &surface, &samples));
    check_samples(shape, &samples, 0.05);
    kp_array_free(&samples);
    kp_shape_destroy(&shape);
  }
}

static void test_surface_mesh(void **state) {
  (void)state;
  kp_shape_def def = duck_def();
  kp_shape *shape = build(&def);
  kp_surface_samples samples = { 0 };
  double d = 0.008;
  kp_surface_def surface = kp_default_surface_def(d);
  assert_ok(kp_sampler_surface(shape, &surface, &samples));
  double area = kp_mesh_area(kp_mesh_query_mesh(shape->mesh));
  assert_near_relative(total_area(&samples, 0), area, 1e-9);
  assert_between(area / (double)samples.count / (d * d), 0.85, 1.1);
  assert_between(largest_hole(shape, &samples), 0.4 * d, d);
  check_samples(shape, &samples, d);

  // even: no two samples closer than two thirds of a spacing
  kp_points points = { 0 };
  for (size_t i = 0; i < samples.count; ++i) {
    assert_ok(kp_array_push(&points, samples.data[i].position));
  }
  assert_between(smallest_distance(points.data, points.count), 0.55 * d, d);

  // the same again, and other points for another seed
  size_t n = samples.count;
  assert_ok(kp_sampler_surface(shape, &surface, &samples));
  assert_int_equal(samples.count, 2 * n);
  for (size_t i = 0; i < n; ++i) {
    assert_vec3_near(samples.data[i].position, samples.data[n + i].position, 0);
  }
  samples.count = n;
  surface.seed += 1;
  assert_ok(kp_sampler_surface(shape, &surface, &samples));
  assert_true(kp_vec3_length(kp_vec3_sub(samples.data[0].position, samples.data[n].position)) >
              0.0);
  surface.seed -= 1;
  samples.count = 0;
  surface.layers = 3;
  assert_ok(kp_sampler_surface(shape, &surface, &samples));
  check_samples(shape, &samples, d);
  assert_int_equal(samples.data[samples.count - 1].layer, 2);
  kp_array_free(&points);
  kp_array_free(&samples);
  kp_shape_destroy(&shape);
}

// Both sides of a plate thinner than the spacing are sampled.
static void test_surface_plate(void **state) {
  (void)state;
  kp_mesh mesh;
  kp_aabb plate = { kp_vec3_make(0, 0, 0), kp_vec3_make(1, 0.01, 1) };
  assert_ok(kp_mesh_make_box(plate, &mesh));
  kp_shape shape = { .def = kp_default_shape_def(KP_SHAPE_MESH), .dimension = 3 };
  shape.mesh = make_query(&mesh);
  kp_surface_samples samples = { 0 };
  kp_surface_def surface = kp_default_surface_def(0.1);
  assert_ok(kp_sampler_surface(&shape, &surface, &samples));
  double top = 0;
  double bottom = 0;
  for (size_t i = 0; i < samples.count; ++i) {
    top += samples.data[i].normal.y > 0.5 ? samples.data[i].area : 0.0;
    bottom += samples.data[i].normal.y < -0.5 ? samples.data[i].area : 0.0;
  }
  assert_near(top, 1, 0.05);
  assert_near(bottom, 1, 0.05);
  kp_array_free(&samples);
  kp_mesh_query_destroy(&shape.mesh);
}

static void test_outlines(void **state) {
  (void)state;
  kp_shape_def defs[4] = {
    sphere_def(kp_vec3_make(1, 2, 0), 0.4),
    axis_def(KP_SHAPE_CYLINDER, kp_vec3_make(0, 0, 0), kp_vec3_make(1, 0, 0), 0.3),
    axis_def(KP_SHAPE_CAPSULE, kp_vec3_make(0, 0, 0), kp_vec3_make(0.6, 0.8, 0), 0.3), duck_def()
  };
  double lengths[4] = { 2 * PI * 0.4, 2 * (1 + 0.6), 2 + 2 * PI * 0.3, 0.0 };
  double spacings[4] = { 0.05, 0.05, 0.05, 0.01 };
  for (int i = 0; i < 4; ++i) {
    kp_shape *shape = build(&defs[i]);
    flatten(shape);
    double d = spacings[i];
    kp_surface_samples samples = { 0 };
    kp_surface_def surface = kp_default_surface_def(d);
    assert_ok(kp_sampler_surface(shape, &surface, &samples));
    if (lengths[i] > 0) {
      assert_near_relative(total_area(&samples, 0), lengths[i], 2e-3);
      assert_between(largest_hole(shape, &samples), 0.3 * d, 0.6 * d);
    }
    check_samples(shape, &samples, d);

    // neighbours along the outline are at most d apart
    size_t n = samples.count;
    for (size_t k = 0; k + 1 < n; ++k) {
      kp_vec3 gap = kp_vec3_sub(samples.data[k].position, samples.data[k + 1].position);
      assert_true(kp_vec3_length(gap) <= d * (1 + 1e-9));
    }
    if (i == 1) {
      // the four corners of the rectangle
      assert_true(nearest_sample(&samples, kp_vec3_make(1, 0.3, 0)) < 1e-3);
      assert_true(nearest_sample(&samples, kp_vec3_make(0, -0.3, 0)) < 1e-3);
    }
    surface.layers = 3;
    assert_ok(kp_sampler_surface(shape, &surface, &samples));
    assert_int_equal(samples.data[samples.count - 1].layer, 2);
    check_samples(shape, &samples, d);
    kp_array_free(&samples);
    kp_shape_destroy(&shape);
  }
}

// ---- random points ------------------------------------------------------------------------------

static void test_random_samplers(void **state) {
  (void)state;
  // Lyes, feature L6: mean x^2 = y^2 = z^2 = 0.2 r^2, radius distributed as r^3
  enum { N = 200000 };
  kp_vec3 center = kp_vec3_make(1, -2, 3);
  kp_vec3 ball = kp_vec3_make(0, 0, 0);
  kp_vec3 mean = ball;
  double disc2 = 0, disc1 = 0, half_ball = 0, cube = 0;
  for (uint64_t i = 0; i < N; ++i) {
    kp_sampler_key key = { 5, KP_RNG_TEST, i, 0 };
    kp_vec3 p = kp_vec3_sub(kp_sampler_ball(key, center, 2), center);
    double r = kp_vec3_length(p);
    assert_true(r <= 2);
    half_ball += r < 1;
    mean = kp_vec3_add(mean, p);
    ball = kp_vec3_add(ball, kp_vec3_make(p.x * p.x, p.y * p.y, p.z * p.z));
    key.counter = 1;
    kp_vec3 q = kp_sampler_disc(key, center, kp_vec3_make(1, 2, 2), 2, KP_DISC_UNIFORM);
    q = kp_vec3_sub(q, center);
    assert_near(kp_vec3_dot(q, kp_vec3_make(1, 2, 2)), 0, 1e-12);
    disc2 += kp_vec3_dot(q, q);
    q = kp_sampler_disc(key, center, kp_vec3_make(1, 2, 2), 2, KP_DISC_CLUSTERED);
    disc1 += kp_vec3_length(kp_vec3_sub(q, center));
    q = kp_sampler_cube(key, unit_box());
    assert_true(kp_aabb_holds(unit_box(), q));
    cube += (q.x + q.y + q.z) / 3;
  }
  assert_near(ball.x / N, 0.2 * 4, 0.01 * 0.8);
  assert_near(ball.y / N, 0.2 * 4, 0.01 * 0.8);
  assert_near(ball.z / N, 0.2 * 4, 0.01 * 0.8);
  assert_vec3_near(kp_vec3_scale(mean, 1.0 / N), kp_vec3_make(0, 0, 0), 0.01);
  assert_near(half_ball / N, 0.125, 0.004);
  assert_near(disc2 / N, 2.0, 0.02);
  assert_near(disc1 / N, 1.0, 0.01);
  assert_near(cube / N, 0.5, 0.003);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_box_mesh),
    cmocka_unit_test(test_sphere_mesh),
    cmocka_unit_test(test_round_meshes),
    cmocka_unit_test(test_transform_and_weld),
    cmocka_unit_test(test_tree),
    cmocka_unit_test(test_mesh_distance_to_box),
    cmocka_unit_test(test_mesh_distance_to_sphere),
    cmocka_unit_test(test_mesh_distance_brute_force),
    cmocka_unit_test(test_triangle_closest),
    cmocka_unit_test(test_shape_laws),
    cmocka_unit_test(test_bad_shapes),
    cmocka_unit_test(test_tables),
    cmocka_unit_test(test_flatten),
    cmocka_unit_test(test_planes_that_miss),
    cmocka_unit_test(test_finest_meshes),
    cmocka_unit_test(test_fill_box),
    cmocka_unit_test(test_fill_density),
    cmocka_unit_test(test_fill_complete),
    cmocka_unit_test(test_fill_unbounded),
    cmocka_unit_test(test_surface_box),
    cmocka_unit_test(test_surface_plane),
    cmocka_unit_test(test_surface_round),
    cmocka_unit_test(test_surface_mesh),
    cmocka_unit_test(test_surface_plate),
    cmocka_unit_test(test_outlines),
    cmocka_unit_test(test_random_samplers),
  };
  return cmocka_run_group_tests_name("geom", tests, NULL, NULL);
}
