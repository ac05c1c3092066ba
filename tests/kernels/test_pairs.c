// The pair drivers against a naive loop in double, for sets that are free or tied, flat or not, of
// one grid or two, dense or sparse, with any number of candidates; the same bits from every
// instruction set and any number of threads. KP_TEST_BACKEND=cuda or mirror runs the same on
// another backend.
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/call.h"
#include "par/kernel_define.h"
#include "par/parallel.h"

#include "kernels/pairs_kernels.h"

PROBE_KERNELS(KP_DEFINE_POINT, KP_DEFINE_REDUCE, KP_DEFINE_ROW, KP_DEFINE_PAIR)

enum { OUT_X, OUT_Y, OUT_Z, OUT_N, OUT_FARTHEST, OUTS };

typedef struct probe_set {
  kp_set *set;
  kp_cells *cells;
  kp_field *weight, *speed, *out;
} probe_set;

typedef struct fixture {
  kp_backend *backend;
  kp_registry *registry;
  probe_set a, b;
} fixture;

static kp_backend_kind backend_kind(void) {
  kp_backend_kind kind = KP_BACKEND_CPU;
  const char *name = getenv("KP_TEST_BACKEND");
  if (name != NULL) {
    assert_ok(kp_backend_parse(name, &kind));
  }
  return kind;
}

static void add_set(fixture *f, probe_set *s, const char *name, kp_set_kind kind, int dimension,
                    double edge) {
  assert_ok(kp_set_create(f->registry, name, kind, dimension, &s->set));
  const kp_field_desc descs[] = {
    { "weight", KP_TYPE_REAL, 1, "", KP_FIELD_STATE, 0.0 },
    { "speed", KP_TYPE_REAL, 1, "", KP_FIELD_STATE, 0.0 },
    { "out", KP_TYPE_REAL, OUTS, "", KP_FIELD_STATE, 0.0 },
  };
  assert_ok(kp_space_add_fields(s->set->space, descs, 3));
  s->weight = kp_space_find(s->set->space, "weight");
  s->speed = kp_space_find(s->set->space, "speed");
  s->out = kp_space_find(s->set->space, "out");
  assert_ok(kp_cells_create(s->set, edge, &s->cells));
}

// Uniform in a box, with a third of the points in a small clump around its corner.
static void fill_set(probe_set *s, int64_t n, kp_vec3 origin, double size, double clump,
                     uint64_t seed) {
  kp_test_random r = kp_test_random_begin(seed);
  kp_vec3 *points = kp_alloc((size_t)n * sizeof *points, KP_MEMORY_TEST);
  for (int64_t i = 0; i < n; ++i) {
    double width = i % 3 == 0 ? clump : size;
    points[i] = kp_vec3_add(origin, kp_test_vec3(&r, 0.0, width));
  }
  assert_ok(kp_set_add(s->set, n, points, NULL));
  kp_free(points);
  kp_real *weight = kp_buffer_host(&s->weight->buffers[0], KP_ACCESS_OVERWRITE);
  kp_real *speed = kp_buffer_host(&s->speed->buffers[0], KP_ACCESS_OVERWRITE);
  for (int64_t i = 0; i < n; ++i) {
    weight[i] = (kp_real)kp_test_uniform(&r, 0.5, 1.5);
    speed[i] = (kp_real)kp_test_uniform(&r, -1.0, 1.0);
  }
  assert_ok(kp_cells_build(s->cells, NULL));
}

static void open_fixture(fixture *f) {
  memset(f, 0, sizeof *f);
  assert_ok(kp_backend_create(backend_kind(), &f->backend));
  assert_ok(kp_registry_create(f->backend, &f->registry));
}

static void close_fixture(fixture *f) {
  kp_cells_destroy(&f->a.cells);
  kp_cells_destroy(&f->b.cells);
  kp_set_destroy(&f->a.set);
  kp_set_destroy(&f->b.set);
  kp_registry_destroy(&f->registry);
  kp_backend_destroy(&f->backend);
}

