// The Poisson solvers against dense solves of systems that are put together here from the words of
// linalg/poisson.h alone: solids, open tops, cut faces, extra diagonals, periodic axes, enclosed
// regions, face lattices, in 2D and 3D.
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "linalg/multigrid.h"
#include "linalg/poisson.h"
#include "par/parallel.h"

// ---- a grid with a system -----------------------------------------------------------------------

typedef struct bench {
  kp_backend *backend;
  kp_registry *registry;
  kp_mac *mac;
  kp_mac_kind lattice;
  int n[3];  // items of the lattice
  kp_buffer flags, faces[3], extra, right, answer;
  bool has_extra;
} bench;

static void each(bench *t, kp_buffer *out[7]) {
  kp_buffer *all[7] = { &t->flags, &t->faces[0], &t->faces[1], &t->faces[2],
                        &t->extra, &t->right,    &t->answer };
  memcpy(out, all, sizeof all);
}

typedef struct shape {
  int n[3];  // cells; n[2] == 0: 2D
  bool is_periodic[3];
  kp_mac_kind lattice;
} shape;

static void begin(bench *t, kp_backend_kind kind, const shape *s) {
  memset(t, 0, sizeof *t);
  assert_ok(kp_backend_create(kind, &t->backend));
  assert_ok(kp_registry_create(t->backend, &t->registry));
  double h = 0.25;
  kp_mac_def def = { .name = "grid", .cell = h, .dimension = s->n[2] == 0 ? 2 : 3 };
  def.box.max = (kp_vec3){ h * s->n[0], h * s->n[1], h * (s->n[2] == 0 ? 1 : s->n[2]) };
  for (int c = 0; c < 3; ++c) {
    def.sides[c][0].kind = def.sides[c][1].kind = s->is_periodic[c] ? KP_MAC_PERIODIC : KP_MAC_WALL;
  }
  assert_ok(kp_mac_create(t->registry, &def, &t->mac));
  t->lattice = s->lattice;
  for (int c = 0; c < 3; ++c) {
    t->n[c] = t->mac->view.n[c] + ((int)s->lattice == c && !s->is_periodic[c] ? 1 : 0);
  }
  kp_buffer *all[7];
  each(t, all);
  for (int k = 0; k < 7; ++k) {
    assert_ok(kp_mac_scratch(t->mac, k == 0 ? KP_TYPE_U8 : KP_TYPE_REAL, all[k]));
  }
}

static void end(bench *t) {
  kp_buffer *all[7];
  each(t, all);
  for (int k = 0; k < 7; ++k) {
    kp_buffer_free(all[k]);
  }
  kp_mac_destroy(&t->mac);
  kp_registry_destroy(&t->registry);
  kp_backend_destroy(&t->backend);
}

static void *host(kp_buffer *buffer) {
  void *data = kp_buffer_host(buffer, KP_ACCESS_WRITE);
  assert_non_null(data);
  return data;
}

static int64_t at(const bench *t, int i, int j, int k) {
  return kp_mac_at(&t->mac->view, i, j, k);
}

// The item beside (i, j, k) along an axis, the image across a periodic one; -1: outside.
static int64_t beside(const bench *t, const int cell[3], int axis, int side) {
  int c[3] = { cell[0], cell[1], cell[2] };
  c[axis] += side;
  if (t->mac->view.is_periodic[axis]) {
    c[axis] = (c[axis] + t->n[axis]) % t->n[axis];
  }
  return c[axis] < 0 || c[axis] >= t->n[axis] ? -1 : at(t, c[0], c[1], c[2]);
}

// ---- systems ------------------------------------------------------------------------------------

typedef struct recipe {
  shape shape;
  double solids;    // share of items that are solid
  double airs;      // share that is air
  bool has_top;     // the upper side across y is open
  bool has_cuts;    // open fractions 0.05..1 of some faces
  bool has_thetas;  // ghost-fluid coefficients up to 100
  bool has_extra;
} recipe;

