#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "cli/commands.h"
#include "kelpie/types.h"
#include "run/measure.h"
#include "run/run_folder.h"

static const kp_option options[] = {
  { "probe", 'p', "NAME", "the probe to compare; needed when the reference has several" },
  { "output", 'o', "DIR", "where to; <first run>/measure_<probe> when missing" },
  { "region", 'r', "N", "whose curves are drawn; the one of the greatest intensity when missing" },
  { "slow", 0, "X", "below this share of the top speed a velocity has no direction; 1e-6" },
};

static const kp_command command = {
  "measure",
  "REFERENCE RUN [RUN ...] [options]",
  "Compares what the probes of runs saw with what they saw in a reference: per region the mean\n"
  "angle between the velocities (regions.csv), the looks one by one (series.csv), totals\n"
  "(summary.csv), curves of one region (curves.svg), and for two runs or more a map that is green\n"
  "where the first run is nearer to the reference than the second and red where it is not\n"
  "(map.svg, map.png). Looks at which a region is empty or too slow are skipped and counted.",
  "  kelpie measure out/fine out/coarse_new out/coarse_old\n"
  "  kelpie measure out/fine out/coarse --probe grid --region 17 -o /tmp/compared",
  options,
  sizeof options / sizeof options[0],
  2,
  1000,
};

#define PREFIX "probes_"
#define SUFFIX ".csv"

// The only probe of the reference, when none was named.
static kp_result find_probe(const char *folder, char *out, size_t size) {
  DIR *dir = opendir(folder);
  size_t found = 0;
  for (const struct dirent *e = NULL; dir != NULL && (e = readdir(dir)) != NULL;) {
    size_t n = strlen(e->d_name);
    size_t ends = strlen(PREFIX) + strlen(SUFFIX);
    if (n > ends && strncmp(e->d_name, PREFIX, strlen(PREFIX)) == 0 &&
        strcmp(e->d_name + n - strlen(SUFFIX), SUFFIX) == 0) {
      ++found;
      (void)snprintf(out, size, "%.*s", (int)(n - ends), e->d_name + strlen(PREFIX));
    }
  }
  if (dir != NULL) {
    (void)closedir(dir);
  }
  if (found == 1) {
    return KP_OK;
  }
  return found == 0 ? kp_fail(KP_ERROR_ARGUMENT,
                              "%s holds no probes_<name>.csv: its scene has no probe", folder)
                    : kp_fail(KP_ERROR_ARGUMENT, "%s has %zu probes: say which with --probe NAME",
                              folder, found);
}

static kp_result parse_slow(const char *text, double *out) {
  if (text == NULL) {
    return KP_OK;
  }
  char *end;
  *out = strtod(text, &end);
  return end != text && *end == '\0' && *out >= 0.0 && *out < 1.0
             ? KP_OK
             : kp_fail(KP_ERROR_ARGUMENT, "--slow wants a number from 0 to 1, not \"%s\"", text);
}

static void print_totals(const kp_measure_def *def, const kp_measure_total *totals) {
  (void)printf("%-28s %9s %9s %9s %12s %12s %9s\n", "run", "angle", "median", "|v| error",
               "regions best", "looks best", "skipped");
  for (size_t k = 0; k < def->n_runs; ++k) {
    const kp_measure_total *t = &totals[k];
    (void)printf("%-28s %9.4f %9.4f %9.4f %6lld/%-5lld %6lld/%-5lld %9lld\n", def->runs[k],
                 t->mean_angle, t->median_angle, t->mean_magnitude, (long long)t->best,
                 (long long)t->regions, (long long)t->steps_best, (long long)t->steps,
                 (long long)t->skipped);
  }
  (void)printf("%s\n", def->out);
}

static kp_result check_folders(const kp_arguments *arguments) {
  for (size_t i = 0; i < arguments->plain.count; ++i) {
    kp_run_folder folder;
    KP_TRY(kp_run_folder_open(arguments->plain.data[i], &folder));
    kp_run_folder_close(&folder);
  }
  return KP_OK;
}

static kp_result run_measure(const kp_arguments *arguments) {
  char probe[KP_TEXT_SIZE];
  char out[KP_PATH_SIZE];
  kp_measure_def def = { .reference = arguments->plain.data[0],
                         .runs = arguments->plain.data + 1,
                         .n_runs = arguments->plain.count - 1,
                         .probe = kp_arguments_get(arguments, "probe"),
                         .out = kp_arguments_get(arguments, "output"),
                         .slow = 1e-6,
                         .region = -1 };
  const char *region = kp_arguments_get(arguments, "region");
  if (region != NULL) {
    KP_TRY(kp_parse_int("--region", region, 0, 10000000, &def.region));
  }
  KP_TRY(parse_slow(kp_arguments_get(arguments, "slow"), &def.slow));
  KP_TRY(check_folders(arguments));
  if (def.probe == NULL) {
    KP_TRY(find_probe(def.reference, probe, sizeof probe));
    def.probe = probe;
  }
  if (def.out == NULL) {
    if (snprintf(out, sizeof out, "%s/measure_%s", def.runs[0], def.probe) >= (int)sizeof out) {
      return kp_fail(KP_ERROR_ARGUMENT, "the path %s is too long", def.runs[0]);
    }
    def.out = out;
  }
  kp_measure_total *totals = kp_alloc_zero(def.n_runs * sizeof *totals, KP_MEMORY_IO);
  if (totals == NULL) {
    return KP_ERROR_MEMORY;
  }
  kp_result result = kp_measure_runs(&def, totals);
  if (result == KP_OK) {
    print_totals(&def, totals);
  }
  kp_free(totals);
  return result;
}

int cmd_measure(int argc, char **argv) {
  kp_arguments arguments;
  int status;
  if (!kp_cli_begin(&command, argc, argv, &arguments, &status)) {
    return status;
  }
  kp_result result = run_measure(&arguments);
  kp_arguments_free(&arguments);
  return kp_cli_report(result);
}
