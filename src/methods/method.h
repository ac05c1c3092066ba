// The table every method fills: which stages of a sub-step it takes part in (see world/step.c for
// the order). Methods never include each other; what they share they find in kp_env.
#pragma once

#include "base/array.h"
#include "base/timer.h"
#include "data/bodies.h"
#include "data/interface.h"
#include "data/mac.h"
#include "data/set.h"
#include "geom/shape.h"
#include "kelpie/world.h"

typedef enum kp_stage {
  KP_STAGE_POPULATION,  // emit, kill, split, merge
  KP_STAGE_SPACE,       // sort, ghosts, trees and grids
  KP_STAGE_PREPARE,     // densities, factors: what needs the fresh neighbourhood
  KP_STAGE_FORCES,      // external and internal, explicit
  KP_STAGE_PREDICT,     // tentative velocities and positions
  KP_STAGE_CONTACT,
  KP_STAGE_SOLVE,    // pressure, constraints, implicit systems
  KP_STAGE_CORRECT,  // final velocities and positions
  KP_STAGE_CHECK,    // NaN, bounds, CFL
  KP_STAGE_COUNT
} kp_stage;

extern const char *const kp_stage_names[KP_STAGE_COUNT];

// A solid that nothing may start in, at its initial place.
typedef struct kp_solid {
  const kp_shape *shape;
  kp_index body;
  kp_vec3 origin;  // of the shape in the world
  kp_quat turn;
  const struct kp_morph *morph;  // NULL: it keeps its form
} kp_solid;

// A point of the world in the axes of the shape.
static inline kp_vec3 kp_solid_local(const kp_solid *solid, kp_vec3 p) {
  return kp_quat_rotate(kp_quat_conjugate(solid->turn), kp_vec3_sub(p, solid->origin));
}

// What the scene places around the media. It lives as long as the world.
typedef struct kp_scenery {
  const kp_emitter_def *emitters;
  size_t n_emitters;
  const kp_sink_def *sinks;
  size_t n_sinks;
  const kp_source_def *sources;  // of gases
  size_t n_sources;
  const kp_vortices_def *vortices;  // of flows
  size_t n_vortices;
  const kp_wind_def *winds;
  size_t n_winds;
  const kp_solid *solids;
  size_t n_solids;
  const char *folder;  // where mesh files are
} kp_scenery;

// A grid of the world under the name of its entity. Frames hold the EXPORT fields of its cells
// inside the window: those of one component are at the centres, "velocity" is on the faces, and
// "distance" is the signed distance [m] to the surface of a liquid, negative inside.
typedef struct kp_env_grid {
  char name[KP_NAME_SIZE];
  kp_mac *mac;
} kp_env_grid;

// Knitwear whose yarn is drawn: its nodes are three layers of rows and columns (stitch.h).
typedef struct kp_env_yarn {
  int64_t columns, rows;  // nodes; 0: none is drawn
  int64_t plies;          // threads of a yarn
  double pitch;           // m: length of one turn of them
} kp_env_yarn;

// A deformable of the world: consecutive nodes of a set, drawn as a mesh and as curves.
typedef struct kp_env_part {
  char name[KP_NAME_SIZE];
  kp_set *set;
  int64_t first, count;             // nodes
  KP_ARRAY(kp_triangle) triangles;  // nodes counted from `first`, as in the curves
  KP_ARRAY(kp_index) tets;          // of a soft body, four nodes each
  KP_ARRAY(kp_index) points;
  KP_ARRAY(uint64_t) offsets;  // of each curve in the points, and their number at the end
  double radius;               // m, of curves
  bool is_knit;                // three layers of as many nodes, of which the middle is the mesh
  kp_env_yarn yarn;            // drawn in place of the mesh
  kp_vec3 color;
  const double *order;  // of nodes: in which a list of edges corrects them, 0 to 1; NULL: none
} kp_env_part;

