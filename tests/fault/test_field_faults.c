// Each allocation of the registry, the sets and the pair table fails in turn: the call says so in a
// sentence, nothing leaks, and a change that failed has not happened.
#include "support/test.h"

#include <string.h>

#include "base/memory.h"
#include "data/pair_rows.h"
#include "data/set.h"

static const kp_backend_kind kinds[] = { KP_BACKEND_CPU, KP_BACKEND_MIRROR };
#define N_KINDS (sizeof kinds / sizeof kinds[0])
#define N 60

typedef struct world {
  kp_backend *backend;
  kp_registry *registry;
  kp_set *set;
  kp_set *knots;  // of the pair rows: these stay where they are
  kp_cells *cells;
  kp_pair_rows *rows;
  kp_buffer order, keep;
  kp_snapshot *snapshot;
} world;

static kp_result world_open(world *w, kp_backend_kind kind) {
  const kp_field_desc cold = {
    "history", KP_TYPE_F64, 2, "m", KP_FIELD_STATE | KP_FIELD_COLD, 1.0
  };
  const kp_field_desc wide = { "ring", KP_TYPE_F64, 1, "m", KP_FIELD_STATE | KP_FIELD_COLD, 2.0 };
  kp_field *ring;
  const kp_field_desc value = { "stretch", KP_TYPE_REAL, 1, "m", KP_FIELD_SAVE, 0.0 };
  KP_TRY(kp_backend_create(kind, &w->backend));
  kp_buffer_init(&w->order, w->backend);
  kp_buffer_init(&w->keep, w->backend);
  KP_TRY(kp_registry_create(w->backend, &w->registry));
  KP_TRY(kp_set_create(w->registry, "grains", KP_SET_FREE, 3, &w->set));
  KP_TRY(kp_space_add_fields(w->set->space, &cold, 1));
  KP_TRY(kp_space_add_wide_field(w->set->space, &wide, 6, &ring));
  KP_TRY(kp_set_create(w->registry, "knots", KP_SET_TIED, 3, &w->knots));
  KP_TRY(kp_cells_create(w->knots, 1.5, &w->cells));
  kp_vec3 places[N];
  for (int i = 0; i < N; ++i) {
    places[i] = kp_vec3_make(i % 8, i / 8, 0.0);
  }
  KP_TRY(kp_set_add(w->knots, N, places, NULL));
  kp_pair_rows_def def = { .name = "springs", .set = w->knots, .values = &value, .n_values = 1 };
  return kp_pair_rows_create(w->registry, &def, &w->rows);
}

static void world_close(world *w) {
  kp_snapshot_free(&w->snapshot);
  kp_buffer_free(&w->order);
  kp_buffer_free(&w->keep);
  kp_pair_rows_destroy(&w->rows);
  kp_cells_destroy(&w->cells);
  kp_set_destroy(&w->knots);
  kp_set_destroy(&w->set);
  kp_registry_destroy(&w->registry);
  kp_backend_destroy(&w->backend);
}

static kp_result fill_words(kp_buffer *buffer, int64_t n, uint32_t (*word)(int64_t, int64_t)) {
  void *memory;
  KP_TRY(kp_buffer_resize(buffer, (size_t)n * sizeof(uint32_t)));
  KP_TRY(kp_buffer_get(buffer, KP_SIDE_HOST, KP_ACCESS_OVERWRITE, &memory));
  uint32_t *words = memory;
  for (int64_t i = 0; i < n; ++i) {
    words[i] = word(i, n);
  }
  return KP_OK;
}

static uint32_t reversed(int64_t i, int64_t n) {
  return (uint32_t)(n - 1 - i);
}

static uint32_t odd(int64_t i, int64_t n) {
  (void)n;
  return (uint32_t)(i & 1);
}

// The changes, each whole or not at all.
static kp_result do_add(world *w) {
  kp_vec3 positions[N];
  for (int i = 0; i < N; ++i) {
    positions[i] = kp_vec3_make(i, 2.0 * i, 3.0 * i);
  }
  return kp_set_add(w->set, N, positions, NULL);
}

static kp_result do_permute(world *w) {
  KP_TRY(fill_words(&w->order, w->set->space->n, reversed));
  return kp_space_permute(w->set->space, &w->order);
}

static kp_result do_remove(world *w) {
  KP_TRY(fill_words(&w->keep, w->set->space->n, odd));
  return kp_space_remove(w->set->space, &w->keep);
}

static kp_result build_rows(world *w, double radius) {
  KP_TRY(kp_cells_build(w->cells, NULL));
  kp_pair_rows_search search = { .cells = w->cells, .partner_cells = w->cells, .radius = radius };
  return kp_pair_rows_build(w->rows, &search);
}

static kp_result do_rows(world *w) {
  return build_rows(w, 1.1);
}

// The pairs of do_rows with others between them.
static kp_result do_rows_more(world *w) {
  return build_rows(w, 1.5);
}

static kp_result do_save(world *w) {
  return kp_registry_save(w->registry, &w->snapshot);
}

static kp_result do_rewind(world *w) {
  if (w->snapshot == NULL) {
    return KP_OK;
  }
  KP_TRY(kp_registry_rewind(w->registry, w->snapshot));
  return kp_pair_rows_loaded(w->rows);
}

static kp_result do_compact(world *w) {
  return kp_space_compact_cold(w->set->space);
}

