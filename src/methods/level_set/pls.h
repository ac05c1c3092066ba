// Water by the particle level set method (Enright et al. 2002; Selle 2008, section 2.9; Hong 2009,
// section II.F.1): a flow whose liquid is where a signed distance is negative. Particles of both
// signs around the surface tell where the distance went wrong. See level_set.md.
//
// All liquids of this method are one body of water on one grid: each gives a shape and a velocity
// at the start. Its name is that of the first.
#pragma once

#include "data/cells.h"
#include "geom/level_set.h"
#include "methods/common/flow.h"
#include "methods/common/region.h"
#include "methods/common/vortex_particles.h"

typedef struct kp_pls_setup {
  const kp_level_set_def *def;
  const kp_grid_def *grid;
  const kp_liquid_def *liquids;
  size_t n_liquids;
} kp_pls_setup;

// What liquid comes from: an opening, or the inside of a shape.
typedef struct kp_pls_inlet {
  kp_emitter_def def;
  kp_region region;  // an opening has no shape, but moves too
} kp_pls_inlet;

typedef struct kp_pls {
  kp_level_set_def def;
  double viscosity;        // Pa s
  double surface_tension;  // N/m
  uint64_t seed;
  kp_flow flow;
  bool is_closed;          // nothing comes or goes through the sides of the domain
  kp_vorticity vorticity;  // with vortices alone
  kp_vortex_particles vortices;
  kp_level_set level;
  kp_field *phi;        // m, "distance": negative in the liquid
  double band;          // cells that phi is a distance in
  kp_buffer shape_phi;  // of one shape, at the start
  kp_buffer jump;       // Pa at the surface; with tension
  kp_buffer source;     // 1/s: what the volume lacks; made when first needed
  // what every cell should hold; NULL where the volume may drift
  kp_field *fraction;    // cells of liquid, by what passed its faces
  kp_buffer deficit;     // of it, what phi does not show
  uint64_t balanced_in;  // revision of the window that it was cleared for
  // particles of both signs; NULL without
  kp_set *set;
  kp_cells *cells;
  kp_field *sign;     // I32: 1 in the air, -1 in the liquid
  kp_field *radius;   // m
  kp_buffer marks;    // U32 per particle, and one more
  kp_buffer first;    // U32: marked ones before each particle
  kp_buffer list;     // U32: those that have escaped
  kp_buffer counts;   // U32 per cell: particles to seed
  kp_buffer places;   // U32 per cell: those before it
  int64_t n_escaped;  // of the last correction
  // kept in the registry
  kp_space *state;
  int64_t age;         // sub-steps since the particles were seeded
  uint64_t rounds;     // how often they were
  double volume;       // cells of liquid that there should be
  bool has_warned;     // of a volume that drifts
  uint64_t seeded_in;  // revision of the window that the counts were cleared for
  KP_ARRAY(kp_pls_inlet) inlets;
  KP_ARRAY(kp_aabb) boxes;  // around them, for the window
  kp_regions sinks;
} kp_pls;

extern const kp_method kp_pls_method;

KP_NODISCARD kp_result kp_pls_create(kp_env *env, const kp_pls_setup *setup, kp_pls **out);

// parts of the method, one file each
KP_NODISCARD kp_result kp_pls_setup_all(kp_pls *pls, kp_env *env, const kp_pls_setup *setup);
// Emitters and sinks (pls_pour.c): those of the scene, what they let in and out, the boxes around
// them where they are now, and the fastest of what comes in [m/s].
KP_NODISCARD kp_result kp_pls_inlets_create(kp_pls *pls, kp_env *env, const kp_pls_setup *setup);
void kp_pls_inlets_free(kp_pls *pls);
KP_NODISCARD kp_result kp_pls_pour(kp_pls *pls, kp_env *env);
void kp_pls_inlet_boxes(kp_pls *pls, kp_env *env);
double kp_pls_inlet_speed(const kp_pls *pls, const kp_env *env);
// Kinds of the cells that are not solid, from the distance.
KP_NODISCARD kp_result kp_pls_flags(kp_pls *pls);
// The distance inside solids is that of the liquid or air beside them.
KP_NODISCARD kp_result kp_pls_into_solids(kp_pls *pls);
KP_NODISCARD kp_result kp_pls_particles_create(kp_pls *pls, kp_env *env);
KP_NODISCARD kp_result kp_pls_particles_move(kp_pls *pls, kp_env *env);
// Those inside a sink are no longer heard.
KP_NODISCARD kp_result kp_pls_particles_strike(kp_pls *pls, kp_env *env, kp_region *sink);
// Those on the wrong side by more than their radius bring the distance back.
KP_NODISCARD kp_result kp_pls_particles_correct(kp_pls *pls);
KP_NODISCARD kp_result kp_pls_particles_fit(kp_pls *pls);  // radii
KP_NODISCARD kp_result kp_pls_particles_seed(kp_pls *pls);
// The surface alone, along the velocity as it is: for tests of tracking.
KP_NODISCARD kp_result kp_pls_surface(kp_pls *pls, kp_env *env);
KP_NODISCARD kp_result kp_pls_store(kp_pls *pls);
// Cells of liquid outside solids, the same for any order of summing.
KP_NODISCARD kp_result kp_pls_volume(kp_pls *pls, double *cells);
// What there should be from here on: what is there.
KP_NODISCARD kp_result kp_pls_volume_begin(kp_pls *pls);
// What open sides and inflows let through in a step of dt [s] along the velocity as it is. What
// leaves takes its part of what is missing or too much along.
KP_NODISCARD kp_result kp_pls_volume_pass(kp_pls *pls, double dt);
// The divergence that corrects a share of what is missing or too much within a time [s]; *out is
// NULL where nothing is.
KP_NODISCARD kp_result kp_pls_volume_source(kp_pls *pls, kp_env *env, double time, kp_buffer **out);
// What every cell should hold (pls_balance.c): is what phi says; is carried by the velocity as it
// is over dt [s], through the faces, so that what one cell loses another gains; what phi does not
// show of it after the surface has moved is spread over some cells of liquid. `pour` says that phi
// changes on purpose in between.
KP_NODISCARD kp_result kp_pls_balance_create(kp_pls *pls);
KP_NODISCARD kp_result kp_pls_balance_begin(kp_pls *pls);
KP_NODISCARD kp_result kp_pls_balance_follow(kp_pls *pls);  // the window
KP_NODISCARD kp_result kp_pls_balance_carry(kp_pls *pls, double dt);
KP_NODISCARD kp_result kp_pls_balance_settle(kp_pls *pls, kp_env *env);
KP_NODISCARD kp_result kp_pls_balance_before_pour(kp_pls *pls);
KP_NODISCARD kp_result kp_pls_balance_after_pour(kp_pls *pls);
KP_NODISCARD kp_result kp_pls_balance_total(kp_pls *pls, double *cells);
// Volume, area and centre of the liquid outside solids.
KP_NODISCARD kp_result kp_pls_measure(kp_pls *pls, kp_level_set_sums *out);
