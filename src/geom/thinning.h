// Even subsets of dense point sets on surfaces.
#pragma once

#include "geom/sampler.h"

// A dense point on a surface; `area` is the share it stands for.
typedef struct kp_dense_point {
  kp_vec3 position;
  kp_vec3 normal;
  double area;
} kp_dense_point;

typedef KP_ARRAY(kp_dense_point) kp_dense_points;

// Choose points so that every dense point has a chosen one within `spacing`, evenly: random order
// Poisson-disc elimination, then a few rounds that move each chosen point to the middle of the
// dense points nearest to it (Lloyd 1982). Opposite sides of thin plates do not see each other. A
// chosen point's area is the sum over the dense points nearest to it. Appends samples of the given
// layer.
KP_NODISCARD kp_result kp_thinning_choose(const kp_dense_points *dense, double spacing,
                                          uint64_t seed, kp_index layer,
                                          kp_surface_samples *samples);
