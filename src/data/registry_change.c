// Changes to the elements of a space, each one loop over its fields. Every change reserves first
// all the memory it needs: when that fails, nothing has changed.
#include <string.h>

#include "base/assert.h"
#include "data/call.h"
#include "data/field.h"
#include "data/registry.h"

// Kernels by size of the item; the sizes of all types are 1, 4 or 8.
typedef struct moves {
  const kp_kernel *gather, *scatter, *fill;
} moves;

static moves moves_of(size_t item) {
  static const moves table[] = {
    { &data_gather1_kernel, &data_scatter1_kernel, &data_fill1_kernel },
    { &data_gather4_kernel, &data_scatter4_kernel, &data_fill4_kernel },
    { &data_gather8_kernel, &data_scatter8_kernel, &data_fill8_kernel },
  };
  return table[item == 1 ? 0 : item == 4 ? 1 : 2];
}

static bool is_cold(const kp_field *field) {
  return (field->flags & KP_FIELD_COLD) != 0;
}

// Words of 4 bytes in a place, for fields that are wide.
static uint32_t words_of(const kp_field *field) {
  return (uint32_t)(kp_field_stride(field) / sizeof(uint32_t));
}

static kp_buffer *spare_of(kp_space *space, size_t item) {
  return &space->spare[item == 1 ? 0 : item == 4 ? 2 : 3];
}

kp_result kp_buffer_fill(kp_buffer *buffer, size_t item, int64_t first, int64_t count,
                         uint64_t value) {
  if (count <= 0) {
    return KP_OK;
  }
  data_fill_args a = { .first = first, .value = value };
  kp_call call;
  kp_call_init(&call, moves_of(item).fill, &a);
  KP_BIND(&call, &a, out, buffer, KP_ACCESS_WRITE);
  return kp_call_run(buffer->backend, &call, count);
}

static uint64_t float_bits(float value) {
  uint32_t word;
  memcpy(&word, &value, sizeof value);
  return word;
}

uint64_t kp_field_initial_bits(const kp_field *field) {
  uint64_t bits = 0;
  switch (field->type) {
  case KP_TYPE_REAL:
#ifdef KELPIE_DOUBLE
    memcpy(&bits, &field->initial, sizeof bits);
    break;
#endif
  case KP_TYPE_F32:
    bits = float_bits((float)field->initial);
    break;
  case KP_TYPE_POS:
  case KP_TYPE_F64:
    memcpy(&bits, &field->initial, sizeof bits);
    break;
  case KP_TYPE_I32:
    bits = (uint32_t)(int32_t)field->initial;
    break;
  case KP_TYPE_U8:
  case KP_TYPE_U32:
  case KP_TYPE_U64:
  case KP_TYPE_COUNT:
    bits = (uint64_t)field->initial;
    break;
  }
  return bits;
}

kp_result kp_field_fit(kp_field *field, int component, int64_t places) {
  kp_buffer *buffer = &field->buffers[component];
  size_t item = kp_type_size(field->type);
  int64_t items = places * field->width;
  int64_t n_old = (int64_t)(buffer->used / item);
  // freshen at the old size: the new items are written here, never copied
  void *device;
  if (items > n_old) {
    KP_TRY(kp_buffer_get(buffer, KP_SIDE_DEVICE, KP_ACCESS_WRITE, &device));
  }
  KP_TRY(kp_buffer_resize(buffer, (size_t)items * item));
  return kp_buffer_fill(buffer, item, n_old, items - n_old, kp_field_initial_bits(field));
}

kp_result kp_space_fit(kp_space *space, int64_t n, int64_t n_slots) {
  for (size_t k = 0; k < space->fields.count; ++k) {
    kp_field *field = space->fields.data[k];
    for (int c = 0; c < field->components; ++c) {
      KP_TRY(kp_field_fit(field, c, is_cold(field) ? n_slots : n));
    }
  }
  return KP_OK;
}

kp_result kp_space_reserve_fields(kp_space *space, int64_t n, int64_t n_slots) {
  if (n > KP_SPACE_MOST || n_slots > KP_SPACE_MOST) {
    return kp_fail(KP_ERROR_MEMORY, "space \"%s\" cannot hold %lld elements: the most is %lld",
                   space->name, (long long)n, KP_SPACE_MOST);
  }
  for (size_t k = 0; k < space->fields.count; ++k) {
    kp_field *field = space->fields.data[k];
    size_t bytes = (size_t)(is_cold(field) ? n_slots : n) * kp_field_stride(field);
    for (int c = 0; c < field->components; ++c) {
      size_t capacity = field->buffers[c].capacity;
      kp_result result = kp_buffer_reserve(&field->buffers[c], bytes);
      space->growths += field->buffers[c].capacity != capacity ? 1 : 0;
      if (result != KP_OK) {
        return kp_fail_in(result, "field \"%s/%s\"", space->name, field->name);
      }
    }
  }
  return KP_OK;
}

