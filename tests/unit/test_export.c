// Frames to files and back: the frame file itself, then PLY, VTU and CSV through small readers that
// share no code with the writers.
#include "support/test.h"

#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "base/memory.h"
#include "geom/curve_file.h"
#include "io/export.h"
#include "io/files.h"
#include "io/half.h"
#include "io/obj.h"
#include "par/parallel.h"

#define N_POINTS 3000

// ---- a frame with one object of every kind

static kp_frame_field *add_field(kp_frame_fields *fields, const char *name, const char *unit,
                                 kp_item_type type, int n_components, uint64_t count) {
  kp_frame_field_def def = {
    .name = name, .unit = unit, .type = type, .n_components = n_components, .count = count
  };
  kp_frame_field *field;
  assert_ok(kp_frame_add_field(fields, &def, &field));
  return field;
}

static double test_value(int component, uint64_t index) {
  return 0.1 * (double)index + 1000.0 * component + 1.0 / 3.0;
}

static void fill_set(kp_frame *frame) {
  kp_frame_set *set;
  assert_ok(kp_frame_add_set(frame, "water", N_POINTS, &set));
  // id before position: writers put position first whatever the order
  void **id = add_field(&set->fields, "id", "", KP_ITEM_U64, 1, N_POINTS)->data;
  void **position = add_field(&set->fields, "position", "m", KP_ITEM_F64, 3, N_POINTS)->data;
  void **density = add_field(&set->fields, "density", "kg/m^3", KP_ITEM_F32, 1, N_POINTS)->data;
  void **velocity = add_field(&set->fields, "velocity", "m/s", KP_ITEM_F32, 3, N_POINTS)->data;
  void **pair = add_field(&set->fields, "pair", "", KP_ITEM_I32, 2, N_POINTS)->data;
  for (uint64_t i = 0; i < N_POINTS; ++i) {
    ((uint64_t *)id[0])[i] = UINT64_C(0x100000000) * (i % 3) + i;
    ((float *)density[0])[i] = 1000.0f + (float)i;
    ((int32_t *)pair[0])[i] = (int32_t)i;
    ((int32_t *)pair[1])[i] = -(int32_t)i;
    for (int c = 0; c < 3; ++c) {
      ((double *)position[c])[i] = test_value(c, i);
      ((float *)velocity[c])[i] = (float)test_value(c, 2 * i);
    }
  }
}

static void fill_mesh(kp_frame *frame) {
  kp_frame_mesh *mesh;
  assert_ok(kp_frame_add_mesh(frame, "water", 4, 2, &mesh));
  mesh->velocities = kp_alloc_zero(4 * sizeof *mesh->velocities, KP_MEMORY_TEST);
  for (uint32_t i = 0; i < 4; ++i) {
    mesh->vertices[i] = kp_vec3_make(i % 2, i / 2, 0.25);
    mesh->velocities[i] = kp_vec3_make(0.0, i, -1.0);
  }
  const uint32_t triangles[] = { 0, 1, 2, 2, 1, 3 };
  memcpy(mesh->triangles, triangles, sizeof triangles);
  float *wet = add_field(&mesh->fields, "wetness", "", KP_ITEM_F32, 1, 4)->data[0];
  wet[3] = 0.5f;
}

static void fill_curves(kp_frame *frame) {
  kp_frame_curves *curves;
  assert_ok(kp_frame_add_curves(frame, "hair", 6, 3, &curves));
  for (uint32_t i = 0; i < 6; ++i) {
    curves->points[i] = kp_vec3_make(i, 2.0 * i, 3.0 * i);
  }
  const uint64_t offsets[] = { 0, 3, 5, 6 };
  memcpy(curves->offsets, offsets, sizeof offsets);
  float *radius = add_field(&curves->fields, "radius", "m", KP_ITEM_F32, 1, 6)->data[0];
  radius[5] = 1e-4f;
}

static void fill_volume(kp_frame *frame) {
  const uint64_t dims[3] = { 4, 3, 2 };
  kp_frame_volume *volume;
  assert_ok(kp_frame_add_volume(frame, "smoke", dims, &volume));
  volume->origin = kp_vec3_make(-1.0, 0.5, 0.0);
  volume->spacing = 0.125;
  double *density = add_field(&volume->fields, "density", "kg/m^3", KP_ITEM_F64, 1, 24)->data[0];
  kp_frame_field *velocity = add_field(&volume->fields, "velocity", "m/s", KP_ITEM_F32, 3, 24);
  for (int i = 0; i < 24; ++i) {
    density[i] = i;
    ((float *)velocity->data[1])[i] = (float)-i;
  }
}

static kp_frame *make_frame(void) {
  kp_frame *frame;
  assert_ok(kp_frame_create(7, 0.1, &frame));
  frame->up_axis = 2;
  frame->fps = 24.0;
  frame->domain.min = kp_vec3_make(-1.0, -2.0, -3.0);
  frame->domain.max = kp_vec3_make(1.0, 2.0, 3.0);
  fill_set(frame);
  fill_mesh(frame);
  fill_curves(frame);
  fill_volume(frame);
  return frame;
}

static void assert_fields_equal(const kp_frame_fields *a, const kp_frame_fields *b) {
  assert_int_equal(a->count, b->count);
  for (size_t i = 0; i < a->count; ++i) {
    const kp_frame_field *left = &a->items[i], *right = &b->items[i];
    assert_string_equal(left->name, right->name);
    assert_string_equal(left->unit, right->unit);
    assert_int_equal(left->type, right->type);
    assert_int_equal(left->count, right->count);
    assert_int_equal(left->n_components, right->n_components);
    for (int c = 0; c < left->n_components; ++c) {
      assert_memory_equal(left->data[c], right->data[c],
                          (size_t)left->count * kp_item_size(left->type));
    }
  }
}

