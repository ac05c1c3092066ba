// What the files of the contact module share.
#pragma once

#include "base/array.h"
#include "geom/box_tree.h"
#include "geom/ccd.h"
#include "methods/common/contact.h"
#include "methods/common/contact_kernels.h"

// A pair as one number, in the order in which pairs are visited: faces before edges, then by the
// first item (point, edge) and the second (triangle, edge).
typedef uint64_t kp_contact_key;

#define KP_CONTACT_EDGES ((kp_contact_key)1 << 62)

KP_FN kp_contact_key kp_contact_make_key(bool is_edges, kp_index a, kp_index b) {
  return (is_edges ? KP_CONTACT_EDGES : 0) | (kp_contact_key)(uint32_t)a << 31 |
         (kp_contact_key)(uint32_t)b;
}

KP_FN bool kp_contact_is_edges(kp_contact_key key) {
  return (key & KP_CONTACT_EDGES) != 0;
}

typedef struct kp_contact_keys {
  KP_ARRAY(kp_contact_key) list;
} kp_contact_keys;

// A node on its way: one cache line.
typedef struct kp_contact_node {
  kp_vec3 from, to;
  double inverse_mass;
  uint8_t is_moved;    // since the boxes were made
  uint8_t is_touched;  // in this part of the way
  uint8_t is_changed;  // on the whole way
  uint8_t is_loose;    // intersected what moves as told at the start: is not held by it
  uint8_t is_wedged;   // of hair: was pushed by what moves as told
  uint8_t hold;        // axes along which it moves as told; inverse_mass is 0 where that is all
  uint8_t is_body;     // of a body that is free
} kp_contact_node;

// Does a node lead its zone?
KP_FN bool kp_contact_leads(const kp_contact_node *node) {
  return !(node->inverse_mass > 0.0) || node->hold != 0;
}

// What is left of v along the axes a node is free to move.
KP_FN kp_vec3 kp_contact_free(const kp_contact_node *node, kp_vec3 v) {
  return kp_vec3_make(node->hold & 1 ? 0.0 : v.x, node->hold & 2 ? 0.0 : v.y,
                      node->hold & 4 ? 0.0 : v.z);
}

// Of the mobility of a pair along a normal: below this share of what it were if no node were held
// the pair counts as led.
#define KP_CONTACT_LEAST_GIVE 0.01

// How a zone moves, the next where one does not do: it turns, moves without turning, waits with
// those of its nodes that move as told.
enum { KP_CONTACT_TURNS, KP_CONTACT_SHIFTS, KP_CONTACT_WAITS };

// A way that finds no rigid motion beside what moves as told is cut in halves as often as this.
#define KP_CONTACT_HALVINGS 6

typedef struct kp_contact_zones {
  kp_index *parent;                  // of nodes; of itself where it is in no zone
  uint8_t *level;                    // of roots
  uint8_t *is_dirty;                 // of roots: to be moved again
  uint8_t *is_member;                // of nodes
  KP_ARRAY(kp_contact_key) members;  // root and node, sorted
  bool may_wait;
  bool is_stuck;  // a zone would have to wait
} kp_contact_zones;

// A rigid body on its way.
typedef struct kp_contact_mover {
  kp_index first, n;  // nodes
  double inverse_mass;
  kp_mat3 inertia, inverse_inertia;  // body axes
  kp_contact_pose from, to;
  kp_contact_pose wanted;  // `to` at the start of C
  kp_vec3 shift, turn;     // its displacement in C, were it to go on like now
  bool is_touched;         // in this part of the way
  bool is_changed;         // on the whole way
  bool is_stale;           // its nodes have not followed yet
} kp_contact_mover;

struct kp_contact {
  kp_backend *backend;
  kp_contact_def def;
  kp_index n_nodes, n_triangles, n_edges, n_points;
  kp_index n_own;            // nodes that stand in buffers; the others are guests
  kp_index n_surface_edges;  // of triangles; those behind are segments
  kp_index (*triangles)[3];
  kp_index (*edges)[2];
  kp_index *points;  // nodes of triangles
  kp_index *object;  // of nodes
  kp_contact_object *objects;
  kp_index n_objects;
  kp_vec3 *rest;
  double *h;
  kp_box_tree point_tree, triangle_tree, edge_tree;
  KP_ARRAY(kp_contact_key) ignored;  // sorted keys of edge pairs

  kp_contact_node *nodes;
  kp_vec3 (*guests)[2];  // where they come from and go to
  kp_contact_mover *bodies;
  kp_index n_bodies;
  kp_index *body_of;  // of guests, -1: none that is free
  kp_vec3 *arms;      // of guests, from the centre of their body, body axes
  double reach;       // m, of planes; scratch
  kp_box *node_boxes;
  kp_vec3 *wanted;  // `to` at the start of C
  kp_vec3 *way;     // the node's displacement in C, were it to go on like now
  kp_contact_zones zones;
  kp_contact_keys *chunks;         // what each task of a search found
  KP_ARRAY(kp_contact_key) found;  // of a search, sorted
  KP_ARRAY(kp_contact_key) spare;  // of the sort

  // B
  KP_ARRAY(kp_contact_key) near;  // of the pairs of A, sorted
  KP_ARRAY(contact_pair) pairs;   // in the order of keys
  KP_ARRAY(uint8_t) colors;
  KP_ARRAY(int64_t) color_start[2];  // of faces, of edges
  uint64_t *used_colors;             // of nodes
  kp_buffer pair_buffer;             // in the order of colours
  kp_buffer stances;                 // of the pairs in that order, on the device

