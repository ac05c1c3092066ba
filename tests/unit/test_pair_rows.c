// Persistent pair rows against a matrix of values: every row holds the partners that brute force
// finds, and every value stays with its pair through moves, sorts, removal, emission, rewind and
// load.
#include "support/test.h"

#include <string.h>

#include "base/memory.h"
#include "data/pair_rows.h"

static const kp_backend_kind kinds[] = { KP_BACKEND_CPU, KP_BACKEND_MIRROR };
#define N_KINDS (sizeof kinds / sizeof kinds[0])
#define MOST_IDS 160
#define RADIUS 0.23

typedef struct world {
  kp_backend *backend;
  kp_registry *registry;
  kp_set *set;
  kp_cells *cells;
  kp_ghosts *ghosts;  // NULL: no axis is periodic
  kp_cells *ghost_cells;
  kp_pair_rows *rows;
  kp_field *stretch, *age;
  kp_buffer keep;
} world;

static const kp_field_desc values[] = {
  { .name = "stretch", .type = KP_TYPE_F64, .components = 2, .flags = KP_FIELD_SAVE, .initial = 7 },
  { .name = "age", .type = KP_TYPE_U8, .components = 1, .flags = KP_FIELD_SAVE, .initial = 3 },
};

static void world_open(world *w, kp_backend_kind kind, bool is_periodic) {
  *w = (world){ 0 };
  assert_ok(kp_backend_create(kind, &w->backend));
  assert_ok(kp_registry_create(w->backend, &w->registry));
  assert_ok(kp_set_create(w->registry, "grains", KP_SET_FREE, 3, &w->set));
  assert_ok(kp_cells_create(w->set, RADIUS, &w->cells));
  if (is_periodic) {
    kp_ghosts_def def = { .box = { { 0, 0, 0 }, { 1, 1, 1 } },
                          .periodic = { true, false, true },
                          .width = RADIUS };
    assert_ok(kp_ghosts_create(w->registry, "grains.images", w->set, &def, &w->ghosts));
    assert_ok(kp_cells_create(w->ghosts->set, RADIUS, &w->ghost_cells));
  }
  kp_pair_rows_def def = { .name = "contacts", .set = w->set, .values = values, .n_values = 2 };
  assert_ok(kp_pair_rows_create(w->registry, &def, &w->rows));
  w->stretch = kp_space_find(w->rows->space, "stretch");
  w->age = kp_space_find(w->rows->space, "age");
  kp_buffer_init(&w->keep, w->backend);
}

static void world_close(world *w) {
  kp_buffer_free(&w->keep);
  kp_pair_rows_destroy(&w->rows);
  kp_cells_destroy(&w->ghost_cells);
  kp_ghosts_destroy(&w->ghosts);
  kp_cells_destroy(&w->cells);
  kp_set_destroy(&w->set);
  kp_registry_destroy(&w->registry);
  kp_backend_destroy(&w->backend);
}

static void build(world *w) {
  if (w->ghosts != NULL) {
    assert_ok(kp_ghosts_wrap(w->ghosts));
  }
  assert_ok(kp_cells_build(w->cells, NULL));
  kp_pair_rows_search search = { .cells = w->cells, .partner_cells = w->cells, .radius = RADIUS };
  if (w->ghosts != NULL) {
    assert_ok(kp_ghosts_update(w->ghosts));
    assert_ok(kp_cells_build(w->ghost_cells, NULL));
    search.images = w->ghosts;
    search.image_cells = w->ghost_cells;
  }
  assert_false(kp_pair_rows_is_current(w->rows) && w->cells->is_moved);
  assert_ok(kp_pair_rows_build(w->rows, &search));
  assert_true(kp_pair_rows_is_current(w->rows));
}

// Host pointers of everything the checks look at.
typedef struct view {
  int64_t n;
  const kp_pos *x[3];
  const kp_gid *id, *partner_id;
  const uint32_t *begin, *count, *partner;
  double *stretch[2];
  uint8_t *age;
} view;

static view view_of(world *w) {
  view v = { .n = w->set->space->n };
  for (int d = 0; d < 3; ++d) {
    v.x[d] = kp_buffer_host(&w->set->position->buffers[d], KP_ACCESS_READ);
  }
  v.id = kp_buffer_host(&w->set->id->buffers[0], KP_ACCESS_READ);
  v.partner_id = kp_buffer_host(&w->rows->partner_id->buffers[0], KP_ACCESS_READ);
  v.begin = kp_buffer_host(&w->rows->begin->buffers[0], KP_ACCESS_READ);
  v.count = kp_buffer_host(&w->rows->count->buffers[0], KP_ACCESS_READ);
  v.partner = kp_buffer_host(&w->rows->partner->buffers[0], KP_ACCESS_READ);
  v.stretch[0] = kp_buffer_host(&w->stretch->buffers[0], KP_ACCESS_WRITE);
  v.stretch[1] = kp_buffer_host(&w->stretch->buffers[1], KP_ACCESS_WRITE);
  v.age = kp_buffer_host(&w->age->buffers[0], KP_ACCESS_WRITE);
  return v;
}

