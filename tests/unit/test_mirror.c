// The mirror backend finds what a device would: a small pipeline of kernels and host stages gives
// the bits of the cpu, and dropping any declaration that matters changes them.
#include "support/test.h"

#include <float.h>
#include <string.h>

#include "base/hash.h"
#include "data/call.h"
#include "data/call_check.h"
#include "data/field.h"
#include "data/pairs.h"

#define N 500
#define N_STEPS 4
#define LAST_PLACE ((kp_real)KP_TOL(FLT_EPSILON, DBL_EPSILON))

typedef struct kick_args {
  const kp_real *force;
  kp_real *v;
  double dt;
} kick_args;

static void kick(int64_t begin, int64_t end, const void *args) {
  const kick_args *a = args;
  for (int64_t i = begin; i < end; ++i) {
    a->v[i] += (kp_real)a->dt * a->force[i];
  }
}

typedef struct drift_args {
  const kp_real *v;
  kp_pos *x;
  double dt;
} drift_args;

static void drift(int64_t begin, int64_t end, const void *args) {
  const drift_args *a = args;
  for (int64_t i = begin; i < end; ++i) {
    a->x[i] += a->dt * (double)a->v[i];
  }
}

typedef struct energy_args {
  const kp_real *v;
  const kp_pos *x;
  double *energy;
} energy_args;

static void energy(int64_t begin, int64_t end, const void *args) {
  const energy_args *a = args;
  for (int64_t i = begin; i < end; ++i) {
    a->energy[i] = 0.5 * (double)(a->v[i] * a->v[i]) + a->x[i] * a->x[i];
  }
}

typedef struct reverse_args {
  uint32_t *order;
  int64_t n;
} reverse_args;

static void reverse(int64_t begin, int64_t end, const void *args) {
  const reverse_args *a = args;
  for (int64_t i = begin; i < end; ++i) {
    a->order[i] = (uint32_t)(a->n - 1 - i);
  }
}

typedef struct total_args {
  const double *energy;
} total_args;

static void total(int64_t begin, int64_t end, const void *args, double *values) {
  const total_args *a = args;
  values[0] = 0.0;
  for (int64_t i = begin; i < end; ++i) {
    values[0] += a->energy[i];
  }
}

// Different each time: stands for a device that does not give the answer of the cpu.
static void unsteady(int64_t begin, int64_t end, const void *args) {
  static int64_t n_seen = 0;  // over all launches, which come whole or element by element
  const energy_args *a = args;
  for (int64_t i = begin; i < end; ++i) {
    a->energy[i] = 1.0 + 0.5 * (double)(n_seen++ / N);
  }
}

// Nearly equal numbers, one from the other. The first of the elements it sees, which are those of
// the device, are off by so many units in the last place of the numbers.
typedef struct cancel_args {
  const kp_real *force;
  kp_real *v;
} cancel_args;

static int64_t n_cancelled;
static kp_real cancel_fault;

static void cancel(int64_t begin, int64_t end, const void *args) {
  const cancel_args *a = args;
  for (int64_t i = begin; i < end; ++i) {
    kp_real fault = n_cancelled++ < N ? cancel_fault * LAST_PLACE : 0;
    a->v[i] = a->force[i] - a->v[i] + fault * a->force[i];
  }
}

#define POINT(fn)                                                                                  \
  {                                                                                                \
    .name = "test." #fn, .kind = KP_KERNEL_POINT, .args_size = sizeof(fn##_args), .point = {       \
      fn,                                                                                          \
      fn,                                                                                          \
      fn                                                                                           \
    }                                                                                              \
  }
static const kp_kernel kick_kernel = POINT(kick);
static const kp_kernel drift_kernel = POINT(drift);
static const kp_kernel energy_kernel = POINT(energy);
static const kp_kernel reverse_kernel = POINT(reverse);
static const kp_kernel cancel_kernel = POINT(cancel);
static const kp_kernel unsteady_kernel = { .name = "test.unsteady",
                                           .kind = KP_KERNEL_POINT,
                                           .args_size = sizeof(energy_args),
                                           .point = { unsteady, unsteady, unsteady } };
