// Samples of walls for every method that meets them: those behind the closed faces of the domain,
// and where the samples of bodies lie.
#pragma once

#include "methods/method.h"

// Samples behind the closed faces of the domain, on a cubic lattice, `layers` deep, as samples of
// `body` among the still walls.
KP_NODISCARD kp_result kp_walls_of_domain(kp_env *env, double spacing, int layers, kp_index body);

// The samples of bodies come on their surfaces. They are moved half a spacing into the solid, where
// those of the domain are: then a lattice of liquid that starts half a spacing off the surface is
// at rest, and what floats displaces its own volume. Contact between bodies (methods/rigid) adds
// the half spacing again. For all samples of an interface, once.
KP_NODISCARD kp_result kp_walls_sink(kp_env *env, kp_interface *samples);
