// Wavefront OBJ, text: meshes with their normals. Read by everything. Velocities have no place in
// it.
#include <string.h>

#include "io/export.h"
#include "io/files.h"
#include "io/number.h"

kp_result kp_export_obj_mesh(const kp_frame *frame, const kp_frame_mesh *mesh, const char *path) {
  const kp_frame_field *normal = kp_frame_find_field(&mesh->fields, "normal");
  bool has_normals =
      normal != NULL && normal->n_components == 3 && normal->count == mesh->n_vertices;
  kp_file file;
  KP_TRY(kp_file_begin(&file, path));
  char time[KP_NUMBER_SIZE];
  kp_number_format(time, frame->time);
  kp_file_print(&file, "# Kelpie %s, frame %llu, time %s s, metres, up axis %s\no %s\n",
                KP_VERSION_STRING, (unsigned long long)frame->frame, time,
                kp_export_axis_name(frame), mesh->name);
  for (uint64_t i = 0; i < mesh->n_vertices; ++i) {
    char x[3][KP_NUMBER_SIZE];
    kp_number_format(x[0], mesh->vertices[i].x);
    kp_number_format(x[1], mesh->vertices[i].y);
    kp_number_format(x[2], mesh->vertices[i].z);
    kp_file_print(&file, "v %s %s %s\n", x[0], x[1], x[2]);
  }
  for (uint64_t i = 0; has_normals && i < mesh->n_vertices; ++i) {
    kp_file_print(&file, "vn %.6g %.6g %.6g\n", kp_frame_value(normal, 0, i),
                  kp_frame_value(normal, 1, i), kp_frame_value(normal, 2, i));
  }
  for (uint64_t t = 0; t < mesh->n_triangles; ++t) {
    unsigned long a = mesh->triangles[3 * t] + 1ul, b = mesh->triangles[3 * t + 1] + 1ul;
    unsigned long c = mesh->triangles[3 * t + 2] + 1ul;
    if (has_normals) {
      kp_file_print(&file, "f %lu//%lu %lu//%lu %lu//%lu\n", a, a, b, b, c, c);
    } else {
      kp_file_print(&file, "f %lu %lu %lu\n", a, b, c);
    }
  }
  return kp_file_commit(&file);
}

static kp_result write_obj(const kp_frame *frame, const char *folder, uint32_t flags,
                           kp_export_list *list) {
  (void)flags;
  for (size_t i = 0; i < frame->n_meshes; ++i) {
    char clean[KP_SECTION_NAME_SIZE], object[KP_SECTION_NAME_SIZE + 16];
    kp_export_clean_name(clean, sizeof clean, frame->meshes[i].name);
    (void)snprintf(object, sizeof object, "%s_mesh", clean);
    kp_export_target target;
    KP_TRY(kp_export_target_make(frame, folder, object, "obj", &target));
    KP_TRY(kp_export_obj_mesh(frame, &frame->meshes[i], target.path));
    KP_TRY(kp_export_list_add(list, frame, &target));
  }
  return KP_OK;
}

const kp_exporter kp_export_obj = {
  .name = "obj",
  .extension = "obj",
  .text = "Wavefront OBJ: meshes with normals, as text, for any program.",
  .write = write_obj,
};
