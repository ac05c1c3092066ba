// The deformables of a world under test.
#pragma once

#include <math.h>

#include "methods/deform/deform.h"

#include "support/media.h"

static inline kp_deform *kp_test_deform(kp_world *world) {
  return kp_test_system(world, &kp_deform_method);
}

// How far a solve is from Newton's law: mass times the change from v to d->moving against the
// impulses in d->right, as a share of the largest change of momentum.
static inline double kp_test_residual(kp_deform *d, const kp_deform_group *group, kp_buffer *v) {
  const kp_real *mass = kp_buffer_host(&d->mass, KP_ACCESS_READ);
  const kp_real *impulse = kp_buffer_host(&d->right, KP_ACCESS_READ);
  int64_t n = group->nodes.n;
  double worst = 0.0, largest = 0.0;
  for (int c = 0; c < 3; ++c) {
    const kp_real *before = kp_buffer_host(&v[c], KP_ACCESS_READ);
    const kp_real *after = kp_buffer_host(&d->moving.c[c], KP_ACCESS_READ);
    for (int64_t i = 0; i < n; ++i) {
      double gained = (double)mass[i] * ((double)after[i] - (double)before[i]);
      worst = fmax(worst, fabs(gained - (double)impulse[c * n + i]));
      largest = fmax(largest, fabs(gained));
    }
  }
  assert_true(largest > 0.0);
  return worst / largest;
}