static const kp_reduce_op total_ops[] = { KP_REDUCE_SUM };
static const kp_kernel total_kernel = { .name = "test.total",
                                        .kind = KP_KERNEL_REDUCE,
                                        .args_size = sizeof(total_args),
                                        .n_values = 1,
                                        .ops = total_ops,
                                        .reduce = { total, total, total } };

typedef struct world {
  kp_backend *backend;
  kp_registry *registry;
  kp_space *space;
  kp_field *x, *v, *force, *energy;
  kp_buffer order;
} world;

static kp_result world_open(world *w, kp_backend_kind kind) {
  const kp_field_desc descs[] = {
    { "x", KP_TYPE_POS, 1, "m", KP_FIELD_STATE, 1.0 },
    { "v", KP_TYPE_REAL, 1, "m/s", KP_FIELD_STATE, 0.5 },
    { "force", KP_TYPE_REAL, 1, "N", KP_FIELD_STATE, 0.0 },
    { "energy", KP_TYPE_F64, 1, "J", KP_FIELD_STATE, 0.0 },
  };
  KP_TRY(kp_backend_create(kind, &w->backend));
  KP_TRY(kp_registry_create(w->backend, &w->registry));
  KP_TRY(kp_registry_add_space(w->registry, "points", KP_SPACE_PARTICLES, &w->space));
  KP_TRY(kp_space_add_fields(w->space, descs, sizeof descs / sizeof descs[0]));
  w->x = kp_space_find(w->space, "x");
  w->v = kp_space_find(w->space, "v");
  w->force = kp_space_find(w->space, "force");
  w->energy = kp_space_find(w->space, "energy");
  kp_buffer_init(&w->order, w->backend);
  w->order.type = KP_TYPE_U32;
  return kp_space_append(w->space, N, NULL, 0);
}

static void world_close(world *w) {
  kp_buffer_free(&w->order);
  kp_registry_destroy(&w->registry);
  kp_backend_destroy(&w->backend);
}

// A host stage that writes: new forces, and positions folded back.
static kp_result stage_host(world *w, int step) {
  void *memory;
  KP_TRY(kp_buffer_get(&w->force->buffers[0], KP_SIDE_HOST, KP_ACCESS_OVERWRITE, &memory));
  kp_real *force = memory;
  KP_TRY(kp_buffer_get(&w->x->buffers[0], KP_SIDE_HOST, KP_ACCESS_WRITE, &memory));
  kp_pos *x = memory;
  for (int i = 0; i < N; ++i) {
    force[i] = (kp_real)(0.01 * i + step + 1);
    x[i] = x[i] > 2.0 ? 4.0 - x[i] : x[i] + 0.001 * i;
  }
  return KP_OK;
}

static kp_result stage_device(world *w, double *sum) {
  kp_call call;
  kick_args k = { .dt = 0.01 };
  kp_call_init(&call, &kick_kernel, &k);
  KP_BIND(&call, &k, force, &w->force->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &k, v, &w->v->buffers[0], KP_ACCESS_WRITE);
  KP_TRY(kp_call_run(w->backend, &call, N));
  drift_args d = { .dt = 0.01 };
  kp_call_init(&call, &drift_kernel, &d);
  KP_BIND(&call, &d, v, &w->v->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &d, x, &w->x->buffers[0], KP_ACCESS_WRITE);
  KP_TRY(kp_call_run(w->backend, &call, N));
  energy_args e = { 0 };
  kp_call_init(&call, &energy_kernel, &e);
  KP_BIND(&call, &e, v, &w->v->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &e, x, &w->x->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &e, energy, &w->energy->buffers[0], KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(w->backend, &call, N));
  total_args t = { 0 };
  kp_call_init(&call, &total_kernel, &t);
  KP_BIND(&call, &t, energy, &w->energy->buffers[0], KP_ACCESS_READ);
  return kp_call_reduce(w->backend, &call, N, sum);
}