static bool is_near(const view *v, bool is_periodic, int64_t i, int64_t j) {
  double r2 = 0.0;
  for (int d = 0; d < 3; ++d) {
    double x = v->x[d][i] - v->x[d][j];
    x -= is_periodic && d != 1 ? floor(x + 0.5) : 0.0;
    r2 += x * x;
  }
  return r2 <= RADIUS * RADIUS;
}

typedef struct model {
  double value[MOST_IDS][MOST_IDS];  // 0: no pair
  bool is_periodic;
} model;

// Rows against brute force and the values against the model.
static void check_rows(world *w, const model *m) {
  view v = view_of(w);
  int64_t n_entries = 0;
  for (int64_t i = 0; i < v.n; ++i) {
    bool is_listed[MOST_IDS] = { false };
    n_entries += v.count[i];
    for (uint32_t e = v.begin[i]; e < v.begin[i] + v.count[i]; ++e) {
      kp_gid a = v.id[i];
      kp_gid b = v.partner_id[e];
      assert_true(v.id[v.partner[e]] == b);
      assert_false(is_listed[b]);
      is_listed[b] = true;
      double wanted = m->value[a][b] != 0.0 ? m->value[a][b] : 7.0;
      assert_true(v.stretch[0][e] == wanted);
      assert_true(v.stretch[1][e] == (m->value[a][b] != 0.0 ? -wanted : 7.0));
      assert_int_equal(v.age[e], m->value[a][b] != 0.0 ? (int)(100 * wanted) % 256 : 3);
    }
    for (int64_t j = 0; j < v.n; ++j) {
      bool is_pair = j != i && is_near(&v, m->is_periodic, i, j);
      assert_int_equal(is_listed[v.id[j]], is_pair);
    }
  }
  assert_int_equal(n_entries, w->rows->space->n);
}

static double value_of(kp_gid a, kp_gid b, int step) {
  return 1.0 + (double)a + 0.01 * (double)b + 1e-4 * step;
}

// New values for every entry; pairs that are gone are forgotten.
static void write_values(world *w, model *m, int step) {
  view v = view_of(w);
  double old_row[MOST_IDS];
  for (int64_t i = 0; i < v.n; ++i) {
    kp_gid a = v.id[i];
    memcpy(old_row, m->value[a], sizeof old_row);
    memset(m->value[a], 0, sizeof old_row);
    for (uint32_t e = v.begin[i]; e < v.begin[i] + v.count[i]; ++e) {
      kp_gid b = v.partner_id[e];
      // a third of the values stay as they were
      bool is_kept = (a + b + (kp_gid)step) % 3 == 0 && old_row[b] != 0.0;
      double value = is_kept ? old_row[b] : value_of(a, b, step);
      m->value[a][b] = value;
      v.stretch[0][e] = value;
      v.stretch[1][e] = -value;
      v.age[e] = (uint8_t)((int)(100 * value) % 256);
    }
  }
}

static void add(world *w, kp_test_random *random, int64_t n) {
  kp_vec3 x[MOST_IDS];
  for (int64_t i = 0; i < n; ++i) {
    x[i] = kp_test_vec3(random, 0.0, 1.0);
  }
  assert_ok(kp_set_add(w->set, n, x, NULL));
}

static void move(world *w, kp_test_random *random) {
  for (int d = 0; d < 3; ++d) {
    kp_pos *x = kp_buffer_host(&w->set->position->buffers[d], KP_ACCESS_WRITE);
    for (int64_t i = 0; i < w->set->space->n; ++i) {
      x[i] += kp_test_uniform(random, -0.05, 0.05);
    }
  }
}

static void remove_some(world *w, kp_test_random *random) {
  int64_t n = w->set->space->n;
  assert_ok(kp_buffer_resize(&w->keep, (size_t)n * sizeof(uint32_t)));
  uint32_t *keep = kp_buffer_host(&w->keep, KP_ACCESS_OVERWRITE);
  for (int64_t i = 0; i < n; ++i) {
    keep[i] = kp_test_uniform(random, 0.0, 1.0) < 0.9;
  }
  assert_ok(kp_space_remove(w->set->space, &w->keep));
}