static kp_real coefficient(const recipe *r, uint8_t a, uint8_t b, kp_test_random *random) {
  double cut =
      r->has_cuts && kp_test_uniform(random, 0, 1) < 0.4 ? kp_test_uniform(random, 0.05, 1.0) : 1.0;
  double theta = r->has_thetas ? kp_test_uniform(random, 0.01, 1.0) : 1.0;
  if (a == KP_CELL_SOLID || b == KP_CELL_SOLID) {
    return 0;
  }
  if (a == KP_CELL_AIR || b == KP_CELL_AIR) {
    return (kp_real)(0.002 * cut / theta);
  }
  return (kp_real)(0.002 * cut);
}

// Flags, coefficients, right side and a first guess at random. What is never to be read is full of
// numbers that would show.
static void fill(bench *t, const recipe *r, kp_test_random *random) {
  uint8_t *flags = host(&t->flags);
  kp_real *extra = host(&t->extra);
  kp_real *right = host(&t->right);
  kp_real *answer = host(&t->answer);
  kp_real *faces[3];
  t->has_extra = r->has_extra;
  for (int a = 0; a < 3; ++a) {
    faces[a] = host(&t->faces[a]);
    for (int64_t i = 0; i < t->mac->view.count; ++i) {
      faces[a][i] = 0;
    }
  }
  for (int64_t i = 0; i < t->mac->view.count; ++i) {
    flags[i] = KP_CELL_AIR;
    right[i] = answer[i] = (kp_real)777;
    extra[i] = (kp_real)777;
  }
  for (int k = 0; k < t->n[2]; ++k) {
    for (int j = 0; j < t->n[1]; ++j) {
      for (int i = 0; i < t->n[0]; ++i) {
        double u = kp_test_uniform(random, 0, 1);
        int64_t m = at(t, i, j, k);
        flags[m] =
            u < r->solids ? KP_CELL_SOLID : (u < r->solids + r->airs ? KP_CELL_AIR : KP_CELL_FLUID);
        extra[m] = (kp_real)kp_test_uniform(random, 0.0, 0.05);
        right[m] = (kp_real)kp_test_uniform(random, -1, 1);
        answer[m] = (kp_real)kp_test_uniform(random, -1, 1);
      }
    }
  }
  for (int axis = 0; axis < t->mac->view.dimension; ++axis) {
    int64_t up = kp_mac_stride(&t->mac->view, axis);
    for (int k = 0; k < t->n[2]; ++k) {
      for (int j = 0; j < t->n[1]; ++j) {
        for (int i = 0; i < t->n[0]; ++i) {
          int cell[3] = { i, j, k };
          int64_t m = at(t, i, j, k);
          int64_t below = beside(t, cell, axis, -1);
          faces[axis][m] = below < 0 ? 0 : coefficient(r, flags[below], flags[m], random);
          // of the last item's upper face there is a place of its own
          bool is_last = cell[axis] == t->n[axis] - 1 && !t->mac->view.is_periodic[axis];
          if (is_last) {
            uint8_t beyond = axis == 1 && r->has_top ? KP_CELL_AIR : KP_CELL_SOLID;
            faces[axis][m + up] = coefficient(r, flags[m], beyond, random);
          }
        }
      }
    }
  }
}

static kp_poisson_system system_of(bench *t) {
  return (kp_poisson_system){ .flags = &t->flags,
                              .faces = { &t->faces[0], &t->faces[1], &t->faces[2] },
                              .extra = t->has_extra ? &t->extra : NULL,
                              .right = &t->right,
                              .answer = &t->answer };
}

// ---- the dense twin -----------------------------------------------------------------------------

typedef struct dense {
  int n;
  int64_t *item;  // of unknown
  int *unknown;   // of item, -1
  double *a;      // n x n
  double *b, *x;
  int *region;        // of unknown, by its lowest unknown
  bool *is_singular;  // of the region that begins with this unknown
  int n_pockets;
} dense;

static void link(dense *d, int64_t m, int64_t other, double c) {
  int i = d->unknown[m];
  int j = other < 0 ? -1 : d->unknown[other];
  d->a[i * d->n + i] += c;
  if (j >= 0) {
    d->a[i * d->n + j] -= c;
  }
}