  kp_contact_report report;
};

// The body a node belongs to, -1: none.
KP_FN kp_index kp_contact_body_of(const kp_contact *c, kp_index node) {
  return node < c->n_own ? -1 : c->body_of[node - c->n_own];
}

// The node that stands for a node in zones: all nodes of a body are one.
KP_FN kp_index kp_contact_stand_in(const kp_contact *c, kp_index node) {
  kp_index body = kp_contact_body_of(c, node);
  return body >= 0 ? c->bodies[body].first : node;
}

// Nodes of a pair: triangle and point, or two edges.
KP_FN void kp_contact_nodes_of(const kp_contact *c, kp_contact_key key, kp_index node[4]) {
  kp_index a = (kp_index)(key >> 31 & 0x7fffffff);
  kp_index b = (kp_index)(key & 0x7fffffff);
  if (kp_contact_is_edges(key)) {
    node[0] = c->edges[a][0];
    node[1] = c->edges[a][1];
    node[2] = c->edges[b][0];
    node[3] = c->edges[b][1];
  } else {
    node[0] = c->triangles[b][0];
    node[1] = c->triangles[b][1];
    node[2] = c->triangles[b][2];
    node[3] = c->points[a];
  }
}

// May these nodes meet at all? (objects, hair by edges only)
bool kp_contact_may_meet(const kp_contact *contact, kp_contact_key key, const kp_index node[4]);

// h of a pair at the points given by its weights; 0 for pairs of one object that are near each
// other in the rest state.
double kp_contact_h(const kp_contact *contact, bool is_edges, const kp_index node[4],
                    const double weight[4]);

// Places, masses and what is held to contact->nodes; `to` = `from` without x.
KP_NODISCARD kp_result kp_contact_load(kp_contact *contact, kp_buffer from[3], kp_buffer x[3],
                                       kp_buffer *inverse_mass, kp_buffer *hold);

// Boxes at `from` and `to`, grown by a margin, where a node has moved (or all); marks those.
void kp_contact_boxes(kp_contact *contact, double margin, bool only_moved);

// Keys of all pairs whose boxes touch and that pass the test, sorted, in contact->found. The test
// runs in parallel.
typedef bool (*kp_contact_test_fn)(const kp_contact *contact, kp_contact_key key,
                                   const kp_index node[4]);
KP_NODISCARD kp_result kp_contact_search(kp_contact *contact, kp_contact_test_fn test,
                                         bool only_marked, int64_t *n_tested);

// Sorts `keys`; `spare` has room for as many.
void kp_contact_sort(kp_contact_key *keys, kp_contact_key *spare, size_t n);

// Impact zones (contact_zones.c).
KP_NODISCARD kp_result kp_contact_zones_create(kp_contact_zones *zones, kp_index n_nodes);
void kp_contact_zones_destroy(kp_contact_zones *zones);
void kp_contact_zones_clear(kp_contact_zones *zones);
kp_index kp_contact_zone(const kp_contact_zones *zones, kp_index node);  // root
// Takes in the pairs of contact->found, moves the zones; marks nodes that moved.
KP_NODISCARD kp_result kp_contact_zones_grow(kp_contact *contact, int round);

// Bodies (contact_bodies.c).
KP_NODISCARD kp_result kp_contact_bodies_create(kp_contact *contact, const kp_contact_mesh *mesh);
void kp_contact_bodies_destroy(kp_contact *contact);
// At the start of a search: their nodes, which stay where they are unless the bodies move.
void kp_contact_bodies_load(kp_contact *contact, bool moves);
// Nodes of bodies that were pushed, and of a pair alone.
void kp_contact_bodies_follow(kp_contact *contact);
void kp_contact_follow(kp_contact *contact, const kp_index node[4]);

// What an impulse along a direction at the place of a collision does to the body that takes part.
typedef struct kp_contact_lever {
  kp_index body;  // -1: none does
  double sign;    // 1 or -1: the side it is on
  kp_vec3 arm;    // from the centre of mass to the place
  kp_vec3 along;  // unit
  double give;    // motion of the place along it, per impulse
  kp_vec3 turn;   // per impulse
} kp_contact_lever;

kp_contact_lever kp_contact_lever_of(const kp_contact *contact, const kp_index node[4],
                                     const kp_ccd_hit *hit);
// The same place, another direction.
void kp_contact_lever_turn(const kp_contact *contact, kp_contact_lever *lever, kp_vec3 along);
void kp_contact_push_body(kp_contact *contact, const kp_contact_lever *lever, double impulse);

// A body as a member of a zone: adds what it has to the sums of first moments; returns the angular
// momentum about its own centre and adds its inertia; goes to a place, turned from where it was.
typedef struct kp_contact_sum {
  double mass;
  kp_vec3 center, shift;  // times the mass
} kp_contact_sum;

void kp_contact_body_sum(const kp_contact *contact, kp_index body, kp_contact_sum *sum);
kp_vec3 kp_contact_body_spin(const kp_contact *contact, kp_index body, kp_mat3 *inertia);
void kp_contact_body_go(kp_contact *contact, kp_index body, kp_vec3 center, kp_vec3 turn);

// Ways in parts: to `from` + `share` of the way, and a part is done.
void kp_contact_bodies_aim(kp_contact *contact, double share);
void kp_contact_bodies_arrive(kp_contact *contact, double share);
