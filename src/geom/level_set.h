// Level sets on the cells of a MAC grid: signed distances [m], negative inside.
//
//   march    fast marching with a heap, on the host: exact order, the reference
//   sweep    fast sweeping, Gauss-Seidel in the 2^d orders of the axes, rows of a diagonal at once
//   band     the same equation by Jacobi passes in a band around the surface: what a step uses
//
// All three solve the Godunov form of |grad phi| = 1 (Rouy & Tourin 1992) from the same first
// values beside the zero set and end at the same answer up to rounding.
#pragma once

#include "data/mac.h"
#include "geom/shape.h"

// Where first values come from: phi over its slope, which leaves planes where they are; or the
// crossings along the axes (Selle 2008, section 2.9), which does not: a baseline.
typedef enum kp_level_set_start { KP_LEVEL_SET_SLOPE, KP_LEVEL_SET_CROSSINGS } kp_level_set_start;

// Scratch for all of it; one per grid.
typedef struct kp_level_set {
  kp_mac *mac;
  kp_level_set_start start;
  kp_buffer distance[2];  // REAL, cells: unsigned, without a bound where nothing came yet
  kp_buffer fixed;        // U8: beside the zero set
  kp_buffer known[2];     // REAL: 1 where a face has its velocity
  kp_buffer changes;      // U32 per row of a diagonal
  KP_ARRAY(int64_t) heap;
  KP_ARRAY(int32_t) places;  // in the heap, per item
} kp_level_set;

KP_NODISCARD kp_result kp_level_set_init(kp_level_set *set, kp_mac *mac);
void kp_level_set_free(kp_level_set *set);

// Distance to a shape; its `dimension` must be that of the grid (kp_shape_flatten).
KP_NODISCARD kp_result kp_level_set_shape(kp_level_set *set, const kp_shape *shape, kp_buffer *phi);
// phi = min(phi, other): what is inside of either.
KP_NODISCARD kp_result kp_level_set_unite(kp_level_set *set, kp_buffer *phi, kp_buffer *other);

// Make phi a distance again where it is below `band` cells; beyond it is +-band. Its zero set stays
// where it is between cells of either sign. Ghosts are filled.
KP_NODISCARD kp_result kp_level_set_band(kp_level_set *set, kp_buffer *phi, double band);
KP_NODISCARD kp_result kp_level_set_sweep(kp_level_set *set, kp_buffer *phi);
KP_NODISCARD kp_result kp_level_set_march(kp_level_set *set, kp_buffer *phi, double band);

typedef struct kp_level_set_sums {
  double volume;   // m^3 inside
  double area;     // m^2 of the surface
  kp_vec3 center;  // m
} kp_level_set_sums;

// Cells are cut by planes, one per cell, through the value and central gradient of phi: second
// order. Cells that `flags` (may be NULL) call solid hold nothing. Ghosts of phi must be filled.
KP_NODISCARD kp_result kp_level_set_measure(kp_level_set *set, kp_buffer *phi, kp_buffer *flags,
                                            kp_level_set_sums *out);

// div (grad phi / |grad phi|) [1/m] at the centres of cells within two cells of the surface, 0
// elsewhere; never beyond what a ball of one cell has. Ghosts of phi must be filled.
KP_NODISCARD kp_result kp_level_set_curvature(kp_level_set *set, kp_buffer *phi,
                                              kp_buffer *curvature);

// Velocity of the faces of fluid cells outwards along grad phi: grad phi . grad u = 0, upwind, in
// the order of phi (Hong 2009, section II.B; Selle 2008, section 2.9), `reach` cells wide.
KP_NODISCARD kp_result kp_level_set_extend(kp_level_set *set, kp_buffer *phi, kp_field *velocity,
                                           kp_buffer *flags, double reach);
