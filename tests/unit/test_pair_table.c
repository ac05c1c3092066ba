// The pair table: values follow their pairs through merges.
#include "support/test.h"

#include "base/memory.h"
#include "data/pair_table.h"

static const kp_backend_kind kinds[] = { KP_BACKEND_CPU, KP_BACKEND_MIRROR };
#define N_KINDS (sizeof kinds / sizeof kinds[0])

typedef struct world {
  kp_backend *backend;
  kp_registry *registry;
  kp_pair_table *table;
  kp_field *stretch, *age;
} world;

static void world_open(world *w, kp_backend_kind kind) {
  assert_ok(kp_backend_create(kind, &w->backend));
  assert_ok(kp_registry_create(w->backend, &w->registry));
  const kp_field_desc values[] = {
    { "stretch", KP_TYPE_F64, 1, "m", KP_FIELD_STATE, 0.25 },
    { "age", KP_TYPE_U32, 1, "", KP_FIELD_SAVE | KP_FIELD_COLD, 1.0 },
  };
  assert_ok(kp_pair_table_create(w->registry, "springs", values, 2, &w->table));
  w->stretch = kp_space_find(w->table->space, "stretch");
  w->age = kp_space_find(w->table->space, "age");
}

static void world_close(world *w) {
  kp_pair_table_destroy(&w->table);
  kp_registry_destroy(&w->registry);
  kp_backend_destroy(&w->backend);
}

static double *stretch_of(world *w, kp_gid a, kp_gid b) {
  int64_t row = kp_pair_table_find(w->table, a, b);
  double *values = kp_buffer_host(&w->stretch->buffers[0], KP_ACCESS_WRITE);
  return row >= 0 ? &values[row] : NULL;
}

static uint32_t *age_of(world *w, kp_gid a, kp_gid b) {
  int64_t row = kp_pair_table_find(w->table, a, b);
  const uint32_t *slots = kp_buffer_host(&w->table->space->slot->buffers[0], KP_ACCESS_READ);
  uint32_t *values = kp_buffer_host(&w->age->buffers[0], KP_ACCESS_WRITE);
  return row >= 0 ? &values[slots[row]] : NULL;
}

static void test_values_follow(void **state) {
  (void)state;
  for (size_t k = 0; k < N_KINDS; ++k) {
    world w;
    world_open(&w, kinds[k]);
    const kp_gid big = 0xffffffffff000001ull;
    const kp_gid first[][2] = { { 7, 3 }, { 1, 2 }, { 300, 2 }, { big, 5 } };
    assert_ok(kp_pair_table_merge(w.table, first, 4));
    assert_int_equal(w.table->space->n, 4);
    assert_true(*stretch_of(&w, 3, 7) == 0.25);
    assert_int_equal(kp_pair_table_find(w.table, 1, 2), 0);
    assert_int_equal(kp_pair_table_find(w.table, 2, 300), 1);
    assert_int_equal(kp_pair_table_find(w.table, 5, big), 3);
    assert_int_equal(kp_pair_table_find(w.table, big, 5), 3);
    assert_int_equal(kp_pair_table_find(w.table, 2, 3), -1);
    *stretch_of(&w, 3, 7) = 37.0;
    *stretch_of(&w, 5, big) = 50.0;
    *age_of(&w, 3, 7) = 9;

    // one goes, two stay, two come: before, between
    const kp_gid second[][2] = { { big, 5 }, { 0, 1 }, { 3, 7 }, { 4, 3 }, { 1, 2 } };
    assert_ok(kp_pair_table_merge(w.table, second, 5));
    assert_int_equal(w.table->space->n, 5);
    assert_true(*stretch_of(&w, 7, 3) == 37.0);
    assert_int_equal(*age_of(&w, 7, 3), 9);
    assert_int_equal(*age_of(&w, 4, 3), 1);
    assert_true(*stretch_of(&w, 5, big) == 50.0);
    assert_true(*stretch_of(&w, 0, 1) == 0.25);
    assert_null(stretch_of(&w, 2, 300));
    assert_int_equal(kp_pair_table_find(w.table, 3, 4), 2);

    // the same again changes nothing
    uint64_t revision = w.table->space->revision;
    assert_ok(kp_pair_table_merge(w.table, second, 5));
    assert_int_equal(w.table->space->revision, revision);
    assert_ok(kp_pair_table_merge(w.table, NULL, 0));
    assert_int_equal(w.table->space->n, 0);
    assert_int_equal(kp_pair_table_find(w.table, 1, 2), -1);
    world_close(&w);
  }
}

