// What a world tells after a step: of the step, and of a region or body that is probed.
#pragma once

#include "kelpie/base.h"
#include "kelpie/vec.h"

#ifdef __cplusplus
extern "C" {
#endif

// What a region of a probe holds now.
typedef struct kp_probe_value {
  kp_vec3 position;    // m: centre of the region; what is tracked; at the height that a gauge reads
  kp_vec3 velocity;    // m/s, mean or fitted; 0 where nothing is
  double speed;        // m/s, mean of |v|
  double count;        // particles, or cells, that were seen
  double pressure;     // Pa, mean or fitted; NaN where nothing is, or nothing is known of it
  double density;      // kg/m^3 of particles, share of smoke; NaN likewise
  double temperature;  // K; NaN likewise
  double height;       // m: what a gauge reads, along the axis against gravity; NaN elsewhere
  // of bodies, else 0
  kp_quat orientation;
  kp_vec3 angular_velocity;  // 1/s
  kp_vec3 force;   // N: what all media but gravity do to it, a mean since the last row, or in C
  kp_vec3 torque;  // over the last step or advance; N m about the centre of mass
} kp_probe_value;

// What a sub-step has to tell.
typedef struct kp_step_report {
  double dt;         // s taken
  double dt_limit;   // s allowed by the tightest limit
  double max_speed;  // m/s
  double max_acceleration;
  int64_t n_particles;  // all sets
  int64_t n_bad;        // particles with a NaN or infinite state
  int64_t n_escaped;    // outside a closed domain
  int64_t n_removed, n_emitted;
  int64_t steps;  // sub-steps taken (in an advance: all of them)
  int64_t retries;
} kp_step_report;

#ifdef __cplusplus
}
#endif
