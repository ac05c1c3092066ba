#include "data/baselines/split_merge.h"

#include <stdlib.h>

#include "base/memory.h"

static int by_value(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a;
  uint64_t y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

kp_result kp_split_merge_sort(const uint32_t *old_keys, const uint32_t *keys, uint32_t *order,
                              int64_t n, kp_split_merge_report *report) {
  // flags, and the exclusive scan that tells each element its place in its block
  uint64_t *items = kp_alloc((size_t)n * sizeof *items, KP_MEMORY_GRID);
  if (items == NULL) {
    return KP_ERROR_MEMORY;
  }
  int64_t n_changed = 0;
  for (int64_t i = 0; i < n; ++i) {
    n_changed += keys[i] != old_keys[i];
  }
  // permute: the unchanged keep their order in front, the changed go behind them
  int64_t n_same = n - n_changed;
  int64_t at[2] = { 0, n_same };
  for (int64_t i = 0; i < n; ++i) {
    int block = keys[i] != old_keys[i];
    items[at[block]++] = (uint64_t)keys[i] << 32 | (uint64_t)i;
  }
  qsort(items + n_same, (size_t)n_changed, sizeof *items, by_value);

  int64_t a = 0;
  int64_t b = n_same;
  for (int64_t i = 0; i < n; ++i) {
    bool is_a = b == n || (a < n_same && items[a] < items[b]);
    order[i] = (uint32_t)items[is_a ? a++ : b++];
  }
  kp_free(items);
  if (report != NULL) {
    report->n_changed = n_changed;
  }
  return KP_OK;
}
