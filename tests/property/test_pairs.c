// Neighbour search laws: pair sets equal to brute force whatever the points, the grid and the
// precision (Bayraktar C1), each unordered pair exactly once (C2), gather-only and sorted searches
// agree (C31), passes of the bitonic network (C32), periodic images against the nearest image, and
// the sorting baselines (Lyes L9, L13).
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/baselines/bitonic.h"
#include "data/baselines/brute_force.h"
#include "data/baselines/dynamic_grid.h"
#include "data/baselines/gather_search.h"
#include "data/baselines/split_merge.h"
#include "data/ghosts.h"
#include "data/pair_lists.h"
#include "par/parallel.h"

#include "support/claims.h"

typedef struct fixture {
  kp_backend *backend;
  kp_registry *registry;
  kp_set *a, *b;
  kp_cells *a_cells, *b_cells;
} fixture;

static kp_backend_kind backend_kind(void) {
  kp_backend_kind kind = KP_BACKEND_CPU;
  const char *name = getenv("KP_TEST_BACKEND");
  if (name != NULL) {
    assert_ok(kp_backend_parse(name, &kind));
  }
  return kind;
}

static void open_fixture(fixture *f) {
  memset(f, 0, sizeof *f);
  assert_ok(kp_backend_create(backend_kind(), &f->backend));
  assert_ok(kp_registry_create(f->backend, &f->registry));
}

static void close_fixture(fixture *f) {
  kp_cells_destroy(&f->a_cells);
  kp_cells_destroy(&f->b_cells);
  kp_set_destroy(&f->a);
  kp_set_destroy(&f->b);
  kp_registry_destroy(&f->registry);
  kp_backend_destroy(&f->backend);
}

static void add_set(fixture *f, const char *name, kp_set_kind kind, int dimension, double edge,
                    const kp_vec3 *points, int64_t n) {
  kp_set **set = f->a == NULL ? &f->a : &f->b;
  kp_cells **cells = f->a_cells == NULL ? &f->a_cells : &f->b_cells;
  assert_ok(kp_set_create(f->registry, name, kind, dimension, set));
  assert_ok(kp_set_add(*set, n, points, NULL));
  assert_ok(kp_cells_create(*set, edge, cells));
  assert_ok(kp_cells_build(*cells, NULL));
}

static kp_points points_of(kp_set *set) {
  kp_points p = { .n = set->space->n };
  p.x = kp_buffer_host(&set->position->buffers[0], KP_ACCESS_READ);
  p.y = kp_buffer_host(&set->position->buffers[1], KP_ACCESS_READ);
  p.z = kp_buffer_host(&set->position->buffers[2], KP_ACCESS_READ);
  return p;
}

// A set of pairs as a sorted array of (i, j).
typedef struct pair_set {
  KP_ARRAY(uint64_t) pairs;
} pair_set;

static void add_pair(int64_t i, int64_t j, void *user) {
  pair_set *s = user;
  assert_ok(kp_array_push(&s->pairs, (uint64_t)i << 32 | (uint64_t)j));
}

static int by_value(const void *a, const void *b) {
  uint64_t x = *(const uint64_t *)a;
  uint64_t y = *(const uint64_t *)b;
  return (x > y) - (x < y);
}

static void sort_pairs(pair_set *s) {
  if (s->pairs.count > 0) {
    qsort(s->pairs.data, s->pairs.count, sizeof(uint64_t), by_value);
  }
}

// Pairs that are in one of the sets alone, or more often in it.
static int64_t count_differences(pair_set *found, pair_set *wanted) {
  sort_pairs(found);
  sort_pairs(wanted);
  size_t i = 0, j = 0;
  int64_t n = 0;
  while (i < found->pairs.count && j < wanted->pairs.count) {
    uint64_t x = found->pairs.data[i], y = wanted->pairs.data[j];
    n += x != y;
    i += x <= y;
    j += y <= x;
  }
  return n + (int64_t)(found->pairs.count - i) + (int64_t)(wanted->pairs.count - j);
}

// What all searches of this run found.
typedef struct tally {
  int64_t pairs, wrong;  // ordered pairs by brute force; missing, extra or double in the search
  int64_t not_once;      // unordered pairs that were not met exactly once
  int64_t in_one_cell;   // particles that a single cell took
} tally;

