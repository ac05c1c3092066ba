// Where two solids touch, or soon will: a few points with normals and signed distances, each with a
// number that stays the same while the same features meet, so that a solver finds its impulses of
// the last step again.
//
// Convex against convex: the normal comes from the closest points of the cores shrunk a little
// (which touch long after the solids do), the points from cutting the face that one shows with the
// face that the other shows. Everything else: points of one surface in the distance field of the
// other.
#pragma once

#include "geom/convex.h"

#define KP_MANIFOLD_MOST 16

typedef struct kp_contact_point {
  kp_vec3 position;   // half-way between the two surfaces, world
  kp_vec3 normal;     // unit, from A to B
  double separation;  // negative: overlap
  uint32_t feature;
} kp_contact_point;

typedef struct kp_manifold {
  kp_contact_point points[KP_MANIFOLD_MOST];
  int count;
} kp_manifold;

typedef struct kp_convex_at {
  const kp_convex *convex;
  kp_convex_pose pose;
} kp_convex_at;

// Points nearer than `reach`.
void kp_manifold_convex(const kp_convex_at *a, const kp_convex_at *b, double reach,
                        kp_manifold *out);

// A convex on a half space with the outward unit normal: A is the half space. Adds to the manifold,
// with features from `first` on.
void kp_manifold_half_space(kp_vec3 point, kp_vec3 normal, const kp_convex_at *b, double reach,
                            uint32_t first, kp_manifold *out);

// Points of a surface, in the coordinates of its shape, each the centre of a ball: what a body
// shows to a distance field.
typedef struct kp_contact_probe {
  kp_vec3 point;
  double radius;
} kp_contact_probe;
typedef KP_ARRAY(kp_contact_probe) kp_contact_probes;

// Corners of a shape, and points at most `spacing` apart along its edges and sides. Appends.
KP_NODISCARD kp_result kp_contact_probes_of_shape(const kp_shape *shape, double spacing,
                                                  kp_contact_probes *probes);

typedef struct kp_shape_at {
  const kp_shape *shape;
  kp_vec3 origin;
  kp_quat turn;
} kp_shape_at;

typedef KP_ARRAY(kp_contact_point) kp_contact_points;

// Probes of the solid `mine` in the field of the solid `other`, nearer than `reach`; normals point
// from `other` to `mine`. Appends.
KP_NODISCARD kp_result kp_contact_points_in_field(const kp_shape_at *mine,
                                                  const kp_contact_probes *probes,
                                                  const kp_shape_at *other, double reach,
                                                  kp_contact_points *points);

// Where most points have about one normal the corners of that patch, and its deepest point if that
// is clearly deeper. Of the others, or of all, the deepest, then those farthest from all that were
// taken, in place and in direction: a turn counts as half a `size`. `most` is nine at least and
// KP_MANIFOLD_MOST at most.
void kp_manifold_take(const kp_contact_points *points, double size, int most, kp_manifold *out);

// In two dimensions: all in the plane z = 0.
void kp_manifold_flatten(kp_manifold *manifold);

// Points nearer to each other than `distance` become one, the first of them or one that is clearly
// deeper; those whose normals differ stay.
void kp_manifold_merge(double distance, kp_manifold *manifold);
