// Advection of arrays of a MAC grid against a twin in double that knows nothing of rows, runs,
// ghosts or fractions, and the closed forms of the schemes in one dimension.
#include "support/test.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "data/mac.h"
#include "methods/common/advect.h"
#include "par/kernel.h"
#include "par/parallel.h"

#include "support/claims.h"

// ---- a grid with a flow ---------------------------------------------------------------------

typedef struct bench {
  kp_backend *backend;
  kp_registry *registry;
  kp_mac *mac;
  kp_field *velocity;
  kp_field *values[3];
  kp_field *flags;
  kp_advect advect;
} bench;

typedef struct bench_def {
  kp_backend_kind backend;
  int n[3];
  int dimension;
  kp_mac_side_kind sides[3];
} bench_def;

static const kp_field_desc velocity_desc = {
  "velocity", KP_TYPE_REAL, 3, "m/s", KP_FIELD_SAVE, 0.0
};

static void bench_begin(bench *t, const bench_def *def) {
  memset(t, 0, sizeof *t);
  assert_ok(kp_backend_create(def->backend, &t->backend));
  assert_ok(kp_registry_create(t->backend, &t->registry));
  const double h = 0.125;
  kp_mac_def mac = { .name = "grid", .cell = h, .dimension = def->dimension };
  mac.box.min = kp_vec3_make(-1, 2, 0.5);
  mac.box.max = kp_vec3_make(-1 + h * def->n[0], 2 + h * def->n[1], 0.5 + h * def->n[2]);
  for (int c = 0; c < 3; ++c) {
    mac.sides[c][0].kind = mac.sides[c][1].kind = def->sides[c];
  }
  assert_ok(kp_mac_create(t->registry, &mac, &t->mac));
  assert_ok(kp_mac_add_field(t->mac, &velocity_desc, &t->velocity));
  static const char *const names[] = { "a", "b", "c" };
  for (int f = 0; f < 3; ++f) {
    kp_field_desc desc = { names[f], KP_TYPE_REAL, 1, "", KP_FIELD_SAVE, 0.0 };
    assert_ok(kp_mac_add_field(t->mac, &desc, &t->values[f]));
  }
  kp_field_desc flags = { "flags", KP_TYPE_U8, 1, "", 0, KP_CELL_FLUID };
  assert_ok(kp_mac_add_field(t->mac, &flags, &t->flags));
  assert_ok(kp_advect_init(&t->advect, t->mac));
}

static void bench_end(bench *t) {
  kp_advect_free(&t->advect);
  kp_mac_destroy(&t->mac);
  kp_registry_destroy(&t->registry);
  kp_backend_destroy(&t->backend);
}

static kp_real *host(kp_buffer *buffer) {
  kp_real *data = kp_buffer_host(buffer, KP_ACCESS_WRITE);
  assert_non_null(data);
  return data;
}

static void fill_random(kp_buffer *buffer, int64_t n, double lo, double hi, kp_test_random *r) {
  kp_real *data = host(buffer);
  for (int64_t i = 0; i < n; ++i) {
    data[i] = (kp_real)kp_test_uniform(r, lo, hi);
  }
}

// Speeds of up to `cells` cells per second.
static void fill_velocity(bench *t, double cells, kp_test_random *r) {
  double most = cells * t->mac->view.cell;
  for (int c = 0; c < t->mac->view.dimension; ++c) {
    fill_random(&t->velocity->buffers[c], t->mac->view.count, -most, most, r);
  }
  assert_ok(kp_mac_fill_velocity(t->mac, t->velocity));
}

// ---- the twin -------------------------------------------------------------------------------

// An array of the twin: items without ghosts, and what lies beyond the open sides.
typedef struct array {
  const bench *t;
  int kind;
  double outside;  // NaN: the nearest
  double *f;
} array;

// Items along an axis; faces and corners have one more, unless the last is the first.
static int64_t size_of(const bench *t, int kind, int axis) {
  const kp_mac_view *g = &t->mac->view;
  bool is_flat = axis == 2 && g->dimension == 2;
  bool has_end = (kind == axis || kind == KP_MAC_NODE) && !g->is_periodic[axis] && !is_flat;
  return g->n[axis] + (has_end ? 1 : 0);
}