static tally met;

static void assert_same_pairs(pair_set *found, pair_set *wanted, int64_t *wrong) {
  int64_t n = count_differences(found, wanted);
  *wrong += n;
  assert_int_equal(n, 0);
}

static void add_lists(pair_set *s, kp_pair_lists *lists, int64_t n) {
  const uint32_t *start = kp_buffer_host(&lists->start, KP_ACCESS_READ);
  const uint32_t *indices = kp_buffer_host(&lists->indices, KP_ACCESS_READ);
  assert_int_equal(start[n], lists->n_pairs);
  for (int64_t i = 0; i < n; ++i) {
    for (uint32_t k = start[i]; k < start[i + 1]; ++k) {
      add_pair(i, indices[k], s);
    }
  }
}

static void assert_same_lists(kp_pair_lists *a, kp_pair_lists *b) {
  assert_int_equal(a->n_pairs, b->n_pairs);
  assert_memory_equal(kp_buffer_host(&a->start, KP_ACCESS_READ),
                      kp_buffer_host(&b->start, KP_ACCESS_READ), a->start.used);
  if (a->n_pairs > 0) {
    assert_memory_equal(kp_buffer_host(&a->indices, KP_ACCESS_READ),
                        kp_buffer_host(&b->indices, KP_ACCESS_READ), a->indices.used);
  }
}

// Lists, plain lists and the count of one search against brute force.
static void check_search(kp_cells *i, kp_cells *j, double radius) {
  kp_points pi = points_of(i->set);
  kp_points pj = points_of(j->set);
  pair_set wanted = { 0 };
  pair_set found = { 0 };
  kp_brute_force_pairs(&pi, i == j ? &pi : &pj, radius, add_pair, &wanted);
  kp_pair_lists lists = { .n_pairs = 0 };
  kp_pair_lists plain = { .n_pairs = 0 };
  assert_ok(kp_pair_lists_build(&lists, i, j, radius, false));
  assert_ok(kp_pair_lists_build_plain(&plain, i, j, radius, false));
  add_lists(&found, &lists, pi.n);
  met.pairs += (int64_t)wanted.pairs.count;
  assert_same_pairs(&found, &wanted, &met.wrong);
  assert_same_lists(&lists, &plain);
  double mean;
  assert_ok(kp_pair_count(i, j, radius, &mean));
  assert_near(mean * (double)pi.n, wanted.pairs.count, 1e-6 * (double)wanted.pairs.count);

  // each unordered pair exactly once
  if (i == j) {
    found.pairs.count = 0;
    assert_ok(kp_pair_lists_build(&lists, i, j, radius, true));
    assert_ok(kp_pair_lists_build_plain(&plain, i, j, radius, true));
    assert_same_lists(&lists, &plain);
    assert_int_equal(2 * lists.n_pairs, wanted.pairs.count);
    add_lists(&found, &lists, pi.n);
    size_t n = found.pairs.count;
    for (size_t k = 0; k < n; ++k) {
      uint64_t p = found.pairs.data[k];
      add_pair((int64_t)(p & 0xffffffffu), (int64_t)(p >> 32), &found);
    }
    assert_same_pairs(&found, &wanted, &met.not_once);
  }
  kp_pair_lists_free(&lists);
  kp_pair_lists_free(&plain);
  kp_array_free(&wanted.pairs);
  kp_array_free(&found.pairs);
}

// --- points of all kinds -------------------------------------------------------------------------

typedef enum cloud {
  CLOUD_RANDOM,
  CLOUD_CLUSTERED,
  CLOUD_ONE_CELL,
  CLOUD_LATTICE,   // points on the faces of cells, at multiples of the radius
  CLOUD_OUTLIERS,  // some a thousand kilometres away
  CLOUD_SAME,      // all at one place
  CLOUD_COUNT
} cloud;