static void test_frame_file(void **state) {
  const char *path = kp_test_path(*state, "frame_000007.kpf");
  kp_frame *frame = make_frame(), *back;
  const kp_container_head head = { .real_size = 4, .build = "test" };
  assert_ok(kp_frame_save(path, &head, frame));
  assert_ok(kp_frame_load(path, &back));
  assert_int_equal(back->frame, 7);
  assert_true(back->time == 0.1);
  assert_int_equal(back->up_axis, 2);
  assert_true(back->fps == 24.0);
  assert_memory_equal(&back->domain, &frame->domain, sizeof frame->domain);

  const kp_frame_set *set = kp_frame_find_set(back, "water");
  assert_int_equal(set->count, N_POINTS);
  assert_fields_equal(&set->fields, &frame->sets[0].fields);
  assert_true(kp_frame_value(kp_frame_find_field(&set->fields, "position"), 2, 5) ==
              test_value(2, 5));
  const kp_frame_mesh *mesh = kp_frame_find_mesh(back, "water");
  assert_int_equal(mesh->n_triangles, 2);
  assert_memory_equal(mesh->vertices, frame->meshes[0].vertices, 4 * sizeof *mesh->vertices);
  assert_memory_equal(mesh->velocities, frame->meshes[0].velocities, 4 * sizeof *mesh->vertices);
  assert_memory_equal(mesh->triangles, frame->meshes[0].triangles, 6 * sizeof *mesh->triangles);
  assert_fields_equal(&mesh->fields, &frame->meshes[0].fields);
  const kp_frame_curves *curves = kp_frame_find_curves(back, "hair");
  assert_null(curves->velocities);
  assert_int_equal(curves->n_curves, 3);
  assert_memory_equal(curves->offsets, frame->curves[0].offsets, 4 * sizeof *curves->offsets);
  assert_fields_equal(&curves->fields, &frame->curves[0].fields);
  const kp_frame_volume *volume = kp_frame_find_volume(back, "smoke");
  assert_memory_equal(volume->dims, frame->volumes[0].dims, sizeof volume->dims);
  assert_true(volume->spacing == 0.125);
  assert_true(volume->density[23] == 23.0f);
  assert_fields_equal(&volume->fields, &frame->volumes[0].fields);
  assert_null(kp_frame_find_set(back, "hair"));
  kp_frame_free(&back);
  kp_frame_free(&frame);
  assert_null(frame);
}

// Tetrahedra of a solid and names of bodies come back, and go where files can hold them.
static void test_solids(void **state) {
  const char *path = kp_test_path(*state, "solids.kpf");
  const kp_container_head head = { .real_size = 4, .build = "test" };
  const uint32_t corners[8] = { 0, 1, 2, 3, 3, 2, 1, 0 };
  const char names[] = "left\0up, <right>";
  kp_frame *frame, *back;
  kp_frame_set *set;
  assert_ok(kp_frame_create(7, 0.1, &frame));
  fill_mesh(frame);
  frame->meshes[0].n_tets = 2;
  frame->meshes[0].tets = kp_alloc(sizeof corners, KP_MEMORY_TEST);
  memcpy(frame->meshes[0].tets, corners, sizeof corners);
  assert_ok(kp_frame_add_set(frame, "bodies", 2, &set));
  (void)add_field(&set->fields, "position", "m", KP_ITEM_F64, 3, 2);
  set->names_size = sizeof names;
  set->names = kp_alloc(sizeof names, KP_MEMORY_TEST);
  memcpy(set->names, names, sizeof names);
  assert_ok(kp_frame_save(path, &head, frame));
  kp_frame_free(&frame);
  assert_ok(kp_frame_load(path, &back));
  assert_int_equal(back->meshes[0].n_tets, 2);
  assert_memory_equal(back->meshes[0].tets, corners, sizeof corners);
  assert_memory_equal(back->sets[0].names, "left\0up_ _right_", sizeof names);

  const char *const formats[] = { "vtu", "vtp", "csv", "ply" };
  for (int i = 0; i < 4; ++i) {
    kp_export_list list = { 0 };
    assert_ok(kp_exporter_find(formats[i])->write(back, *state, KP_EXPORT_PLAIN, &list));
    kp_export_list_free(&list);
  }
  const struct {
    const char *file, *held;
  } told[] = {
    { "water_mesh_000007.vtu", "NumberOfPoints=\"4\" NumberOfCells=\"2\"" },
    { "water_mesh_000007.vtp", "NumberOfPolys=\"2\"" },
    { "bodies_000007.vtu", "Name=\"name\" format=\"ascii\">\n108 101 102 116 0\n117 112 95 " },
    { "bodies_000007.csv", "x [m],y [m],z [m],name\n0,0,0,left\n0,0,0,up_ _right_\n" },
    { "bodies_000007.ply", "comment name 0 left\ncomment name 1 up_ _right_\n" },
  };
  for (size_t i = 0; i < sizeof told / sizeof told[0]; ++i) {
    size_t size;
    char *text = kp_test_read_file(kp_test_path(*state, told[i].file), &size);
    assert_holds(text, told[i].held);
    kp_free(text);
  }
  kp_frame_free(&back);
}

