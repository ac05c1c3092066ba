// PLY, binary: points with every field as a property, meshes with faces, curves with edges. Read by
// Blender, Houdini, MeshLab, ParaView and CloudCompare.
//
// PLY knows no 64-bit integers. They are written as two 32-bit properties: `id` holds the lower
// half, which is the whole id of all but gigantic runs, and `id_high` the upper half.
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "io/export.h"
#include "io/files.h"
#include "io/number.h"

#define ROWS_PER_BLOCK 1024

typedef struct property {
  char name[KP_SECTION_NAME_SIZE + 32];
  const char *unit;
  kp_item_type type;  // as written
  bool is_narrowed;   // double in memory, float in the file
  const char *data;
  size_t stride;
} property;

static const char *const type_names[KP_ITEM_TYPE_COUNT] = {
  [KP_ITEM_F32] = "float", [KP_ITEM_F64] = "double", [KP_ITEM_U8] = "uchar",
  [KP_ITEM_I32] = "int",   [KP_ITEM_U32] = "uint",
};

// Adds the one or two properties of a column; returns how many.
static size_t take_column(const kp_export_column *column, uint32_t flags, property out[2]) {
  property whole = {
    .unit = column->unit, .type = column->type, .data = column->data, .stride = column->stride
  };
  (void)snprintf(whole.name, sizeof whole.name, "%s", column->name);
  if (column->type == KP_ITEM_F64 && (flags & KP_EXPORT_FLOAT32) != 0) {
    whole.type = KP_ITEM_F32;
    whole.is_narrowed = true;
  }
  out[0] = whole;
  if (column->type != KP_ITEM_I64 && column->type != KP_ITEM_U64) {
    return 1;
  }
  size_t low = kp_export_is_little_endian() ? 0 : 4;
  out[1] = whole;
  out[0].type = KP_ITEM_U32;
  out[0].data = whole.data + low;
  out[1].type = column->type == KP_ITEM_I64 ? KP_ITEM_I32 : KP_ITEM_U32;
  out[1].data = whole.data + (4 - low);
  (void)snprintf(out[1].name, sizeof out[1].name, "%s_high", column->name);
  return 2;
}

static uint64_t count_edges(const kp_export_object *object) {
  uint64_t n = 0;
  for (uint64_t i = 0; i < object->n_curves; ++i) {
    uint64_t n_points = object->offsets[i + 1] - object->offsets[i];
    n += n_points > 0 ? n_points - 1 : 0;
  }
  return n;
}

static void write_header(kp_file *file, const kp_frame *frame, const kp_export_object *object,
                         const property *properties, size_t n_properties) {
  char time[KP_NUMBER_SIZE];
  kp_number_format(time, frame->time);
  kp_file_print(file, "ply\nformat binary_%s_endian 1.0\n",
                kp_export_is_little_endian() ? "little" : "big");
  kp_file_print(file, "comment Kelpie %s\ncomment frame %" PRIu64 "\ncomment time %s s\n",
                KP_VERSION_STRING, frame->frame, time);
  kp_file_print(file, "comment up_axis %s\n", kp_export_axis_name(frame));
  for (size_t i = 0; i < n_properties; ++i) {
    if (properties[i].unit[0] != '\0') {
      kp_file_print(file, "comment unit %s %s\n", properties[i].name, properties[i].unit);
    }
  }
  const char *name = object->set != NULL ? object->set->names : NULL;
  for (uint64_t i = 0; i < object->n_points && name != NULL; ++i) {
    kp_file_print(file, "comment name %" PRIu64 " %s\n", i, name);
    name += strlen(name) + 1;
  }
  kp_file_print(file, "element vertex %" PRIu64 "\n", object->n_points);
  for (size_t i = 0; i < n_properties; ++i) {
    kp_file_print(file, "property %s %s\n", type_names[properties[i].type], properties[i].name);
  }
  if (object->triangles != NULL) {
    kp_file_print(file, "element face %" PRIu64 "\nproperty list uchar int vertex_indices\n",
                  object->n_triangles);
  }
  if (object->offsets != NULL) {
    kp_file_print(file, "element edge %" PRIu64 "\nproperty int vertex1\nproperty int vertex2\n",
                  count_edges(object));
  }
  kp_file_print(file, "end_header\n");
}

