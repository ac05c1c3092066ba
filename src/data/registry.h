// What the parts of the registry share. Not for users of fields: see data/field.h.
#pragma once

#include "data/data_kernels.h"
#include "data/field.h"
#include "par/kernel_define.h"

#define KP_SPACE_MOST 0x7fffffffll  // elements of a space: indices are 32 bits
#define KP_FIELD_WIDEST (1 << 20)   // items of an element: its bytes are counted in 32 bits

DATA_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)

// Places of a field: one per element, or one per slot of a COLD field.
static inline int64_t kp_field_places(const kp_field *field) {
  bool is_cold = (field->flags & KP_FIELD_COLD) != 0;
  return is_cold ? field->space->n_slots : field->space->n;
}

// Items of a field: `width` in each place.
static inline int64_t kp_field_items(const kp_field *field) {
  return kp_field_places(field) * field->width;
}

// Bytes of a place.
static inline size_t kp_field_stride(const kp_field *field) {
  return kp_type_size(field->type) * (size_t)field->width;
}

// Whether a space has anything to save.
bool kp_space_is_saved(const kp_space *space);

// Room for n elements and n_slots cold slots in all fields; counts the growths.
KP_NODISCARD kp_result kp_space_reserve_fields(kp_space *space, int64_t n, int64_t n_slots);

// Let each field have exactly so many places, with `initial` in those that are new. The room must
// have been reserved. Sets neither n nor n_slots.
KP_NODISCARD kp_result kp_space_fit(kp_space *space, int64_t n, int64_t n_slots);

// The same for one component.
KP_NODISCARD kp_result kp_field_fit(kp_field *field, int component, int64_t places);

// Write value (the low bytes of it) to items first..first + count - 1 of a device buffer.
KP_NODISCARD kp_result kp_buffer_fill(kp_buffer *buffer, size_t item, int64_t first, int64_t count,
                                      uint64_t value);

// The bytes of a field's initial value, in the low end of the word.
uint64_t kp_field_initial_bits(const kp_field *field);

// Make the cold slots those listed in the slot field (host side valid): the free ones follow.
KP_NODISCARD kp_result kp_space_index_slots(kp_space *space, int64_t n_slots);
