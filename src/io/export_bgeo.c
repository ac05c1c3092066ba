// Houdini's classic geometry, BGEO version 5, big endian: particles without primitives.
//
//   "Bgeo" 'V' 5, points, primitives, groups of points, groups of primitives, then the numbers of
//   attributes of points, vertices, primitives and the whole        (all int32)
//   per attribute of points: length and letters of the name, size (int16), type (int32: 0 float,
//   1 integer, 5 vector), one default per component
//   per point: x y z w, then its attributes; two bytes 0x00 0xff at the end
//
// Names are Houdini's: v, id, pscale, density. Its integers have 32 bits: where a 64-bit field does
// not fit, the upper half follows as <name>_high.
#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "io/byte_order.h"
#include "io/export.h"

enum { BGEO_FLOAT = 0, BGEO_INT = 1, BGEO_VECTOR = 5, POINTS_PER_BLOCK = 4096 };

typedef struct attribute {
  char name[KP_SECTION_NAME_SIZE + 16];
  const kp_export_field *field;
  uint32_t type;
  int shift;  // bits of a 64-bit integer left out below
} attribute;

static const char *houdini_name(const char *name) {
  static const char *const known[][2] = {
    { "velocity", "v" }, { "radius", "pscale" }, { "normal", "N" }, { "colour", "Cd" }
  };
  for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
    if (strcmp(known[i][0], name) == 0) {
      return known[i][1];
    }
  }
  return name;
}

static bool is_float(const kp_export_field *field) {
  return field->type == KP_ITEM_F32 || field->type == KP_ITEM_F64;
}

static bool is_wide(const kp_export_field *field) {
  return field->type == KP_ITEM_I64 || field->type == KP_ITEM_U64;
}

static uint64_t wide_value(const kp_export_field *field, int component, uint64_t index) {
  uint64_t bits;
  memcpy(&bits, kp_export_item(field, component, index), sizeof bits);
  return bits;
}

static bool needs_upper_half(const kp_export_field *field, uint64_t n_points) {
  for (int c = 0; is_wide(field) && c < field->n_components; ++c) {
    for (uint64_t i = 0; i < n_points; ++i) {
      int64_t value = (int64_t)wide_value(field, c, i);
      if (value < INT32_MIN || value > INT32_MAX) {
        return true;
      }
    }
  }
  return false;
}

// All fields but the position, which every point has. Houdini draws points by their pscale, so
// there is one for all points where they have no radius.
static size_t list_attributes(const kp_export_object *object, const kp_export_field *pscale,
                              attribute *out) {
  size_t n = 0;
  if (kp_export_find(object, "radius", 1) == NULL) {
    out[n++] = (attribute){ .name = "pscale", .field = pscale, .type = BGEO_FLOAT };
  }
  for (size_t i = 1; i < object->n_fields; ++i) {
    const kp_export_field *field = &object->fields[i];
    attribute a = { .field = field,
                    .type = !is_float(field)           ? BGEO_INT
                            : field->n_components == 3 ? BGEO_VECTOR
                                                       : BGEO_FLOAT };
    kp_export_clean_name(a.name, KP_SECTION_NAME_SIZE, houdini_name(field->name));
    out[n++] = a;
    if (needs_upper_half(field, object->n_points)) {
      size_t length = strlen(a.name);
      kp_text_copy(a.name + length, sizeof a.name - length, "_high");
      a.shift = 32;
      out[n++] = a;
    }
  }
  return n;
}

static uint32_t bits_of(const attribute *a, int component, uint64_t index) {
  if (is_wide(a->field)) {
    return (uint32_t)(wide_value(a->field, component, index) >> a->shift);
  }
  double value = kp_export_value(a->field, component, index);
  if (a->type == BGEO_INT) {
    return (uint32_t)(int64_t)value;
  }
  return kp_bits_of_float((float)value);
}

