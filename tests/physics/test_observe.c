// What can be asked of a run: probes of every method, grids included, and wave gauges.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "scene/scene.h"

#include "support/claims.h"
#include "support/worlds.h"

#define PI 3.14159265358979323846
#define MOST 64

static kp_world *world_of(const char *head, const char *body) {
  char text[4096];
  kp_scene *scene = NULL;
  kp_world *world = NULL;
  snprintf(text, sizeof text, "%s%s", head, body);
  assert_ok(kp_scene_load_text("scene.lua", ".", text, strlen(text), NULL, &scene));
  assert_ok(kp_world_create("cpu", &world));
  assert_ok(kp_world_set_spec(world, kp_scene_spec(scene)));
  kp_scene_free(&scene);
  assert_ok(kp_world_build(world));
  return world;
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
  { "grains", "grains 'w' { " VORTICES },
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
        off = fmax(off, kp_vec3_length(kp_vec3_sub(v[i].velocity, want)));
        seen = fmin(seen, v[i].count);
        assert_true(isnan(v[i].height));
      }
      print_message("  %s %s: off by %.4f m/s\n", media[m].name, kind == 0 ? "points" : "line",
                    off);
      worst = fmax(worst, off);
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
  double worst = 0.0;
  for (int dimension = 2; dimension <= 3; ++dimension) {
    for (size_t m = 0; m < sizeof methods / sizeof methods[0]; ++m) {
      char text[1024];
      snprintf(
          text, sizeof text,
          "domain { dimension = %d, max = {1, 1, 0.5} } grid { cell = 0.05 }\n"
          "liquid 'w' { method = '%s', spacing = 0.025,\n"
          "  shape = box { min = {0, 0, %s}, max = {0.5, 0.4, 0.5} } }\n"
          "probe 'gauges' { of = 'w', kind = 'gauge', min = {0, 0, 0.25}, max = {1, 0, 0.25},\n"
          "  counts = {5, 1, 1} }\n",
          dimension, methods[m], dimension == 2 ? "-1" : "0");
      kp_world *world = world_of("", text);
      kp_probe_value v[MOST];
      assert_int_equal(ask(world, "gauges", v), 5);
      for (int i = 0; i < 2; ++i) {
        worst = fmax(worst, fabs(v[i].height - 0.4));
        assert_near(v[i].position.y, v[i].height, 0.0);
        assert_near(v[i].position.x, 0.25 * i, 1e-12);
        assert_true(v[i].count > 0.0);
      }
      print_message("  %dD %s: %.4f %.4f m, dry %.4f\n", dimension, methods[m], v[0].height,
                    v[1].height, v[4].height);
      for (int i = 3; i < 5; ++i) {
        assert_near(v[i].height, 0.0, 0.0);
        assert_near(v[i].count, 0.0, 0.0);
      }
      kp_world_destroy(&world);
    }
  }
  kp_claim claim = { .id = "kelpie-gauges",
                     .text = "wave gauges read the depth of still water in every liquid",
                     .size = "six methods in 2D and 3D, at a wall and off it, spacing 0.025 m" };
  kp_claim_status status =
      kp_claim_all(&claim, { "largest error, of a depth of 0.4 [m]", worst, KP_AT_MOST, 0.0025 });
  assert_int_equal(status, KP_CLAIM_CONFIRMED);
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
    cmocka_unit_test(test_velocities),
    cmocka_unit_test(test_smoke),
    cmocka_unit_test(test_gauges),
    cmocka_unit_test(test_refused),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
