#include <fnmatch.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/text.h"
#include "cli/commands.h"
#include "io/files.h"
#include "io/plot.h"
#include "io/table.h"
#include "run/run_folder.h"

static const kp_option options[] = {
  { "columns", 'c', "NAMES", "what to draw: patterns with commas between, one panel each" },
  { "table", 0, "NAME", "stats (over time, the default), perf (over frames) or another table" },
  { "output", 'o', "FILE", "an .svg or .png; <first run>/<table>.svg when missing" },
};

static const kp_command command = {
  "plot",
  "DIR [DIR ...] [options]",
  "Draws columns of the tables of runs as curves: energies, speeds, counts and sub-steps over "
  "time,\n"
  "or with --table perf where the seconds of each frame went. A pattern may hold * and ?. Several\n"
  "runs are drawn into the same panels.",
  "  kelpie plot out/dam_break\n"
  "  kelpie plot out/dam_break --table perf -o perf.png\n"
  "  kelpie plot out/fine out/coarse --columns '*.kinetic_energy,*.max_speed' -o compared.svg",
  options,
  sizeof options / sizeof options[0],
  1,
  1000,
};

// What is drawn when nothing is asked for, per table.
static const char *const usual[][2] = {
  { "stats", "*energy,*.max_speed,*.count,substeps" },
  { "perf", "wall_s,*_s,mps,memory_*" },
};

typedef struct plot_job {
  char table[64];
  kp_table_data **tables;  // one per run
  const char *const *runs;
  size_t n_runs;
  KP_ARRAY(kp_plot_panel) panels;
} plot_job;

static kp_result read_run(const char *path, const char *table, kp_table_data **out) {
  kp_run_folder folder;
  char file[KP_PATH_SIZE];
  KP_TRY(kp_run_folder_open(path, &folder));
  kp_result result = kp_run_path(&folder, file, "%s.csv", table);
  kp_run_folder_close(&folder);
  KP_TRY(result);
  KP_TRY(kp_table_read(file, out));
  return (*out)->n_rows > 0 ? KP_OK : kp_fail(KP_ERROR_IO, "%s holds no rows yet", file);
}

// A column that never changes from zero, or holds nothing, is left out of patterns with stars.
static bool is_empty(const double *values, size_t n) {
  for (size_t i = 0; i < n; ++i) {
    if (values[i] == values[i] && values[i] != 0.0) {
      return false;
    }
  }
  return true;
}

static kp_result add_curves(const plot_job *job, const char *pattern, kp_plot_panel *panel,
                            size_t *capacity) {
  bool is_exact = strpbrk(pattern, "*?[") == NULL;
  for (size_t r = 0; r < job->n_runs; ++r) {
    const kp_table_data *table = job->tables[r];
    const double *time = kp_table_column(table, "time");
    for (size_t c = 0; c < table->n_columns; ++c) {
      const double *y = table->values + c * table->n_rows;
      if (fnmatch(pattern, table->columns[c], 0) != 0 ||
          (!is_exact && is_empty(y, table->n_rows))) {
        continue;
      }
      KP_TRY(kp_array_reserve_raw((void **)&panel->curves, capacity, panel->n_curves + 1,
                                  sizeof *panel->curves));
      kp_plot_curve *curve = &panel->curves[panel->n_curves++];
      *curve =
          (kp_plot_curve){ .x = time != NULL ? time : table->values, .y = y, .n = table->n_rows };
      (void)snprintf(curve->name, sizeof curve->name, "%s%s%s", table->columns[c],
                     job->n_runs > 1 ? " " : "", job->n_runs > 1 ? kp_path_name(job->runs[r]) : "");
    }
  }
  return KP_OK;
}

static kp_result add_panel(plot_job *job, const char *pattern, bool is_wanted) {
  kp_plot_panel panel = { 0 };
  size_t capacity = 0;
  kp_text_copy(panel.title, sizeof panel.title, pattern);
  kp_result result = add_curves(job, pattern, &panel, &capacity);
  if (result == KP_OK && panel.n_curves == 0 && is_wanted) {
    result = kp_fail(KP_ERROR_ARGUMENT, "no column of %s.csv is like '%s'", job->table, pattern);
  }
  if (result == KP_OK && panel.n_curves > 0) {
    result = kp_array_push(&job->panels, panel);
    panel.curves = result == KP_OK ? NULL : panel.curves;
  }
  kp_free(panel.curves);
  return result;
}

