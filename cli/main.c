#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"
#include "cli/man.h"

typedef struct entry {
  const char *name;
  int (*run)(int argc, char **argv);
  const char *text;
} entry;

static const entry entries[] = {
  { "run", cmd_run, "simulate a scene" },
  { "resume", cmd_resume, "go on with a run that was stopped" },
  { "check", cmd_check, "read a scene and say what it would take; nothing runs" },
  { "render", cmd_render, "make pictures and a video of a run" },
  { "export", cmd_export, "hand the frames of a run to other programs" },
  { "info", cmd_info, "what a run holds; what this program was built with" },
  { "measure", cmd_measure, "compare what the probes of runs saw" },
  { "params", cmd_params, "every parameter of a scene, with unit, range and default" },
  { "plot", cmd_plot, "draw the tables of runs as curves" },
  { "scenes", cmd_scenes, "the scenes that come with the program" },
  { "bench", cmd_bench, "measure speed" },
  { "study", cmd_study, "comparisons that end in a table" },
};

#define MAN "--man"  // for packages: of the program the whole page, of a command its section
#define N_ENTRIES (sizeof entries / sizeof entries[0])

int kp_cli_report(kp_result result) {
  if (result != KP_OK) {
    const char *sentence = kp_last_error();
    (void)fflush(stdout);
    (void)fprintf(stderr, "kelpie: %s\n", sentence[0] != '\0' ? sentence : kp_result_text(result));
  }
  return kp_result_status(result);
}

bool kp_cli_begin(const kp_command *command, int argc, char **argv, kp_arguments *arguments,
                  int *status) {
  if (argc == 2 && strcmp(argv[1], MAN) == 0) {
    kp_man_command(command);
    *status = 0;
    return false;
  }
  kp_result result = kp_arguments_parse(command, argc, argv, arguments);
  if (result != KP_OK) {
    *status = kp_cli_report(result);
    return false;
  }
  if (arguments->wants_help) {
    kp_command_help(command);
    kp_arguments_free(arguments);
    *status = 0;
    return false;
  }
  return true;
}

static void print_help(FILE *out) {
  (void)fprintf(out, "Kelpie " KP_VERSION_STRING ": a physics-based animation simulator.\n\n"
                     "Usage: kelpie <command> [arguments]\n\nCommands:\n");
  for (size_t i = 0; i < N_ENTRIES; ++i) {
    (void)fprintf(out, "  %-8s %s\n", entries[i].name, entries[i].text);
  }
  (void)fprintf(out, "\n'kelpie <command> --help' tells more. A first picture:\n\n"
                     "  kelpie scenes\n"
                     "  kelpie run scenes/demo/dam_break.lua -o out/dam_break\n"
                     "  kelpie render out/dam_break\n");
}

static void print_man(void) {
  const char *names[N_ENTRIES], *texts[N_ENTRIES];
  for (size_t i = 0; i < N_ENTRIES; ++i) {
    names[i] = entries[i].name;
    texts[i] = entries[i].text;
  }
  kp_man_begin(names, texts, N_ENTRIES);
  for (size_t i = 0; i < N_ENTRIES; ++i) {
    char name[32], man[] = MAN;
    kp_text_copy(name, sizeof name, entries[i].name);
    (void)entries[i].run(2, (char *[]){ name, man, NULL });
  }
  kp_man_end();
}

static int refuse_command(const char *word) {
  const char *names[N_ENTRIES];
  for (size_t i = 0; i < N_ENTRIES; ++i) {
    names[i] = entries[i].name;
  }
  const char *nearest = kp_text_nearest(word, names, N_ENTRIES);
  if (nearest != NULL) {
    return kp_cli_report(
        kp_fail(KP_ERROR_ARGUMENT, "there is no command '%s'; did you mean '%s'?", word, nearest));
  }
  return kp_cli_report(
      kp_fail(KP_ERROR_ARGUMENT, "there is no command '%s'; see kelpie --help", word));
}

static void print_message(kp_log_level level, const char *module, const char *message, void *user) {
  (void)module;
  (void)user;
  (void)fprintf(stderr, "kelpie: %s%s\n", level == KP_LOG_WARN ? "warning: " : "", message);
}

// KP_LOG=debug and the like are for finding out, not for use.
static void set_up_log(void) {
  static const char *const names[KP_LOG_LEVEL_COUNT] = { "error", "warn", "info", "debug",
                                                         "trace" };
  const char *wanted = getenv("KP_LOG");
  int level = KP_LOG_WARN;
  for (int i = 0; wanted != NULL && i < KP_LOG_LEVEL_COUNT; ++i) {
    level = strcmp(wanted, names[i]) == 0 ? i : level;
  }
  kp_set_log(print_message, NULL, (kp_log_level)level);
}

static int run_program(int argc, char **argv) {
  if (argc < 2) {
    print_help(stderr);
    return kp_result_status(KP_ERROR_ARGUMENT);
  }
  const char *word = argv[1];
  if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0) {
    print_help(stdout);
    return 0;
  }
  if (strcmp(word, "--version") == 0) {
    (void)printf("kelpie " KP_VERSION_STRING "\n");
    return 0;
  }
  if (strcmp(word, MAN) == 0) {
    print_man();
    return 0;
  }
  for (size_t i = 0; i < N_ENTRIES; ++i) {
    if (strcmp(word, entries[i].name) == 0) {
      return entries[i].run(argc - 1, argv + 1);
    }
  }
  return refuse_command(word);
}

// What was printed may still wait in a buffer, and a full disk shows only when it leaves.
static int close_output(int status) {
  bool is_out = fflush(stdout) == 0 && !ferror(stdout);
  return is_out || status != 0
             ? status
             : kp_cli_report(kp_fail(KP_ERROR_IO, "cannot write to the standard output: %s",
                                     strerror(errno)));
}

int main(int argc, char **argv) {
  set_up_log();
  // a file that may not grow further is told like a full disk, instead of ending the program
  (void)signal(SIGXFSZ, SIG_IGN);
  return close_output(run_program(argc, argv));
}
