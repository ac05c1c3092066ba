// The velocity at the start as a function of place, for everything that has one; what has none says
// so and names the key.
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "support/scenes.h"
#include "support/worlds.h"

#define PI 3.14159265358979323846

// Taylor-Green vortices: of the period of the box, so that both walls see no flow through them.
#define VORTICES                                                                                   \
  "velocity = function(x, y)\n"                                                                    \
  "  return math.sin(math.pi * x) * math.cos(math.pi * y),\n"                                      \
  "        -math.cos(math.pi * x) * math.sin(math.pi * y)\n"                                       \
  "end,\n"

static kp_vec3 vortices(double x, double y) {
  return kp_vec3_make(sin(PI * x) * cos(PI * y), -cos(PI * x) * sin(PI * y), 0.0);
}

#define N_LED 3  // nodes that the root of a hair holds

static const char *const flat = "domain { dimension = 2, max = {1, 1} }\n"
                                "grid { cell = 1 / 32 }\n";

static kp_world *world_of(const char *head, const char *body) {
  char text[2048];
  snprintf(text, sizeof text, "%s%s", head, body);
  return kp_test_world_of_scene(text);
}

// The largest difference to the function, of all particles.
static double worst_particle(kp_world *world, const char *name) {
  kp_space *space = kp_registry_find(world->registry, name);
  assert_non_null(space);
  assert_true(space->n > 100);
  const kp_field *position = kp_space_find(space, "position");
  const kp_field *velocity = kp_space_find(space, "velocity");
  double worst = 0.0;
  const kp_pos *x[2];
  const kp_real *v[3];
  for (int c = 0; c < 3; ++c) {
    v[c] = kp_buffer_host((kp_buffer *)&velocity->buffers[c], KP_ACCESS_READ);
    if (c < 2) {
      x[c] = kp_buffer_host((kp_buffer *)&position->buffers[c], KP_ACCESS_READ);
    }
  }
  for (int64_t i = 0; i < space->n; ++i) {
    kp_vec3 want = vortices(x[0][i], x[1][i]);
    kp_vec3 have = kp_vec3_make((double)v[0][i], (double)v[1][i], (double)v[2][i]);
    worst = kp_test_most(worst, kp_vec3_length(kp_vec3_sub(have, want)));
  }
  return worst;
}

// And of all faces between two cells of the first grid.
static double worst_face(kp_world *world) {
  assert_true(world->env.grids.count > 0);
  kp_mac *mac = world->env.grids.data[0].mac;
  kp_field *velocity = kp_space_find(mac->space, "velocity");
  double worst = 0.0;
  for (int axis = 0; axis < 2; ++axis) {
    const kp_real *v = kp_buffer_host(&velocity->buffers[axis], KP_ACCESS_READ);
    for (int64_t j = 1; j < mac->view.n[1] - 1; ++j) {
      for (int64_t i = 1; i < mac->view.n[0] - 1; ++i) {
        double x[3];
        kp_mac_place(&mac->view, axis, i, j, 0, x);
        kp_vec3 want = vortices(x[0], x[1]);
        double have = (double)v[kp_mac_at(&mac->view, i, j, 0)];
        worst = kp_test_most(worst, fabs(have - (axis == 0 ? want.x : want.y)));
      }
    }
  }
  return worst;
}

static void test_particles(void **state) {
  (void)state;
  static const struct {
    const char *name, *text;
    double tolerance;
  } cases[] = {
#define FILLED "spacing = 1 / 32, " VORTICES "shape = box { min = {0, 0, -1}, max = {1, 1, 1} } }"
    { "sph", "liquid 'w' { " FILLED, 1e-6 },
    { "dfsph", "sph { solver = 'dfsph' } liquid 'w' { " FILLED, 1e-6 },
    { "mps", "liquid 'w' { method = 'mps', " FILLED, 1e-6 },
    { "stf", "liquid 'w' { method = 'stf', " FILLED, 1e-6 },
    { "springs", "liquid 'w' { method = 'springs', " FILLED, 1e-6 },
    { "flip", "liquid 'w' { method = 'flip', " FILLED, 1e-6 },
    { "marker", "liquid 'w' { method = 'marker', " FILLED, 1e-3 },
    { "grains", "grains 'w' { jitter = 0, " FILLED, 1e-6 },
    // their places are random: straight lines between the samples of a 128th
    { "packed grains", "grains 'w' { " FILLED, 1e-3 },
    { "jittered", "liquid 'w' { jitter = 0.5, " FILLED, 1e-3 },
    { "plasma",
      "plasma 'w' { particles = 400, " VORTICES "shape = sphere { center = {0.5, 0.5, 0},"
      " radius = 0.4 } }",
      1e-3 },
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    kp_world *world = world_of(flat, cases[i].text);
    double worst = worst_particle(world, "w");
    print_message("  %s: off by %.2e m/s\n", cases[i].name, worst);
    assert_true(worst <= cases[i].tolerance);
    kp_world_destroy(&world);
  }
}

static void test_grids(void **state) {
  (void)state;
  static const char *const cases[] = {
    "liquid 'w' { method = 'level_set', " FILLED,
    "liquid 'w' { method = 'marker', " FILLED,
    "smoke 'w' { " VORTICES "shape = sphere { center = {0.5, 0.5, 0}, radius = 0.3 } }",
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    kp_world *world = world_of(flat, cases[i]);
    double worst = worst_face(world);
    print_message("  %.28s: off by %.2e m/s\n", cases[i], worst);
    assert_true(worst <= 1e-6);
    kp_world_destroy(&world);
  }
}

