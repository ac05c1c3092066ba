// Scenes of cloth that meets itself and other cloth, made to tangle: a sheet that falls into a
// hammock, a strip twisted by its ends, a crushed sheet, sheets pinched between two balls, a box
// full of sheets, sheets thrown at each other. Run step by step, with an exact count of
// the triangles that intersect, by a test that shares nothing with the contact module.
#pragma once

#include "methods/deform/deform.h"

#include "support/media.h"

typedef enum kp_tangle_kind {
  KP_HAMMOCK,
  KP_TWIST,
  KP_CRUSH,
  KP_PINCH,
  KP_BOX,
  KP_THROW
} kp_tangle_kind;

typedef struct kp_tangle {
  kp_tangle_kind kind;
  int64_t cells;
  int64_t steps;
  kp_solids_def solids;
  const char *backend;
  uint64_t seed;  // 0: as described; else free nodes start up to 0.1 mm away, sheets turned anyhow
} kp_tangle;

typedef struct kp_tangle_outcome {
  int64_t intersections;  // after all steps together
  int64_t first;          // step with intersections, or -1
  int64_t collisions, zones, largest_zone, rounds, pieces, late;
  double find, repulse, part, total;  // s
  double time;                        // simulated
  int64_t inner_steps;
  double lowest, highest;  // m, of z or y: has it moved at all
} kp_tangle_outcome;

kp_tangle kp_tangle_make(kp_tangle_kind kind, int64_t cells, int64_t steps);
kp_world *kp_tangle_world(const kp_tangle *tangle);

// Runs it; `look`: counts intersections after every step.
kp_tangle_outcome kp_tangle_run(const kp_tangle *tangle, bool look);

// Pairs of triangles that intersect now; all nodes must be finite.
int64_t kp_tangle_count(kp_deform *deform);
