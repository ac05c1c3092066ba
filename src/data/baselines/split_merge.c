#include "data/baselines/split_merge.h"

#include "base/memory.h"

// The changed ones and their keys, by ascending index.
static int64_t split(const uint32_t *old_keys, const uint32_t *keys, int64_t n,
                     uint32_t *moved_keys, uint32_t *moved) {
  int64_t n_moved = 0;
  for (int64_t i = 0; i < n; ++i) {
    moved_keys[n_moved] = keys[i];
    moved[n_moved] = (uint32_t)i;
    n_moved += keys[i] != old_keys[i] ? 1 : 0;
  }
  return n_moved;
}

// Those that stay are taken from where they are: a block of their own would hold them in the same
// order.
static void merge(const uint32_t *old_keys, const uint32_t *keys, int64_t n,
                  const uint32_t *moved_keys, const uint32_t *moved, int64_t n_moved,
                  uint32_t *sorted, uint32_t *order) {
  int64_t m = 0, at = 0;
  for (int64_t i = 0; i < n; ++i) {
    if (keys[i] != old_keys[i]) {
      continue;
    }
    while (m < n_moved &&
           (moved_keys[m] < keys[i] || (moved_keys[m] == keys[i] && moved[m] < (uint32_t)i))) {
      sorted[at] = moved_keys[m];
      order[at++] = moved[m++];
    }
    sorted[at] = keys[i];
    order[at++] = (uint32_t)i;
  }
  for (; m < n_moved; ++m) {
    sorted[at] = moved_keys[m];
    order[at++] = moved[m];
  }
}

kp_result kp_split_merge_sort(kp_backend *backend, const uint32_t *old_keys, const uint32_t *keys,
                              uint32_t *sorted, uint32_t *order, int64_t n,
                              kp_split_merge_report *report) {
  // one more: the split writes before it knows whether an element counts
  uint32_t *moved_keys = kp_alloc(2 * (size_t)(n + 1) * sizeof *moved_keys, KP_MEMORY_GRID);
  if (moved_keys == NULL) {
    return KP_ERROR_MEMORY;
  }
  uint32_t *moved = moved_keys + n + 1;
  int64_t n_moved = split(old_keys, keys, n, moved_keys, moved);
  kp_result result = kp_sort32(backend, moved_keys, moved, n_moved, 32);
  if (result == KP_OK) {
    merge(old_keys, keys, n, moved_keys, moved, n_moved, sorted, order);
  }
  kp_free(moved_keys);
  if (report != NULL) {
    report->n_changed = n_moved;
  }
  return result;
}
