// Size classes: the contact pairs of spheres of very different sizes equal brute force, each
// exactly once, for a fraction of the candidates of one grid; radii that change move their
// particles.
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/size_classes.h"

enum { N = 5000 };

typedef struct spheres {
  kp_vec3 x[N];
  double r[N];
} spheres;

typedef struct fixture {
  kp_backend *backend;
  kp_registry *registry;
  kp_size_classes *classes;
} fixture;

static void open_fixture(fixture *f, kp_backend_kind kind) {
  memset(f, 0, sizeof *f);
  assert_ok(kp_backend_create(kind, &f->backend));
  assert_ok(kp_registry_create(f->backend, &f->registry));
}

static void close_fixture(fixture *f) {
  kp_size_classes_destroy(&f->classes);
  kp_registry_destroy(&f->registry);
  kp_backend_destroy(&f->backend);
}

static kp_backend_kind chosen_backend(void) {
  kp_backend_kind kind = KP_BACKEND_CPU;
  const char *name = getenv("KP_TEST_BACKEND");
  if (name != NULL) {
    assert_ok(kp_backend_parse(name, &kind));
  }
  return kind;
}

static void make_classes(fixture *f, kp_set_kind kind, int dimension, double smallest,
                         double largest) {
  kp_size_classes_def def = { kind, dimension, smallest, largest };
  assert_ok(kp_size_classes_create(f->registry, "grains", &def, &f->classes));
}

// Radii 100:1, as many in each class; a tenth to a quarter of the box is filled.
static void make_spheres(kp_test_random *random, int dimension, spheres *s) {
  double half = dimension == 2 ? 8.0 : 2.5;
  for (int i = 0; i < N; ++i) {
    s->x[i] = kp_test_vec3(random, -half, half);
    s->x[i].z = dimension == 2 ? 0.0 : s->x[i].z;
    s->r[i] = (double)(kp_real)(0.002 * pow(100.0, kp_test_uniform(random, 0.0, 1.0)));
  }
}

// --- pairs as sorted words (smaller id, larger id) -----------------------------------------------

typedef struct pair_set {
  KP_ARRAY(uint64_t) pairs;
} pair_set;

static void add_pair(pair_set *s, kp_gid i, kp_gid j) {
  assert_ok(kp_array_push(&s->pairs, i < j ? i << 32 | j : j << 32 | i));
}

