#include <fnmatch.h>
#include <math.h>
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
  { "columns", 'c', "NAMES", "what to draw: patterns, one panel between commas; + joins" },
  { "table", 0, "NAME", "stats (over time, the default), perf (over frames) or another table" },
  { "x", 0, "NAME", "the column along the axis; time when missing, else frame" },
  { "frames", 0, "A:B", "only these frames: A:B, A:, :B or one number" },
  { "log", 0, NULL, "powers of ten upwards" },
  { "list", 'l', NULL,
    "tell the columns with their first and last value and range, and draw nothing" },
  { "output", 'o', "FILE", "an .svg or .png; <first run>/<table>.svg when missing" },
};

static const kp_command command = {
  "plot",
  "DIR [DIR ...] [options]",
  "Draws columns of the tables of runs as curves: energies, speeds, counts and sub-steps over "
  "time,\n"
  "or with --table perf where the seconds of each frame went. A pattern may hold * and ?; columns\n"
  "joined by + share a panel, and several runs are drawn into the same ones. What is no number\n"
  "leaves a gap.",
  "  kelpie plot out/dam_break\n"
  "  kelpie plot out/dam_break --list\n"
  "  kelpie plot out/dam_break --table perf -o perf.png\n"
  "  kelpie plot out/dam_break --columns 'water.kinetic_energy+water.potential_energy' --log\n"
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
  const char *x;  // a column; NULL: the usual one
  bool is_log;
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

static const double *column_along(const plot_job *job, const kp_table_data *table) {
  const double *x = kp_table_column(table, job->x != NULL ? job->x : "time");
  return x != NULL ? x : table->values;
}

// Rows of the frames asked for, moved to the front of each column.
static void keep_frames(kp_table_data *table, int64_t first, int64_t last) {
  const double *frame = kp_table_column(table, "frame");
  size_t begin = 0, end = table->n_rows;
  while (frame != NULL && begin < end && first >= 0 && frame[begin] < (double)first) {
    ++begin;
  }
  while (frame != NULL && end > begin && last >= 0 && frame[end - 1] > (double)last) {
    --end;
  }
  const size_t n = end - begin;
  for (size_t c = 0; c < table->n_columns; ++c) {
    memmove(table->values + c * n, table->values + c * table->n_rows + begin,
            n * sizeof *table->values);
  }
  table->n_rows = n;
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

// The columns of one pattern.
static kp_result add_curves(const plot_job *job, const char *pattern, kp_plot_panel *panel,
                            size_t *capacity) {
  bool is_exact = strpbrk(pattern, "*?[") == NULL;
  for (size_t r = 0; r < job->n_runs; ++r) {
    const kp_table_data *table = job->tables[r];
    const double *x = column_along(job, table);
    for (size_t c = 0; c < table->n_columns; ++c) {
      const double *y = table->values + c * table->n_rows;
      if (fnmatch(pattern, table->columns[c], 0) != 0 ||
          (!is_exact && (y == x || is_empty(y, table->n_rows)))) {
        continue;
      }
      KP_TRY(kp_array_reserve_raw((void **)&panel->curves, capacity, panel->n_curves + 1,
                                  sizeof *panel->curves));
      kp_plot_curve *curve = &panel->curves[panel->n_curves++];
      *curve = (kp_plot_curve){ .x = x, .y = y, .n = table->n_rows };
      (void)snprintf(curve->name, sizeof curve->name, "%s%s%s", table->columns[c],
                     job->n_runs > 1 ? " " : "", job->n_runs > 1 ? kp_path_name(job->runs[r]) : "");
    }
  }
  return KP_OK;
}

static kp_result refuse_pattern(const plot_job *job, const char *pattern) {
  const kp_table_data *table = job->tables[0];
  const char *near =
      kp_text_nearest(pattern, (const char *const *)table->columns, table->n_columns);
  return near != NULL
             ? kp_fail(KP_ERROR_ARGUMENT, "no column of %s.csv is like '%s'; did you mean %s?",
                       job->table, pattern, near)
             : kp_fail(KP_ERROR_ARGUMENT,
                       "no column of %s.csv is like '%s'; --list tells which there are", job->table,
                       pattern);
}

// Patterns between + share the panel. `patterns` is cut up.
static kp_result add_panel(plot_job *job, char *patterns, bool is_wanted) {
  kp_plot_panel panel = { .is_log = job->is_log };
  size_t capacity = 0;
  char *rest = NULL;
  kp_text_copy(panel.title, sizeof panel.title, patterns);
  kp_result result = KP_OK;
  for (char *p = strtok_r(patterns, "+", &rest); p != NULL && result == KP_OK;
       p = strtok_r(NULL, "+", &rest)) {
    size_t before = panel.n_curves;
    result = add_curves(job, p, &panel, &capacity);
    if (result == KP_OK && panel.n_curves == before && is_wanted) {
      result = refuse_pattern(job, p);
    }
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

static void tell_column(const char *name, const double *y, size_t n) {
  double lo = INFINITY, hi = -INFINITY;
  size_t missing = 0;
  for (size_t i = 0; i < n; ++i) {
    bool is_number = isfinite(y[i]);
    lo = is_number ? fmin(lo, y[i]) : lo;
    hi = is_number ? fmax(hi, y[i]) : hi;
    missing += is_number ? 0 : 1;
  }
  if (missing == n) {
    (void)printf("  %-32s no numbers\n", name);
    return;
  }
  (void)printf("  %-32s %12.6g to %12.6g, between %.6g and %.6g", name, y[0], y[n - 1], lo, hi);
  (void)printf(missing > 0 ? ", %zu rows without\n" : "\n", missing);
}

static void list_columns(const plot_job *job) {
  for (size_t r = 0; r < job->n_runs; ++r) {
    const kp_table_data *table = job->tables[r];
    (void)printf("%s/%s.csv, %zu rows: first and last, least and most\n", job->runs[r], job->table,
                 table->n_rows);
    for (size_t c = 0; c < table->n_columns; ++c) {
      tell_column(table->columns[c], table->values + c * table->n_rows, table->n_rows);
    }
  }
}

static kp_result write_plot(const plot_job *job, const char *path) {
  const char *usual_x = kp_table_column(job->tables[0], "time") != NULL ? "time [s]" : "frame";
  kp_plot plot = { .x_label = job->x != NULL ? job->x : usual_x,
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

static kp_result read_runs(plot_job *job, const char *frames) {
  int64_t first = -1, last = -1;
  bool is_single;
  if (frames != NULL) {
    KP_TRY(kp_parse_range(frames, &first, &last, &is_single));
  }
  for (size_t r = 0; r < job->n_runs; ++r) {
    KP_TRY(read_run(job->runs[r], job->table, &job->tables[r]));
    keep_frames(job->tables[r], first, last);
    if (job->tables[r]->n_rows == 0) {
      return kp_fail(KP_ERROR_ARGUMENT, "%s: no row of %s.csv is in --frames %s", job->runs[r],
                     job->table, frames);
    }
    if (job->x != NULL && kp_table_column(job->tables[r], job->x) == NULL) {
      return refuse_pattern(job, job->x);
    }
  }
  return KP_OK;
}

static kp_result plot_runs(plot_job *job, const kp_arguments *arguments) {
  char path[KP_PATH_SIZE];
  const char *output = kp_arguments_get(arguments, "output");
  KP_TRY(read_runs(job, kp_arguments_get(arguments, "frames")));
  if (kp_arguments_has(arguments, "list")) {
    list_columns(job);
    return KP_OK;
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
  job.x = kp_arguments_get(arguments, "x");
  job.is_log = kp_arguments_has(arguments, "log");
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
