// The surface of a liquid of particles: a field on a sparse lattice, negative inside, cut at the
// walls of a box. Which field is a choice (geom/surface_fields.h); the first one is after Zhu and
// Bridson 2005 ("Animating sand as a fluid", section 5),
//
//   phi(x) = |x - sum w_i x_i| - r,   w_i = k(|x - x_i| / R) / sum k,   k(s) = (1 - s^2)^3,
//
// smoothed. r is chosen so that a flat surface comes out where the liquid ends: half a spacing
// beyond the outermost particles; it is larger where faces meet. Between bodies of liquid that
// nearly touch, where the mean of the particles lies in the gap, the distance to the nearest one
// counts instead; a particle that is alone becomes a drop.
//
// Particles are sorted into the blocks of the lattice and every sample gathers from those around it
// in that order: the result is the same for any number of threads. Memory follows the particles and
// samples exist only near the surface.
#pragma once

#include "geom/surface_points.h"

#define KP_SURFACING_FINEST KP_BLOCK_EDGE  // samples along R at most

typedef struct kp_surfacing {
  double spacing;  // m between particles
  double voxel;    // m between samples
  double reach;    // R, in spacings; 0: that of the field
  int smooth;      // passes of a binomial filter; negative: those of the field
  int dimension;   // 2: the surface is a sheet one voxel thick at z = 0
  kp_aabb box;     // m; the surface ends at its faces
  kp_surface_kind field;
  double level;  // of the field, where its surface lies; 0: its own
  double spray;  // particles with less than this share of the neighbours inside a liquid fade out
                 // of the surface (`anisotropic` in space); 0: all stay
} kp_surfacing;

// Particles that were split are smaller than others: `size` is the edge of the cube that each
// stands for, in spacings, at most 1. `hong` and `anisotropic` heed it, the other fields take all
// for alike.
typedef struct kp_cloud {
  int64_t n;
  const double *x, *y, *z;  // m
  const float *size;        // NULL: 1
} kp_cloud;

// Sorted particles and samples, kept from surface to surface; start from a zeroed struct.
typedef struct kp_surfacer {
  kp_surfacing how;  // with what the field chose
  kp_blocks blocks;  // the value [m]: a distance with Zhu and Bridson, about one with the others
  kp_surface_numbers numbers;
  bool is_solid;      // blocks full of particles lie inside
  uint32_t *starts;   // of each block, and the end of the last
  uint32_t *order;    // particles by block
  uint32_t *bin_of;   // blocks of particles
  float *near;        // KP_SURFACE_NEAR values of each, see surface_fields.h
  float *moved;       // x, y and z of centres, for a field that moves them
  float *attributes;  // what the field needs of each particle, by block
  float *drops;
  float *spray;  // share of each particle, by block; of `anisotropic` with spray alone
} kp_surfacer;

// What the caller left to the field, and what turns its sums into values.
void kp_surfacer_settle(kp_surfacer *s, const kp_surfacing *how);
// Where blocks may lie for particles with these bounds, after kp_surfacer_settle.
typedef struct kp_surface_span {
  int64_t first[3], last[3];
  bool is_empty;
} kp_surface_span;
KP_NODISCARD kp_result kp_surfacer_lay(kp_surfacer *s, const kp_aabb *bounds, kp_surface_span *out);
// Walls as seen by blocks, and by samples.
kp_surface_room kp_surfacer_room(const kp_surfacer *s);
kp_surface_walls kp_surfacer_walls(const kp_surfacer *s);

// The field around all particles with finite places, closed around them.
KP_NODISCARD kp_result kp_surfacer_fill(kp_surfacer *s, const kp_surfacing *how,
                                        const kp_cloud *cloud);
// What particles carry at points near the particles of the last fill: the mean with the weights k
// above, for each of `n_values` arrays.
void kp_surfacer_average(const kp_surfacer *s, const kp_cloud *cloud, const kp_vec3 *points,
                         int64_t n, int n_values, const kp_real *const *values, float *const *out);
// The baseline of Lyes 2015 (Listing 7.8): values of a field without neighbours at all samples of a
// lattice, each against every particle. Samples of the lattice lie where those of blocks do; values
// are neither smoothed nor cut at walls.
void kp_surface_naive(const kp_surfacing *how, const kp_cloud *cloud, const kp_lattice *lattice,
                      float *values);
// Whether a fill asks which particles are spray, and how much of each particle of the last fill is:
// 0 in a body of liquid, 1 where it is alone. Those that are nowhere have none.
bool kp_surfacing_has_spray(const kp_surfacing *how);
void kp_surfacer_spray(const kp_surfacer *s, int64_t n, float *out);
// What a fill allocated.
int64_t kp_surfacer_bytes(const kp_surfacer *s);
void kp_surfacer_free(kp_surfacer *s);
