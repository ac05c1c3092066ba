// Frames in memory: building, looking things up, converting. Files are in frame_file.c.
#include "io/frame_data.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/assert.h"
#include "base/memory.h"
#include "base/text.h"

// ---- memory

void kp_frame_fields_free(kp_frame_fields *fields) {
  for (size_t i = 0; i < fields->count; ++i) {
    kp_frame_field *field = &fields->items[i];
    for (int c = 0; field->data != NULL && c < field->n_components; ++c) {
      kp_free(field->data[c]);
    }
    kp_free(field->data);
  }
  kp_free(fields->items);
  *fields = (kp_frame_fields){ 0 };
}

static void free_volume(kp_frame_volume *volume) {
  // the density is the field itself when that holds floats; without memory it got no data
  const kp_frame_field *field = kp_frame_find_field(&volume->fields, "density");
  if (field == NULL || field->data == NULL || field->data[0] != volume->density) {
    kp_free(volume->density);
  }
  kp_frame_fields_free(&volume->fields);
}

void kp_frame_free(kp_frame **frame) {
  kp_frame *f = *frame;
  if (f == NULL) {
    return;
  }
  for (size_t i = 0; i < f->n_sets; ++i) {
    kp_free(f->sets[i].names);
    kp_frame_fields_free(&f->sets[i].fields);
  }
  for (size_t i = 0; i < f->n_meshes; ++i) {
    kp_free(f->meshes[i].vertices);
    kp_free(f->meshes[i].velocities);
    kp_free(f->meshes[i].triangles);
    kp_free(f->meshes[i].tets);
    kp_frame_fields_free(&f->meshes[i].fields);
  }
  for (size_t i = 0; i < f->n_curves; ++i) {
    kp_free(f->curves[i].points);
    kp_free(f->curves[i].velocities);
    kp_free(f->curves[i].offsets);
    kp_frame_fields_free(&f->curves[i].fields);
  }
  for (size_t i = 0; i < f->n_volumes; ++i) {
    free_volume(&f->volumes[i]);
  }
  kp_free(f->sets);
  kp_free(f->meshes);
  kp_free(f->curves);
  kp_free(f->volumes);
  kp_free(f);
  *frame = NULL;
}

// ---- building

kp_result kp_frame_create(uint64_t frame_number, double time, kp_frame **out) {
  *out = NULL;
  kp_frame *frame = kp_alloc_zero(sizeof *frame, KP_MEMORY_IO);
  if (frame == NULL) {
    return KP_ERROR_MEMORY;
  }
  frame->frame = frame_number;
  frame->time = time;
  frame->up_axis = 1;
  frame->domain = kp_aabb_empty();
  *out = frame;
  return KP_OK;
}

static kp_result check_name(const char *name) {
  if (name[0] == '\0' || strchr(name, '/') != NULL || strlen(name) >= KP_SECTION_NAME_SIZE) {
    return kp_fail(KP_ERROR_ARGUMENT, "\"%s\" cannot be a name in a frame", name);
  }
  return KP_OK;
}

// A list with room for one element more, which is zero and has the name; NULL on failure. Every
// object struct begins with its name. Frames hold a few dozen objects, so growing by one is cheap
// enough.
static void *grow_list(void *items, size_t count, size_t element, const char *name) {
  if (check_name(name) != KP_OK) {
    return NULL;
  }
  char *grown = kp_realloc(items, (count + 1) * element, KP_MEMORY_IO);
  if (grown != NULL) {
    memset(grown + count * element, 0, element);
    kp_text_copy(grown + count * element, KP_SECTION_NAME_SIZE, name);
  }
  return grown;
}

static kp_result grow_failed(const char *name) {
  return check_name(name) == KP_OK ? KP_ERROR_MEMORY : KP_ERROR_ARGUMENT;
}

// Zeroed array; NULL and an error also when the size overflows.
static void *make_array(uint64_t count, size_t element) {
  if (count > (uint64_t)PTRDIFF_MAX / element) {
    (void)kp_fail(KP_ERROR_MEMORY, "out of memory: an array too large for this machine");
    return NULL;
  }
  return kp_alloc_zero((size_t)count * element, KP_MEMORY_IO);
}

