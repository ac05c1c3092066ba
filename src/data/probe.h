// Probes: what the elements of a set do around given points. A probe looks and changes nothing: it
// sorts the set by cells of its own, beside those of the set's method, and its points are no part
// of the state.
//
//   mean   mean velocity and speed of the elements within the radius, and their number
//   fit    the velocity at the point itself: that of the linear field nearest to the elements
//          around it, weighted by (1 - r^2/R^2)^2 (moving least squares); exact for a linear field,
//          so it serves profiles up to a wall, where a mean is off by half a radius
//   track  place and velocity of one element, or the mean of all
//
// Mean and fit may watch pressure, density and temperature besides, where the set has such fields.
//
// A region that reaches over a periodic face sees only what is inside the domain.
#pragma once

#include "data/pairs.h"
#include "kelpie/report.h"
#include "kelpie/types.h"

typedef enum kp_probe_kind {
  KP_PROBE_MEAN,
  KP_PROBE_FIT,
  KP_PROBE_TRACK,
  KP_PROBE_GAUGE,  // gauge.h
  KP_PROBE_WALL,   // fits over a patch (world/probe_patch.h)
  KP_PROBE_KIND_COUNT
} kp_probe_kind;

// What is watched besides the velocity, in the order of kp_probe_value.
#define KP_PROBE_WATCHED 3
extern const char *const kp_probe_watched[KP_PROBE_WATCHED];
// Into their places, NaN where there is no such field; the height is that of gauges alone.
void kp_probe_put(const double watched[KP_PROBE_WATCHED], kp_probe_value *out);

typedef struct kp_probe {
  kp_probe_kind kind;
  double radius;
  int64_t particle;      // track: an id; -1: all
  kp_set seen;           // the set as a tied one: it keeps its own order
  kp_cells *seen_cells;  // mean and fit; NULL otherwise
  kp_registry *registry;
  kp_set *points;
  kp_cells *point_cells;
  kp_field *count, *speed, *centre;
  kp_field *watched[KP_PROBE_WATCHED];  // of the set; NULL where it has none
  kp_field *values;                     // of the points: their means; NULL: nothing is watched
  kp_field *spare;
} kp_probe;

// `space` must hold position, velocity and id. track needs no points.
KP_NODISCARD kp_result kp_probe_create(kp_probe_kind kind, kp_space *space, int dimension,
                                       const kp_vec3 *points, int64_t n, double radius,
                                       kp_probe **out);
void kp_probe_destroy(kp_probe **probe);

// From now on mean and fit give pressure, density and temperature too, of the set as it was left.
KP_NODISCARD kp_result kp_probe_watch(kp_probe *probe);

int64_t kp_probe_count(const kp_probe *probe);  // of samples

// One sample per point, of the present state.
KP_NODISCARD kp_result kp_probe_look(kp_probe *probe, kp_probe_value *out);
