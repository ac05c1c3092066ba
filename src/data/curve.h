// Evaluation of animated values (kp_curve) and of their time derivative.
#pragma once

#include "kelpie/types.h"

// value and rate (may be NULL) at time t, `components` numbers each.
void kp_curve_at(const kp_curve *curve, double t, double *value, double *rate);
