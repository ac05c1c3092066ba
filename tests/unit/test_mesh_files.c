// The OBJ and PLY readers: every legal form, and broken files refused with the right sentence.
#include "support/test.h"

#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "geom/mesh_file.h"
#include "geom/shape.h"
#include "io/obj.h"
#include "io/ply.h"

static kp_result parse_obj(const char *text, kp_mesh *mesh) {
  return kp_obj_parse(text, strlen(text), "a.obj", mesh);
}

static kp_result parse_ply(const char *text, kp_mesh *mesh) {
  return kp_ply_parse(text, strlen(text), "a.ply", mesh);
}

static void assert_triangle(const kp_mesh *mesh, kp_index t, kp_index a, kp_index b, kp_index c) {
  assert_true(t < mesh->n_triangles);
  assert_int_equal(mesh->triangles[t].v[0], a);
  assert_int_equal(mesh->triangles[t].v[1], b);
  assert_int_equal(mesh->triangles[t].v[2], c);
}

// ---- OBJ ----------------------------------------------------------------------------------------

static void test_obj_forms(void **state) {
  (void)state;
  kp_mesh mesh;
  assert_ok(parse_obj("# a tetrahedron\r\n"
                      "mtllib x.mtl\n"
                      "v 0 0 0 1.0\n"
                      "v 1e0 0 0\n"
                      "\n"
                      "  v\t0 +1.5 -0.25 0.1 0.2 0.3\n"
                      "vt 0 0\nvn 0 0 1\ng side\nusemtl red\ns off\n"
                      "f 1/1/1 2/1/1 3/1/1\n"
                      "v 0 0 1\n"
                      "f -1//1 -3//1 -4//1\n"
                      "f 1/1 4/1 3\n"
                      "f 2 \\\n 4 \\\r\n 3\n"
                      "l 1 2",
                      &mesh));
  assert_int_equal(mesh.n_vertices, 4);
  assert_int_equal(mesh.n_triangles, 4);
  assert_vec3_near(mesh.vertices[2], kp_vec3_make(0, 1.5, -0.25), 0);
  assert_triangle(&mesh, 0, 0, 1, 2);
  assert_triangle(&mesh, 1, 3, 1, 0);
  assert_triangle(&mesh, 2, 0, 3, 2);
  assert_triangle(&mesh, 3, 1, 3, 2);
  kp_mesh_destroy(&mesh);
}

static void test_obj_polygons(void **state) {
  (void)state;
  kp_mesh mesh;

  // faces may come before their vertices; a doubled corner costs a triangle
  assert_ok(
      parse_obj("f 1 2 3 4 5\nf 1 1 2 3\nv 0 0 0\nv 1 0 0\nv 2 1 0\nv 1 2 0\nv 0 1 0\n", &mesh));
  assert_int_equal(mesh.n_triangles, 4);
  assert_triangle(&mesh, 0, 0, 1, 2);
  assert_triangle(&mesh, 1, 0, 2, 3);
  assert_triangle(&mesh, 2, 0, 3, 4);
  assert_triangle(&mesh, 3, 0, 1, 2);
  kp_mesh_destroy(&mesh);
}

