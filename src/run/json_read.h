// Reads JSON as a flat list of values: {"sets": ["a=1"], "fps": 60} gives "sets/0" = "a=1" and
// "fps" = "60". Enough for run.json, which we write ourselves; a broken text is refused, never
// trusted.
#pragma once

#include "base/array.h"
#include "base/result.h"

typedef struct kp_json_value {
  char *path;
  char *text;  // strings without their quotes, numbers and words as written
} kp_json_value;

typedef struct kp_json_values {
  KP_ARRAY(kp_json_value) items;
} kp_json_values;

// `name` stands in messages.
KP_NODISCARD kp_result kp_json_parse(const char *name, const char *text, kp_json_values *out);
void kp_json_values_free(kp_json_values *values);

// NULL when there is none.
const char *kp_json_get(const kp_json_values *values, const char *path);
double kp_json_get_number(const kp_json_values *values, const char *path, double otherwise);
