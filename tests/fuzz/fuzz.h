// What a fuzz target gives: libFuzzer's entry point and the folder of its corpus under
// tests/fuzz/corpus.
#pragma once

#include <stddef.h>
#include <stdint.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);
extern const char kp_fuzz_corpus[];
