// FLIP and APIC (Zhu & Bridson 2005; Jiang et al. 2015; Hong 2009 section II.D): particles carry
// the liquid and its velocity, a MAC grid makes it incompressible. See flip.md for the equations.
//
// One object holds all FLIP liquids of a world: they share one grid, whose cell is two spacings.
#pragma once

#include "geom/level_set.h"
#include "methods/common/flow.h"
#include "methods/common/medium.h"
#include "methods/common/vortex_particles.h"

// The particles of a set by the cells of a grid: those of item c are start[c]..start[c + 1] - 1.
typedef struct kp_flip_sorted {
  kp_buffer keys, order;      // u32
  kp_buffer marks, spare[2];  // u32: of crowds
  kp_buffer start;            // u32, items and three more: beyond the grid, and what was to go
  kp_buffer runs;             // kp_row_segment: runs of particles
  bool is_settled;            // the particles may lie in this order; if not, nobody looks
} kp_flip_sorted;

typedef struct kp_flip_liquid {
  kp_liquid_def def;
  kp_medium medium;
  kp_flip_sorted sorted;
  kp_field *fraction;  // REAL x 3: place in the cell, of the last sort
  kp_field *pressure;  // REAL, Pa: of the grid around it, shown
  kp_field *affine;    // REAL x 9, m/s per cell: state of the affine transfer; else NULL
  kp_field *ahead;     // REAL x 3, m/s: what the pressure has given ahead of the next step; or NULL
} kp_flip_liquid;

// What a look at the cells tells.
typedef struct kp_flip_volumes {
  double cells;      // liquid ones
  double volume;     // m^3 that they hold, none more than it has room for
  double fullest;    // share
  double particles;  // most of one cell
} kp_flip_volumes;

// A free body on its way through the rounds of a projection.
typedef struct kp_flip_floater {
  kp_index body;
  kp_frame3 start;
  double radius;                       // m, of gyration
  kp_vec3 velocity, angular_velocity;  // as guessed
  kp_vec3 force, torque;               // N, N m of the pressure
  double share, miss[6];               // of the last correction
} kp_flip_floater;

// Where the liquid is particles and where it is the grid itself (flip_band.c).
typedef struct kp_flip_band {
  bool is_there;
  kp_field *depth;           // REAL, cells to the air, after the motion of the last step
  kp_field *inner;           // REAL x 3 at faces, m/s: velocity of the deep liquid after it
  kp_buffer deep;            // share of each cell that is deep liquid
  kp_buffer lack;            // the same with what particles are to come
  kp_buffer layer[2];        // depth on its way
  kp_buffer counts, places;  // U32: particles to come, and those before them
  kp_buffer blocks[3];       // REAL: where nothing but air comes, and speeds on their way
  kp_buffer block_rows;      // kp_row_segment
  kp_space *state;           // GLOBAL: the numbers
  double whole;              // particles that all of the liquid stands for
  double held;               // those of them that are none
  double owed;               // how many the two are short of the whole
  double inside;             // particles of the band below the surface, about
  double per_cell;           // of a full cell
  int64_t n_last;            // particles at the end of the last step
  uint64_t seed, round;
} kp_flip_band;

#define KP_FLIP_MOST_CROWD 2.5   // particles of a cell over those of a full one
#define KP_FLIP_LONG_CROWD 1.25  // after a step in which particles went more than KP_FLIP_LONG_WAY
#define KP_FLIP_LONG_WAY 3.0     // cells
#define KP_FLIP_MOST_SHIFT 0.5   // cells that making room moves a particle in a step, along an axis

// What parting crowds works with (flip_crowd.c).
typedef struct kp_flip_crowds {
  kp_buffer ways;            // U8 of each item: who may pass or stay
  kp_buffer counts;          // U32: particles of each item as they go
  kp_buffer level[2];        // U8: cells to the nearest room
  kp_buffer excess;          // U32: particles that items before give away
  kp_buffer first;           // U32: of those who stand in each item
  kp_buffer particle, from;  // U32, of those who go: which, and the item it was in
  kp_buffer who[2], at;      // U32: the list of them, and where they are
  kp_buffer slot;            // U32: places in the list, in the order of cells
  kp_buffer marks;           // U32: who found no room
} kp_flip_crowds;

// Pressure at the surface (flip_tension.c).
typedef struct kp_flip_tension {
  bool is_there;
  double sigma;  // N/m
  kp_level_set level;
  kp_buffer phi[2];  // m, negative in the liquid
  kp_buffer jump;    // Pa
} kp_flip_tension;

