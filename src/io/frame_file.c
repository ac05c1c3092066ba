// Frames from and to containers: the section names of frame_data.h.
#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/memory.h"
#include "base/text.h"
#include "io/frame_data.h"

#define PARTS_MOST 4

// ---- loading

// "kind/object/field/component"
typedef struct section_name {
  char text[KP_SECTION_NAME_SIZE];
  const char *parts[PARTS_MOST];
  int n_parts;  // PARTS_MOST + 1 when there are more
} section_name;

static void split_name(const char *text, section_name *out) {
  kp_text_copy(out->text, sizeof out->text, text);
  out->n_parts = 0;
  for (char *p = out->text; p != NULL && out->n_parts <= PARTS_MOST; ++out->n_parts) {
    if (out->n_parts < PARTS_MOST) {
      out->parts[out->n_parts] = p;
    }
    p = strchr(p, '/');
    if (p != NULL) {
      *p++ = '\0';
    }
  }
}

typedef struct loader {
  kp_container *container;
  const char *path;
  kp_frame *frame;
} loader;

static kp_result fail_object(const loader *l, const section_name *name, const char *what) {
  return kp_fail(KP_ERROR_FORMAT, "%s: %s/%s/%s %s", l->path, name->parts[0], name->parts[1],
                 name->parts[2], what);
}

// A whole section in a new block; NULL on failure with *result set.
static void *read_section(const loader *l, const kp_section *section, kp_result *result) {
  void *items = kp_alloc((size_t)section->count * kp_item_size(section->type), KP_MEMORY_IO);
  *result = items != NULL ? kp_container_read(l->container, section, 0, section->count, items)
                          : KP_ERROR_MEMORY;
  if (*result != KP_OK) {
    kp_free(items);
    items = NULL;
  }
  return items;
}

// A short section of numbers (meta, dims, origin): exactly n of them, finite.
static kp_result read_numbers(const loader *l, const kp_section *section, size_t n, double *out) {
  uint64_t items[8];
  char *bytes = (char *)items;
  if (section->count != n || n > sizeof items / sizeof items[0]) {
    return kp_fail(KP_ERROR_FORMAT, "%s: section %s must hold %zu numbers", l->path, section->name,
                   n);
  }
  KP_TRY(kp_container_read(l->container, section, 0, n, items));
  for (size_t i = 0; i < n; ++i) {
    out[i] = kp_item_value(section->type, bytes + i * kp_item_size(section->type));
    if (!isfinite(out[i])) {
      return kp_fail(KP_ERROR_FORMAT, "%s: section %s is not finite", l->path, section->name);
    }
  }
  return KP_OK;
}

// "x", "y", "z" of a vector, else the number.
static const char *component_label(bool is_vector, int index, char buffer[16]) {
  return kp_frame_component_name(is_vector ? 3 : 1, index, buffer);
}

// The section of component `index` of the field that a section name belongs to, or NULL.
static const kp_section *find_component(const loader *l, const section_name *name, int index) {
  char text[2 * KP_SECTION_NAME_SIZE], buffer[16];
  bool is_vector = strcmp(name->parts[3], "x") == 0;
  (void)snprintf(text, sizeof text, "%s/%s/%s/%s", name->parts[0], name->parts[1], name->parts[2],
                 component_label(is_vector, index, buffer));
  return kp_container_find(l->container, text);
}

// Components of the field whose first one this is; 0 when it is not the first of a whole field.
static int count_components(const loader *l, const section_name *name) {
  bool is_vector = strcmp(name->parts[3], "x") == 0;
  if (!is_vector && strcmp(name->parts[3], "0") != 0) {
    return 0;
  }
  int n = 1;
  while ((!is_vector || n < 3) && find_component(l, name, n) != NULL) {
    ++n;
  }
  return is_vector && n < 3 ? 0 : n;
}

static kp_result check_components(const loader *l, const section_name *name, int n_components) {
  const kp_section *first = find_component(l, name, 0);
  for (int c = 1; c < n_components; ++c) {
    const kp_section *other = find_component(l, name, c);
    if (other->type != first->type || other->count != first->count) {
      return kp_fail(KP_ERROR_FORMAT, "%s: %s and %s differ in type or length", l->path,
                     first->name, other->name);
    }
  }
  return KP_OK;
}