static array array_make(const bench *t, int kind, double outside) {
  array a = { t, kind, outside, NULL };
  size_t n = (size_t)(size_of(t, kind, 0) * size_of(t, kind, 1) * size_of(t, kind, 2));
  a.f = kp_alloc(n * sizeof(double), KP_MEMORY_SCRATCH);
  assert_non_null(a.f);
  return a;
}

static double *item(const array *a, int64_t i, int64_t j, int64_t k) {
  return &a->f[i + size_of(a->t, a->kind, 0) * (j + size_of(a->t, a->kind, 1) * k)];
}

static array array_of(bench *t, int kind, kp_buffer *buffer, double outside) {
  array a = array_make(t, kind, outside);
  const kp_real *data = host(buffer);
  for (int64_t k = 0; k < size_of(t, kind, 2); ++k) {
    for (int64_t j = 0; j < size_of(t, kind, 1); ++j) {
      for (int64_t i = 0; i < size_of(t, kind, 0); ++i) {
        *item(&a, i, j, k) = (double)data[kp_mac_at(&t->mac->view, i, j, k)];
      }
    }
  }
  return a;
}

static double get(const array *a, int64_t i, int64_t j, int64_t k) {
  int64_t at[3] = { i, j, k };
  for (int c = 0; c < 3; ++c) {
    int64_t n = size_of(a->t, a->kind, c);
    bool is_beyond = at[c] < 0 || at[c] >= n;
    if (a->t->mac->view.is_periodic[c]) {
      at[c] = ((at[c] % n) + n) % n;
    } else if (is_beyond && !isnan(a->outside) && a->t->mac->sides[c][0].kind == KP_MAC_OPEN) {
      return a->outside;
    } else {
      at[c] = at[c] < 0 ? 0 : (at[c] >= n ? n - 1 : at[c]);
    }
  }
  return *item(a, at[0], at[1], at[2]);
}

// Where an item lies, in cells from the lower corner of the domain.
static double offset(int kind, int axis) {
  return kind == axis || kind == KP_MAC_NODE ? 0.0 : 0.5;
}

// A point kept in the domain, or brought around; true when it had to be kept in.
static bool keep_in(const bench *t, double x[3]) {
  bool was_out = false;
  for (int c = 0; c < t->mac->view.dimension; ++c) {
    double n = t->mac->view.n[c];
    if (t->mac->view.is_periodic[c]) {
      x[c] -= n * floor(x[c] / n);
    } else {
      was_out = was_out || x[c] < 0.0 || x[c] > n;
      x[c] = fmin(fmax(x[c], 0.0), n);
    }
  }
  return was_out;
}

// The base item of a point and how far it is on.
static void base_of(const array *a, const double x[3], int64_t base[3], double rest[3]) {
  for (int c = 0; c < 3; ++c) {
    bool is_flat = c == 2 && a->t->mac->view.dimension == 2;
    double t = is_flat ? 0.0 : x[c] - offset(a->kind, c);
    base[c] = (int64_t)floor(t);
    if (!a->t->mac->view.is_periodic[c] && base[c] > a->t->mac->view.n[c] - 1) {
      base[c] = a->t->mac->view.n[c] - 1;
    }
    rest[c] = t - (double)base[c];
  }
}

static double linear(const array *a, const double x[3], double *lo, double *hi) {
  int64_t b[3];
  double r[3];
  base_of(a, x, b, r);
  double sum = 0.0;
  *lo = HUGE_VAL;
  *hi = -HUGE_VAL;
  int n_corners = a->t->mac->view.dimension == 2 ? 4 : 8;
  for (int c = 0; c < n_corners; ++c) {
    int o[3] = { c & 1, c >> 1 & 1, c >> 2 };
    double f = get(a, b[0] + o[0], b[1] + o[1], b[2] + o[2]);
    double weight = 1.0;
    for (int d = 0; d < 3; ++d) {
      weight *= o[d] ? r[d] : 1.0 - r[d];
    }
    sum += weight * f;
    *lo = fmin(*lo, f);
    *hi = kp_test_most(*hi, f);
  }
  return sum;
}

