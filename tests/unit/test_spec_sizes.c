// What a scene will need of memory, counted before any of it is made, against what its world then
// has: counts within a tenth, bytes within a factor of two.
#include "support/test.h"

#include <math.h>
#include <string.h>

#include "base/memory.h"
#include "scene/scene.h"
#include "world/spec_sizes.h"
#include "world/world.h"

#define ROOM "domain { max = {1, 1, 1} }\n"
#define AROUND "domain { min = {-1, -1, -1}, max = {1, 1, 1} }\n"
#define FILLED ", shape = box { max = {0.8, 0.8, 0.8} } }\n"

typedef struct sized_scene {
  const char *name, *text;
  double least_bytes;  // of the estimate, so that no case is about nothing
} sized_scene;

// Large enough that what does not grow is small beside what does.
static const sized_scene scenes[] = {
  { "sph", ROOM "liquid 'w' { spacing = 0.02" FILLED, 1e7 },
  { "dfsph", ROOM "sph { solver = 'dfsph' }\nliquid 'w' { spacing = 0.03" FILLED, 1e7 },
  { "mps", ROOM "liquid 'w' { method = 'mps', spacing = 0.04" FILLED, 1e7 },
  { "stf", ROOM "liquid 'w' { method = 'stf', spacing = 0.05" FILLED, 1e7 },
  { "springs", ROOM "liquid 'w' { method = 'springs', spacing = 0.02" FILLED, 1e7 },
  { "grains", ROOM "grains 'w' { spacing = 0.025" FILLED, 1e7 },
  { "flip", ROOM "liquid 'w' { method = 'flip', spacing = 0.015" FILLED, 1e7 },
  { "level_set", ROOM "grid { cell = 0.02 }\nliquid 'w' { method = 'level_set'" FILLED, 1e7 },
  { "marker", ROOM "grid { cell = 0.03 }\nliquid 'w' { method = 'marker'" FILLED, 1e7 },
  { "smoke", ROOM "grid { cell = 0.02 }\nsmoke 'g' { shape = box { max = {0.2, 0.2, 0.2} } }\n",
    1e7 },
  { "walls",
    "domain { max = {4, 4, 4} }\nliquid 'w' { spacing = 0.04, "
    "shape = box { max = {0.2, 0.2, 0.2} } }\n",
    1e7 },
  { "solid",
    "domain { max = {4, 4, 4} }\nsph { domain_walls = 'planes' }\n"
    "liquid 'w' { spacing = 0.04, shape = box { max = {0.2, 0.2, 0.2} } }\n"
    "collider 'c' { shape = box { min = {0.5, 0.5, 0.5}, max = {3.5, 3.5, 3.5} } }\n",
    1e7 },
  { "cloth", AROUND "cloth 's' { columns = 80, rows = 80 }\n", 1e7 },
  { "hair", AROUND "hair 'h' { count = 500, segments = 20 }\n", 1e7 },
  { "soft", AROUND "soft 'j' { spacing = 0.05, shape = box { max = {0.8, 0.8, 0.8} } }\n", 1e7 },
  { "soft ball", AROUND "soft 'j' { spacing = 0.05, shape = sphere { radius = 0.4 } }\n", 1e7 },
};

static double count_of(const kp_spec_sizes *sizes, const char *what) {
  double n = 0.0;
  for (size_t i = 0; i < sizes->count; ++i) {
    n += strstr(sizes->data[i].what, what) != NULL ? sizes->data[i].n : 0.0;
  }
  return n;
}

// The counts of a kind agree, unless there is next to nothing of it: whether there is.
static int compare(const char *scene, const char *what, double counted, double made) {
  bool is_much = fmax(counted, made) >= 500.0;
  if (is_much && fabs(counted - made) > 0.1 * made) {
    fail_msg("%s: %g %s were counted, and %g made", scene, counted, what, made);
  }
  return is_much;
}

static void check_scene(const sized_scene *s) {
  kp_scene *scene = NULL;
  kp_world *world = NULL;
  kp_spec_sizes sizes = { 0 };
  kp_world_size made;
  int64_t before = kp_memory_bytes();
  assert_ok(kp_scene_load_text("s.lua", ".", s->text, strlen(s->text), NULL, &scene));
  assert_ok(kp_spec_count(kp_scene_spec(scene), &sizes));
  assert_ok(kp_world_create("cpu", &world));
  assert_ok(kp_world_set_spec(world, kp_scene_spec(scene)));
  assert_ok(kp_world_build(world));
  assert_ok(kp_world_measure(world, &made));
  kp_step_report report;
  assert_ok(kp_world_step(world, made.dt, &report));
  double counted = kp_spec_sizes_bytes(&sizes), used = (double)(kp_memory_bytes() - before);
  double particles =
      count_of(&sizes, "particles") + count_of(&sizes, "vertices") + count_of(&sizes, "nodes");
  print_message("%-10s counted %.3g MB, has %.3g MB\n", s->name, counted / 1e6, used / 1e6);
  int n_much = compare(s->name, "particles", particles, (double)made.particles) +
               compare(s->name, "samples", count_of(&sizes, "samples"), (double)made.samples) +
               compare(s->name, "cells", count_of(&sizes, "cells"), (double)made.cells);
  assert_true(n_much > 0);
  assert_true(counted > s->least_bytes);
  if (counted > 2.0 * used || used > 2.0 * counted) {
    fail_msg("%s: %.3g MB were counted, and it has %.3g MB", s->name, counted / 1e6, used / 1e6);
  }
  kp_array_free(&sizes);
  kp_world_destroy(&world);
  kp_scene_free(&scene);
}

static void test_counts(void **state) {
  (void)state;
  for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; ++i) {
    check_scene(&scenes[i]);
  }
}

// The machine's memory counts, or what the scene allows, whichever is less.
static void test_limit(void **state) {
  (void)state;
  kp_spec spec;
  kp_spec_init(&spec);
  kp_spec_size cells = { "smoke", "plume", "cells", "cells larger", 1e7, 2e9 };
  kp_spec_size few = { "liquid", "water", "particles", "spacing larger", 1e6, 1e9 };
  kp_spec_sizes sizes = { 0 };
  assert_ok(kp_spec_sizes_check(&sizes, &spec));
  assert_ok(kp_array_push(&sizes, few));
  assert_ok(kp_array_push(&sizes, cells));
  assert_true(kp_memory_limit() > 1e8);
  spec.simulation.memory_limit = 3.1;
  if (kp_memory_limit() > 3.2e9) {
    assert_ok(kp_spec_sizes_check(&sizes, &spec));
  }
  spec.simulation.memory_limit = 2.9;
  assert_fails(KP_ERROR_SCENE,
               "the scene needs about 3 GB of memory and simulation.memory_limit is 2.9 GB; 2 GB "
               "are for 1e+07 cells of smoke \"plume\", so make its cells larger",
               kp_spec_sizes_check(&sizes, &spec));
  sizes.data[1].bytes = 1e18;
  spec.simulation.memory_limit = KP_AUTO;
  assert_fails(KP_ERROR_SCENE, "and this machine has", kp_spec_sizes_check(&sizes, &spec));
  sizes.data[1].bytes = 1.0;
  sizes.data[1].n = 3e9;
  assert_fails(KP_ERROR_SCENE, "smoke \"plume\" would have about 3e+09 cells, of at most 2.15e+09",
               kp_spec_sizes_check(&sizes, &spec));
  kp_array_free(&sizes);
  kp_spec_free(&spec);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_counts),
    cmocka_unit_test(test_limit),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