static int by_value(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a;
  uint64_t y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static bool is_contact(kp_vec3 a, double ra, kp_vec3 b, double rb) {
  kp_vec3 d = kp_vec3_sub(a, b);
  return kp_vec3_dot(d, d) <= (ra + rb) * (ra + rb);
}

// The ids are the places in the arrays.
static void brute_force(const spheres *s, pair_set *out) {
  for (int i = 0; i < N; ++i) {
    for (int j = i + 1; j < N; ++j) {
      if (is_contact(s->x[i], s->r[i], s->x[j], s->r[j])) {
        add_pair(out, (kp_gid)i, (kp_gid)j);
      }
    }
  }
}

static void search(fixture *f, const spheres *s, pair_set *out) {
  kp_size_pair pairs[KP_SIZE_PAIRS];
  size_t n = kp_size_classes_pairs(f->classes, pairs);
  kp_pair_lists lists = { .n_pairs = 0 };
  for (size_t k = 0; k < n; ++k) {
    kp_set *a = pairs[k].i->set;
    kp_set *b = pairs[k].j->set;
    assert_ok(kp_size_pair_lists(&pairs[k], &lists));
    const uint32_t *start = kp_buffer_host(&lists.start, KP_ACCESS_READ);
    const uint32_t *indices = kp_buffer_host(&lists.indices, KP_ACCESS_READ);
    const kp_gid *id_a = kp_buffer_host(&a->id->buffers[0], KP_ACCESS_READ);
    const kp_gid *id_b = kp_buffer_host(&b->id->buffers[0], KP_ACCESS_READ);
    for (int64_t i = 0; i < a->space->n; ++i) {
      for (uint32_t at = start[i]; at < start[i + 1]; ++at) {
        kp_gid p = id_a[i];
        kp_gid q = id_b[indices[at]];
        if (is_contact(s->x[p], s->r[p], s->x[q], s->r[q])) {
          add_pair(out, p, q);
        }
      }
    }
  }
  kp_pair_lists_free(&lists);
}

// The same pairs, none of them twice.
static void check_contacts(fixture *f, const spheres *s) {
  pair_set wanted = { 0 };
  pair_set found = { 0 };
  brute_force(s, &wanted);
  search(f, s, &found);
  assert_true(wanted.pairs.count > 0);
  assert_int_equal(found.pairs.count, wanted.pairs.count);
  qsort(found.pairs.data, found.pairs.count, sizeof(uint64_t), by_value);
  assert_memory_equal(found.pairs.data, wanted.pairs.data, found.pairs.count * sizeof(uint64_t));
  kp_array_free(&wanted.pairs);
  kp_array_free(&found.pairs);
}

// Candidates a search visits: all elements of the cells within reach of each element.
static int64_t count_candidates(kp_cells *i_cells, kp_cells *j_cells, double radius) {
  kp_pair_job job;
  assert_ok(kp_pair_job_make(i_cells, j_cells, radius, &job));
  int64_t n = 0;
  for (int64_t i = 0; i < job.i.n; ++i) {
    const double x[3] = { job.i.x[i], job.i.y[i], job.i.z[i] };
    int32_t lo[3] = { 0, 0, 0 };
    int32_t hi[3] = { 0, 0, 0 };
    for (int d = 0; d < job.dimension; ++d) {
      kp_cells_reach(&job.j, d, x[d], radius, &lo[d], &hi[d]);
    }
    for (int32_t z = lo[2]; z <= hi[2]; ++z) {
      for (int32_t y = lo[1]; y <= hi[1]; ++y) {
        uint32_t begin, end;
        kp_cells_range(&job.j, lo[0], hi[0], y, z, &begin, &end);
        n += end - begin;
      }
    }
  }
  return n;
}

static int64_t count_in_classes(const fixture *f) {
  kp_size_pair pairs[KP_SIZE_PAIRS];
  size_t n_pairs = kp_size_classes_pairs(f->classes, pairs);
  int64_t n = 0;
  for (size_t k = 0; k < n_pairs; ++k) {
    n += count_candidates(pairs[k].i, pairs[k].j, pairs[k].radius);
  }
  return n;
}

static int64_t count_in_one_grid(fixture *f, const spheres *s, int dimension) {
  kp_set *set;
  kp_cells *cells;
  assert_ok(kp_set_create(f->registry, "all", KP_SET_FREE, dimension, &set));
  assert_ok(kp_set_add(set, N, s->x, NULL));
  assert_ok(kp_cells_create(set, 2.0 * 0.2, &cells));
  assert_ok(kp_cells_build(cells, NULL));
  int64_t n = count_candidates(cells, cells, 2.0 * 0.2);
  kp_cells_destroy(&cells);
  kp_set_destroy(&set);
  return n;
}

static void check_spread(kp_test_random *random, void *user) {
  int dimension = *(const int *)user;
  spheres *s = kp_alloc(sizeof *s, KP_MEMORY_TEST);
  make_spheres(random, dimension, s);
  fixture f;
  open_fixture(&f, chosen_backend());
  make_classes(&f, KP_SET_FREE, dimension, 0.002, 0.2);
  assert_int_equal(f.classes->count, 7);
  assert_ok(kp_size_classes_add(f.classes, N, s->x, NULL, s->r));
  assert_ok(kp_size_classes_build(f.classes));
  check_contacts(&f, s);
  if (f.backend->vt->kind == KP_BACKEND_CPU) {
    int64_t split = count_in_classes(&f);
    int64_t whole = count_in_one_grid(&f, s, dimension);
    print_message("%dD: %lld candidates in classes, %lld in one grid: %.1f times fewer\n",
                  dimension, (long long)split, (long long)whole, (double)whole / (double)split);
    assert_true(whole >= 5 * split);
  }
  close_fixture(&f);
  kp_free(s);
}

static void test_spread(void **state) {
  (void)state;
  for (int dimension = 2; dimension <= 3; ++dimension) {
    kp_test_for_seeds(2, check_spread, &dimension);
  }
}

static void test_number_of_classes(void **state) {
  (void)state;
  assert_int_equal(kp_size_classes_count(0.1, 0.1), 1);
  assert_int_equal(kp_size_classes_count(0.1, 0.19), 1);
  assert_int_equal(kp_size_classes_count(0.1, 0.2), 1);
  assert_int_equal(kp_size_classes_count(0.1, 0.21), 2);
  assert_int_equal(kp_size_classes_count(0.25, 2.0), 3);
  assert_int_equal(kp_size_classes_count(1.0, 100.0), 7);
  fixture f;
  open_fixture(&f, KP_BACKEND_CPU);
  make_classes(&f, KP_SET_FREE, 3, 0.25, 2.0);
  const double radii[] = { 0.1, 0.25, 0.4999, 0.5, 0.9999, 1.0, 2.0, 50.0 };
  const int wanted[] = { 0, 0, 0, 1, 1, 2, 2, 2 };
  for (int k = 0; k < 8; ++k) {
    assert_int_equal(kp_size_classes_find(f.classes, radii[k]), wanted[k]);
  }
  assert_near(f.classes->classes[0].cells->edge, 1.0, 0.0);
  assert_near(f.classes->classes[2].cells->edge, 4.0, 0.0);
  assert_non_null(kp_registry_find(f.registry, "grains.2"));
  assert_null(kp_registry_find(f.registry, "grains.3"));
  close_fixture(&f);
}

// A spread below 2:1 makes one class, whose search is that of a plain set.
static void test_one_class(void **state) {
  (void)state;
  spheres *s = kp_alloc(sizeof *s, KP_MEMORY_TEST);
  kp_test_random random = kp_test_random_begin(41);
  make_spheres(&random, 3, s);
  for (int i = 0; i < N; ++i) {
    s->r[i] = (double)(kp_real)kp_test_uniform(&random, 0.05, 0.095);
  }
  fixture f;
  open_fixture(&f, chosen_backend());
  make_classes(&f, KP_SET_FREE, 3, 0.05, 0.095);
  assert_int_equal(f.classes->count, 1);
  assert_ok(kp_size_classes_add(f.classes, N, s->x, NULL, s->r));
  assert_ok(kp_size_classes_build(f.classes));
  kp_size_pair pairs[KP_SIZE_PAIRS];
  assert_int_equal(kp_size_classes_pairs(f.classes, pairs), 1);
  assert_true(pairs[0].once && pairs[0].i == pairs[0].j);
  check_contacts(&f, s);
  close_fixture(&f);
  kp_free(s);
}

static void test_empty_and_single(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, chosen_backend());
  make_classes(&f, KP_SET_FREE, 3, 0.01, 1.0);
  kp_size_pair pairs[KP_SIZE_PAIRS];
  int64_t n_moved = -1;
  assert_ok(kp_size_classes_add(f.classes, 0, NULL, NULL, NULL));
  assert_ok(kp_size_classes_update(f.classes, &n_moved));
  assert_int_equal(n_moved, 0);
  assert_ok(kp_size_classes_build(f.classes));
  assert_int_equal(kp_size_classes_pairs(f.classes, pairs), 0);

  kp_vec3 x = kp_vec3_make(0.1, 0.2, 0.3);
  double r = 0.1;
  assert_ok(kp_size_classes_add(f.classes, 1, &x, &x, &r));
  assert_ok(kp_size_classes_update(f.classes, &n_moved));
  assert_int_equal(n_moved, 0);
  assert_ok(kp_size_classes_build(f.classes));
  assert_int_equal(kp_size_classes_pairs(f.classes, pairs), 1);
  kp_pair_lists lists = { .n_pairs = 0 };
  kp_pair_job job;
  assert_ok(kp_size_pair_job(&pairs[0], &job));
  assert_int_equal(job.i.n, 1);
  assert_ok(kp_size_pair_lists(&pairs[0], &lists));
  assert_int_equal(lists.n_pairs, 0);
  kp_pair_lists_free(&lists);
  close_fixture(&f);
}

