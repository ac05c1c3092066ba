// The staggered grid: layout, window, ghosts, and reading between its places.
#include <math.h>
#include <stdint.h>

static int64_t occluded_visits;
#define KP_MAC_ON_OCCLUDED(g, at) ((void)(g), (void)(at), ++occluded_visits)

#include "support/test.h"

#include "data/mac.h"
#include "data/mac_sample.h"
#include "data/mac_spot.h"

typedef struct grid {
  kp_backend *backend;
  kp_registry *registry;
  kp_mac *mac;
} grid;

static grid make(kp_backend_kind kind, int dimension, kp_mac_side_kind sides, double nx, double ny,
                 double nz) {
  grid g = { 0 };
  kp_mac_def def = { .name = "g",
                     .box = { { -1.0, 2.0, 0.5 }, { -1.0 + nx, 2.0 + ny, 0.5 + nz } },
                     .cell = 1.0,
                     .dimension = dimension };
  for (int s = 0; s < 6; ++s) {
    def.sides[s / 2][s % 2] = (kp_mac_side){ .kind = sides, .velocity = { 0.5, -0.25, 0.125 } };
  }
  assert_ok(kp_backend_create(kind, &g.backend));
  assert_ok(kp_registry_create(g.backend, &g.registry));
  assert_ok(kp_mac_create(g.registry, &def, &g.mac));
  return g;
}

static void done(grid *g) {
  kp_mac_destroy(&g->mac);
  kp_registry_destroy(&g->registry);
  kp_backend_destroy(&g->backend);
}

// What lies at an item of a kind of place, from a linear function of the world's coordinates.
static double linear_at(const kp_mac_view *v, int kind, int64_t at) {
  int64_t cell[3];
  kp_mac_cell_of(v, at, cell);
  const double slope[3] = { 1.0, -2.0, 0.5 };
  double f = 3.0;
  for (int c = 0; c < v->dimension; ++c) {
    double shift = kind == c || kind == KP_MAC_NODE ? 0.0 : 0.5;
    f += slope[c] * (v->lo[c] + v->cell * ((double)cell[c] + shift));
  }
  return f;
}

static double linear_of(const kp_mac_view *v, const double p[3]) {
  return 3.0 + p[0] - 2.0 * p[1] + (v->dimension == 3 ? 0.5 * p[2] : 0.0);
}

static void test_layout(void **state) {
  (void)state;
  for (int dimension = 2; dimension <= 3; ++dimension) {
    grid g = make(KP_BACKEND_CPU, dimension, KP_MAC_WALL, 7, 5, 3);
    const kp_mac_view *v = &g.mac->view;
    assert_int_equal(v->n[0], 7);
    assert_int_equal(v->n[1], 5);
    assert_int_equal(v->n[2], dimension == 2 ? 1 : 3);
    assert_int_equal(v->count, dimension == 2 ? 11 * 9 : 11 * 9 * 7);
    assert_int_equal(kp_mac_n_all(g.mac), dimension == 2 ? 35 : 105);
    for (int64_t at = 0; at < v->count; ++at) {
      int64_t c[3];
      kp_mac_cell_of(v, at, c);
      assert_int_equal(kp_mac_at(v, c[0], c[1], c[2]), at);
    }
    // the last faces and corners have a place
    assert_true(kp_mac_at(v, 8, 6, dimension == 2 ? 0 : 4) < v->count);
    done(&g);
  }
}

// Interpolation gives back linear functions wherever it may read, for every kind of place.
static void test_linear(void **state) {
  (void)state;
  for (int dimension = 2; dimension <= 3; ++dimension) {
    grid g = make(KP_BACKEND_CPU, dimension, KP_MAC_WALL, 7, 5, 3);
    const kp_mac_view *v = &g.mac->view;
    kp_buffer values;
    assert_ok(kp_mac_scratch(g.mac, KP_TYPE_REAL, &values));
    kp_real *f = kp_buffer_host(&values, KP_ACCESS_OVERWRITE);
    for (int kind = 0; kind < KP_MAC_KIND_COUNT; ++kind) {
      for (int64_t at = 0; at < v->count; ++at) {
        f[at] = (kp_real)linear_at(v, kind, at);
      }
      kp_test_random random = kp_test_random_begin(7);
      for (int t = 0; t < 500; ++t) {
        const double p[3] = { v->lo[0] + 7.0 * kp_test_uniform(&random, 0.0, 1.0),
                              v->lo[1] + 5.0 * kp_test_uniform(&random, 0.0, 1.0),
                              v->lo[2] + 3.0 * kp_test_uniform(&random, 0.0, 1.0) };
        kp_mac_point q = kp_mac_point_at(v, kind, p[0], p[1], p[2]);
        double want = linear_of(v, p);
        assert_near(kp_mac_linear(v, f, q), want, KP_TOL(2e-5, 1e-13));
        assert_near(kp_mac_cubic(v, f, q), want, KP_TOL(2e-5, 1e-13));
        kp_real lo;
        kp_real hi;
        kp_mac_extremes(v, f, q, &lo, &hi);
        double slack = KP_TOL(2e-5, 1e-13);
        assert_true(lo <= want + slack && want - slack <= hi);
      }
    }
    kp_buffer_free(&values);
    done(&g);
  }
}

