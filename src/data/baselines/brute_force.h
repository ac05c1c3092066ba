// Baseline: all pairs, O(n^2). The oracle of every neighbour search (Lyes 2015 L2, L3; Bayraktar
// C1, C3).
#pragma once

#include "kelpie/config.h"

typedef struct kp_points {
  int64_t n;
  const kp_pos *x, *y, *z;
} kp_points;

// Called for i of the first set and j of the second with |x_i - x_j| <= radius.
typedef void (*kp_pair_visit_fn)(int64_t i, int64_t j, void *user);

// All ordered pairs of two sets; of one set when b is a, then without i == j. Returns their number;
// fn may be NULL.
int64_t kp_brute_force_pairs(const kp_points *a, const kp_points *b, double radius,
                             kp_pair_visit_fn fn, void *user);

// The same with the nearest image in a box that is periodic along the axes of non-zero size.
int64_t kp_brute_force_periodic(const kp_points *a, double radius, const double size[3],
                                kp_pair_visit_fn fn, void *user);
