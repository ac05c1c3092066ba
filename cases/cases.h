// Named set-ups of a given size, shared by tests, bench and examples. A set-up is said with the
// public API alone: the functions add domain, settings and entities to a fresh world and leave it
// unbuilt, so that a test may add to it before kp_world_build.
#pragma once

#include "data/pairs.h"
#include "kelpie/kelpie.h"
#include "methods/common/advect.h"

// Scene A: block of water of n^3 particles, n = cbrt(particles), on the lattice d (1 .. n) with
// d = 1 m / (n + 1), in a closed box of 3 x 2 x 1 m. 30 neighbours, two passes.
KP_NODISCARD kp_result kp_case_sph_a(kp_world *world, int64_t particles);
// The same with pressures that are solved for, density to 0.05 %, divergence to 0.1 %, and steps
// five times as long.
KP_NODISCARD kp_result kp_case_sph_a_implicit(kp_world *world, int64_t particles);
// The same with viscosity by half-derivatives of the last ten steps.
KP_NODISCARD kp_result kp_case_sph_a_fractional(kp_world *world, int64_t particles);

// Scene B: SPHERIC benchmark 2, a dam break with obstacle. Up to 250 neighbours, two evaluations.
// The size counts three layers of wall samples, as the figures it is compared with do.
KP_NODISCARD kp_result kp_case_sph_b(kp_world *world, int64_t particles);

// What the three layers of walls of scene B count beside so many fluid particles.
int64_t kp_case_sph_b_walls(int64_t fluid_particles);

// Scene G: LAMMPS' bench chute. Grains of diameter 1 flow down a frozen bed inclined by 26 degrees,
// periodic along and across, 40 deep; Hooke with history.
KP_NODISCARD kp_result kp_case_dem_chute(kp_world *world, int64_t grains);

// A cube of water by the moving-particle method that falls apart in a box of twice its width: the
// pressure solve on particles, for comparison with grids.
KP_NODISCARD kp_result kp_case_mps(kp_world *world, int64_t particles);

// Scenes C and F: a dam break by FLIP, size cells along the box.
KP_NODISCARD kp_result kp_case_flip_c(kp_world *world, int64_t size);
KP_NODISCARD kp_result kp_case_flip_f(kp_world *world, int64_t size);

// A pool of shear-thickening fluid, 14 particles deep, struck by a falling ball.
KP_NODISCARD kp_result kp_case_particle_fire(kp_world *world, int64_t particles);
KP_NODISCARD kp_result kp_case_vortex_fire(kp_world *world, int64_t particles);
KP_NODISCARD kp_result kp_case_stf(kp_world *world, int64_t particles);

// Scene D: a plume over a ball of smoke in a box of 1 x 1 x 2 m, open but for its floor, size/2 x
// size/2 x size cells; steps of 1/24 s.
KP_NODISCARD kp_result kp_case_smoke_d(kp_world *world, int64_t size);

// Boxes, balls, drums and capsules fall into a bin; steps of 1/60 s.
KP_NODISCARD kp_result kp_case_rigid_pile(kp_world *world, int64_t bodies);

// Scene E: strands of 0.5 m and ten segments on a ball, no collisions, five steps per frame; a step
// of the world is a frame of 1/24 s. The second function counts points of strands among nodes.
KP_NODISCARD kp_result kp_case_hair_e(kp_world *world, int64_t strands);
int64_t kp_case_hair_e_extras(int64_t nodes);

// A cube of rubber of about so many nodes, five tetrahedra per cell, sags from a wall: one implicit
// step of 1/60 s at a time.
KP_NODISCARD kp_result kp_case_tets(kp_world *world, int64_t nodes);

// Scene E: cloth of size x size vertices falls on a ball; a step of the world is a frame.
KP_NODISCARD kp_result kp_case_cloth_e(kp_world *world, int64_t size);

// A dam break with every choice the SPH method has, small enough for tests.
typedef struct kp_dam_break_def {
  int64_t particles;  // about
  int64_t dimension;  // 2 or 3
  kp_sph_def sph;
  bool mps;           // the moving-particle method with its defaults instead of SPH
  bool flip;          // FLIP instead of SPH, with the affine transfer when it is flat
  double band;        // cells of particles of FLIP; 0: all
  kp_boundary sides;  // boundary across z, in 2D across x
  bool full;          // the domain is as large as the water, which has no free surface
  bool body;          // a free box floats in the way of the water
  bool jet;           // an emitter feeds the water
  bool drain;         // a sink takes some of it away
  bool wind;          // force fields push some of it about
  bool probes;        // one of each kind looks at it
  double tension;     // N/m of the water
  double solute;      // concentration of what the water carries, which spreads
  bool far_jet;       // the emitter stands so far away that cells are sparse
} kp_dam_break_def;

