// Binary glTF 2.0, one file per object and frame: triangles, lines or points with velocities, and
// normals and colours where there are any. glTF is in metres with y up; other axes are turned by
// the node.
//
//   "glTF" 2 length | length "JSON" text | length "BIN\0" indices, then attributes
//
// All of it little endian, chunks padded to four bytes.
#include <float.h>
#include <math.h>
#include <string.h>

#include "io/byte_order.h"
#include "io/export.h"
#include "io/json.h"

enum { GL_FLOAT = 5126, GL_UNSIGNED_INT = 5125, GL_VERTICES = 34962, GL_INDICES = 34963 };
enum { MODE_POINTS = 0, MODE_LINES = 1, MODE_TRIANGLES = 4 };
enum { MAX_ATTRIBUTES = 4 };

// What glTF calls a field. Names of its own begin with an underscore.
typedef struct attribute {
  const char *name;
  const kp_export_field *field;
  bool is_unit;  // readers insist on normals of unit length
} attribute;

typedef struct part {
  const kp_export_object *object;
  attribute attributes[MAX_ATTRIBUTES];
  size_t n_attributes;
  uint64_t n_indices;  // 0: points in order
  int mode;
} part;

static part make_part(const kp_export_object *object) {
  static const struct {
    const char *field, *name;
  } known[MAX_ATTRIBUTES] = {
    { "position", "POSITION" },
    { "normal", "NORMAL" },
    { "colour", "COLOR_0" },
    { "velocity", "_VELOCITY" },
  };
  part p = { .object = object, .mode = MODE_POINTS };
  for (size_t i = 0; i < MAX_ATTRIBUTES; ++i) {
    const kp_export_field *field = kp_export_find(object, known[i].field, 3);
    if (field != NULL) {
      p.attributes[p.n_attributes++] =
          (attribute){ known[i].name, field, strcmp(known[i].name, "NORMAL") == 0 };
    }
  }
  if (object->triangles != NULL) {
    p.mode = MODE_TRIANGLES;
    p.n_indices = 3 * object->n_triangles;
  } else if (object->offsets != NULL) {
    p.mode = MODE_LINES;
    for (uint64_t c = 0; c < object->n_curves; ++c) {
      uint64_t n = object->offsets[c + 1] - object->offsets[c];
      p.n_indices += n > 1 ? 2 * (n - 1) : 0;
    }
  }
  return p;
}

static void vector_at(const attribute *a, uint64_t index, float out[3]) {
  double v[3], square = 0.0;
  for (int c = 0; c < 3; ++c) {
    v[c] = kp_export_value(a->field, c, index);
    square += v[c] * v[c];
  }
  double scale = a->is_unit && square > 0.0 ? 1.0 / sqrt(square) : 1.0;
  for (int c = 0; c < 3; ++c) {
    out[c] = (float)(scale * v[c]);
  }
  if (a->is_unit && !(square > 0.0)) {
    out[1] = 1.0f;
  }
}

// ---- the text

static void add_numbers(kp_json *json, const char *key, const float values[3]) {
  kp_json_begin_array(json, key);
  for (int c = 0; c < 3; ++c) {
    kp_json_number(json, NULL, (double)values[c]);
  }
  kp_json_end(json);
}

static void add_bounds(kp_json *json, const part *p) {
  float lo[3] = { FLT_MAX, FLT_MAX, FLT_MAX }, hi[3] = { -FLT_MAX, -FLT_MAX, -FLT_MAX };
  for (uint64_t i = 0; i < p->object->n_points; ++i) {
    float x[3];
    vector_at(&p->attributes[0], i, x);
    for (int c = 0; c < 3; ++c) {
      lo[c] = x[c] < lo[c] ? x[c] : lo[c];
      hi[c] = x[c] > hi[c] ? x[c] : hi[c];
    }
  }
  add_numbers(json, "min", lo);
  add_numbers(json, "max", hi);
}

