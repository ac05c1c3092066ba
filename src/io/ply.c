#include "io/ply.h"

#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "io/mesh_file.h"
#include "io/words.h"

// name, other name, bytes, C type
#define TYPES(X)                                                                                   \
  X(INT8, "char", "int8", 1)                                                                       \
  X(UINT8, "uchar", "uint8", 1)                                                                    \
  X(INT16, "short", "int16", 2)                                                                    \
  X(UINT16, "ushort", "uint16", 2)                                                                 \
  X(INT32, "int", "int32", 4)                                                                      \
  X(UINT32, "uint", "uint32", 4)                                                                   \
  X(FLOAT32, "float", "float32", 4)                                                                \
  X(FLOAT64, "double", "float64", 8)

typedef enum ply_type {
#define X(id, name, other, size) TYPE_##id,
  TYPES(X)
#undef X
      TYPE_COUNT
} ply_type;

static const struct {
  const char *name, *other;
  size_t size;
} types[TYPE_COUNT] = {
#define X(id, name, other, size) { name, other, size },
  TYPES(X)
#undef X
};

typedef enum ply_format { FORMAT_ASCII, FORMAT_LITTLE, FORMAT_BIG, FORMAT_COUNT } ply_format;

typedef enum ply_role { ROLE_NONE, ROLE_X, ROLE_Y, ROLE_Z, ROLE_CORNERS, ROLE_COUNT } ply_role;

typedef struct ply_property {
  bool is_list;
  ply_type count_type;  // of a list
  ply_type type;
  ply_role role;
} ply_property;

typedef struct ply_element {
  char name[KP_WORD_SIZE];
  int64_t count;
  size_t first, n;  // properties
} ply_element;

typedef struct ply_reader {
  const char *name;
  kp_words words;
  ply_format format;
  KP_ARRAY(ply_element) elements;
  KP_ARRAY(ply_property) properties;
  KP_ARRAY(kp_triangle) triangles;
  kp_mesh mesh;
  kp_index n_vertices;         // of the header
  const ply_element *element;  // being read
  int64_t row;                 // of it, from 0
} ply_reader;

// ---- header -------------------------------------------------------------------------------------

static kp_result fail_at(const ply_reader *reader, const char *what, const char *word) {
  return kp_fail(KP_ERROR_FORMAT, "%s:%llu: %s%s%s%s", reader->name,
                 (unsigned long long)reader->words.line, what, word[0] != '\0' ? " '" : "", word,
                 word[0] != '\0' ? "'" : "");
}

static kp_result read_type(ply_reader *reader, ply_type *type) {
  char word[KP_WORD_SIZE];
  (void)kp_words_next(&reader->words, word);
  for (int i = 0; i < TYPE_COUNT; ++i) {
    if (strcmp(word, types[i].name) == 0 || strcmp(word, types[i].other) == 0) {
      *type = (ply_type)i;
      return KP_OK;
    }
  }
  return fail_at(reader, "unknown property type", word);
}

static kp_result read_format(ply_reader *reader) {
  static const char *const names[FORMAT_COUNT] = { "ascii", "binary_little_endian",
                                                   "binary_big_endian" };
  char word[KP_WORD_SIZE], version[KP_WORD_SIZE];
  (void)kp_words_next(&reader->words, word);
  (void)kp_words_next(&reader->words, version);
  if (strcmp(version, "1.0") != 0) {
    return fail_at(reader, "PLY version 1.0 is wanted, not", version);
  }
  for (int i = 0; i < FORMAT_COUNT; ++i) {
    if (strcmp(word, names[i]) == 0) {
      reader->format = (ply_format)i;
      return KP_OK;
    }
  }
  return fail_at(reader, "unknown PLY format", word);
}

static ply_element *find_element(ply_reader *reader, const char *name) {
  for (size_t i = 0; i < reader->elements.count; ++i) {
    if (strcmp(reader->elements.data[i].name, name) == 0) {
      return &reader->elements.data[i];
    }
  }
  return NULL;
}

static kp_result read_element(ply_reader *reader) {
  ply_element element = { .first = reader->properties.count };
  char word[KP_WORD_SIZE];
  if (!kp_words_next(&reader->words, element.name)) {
    return fail_at(reader, "an element needs a name", "");
  }
  if (!kp_words_next_integer(&reader->words, word, &element.count) || element.count < 0) {
    return fail_at(reader, "an element needs a count from 0, not", word);
  }
  if (element.count > INT32_MAX) {
    return fail_at(reader, "an element has more than 2^31 rows:", word);
  }
  if (find_element(reader, element.name) != NULL) {
    return fail_at(reader, "there are two elements called", element.name);
  }
  return kp_array_push(&reader->elements, element);
}

