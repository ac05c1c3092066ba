// The sorted cell grid: order, ties, cell starts, dense and sparse forms, no allocation after
// warm-up. (Lyes M16: every particle in exactly one range, the sum of ranges is N, also with all
// particles in one cell, one particle, particles exactly on faces. Bayraktar C1: no assumption on
// N, grid or radius.)
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/call.h"
#include "data/cells.h"
#include "par/parallel.h"

#include "support/claims.h"

typedef struct fixture {
  kp_backend *backend;
  kp_registry *registry;
  kp_set *set;
  kp_cells *cells;
} fixture;

static kp_backend_kind backend_kind(void) {
  kp_backend_kind kind = KP_BACKEND_CPU;
  const char *name = getenv("KP_TEST_BACKEND");
  if (name != NULL) {
    assert_ok(kp_backend_parse(name, &kind));
  }
  return kind;
}

static void open_fixture(fixture *f, kp_set_kind kind, int dimension, double edge) {
  assert_ok(kp_backend_create(backend_kind(), &f->backend));
  assert_ok(kp_registry_create(f->backend, &f->registry));
  assert_ok(kp_set_create(f->registry, "points", kind, dimension, &f->set));
  assert_ok(kp_cells_create(f->set, edge, &f->cells));
}

static void close_fixture(fixture *f) {
  kp_cells_destroy(&f->cells);
  kp_set_destroy(&f->set);
  kp_registry_destroy(&f->registry);
  kp_backend_destroy(&f->backend);
}

static void add_points(fixture *f, const kp_vec3 *points, int64_t n) {
  assert_ok(kp_set_add(f->set, n, points, NULL));
}

static void add_random(fixture *f, int64_t n, double size, uint64_t seed) {
  kp_test_random r = kp_test_random_begin(seed);
  kp_vec3 *points = kp_alloc((size_t)n * sizeof *points, KP_MEMORY_TEST);
  for (int64_t i = 0; i < n; ++i) {
    points[i] = kp_test_vec3(&r, -size, size);
  }
  add_points(f, points, n);
  kp_free(points);
}

// Host copies of what a build made.
typedef struct built {
  int64_t n;
  const kp_pos *x, *y, *z;
  const kp_gid *id;
  kp_cells_view view;
} built;

static built look(fixture *f) {
  built b = { .n = f->set->space->n };
  b.x = kp_buffer_host(&f->set->position->buffers[0], KP_ACCESS_READ);
  b.y = kp_buffer_host(&f->set->position->buffers[1], KP_ACCESS_READ);
  b.z = kp_buffer_host(&f->set->position->buffers[2], KP_ACCESS_READ);
  b.id = kp_buffer_host(&f->set->id->buffers[0], KP_ACCESS_READ);
  b.view = f->cells->shape;
  b.view.cell_start = kp_buffer_host(&f->cells->cell_start, KP_ACCESS_READ);
  if (b.view.sparse) {
    b.view.row_start = kp_buffer_host(&f->cells->row_start, KP_ACCESS_READ);
    b.view.row_lo = kp_buffer_host(&f->cells->row_lo, KP_ACCESS_READ);
    b.view.row_key = kp_buffer_host(&f->cells->row_key, KP_ACCESS_READ);
  }
  if (f->set->kind == KP_SET_TIED) {
    b.view.order = kp_buffer_host(&f->cells->order, KP_ACCESS_READ);
  }
  return b;
}

static int64_t element(const built *b, int64_t slot) {
  return b->view.order != NULL ? (int64_t)b->view.order[slot] : slot;
}

static void cell_of(const built *b, int64_t e, int32_t c[3]) {
  double inverse = b->view.inverse_edge;
  c[0] = kp_cells_coordinate(b->x[e], inverse);
  c[1] = kp_cells_coordinate(b->y[e], inverse);
  c[2] = kp_cells_coordinate(b->z[e], inverse);
}

// Slots ascend by (z, y, x, id); the range of each slot's cell is the run of equal cells around it.
// Of all orders that were looked at.
static struct {
  int64_t particles, wrong;  // neighbours in the order that do not ascend by cell, then id
  int64_t in_one_cell;
  int64_t thread_counts;  // that gave the order of one thread
  int64_t in_ranges;      // sum of the ranges of all cells
  int64_t begun_wrong;    // particles whose cell's range begins elsewhere or ends before them
} looks;

