// Do two triangles share a point? Decided by signs of determinants that are exact for any doubles,
// so that the answer does not depend on rounding: the judge of "free of intersections". It shares
// no code with the continuous test of geom/ccd.h.
#pragma once

#include "base/result.h"
#include "kelpie/vec.h"

// Sign of (b - a) x (c - a) . (d - a), exactly: 1, 0 or -1 (Shewchuk 1997: floating-point filter,
// then expansions).
int kp_orient3d(kp_vec3 a, kp_vec3 b, kp_vec3 c, kp_vec3 d);

// Closed triangles with no node in common: touching counts.
bool kp_triangles_intersect(const kp_vec3 a[3], const kp_vec3 b[3]);

typedef struct kp_triangle_soup {
  const double *x, *y, *z;    // of nodes
  const kp_index *triangles;  // three nodes each
  kp_index n_triangles;
} kp_triangle_soup;

// Do triangles i and j share points beyond the nodes they have in common? With one common node the
// edges opposite to it are asked; with two, whether they lie on each other; three are a double.
bool kp_soup_intersects(const kp_triangle_soup *soup, kp_index i, kp_index j);

typedef struct kp_intersections {
  int64_t count;
  kp_index first[2];  // the pair with the lowest numbers, where there is one
} kp_intersections;

// All pairs, found with a tree.
KP_NODISCARD kp_result kp_soup_count(const kp_triangle_soup *soup, kp_intersections *out);