// Frames whose parts do not fit are refused, with the name of the part.
static void test_frame_bad(void **state) {
  const char *path = kp_test_path(*state, "bad.kpf");
  const double numbers[6] = { 0, 1, 2, 3, 4, 5 };
  const uint32_t indices[6] = { 0, 1, 2, 1, 2, 3 };
  const uint32_t back[4] = { 0, 2, 1, 3 };
  const double sizes[4] = { -1, 2, 2, 1 << 21 };
#define NUMBERS(section, n)                                                                        \
  { .name = section, .type = KP_ITEM_F64, .count = n, .data = numbers }
#define INDICES(section, n)                                                                        \
  { .name = section, .type = KP_ITEM_U32, .count = n, .data = indices }
  const struct {
    const char *words;
    kp_section sections[4];
  } cases[] = {
    { "water: the set has no positions", { NUMBERS("set/water/density/0", 3) } },
    { "differ in type or length",
      { NUMBERS("set/a/position/x", 3), NUMBERS("set/a/position/y", 3),
        NUMBERS("set/a/position/z", 2) } },
    { "the field density has 2 items instead of 3",
      { NUMBERS("set/a/position/x", 3), NUMBERS("set/a/position/y", 3),
        NUMBERS("set/a/position/z", 3), NUMBERS("set/a/density/0", 2) } },
    { "a vertex that is not there",
      { NUMBERS("mesh/a/vertices/x", 3), NUMBERS("mesh/a/vertices/y", 3),
        NUMBERS("mesh/a/vertices/z", 3), INDICES("mesh/a/triangles", 6) } },
    { "a tetrahedron uses a vertex that is not there",
      { NUMBERS("mesh/a/vertices/x", 2), NUMBERS("mesh/a/vertices/y", 2),
        NUMBERS("mesh/a/vertices/z", 2), INDICES("mesh/a/tetrahedra", 4) } },
    { "not 4 indices each", { INDICES("mesh/a/tetrahedra", 5) } },
    { "there is not one name for each",  // nor is the only one ended
      { NUMBERS("set/a/position/x", 1),
        NUMBERS("set/a/position/y", 1),
        NUMBERS("set/a/position/z", 1),
        { .name = "set/a/names", .type = KP_ITEM_U8, .count = 2, .data = "ab" } } },
    { "not 3 indices each", { INDICES("mesh/a/triangles", 5) } },
    { "must hold integers", { NUMBERS("mesh/a/triangles", 3) } },
    { "offsets of the curves do not fit",
      { NUMBERS("curve/a/points/x", 3), NUMBERS("curve/a/points/y", 3),
        NUMBERS("curve/a/points/z", 3), INDICES("curve/a/offsets", 2) } },
    { "offsets of the curves do not fit",  // they do not begin with 0
      { NUMBERS("curve/a/points/x", 2),
        NUMBERS("curve/a/points/y", 2),
        NUMBERS("curve/a/points/z", 2),
        { .name = "curve/a/offsets", .type = KP_ITEM_U32, .count = 2, .data = &indices[1] } } },
    { "offsets of the curves do not fit",  // nor go back
      { NUMBERS("curve/a/points/x", 3),
        NUMBERS("curve/a/points/y", 3),
        NUMBERS("curve/a/points/z", 3),
        { .name = "curve/a/offsets", .type = KP_ITEM_U32, .count = 4, .data = back } } },
    { "water: the set has no positions",
      { NUMBERS("set/water/position/x", 3), NUMBERS("set/water/position/y", 3) } },
    { "has impossible dimensions",
      { { .name = "volume/a/dims", .type = KP_ITEM_F64, .count = 3, .data = &sizes[0] } } },
    { "has impossible dimensions",
      { { .name = "volume/a/dims", .type = KP_ITEM_F64, .count = 3, .data = &sizes[1] } } },
    { "the volume has no spacing", { INDICES("volume/a/dims", 3) } },
    { "must hold 3 numbers", { INDICES("volume/a/dims", 2) } },
    { "no up axis 5",
      { { .name = "meta/up_axis", .type = KP_ITEM_F64, .count = 1, .data = &numbers[5] } } },
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    size_t n = 0;
    while (n < 4 && cases[i].sections[n].name[0] != '\0') {
      ++n;
    }
    const kp_container_head head = { 0 };
    assert_ok(kp_container_write(path, &head, cases[i].sections, n));
    kp_frame *frame;
    assert_fails(KP_ERROR_FORMAT, cases[i].words, kp_frame_load(path, &frame));
    assert_holds(kp_last_error(), path);
    assert_null(frame);
  }
}

// ---- PLY

typedef struct ply_property {
  char name[64];
  char type[16];
  size_t offset;
} ply_property;

typedef struct ply_file {
  char *bytes;
  ply_property properties[32];
  int n_properties;
  size_t row_size;
  unsigned long n_vertices, n_faces, n_edges;
  const char *rows;
} ply_file;

static size_t ply_size(const char *type) {
  return strcmp(type, "double") == 0 ? 8 : strcmp(type, "uchar") == 0 ? 1 : 4;
}

static ply_file read_ply(const char *path) {
  size_t size;
  ply_file ply = { .bytes = kp_test_read_file(path, &size) };
  char *end = strstr(ply.bytes, "end_header\n");
  assert_non_null(end);
  ply.rows = end + strlen("end_header\n");
  *end = '\0';
  assert_memory_equal(ply.bytes, "ply\nformat binary_little_endian 1.0\n", 36);
  bool is_vertex = false;
  for (char *line = strtok(ply.bytes, "\n"); line != NULL; line = strtok(NULL, "\n")) {
    char element[16];
    unsigned long count;
    ply_property *p = &ply.properties[ply.n_properties];
    if (sscanf(line, "element %15s %lu", element, &count) == 2) {
      is_vertex = strcmp(element, "vertex") == 0;
      *(is_vertex                      ? &ply.n_vertices
        : strcmp(element, "face") == 0 ? &ply.n_faces
                                       : &ply.n_edges) = count;
    } else if (is_vertex && sscanf(line, "property %15s %63s", p->type, p->name) == 2) {
      p->offset = ply.row_size;
      ply.row_size += ply_size(p->type);
      ply.n_properties += 1;
    }
  }
  size_t n_bytes = ply.n_vertices * ply.row_size + ply.n_faces * 13 + ply.n_edges * 8;
  assert_int_equal(ply.rows + n_bytes - ply.bytes, size);
  return ply;
}

static double ply_value(const ply_file *ply, const char *name, size_t row) {
  for (int i = 0; i < ply->n_properties; ++i) {
    const ply_property *p = &ply->properties[i];
    if (strcmp(p->name, name) != 0) {
      continue;
    }
    const char *item = ply->rows + row * ply->row_size + p->offset;
    double wide;
    float narrow;
    uint32_t whole;
    int32_t sign;
    memcpy(&narrow, item, 4);
    memcpy(&whole, item, 4);
    memcpy(&sign, item, 4);
    if (strcmp(p->type, "double") == 0) {
      memcpy(&wide, item, 8);
      return wide;
    }
    return strcmp(p->type, "float") == 0 ? (double)narrow
           : strcmp(p->type, "int") == 0 ? (double)sign
                                         : (double)whole;
  }
  fail_msg("no property %s", name);
  return 0.0;
}

