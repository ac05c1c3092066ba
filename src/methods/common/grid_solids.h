// The bodies of the world in a MAC grid. Still ones are asked for their exact distance once;
// moving ones are baked in their own coordinates and stamped where they are.
#pragma once

#include "geom/distance_grid.h"
#include "methods/common/grid_solids_kernels.h"
#include "methods/method.h"

typedef struct kp_grid_solid {
  const kp_shape *shape;
  kp_index body;
  bool moves;
  kp_distance_grid baked;  // of what moves
} kp_grid_solid;

typedef struct kp_grid_solids {
  kp_mac *mac;
  flow_sides sides;
  double near_distance;  // m
  bool passes_walls;     // cells beside closed sides of the domain are not near solids
  KP_ARRAY(kp_grid_solid) solids;
  bool has_solids, has_moving;
  uint64_t revision;                     // of the window whose faces were cut
  kp_buffer still_distance, still_body;  // while something moves: the part that does not
  kp_buffer distance;                    // REAL at corners [m]; empty without solids
  kp_buffer body;                        // I32 at corners, -1: none
  kp_buffer fraction[3], velocity[3];    // REAL at faces; velocity only while something moves
  kp_buffer records;                     // F64, SOLID_RECORD numbers of each body
} kp_grid_solids;

// near_distance: cells this close to a solid or, unless passes_walls is set afterwards, to a closed
// side are marked KP_CELL_NEAR_SOLID.
KP_NODISCARD kp_result kp_grid_solids_create(kp_grid_solids *solids, kp_env *env, kp_mac *mac,
                                             double near_distance);
void kp_grid_solids_free(kp_grid_solids *solids);

// Bodies where they are now, then the flags of all cells of the window: solid, or `kind`. Only the
// flags are written while nothing moves.
KP_NODISCARD kp_result kp_grid_solids_update(kp_grid_solids *solids, kp_env *env, kp_field *flags,
                                             uint8_t kind);
// Bodies where they were at the last update, but as fast as they are now.
KP_NODISCARD kp_result kp_grid_solids_speeds(kp_grid_solids *solids, kp_env *env);
// Where a pointer may be empty: NULL then.
kp_buffer *kp_grid_solids_part(kp_buffer *buffer);
