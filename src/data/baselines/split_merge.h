// Baseline: split-and-merge sort of Lyes 2015, section 5.1.2 (L9, tested and rejected there: faster
// than a plain radix sort only up to 8192 elements). Between two steps few particles change their
// cell: only those are sorted, and then merged with the rest, which still is in order.
#pragma once

#include "par/backend.h"

typedef struct kp_split_merge_report {
  int64_t n_changed;  // elements that were sorted
} kp_split_merge_report;

// `keys` are the new keys of n elements that were sorted by `old_keys`. On return `order` lists the
// elements by ascending key, equal keys by ascending index, and `sorted` their keys: what a stable
// sort makes. The changed ones are sorted by the radix sort of `backend`, one of a CPU.
KP_NODISCARD kp_result kp_split_merge_sort(kp_backend *backend, const uint32_t *old_keys,
                                           const uint32_t *keys, uint32_t *sorted, uint32_t *order,
                                           int64_t n, kp_split_merge_report *report);