static bool is_float(ply_type type) {
  return type == TYPE_FLOAT32 || type == TYPE_FLOAT64;
}

// The first property of a name gets the role.
static ply_role find_role(const ply_reader *reader, const ply_element *element, bool is_list,
                          const char *name) {
  ply_role role = ROLE_NONE;
  bool is_vertex = strcmp(element->name, "vertex") == 0;
  bool is_face = strcmp(element->name, "face") == 0;
  if (is_vertex && !is_list && name[0] >= 'x' && name[0] <= 'z' && name[1] == '\0') {
    role = (ply_role)(ROLE_X + (name[0] - 'x'));
  } else if (is_face && is_list &&
             (strcmp(name, "vertex_indices") == 0 || strcmp(name, "vertex_index") == 0)) {
    role = ROLE_CORNERS;
  }
  for (size_t i = element->first; role != ROLE_NONE && i < reader->properties.count; ++i) {
    role = reader->properties.data[i].role == role ? ROLE_NONE : role;
  }
  return role;
}

static kp_result read_property(ply_reader *reader) {
  if (reader->elements.count == 0) {
    return fail_at(reader, "a property stands before the first element", "");
  }
  ply_element *element = &reader->elements.data[reader->elements.count - 1];
  ply_property property = { 0 };
  kp_words before = reader->words;
  char word[KP_WORD_SIZE];
  (void)kp_words_next(&reader->words, word);
  property.is_list = strcmp(word, "list") == 0;
  if (property.is_list) {
    KP_TRY(read_type(reader, &property.count_type));
    if (is_float(property.count_type)) {
      return fail_at(reader, "the length of a list cannot be a", types[property.count_type].name);
    }
  } else {
    reader->words = before;
  }
  KP_TRY(read_type(reader, &property.type));
  if (!kp_words_next(&reader->words, word)) {
    return fail_at(reader, "a property needs a name", "");
  }
  property.role = find_role(reader, element, property.is_list, word);
  if (property.role == ROLE_CORNERS && is_float(property.type)) {
    return fail_at(reader, "vertex numbers cannot be of type", types[property.type].name);
  }
  ++element->n;
  return kp_array_push(&reader->properties, property);
}

static bool has_role(const ply_reader *reader, const ply_element *element, ply_role role) {
  for (size_t i = 0; i < element->n; ++i) {
    if (reader->properties.data[element->first + i].role == role) {
      return true;
    }
  }
  return false;
}

static kp_result check_header(ply_reader *reader) {
  const ply_element *vertex = find_element(reader, "vertex");
  const ply_element *face = find_element(reader, "face");
  if (reader->format == FORMAT_COUNT) {
    return kp_fail(KP_ERROR_FORMAT, "%s: the header names no format", reader->name);
  }
  if (vertex == NULL || !has_role(reader, vertex, ROLE_X) || !has_role(reader, vertex, ROLE_Y) ||
      !has_role(reader, vertex, ROLE_Z)) {
    return kp_fail(KP_ERROR_FORMAT, "%s: the header names no vertices with x, y and z",
                   reader->name);
  }
  reader->n_vertices = (kp_index)vertex->count;
  if (face == NULL || !has_role(reader, face, ROLE_CORNERS)) {
    return kp_fail(KP_ERROR_FORMAT, "%s: the header names no faces with a list vertex_indices",
                   reader->name);
  }
  return KP_OK;
}

static kp_result read_header(ply_reader *reader) {
  char word[KP_WORD_SIZE];
  kp_words *words = &reader->words;
  if (!kp_words_next_line(words) || !kp_words_next(words, word) || strcmp(word, "ply") != 0) {
    return kp_fail(KP_ERROR_FORMAT, "%s: not a PLY file: the first line is not 'ply'",
                   reader->name);
  }
  while (kp_words_next_line(words)) {
    if (!kp_words_next(words, word) || strcmp(word, "comment") == 0 ||
        strcmp(word, "obj_info") == 0) {
      continue;
    }
    if (strcmp(word, "end_header") == 0) {
      return check_header(reader);
    }
    if (strcmp(word, "format") == 0) {
      KP_TRY(read_format(reader));
    } else if (strcmp(word, "element") == 0) {
      KP_TRY(read_element(reader));
    } else if (strcmp(word, "property") == 0) {
      KP_TRY(read_property(reader));
    } else {
      return fail_at(reader, "unknown header line", word);
    }
  }
  return kp_fail(KP_ERROR_FORMAT, "%s: the header has no end_header", reader->name);
}

// ---- body ---------------------------------------------------------------------------------------