static kp_result add_panels(plot_job *job, const char *columns) {
  char patterns[1024];
  char *rest = NULL;
  const char *wanted = columns;
  for (size_t i = 0; wanted == NULL && i < sizeof usual / sizeof usual[0]; ++i) {
    wanted = strcmp(usual[i][0], job->table) == 0 ? usual[i][1] : NULL;
  }
  kp_text_copy(patterns, sizeof patterns, wanted != NULL ? wanted : "*");
  for (char *p = strtok_r(patterns, ",", &rest); p != NULL; p = strtok_r(NULL, ",", &rest)) {
    KP_TRY(add_panel(job, p, columns != NULL));
  }
  return job->panels.count > 0 ? KP_OK : kp_fail(KP_ERROR_ARGUMENT, "there is nothing to draw");
}

static kp_result write_plot(const plot_job *job, const char *path) {
  kp_plot plot = { .x_label =
                       kp_table_column(job->tables[0], "time") != NULL ? "time [s]" : "frame",
                   .panels = job->panels.data,
                   .n_panels = job->panels.count };
  const char *dot = strrchr(path, '.');
  kp_result result;
  if (dot != NULL && strcmp(dot, ".png") == 0) {
    kp_image image;
    KP_TRY(kp_plot_image(&plot, &image));
    result = kp_png_write(path, &image);
    kp_image_free(&image);
  } else if (dot != NULL && strcmp(dot, ".svg") == 0) {
    kp_text text = { 0 };
    result = kp_plot_svg(&plot, &text);
    result = result == KP_OK ? kp_file_write(path, text.data, text.count) : result;
    kp_text_free(&text);
  } else {
    return kp_fail(KP_ERROR_ARGUMENT, "--output %s: plots are .svg or .png files", path);
  }
  if (result == KP_OK) {
    (void)printf("%s\n", path);
  }
  return result;
}

static kp_result plot_runs(plot_job *job, const kp_arguments *arguments) {
  char path[KP_PATH_SIZE];
  const char *output = kp_arguments_get(arguments, "output");
  for (size_t r = 0; r < job->n_runs; ++r) {
    KP_TRY(read_run(job->runs[r], job->table, &job->tables[r]));
  }
  KP_TRY(add_panels(job, kp_arguments_get(arguments, "columns")));
  if (output == NULL) {
    if (snprintf(path, sizeof path, "%s/%s.svg", job->runs[0], job->table) >= (int)sizeof path) {
      return kp_fail(KP_ERROR_ARGUMENT, "the path %s is too long", job->runs[0]);
    }
    output = path;
  }
  return write_plot(job, output);
}

static kp_result run_plot(const kp_arguments *arguments) {
  const char *table = kp_arguments_get(arguments, "table");
  plot_job job = { .runs = arguments->plain.data, .n_runs = arguments->plain.count };
  kp_text_copy(job.table, sizeof job.table, table != NULL ? table : "stats");
  job.tables = kp_alloc_zero(job.n_runs * sizeof *job.tables, KP_MEMORY_IO);
  kp_result result = job.tables != NULL ? plot_runs(&job, arguments) : KP_ERROR_MEMORY;
  for (size_t r = 0; job.tables != NULL && r < job.n_runs; ++r) {
    kp_table_free(&job.tables[r]);
  }
  for (size_t p = 0; p < job.panels.count; ++p) {
    kp_free(job.panels.data[p].curves);
  }
  kp_array_free(&job.panels);
  kp_free(job.tables);
  return result;
}

int cmd_plot(int argc, char **argv) {
  kp_arguments arguments;
  int status;
  if (!kp_cli_begin(&command, argc, argv, &arguments, &status)) {
    return status;
  }
  kp_result result = run_plot(&arguments);
  kp_arguments_free(&arguments);
  return kp_cli_report(result);
}
