// Contact of everything that is made of nodes, triangles and segments: cloth with itself and other
// cloth, skins of soft bodies, hair, and triangles that move as told (Bridson et al. 2002; Selle
// 2008, chapter 6). A service over plain arrays; whoever owns the nodes calls it in its outer loop:
//
//   A    kp_contact_find      pairs that are near in the collision-free state, with their side
//   B.2  kp_contact_repulse   on the velocity that moves the nodes: inelastic, then elastic
//        kp_contact_measure   when the nodes have moved
//   B.8  kp_contact_repulse   on the final velocity: inelastic, with friction
//   C    kp_contact_resolve   the straight way from the collision-free state to the new one is made
//                             free of collisions
//        kp_contact_any       is there a collision on that way? (for loops that rewind)
//
// What C guarantees: if no two triangles intersect at the start, none do at the end, and none
// touched on the way, however far the nodes moved; cloth keeps a distance of `thickness`, or most
// of what distance it had. After some rounds of impulses the nodes of what still collides move
// rigidly together; such zones grow until nothing is left. Nodes that move as told (inverse mass 0)
// lead their zone; nodes that are led along some axes are pushed along the others, and lead too in
// a zone. Where they leave it no rigid motion, as two ends of a strip that turn against each other,
// the way is taken in up to 64 parts; where they leave no room at all, as two colliding bodies with
// cloth between them, they wait and are counted in `n_late`. Two sides that are all told cross when
// they are told to, counted in `n_led`. What intersects led triangles at the start is not held by
// them, so that it can come free. Hair meets by edges alone, forms no zones and may be left
// colliding: what moves as told pushes it as far as one inner step
// would.
//
// Everything that decides an answer is an argument: no state is kept from step to step. Pairs are
// visited in the order of their numbers, so bits depend neither on threads nor on trees.
#pragma once

#include "data/buffer.h"
#include "geom/triangle_triangle.h"

typedef enum kp_contact_flag {
  KP_CONTACT_HAIR = 1 << 0,     // meets by edges only, no impact zones
  KP_CONTACT_NO_SELF = 1 << 1,  // does not meet itself
  KP_CONTACT_GUEST = 1 << 2,  // a body: of guest nodes, which do not repel and meet no other guest
} kp_contact_flag;

typedef struct kp_contact_object {
  uint32_t flags;
  double friction;  // of a pair: the geometric mean
} kp_contact_object;

typedef struct kp_contact_def {
  double stiffness;  // N/m, k of the elastic repulsion (Selle 2008, Table 6.1: 30)
  double recovery;   // part of an overlap that is undone in one inner step (0.1)
  double detection;  // pairs closer than this many h are kept in A (1.5)
  double flip;       // 0 ... 0.9: edges have changed sides when s0 . s < -flip
  double thickness;  // m: gap of the continuous test (1e-6)
  double near_rest;  // pairs closer than this many h in the rest state do not repel (1.5)
  int attempts;      // rounds of impulses before impact zones (20)
  bool history;      // keep sides from A (false: the side of the moment, as before Selle)
} kp_contact_def;

kp_contact_def kp_default_contact_def(void);

// A guest that is free to move: a rigid body. Collisions push and turn it, and in an impact zone it
// is one member with its mass and inertia.
typedef struct kp_contact_body {
  kp_index first, n;  // of the guests: its nodes
  double inverse_mass;
  kp_mat3 inertia, inverse_inertia;  // about the centre of mass, body axes [kg m^2]
  const kp_vec3 *arms;               // of its nodes, from the centre of mass, body axes
} kp_contact_body;

// Where a body is.
typedef struct kp_contact_pose {
  kp_vec3 center;  // of mass
  kp_quat turn;
} kp_contact_pose;

// The mesh, read during the call; rest and h are per node. h should be clamped to a part of the
// shortest edge at the node: kp_contact_clamp.
typedef struct kp_contact_mesh {
  kp_index n_nodes, n_triangles, n_segments, n_objects;
  kp_index n_guests;  // of the nodes, the last ones: they stand in no buffer (kp_contact_guide)
  kp_index n_bodies;  // of the guests, those that are free (kp_contact_carry)
  const kp_contact_body *bodies;
  const kp_index *triangles;  // three nodes each
  const kp_index *segments;   // two nodes each: hair. Edges of triangles are found
  const kp_index *object;     // of each node
  const double *rest[3];      // m: also the places for which the trees are made
  const double *h;            // m: thickness that repels
  const kp_contact_object *objects;
} kp_contact_mesh;

typedef struct kp_contact kp_contact;

KP_NODISCARD kp_result kp_contact_create(kp_backend *backend, const kp_contact_def *def,
                                         const kp_contact_mesh *mesh, kp_contact **out);
void kp_contact_destroy(kp_contact **contact);

