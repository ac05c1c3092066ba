// Reading the runs, and what is told of each.
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/files.h"
#include "run/measure_files.h"

static int by_value(const void *a, const void *b) {
  double x = *(const double *)a;
  double y = *(const double *)b;
  return (x > y) - (x < y);
}

static double median(double *values, size_t n) {
  if (n == 0) {
    return NAN;
  }
  qsort(values, n, sizeof *values, by_value);
  return n % 2 == 1 ? values[n / 2] : 0.5 * (values[n / 2 - 1] + values[n / 2]);
}

// No other run is nearer in this region.
static bool is_best(const kp_measured *m, size_t run, size_t region) {
  size_t n = m->reference.n_regions;
  double mine = m->errors.data[run * n + region].angle;
  for (size_t k = 0; k < m->runs.count; ++k) {
    if (k != run && !(mine <= m->errors.data[k * n + region].angle)) {
      return false;
    }
  }
  return !isnan(mine);
}

// Mean angle over the regions at a time; NaN where no region has one.
static double angle_at(const kp_measured *m, const kp_series *run, double time) {
  double sum = 0.0;
  double n = 0.0;
  for (size_t r = 0; r < m->reference.n_regions; ++r) {
    kp_probe_value ref;
    kp_probe_value v;
    if (kp_series_at(&m->reference, r, time, &ref) && kp_series_at(run, r, time, &v)) {
      double angle = kp_measure_angle(v.velocity, ref.velocity, m->def->slow * m->top);
      sum += isnan(angle) ? 0.0 : angle;
      n += isnan(angle) ? 0.0 : 1.0;
    }
  }
  return n > 0.0 ? sum / n : NAN;
}

static void count_steps(const kp_measured *m, size_t run, kp_measure_total *total) {
  for (size_t i = 0; i < m->runs.data[run].n_looks; ++i) {
    double time = m->runs.data[run].times.data[i];
    double mine = angle_at(m, &m->runs.data[run], time);
    if (isnan(mine)) {
      continue;
    }
    bool best = true;
    for (size_t k = 0; k < m->runs.count; ++k) {
      best = best && (k == run || !(angle_at(m, &m->runs.data[k], time) < mine));
    }
    total->steps += 1;
    total->steps_best += best ? 1 : 0;
  }
}

static kp_result tell(const kp_measured *m, size_t run, kp_measure_total *total) {
  size_t n = m->reference.n_regions;
  KP_ARRAY(double) angles = { 0 };
  *total = (kp_measure_total){ 0 };
  for (size_t r = 0; r < n; ++r) {
    const kp_region_error *e = &m->errors.data[run * n + r];
    total->used += e->used;
    total->skipped += e->skipped;
    if (!isnan(e->angle)) {
      if (kp_array_push(&angles, e->angle) != KP_OK) {
        kp_array_free(&angles);
        return KP_ERROR_MEMORY;
      }
      total->mean_angle += e->angle;
      total->mean_magnitude += e->magnitude;
      total->best += is_best(m, run, r) ? 1 : 0;
    }
  }
  total->regions = (int64_t)angles.count;
  total->mean_angle /= (double)angles.count;
  total->mean_magnitude /= (double)angles.count;
  total->median_angle = median(angles.data, angles.count);
  kp_array_free(&angles);
  count_steps(m, run, total);
  return KP_OK;
}

static kp_result read_all(kp_measured *m) {
  const kp_measure_def *def = m->def;
  KP_TRY(kp_series_read(def->reference, def->probe, &m->reference));
  KP_TRY(kp_array_reserve(&m->runs, def->n_runs));
  for (size_t k = 0; k < def->n_runs; ++k) {
    KP_TRY(kp_series_read(def->runs[k], def->probe, &m->runs.data[k]));
    m->runs.count = k + 1;
  }
  m->top = kp_series_top_speed(&m->reference);
  return KP_OK;
}

static kp_result measure(kp_measured *m, kp_measure_total *totals) {
  size_t n = m->reference.n_regions;
  if (m->def->region >= (int64_t)n) {
    return kp_fail(KP_ERROR_ARGUMENT, "there is no region %lld: the probe has %zu, from 0 on",
                   (long long)m->def->region, n);
  }
  KP_TRY(kp_array_resize(&m->errors, n * m->runs.count));
  for (size_t k = 0; k < m->runs.count; ++k) {
    kp_result result =
        kp_measure_regions(&m->reference, &m->runs.data[k], m->def->slow, &m->errors.data[k * n]);
    if (result != KP_OK) {
      return kp_fail_in(result, "%s", m->def->runs[k]);
    }
  }
  for (size_t k = 0; k < m->runs.count; ++k) {
    KP_TRY(tell(m, k, &totals[k]));
  }
  m->totals = totals;
  KP_TRY(kp_folder_make(m->def->out));
  return kp_measured_write(m);
}

kp_result kp_measure_runs(const kp_measure_def *def, kp_measure_total *totals) {
  kp_measured m = { .def = def };
  kp_result result = read_all(&m);
  if (result == KP_OK) {
    result = measure(&m, totals);
  }
  kp_series_free(&m.reference);
  for (size_t k = 0; k < m.runs.count; ++k) {
    kp_series_free(&m.runs.data[k]);
  }
  kp_array_free(&m.runs);
  kp_array_free(&m.errors);
  return result;
}
