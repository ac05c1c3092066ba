// Wavefront OBJ, text: meshes with their normals, hair and yarn as segments. Read by everything.
// Velocities have no place in it.
#include <string.h>

#include "io/export.h"
#include "io/files.h"
#include "io/number.h"

static kp_result begin(kp_file *file, const kp_frame *frame, const char *name, const char *path) {
  char time[KP_NUMBER_SIZE];
  KP_TRY(kp_file_begin(file, path));
  kp_number_format(time, frame->time);
  kp_file_print(file, "# Kelpie %s, frame %llu, time %s s, metres, up axis %s\no %s\n",
                KP_VERSION_STRING, (unsigned long long)frame->frame, time,
                kp_export_axis_name(frame), name);
  return KP_OK;
}

static void print_points(kp_file *file, const kp_vec3 *points, uint64_t n) {
  for (uint64_t i = 0; i < n; ++i) {
    char x[3][KP_NUMBER_SIZE];
    kp_number_format(x[0], points[i].x);
    kp_number_format(x[1], points[i].y);
    kp_number_format(x[2], points[i].z);
    kp_file_print(file, "v %s %s %s\n", x[0], x[1], x[2]);
  }
}

// Every segment of a curve is a line element, from root to tip: programs that keep edges of two
// ends alone (Blender) show all of it, and hair { guides } joins them again.
static kp_result write_curves(const kp_frame *frame, const kp_frame_curves *curves,
                              const char *path) {
  kp_file file;
  KP_TRY(begin(&file, frame, curves->name, path));
  print_points(&file, curves->points, curves->n_points);
  for (uint64_t c = 0; c < curves->n_curves; ++c) {
    for (uint64_t i = curves->offsets[c] + 1; i < curves->offsets[c + 1]; ++i) {
      kp_file_print(&file, "l %llu %llu\n", (unsigned long long)i, (unsigned long long)i + 1);
    }
  }
  return kp_file_commit(&file);
}

kp_result kp_export_obj_mesh(const kp_frame *frame, const kp_frame_mesh *mesh, const char *path) {
  const kp_frame_field *normal = kp_frame_find_field(&mesh->fields, "normal");
  bool has_normals =
      normal != NULL && normal->n_components == 3 && normal->count == mesh->n_vertices;
  kp_file file;
  KP_TRY(begin(&file, frame, mesh->name, path));
  print_points(&file, mesh->vertices, mesh->n_vertices);
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

typedef char object_name[KP_SECTION_NAME_SIZE + 16];

static void name_object(const char *name, const char *suffix, object_name out) {
  char clean[KP_SECTION_NAME_SIZE];
  kp_export_clean_name(clean, sizeof clean, name);
  (void)snprintf(out, sizeof(object_name), "%s%s", clean, suffix);
}

static kp_result write_obj(const kp_frame *frame, const char *folder, uint32_t flags,
                           kp_export_list *list) {
  (void)flags;
  kp_export_target target;
  object_name object;  // the target refers to it
  for (size_t i = 0; i < frame->n_meshes; ++i) {
    name_object(frame->meshes[i].name, "_mesh", object);
    KP_TRY(kp_export_target_make(frame, folder, object, "obj", &target));
    KP_TRY(kp_export_obj_mesh(frame, &frame->meshes[i], target.path));
    KP_TRY(kp_export_list_add(list, frame, &target));
  }
  for (size_t i = 0; i < frame->n_curves; ++i) {
    name_object(frame->curves[i].name, "_curves", object);
    KP_TRY(kp_export_target_make(frame, folder, object, "obj", &target));
    KP_TRY(write_curves(frame, &frame->curves[i], target.path));
    KP_TRY(kp_export_list_add(list, frame, &target));
  }
  return KP_OK;
}

const kp_exporter kp_export_obj = {
  .name = "obj",
  .extension = "obj",
  .text = "Wavefront OBJ: meshes with normals, curves as segments, as text, for any program.",
  .write = write_obj,
};
