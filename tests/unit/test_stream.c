// The stream function in free space (linalg/stream.h) against sums over all charges: the layer
// around the box, the equation inside, and velocities that come out of no cell.
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "linalg/stream.h"
#include "par/parallel.h"

#define FOUR_PI 12.566370614359172954

// Charges at random in some of the cells of a box, none in the others.
static void fill(kp_stream *s, const int32_t n[3], uint64_t seed) {
  int64_t count = (int64_t)n[0] * n[1] * n[2];
  for (int c = 0; c < 3; ++c) {
    kp_test_random random = kp_test_random_begin(seed + (uint64_t)c);
    kp_real *q = kp_buffer_host(kp_stream_vorticity(s, c), KP_ACCESS_OVERWRITE);
    for (int64_t i = 0; i < count; ++i) {
      double value = kp_test_uniform(&random, -1, 1);
      q[i] = kp_test_uniform(&random, 0, 1) < 0.2 ? (kp_real)value : (kp_real)0;
    }
  }
}

static kp_stream *make(kp_backend *backend, const int32_t n[3], kp_stream_report *report) {
  kp_stream *s = NULL;
  assert_ok(kp_stream_create(backend, &s));
  assert_ok(kp_stream_fit(s, n));
  fill(s, n, 5);
  assert_ok(kp_stream_solve(s, 0.25, report));
  return s;
}

static double sum_at(const kp_real *q, const int32_t n[3], const int64_t p[3]) {
  double sum = 0.0;
  for (int64_t i = 0; i < (int64_t)n[0] * n[1] * n[2]; ++i) {
    double x = (double)(p[0] - i % n[0]);
    double y = (double)(p[1] - i / n[0] % n[1]);
    double z = (double)(p[2] - i / n[0] / n[1]);
    sum += q[i] != (kp_real)0 ? (double)q[i] / sqrt(x * x + y * y + z * z) : 0.0;
  }
  return sum / FOUR_PI;
}

// All items of the layer around the grid, corners too, by blocks against one by one.
static void test_rim(void **state) {
  (void)state;
  const int32_t n[3] = { 21, 9, 14 };
  kp_backend *backend;
  kp_stream_report report;
  int32_t pad;
  assert_ok(kp_backend_create(KP_BACKEND_CPU, &backend));
  kp_stream *s = make(backend, n, &report);
  const kp_mac *mac = kp_stream_grid(s, &pad);
  const int32_t *m = mac->view.n;
  double worst = 0.0;
  double top = 0.0;
  int64_t count = 0;
  for (int c = 0; c < 3; ++c) {
    const kp_real *q = kp_buffer_host(kp_stream_vorticity(s, c), KP_ACCESS_READ);
    const kp_real *psi = kp_buffer_host(kp_stream_function(s, c), KP_ACCESS_READ);
    for (int64_t k = -1; k <= m[2]; ++k) {
      for (int64_t j = -1; j <= m[1]; ++j) {
        for (int64_t i = -1; i <= m[0]; ++i) {
          if (i >= 0 && i < m[0] && j >= 0 && j < m[1] && k >= 0 && k < m[2]) {
            continue;
          }
          const int64_t p[3] = { i - pad, j - pad, k - pad };
          double exact = sum_at(q, n, p);
          double got = (double)psi[kp_mac_at(&mac->view, i, j, k)];
          worst = kp_test_most(worst, fabs(got - exact));
          top = kp_test_most(top, fabs(exact));
          ++count;
        }
      }
    }
  }
  print_message("  %lld items around: worst %.2g of the largest\n", (long long)count, worst / top);
  assert_true(count > 3000 && top > 0.1);
  assert_between(worst, 0.0, 4e-3 * top);
  kp_stream_destroy(&s);
  kp_backend_destroy(&backend);
}

// What flows out of a cell is rounding.
static void test_divergence(void **state) {
  (void)state;
  const int32_t n[3] = { 12, 17, 8 };
  kp_backend *backend;
  kp_stream_report report;
  int32_t pad;
  const kp_real *face[3];
  assert_ok(kp_backend_create(KP_BACKEND_CPU, &backend));
  kp_stream *s = make(backend, n, &report);
  assert_true(report.is_converged);
  const kp_mac_view *g = &kp_stream_grid(s, &pad)->view;
  for (int c = 0; c < 3; ++c) {
    face[c] = kp_buffer_host(kp_stream_faces(s, c), KP_ACCESS_READ);
  }
  double worst = 0.0;
  double top = 0.0;
  for (int64_t k = 0; k < g->n[2] - 1; ++k) {
    for (int64_t j = 0; j < g->n[1] - 1; ++j) {
      for (int64_t i = 0; i < g->n[0] - 1; ++i) {
        int64_t at = kp_mac_at(g, i, j, k);
        double out = 0.0;
        for (int c = 0; c < 3; ++c) {
          out += (double)face[c][at + kp_mac_stride(g, c)] - (double)face[c][at];
          top = kp_test_most(top, fabs((double)face[c][at]));
        }
        worst = kp_test_most(worst, fabs(out));
      }
    }
  }
  print_message("  out of a cell: %.2g of the largest velocity; %.0f bytes per cell\n", worst / top,
                kp_stream_bytes_per_cell(s));
  assert_true(top > 0.1);
  assert_between(worst, 0.0, (sizeof(kp_real) == 4 ? 3e-7 : 6e-16) * top);
  kp_stream_destroy(&s);
  kp_backend_destroy(&backend);
}