static double hermite(const double f[4], double t) {
  double step = f[2] - f[1];
  double slope[2] = { 0.5 * (f[2] - f[0]), 0.5 * (f[3] - f[1]) };
  for (int s = 0; s < 2; ++s) {
    if (slope[s] * step <= 0.0) {
      slope[s] = 0.0;
    } else if (fabs(slope[s]) > 3.0 * fabs(step)) {
      slope[s] = copysign(3.0 * fabs(step), slope[s]);
    }
  }
  double u = 1.0 - t;
  return f[1] * (1.0 + 2.0 * t) * u * u + slope[0] * t * u * u + f[2] * t * t * (3.0 - 2.0 * t) -
         slope[1] * t * t * u;
}

static double cubic(const array *a, const double x[3]) {
  int64_t b[3];
  double r[3];
  base_of(a, x, b, r);
  bool is_flat = a->t->mac->view.dimension == 2;
  double along_z[4];
  for (int k = is_flat ? 1 : 0; k < (is_flat ? 2 : 4); ++k) {
    double along_y[4];
    for (int j = 0; j < 4; ++j) {
      double along_x[4];
      for (int i = 0; i < 4; ++i) {
        along_x[i] = get(a, b[0] + i - 1, b[1] + j - 1, is_flat ? 0 : b[2] + k - 1);
      }
      along_y[j] = hermite(along_x, r[0]);
    }
    along_z[k] = hermite(along_y, r[1]);
  }
  return is_flat ? along_z[1] : hermite(along_z, r[2]);
}

typedef struct twin {
  bench *t;
  kp_advect_def def;
  double dt;
  array velocity[3];
} twin;

static void velocity_at(const twin *w, const double x[3], double v[3]) {
  double at[3] = { x[0], x[1], x[2] };
  double lo;
  double hi;
  keep_in(w->t, at);
  v[2] = 0.0;
  for (int c = 0; c < w->t->mac->view.dimension; ++c) {
    v[c] = linear(&w->velocity[c], at, &lo, &hi) / w->t->mac->view.cell;
  }
}

// x + s (velocity), by the rule of the trace.
static void trace(const twin *w, const double x[3], double s, double out[3]) {
  double k1[3];
  double k2[3];
  double k3[3];
  double at[3];
  velocity_at(w, x, k1);
  for (int c = 0; c < 3; ++c) {
    out[c] = x[c] + s * k1[c];
    at[c] = x[c] + 0.5 * s * k1[c];
  }
  if (w->def.trace == KP_ADVECT_EULER) {
    return;
  }
  velocity_at(w, at, k2);
  for (int c = 0; c < 3; ++c) {
    out[c] = x[c] + s * k2[c];
    at[c] = x[c] + 0.75 * s * k2[c];
  }
  if (w->def.trace == KP_ADVECT_RK2) {
    return;
  }
  velocity_at(w, at, k3);
  for (int c = 0; c < 3; ++c) {
    out[c] = x[c] + s * (2.0 * k1[c] + 3.0 * k2[c] + 4.0 * k3[c]) / 9.0;
  }
}

static bool is_upwind(const kp_advect_def *def) {
  return def->scheme == KP_ADVECT_UPWIND || def->scheme == KP_ADVECT_BFECC_UPWIND ||
         def->scheme == KP_ADVECT_MACCORMACK_UPWIND;
}

// One sweep at one item: A with s = -dt, AR with s = dt.
static double sweep(const twin *w, const array *a, const int64_t at[3], double s, double *lo,
                    double *hi, bool *was_out) {
  double x[3];
  double to[3];
  for (int c = 0; c < 3; ++c) {
    x[c] = (double)at[c] + offset(a->kind, c);
  }
  if (is_upwind(&w->def)) {
    double v[3];
    velocity_at(w, x, v);
    double f = get(a, at[0], at[1], at[2]);
    double sum = f;
    *lo = *hi = f;
    *was_out = false;
    for (int c = 0; c < w->t->mac->view.dimension; ++c) {
      double d = s * v[c];
      int64_t o[3] = { 0, 0, 0 };
      o[c] = d > 0.0 ? 1 : -1;
      double other = get(a, at[0] + o[0], at[1] + o[1], at[2] + o[2]);
      sum += fabs(d) * (other - f);
      *lo = fmin(*lo, other);
      *hi = kp_test_most(*hi, other);
      to[c] = x[c] + d;
    }
    *was_out = keep_in(w->t, to);
    return sum;
  }
  trace(w, x, s, to);
  *was_out = keep_in(w->t, to);
  double f = linear(a, to, lo, hi);
  return w->def.interpolation == KP_ADVECT_CUBIC ? cubic(a, to) : f;
}

