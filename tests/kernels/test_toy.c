// The loop macros and the launches of every backend against naive loops, for every instruction set
// and thread count. On cpu and mirror bits are equal; a card may fuse multiply and add.
#include "support/test.h"

#include "math/wide.h"
#include "par/kernel_define.h"
#include "par/parallel.h"

#include "kernels/chosen_backend.h"
#include "kernels/toy_kernels.h"
#include "kernels/toy_lanes.h"

TOY_KERNELS(KP_DECLARE_POINT, KP_DECLARE_REDUCE, KP_DECLARE_ROW, KP_DECLARE_PAIR)
TOY_TEAM_KERNELS(KP_DECLARE_TEAM)

#define MAX_THREADS 4

static const int64_t sizes[] = { 1, 2, 17, 1000, 4095, 4096, 4097, 8192, 50001 };

#define N_SIZES (sizeof sizes / sizeof sizes[0])

static kp_real *random_reals(int64_t n, uint64_t seed) {
  kp_real *x = host_alloc((size_t)n * sizeof *x);
  kp_test_random random = kp_test_random_begin(seed);
  for (int64_t i = 0; i < n; ++i) {
    x[i] = (kp_real)kp_test_uniform(&random, -2.0, 2.0);
  }
  return x;
}

static void assert_reals(const kp_backend *b, const kp_real *got, const kp_real *wanted,
                         int64_t n) {
  if (b->vt->kind != KP_BACKEND_CUDA) {
    assert_memory_equal(got, wanted, (size_t)n * sizeof *got);
    return;
  }
  for (int64_t i = 0; i < n; ++i) {
    double scale = 1.0 + fabs((double)wanted[i]);
    assert_near(got[i], wanted[i], scale * KP_TOL(1e-4, 1e-12));
  }
}

typedef void (*case_fn)(kp_backend *b, int64_t n);

// A case for every backend, instruction set and number of threads.
static void run_everywhere(case_fn fn, int64_t n) {
  kp_isa best = kp_isa_current();
  for (int b = 0; b < n_test_backends; ++b) {
    for (int isa = 0; isa <= (int)best; ++isa) {
      kp_isa_force((kp_isa)isa);
      for (int threads = 1; threads <= MAX_THREADS; ++threads) {
        kp_parallel_set_threads(threads);
        fn(test_backends[b], n);
      }
    }
  }
  kp_isa_force(best);
  kp_parallel_set_threads(0);
}

static void tables_are_filled(void **state) {
  (void)state;
  assert_string_equal(toy_scale_kernel.name, "toy.scale");
  assert_int_equal(toy_scale_kernel.kind, KP_KERNEL_POINT);
  assert_int_equal(toy_scale_kernel.args_size, sizeof(toy_scale_args));
  assert_int_equal(toy_norm_kernel.kind, KP_KERNEL_REDUCE);
  assert_int_equal(toy_norm_kernel.n_values, 5);
  assert_int_equal(toy_norm_kernel.ops[3], KP_REDUCE_MAX);
  assert_int_equal(toy_many_kernel.n_values, KP_REDUCE_VALUES);
  assert_int_equal(toy_laplace_kernel.kind, KP_KERNEL_ROW);
  assert_non_null(toy_laplace_kernel.row[KP_ISA_BASE]);
  assert_null(toy_laplace_kernel.point[KP_ISA_BASE]);
#ifdef KP_WITH_CUDA
  assert_non_null(toy_mix_kernel.cuda);
#else
  assert_null(toy_mix_kernel.cuda);
#endif
}

static void check_points(kp_backend *b, int64_t n) {
  size_t size = (size_t)n * sizeof(kp_real);
  kp_real *x = random_reals(n, 1);
  kp_real *y = random_reals(n, 2);
  kp_real *wanted = host_alloc(size);
  kp_real *got = host_alloc(size);
  kp_real *device_x = upload(b, x, size);
  kp_real *device_y = upload(b, y, size);

  // the naive loop, in the test's own plain compilation
  toy_mix_args naive = { x, y, wanted };
  for (int64_t i = 0; i < n; ++i) {
    toy_mix(i, &naive);
  }
  toy_mix_args mix = { device_x, device_y, kp_device_alloc(b, size) };
  assert_ok(kp_launch(b, &toy_mix_kernel, n, &mix));
  download(b, got, mix.z, size);
  assert_reals(b, got, wanted, n);

  toy_scale_args scale = { device_x, device_y, (kp_real)0.3 };
  assert_ok(kp_launch(b, &toy_scale_kernel, n, &scale));
  kp_device_free(b, device_x);
  download(b, got, device_y, size);
  for (int64_t i = 0; i < n; ++i) {
    wanted[i] = (kp_real)0.3 * x[i] + (kp_real)i;
  }
  assert_reals(b, got, wanted, n);
  kp_free(x);
  kp_free(y);
  kp_free(wanted);
  kp_free(got);
}