static void run_kernels(fixture *f, probe_set *i, probe_set *j, double radius, bool twice) {
  kp_pair_job job;
  assert_ok(kp_pair_job_make(i->cells, j->cells, radius, &job));
  probe_sum_args sum = { .radius = (kp_real)radius };
  kp_call call;
  kp_call_init(&call, twice ? &probe_sum_twice_kernel : &probe_sum_kernel, &sum);
  KP_BIND(&call, &sum, j_weight, &j->weight->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &sum, j_speed, &j->speed->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &sum, speed, &i->speed->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &sum, x, &i->out->buffers[OUT_X], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &sum, y, &i->out->buffers[OUT_Y], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &sum, z, &i->out->buffers[OUT_Z], KP_ACCESS_OVERWRITE);
  KP_BIND(&call, &sum, n, &i->out->buffers[OUT_N], KP_ACCESS_OVERWRITE);
  assert_ok(kp_call_pairs(f->backend, &call, &job));

  probe_farthest_args far = { .radius2 = (kp_real)(radius * radius) };
  kp_call_init(&call, &probe_farthest_kernel, &far);
  KP_BIND(&call, &far, r2, &i->out->buffers[OUT_FARTHEST], KP_ACCESS_OVERWRITE);
  assert_ok(kp_call_pairs(f->backend, &call, &job));
}

typedef struct columns {
  int64_t n;
  const kp_pos *x[3];
  const kp_real *weight, *speed, *out[OUTS];
} columns;

static columns look(probe_set *s) {
  columns c = { .n = s->set->space->n };
  for (int d = 0; d < 3; ++d) {
    c.x[d] = kp_buffer_host(&s->set->position->buffers[d], KP_ACCESS_READ);
  }
  for (int d = 0; d < OUTS; ++d) {
    c.out[d] = kp_buffer_host(&s->out->buffers[d], KP_ACCESS_READ);
  }
  c.weight = kp_buffer_host(&s->weight->buffers[0], KP_ACCESS_READ);
  c.speed = kp_buffer_host(&s->speed->buffers[0], KP_ACCESS_READ);
  return c;
}

// One element in double. Pairs at the radius to rounding may or may not count.
static void check_element(const columns *a, const columns *b, int64_t i, double radius,
                          double factor) {
  double sum[3] = { 0.0, 0.0, 0.0 };
  double size = 0.0;
  double farthest = -1.0;
  int n_sure = 0;
  int n_most = 0;
  double slack = KP_TOL(2e-6, 1e-12);
  for (int64_t j = 0; j < b->n; ++j) {
    double d[3];
    double r2 = 0.0;
    for (int k = 0; k < 3; ++k) {
      d[k] = a->x[k][i] - b->x[k][j];
      r2 += d[k] * d[k];
    }
    double u = 1.0 - sqrt(r2) / radius;
    n_sure += u > slack;
    n_most += u > -slack;
    if (u > 0.0) {
      double s = factor * u * (double)b->weight[j];
      double v = (double)a->speed[i] - (double)b->speed[j];
      for (int k = 0; k < 3; ++k) {
        sum[k] += s * (v + d[k]);
        size += fabs(s * (v + d[k]));
      }
      farthest = u > slack && r2 > farthest ? r2 : farthest;
    }
  }
  double tolerance = KP_TOL(2e-6, 1e-13) * (size + 1.0);
  for (int k = 0; k < 3; ++k) {
    assert_near(a->out[OUT_X + k][i], sum[k], tolerance);
  }
  assert_between(a->out[OUT_N][i], n_sure, n_most);
  double found = (double)a->out[OUT_FARTHEST][i];
  assert_true(found >= farthest - slack * radius * radius &&
              found < radius * radius * (1.0 + slack));
}

static void check(fixture *f, probe_set *i, probe_set *j, double radius) {
  for (int twice = 0; twice < 2; ++twice) {
    run_kernels(f, i, j, radius, twice != 0);
    columns a = look(i);
    columns b = look(j);
    for (int64_t e = 0; e < a.n; ++e) {
      check_element(&a, &b, e, radius, twice != 0 ? 2.0 : 1.0);
    }
  }
}

static const kp_vec3 at_origin = { -0.5, -0.5, -0.5 };

static void test_one_set(void **state) {
  (void)state;
  const double edges[] = { 1.000001, 0.5, 1.5, 4.0 };
  for (int k = 0; k < 4; ++k) {
    fixture f;
    open_fixture(&f);
    add_set(&f, &f.a, "a", k % 2 == 0 ? KP_SET_FREE : KP_SET_TIED, 3, 0.15 * edges[k]);
    fill_set(&f.a, 3000, at_origin, 1.0, 0.2, 7);
    check(&f, &f.a, &f.a, 0.15);
    close_fixture(&f);
  }
}

static void test_flat(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f);
  add_set(&f, &f.a, "a", KP_SET_FREE, 2, 0.08);
  fill_set(&f.a, 2000, at_origin, 1.0, 0.2, 8);
  check(&f, &f.a, &f.a, 0.0799);
  close_fixture(&f);
}