static void find_regions(dense *d) {
  for (int i = 0; i < d->n; ++i) {
    d->region[i] = i;
  }
  for (bool is_changed = true; is_changed;) {
    is_changed = false;
    for (int i = 0; i < d->n; ++i) {
      for (int j = 0; j < d->n; ++j) {
        if (d->a[i * d->n + j] != 0.0 && d->region[j] < d->region[i]) {
          d->region[i] = d->region[j];
          is_changed = true;
        }
      }
    }
  }
  for (int i = 0; i < d->n; ++i) {
    d->is_singular[i] = d->region[i] == i;
  }
  for (int i = 0; i < d->n; ++i) {
    double sum = 0.0;
    for (int j = 0; j < d->n; ++j) {
      sum += d->a[i * d->n + j];
    }
    if (sum > 1e-9 * d->a[i * d->n + i]) {
      d->is_singular[d->region[i]] = false;
    }
  }
  for (int i = 0; i < d->n; ++i) {
    d->n_pockets += d->is_singular[i];
  }
}

// Take the mean of each singular region off.
static void centre(const dense *d, double *x) {
  for (int r = 0; r < d->n; ++r) {
    double sum = 0.0;
    int count = 0;
    for (int i = 0; i < d->n && d->is_singular[r]; ++i) {
      sum += d->region[i] == r ? x[i] : 0.0;
      count += d->region[i] == r;
    }
    for (int i = 0; i < d->n && count > 0; ++i) {
      x[i] -= d->region[i] == r ? sum / count : 0.0;
    }
  }
}

static void eliminate(const dense *d) {
  int n = d->n;
  double *a = calloc((size_t)n * (size_t)n + 1, sizeof *a);
  memcpy(a, d->a, (size_t)n * (size_t)n * sizeof *a);
  memcpy(d->x, d->b, (size_t)n * sizeof *d->x);
  // any weight on the null vectors gives the answer of mean zero
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j < n; ++j) {
      if (d->region[i] == d->region[j] && d->is_singular[d->region[i]]) {
        a[i * n + j] += 0.1;
      }
    }
  }
  for (int i = 0; i < n; ++i) {
    for (int j = i + 1; j < n; ++j) {
      double f = a[j * n + i] / a[i * n + i];
      for (int k = i; k < n && f != 0.0; ++k) {
        a[j * n + k] -= f * a[i * n + k];
      }
      d->x[j] -= f * d->x[i];
    }
  }
  for (int i = n - 1; i >= 0; --i) {
    for (int k = i + 1; k < n; ++k) {
      d->x[i] -= a[i * n + k] * d->x[k];
    }
    d->x[i] /= a[i * n + i];
  }
  free(a);
}

static void list_unknowns(bench *t, dense *d) {
  const uint8_t *flags = host(&t->flags);
  size_t count = (size_t)t->mac->view.count;
  d->item = calloc(count, sizeof *d->item);
  d->unknown = calloc(count, sizeof *d->unknown);
  for (size_t i = 0; i < count; ++i) {
    d->unknown[i] = -1;
    if (flags[i] == KP_CELL_FLUID) {
      d->unknown[i] = d->n;
      d->item[d->n++] = (int64_t)i;
    }
  }
  size_t n = (size_t)d->n + 1;
  d->a = calloc(n * n, sizeof *d->a);
  d->b = calloc(n, sizeof *d->b);
  d->x = calloc(n, sizeof *d->x);
  d->region = calloc(n, sizeof *d->region);
  d->is_singular = calloc(n, sizeof *d->is_singular);
}

static dense dense_of(bench *t) {
  dense d = { 0 };
  list_unknowns(t, &d);
  double scale = 1.0 / (t->mac->view.cell * t->mac->view.cell);
  const kp_real *extra = host(&t->extra);
  const kp_real *right = host(&t->right);
  for (int k = 0; k < t->n[2]; ++k) {
    for (int j = 0; j < t->n[1]; ++j) {
      for (int i = 0; i < t->n[0]; ++i) {
        int cell[3] = { i, j, k };
        int64_t m = at(t, i, j, k);
        int u = d.unknown[m];
        for (int axis = 0; axis < t->mac->view.dimension && u >= 0; ++axis) {
          const kp_real *c = host(&t->faces[axis]);
          int64_t above = beside(t, cell, axis, 1);
          int64_t upper = above < 0 ? m + kp_mac_stride(&t->mac->view, axis) : above;
          link(&d, m, beside(t, cell, axis, -1), scale * (double)c[m]);
          link(&d, m, above, scale * (double)c[upper]);
        }
        if (u >= 0) {
          d.a[u * d.n + u] += t->has_extra ? (double)extra[m] : 0.0;
          d.b[u] = (double)right[m];
        }
      }
    }
  }
  find_regions(&d);
  centre(&d, d.b);
  eliminate(&d);
  centre(&d, d.x);
  return d;
}

