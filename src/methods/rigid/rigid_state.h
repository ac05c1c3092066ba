// What the parts of the rigid-body method share.
#pragma once

#include "geom/bvh.h"
#include "geom/contact_manifold.h"
#include "geom/core.h"
#include "methods/rigid/rigid.h"

// How a shape is met by others.
typedef enum kp_rigid_kind {
  KP_RIGID_CONVEX,  // faces, edges and corners
  KP_RIGID_PLANE,   // a half space
  KP_RIGID_ROOM,    // an inverted box: its sides are half spaces
  KP_RIGID_FIELD,   // its distance field, and probes on its surface
} kp_rigid_kind;

// A shape of a body, or a closed face of the domain.
typedef struct kp_rigid_part {
  const kp_shape *shape;
  kp_index body;  // KP_RIGID_DOMAIN for faces of the domain
  bool is_free;
  bool is_bounded;
  kp_rigid_kind kind;
  kp_convex convex;
  kp_contact_probes probes;  // what it shows to the fields of others
  kp_vec3 middle, half;      // of its bounds, in shape coordinates
  kp_core core;              // what may never meet the core of another
  double swing;              // farthest point of the core from the centre of mass
  kp_vec3 axis;              // of a slender one with two equal moments, in body axes
  double across;             // that moment [kg m^2]; 0: none
  double slim;               // farthest point from the axis
  double size;               // smallest width [m]
  double reach;              // farthest point from the centre of mass
  // at the start of the step
  kp_shape_at at;
  kp_convex_at convex_at;
  kp_aabb box;  // grown by what the step may bring
  double grow;
  bool is_swift;    // may cross its own thickness within the step
  bool is_leaning;  // a contact bore some of it at the end of the last step
} kp_rigid_part;

#define KP_RIGID_DOMAIN (-1)
#define KP_RIGID_MOST_HITS 16   // of one body in a sub-step; then its contacts stop it
#define KP_RIGID_SWIFT 1.0      // thinnest extents per step: faster ones are met on their way
#define KP_RIGID_TOUCHING 0.25  // insets: points as near as the nearest take part in a strike

typedef struct kp_rigid_point {
  kp_vec3 ra, rb;            // from the centres of mass to one point of the world
  kp_vec3 arm_a, arm_b;      // the same at the start of the step
  kp_vec3 local_a, local_b;  // the places that touch, in body axes; of round ones the middle
  kp_vec3 normal, t1, t2;    // from A to B, and across
  double separation;         // at the start of the step, less the way between the places
  double normal_impulse, t1_impulse, t2_impulse;
  double normal_mass, tangent_mass;
  uint32_t feature;
} kp_rigid_point;

// All contact points of two parts.
typedef struct kp_rigid_pair {
  kp_index a, b;  // parts, a < b in the order of bodies
  kp_index body_a, body_b;
  kp_index first, count;  // of the points
  kp_vec3 between;        // from the centre of A to that of B, at the start of the step
  double friction, restitution, rolling;
  double size;    // smallest width of the smaller body
  double extent;  // how far the smaller one reaches from its centre of mass
  bool is_on_fixed;
  kp_vec3 slide;  // of B's surface against A's
  kp_vec3 rolling_impulse;
  kp_mat3 rolling_mass;
  int color;
  bool is_past;     // no contact any more
  bool is_watched;  // one of the bodies is
  kp_load given;    // impulses on A in the step, about its centre; those on B about its own
  kp_load taken;
  bool is_listed;   // among the pairs that hit
  double hit_time;  // in the sub-step; beyond it: no hit
} kp_rigid_pair;

// A body as the solver sees it.
typedef struct kp_rigid_mover {
  kp_vec3 v, w;
  kp_vec3 start;  // where the centre of mass was at the start of the step
  kp_vec3 shift;  // since then
  kp_quat turn;
  double inverse_mass;
  kp_mat3 inverse_inertia;  // world axes
  kp_vec3 acceleration;     // of gravity, fields and fluids
  kp_vec3 torque;
  bool is_free;
  // rigid_guard.c
  double travelled;  // in the step, by its fastest point
  double turned;     // rad, likewise, but for what is round
  double clock;      // how far it has come in the sub-step
  int n_strikes;     // in the sub-step
  int n_hits;        // rigid_hits.c: in the sub-step
  bool is_swift;
  bool is_near_swift;  // rigid_hits.c: a swift one may meet it within the step
  bool is_held;        // stays where it is for the rest of the sub-step
} kp_rigid_mover;

// Free bodies that touch each other; of each the figures are kept at its first body.
typedef struct kp_rigid_heap {
  kp_index parent;   // of a body: another of its heap, or itself
  double low, high;  // centres of mass, along gravity
  double thinnest;   // extent of anything in contact
} kp_rigid_heap;

typedef struct kp_rigid_candidate {
  kp_index a, b;
} kp_rigid_candidate;

// Two parts that may meet within the sub-step.
typedef struct kp_rigid_meeting {
  kp_index a, b;
  double time;  // of the first touch; beyond the sub-step: none
  bool is_stale;
} kp_rigid_meeting;

