// Where the free end of a clamped rod hangs.
#pragma once

#include <math.h>

#define KP_ELASTICA_STEPS 2000

// Turn and height of the free end: B theta'' = w (l - s) cos theta (Love 1927, section 262), by
// fourth-order Runge-Kutta from the clamp with the slope `start`.
static inline void kp_elastica_shoot(double weight, double length, double b, double start,
                                     double angle, double *slope, double *height) {
  double h = length / KP_ELASTICA_STEPS, theta = angle, turn = start, y = 0.0;
  for (int k = 0; k < KP_ELASTICA_STEPS; ++k) {
    double s = h * k, at[4], rate[4], t = theta, u = turn;
    for (int r = 0; r < 4; ++r) {
      double c = r == 0 ? 0.0 : r == 3 ? h : 0.5 * h;
      t = theta + (r == 0 ? 0.0 : c * at[r - 1]);
      u = turn + (r == 0 ? 0.0 : c * rate[r - 1]);
      at[r] = u;
      rate[r] = weight * (length - s - c) * cos(t) / b;
    }
    double middle = theta + 0.5 * h * at[0];
    y += h * sin(middle);
    theta += h / 6.0 * (at[0] + 2.0 * at[1] + 2.0 * at[2] + at[3]);
    turn += h / 6.0 * (rate[0] + 2.0 * rate[1] + 2.0 * rate[2] + rate[3]);
  }
  *slope = turn;
  *height = y;
}

// Height of the free end over the clamp of a rod of a weight per length [N/m] and a bending
// stiffness b [N m^2] that starts at an angle above the horizontal.
static inline double kp_elastica_height(double weight, double length, double b, double angle) {
  double low = -0.5 * weight * length * length / b, high = 0.0, slope, height = 0.0;
  for (int k = 0; k < 60; ++k) {
    double middle = 0.5 * (low + high);
    kp_elastica_shoot(weight, length, b, middle, angle, &slope, &height);
    *(slope > 0.0 ? &high : &low) = middle;
  }
  return height;
}
