// The inner sums of particle_surface.c, compiled for each instruction set: samples lie in the lanes
// of registers and keep their sums there while all particles pass by. Every sample adds in the
// order of the particles, so the bits are the same for all of them.
#pragma once

#include "geom/particle_surface.h"

#define KP_SURFACE_LANES 16  // samples of a layer are padded to a multiple of it
#define KP_SURFACE_LAYER (KP_SURFACING_FINEST * KP_SURFACING_FINEST)

// All in units of R from the corner of a bin.
typedef struct kp_surface_layer {
  int n;  // samples, a multiple of KP_SURFACE_LANES
  float z;
  float x[KP_SURFACE_LAYER], y[KP_SURFACE_LAYER];
  float weight[KP_SURFACE_LAYER];
  float mx[KP_SURFACE_LAYER], my[KP_SURFACE_LAYER], mz[KP_SURFACE_LAYER];
  float nearest[KP_SURFACE_LAYER];  // square of the distance
} kp_surface_layer;

typedef struct kp_surface_particles {
  int64_t n;
  const float *x, *y, *z;
  const float *away;  // square of the distance from the bin across its layers
} kp_surface_particles;

typedef void (*kp_surface_gather_fn)(const kp_surface_particles *p, kp_surface_layer *layer);