static void step(world *w, model *m, kp_test_random *random, int k) {
  move(w, random);
  if (k % 3 == 1) {
    remove_some(w, random);
  }
  if (k % 4 == 2) {
    add(w, random, 4);
  }
  build(w);
  check_rows(w, m);
  write_values(w, m, k);
}

static uint64_t hash_of(world *w) {
  uint64_t hash;
  assert_ok(kp_registry_hash(w->registry, &hash));
  return hash;
}

static void random_case(kp_test_random *random, void *user) {
  uint64_t hashes[N_KINDS];
  bool is_periodic = *(bool *)user;
  for (size_t k = 0; k < N_KINDS; ++k) {
    static model m;
    memset(&m, 0, sizeof m);
    m.is_periodic = is_periodic;
    kp_test_random same = *random;
    world w;
    world_open(&w, kinds[k], is_periodic);
    add(&w, &same, 90);
    for (int s = 0; s < 12; ++s) {
      step(&w, &m, &same, s);
    }
    hashes[k] = hash_of(&w);
    world_close(&w);
  }
  assert_true(hashes[0] == hashes[1]);
}

static void test_random_rows(void **state) {
  (void)state;
  bool is_periodic = false;
  kp_test_for_seeds(6, random_case, &is_periodic);
  is_periodic = true;
  kp_test_for_seeds(6, random_case, &is_periodic);
}

// The state of another registry, item by item, as a checkpoint would give it.
static kp_result read_other(const char *space, const char *field, int component, int64_t *count,
                            void *data, void *user) {
  kp_registry *other = user;
  kp_field *from = kp_space_find(kp_registry_find(other, space), field);
  size_t size = from->buffers[component].used;
  *count = (int64_t)(size / kp_type_size(from->type));
  if (data != NULL) {
    memcpy(data, kp_buffer_host(&from->buffers[component], KP_ACCESS_READ), size);
  }
  return KP_OK;
}

static void test_rewind_and_load(void **state) {
  (void)state;
  for (size_t k = 0; k < N_KINDS; ++k) {
    static model m;
    memset(&m, 0, sizeof m);
    m.is_periodic = true;
    kp_test_random random = kp_test_random_begin(11);
    world w;
    world_open(&w, kinds[k], true);
    add(&w, &random, 90);
    for (int s = 0; s < 4; ++s) {
      step(&w, &m, &random, s);
    }
    assert_ok(kp_pair_rows_travel(w.rows, 0.25));
    kp_snapshot *snapshot = NULL;
    assert_ok(kp_registry_save(w.registry, &snapshot));
    world resumed;
    world_open(&resumed, kinds[k], true);
    assert_ok(kp_registry_load(resumed.registry, read_other, w.registry));
    assert_ok(kp_pair_rows_loaded(resumed.rows));
    assert_true(kp_pair_rows_is_current(resumed.rows));
    assert_true(resumed.rows->travelled == 0.25 && resumed.rows->radius == RADIUS);
    assert_true(hash_of(&resumed) == hash_of(&w));

    static model at_save;
    at_save = m;
    kp_gid next_id = w.set->next_id;
    kp_test_random random_at_save = random;
    for (int s = 4; s < 9; ++s) {
      step(&w, &m, &random, s);
    }
    uint64_t first = hash_of(&w);
    assert_ok(kp_registry_rewind(w.registry, snapshot));
    assert_false(kp_pair_rows_is_current(w.rows));
    assert_ok(kp_pair_rows_loaded(w.rows));
    assert_true(kp_pair_rows_is_current(w.rows));
    world *again[2] = { &w, &resumed };
    for (int a = 0; a < 2; ++a) {
      again[a]->set->next_id = next_id;
      random = random_at_save;
      m = at_save;
      for (int s = 4; s < 9; ++s) {
        step(again[a], &m, &random, s);
      }
      assert_true(hash_of(again[a]) == first);
    }
    kp_snapshot_free(&snapshot);
    world_close(&resumed);
    world_close(&w);
  }
}

