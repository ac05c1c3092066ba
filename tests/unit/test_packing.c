// Random packings: no overlaps, every place allowed, the same for the same seed, and the points as
// they were where order is all that fits.
#include "support/test.h"

#include <stdlib.h>
#include <string.h>

#include "geom/packing.h"

typedef struct room {
  kp_vec3 size;
  double margin;
} room;

static kp_vec3 keep(void *user, size_t i, kp_vec3 p) {
  (void)i;
  const room *r = user;
  kp_vec3 low = kp_vec3_make(r->margin, r->margin, r->margin);
  return kp_vec3_min(kp_vec3_max(p, low), kp_vec3_sub(r->size, low));
}

static kp_points lattice(int nx, int ny, int nz) {
  kp_points points = { 0 };
  for (int k = 0; k < nx * ny * nz; ++k) {
    kp_vec3 p = kp_vec3_make(k % nx + 0.5, k / nx % ny + 0.5, k / (nx * ny) + 0.5);
    assert_int_equal(kp_array_push(&points, p), KP_OK);
  }
  return points;
}

static bool pack(int dimension, uint64_t seed, const double *radii, room *in, kp_points *points) {
  kp_packing_def def = { dimension, seed, 0.5, radii, keep, in };
  bool is_done = false;
  assert_int_equal(kp_packing_shake(&def, points, &is_done), KP_OK);
  return is_done;
}

static double deepest(const kp_points *p, const double *radii) {
  double worst = 0.0;
  for (size_t i = 0; i < p->count; ++i) {
    for (size_t j = 0; j < i; ++j) {
      double r = kp_vec3_length(kp_vec3_sub(p->data[i], p->data[j]));
      worst = kp_test_most(worst, 1.0 - r / (radii[i] + radii[j]));
    }
  }
  return worst;
}

static void test_room(void **state) {
  (void)state;
  double radii[1000];
  kp_test_random random = kp_test_random_begin(3);
  for (int i = 0; i < 1000; ++i) {
    radii[i] = i % 2 == 0 ? 0.5 : kp_test_uniform(&random, 0.3, 0.5);
  }
  for (int dimension = 2; dimension <= 3; ++dimension) {
    room in = { { dimension == 3 ? 10 : 40, dimension == 3 ? 10 : 25, dimension == 3 ? 10 : 1 },
                0.5 };
    kp_points a = lattice((int)in.size.x, (int)in.size.y, (int)in.size.z);
    kp_points b = lattice((int)in.size.x, (int)in.size.y, (int)in.size.z);
    kp_points c = lattice((int)in.size.x, (int)in.size.y, (int)in.size.z);
    assert_true(pack(dimension, 1, radii, &in, &a));
    assert_true(pack(dimension, 1, radii, &in, &b));
    assert_true(pack(dimension, 2, radii, &in, &c));
    assert_true(deepest(&a, radii) <= 1e-4);
    assert_memory_equal(a.data, b.data, a.count * sizeof *a.data);
    assert_memory_not_equal(a.data, c.data, a.count * sizeof *a.data);
    for (size_t i = 0; i < a.count; ++i) {
      kp_vec3 p = keep(&in, i, a.data[i]);
      assert_memory_equal(&p, &a.data[i], sizeof p);
    }
    kp_array_free(&a);
    kp_array_free(&b);
    kp_array_free(&c);
  }
}

// All in one place, and nothing at all.
static void test_ends(void **state) {
  (void)state;
  double radii[100];
  kp_points points = { 0 };
  for (int i = 0; i < 100; ++i) {
    radii[i] = 0.5;
    assert_int_equal(kp_array_push(&points, kp_vec3_make(5, 5, 5)), KP_OK);
  }
  room wide = { { 10, 10, 10 }, 0.5 };
  assert_true(pack(3, 7, radii, &wide, &points));
  assert_true(deepest(&points, radii) <= 1e-4);
  kp_array_free(&points);
  kp_points none = { 0 };
  assert_true(pack(3, 7, radii, &wide, &none));
}

// More than the room holds.
static void test_too_tight(void **state) {
  (void)state;
  double radii[64];
  for (int i = 0; i < 64; ++i) {
    radii[i] = 0.6;
  }
  room in = { { 4, 4, 4 }, 0.5 };
  kp_points points = lattice(4, 4, 4);
  kp_points before = lattice(4, 4, 4);
  assert_false(pack(3, 1, radii, &in, &points));
  assert_memory_equal(points.data, before.data, before.count * sizeof *before.data);
  kp_array_free(&points);
  kp_array_free(&before);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_room),
    cmocka_unit_test(test_ends),
    cmocka_unit_test(test_too_tight),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
