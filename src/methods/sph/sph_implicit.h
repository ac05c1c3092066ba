// The implicit pressure solver of SPH: divergence-free SPH (Bender & Koschier 2015, 2017). See
// sph_implicit_kernels.h for the equations and sph.md for what it is good for.
#pragma once

#include "data/pairs.h"
#include "methods/sph/sph.h"

// Neighbours of one side in another: lists, and the kept terms of each listed pair.
typedef struct kp_sph_link {
  int other;    // side
  bool images;  // its periodic images
  kp_pair_lists lists;
  kp_buffer terms;  // three numbers per pair, and one more
  kp_buffer laps;   // one
} kp_sph_link;

typedef enum kp_sph_system { KP_SPH_DIVERGENCE, KP_SPH_DENSITY, KP_SPH_SYSTEM_COUNT } kp_sph_system;

// One side of a pair: a liquid, or the samples of walls. The buffers are scratch of one sub-step.
typedef struct kp_sph_side {
  int fluid, wall;  // which one of them; the other is -1
  bool is_solved;   // has constraints and pressures
  kp_set *set;
  kp_cells *cells;
  kp_field *density;
  kp_field *pressure[KP_SPH_SYSTEM_COUNT];  // kept for the next step
  kp_buffer velocity, push, gradient;       // four numbers per element
  kp_buffer rate, last;                     // one
  kp_buffer factor[KP_SPH_SYSTEM_COUNT];    // one
  kp_buffer correction, stress;             // confined flow: three rows of four
  KP_ARRAY(kp_sph_link) links;
} kp_sph_side;

// How a solve went.
typedef struct kp_sph_solve_report {
  int64_t iterations;
  double error;  // mean distance from the rest density, as a share of it
  double worst;  // and the largest
} kp_sph_solve_report;

typedef struct kp_sph_implicit {
  double relaxation;                                 // omega of the Jacobi iteration
  double wall_diagonal;                              // of samples: that of a lattice
  kp_field *confined;                                // GLOBAL: was it, in the last sub-step
  bool is_confined;                                  // in this sub-step: no free surface
  KP_ARRAY(kp_sph_side) sides;                       // liquids, then walls
  struct kp_sph_viscous *viscous;                    // NULL: viscosity is explicit (sph_viscous.h)
  kp_sph_solve_report reports[KP_SPH_SYSTEM_COUNT];  // of the last sub-step
} kp_sph_implicit;

KP_NODISCARD kp_result kp_sph_implicit_check(const kp_sph_def *def);
// The pressure of each particle, into the field that frames and probes read.
KP_NODISCARD kp_result kp_sph_implicit_show(kp_sph *sph, const kp_env *env);
KP_NODISCARD kp_result kp_sph_implicit_create(kp_sph *sph, kp_env *env);
void kp_sph_implicit_destroy(kp_sph_implicit **implicit);

// What an emitter is about to pour may be faster than anything yet, and there is no sound whose
// speed would cover it.
double kp_sph_implicit_jet(const kp_sph_fluid *fluid, const kp_env *env);

// Stages of a sub-step.
KP_NODISCARD kp_result kp_sph_implicit_prepare(kp_sph *sph, kp_env *env);
KP_NODISCARD kp_result kp_sph_implicit_forces(kp_sph *sph, kp_env *env);
KP_NODISCARD kp_result kp_sph_implicit_predict(kp_sph *sph, kp_env *env);
KP_NODISCARD kp_result kp_sph_implicit_solve(kp_sph *sph, kp_env *env);