static kp_result fail_row(const ply_reader *reader, const char *what) {
  if (reader->format == FORMAT_ASCII) {
    return kp_fail(KP_ERROR_FORMAT, "%s:%llu: %s %lld: %s", reader->name,
                   (unsigned long long)reader->words.line, reader->element->name,
                   (long long)reader->row, what);
  }
  return kp_fail(KP_ERROR_FORMAT, "%s: %s %lld: %s", reader->name, reader->element->name,
                 (long long)reader->row, what);
}

// Bytes of one value in native order; the machine's own order is found by looking.
static void copy_value(const ply_reader *reader, size_t size, const char *from, void *to) {
  const uint16_t one = 1;
  unsigned char low_first;
  memcpy(&low_first, &one, 1);
  bool is_native = (reader->format == FORMAT_LITTLE) == (low_first == 1);
  char *out = to;
  for (size_t i = 0; i < size; ++i) {
    out[i] = from[is_native ? i : size - 1 - i];
  }
}

static double binary_value(const ply_reader *reader, ply_type type, const char *from) {
  union {
    int8_t i8;
    uint8_t u8;
    int16_t i16;
    uint16_t u16;
    int32_t i32;
    uint32_t u32;
    float f32;
    double f64;
  } v = { 0 };
  copy_value(reader, types[type].size, from, &v);
  switch (type) {
  case TYPE_INT8:
    return v.i8;
  case TYPE_UINT8:
    return v.u8;
  case TYPE_INT16:
    return v.i16;
  case TYPE_UINT16:
    return v.u16;
  case TYPE_INT32:
    return v.i32;
  case TYPE_UINT32:
    return v.u32;
  case TYPE_FLOAT32:
    return (double)v.f32;
  case TYPE_FLOAT64:
    return v.f64;
  case TYPE_COUNT:
    break;
  }
  return NAN;
}

// The next value of the row; every type fits a double.
static kp_result read_value(ply_reader *reader, ply_type type, double *value) {
  kp_words *words = &reader->words;
  if (reader->format == FORMAT_ASCII) {
    char word[KP_WORD_SIZE];
    if (kp_words_next_number(words, word, value)) {
      return KP_OK;
    }
    return fail_row(reader, word[0] == '\0' ? "has too few values"
                                            : "has a value that is no finite number");
  }
  size_t size = types[type].size;
  if ((size_t)(words->end - words->at) < size) {
    return fail_row(reader, "is cut off by the end of the file");
  }
  *value = binary_value(reader, type, words->at);
  words->at += size;
  return KP_OK;
}

static kp_result read_corner(ply_reader *reader, ply_type type, kp_index *vertex) {
  double value;
  KP_TRY(read_value(reader, type, &value));
  if (!(value >= 0.0 && value < (double)reader->n_vertices) || value != floor(value)) {
    char what[96];
    kp_text text = { 0 };
    kp_result result =
        kp_text_add(&text, "uses vertex %.15g, but there are only %d", value, reader->n_vertices);
    kp_text_copy(what, sizeof what,
                 result == KP_OK ? text.data : "uses a vertex that does not exist");
    kp_text_free(&text);
    return fail_row(reader, what);
  }
  *vertex = (kp_index)value;
  return KP_OK;
}

// A list of n corners as a fan of triangles.
static kp_result read_corners(ply_reader *reader, ply_type type, int64_t n) {
  if (n < 3) {
    return fail_row(reader, "has fewer than 3 corners");
  }
  kp_triangle fan = { { 0, 0, 0 } };
  for (int64_t i = 0; i < n; ++i) {
    kp_index vertex = 0;
    KP_TRY(read_corner(reader, type, &vertex));
    if (i == 0) {
      fan.v[0] = vertex;
      continue;
    }
    fan.v[1] = fan.v[2];
    fan.v[2] = vertex;
    if (i >= 2 && kp_triangle_is_proper(&fan)) {
      KP_TRY(kp_array_push(&reader->triangles, fan));
    }
  }
  return KP_OK;
}

static kp_result read_list(ply_reader *reader, const ply_property *property) {
  double length;
  KP_TRY(read_value(reader, property->count_type, &length));
  if (!(length >= 0.0 && length <= (double)INT32_MAX) || length != floor(length)) {
    return fail_row(reader, "has a list with a length that is no count");
  }
  int64_t n = (int64_t)length;
  if (property->role == ROLE_CORNERS) {
    return read_corners(reader, property->type, n);
  }
  double ignored;
  for (int64_t i = 0; i < n; ++i) {
    KP_TRY(read_value(reader, property->type, &ignored));
  }
  return KP_OK;
}