// Grains against samples of a wall: another set, which stays where it is.
static void test_other_partners(void **state) {
  (void)state;
  world w;
  world_open(&w, KP_BACKEND_CPU, false);
  kp_set *wall;
  kp_cells *wall_cells;
  assert_ok(kp_set_create(w.registry, "wall", KP_SET_TIED, 3, &wall));
  kp_vec3 samples[36];
  for (int i = 0; i < 36; ++i) {
    samples[i] = kp_vec3_make(0.1 + 0.15 * (i % 6), 0.0, 0.1 + 0.15 * (i / 6));
  }
  assert_ok(kp_set_add(wall, 36, samples, NULL));
  assert_ok(kp_cells_create(wall, RADIUS, &wall_cells));
  assert_ok(kp_cells_build(wall_cells, NULL));
  kp_pair_rows *rows;
  kp_pair_rows_def def = {
    .name = "touch", .set = w.set, .partners = wall, .values = values, .n_values = 1
  };
  assert_ok(kp_pair_rows_create(w.registry, &def, &rows));
  kp_test_random random = kp_test_random_begin(5);
  add(&w, &random, 80);
  int64_t n_kept = 0;
  for (int s = 0; s < 4; ++s) {
    move(&w, &random);
    assert_ok(kp_cells_build(w.cells, NULL));
    kp_pair_rows_search search = { .cells = w.cells,
                                   .partner_cells = wall_cells,
                                   .radius = RADIUS };
    assert_ok(kp_pair_rows_build(rows, &search));
    const kp_gid *id = kp_buffer_host(&w.set->id->buffers[0], KP_ACCESS_READ);
    const uint32_t *begin = kp_buffer_host(&rows->begin->buffers[0], KP_ACCESS_READ);
    const uint32_t *count = kp_buffer_host(&rows->count->buffers[0], KP_ACCESS_READ);
    const uint32_t *partner = kp_buffer_host(&rows->partner->buffers[0], KP_ACCESS_READ);
    kp_field *stretch = kp_space_find(rows->space, "stretch");
    double *value = kp_buffer_host(&stretch->buffers[0], KP_ACCESS_WRITE);
    const kp_pos *x[3];
    for (int d = 0; d < 3; ++d) {
      x[d] = kp_buffer_host(&w.set->position->buffers[d], KP_ACCESS_READ);
    }
    int64_t n = 0, n_near = 0;
    for (int64_t i = 0; i < w.set->space->n; ++i) {
      kp_vec3 at = kp_vec3_make(x[0][i], x[1][i], x[2][i]);
      for (int k = 0; k < 36; ++k) {
        n_near += kp_vec3_length(kp_vec3_sub(at, samples[k])) <= RADIUS;
      }
      for (uint32_t e = begin[i]; e < begin[i] + count[i]; ++e, ++n) {
        assert_true(kp_vec3_length(kp_vec3_sub(at, samples[partner[e]])) <= RADIUS);
        double wanted = 100.0 + (double)id[i] + 0.01 * partner[e];
        assert_true(value[e] == 7.0 || value[e] == wanted);
        n_kept += value[e] == wanted;
        value[e] = wanted;
      }
    }
    assert_int_equal(n, rows->space->n);
    assert_int_equal(n, n_near);
  }
  assert_true(n_kept > 20);
  kp_pair_rows_destroy(&rows);
  kp_cells_destroy(&wall_cells);
  kp_set_destroy(&wall);
  world_close(&w);
}

static void test_refusals(void **state) {
  (void)state;
  world w;
  world_open(&w, KP_BACKEND_CPU, false);
  kp_pair_rows *rows;
  kp_field_desc cold = {
    .name = "cold", .type = KP_TYPE_F64, .components = 1, .flags = KP_FIELD_COLD
  };
  kp_pair_rows_def def = { .name = "other", .set = w.set, .values = &cold, .n_values = 1 };
  assert_fails(KP_ERROR_ARGUMENT, "\"other/cold\" of pair rows cannot be COLD",
               kp_pair_rows_create(w.registry, &def, &rows));
  assert_null(kp_registry_find(w.registry, "other"));
  def = (kp_pair_rows_def){ .name = "contacts", .set = w.set };
  assert_fails(KP_ERROR_ARGUMENT, "two spaces", kp_pair_rows_create(w.registry, &def, &rows));
  world_close(&w);
}

static void test_steady_build_allocates_nothing(void **state) {
  (void)state;
  for (size_t k = 0; k < N_KINDS; ++k) {
    world w;
    world_open(&w, kinds[k], true);
    kp_test_random random = kp_test_random_begin(3);
    add(&w, &random, 150);
    int64_t n_host = 0;
    int64_t n_device = 0;
    for (int s = 0; s < 30; ++s) {
      if (s == 10) {
        n_host = kp_memory_allocations();
        n_device = w.backend->counters.device_allocations;
      }
      if (s < 10) {
        move(&w, &random);
      }
      build(&w);
    }
    assert_int_equal(kp_memory_allocations(), n_host);
    assert_int_equal(w.backend->counters.device_allocations, n_device);
    world_close(&w);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_random_rows),
    cmocka_unit_test(test_rewind_and_load),
    cmocka_unit_test(test_other_partners),
    cmocka_unit_test(test_refusals),
    cmocka_unit_test(test_steady_build_allocates_nothing),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
