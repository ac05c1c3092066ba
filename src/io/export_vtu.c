// VTK XML for ParaView: .vtu or .vtp for particles, meshes and curves, .vti for volumes, and one
// .pvd per object that gives every file its physical time.
#include <inttypes.h>
#include <string.h>

#include "base/memory.h"
#include "io/export.h"
#include "io/files.h"
#include "io/number.h"
#include "io/vtk_writer.h"

// Connectivity and offsets, which both kinds of grid have; types belong to unstructured ones.
static void add_cells(kp_vtk *vtk, const kp_export_object *object, const char *element,
                      bool has_types) {
  kp_array_source corners = kp_vtk_connectivity(object), ends = kp_vtk_cell_ends(object);
  kp_vtk_text(vtk, "<%s>\n", element);
  kp_vtk_array(vtk, &corners);
  kp_vtk_array(vtk, &ends);
  if (has_types) {
    kp_array_source types = kp_vtk_cell_types(object);
    kp_vtk_array(vtk, &types);
  }
  kp_vtk_text(vtk, "</%s>\n", element);
}

// ---- files

// Strings as numbers of their letters, each ended by a zero.
static void add_names(kp_vtk *vtk, const kp_frame_set *set) {
  kp_vtk_text(vtk, "<Array type=\"String\" Name=\"name\" format=\"ascii\">\n");
  for (uint64_t i = 0; i < set->names_size; ++i) {
    kp_vtk_text(vtk, "%d%c", set->names[i], set->names[i] == '\0' ? '\n' : ' ');
  }
  kp_vtk_text(vtk, "</Array>\n");
}

static void add_points(kp_vtk *vtk, const kp_export_object *object) {
  kp_vtk_text(vtk, "<Points>\n");
  kp_vtk_field(vtk, &object->fields[0], object->n_points);
  kp_vtk_text(vtk, "</Points>\n<PointData>\n");
  for (size_t i = 1; i < object->n_fields; ++i) {
    kp_vtk_field(vtk, &object->fields[i], object->n_points);
  }
  if (object->set != NULL && object->set->names != NULL) {
    add_names(vtk, object->set);
  }
  kp_vtk_text(vtk, "</PointData>\n");
}

static void add_grid(kp_vtk *vtk, const kp_export_object *object) {
  kp_vtk_text(vtk, "<Piece NumberOfPoints=\"%" PRIu64 "\" NumberOfCells=\"%" PRIu64 "\">\n",
              object->n_points, kp_vtk_count_cells(object));
  add_points(vtk, object);
  add_cells(vtk, object, "Cells", true);
}

// Surfaces, lines and points of their own kind: fewer bytes, and filters that want polygons take
// it.
static void add_polygons(kp_vtk *vtk, const kp_export_object *object) {
  bool is_mesh = object->triangles != NULL, is_lines = object->offsets != NULL;
  uint64_t cells = kp_vtk_count_cells(object);
  kp_vtk_text(vtk, "<Piece NumberOfPoints=\"%" PRIu64 "\" NumberOfVerts=\"%" PRIu64 "\"",
              object->n_points, is_mesh || is_lines ? 0 : cells);
  kp_vtk_text(
      vtk, " NumberOfLines=\"%" PRIu64 "\" NumberOfStrips=\"0\" NumberOfPolys=\"%" PRIu64 "\">\n",
      is_lines ? cells : 0, is_mesh ? cells : 0);
  add_points(vtk, object);
  add_cells(vtk, object, is_mesh ? "Polys" : is_lines ? "Lines" : "Verts", false);
}

static kp_result write_file(const kp_frame *frame, const char *type, uint32_t flags,
                            void (*add)(kp_vtk *vtk, const kp_export_object *object),
                            const kp_export_object *object, const char *path) {
  kp_vtk vtk;
  kp_vtk_begin(&vtk, type, flags);
  kp_vtk_text(&vtk, "<%s>\n", type);
  kp_vtk_frame_data(&vtk, frame);
  add(&vtk, object);
  kp_vtk_text(&vtk, "</Piece>\n</%s>\n", type);
  kp_result result = kp_vtk_write(&vtk, path);
  kp_vtk_free(&vtk);
  return result;
}

static kp_result write_grid(const kp_frame *frame, const kp_export_object *object, uint32_t flags,
                            const char *path) {
  return write_file(frame, "UnstructuredGrid", flags, add_grid, object, path);
}

static kp_result write_polygons(const kp_frame *frame, const kp_export_object *object,
                                uint32_t flags, const char *path) {
  kp_export_object shell = *object;
  shell.tets = NULL;
  return write_file(frame, "PolyData", flags, add_polygons, &shell, path);
}

