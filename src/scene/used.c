// used.lua: the scene as it was understood, every value written out. The same text, without
// comments, is what the hash is made of.
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"
#include "geom/shape.h"
#include "io/number.h"
#include "scene/scene_state.h"

// ---- values

static kp_result write_number(kp_text *text, double value) {
  char number[KP_NUMBER_SIZE];
  if (isnan(value)) {
    return kp_text_add(text, "\"auto\"");
  }
  kp_number_format(number, value);
  // -0 would be read as the integer 0, which has no sign
  return kp_text_add(text, "%s%s", number, value == 0.0 && signbit(value) ? ".0" : "");
}

static kp_result write_vector(kp_text *text, const double v[3]) {
  for (int i = 0; i < 3; ++i) {
    KP_TRY(kp_text_add(text, i == 0 ? "{" : ", "));
    KP_TRY(write_number(text, v[i]));
  }
  return kp_text_add(text, "}");
}

static kp_result write_quoted(kp_text *text, const char *value) {
  KP_TRY(kp_text_add(text, "\""));
  for (; *value != '\0'; ++value) {
    KP_TRY(kp_text_add(text, *value == '"' || *value == '\\' ? "\\%c" : "%c", *value));
  }
  return kp_text_add(text, "\"");
}

static kp_result write_shape(kp_text *text, const kp_shape_def *shape) {
  size_t n;
  const kp_param_table *table = kp_shape_tables(&n)[shape->kind];
  KP_TRY(kp_text_add(text, "%s { ", table->name));
  for (size_t i = 0; i < table->n_rows; ++i) {
    const kp_param *row = &table->rows[i];
    KP_TRY(kp_text_add(text, "%s%s = ", i > 0 ? ", " : "", row->key));
    KP_TRY(kp_scene_write_value(text, row, (const char *)shape + row->offset));
  }
  return kp_text_add(text, " }");
}

kp_result kp_scene_write_value(kp_text *text, const kp_param *row, const void *member) {
  switch (row->type) {
  case KP_PARAM_REAL:
    return write_number(text, *(const double *)member);
  case KP_PARAM_INT:
    return kp_text_add(text, "%" PRId64, *(const int64_t *)member);
  case KP_PARAM_BOOL:
    return kp_text_add(text, "%s", *(const bool *)member ? "true" : "false");
  case KP_PARAM_VEC3:
  case KP_PARAM_PLACE3:
    return write_vector(text, member);
  case KP_PARAM_ENUM:
    return write_quoted(text, row->names[*(const int *)member]);
  case KP_PARAM_TEXT:
    return write_quoted(text, member);
  case KP_PARAM_CURVE:
    return write_number(text, ((const kp_curve *)member)->constant[0]);
  case KP_PARAM_CURVE3:
    return write_vector(text, ((const kp_curve *)member)->constant);
  case KP_PARAM_SHAPE:
    return write_shape(text, member);
  case KP_PARAM_TYPE_COUNT:
    break;
  }
  return kp_fail(KP_ERROR_INTERNAL, "%s has no type", row->key);
}

// ---- entities

typedef struct writer {
  const kp_scene *scene;
  kp_text *text;
  bool has_comments;
} writer;

// A liquid that starts empty has no shape to write.
static bool is_left_out(const kp_scene_entity *entity, const kp_param *row) {
  return entity->kind->table == &kp_liquid_params && row->type == KP_PARAM_SHAPE &&
         ((const kp_liquid_def *)(const void *)entity->def)->empty;
}

static kp_result write_place(const writer *w, const kp_scene_entity *entity, const kp_param *row) {
  for (size_t i = 0; i < w->scene->functions.count; ++i) {
    const kp_scene_function *function = &w->scene->functions.data[i];
    if (w->has_comments && function->entity == entity && function->row == row &&
        function->samples != NULL) {
      return kp_text_add(w->text, "  -- %s function of %s at %s",
                         row->type == KP_PARAM_PLACE3 ? "instead, the" : "at t = 0 of the",
                         kp_scene_argument(row), function->where);
    }
  }
  return KP_OK;
}

static kp_result write_rows(const writer *w, const kp_scene_entity *entity, int indent) {
  const kp_param_table *table = entity->kind->table;
  for (size_t i = 0; i < table->n_rows; ++i) {
    const kp_param *row = &table->rows[i];
    if (is_left_out(entity, row)) {
      continue;
    }
    KP_TRY(kp_text_add(w->text, "%*s%s = ", indent, "", row->key));
    KP_TRY(kp_scene_write_value(w->text, row, entity->def + row->offset));
    KP_TRY(kp_text_add(w->text, ","));
    KP_TRY(write_place(w, entity, row));
    KP_TRY(kp_text_add(w->text, "\n"));
  }
  return KP_OK;
}

static kp_result write_entity(const writer *w, const kp_scene_entity *entity) {
  const char *word = entity->kind->word;
  KP_TRY(entity->kind->is_named ? kp_text_add(w->text, "%s \"%s\" {\n", word, entity->name)
                                : kp_text_add(w->text, "%s {\n", word));
  KP_TRY(write_rows(w, entity, 2));
  size_t length = strlen(word);
  for (size_t i = 0; i < w->scene->entities.count; ++i) {
    const kp_scene_entity *inner = w->scene->entities.data[i];
    if (inner->kind->key != NULL && strncmp(inner->kind->word, word, length) == 0 &&
        inner->kind->word[length] == '.') {
      KP_TRY(kp_text_add(w->text, "  %s = {\n", inner->kind->key));
      KP_TRY(write_rows(w, inner, 4));
      KP_TRY(kp_text_add(w->text, "  },\n"));
    }
  }
  return kp_text_add(w->text, "}\n");
}

static kp_result write_entities(const writer *w) {
  for (size_t i = 0; i < w->scene->entities.count; ++i) {
    const kp_scene_entity *entity = w->scene->entities.data[i];
    if (entity->kind->key == NULL) {
      KP_TRY(write_entity(w, entity));
    }
  }
  return KP_OK;
}

kp_result kp_scene_write_used(const kp_scene *scene, kp_text *text) {
  writer w = { scene, text, true };
  KP_TRY(kp_text_add(text, "-- Every value of %s as kelpie %s understood it.\n", scene->name,
                     KP_VERSION_STRING));
  return write_entities(&w);
}

kp_result kp_scene_hash(const kp_scene *scene, uint64_t *out) {
  kp_text text = { 0 };
  writer w = { scene, &text, false };
  kp_result result = write_entities(&w);
  if (result == KP_OK) {
    kp_hash hash = kp_hash_begin(0);
    kp_hash_add(&hash, text.data, text.count);
    for (size_t i = 0; i < scene->functions.count; ++i) {
      const kp_scene_function *function = &scene->functions.data[i];
      kp_hash_add(&hash, function->samples, function->n_samples * sizeof(double));
    }
    *out = kp_hash_end(&hash);
  }
  kp_text_free(&text);
  return result;
}