typedef void (*item_fn)(const int64_t at[3], void *user);

static void for_items(const bench *t, int kind, item_fn fn, void *user) {
  for (int64_t k = 0; k < size_of(t, kind, 2); ++k) {
    for (int64_t j = 0; j < size_of(t, kind, 1); ++j) {
      for (int64_t i = 0; i < size_of(t, kind, 0); ++i) {
        const int64_t at[3] = { i, j, k };
        fn(at, user);
      }
    }
  }
}

typedef struct twin_job {
  const twin *w;
  array p, h1, q;
  const kp_real *got;
  const uint8_t *flags;
  double tolerance, worst;
  int64_t n_items, n_reverted, n_first, n_near;
} twin_job;

static bool leaves(const twin_job *job, const int64_t at[3]) {
  double lo;
  double hi;
  bool back;
  bool ahead;
  (void)sweep(job->w, &job->p, at, -job->w->dt, &lo, &hi, &back);
  (void)sweep(job->w, &job->p, at, job->w->dt, &lo, &hi, &ahead);
  return back || ahead;
}

// Flags of the cells around an item: all of them solid, any of them near one.
static void look_around(const twin_job *job, const int64_t at[3], bool *is_solid, bool *is_near) {
  const bench *t = job->w->t;
  *is_solid = true;
  *is_near = false;
  for (int c = 0; c < 8; ++c) {
    int64_t o[3] = { c & 1, c >> 1 & 1, c >> 2 };
    bool counts = true;
    for (int d = 0; d < 3; ++d) {
      bool is_flat = d == 2 && t->mac->view.dimension == 2;
      counts = counts && (o[d] == 0 || (offset(job->p.kind, d) == 0.0 && !is_flat));
    }
    if (counts) {
      uint8_t f = job->flags[kp_mac_at(&t->mac->view, at[0] - o[0], at[1] - o[1], at[2] - o[2])];
      *is_solid = *is_solid && (f & KP_CELL_KIND) == KP_CELL_SOLID;
      *is_near = *is_near || (f & KP_CELL_NEAR_SOLID) != 0;
    }
  }
}

static void do_first(const int64_t at[3], void *user) {
  twin_job *job = user;
  double lo;
  double hi;
  bool was_out;
  bool is_solid;
  bool is_near;
  look_around(job, at, &is_solid, &is_near);
  double h1 = sweep(job->w, &job->p, at, -job->w->dt, &lo, &hi, &was_out);
  *item(&job->h1, at[0], at[1], at[2]) = is_solid ? get(&job->p, at[0], at[1], at[2]) : h1;
}

static void do_error(const int64_t at[3], void *user) {
  twin_job *job = user;
  double lo;
  double hi;
  bool was_out;
  bool is_solid;
  bool is_near;
  look_around(job, at, &is_solid, &is_near);
  double p = get(&job->p, at[0], at[1], at[2]);
  double h0 = sweep(job->w, &job->h1, at, job->w->dt, &lo, &hi, &was_out);
  bool is_second = !leaves(job, at) && !is_solid && !is_near;
  *item(&job->q, at[0], at[1], at[2]) = is_second ? p + 0.5 * (p - h0) : p;
}

