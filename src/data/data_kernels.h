// Kernels behind the registry: moving items of 1, 4 and 8 bytes and rows of words, whatever they
// mean. The scattering
// ones write element i's own place: no two elements share one.
#pragma once

#include "kelpie/config.h"

#define DATA_KERNELS(POINT, REDUCE, ROW, PAIR)                                                     \
  POINT(data, gather1)                                                                             \
  POINT(data, gather4)                                                                             \
  POINT(data, gather8)                                                                             \
  POINT(data, gather_wide)                                                                         \
  POINT(data, scatter1)                                                                            \
  POINT(data, scatter4)                                                                            \
  POINT(data, scatter8)                                                                            \
  POINT(data, scatter_wide)                                                                        \
  POINT(data, fill1)                                                                               \
  POINT(data, fill4)                                                                               \
  POINT(data, fill8)                                                                               \
  POINT(data, iota)                                                                                \
  POINT(data, flag)                                                                                \
  POINT(data, order_kept)                                                                          \
  POINT(data, slots_freed)

// out[i] = in[order[i]]: sort, removal, compaction
typedef struct data_gather_args {
  const void *in;
  const uint32_t *order;
  void *out;
  uint32_t words;  // of a place, wide fields
} data_gather_args;

// out[slots[first + i]] = in[i]: the values of new elements into their cold slots
typedef struct data_scatter_args {
  const void *in;
  const uint32_t *slots;
  void *out;
  int64_t first;
  uint32_t words;
} data_scatter_args;

// out[first + i] = value: the initial value of new elements
typedef struct data_fill_args {
  void *out;
  int64_t first;
  uint64_t value;  // in the low bytes
} data_fill_args;

#define DATA_MOVES(size, type)                                                                     \
  typedef data_gather_args data_gather##size##_args;                                               \
  typedef data_scatter_args data_scatter##size##_args;                                             \
  typedef data_fill_args data_fill##size##_args;                                                   \
  KP_FN void data_gather##size(int64_t i, const data_gather_args *a) {                             \
    ((type *)a->out)[i] = ((const type *)a->in)[a->order[i]];                                      \
  }                                                                                                \
  KP_FN void data_scatter##size(int64_t i, const data_scatter_args *a) {                           \
    ((type *)a->out)[a->slots[a->first + i]] = ((const type *)a->in)[i];                           \
  }                                                                                                \
  KP_FN void data_fill##size(int64_t i, const data_fill_args *a) {                                 \
    ((type *)a->out)[a->first + i] = (type)a->value;                                               \
  }

DATA_MOVES(1, uint8_t)
DATA_MOVES(4, uint32_t)
DATA_MOVES(8, uint64_t)

typedef data_gather_args data_gather_wide_args;
typedef data_scatter_args data_scatter_wide_args;

// Places of many words; compaction and emission, never the sort.
KP_FN void data_gather_wide(int64_t i, const data_gather_args *a) {
  const uint32_t *in = (const uint32_t *)a->in + (int64_t)a->order[i] * a->words;
  uint32_t *out = (uint32_t *)a->out + i * a->words;
  for (uint32_t k = 0; k < a->words; ++k) {
    out[k] = in[k];
  }
}

KP_FN void data_scatter_wide(int64_t i, const data_scatter_args *a) {
  const uint32_t *in = (const uint32_t *)a->in + i * a->words;
  uint32_t *out = (uint32_t *)a->out + (int64_t)a->slots[a->first + i] * a->words;
  for (uint32_t k = 0; k < a->words; ++k) {
    out[k] = in[k];
  }
}

typedef struct data_iota_args {
  uint32_t *out;
} data_iota_args;

KP_FN void data_iota(int64_t i, const data_iota_args *a) {
  a->out[i] = (uint32_t)i;
}

// Any non-zero mark becomes 1, so that the scan counts.
typedef struct data_flag_args {
  const uint32_t *keep;
  uint32_t *flags;
} data_flag_args;

KP_FN void data_flag(int64_t i, const data_flag_args *a) {
  a->flags[i] = a->keep[i] != 0 ? 1u : 0u;
}

// offsets is the scan of flags: a kept element's new index is the number of kept ones before it.
typedef struct data_order_kept_args {
  const uint32_t *flags;
  const uint32_t *offsets;
  uint32_t *order;
} data_order_kept_args;

KP_FN void data_order_kept(int64_t i, const data_order_kept_args *a) {
  if (a->flags[i] != 0) {
    a->order[a->offsets[i]] = (uint32_t)i;
  }
}

// The cold slots of the elements that go, in element order.
typedef struct data_slots_freed_args {
  const uint32_t *flags;
  const uint32_t *offsets;
  const uint32_t *slots;
  uint32_t *freed;
} data_slots_freed_args;

KP_FN void data_slots_freed(int64_t i, const data_slots_freed_args *a) {
  if (a->flags[i] == 0) {
    a->freed[i - (int64_t)a->offsets[i]] = a->slots[i];
  }
}
