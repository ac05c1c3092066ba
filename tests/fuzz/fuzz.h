// What a fuzz target gives: libFuzzer's entry point, the folder of its corpus under
// tests/fuzz/corpus, and how many inputs it has read and not refused.
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);
extern const char kp_fuzz_corpus[];
extern int kp_fuzz_n_read;