static void compare(const int64_t at[3], void *user) {
  twin_job *job = user;
  const twin *w = job->w;
  double lo;
  double hi;
  double ignored;
  bool was_out;
  bool is_solid;
  bool is_near;
  look_around(job, at, &is_solid, &is_near);
  double p = get(&job->p, at[0], at[1], at[2]);
  double h1 = sweep(w, &job->p, at, -w->dt, &lo, &hi, &was_out);
  double wanted = h1;
  double other = h1;  // what a limiter that decides the other way would leave
  bool is_second = w->def.scheme != KP_ADVECT_UPWIND && w->def.scheme != KP_ADVECT_SEMI_LAGRANGIAN;
  if (is_second && !leaves(job, at) && !is_near) {
    bool is_bfecc = w->def.scheme == KP_ADVECT_BFECC || w->def.scheme == KP_ADVECT_BFECC_UPWIND;
    double f = is_bfecc
                   ? sweep(w, &job->q, at, -w->dt, &ignored, &ignored, &was_out)
                   : h1 + 0.5 * (p - sweep(w, &job->h1, at, w->dt, &ignored, &ignored, &was_out));
    double edge = fmin(fabs(f - lo), fabs(f - hi));
    bool is_in = f >= lo && f <= hi;
    wanted = f;
    if (w->def.limiter == KP_ADVECT_CLAMP) {
      wanted = fmin(fmax(f, lo), hi);
    } else if (w->def.limiter == KP_ADVECT_REVERT) {
      wanted = is_in ? f : h1;
      job->n_reverted += !is_in;
    }
    other = edge < job->tolerance ? (is_in ? h1 : f) : wanted;
  } else if (is_second) {
    ++job->n_first;
    other = wanted;
  } else {
    other = wanted;
  }
  wanted = is_solid ? p : wanted;
  other = is_solid ? p : other;
  double got = (double)job->got[kp_mac_at(&w->t->mac->view, at[0], at[1], at[2])];
  double difference = fmin(fabs(got - wanted), fabs(got - other));
  job->n_near += fabs(got - wanted) > job->tolerance;
  assert_true(!isnan(got));
  job->worst = kp_test_most(job->worst, difference);
  ++job->n_items;
}

// ---- arrays against the twin ------------------------------------------------------------------

static kp_buffer *values_of(bench *t, int f) {
  return &t->values[f]->buffers[0];
}

// The largest difference.
static double hold_against_twin(bench *t, const kp_advect_def *def, int kind, double outside,
                                double dt, kp_buffer *before, kp_buffer *got) {
  twin w = { .t = t, .def = *def, .dt = dt };
  for (int c = 0; c < t->mac->view.dimension; ++c) {
    // `before` of a component is that component: the velocity is copied first
    w.velocity[c] = array_of(t, c, &t->velocity->buffers[c], NAN);
  }
  twin_job job = { .w = &w, .got = host(got), .tolerance = KP_TOL(3e-5, 1e-12) };
  job.flags = kp_buffer_host(&t->flags->buffers[0], KP_ACCESS_READ);
  assert_non_null(job.flags);
  job.p = array_of(t, kind, before, outside);
  job.h1 = array_make(t, kind, outside);
  job.q = array_make(t, kind, outside);
  for_items(t, kind, do_first, &job);
  for_items(t, kind, do_error, &job);
  for_items(t, kind, compare, &job);
  assert_between(job.worst, 0.0, job.tolerance);
  assert_true(job.n_near * 200 <= job.n_items);
  for (int c = 0; c < t->mac->view.dimension; ++c) {
    kp_free(w.velocity[c].f);
  }
  kp_free(job.p.f);
  kp_free(job.h1.f);
  kp_free(job.q.f);
  return job.worst;
}

static const bench_def grids[] = {
  { KP_BACKEND_CPU, { 23, 7, 6 }, 3, { KP_MAC_PERIODIC, KP_MAC_PERIODIC, KP_MAC_PERIODIC } },
  { KP_BACKEND_CPU, { 18, 9, 8 }, 3, { KP_MAC_WALL, KP_MAC_PERIODIC, KP_MAC_OPEN } },
  { KP_BACKEND_CPU, { 37, 21, 1 }, 2, { KP_MAC_OPEN, KP_MAC_WALL, KP_MAC_WALL } },
  { KP_BACKEND_MIRROR, { 17, 19, 1 }, 2, { KP_MAC_PERIODIC, KP_MAC_WALL, KP_MAC_WALL } },
  { KP_BACKEND_MIRROR, { 11, 8, 7 }, 3, { KP_MAC_OPEN, KP_MAC_WALL, KP_MAC_PERIODIC } },
};
#define N_GRIDS ((int)(sizeof grids / sizeof grids[0]))

static void put_solids(bench *t, kp_test_random *r) {
  uint8_t *flags = kp_buffer_host(&t->flags->buffers[0], KP_ACCESS_WRITE);
  assert_non_null(flags);
  for (int64_t i = 0; i < t->mac->view.count; ++i) {
    double x = kp_test_uniform(r, 0, 1);
    flags[i] = x < 0.15 ? KP_CELL_SOLID : (x < 0.3 ? KP_CELL_FLUID | KP_CELL_NEAR_SOLID : 1);
  }
}

