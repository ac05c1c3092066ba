// What can be asked of a run: probes of every method, grids included, and wave gauges.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/claims.h"
#include "support/scenes.h"
#include "support/worlds.h"

#define PI 3.14159265358979323846
#define MOST 64

static kp_world *world_of(const char *head, const char *body) {
  char text[4096];
  snprintf(text, sizeof text, "%s%s", head, body);
  return kp_test_world_of_scene(text);
}

static int64_t ask(kp_world *world, const char *probe, kp_probe_value out[MOST]) {
  int64_t n;
  assert_ok(kp_world_probe_now(world, probe, out, MOST, &n));
  assert_true(n <= MOST);
  return n;
}

// ---- velocities

#define VORTICES                                                                                   \
  "velocity = function(x, y)\n"                                                                    \
  "  return math.sin(math.pi * x) * math.cos(math.pi * y),\n"                                      \
  "        -math.cos(math.pi * x) * math.sin(math.pi * y)\n"                                       \
  "end, spacing = 1 / 32, shape = box { min = {0, 0, -1}, max = {1, 1, 1} } }\n"

static const struct {
  const char *name, *text;
} media[] = {
  { "sph", "liquid 'w' { " VORTICES },
  { "dfsph", "sph { solver = 'dfsph' } liquid 'w' { " VORTICES },
  { "mps", "liquid 'w' { method = 'mps', " VORTICES },
  { "flip", "liquid 'w' { method = 'flip', " VORTICES },
  { "level_set", "liquid 'w' { method = 'level_set', " VORTICES },
  { "marker", "liquid 'w' { method = 'marker', " VORTICES },
  { "grains", "grains 'w' { jitter = 0, " VORTICES },
  { "smoke", "smoke 'w' { density = 0.25, velocity = function(x, y)\n"
             "  return math.sin(math.pi * x) * math.cos(math.pi * y),\n"
             "        -math.cos(math.pi * x) * math.sin(math.pi * y)\n"
             "end, shape = box { min = {0, 0, -1}, max = {1, 1, 1} } }\n" },
};

#define N_MEDIA (sizeof media / sizeof media[0])

