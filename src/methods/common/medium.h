// A medium: one population of free particles and all that every particle method does with it in the
// same way. It fills a shape (outside solids, inside the domain), takes in what emitters pour,
// removes what leaves or falls into a sink, makes periodic images, keeps closed faces closed, adds
// force fields and the user's force, watches for trouble and tells its sums. Methods own one medium
// per entity and add their fields, kernels and limits.
//
//   kp_medium_create        the set, its state and its emitters; then the method adds its fields
//   kp_medium_fill          particles of the shape
//   kp_medium_grid          cells, and images where the domain is periodic
//   stage population        kp_medium_population
//   begin, predict          kp_integrate_begin, kp_integrate_end, when the medium has an integrator
//   stage space             kp_medium_space
//   end of stage forces     kp_medium_outer_forces
//   stage correct           kp_medium_domain
//   stage check             kp_medium_check
//
// Numbers that steps depend on live in a GLOBAL space of the registry, so a resumed run takes the
// same steps: kp_medium_check stores them, kp_medium_loaded brings them back.
#pragma once

#include "data/ghosts.h"
#include "geom/shape.h"
#include "methods/common/emitter.h"
#include "methods/common/integrate.h"
#include "methods/common/region.h"
#include "methods/method.h"

typedef struct kp_medium_def {
  const char *word;            // "liquid", for messages
  const char *name;            // of the set
  const kp_shape_def *shape;   // NULL: starts empty
  double spacing;              // m
  double jitter;               // of the lattice, in spacings
  kp_vec3 velocity;            // m/s at the start
  kp_vec_lattice velocity_at;  // instead, where it depends on place; as long as the medium lives
  int integrator;              // kp_integrator; KP_INTEGRATOR_COUNT: the method moves it by itself
  bool is_granular;            // its particles must not overlap, and nothing holds them together
} kp_medium_def;

typedef struct kp_medium {
  char word[16];
  char name[KP_NAME_SIZE];
  double spacing, jitter;
  kp_vec3 velocity;  // at the start
  kp_vec_lattice velocity_at;
  kp_set *set;
  kp_cells *cells;
  kp_ghosts *ghosts;  // NULL unless an axis is periodic
  kp_cells *ghost_cells;
  kp_integrate integrate;  // with its acceleration field; there in any case
  bool integrates;
  double mass;  // kg of a particle, where all are alike
  // where the method has them, for the report: NULL otherwise
  kp_field *density;
  double rest_density;
  kp_field *mass_field;  // kg, of each particle, where they are not alike
  // of the last sub-step
  double max_speed, max_acceleration, max_density_error;
  kp_aabb bounds;
  bool bounds_known;
  // of the last population stage
  int64_t first_new;  // particles from here on have just been emitted
  KP_ARRAY(kp_emitter) emitters;
  kp_regions sinks;
  kp_space *state;          // GLOBAL, one element
  kp_space *emitter_state;  // GLOBAL, one element per emitter
  kp_buffer keep;           // flags of removal
} kp_medium;

// Clears *medium first; on failure kp_medium_free is still to be called.
KP_NODISCARD kp_result kp_medium_create(kp_medium *medium, kp_env *env, const kp_medium_def *def);
void kp_medium_free(kp_medium *medium);

// Fills the shape of the def: a cubic lattice, without what lies outside the domain or closer than
// half a spacing to a solid. Nothing to fill is an error that names the entity.
KP_NODISCARD kp_result kp_medium_fill(kp_medium *medium, kp_env *env, const kp_shape_def *shape);
// Instead of a lattice: these places. velocities may be NULL (that of the def).
KP_NODISCARD kp_result kp_medium_add(kp_medium *medium, int64_t n, const kp_vec3 *positions,
                                     const kp_vec3 *velocities);

// Cells of side `edge`; images of everything within `reach` of a periodic face.
KP_NODISCARD kp_result kp_medium_grid(kp_medium *medium, kp_env *env, double edge, double reach);

// Removes, then emits. first_new tells the method which particles need values of its own.
KP_NODISCARD kp_result kp_medium_population(kp_medium *medium, kp_env *env);

KP_NODISCARD kp_result kp_medium_begin(kp_medium *medium, kp_env *env);
KP_NODISCARD kp_result kp_medium_space(kp_medium *medium, kp_env *env);
// Adds force fields and the user's force to the accelerations.
KP_NODISCARD kp_result kp_medium_outer_forces(kp_medium *medium, kp_env *env);
KP_NODISCARD kp_result kp_medium_end(kp_medium *medium, kp_env *env);
// Closed faces of the domain as planes: what is beyond comes back, its normal speed is reflected.
KP_NODISCARD kp_result kp_medium_domain(kp_medium *medium, kp_env *env);

// One look of the host per sub-step: limits, bounds and trouble, into the report of env. Faster
// than `longest` [m] in one step is no motion any more, whatever the numbers say.
KP_NODISCARD kp_result kp_medium_check(kp_medium *medium, kp_env *env, double longest);

// Mass, momentum, kinetic energy and that of gravity, bounds.
KP_NODISCARD kp_result kp_medium_stats(kp_medium *medium, kp_env *env, kp_population_stats *out);

KP_NODISCARD kp_result kp_medium_store(kp_medium *medium);
KP_NODISCARD kp_result kp_medium_loaded(kp_medium *medium);

// The largest speed anything can be expected to reach: falling from the top of what is filled to
// the floor, the start, the jets of the emitters; 1 m/s where nothing moves.
double kp_medium_expected_speed(kp_medium *medium, kp_env *env);

// The fastest point of any body, for limits of the step.
double kp_medium_fastest_body(const kp_env *env);
