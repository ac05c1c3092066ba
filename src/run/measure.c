#include "run/measure.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "io/table.h"
#include "run/run_folder.h"

// ---- series
// -------------------------------------------------------------------------------------------------

void kp_series_free(kp_series *series) {
  kp_array_free(&series->times);
  kp_array_free(&series->values);
}

static const char *const wanted_columns[] = { "region",     "time",  "x",          "y",
                                              "z",          "count", "velocity_x", "velocity_y",
                                              "velocity_z", "speed" };
#define N_WANTED (sizeof wanted_columns / sizeof wanted_columns[0])

// Looks follow each other whole, region 0, 1, ...; a run that was killed may have left a part of
// the last one.
static kp_result count_looks(const double *region, size_t n_rows, kp_series *out) {
  out->n_regions = 1;
  while (out->n_regions < n_rows && region[out->n_regions] != 0.0) {
    ++out->n_regions;
  }
  for (size_t row = 0; row < n_rows; ++row) {
    if (region[row] != (double)(row % out->n_regions)) {
      return kp_fail(KP_ERROR_FORMAT, "line %zu is out of order", row + 2);
    }
  }
  out->n_looks = n_rows / out->n_regions;
  return out->n_looks > 0 ? KP_OK : kp_fail(KP_ERROR_FORMAT, "there is no look in it");
}

static kp_result fill_series(const kp_table_data *table, kp_series *out) {
  const double *c[N_WANTED];
  for (size_t k = 0; k < N_WANTED; ++k) {
    c[k] = kp_table_column(table, wanted_columns[k]);
    if (c[k] == NULL) {
      return kp_fail(KP_ERROR_FORMAT, "the column \"%s\" is missing", wanted_columns[k]);
    }
  }
  KP_TRY(count_looks(c[0], table->n_rows, out));
  KP_TRY(kp_array_resize(&out->times, out->n_looks));
  KP_TRY(kp_array_resize(&out->values, out->n_looks * out->n_regions));
  for (size_t row = 0; row < out->values.count; ++row) {
    out->times.data[row / out->n_regions] = c[1][row];
    out->values.data[row] =
        (kp_probe_value){ .position = kp_vec3_make(c[2][row], c[3][row], c[4][row]),
                          .count = c[5][row],
                          .velocity = kp_vec3_make(c[6][row], c[7][row], c[8][row]),
                          .speed = c[9][row] };
  }
  return KP_OK;
}

kp_result kp_series_read(const char *folder, const char *probe, kp_series *out) {
  *out = (kp_series){ 0 };
  char path[KP_PATH_SIZE];
  kp_table_data *table = NULL;
  if (snprintf(path, sizeof path, "%s/probes_%s.csv", folder, probe) >= (int)sizeof path) {
    return kp_fail(KP_ERROR_ARGUMENT, "the path %s is too long", folder);
  }
  KP_TRY(kp_table_read(path, &table));
  kp_result result = fill_series(table, out);
  kp_table_free(&table);
  if (result != KP_OK) {
    kp_series_free(out);
    return kp_fail_in(result, "%s", path);
  }
  return KP_OK;
}

double kp_series_top_speed(const kp_series *series) {
  double top = 0.0;
  for (size_t i = 0; i < series->n_looks * series->n_regions; ++i) {
    top = fmax(top, kp_vec3_length(series->values.data[i].velocity));
  }
  return top;
}

bool kp_series_at(const kp_series *series, size_t region, double time, kp_probe_value *out) {
  const double *t = series->times.data;
  size_t n = series->n_looks;
  double slack = n > 1 ? 1e-6 * (t[n - 1] - t[0]) / (double)(n - 1) : 1e-12;
  if (n == 0 || time < t[0] - slack || time > t[n - 1] + slack) {
    return false;
  }
  size_t a = 0;
  size_t b = n;
  while (b - a > 1) {
    size_t m = a + (b - a) / 2;
    a = t[m] <= time + slack ? m : a;
    b = t[m] <= time + slack ? b : m;
  }
  *out = series->values.data[a * series->n_regions + region];
  if (fabs(time - t[a]) > slack && a + 1 < n) {
    const kp_probe_value *next = &series->values.data[(a + 1) * series->n_regions + region];
    double s = (time - t[a]) / (t[a + 1] - t[a]);
    out->velocity = kp_vec3_madd(out->velocity, s, kp_vec3_sub(next->velocity, out->velocity));
    out->speed += s * (next->speed - out->speed);
    out->count = fmin(out->count, next->count);
  }
  return out->count > 0.0;
}

// ---- errors
// -------------------------------------------------------------------------------------------------

double kp_measure_angle(kp_vec3 v, kp_vec3 reference, double slow) {
  double a = kp_vec3_length(v);
  double b = kp_vec3_length(reference);
  if (!(a > slow) || !(b > slow)) {
    return NAN;
  }
  double c = kp_vec3_dot(v, reference) / (a * b);
  return acos(fmax(-1.0, fmin(1.0, c)));
}

static kp_result check_same_regions(const kp_series *a, const kp_series *b) {
  if (a->n_regions != b->n_regions) {
    return kp_fail(KP_ERROR_ARGUMENT, "the probe has %zu regions and that of the reference %zu",
                   b->n_regions, a->n_regions);
  }
  for (size_t r = 0; r < a->n_regions; ++r) {
    kp_vec3 apart = kp_vec3_sub(a->values.data[r].position, b->values.data[r].position);
    double size = kp_vec3_length(a->values.data[r].position);
    if (kp_vec3_length(apart) > 1e-6 * (1.0 + size)) {
      return kp_fail(KP_ERROR_ARGUMENT, "region %zu lies elsewhere than in the reference", r);
    }
  }
  return KP_OK;
}

static kp_region_error region_error(const kp_series *reference, const kp_series *run, size_t r,
                                    double top, double slow) {
  kp_region_error e = { 0 };
  for (size_t i = 0; i < run->n_looks; ++i) {
    kp_probe_value ref;
    const kp_probe_value *v = &run->values.data[i * run->n_regions + r];
    double angle = NAN;
    if (v->count > 0.0 && kp_series_at(reference, r, run->times.data[i], &ref)) {
      angle = kp_measure_angle(v->velocity, ref.velocity, slow * top);
    }
    if (isnan(angle)) {
      e.skipped += 1;
      continue;
    }
    e.used += 1;
    e.angle += angle;
    e.magnitude += fabs(kp_vec3_length(v->velocity) - kp_vec3_length(ref.velocity)) / top;
    e.intensity += 1.0 - fmin(1.0, kp_vec3_length(ref.velocity) / ref.speed);
  }
  double n = (double)e.used;
  e.angle = e.used > 0 ? e.angle / n : NAN;
  e.magnitude = e.used > 0 ? e.magnitude / n : NAN;
  e.intensity = e.used > 0 ? e.intensity / n : 0.0;
  return e;
}

kp_result kp_measure_regions(const kp_series *reference, const kp_series *run, double slow,
                             kp_region_error *out) {
  KP_TRY(check_same_regions(reference, run));
  double top = kp_series_top_speed(reference);
  if (!(top > 0.0)) {
    return kp_fail(KP_ERROR_ARGUMENT, "nothing moves in the reference");
  }
  for (size_t r = 0; r < run->n_regions; ++r) {
    out[r] = region_error(reference, run, r, top, slow);
  }
  return KP_OK;
}
