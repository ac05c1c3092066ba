// Conjugate gradients against dense solves, against matrices whose eigenvalues are known, and
// against operators that are not what they should be.
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/call.h"
#include "linalg/pcg.h"
#include "par/parallel.h"

#define PI 3.14159265358979323846

// ---- a system held on the host ------------------------------------------------------------------

typedef struct dense {
  int n;
  double *a;  // n x n
} dense;

static kp_result apply_dense(void *self, kp_buffer *x, kp_buffer *y) {
  const dense *m = self;
  const kp_real *in = kp_buffer_host(x, KP_ACCESS_READ);
  kp_real *out = kp_buffer_host(y, KP_ACCESS_OVERWRITE);
  assert_non_null(in);
  assert_non_null(out);
  for (int i = 0; i < m->n; ++i) {
    double sum = 0.0;
    for (int j = 0; j < m->n; ++j) {
      sum += m->a[i * m->n + j] * (double)in[j];
    }
    out[i] = (kp_real)sum;
  }
  return KP_OK;
}

// w = r + (A - D) u, D the diagonal: what A has beyond the inverse of Jacobi's preconditioner.
static kp_result add_off_diagonal(void *self, kp_buffer *r, kp_buffer *u, kp_buffer *w) {
  const dense *m = self;
  const kp_real *before = kp_buffer_host(r, KP_ACCESS_READ);
  const kp_real *in = kp_buffer_host(u, KP_ACCESS_READ);
  kp_real *out = kp_buffer_host(w, KP_ACCESS_OVERWRITE);
  for (int i = 0; i < m->n; ++i) {
    double sum = 0.0;
    for (int j = 0; j < m->n; ++j) {
      sum += i == j ? 0.0 : m->a[i * m->n + j] * (double)in[j];
    }
    out[i] = before[i] + (kp_real)sum;
  }
  return KP_OK;
}

typedef struct bench {
  kp_backend *backend;
  kp_pcg pcg;
  kp_buffer b, x, diagonal, null_vector;
  kp_pcg_def def;
} bench;

static void bench_begin(bench *t, kp_backend_kind kind, int64_t n) {
  memset(t, 0, sizeof *t);
  assert_ok(kp_backend_create(kind, &t->backend));
  kp_pcg_init(&t->pcg, t->backend);
  kp_buffer *all[] = { &t->b, &t->x, &t->diagonal, &t->null_vector };
  for (int k = 0; k < 4; ++k) {
    kp_buffer_init(all[k], t->backend);
    assert_ok(kp_vector_resize(all[k], n));
    assert_ok(kp_vector_fill(n, 0.0, all[k]));
  }
  t->def = kp_default_pcg_def();
  t->def.name = "test";
  t->def.n = n;
  t->def.tolerance = KP_TOL(1e-5, 1e-12);
}

static void bench_end(bench *t) {
  kp_buffer *all[] = { &t->b, &t->x, &t->diagonal, &t->null_vector };
  for (int k = 0; k < 4; ++k) {
    kp_buffer_free(all[k]);
  }
  kp_pcg_free(&t->pcg);
  kp_backend_destroy(&t->backend);
}

static kp_real *host(kp_buffer *buffer) {
  kp_real *data = kp_buffer_host(buffer, KP_ACCESS_WRITE);
  assert_non_null(data);
  return data;
}

static void use_dense(bench *t, dense *m) {
  t->def.apply = apply_dense;
  t->def.apply_self = m;
}

// |b - A x| / |b| in double.
static double residual_of(bench *t, const dense *m) {
  const kp_real *x = host(&t->x);
  const kp_real *b = host(&t->b);
  double rr = 0.0;
  double bb = 0.0;
  for (int i = 0; i < m->n; ++i) {
    double r = (double)b[i];
    for (int j = 0; j < m->n; ++j) {
      r -= m->a[i * m->n + j] * (double)x[j];
    }
    rr += r * r;
    bb += (double)b[i] * (double)b[i];
  }
  return sqrt(rr / bb);
}

// A = G G^T / n + shift, for random G.
static void random_definite(kp_test_random *random, dense *m, double shift) {
  int n = m->n;
  double *g = kp_alloc((size_t)n * (size_t)n * sizeof *g, KP_MEMORY_SCRATCH);
  for (int k = 0; k < n * n; ++k) {
    g[k] = kp_test_uniform(random, -1.0, 1.0);
  }
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      double sum = i == j ? shift : 0.0;
      for (int k = 0; k < n; ++k) {
        sum += g[i * n + k] * g[j * n + k] / n;
      }
      m->a[i * n + j] = sum;
    }
  }
  kp_free(g);
}

