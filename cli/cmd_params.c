#include <stdio.h>

#include "cli/commands.h"
#include "run/scene_extras.h"
#include "scene/reference.h"

static const kp_option options[] = {
  { "list", 'l', NULL, "entities and shapes alone, a line each" },
  { "markdown", 0, NULL, "as the pages of the reference manual" },
};

static const kp_command command = {
  "params",
  "[NAME] [options]",
  "Prints every key a scene may use, with unit, range, default and meaning: of one entity or\n"
  "shape, or of all of them. Any other word is looked for in the keys and their meanings.",
  "  kelpie params --list\n"
  "  kelpie params liquid\n"
  "  kelpie params knit\n"
  "  kelpie params --markdown > reference.md",
  options,
  sizeof options / sizeof options[0],
  0,
  1,
};

int cmd_params(int argc, char **argv) {
  kp_arguments arguments;
  int status;
  if (!kp_cli_begin(&command, argc, argv, &arguments, &status)) {
    return status;
  }
  kp_extras extras;
  kp_extras_init(&extras);
  kp_scene_options all = kp_extras_options(&extras, NULL, 0);
  kp_text text = { 0 };
  const char *name = arguments.plain.count > 0 ? arguments.plain.data[0] : NULL;
  kp_result result;
  bool is_manual = kp_arguments_has(&arguments, "markdown");
  if (name != NULL && (is_manual || kp_arguments_has(&arguments, "list"))) {
    result = kp_fail(KP_ERROR_ARGUMENT, "--%s prints all: leave out '%s'",
                     is_manual ? "markdown" : "list", name);
  } else if (is_manual) {
    result = kp_reference_markdown(all.extras, all.n_extras, &text);
  } else if (kp_arguments_has(&arguments, "list")) {
    result = kp_reference_list(all.extras, all.n_extras, &text);
  } else {
    result = kp_reference_print(name, all.extras, all.n_extras, &text);
  }
  if (result == KP_OK) {
    (void)fwrite(text.data, 1, text.count, stdout);
  }
  kp_text_free(&text);
  kp_arguments_free(&arguments);
  return kp_cli_report(result);
}
