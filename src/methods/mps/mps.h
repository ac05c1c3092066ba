// The moving-particle semi-implicit method (Koshizuka & Oka 1996; Hong 2009 section II.C.2) for any
// number of liquids of one spacing: an explicit step of gravity and viscosity, then a pressure
// Poisson equation that brings the number density back. See mps.md for the equations.
//
// One object holds all MPS liquids of a world: their particles are unknowns of one linear system.
#pragma once

#include "data/pairs.h"
#include "linalg/pcg.h"
#include "methods/common/medium.h"

// Spacings: nearer pairs count as this far, for w has no bound.
#define KP_MPS_NEAREST 0.5

// What has pressures that are solved for: a liquid, or the skin of walls.
typedef struct kp_mps_group {
  kp_set *set;
  kp_cells *cells;
  kp_ghosts *ghosts;  // NULL unless an axis is periodic
  kp_cells *ghost_cells;
  kp_field *pressure;    // state: the first guess of the next solve
  kp_field *number;      // n*, sum of w, of the last sub-step
  kp_field *surface;     // 1 at the surface or where a wall is dry, 0 inside
  kp_field *divergence;  // of u*: mixed source alone
  kp_field *weight;      // of samples: what each stands for, in cells of the lattice; NULL: 1
  kp_field *dry;         // of samples: the part of n* that other samples give; NULL
  double density;        // kg/m^3; NaN: that of whom it meets
  double extra;          // compressibility / dt^2 of this step
  int64_t first;         // unknown of its element 0
} kp_mps_group;

typedef struct kp_mps_liquid {
  kp_liquid_def def;
  kp_medium medium;
  kp_mps_group group;
  kp_field *low;  // lowest pressure around
} kp_mps_liquid;

// Walls. All samples count in the number density; those of the outermost layer, the skin, have
// pressures, the others behind them none.
typedef struct kp_mps_wall {
  kp_interface *interface;  // NULL: none
  kp_cells *cells;          // of all samples
  kp_field *weight;         // of all samples
  kp_mps_group skin;
  kp_buffer index;  // u32: sample of the interface
  kp_field *own;    // number density the samples around give, where nothing moves
  kp_field *force;  // N, on the skin
} kp_mps_wall;

// Rows of one group that meet the elements, or the images, of one group.
typedef struct kp_mps_block {
  kp_mps_group *i, *j;
  bool images;
  bool is_first;        // of its rows
  bool is_still;        // nothing in it ever changes: built once
  kp_pair_lists lists;  // indices become unknowns
  kp_buffer coefficients;
} kp_mps_block;

// What the pressure has cost so far: for tests, bench and the comparison with grids.
typedef struct kp_mps_totals {
  int64_t solves, iterations, unknowns, entries, unconverged;
  double matrix_seconds, solve_seconds;
} kp_mps_totals;

typedef struct kp_mps {
  kp_mps_def def;
  int dimension;
  double spacing;
  double reach, wide;  // m, radii of the two weight functions
  double n0, wide_n0;  // number densities of the lattice
  double lambda;       // m^2: sum r^2 w / sum w of the wide one
  KP_ARRAY(kp_mps_liquid) liquids;
  kp_mps_wall walls[2];             // still and moving
  KP_ARRAY(kp_mps_group *) groups;  // skins, then liquids
  KP_ARRAY(kp_mps_block) blocks;
  kp_pcg pcg;
  int64_t n;  // unknowns
  kp_buffer x, b, active, diagonal, inverse;
  kp_mps_totals totals;
  bool has_warned;
} kp_mps;

typedef struct kp_mps_setup {
  const kp_mps_def *def;
  const kp_liquid_def *liquids;
  size_t n_liquids;
} kp_mps_setup;

extern const kp_method kp_mps_method;

// The interface samples of env must be complete, those of the domain's faces among them.
KP_NODISCARD kp_result kp_mps_create(kp_env *env, const kp_mps_setup *setup, kp_mps **out);

// Layers of wall samples that a particle at the wall can see.
int kp_mps_wall_layers(const kp_mps_def *def);

// parts of the method, one file each
KP_NODISCARD kp_result kp_mps_setup_all(kp_mps *mps, kp_env *env, const kp_mps_setup *setup);
KP_NODISCARD kp_result kp_mps_forces(void *self, kp_env *env);
// Skins of moving bodies to their place; whatever a loaded state left unsorted.
KP_NODISCARD kp_result kp_mps_place_skins(kp_mps *mps);
KP_NODISCARD kp_result kp_mps_number_density(kp_mps *mps);
// Into the field `own` of still walls.
KP_NODISCARD kp_result kp_mps_count_own(kp_mps *mps, kp_mps_wall *wall);
KP_NODISCARD kp_result kp_mps_divergence(kp_mps *mps);
KP_NODISCARD kp_result kp_mps_push(kp_mps *mps, kp_env *env);
KP_NODISCARD kp_result kp_mps_pressure(kp_mps *mps, kp_env *env);
// The pressure matrix at the present places for a step of dt, and its application (A of linalg).
KP_NODISCARD kp_result kp_mps_matrix(kp_mps *mps, double dt);
KP_NODISCARD kp_result kp_mps_apply(void *self, kp_buffer *x, kp_buffer *y);