// Cholesky, in place of a copy.
static void solve_dense(const dense *m, const double *b, double *x) {
  int n = m->n;
  double *l = kp_alloc((size_t)n * (size_t)n * sizeof *l, KP_MEMORY_SCRATCH);
  memcpy(l, m->a, (size_t)n * (size_t)n * sizeof *l);
  for (int j = 0; j < n; ++j) {
    for (int k = 0; k < j; ++k) {
      for (int i = j; i < n; ++i) {
        l[i * n + j] -= l[i * n + k] * l[j * n + k];
      }
    }
    double root = sqrt(l[j * n + j]);
    for (int i = j; i < n; ++i) {
      l[i * n + j] /= root;
    }
  }
  for (int i = 0; i < n; ++i) {
    x[i] = b[i];
    for (int k = 0; k < i; ++k) {
      x[i] -= l[i * n + k] * x[k];
    }
    x[i] /= l[i * n + i];
  }
  for (int i = n - 1; i >= 0; --i) {
    for (int k = i + 1; k < n; ++k) {
      x[i] -= l[k * n + i] * x[k];
    }
    x[i] /= l[i * n + i];
  }
  kp_free(l);
}

#define SIZE 40

static void one_dense_case(kp_test_random *random, void *user) {
  (void)user;
  double a[SIZE * SIZE];
  double b[SIZE];
  double x[SIZE];
  dense m = { SIZE, a };
  bench t;
  random_definite(random, &m, 0.2);
  bench_begin(&t, KP_BACKEND_CPU, SIZE);
  use_dense(&t, &m);
  for (int i = 0; i < SIZE; ++i) {
    host(&t.b)[i] = (kp_real)kp_test_uniform(random, -1.0, 1.0);
    host(&t.diagonal)[i] = (kp_real)(1.0 / a[i * SIZE + i]);
    host(&t.x)[i] = (kp_real)kp_test_uniform(random, -1.0, 1.0);
    b[i] = (double)host(&t.b)[i];
  }
  solve_dense(&m, b, x);
  bool jacobi = kp_test_integer(random, 0, 1) == 1;
  bool rest = jacobi && kp_test_integer(random, 0, 1) == 1;
  t.def.inverse_diagonal = jacobi ? &t.diagonal : NULL;
  t.def.add_rest = rest ? add_off_diagonal : NULL;
  assert_ok(kp_pcg_solve(&t.pcg, &t.def, &t.b, &t.x));
  assert_true(t.pcg.report.is_converged);
  // without it every iteration is a product with A
  assert_true(rest == (t.pcg.report.applications < t.pcg.report.iterations));
  // in exact arithmetic it is done after n iterations
  assert_between(t.pcg.report.iterations, 1, 2 * SIZE);
  assert_int_equal(t.pcg.history.count, t.pcg.report.iterations + 1);
  assert_between(residual_of(&t, &m), 0.0, 1.1 * t.def.tolerance);
  assert_near_relative(t.pcg.report.residual, residual_of(&t, &m), KP_TOL(0.5, 0.2));
  for (int i = 0; i < SIZE; ++i) {
    assert_near(host(&t.x)[i], x[i], KP_TOL(1e-3, 1e-10));
  }
  bench_end(&t);
}

static void test_against_dense_solve(void **state) {
  (void)state;
  kp_test_for_seeds(20, one_dense_case, NULL);
}

// ---- known eigenvalues: -u'' on a line, lambda_k = 2 - 2 cos(pi k / (n + 1)) --------------------

typedef struct line {
  int64_t n;
  bool is_closed;  // no flow at the ends: the constant is in the null space
  double sign;
  int64_t n_applied;
} line;