// The order is made on the device: a poisoned index would lead outside of memory instead of to an
// answer that can be compared.
static kp_result stage_sort(world *w) {
  kp_call call;
  reverse_args r = { .n = N };
  KP_TRY(kp_buffer_resize(&w->order, N * sizeof(uint32_t)));
  kp_call_init(&call, &reverse_kernel, &r);
  KP_BIND(&call, &r, order, &w->order, KP_ACCESS_OVERWRITE);
  KP_TRY(kp_call_run(w->backend, &call, N));
  return kp_space_permute(w->space, &w->order);
}

// All the host sees along the way goes into the answer, so a stale look at any time shows.
static kp_result look(world *w, kp_hash *seen) {
  uint64_t hash;
  KP_TRY(kp_registry_hash(w->registry, &hash));
  kp_hash_add(seen, &hash, sizeof hash);
  return KP_OK;
}

static kp_result pipeline(kp_backend_kind kind, uint64_t *out) {
  world w = { 0 };
  kp_hash seen = kp_hash_begin(0);
  kp_result result = world_open(&w, kind);
  for (int step = 0; step < N_STEPS && result == KP_OK; ++step) {
    double sum = 0.0;
    KP_TRY_GOTO(result, stage_host(&w, step), done);
    KP_TRY_GOTO(result, stage_device(&w, &sum), done);
    kp_hash_add(&seen, &sum, sizeof sum);
    KP_TRY_GOTO(result, look(&w, &seen), done);
    KP_TRY_GOTO(result, stage_sort(&w), done);
    KP_TRY_GOTO(result, look(&w, &seen), done);
  }
  *out = kp_hash_end(&seen);
done:
  world_close(&w);
  return result;
}

static void test_same_bits_as_cpu(void **state) {
  (void)state;
  uint64_t cpu;
  uint64_t mirror;
  assert_ok(pipeline(KP_BACKEND_CPU, &cpu));
  assert_ok(pipeline(KP_BACKEND_MIRROR, &mirror));
  assert_true(cpu == mirror);
}

// No event of the pipeline is benign: reads and copies are counted only where the side was stale,
// and the host looks at every array between two writes of the device. (A dropped write is benign
// where nobody reads the stale side before the next write; so is any event on an array nobody reads
// again.)
static void test_each_dropped_event_shows(void **state) {
  (void)state;
  uint64_t right;
  assert_ok(pipeline(KP_BACKEND_MIRROR, &right));
  const struct {
    kp_buffer_fault kind;
    const char *name;
  } faults[] = {
    { KP_BUFFER_FAULT_READ, "read" },
    { KP_BUFFER_FAULT_WRITE, "write" },
    { KP_BUFFER_FAULT_COPY, "copy" },
  };
  for (size_t k = 0; k < sizeof faults / sizeof faults[0]; ++k) {
    uint64_t hash;
    kp_buffer_set_fault(faults[k].kind, -1);
    assert_ok(pipeline(KP_BACKEND_MIRROR, &hash));
    assert_true(hash == right);
    int64_t n_events = kp_buffer_fault_events();
    assert_true(n_events >= 8 * N_STEPS / 2);
    for (int64_t n = 0; n < n_events; ++n) {
      kp_buffer_set_fault(faults[k].kind, n);
      kp_result result = pipeline(KP_BACKEND_MIRROR, &hash);
      if (result == KP_OK && hash == right) {
        fail_msg("dropping %s %d of %d does not show", faults[k].name, (int)n, (int)n_events);
      }
    }
    kp_buffer_set_fault(KP_BUFFER_FAULT_NONE, -1);
    // the cpu backend has one memory and nothing to drop
    kp_buffer_set_fault(faults[k].kind, 0);
    assert_ok(pipeline(KP_BACKEND_CPU, &hash));
    assert_int_equal(kp_buffer_fault_events(), 0);
    kp_buffer_set_fault(KP_BUFFER_FAULT_NONE, -1);
  }
}

static const kp_call_row *find_row(const kp_call_check *check, const char *name) {
  for (size_t k = 0; k < check->rows.count; ++k) {
    if (strcmp(check->rows.data[k].name, name) == 0) {
      return &check->rows.data[k];
    }
  }
  fail_msg("no row %s", name);
  return NULL;
}

