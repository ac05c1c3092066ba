// Cores of solids, for continuous collision: what lies a little behind the surface, so that solids
// that touch, or overlap a little as soft contacts do, still have a distance between their cores.
// As long as cores never meet nothing has passed through anything, however thin it is.
//
// A convex solid has a convex core; any bounded one has triangles too, with a radius (a ball is one
// point, a capsule one segment, a shell its middle surface). Distances: of two convex cores by
// Gilbert, Johnson and Keerthi; of a core and a half space by its farthest point; of a core in a
// hollow round shape by its corners, which reach farthest out; of all others by triangles, through
// two trees.
#pragma once

#include "geom/bvh.h"
#include "geom/contact_manifold.h"

typedef struct kp_core {
  bool is_convex;
  kp_convex convex;  // shrunk by its margin
  kp_convex bare;    // the solid itself: without a margin; arrays are those it was made from
  double round;      // what is within this distance belongs to the core: convex
  kp_mesh skin;      // triangles, and the radius about them
  kp_vec3 *outer;    // their corners on the surface; NULL: where they are
  kp_bvh tree;
  double skin_round;
  double inset;  // how far the core lies behind the surface
  double thin;   // thinnest extent of the solid [m]
} kp_core;

// The core of a solid, `convex` where it is one (NULL where not). Triangles are made when
// `with_skin`. Unbounded shapes but meshes have none of both: inset 0.
KP_NODISCARD kp_result kp_core_of_shape(const kp_shape *shape, const kp_convex *convex,
                                        bool with_skin, kp_core *core);
void kp_core_destroy(kp_core *core);

typedef struct kp_core_at {
  const kp_core *core;
  kp_shape_at at;
  kp_convex_pose pose;  // of the convex core
} kp_core_at;
kp_core_at kp_core_place(const kp_core *core, const kp_shape *shape, kp_vec3 origin, kp_quat turn);

typedef struct kp_core_gap {
  double distance;
  kp_vec3 normal;  // unit, from A to B
} kp_core_gap;

// Whether the distance of two cores is known: then *gap, exact where it is less than `far`. Not so
// when they overlap, and for shapes without a core. `is_bare`: of the solids, as far as triangles
// know them (their edges rounded by the inset).
bool kp_core_distance(const kp_core_at *a, const kp_core_at *b, double far, bool is_bare,
                      kp_core_gap *gap);

// How a core moves on: its centre of mass, velocity, spin, a bound of how much the spin may change,
// the farthest point from the centre, and the speed of its points about an axis of its own.
typedef struct kp_core_motion {
  kp_vec3 center, velocity, spin;
  double sway, swing, whirl;
} kp_core_motion;

typedef struct kp_core_limit {
  double target, near;
  bool is_bare;  // of the solids
} kp_core_limit;

// A time, at most `most`, for which two moving cores stay farther apart than the target; 0 where
// they are as near as `near`, which is more, now, or their distance is not known.
//
// Triangles, and convex cores as a whole, lie on two sides of a plane across their closest points.
// Along its normal n a corner at r from the centre comes nearer by no more than
//
//   t (n . (v + w x r) + whirl) + t^2 |w|^2 |r| / 2,
//
// and the first corner that could reach the target tells the time.
double kp_core_free_time(const kp_core_at *a, const kp_core_motion *ma, const kp_core_at *b,
                         const kp_core_motion *mb, kp_core_limit limit, double most);

// Places where triangles of two skins are nearer than `far`: points of contact of the solids.
// Appends. *is_known is false, and nothing is added, when the cores overlap or have no triangles.
KP_NODISCARD kp_result kp_core_contacts(const kp_core_at *a, const kp_core_at *b, double far,
                                        kp_contact_points *points, bool *is_known);