kp_result kp_space_resize(kp_space *space, int64_t n) {
  KP_ASSERT(space->slot == NULL);
  KP_TRY(kp_space_reserve_fields(space, n, 0));
  KP_TRY(kp_space_fit(space, n, 0));
  space->n = n;
  ++space->revision;
  return KP_OK;
}

typedef enum which { HOT, COLD } which;

// Fields that are cold or not, as asked, and have all of the flags.
static bool is_chosen(const kp_field *field, which chosen, uint32_t flags) {
  return is_cold(field) == (chosen == COLD) && (field->flags & flags) == flags;
}

// A back buffer must be as large as the largest field it will change places with: then the sizes of
// all agree after one sort, and no later sort allocates.
static kp_result reserve_spares(kp_space *space, which chosen, uint32_t flags) {
  for (size_t k = 0; k < space->fields.count; ++k) {
    kp_field *field = space->fields.data[k];
    for (int c = 0; c < field->components && is_chosen(field, chosen, flags); ++c) {
      kp_buffer *spare = spare_of(space, kp_type_size(field->type));
      KP_TRY(kp_buffer_reserve(spare, field->buffers[c].capacity));
    }
  }
  return KP_OK;
}

// Room in the back buffers for the cold values of n elements. A back buffer as large as a long
// history would double its memory; only compaction needs one.
static kp_result reserve_cold_rows(kp_space *space, int64_t n) {
  for (size_t k = 0; k < space->fields.count; ++k) {
    const kp_field *field = space->fields.data[k];
    if (is_cold(field)) {
      kp_buffer *spare = spare_of(space, kp_type_size(field->type));
      KP_TRY(kp_buffer_reserve(spare, (size_t)n * kp_field_stride(field)));
    }
  }
  return KP_OK;
}

static kp_result reserve_scratch(kp_space *space, int64_t n) {
  size_t bytes = ((size_t)n + 1) * sizeof(uint32_t);
  for (size_t k = 0; k < sizeof space->scratch / sizeof space->scratch[0]; ++k) {
    KP_TRY(kp_buffer_reserve(&space->scratch[k], bytes));
  }
  return KP_OK;
}

kp_result kp_space_reserve(kp_space *space, int64_t n) {
  int64_t n_slots = space->n_slots + (n > space->n ? n - space->n : 0);
  KP_TRY(kp_space_reserve_fields(space, n, space->slot != NULL ? n_slots : 0));
  KP_TRY(reserve_spares(space, HOT, 0));
  KP_TRY(reserve_cold_rows(space, n > space->n ? n - space->n : 0));
  KP_TRY(reserve_scratch(space, n));
  if (space->slot != NULL) {
    KP_TRY(kp_array_reserve(&space->free_slots, (size_t)n_slots));
  }
  return KP_OK;
}

// Place i gets what place order[i] had, for n_out places, through the back buffer.
static kp_result gather(kp_field *field, kp_buffer *buffer, kp_buffer *order, int64_t n_out) {
  kp_space *space = field->space;
  size_t item = kp_type_size(field->type);
  kp_buffer *spare = spare_of(space, item);
  KP_TRY(kp_buffer_reserve(spare, buffer->capacity));
  KP_TRY(kp_buffer_resize(spare, (size_t)n_out * kp_field_stride(field)));
  data_gather_args a = { .words = words_of(field) };
  kp_call call;
  kp_call_init(&call, field->width > 1 ? &data_gather_wide_kernel : moves_of(item).gather, &a);
  KP_BIND(&call, &a, in, buffer, KP_ACCESS_READ);
  KP_BIND(&call, &a, order, order, KP_ACCESS_READ);
  KP_BIND(&call, &a, out, spare, KP_ACCESS_OVERWRITE);
  spare->type = buffer->type;
  KP_TRY(kp_call_run(space->backend, &call, n_out));
  kp_buffer_swap_device(buffer, spare);
  return KP_OK;
}