static void dense_free(dense *d) {
  void *all[] = { d->item, d->unknown, d->a, d->b, d->x, d->region, d->is_singular };
  for (size_t k = 0; k < sizeof all / sizeof all[0]; ++k) {
    free(all[k]);
  }
}

static double size_of(const double *x, int n) {
  double sum = 0.0;
  for (int i = 0; i < n; ++i) {
    sum += x[i] * x[i];
  }
  return sqrt(sum);
}

// |b - A x| / |b| of what a solver left, with its rest.
static double dense_residual(const dense *d, const kp_real *x, const kp_real *rest) {
  double sum = 0.0;
  for (int i = 0; i < d->n; ++i) {
    double r = d->b[i];
    for (int j = 0; j < d->n; ++j) {
      r -= d->a[i * d->n + j] * ((double)x[d->item[j]] + (double)rest[d->item[j]]);
    }
    sum += r * r;
  }
  return sqrt(sum) / fmax(size_of(d->b, d->n), 1e-300);
}

// ---- solvers against it -------------------------------------------------------------------------

static kp_poisson_def def_of(const bench *t, int solver) {
  kp_poisson_def def = kp_default_poisson_def();
  def.solver = solver;
  def.lattice = t->lattice;
  def.tolerance = KP_TOL(1e-6, 1e-11);
  def.max_iterations = 2000;
  return def;
}

static void compare(bench *t, int solver, kp_poisson_report *report) {
  dense d = dense_of(t);
  kp_poisson_def def = def_of(t, solver);
  kp_poisson_system system = system_of(t);
  kp_poisson *poisson;
  assert_ok(kp_poisson_create(t->mac, &def, &poisson));
  assert_ok(kp_poisson_solve(poisson, &system, report));
  const kp_real *x = host(&t->answer);
  const kp_real *rest = host(kp_poisson_rest(poisson));
  assert_int_equal(report->n_cells, d.n);
  assert_int_equal(report->n_pockets, d.n_pockets);
  assert_true(report->is_converged);
  if (size_of(d.b, d.n) > 1e-6) {
    // the residual that is told is the true one
    double residual = dense_residual(&d, x, rest);
    assert_true(residual <= 1.2 * def.tolerance);
    assert_near(residual, report->residual, 0.2 * def.tolerance);
  }
  double largest = 1e-6;
  for (int i = 0; i < d.n; ++i) {
    largest = kp_test_most(largest, fabs(d.x[i]));
  }
  for (int64_t i = 0; i < t->mac->view.count; ++i) {
    if (d.unknown[i] >= 0) {
      assert_near(x[i], d.x[d.unknown[i]], KP_TOL(1e-4, 1e-8) * largest);
    }
  }
  for (int k = 0; k < t->n[2]; ++k) {
    for (int j = 0; j < t->n[1]; ++j) {
      for (int i = 0; i < t->n[0]; ++i) {
        if (d.unknown[at(t, i, j, k)] < 0) {
          assert_true(x[at(t, i, j, k)] == 0);
        }
      }
    }
  }
  kp_poisson_destroy(&poisson);
  dense_free(&d);
}