static void check_order(fixture *f) {
  built b = look(f);
  int64_t wrong_before = looks.wrong;
  looks.particles += b.n;
  int64_t run = 0;
  int64_t n_occupied = 0;
  for (int64_t s = 0; s < b.n; ++s) {
    int32_t c[3], p[3];
    int64_t e = element(&b, s);
    cell_of(&b, e, c);
    bool is_new = s == 0;
    if (s > 0) {
      int64_t q = element(&b, s - 1);
      cell_of(&b, q, p);
      is_new = memcmp(c, p, sizeof c) != 0;
      bool ascends = c[2] != p[2]   ? c[2] > p[2]
                     : c[1] != p[1] ? c[1] > p[1]
                     : c[0] != p[0] ? c[0] > p[0]
                                    : b.id[e] > b.id[q];
      looks.wrong += !ascends;
    }
    run = is_new ? s : run;
    n_occupied += is_new;
    uint32_t begin, end;
    kp_cells_range(&b.view, c[0], c[0], c[1], c[2], &begin, &end);
    looks.begun_wrong += begin != run || (int64_t)end <= s || (int64_t)end > b.n;
    looks.in_ranges += is_new ? (int64_t)end - (int64_t)begin : 0;
  }
  assert_int_equal(looks.wrong, wrong_before);
  assert_int_equal(looks.begun_wrong, 0);
  assert_int_equal(looks.in_ranges, looks.particles);
  if (backend_kind() != KP_BACKEND_CUDA) {
    assert_int_equal(f->cells->n_occupied, n_occupied);
  }
}

// Items tile the slots, hold at most KP_CELLS_ITEM and stay in one row.
static void check_work(fixture *f) {
  if (backend_kind() == KP_BACKEND_CUDA) {
    return;
  }
  built b = look(f);
  const uint32_t *work = kp_buffer_host(&f->cells->work, KP_ACCESS_READ);
  assert_int_equal(work[0], 0);
  assert_int_equal(work[f->cells->n_items], b.n);
  for (int64_t k = 0; k < f->cells->n_items; ++k) {
    assert_true(work[k] < work[k + 1] && work[k + 1] - work[k] <= KP_CELLS_ITEM);
    int32_t c[3], p[3];
    cell_of(&b, element(&b, work[k]), c);
    cell_of(&b, element(&b, work[k + 1] - 1), p);
    assert_true(c[1] == p[1] && c[2] == p[2]);
  }
}

static void build_and_check(fixture *f, bool expect_sparse) {
  assert_ok(kp_cells_build(f->cells, NULL));
  assert_int_equal(f->cells->shape.sparse, expect_sparse);
  check_order(f);
  check_work(f);
}

static void test_random_dense(void **state) {
  (void)state;
  for (int kind = 0; kind < 2; ++kind) {
    fixture f;
    open_fixture(&f, kind == 0 ? KP_SET_FREE : KP_SET_TIED, 3, 0.1);
    add_random(&f, 20000, 1.0, 11);
    build_and_check(&f, false);
    // the second build of an unmoved set changes nothing
    assert_ok(kp_cells_build(f.cells, NULL));
    if (kind == 0 && backend_kind() != KP_BACKEND_CUDA) {
      assert_false(f.cells->is_moved);
    }
    check_order(&f);
    close_fixture(&f);
  }
}

static void test_random_sparse(void **state) {
  (void)state;
  for (int kind = 0; kind < 2; ++kind) {
    fixture f;
    open_fixture(&f, kind == 0 ? KP_SET_FREE : KP_SET_TIED, 3, 0.01);
    add_random(&f, 5000, 1.0, 12);
    build_and_check(&f, true);
    close_fixture(&f);
  }
}

static void test_far_apart(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, KP_SET_FREE, 3, 0.01);
  // two in one row, a thousand kilometres apart, and one in each far corner
  const kp_vec3 points[] = { { 0, 0, 0 },        { 1e6, 0, 0 },        { -1e6, 0.005, 0.005 },
                             { 1e6, 1e6, 1e6 },  { -1e6, -1e6, -1e6 }, { 0.05, 0, 0 },
                             { 0.08, 0.001, 0 }, { 0.2, 0, 0 } };
  add_points(&f, points, 8);
  build_and_check(&f, true);
  assert_true(f.cells->n_cells < 64);
  // a range across the cuts of a row
  built b = look(&f);
  uint32_t begin, end;
  kp_cells_range(&b.view, -200000000, 200000000, 0, 0, &begin, &end);
  assert_int_equal(end - begin, 6);
  kp_cells_range(&b.view, 1, 7, 0, 0, &begin, &end);
  assert_int_equal(end - begin, 1);
  kp_cells_range(&b.view, 6, 7, 0, 0, &begin, &end);
  assert_int_equal(end - begin, 0);
  kp_cells_range(&b.view, 5, 20, 0, 0, &begin, &end);
  assert_int_equal(end - begin, 3);
  close_fixture(&f);
}