static void add_accessor(kp_json *json, int64_t view, int type, uint64_t count,
                         const part *bounds) {
  kp_json_begin_object(json, NULL);
  kp_json_int(json, "bufferView", view);
  kp_json_int(json, "componentType", type);
  kp_json_int(json, "count", (int64_t)count);
  kp_json_string(json, "type", type == GL_FLOAT ? "VEC3" : "SCALAR");
  if (bounds != NULL) {
    add_bounds(json, bounds);
  }
  kp_json_end(json);
}

static void add_accessors(kp_json *json, const part *p) {
  int64_t view = 0;
  kp_json_begin_array(json, "accessors");
  if (p->n_indices > 0) {
    add_accessor(json, view++, GL_UNSIGNED_INT, p->n_indices, NULL);
  }
  for (size_t i = 0; i < p->n_attributes; ++i) {
    add_accessor(json, view++, GL_FLOAT, p->object->n_points, i == 0 ? p : NULL);
  }
  kp_json_end(json);
}

static uint64_t add_view(kp_json *json, uint64_t offset, uint64_t size, int target) {
  kp_json_begin_object(json, NULL);
  kp_json_int(json, "buffer", 0);
  kp_json_int(json, "byteOffset", (int64_t)offset);
  kp_json_int(json, "byteLength", (int64_t)size);
  kp_json_int(json, "target", target);
  kp_json_end(json);
  return offset + size;
}

// Returns the bytes of the buffer.
static uint64_t add_buffer(kp_json *json, const part *p) {
  uint64_t offset = 0;
  kp_json_begin_array(json, "bufferViews");
  if (p->n_indices > 0) {
    offset = add_view(json, offset, 4 * p->n_indices, GL_INDICES);
  }
  for (size_t i = 0; i < p->n_attributes; ++i) {
    offset = add_view(json, offset, 12 * p->object->n_points, GL_VERTICES);
  }
  kp_json_end(json);
  kp_json_begin_array(json, "buffers");
  kp_json_begin_object(json, NULL);
  kp_json_int(json, "byteLength", (int64_t)offset);
  kp_json_end(json);
  kp_json_end(json);
  return offset;
}

static void add_mesh(kp_json *json, const part *p) {
  kp_json_begin_array(json, "meshes");
  kp_json_begin_object(json, NULL);
  kp_json_string(json, "name", p->object->name);
  kp_json_begin_array(json, "primitives");
  kp_json_begin_object(json, NULL);
  kp_json_int(json, "mode", p->mode);
  int64_t accessor = 0;
  if (p->n_indices > 0) {
    kp_json_int(json, "indices", accessor++);
  }
  kp_json_begin_object(json, "attributes");
  for (size_t i = 0; i < p->n_attributes; ++i) {
    kp_json_int(json, p->attributes[i].name, accessor++);
  }
  for (int level = 0; level < 5; ++level) {
    kp_json_end(json);
  }
}

// The node turns the up axis of the frame to y.
static void add_node(kp_json *json, const kp_frame *frame, const part *p) {
  static const double half = 0.70710678118654757;
  kp_json_begin_array(json, "nodes");
  kp_json_begin_object(json, NULL);
  kp_json_int(json, "mesh", 0);
  kp_json_string(json, "name", p->object->name);
  if (frame->up_axis != 1) {
    const double turn[4] = { frame->up_axis == 2 ? -half : 0.0, 0.0,
                             frame->up_axis == 0 ? half : 0.0, half };
    kp_json_begin_array(json, "rotation");
    for (int c = 0; c < 4; ++c) {
      kp_json_number(json, NULL, turn[c]);
    }
    kp_json_end(json);
  }
  kp_json_end(json);
  kp_json_end(json);
}

