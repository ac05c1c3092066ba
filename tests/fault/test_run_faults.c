// Each allocation and each call of the disk of a run fails in turn: of one that begins, of one that
// goes on from its checkpoint, and of one that replaces another.
#include "support/test.h"

#include <string.h>

#include "base/memory.h"
#include "base/text.h"
#include "io/container.h"
#include "run/run.h"

#include "support/faults.h"

// Few particles; a module, a moving body and a probe, so that every kind of file is there.
static const char scene_text[] =
    "local tank = require 'tank'\n"
    "domain { min = {0, 0, 0}, max = tank }\n"
    "grains 'sand' { spacing = 0.1, shape = box { max = {0.2, 0.2, 0.2} } }\n"
    "collider 'paddle' { shape = sphere { radius = 0.05 },\n"
    "  position = function(t) return {0.5 + t, 0.2, 0.2} end }\n"
    "probe 'gauge' { of = 'sand', max = {0.8, 0.4, 0.4}, counts = {2, 1, 1} }\n"
    "output { frames = 3, fps = 100, checkpoint_every = 1 }\n";

static const char module_text[] = "return {0.8, 0.4, 0.4}\n";

#define RUN "/run"

typedef struct run_work {
  const char *folder;
  kp_run_def def;
  char scene[512], run[512];
} run_work;

static void put_scene(void *user) {
  const run_work *w = user;
  kp_test_write_file(kp_test_path(w->folder, "scene.lua"), scene_text, sizeof scene_text - 1);
  kp_test_write_file(kp_test_path(w->folder, "tank.lua"), module_text, sizeof module_text - 1);
}

static kp_result start(void *user) {
  const run_work *w = user;
  kp_run_outcome outcome;
  return kp_run_start(&w->def, &outcome);
}

static kp_result resume(void *user) {
  const run_work *w = user;
  kp_run_outcome outcome;
  return kp_run_resume(&w->def, &outcome);
}

static bool has_record(const run_work *w) {
  return kp_file_exists(kp_test_path(w->run, "run.json"));
}

// As a user would: what became a run goes on, what did not is begun again.
static kp_result go_on(void *user) {
  const run_work *w = user;
  return has_record(w) ? resume(user) : start(user);
}

static bool is_table(const char *name) {
  return strcmp(name, "run/stats.csv") == 0 || strncmp(name, "run/probes_", 11) == 0;
}

static bool is_of_this_time(const char *name) {
  return strcmp(name, "run/perf.csv") == 0;
}

// Older checkpoints make room for newer ones.
static bool is_checkpoint(const char *name) {
  return strncmp(name, "run/checkpoints/", 16) == 0;
}

// Every checkpoint is whole.
static void check_checkpoints(void *user) {
  const run_work *w = user;
  kp_run_folder folder = { .lock = -1 };
  kp_numbered_list list;
  kp_text_copy(folder.path, sizeof folder.path, w->run);
  assert_ok(kp_run_checkpoints(&folder, &list));
  for (size_t i = 0; i < list.count; ++i) {
    char path[KP_PATH_SIZE];
    kp_container *container;
    assert_ok(kp_run_checkpoint_path(&folder, list.files[i].number, path));
    assert_ok(kp_container_open(path, &container));
    kp_container_close(&container);
  }
  kp_numbered_free(&list);
}

static run_work make_work(void **state) {
  run_work w = { .folder = *state, .def = kp_default_run_def() };
  (void)snprintf(w.scene, sizeof w.scene, "%s/scene.lua", w.folder);
  (void)snprintf(w.run, sizeof w.run, "%s" RUN, w.folder);
  w.def.threads = 1;
  w.def.progress = KP_PROGRESS_NONE;
  return w;
}

static kp_faults faults_of(run_work *w) {
  w->def.scene = w->scene;
  w->def.folder = w->run;
  return (kp_faults){ .folder = w->folder,
                      .user = w,
                      .grows = is_table,
                      .varies = is_of_this_time,
                      .goes = is_checkpoint,
                      .check = check_checkpoints,
                      .most = 160 };
}

// Lets everything fail in turn, and asks that there was enough to fail.
static kp_faults_tried try_all(const char *what, kp_faults *faults) {
  kp_faults_tried tried = kp_faults_try(faults);
  print_message("%s: %lld allocations, %lld calls of the disk\n", what,
                (long long)tried.n_allocations, (long long)tried.n_disk_calls);
  assert_true(tried.n_allocations > 500);
  assert_true(tried.n_disk_calls > 100);
  return tried;
}

static void test_start(void **state) {
  run_work w = make_work(state);
  kp_faults faults = faults_of(&w);
  faults.prepare = put_scene;
  faults.work = start;
  faults.again = go_on;
  faults.recovers = true;
  (void)try_all("start", &faults);
}

// A run of its first frames, which is to become a whole one.
static void put_half(void *user) {
  run_work *w = user;
  put_scene(user);
  w->def.last_frame = 1;
  assert_ok(start(user));
  w->def.last_frame = 3;
}

static void test_resume(void **state) {
  run_work w = make_work(state);
  kp_faults faults = faults_of(&w);
  faults.prepare = put_half;
  faults.work = resume;
  faults.recovers = true;
  (void)try_all("resume", &faults);
}

// ---- one run in the place of another

static void put_other(void *user) {
  static const char *const sets[] = { "sand.friction=0.125" };
  run_work *w = user;
  put_scene(user);
  w->def.sets = sets;
  w->def.n_sets = 1;
  assert_ok(start(user));
  w->def.n_sets = 0;
}

static bool is_any(const char *name) {
  return strncmp(name, "run/", 4) == 0;
}

// As long as the record of the other run is there, so is the run.
static void check_other(void *user) {
  const run_work *w = user;
  if (!has_record(w)) {
    return;
  }
  char *record = kp_test_read_file(kp_test_path(w->run, "run.json"), NULL);
  bool is_other = strstr(record, "sand.friction") != NULL;
  kp_free(record);
  kp_run_folder folder = { .lock = -1 };
  kp_text_copy(folder.path, sizeof folder.path, w->run);
  kp_numbered_list frames;
  assert_ok(kp_run_frames(&folder, &frames));
  assert_true(!is_other || frames.count == 4);
  kp_numbered_free(&frames);
  assert_true(!is_other || kp_file_exists(kp_test_path(w->run, "stats.csv")));
  check_checkpoints(user);
}

static void test_replace(void **state) {
  run_work w = make_work(state);
  kp_faults faults = faults_of(&w);
  w.def.force = true;
  faults.prepare = put_other;
  faults.work = start;
  faults.recovers = true;
  faults.goes = is_any;
  faults.check = check_other;
  assert_true(try_all("replace", &faults).n_disk_calls > 150);
}

int main(void) {
  const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup_teardown(test_start, kp_faults_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_resume, kp_faults_folder_make, kp_test_folder_remove),
    cmocka_unit_test_setup_teardown(test_replace, kp_faults_folder_make, kp_test_folder_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
