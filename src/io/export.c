#include "io/export.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"

static const kp_exporter *const exporters[] = {
  &kp_export_ply, &kp_export_obj,    &kp_export_glb,  &kp_export_pc2, &kp_export_mdd,
  &kp_export_vdb, &kp_export_usda,   &kp_export_bgeo, &kp_export_vtu, &kp_export_vtp,
  &kp_export_vti, &kp_export_vtkhdf, &kp_export_pov,  &kp_export_csv,
};

static const kp_export_alias aliases[] = {
  { "pvd", "vtu" },     { "vtk", "vtu" },  { "hdf", "vtkhdf" }, { "h5", "vtkhdf" },
  { "hdf5", "vtkhdf" }, { "usd", "usda" }, { "gltf", "glb" },
};

const kp_exporter *const *kp_exporters(size_t *n) {
  *n = sizeof exporters / sizeof exporters[0];
  return exporters;
}

const kp_export_alias *kp_export_aliases(size_t *n) {
  *n = sizeof aliases / sizeof aliases[0];
  return aliases;
}

const kp_exporter *kp_exporter_find(const char *name) {
  name += name[0] == '.' ? 1 : 0;
  for (size_t i = 0; i < sizeof aliases / sizeof aliases[0]; ++i) {
    name = strcasecmp(aliases[i].name, name) == 0 ? aliases[i].of : name;
  }
  for (size_t i = 0; i < sizeof exporters / sizeof exporters[0]; ++i) {
    if (strcasecmp(exporters[i]->name, name) == 0) {
      return exporters[i];
    }
  }
  return NULL;
}

// ---- names and lists

