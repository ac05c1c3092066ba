// How deep below the surface of a liquid of particles something lies (Hong 2009, sections III.D.1
// and III.E: surface function, surface cells, signed distance, depth).
//
// The field of a surfacer (geom/particle_surface.h) is read at the cells of a grid around the
// particles. Cells of either sign beside each other are its surface cells; fast sweeping
// (geom/level_set.h) makes a signed distance of all others, negative inside. Depth is how far
// inside, 0 outside.
//
// Faces of the box are walls, not surface: near them the field is that of the liquid before the
// wall, so that depth is measured from air alone.
#pragma once

#include "geom/level_set.h"
#include "geom/particle_surface.h"

typedef struct kp_surface_depth {
  kp_backend *backend;
  kp_registry *registry;  // of the grid: nothing here is state
  kp_mac *mac;            // NULL: there are no particles
  kp_level_set set;
  kp_buffer phi;       // REAL, cells [m]
  const kp_real *at;   // the same on the host, of the last fill
  double largest;      // m: where there is no surface at all
  int64_t n_surface;   // surface cells of the last fill
  double cell;         // m
  double lo[3], n[3];  // of the grid, in cells from the origin of space
} kp_surface_depth;

void kp_surface_depth_init(kp_surface_depth *depth, kp_backend *backend);
void kp_surface_depth_free(kp_surface_depth *depth);

// From the last fill of a surfacer, with cells of the spacing of its particles, or larger ones
// where drops are spread so wide that there would be too many. What is kept from before is memory
// alone.
KP_NODISCARD kp_result kp_surface_depth_fill(kp_surface_depth *depth, const kp_surfacer *surfacer);
// Signed distance to the surface [m], negative inside; the largest length of the grid where there
// is no surface.
double kp_surface_depth_distance(const kp_surface_depth *depth, kp_vec3 p);
// Depth of points, 0 outside the liquid [m].
void kp_surface_depth_of(const kp_surface_depth *depth, const kp_cloud *cloud, float *out);
