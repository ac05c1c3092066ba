#include "io/vtk_arrays.h"

#include <string.h>

enum { VTK_EMPTY_CELL = 0, VTK_VERTEX = 1, VTK_POLY_LINE = 4, VTK_TRIANGLE = 5, VTK_TETRA = 10 };

// ---- fields

static void fill_field(const kp_array_source *source, uint64_t first, size_t n, void *out) {
  const kp_export_field *field = source->data;
  size_t size = kp_item_size(source->type);
  bool is_narrowed = source->type != field->type;
  for (int c = 0; c < field->n_components; ++c) {
    char *to = (char *)out + (size_t)c * size;
    for (size_t i = 0; i < n; ++i, to += (size_t)field->n_components * size) {
      const void *item = kp_export_item(field, c, first + i);
      float narrow = is_narrowed ? (float)*(const double *)item : 0.0f;
      memcpy(to, is_narrowed ? &narrow : item, size);
    }
  }
}

kp_array_source kp_vtk_field_array(const kp_export_field *field, uint64_t n_tuples,
                                   uint32_t flags) {
  bool is_narrowed = field->type == KP_ITEM_F64 && (flags & KP_EXPORT_FLOAT32) != 0;
  return (kp_array_source){ .name = field->name,
                            .unit = field->unit,
                            .type = is_narrowed ? KP_ITEM_F32 : field->type,
                            .n_components = field->n_components,
                            .n_tuples = n_tuples,
                            .fill = fill_field,
                            .data = field };
}

// ---- cells

uint64_t kp_vtk_count_cells(const kp_export_object *object) {
  return object->tets != NULL        ? object->n_tets
         : object->triangles != NULL ? object->n_triangles
         : object->offsets != NULL   ? object->n_curves
                                     : object->n_points;
}

static uint64_t count_corners(const kp_export_object *object) {
  return object->tets != NULL        ? 4 * object->n_tets
         : object->triangles != NULL ? 3 * object->n_triangles
                                     : object->n_points;
}

static void fill_connectivity(const kp_array_source *source, uint64_t first, size_t n, void *out) {
  const kp_export_object *object = source->data;
  int64_t *to = out;
  for (size_t i = 0; i < n; ++i) {
    uint64_t corner = first + i;
    to[i] = (int64_t)(object->tets != NULL        ? object->tets[corner]
                      : object->triangles != NULL ? object->triangles[corner]
                                                  : corner);
  }
}

// First corner of cell i, or behind the last one.
static int64_t cell_start(const kp_export_object *object, uint64_t i) {
  return (int64_t)(object->tets != NULL        ? 4 * i
                   : object->triangles != NULL ? 3 * i
                   : object->offsets != NULL   ? object->offsets[i]
                                               : i);
}

static void fill_starts(const kp_array_source *source, uint64_t first, size_t n, void *out) {
  int64_t *to = out;
  for (size_t i = 0; i < n; ++i) {
    to[i] = cell_start(source->data, first + i);
  }
}

static void fill_ends(const kp_array_source *source, uint64_t first, size_t n, void *out) {
  fill_starts(source, first + 1, n, out);
}

static void fill_types(const kp_array_source *source, uint64_t first, size_t n, void *out) {
  const kp_export_object *object = source->data;
  uint8_t *to = out;
  if (object->offsets == NULL) {
    memset(to,
           object->tets != NULL        ? VTK_TETRA
           : object->triangles != NULL ? VTK_TRIANGLE
                                       : VTK_VERTEX,
           n);
    return;
  }
  for (size_t i = 0; i < n; ++i) {
    uint64_t n_points = object->offsets[first + i + 1] - object->offsets[first + i];
    to[i] = n_points == 0 ? VTK_EMPTY_CELL : n_points == 1 ? VTK_VERTEX : VTK_POLY_LINE;
  }
}

static kp_array_source cell_array(const kp_export_object *object, const char *name,
                                  kp_array_fill_fn fill, uint64_t n_tuples) {
  return (kp_array_source){ .name = name,
                            .unit = "",
                            .type = KP_ITEM_I64,
                            .n_components = 1,
                            .n_tuples = n_tuples,
                            .fill = fill,
                            .data = object };
}

kp_array_source kp_vtk_connectivity(const kp_export_object *object) {
  return cell_array(object, "connectivity", fill_connectivity, count_corners(object));
}

kp_array_source kp_vtk_cell_ends(const kp_export_object *object) {
  return cell_array(object, "offsets", fill_ends, kp_vtk_count_cells(object));
}

kp_array_source kp_vtk_cell_starts(const kp_export_object *object) {
  return cell_array(object, "offsets", fill_starts, kp_vtk_count_cells(object) + 1);
}

kp_array_source kp_vtk_cell_types(const kp_export_object *object) {
  kp_array_source types = cell_array(object, "types", fill_types, kp_vtk_count_cells(object));
  types.type = KP_ITEM_U8;
  return types;
}
