// Arrays on their way into a file: cut into blocks that the worker threads fill and, when asked,
// compress with zlib. Bytes are the same for any thread count.
#pragma once

#include "io/container.h"
#include "io/files.h"

typedef struct kp_array_source kp_array_source;

// Writes the tuples [first, first + n) to out, as the file is to hold them. Called from worker
// threads.
typedef void (*kp_array_fill_fn)(const kp_array_source *source, uint64_t first, size_t n,
                                 void *out);

struct kp_array_source {
  const char *name, *unit;
  kp_item_type type;  // in the file
  int n_components;
  uint64_t n_tuples;
  kp_array_fill_fn fill;
  const void *data;  // for fill; must live until the array is written
};

typedef struct kp_blocks_def {
  uint64_t tuples_per_block;  // at least 1
  bool is_packed;
  bool is_padded;  // the last block is as long as the others, with zeros behind its end
} kp_blocks_def;

uint64_t kp_blocks_count(const kp_array_source *source, const kp_blocks_def *def);

// Adds all blocks to the file in order. sizes[i] becomes the bytes of block i in the file.
KP_NODISCARD kp_result kp_blocks_write(const kp_array_source *source, const kp_blocks_def *def,
                                       kp_file *file, uint64_t *sizes);
