// Frame and checkpoint files from strangers: whatever the bytes, the reader refuses or reads within
// bounds.
//
//   clang -g -fsanitize=fuzzer,address,undefined ... && ./fuzz_container
//   tests/fuzz/corpus/container
//
// With -fsanitize=fuzzer the reader passes over wrong checksums (container.c), so that mutations
// reach what stands behind them. Compiled without, the corpus is replayed as it would be read.
#include "base/memory.h"
#include "base/result.h"
#include "io/container.h"
#include "io/frame_data.h"

#include "fuzz/fuzz.h"

// A few bytes of zstd may rightly stand for megabytes of zeros; a fuzzer is to spend its time
// elsewhere.
#define RAW_BYTES_MOST ((uint64_t)1 << 24)

const char kp_fuzz_corpus[] = "container";
int kp_fuzz_n_read;

// The ends and the middle of a section, then all of it.
static void read_section(kp_container *container, const kp_section *section, void *buffer) {
  uint64_t n = section->count;
  (void)!kp_container_read(container, section, 0, n > 0 ? 1 : 0, buffer);
  (void)!kp_container_read(container, section, n / 3, n / 3, buffer);
  (void)!kp_container_read(container, section, n - n / 4, n / 4, buffer);
  (void)!kp_container_read(container, section, 0, n, buffer);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes) {
  kp_container *container;
  if (kp_container_parse(bytes, n_bytes, &container) != KP_OK) {
    return 0;
  }
  uint64_t raw_bytes = 0;
  for (size_t i = 0; i < kp_container_count(container); ++i) {
    const kp_section *section = kp_container_section(container, i);
    uint64_t n_raw = section->count * kp_item_size(section->type);
    raw_bytes = n_raw < RAW_BYTES_MOST ? raw_bytes + n_raw : RAW_BYTES_MOST;
  }
  if (raw_bytes < RAW_BYTES_MOST) {
    void *buffer = kp_alloc((size_t)raw_bytes, KP_MEMORY_TEST);
    for (size_t i = 0; i < kp_container_count(container); ++i) {
      read_section(container, kp_container_section(container, i), buffer);
    }
    kp_free(buffer);
    kp_frame *frame;
    if (kp_frame_from_container(container, &frame) == KP_OK) {
      kp_frame_free(&frame);
      ++kp_fuzz_n_read;
    }
  }
  kp_container_close(&container);
  return 0;
}