static const recipe recipes[] = {
  // open top, nothing else
  { .shape = { .n = { 7, 5, 0 }, .lattice = KP_MAC_CELL }, .has_top = true },
  { .shape = { .n = { 5, 4, 6 }, .lattice = KP_MAC_CELL }, .has_top = true },
  // closed boxes
  { .shape = { .n = { 6, 7, 0 }, .lattice = KP_MAC_CELL } },
  { .shape = { .n = { 5, 3, 4 }, .lattice = KP_MAC_CELL }, .has_cuts = true },
  // one row, one cell
  { .shape = { .n = { 9, 1, 0 }, .lattice = KP_MAC_CELL }, .has_top = true },
  { .shape = { .n = { 1, 1, 1 }, .lattice = KP_MAC_CELL }, .has_top = true },
  { .shape = { .n = { 1, 6, 1 }, .lattice = KP_MAC_CELL } },
  // free surfaces and cut faces
  { .shape = { .n = { 8, 8, 0 }, .lattice = KP_MAC_CELL },
    .airs = 0.3,
    .has_cuts = true,
    .has_thetas = true,
    .has_top = true },
  { .shape = { .n = { 5, 6, 5 }, .lattice = KP_MAC_CELL },
    .airs = 0.3,
    .has_cuts = true,
    .has_thetas = true,
    .has_top = true },
  // viscosity: every unknown has a diagonal of its own
  { .shape = { .n = { 6, 5, 4 }, .lattice = KP_MAC_CELL }, .has_extra = true, .solids = 0.2 },
  { .shape = { .n = { 6, 5, 0 }, .lattice = KP_MAC_FACE_X }, .has_extra = true, .airs = 0.1 },
  { .shape = { .n = { 4, 5, 3 }, .lattice = KP_MAC_FACE_Z }, .has_extra = true, .airs = 0.1 },
  // periodic
  { .shape = { .n = { 6, 5, 0 }, .is_periodic = { true, false, false }, .lattice = KP_MAC_CELL },
    .has_top = true },
  { .shape = { .n = { 5, 4, 7 }, .is_periodic = { true, true, true }, .lattice = KP_MAC_CELL },
    .has_cuts = true },
  { .shape = { .n = { 6, 8, 0 }, .is_periodic = { true, true, false }, .lattice = KP_MAC_CELL } },
  // many regions, some of them closed
  { .shape = { .n = { 9, 8, 0 }, .lattice = KP_MAC_CELL }, .solids = 0.4, .has_cuts = true },
  { .shape = { .n = { 9, 9, 0 }, .lattice = KP_MAC_CELL },
    .solids = 0.4,
    .airs = 0.03,
    .has_thetas = true },
  { .shape = { .n = { 6, 5, 6 }, .lattice = KP_MAC_CELL }, .solids = 0.6, .has_top = true },
  { .shape = { .n = { 5, 5, 6 }, .is_periodic = { false, true, true }, .lattice = KP_MAC_CELL },
    .solids = 0.6 },
  { .shape = { .n = { 2, 4, 1 }, .is_periodic = { true, false, true }, .lattice = KP_MAC_CELL },
    .has_top = true,
    .airs = 0.1 },
  { .shape = { .n = { 6, 5, 4 }, .is_periodic = { true, false, false }, .lattice = KP_MAC_FACE_X },
    .has_extra = true },
};

static void check_recipes(kp_backend_kind kind, int solver) {
  for (size_t k = 0; k < sizeof recipes / sizeof recipes[0]; ++k) {
    for (uint64_t seed = 0; seed < 3; ++seed) {
      kp_test_random random = kp_test_random_begin(1000 * (uint64_t)solver + 10 * k + seed);
      kp_poisson_report report;
      bench t;
      begin(&t, kind, &recipes[k].shape);
      fill(&t, &recipes[k], &random);
      compare(&t, solver, &report);
      end(&t);
    }
  }
}

static void test_conjugate_gradients(void **state) {
  (void)state;
  check_recipes(KP_BACKEND_CPU, KP_POISSON_CG);
}

static void test_jacobi(void **state) {
  (void)state;
  check_recipes(KP_BACKEND_CPU, KP_POISSON_JACOBI);
}

static void test_multigrid(void **state) {
  (void)state;
  check_recipes(KP_BACKEND_CPU, KP_POISSON_MULTIGRID);
}

static void test_incomplete_cholesky(void **state) {
  (void)state;
  check_recipes(KP_BACKEND_CPU, KP_POISSON_IC);
}

static void test_over_relaxation(void **state) {
  (void)state;
  check_recipes(KP_BACKEND_CPU, KP_POISSON_SOR);
}

// ---- the preconditioner is symmetric and positive

static double dot(bench *t, kp_buffer *a, kp_buffer *b) {
  const kp_real *x = host(a);
  const kp_real *y = host(b);
  double sum = 0.0;
  for (int64_t i = 0; i < t->mac->view.count; ++i) {
    sum += (double)x[i] * (double)y[i];
  }
  return sum;
}