// What a card may make of a race, the mirror makes of it too: not what the cpu makes.
static void races_show_on_the_mirror(void **state) {
  (void)state;
  kp_backend_kind kinds[2] = { KP_BACKEND_CPU, KP_BACKEND_MIRROR };
  kp_real x[2][64];
  for (int k = 0; k < 2; ++k) {
    kp_backend *b;
    assert_ok(kp_backend_create(kinds[k], &b));
    memset(x[k], 0, sizeof x[k]);
    toy_lean_args lean = { upload(b, x[k], sizeof x[k]) };
    assert_ok(kp_launch(b, &toy_lean_kernel, 64, &lean));
    download(b, x[k], lean.x, sizeof x[k]);
    kp_backend_destroy(&b);
  }
  assert_memory_not_equal(x[0], x[1], sizeof x[0]);
  assert_near(x[1][63], 1.0, 0.0);  // backwards, every element sees its neighbour untouched
}

static void points_match_the_naive_loop(void **state) {
  (void)state;
  for (size_t s = 0; s < N_SIZES; ++s) {
    run_everywhere(check_points, sizes[s]);
  }
}

// The fixed tree, written out: blocks in order, then the blocks in order.
static void naive_norm(const kp_real *x, int64_t n, double *values) {
  const double neutral[5] = { 0, 0, HUGE_VAL, -HUGE_VAL, 0 };
  memcpy(values, neutral, sizeof neutral);
  for (int64_t begin = 0; begin < n; begin += KP_REDUCE_BLOCK) {
    double v[5];
    memcpy(v, neutral, sizeof neutral);
    for (int64_t i = begin; i < n && i < begin + KP_REDUCE_BLOCK; ++i) {
      double xi = (double)x[i];
      v[0] += xi;
      v[1] += xi * xi;
      v[2] = xi < v[2] ? xi : v[2];
      v[3] = xi > v[3] ? xi : v[3];
      v[4] += 1.0;
    }
    values[0] += v[0];
    values[1] += v[1];
    values[2] = v[2] < values[2] ? v[2] : values[2];
    values[3] = v[3] > values[3] ? v[3] : values[3];
    values[4] += v[4];
  }
}

static void check_norm(kp_backend *b, int64_t n) {
  kp_real *x = random_reals(n, 3);
  double wanted[5];
  naive_norm(x, n, wanted);
  kp_real *device_x = upload(b, x, (size_t)n * sizeof *x);
  toy_norm_args args = { device_x };
  double first[5];
  double again[5];
  assert_ok(kp_reduce(b, &toy_norm_kernel, n, &args, first));
  assert_ok(kp_reduce(b, &toy_norm_kernel, n, &args, again));
  kp_device_free(b, device_x);
  kp_free(x);

  assert_memory_equal(first, again, sizeof first);
  if (b->vt->kind != KP_BACKEND_CUDA) {
    assert_memory_equal(first, wanted, sizeof first);
  }
  assert_near(first[0], wanted[0], 1e-9);
  assert_near_relative(first[1], wanted[1], 1e-12);
  assert_true(first[2] == wanted[2] && first[3] == wanted[3] && first[4] == (double)n);
}

static void check_many(kp_backend *b, int64_t n) {
  toy_many_args args = { 5 };
  double values[KP_REDUCE_VALUES];
  assert_ok(kp_reduce(b, &toy_many_kernel, n, &args, values));
  for (int k = 0; k < KP_REDUCE_VALUES; ++k) {
    int64_t wanted = 0;
    for (int64_t i = 0; i < n; ++i) {
      wanted += (i + 5) % (k + 2);
    }
    // whole numbers: exact in any order
    assert_true(values[k] == (double)wanted);
  }
}

static void reductions_follow_the_fixed_tree(void **state) {
  (void)state;
  for (size_t s = 0; s < N_SIZES; ++s) {
    run_everywhere(check_norm, sizes[s]);
    run_everywhere(check_many, sizes[s]);
  }
}

static void check_nothing(kp_backend *b, int64_t n) {
  int64_t launches = b->counters.launches;
  toy_norm_args norm = { NULL };
  double v[5];
  assert_ok(kp_reduce(b, &toy_norm_kernel, n, &norm, v));
  assert_true(v[0] == 0.0 && v[1] == 0.0 && v[4] == 0.0);
  assert_true(v[2] == HUGE_VAL && v[3] == -HUGE_VAL);
  toy_scale_args scale = { NULL, NULL, 1 };
  assert_ok(kp_launch(b, &toy_scale_kernel, n, &scale));
  toy_laplace_args laplace = { NULL, NULL, 0, 0 };
  assert_ok(kp_rows(b, &toy_laplace_kernel, NULL, n, &laplace));
  assert_int_equal(b->counters.launches, launches);
}