kp_result kp_frame_add_set(kp_frame *frame, const char *name, uint64_t count, kp_frame_set **out) {
  kp_frame_set *sets = grow_list(frame->sets, frame->n_sets, sizeof *sets, name);
  if (sets == NULL) {
    return grow_failed(name);
  }
  frame->sets = sets;
  *out = &sets[frame->n_sets++];
  (*out)->count = count;
  return KP_OK;
}

kp_result kp_frame_add_mesh(kp_frame *frame, const char *name, uint64_t n_vertices,
                            uint64_t n_triangles, kp_frame_mesh **out) {
  kp_frame_mesh *meshes = grow_list(frame->meshes, frame->n_meshes, sizeof *meshes, name);
  if (meshes == NULL) {
    return grow_failed(name);
  }
  frame->meshes = meshes;
  kp_frame_mesh *mesh = &meshes[frame->n_meshes++];
  mesh->vertices = make_array(n_vertices, sizeof *mesh->vertices);
  mesh->triangles = make_array(n_triangles, 3 * sizeof *mesh->triangles);
  if (mesh->vertices == NULL || mesh->triangles == NULL) {
    return KP_ERROR_MEMORY;
  }
  mesh->n_vertices = n_vertices;
  mesh->n_triangles = n_triangles;
  *out = mesh;
  return KP_OK;
}

kp_result kp_frame_add_curves(kp_frame *frame, const char *name, uint64_t n_points,
                              uint64_t n_curves, kp_frame_curves **out) {
  kp_frame_curves *all = grow_list(frame->curves, frame->n_curves, sizeof *all, name);
  if (all == NULL) {
    return grow_failed(name);
  }
  frame->curves = all;
  kp_frame_curves *curves = &all[frame->n_curves++];
  curves->points = make_array(n_points, sizeof *curves->points);
  curves->offsets = make_array(n_curves + 1, sizeof *curves->offsets);
  if (curves->points == NULL || curves->offsets == NULL) {
    return KP_ERROR_MEMORY;
  }
  curves->n_points = n_points;
  curves->n_curves = n_curves;
  *out = curves;
  return KP_OK;
}

kp_result kp_frame_add_volume(kp_frame *frame, const char *name, const uint64_t dims[3],
                              kp_frame_volume **out) {
  kp_frame_volume *volumes = grow_list(frame->volumes, frame->n_volumes, sizeof *volumes, name);
  if (volumes == NULL) {
    return grow_failed(name);
  }
  frame->volumes = volumes;
  *out = &volumes[frame->n_volumes++];
  memcpy((*out)->dims, dims, sizeof(*out)->dims);
  return KP_OK;
}