static void make_cloud(cloud kind, kp_test_random *r, kp_vec3 *points, int64_t n) {
  for (int64_t i = 0; i < n; ++i) {
    kp_vec3 p = kp_test_vec3(r, -1.0, 1.0);
    if (kind == CLOUD_CLUSTERED) {
      kp_vec3 c = kp_vec3_make((double)(i % 5) * 0.4 - 1.0, (double)(i % 3) * 0.7 - 1.0, 0.3);
      p = kp_vec3_madd(c, 0.08, p);
    } else if (kind == CLOUD_ONE_CELL) {
      p = kp_vec3_madd(kp_vec3_make(0.05, 0.05, 0.05), 0.04, p);
    } else if (kind == CLOUD_LATTICE) {
      p = kp_vec3_make(0.1 * (double)(i % 9 - 4), 0.1 * (double)(i / 9 % 9 - 4),
                       0.1 * (double)(i / 81 - 4));
    } else if (kind == CLOUD_OUTLIERS && i % 7 == 0) {
      p = kp_vec3_madd(kp_vec3_scale(p, 0.05), 1e6,
                       kp_vec3_make(i % 2 ? 1 : -1, 1, i % 3 ? -1 : 1));
    } else if (kind == CLOUD_SAME) {
      p = kp_vec3_make(0.3, 0.3, 0.3);
    }
    points[i] = p;
  }
}

static void check_cloud(kp_test_random *r, void *user) {
  (void)user;
  const double ratios[] = { 1.000001, 1.0, 1.5, 2.0, 4.0, 0.5 };
  enum { most = 900 };
  kp_vec3 points[most];
  for (int kind = 0; kind < CLOUD_COUNT; ++kind) {
    double ratio = ratios[kp_test_integer(r, 0, 5)];
    int64_t n = kp_test_integer(r, 1, kind == CLOUD_SAME ? 100 : most);
    make_cloud((cloud)kind, r, points, n);
    fixture f;
    open_fixture(&f);
    kp_set_kind set_kind = kp_test_integer(r, 0, 1) ? KP_SET_FREE : KP_SET_TIED;
    int dimension = kp_test_integer(r, 0, 3) == 0 ? 2 : 3;
    add_set(&f, "a", set_kind, dimension, 0.1 * ratio, points, n);
    check_search(f.a_cells, f.a_cells, 0.1);
    close_fixture(&f);
  }
}

static void test_clouds(void **state) {
  (void)state;
  kp_test_for_seeds(12, check_cloud, NULL);
}

static void check_two(kp_test_random *r, void *user) {
  (void)user;
  enum { most = 700 };
  kp_vec3 points[most];
  fixture f;
  open_fixture(&f);
  int64_t n = kp_test_integer(r, 0, most);
  make_cloud((cloud)kp_test_integer(r, 0, 1), r, points, n);
  add_set(&f, "a", KP_SET_FREE, 3, kp_test_uniform(r, 0.05, 0.4), points, n);
  n = kp_test_integer(r, 0, most);
  make_cloud((cloud)kp_test_integer(r, 0, 1), r, points, n);
  add_set(&f, "b", KP_SET_TIED, 3, kp_test_uniform(r, 0.05, 0.4), points, n);
  check_search(f.a_cells, f.b_cells, 0.13);
  check_search(f.b_cells, f.a_cells, 0.13);
  close_fixture(&f);
}

static void test_two_sets(void **state) {
  (void)state;
  kp_test_for_seeds(10, check_two, NULL);
}

// 100,000 in one cell build and are searched; pairs are compared at 3,000.
static void test_crowded(void **state) {
  (void)state;
  enum { n = 100000, few = 3000 };
  kp_test_random r = kp_test_random_begin(31);
  kp_vec3 *points = kp_alloc(n * sizeof *points, KP_MEMORY_TEST);
  for (int i = 0; i < n; ++i) {
    points[i] = kp_test_vec3(&r, 0.1, 0.9);
  }
  fixture f;
  open_fixture(&f);
  add_set(&f, "a", KP_SET_FREE, 3, 1.0, points, n);
  assert_int_equal(f.a_cells->n_cells, 1);
  met.in_one_cell = f.a_cells->set->space->n;
  close_fixture(&f);
  open_fixture(&f);
  add_set(&f, "a", KP_SET_FREE, 3, 1.0, points, few);
  assert_int_equal(f.a_cells->n_cells, 1);
  check_search(f.a_cells, f.a_cells, 0.15);
  close_fixture(&f);
  kp_free(points);
}