static kp_result gather_fields(kp_space *space, which chosen, uint32_t flags, kp_buffer *order,
                               int64_t n_out) {
  for (size_t k = 0; k < space->fields.count; ++k) {
    kp_field *field = space->fields.data[k];
    for (int c = 0; c < field->components && is_chosen(field, chosen, flags); ++c) {
      KP_TRY(gather(field, &field->buffers[c], order, n_out));
    }
  }
  return KP_OK;
}

kp_result kp_space_permute(kp_space *space, kp_buffer *order) {
  if (order->used < (size_t)space->n * sizeof(uint32_t)) {
    return kp_fail(KP_ERROR_INTERNAL, "the order of space \"%s\" is shorter than its %lld elements",
                   space->name, (long long)space->n);
  }
  if (space->n == 0) {
    return KP_OK;
  }
  KP_TRY(reserve_spares(space, HOT, KP_FIELD_SORT));
  KP_TRY(gather_fields(space, HOT, KP_FIELD_SORT, order, space->n));
  ++space->revision;
  return KP_OK;
}

kp_result kp_space_keep_first(kp_space *space, int64_t n) {
  if (n < 0 || n > space->n || space->slot != NULL) {
    return kp_fail(KP_ERROR_INTERNAL, "space \"%s\" cannot be cut to %lld of its %lld elements",
                   space->name, (long long)n, (long long)space->n);
  }
  if (n == space->n) {
    return KP_OK;
  }
  KP_TRY(kp_space_fit(space, n, 0));
  space->n = n;
  ++space->revision;
  return KP_OK;
}

static kp_result check_append(const kp_space *space, int64_t n_new, const kp_append_value *values,
                              size_t n_values) {
  if (n_new < 0 || n_new > KP_SPACE_MOST) {
    return kp_fail(KP_ERROR_ARGUMENT, "space \"%s\" cannot grow by %lld elements", space->name,
                   (long long)n_new);
  }
  for (size_t k = 0; k < n_values; ++k) {
    const kp_field *field = values[k].field;
    KP_ASSERT(field != NULL);
    if (field->space != space || field == space->slot) {
      return kp_fail(KP_ERROR_ARGUMENT, "values for field \"%s\" do not belong to space \"%s\"",
                     field->name, space->name);
    }
    for (int c = 0; c < field->components; ++c) {
      if (values[k].components[c] == NULL) {
        return kp_fail(KP_ERROR_ARGUMENT, "component %d of the new \"%s/%s\" is missing", c,
                       space->name, field->name);
      }
    }
  }
  return KP_OK;
}

static const kp_append_value *find_value(const kp_field *field, const kp_append_value *values,
                                         size_t n_values) {
  for (size_t k = 0; k < n_values; ++k) {
    if (values[k].field == field) {
      return &values[k];
    }
  }
  return NULL;
}

// Give the new elements their cold slots, freed ones first. free_slots and n_slots stay as they are
// until the append is done.
static kp_result append_slots(kp_space *space, int64_t n_new) {
  kp_buffer *list = &space->scratch[2];
  KP_TRY(kp_buffer_resize(list, (size_t)n_new * sizeof(uint32_t)));
  void *memory;
  KP_TRY(kp_buffer_get(list, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, &memory));
  uint32_t *slots = memory;
  int64_t n_free = (int64_t)space->free_slots.count;
  for (int64_t i = 0; i < n_new; ++i) {
    slots[i] = i < n_free ? space->free_slots.data[n_free - 1 - i]
                          : (uint32_t)(space->n_slots + i - n_free);
  }
  return kp_buffer_append(&space->slot->buffers[0], slots, list->used);
}

// Values of the new elements into their slots, by way of the back buffer.
static kp_result append_cold(kp_field *field, int c, int64_t n_new, const void *value) {
  kp_space *space = field->space;
  size_t item = kp_type_size(field->type);
  kp_buffer *spare = spare_of(space, item);
  KP_TRY(kp_buffer_resize(spare, (size_t)n_new * kp_field_stride(field)));
  if (value != NULL) {
    void *device;
    KP_TRY(kp_buffer_get(spare, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &device));
    KP_TRY(kp_copy_in(space->backend, device, value, spare->used));
  } else {
    KP_TRY(kp_buffer_fill(spare, item, 0, n_new * field->width, kp_field_initial_bits(field)));
  }
  data_scatter_args a = { .first = space->n, .words = words_of(field) };
  kp_call call;
  kp_call_init(&call, field->width > 1 ? &data_scatter_wide_kernel : moves_of(item).scatter, &a);
  KP_BIND(&call, &a, in, spare, KP_ACCESS_READ);
  KP_BIND(&call, &a, slots, &space->slot->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, out, &field->buffers[c], KP_ACCESS_WRITE);
  return kp_call_run(space->backend, &call, n_new);
}

