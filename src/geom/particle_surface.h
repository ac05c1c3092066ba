// The surface of a liquid of particles: a signed distance on a lattice after Zhu and Bridson 2005
// ("Animating sand as a fluid", section 5),
//
//   phi(x) = |x - sum w_i x_i| - r,   w_i = k(|x - x_i| / R) / sum k,   k(s) = (1 - s^2)^3,
//
// smoothed and cut at the walls of a box. r is chosen so that a flat surface comes out where the
// liquid ends: half a spacing beyond the outermost particles. Between bodies of liquid that nearly
// touch, where the mean of the particles lies in the gap, the distance to the nearest one counts
// instead; a particle that is alone becomes a drop.
//
// Particles are sorted into bins and every sample gathers from those around it in that order: the
// result is the same for any number of threads.
#pragma once

#include "geom/marching_cubes.h"

#define KP_SURFACING_FINEST 8  // samples along R at most

typedef struct kp_surfacing {
  double spacing;  // m between particles
  double voxel;    // m between samples
  double reach;    // R, in spacings
  int smooth;      // passes of a binomial filter
  int dimension;   // 2: the surface is a sheet one voxel thick at z = 0
  kp_aabb box;     // m; the surface ends at its faces
} kp_surfacing;

typedef struct kp_cloud {
  int64_t n;
  const double *x, *y, *z;   // m
  const kp_real *u, *v, *w;  // m/s; NULL: at rest
} kp_cloud;

// Sorted particles and samples, kept from surface to surface; start from a zeroed struct.
typedef struct kp_surfacer {
  kp_surfacing how;
  kp_lattice lattice;  // the distance [m]; values belong to the surfacer
  int32_t bins[3];
  int32_t per_bin;   // samples along the edge of a bin
  double edge;       // m, of a bin
  double radius;     // r [m]
  uint32_t *starts;  // of each bin, and the end of the last
  uint32_t *order;   // particles by bin
  double *places;    // their x, then their y, then their z, by bin
  float *values, *other, *drops;
} kp_surfacer;

// The distance on a lattice that holds all particles with finite places, closed around them.
KP_NODISCARD kp_result kp_surfacer_fill(kp_surfacer *s, const kp_surfacing *how,
                                        const kp_cloud *cloud);
// Velocity [m/s] of the liquid at points near the particles of the last fill: the mean with the
// same weights.
void kp_surfacer_velocities(const kp_surfacer *s, const kp_cloud *cloud, const kp_vec3 *points,
                            int64_t n, kp_vec3 *out);
void kp_surfacer_free(kp_surfacer *s);

// max(value, signed distance to the box): a surface that goes on beyond the box ends at its faces.
void kp_lattice_clip(const kp_lattice *lattice, float *values, const kp_aabb *box);
// Passes of the filter (1 2 1) / 4 along each axis with more than one sample. `other` has room for
// as many values.
void kp_lattice_smooth(const kp_lattice *lattice, float *values, float *other, int passes);