// As many as brute force bears.
static void test_many(void **state) {
  (void)state;
  enum { n = 20000 };
  kp_vec3 *points = kp_alloc(n * sizeof *points, KP_MEMORY_TEST);
  kp_test_random r = kp_test_random_begin(34);
  make_cloud(CLOUD_RANDOM, &r, points, n);
  fixture f;
  open_fixture(&f);
  add_set(&f, "a", KP_SET_FREE, 3, 0.1, points, n);
  check_search(f.a_cells, f.a_cells, 0.1);
  close_fixture(&f);
  kp_free(points);
}

// Dense and sparse forms of one search: the same points, once alone and once with a far point.
static void test_sparse_equals_dense(void **state) {
  (void)state;
  enum { n = 2000 };
  kp_vec3 points[n + 1];
  kp_test_random r = kp_test_random_begin(32);
  make_cloud(CLOUD_RANDOM, &r, points, n);
  points[n] = kp_vec3_make(3e5, -2e5, 1e5);
  kp_pair_lists lists[2] = { { .n_pairs = 0 }, { .n_pairs = 0 } };
  fixture f[2];
  for (int k = 0; k < 2; ++k) {
    open_fixture(&f[k]);
    add_set(&f[k], "a", KP_SET_TIED, 3, 0.1, points, n + k);
    assert_int_equal(f[k].a_cells->shape.sparse, k);
    assert_ok(kp_pair_lists_build(&lists[k], f[k].a_cells, f[k].a_cells, 0.1, false));
  }
  assert_int_equal(lists[0].n_pairs, lists[1].n_pairs);
  assert_memory_equal(kp_buffer_host(&lists[0].indices, KP_ACCESS_READ),
                      kp_buffer_host(&lists[1].indices, KP_ACCESS_READ), lists[0].indices.used);
  for (int k = 0; k < 2; ++k) {
    kp_pair_lists_free(&lists[k]);
    close_fixture(&f[k]);
  }
}

static void test_same_lists_everywhere(void **state) {
  (void)state;
  if (backend_kind() == KP_BACKEND_CUDA) {
    kp_test_skip("on cores alone");
  }
  enum { n = 30000 };
  kp_vec3 *points = kp_alloc(n * sizeof *points, KP_MEMORY_TEST);
  kp_test_random r = kp_test_random_begin(33);
  make_cloud(CLOUD_RANDOM, &r, points, n);
  fixture f;
  open_fixture(&f);
  add_set(&f, "a", KP_SET_FREE, 3, 0.1, points, n);
  kp_pair_lists first = { .n_pairs = 0 };
  kp_pair_lists other = { .n_pairs = 0 };
  kp_isa best = kp_isa_current();
  kp_parallel_set_threads(1);
  assert_ok(kp_pair_lists_build(&first, f.a_cells, f.a_cells, 0.0999, false));
  int64_t before = kp_memory_allocations();
  assert_ok(kp_pair_lists_build(&first, f.a_cells, f.a_cells, 0.0999, false));
  assert_int_equal(kp_memory_allocations(), before);
  for (int isa = 0; isa < KP_ISA_COUNT; ++isa) {
    kp_isa_force((kp_isa)isa);
    for (int threads = 1; threads <= 4; ++threads) {
      kp_parallel_set_threads(threads);
      assert_ok(kp_pair_lists_build(&other, f.a_cells, f.a_cells, 0.0999, false));
      assert_same_lists(&first, &other);
    }
  }
  kp_isa_force(best);
  kp_parallel_set_threads(0);
  kp_pair_lists_free(&first);
  kp_pair_lists_free(&other);
  close_fixture(&f);
  kp_free(points);
}

// --- periodic images -----------------------------------------------------------------------------

typedef struct periodic_case {
  int dimension;
  bool periodic[3];
} periodic_case;