// Beyond the walls a place is the nearest one inside; across periodic sides it comes around; a NaN
// is somewhere.
static void test_limits(void **state) {
  (void)state;
  grid g = make(KP_BACKEND_CPU, 3, KP_MAC_WALL, 7, 5, 3);
  const kp_mac_view *v = &g.mac->view;
  kp_mac_point p = kp_mac_move(v, KP_MAC_CELL, 6, 0, 1, 100, -100, (kp_real)NAN);
  assert_int_equal(p.i, 6);
  assert_near(p.x, 0.5, 1e-6);
  assert_int_equal(p.j, -1);
  assert_near(p.y, 0.5, 1e-6);
  assert_true(p.k >= -1 && p.k < 3);
  p = kp_mac_move(v, KP_MAC_FACE_X, 6, 0, 1, 100, 0, 0);
  assert_int_equal(p.i, 6);
  assert_near(p.x, 1.0, 1e-6);
  done(&g);
  g = make(KP_BACKEND_CPU, 3, KP_MAC_PERIODIC, 7, 5, 3);
  p = kp_mac_move(&g.mac->view, KP_MAC_CELL, 6, 0, 1, (kp_real)1.25, (kp_real)-0.5, 3);
  assert_int_equal(p.i, 0);
  assert_near(p.x, 0.25, 1e-6);
  assert_int_equal(p.j, 4);
  assert_near(p.y, 0.5, 1e-6);
  assert_int_equal(p.k, 1);
  done(&g);
}

// The monotone cubic stays between its neighbours, and beats the trilinear on a smooth wave.
static void test_cubic(void **state) {
  (void)state;
  double worst[2] = { 0.0, 0.0 };
  for (int t = 0; t < 400; ++t) {
    double x = 0.37 * t;
    double s = 0.01 * (t % 100);
    kp_real q[4];
    for (int c = 0; c < 4; ++c) {
      q[c] = (kp_real)sin(0.35 * (floor(x) + c - 1));
    }
    double cubic = kp_mac_monotone(q[0], q[1], q[2], q[3], (kp_real)s);
    double want = sin(0.35 * (floor(x) + s));
    assert_true(cubic >= fmin(q[1], q[2]) - 1e-6 && cubic <= fmax(q[1], q[2]) + 1e-6);
    worst[0] = kp_test_most(worst[0], fabs(q[1] + s * (q[2] - q[1]) - want));
    // near extrema the limiter makes it no better than linear
    worst[1] += fabs(cubic - want) / 400.0;
  }
  assert_true(worst[1] < 0.3 * worst[0]);
}

// Every item the sampler may read has the value that the sides ask for.
static void test_ghosts(void **state) {
  (void)state;
  static const kp_backend_kind kinds[] = { KP_BACKEND_CPU, KP_BACKEND_MIRROR };
  for (int b = 0; b < 2; ++b) {
    grid g = make(kinds[b], 3, KP_MAC_PERIODIC, 7, 5, 3);
    const kp_mac_view *v = &g.mac->view;
    kp_buffer values;
    assert_ok(kp_mac_scratch(g.mac, KP_TYPE_REAL, &values));
    kp_real *f = kp_buffer_host(&values, KP_ACCESS_OVERWRITE);
    for (int64_t at = 0; at < v->count; ++at) {
      int64_t c[3];
      kp_mac_cell_of(v, at, c);
      bool inside = c[0] >= 0 && c[0] < 7 && c[1] >= 0 && c[1] < 5 && c[2] >= 0 && c[2] < 3;
      f[at] = inside ? (kp_real)(c[0] + 10 * c[1] + 100 * c[2]) : (kp_real)-1;
    }
    assert_ok(kp_mac_fill_cells(g.mac, &values, NAN));
    f = kp_buffer_host(&values, KP_ACCESS_READ);
    for (int64_t at = 0; at < v->count; ++at) {
      int64_t c[3];
      kp_mac_cell_of(v, at, c);
      assert_near(f[at], (c[0] + 7) % 7 + 10 * ((c[1] + 5) % 5) + 100 * ((c[2] + 3) % 3), 0);
    }
    kp_buffer_free(&values);
    done(&g);
  }
}

