// Liquids by marker cells, the baselines of Hong 2009, section II.B: the explicit scheme of Foster
// & Metaxas 1996 with relaxation for the pressure (H1-H3), and stable fluids (Stam 1999, H4). A
// cell is liquid where it holds a marker. See marker.md.
#pragma once

#include "methods/common/flow.h"
#include "methods/common/medium.h"

typedef struct kp_marker_setup {
  const kp_marker_def *def;
  const kp_grid_def *grid;
  const kp_liquid_def *liquid;
} kp_marker_setup;

typedef struct kp_marker {
  kp_marker_def def;
  double viscosity;  // Pa s
  kp_flow flow;
  kp_medium medium;  // the markers: 2^d per cell at the start
  kp_field *shown;   // REAL per marker, Pa: the pressure around it
  kp_field *kind;    // REAL per cell: 0 air, 1 surface, 2 full, 3 solid
} kp_marker;

extern const kp_method kp_marker_method;

KP_NODISCARD kp_result kp_marker_create(kp_env *env, const kp_marker_setup *setup, kp_marker **out);

// Kinds of cells from the markers as they lie.
KP_NODISCARD kp_result kp_marker_kinds(kp_marker *marker);
// Velocities of the faces between surface and air by the rule of cases (H3).
KP_NODISCARD kp_result kp_marker_open_faces(kp_marker *marker);