// Pairs inside the box and with images together are those of the nearest image, by element of the
// owner.
static void check_periodic(kp_test_random *r, void *user) {
  const periodic_case *c = user;
  enum { n = 600 };
  kp_vec3 points[n];
  make_cloud(CLOUD_RANDOM, r, points, n);
  fixture f;
  open_fixture(&f);
  kp_ghosts_def def = { .box = { { -0.7, -0.8, -0.9 }, { 0.7, 0.6, 0.5 } }, .width = 0.3 };
  double size[3] = { 0.0, 0.0, 0.0 };
  for (int d = 0; d < c->dimension; ++d) {
    def.periodic[d] = c->periodic[d];
    size[d] = c->periodic[d] ? 1.4 : 0.0;
  }
  add_set(&f, "a", KP_SET_FREE, c->dimension, 0.3000003, points, n);
  kp_ghosts *ghosts;
  assert_ok(kp_ghosts_create(f.registry, "images", f.a, &def, &ghosts));
  assert_ok(kp_ghosts_wrap(ghosts));
  assert_ok(kp_cells_build(f.a_cells, NULL));
  assert_ok(kp_ghosts_update(ghosts));
  assert_ok(kp_cells_create(ghosts->set, 0.3000003, &f.b_cells));
  assert_ok(kp_cells_build(f.b_cells, NULL));

  pair_set wanted = { 0 };
  pair_set found = { 0 };
  kp_points p = points_of(f.a);
  kp_brute_force_periodic(&p, 0.3, size, add_pair, &wanted);
  kp_pair_lists lists = { .n_pairs = 0 };
  assert_ok(kp_pair_lists_build(&lists, f.a_cells, f.a_cells, 0.3, false));
  add_lists(&found, &lists, n);
  assert_ok(kp_pair_lists_build(&lists, f.a_cells, f.b_cells, 0.3, false));
  size_t inner = found.pairs.count;
  add_lists(&found, &lists, n);
  const uint32_t *source = kp_buffer_host(&ghosts->source->buffers[0], KP_ACCESS_READ);
  for (size_t k = inner; k < found.pairs.count; ++k) {
    uint64_t pair = found.pairs.data[k];
    found.pairs.data[k] = (pair & ~(uint64_t)0xffffffffu) | source[pair & 0xffffffffu];
  }
  assert_same_pairs(&found, &wanted, &met.wrong);

  kp_pair_lists_free(&lists);
  kp_array_free(&wanted.pairs);
  kp_array_free(&found.pairs);
  kp_cells_destroy(&f.b_cells);
  kp_ghosts_destroy(&ghosts);
  close_fixture(&f);
}

static void test_periodic(void **state) {
  (void)state;
  periodic_case cases[] = {
    { 3, { true, true, true } },  { 3, { true, false, false } },  { 3, { false, true, true } },
    { 2, { true, true, false } }, { 3, { false, false, false } },
  };
  for (size_t k = 0; k < sizeof cases / sizeof cases[0]; ++k) {
    kp_test_for_seeds(2, check_periodic, &cases[k]);
  }
}

