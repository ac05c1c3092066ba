// A drop into a pool (Selle 2008, Figs 2.12-2.14), which tests and `kelpie study drop` share: the
// velocity of water with a level set, advected in five ways.
#pragma once

#include "kelpie/kelpie.h"

typedef enum kp_splash_variant {
  KP_SPLASH_FIRST,     // semi-Lagrangian
  KP_SPLASH_CLAMP,     // MacCormack, new extrema clamped
  KP_SPLASH_REVERT,    // MacCormack, first order where extrema are new
  KP_SPLASH_NEAR,      // clamped, and first order near the surface
  KP_SPLASH_UNLIMITED  // MacCormack alone
} kp_splash_variant;

#define KP_SPLASH_VARIANTS 5

extern const char *const kp_splash_names[KP_SPLASH_VARIANTS];

typedef struct kp_splash_def {
  const char *backend;
  int dimension;
  int64_t cells;  // across the pool, whose box is 1 x 1.5 (x 1) m
  int variant;
  int64_t frames;  // of 1/24 s
  bool drifts;     // the volume: without its correction
} kp_splash_def;

typedef struct kp_splash_frame {
  double kinetic, potential;  // J
  double volume;              // m^3, or m^2 in 2D
  double area;                // of the surface, m^2 or m
  double fastest;             // m/s
  int64_t steps;
} kp_splash_frame;

// Frame 0 is the start: `out` has frames + 1 of them. A run whose numbers fail ends there;
// `reached` is the last frame that it came to.
KP_NODISCARD kp_result kp_splash_run(const kp_splash_def *def, kp_splash_frame *out,
                                     int64_t *reached);
