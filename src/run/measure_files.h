// The files of a comparison; see run/measure.h.
#pragma once

#include "run/measure.h"

// Everything the files are made from. errors[run * n_regions + region].
typedef struct kp_measured {
  const kp_measure_def *def;
  kp_series reference;
  KP_ARRAY(kp_series) runs;
  KP_ARRAY(kp_region_error) errors;
  const kp_measure_total *totals;
  double top;  // m/s, of the reference
} kp_measured;

KP_NODISCARD kp_result kp_measured_write(const kp_measured *m);
