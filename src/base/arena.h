// Scratch of a step: bump allocation, passed by value so that it rewinds itself on return.
//
//   kp_result do_stage(kp_arena scratch) {           // a copy: what is taken here is given back
//     double *a = kp_arena_take(&scratch, n * sizeof *a);
//
// Overflow goes to extra blocks owned by the shared part; kp_arena_reset merges them into one block
// of the high-water size, so a steady state allocates nothing.
#pragma once

#include "base/result.h"

typedef struct kp_arena_shared kp_arena_shared;

typedef struct kp_arena {
  kp_arena_shared *shared;
  size_t offset;
} kp_arena;

KP_NODISCARD kp_result kp_arena_create(kp_arena *arena, size_t size);
void kp_arena_destroy(kp_arena *arena);

// 64-byte aligned, not cleared. NULL when there is no memory.
void *kp_arena_take(kp_arena *arena, size_t size);

// Call between steps on the root copy, with nothing taken alive.
KP_NODISCARD kp_result kp_arena_reset(kp_arena *arena);
size_t kp_arena_high_water(const kp_arena *arena);