// --- radii that change ---------------------------------------------------------------------------

// A value that only that particle has.
static double mark_of(kp_gid id, int component) {
  return (double)id * 4.0 + component;
}

static void set_marks(fixture *f) {
  for (int c = 0; c < f->classes->count; ++c) {
    kp_space *space = f->classes->classes[c].set->space;
    const kp_gid *id = kp_buffer_host(&kp_space_find(space, "id")->buffers[0], KP_ACCESS_READ);
    for (int k = 0; k < 3; ++k) {
      kp_real *cold = kp_buffer_host(&kp_space_find(space, "history")->buffers[k], KP_ACCESS_WRITE);
      const uint32_t *slot = kp_buffer_host(&space->slot->buffers[0], KP_ACCESS_READ);
      for (int64_t i = 0; i < space->n; ++i) {
        cold[slot[i]] = (kp_real)mark_of(id[i], k);
      }
    }
    uint8_t *kind = kp_buffer_host(&kp_space_find(space, "kind")->buffers[0], KP_ACCESS_WRITE);
    for (int64_t i = 0; i < space->n; ++i) {
      kind[i] = (uint8_t)(id[i] % 251);
    }
  }
}

// Every particle is in one class, the right one, with all that belongs to it.
static void check_marks(fixture *f, const spheres *s) {
  bool *is_seen = kp_alloc_zero(N, KP_MEMORY_TEST);
  int64_t n = 0;
  for (int c = 0; c < f->classes->count; ++c) {
    const kp_size_class *class = &f->classes->classes[c];
    kp_space *space = class->set->space;
    const kp_gid *id = kp_buffer_host(&class->set->id->buffers[0], KP_ACCESS_READ);
    const kp_real *radius = kp_buffer_host(&class->radius->buffers[0], KP_ACCESS_READ);
    const kp_pos *y = kp_buffer_host(&class->set->position->buffers[1], KP_ACCESS_READ);
    const uint8_t *kind = kp_buffer_host(&kp_space_find(space, "kind")->buffers[0], KP_ACCESS_READ);
    const uint32_t *slot = kp_buffer_host(&space->slot->buffers[0], KP_ACCESS_READ);
    const kp_real *cold =
        kp_buffer_host(&kp_space_find(space, "history")->buffers[2], KP_ACCESS_READ);
    n += space->n;
    for (int64_t i = 0; i < space->n; ++i) {
      assert_false(is_seen[id[i]]);
      is_seen[id[i]] = true;
      assert_int_equal(kp_size_classes_find(f->classes, (double)radius[i]), c);
      assert_near(radius[i], s->r[id[i]], 0.0);
      assert_near(y[i], s->x[id[i]].y, 0.0);
      assert_int_equal(kind[i], id[i] % 251);
      assert_near(cold[slot[i]], mark_of(id[i], 2), 0.0);
    }
  }
  assert_int_equal(n, N);
  kp_free(is_seen);
}

