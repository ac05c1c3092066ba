// Studies: experiments that end in a table. `kelpie study NAME` runs one and writes CSV, whose
// first line is the command.
#pragma once

#include <stdio.h>

#include "base/result.h"

typedef struct kp_study_def {
  int64_t most;   // particles of the largest case; 0: the study's own
  int64_t runs;   // averaged over; 0: the study's own
  int64_t steps;  // per measurement; 0: the study's own
  const char *backend;
} kp_study_def;

typedef struct kp_study {
  const char *name, *text;
  // Writes the line of column names and the rows.
  kp_result (*run)(const kp_study_def *def, FILE *out);
} kp_study;

extern const kp_study kp_studies[];
extern const size_t kp_n_studies;

// Rows are flushed as they come: a study that is stopped leaves what it has.
void kp_study_row(FILE *out, const char *format, ...) __attribute__((format(printf, 2, 3)));

KP_NODISCARD kp_result kp_study_integrator_energy(const kp_study_def *def, FILE *out);
KP_NODISCARD kp_result kp_study_integrator_stability(const kp_study_def *def, FILE *out);
KP_NODISCARD kp_result kp_study_integrator_cost(const kp_study_def *def, FILE *out);
KP_NODISCARD kp_result kp_study_water_models(const kp_study_def *def, FILE *out);
KP_NODISCARD kp_result kp_study_plasma_radius(const kp_study_def *def, FILE *out);
KP_NODISCARD kp_result kp_study_plasma_cost(const kp_study_def *def, FILE *out);
KP_NODISCARD kp_result kp_study_drop(const kp_study_def *def, FILE *out);
KP_NODISCARD kp_result kp_study_fire_models(const kp_study_def *def, FILE *out);
KP_NODISCARD kp_result kp_study_vortex_reach(const kp_study_def *def, FILE *out);
KP_NODISCARD kp_result kp_study_sorts(const kp_study_def *def, FILE *out);
KP_NODISCARD kp_result kp_study_search(const kp_study_def *def, FILE *out);
KP_NODISCARD kp_result kp_study_fractional_weights(const kp_study_def *def, FILE *out);
KP_NODISCARD kp_result kp_study_surface(const kp_study_def *def, FILE *out);
KP_NODISCARD kp_result kp_study_surface_fields(const kp_study_def *def, FILE *out);
KP_NODISCARD kp_result kp_study_surface_backends(const kp_study_def *def, FILE *out);
KP_NODISCARD kp_result kp_study_surface_naive(const kp_study_def *def, FILE *out);
KP_NODISCARD kp_result kp_study_fractional_orders(const kp_study_def *def, FILE *out);