static kp_result apply_line(void *self, kp_buffer *x, kp_buffer *y) {
  line *l = self;
  const kp_real *in = kp_buffer_host(x, KP_ACCESS_READ);
  kp_real *out = kp_buffer_host(y, KP_ACCESS_OVERWRITE);
  for (int64_t i = 0; i < l->n; ++i) {
    kp_real left = i > 0 ? in[i - 1] : (l->is_closed ? in[i] : (kp_real)0);
    kp_real right = i + 1 < l->n ? in[i + 1] : (l->is_closed ? in[i] : (kp_real)0);
    out[i] = (kp_real)l->sign * ((kp_real)2 * in[i] - left - right);
  }
  l->n_applied += 1;
  return KP_OK;
}

static double mode(int64_t n, int k, int64_t i) {
  return sin(PI * (double)k * (double)(i + 1) / (double)(n + 1));
}

static void test_eigenvectors(void **state) {
  (void)state;
  const int64_t n = 63;
  const int modes[] = { 3, 17, 40, 62 };
  for (int used = 1; used <= 4; ++used) {
    line l = { n, false, 1.0, 0 };
    bench t;
    bench_begin(&t, KP_BACKEND_CPU, n);
    t.def.apply = apply_line;
    t.def.apply_self = &l;
    t.def.tolerance = KP_TOL(1e-3, 1e-9);
    for (int64_t i = 0; i < n; ++i) {
      double sum = 0.0;
      for (int m = 0; m < used; ++m) {
        sum += mode(n, modes[m], i);
      }
      host(&t.b)[i] = (kp_real)sum;
    }
    assert_ok(kp_pcg_solve(&t.pcg, &t.def, &t.b, &t.x));
    assert_true(t.pcg.report.is_converged);
    // as many iterations as there are different eigenvalues in the right side
    assert_int_equal(t.pcg.report.iterations, used);
    assert_int_equal(l.n_applied, t.pcg.report.applications);
    for (int64_t i = 0; i < n; ++i) {
      double x = 0.0;
      for (int m = 0; m < used; ++m) {
        x += mode(n, modes[m], i) / (2.0 - 2.0 * cos(PI * modes[m] / (double)(n + 1)));
      }
      assert_near(host(&t.x)[i], x, KP_TOL(5e-2, 1e-6));
    }
    bench_end(&t);
  }
}

static void test_null_space(void **state) {
  (void)state;
  const int64_t n = 50;
  line l = { n, true, 1.0, 0 };
  bench t;
  bench_begin(&t, KP_BACKEND_CPU, n);
  t.def.apply = apply_line;
  t.def.apply_self = &l;
  t.def.null_vector = &t.null_vector;
  t.def.inverse_diagonal = &t.diagonal;
  assert_ok(kp_vector_fill(n, 2.0, &t.null_vector));
  for (int64_t i = 0; i < n; ++i) {
    // an uneven preconditioner drags the answer along the null vector; the answer must not tell
    host(&t.diagonal)[i] = (kp_real)(0.5 + 0.01 * (double)i);
    host(&t.b)[i] = (kp_real)(cos(PI * 3.0 * ((double)i + 0.5) / (double)n) + 7.0);
    host(&t.x)[i] = (kp_real)4;
  }
  assert_ok(kp_pcg_solve(&t.pcg, &t.def, &t.b, &t.x));
  assert_true(t.pcg.report.is_converged);
  double lambda = 2.0 - 2.0 * cos(PI * 3.0 / (double)n);
  for (int64_t i = 0; i < n; ++i) {
    assert_near(host(&t.x)[i], cos(PI * 3.0 * ((double)i + 0.5) / (double)n) / lambda,
                KP_TOL(2e-3, 1e-9));
  }
  // nothing but the null vector on the right: nothing on the left
  for (int64_t i = 0; i < n; ++i) {
    host(&t.b)[i] = (kp_real)7;
  }
  assert_ok(kp_pcg_solve(&t.pcg, &t.def, &t.b, &t.x));
  assert_true(t.pcg.report.is_converged);
  assert_int_equal(t.pcg.report.iterations, 0);
  assert_near(host(&t.x)[7], 0.0, 0.0);
  bench_end(&t);
}

// ---- starts and ends ----------------------------------------------------------------------------