static void test_ply(void **state) {
  kp_frame *frame = make_frame();
  kp_export_list list = { 0 };
  const kp_exporter *exporter = kp_exporter_find("ply");
  assert_ok(exporter->write(frame, *state, 0, &list));
  assert_int_equal(list.count, 3);
  assert_string_equal(list.files[0].name, "water_000007.ply");
  assert_string_equal(list.files[1].name, "water_mesh_000007.ply");
  assert_string_equal(list.files[2].name, "hair_curves_000007.ply");
  assert_true(list.files[0].time == 0.1);

  size_t size;
  char *text = kp_test_read_file(kp_test_path(*state, "water_000007.ply"), &size);
  assert_holds(text, "comment up_axis z\n");
  assert_holds(text, "comment time 0.1 s\n");
  assert_holds(text, "comment unit vx m/s\n");
  assert_holds(text, "comment unit density kg/m^3\n");
  kp_free(text);
  ply_file ply = read_ply(kp_test_path(*state, "water_000007.ply"));
  assert_int_equal(ply.n_vertices, N_POINTS);
  for (size_t i = 0; i < N_POINTS; ++i) {
    assert_true(ply_value(&ply, "x", i) == test_value(0, i));
    assert_true(ply_value(&ply, "z", i) == test_value(2, i));
    assert_true(ply_value(&ply, "vy", i) == (double)(float)test_value(1, 2 * i));
    assert_true(ply_value(&ply, "id", i) == (double)i);
    assert_true(ply_value(&ply, "id_high", i) == (double)(i % 3));
    assert_true(ply_value(&ply, "density", i) == 1000.0 + (double)i);
    assert_true(ply_value(&ply, "pair_1", i) == -(double)i);
  }
  kp_free(ply.bytes);

  ply = read_ply(kp_test_path(*state, "water_mesh_000007.ply"));
  assert_int_equal(ply.n_faces, 2);
  assert_true(ply_value(&ply, "y", 2) == 1.0);
  assert_true(ply_value(&ply, "vy", 3) == 3.0);
  assert_true(ply_value(&ply, "wetness", 3) == 0.5);
  const char *face = ply.rows + 4 * ply.row_size + 13;
  const uint32_t wanted[] = { 2, 1, 3 };
  assert_int_equal(face[0], 3);
  assert_memory_equal(face + 1, wanted, sizeof wanted);
  kp_free(ply.bytes);

  ply = read_ply(kp_test_path(*state, "hair_curves_000007.ply"));
  assert_int_equal(ply.n_edges, 3);
  const int32_t edges[] = { 0, 1, 1, 2, 3, 4 };
  assert_memory_equal(ply.rows + 6 * ply.row_size, edges, sizeof edges);
  kp_free(ply.bytes);

  // narrowed
  assert_ok(exporter->write(frame, *state, KP_EXPORT_FLOAT32, &list));
  ply = read_ply(kp_test_path(*state, "water_000007.ply"));
  assert_true(ply_value(&ply, "x", 7) == (double)(float)test_value(0, 7));
  kp_free(ply.bytes);
  assert_fails(KP_ERROR_IO, "cannot write",
               exporter->write(frame, kp_test_path(*state, "none"), 0, &list));
  kp_export_list_free(&list);
  kp_frame_free(&frame);
}

// ---- VTK XML

// The data of a named array, uncompressed. kp_free it.
static char *read_vtk_array(const char *path, const char *name, const char *type, size_t n_bytes) {
  size_t size;
  char *file = kp_test_read_file(path, &size), words[128];
  (void)snprintf(words, sizeof words, "<DataArray type=\"%s\" Name=\"%s\"", type, name);
  const char *element = strstr(file, words);
  assert_non_null(element);
  uint64_t offset = strtoull(strstr(element, "offset=\"") + 8, NULL, 10);
  const char *data = strstr(file, "<AppendedData encoding=\"raw\">\n_");
  data += strlen("<AppendedData encoding=\"raw\">\n_") + offset;
  char *out = kp_alloc(n_bytes, KP_MEMORY_TEST);
  uint64_t head[3];
  memcpy(head, data, sizeof head);
  if (strstr(file, "vtkZLibDataCompressor") == NULL) {
    assert_int_equal(head[0], n_bytes);
    memcpy(out, data + 8, n_bytes);
  } else {
    const char *packed = data + (3 + head[0]) * 8;
    size_t done = 0;
    for (uint64_t i = 0; i < head[0]; ++i) {
      uint64_t n_packed;
      memcpy(&n_packed, data + (3 + i) * 8, 8);
      uLongf n = (uLongf)(n_bytes - done);
      assert_int_equal(uncompress((Bytef *)out + done, &n, (const Bytef *)packed, n_packed), Z_OK);
      bool is_partial = i + 1 == head[0] && head[2] != 0;
      assert_int_equal(n, is_partial ? head[2] : head[1]);
      done += n;
      packed += n_packed;
    }
    assert_int_equal(done, n_bytes);
  }
  kp_free(file);
  return out;
}

static void check_vtu_points(const char *path) {
  double *points = (double *)(void *)read_vtk_array(path, "position", "Float64", N_POINTS * 24);
  float *velocity = (float *)(void *)read_vtk_array(path, "velocity", "Float32", N_POINTS * 12);
  uint64_t *ids = (uint64_t *)(void *)read_vtk_array(path, "id", "UInt64", N_POINTS * 8);
  int64_t *offsets = (int64_t *)(void *)read_vtk_array(path, "offsets", "Int64", N_POINTS * 8);
  char *types = read_vtk_array(path, "types", "UInt8", N_POINTS);
  for (uint64_t i = 0; i < N_POINTS; ++i) {
    for (int c = 0; c < 3; ++c) {
      assert_true(points[3 * i + (uint64_t)c] == test_value(c, i));
      assert_true(velocity[3 * i + (uint64_t)c] == (float)test_value(c, 2 * i));
    }
    assert_true(ids[i] == UINT64_C(0x100000000) * (i % 3) + i);
    assert_int_equal(offsets[i], i + 1);
    assert_int_equal(types[i], 1);
  }
  kp_free(points);
  kp_free(velocity);
  kp_free(ids);
  kp_free(offsets);
  kp_free(types);
}