// Different cell edges, one side tied, one reaching beyond the other.
static void test_two_sets(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f);
  add_set(&f, &f.a, "a", KP_SET_FREE, 3, 0.11);
  add_set(&f, &f.b, "b", KP_SET_TIED, 3, 0.03);
  fill_set(&f.a, 2000, at_origin, 1.0, 0.2, 9);
  fill_set(&f.b, 1500, kp_vec3_make(0.1, -0.4, -0.6), 1.0, 0.1, 10);
  check(&f, &f.a, &f.b, 0.1);
  check(&f, &f.b, &f.a, 0.1);
  close_fixture(&f);
}

// Candidates far from the origin and far from each other: relative positions stay exact, rows are
// sparse.
static void test_far_and_sparse(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f);
  add_set(&f, &f.a, "a", KP_SET_FREE, 3, 0.05);
  fill_set(&f.a, 1000, kp_vec3_make(1e6, -1e6, 5e5), 0.5, 0.1, 11);
  const kp_vec3 lonely[] = { { -1e6, 1e6, 0.0 }, { 1e6 + 0.01, -1e6, 5e5 }, { 0.0, 0.0, 0.0 } };
  assert_ok(kp_set_add(f.a.set, 3, lonely, NULL));
  assert_ok(kp_cells_build(f.a.cells, NULL));
  assert_true(f.a.cells->shape.sparse);
  check(&f, &f.a, &f.a, 0.05);
  close_fixture(&f);
}

// All in one cell: tiles are filled and swept several times, items are cut.
static void test_one_cell(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f);
  add_set(&f, &f.a, "a", KP_SET_FREE, 3, 3.0);
  fill_set(&f.a, 3000, kp_vec3_make(0.1, 0.1, 0.1), 1.0, 0.3, 12);
  check(&f, &f.a, &f.a, 0.4);
  close_fixture(&f);
}

static void test_few(void **state) {
  (void)state;
  fixture f;
  open_fixture(&f);
  add_set(&f, &f.a, "a", KP_SET_FREE, 3, 0.1);
  add_set(&f, &f.b, "b", KP_SET_FREE, 3, 0.1);
  assert_ok(kp_cells_build(f.a.cells, NULL));
  assert_ok(kp_cells_build(f.b.cells, NULL));
  run_kernels(&f, &f.a, &f.b, 0.1, false);
  fill_set(&f.a, 1, at_origin, 1.0, 0.2, 13);
  check(&f, &f.a, &f.b, 0.1);
  check(&f, &f.a, &f.a, 0.1);
  check(&f, &f.b, &f.a, 0.1);
  close_fixture(&f);
}

static uint64_t hash_of_run(kp_isa isa, int threads) {
  kp_isa_force(isa);
  kp_parallel_set_threads(threads);
  fixture f;
  open_fixture(&f);
  add_set(&f, &f.a, "a", KP_SET_FREE, 3, 0.07);
  add_set(&f, &f.b, "b", KP_SET_TIED, 3, 0.05);
  fill_set(&f.a, 20000, at_origin, 1.0, 0.1, 14);
  fill_set(&f.b, 5000, at_origin, 1.0, 0.1, 15);
  run_kernels(&f, &f.a, &f.a, 0.069, false);
  run_kernels(&f, &f.b, &f.a, 0.069, true);
  uint64_t hash;
  assert_ok(kp_registry_hash(f.registry, &hash));
  close_fixture(&f);
  return hash;
}

static void test_same_bits(void **state) {
  (void)state;
  if (backend_kind() == KP_BACKEND_CUDA) {
    assert_true(hash_of_run(KP_ISA_BASE, 1) == hash_of_run(KP_ISA_BASE, 1));
    return;
  }
  kp_isa best = kp_isa_current();
  uint64_t first = hash_of_run(KP_ISA_BASE, 1);
  for (int isa = 0; isa < KP_ISA_COUNT; ++isa) {
    for (int threads = 1; threads <= 4; ++threads) {
      assert_true(hash_of_run((kp_isa)isa, threads) == first);
    }
  }
  kp_isa_force(best);
  kp_parallel_set_threads(0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_one_set),   cmocka_unit_test(test_flat),
    cmocka_unit_test(test_two_sets),  cmocka_unit_test(test_far_and_sparse),
    cmocka_unit_test(test_one_cell),  cmocka_unit_test(test_few),
    cmocka_unit_test(test_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