static void test_few(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, KP_SET_FREE, 3, 0.5);
  assert_ok(kp_cells_build(f.cells, NULL));
  assert_int_equal(f.cells->n_items, 0);
  const kp_vec3 one = { -3.5, 2.0, 0.5 };
  add_points(&f, &one, 1);
  build_and_check(&f, false);
  assert_int_equal(f.cells->n_cells, 1);
  close_fixture(&f);
}

static void test_faces(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, KP_SET_FREE, 3, 0.1);
  kp_vec3 points[7 * 7 * 7];
  int64_t n = 0;
  for (int k = -3; k <= 3; ++k) {
    for (int j = -3; j <= 3; ++j) {
      for (int i = -3; i <= 3; ++i) {
        points[n++] = kp_vec3_make(i * 0.1, j * 0.1, k * 0.1);
      }
    }
  }
  add_points(&f, points, n);
  build_and_check(&f, false);
  close_fixture(&f);
}

static void test_one_cell(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, KP_SET_FREE, 3, 10.0);
  enum { n = 100000 };
  kp_test_random r = kp_test_random_begin(5);
  kp_vec3 *points = kp_alloc(n * sizeof *points, KP_MEMORY_TEST);
  for (int i = 0; i < n; ++i) {
    points[i] = kp_test_vec3(&r, 1.0, 2.0);
  }
  add_points(&f, points, n);
  kp_free(points);
  // ids upside down, so that the ties need work
  kp_gid *id = kp_buffer_host(&f.set->id->buffers[0], KP_ACCESS_WRITE);
  for (int i = 0; i < n; ++i) {
    id[i] = (kp_gid)(n - i);
  }
  build_and_check(&f, false);
  assert_int_equal(f.cells->n_cells, 1);
  looks.in_one_cell = n;
  close_fixture(&f);
}

static void test_bad_positions(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, KP_SET_FREE, 3, 0.1);
  add_random(&f, 100, 1.0, 3);
  kp_pos *x = kp_buffer_host(&f.set->position->buffers[0], KP_ACCESS_WRITE);
  x[17] = NAN;
  assert_fails(KP_ERROR_PHYSICS, "no finite position", kp_cells_build(f.cells, NULL));
  x = kp_buffer_host(&f.set->position->buffers[0], KP_ACCESS_WRITE);
  x[17] = HUGE_VAL;
  assert_fails(KP_ERROR_PHYSICS, "no finite position", kp_cells_build(f.cells, NULL));
  x = kp_buffer_host(&f.set->position->buffers[0], KP_ACCESS_WRITE);
  x[17] = 1e12;
  assert_fails(KP_ERROR_PHYSICS, "too far", kp_cells_build(f.cells, NULL));
  x = kp_buffer_host(&f.set->position->buffers[0], KP_ACCESS_WRITE);
  x[17] = 1.5;
  const kp_aabb box = { { -1, -1, -1 }, { 1, 1, 1 } };
#ifdef KP_VALIDATE
  assert_fails(KP_ERROR_PHYSICS, "outside", kp_cells_build(f.cells, &box));
#else
  assert_ok(kp_cells_build(f.cells, &box));  // believed, and harmless
#endif
  const kp_aabb wide = { { -2, -2, -2 }, { 2, 2, 2 } };
  assert_ok(kp_cells_build(f.cells, &wide));
  assert_int_equal(f.cells->shape.dims[0], 41);
  check_order(&f);
  close_fixture(&f);
}

static void test_stale(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, KP_SET_FREE, 3, 0.1);
  kp_cells_view view;
  assert_fails(KP_ERROR_INTERNAL, "older", kp_cells_view_of(f.cells, &view));
  add_random(&f, 100, 1.0, 3);
  assert_ok(kp_cells_build(f.cells, NULL));
  assert_ok(kp_cells_view_of(f.cells, &view));
  add_random(&f, 1, 1.0, 4);
  assert_fails(KP_ERROR_INTERNAL, "older", kp_cells_view_of(f.cells, &view));
  close_fixture(&f);
}