static void check_vtu_others(const char *folder) {
  const char *mesh = kp_test_path(folder, "water_mesh_000007.vtu");
  const int64_t corners[] = { 0, 1, 2, 2, 1, 3 }, ends[] = { 3, 6 };
  char *data = read_vtk_array(mesh, "connectivity", "Int64", sizeof corners);
  assert_memory_equal(data, corners, sizeof corners);
  kp_free(data);
  data = read_vtk_array(mesh, "offsets", "Int64", sizeof ends);
  assert_memory_equal(data, ends, sizeof ends);
  kp_free(data);
  const char *hair = kp_test_path(folder, "hair_curves_000007.vtu");
  const int64_t hair_ends[] = { 3, 5, 6 };
  data = read_vtk_array(hair, "offsets", "Int64", sizeof hair_ends);
  assert_memory_equal(data, hair_ends, sizeof hair_ends);
  kp_free(data);
  data = read_vtk_array(hair, "types", "UInt8", 3);
  assert_memory_equal(data, "\4\4\1", 3);
  kp_free(data);
  const char *smoke = kp_test_path(folder, "smoke_volume_000007.vti");
  double *density = (double *)(void *)read_vtk_array(smoke, "density", "Float64", 24 * 8);
  float *velocity = (float *)(void *)read_vtk_array(smoke, "velocity", "Float32", 24 * 12);
  assert_true(density[23] == 23.0 && velocity[3 * 23 + 1] == -23.0f);
  kp_free(density);
  kp_free(velocity);
}

static void test_vtu(void **state) {
  kp_frame *frame = make_frame();
  const kp_exporter *exporter = kp_exporter_find("vtu");
  const uint32_t flags[] = { 0, KP_EXPORT_PLAIN };
  for (int i = 0; i < 2; ++i) {
    kp_export_list list = { 0 };
    assert_ok(exporter->write(frame, *state, flags[i], &list));
    assert_int_equal(list.count, 4);
    assert_string_equal(list.files[3].name, "smoke_volume_000007.vti");
    check_vtu_points(kp_test_path(*state, "water_000007.vtu"));
    check_vtu_others(*state);
    kp_export_list_free(&list);
  }
  size_t size;
  char *text = kp_test_read_file(kp_test_path(*state, "water_000007.vtu"), &size);
  assert_holds(text, "NumberOfPoints=\"3000\" NumberOfCells=\"3000\"");
  assert_holds(text, "Name=\"TimeValue\" NumberOfTuples=\"1\" format=\"ascii\">0.1<");
  assert_holds(text, "Name=\"up_axis\" NumberOfTuples=\"1\" format=\"ascii\">\n122 0\n");
  assert_holds(text, "location=\"vtkDataArray\">kg/m^3</InformationKey>");
  kp_free(text);
  text = kp_test_read_file(kp_test_path(*state, "smoke_volume_000007.vti"), &size);
  assert_holds(text,
               "WholeExtent=\"0 4 0 3 0 2\" Origin=\"-1 0.5 0\" Spacing=\"0.125 0.125 0.125\"");
  kp_free(text);
  kp_frame_free(&frame);
}

// A large array takes several blocks, and its bytes do not depend on the threads.
static void test_vtu_blocks(void **state) {
  enum { MANY = 200000 };
  kp_frame *frame;
  kp_frame_set *set;
  assert_ok(kp_frame_create(0, 0.0, &frame));
  assert_ok(kp_frame_add_set(frame, "many", MANY, &set));
  kp_frame_field *position = add_field(&set->fields, "position", "m", KP_ITEM_F64, 3, MANY);
  for (uint64_t i = 0; i < MANY; ++i) {
    ((double *)position->data[1])[i] = (double)i;
  }
  kp_export_list list = { 0 };
  const char *path = kp_test_path(*state, "many_000000.vtu");
  uint64_t hashes[2];
  for (int i = 0; i < 2; ++i) {
    kp_parallel_set_threads(1 + 2 * i);
    assert_ok(kp_export_vtu.write(frame, *state, 0, &list));
    assert_ok(kp_file_hash(path, &hashes[i]));
  }
  kp_parallel_set_threads(0);
  assert_int_equal(hashes[0], hashes[1]);
  double *points = (double *)(void *)read_vtk_array(path, "position", "Float64", MANY * 24);
  for (uint64_t i = 0; i < MANY; ++i) {
    assert_true(points[3 * i + 1] == (double)i);
  }
  kp_free(points);
  kp_export_list_free(&list);
  kp_frame_free(&frame);
}

static void test_pvd(void **state) {
  kp_frame *frame = make_frame();
  kp_export_list list = { 0 };
  for (uint64_t i = 0; i < 3; ++i) {
    frame->frame = i;
    frame->time = (double)i / 24.0;
    assert_ok(kp_export_vtu.write(frame, *state, 0, &list));
  }
  assert_ok(kp_export_vtu.finish(*state, &list));
  static const char *const objects[] = { "water", "water_mesh", "hair_curves", "smoke_volume" };
  for (size_t k = 0; k < 4; ++k) {
    char name[64];
    (void)snprintf(name, sizeof name, "%s.pvd", objects[k]);
    size_t size;
    char *text = kp_test_read_file(kp_test_path(*state, name), &size);
    int n = 0;
    for (const char *p = text; (p = strstr(p, "<DataSet ")) != NULL; ++p, ++n) {
      double time = strtod(strstr(p, "timestep=\"") + 10, NULL);
      char file[128];
      assert_int_equal(sscanf(strstr(p, "file=\""), "file=\"%127[^\"]\"", file), 1);
      assert_true(time == n / 24.0);
      assert_true(kp_file_exists(kp_test_path(*state, file)));
      assert_memory_equal(file, objects[k], strlen(objects[k]));
    }
    assert_int_equal(n, 3);
    kp_free(text);
  }
  kp_export_list_free(&list);
  kp_frame_free(&frame);
}

// ---- CSV

