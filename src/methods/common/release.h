// Water that lets go of solids and of the walls of the domain.
//
// A wall in the pressure equation holds water as well as it stops it: u . n = u_solid . n, with as
// much suction as that takes. A jet along a ball then follows it around and is torn to spray behind
// it, which no water does: air comes in from the line where surface and solid meet. Here the cells
// at a solid or a wall within four cells of the air where the pressure falls below minus `suction`
// are given the pressure of the air and the equation is solved again (one round of the
// complementarity that Batty, Bertails & Bridson 2007, section 4.2, solve for: 0 <= p,
// u . n >= u_solid . n). A wall has no cells inside it that a velocity and a distance could be
// spread into: KP_CELL_LOOSE tells its ghosts (data/mac.h) to let velocities leave it and to have
// water end there, and stays on the air that opens between the two.
#pragma once

#include "methods/common/flow.h"

// Marks what is pulled off by the pressure as it is, and tells how many cells: air until
// kp_release_finish.
KP_NODISCARD kp_result kp_release_mark(kp_flow *flow, const kp_env *env,
                                       const kp_flow_projection *how, double *count);
// The cells marked last, if any, are water again. KP_CELL_RELEASED stays on them and on the cells
// up to two cells around, until the next kp_release_mark.
KP_NODISCARD kp_result kp_release_finish(kp_flow *flow);