// Bayraktar's worked example: grid of width 30; particle 57 in cell 23 has 24 to its right, 53
// above.
static void test_worked_example(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f, KP_SET_FREE, 2, 1.0);
  kp_vec3 points[60];
  for (int i = 0; i < 60; ++i) {
    points[i] = kp_vec3_make(i % 30 + 0.5, i / 30 + 0.5, 0.0);
  }
  points[57] = kp_vec3_make(23.25, 0.5, 0.0);
  add_points(&f, points, 60);
  assert_ok(kp_cells_build(f.cells, NULL));
  built b = look(&f);
  assert_int_equal(b.view.dims[0], 30);
  const uint32_t *start = b.view.cell_start;
  // own cell 23 holds particles 23 and 57, in this order; cell 24 is to the right, cell 53 above
  assert_int_equal(start[24] - start[23], 2);
  assert_int_equal(b.id[start[23]] - b.id[start[0]], 23);
  assert_int_equal(b.id[start[23] + 1] - b.id[start[0]], 57);
  assert_int_equal(b.id[start[24]] - b.id[start[0]], 24);
  assert_int_equal(b.id[start[23 + 30]] - b.id[start[0]], 53);
  close_fixture(&f);
}

// The order does not depend on threads, and a steady state allocates nothing.
static void test_steady(void **state) {
  (void)state;
  uint64_t hashes[4];
  for (int threads = 1; threads <= 4; ++threads) {
    kp_parallel_set_threads(threads);
    fixture f;
    open_fixture(&f, KP_SET_FREE, 3, 0.06);
    add_random(&f, 150000, 1.0, 21);
    int64_t before = 0;
    for (int step = 0; step < 5; ++step) {
      kp_pos *x = kp_buffer_host(&f.set->position->buffers[0], KP_ACCESS_WRITE);
      kp_pos *y = kp_buffer_host(&f.set->position->buffers[1], KP_ACCESS_WRITE);
      for (int64_t i = 0; i < f.set->space->n; ++i) {
        x[i] += 0.01 * sin(40.0 * y[i] + step);
      }
      assert_ok(kp_cells_build(f.cells, NULL));
      before = step == 2 ? kp_memory_allocations() : before;
    }
    assert_int_equal(kp_memory_allocations(), before);
    check_order(&f);
    assert_ok(kp_registry_hash(f.registry, &hashes[threads - 1]));
    looks.thread_counts += hashes[threads - 1] == hashes[0];
    close_fixture(&f);
  }
  kp_parallel_set_threads(0);
  assert_int_equal(looks.thread_counts, 4);
}

static void test_claim(void **state) {
  (void)state;
  kp_claim claim = { .id = "bayraktar-B20",
                     .text = "the radix sort orders particles by cell, then by id",
                     .size = "all clouds of this test, up to 150,000 particles" };
  kp_claim_all(
      &claim, { "neighbours out of order", (double)looks.wrong, KP_AT_MOST, 0 },
      { "particles looked at", (double)looks.particles, KP_AT_LEAST, 500000 },
      { "particles in one cell", (double)looks.in_one_cell, KP_AT_LEAST, 100000 },
      { "thread counts with the order of one", (double)looks.thread_counts, KP_AT_LEAST, 4 });
  kp_claim ranges = { .id = "lyes-L10",
                      .text = "each particle lies in exactly one range, that of its cell",
                      .size = "clouds, faces of cells, all in one cell, a million metres apart" };
  kp_claim_all(
      &ranges,
      { "particles outside the range of their cell", (double)looks.begun_wrong, KP_AT_MOST, 0 },
      { "sum of the ranges less the particles", fabs((double)(looks.in_ranges - looks.particles)),
        KP_AT_MOST, 0 },
      { "particles looked at", (double)looks.particles, KP_AT_LEAST, 500000 });
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_random_dense),   cmocka_unit_test(test_random_sparse),
    cmocka_unit_test(test_far_apart),      cmocka_unit_test(test_few),
    cmocka_unit_test(test_faces),          cmocka_unit_test(test_one_cell),
    cmocka_unit_test(test_bad_positions),  cmocka_unit_test(test_stale),
    cmocka_unit_test(test_worked_example), cmocka_unit_test(test_steady),
    cmocka_unit_test(test_claim),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
