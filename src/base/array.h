// Growable arrays of any plain type: declare one with KP_ARRAY(type) and use the macros.
//
//   KP_ARRAY(int) numbers = {0};
//   KP_TRY(kp_array_push(&numbers, 7));
//   for (size_t i = 0; i < numbers.count; ++i) { use(numbers.data[i]); }
//   kp_array_free(&numbers);
//
// Growth is geometric (x 1.5, at least 8).
#pragma once

#include "base/memory.h"
#include "base/result.h"

#define KP_ARRAY(type)                                                                             \
  struct {                                                                                         \
    type *data;                                                                                    \
    size_t count;                                                                                  \
    size_t capacity;                                                                               \
  }

// Implementation of the macros: makes room for `count` elements.
kp_result kp_array_reserve_raw(void **data, size_t *capacity, size_t count, size_t element);

#define kp_array_reserve(a, n)                                                                     \
  kp_array_reserve_raw((void **)&(a)->data, &(a)->capacity, (n), sizeof *(a)->data)

#define kp_array_push(a, ...)                                                                      \
  (kp_array_reserve((a), (a)->count + 1) == KP_OK                                                  \
       ? ((a)->data[(a)->count++] = (__VA_ARGS__), KP_OK)                                          \
       : KP_ERROR_MEMORY)

// The new elements are not initialised.
#define kp_array_resize(a, n)                                                                      \
  (kp_array_reserve((a), (n)) == KP_OK ? ((a)->count = (n), KP_OK) : KP_ERROR_MEMORY)

#define kp_array_free(a) (kp_free((a)->data), (a)->data = NULL, (a)->count = 0, (a)->capacity = 0)