kp_dam_break_def kp_default_dam_break_def(void);
KP_NODISCARD kp_result kp_case_dam_break(kp_world *world, const kp_dam_break_def *def);

// Points for neighbour search: a lattice, every point of it moved by up to a quarter spacing, and a
// radius that holds 29.4 neighbours on the average of a million points.
typedef struct kp_case_points {
  kp_backend *backend;
  kp_registry *registry;
  kp_set *set;
  kp_cells *cells;
  kp_pair_lists lists;
  int64_t side;    // of the lattice; points are side^3
  double spacing;  // m
  double radius;   // m
} kp_case_points;

KP_NODISCARD kp_result kp_case_points_create(const char *backend, int64_t n, kp_case_points *out);
void kp_case_points_destroy(kp_case_points *points);

// New places for the points, as a step would give them: near the old ones, in the same memory.
KP_NODISCARD kp_result kp_case_points_move(kp_case_points *points, uint64_t turn);

// Sort and index the points, then count their neighbours or list them.
KP_NODISCARD kp_result kp_case_points_count(kp_case_points *points, double *mean);
KP_NODISCARD kp_result kp_case_points_list(kp_case_points *points, double *mean);

// The smallest work of one element in one step, for the share of the roof (docs/benchmarks.md).
typedef struct kp_case_work {
  double bytes, bytes_per_neighbour;  // read and written
  double flops_per_neighbour;
} kp_case_work;

// Work that is no step of a world, in turns.
typedef struct kp_case_turns {
  kp_result (*create)(const char *backend, int64_t size, void **self);
  kp_result (*turn)(void *self);           // all of it is done when this comes back
  int64_t (*count)(const void *self);      // what the rate counts
  double (*bytes_each)(const void *self);  // memory held per counted thing
  double (*iterations)(const void *self);  // of the last turn, where it iterates; NULL
  void (*destroy)(void **self);
} kp_case_turns;

// Carrying along: a box of n^3 cells with vortices, two fields of its cells and the velocity
// itself; the fastest point crosses two cells in a turn.
typedef struct kp_case_vortices {
  kp_backend *backend;
  kp_registry *registry;
  kp_mac *mac;
  kp_field *velocity, *flags;
  kp_field *values[2];
  kp_advect advect;
  kp_advect_def def;
  double dt;  // s
} kp_case_vortices;

KP_NODISCARD kp_result kp_case_vortices_create(const char *backend, int64_t n,
                                               kp_case_vortices **out);
void kp_case_vortices_destroy(kp_case_vortices **vortices);
// Fields and velocity by a step of def.
KP_NODISCARD kp_result kp_case_vortices_turn(kp_case_vortices *vortices);
extern const kp_case_turns kp_case_advect;

// Pressure of size^3 cells to 1e-6: a box with an open top and a ball in it (cases/poisson.h).
extern const kp_case_turns kp_case_pressure;

// The surface of a ball in a lattice of size^3 samples, of 262 k triangles at 256^3.
extern const kp_case_turns kp_case_marching_cubes;
// The surface of about `size` particles with waves, from places to triangles, voxels of half a
// spacing.
extern const kp_case_turns kp_case_surface;

#define KP_CASE_SIZES 4

// One row of `kelpie bench`. Cases with `build` are stepped by kp_world_step; those with `search`
// are one neighbour search per turn, those with `turns` say themselves what a turn is.
typedef struct kp_case {
  const char *name, *family, *text;
  const char *unit;
  int64_t sizes[KP_CASE_SIZES];  // 0: no more
  kp_result (*build)(kp_world *world, int64_t size);
  kp_result (*search)(kp_case_points *points, double *mean);
  const kp_case_turns *turns;
  int64_t (*walls)(int64_t particles);  // samples that count as particles; NULL: none
  kp_case_work (*work)(void);
  bool counts_cells;  // of the grids of the world instead of particles
  int64_t settle;     // steps to take before anything else: a start that is none yet
  double must_core;   // rate to reach per core, 0: none
  double must_card;   // and on one H200
} kp_case;

extern const kp_case kp_cases[];
extern const size_t kp_n_cases;

const kp_case *kp_case_find(const char *name);