static void test_velocities(void **state) {
  (void)state;
  static const char *const head =
      "domain { dimension = 2, max = {1, 1} } grid { cell = 1 / 32 }\n"
      "probe 'points' { of = 'w', kind = 'fit', radius = 0.07, min = {0, 0, 0}, max = {1, 1, 0},\n"
      "  counts = {5, 5, 1} }\n"
      "probe 'line' { of = 'w', radius = 0.04, min = {0.1, 0.3, 0}, max = {0.9, 0.3, 0},\n"
      "  counts = {9, 1, 1} }\n";
  double worst = 0.0;
  double seen = HUGE_VAL;
  for (size_t m = 0; m < N_MEDIA; ++m) {
    kp_world *world = world_of(head, media[m].text);
    for (int kind = 0; kind < 2; ++kind) {
      kp_probe_value v[MOST];
      int64_t n = ask(world, kind == 0 ? "points" : "line", v);
      assert_int_equal(n, kind == 0 ? 25 : 9);
      double off = 0.0;
      for (int64_t i = 0; i < n; ++i) {
        kp_vec3 p = v[i].position;
        kp_vec3 want =
            kp_vec3_make(sin(PI * p.x) * cos(PI * p.y), -cos(PI * p.x) * sin(PI * p.y), 0);
        off = kp_test_most(off, kp_vec3_length(kp_vec3_sub(v[i].velocity, want)));
        seen = kp_test_least(seen, v[i].count);
        assert_true(isnan(v[i].height));
      }
      print_message("  %s %s: off by %.4f m/s\n", media[m].name, kind == 0 ? "points" : "line",
                    off);
      worst = kp_test_most(worst, off);
    }
    kp_world_destroy(&world);
  }
  kp_claim claim = { .id = "kelpie-probes",
                     .text = "probes see the velocity of every medium, on grids and at walls",
                     .size = "8 media, 25 points to the walls and 9 regions on a line, 32 cells" };
  kp_claim_status status = kp_claim_all(
      &claim, { "largest error, of a largest speed of 1 [m/s]", worst, KP_AT_MOST, 0.02 },
      { "least particles or cells of a region", seen, KP_AT_LEAST, 1.0 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
}

// Density and temperature of a gas, and nothing of what it has not.
static void test_smoke(void **state) {
  (void)state;
  kp_world *world = world_of(
      "domain { max = {1, 1, 1} } grid { cell = 1 / 16 }\n"
      "probe 'in' { of = 'w', radius = 0.1, min = {0.5, 0.5, 0.5}, max = {0.5, 0.5, 0.5} }\n"
      "probe 'out' { of = 'w', kind = 'fit', min = {0.1, 0.1, 0.1}, max = {0.1, 0.1, 0.1} }\n",
      "smoke 'w' { density = 0.25, temperature = 400, velocity = {0.1, 0.2, 0.3},\n"
      "  shape = sphere { center = {0.5, 0.5, 0.5}, radius = 0.3 } }\n");
  kp_probe_value v[MOST];
  assert_int_equal(ask(world, "in", v), 1);
  assert_near(v[0].density, 0.25, 1e-6);
  assert_near(v[0].temperature, 400.0, 1e-3);
  assert_vec3_near(v[0].velocity, kp_vec3_make(0.1, 0.2, 0.3), 1e-6);
  assert_int_equal(ask(world, "out", v), 1);
  assert_near(v[0].density, 0.0, 1e-6);
  assert_true(v[0].temperature < 310.0);
  kp_world_destroy(&world);
}

// ---- wave gauges

// Still water to 0.4 m in a box of 1 m, seen in the middle and at both walls, and none beside it.
static void test_gauges(void **state) {
  (void)state;
  static const char *const methods[] = { "sph", "mps", "flip", "springs", "level_set", "marker" };
  static const char *const readings[] = { "wetted", "surface" };
  double worst = 0.0;
  for (int dimension = 2; dimension <= 3; ++dimension) {
    for (size_t m = 0; m < 2 * sizeof methods / sizeof methods[0]; ++m) {
      char text[1024];
      snprintf(text, sizeof text,
               "domain { dimension = %d, max = {1, 1, 0.5} } grid { cell = 0.05 }\n"
               "liquid 'w' { method = '%s', spacing = 0.025,\n"
               "  shape = box { min = {0, 0, %s}, max = {0.5, 0.4, 0.5} } }\n"
               "probe 'gauges' { of = 'w', kind = 'gauge', reading = '%s', min = {0, 0, 0.25},\n"
               "  max = {1, 0, 0.25}, counts = {5, 1, 1} }\n",
               dimension, methods[m / 2], dimension == 2 ? "-1" : "0", readings[m % 2]);
      kp_world *world = world_of("", text);
      kp_probe_value v[MOST];
      assert_int_equal(ask(world, "gauges", v), 5);
      for (int i = 0; i < 2; ++i) {
        worst = kp_test_most(worst, fabs(v[i].height - 0.4));
        assert_near(v[i].position.y, v[i].height, 0.0);
        assert_near(v[i].position.x, 0.25 * i, 1e-12);
        assert_true(v[i].count > 0.0);
      }
      print_message("  %dD %s %s: %.4f %.4f m, dry %.4f\n", dimension, methods[m / 2],
                    readings[m % 2], v[0].height, v[1].height, v[4].height);
      for (int i = 3; i < 5; ++i) {
        assert_near(v[i].height, 0.0, 0.0);
        assert_near(v[i].count, 0.0, 0.0);
      }
      kp_world_destroy(&world);
    }
  }
  kp_claim claim = { .id = "kelpie-gauges",
                     .text = "wave gauges read the depth of still water in every liquid",
                     .size =
                         "six methods in 2D and 3D, both readings, at a wall and off it, spacing "
                         "0.025 m" };
  kp_claim_status status =
      kp_claim_all(&claim, { "largest error, of a depth of 0.4 [m]", worst, KP_AT_MOST, 0.0025 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
}

// ---- pressure

// Water of 0.5 m at rest in a box that it fills from wall to wall.
static const struct {
  const char *name, *settings, *liquid;
  double seconds;  // to come to rest, and to be averaged over
} still[] = {
  { "sph", "", "method = 'sph', viscosity = 10, spacing = 0.025", 1.0 },
  { "dfsph", "sph { solver = 'dfsph' }\n", "method = 'sph', viscosity = 2, spacing = 0.025", 1.0 },
  { "mps", "", "method = 'mps', viscosity = 2, spacing = 0.025", 0.3 },
  { "flip", "", "method = 'flip', spacing = 0.0125", 0.1 },
  { "level_set", "", "method = 'level_set'", 0.1 },
  { "marker", "marker { scheme = 'stable_fluids' }\n", "method = 'marker'", 0.02 },
};

typedef struct readings {
  double floor, side, inside, particles;
} readings;

static double mean_pressure(kp_world *world) {
  static double p[4096];
  if (kp_world_read(world, "w", "pressure", 0, p, 4096) != KP_OK) {
    return NAN;
  }
  int64_t n = kp_world_count(world, "w");
  double sum = 0.0;
  for (int64_t i = 0; i < n; ++i) {
    sum += p[i] / (double)n;
  }
  return sum;
}

static readings read_still(kp_world *world, double seconds) {
  readings r = { 0 };
  double start = 0.5 * seconds;
  assert_ok(kp_world_advance(world, start, NULL));
  for (int k = 0; k < 20; ++k) {
    kp_probe_value v[MOST];
    assert_ok(kp_world_advance(world, start / 20.0, NULL));
    (void)ask(world, "floor", v);
    r.floor += v[0].pressure / 20.0;
    assert_near(v[0].position.y, 0.0, 1e-9);
    (void)ask(world, "side", v);
    r.side += v[0].pressure / 20.0;
    assert_near(v[0].position.x, 0.0, 1e-9);
    (void)ask(world, "inside", v);
    r.inside += v[0].pressure / 20.0;
    r.particles += mean_pressure(world) / 20.0;
  }
  return r;
}

static void test_pressures(void **state) {
  (void)state;
  static const char *const head =
      "domain { dimension = 2, max = {0.4, 0.8} } grid { cell = 0.025 }\n"
      "probe 'floor' { of = 'w', kind = 'wall', radius = 0.05, min = {0.2, 0.01, 0},\n"
      "  max = {0.2, 0.01, 0} }\n"
      "probe 'side' { of = 'w', kind = 'wall', radius = 0.04, min = {0.01, 0.25, 0},\n"
      "  max = {0.01, 0.25, 0} }\n"
      "probe 'inside' { of = 'w', kind = 'fit', radius = 0.06, min = {0.2, 0.3, 0},\n"
      "  max = {0.2, 0.3, 0} }\n";
  double walls = 0.0;
  double inside = 0.0;
  for (size_t m = 0; m < sizeof still / sizeof still[0]; ++m) {
    char text[1024];
    snprintf(text, sizeof text,
             "%sliquid 'w' { %s, shape = box { min = {0, 0, -1}, max = {0.4, 0.5, 1} } }\n",
             still[m].settings, still[m].liquid);
    kp_world *world = world_of(head, text);
    readings r = read_still(world, still[m].seconds);
    double rho_g = 1000.0 * 9.81;
    print_message("  %s: floor %.3f, side %.3f, inside %.3f, mean of particles %.3f\n",
                  still[m].name, r.floor / (0.5 * rho_g), r.side / (0.25 * rho_g),
                  r.inside / (0.2 * rho_g), r.particles / (0.25 * rho_g));
    double off = fmax(fabs(r.floor - 0.5 * rho_g), fabs(r.side - 0.25 * rho_g));
    walls = kp_test_most(walls, off / (0.5 * rho_g));
    off = fmax(fabs(r.inside - 0.2 * rho_g),
               isnan(r.particles) ? 0.0 : fabs(r.particles - 0.25 * rho_g));
    inside = kp_test_most(inside, off / (0.5 * rho_g));
    kp_world_destroy(&world);
  }
  kp_claim claim = { .id = "kelpie-wall-pressure",
                     .text = "pressure at walls, inside and of particles is that of the depth",
                     .size = "six liquids at rest, 0.5 m deep, 20 particles or cells" };
  kp_claim_status status = kp_claim_all(
      &claim,
      { "largest error at walls, as a share of the pressure at the floor", walls, KP_AT_MOST,
        0.15 },
      { "largest error inside and of the mean of particles", inside, KP_AT_MOST, 0.05 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
}

// ---- bounds of stats rows

static kp_aabb bounds_of(kp_world *world, const char *name) {
  for (int p = 0; p < kp_world_n_populations(world); ++p) {
    kp_population_stats stats;
    assert_ok(kp_world_stats(world, p, &stats));
    if (strcmp(stats.name, name) == 0) {
      return stats.bounds;
    }
  }
  fail_msg("no population %s", name);
  return (kp_aabb){ 0 };
}

// Before the first step: of bodies their surfaces, of particles their centres, of level sets the
// surface of the water.
static void test_bounds(void **state) {
  (void)state;
  static const char *const bodies =
      "body 'box' { shape = box { min = {-0.1, -0.1, -0.1}, max = {0.1, 0.1, 0.1} },\n"
      "  position = {0.3, 0.5, 0.5}, rotation_deg = {0, 0, 45} }\n"
      "body 'ball' { shape = sphere { center = {0.7, 0.5, 0.5}, radius = 0.1 },\n"
      "  rotation_deg = {10, 20, 30} }\n"
      "body 'rod' { shape = capsule { a = {0, -0.2, 0}, b = {0, 0.2, 0}, radius = 0.05 },\n"
      "  position = {0.5, 0.85, 0.5}, rotation_deg = {0, 0, 90} }\n";
  kp_world *world = world_of("", bodies);
  kp_aabb box = bounds_of(world, "box");
  double r = 0.1 * sqrt(2.0);
  assert_vec3_near(box.min, kp_vec3_make(0.3 - r, 0.5 - r, 0.4), 1e-9);
  assert_vec3_near(box.max, kp_vec3_make(0.3 + r, 0.5 + r, 0.6), 1e-9);
  box = bounds_of(world, "rod");
  assert_vec3_near(box.min, kp_vec3_make(0.25, 0.8, 0.45), 1e-9);
  assert_vec3_near(box.max, kp_vec3_make(0.75, 0.9, 0.55), 1e-9);
  box = bounds_of(world, "ball");
  kp_vec3 size = kp_vec3_sub(box.max, box.min);
  assert_vec3_near(size, kp_vec3_make(0.2, 0.2, 0.2), 1e-9);
  kp_world_destroy(&world);
  static const struct {
    const char *text;
    double inset;  // m
  } water[] = {
    { "liquid 'w' { spacing = 0.05, shape = box { min = {0.2, 0, 0}, max = {0.6, 0.4, 1} } }",
      0.025 },
    { "grid { cell = 0.05 } liquid 'w' { method = 'level_set',\n"
      "  shape = box { min = {0.2, 0, 0}, max = {0.6, 0.4, 1} } }",
      0.0 },
    { "flip { band = 2 } liquid 'w' { method = 'flip', spacing = 0.025,\n"
      "  shape = box { min = {0.2, 0, 0}, max = {0.6, 0.4, 1} } }",
      0.0125 },
  };
  for (size_t k = 0; k < sizeof water / sizeof water[0]; ++k) {
    world = world_of("", water[k].text);
    for (int step = 0; step < 2; ++step) {
      double d = water[k].inset;
      box = bounds_of(world, "w");
      // a step moves it a little, and what has no particles is told by cells
      double tolerance = step == 0 ? 1e-6 : 0.02;
      assert_vec3_near(box.min, kp_vec3_make(0.2 + d, d, d), tolerance);
      assert_vec3_near(box.max, kp_vec3_make(0.6 - d, 0.4 - d, 1.0 - d), tolerance);
      assert_ok(kp_world_advance(world, 1e-3, NULL));
    }
    kp_world_destroy(&world);
  }
}

// Probes of every kind give back what they took.
static void test_memory(void **state) {
  (void)state;
  static const char *const kinds =
      "domain { dimension = 2 } grid { cell = 0.1 }\n"
      "liquid 'w' { method = 'flip', spacing = 0.05, shape = box { min = {0, 0, -1} } }\n"
      "probe 'a' { of = 'w', radius = 0.1 } probe 'b' { of = 'w', kind = 'fit', radius = 0.1 }\n"
      "probe 'c' { of = 'w', kind = 'gauge' } probe 'd' { of = 'w', kind = 'wall', radius = 0.1 }\n"
      "probe 'e' { of = 'w', kind = 'track' }\n";
  int64_t left[2] = { 0, 0 };
  for (int k = 0; k < 2; ++k) {
    kp_world *world = world_of("", kinds);
    world->probes.keep = true;
    assert_ok(kp_world_advance(world, 0.01, NULL));
    kp_world_destroy(&world);
    for (int tag = 0; tag < KP_MEMORY_TAG_COUNT; ++tag) {
      left[k] += kp_memory_tag_bytes((kp_memory_tag)tag);
    }
  }
  assert_int_equal(left[0], left[1]);
}

// Nothing is told that a method does not have: what stf calls density counts neighbours.
static void test_without_pressure(void **state) {
  (void)state;
  static const char *const head =
      "domain { dimension = 2, max = {0.4, 0.8} }\n"
      "probe 'inside' { of = 'w', radius = 0.06, min = {0.2, 0.3, 0}, max = {0.2, 0.3, 0} }\n";
  static const char *const methods[] = { "springs", "stf" };
  for (int m = 0; m < 2; ++m) {
    char text[256];
    snprintf(text, sizeof text,
             "liquid 'w' { method = '%s', spacing = 0.025, shape = box { min = {0, 0, -1}, max = "
             "{0.4, 0.5, 1} } }\n",
             methods[m]);
    kp_world *world = world_of(head, text);
    kp_probe_value v[MOST];
    assert_ok(kp_world_advance(world, 0.01, NULL));
    (void)ask(world, "inside", v);
    assert_true(v[0].count > 4);
    assert_true(isnan(v[0].pressure));
    assert_true(isnan(v[0].density));
    kp_world_destroy(&world);
  }
}

static void test_refused(void **state) {
  (void)state;
  static const struct {
    const char *words, *text;
  } cases[] = {
    { "kind = \"gauge\" measures liquids, and \"s\" is none",
      "smoke 's' { shape = sphere { radius = 0.2 } } probe 'p' { of = 's', kind = 'gauge' }" },
    { "kind = \"track\" follows particles and bodies, and \"s\" is on a grid",
      "smoke 's' { shape = sphere { radius = 0.2 } } probe 'p' { of = 's', kind = 'track' }" },
    { "kind = \"gauge\" measures liquids, and \"b\" is none",
      "liquid 'w' { shape = box { max = {0.2, 0.2, 0.2} } }\n"
      "body 'b' { shape = sphere { center = {0.5, 0.5, 0.5}, radius = 0.1 } }\n"
      "probe 'p' { of = 'b', kind = 'gauge' }" },
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    kp_scene *scene = NULL;
    assert_fails(
        KP_ERROR_SCENE, cases[i].words,
        kp_scene_load_text("scene.lua", ".", cases[i].text, strlen(cases[i].text), NULL, &scene));
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_velocities),       cmocka_unit_test(test_smoke),
    cmocka_unit_test(test_gauges),           cmocka_unit_test(test_pressures),
    cmocka_unit_test(test_bounds),           cmocka_unit_test(test_memory),
    cmocka_unit_test(test_without_pressure), cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
