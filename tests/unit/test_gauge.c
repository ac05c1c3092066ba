// Wave gauges: the wetted length of a column against sums by brute force and exact chords, and what
// the two readings make of a splash.
#include <stdio.h>

#include "support/scenes.h"

#define MOST 16

static int64_t ask(kp_world *world, const char *probe, kp_probe_value out[MOST]) {
  int64_t n;
  assert_ok(kp_world_probe_now(world, probe, out, MOST, &n));
  assert_true(n <= MOST);
  return n;
}

// ---- particles against a sum over many points of each

#define POINTS 40  // of an edge of a particle
#define PARTICLES 4096

// Mean of the tents over an edge, by points, of a particle and of its images.
static double mean_of_tents(double x, double edge, double column, double r, const double shifts[3],
                            const double signs[3], int n_images) {
  double sum = 0.0;
  for (int k = 0; k < n_images; ++k) {
    for (int p = 0; p < POINTS; ++p) {
      double at = x + edge * ((p + 0.5) / POINTS - 0.5);
      double d = fabs(shifts[k] + signs[k] * at - column);
      sum += d < r ? (1.0 - d / r) / r / POINTS : 0.0;
    }
  }
  return sum;
}

// Along x the domain goes around, along z it has walls.
static double brute_length(double *const x[3], int64_t n, int dimension, double edge, double r,
                           kp_vec3 column) {
  static const double around[3] = { 0.0, -1.0, 1.0 };
  static const double ahead[3] = { 1.0, 1.0, 1.0 };
  static const double walls[3] = { 0.0, 0.0, 2.0 };
  static const double mirror[3] = { 1.0, -1.0, -1.0 };
  double length = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    double part = edge * edge * mean_of_tents(x[0][i], edge, column.x, r, around, ahead, 3);
    if (dimension == 3) {
      part *= edge * mean_of_tents(x[2][i], edge, column.z, r, walls, mirror, 3);
    }
    length += part;
  }
  return length;
}

static void test_brute_force(void **state) {
  (void)state;
  static double memory[3][PARTICLES];
  double *x[3] = { memory[0], memory[1], memory[2] };
  for (int dimension = 2; dimension <= 3; ++dimension) {
    for (int is_wide = 0; is_wide < 2; ++is_wide) {
      double edge = 0.0625;
      double r = is_wide ? 0.17 : 2.5 * edge;
      char radius[32] = "";
      if (is_wide) {
        snprintf(radius, sizeof radius, "radius = %g,", r);
      }
      char text[1024];
      snprintf(text, sizeof text,
               "domain { dimension = %d, max = {1, 1, 1}, boundary_x = 'periodic' }\n"
               "liquid 'w' { spacing = %g, jitter = 0.5,\n"
               "  shape = box { min = {0, 0, %s}, max = {1, 0.3, 1} } }\n"
               "probe 'gauges' { of = 'w', kind = 'gauge', %s min = {0, 0, 0.02},\n"
               "  max = {0.9, 0, 0.98}, counts = {4, 1, 4} }\n",
               dimension, edge, dimension == 2 ? "-1" : "0", radius);
      kp_world *world = kp_test_world_of_scene(text);
      int64_t n = kp_world_count(world, "w");
      assert_between(n, 50, PARTICLES);
      for (int c = 0; c < 3; ++c) {
        assert_ok(kp_world_read(world, "w", "position", c, x[c], PARTICLES));
      }
      kp_probe_value v[MOST];
      int64_t n_columns = ask(world, "gauges", v);
      assert_int_equal(n_columns, dimension == 2 ? 4 : 16);
      for (int64_t k = 0; k < n_columns; ++k) {
        double want = brute_length(x, n, dimension, edge, r, v[k].position);
        assert_near(v[k].height, want, 1e-4 * want);
        assert_between(want, 0.1, 0.5);
      }
      kp_world_destroy(&world);
    }
  }
}

// ---- a sheet above a pool

static const char *const methods[] = { "sph", "mps", "flip", "springs", "level_set", "marker" };

// A wire tells both of them together, the highest surface that of the sheet. What is between them
// is a solid, in which no liquid starts.
static void test_splash(void **state) {
  (void)state;
  for (int dimension = 2; dimension <= 3; ++dimension) {
    for (size_t m = 0; m < sizeof methods / sizeof methods[0]; ++m) {
      const char *z = dimension == 2 ? "-1" : "0";
      char text[1024];
      snprintf(
          text, sizeof text,
          "domain { dimension = %d, max = {1, 1, 0.5} } grid { cell = 0.05 }\n"
          "liquid 'w' { method = '%s', spacing = 0.025,\n"
          "  shape = box { min = {0, 0, %s}, max = {1, 0.8, 0.5} } }\n"
          "collider 'gap' { shape = box { min = {0, 0.3, %s}, max = {1, 0.7, 0.5} } }\n"
          "probe 'wire' { of = 'w', kind = 'gauge', min = {0.3, 0, 0.25}, max = {0.3, 0, 0.25} }\n"
          "probe 'top' { of = 'w', kind = 'gauge', reading = 'surface', min = {0.3, 0, 0.25},\n"
          "  max = {0.3, 0, 0.25} }\n",
          dimension, methods[m], z, z);
      kp_world *world = kp_test_world_of_scene(text);
      kp_probe_value v[MOST];
      assert_int_equal(ask(world, "wire", v), 1);
      print_message("  %dD %s: wetted %.4f m", dimension, methods[m], v[0].height);
      assert_near(v[0].height, 0.4, 0.0025);
      assert_near(v[0].position.y, v[0].height, 0.0);
      assert_true(v[0].count > 0.0);
      assert_int_equal(ask(world, "top", v), 1);
      print_message(", surface %.4f m\n", v[0].height);
      assert_near(v[0].height, 0.8, 0.0025);
      kp_world_destroy(&world);
    }
  }
}