static void test_bad_candidates(void **state) {
  (void)state;
  world w;
  world_open(&w, KP_BACKEND_CPU);
  const kp_gid good[][2] = { { 1, 2 } };
  assert_ok(kp_pair_table_merge(w.table, good, 1));
  const kp_gid own[][2] = { { 1, 2 }, { 4, 4 } };
  assert_fails(KP_ERROR_ARGUMENT, "element 4", kp_pair_table_merge(w.table, own, 2));
  const kp_gid twice[][2] = { { 1, 2 }, { 3, 4 }, { 2, 1 } };
  assert_fails(KP_ERROR_ARGUMENT, "1, 2 is there twice", kp_pair_table_merge(w.table, twice, 3));
  assert_fails(KP_ERROR_ARGUMENT, "-1 pairs", kp_pair_table_merge(w.table, good, -1));
  assert_int_equal(w.table->space->n, 1);
  kp_pair_table *other;
  const kp_field_desc loose = { "loose", KP_TYPE_F64, 1, "", KP_FIELD_SAVE, 0.0 };
  assert_fails(KP_ERROR_ARGUMENT, "SORT or COLD",
               kp_pair_table_create(w.registry, "other", &loose, 1, &other));
  assert_null(kp_registry_find(w.registry, "other"));
  world_close(&w);
}

#define N_IDS 24

// Against a matrix of values: each pair keeps its value while it lives.
static void random_case(kp_test_random *random, void *user) {
  (void)user;
  world w[N_KINDS];
  double model[N_IDS][N_IDS] = { { 0 } };
  for (size_t k = 0; k < N_KINDS; ++k) {
    world_open(&w[k], kinds[k]);
  }
  for (int step = 0; step < 20; ++step) {
    kp_gid pairs[N_IDS * N_IDS][2] = { { 0 } };
    int64_t n = 0;
    double chance = kp_test_uniform(random, 0.0, 0.6);
    for (kp_gid a = 0; a < N_IDS; ++a) {
      for (kp_gid b = 0; b < a; ++b) {
        bool is_pair = kp_test_uniform(random, 0.0, 1.0) < chance;
        model[a][b] = is_pair ? (model[a][b] != 0.0 ? model[a][b] : 0.25) : 0.0;
        if (is_pair) {
          // any place, any order of the two
          int64_t at = kp_test_integer(random, 0, n);
          bool is_swapped = kp_test_bits(random) % 2 == 0;
          pairs[n][0] = pairs[at][0];
          pairs[n++][1] = pairs[at][1];
          pairs[at][0] = (is_swapped ? b : a) * 1000003;
          pairs[at][1] = (is_swapped ? a : b) * 1000003;
        }
      }
    }
    uint64_t hashes[N_KINDS];
    for (size_t k = 0; k < N_KINDS; ++k) {
      assert_ok(kp_pair_table_merge(w[k].table, (const kp_gid(*)[2])pairs, n));
      assert_int_equal(w[k].table->space->n, n);
    }
    for (kp_gid a = 0; a < N_IDS; ++a) {
      for (kp_gid b = 0; b < a; ++b) {
        double next = kp_test_uniform(random, 1.0, 2.0);
        for (size_t k = 0; k < N_KINDS; ++k) {
          double *value = stretch_of(&w[k], a * 1000003, b * 1000003);
          assert_true((value != NULL) == (model[a][b] != 0.0));
          if (value != NULL) {
            assert_true(*value == model[a][b]);
            *value = next;
          }
        }
        model[a][b] = model[a][b] != 0.0 ? next : 0.0;
      }
    }
    for (size_t k = 0; k < N_KINDS; ++k) {
      assert_ok(kp_registry_hash(w[k].registry, &hashes[k]));
    }
    assert_true(hashes[0] == hashes[1]);
  }
  for (size_t k = 0; k < N_KINDS; ++k) {
    world_close(&w[k]);
  }
}

static void test_random_merges(void **state) {
  (void)state;
  kp_test_for_seeds(10, random_case, NULL);
}

static void test_steady_merge_allocates_nothing(void **state) {
  (void)state;
  for (size_t k = 0; k < N_KINDS; ++k) {
    world w;
    world_open(&w, kinds[k]);
    int64_t n_host = 0;
    int64_t n_device = 0;
    for (kp_gid step = 0; step < 30; ++step) {
      if (step == 5) {
        n_host = kp_memory_allocations();
        n_device = w.backend->counters.device_allocations;
      }
      kp_gid pairs[200][2];
      for (kp_gid i = 0; i < 200; ++i) {
        // half of the pairs are new in each step
        pairs[i][0] = i;
        pairs[i][1] = 1000 + i + (i % 2) * step;
      }
      assert_ok(kp_pair_table_merge(w.table, (const kp_gid(*)[2])pairs, 200));
    }
    assert_int_equal(kp_memory_allocations(), n_host);
    assert_int_equal(w.backend->counters.device_allocations, n_device);
    world_close(&w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_values_follow),
    cmocka_unit_test(test_bad_candidates),
    cmocka_unit_test(test_random_merges),
    cmocka_unit_test(test_steady_merge_allocates_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
