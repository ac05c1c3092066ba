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
// Data is compressed unless KP_EXPORT_PLAIN is set.
#pragma once

#include "base/text.h"
#include "io/vtk_arrays.h"

typedef struct kp_vtk_pending {
  kp_array_source source;
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
void kp_vtk_array(kp_vtk *vtk, const kp_array_source *source);

// An array of an exporter's field, which must outlive the writing.
void kp_vtk_field(kp_vtk *vtk, const kp_export_field *field, uint64_t n_tuples);

// FieldData with time, frame, up axis and unit of length.
void kp_vtk_frame_data(kp_vtk *vtk, const kp_frame *frame);
KP_NODISCARD kp_result kp_vtk_write(kp_vtk *vtk, const char *path);
void kp_vtk_free(kp_vtk *vtk);