// What a method may see of the world.
typedef struct kp_env {
  kp_backend *backend;
  kp_registry *registry;
  kp_profile *profile;
  kp_domain_def domain;
  kp_simulation_def simulation;
  kp_scenery scenery;
  int dimension;
  kp_bodies *bodies;
  kp_interface *walls;   // samples of still bodies and of the domain's faces; may be empty
  kp_interface *movers;  // samples of moving bodies; may be empty
  double time;           // at the start of the sub-step
  double dt;             // of the sub-step
  int evaluation;        // of a multi-stage integrator, from 0
  struct kp_force_fields *fields;  // of the scene; may be NULL
  kp_force_fn force;               // of the user, may be NULL
  void *force_user;
  kp_loads *loads;              // of the bodies that are watched; NULL: none is
  kp_step_report report;        // of this sub-step; methods add to it
  KP_ARRAY(kp_env_grid) grids;  // of all methods, see kp_env_add_grid
  KP_ARRAY(kp_env_part) parts;  // deformables, see kp_env_show_part
} kp_env;

// Tell the world of a grid, when it is made: frames, reports and estimates then know it. The grid
// stays with its owner and must live as long as the world.
KP_NODISCARD kp_result kp_env_add_grid(kp_env *env, const char *name, kp_mac *mac);

// Tell the world of a deformable; frames then hold its mesh and its curves. Its arrays become the
// world's.
KP_NODISCARD kp_result kp_env_show_part(kp_env *env, kp_env_part *part);
void kp_env_free_parts(kp_env *env);

// The axis that points against gravity; y without gravity.
int kp_env_up_axis(const kp_env *env);

// The two faces of the domain across an axis. In 2D nothing happens across z: all flags are false.
typedef struct kp_faces {
  double lo, hi;              // m
  bool closed_lo, closed_hi;  // a wall; the upper one may be left out by open_top
  bool open;                  // what leaves is removed
  bool open_top;              // this is the up axis and the domain has no lid
  bool periodic;
} kp_faces;

kp_faces kp_env_faces(const kp_env *env, int axis);

// Mean distance of the samples of one body, from what they stand for of its surface.
static inline double kp_interface_spacing(const kp_real *area, int64_t count, int dimension) {
  double sum = 0.0;
  for (int64_t i = 0; i < count; ++i) {
    sum += (double)area[i];
  }
  double mean = count > 0 ? sum / (double)count : 0.0;
  return dimension == 2 ? mean : sqrt(mean);
}

#define KP_STATS_AMOUNTS 4

// A sum that only some populations have, in a column of its own.
typedef struct kp_amount {
  const char *name;  // static
  double value;
} kp_amount;

// One population in a report: liquids, grains, ... one row each in stats.csv.
typedef struct kp_population_stats {
  char name[KP_NAME_SIZE];
  int64_t count;
  double mass;               // kg; NaN where a method has none
  kp_vec3 momentum;          // kg m/s
  double kinetic_energy;     // J
  double potential_energy;   // J, of gravity
  double internal_energy;    // J, of springs, compression, charges; NaN where a method has none
  double memory_gain;        // S of viscosity with memory [s^(1-q)], NaN without
  double memory_share;       // of the particles whose past counts, NaN without
  kp_aabb bounds;            // m
  double max_speed;          // m/s
  double max_density_error;  // share of the rest density, where the method has one
  int n_amounts;             // the same from frame to frame
  kp_amount amounts[KP_STATS_AMOUNTS];
} kp_population_stats;

typedef kp_result (*kp_stage_fn)(void *self, kp_env *env);

// s: where the scene does not say dt_max, no sub-step of a method is longer than its longest_step,
// or this; KP_ANY_STEP is for what goes along with others.
#define KP_LONGEST_STEP 0.01
#define KP_ANY_STEP 1.0

typedef struct kp_method {
  const char *name;
  const char *text;
  bool is_alone;  // meets no other system: takes sub-steps of its own beside them
  kp_stage_fn stages[KP_STAGE_COUNT];  // NULL: takes no part
  // How often space, prepare and forces run per sub-step (multi-stage integrators).
  int (*evaluations)(const void *self);
  // Before space of each evaluation: bring positions to where the forces are wanted.
  kp_stage_fn begin;
  double (*max_dt)(void *self, kp_env *env);  // s
  double longest_step;  // s, where the scene does not say dt_max; 0: KP_LONGEST_STEP
  int (*n_populations)(const void *self);
  kp_result (*stats)(void *self, kp_env *env, int population, kp_population_stats *out);
  // Before somebody looks: fields that no step needs and frames, probes and programs are shown.
  kp_stage_fn show;
  // After a checkpoint or a snapshot was loaded: numbers kept outside the registry come back from
  // it.
  kp_result (*loaded)(void *self);
  void (*destroy)(void **self);
} kp_method;
