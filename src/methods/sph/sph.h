// Weakly compressible smoothed particle hydrodynamics for any number of liquids at once, with walls
// and bodies through interface samples. See sph.md for the equations.
//
// One object holds all SPH liquids of a world, because they feel each other. Host logic only; the
// arithmetic is in sph_kernels.h.
#pragma once

#include "math/smoothing.h"
#include "methods/common/medium.h"

typedef struct kp_sph_fluid {
  kp_liquid_def def;
  kp_medium medium;
  kp_field *density, *pressure, *inverse;
  kp_field *density_last;                      // fused form
  kp_field *rate, *rate_last, *density_start;  // continuity form
  double sound_speed;                          // m/s
  double stiffness;
} kp_sph_fluid;

// Fields of wall samples that only SPH reads.
typedef struct kp_sph_wall_fields {
  kp_interface *interface;
  kp_cells *cells;
  kp_field *density, *inverse;
  kp_field *own;  // wall form `sph`: what the samples themselves give to their density; they keep
                  // their places
  kp_field *pressure;  // p_b / rho_b^2; zero in the mirror form
} kp_sph_wall_fields;

typedef struct kp_sph {
  kp_sph_def def;
  double spacing;  // largest of the liquids
  double support;  // H
  kp_smooth w, g;  // density and gradient kernels
  kp_smooth_kind w_kind, g_kind;
  KP_ARRAY(kp_sph_fluid) fluids;
  kp_sph_wall_fields walls[2];       // still and moving
  kp_space *state;                   // GLOBAL, one element: has_density
  bool has_density;                  // fused form: last step's density is there
  struct kp_sph_implicit *implicit;  // solver dfsph; else NULL (sph_implicit.h)
} kp_sph;

typedef struct kp_sph_setup {
  const kp_sph_def *def;
  const kp_liquid_def *liquids;
  size_t n_liquids;
} kp_sph_setup;

extern const kp_method kp_sph_method;

// The interface samples of env must be complete, those of the domain's faces among them.
KP_NODISCARD kp_result kp_sph_create(kp_env *env, const kp_sph_setup *setup, kp_sph **out);

// Layers of wall samples that a particle at the wall can see.
int kp_sph_wall_layers(const kp_sph_def *def);

// Volume of a particle: one over the lattice sum of the density kernel of radius `support` [m], so
// that a full lattice has the rest density.
double kp_sph_lattice_volume(const kp_sph *sph, double spacing, int dimension);

// parts of the method, one file each
KP_NODISCARD kp_result kp_sph_setup_fluids(kp_sph *sph, kp_env *env, const kp_sph_setup *setup);
KP_NODISCARD kp_result kp_sph_setup_walls(kp_sph *sph, kp_env *env);
// The liquid whose equation of state the samples of walls take: the stiffest. There must be one.
const kp_sph_fluid *kp_sph_stiffest(const kp_sph *sph);
KP_NODISCARD kp_result kp_sph_prepare(void *self, kp_env *env);
KP_NODISCARD kp_result kp_sph_forces(void *self, kp_env *env);
