// Weakly compressible smoothed particle hydrodynamics for any number of liquids at once, with walls
// and bodies through interface samples. See sph.md for the equations.
//
// One object holds all SPH liquids of a world, because they feel each other. Host logic only; the
// arithmetic is in sph_kernels.h.
#pragma once

#include "data/ghosts.h"
#include "geom/shape.h"
#include "math/smoothing.h"
#include "methods/common/integrate.h"
#include "methods/method.h"

typedef struct kp_sph_fluid {
  kp_liquid_def def;
  kp_set *set;
  kp_cells *cells;
  kp_ghosts *ghosts;  // NULL unless an axis is periodic
  kp_cells *ghost_cells;
  kp_integrate integrate;
  kp_field *density, *pressure, *inverse;
  kp_field *density_last;                      // fused form
  kp_field *rate, *rate_last, *density_start;  // continuity form
  double mass;                                 // kg of a particle
  double sound_speed;                          // m/s
  double stiffness;
  // of the last sub-step, kept in the state so that a resumed run takes the same steps
  double max_speed, max_acceleration, max_density_error;
  kp_aabb bounds;
  bool bounds_known;
  kp_buffer keep;  // flags of removal
} kp_sph_fluid;

typedef struct kp_sph_emitter {
  kp_emitter_def def;
  int fluid;
  double travelled;  // m of jet since the last layer
  int64_t count;     // particles so far
} kp_sph_emitter;

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
  KP_ARRAY(kp_sph_emitter) emitters;
  KP_ARRAY(kp_sink_def) sinks;
  kp_sph_wall_fields walls[2];  // still and moving
  kp_space *state;              // GLOBAL: one element per liquid
  kp_space *emitter_state;      // GLOBAL: one element per emitter
  bool has_density;             // fused form: last step's density is there
} kp_sph;

// A solid that fluid may not start in, at its initial place.
typedef struct kp_sph_solid {
  const kp_shape *shape;
  kp_vec3 origin;  // of the shape in the world
  kp_quat turn;
} kp_sph_solid;

typedef struct kp_sph_setup {
  const kp_sph_def *def;
  const kp_liquid_def *liquids;
  size_t n_liquids;
  const kp_emitter_def *emitters;
  size_t n_emitters;
  const kp_sink_def *sinks;
  size_t n_sinks;
  const kp_sph_solid *solids;
  size_t n_solids;
  const char *folder;
} kp_sph_setup;

extern const kp_method kp_sph_method;

// The interface samples of env must be complete (kp_sph_wall_samples adds those of the domain's
// faces).
KP_NODISCARD kp_result kp_sph_create(kp_env *env, const kp_sph_setup *setup, kp_sph **out);

// Samples behind the closed faces of the domain, on the liquids' lattice, ceil(support) layers
// deep.
KP_NODISCARD kp_result kp_sph_wall_samples(kp_env *env, const kp_sph_def *def, double spacing,
                                           kp_interface *walls, kp_index body);

// Volume of a particle: one over the lattice sum of the density kernel of radius `support` [m], so
// that a full lattice has the rest density.
double kp_sph_lattice_volume(const kp_sph *sph, double spacing, int dimension);

// The numbers a resumed run needs go into and come from the GLOBAL spaces.
KP_NODISCARD kp_result kp_sph_store_state(kp_sph *sph);
KP_NODISCARD kp_result kp_sph_load_state(void *self);

// parts of the method, one file each
KP_NODISCARD kp_result kp_sph_setup_fluids(kp_sph *sph, kp_env *env, const kp_sph_setup *setup);
KP_NODISCARD kp_result kp_sph_setup_walls(kp_sph *sph, kp_env *env);
// The liquid whose equation of state the samples of walls take: the stiffest. There must be one.
const kp_sph_fluid *kp_sph_stiffest(const kp_sph *sph);
KP_NODISCARD kp_result kp_sph_population(void *self, kp_env *env);
KP_NODISCARD kp_result kp_sph_prepare(void *self, kp_env *env);
KP_NODISCARD kp_result kp_sph_forces(void *self, kp_env *env);
