#include "scene/reference.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "geom/shape.h"
#include "scene/scene_state.h"

// A section of the manual: an entity or a shape.
typedef struct section {
  const char *word;
  const kp_param_table *table;
  bool is_named, is_shape;
} section;

typedef KP_ARRAY(section) section_list;

static kp_result list_sections(const kp_scene_extra *extras, size_t n_extras, section_list *list) {
  size_t n_kinds, n_shapes;
  const kp_scene_kind *kinds = kp_scene_kinds(&n_kinds);
  for (size_t i = 0; i < n_kinds; ++i) {
    section s = { kinds[i].word, kinds[i].table, kinds[i].is_named, false };
    KP_TRY(kp_array_push(list, s));
  }
  for (size_t i = 0; i < n_extras; ++i) {
    section s = { extras[i].word, extras[i].table, extras[i].is_named, false };
    KP_TRY(kp_array_push(list, s));
  }
  const kp_param_table *const *shapes = kp_shape_tables(&n_shapes);
  for (size_t i = 0; i < n_shapes; ++i) {
    section s = { shapes[i]->name, shapes[i], false, true };
    KP_TRY(kp_array_push(list, s));
  }
  return KP_OK;
}

// liquid "name" { }, domain { }, shape = box { }
static kp_result write_heading(const section *s, kp_text *text) {
  return kp_text_add(text, "%s%s%s { }", s->is_shape ? "shape = " : "", s->word,
                     s->is_named ? " \"name\"" : "");
}

static bool is_vector(const kp_param *row) {
  return row->type == KP_PARAM_VEC3 || row->type == KP_PARAM_CURVE3 || row->type == KP_PARAM_PLACE3;
}

// "number", "0 to 1", "closed, open, periodic", "true or false", ...
static kp_result write_choices(const kp_param *row, kp_text *text) {
  switch (row->type) {
  case KP_PARAM_BOOL:
    return kp_text_add(text, "true, false");
  case KP_PARAM_TEXT:
    return kp_text_add(text, "text");
  case KP_PARAM_SHAPE:
    return kp_text_add(text, "shape");
  case KP_PARAM_ENUM:
    for (size_t i = 0; row->names[i] != NULL; ++i) {
      KP_TRY(kp_text_add(text, "%s%s", i > 0 ? ", " : "", row->names[i]));
    }
    return KP_OK;
  default:
    return kp_text_add(text, "%s%.10g to %.10g", is_vector(row) ? "3 x " : "", row->lowest,
                       row->highest);
  }
}

static kp_result write_default(const kp_param *row, const char *def, kp_text *text) {
  if (row->type == KP_PARAM_SHAPE) {
    return kp_text_add(text, "none");
  }
  return kp_scene_write_value(text, row, def + row->offset);
}

// The default def of a table; NULL when there is no memory.
static char *make_default(const kp_param_table *table) {
  char *def = kp_alloc_zero(table->def_size, KP_MEMORY_SCENE);
  if (def != NULL) {
    table->set_default(def);
  }
  return def;
}

typedef kp_result (*row_fn)(const kp_param *row, const char *def, kp_text *text);

static kp_result write_rows(const kp_param_table *table, row_fn write_row, kp_text *text) {
  char *def = make_default(table);
  kp_result result = def != NULL ? KP_OK : KP_ERROR_MEMORY;
  for (size_t i = 0; i < table->n_rows && result == KP_OK; ++i) {
    result = write_row(&table->rows[i], def, text);
  }
  kp_free(def);
  return result;
}

// ---- columns of text

#define KEY_WIDTH 24
#define DEFAULT_WIDTH 18

// Pads what was added since `start` to a column.
static kp_result pad(kp_text *text, size_t start, size_t width) {
  size_t used = text->count - start;
  return kp_text_add(text, "%*s", used < width ? (int)(width - used) : 1, "");
}

static kp_result print_row(const kp_param *row, const char *def, kp_text *text) {
  size_t start = text->count;
  KP_TRY(kp_text_add(text, "  %s", row->key));
  KP_TRY(pad(text, start, KEY_WIDTH + 2));
  start = text->count;
  KP_TRY(write_default(row, def, text));
  KP_TRY(pad(text, start, DEFAULT_WIDTH));
  KP_TRY(kp_text_add(text, "["));
  KP_TRY(write_choices(row, text));
  KP_TRY(kp_text_add(text, "]%s%s\n", row->unit[0] != '\0' ? " " : "", row->unit));
  return kp_text_add(text, "      %s\n", row->text);
}

static kp_result print_section(const section *s, kp_text *text) {
  KP_TRY(write_heading(s, text));
  KP_TRY(kp_text_add(text, "\n  %s\n\n", s->table->text));
  KP_TRY(write_rows(s->table, print_row, text));
  return kp_text_add(text, "\n");
}

