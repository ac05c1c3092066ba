// Convex solids for contact: boxes (also points, segments and rectangles, as boxes without extent),
// cylinders and hulls of meshes, each grown by a radius. A sphere is a point with a radius, a
// capsule a segment with one.
//
// Two things are asked of a convex: its farthest point along a direction, and the face, edge or
// corner it shows to a direction, from which contact points are cut (geom/contact_manifold.h).
#pragma once

#include "base/array.h"
#include "geom/mesh.h"
#include "geom/shape.h"

typedef enum kp_convex_kind { KP_CONVEX_BOX, KP_CONVEX_CYLINDER, KP_CONVEX_HULL } kp_convex_kind;

#define KP_CONVEX_FACE_MOST 32  // corners of a face that are told; larger ones are thinned

typedef struct kp_convex_face {
  kp_index first, count;  // of `corners`
  kp_vec3 normal;
} kp_convex_face;

typedef struct kp_convex {
  kp_convex_kind kind;
  kp_vec3 half;    // box: half of its edges; cylinder about y: radius, half of its length, radius
  double radius;   // the solid is everything within this distance of it
  double margin;   // how far its core shrinks in the search for normals: 0 for round ones
  double recede;   // how far its corners recede then
  kp_vec3 center;  // where it is in the coordinates of its shape
  kp_quat turn;
  // hull, about its centre
  KP_ARRAY(kp_vec3) vertices;
  KP_ARRAY(kp_convex_face) faces;
  KP_ARRAY(kp_index) corners;  // of all faces, counter-clockwise seen from outside
  double inner;                // distance of the nearest face from the centre
} kp_convex;

// The shape as a convex; *is_convex tells whether it is one. Inverted shapes, planes, shells and
// meshes with a dent are not. In 2D a shape becomes a prism that reaches `depth` to both sides of
// the plane, deeper than any overlap, so that normals stay in the plane.
KP_NODISCARD kp_result kp_convex_of_shape(const kp_shape *shape, double depth, kp_convex *convex,
                                          bool *is_convex);
void kp_convex_destroy(kp_convex *convex);

// Where a convex is in the world.
typedef struct kp_convex_pose {
  kp_mat3 turn;  // columns are its axes
  kp_vec3 center;
} kp_convex_pose;

// The pose of a convex whose shape has its origin at `origin`, turned by `turn`.
kp_convex_pose kp_convex_pose_make(const kp_convex *convex, kp_vec3 origin, kp_quat turn);

// Farthest point along a direction of the solid without its radius, shrunk by `shrink` <= margin.
kp_vec3 kp_convex_support(const kp_convex *convex, kp_vec3 direction, double shrink);

// What it shows to a unit direction: corners in order (counter-clockwise seen from outside when
// there are three or more), without the radius. `normal` is that of the face, or the direction for
// edges and corners.
typedef struct kp_convex_view {
  kp_vec3 points[KP_CONVEX_FACE_MOST];
  int count;
  kp_vec3 normal;
  int feature;  // number of the face
} kp_convex_view;
void kp_convex_show(const kp_convex *convex, kp_vec3 direction, kp_convex_view *view);

// Closest points of two convexes, both shrunk by their margins. False when those overlap. Cores
// that turn out to be farther apart than `far` are left at that: `distance` is then a lower bound.
typedef struct kp_convex_gap {
  double distance;  // of the shrunk cores
  kp_vec3 a, b;     // world
  kp_vec3 normal;   // unit, from A to B
} kp_convex_gap;
bool kp_convex_closest(const kp_convex *a, const kp_convex_pose *pose_a, const kp_convex *b,
                       const kp_convex_pose *pose_b, double far, kp_convex_gap *gap);

// Signed distance of the two solids along a unit direction from A to B.
double kp_convex_gap_along(const kp_convex *a, const kp_convex_pose *pose_a, const kp_convex *b,
                           const kp_convex_pose *pose_b, kp_vec3 normal);

KP_FN kp_vec3 kp_convex_pose_point(const kp_convex_pose *pose, kp_vec3 p) {
  return kp_vec3_add(pose->center, kp_mat3_mul_vec3(&pose->turn, p));
}