// h[i] = min(h[i], part of the shortest edge at node i), so that neighbours do not repel each
// other.
void kp_contact_clamp(const kp_contact_mesh *mesh, double part, double *h);

// Guests, such as the corners of bodies, go from `from` to `to` in the next C, whatever is in the
// way; before, they are where they rest. One place each, read during the call.
void kp_contact_guide(kp_contact *contact, const kp_vec3 *from, const kp_vec3 *to);

// The same for a body that is free: it wants to go from `from` to `to`. After C, where it is, and
// whether that is elsewhere than it wanted. Its velocity and spin change by that way over the time.
void kp_contact_carry(kp_contact *contact, kp_index body, const kp_contact_pose *from,
                      const kp_contact_pose *to);
KP_NODISCARD bool kp_contact_carried(const kp_contact *contact, kp_index body,
                                     kp_contact_pose *out);
// What keeps a node off a body whose edge or corner is between it and its neighbours.
typedef struct kp_contact_plane {
  kp_index body;    // -1: nothing does
  kp_vec3 normal;   // from the body
  double distance;  // m, of the two surfaces along it
} kp_contact_plane;

// After A: of each node that stands in a buffer, the nearest pair of an edge or corner of a free
// body and an edge or triangle of its own, closer than `reach` [m].
KP_NODISCARD kp_result kp_contact_planes(kp_contact *contact, double reach, kp_contact_plane *out);
// The turn, as a vector of at most pi, that leads from one orientation to another.
kp_vec3 kp_contact_turn_between(kp_quat from, kp_quat to);

// Pairs of segments (numbers of the mesh's segments, lower first) that are let through, for hairs
// that stick. Replaces those given before.
KP_NODISCARD kp_result kp_contact_ignore(kp_contact *contact, const kp_index (*pairs)[2], size_t n);

typedef struct kp_contact_report {
  int64_t n_faces, n_edges;                       // pairs of A: point/triangle, edge/edge
  int64_t n_colors;                               // of both
  int64_t n_candidates;                           // tests of moving pairs in C
  int64_t n_collisions;                           // found in the first round of C
  int64_t n_rubbing;                              // of these, of pairs of A: they repelled
  int64_t n_rounds;                               // of C, the last one found nothing
  int64_t n_zones;                                // impact zones at the end
  int64_t largest_zone;                           // nodes
  int64_t n_pieces;                               // parts of ways that had to be cut
  int64_t n_late;                                 // led nodes that are not where they were told
  int64_t n_led;                                  // collisions of which all nodes are led
  int64_t n_pushed;                               // guests that would have had to wait
  int64_t n_left;                                 // collisions of hair that were left
  double find, repulse, boxes, traversal, apply;  // s of wall clock: A, B, and the parts of C
} kp_contact_report;

// Sums since the last clear, except n_colors, n_zones, largest_zone: the most.
const kp_contact_report *kp_contact_told(const kp_contact *contact);
void kp_contact_clear(kp_contact *contact);

// A. x: KP_TYPE_POS, collision-free; inverse_mass: kp_real per node, 0 for nodes that move as told.
KP_NODISCARD kp_result kp_contact_find(kp_contact *contact, kp_buffer x[3],
                                       kp_buffer *inverse_mass);

typedef enum kp_contact_law {
  KP_CONTACT_MOVING,  // B.2: inelastic, then elastic
  KP_CONTACT_FINAL,   // B.8: inelastic, with friction
} kp_contact_law;

// B. How the pairs of A stand at places x, by which they repel until this is called again; A has
// done so for its own places.
KP_NODISCARD kp_result kp_contact_measure(kp_contact *contact, kp_buffer x[3]);

// Changes velocities v (kp_real); dt: of the inner step. hold: U8 per node, axes (bits 1, 2, 4)
// along which it moves as told; NULL: none.
KP_NODISCARD kp_result kp_contact_repulse(kp_contact *contact, kp_contact_law law, kp_buffer v[3],
                                          kp_buffer *inverse_mass, kp_buffer *hold, double dt);

// C. from: the collision-free state; x: where the nodes want to be, and will be; v: velocities, get
// the change of the mean velocity over `time`; dt: the mean inner step.
typedef struct kp_contact_motion {
  kp_buffer *from, *x;  // three each
  kp_buffer *v;
  kp_buffer *inverse_mass;
  kp_buffer *hold;  // as above, may be NULL
  kp_buffer *lag;   // three of F64, grow by how far led nodes stay behind; may be NULL
  double time, dt;
} kp_contact_motion;

KP_NODISCARD kp_result kp_contact_resolve(kp_contact *contact, const kp_contact_motion *motion);

KP_NODISCARD kp_result kp_contact_any(kp_contact *contact, const kp_contact_motion *motion,
                                      bool *out);
