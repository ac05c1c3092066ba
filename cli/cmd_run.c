#include <stdio.h>
#include <string.h>

#include "base/memory.h"
#include "cli/simulate.h"

static const kp_option options[] = {
  { "output", 'o', "DIR", "the run folder; out/<scene> when missing" },
  { "set", 's', "KEY=VALUE", "change a value of the scene, e.g. water.viscosity=0.1; repeatable" },
  { "frames", 0, "A:B", "stop after frame B; write only frames A to B" },
  { "backend", 0, "NAME", "where to compute: cpu, cuda or mirror" },
  { "threads", 'j', "N", "threads to use; all of the machine when missing" },
  { "progress", 0, "HOW", "bar, plain, json, none or auto (a bar on a terminal)" },
  { "render", 0, NULL, "make pictures of the frames meanwhile, in a program of its own" },
  { "watch", 0, NULL, "show the world in the terminal as it moves" },
  { "force", 'f', NULL, "replace a run that is already in the folder" },
};

static const kp_command command = {
  "run",
  "SCENE [options]",
  "Simulates a scene and leaves a run folder: the frames, statistics (stats.csv), times\n"
  "(perf.csv), checkpoints, and everything needed to go on. Frame 0 is the initial state.\n"
  "Ctrl-C, or a file named 'stop' in the run folder, finishes the frame and stops (exit\n"
  "status 75); 'kelpie resume' goes on. A second Ctrl-C ends at once.\n"
  "With --render, pictures and video come to <run>/images while it goes on: the same as those\n"
  "of 'kelpie render' afterwards. They take a quarter of the threads.\n"
  "With --watch, each frame is drawn in the terminal from where the state lies: on a card\n"
  "nothing but its pixels is copied.",
  "  kelpie run scenes/demo/dam_break.lua\n"
  "  kelpie run scenes/demo/dam_break.lua -o out/honey --set water.viscosity=5 --frames :60\n"
  "  kelpie run scenes/demo/dam_break.lua --render\n"
  "  kelpie run scenes/demo/dam_break.lua --watch",
  options,
  sizeof options / sizeof options[0],
  1,
  1,
};

// out/<name of the scene without its ending>
static kp_result default_folder(const char *scene, char out[KP_PATH_SIZE]) {
  char name[KP_PATH_SIZE];
  int length = snprintf(name, sizeof name, "out/%s", kp_path_name(scene));
  if (length < 0 || (size_t)length >= sizeof name) {
    return kp_fail(KP_ERROR_ARGUMENT, "%s: the path is too long", scene);
  }
  char *dot = strrchr(name, '.');
  if (dot != NULL && strcmp(dot, ".lua") == 0) {
    *dot = '\0';
  }
  memcpy(out, name, sizeof name);
  return KP_OK;
}

int cmd_run(int argc, char **argv) {
  kp_arguments arguments;
  int status;
  if (!kp_cli_begin(&command, argc, argv, &arguments, &status)) {
    return status;
  }
  kp_run_def def = kp_default_run_def();
  char folder[KP_PATH_SIZE];
  const char *wanted = kp_arguments_get(&arguments, "output");
  const char *backend = kp_arguments_get(&arguments, "backend");
  const char **sets = NULL;
  def.scene = arguments.plain.data[0];
  def.folder = wanted != NULL ? wanted : folder;
  def.backend = backend != NULL ? backend : def.backend;
  def.force = kp_arguments_has(&arguments, "force");

  kp_result result = default_folder(def.scene, folder);
  if (result == KP_OK) {
    result = kp_arguments_all(&arguments, "set", &sets, &def.n_sets);
    def.sets = sets;
  }
  if (result == KP_OK) {
    result = kp_cli_run_options(&arguments, false, &def);
  }
  status = result == KP_OK ? kp_cli_simulate(&def, kp_run_start) : kp_cli_report(result);
  kp_free(sets);
  kp_arguments_free(&arguments);
  return status;
}
