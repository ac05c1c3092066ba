// Spring-mass water: liquids made of soft spheres that push each other apart where they overlap
// (Lyes 2015, sections 4.2 and 6.5.1). One object serves all liquids of method "springs".
#pragma once

#include "methods/common/medium.h"
#include "methods/springs/springs_kernels.h"

typedef struct kp_springs_liquid {
  kp_liquid_def def;
  kp_medium medium;
  kp_field *lot;     // number of a sphere, see springs_kernels.h
  kp_field *energy;  // J, scratch of the statistics
  double diameter;   // m
  double stiffness;  // k_s [N/m]
  double shear;      // N s/m
  double damping;    // N s/m
  double layers;     // that the stiffness was chosen for; 0: it was given
} kp_springs_liquid;

typedef struct kp_springs {
  kp_springs_def def;
  KP_ARRAY(kp_springs_liquid) liquids;
  double reach;  // m: largest distance of any pair that has a force
  // cells over the samples of still and moving solids; NULL where there are none
  kp_cells *walls[2];
} kp_springs;

KP_NODISCARD kp_result kp_springs_create(kp_env *env, const kp_springs_def *def,
                                         const kp_liquid_def *liquids, size_t n_liquids,
                                         kp_springs **out);

// The law between spheres of two liquids.
springs_law kp_springs_law(const kp_springs *springs, const kp_springs_liquid *a,
                           const kp_springs_liquid *b);

extern const kp_method kp_springs_method;