static kp_result read_row(ply_reader *reader) {
  const ply_element *element = reader->element;
  double place[3] = { 0.0, 0.0, 0.0 };
  for (size_t i = 0; i < element->n; ++i) {
    const ply_property *property = &reader->properties.data[element->first + i];
    if (property->is_list) {
      KP_TRY(read_list(reader, property));
      continue;
    }
    double value;
    KP_TRY(read_value(reader, property->type, &value));
    if (property->role != ROLE_NONE) {
      if (!isfinite(value)) {
        return fail_row(reader, "has a coordinate that is no finite number");
      }
      place[property->role - ROLE_X] = value;
    }
  }
  if (strcmp(element->name, "vertex") == 0) {
    reader->mesh.vertices[reader->row] = kp_vec3_make(place[0], place[1], place[2]);
  }
  return KP_OK;
}

// The next line that is not blank.
static bool next_full_line(kp_words *words) {
  while (kp_words_next_line(words)) {
    kp_words ahead = *words;
    char word[KP_WORD_SIZE];
    if (kp_words_next(&ahead, word)) {
      return true;
    }
  }
  return false;
}

// Every row takes room in the file: a line, or the bytes of its values with empty lists. So a wrong
// count is found before anything is allocated for it.
static kp_result check_room(const ply_reader *reader, const ply_element *element) {
  size_t row_size = 0;
  for (size_t i = 0; i < element->n; ++i) {
    const ply_property *p = &reader->properties.data[element->first + i];
    row_size += types[p->is_list ? p->count_type : p->type].size;
  }
  if (reader->format == FORMAT_ASCII) {
    row_size = element->n > 0 ? 2 * element->n : 0;
  }
  // the last line may lack its newline
  size_t left = (size_t)(reader->words.end - reader->words.at) + 1;
  if (row_size > 0 && (uint64_t)element->count > left / row_size) {
    return kp_fail(KP_ERROR_FORMAT, "%s: the header says %lld rows of %s, but the file ends before",
                   reader->name, (long long)element->count, element->name);
  }
  return KP_OK;
}

static kp_result read_rows(ply_reader *reader, const ply_element *element) {
  KP_TRY(check_room(reader, element));
  if (strcmp(element->name, "vertex") == 0) {
    KP_TRY(kp_mesh_create((kp_index)element->count, 0, &reader->mesh));
  }
  reader->element = element;
  int64_t n_rows = element->n > 0 ? element->count : 0;
  for (reader->row = 0; reader->row < n_rows; ++reader->row) {
    if (reader->format == FORMAT_ASCII && !next_full_line(&reader->words)) {
      return fail_row(reader, "is missing: the file ends before");
    }
    KP_TRY(read_row(reader));
    char word[KP_WORD_SIZE];
    if (reader->format == FORMAT_ASCII && kp_words_next(&reader->words, word)) {
      return fail_row(reader, "has too many values");
    }
  }
  return KP_OK;
}

static kp_result read_body(ply_reader *reader) {
  if (reader->format != FORMAT_ASCII) {
    // the bytes behind the newline of end_header
    const char *line_end = reader->words.line_end;
    reader->words.at = line_end < reader->words.end ? line_end + 1 : reader->words.end;
  }
  for (size_t i = 0; i < reader->elements.count; ++i) {
    KP_TRY(read_rows(reader, &reader->elements.data[i]));
  }
  if (reader->triangles.count == 0) {
    return kp_fail(KP_ERROR_FORMAT, "%s: holds no faces", reader->name);
  }
  if (reader->triangles.count > INT32_MAX) {
    return kp_fail(KP_ERROR_FORMAT, "%s: more than 2^31 triangles", reader->name);
  }
  return KP_OK;
}

// Hand the triangles over to the mesh.
static void finish(ply_reader *reader, kp_mesh *mesh) {
  kp_free(reader->mesh.triangles);
  reader->mesh.triangles = reader->triangles.data;
  reader->mesh.n_triangles = (kp_index)reader->triangles.count;
  *mesh = reader->mesh;
}

kp_result kp_ply_parse(const void *bytes, size_t n_bytes, const char *name, kp_mesh *mesh) {
  *mesh = (kp_mesh){ 0 };
  ply_reader reader = { .name = name,
                        .words = kp_words_begin(bytes, n_bytes),
                        .format = FORMAT_COUNT };
  kp_result result;
  KP_TRY_GOTO(result, read_header(&reader), done);
  result = read_body(&reader);
done:
  if (result == KP_OK) {
    finish(&reader, mesh);
  } else {
    kp_array_free(&reader.triangles);
    kp_mesh_destroy(&reader.mesh);
  }
  kp_array_free(&reader.elements);
  kp_array_free(&reader.properties);
  return result;
}

kp_result kp_ply_read(const char *path, kp_mesh *mesh) {
  return kp_mesh_read_with(kp_ply_parse, path, mesh);
}