static void nothing_is_reduced_to_neutral(void **state) {
  (void)state;
  run_everywhere(check_nothing, 0);
}

static void check_nan(kp_backend *b, int64_t n) {
  kp_real *x = random_reals(n, 4);
  x[n / 2] = (kp_real)NAN;
  kp_real *device_x = upload(b, x, (size_t)n * sizeof *x);
  toy_norm_args args = { device_x };
  double v[5];
  assert_ok(kp_reduce(b, &toy_norm_kernel, n, &args, v));
  assert_true(isnan(v[0]) && isnan(v[1]));
  assert_true(fabs(v[2]) <= 2.0 && fabs(v[3]) <= 2.0);
  kp_device_free(b, device_x);
  kp_free(x);
}

static void nan_poisons_sums_only(void **state) {
  (void)state;
  run_everywhere(check_nan, 9000);
}

enum { NX = 97, NY = 40, NZ = 5, N_CELLS = NX * NY * NZ };

// Interior rows of all layers, cut unevenly; some runs are empty.
static int64_t make_segments(kp_row_segment *segments) {
  int64_t n = 0;
  for (int32_t k = 0; k < NZ; ++k) {
    for (int32_t j = 1; j + 1 < NY; ++j) {
      int32_t cut = 1 + (j * 7 + k * 13) % (NX - 1);
      segments[n++] = (kp_row_segment){ j, k, 1, cut };
      segments[n++] = (kp_row_segment){ j, k, cut, NX - 1 };
    }
  }
  return n;
}

static void check_rows(kp_backend *b, int64_t n) {
  kp_row_segment segments[2 * NY * NZ];
  int64_t n_segments = make_segments(segments);
  size_t size = (size_t)n * sizeof(kp_real);
  kp_real *u = random_reals(n, 5);
  kp_real *wanted = host_alloc(size);
  kp_real *got = host_alloc(size);
  memset(wanted, 0, size);
  for (int64_t i = 0; i < n; ++i) {
    int64_t x = i % NX;
    int64_t y = i / NX % NY;
    if (x > 0 && x < NX - 1 && y > 0 && y < NY - 1) {
      wanted[i] = u[i - 1] + u[i + 1] + u[i - NX] + u[i + NX] - 4 * u[i];
    }
  }
  kp_real *device_u = upload(b, u, size);
  kp_row_segment *device_segments =
      upload(b, segments, (size_t)n_segments * sizeof *device_segments);
  toy_laplace_args args = { device_u, kp_device_alloc(b, size), NX, NY };
  assert_ok(kp_fill(b, args.out, 0, size));
  assert_ok(kp_rows(b, &toy_laplace_kernel, device_segments, n_segments, &args));
  kp_device_free(b, device_u);
  kp_device_free(b, device_segments);
  download(b, got, args.out, size);
  assert_reals(b, got, wanted, n);
  kp_free(u);
  kp_free(wanted);
  kp_free(got);
}

static void rows_match_the_naive_loop(void **state) {
  (void)state;
  run_everywhere(check_rows, N_CELLS);
}

// ---- lanes

#define N_WIDE 64
#define N_LANES (N_WIDE * KP_LANES)

typedef struct lane_outputs {
  _Alignas(128) kp_real less_select[N_LANES], both[N_LANES], smaller[N_LANES], larger[N_LANES];
  _Alignas(128) kp_real root[N_LANES], arithmetic[N_LANES];
  kp_real sum[N_WIDE], largest[N_WIDE];
} lane_outputs;

// The tree of kp_w_sum: halves folded onto each other.
static kp_real fold_sum(const kp_real *a) {
  kp_real s[KP_LANES];
  memcpy(s, a, sizeof s);
  for (int half = KP_LANES / 2; half > 0; half /= 2) {
    for (int k = 0; k < half; ++k) {
      s[k] = s[k] + s[k + half];
    }
  }
  return s[0];
}

static void naive_lanes(const kp_real *a, const kp_real *b, lane_outputs *out) {
  for (int i = 0; i < N_LANES; ++i) {
    bool is_less = a[i] < b[i];
    out->less_select[i] = is_less ? a[i] : -1;
    out->both[i] = is_less && 1 < b[i] ? 1 : a[i];
    out->smaller[i] = is_less ? a[i] : b[i];
    out->larger[i] = b[i] < a[i] ? a[i] : b[i];
    kp_real square = a[i] * a[i] + b[i] * b[i];
    out->root[i] =
        sizeof(kp_real) == 4 ? (kp_real)sqrtf((float)square) : (kp_real)sqrt((double)square);
    out->arithmetic[i] = (a[i] + b[i]) * (a[i] - b[i]) / (1 + b[i] * b[i]);
  }
  for (int w = 0; w < N_WIDE; ++w) {
    out->sum[w] = fold_sum(a + w * KP_LANES);
    out->largest[w] = a[w * KP_LANES];
    for (int k = 1; k < KP_LANES; ++k) {
      kp_real x = a[w * KP_LANES + k];
      out->largest[w] = x > out->largest[w] ? x : out->largest[w];
    }
  }
}