void kp_export_clean_name(char *out, size_t size, const char *name) {
  kp_text_copy(out, size, name);
  for (char *p = out; *p != '\0'; ++p) {
    bool is_safe = (*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
                   (*p >= '0' && *p <= '9') || strchr("_-+.", *p) != NULL ||
                   (unsigned char)*p >= 0x80;
    // a leading dot would hide the file
    *p = is_safe && !(p == out && *p == '.') ? *p : '_';
  }
}

bool kp_export_is_little_endian(void) {
  const uint32_t one = 1;
  uint8_t first;
  memcpy(&first, &one, 1);
  return first == 1;
}

const char *kp_export_axis_name(const kp_frame *frame) {
  char buffer[16];
  return kp_frame_component_name(3, frame->up_axis, buffer);
}

kp_result kp_export_target_make(const kp_frame *frame, const char *folder, const char *object,
                                const char *extension, kp_export_target *out) {
  out->object = object;
  (void)snprintf(out->name, sizeof out->name, "%s_%06" PRIu64 ".%s", object, frame->frame,
                 extension);
  return kp_path_join(out->path, sizeof out->path, folder, out->name);
}

static void free_file(kp_export_file *file) {
  kp_free(file->name);
  kp_free(file->object);
  *file = (kp_export_file){ 0 };
}

static kp_result make_file(const kp_frame *frame, const char *name, const char *object,
                           kp_export_file *out) {
  *out = (kp_export_file){ .name = kp_strdup(name, KP_MEMORY_IO),
                           .object = kp_strdup(object, KP_MEMORY_IO),
                           .frame = frame->frame,
                           .time = frame->time };
  if (out->name == NULL || out->object == NULL) {
    free_file(out);
    return KP_ERROR_MEMORY;
  }
  return KP_OK;
}

static kp_result reserve_file(kp_export_list *list) {
  return kp_array_reserve_raw((void **)&list->files, &list->capacity, list->count + 1,
                              sizeof *list->files);
}

kp_result kp_export_list_add(kp_export_list *list, const kp_frame *frame,
                             const kp_export_target *target) {
  KP_TRY(reserve_file(list));
  KP_TRY(make_file(frame, target->name, target->object, &list->files[list->count]));
  ++list->count;
  return KP_OK;
}

void kp_export_list_free(kp_export_list *list) {
  for (size_t i = 0; i < list->count; ++i) {
    free_file(&list->files[i]);
  }
  for (size_t i = 0; i < list->n_streams; ++i) {
    kp_export_stream_discard(&list->streams[i]);
  }
  kp_free(list->streams);
  kp_free(list->files);
  *list = (kp_export_list){ 0 };
}

// ---- streams

kp_export_stream *kp_export_stream_find(kp_export_list *list, const char *name) {
  for (size_t i = 0; i < list->n_streams; ++i) {
    if (list->streams[i].made.name != NULL && strcmp(list->streams[i].made.name, name) == 0) {
      return &list->streams[i];
    }
  }
  return NULL;
}

kp_result kp_export_stream_begin(kp_export_list *list, const kp_frame *frame, const char *folder,
                                 const char *name, kp_export_stream **out) {
  char path[4096], object[KP_SECTION_NAME_SIZE + 64];
  KP_TRY(kp_path_join(path, sizeof path, folder, name));
  KP_TRY(kp_array_reserve_raw((void **)&list->streams, &list->streams_capacity, list->n_streams + 1,
                              sizeof *list->streams));
  kp_text_copy(object, sizeof object, name);
  char *dot = strrchr(object, '.');
  if (dot != NULL) {
    *dot = '\0';
  }
  kp_export_stream stream = { 0 };
  KP_TRY(make_file(frame, name, object, &stream.made));
  kp_result result = kp_file_begin(&stream.file, path);
  if (result != KP_OK) {
    free_file(&stream.made);
    return result;
  }
  list->streams[list->n_streams] = stream;
  *out = &list->streams[list->n_streams++];
  return KP_OK;
}

kp_result kp_export_stream_commit(kp_export_list *list, kp_export_stream *stream) {
  kp_result result = reserve_file(list);
  if (result == KP_OK) {
    result = kp_file_commit(&stream->file);
  }
  if (result == KP_OK) {
    list->files[list->count++] = stream->made;
    stream->made = (kp_export_file){ 0 };
  }
  kp_export_stream_discard(stream);
  return result;
}

void kp_export_stream_discard(kp_export_stream *stream) {
  kp_file_discard(&stream->file);
  free_file(&stream->made);
}

// ---- objects

kp_export_field kp_export_field_view(const kp_frame_field *field) {
  return (kp_export_field){ .name = field->name,
                            .unit = field->unit,
                            .type = field->type,
                            .n_components = field->n_components,
                            .data = (const void *const *)field->data,
                            .stride = kp_item_size(field->type) };
}

static kp_export_field from_vectors(const char *name, const char *unit, const kp_vec3 *vectors,
                                    const void *components[3]) {
  components[0] = &vectors->x;
  components[1] = &vectors->y;
  components[2] = &vectors->z;
  return (kp_export_field){ .name = name,
                            .unit = unit,
                            .type = KP_ITEM_F64,
                            .n_components = 3,
                            .data = components,
                            .stride = sizeof(kp_vec3) };
}

static kp_result begin_object(kp_export_object *object, const char *name, const char *suffix,
                              size_t n_fields) {
  char clean[KP_SECTION_NAME_SIZE];
  kp_export_clean_name(clean, sizeof clean, name);
  (void)snprintf(object->name, sizeof object->name, "%s%s", clean, suffix);
  object->fields = kp_alloc_zero(n_fields * sizeof *object->fields, KP_MEMORY_IO);
  return object->fields != NULL ? KP_OK : KP_ERROR_MEMORY;
}

static kp_result view_set(const kp_frame_set *set, kp_export_object *object) {
  const kp_frame_field *position = kp_frame_find_field(&set->fields, "position");
  const kp_frame_field *velocity = kp_frame_find_field(&set->fields, "velocity");
  if (position == NULL || position->n_components != 3) {
    return kp_fail(KP_ERROR_ARGUMENT, "the set %s has no positions", set->name);
  }
  KP_TRY(begin_object(object, set->name, "", set->fields.count));
  object->n_points = set->count;
  object->set = set;
  object->fields[object->n_fields++] = kp_export_field_view(position);
  if (velocity != NULL) {
    object->fields[object->n_fields++] = kp_export_field_view(velocity);
  }
  for (size_t i = 0; i < set->fields.count; ++i) {
    const kp_frame_field *field = &set->fields.items[i];
    if (field != position && field != velocity) {
      object->fields[object->n_fields++] = kp_export_field_view(field);
    }
  }
  return KP_OK;
}

// Meshes and curves: positions and velocities are vectors.
static kp_result view_vectors(kp_export_object *object, const kp_vec3 *positions,
                              const kp_vec3 *velocities, const kp_frame_fields *fields) {
  object->fields[object->n_fields++] =
      from_vectors("position", "m", positions, &object->vectors[0]);
  if (velocities != NULL) {
    object->fields[object->n_fields++] =
        from_vectors("velocity", "m/s", velocities, &object->vectors[3]);
  }
  for (size_t i = 0; i < fields->count; ++i) {
    object->fields[object->n_fields++] = kp_export_field_view(&fields->items[i]);
  }
  return KP_OK;
}

static kp_result view_mesh(const kp_frame *frame, const kp_frame_mesh *mesh,
                           kp_export_object *object) {
  KP_TRY(begin_object(object, mesh->name, "_mesh", mesh->fields.count + 2));
  object->n_points = mesh->n_vertices;
  object->n_triangles = mesh->n_triangles;
  object->triangles = mesh->triangles;
  object->n_tets = mesh->n_tets;
  object->tets = mesh->n_tets > 0 ? mesh->tets : NULL;
  object->is_hidden = kp_frame_is_yarn(frame, mesh);
  return view_vectors(object, mesh->vertices, mesh->velocities, &mesh->fields);
}

static kp_result view_curves(const kp_frame_curves *curves, kp_export_object *object) {
  KP_TRY(begin_object(object, curves->name, "_curves", curves->fields.count + 2));
  object->n_points = curves->n_points;
  object->n_curves = curves->n_curves;
  object->offsets = curves->offsets;
  return view_vectors(object, curves->points, curves->velocities, &curves->fields);
}

kp_result kp_export_objects_make(const kp_frame *frame, kp_export_objects *out) {
  size_t n = frame->n_sets + frame->n_meshes + frame->n_curves;
  *out = (kp_export_objects){ .items = kp_alloc_zero(n * sizeof *out->items, KP_MEMORY_IO) };
  kp_result result = out->items != NULL ? KP_OK : KP_ERROR_MEMORY;
  for (size_t i = 0; i < frame->n_sets && result == KP_OK; ++i) {
    result = view_set(&frame->sets[i], &out->items[out->count++]);
  }
  for (size_t i = 0; i < frame->n_meshes && result == KP_OK; ++i) {
    result = view_mesh(frame, &frame->meshes[i], &out->items[out->count++]);
  }
  for (size_t i = 0; i < frame->n_curves && result == KP_OK; ++i) {
    result = view_curves(&frame->curves[i], &out->items[out->count++]);
  }
  if (result != KP_OK) {
    kp_export_objects_free(out);
  }
  return result;
}

void kp_export_objects_free(kp_export_objects *objects) {
  for (size_t i = 0; i < objects->count; ++i) {
    kp_free(objects->items[i].fields);
  }
  kp_free(objects->items);
  *objects = (kp_export_objects){ 0 };
}

const kp_export_field *kp_export_find(const kp_export_object *object, const char *name,
                                      int n_components) {
  for (size_t i = 0; i < object->n_fields; ++i) {
    if (object->fields[i].n_components == n_components &&
        strcmp(object->fields[i].name, name) == 0) {
      return &object->fields[i];
    }
  }
  return NULL;
}

double kp_export_value(const kp_export_field *field, int component, uint64_t index) {
  return kp_item_value(field->type, kp_export_item(field, component, index));
}

kp_result kp_export_each(const kp_export_walk *walk, const kp_frame *frame, const char *folder,
                         uint32_t flags, kp_export_list *list) {
  kp_export_objects objects;
  KP_TRY(kp_export_objects_make(frame, &objects));
  kp_result result = KP_OK;
  for (size_t i = 0; i < objects.count && result == KP_OK; ++i) {
    const kp_export_object *object = &objects.items[i];
    if (walk->holds != NULL && !walk->holds(object)) {
      continue;
    }
    kp_export_target target;
    KP_TRY_GOTO(result,
                kp_export_target_make(frame, folder, object->name, walk->extension, &target), done);
    KP_TRY_GOTO(result, walk->write(frame, object, flags, target.path), done);
    result = kp_export_list_add(list, frame, &target);
  }
done:
  kp_export_objects_free(&objects);
  return result;
}

kp_result kp_export_each_volume(const char *extension, kp_export_volume_fn write,
                                const kp_frame *frame, const char *folder, uint32_t flags,
                                kp_export_list *list) {
  for (size_t i = 0; i < frame->n_volumes; ++i) {
    char clean[KP_SECTION_NAME_SIZE], object[KP_SECTION_NAME_SIZE + 16];
    kp_export_clean_name(clean, sizeof clean, frame->volumes[i].name);
    (void)snprintf(object, sizeof object, "%s_volume", clean);
    kp_export_target target;
    KP_TRY(kp_export_target_make(frame, folder, object, extension, &target));
    KP_TRY(write(frame, &frame->volumes[i], flags, target.path));
    KP_TRY(kp_export_list_add(list, frame, &target));
  }
  return KP_OK;
}

static bool is_listed_before(const kp_export_list *list, size_t index) {
  for (size_t i = 0; i < index; ++i) {
    if (strcmp(list->files[i].object, list->files[index].object) == 0) {
      return true;
    }
  }
  return false;
}

kp_result kp_export_each_series(const char *folder, const kp_export_list *list,
                                kp_result (*write)(const char *folder, const kp_export_list *list,
                                                   const char *object)) {
  for (size_t i = 0; i < list->count; ++i) {
    if (!is_listed_before(list, i)) {
      KP_TRY(write(folder, list, list->files[i].object));
    }
  }
  return KP_OK;
}

// ---- columns

// The letter that stands before x, y, z for the vectors every program knows; NULL for others.
static const char *vector_prefix(const char *field) {
  static const char *const known[][2] = { { "position", "" },
                                          { "velocity", "v" },
                                          { "normal", "n" } };
  for (size_t i = 0; i < sizeof known / sizeof known[0]; ++i) {
    if (strcmp(known[i][0], field) == 0) {
      return known[i][1];
    }
  }
  return NULL;
}

static void name_column(const kp_export_field *field, int component, kp_export_column *column) {
  char buffer[16], clean[KP_SECTION_NAME_SIZE];
  const char *label = kp_frame_component_name(field->n_components, component, buffer);
  const char *prefix = field->n_components == 3 ? vector_prefix(field->name) : NULL;
  kp_export_clean_name(clean, sizeof clean, field->name);
  if (prefix != NULL) {
    (void)snprintf(column->name, sizeof column->name, "%s%s", prefix, label);
  } else if (field->n_components == 1) {
    kp_text_copy(column->name, sizeof column->name, clean);
  } else {
    (void)snprintf(column->name, sizeof column->name, "%s_%s", clean, label);
  }
}

kp_result kp_export_columns_make(const kp_export_object *object, kp_export_column **out,
                                 size_t *n) {
  size_t count = 0;
  for (size_t i = 0; i < object->n_fields; ++i) {
    count += (size_t)object->fields[i].n_components;
  }
  kp_export_column *columns = kp_alloc_zero(count * sizeof *columns, KP_MEMORY_IO);
  if (columns == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_export_column *column = columns;
  for (size_t i = 0; i < object->n_fields; ++i) {
    const kp_export_field *field = &object->fields[i];
    for (int c = 0; c < field->n_components; ++c, ++column) {
      name_column(field, c, column);
      column->unit = field->unit;
      column->type = field->type;
      column->data = field->data[c];
      column->stride = field->stride;
    }
  }
  *out = columns;
  *n = count;
  return KP_OK;
}
