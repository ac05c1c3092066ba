// Each allocation fails in turn while a small world is built and advanced, of every method: the
// sentence says so, and nothing leaks.
#include "support/test.h"

#include <string.h>

#include "run/scene_extras.h"
#include "scene/scene.h"
#include "world/step.h"
#include "world/world.h"

#include "support/faults.h"

#define TANK "domain { min = {0, 0, 0}, max = {0.8, 0.8, 0.8} } "
#define FLAT "domain { min = {0, 0, 0}, max = {1, 1, 0}, dimension = 2 } "
#define CUBE "shape = box { max = {0.3, 0.3, 0.3} }"

static const char *const scenes[] = {
  TANK "liquid 'water' { spacing = 0.1, " CUBE ", surface_tension = 0.07 } "
       "emitter 'tap' { into = 'water', position = {0.5, 0.6, 0.5}, direction = {0, -1, 0}, "
       "radius = 0.1, speed = 1 } sink 'drain' { shape = box { max = {0.1, 0.1, 0.1} } } "
       "collider 'paddle' { shape = sphere { radius = 0.1 }, "
       "position = function(t) return {0.6 + t, 0.2, 0.2} end } "
       "force 'gust' { acceleration = {1, 0, 0}, shape = box { max = {0.4, 0.4, 0.4} } } "
       "probe 'gauge' { of = 'water', max = {0.8, 0.8, 0.8}, counts = {2, 1, 1} }",
  TANK "sph { solver = 'dfsph' } liquid 'water' { spacing = 0.1, " CUBE " }",
  TANK "liquid 'water' { method = 'springs', spacing = 0.1, " CUBE " }",
  TANK "liquid 'water' { method = 'stf', spacing = 0.1, " CUBE " }",
  TANK "liquid 'water' { method = 'mps', spacing = 0.1, " CUBE " }",
  TANK "grid { cell = 0.1 } liquid 'water' { method = 'flip', " CUBE " }",
  TANK "grid { cell = 0.1 } liquid 'water' { method = 'level_set', " CUBE " }",
  FLAT "grid { cell = 0.1 } liquid 'water' { method = 'marker', "
       "shape = box { max = {0.5, 0.5, 0} } }",
  TANK "plasma 'charges' { particles = 30, shape = sphere { center = {0.4, 0.4, 0.4}, "
       "radius = 0.2 }, influence = 0.2, strength = 0.01 }",
  TANK "fire 'torch' { particles = 30, radius = 0.1, position = {0.4, 0.2, 0.4} }",
  TANK "fire 'flame' { method = 'vortex', particles = 30, emitter = 'sphere', radius = 0.1, "
       "position = {0.4, 0.2, 0.4} }",
  TANK "grid { cell = 0.1 } smoke 'plume' { empty = true, confinement = 2 } "
       "source 'vent' { into = 'plume', shape = box { max = {0.3, 0.2, 0.3} }, density = 1, "
       "temperature = 373 } vortices 'eddies' { into = 'plume', rate = 3000, shape = box { min = "
       "{0.1, 0.1, 0.1}, max = {0.3, 0.2, 0.3} } }",
  TANK "grains 'sand' { spacing = 0.1, " CUBE " } liquid 'water' { spacing = 0.1, "
       "shape = box { min = {0.4, 0, 0}, max = {0.7, 0.3, 0.3} } }",
  TANK "body 'ball' { shape = sphere { center = {0.2, 0.12, 0.2}, radius = 0.1 }, density = 400 } "
       "body 'die' { shape = box { min = {0.4, 0.02, 0.4}, max = {0.6, 0.2, 0.6} } }",
  TANK
  "cloth 'sheet' { width = 0.4, height = 0.4, columns = 4, rows = 4, model = 'edges', "
  "position = {0.4, 0.4, 0.4} } "
  "cloth 'towel' { width = 0.4, height = 0.4, columns = 4, rows = 4, position = {0.4, 0.6, 0.4} } "
  "pin 'edge' { of = 'sheet', shape = box { max = {0.8, 0.8, 0.3} } } "
  "immersion 'pool' { of = 'sheet', damping = 0.05, memory_drag = 6, memory = 1, samples = 8 }",
  TANK "soft 'jelly' { shape = box { min = {0.1, 0.1, 0.1}, max = {0.3, 0.3, 0.3} }, "
       "spacing = 0.1, young = 1e5, poisson = 0.4, density = 500 } "
       "collider 'ground' { shape = plane { point = {0, 0.05, 0}, normal = {0, 1, 0} } }",
  TANK "collider 'head' { shape = sphere { center = {0.4, 0.4, 0.4}, radius = 0.1 } } "
       "hair 'locks' { on = 'head', count = 6, segments = 4, length = 0.1 }",
};

typedef struct world_work {
  const kp_scene *scene;
} world_work;

static kp_result build_and_step(void *user) {
  const world_work *w = user;
  kp_world *world = NULL;
  KP_TRY(kp_world_create("cpu", &world));
  kp_result result = kp_world_set_spec(world, kp_scene_spec(w->scene));
  if (result == KP_OK) {
    result = kp_world_build(world);
  }
  if (result == KP_OK) {
    result = kp_world_advance(world, 0.01, NULL);
  }
  kp_world_destroy(&world);
  return result;
}

static void test_worlds(void **state) {
  for (size_t i = 0; i < sizeof scenes / sizeof scenes[0]; ++i) {
    kp_extras extras;
    kp_extras_init(&extras);
    kp_scene_options options = kp_extras_options(&extras, NULL, 0);
    kp_scene *scene;
    assert_ok(kp_scene_load_text("scene.lua", ".", scenes[i], strlen(scenes[i]), &options, &scene));
    world_work w = { scene };
    kp_faults faults = { .folder = *state, .work = build_and_step, .user = &w, .most = 160 };
    kp_faults_tried tried = kp_faults_try(&faults);
    print_message("scene %zu: %lld allocations\n", i, (long long)tried.n_allocations);
    assert_true(tried.n_allocations > 100);
    kp_scene_free(&scene);
  }
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_worlds, kp_faults_folder_make, kp_test_folder_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
