// Weakly compressible smoothed particle hydrodynamics for any number of liquids at once, with walls
// and bodies through interface samples. See sph.md for the equations.
//
// One object holds all SPH liquids of a world, because they feel each other. Host logic only; the
// arithmetic is in sph_kernels.h.
#pragma once

#include "data/history.h"
#include "math/smoothing.h"
#include "methods/common/medium.h"

// The past of a population, for viscosity of fractional order; fields are NULL without it.
typedef struct kp_sph_memory {
  kp_history history;
  kp_field *velocity;  // REAL x 3: mean of the past velocities, by their weights
  kp_field *flag;      // REAL, hybrid: 1 where flows collide
  kp_field *sums;      // scratch of the search for collisions
  kp_field *blend;     // hybrid: what walls take for the velocity
} kp_sph_memory;

// The step that viscosity with memory allows, found once per length of the memory.
typedef struct kp_sph_limits {
  kp_frac_table table;
  KP_ARRAY(double) weights;
  int64_t n;    // samples the gain is for
  double gain;  // over the step of plain viscosity
} kp_sph_limits;

typedef struct kp_sph_fluid {
  kp_liquid_def def;
  kp_medium medium;
  kp_field *density, *pressure, *inverse;
  kp_field *density_last;                      // fused form
  kp_field *rate, *rate_last, *density_start;  // continuity form
  kp_field *gradient;                          // of the concentration, with shifting; else NULL
  double sound_speed;                          // m/s
  double stiffness;
  kp_sph_memory memory;
} kp_sph_fluid;

// Fields of wall samples that only SPH reads.
typedef struct kp_sph_wall_fields {
  kp_interface *interface;
  kp_cells *cells;
  kp_field *density, *inverse;
  kp_field *own;  // wall form `sph`: what the samples themselves give to their density; they keep
                  // their places
  kp_field *pressure;    // p_b / rho_b^2; zero in the mirror form
  kp_sph_memory memory;  // of moving samples
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
  bool is_fractional;                // viscosity_model is
  kp_sph_limits limits;
  bool told_gain;
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

// Viscosity of fractional order. Without it these do nothing and give the plain velocities and
// viscosities. The past of all liquids is brought up to date before the passes over pairs; where
// those cannot do all of it, _forces adds the rest.
KP_NODISCARD kp_result kp_sph_fractional_check(const kp_sph_def *def);
KP_NODISCARD kp_result kp_sph_fractional_setup(kp_sph *sph);
void kp_sph_fractional_free(kp_sph *sph);
KP_NODISCARD kp_result kp_sph_fractional_update(kp_sph *sph, kp_env *env);
KP_NODISCARD kp_result kp_sph_fractional_forces(kp_sph *sph, kp_sph_fluid *fluid);
double kp_sph_fractional_max_dt(kp_sph *sph, kp_sph_fluid *fluid);
KP_NODISCARD kp_result kp_sph_fractional_stats(kp_sph *sph, kp_sph_fluid *fluid,
                                               kp_population_stats *out);
// The velocities of a liquid, in `set` (its own or that of its images), whose differences make the
// viscous forces between particles; those it shows to walls; those of the samples of walls.
kp_field *kp_sph_pair_velocity(const kp_sph *sph, kp_sph_fluid *fluid, kp_set *set);
kp_field *kp_sph_wall_velocity(const kp_sph *sph, kp_sph_fluid *fluid);
kp_field *kp_sph_sample_velocity(const kp_sph *sph, kp_sph_wall_fields *wall);
// The viscosities that go with them [Pa s].
double kp_sph_pair_viscosity(const kp_sph *sph, const kp_sph_fluid *a, const kp_sph_fluid *b);
double kp_sph_wall_viscosity(const kp_sph *sph, const kp_sph_fluid *fluid);
