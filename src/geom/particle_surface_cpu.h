// The inner sums of particle_surface.c and surface_fields.c, compiled for each instruction set:
// samples lie in the lanes of registers and keep their sums there while all particles pass by.
// Every sample adds in the order of the particles, so the bits are the same for all of them.
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
  const float *x, *y, *z, *value;  // 16 more than there are particles can be read
  uint32_t begin[KP_BLOCK_AROUND], end[KP_BLOCK_AROUND];
  float shift[KP_BLOCK_AROUND][3];
} kp_surface_runs;

// Sums over the neighbours j of a particle within R, itself included; d = x_j - x_i in R,
// w = 1 - |d|^3, g = 1 - ((value_j - value_i) / KP_SURFACE_ALIKE)^2 where that is positive.
typedef struct kp_surface_moments {
  float count, d[3], values;                // 1, d, value_j
  float weight, weight_d[3], weight_dd[6];  // w, w d, w d d: xx xy xz yy yz zz
  float alike, alike_d[3];                  // w g, w g d
} kp_surface_moments;

#define KP_SURFACE_ALIKE 0.15f

typedef void (*kp_surface_moments_fn)(const kp_surface_runs *runs, const float at[4],
                                      kp_surface_moments *out);

// Those of the instruction set in use.
kp_surface_gather_fn kp_surface_find_gather(void);
kp_surface_moments_fn kp_surface_find_moments(void);

// The particles around a block as runs for its own.
void kp_surfacer_runs(const kp_surfacer *s, int64_t block, kp_surface_runs *out);