// Some grow and some shrink, in place.
static void change_radii(fixture *f, kp_test_random *random, spheres *s) {
  for (int c = 0; c < f->classes->count; ++c) {
    kp_size_class *class = &f->classes->classes[c];
    const kp_gid *id = kp_buffer_host(&class->set->id->buffers[0], KP_ACCESS_READ);
    kp_real *radius = kp_buffer_host(&class->radius->buffers[0], KP_ACCESS_WRITE);
    for (int64_t i = 0; i < class->set->space->n; ++i) {
      if (kp_test_integer(random, 0, 4) == 0) {
        radius[i] *= (kp_real)kp_test_uniform(random, 0.2, 3.0);
        s->r[id[i]] = (double)radius[i];
      }
    }
  }
}

static void add_extra_fields(fixture *f) {
  const kp_field_desc descs[] = {
    { "kind", KP_TYPE_U8, 1, "", KP_FIELD_STATE, 0.0 },
    { "history", KP_TYPE_REAL, 3, "", KP_FIELD_STATE | KP_FIELD_COLD, 0.0 },
  };
  assert_ok(kp_size_classes_add_fields(f->classes, descs, 2));
}

static void check_changes(kp_backend_kind kind) {
  spheres *s = kp_alloc(sizeof *s, KP_MEMORY_TEST);
  kp_test_random random = kp_test_random_begin(42);
  make_spheres(&random, 3, s);
  fixture f;
  open_fixture(&f, kind);
  make_classes(&f, KP_SET_FREE, 3, 0.002, 0.2);
  add_extra_fields(&f);
  assert_ok(kp_size_classes_add(f.classes, N, s->x, NULL, s->r));
  set_marks(&f);
  for (int round = 0; round < 3; ++round) {
    change_radii(&f, &random, s);
    int64_t n_moved;
    assert_ok(kp_size_classes_update(f.classes, &n_moved));
    assert_true(n_moved > 0);
    check_marks(&f, s);
    assert_ok(kp_size_classes_build(f.classes));
    check_marks(&f, s);
    check_contacts(&f, s);
    uint64_t revision = f.classes->classes[3].set->space->revision;
    assert_ok(kp_size_classes_update(f.classes, &n_moved));
    assert_int_equal(n_moved, 0);
    assert_true(f.classes->classes[3].set->space->revision == revision);
  }
  close_fixture(&f);
  kp_free(s);
}

