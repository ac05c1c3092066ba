// VTK's XML files with appended data: the text of the head is built first, with places for the
// offsets of the arrays, which are filled in when the data behind it has been written.
//
//   kp_vtk vtk;
//   kp_vtk_begin(&vtk, "ImageData", flags);
//   kp_vtk_text(&vtk, "<Points>\n");
//   kp_vtk_array(&vtk, &array);            // a DataArray element now, its data when the file is
//   written
//   ...
//   result = kp_vtk_write(&vtk, path);
//   kp_vtk_free(&vtk);
//
// Data is cut into blocks that the worker threads fill and, unless KP_EXPORT_PLAIN is set,
// compress.
#pragma once

#include "base/text.h"
#include "io/export.h"

typedef struct kp_vtk_source kp_vtk_source;

// Writes the tuples [first, first + n) to out, as the file is to hold them. Called from worker
// threads.
typedef void (*kp_vtk_fill_fn)(const kp_vtk_source *source, uint64_t first, size_t n, void *out);

struct kp_vtk_source {
  const char *name, *unit;
  kp_item_type type;  // in the file
  int n_components;
  uint64_t n_tuples;
  kp_vtk_fill_fn fill;
  const void *data;  // for fill; must live until the file is written
};

typedef struct kp_vtk_pending {
  kp_vtk_source source;
  size_t offset_place;  // of the digits of the offset, in the text
} kp_vtk_pending;

typedef struct kp_vtk {
  uint32_t flags;
  kp_text text;
  kp_vtk_pending *arrays;
  size_t n_arrays, array_capacity;
  kp_result result;  // of the first failure; later calls do nothing
} kp_vtk;

// The opening element; type is "UnstructuredGrid" or "ImageData".
void kp_vtk_begin(kp_vtk *vtk, const char *type, uint32_t flags);
void kp_vtk_text(kp_vtk *vtk, const char *format, ...) KP_PRINTF(2, 3);
void kp_vtk_array(kp_vtk *vtk, const kp_vtk_source *source);

// An array of an exporter's field, narrowed when the flags say so; the field must outlive the
// writing.
void kp_vtk_field(kp_vtk *vtk, const kp_export_field *field, uint64_t n_tuples);

// FieldData with time, frame, up axis and unit of length.
void kp_vtk_frame_data(kp_vtk *vtk, const kp_frame *frame);
KP_NODISCARD kp_result kp_vtk_write(kp_vtk *vtk, const char *path);
void kp_vtk_free(kp_vtk *vtk);