// 1 over the diagonal, with couplings across periodic sides twice, as smoothing wants it.
static void fill_inverse(bench *t, kp_buffer *inverse) {
  dense d = dense_of(t);
  kp_real *out = host(inverse);
  double scale = 1.0 / (t->mac->view.cell * t->mac->view.cell);
  for (int u = 0; u < d.n; ++u) {
    int64_t m = d.item[u];
    const kp_mac_view *g = &t->mac->view;
    int cell[3] = { (int)((m - g->start) % g->row), (int)((m - g->start) % g->slab / g->row), 0 };
    cell[2] = t->mac->view.dimension == 3 ? (int)((m - g->start) / g->slab) : 0;
    double diagonal = d.a[u * d.n + u];
    for (int axis = 0; axis < g->dimension; ++axis) {
      const kp_real *c = host(&t->faces[axis]);
      bool wraps = g->is_periodic[axis];
      bool is_last = cell[axis] == t->n[axis] - 1;
      diagonal += wraps && cell[axis] == 0 ? scale * (double)c[m] : 0.0;
      diagonal += wraps && is_last ? scale * (double)c[beside(t, cell, axis, 1)] : 0.0;
      // an item that is its own image has couplings that the dense matrix does not see
      diagonal += wraps && t->n[axis] == 1 ? 2.0 * scale * (double)c[m] : 0.0;
    }
    out[m] = diagonal > 0.0 ? (kp_real)(1.0 / diagonal) : 0;
  }
  dense_free(&d);
}

static void set_upper_faces(bench *t) {
  for (int axis = 0; axis < t->mac->view.dimension; ++axis) {
    kp_real *c = host(&t->faces[axis]);
    for (int k = 0; k < t->n[2]; ++k) {
      for (int j = 0; j < t->n[1]; ++j) {
        for (int i = 0; i < t->n[0]; ++i) {
          int cell[3] = { i, j, k };
          if (t->mac->view.is_periodic[axis] && cell[axis] == t->n[axis] - 1) {
            c[at(t, i, j, k) + kp_mac_stride(&t->mac->view, axis)] = c[beside(t, cell, axis, 1)];
          }
        }
      }
    }
  }
}

static void check_symmetry(const recipe *r, uint64_t seed) {
  kp_test_random random = kp_test_random_begin(seed);
  bench t;
  begin(&t, KP_BACKEND_CPU, &r->shape);
  fill(&t, r, &random);
  set_upper_faces(&t);
  kp_buffer inverse;
  kp_buffer b[2];
  kp_buffer x[2];
  assert_ok(kp_mac_scratch(t.mac, KP_TYPE_REAL, &inverse));
  fill_inverse(&t, &inverse);
  const kp_mac_view *g = &t.mac->view;
  kp_multigrid_fine fine = {
    .grid = { .row = g->row, .slab = g->dimension == 2 ? 0 : g->slab, .start = g->start },
    .revision = 1,
    .scale = (kp_real)(1.0 / (g->cell * g->cell)),
    .faces = { &t.faces[0], &t.faces[1], g->dimension == 2 ? NULL : &t.faces[2] },
    .extra = t.has_extra ? &t.extra : NULL,
    .inverse = &inverse,
    .segments = &t.mac->segments[t.lattice],
    .n_segments = t.mac->n_segments[t.lattice]
  };
  for (int c = 0; c < 3; ++c) {
    fine.grid.n[c] = fine.hi[c] = t.n[c];
    fine.is_periodic[c] = g->is_periodic[c];
  }
  kp_multigrid *multigrid;
  assert_ok(kp_multigrid_create(t.backend, &multigrid));
  assert_ok(kp_multigrid_build(multigrid, &fine));
  const kp_real *d = host(&inverse);
  for (int k = 0; k < 2; ++k) {
    assert_ok(kp_mac_scratch(t.mac, KP_TYPE_REAL, &b[k]));
    assert_ok(kp_mac_scratch(t.mac, KP_TYPE_REAL, &x[k]));
    kp_real *values = host(&b[k]);
    for (int64_t i = 0; i < g->count; ++i) {
      values[i] = d[i] > 0 ? (kp_real)kp_test_uniform(&random, -1, 1) : 0;
    }
    assert_ok(kp_multigrid_cycle(multigrid, &b[k], &x[k]));
  }
  double size = sqrt(dot(&t, &x[0], &x[0]) * dot(&t, &b[1], &b[1]));
  assert_near(dot(&t, &b[1], &x[0]), dot(&t, &b[0], &x[1]), KP_TOL(1e-5, 1e-13) * (size + 1e-9));
  if (dot(&t, &b[0], &b[0]) > 0.0) {
    assert_true(dot(&t, &b[0], &x[0]) > 0.0);
  }
  for (int k = 0; k < 2; ++k) {
    kp_buffer_free(&b[k]);
    kp_buffer_free(&x[k]);
  }
  kp_buffer_free(&inverse);
  kp_multigrid_destroy(&multigrid);
  end(&t);
}

