#include "cli/simulate.h"

static const kp_option options[] = {
  { "frames", 0, "A:B", "go on to frame B, which the scene must have" },
  { "threads", 'j', "N", "threads to use; all of the machine when missing" },
  { "progress", 0, "HOW", "bar, plain, json, none or auto (a bar on a terminal)" },
  { "render", 0, NULL, "make the pictures that are missing meanwhile" },
  { "watch", 0, NULL, "show the world in the terminal as it moves" },
};

static const kp_command command = {
  "resume",
  "DIR [options]",
  "Goes on with a run from its newest checkpoint. The result is the same, bit for bit, as if\n"
  "the run had never stopped. Only what lies in the run folder is used: changes of the\n"
  "original scene have no effect.",
  "  kelpie resume out/dam_break",
  options,
  sizeof options / sizeof options[0],
  1,
  1,
};

int cmd_resume(int argc, char **argv) {
  kp_arguments arguments;
  int status;
  if (!kp_cli_begin(&command, argc, argv, &arguments, &status)) {
    return status;
  }
  kp_run_def def = kp_default_run_def();
  def.folder = arguments.plain.data[0];
  kp_result result = kp_cli_run_options(&arguments, true, &def);
  status = result == KP_OK ? kp_cli_simulate(&def, kp_run_resume) : kp_cli_report(result);
  kp_arguments_free(&arguments);
  return status;
}
