// A flow: one incompressible fluid on a MAC grid and all that every grid method does with it in the
// same way, as kp_medium is for particles. It holds velocity, flags and pressure; puts solids into
// the grid with the open fractions of the faces they cut; keeps the sides of the domain; projects
// to a given divergence; limits the step; tells its sums.
//
//   kp_flow_create      grid, fields, solver; then the method adds its fields
//   stage space         kp_flow_solids        bodies to their new place: distances, fractions
//   stages of a method  advection (advect.h), sources, forces on the faces
//   stage solve         kp_flow_project       divergence-free against moving solids
//   stage check         kp_flow_check
#pragma once

#include "data/set.h"
#include "linalg/poisson.h"
#include "methods/common/advect.h"
#include "methods/common/grid_solids.h"
#include "methods/method.h"

typedef struct kp_flow_def {
  const char *word, *name;     // "smoke", of the entity
  double cell;                 // m
  double density;              // kg/m^3
  kp_vec3 velocity;            // m/s at the start
  kp_vec_lattice velocity_at;  // instead, where it depends on place
  const kp_grid_def *grid;     // settings of all grids of the world
  double centering;            // where grid { } says none; 0: 1
  double tolerance;            // of the pressure, where grid { } says none; 0: 1e-4
  bool is_gas;   // fills the domain: advection keeps its order beside walls, and is cubic by itself
  bool lets_go;  // projections will release: what is loose may leave walls
  bool shows_pressure;  // in frames
  bool pushes_bodies;   // free ones feel the pressure
  const char *medium;   // what loads and forces call it; NULL: its name
} kp_flow_def;

typedef struct kp_flow {
  char word[16];
  char name[KP_NAME_SIZE];
  char set[KP_NAME_SIZE];  // what forces call it
  kp_grid_def grid;
  double density;  // kg/m^3
  kp_mac *mac;
  kp_field *velocity;        // REAL x 3 on faces, SAVE: the state
  kp_field *pressure;        // REAL, Pa, SAVE: the first guess of the next solve
  kp_field *flags;           // U8 per cell
  kp_grid_solids solids;     // distance at corners, fractions and speeds at faces
  kp_buffer coefficient[3];  // c of the faces, for the solver
  kp_buffer right;           // b of the solver
  kp_advect advect;
  kp_poisson *poisson;
  kp_field carried;        // the velocity with the pressure of the start; only with centering
  kp_poisson *viscous[3];  // of the components; made when first needed
  kp_buffer viscous_extra, viscous_answer;
  kp_poisson_report solved;       // of the last sub-step
  double late;                    // share of a step that the pressure of its end acts for
  bool has_warned;                // of a pressure that did not converge
  kp_buffer known[2];             // U8 at faces: extrapolation
  double max_speed;               // m/s, of the last sub-step; saved
  double max_sum;                 // of the speeds along the axes, of any cell
  double n_released;              // cells that were let go and are not water again yet
  kp_space *state;                // GLOBAL: the two speeds
  int medium;                     // of env->loads
  KP_ARRAY(kp_pos) force_places;  // m: what the user's force sees
  KP_ARRAY(kp_real) force_values;
} kp_flow;

// The edge of a cell in a domain, where the method has none of its own [m].
double kp_flow_cell(const kp_domain_def *domain, const kp_grid_def *grid);

KP_NODISCARD kp_result kp_flow_create(kp_flow *flow, kp_env *env, const kp_flow_def *def);
void kp_flow_free(kp_flow *flow);
// One component of a velocity at all its faces, as a start has it: on the host.
KP_NODISCARD kp_result kp_flow_sample(const kp_flow *flow, int axis, const kp_vec_lattice *lattice,
                                      kp_vec3 constant, kp_buffer *out);
KP_NODISCARD kp_result kp_flow_loaded(kp_flow *flow);

// Bodies where they are now: distance at corners, fractions and speeds at faces, solid and
// near-solid flags. Cells that are not solid get `kind` (KP_CELL_FLUID for gases; liquids set their
// own kinds after). Costs nothing while nothing moved.
KP_NODISCARD kp_result kp_flow_solids(kp_flow *flow, kp_env *env, uint8_t kind);

