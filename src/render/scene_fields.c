// Values that colour elements, as arrays.
#include <math.h>
#include <string.h>

#include "base/text.h"
#include "render/scene_parts.h"

void *kp_scene_take(kp_frame_scene *s, uint64_t count, size_t size) {
  void *memory = kp_alloc_zero((size_t)(count > 0 ? count : 1) * size, KP_MEMORY_RENDER);
  if (memory != NULL && kp_array_push(&s->blocks, memory) != KP_OK) {
    kp_free(memory);
    memory = NULL;
  }
  return memory;
}

kp_result kp_scene_no_such_field(const kp_scene_element *e, const char *wanted) {
  const char *nearest = NULL;
  const char **names = kp_alloc((e->fields->count + 1) * sizeof *names, KP_MEMORY_RENDER);
  if (names == NULL) {
    return KP_ERROR_MEMORY;
  }
  for (size_t i = 0; i < e->fields->count; ++i) {
    names[i] = e->fields->items[i].name;
  }
  nearest = kp_text_nearest(wanted, names, e->fields->count);
  kp_result result =
      nearest != NULL ? kp_fail(KP_ERROR_ARGUMENT,
                                "%s \"%s\" has no field \"%s\" to colour it by; did you mean "
                                "\"%s\"?",
                                e->kind, e->name, wanted, nearest)
                      : kp_fail(KP_ERROR_ARGUMENT, "%s \"%s\" has no field \"%s\" to colour it by",
                                e->kind, e->name, wanted);
  kp_free(names);
  return result;
}

kp_result kp_scene_field_as_scalar(kp_frame_scene *s, const kp_scene_element *e,
                                   const kp_frame_field *field, const float **out) {
  if (field->count != e->count || field->n_components < 1) {
    return kp_fail(KP_ERROR_FORMAT, "%s \"%s\": field \"%s\" has %llu values for %llu elements",
                   e->kind, e->name, field->name, (unsigned long long)field->count,
                   (unsigned long long)e->count);
  }
  float *values = kp_scene_take(s, e->count, sizeof *values);
  if (values == NULL) {
    return KP_ERROR_MEMORY;
  }
  *out = values;
  if (field->n_components == 1) {
    kp_frame_to_float(field, 0, values);
    return KP_OK;
  }
  for (uint64_t i = 0; i < e->count; ++i) {
    double sum = 0.0;
    for (int c = 0; c < field->n_components; ++c) {
      double v = kp_frame_value(field, c, i);
      sum += v * v;
    }
    values[i] = (float)sqrt(sum);
  }
  return KP_OK;
}

static float *speeds(kp_frame_scene *s, const kp_vec3 *velocities, uint64_t count) {
  float *out = kp_scene_take(s, count, sizeof *out);
  for (uint64_t i = 0; out != NULL && i < count; ++i) {
    out[i] = (float)kp_vec3_length(velocities[i]);
  }
  return out;
}

static bool is_color(const kp_frame_field *field) {
  return field->n_components == 3 && strcmp(field->name, "color") == 0;
}

kp_result kp_scene_find_scalar(kp_frame_scene *s, const kp_scene_element *e,
                               const kp_look_def *look, const float **out) {
  *out = NULL;
  if (look->color_by[0] == '\0') {
    return KP_OK;
  }
  const char *name = look->color_by;
  const kp_frame_field *field = kp_frame_find_field(e->fields, name);
  bool speed = strcmp(name, "speed") == 0 || strcmp(name, "velocity") == 0;
  if (field == NULL && speed && e->velocities != NULL) {
    *out = speeds(s, e->velocities, e->count);
    return *out != NULL ? KP_OK : KP_ERROR_MEMORY;
  }
  if (field == NULL && speed) {
    field = kp_frame_find_field(e->fields, "velocity");
  }
  if (field == NULL) {
    return kp_scene_no_such_field(e, name);
  }
  if (is_color(field)) {
    return KP_OK;  // not a value but what is seen
  }
  return kp_scene_field_as_scalar(s, e, field, out);
}

kp_result kp_scene_find_vectors(kp_frame_scene *s, const kp_frame_fields *fields, const char *name,
                                uint64_t count, const float **out) {
  const kp_frame_field *field = kp_frame_find_field(fields, name);
  if (field == NULL || field->n_components != 3 || field->count != count) {
    return KP_OK;
  }
  for (int c = 0; c < 3; ++c) {
    float *values = kp_scene_take(s, count, sizeof *values);
    if (values == NULL) {
      return KP_ERROR_MEMORY;
    }
    kp_frame_to_float(field, c, values);
    out[c] = values;
  }
  return KP_OK;
}