static void check_lanes(kp_point_fn fn) {
  static _Alignas(128) kp_real a[N_LANES], b[N_LANES];
  static lane_outputs wanted, got;
  kp_test_random random = kp_test_random_begin(6);
  for (int i = 0; i < N_LANES; ++i) {
    a[i] = (kp_real)kp_test_uniform(&random, -3.0, 3.0);
    b[i] = i % 5 == 0 ? a[i] : (kp_real)kp_test_uniform(&random, -3.0, 3.0);
  }
  memset(&wanted, 0, sizeof wanted);
  memset(&got, 0, sizeof got);
  naive_lanes(a, b, &wanted);
  toy_lanes_args args = {
    .a = a,
    .b = b,
    .less_select = got.less_select,
    .both = got.both,
    .smaller = got.smaller,
    .larger = got.larger,
    .root = got.root,
    .arithmetic = got.arithmetic,
    .sum = got.sum,
    .largest = got.largest,
  };
  fn(0, N_WIDE, &args);
  assert_memory_equal(&got, &wanted, sizeof got);
}

static void lanes_are_scalars_side_by_side(void **state) {
  (void)state;
  kp_isa best = kp_isa_current();
  check_lanes(toy_lanes_cpu_base);
#ifdef KP_WITH_ISA_V3
  if (best >= KP_ISA_V3) {
    check_lanes(toy_lanes_cpu_v3);
  }
#endif
#ifdef KP_WITH_ISA_V4
  if (best >= KP_ISA_V4) {
    check_lanes(toy_lanes_cpu_v4);
  }
#endif
  (void)best;
}

static void check_team(kp_backend *b, int64_t n) {
  size_t size = (size_t)n * sizeof(kp_real);
  int64_t n_tiles = (n - 1) / KP_TEAM_TILE + 1;
  kp_real *x[2] = { random_reals(n, 5), host_alloc(size) };
  kp_real *got = host_alloc(size);
  toy_ring_args ring = { .n = n, .n_passes = 5 };
  ring.x[0] = upload(b, x[0], size);
  ring.x[1] = kp_device_alloc(b, size);
  ring.sums = kp_device_alloc(b, (size_t)n_tiles * sizeof *ring.sums);
  assert_ok(kp_team_launch(b, &toy_ring_kernel, n_tiles, &ring));
  kp_device_free(b, ring.x[0]);
  kp_device_free(b, ring.sums);
  download(b, got, ring.x[1], size);

  double total = 0.0;
  for (int pass = 0; pass < ring.n_passes; ++pass) {
    const kp_real *from = x[pass % 2];
    for (int64_t i = 0; i < n; ++i) {
      x[(pass + 1) % 2][i] = (from[(i + n - 1) % n] + from[(i + 1) % n]) / 2;
    }
  }
  for (int64_t tile = 0; tile < n_tiles; ++tile) {
    double sum = 0.0;
    for (int64_t i = tile * KP_TEAM_TILE; i < n && i < (tile + 1) * KP_TEAM_TILE; ++i) {
      sum += (double)x[1][i];
    }
    total += sum;
  }
  for (int64_t i = 0; i < n; ++i) {
    x[1][i] -= (kp_real)(total / (double)n);
  }
  assert_reals(b, got, x[1], n);
  kp_free(x[0]);
  kp_free(x[1]);
  kp_free(got);
}

static void teams_match_the_naive_loops(void **state) {
  (void)state;
  for (size_t s = 0; s < N_SIZES; ++s) {
    run_everywhere(check_team, sizes[s]);
  }
}

int main(int argc, char **argv) {
  int closed = open_backends(argc, argv);
  if (closed != 0) {
    return closed;
  }
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(tables_are_filled),
    cmocka_unit_test(races_show_on_the_mirror),
    cmocka_unit_test(points_match_the_naive_loop),
    cmocka_unit_test(reductions_follow_the_fixed_tree),
    cmocka_unit_test(nothing_is_reduced_to_neutral),
    cmocka_unit_test(nan_poisons_sums_only),
    cmocka_unit_test(rows_match_the_naive_loop),
    cmocka_unit_test(teams_match_the_naive_loops),
    cmocka_unit_test(lanes_are_scalars_side_by_side),
  };
  int result = cmocka_run_group_tests(tests, NULL, NULL);
  close_backends();
  return result;
}