static double velocity_at(grid *g, kp_field *velocity, int c, int64_t i, int64_t j, int64_t k) {
  const kp_real *u = kp_buffer_host(&velocity->buffers[c], KP_ACCESS_READ);
  return (double)u[kp_mac_at(&g->mac->view, i, j, k)];
}

static void test_velocity_sides(void **state) {
  (void)state;
  static const kp_field_desc desc = { "velocity", KP_TYPE_REAL, 3, "m/s", KP_FIELD_SAVE, 2.0 };
  kp_field *velocity;
  grid g = make(KP_BACKEND_MIRROR, 3, KP_MAC_WALL, 7, 5, 3);
  assert_ok(kp_mac_add_field(g.mac, &desc, &velocity));
  assert_ok(kp_mac_fill_velocity(g.mac, velocity));
  assert_near(velocity_at(&g, velocity, 0, 0, 2, 1), 0.0, 0);  // nothing passes
  assert_near(velocity_at(&g, velocity, 0, 7, 2, 1), 0.0, 0);
  assert_near(velocity_at(&g, velocity, 0, 3, -1, 1), 2.0, 0);  // free slip
  for (int s = 0; s < 6; ++s) {
    g.mac->sides[s / 2][s % 2].no_slip = true;
  }
  assert_ok(kp_mac_fill_velocity(g.mac, velocity));
  // half-way between the first cell and its ghost is the wall, which slides
  assert_near(0.5 *
                  (velocity_at(&g, velocity, 0, 3, -1, 1) + velocity_at(&g, velocity, 0, 3, 0, 1)),
              0.5, 1e-6);
  assert_near(velocity_at(&g, velocity, 1, 3, 5, 1), 0.0, 0);
  done(&g);
  g = make(KP_BACKEND_CPU, 2, KP_MAC_INFLOW, 7, 5, 1);
  assert_ok(kp_mac_add_field(g.mac, &desc, &velocity));
  assert_ok(kp_mac_fill_velocity(g.mac, velocity));
  assert_near(velocity_at(&g, velocity, 0, 0, 2, 0), 0.5, 0);
  assert_near(velocity_at(&g, velocity, 1, 2, 5, 0), -0.25, 0);
  done(&g);
  g = make(KP_BACKEND_CPU, 3, KP_MAC_OPEN, 7, 5, 3);
  assert_ok(kp_mac_add_field(g.mac, &desc, &velocity));
  kp_real *u = kp_buffer_host(&velocity->buffers[0], KP_ACCESS_WRITE);
  u[kp_mac_at(&g.mac->view, 0, 2, 1)] = 5;
  assert_ok(kp_mac_fill_velocity(g.mac, velocity));
  assert_near(velocity_at(&g, velocity, 0, 0, 2, 1), 5.0, 0);  // what leaves is free
  assert_near(velocity_at(&g, velocity, 0, -1, 2, 1), 5.0, 0);
  done(&g);
}

static int64_t items_of(kp_mac *mac, kp_mac_kind kind) {
  const kp_row_segment *s = kp_buffer_host(&mac->segments[kind], KP_ACCESS_READ);
  int64_t n = 0;
  for (int64_t t = 0; t < mac->n_segments[kind]; ++t) {
    n += s[t].i1 - s[t].i0;
  }
  return n;
}