static void test_changes(void **state) {
  (void)state;
  check_changes(chosen_backend());
  check_changes(KP_BACKEND_MIRROR);
}

// Tied sets keep their order in memory: a member that outgrows its class stays and is still found.
static void test_tied(void **state) {
  (void)state;
  spheres *s = kp_alloc(sizeof *s, KP_MEMORY_TEST);
  kp_test_random random = kp_test_random_begin(43);
  make_spheres(&random, 2, s);
  fixture f;
  open_fixture(&f, chosen_backend());
  make_classes(&f, KP_SET_TIED, 2, 0.002, 0.2);
  assert_ok(kp_size_classes_add(f.classes, N, s->x, NULL, s->r));
  change_radii(&f, &random, s);
  int64_t n_moved;
  assert_ok(kp_size_classes_update(f.classes, &n_moved));
  assert_int_equal(n_moved, 0);
  assert_ok(kp_size_classes_build(f.classes));
  check_contacts(&f, s);
  close_fixture(&f);
  kp_free(s);
}

static void test_refusals(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, KP_BACKEND_CPU);
  kp_size_classes_def def = { KP_SET_FREE, 3, 1e-12, 1.0 };
  assert_fails(KP_ERROR_ARGUMENT, "spread too far",
               kp_size_classes_create(f.registry, "grains", &def, &f.classes));
  def.smallest = 0.01;
  const char *name = "a name that is much too long to be followed by numbers";
  assert_fails(KP_ERROR_ARGUMENT, "too long",
               kp_size_classes_create(f.registry, name, &def, &f.classes));
  // a name that is taken half-way leaves nothing behind
  kp_space *taken;
  assert_ok(kp_registry_add_space(f.registry, "grains.3", KP_SPACE_BODIES, &taken));
  assert_true(kp_size_classes_create(f.registry, "grains", &def, &f.classes) != KP_OK);
  assert_int_equal(f.registry->spaces.count, 1);
  kp_registry_remove_space(f.registry, &taken);

  make_classes(&f, KP_SET_FREE, 3, 0.01, 1.0);
  const kp_vec3 x[2] = { { 0, 0, 0 }, { 1, 1, 1 } };
  const double wrong[][2] = { { 0.1, 0.0 }, { -1.0, 0.1 }, { 0.1, NAN }, { INFINITY, 0.1 } };
  for (int k = 0; k < 4; ++k) {
    assert_fails(KP_ERROR_ARGUMENT, "radius", kp_size_classes_add(f.classes, 2, x, NULL, wrong[k]));
  }
  const double good[2] = { 0.03, 0.5 };
  assert_ok(kp_size_classes_add(f.classes, 2, x, NULL, good));
  kp_size_class *first = &f.classes->classes[1];
  assert_int_equal(first->set->space->n, 1);
  *(kp_real *)kp_buffer_host(&first->radius->buffers[0], KP_ACCESS_WRITE) = (kp_real)NAN;
  assert_fails(KP_ERROR_PHYSICS, "radius", kp_size_classes_update(f.classes, NULL));
  close_fixture(&f);
}

