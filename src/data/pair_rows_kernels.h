// Kernels of the persistent pair rows; see data/pair_rows.h.
#pragma once

#include "kelpie/config.h"

#define ROWS_KERNELS(POINT, REDUCE, ROW, PAIR)                                                     \
  POINT(rows, count)                                                                               \
  POINT(rows, match)                                                                               \
  POINT(rows, adopt)                                                                               \
  POINT(rows, carry1)                                                                              \
  POINT(rows, carry4)                                                                              \
  POINT(rows, carry8)

// Length of the new row of element i; the scan makes starts of them.
typedef struct rows_count_args {
  const uint32_t *start, *image_start;  // of the lists; the second may be NULL
  uint32_t *counts;
} rows_count_args;

KP_FN void rows_count(int64_t i, const rows_count_args *a) {
  uint32_t n = a->start[i + 1] - a->start[i];
  a->counts[i] = n + (a->image_start != NULL ? a->image_start[i + 1] - a->image_start[i] : 0);
}

// The new row of element i and, for each entry, where its values lie in the old rows.
typedef struct rows_match_args {
  const uint32_t *start, *indices;
  const uint32_t *image_start, *image_indices, *image_source;
  const uint32_t *starts;  // of the new rows
  const kp_gid *id;        // of the partners' set
  const uint32_t *old_begin, *old_count;
  const kp_gid *old_id;  // by old entry
  uint32_t *partner, *source;
  kp_gid *partner_id;
} rows_match_args;

// The old entry of this id, or none. Neighbours keep their order more often than not, so the search
// goes on from where the last one ended.
KP_FN uint32_t rows_find(const rows_match_args *a, uint32_t begin, uint32_t count, kp_gid id,
                         uint32_t *at) {
  for (uint32_t k = 0; k < count; ++k) {
    uint32_t e = *at + k < count ? *at + k : *at + k - count;
    if (a->old_id[begin + e] == id) {
      *at = e + 1 < count ? e + 1 : 0;
      return begin + e;
    }
  }
  return 0xffffffffu;
}

KP_FN void rows_match(int64_t i, const rows_match_args *a) {
  uint32_t n_own = a->start[i + 1] - a->start[i];
  uint32_t first = a->starts[i];
  uint32_t n = a->starts[i + 1] - first;
  uint32_t at = 0;
  for (uint32_t k = 0; k < n; ++k) {
    uint32_t j = k < n_own ? a->indices[a->start[i] + k]
                           : a->image_source[a->image_indices[a->image_start[i] + k - n_own]];
    kp_gid id = a->id[j];
    a->partner[first + k] = j;
    a->partner_id[first + k] = id;
    a->source[first + k] = rows_find(a, a->old_begin[i], a->old_count[i], id, &at);
  }
}

// The new rows become those of their elements.
typedef struct rows_adopt_args {
  const uint32_t *starts;
  uint32_t *begin, *count;
} rows_adopt_args;

KP_FN void rows_adopt(int64_t i, const rows_adopt_args *a) {
  a->begin[i] = a->starts[i];
  a->count[i] = a->starts[i + 1] - a->starts[i];
}

// Values of entry e from its old place, `width` items each; `initial` where there is none.
typedef struct rows_carry_args {
  const void *in;
  const uint32_t *source;
  void *out;
  uint64_t initial;  // in the low bytes
  uint32_t width;
} rows_carry_args;

#define ROWS_CARRY(size, type)                                                                     \
  typedef rows_carry_args rows_carry##size##_args;                                                 \
  KP_FN void rows_carry##size(int64_t e, const rows_carry_args *a) {                               \
    uint32_t from = a->source[e];                                                                  \
    type *out = (type *)a->out + e * a->width;                                                     \
    const type *in = (const type *)a->in + (int64_t)from * a->width;                               \
    for (uint32_t k = 0; k < a->width; ++k) {                                                      \
      out[k] = from != 0xffffffffu ? in[k] : (type)a->initial;                                     \
    }                                                                                              \
  }

ROWS_CARRY(1, uint8_t)
ROWS_CARRY(4, uint32_t)
ROWS_CARRY(8, uint64_t)