static kp_result unknown_section(const char *name, const section_list *list) {
  KP_ARRAY(const char *) words = { 0 };
  kp_result result = KP_OK;
  for (size_t i = 0; i < list->count && result == KP_OK; ++i) {
    result = kp_array_push(&words, list->data[i].word);
  }
  if (result == KP_OK) {
    result = kp_scene_unknown("name", name, words.data, words.count);
    result = result == KP_ERROR_SCENE ? KP_ERROR_ARGUMENT : result;
  }
  kp_array_free(&words);
  return result;
}

// Whether `text` holds `word`, in letters of any size.
static bool holds(const char *text, const char *word) {
  size_t n = strlen(word);
  for (; *text != '\0'; ++text) {
    if (strncasecmp(text, word, n) == 0) {
      return true;
    }
  }
  return false;
}

// The rows of a section that speak of `word`, below its heading; nothing where none do.
static kp_result print_matches(const section *s, const char *word, kp_text *text,
                               size_t *n_printed) {
  char *def = make_default(s->table);
  kp_result result = def != NULL ? KP_OK : KP_ERROR_MEMORY;
  bool is_begun = false;
  for (size_t i = 0; i < s->table->n_rows && result == KP_OK; ++i) {
    const kp_param *row = &s->table->rows[i];
    if (!holds(row->key, word) && !holds(row->text, word)) {
      continue;
    }
    if (!is_begun) {
      KP_TRY_GOTO(result, write_heading(s, text), done);
      KP_TRY_GOTO(result, kp_text_add(text, "\n"), done);
    }
    is_begun = true;
    result = print_row(row, def, text);
    ++*n_printed;
  }
  if (is_begun && result == KP_OK) {
    result = kp_text_add(text, "\n");
  }
done:
  kp_free(def);
  return result;
}

kp_result kp_reference_list(const kp_scene_extra *extras, size_t n_extras, kp_text *text) {
  section_list list = { 0 };
  kp_result result = list_sections(extras, n_extras, &list);
  for (size_t i = 0; i < list.count && result == KP_OK; ++i) {
    size_t start = text->count;
    KP_TRY_GOTO(result, write_heading(&list.data[i], text), done);
    KP_TRY_GOTO(result, pad(text, start, KEY_WIDTH), done);
    result = kp_text_add(text, "%s\n", list.data[i].table->text);
  }
done:
  kp_array_free(&list);
  return result;
}

kp_result kp_reference_print(const char *name, const kp_scene_extra *extras, size_t n_extras,
                             kp_text *text) {
  section_list list = { 0 };
  kp_result result = list_sections(extras, n_extras, &list);
  size_t n_printed = 0;
  for (size_t i = 0; i < list.count && result == KP_OK; ++i) {
    if (name == NULL || strcmp(name, list.data[i].word) == 0) {
      result = print_section(&list.data[i], text);
      ++n_printed;
    }
  }
  bool is_found = n_printed > 0;
  for (size_t i = 0; i < list.count && result == KP_OK && !is_found; ++i) {
    result = print_matches(&list.data[i], name, text, &n_printed);
  }
  if (result == KP_OK && n_printed == 0) {
    result = unknown_section(name, &list);
  }
  kp_array_free(&list);
  return result;
}

// ---- Markdown

// Text in a table cell: a bar would end it.
static kp_result write_cell(const char *value, kp_text *text) {
  for (; *value != '\0'; ++value) {
    KP_TRY(kp_text_add(text, *value == '|' ? "\\%c" : "%c", *value));
  }
  return KP_OK;
}

static kp_result write_markdown_row(const kp_param *row, const char *def, kp_text *text) {
  KP_TRY(kp_text_add(text, "| `%s` | `", row->key));
  KP_TRY(write_default(row, def, text));
  KP_TRY(kp_text_add(text, "` | "));
  KP_TRY(write_choices(row, text));
  KP_TRY(kp_text_add(text, " | %s | ", row->unit));
  KP_TRY(write_cell(row->text, text));
  return kp_text_add(text, " |\n");
}

kp_result kp_reference_markdown(const kp_scene_extra *extras, size_t n_extras, kp_text *text) {
  section_list list = { 0 };
  kp_result result = list_sections(extras, n_extras, &list);
  if (result == KP_OK) {
    result =
        kp_text_add(text, "# Scene reference\n\n"
                          "Made from the parameter tables; do not edit. Lengths are in metres, "
                          "times in seconds.\n");
  }
  for (size_t i = 0; i < list.count && result == KP_OK; ++i) {
    KP_TRY_GOTO(result, kp_text_add(text, "\n## `"), done);
    KP_TRY_GOTO(result, write_heading(&list.data[i], text), done);
    KP_TRY_GOTO(result, kp_text_add(text, "`\n\n%s\n\n", list.data[i].table->text), done);
    KP_TRY_GOTO(result,
                kp_text_add(text, "| key | default | values | unit | meaning |\n"
                                  "| --- | --- | --- | --- | --- |\n"),
                done);
    result = write_rows(list.data[i].table, write_markdown_row, text);
  }
done:
  kp_array_free(&list);
  return result;
}
