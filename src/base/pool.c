#include "base/pool.h"

#include "base/memory.h"

#define SMALLEST_CAPACITY 16u

static kp_result grow(kp_pool *pool) {
  if (pool->n_slots < pool->capacity) {
    return KP_OK;
  }
  if (pool->capacity > UINT32_MAX / 2) {
    return kp_fail(KP_ERROR_MEMORY, "a pool cannot hold more than %u things", pool->capacity);
  }
  uint32_t capacity = pool->capacity > 0 ? 2 * pool->capacity : SMALLEST_CAPACITY;
  size_t size = capacity * sizeof(uint32_t);

  // each array is stored as soon as it is had: a failure between them leaves the old capacity true
  uint32_t *generation = kp_realloc(pool->generation, size, KP_MEMORY_BASE);
  if (generation == NULL) {
    return KP_ERROR_MEMORY;
  }
  pool->generation = generation;
  uint32_t *free_next = kp_realloc(pool->free_next, size, KP_MEMORY_BASE);
  if (free_next == NULL) {
    return KP_ERROR_MEMORY;
  }
  pool->free_next = free_next;
  pool->capacity = capacity;
  return KP_OK;
}

kp_result kp_pool_take(kp_pool *pool, kp_pool_id *id) {
  // free_head and free_next hold slot + 1, so that a zeroed pool is an empty one
  uint32_t slot;
  if (pool->free_head != 0) {
    slot = pool->free_head - 1;
    pool->free_head = pool->free_next[slot];
  } else {
    KP_TRY(grow(pool));
    slot = pool->n_slots++;
    pool->generation[slot] = 0;
  }
  pool->generation[slot] += 1;
  pool->n_used += 1;
  *id = (kp_pool_id){ .slot1 = slot + 1, .generation = pool->generation[slot] };
  return KP_OK;
}

void kp_pool_give(kp_pool *pool, kp_pool_id id) {
  if (!kp_pool_valid(pool, id)) {
    return;
  }
  uint32_t slot = id.slot1 - 1;
  pool->generation[slot] += 1;
  pool->free_next[slot] = pool->free_head;
  pool->free_head = id.slot1;
  pool->n_used -= 1;
}

bool kp_pool_valid(const kp_pool *pool, kp_pool_id id) {
  return id.slot1 != 0 && id.slot1 <= pool->n_slots && (id.generation & 1u) != 0 &&
         pool->generation[id.slot1 - 1] == id.generation;
}

void kp_pool_free(kp_pool *pool) {
  kp_free(pool->generation);
  kp_free(pool->free_next);
  *pool = (kp_pool){ 0 };
}
