// Hairs of tests: their settings, one between two ends, how near two segments are.
#pragma once

#include <math.h>
#include <stdio.h>

#include "methods/deform/deform.h"

#include "support/media.h"

// Constants of springs as given ones: those of about 1 cm of the default material.
static inline kp_hair_def kp_test_hair_of(kp_hair_def def) {
  def.edge_stiffness = 0.1;
  def.bend_stiffness = def.torsion_stiffness = def.altitude_stiffness = 1e-3;
  return def;
}

static inline kp_hair_def kp_test_hair(void) {
  kp_hair_def def = kp_test_hair_of(kp_default_hair_def());
  snprintf(def.name, sizeof def.name, "hair");
  return def;
}

static inline kp_test_settings kp_test_hair_space(bool gravity) {
  kp_test_settings s = kp_test_settings_make(3, kp_vec3_make(-2, -2, -2), kp_vec3_make(2, 2, 2));
  s.simulation.gravity = gravity ? kp_vec3_make(0, -9.81, 0) : kp_vec3_make(0, 0, 0);
  return s;
}

// 1 m along x. Without resistance to twist: edges and bending alone.
static inline kp_hair_def kp_test_straight_hair(bool resists) {
  kp_hair_def hair = kp_test_hair();
  hair.count = 1;
  hair.segments = 100;
  hair.length = 1.0;
  hair.root = kp_vec3_make(-0.5, 0, 0);
  hair.direction = kp_vec3_make(1, 0, 0);
  hair.rooted = false;
  hair.limit = KP_HAIR_LIMIT_NONE;
  hair.viscosity = 5.0;
  if (!resists) {
    hair.twist = false;
    hair.torsion_stiffness = 0.0;
    hair.altitude_stiffness = 0.0;
  }
  return hair;
}

// Holds the nodes of one end, side -1 or 1.
static inline kp_pin_def kp_test_hair_end(const char *name, double side) {
  kp_pin_def pin = kp_default_pin_def();
  snprintf(pin.name, sizeof pin.name, "%s", name);
  double inner = 0.485 * side, outer = 0.6 * side;
  pin.shape = kp_test_box(kp_vec3_make(fmin(inner, outer), -0.1, -0.1),
                          kp_vec3_make(fmax(inner, outer), 0.1, 0.1));
  return pin;
}

// By ternary search along one and projection on the other: slow and sure.
static inline double kp_test_segment_distance(const double *x[3], const kp_index *p,
                                              const kp_index *q) {
  double low = 0.0, high = 1.0, best = HUGE_VAL;
  for (int k = 0; k < 80; ++k) {
    double tries[2] = { low + (high - low) / 3.0, high - (high - low) / 3.0 }, d[2];
    for (int e = 0; e < 2; ++e) {
      double a[3], u[3], dot = 0.0, uu = 0.0, sum = 0.0;
      for (int c = 0; c < 3; ++c) {
        a[c] = (1.0 - tries[e]) * x[c][p[0]] + tries[e] * x[c][p[1]] - x[c][q[0]];
        u[c] = x[c][q[1]] - x[c][q[0]];
        dot += a[c] * u[c];
        uu += u[c] * u[c];
      }
      double t = fmin(1.0, fmax(0.0, dot / uu));
      for (int c = 0; c < 3; ++c) {
        sum += (a[c] - t * u[c]) * (a[c] - t * u[c]);
      }
      d[e] = sqrt(sum);
      best = kp_test_least(best, d[e]);
    }
    if (d[0] < d[1]) {
      high = tries[1];
    } else {
      low = tries[0];
    }
  }
  return best;
}