static void test_csv(void **state) {
  kp_frame *frame = make_frame();
  kp_export_list list = { 0 };
  assert_ok(kp_exporter_find("csv")->write(frame, *state, 0, &list));
  assert_int_equal(list.count, 3);
  size_t size;
  char *text = kp_test_read_file(kp_test_path(*state, "water_000007.csv"), &size);
  const char *line = strchr(text, '\n') + 1;
  const char header[] = "x [m],y [m],z [m],vx [m/s],vy [m/s],vz [m/s],id,density [kg/m^3],"
                        "pair_0,pair_1\n";
  assert_memory_equal(text, header, sizeof header - 1);
  for (uint64_t i = 0; i < N_POINTS; ++i) {
    double x[6], density;
    uint64_t id;
    int a, b;
    assert_int_equal(sscanf(line, "%lf,%lf,%lf,%lf,%lf,%lf,%" SCNu64 ",%lf,%d,%d\n", &x[0], &x[1],
                            &x[2], &x[3], &x[4], &x[5], &id, &density, &a, &b),
                     10);
    assert_true(x[1] == test_value(1, i));
    assert_true((float)x[5] == (float)test_value(2, 2 * i));
    assert_true(id == UINT64_C(0x100000000) * (i % 3) + i);
    assert_true(density == 1000.0 + (double)i && a == (int)i && b == -(int)i);
    line = strchr(line, '\n') + 1;
  }
  assert_int_equal(*line, '\0');
  kp_free(text);
  kp_export_list_free(&list);
  kp_frame_free(&frame);
}

// ---- VDB

typedef struct vdb_reader {
  const uint8_t *bytes;
  size_t at, size;
} vdb_reader;

static const void *vdb_take(vdb_reader *r, size_t n) {
  const uint8_t *p = r->bytes + r->at;
  r->at += n;
  assert_true(r->at <= r->size);
  return p;
}

static uint32_t vdb_u32(vdb_reader *r) {
  uint32_t value;
  memcpy(&value, vdb_take(r, sizeof value), sizeof value);
  return value;
}

static int64_t vdb_i64(vdb_reader *r) {
  int64_t value;
  memcpy(&value, vdb_take(r, sizeof value), sizeof value);
  return value;
}

static void vdb_text(vdb_reader *r, char out[64]) {
  uint32_t n = vdb_u32(r);
  assert_true(n < 64);
  memcpy(out, vdb_take(r, n), n);
  out[n] = '\0';
}

static void vdb_skip_meta(vdb_reader *r) {
  uint32_t n = vdb_u32(r);
  char text[64];
  for (uint32_t i = 0; i < 3 * n; ++i) {
    vdb_text(r, text);
  }
}

// The values of a node: packed, or plain behind a negative length.
static void vdb_values(vdb_reader *r, bool is_plain, float *out, size_t size) {
  assert_int_equal(*(const int8_t *)vdb_take(r, 1), 6);
  int64_t length = is_plain ? -(int64_t)size : vdb_i64(r);
  if (length < 0) {
    assert_int_equal(-length, size);
    memcpy(out, vdb_take(r, size), size);
    return;
  }
  uLongf got = size;
  const void *from = vdb_take(r, (size_t)length);
  assert_int_equal(uncompress((Bytef *)out, &got, from, (uLong)length), Z_OK);
  assert_int_equal(got, size);
}

static int first_bit(const uint64_t *mask, int n) {
  int found = -1;
  for (int i = 0; i < n; ++i) {
    if ((mask[i / 64] >> i % 64 & 1) != 0) {
      assert_int_equal(found, -1);  // one child each in this file
      found = i;
    }
  }
  return found;
}

// One grid of 4 x 3 x 2 voxels: one node of each kind.
static void check_vdb_grid(vdb_reader *r, const char *name, int n_components, bool is_plain) {
  static float values[3 * 32768];
  static uint64_t mask[512];
  char text[64];
  vdb_text(r, text);
  assert_string_equal(text, name);
  vdb_text(r, text);
  assert_string_equal(text, n_components == 3 ? "Tree_vec3s_5_4_3" : "Tree_float_5_4_3");
  vdb_text(r, text);
  int64_t places[3] = { vdb_i64(r), vdb_i64(r), vdb_i64(r) };
  assert_int_equal(places[0], r->at);
  assert_int_equal(vdb_u32(r), is_plain ? 0 : 1);
  vdb_skip_meta(r);
  vdb_text(r, text);
  assert_string_equal(text, "UniformScaleTranslateMap");
  double map[18];
  memcpy(map, vdb_take(r, sizeof map), sizeof map);
  assert_true(map[0] == -1.0 + 0.0625 && map[1] == 0.5 + 0.0625 && map[3] == 0.125);
  assert_int_equal(vdb_u32(r), 1);
  (void)vdb_take(r, (size_t)n_components * sizeof(float));  // background
  assert_int_equal(vdb_u32(r), 0);
  assert_int_equal(vdb_u32(r), 1);
  (void)vdb_take(r, 12);
  for (int level = 0; level < 2; ++level) {
    int children = level == 0 ? 32768 : 4096;
    memcpy(mask, vdb_take(r, (size_t)children / 8), (size_t)children / 8);
    assert_int_equal(first_bit(mask, children), 0);
    memcpy(mask, vdb_take(r, (size_t)children / 8), (size_t)children / 8);
    assert_int_equal(first_bit(mask, children), -1);
    vdb_values(r, is_plain, values, (size_t)(children * n_components) * sizeof(float));
    assert_true(values[0] == 0.0f && values[children - 1] == 0.0f);
  }
  uint64_t on[8], again[8];
  memcpy(on, vdb_take(r, sizeof on), sizeof on);
  assert_int_equal(places[1], r->at);
  memcpy(again, vdb_take(r, sizeof again), sizeof again);
  assert_memory_equal(on, again, sizeof on);
  vdb_values(r, is_plain, values, (size_t)(512 * n_components) * sizeof(float));
  for (int n = 0; n < 512; ++n) {
    int x = n >> 6, y = n >> 3 & 7, z = n & 7;
    bool is_inside = x < 4 && y < 3 && z < 2;
    float expected = is_inside ? (float)(x + 4 * (y + 3 * z)) : 0.0f;
    float got = n_components == 3 ? -values[3 * n + 1] : values[n];
    assert_true(got == expected);
    assert_int_equal(on[n / 64] >> n % 64 & 1, expected != 0.0f);
  }
  assert_int_equal(places[2], r->at);
}