static void test_symmetry(void **state) {
  (void)state;
  for (size_t k = 0; k < sizeof recipes / sizeof recipes[0]; ++k) {
    for (uint64_t seed = 0; seed < 5; ++seed) {
      check_symmetry(&recipes[k], 77 * k + seed);
    }
  }
}

// ---- a corridor that winds inwards: as many bends as the flood fill may have to follow

static void test_spiral(void **state) {
  (void)state;
  enum { N = 23 };
  const recipe r = { .shape = { .n = { N, N, 0 }, .lattice = KP_MAC_CELL } };
  kp_test_random random = kp_test_random_begin(5);
  kp_poisson_report report;
  bench t;
  begin(&t, KP_BACKEND_CPU, &r.shape);
  fill(&t, &r, &random);
  // one cell wide, one cell of wall between: walk and turn right where the second cell ahead is
  // open
  bool is_open[N][N] = { { false } };
  int x = 0;
  int y = 0;
  int dx = 1;
  int dy = 0;
  is_open[0][0] = true;
  for (int n_stuck = 0; n_stuck < 2;) {
    int ahead_x = x + 2 * dx;
    int ahead_y = y + 2 * dy;
    bool is_inside = x + dx >= 0 && x + dx < N && y + dy >= 0 && y + dy < N;
    bool is_free =
        ahead_x < 0 || ahead_x >= N || ahead_y < 0 || ahead_y >= N || !is_open[ahead_y][ahead_x];
    if (is_inside && is_free && !is_open[y + dy][x + dx]) {
      x += dx;
      y += dy;
      is_open[y][x] = true;
      n_stuck = 0;
    } else {
      int turned = dx;
      dx = -dy;
      dy = turned;
      n_stuck += 1;
    }
  }
  uint8_t *flags = host(&t.flags);
  for (int axis = 0; axis < 2; ++axis) {
    kp_real *c = host(&t.faces[axis]);
    for (int j = 0; j < N; ++j) {
      for (int i = 0; i < N; ++i) {
        bool has_below = axis == 0 ? i > 0 && is_open[j][i - 1] : j > 0 && is_open[j - 1][i];
        flags[at(&t, i, j, 0)] = is_open[j][i] ? KP_CELL_FLUID : KP_CELL_SOLID;
        c[at(&t, i, j, 0)] = has_below && is_open[j][i] ? (kp_real)0.002 : 0;
      }
    }
  }
  compare(&t, KP_POISSON_MULTIGRID, &report);
  assert_int_equal(report.n_pockets, 1);
  assert_true(report.n_cells > N * N / 3);
  end(&t);
}

// ---- what earlier solves leave behind

// Answer and rest of a solver that has never seen another system.
static void expect_fresh(bench *t, int solver, const kp_real *guess, kp_real *x, kp_real *rest) {
  size_t bytes = (size_t)t->mac->view.count * sizeof(kp_real);
  kp_poisson_def def = def_of(t, solver);
  kp_poisson_system system = system_of(t);
  kp_poisson_report report;
  kp_poisson *poisson;
  memcpy(host(&t->answer), guess, bytes);
  assert_ok(kp_poisson_create(t->mac, &def, &poisson));
  assert_ok(kp_poisson_solve(poisson, &system, &report));
  memcpy(x, host(&t->answer), bytes);
  memcpy(rest, host(kp_poisson_rest(poisson)), bytes);
  kp_poisson_destroy(&poisson);
}

