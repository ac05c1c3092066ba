// Stable parallel radix sort; the algorithm is in sort_cpu.h, expanded here for both key types.
#include <string.h>

#include "backend/cpu/backend_cpu.h"
#include "base/assert.h"
#include "par/parallel.h"

// Widest digits for few and for many elements: counting must cost little beside moving. The narrow
// one needs at most 8 passes for 64 bits.
#define MIN_DIGIT_BITS 8
#define MAX_DIGIT_BITS 11
#define MAX_DIGITS (1 << MAX_DIGIT_BITS)
#define MAX_PASSES 8

// Small enough to share out, large enough that its counters are few beside it.
#define MIN_CHUNK 16384
#define MAX_CHUNKS 256

typedef struct digit_plan {
  int n_passes;
  int bits;  // of every digit
  int shifts[MAX_PASSES];
} digit_plan;

static int64_t chunk_of(int64_t n) {
  int64_t chunk = (n - 1) / MAX_CHUNKS + 1;
  return chunk > MIN_CHUNK ? chunk : MIN_CHUNK;
}

static size_t round_up(size_t size) {
  return (size + 63) & ~(size_t)63;
}

// Digits over the bits that vary, all of one width, lowest first; digits in which nothing varies
// are left out.
static digit_plan plan_digits(uint64_t varying, int64_t n) {
  digit_plan plan = { 0 };
  if (varying == 0) {
    return plan;
  }
  int low = __builtin_ctzll(varying);
  int n_bits = 64 - __builtin_clzll(varying) - low;
  int widest = n < MIN_CHUNK ? MIN_DIGIT_BITS : MAX_DIGIT_BITS;
  int n_digits = (n_bits + widest - 1) / widest;
  plan.bits = (n_bits + n_digits - 1) / n_digits;
  uint64_t digit_mask = ((uint64_t)1 << plan.bits) - 1;
  for (int d = 0; d < n_digits; ++d) {
    int shift = low + d * plan.bits;
    if ((varying >> shift & digit_mask) != 0) {
      plan.shifts[plan.n_passes++] = shift;
    }
  }
  return plan;
}

// Counts per chunk become first slots: exclusive scan over digits, and inside a digit over chunks.
// Rows are walked along the digits, which lie side by side; down the chunks every step would hit
// the same cache set.
static void counts_to_slots(uint32_t *counts, int64_t n_chunks, uint32_t n_digits) {
  uint32_t next[MAX_DIGITS] = { 0 };
  for (int64_t c = 0; c < n_chunks; ++c) {
    const uint32_t *row = counts + c * n_digits;
    for (uint32_t d = 0; d < n_digits; ++d) {
      next[d] += row[d];
    }
  }
  uint32_t slot = 0;
  for (uint32_t d = 0; d < n_digits; ++d) {
    uint32_t n = next[d];
    next[d] = slot;
    slot += n;
  }
  for (int64_t c = 0; c < n_chunks; ++c) {
    uint32_t *row = counts + c * n_digits;
    for (uint32_t d = 0; d < n_digits; ++d) {
      uint32_t n = row[d];
      row[d] = next[d];
      next[d] += n;
    }
  }
}

#define KEY uint32_t
#define SORT(name) name##32
#include "backend/cpu/sort_cpu.h"
#undef KEY
#undef SORT

#define KEY uint64_t
#define SORT(name) name##64
#include "backend/cpu/sort_cpu.h"
#undef KEY
#undef SORT