// The program of OpenVDB is the other reader.
static void ask_vdb_print(const char *path) {
  char command[4200], text[16384] = "";
  (void)snprintf(command, sizeof command, "vdb_print -l '%s' 2>/dev/null", path);
  FILE *pipe = popen(command, "r");
  assert_non_null(pipe);
  size_t n = fread(text, 1, sizeof text - 1, pipe);
  text[n] = '\0';
  assert_int_equal(pclose(pipe), 0);
  assert_holds(text, "VDB version: 10.0/224");
  assert_holds(text, "Name: density");
  assert_holds(text, "Max value: 23");
  assert_holds(text, "Number of active voxels:       23");
  assert_holds(text, "Type: Tree_vec3s_5_4_3");
}

static void test_vdb(void **state) {
  kp_frame *frame = make_frame();
  const char *path = kp_test_path(*state, "smoke_volume_000007.vdb");
  for (int is_plain = 0; is_plain < 2; ++is_plain) {
    kp_export_list list = { 0 };
    assert_ok(kp_exporter_find("vdb")->write(frame, *state, is_plain ? KP_EXPORT_PLAIN : 0, &list));
    assert_int_equal(list.count, 1);
    size_t size;
    char *bytes = kp_test_read_file(path, &size);
    vdb_reader r = { (const uint8_t *)bytes, 0, size };
    assert_true(vdb_i64(&r) == 0x56444220);
    assert_int_equal(vdb_u32(&r), 224);
    (void)vdb_take(&r, 8 + 1 + 36);
    vdb_skip_meta(&r);
    assert_int_equal(vdb_u32(&r), 2);
    check_vdb_grid(&r, "density", 1, is_plain != 0);
    check_vdb_grid(&r, "velocity", 3, is_plain != 0);
    assert_int_equal(r.at, size);
    kp_free(bytes);
    kp_export_list_free(&list);
  }
  kp_frame_free(&frame);
}

static void test_vdb_print(void **state) {
  if (system("command -v vdb_print >/dev/null 2>&1") != 0) {
    kp_test_skip("vdb_print is not installed: OpenVDB itself did not read the file");
  }
  kp_frame *frame = make_frame();
  for (int is_plain = 0; is_plain < 2; ++is_plain) {
    kp_export_list list = { 0 };
    assert_ok(kp_exporter_find("vdb")->write(frame, *state, is_plain ? KP_EXPORT_PLAIN : 0, &list));
    ask_vdb_print(kp_test_path(*state, "smoke_volume_000007.vdb"));
    kp_export_list_free(&list);
  }
  kp_frame_free(&frame);
}

// ---- halves

// Every half comes back, and every float becomes the nearest one: none is nearer.
static void test_halves(void **state) {
  (void)state;
  for (uint32_t h = 0; h < 0x10000; ++h) {
    float value = kp_half_to_float((uint16_t)h);
    uint32_t magnitude = h & 0x7fff;
    if (magnitude > 0x7c00) {
      assert_true(isnan(value) && (kp_half_from_float(value) & 0x7fff) > 0x7c00);
    } else if (magnitude == 0x7c00) {
      assert_int_equal(kp_half_from_float(value), h - 1);  // infinity becomes the largest
    } else {
      assert_int_equal(kp_half_from_float(value), h);
    }
    if (magnitude < 0x7bff) {
      float next = kp_half_to_float((uint16_t)(h + 1)), middle = 0.5f * (value + next);
      uint16_t even = (uint16_t)(h % 2 == 0 ? h : h + 1);
      assert_int_equal(kp_half_from_float(middle), even);
      assert_int_equal(kp_half_from_float(nextafterf(middle, value)), h);
      assert_int_equal(kp_half_from_float(nextafterf(middle, next)), h + 1);
    }
  }
  assert_true(kp_half_to_float(kp_half_from_float(1e30f)) == 65504.0f);
  assert_true(kp_half_to_float(kp_half_from_float(-1e30f)) == -65504.0f);
}

// ---- OBJ

// Line elements of an OBJ file, all of which have two ends.
static size_t count_segments(const char *path) {
  char *bytes, line[128];
  size_t n_bytes, n = 0;
  assert_ok(kp_file_read(path, 1 << 20, &bytes, &n_bytes));
  for (size_t at = 0; at < n_bytes; at += strlen(line) + 1) {
    unsigned a, b;
    char more;
    (void)snprintf(line, sizeof line, "%.*s", (int)strcspn(bytes + at, "\n"), bytes + at);
    if (line[0] == 'l') {
      assert_int_equal(sscanf(line, "l %u %u %c", &a, &b, &more), 2);
      ++n;
    }
  }
  kp_free(bytes);
  return n;
}

static void test_obj(void **state) {
  kp_frame *frame = make_frame();
  kp_export_list list = { 0 };
  kp_mesh mesh;
  assert_ok(kp_exporter_find("obj")->write(frame, *state, 0, &list));
  assert_int_equal(list.count, 2);
  assert_ok(kp_obj_read(kp_test_path(*state, "water_mesh_000007.obj"), &mesh));
  assert_int_equal(mesh.n_vertices, 4);
  assert_int_equal(mesh.n_triangles, 2);
  assert_vec3_near(mesh.vertices[3], kp_vec3_make(1, 1, 0.25), 0.0);
  assert_int_equal(mesh.triangles[1].v[2], 3);
  kp_mesh_destroy(&mesh);
  // what is written can be the guides of hair, and is nothing but segments of two ends
  const kp_frame_curves *hair = &frame->curves[0];
  kp_curves curves;
  assert_int_equal(count_segments(kp_test_path(*state, "hair_curves_000007.obj")),
                   hair->n_points - hair->n_curves);
  assert_ok(kp_curves_read(kp_test_path(*state, "hair_curves_000007.obj"), &curves));
  size_t n = 0;
  for (uint64_t c = 0; c < hair->n_curves; ++c) {
    uint64_t length = hair->offsets[c + 1] - hair->offsets[c];
    if (length >= 2) {
      assert_int_equal(curves.first.data[n + 1] - curves.first.data[n], length);
      assert_memory_equal(&curves.points.data[curves.first.data[n]],
                          &hair->points[hair->offsets[c]], length * sizeof *hair->points);
      ++n;
    }
  }
  assert_true(n >= 2);
  assert_int_equal(curves.first.count, n + 1);
  kp_curves_free(&curves);
  kp_export_list_free(&list);
  kp_frame_free(&frame);
}

