// Comparing the probes of runs (Oezgen 2013, section 4.4.3): how far the direction and size of the
// velocity of each region of a run are from those of a reference.
//
//   angle of a region   (1/n) sum_i arccos(v . v_ref / (|v| |v_ref|))   over the looks i (Eq. 4.8)
//
// The argument is kept within -1 and 1. A look at which a region is empty in either run, or at
// which either velocity is so slow that it has no direction, is skipped and counted. Looks of two
// runs at different times are brought together by interpolating the reference.
#pragma once

#include "base/array.h"
#include "kelpie/report.h"

// All looks of a probe: values[look * n_regions + region].
typedef struct kp_series {
  size_t n_regions, n_looks;
  KP_ARRAY(double) times;
  KP_ARRAY(kp_probe_value) values;
} kp_series;

void kp_series_free(kp_series *series);

// From <folder>/probes_<probe>.csv. A table with looks of different length, or none, is refused.
KP_NODISCARD kp_result kp_series_read(const char *folder, const char *probe, kp_series *out);

// The largest speed of any region: what slow is measured by.
double kp_series_top_speed(const kp_series *series);

// Value of a region at a time, linear between looks; false outside them or where a look it needs is
// empty.
bool kp_series_at(const kp_series *series, size_t region, double time, kp_probe_value *out);

// Angle between two velocities [rad]; NaN when either is at most `slow` [m/s].
double kp_measure_angle(kp_vec3 v, kp_vec3 reference, double slow);

typedef struct kp_region_error {
  double angle;      // rad; NaN: every look was skipped
  double magnitude;  // mean of ||v| - |v_ref||, over the top speed of the reference
  double intensity;  // of the reference: mean of 1 - |mean v| / mean |v|, 0 where all go one way
  int64_t used, skipped;  // looks
} kp_region_error;

// One entry per region. The regions must be the same. `slow` is a share of the reference's top
// speed.
KP_NODISCARD kp_result kp_measure_regions(const kp_series *reference, const kp_series *run,
                                          double slow, kp_region_error *out);

typedef struct kp_measure_def {
  const char *reference;    // run folder
  const char *const *runs;  // run folders
  size_t n_runs;
  const char *probe;
  const char *out;  // folder for the results
  double slow;
  int64_t region;  // whose curves are drawn; -1: the one of the greatest intensity
} kp_measure_def;

// What is told of one run.
typedef struct kp_measure_total {
  double mean_angle, median_angle;  // over regions [rad]
  double mean_magnitude;
  int64_t regions, best;      // measured, and those in which no other run is nearer
  int64_t steps, steps_best;  // looks, and those at which the mean angle over regions is smallest
  int64_t used, skipped;
} kp_measure_total;

// Writes regions.csv, series.csv, summary.csv, curves.svg and, for two runs or more, map.svg and
// map.png: the first run against the second, green where the first is nearer to the reference, red
// where the second is. totals: one per run.
KP_NODISCARD kp_result kp_measure_runs(const kp_measure_def *def, kp_measure_total *totals);