// All components of a field, met at its first one; the others are passed over.
static kp_result load_field(const loader *l, const section_name *name, kp_frame_fields *fields) {
  int n_components = count_components(l, name);
  if (n_components == 0) {
    return KP_OK;
  }
  KP_TRY(check_components(l, name, n_components));
  const kp_section *first = find_component(l, name, 0);
  kp_frame_field *field;
  kp_frame_field_def def = { .name = name->parts[2],
                             .unit = first->unit,
                             .type = first->type,
                             .n_components = n_components,
                             .count = first->count };
  KP_TRY(kp_frame_add_field(fields, &def, &field));
  for (int c = 0; c < n_components; ++c) {
    const kp_section *part = find_component(l, name, c);
    KP_TRY(kp_container_read(l->container, part, 0, part->count, field->data[c]));
  }
  return KP_OK;
}

// The same for a field of three components that is kept as vectors.
static kp_result load_vectors(const loader *l, const section_name *name, kp_vec3 **out,
                              uint64_t *count) {
  int n_components = count_components(l, name);
  if (n_components == 0) {
    return KP_OK;
  }
  if (n_components != 3) {
    return fail_object(l, name, "does not have three components");
  }
  KP_TRY(check_components(l, name, n_components));
  *count = find_component(l, name, 0)->count;
  if (*count > (uint64_t)PTRDIFF_MAX / sizeof **out) {
    return fail_object(l, name, "is too large");
  }
  kp_free(*out);
  *out = kp_alloc((size_t)*count * sizeof **out, KP_MEMORY_IO);
  if (*out == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (int c = 0; c < 3; ++c) {
    const kp_section *part = find_component(l, name, c);
    kp_result result;
    char *items = read_section(l, part, &result);
    KP_TRY(result);
    double *to = &(*out)->x + c;
    for (uint64_t i = 0; i < part->count; ++i) {
      to[3 * i] = kp_item_value(part->type, items + i * kp_item_size(part->type));
    }
    kp_free(items);
  }
  return KP_OK;
}

// Whole non-negative numbers of any integer type, each at most `highest`.
static kp_result load_integers(const loader *l, const kp_section *section, uint64_t highest,
                               uint64_t **out) {
  if (section->type == KP_ITEM_F32 || section->type == KP_ITEM_F64) {
    return kp_fail(KP_ERROR_FORMAT, "%s: section %s must hold integers", l->path, section->name);
  }
  kp_result result;
  char *items = read_section(l, section, &result);
  KP_TRY(result);
  uint64_t *integers = NULL;
  if (section->count <= (uint64_t)PTRDIFF_MAX / sizeof *integers) {
    integers = kp_alloc((size_t)section->count * sizeof *integers, KP_MEMORY_IO);
  }
  result = integers != NULL ? KP_OK : KP_ERROR_MEMORY;
  for (uint64_t i = 0; result == KP_OK && i < section->count; ++i) {
    const char *item = items + i * kp_item_size(section->type);
    double rounded = kp_item_value(section->type, item);
    // 64-bit values are too large for what they count long before they are rounded
    if (rounded < 0.0 || rounded > (double)highest) {
      result = kp_fail(KP_ERROR_FORMAT, "%s: section %s: item %" PRIu64 " is out of range", l->path,
                       section->name, i);
      break;
    }
    integers[i] = (uint64_t)rounded;
  }
  kp_free(items);
  if (result != KP_OK) {
    kp_free(integers);
    return result;
  }
  *out = integers;
  return KP_OK;
}

// Triangles or tetrahedra: so many corners each.
static kp_result load_cells(const loader *l, const kp_section *section, uint64_t corners,
                            uint32_t **cells, uint64_t *n_cells) {
  if (section->count % corners != 0) {
    return kp_fail(KP_ERROR_FORMAT, "%s: section %s: not %" PRIu64 " indices each", l->path,
                   section->name, corners);
  }
  uint64_t *indices = NULL;
  KP_TRY(load_integers(l, section, UINT32_MAX - 1, &indices));
  kp_free(*cells);
  *cells = kp_alloc((size_t)section->count * sizeof **cells, KP_MEMORY_IO);
  for (uint64_t i = 0; *cells != NULL && i < section->count; ++i) {
    (*cells)[i] = (uint32_t)indices[i];
  }
  *n_cells = section->count / corners;
  kp_free(indices);
  return *cells != NULL ? KP_OK : KP_ERROR_MEMORY;
}

// Names go into text files of many kinds: what has a meaning there becomes '_'.
static kp_result load_names(const loader *l, const kp_section *section, kp_frame_set *set) {
  uint64_t *letters = NULL;
  KP_TRY(load_integers(l, section, UINT8_MAX, &letters));
  kp_free(set->names);
  set->names_size = section->count;
  set->names = kp_alloc((size_t)section->count + 1, KP_MEMORY_IO);
  for (uint64_t i = 0; set->names != NULL && i < section->count; ++i) {
    const char letter = (char)letters[i];
    bool is_plain =
        letter == '\0' || isalnum((unsigned char)letter) || strchr("_-+. ", letter) != NULL;
    set->names[i] = is_plain ? letter : '_';
  }
  kp_free(letters);
  return set->names != NULL ? KP_OK : KP_ERROR_MEMORY;
}

// ---- sections by kind; objects are made when their first section is met

static kp_result take_set(const loader *l, const kp_section *section, const section_name *name) {
  const kp_frame_set *found = kp_frame_find_set(l->frame, name->parts[1]);
  kp_frame_set *set = found != NULL ? &l->frame->sets[found - l->frame->sets] : NULL;
  if (set == NULL) {
    KP_TRY(kp_frame_add_set(l->frame, name->parts[1], 0, &set));
  }
  if (name->n_parts == 3) {
    return strcmp(name->parts[2], "names") == 0 ? load_names(l, section, set) : KP_OK;
  }
  return load_field(l, name, &set->fields);
}

static kp_result take_mesh(const loader *l, const kp_section *section, const section_name *name) {
  const kp_frame_mesh *found = kp_frame_find_mesh(l->frame, name->parts[1]);
  kp_frame_mesh *mesh = found != NULL ? &l->frame->meshes[found - l->frame->meshes] : NULL;
  if (mesh == NULL) {
    KP_TRY(kp_frame_add_mesh(l->frame, name->parts[1], 0, 0, &mesh));
  }
  const char *field = name->parts[2];
  if (name->n_parts == 3) {
    return strcmp(field, "triangles") == 0
               ? load_cells(l, section, 3, &mesh->triangles, &mesh->n_triangles)
           : strcmp(field, "tetrahedra") == 0
               ? load_cells(l, section, 4, &mesh->tets, &mesh->n_tets)
               : KP_OK;
  }
  uint64_t n_velocities;
  return strcmp(field, "vertices") == 0 ? load_vectors(l, name, &mesh->vertices, &mesh->n_vertices)
         : strcmp(field, "velocity") == 0 ? load_vectors(l, name, &mesh->velocities, &n_velocities)
                                          : load_field(l, name, &mesh->fields);
}

static kp_result take_curves(const loader *l, const kp_section *section, const section_name *name) {
  const kp_frame_curves *found = kp_frame_find_curves(l->frame, name->parts[1]);
  kp_frame_curves *curves = found != NULL ? &l->frame->curves[found - l->frame->curves] : NULL;
  if (curves == NULL) {
    KP_TRY(kp_frame_add_curves(l->frame, name->parts[1], 0, 0, &curves));
  }
  const char *field = name->parts[2];
  if (name->n_parts == 3) {
    if (strcmp(field, "offsets") != 0 || section->count == 0) {
      return KP_OK;
    }
    kp_free(curves->offsets);
    curves->offsets = NULL;
    curves->n_curves = section->count - 1;
    return load_integers(l, section, UINT64_C(1) << 52, &curves->offsets);
  }
  uint64_t n_velocities;
  return strcmp(field, "points") == 0 ? load_vectors(l, name, &curves->points, &curves->n_points)
         : strcmp(field, "velocity") == 0
             ? load_vectors(l, name, &curves->velocities, &n_velocities)
             : load_field(l, name, &curves->fields);
}

static kp_result take_volume(const loader *l, const kp_section *section, const section_name *name) {
  const kp_frame_volume *found = kp_frame_find_volume(l->frame, name->parts[1]);
  kp_frame_volume *volume = found != NULL ? &l->frame->volumes[found - l->frame->volumes] : NULL;
  if (volume == NULL) {
    const uint64_t none[3] = { 0 };
    KP_TRY(kp_frame_add_volume(l->frame, name->parts[1], none, &volume));
  }
  if (name->n_parts == 4) {
    return load_field(l, name, &volume->fields);
  }
  double numbers[3];
  if (strcmp(name->parts[2], "dims") == 0) {
    KP_TRY(read_numbers(l, section, 3, numbers));
    for (int i = 0; i < 3; ++i) {
      if (numbers[i] < 0.0 || numbers[i] > (double)(1 << 20)) {
        return fail_object(l, name, "has impossible dimensions");
      }
      volume->dims[i] = (uint64_t)numbers[i];
    }
  } else if (strcmp(name->parts[2], "origin") == 0) {
    KP_TRY(read_numbers(l, section, 3, numbers));
    volume->origin = kp_vec3_make(numbers[0], numbers[1], numbers[2]);
  } else if (strcmp(name->parts[2], "spacing") == 0) {
    KP_TRY(read_numbers(l, section, 1, &volume->spacing));
  }
  return KP_OK;
}

static kp_result take_meta(const loader *l, const kp_section *section, const section_name *name) {
  double numbers[6];
  if (strcmp(name->parts[1], "up_axis") == 0) {
    KP_TRY(read_numbers(l, section, 1, numbers));
    if (numbers[0] != 0.0 && numbers[0] != 1.0 && numbers[0] != 2.0) {
      return kp_fail(KP_ERROR_FORMAT, "%s: there is no up axis %g", l->path, numbers[0]);
    }
    l->frame->up_axis = (int)numbers[0];
  } else if (strcmp(name->parts[1], "fps") == 0) {
    KP_TRY(read_numbers(l, section, 1, &l->frame->fps));
  } else if (strcmp(name->parts[1], "domain") == 0) {
    KP_TRY(read_numbers(l, section, 6, numbers));
    l->frame->domain.min = kp_vec3_make(numbers[0], numbers[1], numbers[2]);
    l->frame->domain.max = kp_vec3_make(numbers[3], numbers[4], numbers[5]);
  }
  return KP_OK;
}

static kp_result take_section(const loader *l, const kp_section *section) {
  section_name name;
  split_name(section->name, &name);
  const char *kind = name.parts[0];
  if (name.n_parts == 2 && strcmp(kind, "meta") == 0) {
    return take_meta(l, section, &name);
  }
  if ((name.n_parts != 3 && name.n_parts != 4) || name.parts[1][0] == '\0' ||
      name.parts[2][0] == '\0') {
    return KP_OK;
  }
  return strcmp(kind, "set") == 0      ? take_set(l, section, &name)
         : strcmp(kind, "mesh") == 0   ? take_mesh(l, section, &name)
         : strcmp(kind, "curve") == 0  ? take_curves(l, section, &name)
         : strcmp(kind, "volume") == 0 ? take_volume(l, section, &name)
                                       : KP_OK;
}

// ---- do the parts fit together?

static kp_result check_fields(const loader *l, const char *object, const kp_frame_fields *fields,
                              uint64_t count) {
  for (size_t i = 0; i < fields->count; ++i) {
    if (fields->items[i].count != count) {
      return kp_fail(KP_ERROR_FORMAT,
                     "%s: %s: the field %s has %" PRIu64 " items instead of %" PRIu64, l->path,
                     object, fields->items[i].name, fields->items[i].count, count);
    }
  }
  return KP_OK;
}

static kp_result fail_check(const loader *l, const char *object, const char *what) {
  return kp_fail(KP_ERROR_FORMAT, "%s: %s: %s", l->path, object, what);
}

static kp_result finish_set(const loader *l, kp_frame_set *set) {
  const kp_frame_field *position = kp_frame_find_field(&set->fields, "position");
  if (position == NULL || position->n_components != 3) {
    return fail_check(l, set->name, "the set has no positions");
  }
  set->count = position->count;
  uint64_t n_names = 0;
  for (uint64_t i = 0; i < set->names_size; ++i) {
    n_names += set->names[i] == '\0' ? 1 : 0;
  }
  bool is_ended = set->names_size == 0 || set->names[set->names_size - 1] == '\0';
  if (set->names != NULL && (n_names != set->count || !is_ended)) {
    return fail_check(l, set->name, "there is not one name for each");
  }
  return check_fields(l, set->name, &set->fields, set->count);
}

static kp_result finish_mesh(const loader *l, const kp_frame_mesh *mesh) {
  size_t size = (size_t)mesh->n_vertices * sizeof *mesh->vertices;
  if (mesh->velocities != NULL && kp_alloc_size(mesh->velocities) != size) {
    return fail_check(l, mesh->name, "the mesh does not have one velocity per vertex");
  }
  for (uint64_t i = 0; i < 3 * mesh->n_triangles; ++i) {
    if (mesh->triangles[i] >= mesh->n_vertices) {
      return fail_check(l, mesh->name, "a triangle uses a vertex that is not there");
    }
  }
  for (uint64_t i = 0; i < 4 * mesh->n_tets; ++i) {
    if (mesh->tets[i] >= mesh->n_vertices) {
      return fail_check(l, mesh->name, "a tetrahedron uses a vertex that is not there");
    }
  }
  return check_fields(l, mesh->name, &mesh->fields, mesh->n_vertices);
}

static kp_result finish_curves(const loader *l, const kp_frame_curves *curves) {
  size_t size = (size_t)curves->n_points * sizeof *curves->points;
  if (curves->velocities != NULL && kp_alloc_size(curves->velocities) != size) {
    return fail_check(l, curves->name, "the curves do not have one velocity per point");
  }
  bool is_right = curves->offsets[0] == 0 && curves->offsets[curves->n_curves] == curves->n_points;
  for (uint64_t i = 0; i < curves->n_curves && is_right; ++i) {
    is_right = curves->offsets[i] <= curves->offsets[i + 1];
  }
  if (!is_right) {
    return fail_check(l, curves->name, "the offsets of the curves do not fit the points");
  }
  return check_fields(l, curves->name, &curves->fields, curves->n_points);
}

static kp_result finish_volume(const loader *l, kp_frame_volume *volume) {
  // dims are at most 2^20 each
  uint64_t count = volume->dims[0] * volume->dims[1] * volume->dims[2];
  if (!(volume->spacing > 0.0)) {
    return fail_check(l, volume->name, "the volume has no spacing");
  }
  KP_TRY(check_fields(l, volume->name, &volume->fields, count));
  const kp_frame_field *density = kp_frame_find_field(&volume->fields, "density");
  if (density == NULL) {
    return KP_OK;
  }
  if (density->type == KP_ITEM_F32) {
    volume->density = density->data[0];
    return KP_OK;
  }
  volume->density = kp_alloc((size_t)count * sizeof *volume->density, KP_MEMORY_IO);
  if (volume->density == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_frame_to_float(density, 0, volume->density);
  return KP_OK;
}

static kp_result finish_objects(const loader *l) {
  for (size_t i = 0; i < l->frame->n_sets; ++i) {
    KP_TRY(finish_set(l, &l->frame->sets[i]));
  }
  for (size_t i = 0; i < l->frame->n_meshes; ++i) {
    KP_TRY(finish_mesh(l, &l->frame->meshes[i]));
  }
  for (size_t i = 0; i < l->frame->n_curves; ++i) {
    KP_TRY(finish_curves(l, &l->frame->curves[i]));
  }
  for (size_t i = 0; i < l->frame->n_volumes; ++i) {
    KP_TRY(finish_volume(l, &l->frame->volumes[i]));
  }
  return KP_OK;
}

kp_result kp_frame_from_container(kp_container *container, kp_frame **out) {
  *out = NULL;
  loader l = { .container = container, .path = kp_container_path(container) };
  const kp_container_head *head = kp_container_get_head(container);
  KP_TRY(kp_frame_create(head->frame, head->time, &l.frame));
  kp_result result = KP_OK;
  for (size_t i = 0; i < kp_container_count(container) && result == KP_OK; ++i) {
    result = take_section(&l, kp_container_section(container, i));
  }
  if (result == KP_OK) {
    result = finish_objects(&l);
  }
  if (result != KP_OK) {
    kp_frame_free(&l.frame);
    return result;
  }
  *out = l.frame;
  return KP_OK;
}

kp_result kp_frame_load(const char *path, kp_frame **out) {
  *out = NULL;
  kp_container *container;
  KP_TRY(kp_container_open(path, &container));
  kp_result result = kp_frame_from_container(container, out);
  kp_container_close(&container);
  return result;
}

// ---- saving

typedef struct saver {
  KP_ARRAY(kp_section) sections;
  KP_ARRAY(void *) blocks;  // arrays made for the file
} saver;

static kp_result add_section(saver *s, const kp_section *section, const char *format, ...)
    KP_PRINTF(3, 4);

static kp_result add_section(saver *s, const kp_section *section, const char *format, ...) {
  kp_section named = *section;
  va_list arguments;
  va_start(arguments, format);
  int n = vsnprintf(named.name, sizeof named.name, format, arguments);
  va_end(arguments);
  if (n < 0 || (size_t)n >= sizeof named.name) {
    return kp_fail(KP_ERROR_ARGUMENT, "the section name %s... is too long", named.name);
  }
  return kp_array_push(&s->sections, named);
}

static kp_result add_fields(saver *s, const char *kind, const char *object,
                            const kp_frame_fields *fields) {
  for (size_t i = 0; i < fields->count; ++i) {
    const kp_frame_field *field = &fields->items[i];
    for (int c = 0; c < field->n_components; ++c) {
      char buffer[16];
      kp_section section = { .type = field->type, .count = field->count, .data = field->data[c] };
      kp_text_copy(section.unit, sizeof section.unit, field->unit);
      KP_TRY(add_section(s, &section, "%s/%s/%s/%s", kind, object, field->name,
                         kp_frame_component_name(field->n_components, c, buffer)));
    }
  }
  return KP_OK;
}

// Memory that lives until the file is written.
static void *take_block(saver *s, size_t size) {
  if (kp_array_reserve(&s->blocks, s->blocks.count + 1) != KP_OK) {
    return NULL;
  }
  void *block = kp_alloc(size, KP_MEMORY_IO);
  if (block != NULL) {
    s->blocks.data[s->blocks.count++] = block;
  }
  return block;
}

// Vectors become three arrays; nothing when there are none. `place` is "kind/object/field".
static kp_result add_vectors(saver *s, const char *place, const char *unit, const kp_vec3 *vectors,
                             uint64_t count) {
  for (int c = 0; vectors != NULL && c < 3; ++c) {
    double *items = take_block(s, (size_t)count * sizeof *items);
    if (items == NULL) {
      return KP_ERROR_MEMORY;
    }
    const double *from = &vectors->x + c;
    for (uint64_t i = 0; i < count; ++i) {
      items[i] = from[3 * i];
    }
    char buffer[16];
    kp_section section = { .type = KP_ITEM_F64, .count = count, .data = items };
    kp_text_copy(section.unit, sizeof section.unit, unit);
    KP_TRY(add_section(s, &section, "%s/%s", place, kp_frame_component_name(3, c, buffer)));
  }
  return KP_OK;
}

static kp_result add_mesh(saver *s, const kp_frame_mesh *mesh) {
  char place[2 * KP_SECTION_NAME_SIZE];
  (void)snprintf(place, sizeof place, "mesh/%s/vertices", mesh->name);
  KP_TRY(add_vectors(s, place, "m", mesh->vertices, mesh->n_vertices));
  kp_section triangles = { .type = KP_ITEM_U32,
                           .count = 3 * mesh->n_triangles,
                           .data = mesh->triangles };
  KP_TRY(add_section(s, &triangles, "mesh/%s/triangles", mesh->name));
  kp_section tets = { .type = KP_ITEM_U32, .count = 4 * mesh->n_tets, .data = mesh->tets };
  KP_TRY(mesh->tets != NULL ? add_section(s, &tets, "mesh/%s/tetrahedra", mesh->name) : KP_OK);
  (void)snprintf(place, sizeof place, "mesh/%s/velocity", mesh->name);
  KP_TRY(add_vectors(s, place, "m/s", mesh->velocities, mesh->n_vertices));
  return add_fields(s, "mesh", mesh->name, &mesh->fields);
}

static kp_result add_curves(saver *s, const kp_frame_curves *curves) {
  char place[2 * KP_SECTION_NAME_SIZE];
  (void)snprintf(place, sizeof place, "curve/%s/points", curves->name);
  KP_TRY(add_vectors(s, place, "m", curves->points, curves->n_points));
  kp_section offsets = { .type = KP_ITEM_U64,
                         .count = curves->n_curves + 1,
                         .data = curves->offsets };
  KP_TRY(add_section(s, &offsets, "curve/%s/offsets", curves->name));
  (void)snprintf(place, sizeof place, "curve/%s/velocity", curves->name);
  KP_TRY(add_vectors(s, place, "m/s", curves->velocities, curves->n_points));
  return add_fields(s, "curve", curves->name, &curves->fields);
}

static kp_result add_volume(saver *s, const kp_frame_volume *volume) {
  kp_section dims = { .type = KP_ITEM_U64, .count = 3, .data = volume->dims };
  kp_section origin = { .unit = "m", .type = KP_ITEM_F64, .count = 3, .data = &volume->origin };
  kp_section spacing = { .unit = "m", .type = KP_ITEM_F64, .count = 1, .data = &volume->spacing };
  KP_TRY(add_section(s, &dims, "volume/%s/dims", volume->name));
  KP_TRY(add_section(s, &origin, "volume/%s/origin", volume->name));
  KP_TRY(add_section(s, &spacing, "volume/%s/spacing", volume->name));
  return add_fields(s, "volume", volume->name, &volume->fields);
}

static kp_result add_meta(saver *s, const kp_frame *frame) {
  int32_t *up_axis = take_block(s, sizeof *up_axis);
  if (up_axis == NULL) {
    return KP_ERROR_MEMORY;
  }
  *up_axis = frame->up_axis;
  kp_section axis = { .type = KP_ITEM_I32, .count = 1, .data = up_axis };
  kp_section fps = { .unit = "1/s", .type = KP_ITEM_F64, .count = 1, .data = &frame->fps };
  kp_section domain = { .unit = "m", .type = KP_ITEM_F64, .count = 6, .data = &frame->domain };
  KP_TRY(add_section(s, &axis, "meta/up_axis"));
  KP_TRY(add_section(s, &fps, "meta/fps"));
  // the empty box is infinite and stands for "not known"
  return isfinite(frame->domain.min.x) ? add_section(s, &domain, "meta/domain") : KP_OK;
}

static kp_result add_objects(saver *s, const kp_frame *frame) {
  KP_TRY(add_meta(s, frame));
  for (size_t i = 0; i < frame->n_sets; ++i) {
    const kp_frame_set *set = &frame->sets[i];
    kp_section names = { .type = KP_ITEM_U8, .count = set->names_size, .data = set->names };
    KP_TRY(add_fields(s, "set", set->name, &set->fields));
    KP_TRY(set->names != NULL ? add_section(s, &names, "set/%s/names", set->name) : KP_OK);
  }
  for (size_t i = 0; i < frame->n_meshes; ++i) {
    KP_TRY(add_mesh(s, &frame->meshes[i]));
  }
  for (size_t i = 0; i < frame->n_curves; ++i) {
    KP_TRY(add_curves(s, &frame->curves[i]));
  }
  for (size_t i = 0; i < frame->n_volumes; ++i) {
    KP_TRY(add_volume(s, &frame->volumes[i]));
  }
  return KP_OK;
}

kp_result kp_frame_save(const char *path, const kp_container_head *head, const kp_frame *frame) {
  saver s = { 0 };
  kp_result result = add_objects(&s, frame);
  if (result == KP_OK) {
    kp_container_head full = *head;
    full.frame = frame->frame;
    full.time = frame->time;
    full.kind = 0;
    result = kp_container_write(path, &full, s.sections.data, s.sections.count);
  }
  for (size_t i = 0; i < s.blocks.count; ++i) {
    kp_free(s.blocks.data[i]);
  }
  kp_array_free(&s.blocks);
  kp_array_free(&s.sections);
  return result;
}
