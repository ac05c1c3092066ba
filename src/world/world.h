// The inside of a world: ownership, and what run, io and tests need beyond the public
// kelpie/world.h.
#pragma once

#include <signal.h>

#include "base/array.h"
#include "base/text.h"
#include "data/field.h"
#include "kelpie/world.h"
#include "methods/method.h"
#include "world/loads.h"
#include "world/probes.h"
#include "world/spec.h"

typedef struct kp_system {
  const kp_method *method;
  void *self;
  char name[KP_NAME_SIZE];
  int medium;  // what env.loads calls it
  int group;   // systems of one group are strongly coupled and take their sub-steps together
} kp_system;

typedef struct kp_world_body {
  struct kp_shape *shape;  // for pictures and contact with analytic shapes; at the start
  struct kp_morph *morph;  // NULL: it keeps its form
  kp_index body;
  bool visible;
  kp_vec3 color;
} kp_world_body;

struct kp_world {
  kp_backend *backend;
  kp_spec spec;
  bool built;
  bool failed;  // a build that failed leaves parts behind: the world can only be destroyed
  kp_registry *registry;
  kp_env env;
  kp_profile profile;
  kp_bodies *bodies;
  kp_interface *walls, *movers;
  struct kp_force_fields *fields;
  kp_world_probes probes;
  KP_ARRAY(kp_system) systems;  // in schedule order
  int n_groups;
  KP_ARRAY(kp_world_body) shapes;
  KP_ARRAY(kp_solid) solids;  // the shapes where they start
  kp_space *clock;        // GLOBAL space: time, step, next ids, emitter states: part of the state
  kp_snapshot *snapshot;  // last good state, with policy retry
  // not 0: retries end with KP_STOPPED at the start of the interval, as they may take longer than
  // anyone waits; may be NULL
  const volatile sig_atomic_t *stop;
  double dt_scale;  // halved by each retry, restored slowly
  int64_t n_steps;
};

// Fails with a sentence when the world is NULL or not built.
KP_NODISCARD kp_result kp_world_need_built(const kp_world *world);

// Build a world from a whole spec (the scene's way in): replaces what was set by hand. The spec is
// copied.
KP_NODISCARD kp_result kp_world_set_spec(kp_world *world, const kp_spec *spec);

// What a method keeps of a world; NULL where the world has nothing for it to do.
void *kp_world_system(const kp_world *world, const kp_method *method);

// Stages x systems as text, for `kelpie info --schedule`.
KP_NODISCARD kp_result kp_world_schedule(const kp_world *world, kp_text *out);

// Before fields are read: those that are only shown follow from the state.
KP_NODISCARD kp_result kp_world_show(kp_world *world);

// One row per population of all systems, then one per free body.
int kp_world_n_populations(const kp_world *world);
KP_NODISCARD kp_result kp_world_stats(kp_world *world, int population, kp_population_stats *out);

// What a built world holds and about how long it will take, for `kelpie check`.
typedef struct kp_world_size {
  int64_t particles, samples, cells;
  int64_t to_come;            // particles that emitters may still give; -1: no limit
  double bytes;               // of memory at the peak of a step, as kp_spec_sizes_check counts them
  double dt;                  // s, of the first sub-step
  double seconds_per_second;  // of wall time, rough, one core
} kp_world_size;
KP_NODISCARD kp_result kp_world_measure(kp_world *world, kp_world_size *out);

// The state as registry loops: everything with KP_FIELD_SAVE is a checkpoint, everything with
// KP_FIELD_EXPORT a frame. After a load, derived data is rebuilt.
KP_NODISCARD kp_result kp_world_after_load(kp_world *world);