// What the solvers have cost so far: for tests and comparisons.
typedef struct kp_flip_totals {
  int64_t solves, iterations, unknowns, volume_iterations, rounds;
  double solve_seconds;
} kp_flip_totals;

typedef struct kp_flip {
  kp_flip_def def;
  kp_flow flow;
  KP_ARRAY(kp_flip_liquid) liquids;
  KP_ARRAY(kp_flip_floater) floaters;
  KP_ARRAY(kp_index) bodies;  // of them
  KP_ARRAY(kp_load) thrusts;  // on them
  kp_buffer before[3];   // velocity as it came from the particles, then what flip_correct wants
  kp_buffer shift[3];    // m: what makes room before particles move
  kp_buffer weight[3];   // of the faces; empty with a single liquid
  kp_buffer fill;        // share of the room around each centre that is taken
  kp_buffer count;       // particles of each cell
  kp_buffer open, room;  // share of each cell, and of the tent around its centre, without solids
  kp_buffer distance;    // m, to the surface
  kp_buffer excess, push;
  kp_poisson_report spread;  // of the last sub-step
  bool knows_room;
  KP_ARRAY(kp_aabb) boxes;  // of the liquids, for the window
  kp_flip_crowds crowds;
  kp_flip_band band;
  kp_flip_tension tension;
  kp_flip_totals totals;
  kp_vorticity vorticity;  // with vortices alone
  kp_vortex_particles vortices;
} kp_flip;

typedef struct kp_flip_setup {
  const kp_flip_def *def;
  const kp_grid_def *grid;
  const kp_liquid_def *liquids;
  size_t n_liquids;
} kp_flip_setup;

extern const kp_method kp_flip_method;

// The edge of a cell for liquids like this [m].
double kp_flip_cell(const kp_grid_def *grid, const kp_liquid_def *liquid);

KP_NODISCARD kp_result kp_flip_create(kp_env *env, const kp_flip_setup *setup, kp_flip **out);

// Of the cells as they were marked last.
KP_NODISCARD kp_result kp_flip_measure(kp_flip *flip, kp_flip_volumes *out);

// ---- transfers, usable without a world ----------------------------------------------------------

void kp_flip_sorted_init(kp_flip_sorted *sorted, kp_backend *backend);
void kp_flip_sorted_free(kp_flip_sorted *sorted);
// Brings the particles into the order of the cells, ties by id, and their fractions up to date.
// Those that are in it already stay, at little cost. The fraction may be NULL.
// With `going` (may be NULL), those in deep cells, a share of those near them and those of crowds
// are removed.
typedef struct kp_flip_going {
  kp_buffer *deep, *depth;
  uint64_t seed, round;
  double share;
  uint32_t most;       // particles of a cell; the youngest beyond it go
  uint32_t most_full;  // the same of cells that are full by right
  double full;         // cells: what is deeper is
} kp_flip_going;
KP_NODISCARD kp_result kp_flip_sort(kp_flip_sorted *sorted, kp_mac *mac, kp_set *set,
                                    kp_field *fraction, const kp_flip_going *going);
// The same in two parts: who is in which cell, without order among those of a cell, while the
// particles stay where they are; and then the order by id, and the particles in it.
KP_NODISCARD kp_result kp_flip_rank(kp_flip_sorted *sorted, kp_mac *mac, kp_set *set);
KP_NODISCARD kp_result kp_flip_settle(kp_flip_sorted *sorted, kp_mac *mac, kp_set *set);

typedef struct kp_flip_gathering {
  kp_set *set;
  kp_flip_sorted *sorted;
  kp_field *fraction, *affine;  // affine may be NULL
  double volume;                // of a particle, in cells
  bool is_first, is_last;       // of the sets that share the grid
  kp_field *velocity;           // of the faces
  kp_buffer *weight;            // three; not read while a set is first and last
  kp_buffer *fill, *count;
  kp_buffer *lack;  // of a narrow band; NULL: none
  kp_field *inner;
} kp_flip_gathering;

KP_NODISCARD kp_result kp_flip_gather(kp_mac *mac, const kp_flip_gathering *g);
// Ghosts of what was gathered.
KP_NODISCARD kp_result kp_flip_fill(kp_mac *mac, kp_field *velocity);

