// Plasma: two kinds of charges that attract and repel each other within an influence radius (Lyes
// 2015, section 6.3). No magnetic field, no collisions, one temperature.
#pragma once

#include "methods/common/medium.h"
#include "methods/plasma/plasma_kernels.h"

typedef struct kp_plasma_cloud {
  kp_plasma_def def;
  kp_medium medium;
  kp_field *charge;  // C
  kp_field *cell;    // of a search that stops at 27 cells; else NULL
  kp_field *energy;  // J, scratch of the statistics
  double edge;       // m, of cells
  double softening;  // m
} kp_plasma_cloud;

typedef struct kp_plasma {
  KP_ARRAY(kp_plasma_cloud) clouds;
} kp_plasma;

KP_NODISCARD kp_result kp_plasma_create(kp_env *env, const kp_plasma_def *defs, size_t n,
                                        kp_plasma **out);

extern const kp_method kp_plasma_method;
