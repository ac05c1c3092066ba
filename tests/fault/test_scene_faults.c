// Each allocation, Lua's among them, and each call of the disk fails in turn while a scene with a
// module, meshes, functions of time and every kind of value is read, written out and hashed.
#include "support/test.h"

#include <string.h>

#include "base/memory.h"
#include "io/files.h"
#include "run/scene_extras.h"
#include "scene/reference.h"
#include "scene/scene.h"

#include "support/faults.h"

static const char scene_text[] =
    "local tank = require 'lib.tank'\n"
    "domain { min = {0, 0, 0}, max = {1, 1, 1} }\n"
    "gravity {0, 0, -9.81}\n"
    "liquid 'water' { shape = box { max = {0.4, 0.4, tank.height} }, spacing = 0.1 }\n"
    "collider 'block' { shape = mesh { file = 'block.obj' },\n"
    "                   position = function(t) return {0.5 + 0.1 * math.sin(t), 0.5, 0.5} end }\n"
    "soft 'jelly' { tets = 'jelly.node' }\n"
    "output { frames = 5, fps = 10 }\n"
    "for _, name in ipairs { 'a', 'b' } do\n"
    "  emitter(name) { into = 'water', position = {0.5, 0.5, 0.9}, direction = {0, 0, -1},\n"
    "                  speed = function(t) return 1 + t end, width = 0.2 }\n"
    "end\n";

static const char module_text[] =
    "local words = {}\n"
    "for i = 1, 20 do words[i] = string.format('%d:%s', i, ('x'):rep(i)) end\n"
    "return { height = 0.4, words = table.concat(words, ' ') }\n";

static const char mesh_text[] = "v 0 0 0\nv 0.1 0 0\nv 0 0.1 0\nv 0 0 0.1\n"
                                "f 1 3 2\nf 1 2 4\nf 2 3 4\nf 1 4 3\n";

static const char nodes_text[] = "4 3 0 0\n1 0 0 0\n2 0.1 0 0\n3 0 0.1 0\n4 0 0 0.1\n";
static const char tets_text[] = "1 4 0\n1 1 2 3 4\n";

static void put_scene(void *folder) {
  kp_test_write_file(kp_test_path(folder, "scene.lua"), scene_text, sizeof scene_text - 1);
  assert_ok(kp_folder_make(kp_test_path(folder, "lib")));
  kp_test_write_file(kp_test_path(folder, "lib/tank.lua"), module_text, sizeof module_text - 1);
  kp_test_write_file(kp_test_path(folder, "block.obj"), mesh_text, sizeof mesh_text - 1);
  kp_test_write_file(kp_test_path(folder, "jelly.node"), nodes_text, sizeof nodes_text - 1);
  kp_test_write_file(kp_test_path(folder, "jelly.ele"), tets_text, sizeof tets_text - 1);
}

static kp_result use_scene(const kp_scene *scene, kp_text *text) {
  const kp_scene_input *inputs;
  uint64_t hash;
  assert_int_equal(kp_scene_inputs(scene, &inputs), 5);
  KP_TRY(kp_scene_hash(scene, &hash));
  return kp_scene_write_used(scene, text);
}

static kp_result read_scene(void *folder) {
  static const char *const sets[] = { "water.viscosity=0.1", "output.frames=6" };
  kp_extras extras;
  kp_extras_init(&extras);
  kp_scene_options options = kp_extras_options(&extras, sets, 2);
  kp_scene *scene = NULL;
  kp_result result = kp_scene_load(kp_test_path(folder, "scene.lua"), &options, &scene);
  if (result != KP_OK) {
    assert_null(scene);
    return result;
  }
  kp_text text = { 0 };
  result = use_scene(scene, &text);
  kp_text_free(&text);
  kp_scene_free(&scene);
  return result;
}

static void test_scene(void **state) {
  kp_faults faults = { .folder = *state, .prepare = put_scene, .work = read_scene, .user = *state };
  faults.most = 1500;
  faults.lasts = true;
  (void)kp_faults_try(&faults);
  faults.lasts = false;
  faults.recovers = true;
  kp_faults_tried tried = kp_faults_try(&faults);
  print_message("%lld allocations, %lld calls of the disk\n", (long long)tried.n_allocations,
                (long long)tried.n_disk_calls);
  assert_true(tried.n_allocations > 500);
  // the scene, the module, the mesh, both files of the tetrahedra
  assert_true(tried.n_disk_calls >= 10);
}

static kp_result write_reference(void *user) {
  (void)user;
  kp_extras extras;
  kp_extras_init(&extras);
  kp_scene_options options = kp_extras_options(&extras, NULL, 0);
  kp_text text = { 0 };
  kp_result result = kp_reference_print(NULL, options.extras, options.n_extras, &text);
  kp_text_free(&text);
  return result;
}

static void test_reference(void **state) {
  kp_faults faults = { .folder = *state, .work = write_reference };
  assert_true(kp_faults_try(&faults).n_allocations > 10);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_scene, kp_faults_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_reference, kp_faults_folder_make, kp_test_folder_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
