// Blocks form one line of offsets: block k covers [start, start + size). A copy of the arena is
// only an offset on that line, so going back is forgetting the copy; blocks behind the offset are
// reused.
//
//   |---- block 0 ----|-- block 1 --|------ block 2 ------|
//                ^ offset of the caller         ^ offset of the callee's copy
//
// An arena and its copies belong to one thread.
#include "base/arena.h"

#include <stdint.h>
#include <string.h>

#include "base/array.h"
#include "base/assert.h"
#include "base/memory.h"

#define ALIGNMENT ((size_t)64)

typedef struct block {
  char *data;
  size_t start, size;
} block;

struct kp_arena_shared {
  KP_ARRAY(block) blocks;
  size_t high_water;
};

static size_t round_up(size_t size) {
  return (size + ALIGNMENT - 1) & ~(ALIGNMENT - 1);
}

static size_t line_end(const kp_arena_shared *shared) {
  const block *last = &shared->blocks.data[shared->blocks.count - 1];
  return last->start + last->size;
}

static kp_result add_block(kp_arena_shared *shared, size_t size) {
  size_t start = shared->blocks.count > 0 ? line_end(shared) : 0;
  KP_TRY(kp_array_reserve(&shared->blocks, shared->blocks.count + 1));
  char *data = kp_alloc(size, KP_MEMORY_SCRATCH);
  if (data == NULL) {
    return KP_ERROR_MEMORY;
  }
  return kp_array_push(&shared->blocks, (block){ .data = data, .start = start, .size = size });
}

static void free_blocks(kp_arena_shared *shared) {
  for (size_t i = 0; i < shared->blocks.count; ++i) {
    kp_free(shared->blocks.data[i].data);
  }
  shared->blocks.count = 0;
}

kp_result kp_arena_create(kp_arena *arena, size_t size) {
  KP_ASSERT(size <= PTRDIFF_MAX);
  *arena = (kp_arena){ 0 };
  kp_arena_shared *shared = kp_alloc_zero(sizeof *shared, KP_MEMORY_SCRATCH);
  if (shared == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_result result = add_block(shared, round_up(size > 0 ? size : 1));
  if (result != KP_OK) {
    kp_array_free(&shared->blocks);
    kp_free(shared);
    return result;
  }
  arena->shared = shared;
  return KP_OK;
}

void kp_arena_destroy(kp_arena *arena) {
  if (arena->shared != NULL) {
    free_blocks(arena->shared);
    kp_array_free(&arena->shared->blocks);
    kp_free(arena->shared);
  }
  *arena = (kp_arena){ 0 };
}

// The first block with room for size at or behind the offset; NULL if none. Moves the offset there.
static block *find_room(kp_arena *arena, size_t size) {
  kp_arena_shared *shared = arena->shared;
  for (size_t i = 0; i < shared->blocks.count; ++i) {
    block *b = &shared->blocks.data[i];
    size_t begin = arena->offset > b->start ? arena->offset : b->start;
    if (begin <= b->start + b->size && size <= b->start + b->size - begin) {
      arena->offset = begin;
      return b;
    }
  }
  return NULL;
}

void *kp_arena_take(kp_arena *arena, size_t size) {
  kp_arena_shared *shared = arena->shared;
  if (size > PTRDIFF_MAX) {
    (void)kp_fail(KP_ERROR_MEMORY, "out of memory: %zu bytes for scratch", size);
    return NULL;
  }
  // nothing still gets a place of its own, so that no two results are equal
  size = round_up(size > 0 ? size : 1);

  block *b = find_room(arena, size);
  if (b == NULL) {
    // half of what is there keeps the number of blocks small before the next reset
    size_t half = round_up(line_end(shared) / 2);
    if (add_block(shared, size > half ? size : half) != KP_OK) {
      return NULL;
    }
    b = &shared->blocks.data[shared->blocks.count - 1];
    arena->offset = b->start;
  }
  char *memory = b->data + (arena->offset - b->start);
  arena->offset += size;
  if (arena->offset > shared->high_water) {
    shared->high_water = arena->offset;
  }
#ifdef KP_VALIDATE
  // leavings of an earlier stage must not pass as data
  memset(memory, 0xff, size);
#endif
  return memory;
}

kp_result kp_arena_reset(kp_arena *arena) {
  kp_arena_shared *shared = arena->shared;
  arena->offset = 0;
  if (shared->blocks.count == 1) {
    return KP_OK;
  }
  // the big block first: if it cannot be had, the many small ones go on serving
  char *data = kp_alloc(shared->high_water, KP_MEMORY_SCRATCH);
  if (data == NULL) {
    return KP_ERROR_MEMORY;
  }
  free_blocks(shared);
  return kp_array_push(&shared->blocks, (block){ .data = data, .size = shared->high_water });
}

size_t kp_arena_high_water(const kp_arena *arena) {
  return arena->shared->high_water;
}
