// Names with a number each, found by their text in a time that does not grow with how many there
// are.
#pragma once

#include "base/array.h"

typedef struct kp_name {
  char *text;
  size_t value;
} kp_name;

typedef struct kp_names {
  KP_ARRAY(kp_name) list;
  size_t *slots;   // index into the list plus one; 0 is free
  size_t n_slots;  // a power of two, at least twice the names
} kp_names;

// Copies the text. A name that is there already gets another entry, which is not found.
KP_NODISCARD kp_result kp_names_add(kp_names *names, const char *text, size_t value);

// NULL when there is none.
const kp_name *kp_names_find(const kp_names *names, const char *text);
void kp_names_free(kp_names *names);
