#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"
#include "io/disk.h"
#include "par/parallel.h"

#include "bench/study.h"

static const kp_option options[] = {
  { "output", 'o', "FILE", "write the table there; without it to the screen" },
  { "max", 0, "N", "particles of the largest case" },
  { "runs", 0, "N", "runs that are averaged, or turns of which the fastest counts" },
  { "steps", 0, "N", "steps of a run, or before the clock starts" },
  { "threads", 't', "T", "worker threads; 1 when missing, so that figures compare" },
  { "backend", 'b', "NAME", "cpu, mirror or cuda, where a study steps worlds or makes surfaces" },
  { "list", 0, NULL, "what can be studied" },
};

static const kp_command command = {
  "study",
  "NAME [options]",
  "Runs one of the comparisons the methods' sources are about and writes its table as CSV. The\n"
  "first line is the command that made it.",
  "  kelpie study --list\n"
  "  kelpie study integrator-energy -o energy.csv\n"
  "  kelpie study water-models --max 524288 --threads 16",
  options,
  sizeof options / sizeof options[0],
  0,
  1,
};

#define MOST 2000000000

static void list_studies(void) {
  for (size_t s = 0; s < kp_n_studies; ++s) {
    (void)printf("%-21s %s\n", kp_studies[s].name, kp_studies[s].text);
  }
}

static kp_result find_study(const char *word, const kp_study **out) {
  const char *names[32];
  size_t n = kp_n_studies < 32 ? kp_n_studies : 32;
  for (size_t s = 0; s < n; ++s) {
    names[s] = kp_studies[s].name;
    if (strcmp(names[s], word) == 0) {
      *out = &kp_studies[s];
      return KP_OK;
    }
  }
  const char *nearest = kp_text_nearest(word, names, n);
  return nearest != NULL
             ? kp_fail(KP_ERROR_ARGUMENT, "there is no study '%s'; did you mean '%s'?", word,
                       nearest)
             : kp_fail(KP_ERROR_ARGUMENT, "there is no study '%s'; see kelpie study --list", word);
}

static kp_result read_number(const kp_arguments *arguments, const char *name, int64_t *out) {
  const char *text = kp_arguments_get(arguments, name);
  return text != NULL ? kp_parse_int(name, text, 1, MOST, out) : KP_OK;
}

static void write_command(FILE *out, int argc, char **argv) {
  (void)fprintf(out, "# kelpie");
  for (int k = 0; k < argc; ++k) {
    (void)fprintf(out, " %s", argv[k]);
  }
  (void)fprintf(out, "\n");
}

static kp_result run_study(const kp_arguments *arguments, int argc, char **argv) {
  const kp_study *study = NULL;
  int64_t threads = 1;
  const char *backend = kp_arguments_get(arguments, "backend");
  kp_study_def def = { .backend = backend != NULL ? backend : "cpu" };
  if (arguments->plain.count == 0) {
    return kp_fail(KP_ERROR_ARGUMENT, "which study? see kelpie study --list");
  }
  KP_TRY(find_study(arguments->plain.data[0], &study));
  KP_TRY(read_number(arguments, "max", &def.most));
  KP_TRY(read_number(arguments, "runs", &def.runs));
  KP_TRY(read_number(arguments, "steps", &def.steps));
  KP_TRY(read_number(arguments, "threads", &threads));
  const char *path = kp_arguments_get(arguments, "output");
  FILE *out = path != NULL ? kp_disk_open(path, "we") : stdout;
  if (out == NULL) {
    return kp_fail(KP_ERROR_IO, "cannot write %s: %s", path, strerror(errno));
  }
  write_command(out, argc, argv);
  kp_parallel_set_threads((int)threads);
  kp_result result = study->run(&def, out);
  kp_parallel_set_threads(0);
  bool failed = ferror(out) != 0;
  if (out != stdout) {
    failed = !kp_disk_close(out, path) || failed;
  }
  return result == KP_OK && failed && path != NULL ? kp_fail(KP_ERROR_IO, "cannot write %s", path)
                                                   : result;
}

int cmd_study(int argc, char **argv) {
  kp_arguments arguments;
  int status = 0;
  if (!kp_cli_begin(&command, argc, argv, &arguments, &status)) {
    return status;
  }
  if (kp_arguments_has(&arguments, "list")) {
    list_studies();
  } else {
    status = kp_cli_report(run_study(&arguments, argc, argv));
  }
  kp_arguments_free(&arguments);
  return status;
}
