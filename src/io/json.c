#include "io/json.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "base/assert.h"
#include "io/files.h"
#include "io/number.h"

// Adds text unless something failed before.
#define ADD(json, ...)                                                                             \
  do {                                                                                             \
    if ((json)->result == KP_OK) {                                                                 \
      (json)->result = kp_text_add(&(json)->text, __VA_ARGS__);                                    \
    }                                                                                              \
  } while (0)

static void add_quoted(kp_json *json, const char *value) {
  ADD(json, "\"");
  // runs without special characters go in one piece
  for (const char *p = value; *p != '\0';) {
    size_t n = 0;
    while ((unsigned char)p[n] >= 0x20 && p[n] != '"' && p[n] != '\\') {
      ++n;
    }
    ADD(json, "%.*s", (int)n, p);
    p += n;
    if (*p == '\0') {
      break;
    }
    switch (*p) {
    case '"':
      ADD(json, "\\\"");
      break;
    case '\\':
      ADD(json, "\\\\");
      break;
    case '\n':
      ADD(json, "\\n");
      break;
    case '\t':
      ADD(json, "\\t");
      break;
    default:
      ADD(json, "\\u%04x", (unsigned)(unsigned char)*p);
      break;
    }
    ++p;
  }
  ADD(json, "\"");
}

// Comma, line and key before a value.
static void begin_member(kp_json *json, const char *key) {
  if (json->depth == 0) {
    KP_ASSERT(key == NULL);
    return;
  }
  int level = json->depth - 1;
  KP_ASSERT((key != NULL) == (json->closer[level] == '}'));
  ADD(json, "%s\n%*s", json->is_filled[level] ? "," : "", 2 * json->depth, "");
  json->is_filled[level] = true;
  if (key != NULL) {
    add_quoted(json, key);
    ADD(json, ": ");
  }
}

static void begin_level(kp_json *json, const char *key, char opener, char closer) {
  begin_member(json, key);
  KP_ASSERT(json->depth < KP_JSON_DEPTH);
  ADD(json, "%c", opener);
  json->closer[json->depth] = closer;
  json->is_filled[json->depth] = false;
  json->depth += 1;
}

void kp_json_begin_object(kp_json *json, const char *key) {
  begin_level(json, key, '{', '}');
}

void kp_json_begin_array(kp_json *json, const char *key) {
  begin_level(json, key, '[', ']');
}

void kp_json_end(kp_json *json) {
  KP_ASSERT(json->depth > 0);
  json->depth -= 1;
  if (json->is_filled[json->depth]) {
    ADD(json, "\n%*s", 2 * json->depth, "");
  }
  ADD(json, "%c", json->closer[json->depth]);
}

void kp_json_string(kp_json *json, const char *key, const char *value) {
  if (value == NULL) {
    kp_json_null(json, key);
    return;
  }
  begin_member(json, key);
  add_quoted(json, value);
}

void kp_json_number(kp_json *json, const char *key, double value) {
  if (!isfinite(value)) {
    kp_json_null(json, key);
    return;
  }
  begin_member(json, key);
  char number[KP_NUMBER_SIZE];
  kp_number_format(number, value);
  ADD(json, "%s", number);
}

void kp_json_int(kp_json *json, const char *key, int64_t value) {
  begin_member(json, key);
  ADD(json, "%" PRId64, value);
}

void kp_json_hash(kp_json *json, const char *key, uint64_t value) {
  begin_member(json, key);
  ADD(json, "\"%016" PRIx64 "\"", value);
}

void kp_json_bool(kp_json *json, const char *key, bool value) {
  begin_member(json, key);
  ADD(json, "%s", value ? "true" : "false");
}

void kp_json_null(kp_json *json, const char *key) {
  begin_member(json, key);
  ADD(json, "null");
}

kp_result kp_json_text(kp_json *json, const char **text) {
  KP_ASSERT(json->depth == 0);
  KP_TRY(json->result);
  *text = json->text.data != NULL ? json->text.data : "";
  return KP_OK;
}

kp_result kp_json_write(kp_json *json, const char *path) {
  const char *text;
  KP_TRY(kp_json_text(json, &text));
  kp_file file;
  KP_TRY(kp_file_begin(&file, path));
  kp_file_add(&file, text, strlen(text));
  kp_file_add(&file, "\n", 1);
  return kp_file_commit(&file);
}

void kp_json_free(kp_json *json) {
  kp_text_free(&json->text);
  *json = (kp_json){ 0 };
}
