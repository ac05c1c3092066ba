// Divergence-free SPH of confined flows: liquids that fill their container, periodic or walled, and
// have no free surface. A liquid with a surface must not be pulled, and its density needs solving
// for, or its volume drifts. Without one both only eat the energy of the flow:
//
// - Particles in disorder see a divergence in plain shear, sum_j V_j (u_i - u_j).grad W, and its
//   solve takes a share of the velocities each time neighbours change places. With gradients that
//   are exact for linear fields (Bonet & Lok 1999), and their adjoint to push, it does not.
// - Pressures may have either sign.
// - The density is not solved for. Shifting (Lind et al. 2012) keeps particles evenly spread
// without
//   touching velocities, and divergences bring back slowly what drifts.
//
// - Gravity does nothing that pressure would not undo, but the noise of a pressure many times that
// of
//   the flow stirs the liquid. Across walls only what a liquid weighs more than the mean is felt;
//   the weight of the mean is added to the pressure where it is shown and where it pushes bodies.
//
// Velocities are projected after forces and before positions move, so that what moves the particles
// is free of divergence.
#pragma once

#include "methods/sph/sph_implicit.h"

// Adds what is kept between steps: whether the flow was confined.
KP_NODISCARD kp_result kp_sph_confined_create(kp_sph *sph, kp_registry *registry);

// After terms are made: is the flow confined in this step?
KP_NODISCARD kp_result kp_sph_confined_look(kp_sph *sph, kp_env *env);
// While lists still name images: corrections of gradients, gradients of the concentration.
KP_NODISCARD kp_result kp_sph_confined_prepare(kp_sph *sph, kp_env *env);

// Nothing tells how large the pressure is as a whole, and a container has no room for a mean
// divergence: left in, rounding and motions of walls that do not add up to zero pump the pressure
// up until its noise stirs the liquid. Before a solve the mean pressure of the liquids is taken
// from all pressures; in each turn the mean divergence from those of the liquids.
KP_NODISCARD kp_result kp_sph_confined_begin(kp_sph *sph, kp_env *env);
KP_NODISCARD kp_result kp_sph_confined_balance(kp_sph *sph, kp_env *env);

// Weight of the mean liquid [N/m^3], along axes that are not periodic.
kp_vec3 kp_sph_confined_weight(const kp_sph *sph, const kp_env *env);
// Adds what the weight gives to pressures that are shown.
KP_NODISCARD kp_result kp_sph_confined_show(kp_sph *sph, const kp_env *env, kp_sph_side *side,
                                            kp_buffer *shown);

// The passes of an iteration, as those of sph_implicit.c; stresses with the weight for bodies.
KP_NODISCARD kp_result kp_sph_confined_stress(kp_sph *sph, kp_env *env, bool with_weight);
KP_NODISCARD kp_result kp_sph_confined_push(kp_sph *sph, kp_env *env, kp_sph_side *side,
                                            double scale);
KP_NODISCARD kp_result kp_sph_confined_rate(kp_sph *sph, kp_env *env, kp_sph_side *side);

// Positions at the end of the step.
KP_NODISCARD kp_result kp_sph_confined_move(kp_sph *sph, kp_env *env, kp_sph_side *side);
