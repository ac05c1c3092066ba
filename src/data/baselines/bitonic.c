#include "data/baselines/bitonic.h"

#include <string.h>

#include "base/memory.h"

// Element i of one pass: it keeps the smaller key in an ascending run if it is the lower of the
// two.
static uint64_t gather(const uint64_t *keys, uint64_t i, uint64_t run, uint64_t distance) {
  uint64_t mine = keys[i];
  uint64_t other = keys[i ^ distance];
  bool is_lower = (i & distance) == 0;
  bool is_ascending = (i & run) == 0;
  bool keep_smaller = is_lower == is_ascending;
  return (mine < other) == keep_smaller ? mine : other;
}

kp_result kp_bitonic_sort(uint64_t *keys, int64_t n, int64_t *passes) {
  uint64_t padded = 1;
  while (padded < (uint64_t)n) {
    padded *= 2;
  }
  uint64_t *from = kp_alloc(2 * padded * sizeof *from, KP_MEMORY_GRID);
  if (from == NULL) {
    return KP_ERROR_MEMORY;
  }
  uint64_t *block = from;
  uint64_t *to = from + padded;
  memcpy(from, keys, (size_t)n * sizeof *keys);
  memset(from + n, 0xff, (padded - (uint64_t)n) * sizeof *keys);

  int64_t count = 0;
  for (uint64_t run = 2; run <= padded; run *= 2) {
    for (uint64_t distance = run / 2; distance > 0; distance /= 2) {
      for (uint64_t i = 0; i < padded; ++i) {
        to[i] = gather(from, i, run, distance);
      }
      uint64_t *other = from;
      from = to;
      to = other;
      ++count;
    }
  }
  memcpy(keys, from, (size_t)n * sizeof *keys);
  kp_free(block);
  if (passes != NULL) {
    *passes = count;
  }
  return KP_OK;
}
