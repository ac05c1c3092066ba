// What one particle of any medium does at faces, in sinks and in reports, axis by axis. Places are
// quarters of a metre, so that many lie exactly on faces: what is on a face is inside.
#include "support/test.h"

#include <math.h>
#include <stdlib.h>

#include "methods/common/medium_kernels.h"

#define N 4096

typedef struct swarm {
  kp_pos x[3][N];
  kp_real v[3][N], a[3][N], density[N];
} swarm;

static swarm *make(uint64_t seed) {
  swarm *s = calloc(1, sizeof *s);
  assert_non_null(s);
  kp_test_random r = kp_test_random_begin(seed);
  for (int i = 0; i < N; ++i) {
    for (int c = 0; c < 3; ++c) {
      s->x[c][i] = 0.25 * (double)kp_test_integer(&r, -2, 10);
      s->v[c][i] = (kp_real)(0.25 * (double)kp_test_integer(&r, -8, 8));
      s->a[c][i] = (kp_real)kp_test_integer(&r, -9, 9);
    }
    s->density[i] = (kp_real)(500 + 250 * kp_test_integer(&r, 0, 5));
  }
  return s;
}

// Of a box: -1 outside, 0 on a face, 1 inside.
static int side_of(const swarm *s, int i, const double lo[3], const double hi[3]) {
  int side = 1;
  for (int c = 0; c < 3; ++c) {
    double depth = fmin(s->x[c][i] - lo[c], hi[c] - s->x[c][i]);
    int here = (depth > 0.0) - (depth < 0.0);
    side = here < side ? here : side;
  }
  return side;
}

static void test_keep(void **state) {
  (void)state;
  swarm *s = make(1);
  uint32_t keep[N];
  medium_keep_args a = { .lo = { 0, 0.25, -HUGE_VAL },
                         .hi = { 2, 1.75, 1.5 },
                         .x = s->x[0],
                         .y = s->x[1],
                         .z = s->x[2],
                         .keep = keep };
  int n_kept = 0, n_on = 0;
  for (int i = 0; i < N; ++i) {
    medium_keep(i, &a);
    assert_int_equal(keep[i], side_of(s, i, a.lo, a.hi) >= 0);
    n_kept += (int)keep[i];
    n_on += side_of(s, i, a.lo, a.hi) == 0;
  }
  assert_true(n_kept > N / 10 && n_on > N / 10);
  free(s);
}

// A region that stands at `origin` with its axes turned by a quarter around z.
static kp_region_view region_of(kp_shape_view shape, kp_vec3 origin) {
  return (kp_region_view){ .shape = shape,
                           .origin = { origin.x, origin.y, origin.z },
                           .axes = { { 0, 1, 0 }, { -1, 0, 0 }, { 0, 0, 1 } } };
}

// What was to be kept and is not inside a sink stays so.
static void test_drain(void **state) {
  (void)state;
  swarm *s = make(5);
  // in the world the box reaches from (1, 1, 1) to (1.5, 2, 1.75)
  const double box_lo[3] = { 1, 1, 1 }, box_hi[3] = { 1.5, 2, 1.75 };
  const kp_region_view box = region_of(
      (kp_shape_view){
          .kind = KP_SHAPE_BOX, .dimension = 3, .p = { 1, -0.5, 0 }, .q = { 2, 0, 0.75 } },
      kp_vec3_make(1, 0, 1));
  const kp_region_view ball = region_of(
      (kp_shape_view){
          .kind = KP_SHAPE_SPHERE, .dimension = 3, .p = { 0.5, 0, 0 }, .radius = 0.75 },
      kp_vec3_make(0.5, 0, 0));
  uint32_t keep[N];
  int n_drained[2] = { 0, 0 };
  for (int i = 0; i < N; ++i) {
    medium_drain_args a = { .x = s->x[0], .y = s->x[1], .z = s->x[2], .keep = keep };
    double x = s->x[0][i] - 0.5, y = s->x[1][i] - 0.5, z = s->x[2][i];
    bool is_in[2] = { side_of(s, i, box_lo, box_hi) > 0, x * x + y * y + z * z < 0.75 * 0.75 };
    for (int k = 0; k < 2; ++k) {
      a.sink = k == 0 ? box : ball;
      keep[i] = 1;
      medium_drain(i, &a);
      assert_int_equal(keep[i], !is_in[k]);
      keep[i] = 0;
      medium_drain(i, &a);
      assert_int_equal(keep[i], 0);
      n_drained[k] += is_in[k];
    }
  }
  assert_true(n_drained[0] > 4 && n_drained[1] > 4);
  free(s);
}

