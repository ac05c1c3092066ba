// Continuous collision of a point with a triangle and of two edges whose nodes move linearly,
// x + t u for 0 <= t <= 1.
//
// The answer is conservative and needs no root of a cubic: time advances along separating axes.
// At time t the closest points give a unit vector n; whatever n is, the smallest projected gap
// between the nodes of both sides,
//
//   s(t) = min n . (x_j + t u_j - x_i - t u_i),
//
// is a lower bound of the distance and linear in t for each pair of nodes. So nothing can touch
// before the first of them has fallen to a small gap g > 0; there the closest points are found
// again. When no gap falls to g before t = 1 the pair is free, when the distance at hand is near g
// it collides. Layers that turn together keep their distance but lose every fixed axis. For them
// there is a second bound, the distance to the triangle's plane or between the lines of the edges:
// the volume of the four nodes over an area, a cubic of t that is bounded by its Bernstein
// coefficients. Of the two times the later one counts.
//
// A crossing has distance 0 < g, so none is missed, coplanar and parallel motion and collapsed
// triangles included; rounding would have to be as large as g. What is reported in excess came
// closer than 2 g, or grazes so slowly that the search was given up near it.
//
// (Selle 2008, section 6.3, tests the roots of the cubic itself, whose degenerate cases are the
// ones that let cloth slip through.)
#pragma once

#include "kelpie/vec.h"

// Four nodes with signed weights: a vector sum c_i x_i from the closest point of the first side to
// that of the second. Point/triangle: nodes 0 1 2 are the triangle, 3 the point. Edge/edge: 0 1 and
// 2 3.
typedef struct kp_ccd_hit {
  double time;       // in [0, 1]
  double gap;        // distance at that time
  kp_vec3 normal;    // unit, from the first side to the second
  double weight[4];  // -w0 -w1 -w2 1, or -(1 - a) -a (1 - b) b
} kp_ccd_hit;

// The gap g that may not be reached by a pair that is `distance` apart at the start: the thickness,
// or a part of the distance for pairs that are already closer. The closer they are, the less they
// may lose, so that a pair pressed together step after step keeps a distance.
KP_FN double kp_ccd_least_gap(double distance, double thickness) {
  if (distance >= 2.0 * thickness) {
    return thickness;
  }
  double part =
      distance > 0.25 * thickness ? 0.5 : (distance > 0.015625 * thickness ? 0.96 : 0.995);
  return part * distance;
}

// Pairs that are closer than this part of the thickness at the start touch already, as the two rims
// of a seam do: they are not tested.
#define KP_CCD_TOUCHING 1e-6

// `hit` may be NULL. x: nodes at t = 0; u: their displacements; thickness > 0.
bool kp_ccd_point_triangle(const kp_vec3 x[4], const kp_vec3 u[4], double thickness,
                           kp_ccd_hit *hit);
bool kp_ccd_edge_edge(const kp_vec3 x[4], const kp_vec3 u[4], double thickness, kp_ccd_hit *hit);

// Closest points of the same pairs at rest: signed weights as above; the squared distance.
double kp_closest_point_triangle(const kp_vec3 x[4], double weight[4]);
double kp_closest_edge_edge(const kp_vec3 x[4], double weight[4]);
