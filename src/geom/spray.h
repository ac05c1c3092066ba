// Spray: what has come loose from a liquid of particles, as drops. A particle stands for a lump as
// wide as the spacing, which no water in the air is: what a surface leaves out of it
// (kp_surfacer_spray) is broken into drops here. Which ones depends on the particle's id alone, so
// they are the same in every frame and for any number of threads, and their sizes grow with the
// share that is spray, so that none of them appears at once.
#pragma once

#include "base/result.h"
#include "kelpie/vec.h"

typedef struct kp_spraying {
  double spacing;  // m between particles
  double drops;    // of a particle in the mean; each has from a third to two and a half of that
  double volume;   // share of the spray that is in drops; the rest is too fine to be seen singly
  double spread;   // radius of the ball in which most drops of a particle lie, in spacings
  double
      gravity;  // m/s^2; drops of a fast particle lie along its way, fast against sqrt(g spacing)
  kp_aabb box;  // drops stay in it [m]
} kp_spraying;

typedef struct kp_spray_cloud {
  int64_t n;
  const double *x[3];          // m
  const kp_real *velocity[3];  // m/s
  const uint64_t *id;
  const float *share;  // of each particle that is spray, 0..1
} kp_spray_cloud;

// By drop.
typedef struct kp_spray_drops {
  float *x[3], *velocity[3];  // m, m/s
  float *radius;              // m
} kp_spray_drops;

#define KP_SPRAY_LEAST 0.02f  // share below which a particle has none

// How many drops particle i has.
int64_t kp_spray_count(const kp_spraying *how, const kp_spray_cloud *cloud, int64_t i);
// All of them, particle after particle; those of particle i begin at first[i].
void kp_spray_fill(const kp_spraying *how, const kp_spray_cloud *cloud, const int64_t *first,
                   const kp_spray_drops *out);
