// Copies of the state on the device: saved and rewound without the host seeing the arrays.
#include <string.h>

#include "data/field.h"
#include "data/registry.h"

typedef struct space_copy {
  int64_t n, n_slots;
  KP_ARRAY(uint32_t) free_slots;
} space_copy;

// Buffers follow the order of the registry: spaces, SAVE fields, components.
struct kp_snapshot {
  uint64_t layout;
  KP_ARRAY(space_copy) spaces;
  KP_ARRAY(kp_buffer) buffers;
};

void kp_snapshot_free(kp_snapshot **snapshot) {
  kp_snapshot *s = *snapshot;
  if (s == NULL) {
    return;
  }
  for (size_t k = 0; k < s->spaces.count; ++k) {
    kp_array_free(&s->spaces.data[k].free_slots);
  }
  for (size_t k = 0; k < s->buffers.count; ++k) {
    kp_buffer_free(&s->buffers.data[k]);
  }
  kp_array_free(&s->spaces);
  kp_array_free(&s->buffers);
  kp_free(s);
  *snapshot = NULL;
}

static kp_result add_buffers(kp_snapshot *snapshot, const kp_field *field) {
  for (int c = 0; c < field->components && (field->flags & KP_FIELD_SAVE) != 0; ++c) {
    KP_TRY(kp_array_push(&snapshot->buffers, (kp_buffer){ 0 }));
    kp_buffer *copy = &snapshot->buffers.data[snapshot->buffers.count - 1];
    kp_buffer_init(copy, field->buffers[c].backend);
    copy->type = (uint8_t)field->type;
  }
  return KP_OK;
}

static kp_result make_snapshot(const kp_registry *registry, kp_snapshot **out) {
  *out = kp_alloc_zero(sizeof **out, KP_MEMORY_FIELD);
  if (*out == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_snapshot *snapshot = *out;
  snapshot->layout = kp_registry_layout(registry);
  kp_result result = KP_OK;
  for (size_t s = 0; s < registry->spaces.count && result == KP_OK; ++s) {
    const kp_space *space = registry->spaces.data[s];
    result = kp_array_push(&snapshot->spaces, (space_copy){ 0 });
    for (size_t k = 0; k < space->fields.count && result == KP_OK; ++k) {
      result = add_buffers(snapshot, space->fields.data[k]);
    }
  }
  if (result != KP_OK) {
    kp_snapshot_free(out);
  }
  return result;
}

static kp_result copy_buffer(kp_buffer *to, kp_buffer *from) {
  KP_TRY(kp_buffer_resize(to, from->used));
  void *target;
  void *source;
  KP_TRY(kp_buffer_get(from, KP_SIDE_DEVICE, KP_ACCESS_READ, &source));
  KP_TRY(kp_buffer_get(to, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &target));
  return kp_copy(from->backend, target, source, from->used);
}

static void copy_slots(uint32_t *to, const uint32_t *from, size_t n) {
  if (n > 0) {
    memcpy(to, from, n * sizeof *from);
  }
}

static kp_result save_space(kp_space *space, space_copy *copy, kp_buffer **next) {
  copy->n = space->n;
  copy->n_slots = space->n_slots;
  KP_TRY(kp_array_resize(&copy->free_slots, space->free_slots.count));
  copy_slots(copy->free_slots.data, space->free_slots.data, space->free_slots.count);
  for (size_t k = 0; k < space->fields.count; ++k) {
    kp_field *field = space->fields.data[k];
    for (int c = 0; c < field->components && (field->flags & KP_FIELD_SAVE) != 0; ++c) {
      KP_TRY(copy_buffer((*next)++, &field->buffers[c]));
    }
  }
  return KP_OK;
}

kp_result kp_registry_save(kp_registry *registry, kp_snapshot **snapshot) {
  // fields that came since the last save make another snapshot of it
  if (*snapshot != NULL && (*snapshot)->layout != kp_registry_layout(registry)) {
    kp_snapshot_free(snapshot);
  }
  if (*snapshot == NULL) {
    KP_TRY(make_snapshot(registry, snapshot));
  }
  kp_buffer *next = (*snapshot)->buffers.data;
  for (size_t s = 0; s < registry->spaces.count; ++s) {
    kp_result result = save_space(registry->spaces.data[s], &(*snapshot)->spaces.data[s], &next);
    if (result != KP_OK) {
      // half a snapshot must never be rewound to
      kp_snapshot_free(snapshot);
      return result;
    }
  }
  return KP_OK;
}

static kp_result rewind_space(kp_space *space, const space_copy *copy, kp_buffer **next) {
  KP_TRY(kp_space_fit(space, copy->n, copy->n_slots));
  for (size_t k = 0; k < space->fields.count; ++k) {
    kp_field *field = space->fields.data[k];
    for (int c = 0; c < field->components && (field->flags & KP_FIELD_SAVE) != 0; ++c) {
      KP_TRY(copy_buffer(&field->buffers[c], (*next)++));
    }
  }
  space->n = copy->n;
  space->n_slots = copy->n_slots;
  space->free_slots.count = copy->free_slots.count;
  copy_slots(space->free_slots.data, copy->free_slots.data, copy->free_slots.count);
  // never back to an old number: whoever indexed the elements must do so again
  ++space->revision;
  return KP_OK;
}

kp_result kp_registry_rewind(kp_registry *registry, const kp_snapshot *snapshot) {
  if (snapshot == NULL || snapshot->layout != kp_registry_layout(registry)) {
    return kp_fail(KP_ERROR_ARGUMENT, "the state has other fields than when it was saved");
  }
  // all memory first, so that a failure leaves the state as it is
  for (size_t s = 0; s < registry->spaces.count; ++s) {
    kp_space *space = registry->spaces.data[s];
    const space_copy *copy = &snapshot->spaces.data[s];
    KP_TRY(kp_space_reserve_fields(space, copy->n, copy->n_slots));
    KP_TRY(kp_array_reserve(&space->free_slots, copy->free_slots.count));
  }
  kp_buffer *next = snapshot->buffers.data;
  for (size_t s = 0; s < registry->spaces.count; ++s) {
    if (kp_space_is_saved(registry->spaces.data[s])) {
      KP_TRY(rewind_space(registry->spaces.data[s], &snapshot->spaces.data[s], &next));
    }
  }
  return KP_OK;
}