// Fields follow their owners, order is by image then element, old images are refused.
static void test_ghost_fields(void **state) {
  (void)state;
  const kp_vec3 points[] = { { 0.05, 0.5, 0.5 }, { 0.5, 0.5, 0.5 }, { 0.95, 0.95, 0.5 } };
  fixture f;
  open_fixture(&f);
  add_set(&f, "a", KP_SET_TIED, 3, 0.2, points, 3);
  kp_field_desc desc = { "mass", KP_TYPE_REAL, 1, "kg", KP_FIELD_STATE | KP_FIELD_GHOST, 0.0 };
  kp_field *mass;
  assert_ok(kp_space_add_field(f.a->space, &desc, &mass));
  kp_real *values = kp_buffer_host(&mass->buffers[0], KP_ACCESS_OVERWRITE);
  values[0] = 10;
  values[1] = 20;
  values[2] = 30;
  kp_ghosts_def def = { .box = { { 0, 0, 0 }, { 1, 1, 1 } },
                        .periodic = { true, true, false },
                        .width = 0.1 };
  kp_ghosts *g;
  assert_ok(kp_ghosts_create(f.registry, "images", f.a, &def, &g));
  assert_ok(kp_ghosts_update(g));
  // element 2 at (-1, -1), (0, -1) and (-1, 0); element 0 at (+1, 0)
  assert_int_equal(g->set->space->n, 4);
  const uint32_t *source = kp_buffer_host(&g->source->buffers[0], KP_ACCESS_READ);
  const kp_pos *x = kp_buffer_host(&g->set->position->buffers[0], KP_ACCESS_READ);
  const kp_pos *y = kp_buffer_host(&g->set->position->buffers[1], KP_ACCESS_READ);
  const uint32_t sources[] = { 2, 2, 2, 0 };
  const double xs[] = { -0.05, 0.95, -0.05, 1.05 };
  const double ys[] = { -0.05, -0.05, 0.95, 0.5 };
  for (int k = 0; k < 4; ++k) {
    assert_int_equal(source[k], sources[k]);
    assert_near(x[k], xs[k], 1e-14);
    assert_near(y[k], ys[k], 1e-14);
  }
  values = kp_buffer_host(&mass->buffers[0], KP_ACCESS_WRITE);
  values[0] = 11;
  kp_field *copy = kp_space_find(g->set->space, "mass");
  assert_near(((const kp_real *)kp_buffer_host(&copy->buffers[0], KP_ACCESS_READ))[3], 10, 0);
  assert_ok(kp_ghosts_refresh(g, mass));
  assert_near(((const kp_real *)kp_buffer_host(&copy->buffers[0], KP_ACCESS_READ))[3], 11, 0);
  assert_ok(kp_set_add(f.a, 1, points, NULL));
  assert_fails(KP_ERROR_INTERNAL, "older", kp_ghosts_refresh(g, mass));
  kp_ghosts_destroy(&g);
  close_fixture(&f);
}

// A box shorter than the width repeats as often as needed: 5 x 1 images of a point, less itself.
static void test_narrow_box(void **state) {
  (void)state;
  const kp_vec3 point = { 0.5, 0.5, 0.5 };
  fixture f;
  open_fixture(&f);
  add_set(&f, "a", KP_SET_FREE, 3, 1.0, &point, 1);
  kp_ghosts_def def = { .box = { { 0, 0, 0 }, { 1, 1, 1 } }, .periodic = { true }, .width = 2.0 };
  kp_ghosts *g;
  assert_ok(kp_ghosts_create(f.registry, "images", f.a, &def, &g));
  assert_ok(kp_ghosts_update(g));
  assert_int_equal(g->set->space->n, 4);
  kp_ghosts_destroy(&g);
  close_fixture(&f);
}

// --- baselines -----------------------------------------------------------------------------------

static void test_gather_only(void **state) {
  (void)state;
  enum { n = 1500 };
  kp_vec3 points[n];
  kp_test_random r = kp_test_random_begin(41);
  make_cloud(CLOUD_CLUSTERED, &r, points, n);
  fixture f;
  open_fixture(&f);
  add_set(&f, "a", KP_SET_TIED, 3, 0.1, points, n);
  kp_points p = points_of(f.a);
  kp_gather_search s;
  assert_ok(kp_gather_search_build(&s, &p, &f.a_cells->bounds, 0.1));
  int64_t sum = 0;
  for (int64_t c = 0; c < s.n_cells; ++c) {
    sum += s.map[c].neighbours;
  }
  assert_int_equal(s.n_table, sum);
  assert_true(s.n_table <= 27 * n);

  pair_set found = { 0 };
  pair_set wanted = { 0 };
  for (int64_t i = 0; i < n; ++i) {
    uint32_t t, end;
    kp_gather_search_range(&s, &p, i, &t, &end);
    for (; t < end; ++t) {
      int64_t j = s.table[t];
      double dx = p.x[i] - p.x[j];
      double dy = p.y[i] - p.y[j];
      double dz = p.z[i] - p.z[j];
      if (j != i && dx * dx + dy * dy + dz * dz <= 0.1 * 0.1) {
        add_pair(i, j, &found);
      }
    }
  }
  kp_pair_lists lists = { .n_pairs = 0 };
  assert_ok(kp_pair_lists_build(&lists, f.a_cells, f.a_cells, 0.1, false));
  add_lists(&wanted, &lists, n);
  int64_t wrong = count_differences(&found, &wanted);
  kp_claim claim = { .id = "bayraktar-C31",
                     .text = "the gather-only search meets the pairs of the sorted one",
                     .size = "1500 particles in clusters" };
  kp_claim_all(&claim, { "pairs that only one of the two meets", (double)wrong, KP_AT_MOST, 0 },
               { "pairs met", (double)wanted.pairs.count, KP_AT_LEAST, 1 },
               { "entries of the table over 27 N", (double)s.n_table / (27.0 * n), KP_AT_MOST, 1 },
               { "entries more or less than the sum over cells", fabs((double)(s.n_table - sum)),
                 KP_AT_MOST, 0 });
  assert_int_equal(wrong, 0);
  kp_pair_lists_free(&lists);
  kp_gather_search_free(&s);
  kp_array_free(&wanted.pairs);
  kp_array_free(&found.pairs);
  close_fixture(&f);
}