static kp_result change_everything(fixture *f, kp_backend_kind kind) {
  const kp_size_classes_def def = { KP_SET_FREE, 3, 0.01, 0.16 };
  const kp_field_desc cold = {
    "history", KP_TYPE_REAL, 3, "", KP_FIELD_STATE | KP_FIELD_COLD, 0.0
  };
  kp_vec3 x[40];
  double r[40];
  for (int i = 0; i < 40; ++i) {
    x[i] = kp_vec3_make(0.05 * i, 0.03 * (i % 7), 0.02 * (i % 5));
    r[i] = 0.01 * (1 + i % 16);
  }
  KP_TRY(kp_backend_create(kind, &f->backend));
  KP_TRY(kp_registry_create(f->backend, &f->registry));
  KP_TRY(kp_size_classes_create(f->registry, "grains", &def, &f->classes));
  KP_TRY(kp_size_classes_add_fields(f->classes, &cold, 1));
  KP_TRY(kp_size_classes_add(f->classes, 40, x, x, r));
  void *radii;
  kp_size_class *large = &f->classes->classes[3];
  KP_TRY(kp_buffer_get(&large->radius->buffers[0], KP_SIDE_HOST, KP_ACCESS_WRITE, &radii));
  ((kp_real *)radii)[0] = (kp_real)0.015;
  KP_TRY(kp_size_classes_update(f->classes, NULL));
  return kp_size_classes_build(f->classes);
}

// Each allocation fails in turn: the failure is told and nothing leaks.
static void test_short_of_memory(void **state) {
  (void)state;
  const kp_backend_kind kinds[] = { KP_BACKEND_CPU, KP_BACKEND_MIRROR };
  for (int k = 0; k < 2; ++k) {
    int64_t bytes = kp_memory_bytes();
    int64_t n = 0;
    for (kp_result result = KP_ERROR_MEMORY; result != KP_OK; ++n) {
      fixture f = { 0 };
      kp_clear_error();
      kp_memory_fail_at(n);
      result = change_everything(&f, kinds[k]);
      kp_memory_fail_at(-1);
      close_fixture(&f);
      assert_int_equal(kp_memory_bytes(), bytes);
      assert_true(result == KP_OK || result == KP_ERROR_MEMORY);
    }
    assert_true(n > 40);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_spread),    cmocka_unit_test(test_number_of_classes),
    cmocka_unit_test(test_one_class), cmocka_unit_test(test_empty_and_single),
    cmocka_unit_test(test_changes),   cmocka_unit_test(test_tied),
    cmocka_unit_test(test_refusals),  cmocka_unit_test(test_short_of_memory),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