struct kp_rigid {
  kp_rigid_def def;
  int dimension;
  KP_ARRAY(kp_index) free;  // bodies, in their order
  KP_ARRAY(kp_rigid_part) parts;
  KP_ARRAY(kp_shape *) faces;  // of the domain, owned
  KP_ARRAY(kp_index) bounded;  // parts in the tree
  KP_ARRAY(kp_aabb) boxes;     // of those
  kp_bvh bvh;
  double built_area;  // of the tree when it was made
  KP_ARRAY(kp_rigid_candidate) candidates;
  kp_contact_points found;
  KP_ARRAY(kp_rigid_pair) pairs;  // in the order of their parts
  KP_ARRAY(kp_rigid_point) points;
  KP_ARRAY(kp_index) order;         // of the pairs, by colour
  KP_ARRAY(kp_index) color_first;   // where each colour begins in it, and the end
  KP_ARRAY(uint64_t) used_colors;   // of each body
  KP_ARRAY(kp_rigid_mover) movers;  // bodies, then the domain
  KP_ARRAY(kp_rigid_heap) heaps;    // of each body
  // what contacts remember: one element per point, in the order of the pairs
  kp_space *memory;
  kp_field *key_a, *key_b, *feature;  // u32
  kp_field *force;                    // N: normal, then the three of friction
  kp_field *place;                    // m, in the axes of the free body
  kp_field *moment;                   // N m: of rolling friction, the point's share
  KP_ARRAY(kp_index) hits;            // pairs that hit in the sub-step
  double sub_dt;                      // s
  int n_substeps;
  // continuous collision: pairs beyond n_found were struck within the step, and hold to its end
  size_t n_found;
  KP_ARRAY(kp_index) part_of;  // of each body
  KP_ARRAY(kp_rigid_meeting) meetings;
  KP_ARRAY(kp_index) swift;    // parts
  KP_ARRAY(kp_index) changed;  // bodies that were struck in the sub-step
  int contacts, fields;        // media of env->loads
  int64_t n_strikes;           // since the start of the run, for reports
  int64_t n_held;
};

// ---- rigid_contacts.c

// Parts of the shapes and of the closed faces of the domain.
KP_NODISCARD kp_result kp_rigid_build_parts(kp_rigid *rigid, kp_env *env,
                                            const kp_rigid_shape *shapes, size_t n);
void kp_rigid_free_parts(kp_rigid *rigid);

// Frames, boxes, candidates in the order of their parts.
KP_NODISCARD kp_result kp_rigid_broad_phase(kp_rigid *rigid, kp_env *env);
// All that touches or may touch within the step.
KP_NODISCARD kp_result kp_rigid_find_contacts(kp_rigid *rigid, kp_env *env);
// Impulses from the forces of the last step, for sub-steps of sub_dt; and what the next will find.
KP_NODISCARD kp_result kp_rigid_recall_contacts(kp_rigid *rigid);
KP_NODISCARD kp_result kp_rigid_store_contacts(kp_rigid *rigid);
// Who is held by a contact that is remembered: of the state, so that a resumed run knows as well.
void kp_rigid_find_leaning(kp_rigid *rigid);
// Where two parts touch, or are nearer than `reach`, as they are placed.
KP_NODISCARD kp_result kp_rigid_meet(kp_rigid *rigid, const kp_rigid_part *a,
                                     const kp_rigid_part *b, double reach, kp_manifold *m);
// What two surfaces do to each other; no points yet.
kp_rigid_pair kp_rigid_pair_of(const kp_rigid *rigid, kp_env *env, kp_rigid_candidate c);
// A point of contact of two parts with centres at xa and xb.
kp_rigid_point kp_rigid_point_of(const kp_rigid *rigid, const kp_rigid_pair *pair,
                                 const kp_contact_point *from, kp_vec3 xa, kp_vec3 xb);
// How fast a part turns otherwise than about an axis about which it is round [rad/s].
double kp_rigid_tilting(const kp_rigid_part *part, kp_quat turn, kp_vec3 w);
// Growth of a part's box about where it is.
kp_aabb kp_rigid_box_of(const kp_rigid_part *part, double grow);

// ---- rigid_solver.c

KP_NODISCARD kp_result kp_rigid_solve(kp_rigid *rigid, kp_env *env);
kp_mat3 kp_rigid_world_inertia(const kp_mat3 *local, kp_quat q);
// Keeps an impulse on B at a point, and its opposite on A, where somebody watches.
void kp_rigid_note(kp_rigid_pair *pair, const kp_rigid_point *p, kp_vec3 impulse);
// Impulses act at one point of the world, so that no moment is made of nothing: it goes along with
// the lighter body.
void kp_rigid_place_arms(kp_rigid_point *p, const kp_rigid_mover *a, const kp_rigid_mover *b);
// From the place on A where the contact was found to that on B, as they are now.
kp_vec3 kp_rigid_opening(const kp_rigid_pair *pair, const kp_rigid_point *p,
                         const kp_rigid_mover *a, const kp_rigid_mover *b);

// ---- rigid_hits.c

KP_FN bool kp_rigid_may_bounce(const kp_rigid_mover *m) {
  return m->n_hits <= KP_RIGID_MOST_HITS;
}
// Pairs with restitution that meet fast within the sub-step bounce, in the order of time.
KP_NODISCARD kp_result kp_rigid_bounce(kp_rigid *rigid, const kp_bodies *bodies, double h);

// ---- rigid_guard.c

// Swift bodies through the sub-step of length h, from one touch to the next; others are left to
// the rest of it (clock).
KP_NODISCARD kp_result kp_rigid_guard(kp_rigid *rigid, kp_env *env, double h);
// Where a body is `time` into the sub-step if nothing happens to it.
void kp_rigid_path(const kp_rigid *rigid, const kp_bodies *bodies, kp_index body, double time,
                   kp_rigid_mover *out);

// ---- rigid_strike.c

// Two bodies hit each other at the first `n` points of a pair, with friction and restitution: what
// that does to their velocities. The relative motion never gains energy.
void kp_rigid_strike(kp_rigid *rigid, kp_rigid_pair *pair, kp_index n);