// The velocity of one charge at a distance falls as r^-2, and its error as r^-6: doubling the
// distance takes it down more than eightfold of the velocity there.
static void test_order(void **state) {
  (void)state;
  const int32_t n[3] = { 24, 24, 24 };
  const int64_t count = 24 * 24 * 24;
  kp_backend *backend;
  kp_stream_report report;
  assert_ok(kp_backend_create(KP_BACKEND_CPU, &backend));
  kp_stream *s = NULL;
  assert_ok(kp_stream_create(backend, &s));
  assert_ok(kp_stream_fit(s, n));
  for (int c = 0; c < 3; ++c) {
    kp_real *q = kp_buffer_host(kp_stream_vorticity(s, c), KP_ACCESS_OVERWRITE);
    memset(q, 0, (size_t)count * sizeof *q);
    // a smooth blob: the spline of a vorton at the middle of cell 12
    for (int64_t i = 0; i < count && c == 2; ++i) {
      const double at[3] = { (double)(i % n[0]), (double)(i / n[0] % n[1]),
                             (double)(i / n[0] / n[1]) };
      double w = 1.0;
      for (int d = 0; d < 3; ++d) {
        double x = fabs(at[d] - 12.0);
        w *= (pow(fmax(2.0 - x, 0.0), 3.0) - 4.0 * pow(fmax(1.0 - x, 0.0), 3.0)) / 6.0;
      }
      q[i] = (kp_real)w;
    }
  }
  assert_ok(kp_stream_solve(s, 1.0, &report));
  kp_buffer u[3];
  kp_buffer *out[3] = { &u[0], &u[1], &u[2] };
  for (int c = 0; c < 3; ++c) {
    kp_buffer_init(&u[c], backend);
    assert_ok(kp_buffer_resize(&u[c], (size_t)count * sizeof(kp_real)));
  }
  assert_ok(kp_stream_center(s, out));
  double error[2] = { 0.0, 0.0 };
  for (int64_t i = 0; i < count; ++i) {
    // z edges lie at whole x and y and half z; the middle of a cell at halves of all
    double x = (double)(i % n[0]) + 0.5 - 12.0;
    double y = (double)(i / n[0] % n[1]) + 0.5 - 12.0;
    double z = (double)(i / n[0] / n[1]) - 12.0;
    double r = sqrt(x * x + y * y + z * z);
    double scale = 1.0 / (FOUR_PI * r * r * r);
    double wx = (double)((const kp_real *)kp_buffer_host(&u[0], KP_ACCESS_READ))[i] + scale * y;
    double wy = (double)((const kp_real *)kp_buffer_host(&u[1], KP_ACCESS_READ))[i] - scale * x;
    double wrong = sqrt(wx * wx + wy * wy) * FOUR_PI * r * r;
    int k = r > 3.5 && r < 4.5 ? 0 : (r > 7.0 && r < 9.0 ? 1 : -1);
    if (k >= 0) {
      error[k] = kp_test_most(error[k], wrong);
    }
  }
  print_message("  at 4 cells %.2g of the velocity, at 8 cells %.2g\n", error[0], error[1]);
  assert_between(error[0], 1e-3, 0.03);
  assert_between(error[1], 1e-6, error[0] / 8.0);
  for (int c = 0; c < 3; ++c) {
    kp_buffer_free(&u[c]);
  }
  kp_stream_destroy(&s);
  kp_backend_destroy(&backend);
}

static uint64_t hash_of(kp_backend_kind kind, bool is_used_before) {
  const int32_t other[3] = { 30, 9, 10 };
  const int32_t n[3] = { 15, 12, 10 };
  kp_backend *backend;
  kp_stream_report report;
  uint64_t hash = 0;
  assert_ok(kp_backend_create(kind, &backend));
  kp_stream *s = make(backend, is_used_before ? other : n, &report);
  for (int k = 0; k < 2; ++k) {
    // a box that was larger before, and the matrix of the solve before
    assert_ok(kp_stream_fit(s, n));
    fill(s, n, 5);
    assert_ok(kp_stream_solve(s, 0.25, &report));
  }
  for (int c = 0; c < 3; ++c) {
    kp_buffer *psi = kp_stream_function(s, c);
    hash = kp_hash_bytes(kp_buffer_host(psi, KP_ACCESS_READ), psi->used, hash);
  }
  kp_stream_destroy(&s);
  kp_backend_destroy(&backend);
  return hash;
}

// One answer for any number of threads, on the mirror, and whatever the box was before.
static void test_bits(void **state) {
  (void)state;
  uint64_t hash = hash_of(KP_BACKEND_CPU, false);
  for (int threads = 1; threads <= 3; ++threads) {
    kp_parallel_set_threads(threads);
    assert_true(hash_of(KP_BACKEND_CPU, false) == hash);
  }
  kp_parallel_set_threads(0);
  assert_true(hash_of(KP_BACKEND_CPU, true) == hash);
  assert_true(hash_of(KP_BACKEND_MIRROR, true) == hash);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_rim),
    cmocka_unit_test(test_divergence),
    cmocka_unit_test(test_order),
    cmocka_unit_test(test_bits),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
