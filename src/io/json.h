// A small JSON writer for run.json and --json outputs: indented, keys in the order they are given,
// numbers that read back exactly. What JSON cannot hold (nan, inf) is written null.
//
//   kp_json json = {0};
//   kp_json_begin_object(&json, NULL);
//   kp_json_string(&json, "scene", name);
//   kp_json_begin_array(&json, "sizes");
//   kp_json_int(&json, NULL, 12);              // no key inside an array
//   kp_json_end(&json);
//   kp_json_end(&json);
//   result = kp_json_write(&json, path);       // or kp_json_text
//   kp_json_free(&json);
//
// A failure (memory) is kept and reported by kp_json_text and kp_json_write. A key where none
// belongs, a missing one and levels that do not close are mistakes of the program and asserted.
#pragma once

#include "base/text.h"

#define KP_JSON_DEPTH 32

typedef struct kp_json {
  kp_text text;
  int depth;
  char closer[KP_JSON_DEPTH];     // '}' or ']' per open level
  bool is_filled[KP_JSON_DEPTH];  // the level has a member already
  kp_result result;
} kp_json;

void kp_json_begin_object(kp_json *json, const char *key);
void kp_json_begin_array(kp_json *json, const char *key);
void kp_json_end(kp_json *json);  // of the innermost object or array

void kp_json_string(kp_json *json, const char *key, const char *value);  // NULL gives null
void kp_json_number(kp_json *json, const char *key, double value);
void kp_json_int(kp_json *json, const char *key, int64_t value);
void kp_json_hash(kp_json *json, const char *key, uint64_t value);  // a string of 16 hex digits
void kp_json_bool(kp_json *json, const char *key, bool value);
void kp_json_null(kp_json *json, const char *key);

// The finished text, owned by json; every level must be closed.
KP_NODISCARD kp_result kp_json_text(kp_json *json, const char **text);

// The same, into a file (atomically, with a line end).
KP_NODISCARD kp_result kp_json_write(kp_json *json, const char *path);
void kp_json_free(kp_json *json);