// Nodes of deformables; the lattice of the domain is coarse, and a linear field exact. Roots of
// hair stay with what it grows on.
static void test_deformables(void **state) {
  (void)state;
  static const char *const cases[] = {
    "cloth 'w' { width = 1, height = 1, position = {0, 0, 0},\n",
    "soft 'w' { shape = box { min = {-0.3, -0.3, -0.3}, max = {0.3, 0.3, 0.3} },\n",
    "hair 'w' { root = {0, 0.2, 0}, spread = 0.2, length = 0.5, count = 9, rooted = false,\n",
    "hair 'w' { root = {0, 0.2, 0}, spread = 0.2, length = 0.5, count = 9,\n",
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    char text[1024];
    snprintf(text, sizeof text, "%s velocity = function(x, y, z) return z, 2 * x, -y end }",
             cases[i]);
    kp_world *world = world_of("domain { min = {-1, -1, -1} } gravity { 0, 0, 0 }\n", text);
    kp_set *set = world->env.parts.data[0].set;
    assert_true(set->space->n > 20);
    int64_t n_still = 0;
    for (int64_t n = 0; n < set->space->n; ++n) {
      kp_vec3 x;
      kp_vec3 v;
      x.x = ((const kp_pos *)kp_buffer_host(&set->position->buffers[0], KP_ACCESS_READ))[n];
      x.y = ((const kp_pos *)kp_buffer_host(&set->position->buffers[1], KP_ACCESS_READ))[n];
      x.z = ((const kp_pos *)kp_buffer_host(&set->position->buffers[2], KP_ACCESS_READ))[n];
      v.x =
          (double)((const kp_real *)kp_buffer_host(&set->velocity->buffers[0], KP_ACCESS_READ))[n];
      v.y =
          (double)((const kp_real *)kp_buffer_host(&set->velocity->buffers[1], KP_ACCESS_READ))[n];
      v.z =
          (double)((const kp_real *)kp_buffer_host(&set->velocity->buffers[2], KP_ACCESS_READ))[n];
      if (i == 3 && kp_vec3_length(v) == 0.0) {
        ++n_still;
        continue;
      }
      assert_vec3_near(v, kp_vec3_make(x.z, 2.0 * x.x, -x.y), 1e-6);
    }
    assert_int_equal(n_still, i == 3 ? 9 * N_LED : 0);
    kp_world_destroy(&world);
  }
}

static void test_refused(void **state) {
  (void)state;
#define BALL "shape = sphere { center = {0.5, 0.5, 0.5}, radius = 0.1 }, "
#define FUNCTION(value) "velocity = function(x, y, z) " value " end }"
  static const struct {
    const char *words, *text;
  } cases[] = {
    { "velocity must be a vector {x, y, z}, not a function", "body 'b' { " BALL FUNCTION("") },
    { "velocity must be a vector {x, y, z}, not a function", "fire 'f' { " FUNCTION("") },
    { "liquid \"w\": velocity: scene.lua:1: the function of place, asked at {0.5, 0.5, 0.5}: "
      "velocity must be three finite numbers",
      "liquid 'w' { " BALL FUNCTION("return x, y") },
    { "velocity must be three finite numbers", "liquid 'w' { " BALL FUNCTION("return 0, 0, 0/0") },
    { "velocity must be three finite numbers", "liquid 'w' { " BALL FUNCTION("") },
    { "velocity = 1e+20 is out of range", "liquid 'w' { " BALL FUNCTION("return {1e20, 0, 0}") },
    { "velocity: scene.lua:1: the function of place gave two answers",
      "local n = 0 liquid 'w' { " BALL FUNCTION("n = n + 1 return n, 0, 0") },
    { "z component must be 0 in two dimensions",
      "domain { dimension = 2 } liquid 'w' { shape = box { min = {0, 0, -1} }, " FUNCTION(
          "return 0, 0, 1") },
  };
  for (size_t i = 0; i < sizeof cases / sizeof cases[0]; ++i) {
    kp_scene *scene = NULL;
    assert_fails(
        KP_ERROR_SCENE, cases[i].words,
        kp_scene_load_text("scene.lua", ".", cases[i].text, strlen(cases[i].text), NULL, &scene));
  }
}

// A function belongs to the scene's hash and is told in used.lua; --set takes its place.
static void test_records(void **state) {
  (void)state;
  const char *const texts[] = { "liquid 'w' { " BALL FUNCTION("return x, 0, 0"),
                                "liquid 'w' { " BALL FUNCTION("return y, 0, 0") };
  const char *const sets[] = { "w.velocity={1, 2, 3}" };
  kp_scene_options options = { .sets = sets, .n_sets = 1 };
  uint64_t hashes[2];
  for (int k = 0; k < 2; ++k) {
    kp_scene *scene = NULL;
    assert_ok(kp_scene_load_text("scene.lua", ".", texts[k], strlen(texts[k]), NULL, &scene));
    assert_ok(kp_scene_hash(scene, &hashes[k]));
    kp_text used = { 0 };
    assert_ok(kp_scene_write_used(scene, &used));
    assert_non_null(strstr(used.data, "velocity = {0, 0, 0},  -- instead, the function of place at "
                                      "scene.lua:1"));
    kp_text_free(&used);
    kp_scene_free(&scene);
  }
  assert_true(hashes[0] != hashes[1]);
  kp_scene *scene = NULL;
  assert_ok(kp_scene_load_text("scene.lua", ".", texts[0], strlen(texts[0]), &options, &scene));
  const kp_liquid_def *w = &kp_scene_spec(scene)->liquids.data[0];
  assert_int_equal(w->velocity_at.n[0], 0);
  assert_near(w->velocity.y, 2.0, 0.0);
  kp_scene_free(&scene);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_particles),   cmocka_unit_test(test_grids),
    cmocka_unit_test(test_deformables), cmocka_unit_test(test_refused),
    cmocka_unit_test(test_records),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
