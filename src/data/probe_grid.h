// Probes of what is on a grid: the same questions as those of probe.h, with cells of fluid in the
// place of particles. They are answered on the host, since a probe has few points.
#pragma once

#include "data/mac.h"
#include "data/probe.h"

// A grid and what it knows; members may be NULL but for the first three.
typedef struct kp_probe_grid {
  kp_mac *mac;
  kp_field *velocity;  // on faces
  kp_field *flags;
  kp_field *watched[KP_PROBE_WATCHED];
  kp_field *distance;  // of a liquid's surface
  kp_field *depth;     // cells to the air, of a narrow band
} kp_probe_grid;

// Finds the fields by their names.
kp_probe_grid kp_probe_grid_of(kp_mac *mac);

// Mean or fit over the cells of fluid whose centres lie within the radius; at least a cell wide.
KP_NODISCARD kp_result kp_probe_grid_look(const kp_probe_grid *grid, kp_probe_kind kind,
                                          double radius, kp_probe_value *values, int64_t n);