// Checked calls change nothing and find no difference between the mirror's kernels and the cpu's.
static void test_call_check(void **state) {
  (void)state;
  world plain = { 0 };
  world checked = { 0 };
  assert_ok(world_open(&plain, KP_BACKEND_MIRROR));
  assert_ok(world_open(&checked, KP_BACKEND_MIRROR));
  kp_call_check check;
  assert_ok(kp_call_check_begin(&check, checked.backend));
  double sums[2];
  for (int step = 0; step < 3; ++step) {
    assert_ok(stage_host(&plain, step));
    assert_ok(stage_device(&plain, &sums[0]));
    assert_ok(stage_sort(&plain));
    assert_ok(stage_host(&checked, step));
    assert_ok(stage_device(&checked, &sums[1]));
    assert_ok(stage_sort(&checked));
    assert_true(sums[0] == sums[1]);
  }
  uint64_t hashes[2];
  assert_ok(kp_registry_hash(plain.registry, &hashes[0]));
  assert_ok(kp_registry_hash(checked.registry, &hashes[1]));
  assert_true(hashes[0] == hashes[1]);
  for (size_t k = 0; k < check.rows.count; ++k) {
    const kp_call_row *row = &check.rows.data[k];
    assert_int_equal(row->n_skipped, 0);
    assert_int_equal(row->values.n_different, 0);
    for (size_t j = 0; j < row->written.count; ++j) {
      assert_int_equal(row->written.data[j].difference.n_different, 0);
      assert_true(row->written.data[j].difference.n_items > 0);
    }
  }
  const kp_call_row *row = find_row(&check, "test.drift");
  assert_int_equal(row->n_calls, 3);
  assert_int_equal(row->n_elements, 3 * N);
  assert_int_equal(row->n_bytes, 3 * N * (int64_t)(sizeof(kp_real) + sizeof(kp_pos)));
  assert_int_equal(row->written.count, 1);
  assert_int_equal(row->written.data[0].type, KP_TYPE_POS);
  assert_int_equal(find_row(&check, "test.total")->values.n_items, 3);
  assert_int_equal(find_row(&check, "data.gather8")->n_calls, 3 * (sizeof(kp_real) == 8 ? 4 : 2));
  kp_call_check_end(&check);
  assert_null(checked.backend->observer);
  world_close(&plain);
  world_close(&checked);
}

static void test_call_check_finds_differences(void **state) {
  (void)state;
  world w = { 0 };
  assert_ok(world_open(&w, KP_BACKEND_MIRROR));
  kp_call_check check;
  assert_ok(kp_call_check_begin(&check, w.backend));
  kp_call call;
  energy_args e = { 0 };
  kp_call_init(&call, &unsteady_kernel, &e);
  KP_BIND(&call, &e, v, NULL, KP_ACCESS_READ);
  KP_BIND(&call, &e, energy, &w.energy->buffers[0], KP_ACCESS_OVERWRITE);
  assert_ok(kp_call_run(w.backend, &call, N));
  const kp_call_difference *difference =
      &find_row(&check, "test.unsteady")->written.data[0].difference;
  assert_int_equal(difference->n_different, N);
  assert_true(difference->absolute == 0.5);
  assert_near(difference->relative, 0.5 / 1.5, 1e-15);
  // arguments with pointers of their own cannot be moved to the cpu
  call.has_unbound = true;
  assert_ok(kp_call_run(w.backend, &call, N));
  assert_int_equal(find_row(&check, "test.unsteady")->n_skipped, 1);
  kp_call_check_end(&check);
  world_close(&w);
}