static void test_warm_start_and_limits(void **state) {
  (void)state;
  const int64_t n = 200;
  line l = { n, false, 1.0, 0 };
  bench t;
  bench_begin(&t, KP_BACKEND_CPU, n);
  t.def.apply = apply_line;
  t.def.apply_self = &l;
  // the answer is five thousand times the right side: float cannot say it better
  t.def.tolerance = KP_TOL(1e-2, 1e-8);
  for (int64_t i = 0; i < n; ++i) {
    host(&t.b)[i] = (kp_real)(1.0 + 0.1 * sin((double)i));
  }
  t.def.max_iterations = 20;
  assert_ok(kp_pcg_solve(&t.pcg, &t.def, &t.b, &t.x));
  assert_false(t.pcg.report.is_converged);
  assert_int_equal(t.pcg.report.iterations, 20);
  assert_true(t.pcg.report.residual > t.def.tolerance);
  t.def.max_iterations = 1000;
  assert_ok(kp_pcg_solve(&t.pcg, &t.def, &t.b, &t.x));
  assert_true(t.pcg.report.is_converged);
  assert_between(t.pcg.report.residual, 0.0, t.def.tolerance);
  // from the answer there is nothing to do
  assert_ok(kp_pcg_solve(&t.pcg, &t.def, &t.b, &t.x));
  assert_true(t.pcg.report.is_converged);
  assert_int_equal(t.pcg.report.iterations, 0);
  assert_int_equal(t.pcg.report.applications, 1);
  // nothing on the right: zero, whatever the first guess was
  assert_ok(kp_vector_fill(n, 0.0, &t.b));
  assert_ok(kp_pcg_solve(&t.pcg, &t.def, &t.b, &t.x));
  assert_true(t.pcg.report.is_converged);
  assert_near(host(&t.x)[n / 2], 0.0, 0.0);
  bench_end(&t);
}

static kp_result multiply_by(void *self, kp_buffer *x, kp_buffer *y) {
  return kp_vector_multiply((int64_t)(x->used / sizeof(kp_real)), self, x, y);
}

// A stiff diagonal: with Jacobi all eigenvalues are near one. A function that does the same as the
// diagonal gives the same numbers.
static void test_preconditioners(void **state) {
  (void)state;
  double a[SIZE * SIZE] = { 0 };
  dense m = { SIZE, a };
  int iterations[3];
  kp_real x[2] = { 0 };
  for (int i = 0; i < SIZE; ++i) {
    a[i * SIZE + i] = pow(10.0, 4.0 * i / SIZE);
    if (i > 0) {
      a[i * SIZE + i - 1] = a[(i - 1) * SIZE + i] = 0.3;
    }
  }
  for (int kind = 0; kind < 3; ++kind) {
    bench t;
    bench_begin(&t, KP_BACKEND_CPU, SIZE);
    use_dense(&t, &m);
    t.def.tolerance = 1e-4;
    for (int i = 0; i < SIZE; ++i) {
      host(&t.b)[i] = (kp_real)1;
      host(&t.diagonal)[i] = (kp_real)(1.0 / a[i * SIZE + i]);
    }
    if (kind == 1) {
      t.def.inverse_diagonal = &t.diagonal;
    } else if (kind == 2) {
      t.def.precondition = multiply_by;
      t.def.precondition_self = &t.diagonal;
    }
    assert_ok(kp_pcg_solve(&t.pcg, &t.def, &t.b, &t.x));
    assert_true(t.pcg.report.is_converged);
    iterations[kind] = t.pcg.report.iterations;
    if (kind > 0) {
      x[kind - 1] = host(&t.x)[11];
    }
    bench_end(&t);
  }
  print_message("  iterations: %d alone, %d with the diagonal\n", iterations[0], iterations[1]);
  assert_true(3 * iterations[1] < iterations[0]);
  assert_int_equal(iterations[1], iterations[2]);
  assert_true(x[0] == x[1]);
}

typedef struct counted {
  kp_buffer *diagonal;
  int n;
} counted;

static kp_result multiply_and_count(void *self, kp_buffer *x, kp_buffer *y) {
  counted *c = self;
  ++c->n;
  return multiply_by(c->diagonal, x, y);
}