static double one_values(const bench_def *grid, const kp_advect_def *def, int kind, double outside,
                         bool has_solids, uint64_t seed) {
  bench t;
  kp_test_random r = kp_test_random_begin(seed);
  bench_begin(&t, grid);
  bool needs_small = is_upwind(def);
  double dt = 0.5;
  fill_velocity(&t, needs_small ? 0.6 : 4.6, &r);
  if (has_solids) {
    put_solids(&t, &r);
  }
  fill_random(values_of(&t, 0), t.mac->view.count, -1, 1, &r);
  memcpy(host(values_of(&t, 1)), host(values_of(&t, 0)),
         (size_t)t.mac->view.count * sizeof(kp_real));
  assert_ok(kp_advect_values(&t.advect, def, (kp_mac_kind)kind, values_of(&t, 0), t.velocity,
                             has_solids ? &t.flags->buffers[0] : NULL, outside, dt));
  double worst = hold_against_twin(&t, def, kind, outside, dt, values_of(&t, 1), values_of(&t, 0));
  bench_end(&t);
  return worst;
}

static void schemes_agree_with_a_twin(void **state) {
  (void)state;
  uint64_t seed = 1;
  double near_solids = 0.0;
  double everywhere = 0.0;
  for (int g = 0; g < N_GRIDS; ++g) {
    for (int scheme = 0; scheme < KP_ADVECT_SCHEME_COUNT; ++scheme) {
      for (int limiter = 0; limiter < KP_ADVECT_LIMITER_COUNT; ++limiter) {
        kp_advect_def def = { scheme, limiter, KP_ADVECT_EULER, KP_ADVECT_LINEAR };
        bool has_solids = limiter == 1;
        double off = one_values(&grids[g], &def, KP_MAC_CELL, NAN, has_solids, seed++);
        near_solids = has_solids ? fmax(near_solids, off) : near_solids;
        everywhere = kp_test_most(everywhere, off);
      }
    }
  }
  kp_claim claim = { .id = "selle-S8",
                     .text = "beside solids, and where a trace leaves the domain, values are those "
                             "of a twin that falls back to first order there",
                     .size = "5 grids in 2D and 3D, 6 schemes, random solids and velocity",
                     .figure = near_solids,
                     .threshold = KP_TOL(3e-5, 1e-12) };
  kp_claim_at_most(&claim);
  claim.id = "selle-S2";
  claim.text = "every scheme of advection gives the values of a twin written cell by cell";
  claim.size = "5 grids in 2D and 3D, 6 schemes, 3 limiters, up to 2.3 cells a step";
  claim.figure = everywhere;
  kp_claim_at_most(&claim);
}

static void traces_agree_with_a_twin(void **state) {
  (void)state;
  uint64_t seed = 100;
  for (int g = 0; g < N_GRIDS; ++g) {
    for (int tracing = 0; tracing < KP_ADVECT_TRACE_COUNT; ++tracing) {
      for (int interpolation = 0; interpolation < 2; ++interpolation) {
        kp_advect_def def = { KP_ADVECT_MACCORMACK, KP_ADVECT_CLAMP, tracing, interpolation };
        (void)one_values(&grids[g], &def, KP_MAC_CELL, 0.3, false, seed++);
      }
    }
  }
}

static void faces_and_corners_agree_with_a_twin(void **state) {
  (void)state;
  uint64_t seed = 200;
  for (int g = 0; g < N_GRIDS; ++g) {
    for (int kind = 0; kind < KP_MAC_KIND_COUNT; ++kind) {
      if (kind == KP_MAC_FACE_Z && grids[g].dimension == 2) {
        continue;
      }
      kp_advect_def def = { KP_ADVECT_MACCORMACK, KP_ADVECT_REVERT, kind % 3, KP_ADVECT_LINEAR };
      (void)one_values(&grids[g], &def, kind, NAN, kind % 2 == 1, seed++);
    }
  }
}