// What is left of numbers that cancel: off by a few units in the last place of them is rounding,
// off by many is wrong.
static double difference_of_cancelling(double fault, double tolerance) {
  world w = { 0 };
  kp_call_check check;
  kp_call call;
  cancel_args a = { 0 };
  assert_ok(world_open(&w, KP_BACKEND_MIRROR));
  assert_ok(kp_call_check_begin(&check, w.backend));
  check.tolerance = tolerance;
  kp_real *force = kp_buffer_host(&w.force->buffers[0], KP_ACCESS_OVERWRITE);
  kp_real *v = kp_buffer_host(&w.v->buffers[0], KP_ACCESS_OVERWRITE);
  for (int i = 0; i < N; ++i) {
    force[i] = (kp_real)(1.0 + 0.001 * i);
    v[i] = force[i] * (1 + 100 * LAST_PLACE);
  }
  n_cancelled = 0;
  cancel_fault = (kp_real)fault;
  kp_call_init(&call, &cancel_kernel, &a);
  KP_BIND(&call, &a, force, &w.force->buffers[0], KP_ACCESS_READ);
  KP_BIND(&call, &a, v, &w.v->buffers[0], KP_ACCESS_WRITE);
  assert_ok(kp_call_run(w.backend, &call, N));
  double relative = find_row(&check, "test.cancel")->written.data[0].difference.relative;
  // the device's own numbers are left alone
  v = kp_buffer_host(&w.v->buffers[0], KP_ACCESS_READ);
  assert_near(v[0], (fault - 100.0) * (double)LAST_PLACE, 0.0);
  kp_call_check_end(&check);
  world_close(&w);
  return relative;
}

static void test_call_check_knows_terms(void **state) {
  (void)state;
  double tolerance = KP_TOL(2e-5, 1e-12);
  assert_true(difference_of_cancelling(4.0, 0.0) > 0.02);
  assert_true(difference_of_cancelling(4.0, tolerance) < tolerance);
  assert_true(difference_of_cancelling(100.0, tolerance) > 2.0 * tolerance);
}

// Of many calls the first ones are compared and then some; all of them run.
static void test_call_check_of_some(void **state) {
  (void)state;
  world w = { 0 };
  kp_call_check check;
  assert_ok(world_open(&w, KP_BACKEND_MIRROR));
  assert_ok(kp_call_check_begin(&check, w.backend));
  check.all = 2;
  check.every = 5;
  kick_args a = { .dt = 1.0 };
  for (int k = 0; k < 12; ++k) {
    kp_call call;
    kp_call_init(&call, &kick_kernel, &a);
    KP_BIND(&call, &a, force, &w.force->buffers[0], KP_ACCESS_READ);
    KP_BIND(&call, &a, v, &w.v->buffers[0], KP_ACCESS_WRITE);
    kp_real *force = kp_buffer_host(&w.force->buffers[0], KP_ACCESS_OVERWRITE);
    for (int i = 0; i < N; ++i) {
      force[i] = 1;
    }
    assert_ok(kp_call_run(w.backend, &call, N));
  }
  const kp_call_row *row = find_row(&check, "test.kick");
  assert_int_equal(row->n_calls, 12);
  assert_int_equal(row->n_compared, 4);
  assert_int_equal(row->n_timed, 4 * N);
  assert_int_equal(row->written.data[0].difference.n_items, 4 * N);
  const kp_real *v = kp_buffer_host(&w.v->buffers[0], KP_ACCESS_READ);
  assert_true(v[7] == (kp_real)12.5);
  kp_call_check_end(&check);
  world_close(&w);
}

typedef struct near_args {
  double *count;
} near_args;

// The number of neighbours, from everything a pair job holds: work items, rows, orders, positions.
static void near_loop(const kp_pair_job *job, int64_t begin, int64_t end, const void *args) {
  const near_args *a = args;
  const kp_cells_view *j = &job->j;
  for (uint32_t s = job->work[begin]; s < job->work[end]; ++s) {
    uint32_t i = job->i.order != NULL ? job->i.order[s] : s;
    int64_t count = 0;
    for (int32_t row = 0; row < j->dims[1] * j->dims[2]; ++row) {
      uint32_t first;
      uint32_t last;
      kp_cells_range(j, j->lo[0], j->lo[0] + j->dims[0] - 1, j->lo[1] + row % j->dims[1],
                     j->lo[2] + row / j->dims[1], &first, &last);
      for (uint32_t t = first; t < last; ++t) {
        uint32_t k = j->order != NULL ? j->order[t] : t;
        double dx = job->i.x[i] - j->x[k];
        double dy = job->i.y[i] - j->y[k];
        double dz = job->i.z[i] - j->z[k];
        count += dx * dx + dy * dy + dz * dz < job->radius * job->radius ? 1 : 0;
      }
    }
    a->count[i] = (double)count;
  }
}

