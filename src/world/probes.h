// The probes of a world: made from the spec, asked when they are due, their samples kept as rows
// until somebody takes them.
#pragma once

#include "data/gauge.h"
#include "data/loads.h"
#include "kelpie/report.h"
#include "kelpie/types.h"

struct kp_world;

typedef struct kp_world_probe {
  kp_probe_def def;
  kp_probe *probe;     // particles
  kp_probe_grid grid;  // what is on a grid, or the grid behind particles
  kp_space *space;     // of the particles
  kp_probe_kind kind;  // of the questions that are asked
  kp_gauge gauge;
  double radius;                     // m, on a grid
  kp_index body;                     // or the path of a body,
  int watch;                         // its number in env.loads
  int spots;                         // points of a region that are asked
  KP_ARRAY(kp_probe_value) seen;     // there
  KP_ARRAY(kp_probe_value) on_grid;  // and the pressure of the grid behind particles
  KP_ARRAY(kp_probe_value) samples;  // of the last look
} kp_world_probe;

// One row of a probe's table.
typedef struct kp_probe_row {
  int32_t probe, region;
  int64_t step;
  double time;
  kp_probe_value sample;
  int64_t load;  // of bodies: where their loads begin, one per medium; else -1
} kp_probe_row;

typedef KP_ARRAY(kp_probe_row) kp_probe_rows;
typedef KP_ARRAY(kp_load) kp_probe_loads;

typedef struct kp_world_probes {
  KP_ARRAY(kp_world_probe) all;  // ordered by name
  bool keep;                     // rows are wanted
  kp_probe_rows rows;            // since they were taken
  kp_probe_loads loads;          // of the rows of bodies
  kp_probe_loads media;          // of the body that was looked at last
} kp_world_probes;

// The populations must be there.
KP_NODISCARD kp_result kp_world_probes_build(struct kp_world *world);
void kp_world_probes_free(struct kp_world *world);

// After a step that began at `before`: asks those that are due.
KP_NODISCARD kp_result kp_world_probes_step(struct kp_world *world, double before);

// All of them, whether due or not: the state a run begins with.
KP_NODISCARD kp_result kp_world_probes_start(struct kp_world *world);