// All components see the velocity as it was.
static void velocity_agrees_with_a_twin(void **state) {
  (void)state;
  for (int g = 0; g < N_GRIDS; ++g) {
    for (int scheme = 0; scheme < KP_ADVECT_SCHEME_COUNT; ++scheme) {
      bench t;
      bench was;
      kp_advect_def def = { scheme, KP_ADVECT_REVERT, KP_ADVECT_EULER, KP_ADVECT_LINEAR };
      bench_begin(&t, &grids[g]);
      bench_begin(&was, &grids[g]);
      kp_test_random r = kp_test_random_begin(300 + (uint64_t)g);
      fill_velocity(&t, is_upwind(&def) ? 0.6 : 4.6, &r);
      for (int c = 0; c < t.mac->view.dimension; ++c) {
        memcpy(host(&was.velocity->buffers[c]), host(&t.velocity->buffers[c]),
               (size_t)t.mac->view.count * sizeof(kp_real));
      }
      assert_ok(kp_advect_velocity(&t.advect, &def, t.velocity, NULL, 0.5));
      for (int c = 0; c < t.mac->view.dimension; ++c) {
        // faces in walls are what the wall says
        if (grids[g].sides[c] != KP_MAC_WALL) {
          (void)hold_against_twin(&was, &def, c, NAN, 0.5, &was.velocity->buffers[c],
                                  &t.velocity->buffers[c]);
        }
      }
      bench_end(&was);
      bench_end(&t);
    }
  }
}

// ---- bits -----------------------------------------------------------------------------------

static uint64_t hash_after(const bench_def *grid, const kp_advect_def *def) {
  bench t;
  uint64_t hash;
  kp_test_random r = kp_test_random_begin(77);
  bench_begin(&t, grid);
  fill_velocity(&t, 3.0, &r);
  kp_advect_item items[3];
  for (int f = 0; f < 3; ++f) {
    fill_random(values_of(&t, f), t.mac->view.count, -1, 1, &r);
    items[f] = (kp_advect_item){ values_of(&t, f), f == 1 ? 0.25 : NAN };
  }
  for (int s = 0; s < 3; ++s) {
    assert_ok(kp_advect_items(&t.advect, def, KP_MAC_CELL, items, 3, t.velocity,
                              &t.flags->buffers[0], 0.3));
    assert_ok(kp_advect_velocity(&t.advect, def, t.velocity, &t.flags->buffers[0], 0.3));
  }
  assert_ok(kp_registry_hash(t.registry, &hash));
  bench_end(&t);
  return hash;
}

static void bits_are_the_same_everywhere(void **state) {
  (void)state;
  bench_def grid = {
    KP_BACKEND_CPU, { 45, 13, 9 }, 3, { KP_MAC_PERIODIC, KP_MAC_WALL, KP_MAC_OPEN }
  };
  kp_isa best = kp_isa_current();
  for (int scheme = 0; scheme < KP_ADVECT_SCHEME_COUNT; ++scheme) {
    kp_advect_def def = { scheme, 1 + scheme % 2, scheme % 3, scheme % 2 };
    grid.backend = KP_BACKEND_CPU;
    uint64_t hash = hash_after(&grid, &def);
    for (int isa = 0; isa < KP_ISA_COUNT; ++isa) {
      kp_isa_force((kp_isa)isa);
      assert_true(hash_after(&grid, &def) == hash);
    }
    kp_isa_force(best);
    for (int threads = 1; threads <= 3; ++threads) {
      kp_parallel_set_threads(threads);
      assert_true(hash_after(&grid, &def) == hash);
    }
    kp_parallel_set_threads(0);
    grid.backend = KP_BACKEND_MIRROR;
    assert_true(hash_after(&grid, &def) == hash);
  }
}

// Several arrays in one call are what they are one by one.
static void items_together_are_items_alone(void **state) {
  (void)state;
  bench t;
  kp_test_random r = kp_test_random_begin(5);
  bench_begin(&t, &grids[1]);
  fill_velocity(&t, 3.0, &r);
  size_t size = (size_t)t.mac->view.count * sizeof(kp_real);
  for (int scheme = 0; scheme < KP_ADVECT_SCHEME_COUNT; ++scheme) {
    kp_advect_def def = kp_default_advect_def();
    def.scheme = scheme;
    fill_random(values_of(&t, 0), t.mac->view.count, -1, 1, &r);
    memcpy(host(values_of(&t, 1)), host(values_of(&t, 0)), size);
    fill_random(values_of(&t, 2), t.mac->view.count, -1, 1, &r);
    kp_advect_item pair[2] = { { values_of(&t, 2), NAN }, { values_of(&t, 0), 0.5 } };
    assert_ok(kp_advect_items(&t.advect, &def, KP_MAC_CELL, pair, 2, t.velocity, NULL, 0.3));
    assert_ok(kp_advect_values(&t.advect, &def, KP_MAC_CELL, values_of(&t, 1), t.velocity, NULL,
                               0.5, 0.3));
    assert_memory_equal(host(values_of(&t, 0)), host(values_of(&t, 1)), size);
  }
  bench_end(&t);
}