static const kp_kernel near_kernel = { .name = "test.near",
                                       .kind = KP_KERNEL_PAIR,
                                       .args_size = sizeof(near_args),
                                       .pair = { near_loop, near_loop, near_loop } };

static void test_call_check_of_pairs(void **state) {
  (void)state;
  kp_backend *backend;
  kp_registry *registry;
  kp_set *set;
  kp_cells *cells;
  kp_field *count;
  assert_ok(kp_backend_create(KP_BACKEND_MIRROR, &backend));
  assert_ok(kp_registry_create(backend, &registry));
  assert_ok(kp_set_create(registry, "points", KP_SET_TIED, 3, &set));
  kp_test_random random = kp_test_random_begin(5);
  for (int i = 0; i < N; ++i) {
    kp_vec3 x = kp_test_vec3(&random, 0.0, 1.0);
    assert_ok(kp_set_add(set, 1, &x, NULL));
  }
  const kp_field_desc desc = { "count", KP_TYPE_F64, 1, "", KP_FIELD_STATE, 0.0 };
  assert_ok(kp_space_add_field(set->space, &desc, &count));
  assert_ok(kp_cells_create(set, 0.3, &cells));
  assert_ok(kp_cells_build(cells, NULL));
  kp_pair_job job;
  assert_ok(kp_pair_job_make(cells, cells, 0.3, &job));

  kp_call_check check;
  kp_call call;
  near_args a = { 0 };
  assert_ok(kp_call_check_begin(&check, backend));
  kp_call_init(&call, &near_kernel, &a);
  KP_BIND(&call, &a, count, &count->buffers[0], KP_ACCESS_WRITE);
  assert_ok(kp_call_pairs(backend, &call, &job));
  const kp_call_row *row = find_row(&check, "test.near");
  assert_int_equal(row->n_elements, N);
  assert_int_equal(row->written.data[0].difference.n_different, 0);
  const double *counts = kp_buffer_host(&count->buffers[0], KP_ACCESS_READ);
  double most = 0.0;
  for (int i = 0; i < N; ++i) {
    most = counts[i] > most ? counts[i] : most;
  }
  assert_true(most > 10.0);

  // a job without work items, as cards have them: this device then writes nothing, the cpu finds
  // all
  memset(kp_buffer_host(&count->buffers[0], KP_ACCESS_OVERWRITE), 0, N * sizeof(double));
  job.work = NULL;
  job.n_work = 0;
  assert_ok(kp_call_pairs(backend, &call, &job));
  assert_int_equal(row->written.data[0].difference.n_different, N);
  assert_true(row->written.data[0].difference.absolute == most);
  kp_call_check_end(&check);
  kp_cells_destroy(&cells);
  kp_set_destroy(&set);
  kp_registry_destroy(&registry);
  kp_backend_destroy(&backend);
}

static void test_too_many_binds(void **state) {
  (void)state;
  world w = { 0 };
  assert_ok(world_open(&w, KP_BACKEND_CPU));
  kp_call call;
  energy_args e = { 0 };
  kp_call_init(&call, &energy_kernel, &e);
  for (int k = 0; k <= KP_CALL_BINDS; ++k) {
    KP_BIND(&call, &e, x, &w.x->buffers[0], KP_ACCESS_READ);
  }
  assert_fails(KP_ERROR_INTERNAL, "test.energy", kp_call_run(w.backend, &call, N));
  world_close(&w);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_same_bits_as_cpu),
    cmocka_unit_test(test_each_dropped_event_shows),
    cmocka_unit_test(test_call_check),
    cmocka_unit_test(test_call_check_finds_differences),
    cmocka_unit_test(test_call_check_of_pairs),
    cmocka_unit_test(test_too_many_binds),
    cmocka_unit_test(test_call_check_knows_terms),
    cmocka_unit_test(test_call_check_of_some),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