static void test_obj_refused(void **state) {
  (void)state;
#define V3 "v 0 0 0\nv 1 0 0\nv 0 1 0\n"
  static const struct {
    const char *text, *words;
  } cases[] = {
    { "", "a.obj: holds no faces" },
    { V3, "a.obj: holds no faces" },
    { "f 1 2 3\n", "a.obj:1: a face uses vertex 1, but there are only 0" },
    { V3 "f 1 2 4\n", "a.obj:4: a face uses vertex 4, but there are only 3" },
    { V3 "f 1 2 -4\n", "a.obj:4: a face uses vertex -4, but there are only 3" },
    { "v 0 0 0\nf -1 -2 -3\n", "a.obj:2: a face uses vertex -2, but there are only 1" },
    { V3 "f 0 1 2\n", "a.obj:4: a face needs vertex numbers from 1 or below 0, not 0" },
    { V3 "f 1 2 x\n", "not x" },
    { V3 "f 1 2 99999999999999999999\n", "a.obj:4: a face needs vertex numbers" },
    { V3 "f 1 2 1.5\n", "not 1.5" },
    { V3 "f 1 2 /3\n", "not /3" },
    { V3 "f 1 2\n", "a.obj:4: a face has 2 corners, needs 3 or more" },
    { V3 "f\n", "a.obj:4: a face has 0 corners" },
    { "v 0 0\n" V3 "f 1 2 3\n", "a.obj:1: a vertex needs three finite numbers" },
    { "v 0 0 nan\nf 1 1 1\n", "a.obj:1: a vertex needs three finite numbers, not nan" },
    { "v 0 0 inf\n", "not inf" },
    { "v 0 0 1e999\n", "not 1e999" },
    { "v 0 0 zero\n", "not zero" },
    { "v 0 0 0x\n", "not 0x" },
    { V3 "f 1 1 1\n", "a.obj: holds no faces" },
    { "vertices\n", "a.obj:1: unknown statement 'vertices'" },
    { "\x7f"
      "ELF\x02\x01\n",
      "a.obj:1: unknown statement '?ELF" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    kp_mesh mesh = { .n_vertices = 7 };
    kp_result result = parse_obj(cases[i].text, &mesh);
    assert_fails(KP_ERROR_FORMAT, cases[i].words, result);
    assert_null(mesh.vertices);
    assert_int_equal(mesh.n_vertices, 0);
  }
#undef V3
}

// ---- PLY ----------------------------------------------------------------------------------------

#define VERTEX(n) "element vertex " n "\nproperty float x\nproperty float y\nproperty float z\n"
#define FACE(n) "element face " n "\nproperty list uchar int vertex_indices\n"
#define ASCII "ply\nformat ascii 1.0\n"
#define END "end_header\n"

static void test_ply_ascii(void **state) {
  (void)state;
  kp_mesh mesh;

  // other elements and properties, another order, blank lines, no newline at the end
  assert_ok(
      parse_ply("ply\r\nformat ascii 1.0\r\ncomment made by hand\r\nobj_info x\r\n"
                "element face 2\r\nproperty uchar colour\r\n"
                "property list uint8 int32 vertex_index\r\nproperty list int float weights\r\n"
                "element edge 1\r\nproperty int a\r\n"
                "element vertex 4\r\nproperty double z\r\nproperty float32 x\r\n"
                "property uchar red\r\nproperty float64 y\r\n"
                "end_header\r\n"
                "9 4 0 1 2 3 0\r\n9 3 0 2 3 2 0.5 0.5\r\n"
                "\r\n77\r\n"
                "0.5 1 255 2\r\n0 1 0 0\r\n0 1 0 1\r\n0 0 0 1e-1",
                &mesh));
  assert_int_equal(mesh.n_vertices, 4);
  assert_int_equal(mesh.n_triangles, 3);
  assert_vec3_near(mesh.vertices[0], kp_vec3_make(1, 2, 0.5), 0);
  assert_vec3_near(mesh.vertices[3], kp_vec3_make(0, 0.1, 0), 0);
  assert_triangle(&mesh, 0, 0, 1, 2);
  assert_triangle(&mesh, 1, 0, 2, 3);
  assert_triangle(&mesh, 2, 0, 2, 3);
  kp_mesh_destroy(&mesh);
}

// Append a value of n bytes in the wanted order; `bytes` is little-endian.
static size_t put(char *out, size_t at, const void *bytes, size_t n, bool is_big) {
  for (size_t i = 0; i < n; ++i) {
    out[at + i] = ((const char *)bytes)[is_big ? n - 1 - i : i];
  }
  return at + n;
}

// Three vertices with an extra property each, one face with shorts.
static size_t make_binary(char *out, size_t size, bool is_big) {
  int header = snprintf(out, size,
                        "ply\nformat binary_%s_endian 1.0\n"
                        "element vertex 3\nproperty double y\nproperty uchar red\n"
                        "property float x\nproperty short z\n"
                        "element face 1\nproperty list ushort short vertex_indices\nend_header\n",
                        is_big ? "big" : "little");
  size_t n = (size_t)header;
  for (int i = 0; i < 3; ++i) {
    double y = i * 0.1;
    float x = (float)i * 0.5f;
    int16_t z = (int16_t)(-300 * i);
    n = put(out, n, &y, 8, is_big);
    n = put(out, n, "\n", 1, is_big);
    n = put(out, n, &x, 4, is_big);
    n = put(out, n, &z, 2, is_big);
  }
  for (int16_t i = 3; i > -1; --i) {
    n = put(out, n, &i, 2, is_big);  // 3 corners: 2 1 0
  }
  return n;
}

static void test_ply_binary(void **state) {
  (void)state;
  for (int is_big = 0; is_big < 2; ++is_big) {
    char file[512];
    size_t n = make_binary(file, sizeof file, is_big);
    kp_mesh mesh;
    assert_ok(kp_ply_parse(file, n, "b.ply", &mesh));
    assert_int_equal(mesh.n_vertices, 3);
    assert_vec3_near(mesh.vertices[2], kp_vec3_make(1, 0.2, -600), 0);
    assert_int_equal(mesh.n_triangles, 1);
    assert_triangle(&mesh, 0, 2, 1, 0);
    kp_mesh_destroy(&mesh);

    // cut anywhere, it is refused with a sentence about the file
    for (size_t k = 0; k < n; ++k) {
      assert_fails(KP_ERROR_FORMAT, "b.ply", kp_ply_parse(file, k, "b.ply", &mesh));
      assert_null(mesh.vertices);
    }
    assert_fails(KP_ERROR_FORMAT, "b.ply: face 0: is cut off by the end of the file",
                 kp_ply_parse(file, n - 1, "b.ply", &mesh));
  }
}

static void test_ply_refused(void **state) {
  (void)state;
#define ROWS "0 0 0\n1 0 0\n0 1 0\n"
  static const struct {
    const char *text, *words;
  } cases[] = {
    { "", "a.ply: not a PLY file" },
    { "plz\n", "a.ply: not a PLY file" },
    { ASCII, "a.ply: the header has no end_header" },
    { "ply\n" VERTEX("3") FACE("1") END, "a.ply: the header names no format" },
    { "ply\nformat ascii 2.0\n", "a.ply:2: PLY version 1.0 is wanted, not '2.0'" },
    { "ply\nformat xml 1.0\n", "a.ply:2: unknown PLY format 'xml'" },
    { ASCII "property float x\n", "a.ply:3: a property stands before the first element" },
    { ASCII "element vertex many\n", "a.ply:3: an element needs a count from 0, not 'many'" },
    { ASCII "element vertex -3\n", "a.ply:3: an element needs a count from 0, not '-3'" },
    { ASCII "element vertex 99999999999\n", "a.ply:3: an element has more than 2^31 rows" },
    { ASCII "element vertex 3\nproperty real x\n", "a.ply:4: unknown property type 'real'" },
    { ASCII "element vertex 3\nproperty float\n", "a.ply:4: a property needs a name" },
    { ASCII "element face 3\nproperty list float int vertex_indices\n",
      "a.ply:4: the length of a list cannot be a 'float'" },
    { ASCII "element face 3\nproperty list int float vertex_indices\n",
      "a.ply:4: vertex numbers cannot be of type 'float'" },
    { ASCII VERTEX("3") "element vertex 2\n", "a.ply:7: there are two elements called 'vertex'" },
    { ASCII "nonsense\n", "a.ply:3: unknown header line 'nonsense'" },
    { ASCII FACE("1") END, "names no vertices with x, y and z" },
    { ASCII "element vertex 1\nproperty float x\nproperty float z\n" FACE("1") END,
      "names no vertices with x, y and z" },
    { ASCII VERTEX("3") END ROWS, "names no faces with a list vertex_indices" },
    { ASCII VERTEX("3") FACE("0") END ROWS, "a.ply: holds no faces" },
    { ASCII VERTEX("2000000000") FACE("1") END ROWS,
      "a.ply: the header says 2000000000 rows of vertex, but the file ends before" },
    { ASCII VERTEX("3") FACE("2000000000") END ROWS "3 0 1 2\n",
      "a.ply: the header says 2000000000 rows of face, but the file ends before" },
    { ASCII VERTEX("4") FACE("1") END ROWS "3 0 1 2\n", "a.ply:13: vertex 3: has too many values" },
    { ASCII VERTEX("3") FACE("2") END ROWS "3 0 1 2\n", "a.ply:13: face 1: is missing" },
    { ASCII VERTEX("3") FACE("1") END "0 0\n1 0 0\n0 1 0\n3 0 1 2\n",
      "a.ply:10: vertex 0: has too few values" },
    { ASCII VERTEX("3") FACE("1") END "0 0 nan\n1 0 0\n0 1 0\n3 0 1 2\n",
      "a.ply:10: vertex 0: has a value that is no finite number" },
    { ASCII VERTEX("3") FACE("1") END ROWS "3 0 1 3\n",
      "a.ply:13: face 0: uses vertex 3, but there are only 3" },
    { ASCII VERTEX("3") FACE("1") END ROWS "3 0 1 -1\n", "uses vertex -1" },
    { ASCII VERTEX("3") FACE("1") END ROWS "3 0 1 0.5\n", "uses vertex 0.5" },
    { ASCII VERTEX("3") FACE("1") END ROWS "2 0 1\n", "face 0: has fewer than 3 corners" },
    { ASCII VERTEX("3") FACE("1") END ROWS "4 0 1 2\n", "face 0: has too few values" },
    { ASCII VERTEX("3") FACE("1") END ROWS "-1 0 1 2\n", "length that is no count" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
    kp_mesh mesh = { .n_vertices = 7 };
    kp_result result = parse_ply(cases[i].text, &mesh);
    assert_fails(KP_ERROR_FORMAT, cases[i].words, result);
    assert_null(mesh.vertices);
    assert_int_equal(mesh.n_vertices, 0);
  }
#undef ROWS
}

// A binary vertex may hold a NaN, and a list any length.
static void test_ply_binary_refused(void **state) {
  (void)state;
  char file[512];
  size_t n = make_binary(file, sizeof file, false);
  size_t body = n - 3 * 15 - 8;
  kp_mesh mesh;
  memset(file + body, 0xff, 8);
  assert_fails(KP_ERROR_FORMAT, "b.ply: vertex 0: has a coordinate that is no finite number",
               kp_ply_parse(file, n, "b.ply", &mesh));
  n = make_binary(file, sizeof file, false);
  memset(file + n - 8, 0xff, 2);
  assert_fails(KP_ERROR_FORMAT, "b.ply: face 0", kp_ply_parse(file, n, "b.ply", &mesh));
  n = make_binary(file, sizeof file, false);
  file[n - 2] = 3;
  assert_fails(KP_ERROR_FORMAT, "b.ply: face 0: uses vertex 3, but there are only 3",
               kp_ply_parse(file, n, "b.ply", &mesh));
}

// Lines may end without a newline and bytes without a zero; sanitizers watch the end.
static void test_bounds(void **state) {
  (void)state;
  static const char obj[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3";
  static const char ply[] = ASCII VERTEX("3") FACE("1") END "0 0 0\n1 0 0\n0 1 0\n3 0 1 2";
  for (size_t k = 0; k <= sizeof obj - 1; ++k) {
    char *copy = kp_alloc(k, KP_MEMORY_TEST);
    memcpy(copy, obj, k);
    kp_mesh mesh;
    kp_result result = kp_obj_parse(copy, k, "a.obj", &mesh);
    assert_true((result == KP_OK) == (k == sizeof obj - 1));
    kp_mesh_destroy(&mesh);
    kp_free(copy);
  }
  for (size_t k = 0; k <= sizeof ply - 1; ++k) {
    char *copy = kp_alloc(k, KP_MEMORY_TEST);
    memcpy(copy, ply, k);
    kp_mesh mesh;
    kp_result result = kp_ply_parse(copy, k, "a.ply", &mesh);
    assert_true((result == KP_OK) == (k == sizeof ply - 1));
    kp_mesh_destroy(&mesh);
    kp_free(copy);
  }
}

// Each allocation fails in turn: the error is named and nothing is left behind.
static void test_no_memory(void **state) {
  (void)state;
  static const char ply[] = ASCII VERTEX("3") FACE("1") END "0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
  static const char obj[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3";
  int64_t bytes = kp_memory_bytes();
  int64_t n_failures = 0;
  for (int64_t n = 0, done = 0; done < 2; ++n) {
    kp_mesh a, b;
    kp_memory_fail_at(n);
    kp_result first = parse_ply(ply, &a);
    kp_memory_fail_at(n);
    kp_result second = parse_obj(obj, &b);
    kp_memory_fail_at(-1);
    done = (first == KP_OK) + (second == KP_OK);
    n_failures += 2 - done;
    assert_true(first == KP_OK || first == KP_ERROR_MEMORY);
    assert_true(second == KP_OK || second == KP_ERROR_MEMORY);
    kp_mesh_destroy(&a);
    kp_mesh_destroy(&b);
    assert_int_equal(kp_memory_bytes(), bytes);
    assert_true(n < 100);
  }
  assert_true(n_failures >= 6);
}

// ---- files --------------------------------------------------------------------------------------

static void test_files(void **state) {
  const char *folder = *state;
  static const char ply[] = ASCII VERTEX("3") FACE("1") END "0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n";
  static const char obj[] = "v 0 0 0\nv 1 0 0\nv 0 1 0\nf 1 2 3\n";
  kp_test_write_file(kp_test_path(folder, "m.ply"), ply, sizeof ply - 1);
  kp_test_write_file(kp_test_path(folder, "m.obj"), obj, sizeof obj - 1);
  kp_mesh mesh;
  assert_ok(kp_mesh_read(kp_test_path(folder, "m.ply"), &mesh));
  assert_int_equal(mesh.n_triangles, 1);
  kp_mesh_destroy(&mesh);
  assert_ok(kp_mesh_read(kp_test_path(folder, "m.obj"), &mesh));
  assert_int_equal(mesh.n_triangles, 1);
  kp_mesh_destroy(&mesh);
  assert_fails(KP_ERROR_IO, "missing.obj", kp_obj_read(kp_test_path(folder, "missing.obj"), &mesh));
  assert_fails(KP_ERROR_FORMAT, "m.obj: not a PLY",
               kp_ply_read(kp_test_path(folder, "m.obj"), &mesh));

  // an open mesh is no shape
  kp_shape_def def = kp_default_shape_def(KP_SHAPE_MESH);
  strcpy(def.file, "m.obj");
  kp_shape *shape = NULL;
  assert_fails(KP_ERROR_FORMAT, "m.obj: the mesh is not closed",
               kp_shape_build(&def, folder, &shape));
  assert_null(shape);
}

// The meshes that ship are closed and right side out.
static void test_shipped_meshes(void **state) {
  (void)state;
  static const char *const names[] = { "duck.obj", "torus.obj" };
  const char *folder = kp_test_path(kp_test_source_dir(), "scenes/demo/meshes");
  for (int i = 0; i < 2; ++i) {
    kp_mesh mesh;
    assert_ok(kp_mesh_read(kp_test_path(folder, names[i]), &mesh));
    assert_ok(kp_mesh_check_closed(&mesh));
    assert_true(kp_mesh_volume(&mesh) > 0);
    assert_between(mesh.n_triangles, 2000, 5000);
    if (i == 1) {
      // 2 pi^2 R r^2
      assert_near_relative(kp_mesh_volume(&mesh), 19.7392 * 0.1 * 0.0016, 0.01);
    }
    kp_mesh_destroy(&mesh);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_obj_forms),
    cmocka_unit_test(test_obj_polygons),
    cmocka_unit_test(test_obj_refused),
    cmocka_unit_test(test_ply_ascii),
    cmocka_unit_test(test_ply_binary),
    cmocka_unit_test(test_ply_refused),
    cmocka_unit_test(test_ply_binary_refused),
    cmocka_unit_test(test_bounds),
    cmocka_unit_test(test_no_memory),
    cmocka_unit_test_setup_teardown(test_files, kp_test_folder_make, kp_test_folder_remove),
    cmocka_unit_test(test_shipped_meshes),
  };
  return cmocka_run_group_tests_name("mesh_files", tests, NULL, NULL);
}
