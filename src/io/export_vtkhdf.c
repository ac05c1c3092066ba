// VTKHDF 1.0 for ParaView from 5.10 on: an UnstructuredGrid per set, mesh or bundle of curves, an
// ImageData per volume, one file per object and frame, and a .series file that gives every file its
// physical time. (VTK's page "VTK HDF file format"; version 1.0 is what every reader knows.)
#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "io/export.h"
#include "io/hdf_writer.h"
#include "io/number.h"
#include "io/vtk_arrays.h"

// ".hdf" is known to every ParaView that reads the format, ".vtkhdf" from 5.12 on only.
#define EXTENSION "hdf"

// ---- numbers that are datasets

static void fill_values(const kp_array_source *source, uint64_t first, size_t n, void *out) {
  size_t size = kp_item_size(source->type);
  memcpy(out, (const char *)source->data + first * size, n * size);
}

static void add_values(kp_hdf *hdf, kp_hdf_group *group, const char *name, kp_item_type type,
                       const void *value) {
  const kp_array_source source = { .name = name,
                                   .unit = "",
                                   .type = type,
                                   .n_components = 1,
                                   .n_tuples = 1,
                                   .fill = fill_values,
                                   .data = value };
  kp_hdf_dataset(hdf, group, name, &(kp_hdf_shape){ 1, { 1 } }, &source);
}

// ---- files

static void begin_grid(kp_hdf *hdf, kp_hdf_group *group, const kp_frame *frame, const char *type) {
  const int64_t version[2] = { 1, 0 };
  kp_hdf_numbers(hdf, group, "Version", KP_ITEM_I64, version, 2);
  kp_hdf_text(hdf, group, "Type", type);
  kp_hdf_text(hdf, group, "up_axis", kp_export_axis_name(frame));
  kp_hdf_text(hdf, group, "length_unit", "m");
  kp_hdf_numbers(hdf, group, "time", KP_ITEM_F64, &frame->time, 1);
}

static kp_result end_grid(kp_hdf *hdf, kp_hdf_group *group) {
  kp_hdf_group root = { 0 };
  kp_hdf_end_group(hdf, &root, "VTKHDF", group);
  return kp_hdf_commit(hdf, &root);
}

// Not for images, of which readers up to VTK 9.1 want three axes here too.
static void add_frame_data(kp_hdf *hdf, kp_hdf_group *group, const kp_frame *frame) {
  const int64_t number = (int64_t)frame->frame;
  kp_hdf_group facts = { 0 };
  add_values(hdf, &facts, "TimeValue", KP_ITEM_F64, &frame->time);
  add_values(hdf, &facts, "frame", KP_ITEM_I64, &number);
  kp_hdf_end_group(hdf, group, "FieldData", &facts);
}

// An array of an object without axes of its own: tuples, and components where there are more than
// one.
static void add_array(kp_hdf *hdf, kp_hdf_group *group, const char *name,
                      const kp_array_source *source) {
  kp_hdf_shape shape = { .rank = source->n_components > 1 ? 2 : 1 };
  shape.dims[0] = source->n_tuples;
  shape.dims[1] = (uint64_t)source->n_components;
  kp_hdf_dataset(hdf, group, name, &shape, source);
}

static kp_result write_object(const kp_frame *frame, const kp_export_object *object, uint32_t flags,
                              const char *path) {
  kp_hdf hdf;
  kp_hdf_group group = { 0 }, points = { 0 };
  KP_TRY(kp_hdf_begin(&hdf, path, (flags & KP_EXPORT_PLAIN) == 0));
  begin_grid(&hdf, &group, frame, "UnstructuredGrid");
  const kp_array_source corners = kp_vtk_connectivity(object), types = kp_vtk_cell_types(object);
  const kp_array_source starts = kp_vtk_cell_starts(object);
  const int64_t counts[3] = { (int64_t)object->n_points, (int64_t)types.n_tuples,
                              (int64_t)corners.n_tuples };
  add_values(&hdf, &group, "NumberOfPoints", KP_ITEM_I64, &counts[0]);
  add_values(&hdf, &group, "NumberOfCells", KP_ITEM_I64, &counts[1]);
  add_values(&hdf, &group, "NumberOfConnectivityIds", KP_ITEM_I64, &counts[2]);
  for (size_t i = 0; i < object->n_fields; ++i) {
    char name[KP_SECTION_NAME_SIZE];
    const kp_array_source array = kp_vtk_field_array(&object->fields[i], object->n_points, flags);
    kp_export_clean_name(name, sizeof name, array.name);
    add_array(&hdf, i == 0 ? &group : &points, i == 0 ? "Points" : name, &array);
  }
  add_array(&hdf, &group, "Connectivity", &corners);
  add_array(&hdf, &group, "Offsets", &starts);
  add_array(&hdf, &group, "Types", &types);
  kp_hdf_end_group(&hdf, &group, "PointData", &points);
  add_frame_data(&hdf, &group, frame);
  return end_grid(&hdf, &group);
}