static kp_result append_values(kp_space *space, int64_t n_new, int64_t n_slots,
                               const kp_append_value *values, size_t n_values) {
  if (space->slot != NULL) {
    KP_TRY(append_slots(space, n_new));
  }
  for (size_t k = 0; k < space->fields.count; ++k) {
    kp_field *field = space->fields.data[k];
    const kp_append_value *value = find_value(field, values, n_values);
    for (int c = 0; c < field->components && field != space->slot; ++c) {
      const void *items = value != NULL ? value->components[c] : NULL;
      if (is_cold(field)) {
        KP_TRY(kp_field_fit(field, c, n_slots));
        KP_TRY(append_cold(field, c, n_new, items));
      } else if (items != NULL) {
        size_t bytes = (size_t)n_new * kp_type_size(field->type);
        KP_TRY(kp_buffer_append(&field->buffers[c], items, bytes));
      } else {
        KP_TRY(kp_field_fit(field, c, space->n + n_new));
      }
    }
  }
  return KP_OK;
}

// Forget a half-done append: what lies beyond n and n_slots means nothing.
static void undo_append(kp_space *space) {
  for (size_t k = 0; k < space->fields.count; ++k) {
    kp_field *field = space->fields.data[k];
    size_t bytes = (size_t)kp_field_places(field) * kp_field_stride(field);
    for (int c = 0; c < field->components; ++c) {
      field->buffers[c].used = bytes;
    }
  }
}

kp_result kp_space_append(kp_space *space, int64_t n_new, const kp_append_value *values,
                          size_t n_values) {
  KP_TRY(check_append(space, n_new, values, n_values));
  if (n_new == 0) {
    return KP_OK;
  }
  int64_t n_free = (int64_t)space->free_slots.count;
  int64_t n_reused = n_new < n_free ? n_new : n_free;
  int64_t n_slots = space->slot != NULL ? space->n_slots + n_new - n_reused : 0;
  KP_TRY(kp_space_reserve_fields(space, space->n + n_new, n_slots));
  KP_TRY(reserve_cold_rows(space, n_new));
  kp_result result = append_values(space, n_new, n_slots, values, n_values);
  if (result != KP_OK) {
    undo_append(space);
    return result;
  }
  space->n += n_new;
  space->n_slots = n_slots;
  space->free_slots.count -= (size_t)n_reused;
  ++space->revision;
  return KP_OK;
}

// flags and offsets of scratch from the marks; the number of kept elements by one look of the host.
static kp_result count_kept(kp_space *space, kp_buffer *keep, int64_t *n_kept) {
  kp_buffer *flags = &space->scratch[0];
  kp_buffer *offsets = &space->scratch[1];
  KP_TRY(kp_buffer_resize(flags, (size_t)space->n * sizeof(uint32_t)));
  KP_TRY(kp_buffer_resize(offsets, ((size_t)space->n + 1) * sizeof(uint32_t)));
  data_flag_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &data_flag_kernel, &a);
  KP_BIND(&call, &a, keep, keep, KP_ACCESS_READ);
  KP_BIND(&call, &a, flags, flags, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(space->backend, &call, space->n));

  void *in;
  void *out;
  KP_TRY(kp_buffer_get(flags, KP_SIDE_DEVICE, KP_ACCESS_READ, &in));
  KP_TRY(kp_buffer_get(offsets, KP_SIDE_DEVICE, KP_ACCESS_OVERWRITE, &out));
  KP_TRY(kp_scan(space->backend, in, out, space->n));
  uint32_t count = 0;
  KP_TRY(kp_copy_out(space->backend, &count, (uint32_t *)out + space->n, sizeof count));
  *n_kept = (int64_t)count;
  return KP_OK;
}

