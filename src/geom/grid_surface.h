// The level set of a grid as a lattice of samples for marching cubes, made where the grid lies: on
// a device nothing of it is copied to the host.
#pragma once

#include "data/mac.h"
#include "geom/marching_cubes.h"

// Kept from surface to surface.
typedef struct kp_grid_surface {
  kp_backend *backend;
  kp_lattice lattice;  // its values are those of the buffer
  kp_buffer values;    // floats
  kp_buffer other, rows, speeds;
} kp_grid_surface;

void kp_grid_surface_init(kp_grid_surface *s, kp_backend *backend);
void kp_grid_surface_free(kp_grid_surface *s);

// The box of a grid: where the liquid ends.
kp_aabb kp_grid_surface_box(const kp_mac *mac);
// Samples at the centres of cells of the window and one layer around them, continued into solids
// and cut at the faces of the grid.
KP_NODISCARD kp_result kp_grid_surface_take(kp_grid_surface *s, const kp_mac *mac,
                                            kp_field *distance);
// The velocity of the grid at n points (kp_vec3 [m]), by component; zero where a grid has none.
KP_NODISCARD kp_result kp_grid_surface_velocity(kp_grid_surface *s, const kp_mac *mac,
                                                kp_buffer *points, int64_t n, float *const out[3]);