// Who looks early has the same answer to the last bit for one application of M less, and who brings
// the first for another.
static void test_early_look(void **state) {
  (void)state;
  double a[SIZE * SIZE] = { 0 };
  dense m = { SIZE, a };
  counted used[3];
  int iterations[3];
  kp_real x[3][SIZE];
  for (int i = 0; i < SIZE; ++i) {
    a[i * SIZE + i] = 2.0 + 0.1 * i;
    if (i > 0) {
      a[i * SIZE + i - 1] = a[(i - 1) * SIZE + i] = -1.0;
    }
  }
  for (int early = 0; early < 3; ++early) {
    bench t;
    bench_begin(&t, KP_BACKEND_CPU, SIZE);
    use_dense(&t, &m);
    t.def.tolerance = 1e-4;
    t.def.is_correction = true;
    t.def.looks_early = early > 0;
    t.def.has_first = early == 2;
    used[early] = (counted){ &t.diagonal, 0 };
    t.def.precondition = multiply_and_count;
    t.def.precondition_self = &used[early];
    for (int i = 0; i < SIZE; ++i) {
      host(&t.b)[i] = (kp_real)(1 + i % 3);
      host(&t.diagonal)[i] = (kp_real)(1.0 / a[i * SIZE + i]);
      host(&t.x)[i] = host(&t.b)[i] * host(&t.diagonal)[i];
    }
    assert_ok(kp_pcg_solve(&t.pcg, &t.def, &t.b, &t.x));
    assert_true(t.pcg.report.is_converged);
    assert_between(residual_of(&t, &m), 0.0, 1.1 * t.def.tolerance);
    iterations[early] = t.pcg.report.iterations;
    memcpy(x[early], host(&t.x), sizeof x[early]);
    bench_end(&t);
  }
  assert_true(iterations[0] > 3);
  for (int k = 0; k < 3; ++k) {
    assert_int_equal(iterations[k], iterations[0]);
    assert_int_equal(used[k].n, iterations[0] + 1 - k);
    assert_memory_equal(x[k], x[0], sizeof x[0]);
  }
}

// ---- operators that are not what they should be -------------------------------------------------

static void test_breakdown(void **state) {
  (void)state;
  const int64_t n = 32;
  line l = { n, false, -1.0, 0 };
  bench t;
  bench_begin(&t, KP_BACKEND_CPU, n);
  t.def.apply = apply_line;
  t.def.apply_self = &l;
  assert_ok(kp_vector_fill(n, 1.0, &t.b));
  assert_fails(KP_ERROR_PHYSICS, "operator is not positive definite",
               kp_pcg_solve(&t.pcg, &t.def, &t.b, &t.x));
  // one negative eigenvalue that the first directions do not see
  double a[SIZE * SIZE] = { 0 };
  dense m = { (int)n, a };
  for (int i = 0; i < n; ++i) {
    a[i * n + i] = i == n - 1 ? -0.5 : 1.0 + i;
  }
  use_dense(&t, &m);
  host(&t.b)[n - 1] = (kp_real)0.01;
  assert_ok(kp_vector_fill(n, 0.0, &t.x));
  assert_fails(KP_ERROR_PHYSICS, "operator is not positive definite",
               kp_pcg_solve(&t.pcg, &t.def, &t.b, &t.x));
  assert_true(t.pcg.report.iterations > 1);
  a[n * n - 1] = 1.0;
  t.def.inverse_diagonal = &t.diagonal;
  assert_ok(kp_vector_fill(n, -1.0, &t.diagonal));
  assert_fails(KP_ERROR_PHYSICS, "preconditioner is not positive definite",
               kp_pcg_solve(&t.pcg, &t.def, &t.b, &t.x));
  t.def.inverse_diagonal = NULL;
  host(&t.b)[3] = (kp_real)NAN;
  assert_fails(KP_ERROR_PHYSICS, "test: the right side is not finite",
               kp_pcg_solve(&t.pcg, &t.def, &t.b, &t.x));
  host(&t.b)[3] = (kp_real)1;
  a[5 * n + 5] = (double)NAN;
  assert_fails(KP_ERROR_PHYSICS, "not finite", kp_pcg_solve(&t.pcg, &t.def, &t.b, &t.x));
  bench_end(&t);
}

// ---- sums ---------------------------------------------------------------------------------------

