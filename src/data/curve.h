// Evaluation of values that are given by samples: over time (kp_curve), with their derivative, and
// over place (kp_vec_lattice).
#pragma once

#include "kelpie/types.h"

// value and rate (may be NULL) at time t, `components` numbers each.
void kp_curve_at(const kp_curve *curve, double t, double *value, double *rate);

// The vector at p: that of the lattice, or `constant` where it has no samples.
kp_vec3 kp_vec_lattice_at(const kp_vec_lattice *lattice, kp_vec3 constant, kp_vec3 p);

// The length of the longest of them.
double kp_vec_lattice_longest(const kp_vec_lattice *lattice, kp_vec3 constant);