static void write_header(kp_file *file, uint64_t n_points, const attribute *attributes, size_t n) {
  const uint32_t counts[9] = { 5, (uint32_t)n_points, 0, 0, 0, (uint32_t)n, 0, 0, 0 };
  kp_file_add(file, "BgeoV", 5);
  for (size_t i = 0; i < 9; ++i) {
    kp_file_add_big(file, counts[i]);
  }
  for (size_t i = 0; i < n; ++i) {
    const attribute *a = &attributes[i];
    kp_file_add_big_short(file, (uint16_t)strlen(a->name));
    kp_file_add(file, a->name, strlen(a->name));
    kp_file_add_big_short(file, (uint16_t)a->field->n_components);
    kp_file_add_big(file, a->type);
    for (int c = 0; c < a->field->n_components; ++c) {
      kp_file_add_big(file, 0);
    }
  }
}

static kp_result write_points(kp_file *file, const kp_export_object *object,
                              const attribute *attributes, size_t n) {
  const attribute position = { .field = &object->fields[0], .type = BGEO_VECTOR };
  size_t words = 4;
  for (size_t i = 0; i < n; ++i) {
    words += (size_t)attributes[i].field->n_components;
  }
  unsigned char *block = kp_alloc(POINTS_PER_BLOCK * words * 4, KP_MEMORY_IO);
  if (block == NULL) {
    return KP_ERROR_MEMORY;
  }
  unsigned char *to = block;
  for (uint64_t p = 0; p < object->n_points; ++p) {
    for (int c = 0; c < 3; ++c, to += 4) {
      kp_put_big(to, bits_of(&position, c, p));
    }
    kp_put_big(to, kp_bits_of_float(1.0f));
    to += 4;
    for (size_t i = 0; i < n; ++i) {
      for (int c = 0; c < attributes[i].field->n_components; ++c, to += 4) {
        kp_put_big(to, bits_of(&attributes[i], c, p));
      }
    }
    if ((p + 1) % POINTS_PER_BLOCK == 0 || p + 1 == object->n_points) {
      kp_file_add(file, block, (size_t)(to - block));
      to = block;
    }
  }
  kp_free(block);
  return KP_OK;
}

static kp_result write_object(const kp_frame *frame, const kp_export_object *object, uint32_t flags,
                              const char *path) {
  (void)frame;
  (void)flags;
  if (object->n_points > INT32_MAX) {
    return kp_fail(KP_ERROR_ARGUMENT, "%s: BGEO cannot hold more than 2^31 points", path);
  }
  attribute *attributes = kp_alloc((2 * object->n_fields + 1) * sizeof *attributes, KP_MEMORY_IO);
  if (attributes == NULL) {
    return KP_ERROR_MEMORY;
  }
  const float radius = (float)kp_frame_set_radius(object->set);
  const void *data = &radius;
  const kp_export_field pscale = { "radius", "m", KP_ITEM_F32, 1, &data, 0 };
  size_t n = list_attributes(object, &pscale, attributes);
  kp_file file;
  kp_result result = kp_file_begin(&file, path);
  if (result == KP_OK) {
    write_header(&file, object->n_points, attributes, n);
    result = write_points(&file, object, attributes, n);
    kp_file_add(&file, "\x00\xff", 2);
    if (result == KP_OK) {
      result = kp_file_commit(&file);
    } else {
      kp_file_discard(&file);
    }
  }
  kp_free(attributes);
  return result;
}

static bool is_set(const kp_export_object *object) {
  return object->set != NULL;
}

static kp_result write_bgeo(const kp_frame *frame, const char *folder, uint32_t flags,
                            kp_export_list *list) {
  static const kp_export_walk walk = { "bgeo", is_set, write_object };
  return kp_export_each(&walk, frame, folder, flags, list);
}

const kp_exporter kp_export_bgeo = {
  .name = "bgeo",
  .extension = "bgeo",
  .text = "Houdini's classic geometry: particles with v, id, pscale and all other fields.",
  .write = write_bgeo,
};