// Values stand at points in the middle of cells: readers up to VTK 9.1 look for as many values of
// cells as there are points and find none.
static void add_image_head(kp_hdf *hdf, kp_hdf_group *group, const kp_frame_volume *volume) {
  const uint64_t *n = volume->dims;
  const double h = volume->spacing;
  const int64_t extent[6] = { 0, (int64_t)n[0] - 1, 0, (int64_t)n[1] - 1, 0, (int64_t)n[2] - 1 };
  const double origin[3] = { volume->origin.x + 0.5 * h, volume->origin.y + 0.5 * h,
                             volume->origin.z + 0.5 * h };
  const double spacing[3] = { h, h, h };
  const double direction[9] = { 1, 0, 0, 0, 1, 0, 0, 0, 1 };
  kp_hdf_numbers(hdf, group, "WholeExtent", KP_ITEM_I64, extent, 6);
  kp_hdf_numbers(hdf, group, "Origin", KP_ITEM_F64, origin, 3);
  kp_hdf_numbers(hdf, group, "Spacing", KP_ITEM_F64, spacing, 3);
  kp_hdf_numbers(hdf, group, "Direction", KP_ITEM_F64, direction, 9);
}

static kp_result write_volume(const kp_frame *frame, const kp_frame_volume *volume, uint32_t flags,
                              const char *path) {
  kp_hdf hdf;
  kp_hdf_group group = { 0 }, points = { 0 };
  KP_TRY(kp_hdf_begin(&hdf, path, (flags & KP_EXPORT_PLAIN) == 0));
  begin_grid(&hdf, &group, frame, "ImageData");
  add_image_head(&hdf, &group, volume);
  for (size_t i = 0; i < volume->fields.count; ++i) {
    char name[KP_SECTION_NAME_SIZE];
    const kp_export_field field = kp_export_field_view(&volume->fields.items[i]);
    const kp_array_source array = kp_vtk_field_array(&field, volume->fields.items[i].count, flags);
    const kp_hdf_shape shape = { .rank = field.n_components > 1 ? 4 : 3,
                                 .dims = { volume->dims[2], volume->dims[1], volume->dims[0],
                                           (uint64_t)field.n_components } };
    kp_export_clean_name(name, sizeof name, field.name);
    kp_hdf_dataset(&hdf, &points, name, &shape, &array);
  }
  kp_hdf_end_group(&hdf, &group, "PointData", &points);
  return end_grid(&hdf, &group);
}

static kp_result write_vtkhdf(const kp_frame *frame, const char *folder, uint32_t flags,
                              kp_export_list *list) {
  static const kp_export_walk walk = { EXTENSION, NULL, write_object };
  KP_TRY(kp_export_each(&walk, frame, folder, flags, list));
  return kp_export_each_volume(EXTENSION, write_volume, frame, folder, flags, list);
}

// ---- the series

static kp_result write_series(const char *folder, const kp_export_list *list, const char *object) {
  char name[KP_SECTION_NAME_SIZE + 64], path[4096];
  (void)snprintf(name, sizeof name, "%s." EXTENSION ".series", object);
  KP_TRY(kp_path_join(path, sizeof path, folder, name));
  kp_file file;
  KP_TRY(kp_file_begin(&file, path));
  kp_file_print(&file, "{ \"file-series-version\": \"1.0\", \"files\": [");
  const char *between = "\n";
  for (size_t i = 0; i < list->count; ++i) {
    char time[KP_NUMBER_SIZE];
    if (strcmp(list->files[i].object, object) == 0) {
      kp_number_format(time, list->files[i].time);
      kp_file_print(&file, "%s  { \"name\": \"%s\", \"time\": %s }", between, list->files[i].name,
                    time);
      between = ",\n";
    }
  }
  kp_file_print(&file, "\n] }\n");
  return kp_file_commit(&file);
}

static kp_result finish_vtkhdf(const char *folder, kp_export_list *list) {
  return kp_export_each_series(folder, list, write_series);
}

const kp_exporter kp_export_vtkhdf = {
  .name = "vtkhdf",
  .extension = EXTENSION,
  .text = "VTK in HDF5 (.hdf): everything, with a .series per object, for ParaView, h5py, MATLAB.",
  .write = write_vtkhdf,
  .finish = finish_vtkhdf,
};
