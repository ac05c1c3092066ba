// Section of a closed mesh by the plane z = 0: closed polygons for two-dimensional worlds.
#pragma once

#include "base/array.h"
#include "geom/mesh.h"

// One side of a polygon. Sides stand in order; a polygon ends where `last` is set, and then closes
// to its first side. The solid lies to the left of from -> to, the outward normal points to the
// right.
typedef struct kp_outline_side {
  kp_vec3 from, to;
  bool last;
} kp_outline_side;

typedef KP_ARRAY(kp_outline_side) kp_outline;

// The mesh must be closed. A vertex at z = 0 counts as above, so that every polygon closes.
// Appends.
KP_NODISCARD kp_result kp_outline_slice(const kp_mesh *mesh, kp_outline *outline);

// Area [m^2] as `volume`, centre, and the polar second moment of area about it in inertia.m[2][2]:
// what a prism of density 1 and thickness 1 m needs to turn about z. The area is positive for a
// solid.
kp_mass_properties kp_outline_mass_properties(const kp_outline *outline);