typedef struct kp_flip_carrying {
  kp_set *set;
  kp_field *affine;  // may be NULL
  double dt, ratio;
  int trace;           // kp_advect_trace
  kp_vec3 gravity;     // for what is beyond the grid
  double margin;       // m that particles keep from closed sides
  kp_field *velocity;  // of the faces; its ghosts are filled
  kp_buffer *taken;    // three: ratio times the velocity before forces; what affine slopes are of
  kp_buffer *shift;    // three, m: first of all; NULL: none
  kp_buffer *runs;     // scratch; NULL: one particle at a time
} kp_flip_carrying;

// before = ratio before
KP_NODISCARD kp_result kp_flip_blend(kp_mac *mac, kp_buffer before[3], double ratio);
KP_NODISCARD kp_result kp_flip_carry(kp_mac *mac, const kp_flip_carrying *c);

// ---- parts of the method, one file each ---------------------------------------------------------

KP_NODISCARD kp_result kp_flip_find_bodies(kp_flip *flip, kp_env *env);
// Projection with free bodies that move as the pressure says.
KP_NODISCARD kp_result kp_flip_project(kp_flip *flip, kp_env *env, const kp_flow_projection *how);
// The pressure of the step, when all of it is known, on them.
KP_NODISCARD kp_result kp_flip_push_bodies(kp_flip *flip, kp_env *env);
// Room around centres where solids changed.
KP_NODISCARD kp_result kp_flip_find_room(kp_flip *flip);
// Ghosts of shares of cells: nothing behind walls, beyond open sides all as inside.
KP_NODISCARD kp_result kp_flip_fill_open(kp_mac *mac, kp_buffer *open);
// Flags and distance of the cells from their fill.
KP_NODISCARD kp_result kp_flip_mark(kp_flip *flip);
// The shift that brings cells back to full. Right after the projection: it works with the same
// matrix.
KP_NODISCARD kp_result kp_flip_spread(kp_flip *flip);

// All items are 0.
KP_NODISCARD kp_result kp_flip_clear(kp_buffer *values);

// What turns the flow in the first part of the next step (flip_ahead.c): after the projection, for
// whose matrix it solves; beside the velocity of the particles; and, when the next step begins, in
// it.
bool kp_flip_is_centred(const kp_flip *flip);
KP_NODISCARD kp_result kp_flip_ahead_find(kp_flip *flip, kp_env *env, int n_layers);
// The velocity of the faces with it.
KP_NODISCARD kp_result kp_flip_ahead_add(kp_flip *flip, kp_buffer out[3]);
KP_NODISCARD kp_result kp_flip_ahead_look(kp_flip *flip, kp_flip_liquid *liquid);
KP_NODISCARD kp_result kp_flip_ahead_join(kp_flip *flip, kp_flip_liquid *liquid);

// What cells have beyond `share` times those of a full one goes to others. Without any such, the
// particles are sorted; otherwise they lie as they lay: the next step has to sort them anyway.
KP_NODISCARD kp_result kp_flip_part_crowds(kp_flip *flip, double share);
void kp_flip_crowds_init(kp_flip_crowds *crowds, kp_backend *backend);
void kp_flip_crowds_free(kp_flip_crowds *crowds);
// The narrow band, in the order of a step: sort without what is deep; what must come; its share of
// the gathered fill; the new particles; and, when the velocity is known, depth and velocity of the
// deep liquid to where they go.
KP_NODISCARD kp_result kp_flip_band_create(kp_flip *flip, kp_env *env);
void kp_flip_band_free(kp_flip_band *band);
// Cells that are deeper are full by right, whatever particles they hold.
double kp_flip_band_full(const kp_flip *flip);
KP_NODISCARD kp_result kp_flip_band_sort(kp_flip *flip, kp_flip_liquid *liquid);
KP_NODISCARD kp_result kp_flip_band_count(kp_flip *flip, kp_flip_liquid *liquid);
KP_NODISCARD kp_result kp_flip_band_fill(kp_flip *flip);
KP_NODISCARD kp_result kp_flip_band_seed(kp_flip *flip, kp_flip_liquid *liquid);
KP_NODISCARD kp_result kp_flip_band_move(kp_flip *flip, kp_env *env);
KP_NODISCARD kp_result kp_flip_band_stats(kp_flip *flip, kp_env *env, kp_population_stats *out);
KP_NODISCARD kp_result kp_flip_band_store(kp_flip_band *band);
void kp_flip_band_loaded(kp_flip_band *band);

KP_NODISCARD kp_result kp_flip_tension_create(kp_flip_tension *tension, kp_mac *mac, double sigma);
void kp_flip_tension_free(kp_flip_tension *tension);
// sigma times the curvature, from the distance that kp_flip_mark left.
KP_NODISCARD kp_result kp_flip_tension_write(kp_flip *flip);