// ---- the table of exporters

static void test_exporters(void **state) {
  (void)state;
  size_t n;
  const kp_exporter *const *all = kp_exporters(&n);
  assert_true(n >= 3);
  for (size_t i = 0; i < n; ++i) {
    assert_ptr_equal(kp_exporter_find(all[i]->name), all[i]);
    assert_non_null(all[i]->write);
    assert_true(strlen(all[i]->text) > 10 && strlen(all[i]->extension) > 0);
  }
  assert_null(kp_exporter_find("doc"));
  assert_null(kp_exporter_find(""));
  assert_null(kp_exporter_find("."));
  assert_ptr_equal(kp_exporter_find("VTI"), &kp_export_vti);
  assert_ptr_equal(kp_exporter_find(".Pvd"), &kp_export_vtu);
  const kp_export_alias *aliases = kp_export_aliases(&n);
  assert_true(n >= 6);
  for (size_t i = 0; i < n; ++i) {
    assert_non_null(kp_exporter_find(aliases[i].of));
    assert_ptr_equal(kp_exporter_find(aliases[i].name), kp_exporter_find(aliases[i].of));
  }
  char name[16];
  kp_export_clean_name(name, sizeof name, "../a b:c\xc3\xa9");
  assert_string_equal(name, "_._a_b_c\xc3\xa9");
}

// ---- trouble

static size_t count_temporary(const char *folder) {
  size_t n = 0;
  DIR *all = opendir(folder);
  assert_non_null(all);
  for (const struct dirent *entry = readdir(all); entry != NULL; entry = readdir(all)) {
    n += strstr(entry->d_name, ".tmp") != NULL ? 1 : 0;
  }
  (void)closedir(all);
  return n;
}

// Each allocation of each exporter fails in turn: an error, no memory and no half file left behind.
static void test_out_of_memory(void **state) {
  size_t n_exporters;
  const kp_exporter *const *exporters = kp_exporters(&n_exporters);
  kp_frame *frame = make_frame();
  kp_parallel_set_threads(1);
  for (size_t e = 0; e < n_exporters; ++e) {
    bool is_done = false;
    int n_failures = 0;
    for (int64_t n = 0; !is_done; n += 1 + n / 40) {
      assert_true(n < 100000);
      int64_t before = kp_memory_bytes();
      kp_export_list list = { .n_frames = 1 };
      kp_memory_fail_at(n);
      kp_result result = exporters[e]->write(frame, *state, 0, &list);
      if (result == KP_OK && exporters[e]->finish != NULL) {
        result = exporters[e]->finish(*state, &list);
      }
      kp_memory_fail_at(-1);
      is_done = result == KP_OK;
      n_failures += !is_done;
      if (!is_done && result != KP_ERROR_MEMORY) {
        print_error("%s: %s\n", exporters[e]->name, kp_last_error());
      }
      assert_true(is_done || result == KP_ERROR_MEMORY);
      kp_export_list_free(&list);
      assert_int_equal(kp_memory_bytes(), before);
      assert_int_equal(count_temporary(*state), 0);
    }
    print_message("%s: %d failures\n", exporters[e]->name, n_failures);
    assert_true(n_failures > 0);
  }
  kp_parallel_set_threads(0);
  kp_frame_free(&frame);
}

// Particles are as large as half the way to the nearest other place, in the middle of all: here two
// are at each place of a lattice, and one is far away. One alone has a size too.
static void test_radius_of_particles(void **state) {
  (void)state;
  kp_frame *frame;
  kp_frame_set *set, *one;
  assert_ok(kp_frame_create(0, 0.0, &frame));
  assert_ok(kp_frame_add_set(frame, "lattice", 128, &set));
  kp_frame_field *x = add_field(&set->fields, "position", "m", KP_ITEM_F64, 3, 128);
  for (int i = 0; i < 128; ++i) {
    int n = i % 64;
    const double place[3] = { 0.3 * (n % 4), 0.3 * (n / 4 % 4), 0.3 * (n / 16) + 9.0 * (i == 127) };
    for (int c = 0; c < 3; ++c) {
      ((double *)x->data[c])[i] = place[c];
    }
  }
  assert_near(kp_frame_set_radius(set), 0.15, 1e-12);
  assert_ok(kp_frame_add_set(frame, "one", 1, &one));
  add_field(&one->fields, "position", "m", KP_ITEM_F64, 3, 1);
  assert_near(kp_frame_set_radius(one), 0.01, 1e-12);
  kp_frame_free(&frame);
}

int main(void) {
#define FOLDER_TEST(name)                                                                          \
  cmocka_unit_test_setup_teardown(name, kp_test_folder_make, kp_test_folder_remove)
  const struct CMUnitTest tests[] = {
    FOLDER_TEST(test_frame_file),    FOLDER_TEST(test_solids),
    FOLDER_TEST(test_frame_bad),     FOLDER_TEST(test_ply),
    FOLDER_TEST(test_vtu),           FOLDER_TEST(test_vtu_blocks),
    FOLDER_TEST(test_pvd),           cmocka_unit_test(test_radius_of_particles),
    FOLDER_TEST(test_csv),           cmocka_unit_test(test_exporters),
    FOLDER_TEST(test_vdb),           FOLDER_TEST(test_vdb_print),
    FOLDER_TEST(test_obj),           cmocka_unit_test(test_halves),
    FOLDER_TEST(test_out_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
