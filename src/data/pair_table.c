#include "data/pair_table.h"

#include "base/memory.h"

#define RADIX 256

// In the order under construction: this row is new; the other bits count the new ones.
#define IS_NEW 0x80000000u

static kp_result add_fields(kp_pair_table *table, const kp_field_desc *values, size_t n_values) {
  uint32_t flags = KP_FIELD_SAVE | KP_FIELD_SORT;
  kp_field_desc ids[] = {
    { .name = "a", .type = KP_TYPE_U64, .components = 1, .unit = "", .flags = flags },
    { .name = "b", .type = KP_TYPE_U64, .components = 1, .unit = "", .flags = flags },
  };
  KP_TRY(kp_space_add_fields(table->space, ids, sizeof ids / sizeof ids[0]));
  KP_TRY(kp_space_add_fields(table->space, values, n_values));
  table->a = kp_space_find(table->space, "a");
  table->b = kp_space_find(table->space, "b");
  for (size_t k = 0; k < n_values; ++k) {
    // a value that stays behind when rows move would belong to another pair
    if ((values[k].flags & (KP_FIELD_SORT | KP_FIELD_COLD)) == 0) {
      return kp_fail(KP_ERROR_ARGUMENT, "field \"%s/%s\" of a pair table must be SORT or COLD",
                     table->space->name, values[k].name);
    }
  }
  return KP_OK;
}