static void add_scene(kp_json *json, const kp_frame *frame) {
  kp_json_begin_object(json, "asset");
  kp_json_string(json, "version", "2.0");
  kp_json_string(json, "generator", "Kelpie " KP_VERSION_STRING);
  kp_json_begin_object(json, "extras");
  kp_json_int(json, "frame", (int64_t)frame->frame);
  kp_json_number(json, "time", frame->time);
  kp_json_end(json);
  kp_json_end(json);
  kp_json_int(json, "scene", 0);
  kp_json_begin_array(json, "scenes");
  kp_json_begin_object(json, NULL);
  kp_json_begin_array(json, "nodes");
  kp_json_int(json, NULL, 0);
  kp_json_end(json);
  kp_json_end(json);
  kp_json_end(json);
}

// ---- the bytes

static void add_indices(kp_file *file, const kp_export_object *object) {
  for (uint64_t i = 0; object->triangles != NULL && i < 3 * object->n_triangles; ++i) {
    kp_file_add_little(file, object->triangles[i]);
  }
  for (uint64_t c = 0; c < object->n_curves; ++c) {
    for (uint64_t i = object->offsets[c]; i + 1 < object->offsets[c + 1]; ++i) {
      kp_file_add_little(file, (uint32_t)i);
      kp_file_add_little(file, (uint32_t)(i + 1));
    }
  }
}

static void add_attribute(kp_file *file, const attribute *a, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) {
    float x[3];
    vector_at(a, i, x);
    for (int c = 0; c < 3; ++c) {
      kp_file_add_little(file, kp_bits_of_float(x[c]));
    }
  }
}

static kp_result write_chunks(const part *p, const char *text, uint64_t binary, const char *path) {
  static const char blanks[4] = "   ";
  size_t length = strlen(text), padding = (4 - length % 4) % 4;
  uint64_t total = 12 + 8 + length + padding + 8 + binary;
  if (total > UINT32_MAX) {
    return kp_fail(KP_ERROR_ARGUMENT, "%s: GLB cannot hold more than 4 GB", path);
  }
  kp_file file;
  KP_TRY(kp_file_begin(&file, path));
  kp_file_add(&file, "glTF", 4);
  kp_file_add_little(&file, 2);
  kp_file_add_little(&file, (uint32_t)total);
  kp_file_add_little(&file, (uint32_t)(length + padding));
  kp_file_add(&file, "JSON", 4);
  kp_file_add(&file, text, length);
  kp_file_add(&file, blanks, padding);
  kp_file_add_little(&file, (uint32_t)binary);
  kp_file_add(&file, "BIN", 4);
  add_indices(&file, p->object);
  for (size_t i = 0; i < p->n_attributes; ++i) {
    add_attribute(&file, &p->attributes[i], p->object->n_points);
  }
  return kp_file_commit(&file);
}

static kp_result write_object(const kp_frame *frame, const kp_export_object *object, uint32_t flags,
                              const char *path) {
  (void)flags;
  part p = make_part(object);
  kp_json json = { 0 };
  kp_json_begin_object(&json, NULL);
  add_scene(&json, frame);
  add_node(&json, frame, &p);
  add_mesh(&json, &p);
  add_accessors(&json, &p);
  uint64_t binary = add_buffer(&json, &p);
  kp_json_end(&json);
  const char *text = NULL;
  kp_result result = kp_json_text(&json, &text);
  if (result == KP_OK) {
    result = write_chunks(&p, text, binary, path);
  }
  kp_json_free(&json);
  return result;
}

// A buffer of no bytes is none.
static bool has_points(const kp_export_object *object) {
  return object->n_points > 0;
}

static kp_result write_glb(const kp_frame *frame, const char *folder, uint32_t flags,
                           kp_export_list *list) {
  static const kp_export_walk walk = { "glb", has_points, write_object };
  return kp_export_each(&walk, frame, folder, flags, list);
}

const kp_exporter kp_export_glb = {
  .name = "glb",
  .extension = "glb",
  .text = "Binary glTF: meshes, curves and particles, for browsers, Blender and game engines.",
  .write = write_glb,
};
