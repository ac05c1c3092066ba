// Particle shifting (Xu et al. 2009; Lind et al. 2012; Skillen et al. 2013): after a step every
// particle moves against the gradient of the concentration C = sum_j V_j W by D dt grad C, with
// D = shifting (H/2) c/10, c the speed of sound. Streams that stretch a lattice leave voids and
// strings where the equation of state pulls (tensile instability); shifted particles stay evenly
// spread, and the pressure between them is smooth. Velocities stay: the shift is a fraction of what
// the flow moves. Where the gradient is that of a free surface nothing is shifted.
#pragma once

#include "methods/sph/sph.h"

// Adds the field; for liquids of a def with shifting above 0.
KP_NODISCARD kp_result kp_sph_shift_create(kp_sph *sph);

// While positions and cells belong together: the gradients.
KP_NODISCARD kp_result kp_sph_shift_gather(kp_sph *sph);
// After the step: the shift.
KP_NODISCARD kp_result kp_sph_shift_move(kp_sph *sph, const kp_env *env);
