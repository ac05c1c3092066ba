// Viscosity along the line of centres, solved for (Weiler et al. 2018): the step of a thick liquid
// follows its flow alone. For solver dfsph with viscosity_model central.
#pragma once

#include "linalg/pcg.h"
#include "methods/sph/sph_implicit.h"

typedef struct kp_sph_viscous {
  kp_pcg pcg;
  kp_buffer right, change, inverse;  // vectors: four numbers per particle
  kp_sph *sph;                       // of the solve on its way
  kp_env *env;
  KP_ARRAY(int64_t) firsts;  // particle each liquid begins with
  double mass;               // kg: what rows are divided by
  bool has_warned;
} kp_sph_viscous;

KP_NODISCARD kp_result kp_sph_viscous_create(kp_env *env, kp_sph_viscous **out);
void kp_sph_viscous_destroy(kp_sph_viscous **viscous);

// Accelerations of the start of the step become those that the velocities of its end agree with;
// the sides' velocities become those of the end, for what walls feel.
KP_NODISCARD kp_result kp_sph_viscous_solve(kp_sph *sph, kp_env *env);

// Pa s times what sums over a link take for it: along the line of centres between liquids, D + 2.
double kp_sph_viscosity_of(kp_sph *sph, const kp_env *env, const kp_sph_side *side,
                           const kp_sph_side *other);