static void test_report(void **state) {
  (void)state;
  swarm *s = make(2);
  medium_report_args a = { .lo = { 0, 0.25, -HUGE_VAL },
                           .hi = { 2, 1.75, 1.5 },
                           .rest_density = 1000,
                           .runaway2 = 4.0,
                           .x = s->x[0],
                           .y = s->x[1],
                           .z = s->x[2],
                           .vx = s->v[0],
                           .vy = s->v[1],
                           .vz = s->v[2],
                           .ax = s->a[0],
                           .ay = s->a[1],
                           .az = s->a[2],
                           .density = s->density };
  s->v[1][7] = s->a[2][8] = (kp_real)NAN;
  s->x[0][9] = NAN;
  s->x[2][10] = HUGE_VAL;
  for (int i = 0; i < N; ++i) {
    double v[11], speed2 = 0.0, pull2 = 0.0;
    for (int c = 0; c < 3; ++c) {
      speed2 += pow((double)s->v[c][i], 2.0);
      pull2 += pow((double)s->a[c][i], 2.0);
    }
    medium_report(i, &a, v);
    bool is_bad = (i >= 7 && i <= 10) || !(speed2 < 4.0);
    assert_true(v[2] == (is_bad ? 1.0 : 0.0));
    if (i >= 7 && i <= 10) {
      continue;
    }
    assert_near(v[0], speed2, 1e-12);
    assert_near(v[1], pull2, 1e-12);
    assert_true(v[3] == (side_of(s, i, a.lo, a.hi) < 0 ? 1.0 : 0.0));
    for (int c = 0; c < 3; ++c) {
      assert_true(v[4 + c] == s->x[c][i] && v[7 + c] == s->x[c][i]);
    }
    assert_near(v[10], fabs((double)s->density[i] / 1000.0 - 1.0), 1e-12);
  }
  a.density = NULL;
  double v[11];
  medium_report(0, &a, v);
  assert_true(v[10] == 0.0);
  free(s);
}

static void test_domain(void **state) {
  (void)state;
  swarm *s = make(3), *was = make(3);
  uint8_t fresh[N] = { 0 };
  medium_domain_args a = { .lo = { 0, 0.25, 0 },
                           .hi = { 2, 1.75, 1.5 },
                           .closed_lo = { 1, 1, 0 },
                           .closed_hi = { 1, 0, 1 },
                           .restitution = (kp_real)0.5,
                           .keep = (kp_real)0.75,
                           .x = s->x[0],
                           .y = s->x[1],
                           .z = s->x[2],
                           .vx = s->v[0],
                           .vy = s->v[1],
                           .vz = s->v[2],
                           .fresh = fresh };
  for (int i = 0; i < N; ++i) {
    bool hits[3];
    for (int c = 0; c < 3; ++c) {
      hits[c] =
          (a.closed_lo[c] && was->x[c][i] < a.lo[c]) || (a.closed_hi[c] && was->x[c][i] > a.hi[c]);
    }
    medium_domain(i, &a);
    assert_true(fresh[i] == (hits[0] || hits[1] || hits[2]));
    for (int c = 0; c < 3; ++c) {
      double x = was->x[c][i], v = (double)was->v[c][i];
      bool is_low = x < a.lo[c];
      bool goes_out = is_low ? v < 0.0 : v > 0.0;
      double rubbed = hits[(c + 1) % 3] || hits[(c + 2) % 3] ? 0.75 : 1.0;
      assert_true(s->x[c][i] == (!hits[c] ? x : is_low ? a.lo[c] : a.hi[c]));
      assert_near(s->v[c][i], rubbed * (hits[c] && goes_out ? -0.5 * v : v), 1e-12);
    }
  }
  free(s);
  free(was);
}

static void test_stats(void **state) {
  (void)state;
  swarm *s = make(4);
  const double g[3] = { 1, -9, 2 };
  medium_stats_args a = { .gx = g[0],
                          .gy = g[1],
                          .gz = g[2],
                          .mass = 3,
                          .x = s->x[0],
                          .y = s->x[1],
                          .z = s->x[2],
                          .vx = s->v[0],
                          .vy = s->v[1],
                          .vz = s->v[2] };
  for (int i = 0; i < N; ++i) {
    a.mass_of = i % 2 ? s->density : NULL;
    double mass = i % 2 ? (double)s->density[i] : 3.0, v[6], kinetic = 0.0, height = 0.0;
    medium_stats(i, &a, v);
    assert_near(v[0], mass, 1e-12);
    for (int c = 0; c < 3; ++c) {
      assert_near(v[1 + c], mass * (double)s->v[c][i], 1e-9);
      kinetic += 0.5 * mass * pow((double)s->v[c][i], 2.0);
      height -= g[c] * s->x[c][i];
    }
    assert_near(v[4], kinetic, 1e-9);
    assert_near(v[5], mass * height, 1e-8);
  }
  free(s);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_keep),   cmocka_unit_test(test_drain), cmocka_unit_test(test_report),
    cmocka_unit_test(test_domain), cmocka_unit_test(test_stats),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