static void test_window(void **state) {
  (void)state;
  grid g = make(KP_BACKEND_CPU, 3, KP_MAC_WALL, 70, 40, 33);
  assert_int_equal(items_of(g.mac, KP_MAC_CELL), 70 * 40 * 33);
  assert_int_equal(items_of(g.mac, KP_MAC_FACE_Y), 70 * 41 * 33);
  assert_int_equal(items_of(g.mac, KP_MAC_NODE), 71 * 41 * 34);
  const int32_t lo[3] = { 20, 3, 17 };
  const int32_t hi[3] = { 30, 5, 33 };
  assert_ok(kp_mac_set_window(g.mac, lo, hi, 3));
  assert_int_equal(g.mac->window_lo[0], 16);
  assert_int_equal(g.mac->window_hi[0], 48);
  assert_int_equal(g.mac->window_lo[1], 0);
  assert_int_equal(g.mac->window_hi[1], 16);
  assert_int_equal(g.mac->window_lo[2], 0);
  assert_int_equal(g.mac->window_hi[2], 33);
  assert_int_equal(kp_mac_n_cells(g.mac), 32 * 16 * 33);
  assert_int_equal(items_of(g.mac, KP_MAC_FACE_X), 33 * 16 * 33);
  uint64_t revision = g.mac->window_revision;
  const int32_t moved[3] = { 22, 4, 18 };
  assert_ok(kp_mac_set_window(g.mac, moved, hi, 3));  // the same blocks
  assert_int_equal(g.mac->window_revision, revision);
  // a rewind brings the window back
  kp_snapshot *snapshot = NULL;
  assert_ok(kp_registry_save(g.registry, &snapshot));
  const int32_t all[3] = { 70, 40, 33 };
  const int32_t none[3] = { 0, 0, 0 };
  assert_ok(kp_mac_set_window(g.mac, none, all, 0));
  assert_ok(kp_registry_rewind(g.registry, snapshot));
  assert_ok(kp_mac_loaded(g.mac));
  assert_int_equal(kp_mac_n_cells(g.mac), 32 * 16 * 33);
  kp_snapshot_free(&snapshot);
  done(&g);
  g = make(KP_BACKEND_CPU, 2, KP_MAC_PERIODIC, 20, 20, 1);
  assert_int_equal(items_of(g.mac, KP_MAC_FACE_X), 400);
  assert_int_equal(items_of(g.mac, KP_MAC_FACE_Z), 0);
  done(&g);
}

// Every reading in a cell with the occluded bit goes the slow way, and no other does.
static void test_occluded(void **state) {
  (void)state;
  grid g = make(KP_BACKEND_CPU, 3, KP_MAC_WALL, 7, 5, 3);
  kp_buffer flags;
  kp_buffer values;
  assert_ok(kp_mac_scratch(g.mac, KP_TYPE_U8, &flags));
  assert_ok(kp_mac_scratch(g.mac, KP_TYPE_REAL, &values));
  kp_mac_view v = g.mac->view;
  uint8_t *marks = kp_buffer_host(&flags, KP_ACCESS_WRITE);
  kp_real *f = kp_buffer_host(&values, KP_ACCESS_WRITE);
  for (int64_t at = 0; at < v.count; ++at) {
    f[at] = (kp_real)linear_at(&v, KP_MAC_CELL, at);
  }
  marks[kp_mac_at(&v, 3, 2, 1)] = KP_CELL_FLUID | KP_CELL_OCCLUDED;
  occluded_visits = 0;
  kp_mac_point p = kp_mac_move(&v, KP_MAC_CELL, 3, 2, 1, (kp_real)0.25, (kp_real)0.5, 0);
  kp_real plain = kp_mac_linear(&v, f, p);
  assert_int_equal(occluded_visits, 0);  // no shells: the test is out of the loops
  v.occluded = marks;
  assert_near(kp_mac_linear(&v, f, p), plain, 0);
  assert_int_equal(occluded_visits, 1);
  (void)kp_mac_cubic(&v, f, p);
  assert_int_equal(occluded_visits, 2);
  (void)kp_mac_linear(&v, f, kp_mac_move(&v, KP_MAC_CELL, 4, 2, 1, 0, 0, 0));
  assert_int_equal(occluded_visits, 2);
  kp_buffer_free(&flags);
  kp_buffer_free(&values);
  done(&g);
}