static void test_bitonic(void **state) {
  (void)state;
  int64_t too_many = 0, unsorted = 0;
  for (int q = 0; q <= 12; ++q) {
    int64_t n = (int64_t)1 << q;
    uint64_t keys[1 << 12];
    uint64_t wanted[1 << 12];
    kp_test_random r = kp_test_random_begin((uint64_t)q);
    for (int64_t i = 0; i < n; ++i) {
      keys[i] = wanted[i] = kp_test_bits(&r) >> (q % 3 == 0 ? 60 : 1);
    }
    qsort(wanted, (size_t)n, sizeof wanted[0], by_value);
    int64_t passes;
    assert_ok(kp_bitonic_sort(keys, n, &passes));
    too_many += passes != q * (q + 1) / 2;
    unsorted += memcmp(keys, wanted, (size_t)n * sizeof keys[0]) != 0;
  }
  kp_claim claim = { .id = "bayraktar-C32",
                     .text = "a bitonic network of N keys has log2 N (log2 N + 1)/2 passes",
                     .size = "13 networks of 1 to 4096 keys" };
  kp_claim_all(&claim, { "networks with another number", (double)too_many, KP_AT_MOST, 0 },
               { "that do not sort", (double)unsorted, KP_AT_MOST, 0 });
  assert_int_equal(too_many, 0);
  assert_int_equal(unsorted, 0);
  // a number of keys that is no power of two runs the next larger network
  uint64_t few[] = { 5, 3, 9, 1, 7 };
  int64_t passes;
  assert_ok(kp_bitonic_sort(few, 5, &passes));
  assert_int_equal(passes, 6);
  assert_true(few[0] == 1 && few[1] == 3 && few[2] == 5 && few[3] == 7 && few[4] == 9);
}