static kp_result write_volume(const kp_frame *frame, const kp_frame_volume *volume, uint32_t flags,
                              const char *path) {
  kp_export_field *fields = kp_alloc(volume->fields.count * sizeof *fields, KP_MEMORY_IO);
  if (fields == NULL) {
    return KP_ERROR_MEMORY;
  }
  char spacing[KP_NUMBER_SIZE], origin[3][KP_NUMBER_SIZE];
  kp_number_format(spacing, volume->spacing);
  kp_number_format(origin[0], volume->origin.x);
  kp_number_format(origin[1], volume->origin.y);
  kp_number_format(origin[2], volume->origin.z);
  const uint64_t *dims = volume->dims;

  kp_vtk vtk;
  kp_vtk_begin(&vtk, "ImageData", flags);
  kp_vtk_text(&vtk, "<ImageData WholeExtent=\"0 %" PRIu64 " 0 %" PRIu64 " 0 %" PRIu64 "\"", dims[0],
              dims[1], dims[2]);
  kp_vtk_text(&vtk, " Origin=\"%s %s %s\" Spacing=\"%s %s %s\">\n", origin[0], origin[1], origin[2],
              spacing, spacing, spacing);
  kp_vtk_frame_data(&vtk, frame);
  kp_vtk_text(&vtk, "<Piece Extent=\"0 %" PRIu64 " 0 %" PRIu64 " 0 %" PRIu64 "\">\n<CellData>\n",
              dims[0], dims[1], dims[2]);
  for (size_t i = 0; i < volume->fields.count; ++i) {
    fields[i] = kp_export_field_view(&volume->fields.items[i]);
    kp_vtk_field(&vtk, &fields[i], volume->fields.items[i].count);
  }
  kp_vtk_text(&vtk, "</CellData>\n</Piece>\n</ImageData>\n");
  kp_result result = kp_vtk_write(&vtk, path);
  kp_vtk_free(&vtk);
  kp_free(fields);
  return result;
}

static kp_result write_vti(const kp_frame *frame, const char *folder, uint32_t flags,
                           kp_export_list *list) {
  return kp_export_each_volume("vti", write_volume, frame, folder, flags, list);
}

static kp_result write_vtu(const kp_frame *frame, const char *folder, uint32_t flags,
                           kp_export_list *list) {
  static const kp_export_walk walk = { "vtu", NULL, write_grid };
  KP_TRY(kp_export_each(&walk, frame, folder, flags, list));
  return write_vti(frame, folder, flags, list);
}

static kp_result write_vtp(const kp_frame *frame, const char *folder, uint32_t flags,
                           kp_export_list *list) {
  static const kp_export_walk walk = { "vtp", NULL, write_polygons };
  KP_TRY(kp_export_each(&walk, frame, folder, flags, list));
  return write_vti(frame, folder, flags, list);
}

// ---- the series

static kp_result write_series(const char *folder, const kp_export_list *list, const char *object) {
  char name[KP_SECTION_NAME_SIZE + 64], path[4096];
  (void)snprintf(name, sizeof name, "%s.pvd", object);
  KP_TRY(kp_path_join(path, sizeof path, folder, name));
  kp_file file;
  KP_TRY(kp_file_begin(&file, path));
  kp_file_print(&file, "<?xml version=\"1.0\"?>\n<VTKFile type=\"Collection\" version=\"0.1\"");
  kp_file_print(&file, " byte_order=\"%s\">\n<Collection>\n",
                kp_export_is_little_endian() ? "LittleEndian" : "BigEndian");
  for (size_t i = 0; i < list->count; ++i) {
    if (strcmp(list->files[i].object, object) != 0) {
      continue;
    }
    char time[KP_NUMBER_SIZE];
    kp_number_format(time, list->files[i].time);
    kp_file_print(&file, "<DataSet timestep=\"%s\" group=\"\" part=\"0\" file=\"%s\"/>\n", time,
                  list->files[i].name);
  }
  kp_file_print(&file, "</Collection>\n</VTKFile>\n");
  return kp_file_commit(&file);
}

static kp_result finish_vtu(const char *folder, kp_export_list *list) {
  return kp_export_each_series(folder, list, write_series);
}

const kp_exporter kp_export_vtu = {
  .name = "vtu",
  .extension = "vtu",
  .text =
      "VTK XML: everything, volumes as .vti, and a .pvd per object with physical time: ParaView.",
  .write = write_vtu,
  .finish = finish_vtu,
};

const kp_exporter kp_export_vtp = {
  .name = "vtp",
  .extension = "vtp",
  .text = "The same with polygonal data: smaller, for filters that want surfaces.",
  .write = write_vtp,
  .finish = finish_vtu,
};

const kp_exporter kp_export_vti = {
  .name = "vti",
  .extension = "vti",
  .text = "VTK images: volumes alone, with their .pvd, for ParaView.",
  .write = write_vti,
  .finish = finish_vtu,
};