// Rows are gathered column after column into a block, so that each column is read in one stream.
static kp_result write_vertices(kp_file *file, uint64_t n_points, const property *properties,
                                size_t n_properties) {
  size_t row_size = 0;
  for (size_t i = 0; i < n_properties; ++i) {
    row_size += kp_item_size(properties[i].type);
  }
  char *block = kp_alloc(row_size * ROWS_PER_BLOCK, KP_MEMORY_IO);
  if (block == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (uint64_t first = 0; first < n_points; first += ROWS_PER_BLOCK) {
    uint64_t left = n_points - first;
    size_t n_rows = left < ROWS_PER_BLOCK ? (size_t)left : ROWS_PER_BLOCK;
    char *column = block;
    for (size_t i = 0; i < n_properties; ++i) {
      const property *p = &properties[i];
      size_t size = kp_item_size(p->type);
      for (size_t row = 0; row < n_rows; ++row) {
        const char *item = p->data + (first + row) * p->stride;
        float narrow = p->is_narrowed ? (float)*(const double *)item : 0.0f;
        memcpy(column + row * row_size, p->is_narrowed ? (const char *)&narrow : item, size);
      }
      column += size;
    }
    kp_file_add(file, block, n_rows * row_size);
  }
  kp_free(block);
  return KP_OK;
}

static void write_faces(kp_file *file, const kp_export_object *object) {
  for (uint64_t i = 0; i < object->n_triangles; ++i) {
    char face[1 + 3 * sizeof(uint32_t)];
    face[0] = 3;
    memcpy(face + 1, object->triangles + 3 * i, 3 * sizeof(uint32_t));
    kp_file_add(file, face, sizeof face);
  }
}

static void write_edges(kp_file *file, const kp_export_object *object) {
  for (uint64_t curve = 0; curve < object->n_curves; ++curve) {
    for (uint64_t i = object->offsets[curve]; i + 1 < object->offsets[curve + 1]; ++i) {
      const uint32_t edge[2] = { (uint32_t)i, (uint32_t)(i + 1) };
      kp_file_add(file, edge, sizeof edge);
    }
  }
}

static kp_result write_object(const kp_frame *frame, const kp_export_object *object, uint32_t flags,
                              const char *path) {
  bool has_indices = object->triangles != NULL || object->offsets != NULL;
  if (has_indices && object->n_points > INT32_MAX) {
    return kp_fail(KP_ERROR_ARGUMENT, "%s: PLY cannot connect more than 2^31 points", path);
  }
  kp_export_column *columns = NULL;
  size_t n_columns, n_properties = 0;
  KP_TRY(kp_export_columns_make(object, &columns, &n_columns));
  kp_file file = { 0 };
  kp_result result = KP_OK;
  property *properties = kp_alloc(2 * n_columns * sizeof *properties, KP_MEMORY_IO);
  if (properties == NULL) {
    result = KP_ERROR_MEMORY;
    goto done;
  }
  for (size_t i = 0; i < n_columns; ++i) {
    n_properties += take_column(&columns[i], flags, &properties[n_properties]);
  }
  KP_TRY_GOTO(result, kp_file_begin(&file, path), done);
  write_header(&file, frame, object, properties, n_properties);
  result = write_vertices(&file, object->n_points, properties, n_properties);
  if (result != KP_OK) {
    kp_file_discard(&file);
    goto done;
  }
  write_faces(&file, object);
  write_edges(&file, object);
  result = kp_file_commit(&file);
done:
  kp_free(properties);
  kp_free(columns);
  return result;
}

static kp_result write_ply(const kp_frame *frame, const char *folder, uint32_t flags,
                           kp_export_list *list) {
  static const kp_export_walk walk = { "ply", NULL, write_object };
  return kp_export_each(&walk, frame, folder, flags, list);
}

const kp_exporter kp_export_ply = {
  .name = "ply",
  .extension = "ply",
  .text =
      "Binary PLY: particles, meshes and curves with all fields, for Blender, Houdini, MeshLab.",
  .write = write_ply,
};
