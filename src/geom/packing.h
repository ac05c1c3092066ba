// Random packings of spheres: shaken lattices whose overlaps are taken away.
#pragma once

#include "geom/sampler.h"

// Where sphere i may be: the place itself, or the nearest one that is allowed.
typedef kp_vec3 (*kp_packing_keep)(void *user, size_t i, kp_vec3 p);

typedef struct kp_packing_def {
  int dimension;
  uint64_t seed;
  double shake;         // m, largest shift of a coordinate before overlaps are taken away
  const double *radii;  // m, of each sphere
  kp_packing_keep keep;
  void *user;
} kp_packing_def;

// Moves spheres to a random packing in which no two overlap by more than 1e-4 of their distance:
// every coordinate is shifted at random, then pairs are pushed apart, one after the other in a
// fixed order, until none is left that overlaps. *is_done is false where that does not come to an
// end, in places too tight for anything but order: the points are as they were.
KP_NODISCARD kp_result kp_packing_shake(const kp_packing_def *def, kp_points *points,
                                        bool *is_done);