kp_result kp_frame_add_field(kp_frame_fields *fields, const kp_frame_field_def *def,
                             kp_frame_field **out) {
  KP_ASSERT(def->n_components > 0);
  kp_frame_field *items = grow_list(fields->items, fields->count, sizeof *items, def->name);
  if (items == NULL) {
    return grow_failed(def->name);
  }
  fields->items = items;
  kp_frame_field *field = &items[fields->count++];
  kp_text_copy(field->unit, sizeof field->unit, def->unit);
  field->type = def->type;
  field->count = def->count;
  field->n_components = def->n_components;
  field->data = kp_alloc_zero((size_t)def->n_components * sizeof *field->data, KP_MEMORY_IO);
  if (field->data == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (int c = 0; c < def->n_components; ++c) {
    field->data[c] = make_array(def->count, kp_item_size(def->type));
    if (field->data[c] == NULL) {
      return KP_ERROR_MEMORY;
    }
  }
  *out = field;
  return KP_OK;
}

// ---- looking up

const kp_frame_set *kp_frame_find_set(const kp_frame *frame, const char *name) {
  for (size_t i = 0; i < frame->n_sets; ++i) {
    if (strcmp(frame->sets[i].name, name) == 0) {
      return &frame->sets[i];
    }
  }
  return NULL;
}

const kp_frame_mesh *kp_frame_find_mesh(const kp_frame *frame, const char *name) {
  for (size_t i = 0; i < frame->n_meshes; ++i) {
    if (strcmp(frame->meshes[i].name, name) == 0) {
      return &frame->meshes[i];
    }
  }
  return NULL;
}

const kp_frame_curves *kp_frame_find_curves(const kp_frame *frame, const char *name) {
  for (size_t i = 0; i < frame->n_curves; ++i) {
    if (strcmp(frame->curves[i].name, name) == 0) {
      return &frame->curves[i];
    }
  }
  return NULL;
}

const kp_frame_volume *kp_frame_find_volume(const kp_frame *frame, const char *name) {
  for (size_t i = 0; i < frame->n_volumes; ++i) {
    if (strcmp(frame->volumes[i].name, name) == 0) {
      return &frame->volumes[i];
    }
  }
  return NULL;
}

const kp_frame_field *kp_frame_find_field(const kp_frame_fields *fields, const char *name) {
  for (size_t i = 0; i < fields->count; ++i) {
    if (strcmp(fields->items[i].name, name) == 0) {
      return &fields->items[i];
    }
  }
  return NULL;
}

bool kp_frame_is_surface(const kp_frame_mesh *mesh) {
  return strncmp(mesh->name, KP_SURFACE_OF, strlen(KP_SURFACE_OF)) == 0;
}

// Whether a liquid is one of "a and b and c".
static bool is_among(const char *names, const char *name) {
  size_t length = strlen(name);
  for (const char *at = names; at != NULL;) {
    const char *end = strstr(at, KP_SURFACE_AND);
    size_t n = end != NULL ? (size_t)(end - at) : strlen(at);
    if (n == length && memcmp(at, name, n) == 0) {
      return true;
    }
    at = end != NULL ? end + strlen(KP_SURFACE_AND) : NULL;
  }
  return false;
}

bool kp_frame_is_surface_of(const kp_frame_mesh *mesh, const char *liquid) {
  return kp_frame_is_surface(mesh) && is_among(mesh->name + strlen(KP_SURFACE_OF), liquid);
}

bool kp_frame_is_spray(const kp_frame_set *set) {
  return strncmp(set->name, KP_SPRAY_OF, strlen(KP_SPRAY_OF)) == 0;
}

bool kp_frame_is_yarn(const kp_frame *frame, const kp_frame_mesh *mesh) {
  return kp_frame_find_curves(frame, mesh->name) != NULL;
}

const char *kp_frame_component_name(int n_components, int index, char buffer[16]) {
  if (n_components == 3) {
    static const char *const axes[] = { "x", "y", "z" };
    return axes[index];
  }
  (void)snprintf(buffer, 16, "%d", index);
  return buffer;
}

// ---- values

double kp_frame_value(const kp_frame_field *field, int component, uint64_t index) {
  KP_CHECK(component >= 0 && component < field->n_components && index < field->count);
  const char *items = field->data[component];
  return kp_item_value(field->type, items + index * kp_item_size(field->type));
}

void kp_frame_to_double(const kp_frame_field *field, int component, double *out) {
  for (uint64_t i = 0; i < field->count; ++i) {
    out[i] = kp_frame_value(field, component, i);
  }
}

void kp_frame_to_float(const kp_frame_field *field, int component, float *out) {
  for (uint64_t i = 0; i < field->count; ++i) {
    out[i] = (float)kp_frame_value(field, component, i);
  }
}

// ---- size of particles

static int compare_doubles(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return x < y ? -1 : x > y;
}

static double nearest_distance(const kp_frame_field *position, uint64_t n, uint64_t i) {
  double best = HUGE_VAL;
  for (uint64_t j = 0; j < n; ++j) {
    double square = 0.0;
    for (int c = 0; c < 3; ++c) {
      double d = kp_frame_value(position, c, j) - kp_frame_value(position, c, i);
      square += d * d;
    }
    best = j != i && square > 0.0 && square < best ? square : best;
  }
  return sqrt(best);
}

double kp_frame_set_radius(const kp_frame_set *set) {
  enum { PROBES = 31 };
  const kp_frame_field *position = kp_frame_find_field(&set->fields, "position");
  double nearest[PROBES];
  size_t n = 0;
  for (uint64_t k = 0; k < PROBES && position != NULL && set->count > 1; ++k) {
    double distance = nearest_distance(position, set->count, k * (set->count - 1) / (PROBES - 1));
    if (isfinite(distance)) {
      nearest[n++] = distance;
    }
  }
  if (n == 0) {
    return 0.01;
  }
  qsort(nearest, n, sizeof nearest[0], compare_doubles);
  return 0.5 * nearest[n / 2];
}
