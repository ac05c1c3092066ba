// Tagged memory over the allocator hook. Blocks are 64-byte aligned and remember their size.
#pragma once

#include "kelpie/base.h"

#define KP_MEMORY_TAGS(X)                                                                          \
  X(BASE, "base")                                                                                  \
  X(FIELD, "fields")                                                                               \
  X(DEVICE, "device")                                                                              \
  X(GRID, "neighbours")                                                                            \
  X(SCRATCH, "scratch")                                                                            \
  X(MESH, "meshes")                                                                                \
  X(SCENE, "scene")                                                                                \
  X(WORLD, "world")                                                                                \
  X(IO, "io")                                                                                      \
  X(RENDER, "render")                                                                              \
  X(TEST, "test")

typedef enum kp_memory_tag {
#define X(name, text) KP_MEMORY_##name,
  KP_MEMORY_TAGS(X)
#undef X
      KP_MEMORY_TAG_COUNT
} kp_memory_tag;

// NULL when there is no memory; the error sentence then names size and tag. Size 0 gives a block.
void *kp_alloc(size_t size, kp_memory_tag tag);
void *kp_alloc_zero(size_t size, kp_memory_tag tag);

// As realloc; on failure the old block stays and NULL is returned.
void *kp_realloc(void *memory, size_t size, kp_memory_tag tag);
void kp_free(void *memory);
size_t kp_alloc_size(const void *memory);

// Bytes the program may have at most: the machine's memory, or less where a control group or a
// limit of address space says so. Infinite where nobody knows.
double kp_memory_limit(void);

char *kp_strdup(const char *text, kp_memory_tag tag);

const char *kp_memory_tag_name(kp_memory_tag tag);
int64_t kp_memory_tag_bytes(kp_memory_tag tag);

// Test hook: let the n-th allocation from now fail (0 = the next); negative switches it off.
void kp_memory_fail_at(int64_t n);