// ---- chords

// A ball of level-set water in the air, and a ball of solid under water: their chords are exact.
static void test_chords(void **state) {
  (void)state;
  static const char *const head =
      "domain { max = {1, 1, 1} } grid { cell = 0.05 }\n"
      "probe 'wires' { of = 'w', kind = 'gauge', min = {0.3, 0, 0.52}, max = {0.7, 0, 0.52},\n"
      "  counts = {5, 1, 1} }\n";
  static const char *const scenes[] = {
    "liquid 'w' { method = 'level_set', shape = sphere { center = {0.5, 0.55, 0.5}, radius = 0.3 } "
    "}\n",
    "liquid 'w' { method = 'level_set', shape = box { max = {1, 0.8, 1} } }\n"
    "collider 'ball' { shape = sphere { radius = 0.3 }, position = {0.5, 0.4, 0.5} }\n",
  };
  for (int s = 0; s < 2; ++s) {
    char text[1024];
    snprintf(text, sizeof text, "%s%s", head, scenes[s]);
    kp_world *world = kp_test_world_of_scene(text);
    kp_probe_value v[MOST];
    assert_int_equal(ask(world, "wires", v), 5);
    for (int k = 0; k < 5; ++k) {
      double x = 0.3 + 0.1 * k - 0.5;
      double chord = 2.0 * sqrt(0.09 - x * x - 0.02 * 0.02);
      double want = s == 0 ? chord : 0.8 - chord;
      print_message("  %s at %.1f: %.4f of %.4f m\n", s == 0 ? "drop" : "ball", x, v[k].height,
                    want);
      // linear between centres a circle is (cell^2 / 8) times its curvature too small
      assert_near(v[k].height, want, s == 0 ? 0.005 : 0.001);
    }
    kp_world_destroy(&world);
  }
}

// Where water runs out, it is thinner than half a cell and has no centre in it: a cap of a sphere.
static void test_film(void **state) {
  (void)state;
  kp_world *world = kp_test_world_of_scene(
      "domain { dimension = 2, max = {1, 1} } grid { cell = 0.05 }\n"
      "liquid 'w' { method = 'level_set', shape = sphere { center = {0.5, -0.9, 0}, radius = 1 } "
      "}\n"
      "probe 'wires' { of = 'w', kind = 'gauge', min = {0.5, 0, 0}, max = {0.9, 0, 0},\n"
      "  counts = {5, 1, 1} }\n");
  kp_probe_value v[MOST];
  assert_int_equal(ask(world, "wires", v), 5);
  for (int k = 0; k < 5; ++k) {
    double want = sqrt(1.0 - 0.01 * k * k) - 0.9;
    print_message("  film at %.1f: %.4f of %.4f m\n", v[k].position.x, v[k].height, want);
    assert_near(v[k].height, want, 0.003);
  }
  kp_world_destroy(&world);
}

// Deep cells of a narrow band hold no particles, and count.
static void test_band(void **state) {
  (void)state;
  kp_world *world = kp_test_world_of_scene(
      "domain { dimension = 2, max = {1, 1} } flip { band = 2 }\n"
      "liquid 'w' { method = 'flip', spacing = 0.025,\n"
      "  shape = box { min = {-1, -1, -1}, max = {2, 0.6, 1} } }\n"
      "probe 'wires' { of = 'w', kind = 'gauge', min = {0, 0, 0}, max = {1, 0, 0},\n"
      "  counts = {5, 1, 1} }\n");
  int64_t full = kp_world_count(world, "w");
  assert_ok(kp_world_advance(world, 0.02, NULL));
  assert_true(kp_world_count(world, "w") < full / 2);
  kp_probe_value v[MOST];
  assert_int_equal(ask(world, "wires", v), 5);
  for (int k = 0; k < 5; ++k) {
    print_message("  band at %.2f: %.4f m\n", v[k].position.x, v[k].height);
    assert_near(v[k].height, 0.6, 0.0125);
  }
  kp_world_destroy(&world);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_brute_force), cmocka_unit_test(test_splash),
    cmocka_unit_test(test_chords),      cmocka_unit_test(test_film),
    cmocka_unit_test(test_band),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
