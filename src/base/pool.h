// Ids with generation for the few hundred things a world owns (bodies, sets, emitters).
// An id is never zero; a stale one is recognised.
#pragma once

#include "base/result.h"

typedef struct kp_pool {
  uint32_t *generation;  // per slot; odd while in use
  uint32_t *free_next;
  uint32_t n_slots, capacity, free_head, n_used;
} kp_pool;

typedef struct kp_pool_id {
  uint32_t slot1;  // slot + 1; 0 is the null id
  uint32_t generation;
} kp_pool_id;

KP_NODISCARD kp_result kp_pool_take(kp_pool *pool, kp_pool_id *id);
void kp_pool_give(kp_pool *pool, kp_pool_id id);
bool kp_pool_valid(const kp_pool *pool, kp_pool_id id);
void kp_pool_free(kp_pool *pool);