// With grid.follow: the window to where any watched array differs from its rest value by more than
// its tolerance, and far enough around for a step. What the window leaves becomes still air. To be
// called before kp_flow_solids, which makes what it enters fluid. At most three arrays. `boxes`
// belong to it as well: what comes in, particles.
typedef struct kp_flow_watch {
  kp_buffer *values;
  double rest, tolerance;
} kp_flow_watch;
typedef struct kp_flow_activity {
  const kp_flow_watch *watches;
  int n_watches;
  const kp_aabb *boxes;
  size_t n_boxes;
} kp_flow_activity;
KP_NODISCARD kp_result kp_flow_follow(kp_flow *flow, const kp_flow_activity *activity);
// The box around particles, for it.
KP_NODISCARD kp_result kp_flow_box(kp_flow *flow, kp_set *set, kp_aabb *out);

// Face velocities of solids and sides: what the pressure may not change.
KP_NODISCARD kp_result kp_flow_boundaries(kp_flow *flow, kp_env *env);

// The velocity along itself, as grid { } says. With grid.centering below 1 the part of the pressure
// that acts at the start of the step goes with it: a projection after advection turns what the
// pressure should have bent into divergence and takes it away, which costs energy in proportion to
// the step; taken along the way (semi-Lagrangian, nearly centred) it costs next to nothing.
KP_NODISCARD kp_result kp_flow_advect(kp_flow *flow, kp_env *env);

// What projection is told. All pointers may be NULL.
typedef struct kp_flow_projection {
  kp_buffer *source;    // REAL per cell, 1/s: divergence to reach
  kp_buffer *distance;  // REAL per cell, m: free surface, negative in the liquid (ghost fluid)
  kp_buffer *surface_pressure;  // REAL per cell, Pa: jump at the surface (tension), with distance
  kp_buffer *inverse_density;   // REAL per face x 3, m^3/kg; NULL: 1/density everywhere
  // Water is let go by solids and walls near its surface that pull at it with more than this [Pa];
  // see release.h. Needs distance, and kp_flow_def.lets_go.
  bool releases;
  double suction;
  bool is_near;          // the distance is known beside the surface alone: air is looked for
  bool leaves_released;  // what was let go stays air until kp_release_finish
} kp_flow_projection;

// u -= dt/rho grad p with div u = source in every fluid cell; weak in cut cells: the flux through
// the open fractions balances that of the solid.
KP_NODISCARD kp_result kp_flow_project(kp_flow *flow, kp_env *env, const kp_flow_projection *how);

// Velocity of known faces (those of fluid cells) into the cells around, n_layers wide.
KP_NODISCARD kp_result kp_flow_extrapolate(kp_flow *flow, int n_layers);

// Values at the centres of fluid cells into what lies beside them, n_layers wide: traces beside
// solids read there, and a solid that moves on leaves them behind.
KP_NODISCARD kp_result kp_flow_extrapolate_cells(kp_flow *flow, kp_buffer *values, int n_layers);

// What a pressure, the answer of the solver's last solve, does to a velocity in `time` [s], for
// particles to take along into the next step, whose projection has that much less to do: at the
// surface, where it is 0, as the projection sees it, and spread n_layers into the air, solids and
// walls. It is in flow->carried. Before kp_release_finish.
KP_NODISCARD kp_result kp_flow_push_ahead(kp_flow *flow, kp_buffer *pressure, double time,
                                          int n_layers);
// a of force fields, gravity (times `weight`, a share) and the user's force on all faces.
KP_NODISCARD kp_result kp_flow_forces(kp_flow *flow, kp_env *env, double weight);

// The user's part of it (flow_force.c): the function sees the velocity at all faces of the window,
// and of the acceleration that it adds at one the component across the face counts.
KP_NODISCARD kp_result kp_flow_user_force(kp_flow *flow, kp_env *env);

// The pressure of the last projection at particles, into a field of theirs that is shown.
KP_NODISCARD kp_result kp_flow_show_pressure(kp_flow *flow, kp_set *set, kp_field *out);
extern const kp_field_desc kp_flow_shown_pressure;

// (1 - dt nu lap) u = u per component; `viscosity` Pa s per cell, or one number when NULL.
KP_NODISCARD kp_result kp_flow_viscosity(kp_flow *flow, kp_env *env, double viscosity,
                                         kp_buffer *per_cell);

double kp_flow_max_dt(const kp_flow *flow, const kp_env *env);  // s: grid.cfl cells per step
KP_NODISCARD kp_result kp_flow_check(kp_flow *flow, kp_env *env);
KP_NODISCARD kp_result kp_flow_stats(kp_flow *flow, kp_env *env, kp_population_stats *out);
// Largest |div u - source| of a fluid cell, weighted as the projection sees it [1/s]; for tests and
// reports.
KP_NODISCARD kp_result kp_flow_divergence(kp_flow *flow, const kp_flow_projection *how,
                                          double *worst);