// Products in one pass against plain sums, for lengths around those of packs.
static void test_dots(void **state) {
  (void)state;
  for (int64_t n = 1; n < 300; n = 2 * n + 3) {
    bench t;
    bench_begin(&t, KP_BACKEND_CPU, n);
    double sums[3], expected[3] = { 0.0, 0.0, 0.0 };
    for (int64_t i = 0; i < n; ++i) {
      host(&t.b)[i] = (kp_real)sin(3.0 * (double)i + 1.0);
      host(&t.x)[i] = (kp_real)cos(5.0 * (double)i);
      host(&t.diagonal)[i] = (kp_real)(0.5 + sin(7.0 * (double)i));
      double r = (double)host(&t.b)[i], u = (double)host(&t.x)[i];
      expected[0] += r * u;
      expected[1] += (double)host(&t.diagonal)[i] * u;
      expected[2] += r * r;
    }
    assert_ok(kp_vector_dots(n, &t.b, &t.x, &t.diagonal, sums));
    for (int k = 0; k < 3; ++k) {
      assert_near(sums[k], expected[k], 1e-13 * (double)n);
    }
    bench_end(&t);
  }
}

// ---- looks of the host, threads, backends -------------------------------------------------------

typedef struct counter {
  int64_t n_looks;
} counter;

static kp_result count_looks(const kp_call_event *event, void *user) {
  counter *c = user;
  c->n_looks += event->call->kernel->kind == KP_KERNEL_REDUCE ? 1 : 0;
  KP_TRY(kp_call_prepare(event));
  return kp_call_perform(event);
}

static void test_one_look_per_iteration(void **state) {
  (void)state;
  const int64_t n = 300;
  line l = { n, false, 1.0, 0 };
  counter c = { 0 };
  kp_call_observer observer = { count_looks, &c };
  bench t;
  bench_begin(&t, KP_BACKEND_CPU, n);
  t.def.apply = apply_line;
  t.def.apply_self = &l;
  t.def.tolerance = 1e-3;
  assert_ok(kp_vector_fill(n, 1.0, &t.b));
  t.backend->observer = &observer;
  assert_ok(kp_pcg_solve(&t.pcg, &t.def, &t.b, &t.x));
  t.backend->observer = NULL;
  assert_true(t.pcg.report.is_converged && t.pcg.report.iterations > 50);
  // the right side, the first residual, and per start one more and the true residual at its end
  assert_int_equal(c.n_looks, t.pcg.report.iterations + 2 + 2 * (t.pcg.report.restarts + 1));
  bench_end(&t);
}

#define LARGE 40000  // ten blocks of the reduction

static void run_large(kp_backend_kind kind, int threads, kp_real *x, double *history) {
  line l = { LARGE, false, 1.0, 0 };
  bench t;
  kp_parallel_set_threads(threads);
  bench_begin(&t, kind, LARGE);
  t.def.apply = apply_line;
  t.def.apply_self = &l;
  t.def.inverse_diagonal = &t.diagonal;
  t.def.max_iterations = 12;
  for (int64_t i = 0; i < LARGE; ++i) {
    host(&t.b)[i] = (kp_real)sin(0.37 * (double)i);
    host(&t.diagonal)[i] = (kp_real)(0.5 + 1e-6 * (double)i);
  }
  assert_ok(kp_pcg_solve(&t.pcg, &t.def, &t.b, &t.x));
  memcpy(x, host(&t.x), LARGE * sizeof *x);
  memcpy(history, t.pcg.history.data, 13 * sizeof *history);
  bench_end(&t);
  kp_parallel_set_threads(0);
}

static void test_same_bits(void **state) {
  (void)state;
  kp_real *x[2];
  double history[2][13];
  for (int k = 0; k < 2; ++k) {
    x[k] = kp_alloc(LARGE * sizeof(kp_real), KP_MEMORY_SCRATCH);
  }
  run_large(KP_BACKEND_CPU, 1, x[0], history[0]);
  for (int threads = 2; threads <= 5; ++threads) {
    kp_backend_kind kind = threads == 5 ? KP_BACKEND_MIRROR : KP_BACKEND_CPU;
    run_large(kind, threads, x[1], history[1]);
    assert_memory_equal(x[0], x[1], LARGE * sizeof(kp_real));
    assert_memory_equal(history[0], history[1], sizeof history[0]);
  }
  kp_free(x[0]);
  kp_free(x[1]);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_against_dense_solve),
    cmocka_unit_test(test_eigenvectors),
    cmocka_unit_test(test_null_space),
    cmocka_unit_test(test_warm_start_and_limits),
    cmocka_unit_test(test_preconditioners),
    cmocka_unit_test(test_early_look),
    cmocka_unit_test(test_breakdown),
    cmocka_unit_test(test_dots),
    cmocka_unit_test(test_one_look_per_iteration),
    cmocka_unit_test(test_same_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