static void test_split_merge(void **state) {
  (void)state;
  enum { n = 5000 };
  static uint32_t old_keys[n], keys[n], sorted[n], order[n];
  kp_test_random r = kp_test_random_begin(51);
  int64_t n_moved = 0;
  for (int i = 0; i < n; ++i) {
    old_keys[i] = keys[i] = (uint32_t)i / 7;
    if (kp_test_integer(&r, 0, 9) == 0) {
      keys[i] = (uint32_t)kp_test_integer(&r, 0, n / 7);
      n_moved += keys[i] != old_keys[i];
    }
  }
  kp_split_merge_report report;
  kp_backend *backend;
  assert_ok(kp_backend_create(KP_BACKEND_CPU, &backend));
  assert_ok(kp_split_merge_sort(backend, old_keys, keys, sorted, order, n, &report));
  kp_backend_destroy(&backend);
  assert_int_equal(report.n_changed, n_moved);
  int64_t n_wrong = 0;
  for (int i = 1; i < n; ++i) {
    uint32_t a = order[i - 1];
    uint32_t b = order[i];
    n_wrong += keys[a] < keys[b] || (keys[a] == keys[b] && a < b) ? 0 : 1;
    n_wrong += sorted[i] == keys[b] ? 0 : 1;
  }
  kp_claim claim = { .id = "lyes-8-order",
                     .text = "the split-and-merge sort makes the order of a stable sort",
                     .size = "5000 keys, seven alike, a tenth changed" };
  kp_claim_status verdict =
      kp_claim_all(&claim, { "neighbours out of order", (double)n_wrong, KP_AT_MOST, 0.0 },
                   { "changed", (double)n_moved, KP_AT_LEAST, 300.0 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

static void test_dynamic_grid(void **state) {
  (void)state;
  kp_dynamic_grid grow = kp_dynamic_grid_make(KP_DYNAMIC_GRID_GROW, 0.1, 1 << 20);
  kp_dynamic_grid both = kp_dynamic_grid_make(KP_DYNAMIC_GRID_GROW_SHRINK, 0.1, 1 << 20);
  for (int step = 0; step < 20; ++step) {
    // a blob that grows, then shrinks
    double size = step < 10 ? 0.5 + 0.05 * step : 1.0 - 0.05 * (step - 10);
    const kp_pos x[] = { 0.0, size };
    kp_points p = { 2, x, x, x };
    kp_dynamic_grid_update(&grow, &p);
    kp_dynamic_grid_update(&both, &p);
    for (int k = 0; k < 2; ++k) {
      assert_true(kp_aabb_holds(grow.bounds, kp_vec3_make(x[k], x[k], x[k])));
      assert_true(kp_aabb_holds(both.bounds, kp_vec3_make(x[k], x[k], x[k])));
    }
  }
  assert_int_equal(grow.n_shrunk, 0);
  assert_true(both.n_shrunk > 0);
  // the cap holds and counts who is left out
  kp_dynamic_grid small = kp_dynamic_grid_make(KP_DYNAMIC_GRID_GROW_SHRINK, 0.1, 1000);
  const kp_pos far[] = { 0.0, 100.0 };
  kp_points p = { 2, far, far, far };
  kp_dynamic_grid_update(&small, &p);
  kp_claim claim = { .id = "lyes-L13",
                     .text = "a grid follows the box of the particles, growing alone or shrinking "
                             "too, within its memory",
                     .size = "two particles, 20 steps; two 100 m apart with 1000 cells" };
  kp_claim_status verdict = kp_claim_all(
      &claim,
      { "cells of the shrinking grid over those of the growing one",
        (double)both.n_cells / (double)grow.n_cells, KP_LESS, 1.0 },
      { "cells of a capped grid over its cap", (double)small.n_cells / 1000.0, KP_AT_MOST, 1.0 },
      { "particles counted outside the capped grid, off from 1",
        fabs((double)small.n_outside - 1.0), KP_AT_MOST, 0.0 });
  assert_int_equal(verdict, KP_CLAIM_CONFIRMED);
}

// What the tests above have met, as claims.
static void test_claims(void **state) {
  (void)state;
  kp_claim all = { .id = "bayraktar-C1",
                   .text = "the search finds all pairs, whatever the points, the cells and radius",
                   .size = "clouds of 1 to 20,000 particles; 100,000 in one cell" };
  kp_claim_all(&all, { "pairs missing, extra or double", (double)met.wrong, KP_AT_MOST, 0 },
               { "pairs compared with brute force", (double)met.pairs, KP_AT_LEAST, 1e6 },
               { "particles in one cell", (double)met.in_one_cell, KP_AT_LEAST, 100000 });
  kp_claim once = { .id = "bayraktar-C2",
                    .text = "every unordered pair is met exactly once",
                    .size = "clouds of 1 to 20,000 particles" };
  kp_claim_all(&once, { "pairs not met exactly once", (double)met.not_once, KP_AT_MOST, 0 },
               { "pairs compared with brute force", (double)met.pairs, KP_AT_LEAST, 1e6 });
  assert_int_equal(met.wrong, 0);
  assert_int_equal(met.not_once, 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_clouds),
    cmocka_unit_test(test_two_sets),
    cmocka_unit_test(test_crowded),
    cmocka_unit_test(test_many),
    cmocka_unit_test(test_sparse_equals_dense),
    cmocka_unit_test(test_same_lists_everywhere),
    cmocka_unit_test(test_periodic),
    cmocka_unit_test(test_ghost_fields),
    cmocka_unit_test(test_narrow_box),
    cmocka_unit_test(test_gather_only),
    cmocka_unit_test(test_bitonic),
    cmocka_unit_test(test_split_merge),
    cmocka_unit_test(test_dynamic_grid),
    cmocka_unit_test(test_claims),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
