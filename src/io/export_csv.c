// Points as text: one line per point, units in the header. For spreadsheets, pandas and quick
// looks.
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "io/export.h"
#include "io/files.h"
#include "io/number.h"

static size_t format_item(const kp_export_column *column, uint64_t index,
                          char out[KP_NUMBER_SIZE]) {
  const char *item = (const char *)column->data + index * column->stride;
  switch (column->type) {
  case KP_ITEM_F32:
    kp_number_format_float(out, *(const float *)item);
    break;
  case KP_ITEM_I64:
    (void)snprintf(out, KP_NUMBER_SIZE, "%" PRId64, *(const int64_t *)item);
    break;
  case KP_ITEM_U64:
    (void)snprintf(out, KP_NUMBER_SIZE, "%" PRIu64, *(const uint64_t *)item);
    break;
  default:
    // smaller integers are exact as double
    kp_number_format(out, kp_item_value(column->type, item));
    break;
  }
  return strlen(out);
}

static void write_header(kp_file *file, const kp_export_column *columns, size_t n_columns,
                         bool has_names) {
  for (size_t i = 0; i < n_columns; ++i) {
    kp_file_print(file, "%s%s", i > 0 ? "," : "", columns[i].name);
    if (columns[i].unit[0] != '\0') {
      kp_file_print(file, " [%s]", columns[i].unit);
    }
  }
  kp_file_print(file, has_names ? ",name\n" : "\n");
}

static kp_result write_object(const kp_frame *frame, const kp_export_object *object, uint32_t flags,
                              const char *path) {
  (void)frame;
  (void)flags;
  kp_export_column *columns;
  size_t n_columns;
  KP_TRY(kp_export_columns_make(object, &columns, &n_columns));
  kp_file file;
  kp_result result = kp_file_begin(&file, path);
  if (result == KP_OK) {
    const char *name = object->set != NULL ? object->set->names : NULL;
    write_header(&file, columns, n_columns, name != NULL);
    for (uint64_t row = 0; row < object->n_points; ++row) {
      for (size_t i = 0; i < n_columns; ++i) {
        char number[KP_NUMBER_SIZE + 1];
        size_t n = format_item(&columns[i], row, number);
        number[n] = i + 1 < n_columns || name != NULL ? ',' : '\n';
        kp_file_add(&file, number, n + 1);
      }
      if (name != NULL) {
        kp_file_print(&file, "%s\n", name);
        name += strlen(name) + 1;
      }
    }
    result = kp_file_commit(&file);
  }
  kp_free(columns);
  return result;
}

static kp_result write_csv(const kp_frame *frame, const char *folder, uint32_t flags,
                           kp_export_list *list) {
  static const kp_export_walk walk = { "csv", NULL, write_object };
  return kp_export_each(&walk, frame, folder, flags, list);
}

const kp_exporter kp_export_csv = {
  .name = "csv",
  .extension = "csv",
  .text = "Particles and vertices as text with units in the header, for pandas and spreadsheets.",
  .write = write_csv,
};