// Derivatives of linear velocities are exact.
static void test_derivatives(void **state) {
  (void)state;
  grid g = make(KP_BACKEND_CPU, 3, KP_MAC_WALL, 7, 5, 3);
  const kp_mac_view *v = &g.mac->view;
  kp_buffer faces[3];
  kp_real *f[3];
  for (int c = 0; c < 3; ++c) {
    assert_ok(kp_mac_scratch(g.mac, KP_TYPE_REAL, &faces[c]));
    f[c] = kp_buffer_host(&faces[c], KP_ACCESS_OVERWRITE);
    for (int64_t at = 0; at < v->count; ++at) {
      f[c][at] = (kp_real)((c + 1) * linear_at(v, c, at));
    }
  }
  kp_mac_velocity u = { f[0], f[1], f[2] };
  int64_t at = kp_mac_at(v, 3, 2, 1);
  const double slope[3] = { 1.0, -2.0, 0.5 };
  for (int a = 0; a < 3; ++a) {
    for (int b = 0; b < 3; ++b) {
      assert_near(kp_mac_velocity_slope(v, u, a, b, at), (a + 1) * slope[b], KP_TOL(2e-5, 1e-12));
    }
  }
  assert_near(kp_mac_divergence(v, u, at), 1.0 - 4.0 + 1.5, KP_TOL(2e-5, 1e-12));
  kp_real curl[3];
  kp_mac_curl(v, u, at, curl);
  assert_near(curl[0], 3 * -2.0 - 2 * 0.5, KP_TOL(2e-5, 1e-12));
  assert_near(curl[1], 1 * 0.5 - 3 * 1.0, KP_TOL(2e-5, 1e-12));
  assert_near(curl[2], 2 * 1.0 - 1 * -2.0, KP_TOL(2e-5, 1e-12));
  // the four faces around a face, and any place, tell the same linear velocity
  for (int axis = 0; axis < 3; ++axis) {
    kp_real w[3];
    kp_mac_velocity_of_face(v, u, axis, at, w);
    const int32_t item[3] = { 3, 2, 1 };
    const kp_real still[3] = { 0, 0, 0 };
    kp_real near[3];
    kp_mac_velocity_near(v, u, axis, item, still, near);
    for (int c = 0; c < 3; ++c) {
      assert_near(w[c], (c + 1) * linear_at(v, axis, at), KP_TOL(2e-5, 1e-12));
      assert_near(near[c], w[c], KP_TOL(2e-5, 1e-12));
    }
  }
  for (int c = 0; c < 3; ++c) {
    kp_buffer_free(&faces[c]);
  }
  done(&g);
}

// Single points read the bits that loops over points read, beyond the ends too.
static void test_spots(void **state) {
  (void)state;
  kp_test_random random = kp_test_random_begin(7);
  for (int k = 0; k < 4; ++k) {
    int dimension = 2 + k % 2;
    grid g = make(KP_BACKEND_CPU, dimension, k < 2 ? KP_MAC_WALL : KP_MAC_PERIODIC, 7, 5, 3);
    const kp_mac_view *v = &g.mac->view;
    kp_buffer faces[3];
    kp_real *f[3];
    for (int c = 0; c < 3; ++c) {
      assert_ok(kp_mac_scratch(g.mac, KP_TYPE_REAL, &faces[c]));
      f[c] = kp_buffer_host(&faces[c], KP_ACCESS_OVERWRITE);
      for (int64_t at = 0; at < v->count; ++at) {
        f[c][at] = (kp_real)kp_test_uniform(&random, -1.0, 1.0);
      }
    }
    kp_mac_velocity u = { f[0], f[1], f[2] };
    for (int n = 0; n < 2000; ++n) {
      int32_t item[3] = { 0, 0, 0 };
      kp_real d[3] = { 0, 0, 0 };
      for (int c = 0; c < dimension; ++c) {
        item[c] = (int32_t)kp_test_uniform(&random, 0.0, v->n[c] - 0.01);
        d[c] = (kp_real)kp_test_uniform(&random, -1.5 * v->n[c], 1.5 * v->n[c]);
        d[c] = n % 5 == 0 ? (kp_real)floor((double)d[c]) : d[c];
        d[c] = n % 400 == 7 ? (kp_real)NAN : d[c];
      }
      kp_real near[3];
      kp_real here[3];
      kp_mac_spot spot;
      kp_mac_velocity_near(v, u, KP_MAC_NODE, item, d, near);
      kp_mac_spot_near(v, item, d, &spot);
      kp_mac_velocity_spot(v, u, &spot, here);
      assert_memory_equal(near, here, sizeof near);
    }
    for (int c = 0; c < 3; ++c) {
      kp_buffer_free(&faces[c]);
    }
    done(&g);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_layout),      cmocka_unit_test(test_linear),
    cmocka_unit_test(test_limits),      cmocka_unit_test(test_cubic),
    cmocka_unit_test(test_ghosts),      cmocka_unit_test(test_velocity_sides),
    cmocka_unit_test(test_window),      cmocka_unit_test(test_occluded),
    cmocka_unit_test(test_derivatives), cmocka_unit_test(test_spots),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