kp_result kp_pair_table_create(kp_registry *registry, const char *name, const kp_field_desc *values,
                               size_t n_values, kp_pair_table **out) {
  *out = NULL;
  kp_pair_table *table = kp_alloc_zero(sizeof *table, KP_MEMORY_FIELD);
  if (table == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_buffer_init(&table->keep, registry->backend);
  kp_buffer_init(&table->order, registry->backend);
  kp_result result = kp_registry_add_space(registry, name, KP_SPACE_PAIRS, &table->space);
  if (result == KP_OK) {
    result = add_fields(table, values, n_values);
    if (result != KP_OK) {
      kp_registry_remove_space(registry, &table->space);
    }
  }
  if (result != KP_OK) {
    kp_pair_table_destroy(&table);
    return result;
  }
  *out = table;
  return KP_OK;
}

void kp_pair_table_destroy(kp_pair_table **table) {
  kp_pair_table *t = *table;
  if (t != NULL) {
    kp_array_free(&t->keys);
    kp_array_free(&t->sorting);
    kp_array_free(&t->fresh);
    kp_buffer_free(&t->keep);
    kp_buffer_free(&t->order);
    kp_free(t);
    *table = NULL;
  }
}

// Byte k of the key, the least significant byte of b first.
static unsigned digit(const kp_pair_key *key, int k) {
  kp_gid word = k < 8 ? key->b : key->a;
  return (unsigned)(word >> (8 * (k & 7))) & (RADIX - 1);
}

// Stable radix sort from the least significant byte; bytes in which all keys agree cost one count.
static void sort_keys(kp_pair_table *table) {
  size_t n = table->keys.count;
  for (int k = 0; k < 16; ++k) {
    size_t start[RADIX] = { 0 };
    for (size_t i = 0; i < n; ++i) {
      ++start[digit(&table->keys.data[i], k)];
    }
    if (n == 0 || start[digit(&table->keys.data[0], k)] == n) {
      continue;
    }
    size_t sum = 0;
    for (int d = 0; d < RADIX; ++d) {
      size_t count = start[d];
      start[d] = sum;
      sum += count;
    }
    for (size_t i = 0; i < n; ++i) {
      kp_pair_key key = table->keys.data[i];
      table->sorting.data[start[digit(&key, k)]++] = key;
    }
    kp_pair_key *sorted = table->sorting.data;
    size_t capacity = table->sorting.capacity;
    table->sorting.data = table->keys.data;
    table->sorting.capacity = table->keys.capacity;
    table->keys.data = sorted;
    table->keys.capacity = capacity;
  }
}

static int compare(const kp_pair_key *x, const kp_pair_key *y) {
  if (x->a != y->a) {
    return x->a < y->a ? -1 : 1;
  }
  return x->b < y->b ? -1 : x->b > y->b;
}

static kp_result take_candidates(kp_pair_table *table, const kp_gid (*candidates)[2], int64_t n) {
  KP_TRY(kp_array_resize(&table->keys, (size_t)n));
  KP_TRY(kp_array_resize(&table->sorting, (size_t)n));
  for (int64_t i = 0; i < n; ++i) {
    kp_gid a = candidates[i][0];
    kp_gid b = candidates[i][1];
    if (a == b) {
      return kp_fail(KP_ERROR_ARGUMENT, "table \"%s\": element %llu cannot be its own pair",
                     table->space->name, (unsigned long long)a);
    }
    table->keys.data[i] = a < b ? (kp_pair_key){ a, b } : (kp_pair_key){ b, a };
  }
  sort_keys(table);
  for (int64_t i = 1; i < n; ++i) {
    if (compare(&table->keys.data[i - 1], &table->keys.data[i]) == 0) {
      return kp_fail(KP_ERROR_ARGUMENT, "table \"%s\": the pair %llu, %llu is there twice",
                     table->space->name, (unsigned long long)table->keys.data[i].a,
                     (unsigned long long)table->keys.data[i].b);
    }
  }
  return KP_OK;
}

// Host pointers of a merge: marks of the old rows; the source of each new row.
typedef struct merge {
  const kp_gid *a, *b;
  uint32_t *keep, *order;
  int64_t n_old, n_kept, n_new;
} merge;

static kp_result open_merge(kp_pair_table *table, merge *m) {
  void *memory[4];
  *m = (merge){ .n_old = table->space->n };
  KP_TRY(kp_array_resize(&table->fresh, 2 * table->keys.count));
  KP_TRY(kp_buffer_resize(&table->keep, (size_t)m->n_old * sizeof(uint32_t)));
  KP_TRY(kp_buffer_resize(&table->order, table->keys.count * sizeof(uint32_t)));
  KP_TRY(kp_buffer_get(&table->a->buffers[0], KP_SIDE_HOST, KP_ACCESS_READ, &memory[0]));
  KP_TRY(kp_buffer_get(&table->b->buffers[0], KP_SIDE_HOST, KP_ACCESS_READ, &memory[1]));
  KP_TRY(kp_buffer_get(&table->keep, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, &memory[2]));
  KP_TRY(kp_buffer_get(&table->order, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, &memory[3]));
  m->a = memory[0];
  m->b = memory[1];
  m->keep = memory[2];
  m->order = memory[3];
  return KP_OK;
}

// Walk the old rows and the candidates together: both are in id order.
static void walk(kp_pair_table *table, merge *m) {
  size_t n = table->keys.count;
  kp_gid *fresh_a = table->fresh.data;
  kp_gid *fresh_b = table->fresh.data + n;
  int64_t old = 0;
  for (size_t k = 0; k < n; ++k) {
    kp_pair_key key = table->keys.data[k];
    kp_pair_key row = { 0, 0 };
    int side = 1;
    for (; old < m->n_old; ++old) {
      row = (kp_pair_key){ m->a[old], m->b[old] };
      side = compare(&row, &key);
      if (side >= 0) {
        break;
      }
      m->keep[old] = 0;
    }
    if (old < m->n_old && side == 0) {
      m->keep[old++] = 1;
      m->order[k] = (uint32_t)m->n_kept++;
    } else {
      fresh_a[m->n_new] = key.a;
      fresh_b[m->n_new] = key.b;
      m->order[k] = IS_NEW | (uint32_t)m->n_new++;
    }
  }
  for (; old < m->n_old; ++old) {
    m->keep[old] = 0;
  }
}

// New rows lie behind the kept ones. Says whether rows have to move at all.
static bool finish_order(size_t n, merge *m) {
  bool moves = false;
  for (size_t k = 0; k < n; ++k) {
    if ((m->order[k] & IS_NEW) != 0) {
      m->order[k] = (uint32_t)m->n_kept + (m->order[k] & ~IS_NEW);
    }
    moves = moves || m->order[k] != k;
  }
  return moves;
}

kp_result kp_pair_table_merge(kp_pair_table *table, const kp_gid (*candidates)[2], int64_t n) {
  kp_space *space = table->space;
  if (n < 0 || n >= IS_NEW) {
    return kp_fail(KP_ERROR_ARGUMENT, "table \"%s\" cannot hold %lld pairs", space->name,
                   (long long)n);
  }
  KP_TRY(take_candidates(table, candidates, n));
  merge m;
  KP_TRY(open_merge(table, &m));
  walk(table, &m);
  bool moves = finish_order((size_t)n, &m);

  // all memory first: past this point only a broken device stops half-way
  if (m.n_kept < m.n_old || m.n_new > 0) {
    KP_TRY(kp_space_reserve(space, m.n_old > n ? m.n_old : n));
  }
  if (m.n_kept < m.n_old) {
    KP_TRY(kp_space_remove(space, &table->keep));
  }
  if (m.n_new > 0) {
    kp_append_value values[] = {
      { table->a, { table->fresh.data } },
      { table->b, { table->fresh.data + n } },
    };
    KP_TRY(kp_space_append(space, m.n_new, values, 2));
  }
  return moves ? kp_space_permute(space, &table->order) : KP_OK;
}

int64_t kp_pair_table_find(kp_pair_table *table, kp_gid a, kp_gid b) {
  kp_pair_key key = a < b ? (kp_pair_key){ a, b } : (kp_pair_key){ b, a };
  const kp_gid *rows_a = kp_buffer_host(&table->a->buffers[0], KP_ACCESS_READ);
  const kp_gid *rows_b = kp_buffer_host(&table->b->buffers[0], KP_ACCESS_READ);
  if (rows_a == NULL || rows_b == NULL) {
    return -1;
  }
  int64_t low = 0;
  int64_t high = table->space->n;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    kp_pair_key row = { rows_a[middle], rows_b[middle] };
    if (compare(&row, &key) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  bool is_found = low < table->space->n && rows_a[low] == key.a && rows_b[low] == key.b;
  return is_found ? low : -1;
}
