#include "io/blocks.h"

#include <string.h>

#include <zlib.h>

#include "base/memory.h"
#include "par/parallel.h"

#define BLOCKS_PER_THREAD 4
#define BATCH_MOST 32
#define BATCH_BYTES ((size_t)256 << 20)
#define LEVEL 1  // of zlib: the higher ones gain little on numbers and take much longer

typedef struct block {
  uint8_t *raw, *packed;
  size_t n_raw, n_packed;
} block;

// Blocks of one array that are filled at the same time.
typedef struct batch {
  const kp_array_source *source;
  const kp_blocks_def *def;
  size_t tuple_size, block_size, packed_size;
  uint64_t first_block;
  block *blocks;
  size_t n_blocks;
} batch;

uint64_t kp_blocks_count(const kp_array_source *source, const kp_blocks_def *def) {
  uint64_t whole = source->n_tuples / def->tuples_per_block;
  return whole + (source->n_tuples % def->tuples_per_block != 0 ? 1 : 0);
}

static void free_batch(batch *b) {
  for (size_t i = 0; b->blocks != NULL && i < b->n_blocks; ++i) {
    kp_free(b->blocks[i].raw);
    kp_free(b->blocks[i].packed);
  }
  kp_free(b->blocks);
}

static kp_result make_batch(batch *b, uint64_t n_all) {
  size_t n = (size_t)kp_parallel_threads() * BLOCKS_PER_THREAD;
  size_t most = BATCH_BYTES / b->block_size;
  n = n < BATCH_MOST ? n : BATCH_MOST;
  n = n < n_all ? n : (size_t)n_all;
  n = n < most ? n : most;
  n = n > 0 ? n : 1;
  b->blocks = kp_alloc_zero(n * sizeof *b->blocks, KP_MEMORY_IO);
  if (b->blocks == NULL) {
    return KP_ERROR_MEMORY;
  }
  b->n_blocks = n;
  for (size_t i = 0; i < n; ++i) {
    b->blocks[i].raw = kp_alloc(b->block_size, KP_MEMORY_IO);
    b->blocks[i].packed = b->def->is_packed ? kp_alloc(b->packed_size, KP_MEMORY_IO) : NULL;
    if (b->blocks[i].raw == NULL || (b->def->is_packed && b->blocks[i].packed == NULL)) {
      return KP_ERROR_MEMORY;
    }
  }
  return KP_OK;
}

static void fill_range(int64_t begin, int64_t end, void *context) {
  const batch *b = context;
  for (int64_t i = begin; i < end; ++i) {
    block *out = &b->blocks[i];
    uint64_t first = (b->first_block + (uint64_t)i) * b->def->tuples_per_block;
    uint64_t left = b->source->n_tuples - first;
    size_t n = (size_t)(left < b->def->tuples_per_block ? left : b->def->tuples_per_block);
    b->source->fill(b->source, first, n, out->raw);
    out->n_raw = n * b->tuple_size;
    if (b->def->is_padded) {
      memset(out->raw + out->n_raw, 0, b->block_size - out->n_raw);
      out->n_raw = b->block_size;
    }
    out->n_packed = 0;
    if (b->def->is_packed) {
      uLongf size = (uLongf)b->packed_size;
      // the buffer has room for the worst case, so only a lack of memory can fail: 0 bytes then
      int status = compress2(out->packed, &size, out->raw, (uLong)out->n_raw, LEVEL);
      out->n_packed = status == Z_OK ? size : 0;
    }
  }
}

static kp_result write_batch(const batch *b, size_t n, kp_file *file, uint64_t *sizes) {
  for (size_t i = 0; i < n; ++i) {
    const block *done = &b->blocks[i];
    size_t size = b->def->is_packed ? done->n_packed : done->n_raw;
    if (size == 0) {
      return kp_fail(KP_ERROR_MEMORY, "out of memory: compression of the array %s",
                     b->source->name);
    }
    kp_file_add(file, b->def->is_packed ? done->packed : done->raw, size);
    sizes[b->first_block + i] = size;
  }
  return KP_OK;
}

kp_result kp_blocks_write(const kp_array_source *source, const kp_blocks_def *def, kp_file *file,
                          uint64_t *sizes) {
  uint64_t n_all = kp_blocks_count(source, def);
  if (n_all == 0) {
    return KP_OK;
  }
  batch b = { .source = source, .def = def };
  b.tuple_size = (size_t)source->n_components * kp_item_size(source->type);
  uint64_t longest = def->is_padded || n_all > 1 ? def->tuples_per_block : source->n_tuples;
  b.block_size = b.tuple_size * (size_t)longest;
  b.packed_size = compressBound((uLong)b.block_size);
  kp_result result = make_batch(&b, n_all);
  for (; result == KP_OK && b.first_block < n_all; b.first_block += b.n_blocks) {
    uint64_t left = n_all - b.first_block;
    size_t n = left < b.n_blocks ? (size_t)left : b.n_blocks;
    kp_parallel_for((int64_t)n, 1, fill_range, &b);
    result = write_batch(&b, n, file, sizes);
  }
  free_batch(&b);
  return result;
}
