#include "base/names.h"

#include <string.h>

#include "base/hash.h"

#define FEWEST_SLOTS 64

// The slot where the text is or would be: open addressing with linear probing.
static size_t slot_of(const kp_names *names, const char *text) {
  size_t slot = (size_t)kp_hash_bytes(text, strlen(text), 0) & (names->n_slots - 1);
  while (names->slots[slot] != 0 &&
         strcmp(names->list.data[names->slots[slot] - 1].text, text) != 0) {
    slot = (slot + 1) & (names->n_slots - 1);
  }
  return slot;
}

static void enter(kp_names *names, size_t index) {
  size_t slot = slot_of(names, names->list.data[index].text);
  if (names->slots[slot] == 0) {
    names->slots[slot] = index + 1;
  }
}

static kp_result make_slots(kp_names *names) {
  size_t n = names->n_slots > 0 ? 2 * names->n_slots : FEWEST_SLOTS;
  size_t *slots = kp_alloc_zero(n * sizeof *slots, KP_MEMORY_BASE);
  if (slots == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_free(names->slots);
  names->slots = slots;
  names->n_slots = n;
  for (size_t i = 0; i < names->list.count; ++i) {
    enter(names, i);
  }
  return KP_OK;
}

kp_result kp_names_add(kp_names *names, const char *text, size_t value) {
  if (2 * (names->list.count + 1) > names->n_slots) {
    KP_TRY(make_slots(names));
  }
  kp_name name = { kp_strdup(text, KP_MEMORY_BASE), value };
  if (name.text == NULL || kp_array_push(&names->list, name) != KP_OK) {
    kp_free(name.text);
    return KP_ERROR_MEMORY;
  }
  enter(names, names->list.count - 1);
  return KP_OK;
}

const kp_name *kp_names_find(const kp_names *names, const char *text) {
  size_t index = names->n_slots > 0 ? names->slots[slot_of(names, text)] : 0;
  return index > 0 ? &names->list.data[index - 1] : NULL;
}

void kp_names_free(kp_names *names) {
  for (size_t i = 0; i < names->list.count; ++i) {
    kp_free(names->list.data[i].text);
  }
  kp_array_free(&names->list);
  kp_free(names->slots);
  names->slots = NULL;
  names->n_slots = 0;
}
