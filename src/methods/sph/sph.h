// Weakly compressible smoothed particle hydrodynamics for any number of liquids at once, with walls
// and bodies through interface samples. See sph.md for the equations.
//
// One object holds all SPH liquids of a world, because they feel each other. Host logic only; the
// arithmetic is in sph_kernels.h.
#pragma once

#include "data/call.h"
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

// Surface tension of one liquid and the marks of its surface; see sph_tension.c.
typedef struct kp_sph_tension {
  kp_smooth w;
  double volume;           // m^3 of a particle on the rest lattice
  double full, full_bend;  // neighbours in H, divisor of the curvature in a full lattice
  double scale;            // of a normal, so that it is a delta of the surface
  double outer;            // m, from the layers that have normals to the surface, see there
  double cohesion;         // gamma m [m/s^2] of the pairwise form
  kp_field *share;         // neighbours in H, colour or its Laplacian
  kp_field *normal, *unit, *bend;
  kp_field *surface;
} kp_sph_tension;

// What one liquid of a mixture carries; fields are NULL where nothing is mixed. See sph_mix.c.
typedef struct kp_sph_mix {
  double heavy;  // mass of the solute at concentration 1 over that of the liquid
  kp_field *c, *rate, *mass, *density;
} kp_sph_mix;

// Diffusion in all liquids of a world.
typedef struct kp_sph_mixing {
  bool on;
  kp_smooth_kind kind;
  kp_smooth g;
  double fastest;  // m^2/s, largest dispersion
  double pull;     // 1/m^2
} kp_sph_mixing;

typedef struct kp_sph_fluid {
  kp_liquid_def def;
  kp_medium medium;
  kp_field *density, *inverse;
  kp_field *pressure;      // as pairs want it: over the square of the density in the squared form
  kp_field *shown;         // Pa
  kp_field *density_last;  // fused form
  kp_field *rate, *rate_last, *density_start;  // continuity form
  kp_field *gradient;                          // of the concentration, with shifting; else NULL
  double sound_speed;                          // m/s
  double stiffness;
  kp_sph_memory memory;
  kp_sph_tension tension;
  kp_sph_mix mix;
  kp_field *cling;    // adhesion: p/rho^2, negative ones too; else NULL
  kp_field *touched;  // U8, mark_touched; else NULL
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
  kp_field *cling;       // adhesion; else NULL
  kp_field *velocity;    // wall_drag interpolated: of the liquid at the sample; else NULL
} kp_sph_wall_fields;

// Does anybody ask for the forces on these samples?
static inline bool kp_sph_wall_feels(const kp_sph_wall_fields *wall) {
  return wall->cells != NULL && wall->interface->feels;
}

typedef struct kp_sph {
  kp_sph_def def;
  double spacing;  // largest of the liquids
  double support;  // H
  kp_smooth w, g;  // density and gradient kernels
  kp_smooth_kind w_kind, g_kind;
  KP_ARRAY(kp_sph_fluid) fluids;
  kp_sph_wall_fields walls[2];  // still and moving
  kp_sph_mixing mix;
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
// Runs a call over the pairs (i set, j set) within the support.
KP_NODISCARD kp_result kp_sph_run_pairs(kp_sph *sph, kp_call *call, kp_cells *i, kp_cells *j);

// surface tension: fields, its limit of the step, its passes (they add to the accelerations)
KP_NODISCARD kp_result kp_sph_tension_setup(kp_sph *sph, kp_sph_fluid *fluid, const kp_env *env);
// Lengths of the normals of a kind (kp_sph_tension_kind) beyond the cut-off, over the depth below a
// flat surface. (Centroids without cut-off: 0.145 H^2 in 3D, 0.184 H^2 in 2D.) *outer is what to
// add to a layer's radius of curvature so that a ball of radius 3 H gets the force of its surface.
double kp_sph_normal_integral(int kind, double support, int dimension, double cutoff,
                              double *outer);
double kp_sph_tension_dt(const kp_sph_fluid *fluid);
KP_NODISCARD kp_result kp_sph_tension_forces(kp_sph *sph, kp_sph_fluid *fluid);

// walls beside their law: fields; what needs densities; forces, touches, drag of the surroundings
KP_NODISCARD kp_result kp_sph_adhesion_setup(kp_sph *sph, kp_sph_fluid *fluid);
KP_NODISCARD kp_result kp_sph_adhesion_setup_wall(kp_sph *sph, kp_sph_wall_fields *wall);
KP_NODISCARD kp_result kp_sph_adhesion_prepare(kp_sph *sph);
KP_NODISCARD kp_result kp_sph_wall_velocities(kp_sph *sph);
KP_NODISCARD kp_result kp_sph_adhesion_forces(kp_sph *sph, kp_sph_fluid *fluid);

// mixtures: is there one; may it be; fields; the limit of its step; masses into accelerations and
// rates of concentration, after all pair forces; concentrations and masses at the end of the step
bool kp_sph_mixes(const kp_sph_setup *setup);
KP_NODISCARD kp_result kp_sph_mix_check(const kp_sph_setup *setup);
KP_NODISCARD kp_result kp_sph_mix_setup(kp_sph *sph, kp_sph_fluid *fluid, const kp_env *env);
double kp_sph_mix_dt(const kp_sph *sph);
KP_NODISCARD kp_result kp_sph_mix_forces(kp_sph *sph, const kp_env *env, kp_sph_fluid *fluid);
KP_NODISCARD kp_result kp_sph_mix_advance(kp_sph *sph, const kp_env *env, kp_sph_fluid *fluid);