// ---- window ---------------------------------------------------------------------------------

// Outside the window nothing changes; inside, what was in the scratch before does not matter.
static void a_window_leaves_the_rest_alone(void **state) {
  (void)state;
  const bench_def grid = {
    KP_BACKEND_MIRROR, { 70, 50, 1 }, 2, { KP_MAC_WALL, KP_MAC_OPEN, KP_MAC_WALL }
  };
  for (int scheme = 0; scheme < KP_ADVECT_SCHEME_COUNT; ++scheme) {
    bench t;
    kp_test_random r = kp_test_random_begin(11);
    kp_advect_def def = kp_default_advect_def();
    def.scheme = scheme;
    def.interpolation = scheme % 2;
    bench_begin(&t, &grid);
    fill_velocity(&t, is_upwind(&def) ? 0.9 : 6.0, &r);
    size_t size = (size_t)t.mac->view.count * sizeof(kp_real);
    fill_random(values_of(&t, 0), t.mac->view.count, -1, 1, &r);
    memcpy(host(values_of(&t, 1)), host(values_of(&t, 0)), size);
    memcpy(host(values_of(&t, 2)), host(values_of(&t, 0)), size);
    const int32_t lo[3] = { 20, 18, 0 };
    const int32_t hi[3] = { 40, 30, 1 };
    assert_ok(kp_mac_set_window(t.mac, lo, hi, 0));
    assert_ok(kp_advect_values(&t.advect, &def, KP_MAC_CELL, values_of(&t, 1), t.velocity, NULL,
                               NAN, 0.5));
    // another field soils the scratch
    kp_field *dirt;
    kp_field_desc desc = { "dirt", KP_TYPE_REAL, 1, "", KP_FIELD_SAVE, 1e6 };
    assert_ok(kp_mac_add_field(t.mac, &desc, &dirt));
    const int32_t all_lo[3] = { 0, 0, 0 };
    const int32_t all_hi[3] = { 70, 50, 1 };
    assert_ok(kp_mac_set_window(t.mac, all_lo, all_hi, 0));
    assert_ok(kp_advect_values(&t.advect, &def, KP_MAC_CELL, &dirt->buffers[0], t.velocity, NULL,
                               NAN, 0.5));
    assert_ok(kp_mac_set_window(t.mac, lo, hi, 0));
    assert_ok(kp_advect_values(&t.advect, &def, KP_MAC_CELL, values_of(&t, 2), t.velocity, NULL,
                               NAN, 0.5));
    assert_memory_equal(host(values_of(&t, 1)), host(values_of(&t, 2)), size);
    const kp_real *was = host(values_of(&t, 0));
    const kp_real *is = host(values_of(&t, 1));
    int64_t n_changed = 0;
    for (int64_t j = 0; j < 50; ++j) {
      for (int64_t i = 0; i < 70; ++i) {
        int64_t at = kp_mac_at(&t.mac->view, i, j, 0);
        bool is_inside = i >= 16 && i < 48 && j >= 16 && j < 32;
        n_changed += was[at] != is[at];
        assert_true(is_inside || was[at] == is[at]);
      }
    }
    assert_true(n_changed > 32 * 16 / 2);
    bench_end(&t);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(schemes_agree_with_a_twin),
    cmocka_unit_test(traces_agree_with_a_twin),
    cmocka_unit_test(faces_and_corners_agree_with_a_twin),
    cmocka_unit_test(velocity_agrees_with_a_twin),
    cmocka_unit_test(bits_are_the_same_everywhere),
    cmocka_unit_test(items_together_are_items_alone),
    cmocka_unit_test(a_window_leaves_the_rest_alone),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
