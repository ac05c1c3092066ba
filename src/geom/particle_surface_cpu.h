// The inner sums of particle_surface.c and surface_fields.c, compiled for each instruction set:
// samples, or particles that look at their neighbours, lie in the lanes of registers and keep their
// sums there while all others pass by. Each adds in the order of the particles, so the bits are the
// same for all of them.
#pragma once

#include "geom/particle_surface.h"

#define KP_SURFACE_LANES 16  // samples of a layer are padded to a multiple of it
#define KP_SURFACE_LAYER (KP_SURFACING_FINEST * KP_SURFACING_FINEST)

// All in units of R from the corner of a block.
typedef struct kp_surface_layer {
  int n;  // samples, a multiple of KP_SURFACE_LANES
  float z;
  float x[KP_SURFACE_LAYER], y[KP_SURFACE_LAYER];
  float weight[KP_SURFACE_LAYER];  // the first sum of a field
  float mx[KP_SURFACE_LAYER], my[KP_SURFACE_LAYER], mz[KP_SURFACE_LAYER];  // mx: its second
  float nearest[KP_SURFACE_LAYER];                                         // square of the distance
  float spread[KP_SURFACE_LAYER], e[3][KP_SURFACE_LAYER];  // of the slope of the mean
} kp_surface_layer;

typedef struct kp_surface_particles {
  int64_t n;
  const float *x, *y, *z;
  const float *away;  // square of the distance from the block across its layers
  const float *attributes[KP_SURFACE_ATTRIBUTES];
} kp_surface_particles;

typedef void (*kp_surface_gather_fn)(kp_surface_kind kind, const kp_surface_particles *p,
                                     kp_surface_layer *layer);

// Runs of neighbours of a particle: begin..end - 1 of the arrays, which lie `shift` away.
typedef struct kp_surface_runs {
  int n;
  const float *x, *y, *z, *value, *volume;
  uint32_t begin[KP_BLOCK_AROUND], end[KP_BLOCK_AROUND];
  float shift[KP_BLOCK_AROUND][3];
} kp_surface_runs;

// Which sums of surface_sums.h over the neighbours of particles.
typedef enum kp_surface_moment {
  KP_SURFACE_OFFSET,
  KP_SURFACE_RATIO,
  KP_SURFACE_DEPTH,
  KP_SURFACE_CLOUD,
  KP_SURFACE_MOMENT_COUNT
} kp_surface_moment;

#define KP_SURFACE_MOMENTS 15  // sums of a particle at most

// For up to KP_SURFACE_LANES particles first, first + 1, ...; 16 more than there are can be read.
// Sum k of the lane l goes to out[k][l].
typedef void (*kp_surface_moments_fn)(kp_surface_moment kind, const kp_surface_runs *runs,
                                      int64_t first, float out[][KP_SURFACE_LANES]);

// Those of the instruction set in use.
kp_surface_gather_fn kp_surface_find_gather(void);
kp_surface_moments_fn kp_surface_find_moments(void);

// The particles around a block as runs for its own.
void kp_surfacer_runs(const kp_surfacer *s, int64_t block, kp_surface_runs *out);