static kp_result order_kept(kp_space *space, int64_t n_kept) {
  kp_buffer *order = &space->scratch[2];
  KP_TRY(kp_buffer_resize(order, (size_t)n_kept * sizeof(uint32_t)));
  data_order_kept_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &data_order_kept_kernel, &a);
  KP_BIND(&call, &a, flags, &space->scratch[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, offsets, &space->scratch[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, order, order, KP_ACCESS_OVERWRITE);
  return kp_call_run(space->backend, &call, space->n);
}

// The slots of the elements that go, behind the free ones; the count is set by the caller when all
// is done.
static kp_result list_freed(kp_space *space, int64_t n_freed) {
  kp_buffer *spare = spare_of(space, sizeof(uint32_t));
  KP_TRY(kp_array_reserve(&space->free_slots, space->free_slots.count + (size_t)n_freed));
  KP_TRY(kp_buffer_resize(spare, (size_t)n_freed * sizeof(uint32_t)));
  data_slots_freed_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &data_slots_freed_kernel, &a);
  KP_BIND(&call, &a, flags, &space->scratch[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, offsets, &space->scratch[1], KP_ACCESS_READ);
  KP_BIND(&call, &a, slots, &space->slot->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, freed, spare, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(space->backend, &call, space->n));
  void *device;
  KP_TRY(kp_buffer_get(spare, KP_SIDE_DEVICE, KP_ACCESS_READ, &device));
  uint32_t *end = space->free_slots.data + space->free_slots.count;
  return kp_copy_out(space->backend, end, device, spare->used);
}

kp_result kp_space_remove(kp_space *space, kp_buffer *keep) {
  if (keep->used < (size_t)space->n * sizeof(uint32_t)) {
    return kp_fail(KP_ERROR_INTERNAL, "the marks of space \"%s\" are fewer than its %lld elements",
                   space->name, (long long)space->n);
  }
  if (space->n == 0) {
    return KP_OK;
  }
  KP_TRY(reserve_scratch(space, space->n));
  KP_TRY(reserve_spares(space, HOT, 0));
  int64_t n_kept;
  KP_TRY(count_kept(space, keep, &n_kept));
  int64_t n_freed = space->n - n_kept;
  if (n_freed == 0) {
    return KP_OK;
  }
  KP_TRY(order_kept(space, n_kept));
  if (space->slot != NULL) {
    KP_TRY(list_freed(space, n_freed));
  }
  KP_TRY(gather_fields(space, HOT, 0, &space->scratch[2], n_kept));
  space->free_slots.count += space->slot != NULL ? (size_t)n_freed : 0;
  space->n = n_kept;
  ++space->revision;
  return KP_OK;
}

// Give back the back buffers that have room for whole histories: the next sort takes smaller ones.
static void release_rows(kp_space *space) {
  for (size_t k = 0; k < space->fields.count; ++k) {
    const kp_field *field = space->fields.data[k];
    if (field->width > 1) {
      kp_buffer *spare = spare_of(space, kp_type_size(field->type));
      kp_buffer_free(spare);
      kp_buffer_init(spare, space->backend);
    }
  }
}

kp_result kp_space_compact_cold(kp_space *space) {
  if (space->slot == NULL || space->n_slots == 0) {
    return KP_OK;
  }
  KP_TRY(reserve_spares(space, COLD, 0));
  kp_buffer *slots = &space->slot->buffers[0];
  KP_TRY(gather_fields(space, COLD, 0, slots, space->n));
  data_iota_args a = { 0 };
  kp_call call;
  kp_call_init(&call, &data_iota_kernel, &a);
  KP_BIND(&call, &a, out, slots, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(space->backend, &call, space->n));
  space->n_slots = space->n;
  space->free_slots.count = 0;
  release_rows(space);
  return KP_OK;
}

kp_result kp_registry_compact_cold(kp_registry *registry) {
  for (size_t s = 0; s < registry->spaces.count; ++s) {
    KP_TRY(kp_space_compact_cold(registry->spaces.data[s]));
  }
  return KP_OK;
}

kp_result kp_space_index_slots(kp_space *space, int64_t n_slots) {
  void *memory;
  KP_TRY(kp_buffer_get(&space->slot->buffers[0], KP_SIDE_HOST, KP_ACCESS_READ, &memory));
  const uint32_t *slots = memory;
  kp_array_free(&space->free_slots);
  uint8_t *is_taken = kp_alloc_zero((size_t)n_slots, KP_MEMORY_SCRATCH);
  if (is_taken == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_result result = KP_OK;
  for (int64_t i = 0; i < space->n && result == KP_OK; ++i) {
    if (slots[i] >= n_slots || is_taken[slots[i]]) {
      result = kp_fail(KP_ERROR_FORMAT, "\"%s/slot\" of element %lld is %u: out of range or taken",
                       space->name, (long long)i, slots[i]);
    } else {
      is_taken[slots[i]] = 1;
    }
  }
  // from the end, so that the lowest is taken first
  for (int64_t s = n_slots - 1; s >= 0 && result == KP_OK; --s) {
    if (!is_taken[s]) {
      result = kp_array_push(&space->free_slots, (uint32_t)s);
    }
  }
  kp_free(is_taken);
  return result;
}
