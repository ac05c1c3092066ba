#include "base/array.h"

#include <stdint.h>
#include <string.h>

#define SMALLEST_CAPACITY 8

kp_result kp_array_reserve_raw(void **data, size_t *capacity, size_t count, size_t element) {
  if (count <= *capacity) {
    return KP_OK;
  }
  size_t grown = *capacity + *capacity / 2;
  grown = grown < count ? count : grown;
  grown = grown < SMALLEST_CAPACITY ? SMALLEST_CAPACITY : grown;
  if (grown > SIZE_MAX / element) {
    return kp_fail(KP_ERROR_MEMORY, "out of memory: an array of %zu elements of %zu bytes", grown,
                   element);
  }

  // data is in truth a pointer to a pointer to some other type: copied, never dereferenced as void
  // *
  void *memory;
  memcpy(&memory, data, sizeof memory);
  memory = kp_realloc(memory, grown * element, KP_MEMORY_BASE);
  if (memory == NULL) {
    return KP_ERROR_MEMORY;
  }
  memcpy(data, &memory, sizeof memory);
  *capacity = grown;
  return KP_OK;
}
