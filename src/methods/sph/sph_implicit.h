// The implicit pressure solver of SPH: divergence-free SPH (Bender & Koschier 2015, 2017). See
// sph_implicit_kernels.h for the equations and sph.md for what it is good for.
#pragma once

#include "data/pairs.h"
#include "methods/sph/sph.h"

// Neighbours of one liquid in another (or itself), or in its periodic images: lists and the kept
// terms of each listed pair.
typedef struct kp_sph_link {
  int other;    // liquid
  bool images;  // its periodic images
  kp_pair_lists lists;
  kp_buffer terms;  // four numbers per pair
} kp_sph_link;

// What a liquid has beside its fields. The buffers are scratch of one sub-step.
typedef struct kp_sph_implicit_liquid {
  kp_field *pressure, *divergence_pressure;                 // multipliers, kept for the next step
  kp_buffer velocity, push, gradient, wall, drag;           // four numbers per particle
  kp_buffer rate, source, factor, divergence_factor, last;  // one
  KP_ARRAY(kp_sph_link) links;
} kp_sph_implicit_liquid;

// How a solve went.
typedef struct kp_sph_solve_report {
  int iterations;
  double error;  // mean excess over the rest density, as a share of it
  double worst;  // and the largest
} kp_sph_solve_report;

typedef struct kp_sph_implicit {
  KP_ARRAY(kp_sph_implicit_liquid) liquids;
  kp_sph_solve_report density, divergence;  // of the last sub-step
} kp_sph_implicit;

KP_NODISCARD kp_result kp_sph_implicit_check(const kp_sph_def *def);
KP_NODISCARD kp_result kp_sph_implicit_create(kp_sph *sph, kp_env *env);
void kp_sph_implicit_destroy(kp_sph_implicit **implicit);

// Stages of a sub-step.
KP_NODISCARD kp_result kp_sph_implicit_prepare(kp_sph *sph, kp_env *env);
KP_NODISCARD kp_result kp_sph_implicit_forces(kp_sph *sph, kp_env *env);
KP_NODISCARD kp_result kp_sph_implicit_predict(kp_sph *sph, kp_env *env);
KP_NODISCARD kp_result kp_sph_implicit_solve(kp_sph *sph, kp_env *env);
