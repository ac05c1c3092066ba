// How long a run will take, from its first second of work: the world takes real sub-steps for a
// while, one frame is gathered and packed, and the rest follows from what a sub-step costs, how
// long the next ones may be and how many particles there will be. On one core of this machine.
#pragma once

#include "run/surfaces.h"

typedef struct kp_forecast {
  double seconds;    // of processor time, for the whole run; NaN when the first steps fail
  double simulated;  // s of the scene that were simulated for it
  double trouble;    // s of the scene at which its steps failed; NaN: they did not
} kp_forecast;

// Simulates for about `budget` seconds of processor time: the world is of no use afterwards. What
// is logged meanwhile would be told by the run again, so the caller may want to be silent.
KP_NODISCARD kp_result kp_forecast_run(kp_world *world, const kp_output_def *output,
                                       kp_surfaces *surfaces, double budget, kp_forecast *out);