static void check_memory(kp_backend_kind kind, int solver) {
  // rows longer than a run; liquid that comes, goes and breaks up
  const recipe liquids[] = {
    { .shape = { .n = { 37, 5, 6 }, .lattice = KP_MAC_CELL }, .airs = 0.2 },
    { .shape = { .n = { 37, 5, 6 }, .lattice = KP_MAC_CELL }, .airs = 0.97, .has_thetas = true },
    { .shape = { .n = { 37, 5, 6 }, .lattice = KP_MAC_CELL }, .airs = 0.5, .solids = 0.2 },
    { .shape = { .n = { 37, 5, 6 }, .lattice = KP_MAC_CELL }, .airs = 0.99 },
  };
  bench t;
  begin(&t, kind, &liquids[0].shape);
  size_t bytes = (size_t)t.mac->view.count * sizeof(kp_real);
  kp_real *memory = kp_alloc(5 * bytes, KP_MEMORY_FIELD);
  assert_non_null(memory);
  kp_real *part[5];
  for (int k = 0; k < 5; ++k) {
    part[k] = memory + (size_t)k * bytes / sizeof(kp_real);
  }
  kp_poisson_def def = def_of(&t, solver);
  kp_poisson *poisson;
  kp_poisson_report report;
  assert_ok(kp_poisson_create(t.mac, &def, &poisson));
  kp_test_random random = kp_test_random_begin(4711);
  for (size_t k = 0; k < sizeof liquids / sizeof liquids[0]; ++k) {
    fill(&t, &liquids[k], &random);
    kp_poisson_system system = system_of(&t);
    memcpy(part[0], host(&t.answer), bytes);
    memcpy(part[1], host(&t.right), bytes);
    assert_ok(kp_poisson_solve(poisson, &system, &report));
    memcpy(part[2], host(&t.answer), bytes);
    memcpy(host(&t.right), part[1], bytes);
    expect_fresh(&t, solver, part[0], part[3], part[4]);
    assert_memory_equal(part[2], part[3], bytes);
    // another right side for the same matrix
    kp_real *right = host(&t.right);
    for (int64_t i = 0; i < t.mac->view.count; ++i) {
      right[i] = (kp_real)kp_test_uniform(&random, -1, 1);
    }
    memcpy(part[1], right, bytes);
    memcpy(host(&t.answer), part[0], bytes);
    assert_ok(kp_poisson_solve_next(poisson, &t.right, &t.answer, def.tolerance, &report));
    memcpy(part[2], host(&t.answer), bytes);
    memcpy(host(&t.right), part[1], bytes);
    expect_fresh(&t, solver, part[0], part[3], part[4]);
    assert_memory_equal(part[2], part[3], bytes);
    assert_memory_equal(host(kp_poisson_rest(poisson)), part[4], bytes);
  }
  kp_poisson_destroy(&poisson);
  kp_free(memory);
  end(&t);
}

static void test_memory(void **state) {
  (void)state;
  check_memory(KP_BACKEND_CPU, KP_POISSON_MULTIGRID);
  check_memory(KP_BACKEND_MIRROR, KP_POISSON_MULTIGRID);
  check_memory(KP_BACKEND_CPU, KP_POISSON_JACOBI);
  check_memory(KP_BACKEND_CPU, KP_POISSON_IC);
}

static void test_mirror(void **state) {
  (void)state;
  check_recipes(KP_BACKEND_MIRROR, KP_POISSON_JACOBI);
  check_recipes(KP_BACKEND_MIRROR, KP_POISSON_MULTIGRID);
  check_recipes(KP_BACKEND_MIRROR, KP_POISSON_IC);
  check_recipes(KP_BACKEND_MIRROR, KP_POISSON_SOR);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_conjugate_gradients),
    cmocka_unit_test(test_jacobi),
    cmocka_unit_test(test_multigrid),
    cmocka_unit_test(test_incomplete_cholesky),
    cmocka_unit_test(test_over_relaxation),
    cmocka_unit_test(test_symmetry),
    cmocka_unit_test(test_spiral),
    cmocka_unit_test(test_memory),
    cmocka_unit_test(test_mirror),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
