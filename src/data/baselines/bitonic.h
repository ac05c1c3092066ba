// Baseline: the bitonic sorting network of Bayraktar 2010 (B24, section 6.2), in gather form: in
// each pass every element reads itself and one partner and writes only itself, as a fragment
// program must.
#pragma once

#include "base/result.h"

// Sorts n keys ascending. n need not be a power of two: the network runs over the next one, padded
// with the largest key. `passes`, if given, gets q (q + 1) / 2 for 2^q padded keys.
KP_NODISCARD kp_result kp_bitonic_sort(uint64_t *keys, int64_t n, int64_t *passes);