static kp_result do_field(world *w) {
  const kp_field_desc descs[] = { { "late", KP_TYPE_U8, 2, "", KP_FIELD_STATE, 1.0 },
                                  { "later", KP_TYPE_I32, 1, "", KP_FIELD_STATE, 2.0 } };
  return kp_space_add_fields(w->set->space, descs, 2);
}

typedef kp_result (*change_fn)(world *w);
static const change_fn changes[] = {
  do_add,       do_save,    do_add,  do_permute,   do_remove, do_add,     do_rows,
  do_rows_more, do_rewind,  do_rows, do_rows_more, do_rows,   do_remove,  do_add,
  do_field,     do_compact, do_save, do_remove,    do_rewind, do_permute,
};
#define N_CHANGES (sizeof changes / sizeof changes[0])

static kp_result everything(kp_backend_kind kind, world *w, uint64_t *hash) {
  KP_TRY(world_open(w, kind));
  for (size_t k = 0; k < N_CHANGES; ++k) {
    KP_TRY(changes[k](w));
  }
  return kp_registry_hash(w->registry, hash);
}

static void test_nothing_leaks(void **state) {
  (void)state;
  for (size_t k = 0; k < N_KINDS; ++k) {
    int64_t bytes = kp_memory_bytes();
    int64_t n = 0;
    for (;; ++n) {
      world w = { 0 };
      uint64_t hash;
      kp_clear_error();
      kp_memory_fail_at(n);
      kp_result result = everything(kinds[k], &w, &hash);
      kp_memory_fail_at(-1);
      world_close(&w);
      assert_int_equal(kp_memory_bytes(), bytes);
      if (result == KP_OK) {
        break;
      }
      assert_int_equal(result, KP_ERROR_MEMORY);
      assert_holds(kp_last_error(), "out of memory");
    }
    // the loop ended because the failure came after the last allocation
    assert_true(n > 40);
  }
}

// One change of a world that went through the ones before it, its n-th allocation failing. False
// when the change has fewer allocations than that.
static bool fail_change(kp_backend_kind kind, size_t step, int64_t n) {
  world w = { 0 };
  assert_ok(world_open(&w, kind));
  for (size_t k = 0; k < step; ++k) {
    assert_ok(changes[k](&w));
  }
  uint64_t before;
  uint64_t after;
  assert_ok(kp_registry_hash(w.registry, &before));
  kp_memory_fail_at(n);
  kp_result result = changes[step](&w);
  kp_memory_fail_at(-1);
  if (result != KP_OK) {
    assert_ok(kp_registry_hash(w.registry, &after));
    assert_true(after == before);

    // with memory again it works as if nothing had been
    uint64_t wanted;
    world calm = { 0 };
    assert_ok(world_open(&calm, kind));
    for (size_t k = 0; k <= step; ++k) {
      assert_ok(changes[k](&calm));
    }
    assert_ok(changes[step](&w));
    assert_ok(kp_registry_hash(w.registry, &after));
    assert_ok(kp_registry_hash(calm.registry, &wanted));
    assert_true(after == wanted);
    world_close(&calm);
  }
  world_close(&w);
  return result != KP_OK;
}

static void test_failed_changes_have_not_happened(void **state) {
  (void)state;
  for (size_t k = 0; k < N_KINDS; ++k) {
    int64_t n_failed = 0;
    for (size_t step = 0; step < N_CHANGES; ++step) {
      for (int64_t n = 0; fail_change(kinds[k], step, n); ++n) {
        ++n_failed;
      }
    }
    assert_true(n_failed > 40);
  }
}

// A mirror whose n-th copy to the device or launch fails.
static int64_t device_countdown;
static kp_backend_class broken;

static kp_result break_copy(kp_backend *backend, void *device, const void *host, size_t size) {
  return device_countdown-- == 0 ? kp_fail(KP_ERROR_BACKEND, "the device is lost")
                                 : kp_backend_mirror.copy_in(backend, device, host, size);
}

static kp_result break_launch(kp_backend *backend, const kp_kernel *kernel, int64_t n,
                              const void *args) {
  return device_countdown-- == 0 ? kp_fail(KP_ERROR_BACKEND, "the device is lost")
                                 : kp_backend_mirror.launch(backend, kernel, n, args);
}

static void test_append_on_a_broken_device(void **state) {
  (void)state;
  broken = kp_backend_mirror;
  broken.copy_in = break_copy;
  broken.launch = break_launch;
  int64_t n = 0;
  for (bool is_done = false; !is_done; ++n) {
    world w = { 0 };
    uint64_t before;
    uint64_t after;
    assert_ok(world_open(&w, KP_BACKEND_MIRROR));
    assert_ok(do_add(&w));
    assert_ok(do_remove(&w));
    assert_ok(kp_registry_hash(w.registry, &before));
    device_countdown = n;
    w.backend->vt = &broken;
    kp_result result = do_add(&w);
    w.backend->vt = &kp_backend_mirror;
    is_done = result == KP_OK;
    if (!is_done) {
      assert_int_equal(result, KP_ERROR_BACKEND);
      assert_holds(kp_last_error(), "the device is lost");
      assert_ok(kp_registry_hash(w.registry, &after));
      assert_true(after == before);
      const kp_buffer *x = &w.set->position->buffers[0];
      assert_int_equal(x->used, (size_t)w.set->space->n * sizeof(kp_pos));
      assert_int_equal(w.set->next_id, N);
    }
    world_close(&w);
  }
  assert_true(n > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_nothing_leaks),
    cmocka_unit_test(test_failed_changes_have_not_happened),
    cmocka_unit_test(test_append_on_a_broken_device),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
